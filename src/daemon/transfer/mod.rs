//! Swarms that move between clones: import, departure, return. Called by `swarm snapshot`.
//!
//! `staged` opens an archive that is not trusted, `plausible` doubts it, `findings` compares it
//! with what is here, `works` finds its unfinished work, `place` puts it into its places,
//! `departure` is the other side.
//! Invariant: an import happens when the log gets its name, at once and whole. Killed before that,
//! only a staging folder, private references and files that nobody reads are left, and the same
//! command starts over. Killed after that, whoever opens the log next finishes.

mod conversations;
mod departure;
mod findings;
mod place;
mod plausible;
mod staged;
mod works;

use std::io::Read;

use super::error::DaemonError;
use super::files::paths::Paths;
use super::files::{exports, store};
use crate::domain::request::Author;
use crate::domain::state::transfer::ImportPurpose;
use crate::git::Repo;
use crate::journal::StateLock;
use crate::plain_file;
use crate::view::restore::{Restore, RestoreResult};

pub(super) use conversations::{Destination, conversations_of, place_imported};
pub use departure::{Departure, reclaim};
use findings::Findings;
pub(super) use place::finish;
use staged::StagedSwarm;

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Whether a restored attempt starts with its whole recorded prompt.
    pub preserve_prompts: bool,
}

/// An archive that was checked and compared with what is here. Nothing has changed.
pub struct PreparedImport {
    paths: Paths,
    repo: Repo,
    staged: StagedSwarm,
    findings: Findings,
    _lock: StateLock,
}

/// What `import` found.
pub enum Import {
    /// This archive was imported before.
    Done(Box<Restore>),
    /// It can be imported.
    Ready(Box<PreparedImport>),
}

/// Unpacks and checks an archive, and compares it with what is here.
///
/// # Errors
/// The lock is held; there is a log already; the archive is refused, or belongs to another
/// repository.
pub fn prepare(
    paths: &Paths,
    archive: impl Read,
    options: &ImportOptions,
) -> Result<Import, DaemonError> {
    make_state_folder(paths)?;
    let lock = store::lock(paths)?;
    let (state, _) = store::read(paths)?;
    place::finish(paths, &state)?;
    place::clear_staging(paths)?;
    let staged = StagedSwarm::unpack(paths, archive)?;
    if state.seq > 0 {
        let done = state.swarm.imported.as_deref();
        let same = done.is_some_and(|done| done.manifest_sha256 == staged.sha256);
        let answer = done.filter(|_| same).map(|done| staged.done_before(done));
        place::clear_staging(paths)?;
        return match answer {
            Some(answer) => {
                exports::write(paths, &state)
                    .map_err(DaemonError::io("write ideas.jsonl and learnings.md"))?;
                Ok(Import::Done(Box::new(answer)))
            }
            None => Err(DaemonError::SwarmThere { events: state.seq }),
        };
    }
    let compared = compare(paths, staged, options);
    let (repo, staged, findings) = match compared {
        Ok(compared) => compared,
        Err(refused) => {
            place::clear_staging(paths)?;
            return Err(refused);
        }
    };
    Ok(Import::Ready(Box::new(PreparedImport {
        paths: paths.clone(),
        repo,
        staged,
        findings,
        _lock: lock,
    })))
}

fn compare(
    paths: &Paths,
    mut staged: StagedSwarm,
    options: &ImportOptions,
) -> Result<(Repo, StagedSwarm, Findings), DaemonError> {
    let repo = Repo::open(&paths.root)?;
    staged.check(&repo)?;
    let findings = Findings::of(paths, &repo, &staged, options)?;
    Ok((repo, staged, findings))
}

impl PreparedImport {
    /// What the import restores, and what it leaves behind.
    pub fn result(&self) -> Restore {
        self.findings.result(&self.staged)
    }

    /// Whether something is left behind.
    pub fn is_partial(&self) -> bool {
        self.result().result == RestoreResult::Partial
    }

    /// Whether the other swarm may go on beside this one.
    pub fn is_copy(&self) -> bool {
        self.staged.purpose == ImportPurpose::Copy
    }

    /// Changes nothing; the staging folder goes.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn abandon(self) -> Result<(), DaemonError> {
        place::clear_staging(&self.paths)
    }

    /// Imports it.
    ///
    /// # Errors
    /// A file or git cannot be written: the same command starts over.
    pub fn carry_out(self, by: &Author) -> Result<Restore, DaemonError> {
        let result = self.result();
        let events = self.findings.events(&self.staged, by);
        let state = place::carry_out(&self.paths, &self.repo, &self.staged, &events)?;
        place::finish(&self.paths, &state)?;
        exports::write(&self.paths, &state)
            .map_err(DaemonError::io("write ideas.jsonl and learnings.md"))?;
        Ok(result)
    }
}

/// A clone has no `.swarm/state`, because git ignores it.
fn make_state_folder(paths: &Paths) -> Result<(), DaemonError> {
    let made = plain_file::make_folder(&paths.state);
    made.map(drop).map_err(DaemonError::io("make .swarm/state"))
}
