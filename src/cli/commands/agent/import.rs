//! `swarm agent import`: lets an idea go on from the exported state of an agent.
//!
//! Invariant: the whole file is checked before anything changes, and what is not carried over is
//! said. With a daemon, the daemon imports it.

use std::path::PathBuf;

use clap::Args;

use crate::api::client::encode;
use crate::cli::access::ids::Typed;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::safe;
use crate::daemon::agent_import::{self, Wanted};
use crate::domain::ids::{IdeaId, ProfileName};
use crate::view::agent_state::import::{
    CommitsFate, Conversation, ConversationFate, ImportResult, ProfileSource, WhyBrief,
};

/// `agent import`. Works with and without a daemon.
#[derive(Debug, Args)]
#[command(
    after_help = "FILE is what `swarm agent export ID -o FILE` wrote, here or in another clone. \
If it ends in .tar.zst there, and the next attempt has a profile of the same program (Claude Code \
or Codex), that attempt goes on with the agent's conversation. Else the first prompt of each \
further attempt says what the agent said and did, and which notes it had. If its commits are in \
FILE or in this repository, the next attempt begins with them.

Examples:
  $ swarm agent import ed-002.json --check
  $ swarm agent import ed-002.tar.zst
  $ swarm agent import ed-002.json --idea idea-004 --profile finn"
)]
pub struct Import {
    /// The file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The idea that goes on from it: pending, failed, blocked or timed out. Without it, a new idea
    /// is added, with the text in the file.
    #[arg(long, value_name = "ID")]
    pub idea: Option<Typed<IdeaId>>,
    /// The profile of the next attempts. Default: the agent's own if it is configured here, else
    /// the idea's, else the default one.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileName>,
    /// Check the file and say what would happen, but change nothing.
    #[arg(long)]
    pub check: bool,
}

/// Imports the file.
pub(super) fn run(args: &Import, context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    let mut file = agent_import::read(&paths, &args.file)?;
    let idea = args.idea.as_ref();
    let idea = idea.map(|id| context.with_access(|access| access.idea_id(id)));
    let wanted = Wanted {
        idea: idea.transpose()?,
        profile: args.profile.clone(),
        check: args.check,
    };
    let answer = context.with_access(|access| access.import_agent(&paths, &mut file, &wanted))?;
    if context.output.json {
        return context.output.document(&answer);
    }
    let result: ImportResult = serde_json::from_value(answer)
        .map_err(|error| CliError::refused(format!("the daemon's answer is unknown: {error}")))?;
    for line in told(&result) {
        context.output.line(line)?;
    }
    if let Some(next) = next(&result, args) {
        context.output.next_step(&next);
    }
    Ok(())
}

/// The query of the request to the daemon.
pub(in crate::cli) fn query(wanted: &Wanted) -> String {
    let named = [
        ("ideaId", wanted.idea.as_ref().map(IdeaId::as_str)),
        ("profile", wanted.profile.as_ref().map(ProfileName::as_str)),
    ];
    let rest = named.map(|(name, value)| {
        let pair = value.map(|value| format!("&{name}={}", encode(value)));
        pair.unwrap_or_default()
    });
    format!("agents/import?check={}{}", wanted.check, rest.concat())
}

/// What was done, or would be, for people.
fn told(result: &ImportResult) -> Vec<String> {
    let mut lines = vec![headline(result)];
    lines.push(format!("  {}", profile(result)));
    let commits = commits(result);
    lines.push(format!("  {commits}"));
    lines.push(format!("  {}", conversation(&result.conversation)));
    if !result.repairs.is_empty() {
        lines.push(format!(
            "  the export had to repair the messages ({}):",
            result.repairs.len()
        ));
        for repair in result.repairs.iter().take(SHOWN) {
            lines.push(format!("    {}: {}", repair.at, safe(&repair.what)));
        }
        if result.repairs.len() > SHOWN {
            lines.push(format!("    ... and {} more", result.repairs.len() - SHOWN));
        }
    }
    if result.check {
        lines.push("  nothing was changed".into());
    }
    lines
}

/// Most repairs that are shown.
const SHOWN: usize = 10;

fn headline(result: &ImportResult) -> String {
    let id = result.idea_id.as_ref();
    let id = id.map_or_else(String::new, ToString::to_string);
    let agent = &result.agent_id;
    let messages = match result.messages {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    };
    match (result.done_before, result.check, result.added) {
        (true, _, _) => format!("{id} goes on from {agent} already: this was done before"),
        (false, true, true) => format!("would add {id}, which goes on from {agent} ({messages})"),
        (false, true, false) => format!("{id} would go on from {agent} ({messages})"),
        (false, false, true) => format!("added {id}; it goes on from {agent} ({messages})"),
        (false, false, false) => format!("{id} goes on from {agent} ({messages})"),
    }
}

fn profile(result: &ImportResult) -> String {
    let name = &result.profile;
    match result.profile_from {
        ProfileSource::Asked => format!("profile {name}, as asked"),
        ProfileSource::File => format!("profile {name}, as before"),
        ProfileSource::Idea => {
            format!("profile {name}, the idea's own: the agent's is not configured here")
        }
        ProfileSource::Default => {
            format!("profile {name}, the default: the agent's is not configured here")
        }
    }
}

fn commits(result: &ImportResult) -> String {
    let tip = result.commits.tip.as_deref().unwrap_or_default();
    let tip: String = tip.chars().take(10).collect();
    // An idea that has begun goes on from what it has.
    let begins = if result.added {
        "it begins from the target"
    } else {
        "it goes on from its own work, else from the target"
    };
    match result.commits.fate {
        CommitsFate::Taken => format!("it begins with the agent's commits, up to {tip}"),
        CommitsFate::OwnWork => {
            format!("it begins with its own work; the agent's commits up to {tip} stay aside")
        }
        CommitsFate::NotNamed => format!("{begins}: the file names no commit"),
        CommitsFate::NotHere => {
            format!("{begins}: commit {tip} is not in this repository")
        }
        CommitsFate::Unrelated => {
            format!("{begins}: the target shares no history with commit {tip}")
        }
        CommitsFate::InTarget => {
            format!("{begins}, which has the agent's commit {tip} already")
        }
    }
}

fn conversation(told: &Conversation) -> String {
    let why = match (told.fate, told.why) {
        (ConversationFate::Carried, _) => {
            return "its next attempt goes on with the agent's conversation".to_owned();
        }
        (ConversationFate::Brief, None) => "",
        (ConversationFate::Brief, Some(why)) => match why {
            WhyBrief::NotInFile => ", because the file has none",
            WhyBrief::NotPortable => ", because swarm cannot move those of its program",
            WhyBrief::AdapterDiffers => ", because the profile runs another program",
            WhyBrief::OwnWork => ", because the idea goes on with its own work",
            WhyBrief::NotResumed => ", because `completion.resume` is off",
        },
    };
    format!("the conversation itself is not carried over{why}; the brief in its first prompt is")
}

fn next(result: &ImportResult, args: &Import) -> Option<String> {
    if result.check {
        let file = safe(&args.file.to_string_lossy());
        let id = result.idea_id.as_ref().filter(|_| !result.added);
        let idea = id.map_or_else(String::new, |id| format!(" --idea {id}"));
        let profile = args.profile.as_ref();
        let profile = profile.map_or_else(String::new, |name| format!(" --profile {name}"));
        let command = format!("swarm agent import {file}{idea}{profile}");
        return Some(format!("import it: {command}"));
    }
    let id = result.idea_id.as_ref()?;
    if result.starts {
        return Some(format!("see it: swarm idea show {id}"));
    }
    Some(format!(
        "it does not start by itself; start it: swarm idea retry {id}"
    ))
}
