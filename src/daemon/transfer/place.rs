//! Carries out an import: the commits, the files, and last the log.
//!
//! Invariant: every step only adds what is missing, so it can be repeated after a kill. The rename
//! of the log comes when all before it is on disk.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::conversations;
use super::staged::{self, STAGING, StagedSwarm};
use crate::archive::names;
use crate::crash;
use crate::daemon::actor::clock::Clock;
use crate::daemon::checkpoints::{REFERENCES, TAGS, file, reference_of};
use crate::daemon::effects::failure::oid;
use crate::daemon::error::DaemonError;
use crate::daemon::files::paths::Paths;
use crate::domain::event::Event;
use crate::domain::evolve::evolve;
use crate::domain::state::State;
use crate::git::{GitError, Oid, Repo};
use crate::journal::{Disk, Journal, LIVE_FILE};
use crate::plain_file;
use crate::remove;

/// Prefixes of the references that are swarm's own; those of other imports are not.
const OWN: [&str; 3] = ["refs/heads/agent/", "refs/swarm/", TAGS];
const IMPORTS: &str = "refs/swarm/import/";

/// Removes what imports have left.
pub(super) fn clear_staging(paths: &Paths) -> Result<(), DaemonError> {
    let entries = fs::read_dir(&paths.swarm).map_err(DaemonError::io("read .swarm"))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(STAGING) {
            remove::tree_if_there(&entry.path())
                .map_err(DaemonError::io("remove the staging folder"))?;
        }
    }
    Ok(())
}

/// Whether swarm itself made a reference of this name.
pub(super) fn is_own(reference: &str) -> bool {
    !reference.starts_with(IMPORTS) && OWN.iter().any(|own| reference.starts_with(own))
}

/// Imports the archive; returns the state afterwards.
pub(super) fn carry_out(
    paths: &Paths,
    repo: &Repo,
    staged: &StagedSwarm,
    events: &[Event],
) -> Result<State, DaemonError> {
    let found = repo.import_bundle(&staged.dir.join(names::BUNDLE), staged.name())?;
    found
        .iter()
        // A checkpoint without its log would look like the rest of a lost one.
        .filter(|(name, _)| is_own(name) && !name.starts_with(REFERENCES))
        .try_for_each(|(name, oid)| create_if_free(repo, name, *oid))?;
    crash::point("import.fetched");
    place_files(paths, staged).map_err(DaemonError::io("put the archive's files in place"))?;
    crash::point("import.placed");
    let state = write_log(staged, events)?;
    publish_log(paths, staged).map_err(DaemonError::io("put the event log in place"))?;
    crash::point("import.renamed");
    Ok(state)
}

/// A name that is taken keeps its meaning; the import's own name has the commit, too.
fn create_if_free(repo: &Repo, name: &str, oid: Oid) -> Result<(), GitError> {
    match repo.create_ref(name, oid, "import") {
        Err(GitError::RefMoved { .. }) => Ok(()),
        created => created,
    }
}

fn place_files(paths: &Paths, staged: &StagedSwarm) -> io::Result<()> {
    for file in staged.files_below(names::PROVENANCE) {
        place_file(&paths.swarm, &staged.dir, file)?;
    }
    for file in staged.files_below(names::RUNS) {
        place_file(&paths.private, &staged.dir, file)?;
    }
    debug_assert!(names::CONVERSATIONS.starts_with(conversations::FOLDER));
    for file in staged.files_below(names::CONVERSATIONS) {
        place_file(&paths.state, &staged.dir, file)?;
    }
    Ok(())
}

/// Names the checkpoints and removes the staging folder, if an import was cut off right after it
/// happened. Shows the files of all checkpoints.
pub(in crate::daemon) fn finish(paths: &Paths, state: &State) -> Result<(), DaemonError> {
    let imported = state.swarm.imported.as_ref();
    let digest = imported.map(|imported| &imported.manifest_sha256);
    if let Some(digest) = digest.filter(|digest| names::is_sha256(digest)) {
        let dir = staged::folder_of(paths, digest);
        if dir.exists() {
            name_checkpoints(paths, state)?;
        }
        remove::tree_if_there(&dir).map_err(DaemonError::io("remove the staging folder"))?;
    }
    file::show_all(paths, state);
    Ok(())
}

fn name_checkpoints(paths: &Paths, state: &State) -> Result<(), DaemonError> {
    let repo = Repo::open(&paths.root)?;
    for (name, checkpoint) in &state.checkpoints {
        let tag = oid(&checkpoint.tag)?;
        if repo.has_object(tag)? {
            create_if_free(&repo, &reference_of(name), tag)?;
        }
    }
    Ok(())
}

/// Gives a staged file its place below `folder`, unless a file is there.
fn place_file(folder: &Path, staging: &Path, file: &Path) -> io::Result<()> {
    let mut above_file = folder.to_owned();
    for part in file.parent().into_iter().flat_map(Path::components) {
        let above = above_file.clone();
        above_file.push(part);
        plain_file::make_folder(&above_file)?;
        sync(&above)?;
    }
    let (from, to) = (staging.join(file), folder.join(file));
    File::open(&from)?.sync_all()?;
    match fs::hard_link(&from, &to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked.and_then(|()| sync(&above_file)),
    }
}

/// Appends the events of the import to the archive's log, durably.
fn write_log(staged: &StagedSwarm, events: &[Event]) -> Result<State, DaemonError> {
    let (now, _) = Clock::after(staged.state.swarm.last_event_at).now();
    // Never a new segment: the import is the rename of one file.
    let disk = Box::new(Disk);
    let (mut journal, opened) = Journal::open_with(&staged.log(), u64::MAX, disk)?;
    journal.append(opened.position.seq, now, events)?;
    journal.mark::<Event>(now)?;
    let mut state = staged.state.clone();
    for event in events {
        let seq = state.seq + 1;
        evolve(&mut state, seq, now, event);
    }
    Ok(state)
}

/// The states that the log begins with first, then the log itself: that is the import.
fn publish_log(paths: &Paths, staged: &StagedSwarm) -> io::Result<()> {
    let log = staged.log();
    for entry in fs::read_dir(&log)? {
        let name = entry?.file_name();
        if !name.to_string_lossy().starts_with("restored-") {
            continue;
        }
        File::open(log.join(&name))?.sync_all()?;
        match fs::hard_link(log.join(&name), paths.state.join(&name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
    }
    sync(&paths.state)?;
    fs::rename(log.join(LIVE_FILE), paths.state.join(LIVE_FILE))?;
    sync(&paths.state)?;
    sync(&paths.swarm)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
