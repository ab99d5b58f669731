//! Reads the event log for `events`, `log` and `idea show`.
//!
//! | file | does |
//! | --- | --- |
//! | `point` | a point in the log that somebody typed: a number, a time or an age |
//! | `select` | which events are asked for |
//! | `story` | the entries of `swarm log` |
//! | `idea_story` | those of one idea, by attempt, with the files of its output |
//!
//! Invariant: every command reads the log in pages and holds no more of it than it shows.

pub mod idea_story;
mod point;
mod select;
mod story;

use serde_json::Value;

use super::access::{Past, with_access_then};
use super::context::Context;
use super::error::CliError;
use super::json;
use super::repo::Repo;

#[cfg(test)]
pub use crate::view::describe::Subject;
pub use point::read_point;
pub use select::{Filter, Selected, Selection};
pub use story::{Entry, Storyteller, lines, lines_within};

/// The most events requested at once.
const PAGE: usize = 1_000;

/// Passes the events after `after` to `each`, oldest first, until it returns false or the log ends.
///
/// # Errors
/// The log cannot be read, or `each` fails.
pub fn read(
    context: &mut Context,
    after: u64,
    mut each: impl FnMut(&mut Context, Value) -> Result<bool, CliError>,
) -> Result<u64, CliError> {
    let repo = context.repo()?;
    let past = context.past.clone();
    read_in(&repo, past.as_ref(), after, |event| each(context, event))
}

/// As [`read`], without a context.
fn read_in(
    repo: &Repo,
    past: Option<&Past>,
    mut after: u64,
    mut each: impl FnMut(Value) -> Result<bool, CliError>,
) -> Result<u64, CliError> {
    loop {
        let page = with_access_then(repo, past, |access| access.events(after, PAGE))?;
        let Some(last) = page.last() else {
            return Ok(after);
        };
        let last = json::number(last, "seq");
        if last <= after {
            return Err(CliError::refused(format!(
                "the daemon returned no events after event {after}"
            ))
            .hint("see what is wrong: swarm doctor"));
        }
        after = last;
        for event in page {
            if !each(event)? {
                return Ok(after);
            }
        }
    }
}

/// Explains an empty answer: an idea or agent that nobody knows is an error.
///
/// # Errors
/// There is no such idea or agent.
pub fn check_known(context: &Context, filter: &Filter) -> Result<(), CliError> {
    if let Some(idea) = &filter.idea {
        context.with_access(|access| access.idea(idea))?;
    }
    if let Some(agent) = &filter.agent {
        context.with_access(|access| access.agent(agent))?;
    }
    Ok(())
}
