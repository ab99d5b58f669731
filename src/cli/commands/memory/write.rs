//! `swarm memory put`, `cas`, `confirm`, `dispute`, `resolve`, `pin`, `unpin`, `retract` and
//! `compact`.

use std::path::Path;

use clap::Args;
use serde_json::Value;

use super::{Source, tell_similar};
use crate::cli::access::ids::Typed;
use crate::cli::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::{list, number, text, texts};
use crate::cli::output::terminal::safe;
use crate::daemon::Paths;
use crate::domain::ids::AgentId;
use crate::domain::memory::{
    BadKey, ConfirmFact, DisputeFact, FactKey, MemoryCommand, Retracted, WriteFact,
};
use crate::domain::operation::Command;
use crate::view::memory::dropped_words;

/// `memory put`.
#[derive(Debug, Args)]
#[command(after_help = "\
This overwrites any version, so it is for people. Agents use `cas`.

Example:
  $ swarm memory put api.port \"The API listens on 8080\" --path src/api.rs")]
pub struct Put {
    /// The fact: lower-case letters, digits and `-`, in parts joined by dots.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
    /// Its value: one line.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub value: String,
    /// Where it comes from.
    #[command(flatten)]
    pub source: Source,
}

/// `memory cas`.
#[derive(Debug, Args)]
#[command(after_help = "\
If the fact has another version, nothing is written, the exit code is 1, and the error carries the \
present value: `--json` has it as `current`.

Examples:
  $ swarm memory cas api.port 0 \"The API listens on 8080\"
  $ swarm memory cas api.port 3 \"The API listens on 9090\" --evidence 120 --why \"it moved\"")]
pub struct Cas {
    /// The fact.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
    /// The version that you saw; 0: the key never existed.
    #[arg(value_name = "VERSION")]
    pub version: u64,
    /// Its new value: one line.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub value: String,
    /// Where it comes from.
    #[command(flatten)]
    pub source: Source,
}

/// `memory confirm`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm memory confirm api.port
  $ swarm memory confirm api.port 3 --path src/api.rs")]
pub struct Confirm {
    /// The fact.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
    /// The version that you saw; default: the one that is there now.
    #[arg(value_name = "VERSION")]
    pub version: Option<u64>,
    /// Where it comes from.
    #[command(flatten)]
    pub source: Source,
}

/// `memory dispute`.
#[derive(Debug, Args)]
#[command(after_help = "\
Both sides stay visible until somebody settles the fact with `resolve`. A number alone is the \
version.

Examples:
  $ swarm memory dispute api.port
  $ swarm memory dispute api.port \"The API listens on 9090\"
  $ swarm memory dispute api.port 3 \"The API listens on 9090\" --path src/api.rs")]
pub struct Dispute {
    /// The fact.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
    /// The version that you saw; default: the one that is there now.
    #[arg(value_name = "VERSION", allow_hyphen_values = true)]
    pub version: Option<String>,
    /// The other value; without it, only that the value is wrong.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub value: Option<String>,
    /// Where it comes from.
    #[command(flatten)]
    pub source: Source,
}

/// `memory resolve`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm memory resolve api.port \"The API listens on 9090\" --why \"see src/api.rs\"")]
pub struct Resolve {
    /// The fact.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
    /// The value that holds: one line. Claims that differ become history.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub value: String,
    /// Where it comes from.
    #[command(flatten)]
    pub source: Source,
}

/// `memory pin`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm memory pin api.port")]
pub struct Pin {
    /// The fact.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
}

/// `memory unpin`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm memory unpin api.port")]
pub struct Unpin {
    /// The fact.
    #[arg(value_name = "KEY")]
    pub key: FactKey,
}

/// `memory retract`.
#[derive(Debug, Args)]
#[command(after_help = "\
What you take back stays in the event log, but no prompt shows it any more, even if an agent finds \
it again. To bring it back, write or learn it again.

Examples:
  $ swarm memory retract learning-004
  $ swarm memory retract api.port --why \"the API is gone\"
  $ swarm memory retract --agent ed-002")]
pub struct Retract {
    /// A learning's id, or a fact's key.
    #[arg(value_name = "REF", required_unless_present = "agent")]
    pub reference: Option<String>,
    /// Take back what this agent said, unless another idea or a person supports it too.
    #[arg(long, value_name = "ID", conflicts_with = "reference")]
    pub agent: Option<Typed<AgentId>>,
    /// Why, for people.
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
}

/// `memory compact`.
#[derive(Debug, Args)]
#[command(after_help = "\
swarm does this by itself at twice as many learnings as `memory.window`. Learnings that support a \
fact stay, and so do those that a person took back. Of each fact 8 earlier values stay.

Example:
  $ swarm memory compact")]
pub struct Compact {}

/// Overwrites a fact.
pub(super) fn put(args: &Put, context: &mut Context) -> Result<(), CliError> {
    write(&args.key, &args.value, None, &args.source, context)
}

/// Writes a fact that is still at the version that the writer saw.
pub(super) fn cas(args: &Cas, context: &mut Context) -> Result<(), CliError> {
    let expected = Some(args.version);
    write(&args.key, &args.value, expected, &args.source, context)
}

/// Settles a fact: writes it at the version that it has now.
pub(super) fn resolve(args: &Resolve, context: &mut Context) -> Result<(), CliError> {
    let expected = Some(version_now(&args.key, context)?);
    write(&args.key, &args.value, expected, &args.source, context)
}

fn write(
    key: &FactKey,
    value: &str,
    expected: Option<u64>,
    source: &Source,
    context: &mut Context,
) -> Result<(), CliError> {
    let write = WriteFact {
        key: key.clone(),
        value: value.to_owned(),
        expected,
        claim: source.claim(),
    };
    let answer = execute(MemoryCommand::WriteFact(write), context)?;
    let words = format!("{key} is at version {} now", number(&answer, "version"));
    confirm::confirm(context, &answer, &words)?;
    if !context.output.json {
        tell_similar(&mut context.output, &answer);
    }
    Ok(())
}

/// Adds evidence to a fact.
pub(super) fn confirm(args: &Confirm, context: &mut Context) -> Result<(), CliError> {
    let version = match args.version {
        Some(version) => version,
        None => version_now(&args.key, context)?,
    };
    let confirm = ConfirmFact {
        key: args.key.clone(),
        version,
        claim: args.source.claim(),
    };
    let answer = execute(MemoryCommand::ConfirmFact(confirm), context)?;
    let words = format!("confirmed {} at version {version}", args.key);
    confirm::confirm(context, &answer, &words)
}

/// Contradicts a fact.
pub(super) fn dispute(args: &Dispute, context: &mut Context) -> Result<(), CliError> {
    let key = &args.key;
    let seen = args.version.as_deref().map(str::parse::<u64>);
    let (version, value) = match (seen, &args.value) {
        (Some(Ok(version)), value) => (version, value.clone()),
        (Some(Err(_)), None) => (version_now(key, context)?, args.version.clone()),
        (None, _) => (version_now(key, context)?, None),
        (Some(Err(_)), Some(_)) => {
            let message = "the version must be a number; quote a value with spaces";
            let example = format!("for example: swarm memory dispute {key} 3 \"VALUE\"");
            return Err(CliError::new(Kind::Usage, message).hint(example));
        }
    };
    let dispute = DisputeFact {
        key: key.clone(),
        version,
        value,
        claim: args.source.claim(),
    };
    let answer = execute(MemoryCommand::DisputeFact(dispute), context)?;
    let version = number(&answer, "version");
    let words = format!("disputed {key}, which is at version {version} now");
    confirm::confirm(context, &answer, &words)?;
    if !context.output.json {
        let settle = format!("settle it: swarm memory resolve {key} VALUE");
        context.output.next_step(settle);
    }
    Ok(())
}

/// Pins a fact, or releases it.
pub(super) fn pin(key: &FactKey, on: bool, context: &mut Context) -> Result<(), CliError> {
    let key_of = key.clone();
    let answer = execute(MemoryCommand::Pin { key: key_of, on }, context)?;
    let words = if on {
        format!("{key} is pinned")
    } else {
        format!("{key} is no longer pinned")
    };
    confirm::confirm(context, &answer, &words)
}

/// Takes something back.
pub(super) fn retract(args: &Retract, context: &mut Context) -> Result<(), CliError> {
    let what = match (&args.agent, &args.reference) {
        (Some(agent), _) => Retracted::Agent(context.with_access(|access| access.agent_id(agent))?),
        (None, reference) => named(reference.as_deref().unwrap_or_default())?,
    };
    let why = args.why.clone();
    let answer = execute(MemoryCommand::Retract { what, why }, context)?;
    let retracted = texts(&answer, "retracted");
    let words = if retracted.is_empty() {
        "nothing was left to take back".to_owned()
    } else {
        format!("retracted {}", safe(&retracted.join(", ")))
    };
    confirm::confirm(context, &answer, &words)
}

/// Drops what is old from the state.
pub(super) fn compact(context: &mut Context) -> Result<(), CliError> {
    let answer = execute(MemoryCommand::Compact, context)?;
    let events = list(&answer, "events");
    if events.is_empty() {
        return confirm::confirm(context, &answer, "there is nothing old to drop");
    }
    let (learnings, history) = (number(&answer, "learnings"), number(&answer, "history"));
    let words = dropped_words(learnings, history);
    confirm::confirm(
        context,
        &answer,
        &format!("{words} left the state; the event log keeps them"),
    )?;
    if !context.output.json {
        for seq in events.iter().filter_map(Value::as_u64) {
            let page = Paths::new(Path::new("")).summary(seq);
            let next = format!("see what went: {}", page.display());
            context.output.next_step(next);
        }
    }
    Ok(())
}

/// `learning-004` is a learning, everything else a fact.
fn named(reference: &str) -> Result<Retracted, CliError> {
    let number = reference.strip_prefix("learning-");
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if number.is_some_and(is_number) {
        return Ok(Retracted::Learning(reference.to_owned()));
    }
    let key = reference.parse().map(Retracted::Fact);
    key.map_err(|error: BadKey| CliError::new(Kind::Usage, error.to_string()))
}

/// The version that a fact has now.
fn version_now(key: &FactKey, context: &Context) -> Result<u64, CliError> {
    let fact = context.with_access(|access| access.fact(key, 0))?;
    Ok(number(&fact, "version"))
}

fn execute(command: MemoryCommand, context: &Context) -> Result<Value, CliError> {
    let command = Command::Memory(command);
    let done = context.with_access(|access| access.execute(&command));
    // With `--json` the error has it as `current`.
    let for_people = !context.output.json;
    done.map_err(|mut error| {
        if !for_people {
            return error;
        }
        if let Some(current) = error.current.as_deref() {
            error.details = present(current).or(error.details);
        }
        error
    })
}

/// What is there instead of what the writer saw, for people.
fn present(current: &Value) -> Option<String> {
    let value = Some(text(current, "value")).filter(|value| !value.is_empty())?;
    let by = super::author(current);
    Some(format!("it says now: {}  ({by})", safe(value)))
}
