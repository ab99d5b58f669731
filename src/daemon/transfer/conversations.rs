//! Conversations that came with an archive: kept below `.swarm/state/conversations/`, and given to
//! an agent's program when the next attempt resumes one.
//!
//! Invariant: a program's own records get a file only if they lack it. If that fails, the attempt
//! starts a new conversation, as after any conversation that cannot be resumed.

use std::fs;
use std::path::{Path, PathBuf};

use super::works;
use crate::agents;
use crate::agents::adapter::StartedAs;
use crate::agents::conversation::{PlaceError, Placement};
use crate::config::Adapter;
use crate::daemon::files::paths::Paths;
use crate::daemon::runs::launch_record::{self, STARTED_AS};
use crate::domain::ids::AgentId;
use crate::domain::session::SessionId;
use crate::domain::state::State;
use crate::domain::state::checkpoint::{Unfinished, unfinished};
use crate::plain_file;

/// The folder of imported conversations, below `.swarm/state/`.
pub(super) const FOLDER: &str = "conversations";
/// Most bytes read of a launch record.
pub(super) const STARTED_AS_MAX: u64 = 64 * 1024;
/// Most folders above a conversation's file.
const DEEPEST: usize = 12;

/// Where a conversation goes on.
pub(in crate::daemon) struct Destination<'a> {
    pub(in crate::daemon) adapter: Adapter,
    /// The program's records.
    pub(in crate::daemon) records: &'a Path,
    pub(in crate::daemon) worktree: &'a Path,
    pub(in crate::daemon) session: &'a SessionId,
}

/// Gives the program the imported conversation of an earlier agent, if there is one.
pub(in crate::daemon) fn place_imported(paths: &Paths, agent: &AgentId, to: &Destination<'_>) {
    let folder = paths.state.join(FOLDER).join(agent.as_str());
    let Some(file) = find(&folder, to.session, DEEPEST) else {
        return;
    };
    if let Err(error) = place(&file, to) {
        let session = to.session.as_str();
        tracing::warn!(%error, session, "an imported conversation cannot be resumed");
    }
}

/// Puts this file where the program finds it.
pub(super) fn place(file: &Path, to: &Destination<'_>) -> Result<PathBuf, PlaceError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut content = plain_file::open(file)?;
    let mut placement = Placement {
        session: to.session,
        new_session: None,
        worktree: to.worktree,
        name: &name,
        content: &mut content,
    };
    agents::adapter(to.adapter).place_conversation(to.records, &mut placement)
}

/// The file of a conversation below a folder: the one whose name has its id.
pub(super) fn find(folder: &Path, session: &SessionId, deepest: usize) -> Option<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().ok()?;
        let path = entry.path();
        let name = entry.file_name();
        if kind.is_file() && name.to_string_lossy().contains(session.as_str()) {
            return Some(path);
        }
        if kind.is_dir() && deepest > 0 {
            let below = find(&path, session, deepest - 1);
            if below.is_some() {
                return below;
            }
        }
    }
    None
}

/// The files of the conversations that unfinished work would resume, with the agents that had them.
pub(in crate::daemon) fn conversations_of(paths: &Paths, state: &State) -> Vec<(AgentId, PathBuf)> {
    let file = |work: &Unfinished| {
        let session = works::session_of(state, work)?;
        let own = in_records(paths, work, &session.id);
        let imported = || {
            find(
                &paths.state.join(FOLDER).join(work.agent.as_str()),
                &session.id,
                DEEPEST,
            )
        };
        own.or_else(imported)
    };
    let works = unfinished(state);
    let found = works
        .iter()
        .filter_map(|work| Some((work.agent.clone(), file(work)?)));
    found.collect()
}

/// The file in the records of the program that ran last.
fn in_records(paths: &Paths, work: &Unfinished, session: &SessionId) -> Option<PathBuf> {
    let folder = paths.runs.join(work.last_run.as_ref()?.as_str());
    let text = launch_record::text(&folder.join(STARTED_AS), STARTED_AS_MAX).ok()?;
    let started: StartedAs = serde_json::from_str(&text).ok()?;
    let worktree = paths.worktree(&work.worktree);
    let adapter = agents::adapter(started.adapter);
    adapter
        .conversation_file(&started.records?, session, &worktree)
        .ok()
        .flatten()
}

/// The file of a conversation in an archive.
pub(super) fn staged(folder: &Path, agent: &AgentId, session: &SessionId) -> Option<PathBuf> {
    find(&folder.join(agent.as_str()), session, DEEPEST)
}
