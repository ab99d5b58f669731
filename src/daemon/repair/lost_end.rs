//! A log that lost its end at the end of a line or of a file, where nothing in it shows: a
//! checkpoint that was made later tells.
//!
//! Invariant: each checkpoint has the number of the effect that made it, and the log gave that
//! number. A file counts only with its tag in git: one that came from elsewhere refuses nothing.
//! After a repair the log knows all numbers again.

use crate::daemon::checkpoints::{file, tag_of};
use crate::daemon::files::paths::Paths;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::git::Repo;

/// The checkpoints whose files lie there at one moment.
pub(in crate::daemon) struct MadeBefore(Vec<CheckpointName>);

impl MadeBefore {
    /// To be called before the log is read, which may grow meanwhile.
    pub(in crate::daemon) fn reading(paths: &Paths) -> Self {
        Self(file::names(paths))
    }

    /// Why this state, that of the log's last event, cannot be the last that there was; `None` when
    /// nothing says so.
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
