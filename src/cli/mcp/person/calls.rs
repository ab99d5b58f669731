//! Carries out a call of these tools.
//!
//! Invariant: a change is sent as the memory's changes are: once, as one operation, with the
//! client's name.

use std::collections::VecDeque;
use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Value, json};

use super::arguments::{self, Call};
use super::limit::{self, Keep, MAX_BYTES, MAX_TEXT, shorten, shorten_to};
use super::tools::DEFAULT_LINES;
use crate::cli::access::agent_output::{self, Wanted};
use crate::cli::access::ids::Typed;
use crate::cli::access::remote::Daemon;
use crate::cli::access::{Access, patiently, temporary_daemon, with_access};
use crate::cli::clock;
use crate::cli::commands::idea::dependencies;
use crate::cli::commands::report;
use crate::cli::error::{CliError, Kind};
use crate::cli::event_log::idea_story;
use crate::cli::json::to_value;
use crate::cli::mcp::calls::{Caller, execute, send_as_one};
use crate::cli::repo::Repo;
use crate::domain::ids::IdeaId;
use crate::domain::operation::{Command, IdeaEdit, NewIdea};

/// The lists of a status.
const OF_STATUS: [(&str, Keep); 5] = [
    ("needsYou", Keep::First),
    ("warnings", Keep::First),
    ("agents", Keep::First),
    ("mergeQueue", Keep::First),
    ("accounts", Keep::First),
];
/// The lists of a report. What landed or failed last is at the end.
const OF_REPORT: [(&str, Keep); 8] = [
    ("landed", Keep::Last),
    ("nothingToLand", Keep::Last),
    ("failed", Keep::Last),
    ("waiting", Keep::First),
    ("stuck", Keep::First),
    ("needsYou", Keep::First),
    ("warnings", Keep::First),
    ("accounts", Keep::First),
];
/// The lists of an idea's story, and of an attempt in it.
const OF_STORY: [(&str, Keep); 2] = [("before", Keep::Last), ("attempts", Keep::Last)];
const OF_ATTEMPT: [(&str, Keep); 2] = [("happened", Keep::Last), ("runs", Keep::Last)];
/// Most bytes of an attempt in a story that does not fit.
const MAX_ATTEMPT: usize = MAX_BYTES / 3;

/// The answer to a call, as the client's model reads it.
pub(in crate::cli::mcp) fn carry_out(
    repo: &Repo,
    caller: &Caller,
    call: Call,
) -> Result<Value, CliError> {
    match call {
        Call::Status => status(repo),
        Call::NeedsYou => needs_you(repo),
        Call::Report(call) => report(repo, caller, &call),
        Call::ListIdeas(call) => list_ideas(repo, &call),
        Call::ShowIdea(call) => show_idea(repo, &call),
        Call::ShowLogs(call) => show_logs(repo, &call),
        Call::AddIdea(call) => add_idea(repo, caller, call),
        Call::EditIdea(call) => edit_idea(repo, caller, call),
        Call::AssignIdea(call) => {
            let (id, profile) = (idea_id(repo, &call.id)?, call.profile);
            execute(repo, caller, &Command::AssignIdea { id, profile })
        }
        Call::RetryIdea(call) => {
            let id = idea_id(repo, &call.id)?;
            execute(repo, caller, &Command::RetryIdea { id })
        }
        Call::Say(call) => say(repo, caller, call),
        Call::Pause(call) => {
            let reason = call.reason;
            on_the_daemon(repo, caller, &Command::Pause { reason })
        }
        Call::Resume => on_the_daemon(repo, caller, &Command::Resume),
        Call::CreateCheckpoint(call) => create_checkpoint(repo, caller, call),
    }
}

fn status(repo: &Repo) -> Result<Value, CliError> {
    let mut status = with_access(repo, Access::status)?;
    shorten(&mut status, &OF_STATUS);
    Ok(status)
}

fn needs_you(repo: &Repo) -> Result<Value, CliError> {
    let status = with_access(repo, Access::status)?;
    let mut answer = json!({ "needsYou": status["needsYou"] });
    shorten(&mut answer, &OF_STATUS);
    Ok(answer)
}

/// Does not count as a report that the person has seen: `last` stays where it is.
fn report(repo: &Repo, caller: &Caller, call: &arguments::Report) -> Result<Value, CliError> {
    let since = report::start_of(call.since.as_deref(), repo, &caller.zone, clock::now())?;
    let mut report = with_access(repo, |access| access.report(since))?;
    shorten(&mut report, &OF_REPORT);
    Ok(report)
}

fn list_ideas(repo: &Repo, call: &arguments::ListIdeas) -> Result<Value, CliError> {
    let ideas = with_access(repo, |access| access.ideas_open_first(call.status))?;
    let mut answer = json!({ "ideas": ideas });
    shorten(&mut answer, &[("ideas", Keep::First)]);
    Ok(answer)
}

/// Its text stays whole, because whoever edits an idea needs it; of its story the end stays.
fn show_idea(repo: &Repo, call: &arguments::OneIdea) -> Result<Value, CliError> {
    let id = idea_id(repo, &call.id)?;
    let mut idea = with_access(repo, |access| access.idea(&id))?;
    let text = idea["content"].take();
    shorten(
        &mut idea,
        &[("history", Keep::Last), ("needsYou", Keep::First)],
    );
    idea["content"] = text;
    idea["story"] = to_value(&idea_story::read(repo, None, &id)?)?;
    shorten_story(&mut idea["story"]);
    Ok(idea)
}

fn shorten_story(story: &mut Value) {
    if limit::bytes(story) > MAX_BYTES {
        let attempts = story["attempts"].as_array_mut().into_iter().flatten();
        attempts.for_each(|attempt| shorten_to(MAX_ATTEMPT, attempt, &OF_ATTEMPT));
    }
    shorten(story, &OF_STORY);
}

/// The last lines, each of bounded length; `more` says whether there are earlier ones.
fn show_logs(repo: &Repo, call: &arguments::ShowLogs) -> Result<Value, CliError> {
    let typed: Typed<_> = typed(&call.id)?;
    let id = with_access(repo, |access| access.agent_id(&typed))?;
    let most = call.lines.unwrap_or(DEFAULT_LINES);
    let wanted = Wanted {
        agent: &id,
        // One more shows whether there are earlier ones.
        lines: most + 1,
        follow: false,
        raw: false,
    };
    let mut lines: VecDeque<String> = VecDeque::new();
    let mut size = 0;
    let mut more = false;
    agent_output::read(repo, &wanted, &mut |line| {
        let line = limit::cut(line, MAX_TEXT).unwrap_or_else(|| line.to_owned());
        size += line.len();
        lines.push_back(line);
        while lines.len() as u64 > most || size > MAX_BYTES {
            more = true;
            size -= lines.pop_front().map_or(size, |first| first.len());
        }
        Ok(())
    })?;
    Ok(json!({ "id": id, "lines": lines, "more": more }))
}

fn add_idea(repo: &Repo, caller: &Caller, call: arguments::AddIdea) -> Result<Value, CliError> {
    let idea = NewIdea {
        after: idea_ids(repo, &call.after)?,
        text: call.content,
        tags: call.tags,
        priority: call.priority,
        profile: call.profile,
        inbox: None,
        review: call.review,
        imported: None,
    };
    execute(repo, caller, &Command::AddIdea(idea))
}

fn edit_idea(repo: &Repo, caller: &Caller, call: arguments::EditIdea) -> Result<Value, CliError> {
    let id = idea_id(repo, &call.id)?;
    let after = call.after.map(|after| idea_ids(repo, &after));
    let edit = IdeaEdit {
        text: call.content,
        after: after.transpose()?,
        tags: call.tags,
        priority: call.priority,
    };
    execute(repo, caller, &Command::EditIdea { id, edit })
}

fn say(repo: &Repo, caller: &Caller, call: arguments::Say) -> Result<Value, CliError> {
    let typed: Typed<_> = typed(&call.id)?;
    let daemon = Daemon::connect(repo)?.ok_or_else(CliError::no_daemon)?;
    let id = Access::Daemon(Box::new(daemon)).agent_id(&typed)?;
    let text = call.text;
    on_the_daemon(repo, caller, &Command::SayToAgent { id, text })
}

/// Without a daemon, the command line creates it: its temporary daemon takes a process over.
fn create_checkpoint(
    repo: &Repo,
    caller: &Caller,
    call: arguments::CreateCheckpoint,
) -> Result<Value, CliError> {
    let name = call.name;
    patiently(|| {
        if Daemon::connect(repo)?.is_none() {
            let args = ["checkpoint", "create", name.as_str()];
            return temporary_daemon::in_its_own_process(repo, &args);
        }
        on_the_daemon(
            repo,
            caller,
            &Command::CreateCheckpoint {
                name: name.clone(),
                tag: false,
            },
        )
    })
}

/// Sends a change that only a daemon can make.
fn on_the_daemon(repo: &Repo, caller: &Caller, command: &Command) -> Result<Value, CliError> {
    send_as_one(caller, |origin| {
        let mut daemon = Daemon::connect(repo)?.ok_or_else(CliError::no_daemon)?;
        daemon.set_origin(origin.clone());
        daemon.execute(command)
    })
}

fn idea_id(repo: &Repo, text: &str) -> Result<IdeaId, CliError> {
    let typed = typed(text)?;
    with_access(repo, |access| access.idea_id(&typed))
}

fn idea_ids(repo: &Repo, texts: &[String]) -> Result<Vec<IdeaId>, CliError> {
    let typed: Result<Vec<_>, _> = texts.iter().map(|text| typed(text)).collect();
    let typed = typed?;
    with_access(repo, |access| dependencies(access, &typed))
}

/// An id as the client typed it.
fn typed<T: FromStr<Err: Display>>(text: &str) -> Result<T, CliError> {
    let refused = |error: T::Err| CliError::new(Kind::Usage, error.to_string());
    text.parse().map_err(refused)
}
