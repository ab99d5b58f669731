//! An archive in its staging folder `.swarm/import-<sha>/`, opened and checked.
//!
//! Invariant: nothing outside that folder is written. The archive's log is joined and verified up
//! to the checksum in its manifest before its state is used.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use super::{place, plausible};
use crate::archive::{self, ArchiveError, Limits, ObjectFormat, Purpose, Staged, names};
use crate::daemon::error::DaemonError;
use crate::daemon::files::hash::sha256;
use crate::daemon::files::paths::Paths;
use crate::daemon::files::store;
use crate::domain::event::Event;
use crate::domain::state::State;
use crate::domain::state::transfer::{ImportPurpose, Imported};
use crate::git::{Oid, Quarantine, Repo};
use crate::journal::{self, JournalError, LIVE_FILE, replay};
use crate::plain_file;
use crate::view::restore::{
    Restore, RestoreResult, RestoreSource, Restored, RestoredConfig, Skipped,
};

/// Begins the names of staging folders.
pub(super) const STAGING: &str = "import-";
/// Below the staging folder: the log in the making. No file of an archive begins with a dot.
const LOG: &str = ".log";
/// Below the staging folder: the commits, apart from the repository's.
const COMMITS: &str = ".commits";
/// Digits of a digest in names.
const SHORT: usize = 16;

/// An archive that was unpacked.
pub(super) struct StagedSwarm {
    pub(super) dir: PathBuf,
    pub(super) manifest: archive::Manifest,
    /// SHA-256 of the bytes of `manifest.json`, in hex.
    pub(super) sha256: String,
    pub(super) purpose: ImportPurpose,
    /// The state after the archive's last event.
    pub(super) state: State,
    /// Its commits; `None` until [`StagedSwarm::check`].
    commits: Option<Quarantine>,
}

impl StagedSwarm {
    /// Unpacks the archive.
    pub(super) fn unpack(paths: &Paths, archive: impl Read) -> Result<Self, DaemonError> {
        // Its own name is known only afterwards.
        let unpacked = paths.swarm.join(format!("{STAGING}new"));
        let staged = archive::stage(archive, &unpacked, Limits::default())?;
        let purpose = match staged.manifest.purpose {
            Purpose::Copy => ImportPurpose::Copy,
            Purpose::Move => ImportPurpose::Move,
            Purpose::Share => {
                place::clear_staging(paths)?;
                return Err(refused(
                    "it was made to be shared, without commits and with secrets removed; it can \
                    be shown and compared",
                    "look at it: swarm snapshot show FILE",
                ));
            }
        };
        let Staged {
            manifest, sha256, ..
        } = staged;
        let dir = folder_of(paths, &sha256);
        fs::rename(&unpacked, &dir).map_err(DaemonError::io("rename the staging folder"))?;
        crate::crash::point("import.staged");
        Ok(Self {
            dir,
            manifest,
            sha256,
            purpose,
            state: State::default(),
            commits: None,
        })
    }

    /// Checks that the archive fits the repository, and reads its state.
    ///
    /// # Errors
    /// It does not, or its log or its commits are damaged.
    pub(super) fn check(&mut self, repo: &Repo) -> Result<(), DaemonError> {
        let git = self.manifest.git.as_ref();
        let git = git.ok_or_else(|| damaged("it has no commits"))?;
        let format = match git.object_format {
            ObjectFormat::Sha1 => 40,
            ObjectFormat::Sha256 => 64,
        };
        let roots: Vec<&String> = git.roots.iter().collect();
        let own = if repo.is_sha256()? { 64 } else { 40 };
        if roots.iter().any(|root| root.len() != format) || format != own {
            return Err(refused(
                "its git objects are named by another hash than this repository's",
                "import it in a clone of the repository that it is from",
            ));
        }
        let roots: Vec<Oid> = roots.iter().filter_map(|it| it.parse().ok()).collect();
        if !self.is_related(repo, &roots)? {
            return Err(refused(
                "it belongs to another repository: no branch here has its first commit",
                "import it in a clone of the repository that it is from",
            ));
        }
        self.read_log()?;
        let bundle = self.dir.join(names::BUNDLE);
        self.commits = Some(repo.quarantine(&bundle, &self.dir.join(COMMITS))?);
        Ok(())
    }

    fn is_related(&self, repo: &Repo, roots: &[Oid]) -> Result<bool, DaemonError> {
        let target = self.manifest.git.as_ref().map(|git| git.target.clone());
        let head = repo.head_branch()?;
        for branch in target.into_iter().chain(head) {
            if repo.has_root(&branch, roots)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Joins the log into one file, whose name makes the import happen, and folds it.
    fn read_log(&mut self) -> Result<(), DaemonError> {
        let log = self.log();
        plain_file::make_folder(&log).map_err(DaemonError::io("make the staging folder"))?;
        for (digest, file) in self.files_in(names::RESTORED) {
            let name = format!("restored-{digest}");
            fs::hard_link(&file, log.join(name)).map_err(DaemonError::io("stage the log"))?;
        }
        let mut out = File::create_new(log.join(LIVE_FILE))
            .map(BufWriter::new)
            .map_err(DaemonError::io("stage the log"))?;
        let (end, first) = journal::copy_joined(&self.dir.join(names::EVENTS), &mut out)
            .map_err(|error| of_archive(&error))?;
        out.flush().map_err(DaemonError::io("stage the log"))?;
        let expected = &self.manifest.snapshot;
        if (end.seq, end.crc) != (expected.seq, expected.log_crc) {
            return Err(damaged("its event log does not end as its manifest says"));
        }
        if sha256(&first) != self.manifest.swarm_id {
            return Err(damaged("its event log does not begin as its manifest says"));
        }
        let mut state = State::default();
        let mut applied = Ok(());
        let read = replay::<Event>(&log, 1, None, |record| {
            if applied.is_ok() {
                applied = store::apply(&log, &mut state, &record);
            }
        });
        read.and(applied).map_err(|error| of_archive(&error))?;
        if plausible::has_absurd_numbers(&state) {
            return Err(damaged("its event log has numbers that swarm never gives"));
        }
        let snapshot = self.dir.join(names::SNAPSHOT);
        let shows = plausible::shows_ideas_of(&state, &snapshot)
            .map_err(DaemonError::io(format!("read {}", snapshot.display())))?;
        if !shows {
            return Err(damaged(
                "its snapshot.json shows other ideas than its event log",
            ));
        }
        self.state = state;
        Ok(())
    }

    /// The folder of the log in the making.
    pub(super) fn log(&self) -> PathBuf {
        self.dir.join(LOG)
    }

    /// The commits, once checked.
    pub(super) fn commits(&self) -> Result<&Quarantine, DaemonError> {
        let commits = self.commits.as_ref();
        commits.ok_or_else(|| damaged("its commits were not read"))
    }

    /// Name of the import among the repository's references.
    pub(super) fn name(&self) -> &str {
        self.sha256.get(..SHORT).unwrap_or_default()
    }

    /// Names and paths of the files directly in a folder of the archive.
    pub(super) fn files_in(&self, folder: &str) -> BTreeMap<String, PathBuf> {
        let listed = self.manifest.files.iter();
        let names = listed.filter_map(|entry| entry.path.strip_prefix(folder));
        let names = names.filter(|name| !name.contains('/'));
        let found = names.map(|name| (name.to_owned(), self.dir.join(folder).join(name)));
        found.collect()
    }

    /// Paths of all files below a folder of the archive, relative to the staging folder.
    pub(super) fn files_below(&self, folder: &str) -> Vec<&Path> {
        let listed = self.manifest.files.iter();
        let below = listed.filter(|entry| entry.path.starts_with(folder));
        below.map(|entry| Path::new(&entry.path)).collect()
    }

    /// Where the archive is from.
    pub(super) fn source(&self) -> RestoreSource {
        RestoreSource {
            manifest_sha256: self.sha256.clone(),
            seq: self.manifest.snapshot.seq,
            snapshot_at: self.manifest.snapshot.at,
            swarm_version: self.manifest.swarm_version.clone(),
            swarm_id: self.manifest.swarm_id.clone(),
        }
    }

    /// The answer for an archive that was imported before.
    pub(super) fn done_before(&self, done: &Imported) -> Restore {
        let partial = done.issues.keys().any(|issue| issue.is_partial());
        Restore {
            result: if partial {
                RestoreResult::Partial
            } else {
                RestoreResult::Full
            },
            summary: "this archive was already imported; nothing was changed".to_owned(),
            source: self.source(),
            config: RestoredConfig::default(),
            restored: Restored::default(),
            skipped: Skipped::default(),
            warnings: Vec::new(),
        }
    }
}

/// The staging folder of the archive with this manifest.
pub(super) fn folder_of(paths: &Paths, sha256: &str) -> PathBuf {
    let short = sha256.get(..SHORT).unwrap_or_default();
    paths.swarm.join(format!("{STAGING}{short}"))
}

/// The archive cannot be imported here.
pub(super) fn refused(why: &str, next: &str) -> DaemonError {
    DaemonError::NotImportable {
        why: why.to_owned(),
        next: next.to_owned(),
    }
}

/// A fault of the archive's log, not of the one here.
fn of_archive(error: &JournalError) -> DaemonError {
    damaged(&error.to_string())
}

fn damaged(why: &str) -> DaemonError {
    DaemonError::Archive(ArchiveError::Damaged {
        why: why.to_owned(),
    })
}
