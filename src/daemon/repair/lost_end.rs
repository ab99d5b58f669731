//! Detects a log that was truncated at the end of a line or file, which its bytes cannot show, by a
//! later checkpoint. Called by `files::store` and `repair`.
//!
//! Invariant: a checkpoint has the number of its effect, which the log assigned. Its file counts
//! only together with its tag in git, so a foreign file refuses nothing. After a repair the log
//! knows all numbers again.

use crate::daemon::checkpoints::{file, tag_of};
use crate::daemon::files::paths::Paths;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::git::Repo;

/// The checkpoints whose files existed before the log was read.
pub(in crate::daemon) struct MadeBefore(Vec<CheckpointName>);

impl MadeBefore {
    /// Call this before reading the log, which may grow meanwhile.
    pub(in crate::daemon) fn reading(paths: &Paths) -> Self {
        Self(file::names(paths))
    }

    /// Why `state`, after the log's last event, cannot be the last one; `None` if nothing proves
    /// that.
    pub(in crate::daemon) fn missing_in(&self, paths: &Paths, state: &State) -> Option<String> {
        let unknown = |name: &&CheckpointName| !state.checkpoints.contains_key(*name);
        let unknown = self.0.iter().filter(unknown);
        let later = unknown.filter_map(|name| {
            let (file, _) = file::read(paths, name).ok()?;
            let is_later = file.op.0 > state.counters.effects;
            let tag = Repo::open(&paths.root).ok()?.tag(&tag_of(name)).ok()??;
            let is_ours = tag.oid.to_string() == file.tag_object.as_str();
            (is_later && is_ours).then_some((file.seq, name))
        });
        let (seq, name) = later.max()?;
        Some(format!(
            "the event log ends at event {}, but checkpoint `{name}` was made after event {seq}",
            state.seq
        ))
    }
}
