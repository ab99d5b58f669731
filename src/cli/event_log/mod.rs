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

use super::context::Context;
use super::error::CliError;
use super::json;

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
    mut after: u64,
    mut each: impl FnMut(&mut Context, Value) -> Result<bool, CliError>,
) -> Result<u64, CliError> {
    loop {
        let page = context.with_access(|access| access.events(after, PAGE))?;
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
            if !each(context, event)? {
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
