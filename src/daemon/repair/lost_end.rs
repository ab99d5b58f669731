//! Detects a log that was truncated at the end of a line or file, which its bytes cannot show, by a
//! later checkpoint. Called by `files::store` and `repair`.
//!
//! Invariant: a checkpoint has the number of its effect, which the log assigned. Its file counts
//! only together with its tag object, so a foreign reference refuses nothing. After a repair the
//! log knows all numbers again.

use crate::daemon::checkpoints::{file, reference_of};
use crate::daemon::files::paths::Paths;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::git::Repo;

/// The checkpoints that existed before the log was read.
pub(in crate::daemon) struct MadeBefore(Vec<CheckpointName>);

impl MadeBefore {
    /// Call this before reading the log, which may grow meanwhile.
    pub(in crate::daemon) fn reading(paths: &Paths) -> Self {
        let repo = Repo::open(&paths.root);
        Self(repo.map_or_else(|_| Vec::new(), |repo| file::names(&repo)))
    }

    /// Why `state`, after the log's last event, cannot be the last one; `None` if nothing proves
    /// that.
    pub(in crate::daemon) fn missing_in(&self, paths: &Paths, state: &State) -> Option<String> {
        let unknown = |name: &&CheckpointName| !state.checkpoints.contains_key(*name);
        let mut unknown = self.0.iter().filter(unknown).peekable();
        unknown.peek()?;
        let repo = Repo::open(&paths.root).ok()?;
        let later = unknown.filter_map(|name| {
            let (file, _) = file::read(&repo, name).ok()?;
            let is_later = file.op.0 > state.counters.effects;
            let tag = repo.read_ref(&reference_of(name)).ok()??;
            let is_ours = tag.to_string() == file.tag_object.as_str();
            (is_later && is_ours).then_some((file.seq, name))
        });
        let (seq, name) = later.max()?;
        Some(format!(
            "the event log ends at event {}, but checkpoint `{name}` was made after event {seq}",
            state.seq
        ))
    }
}
