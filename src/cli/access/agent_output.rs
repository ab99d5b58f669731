//! The output of an agent, line by line: from the daemon or, without one, from its runs' files.
//!
//! Invariant: no line is passed on twice, so a daemon that stops meanwhile is an error.

use super::remote::Daemon;
use crate::api::logs::stored::{self, Asked};
use crate::cli::error::CliError;
use crate::cli::repo::Repo;
use crate::daemon::offline;
use crate::domain::ids::AgentId;
use crate::domain::rejection::Rejection;

/// Which output.
pub struct Wanted<'a> {
    /// The agent.
    pub agent: &'a AgentId,
    /// Only the last lines, so many at most.
    pub lines: u64,
    /// Go on until the agent has ended; only a daemon does so.
    pub follow: bool,
    /// The bytes unchanged.
    pub raw: bool,
}

/// Where the lines came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From the daemon.
    Daemon,
    /// From the files.
    Files {
        /// Whether the agent's program runs without a daemon.
        running: bool,
    },
}

/// Passes each line to `each`.
///
/// # Errors
/// There is no such agent; its output cannot be read; `each` fails.
pub fn read(
    repo: &Repo,
    wanted: &Wanted<'_>,
    each: &mut dyn FnMut(&str) -> Result<(), CliError>,
) -> Result<Source, CliError> {
    let Wanted {
        agent,
        lines,
        follow,
        raw,
    } = wanted;
    // No retry through the files if the daemon stops meanwhile: it would show lines twice.
    if let Some(daemon) = Daemon::connect(repo)? {
        let path = format!("agents/{agent}/logs?lines={lines}&follow={follow}&raw={raw}");
        daemon.follow(&path, each)?;
        return Ok(Source::Daemon);
    }
    let paths = repo.paths();
    let state = offline::read(&paths)?;
    let left = offline::left_running(&paths, &state);
    let running = left.iter().any(|(running, _)| running == *agent);
    let asked = Asked {
        agent,
        lines: *lines,
        raw: *raw,
        running,
    };
    if !stored::lines(&state, &repo.runs(), asked, each)? {
        return Err(Rejection::AgentUnknown((*agent).clone()).into());
    }
    Ok(Source::Files { running })
}
