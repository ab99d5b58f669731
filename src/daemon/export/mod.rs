//! Packs a swarm as an archive. Called by the command line, with and without a daemon.
//!
//! `contents` gathers what goes in, `share` takes secrets out, `scratch` is the folder for what has
//! to be made first.
//! Invariant: an export reads; it changes nothing but its scratch folder. What is packed is the log
//! up to one event, byte for byte, and the state after it. Never packed: the configuration, tokens,
//! the environment of agents.

mod contents;
pub(super) mod scratch;
mod share;

use std::collections::BTreeMap;
use std::io::Write;

use super::error::DaemonError;
use super::files::hash;
use super::files::paths::Paths;
use crate::archive::manifest::{FORMAT, VERSION};
use crate::archive::{GitPart, Manifest, Purpose, Redaction, SnapshotPart, Source, Written, write};
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::journal::Position;
use scratch::Scratch;

/// What goes into an archive. Dropped, it removes what was made for it.
#[derive(Debug)]
pub struct Export {
    head: Manifest,
    sources: Vec<Source>,
    // Held until all is written: the bundle lies in it.
    _scratch: Scratch,
}

/// How much of each kind an archive has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Checkpoints.
    pub checkpoints: usize,
    /// Provenance records.
    pub provenance: usize,
    /// Agents with a file of their own.
    pub agents: usize,
    /// Files of conversations.
    pub conversations: usize,
    /// Folders of runs.
    pub runs: usize,
    /// References in the bundle.
    pub refs: usize,
}

impl Counts {
    /// Of the files in a list.
    pub fn of(manifest: &Manifest) -> Self {
        use crate::archive::names::{AGENTS, CHECKPOINTS, CONVERSATIONS, PROVENANCE, RUNS};
        let below = |folder: &str| {
            let files = manifest.files.iter();
            files.filter(|entry| entry.path.starts_with(folder)).count()
        };
        let run = |path: &str| {
            path.strip_prefix(RUNS)?
                .split('/')
                .next()
                .map(ToOwned::to_owned)
        };
        let runs = manifest.files.iter().filter_map(|entry| run(&entry.path));
        Self {
            checkpoints: below(CHECKPOINTS),
            provenance: below(PROVENANCE),
            agents: below(AGENTS),
            conversations: below(CONVERSATIONS),
            runs: runs.collect::<std::collections::BTreeSet<_>>().len(),
            refs: manifest.git.as_ref().map_or(0, |git| git.refs.len()),
        }
    }
}

impl Export {
    /// Gathers what an archive of the swarm at this state has. The state is the one after an event
    /// of the log. `checkpoint` was made for this archive: its commit is the target's.
    ///
    /// # Errors
    /// A damaged log; another export; git failed.
    pub fn gather(
        paths: &Paths,
        state: &State,
        purpose: Purpose,
        checkpoint: Option<&CheckpointName>,
    ) -> Result<Self, DaemonError> {
        let scratch = Scratch::create(paths)?;
        let gathered = match purpose {
            Purpose::Share => share::gather(paths, state, &scratch)?,
            Purpose::Copy | Purpose::Move => contents::gather(paths, state, checkpoint, &scratch)?,
        };
        let head = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION.to_owned(),
            created_at: state.swarm.last_event_at,
            swarm_version: env!("CARGO_PKG_VERSION").to_owned(),
            swarm_id: hash::swarm_id(paths)?,
            purpose,
            snapshot: SnapshotPart {
                seq: gathered.end.seq,
                at: state.swarm.last_event_at,
                log_crc: gathered.end.crc,
            },
            git: gathered.git,
            programs: BTreeMap::new(),
            files: Vec::new(),
            redactions: gathered.redactions,
        };
        Ok(Self {
            head,
            sources: gathered.sources,
            _scratch: scratch,
        })
    }

    /// Writes the archive.
    ///
    /// # Errors
    /// A file changed meanwhile; `to` cannot be written.
    pub fn write(self, to: impl Write) -> Result<Written, DaemonError> {
        Ok(write(self.head, &self.sources, to)?)
    }
}

/// What was gathered.
struct Gathered {
    sources: Vec<Source>,
    /// Where the log ends.
    end: Position,
    git: Option<GitPart>,
    redactions: Vec<Redaction>,
}
