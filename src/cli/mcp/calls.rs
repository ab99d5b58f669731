//! Carries out a call of the memory's tools, and sends every change.
//!
//! Invariant: a change carries a fresh operation id and is sent again only under the same id, so it
//! happens once even if the daemon dies before it answers.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::arguments::{self, Call};
use crate::api::Origin;
use crate::cli::access::remote::NO_ANSWER;
use crate::cli::access::with_access;
use crate::cli::error::CliError;
use crate::cli::json::number;
use crate::cli::repo::Repo;
use crate::daemon::memory::finder::Query;
use crate::domain::ids::{AgentId, ProfileName};
use crate::domain::memory::{
    BadKey, Claim, ConfirmFact, DisputeFact, FactKey, Learn, MemoryCommand, NoteKey, PutNote,
    Reference, WriteFact,
};
use crate::domain::operation::Command;
use crate::view::describe::Point;
use crate::view::memory::{LogFilter, MEMORY_KINDS, SHOWN_HISTORY};

/// Hits of a search that names no limit.
const DEFAULT_HITS: usize = 8;
/// Most events of one answer.
const MAX_EVENTS: usize = 50;

/// Codes of a change that may have taken effect or not.
const UNANSWERED: [&str; 2] = [NO_ANSWER, "UNKNOWN"];

/// Who calls.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// Profile that local learnings are for.
    pub(super) profile: Option<ProfileName>,
    /// The client's name, as it gave it.
    pub(super) client: Option<String>,
    /// The zone of the times that it types.
    pub(super) zone: TimeZone,
}

/// The answer to a call, as the client's model reads it.
pub(super) fn carry_out(repo: &Repo, caller: &Caller, call: Call) -> Result<Value, CliError> {
    match call {
        Call::Search(call) => search(repo, &call),
        Call::GetFact(call) => {
            let key = fact_key(call.key)?;
            with_access(repo, |access| access.fact(&key, SHOWN_HISTORY))
        }
        Call::Log(call) => log(repo, call),
        Call::GetNotes(call) => notes(repo, call),
        Call::Learn(call) => change(repo, caller, learn(caller, call)?),
        Call::WriteFact(call) => change(repo, caller, write_fact(call)?),
        Call::ConfirmFact(call) => change(repo, caller, confirm_fact(call)?),
        Call::DisputeFact(call) => change(repo, caller, dispute_fact(call)?),
        Call::PutNote(call) => change(repo, caller, put_note(call)?),
    }
}

fn search(repo: &Repo, call: &arguments::Search) -> Result<Value, CliError> {
    let query = Query {
        text: &call.query,
        limit: call.limit.unwrap_or(DEFAULT_HITS),
        all: false,
    };
    with_access(repo, |access| access.search(&query))
}

/// The first events that fit, and where to go on.
fn log(repo: &Repo, call: arguments::Log) -> Result<Value, CliError> {
    if let Some(kind) = call.kind.as_deref().filter(|it| !MEMORY_KINDS.contains(it)) {
        let kinds = MEMORY_KINDS.join(", ");
        return Err(CliError::refused(format!(
            "`{}` is not a kind of event about the memory",
            kind.escape_debug()
        ))
        .hint(format!("the kinds are {kinds}")));
    }
    let agent = call.agent.map(|agent| agent.parse::<AgentId>());
    let since = call.since.unwrap_or_default();
    let filter = LogFilter {
        since: Some(Point::Seq(since)),
        until: None,
        agent: agent
            .transpose()
            .map_err(|error| CliError::refused(error.to_string()))?,
        kind: call.kind,
    };
    let mut events = with_access(repo, |access| access.memory_log(&filter))?;
    events.truncate(MAX_EVENTS);
    let next = events.last().map_or(since, |event| number(event, "seq"));
    Ok(json!({ "events": events, "next": next }))
}

fn notes(repo: &Repo, call: arguments::GetNotes) -> Result<Value, CliError> {
    let notes = if let Some(key) = call.key {
        let key = note_key(key)?;
        json!([with_access(repo, |access| access.note(&key))?])
    } else {
        let prefix = call.prefix.unwrap_or_default();
        with_access(repo, |access| access.notes(&prefix))?
    };
    Ok(json!({ "notes": notes }))
}

fn change(repo: &Repo, caller: &Caller, command: MemoryCommand) -> Result<Value, CliError> {
    execute(repo, caller, &Command::Memory(command))
}

/// Sends a change to the daemon or, without one, to the files.
pub(super) fn execute(repo: &Repo, caller: &Caller, command: &Command) -> Result<Value, CliError> {
    send_as_one(caller, |origin| {
        with_access(repo, |access| access.execute_for(origin, command))
    })
}

/// Sends a change, and once more as the same operation if its answer got lost.
pub(super) fn send_as_one(
    caller: &Caller,
    send: impl Fn(&Origin) -> Result<Value, CliError>,
) -> Result<Value, CliError> {
    let operation = uuid::Uuid::new_v4().to_string().parse();
    let origin = Origin {
        client: caller.client.clone(),
        operation: Some(operation.map_err(|error| CliError::refused(format!("{error}")))?),
    };
    match send(&origin) {
        Err(error) if UNANSWERED.contains(&error.stable_code()) => send(&origin),
        answer => answer,
    }
}

fn learn(caller: &Caller, call: arguments::Learn) -> Result<MemoryCommand, CliError> {
    let profile = match (&caller.profile, call.local) {
        (_, false) => None,
        (Some(profile), true) => Some(profile.clone()),
        (None, true) => return Err(no_profile()),
    };
    Ok(MemoryCommand::Learn(Learn {
        content: call.content,
        key: call.key.map(fact_key).transpose()?,
        profile,
        same_as: call.same_as,
        claim: Claim {
            paths: call.paths,
            ..Claim::default()
        },
    }))
}

fn write_fact(call: arguments::WriteFact) -> Result<MemoryCommand, CliError> {
    Ok(MemoryCommand::WriteFact(WriteFact {
        key: fact_key(call.key)?,
        value: call.value,
        expected: Some(call.expected_version),
        claim: Claim {
            paths: call.paths,
            ..claim(&call.evidence)
        },
    }))
}

fn confirm_fact(call: arguments::ConfirmFact) -> Result<MemoryCommand, CliError> {
    Ok(MemoryCommand::ConfirmFact(ConfirmFact {
        key: fact_key(call.key)?,
        version: call.version,
        claim: claim(&call.evidence),
    }))
}

fn dispute_fact(call: arguments::DisputeFact) -> Result<MemoryCommand, CliError> {
    Ok(MemoryCommand::DisputeFact(DisputeFact {
        key: fact_key(call.key)?,
        version: call.version,
        value: call.value,
        claim: claim(&call.evidence),
    }))
}

fn put_note(call: arguments::PutNote) -> Result<MemoryCommand, CliError> {
    Ok(MemoryCommand::PutNote(PutNote {
        key: note_key(call.key)?,
        title: None,
        content: call.content,
        expected: call.expected_version,
        keep: call.keep,
    }))
}

fn claim(evidence: &[String]) -> Claim {
    let evidence = evidence.iter().map(|text| Reference::from(text.as_str()));
    Claim {
        evidence: evidence.collect(),
        ..Claim::default()
    }
}

fn fact_key(text: String) -> Result<FactKey, CliError> {
    text.try_into().map_err(|error| bad_key(&error))
}

fn note_key(text: String) -> Result<NoteKey, CliError> {
    text.try_into().map_err(|error| bad_key(&error))
}

fn bad_key(error: &BadKey) -> CliError {
    CliError::refused(error.to_string()).code("KEY_INVALID")
}

fn no_profile() -> CliError {
    CliError::refused("a local learning is for one profile, and this server was given none")
        .hint("leave out `local`, or start the server with a profile: swarm mcp --profile NAME")
}
