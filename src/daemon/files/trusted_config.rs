//! The accepted git settings that can run programs, kept over restarts in
//! `<git common directory>/swarm/git-programs.json`. Called at a start and by `swarm config
//! trust-git`.
//!
//! Invariant: our git runs no program that is not in the file until a person accepts it. Agents can
//! write the shared `.git/config` even while no daemon runs. The file exists before the first agent
//! starts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::paths::Paths;
use crate::daemon::error::DaemonError;
use crate::git::{GitError, Repo, Setting, Settings};

/// The version of the file's format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    programs: Vec<Program>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    key: String,
    value: String,
}

/// Opens the repository with the accepted settings. The first time, the present ones are accepted.
///
/// # Errors
/// [`DaemonError::GitProgramsNew`]: there are new settings.
pub(crate) fn open(paths: &Paths) -> Result<Repo, DaemonError> {
    let repo = with_trusted(paths)?;
    match repo.new_programs()?.as_slice() {
        [] => Ok(repo),
        new => Err(DaemonError::GitProgramsNew(listed(new))),
    }
}

/// Writes the settings that the repository was opened with, unless the file exists.
pub(crate) fn keep(paths: &Paths, repo: &Repo) -> Result<(), DaemonError> {
    if file(paths).exists() {
        return Ok(());
    }
    write(paths, &repo.programs()).map_err(DaemonError::io("write git-programs.json"))
}

/// The present settings that nobody has accepted; all of them if the file cannot be read.
///
/// # Errors
/// Git's configuration cannot be read.
pub fn unaccepted(paths: &Paths) -> Result<Vec<Setting>, DaemonError> {
    match with_trusted(paths) {
        Ok(repo) => Ok(repo.new_programs()?),
        Err(DaemonError::GitProgramsUnreadable(_)) => {
            Ok(with(paths, Some(Vec::new()))?.new_programs()?)
        }
        Err(error) => Err(error),
    }
}

/// Accepts these settings, durably. Does nothing before the first daemon, which accepts what it
/// finds.
///
/// # Errors
/// The file cannot be written.
pub fn accept(paths: &Paths, new: &[Setting]) -> Result<(), DaemonError> {
    let mut all = match read(paths) {
        Ok(Some(known)) => known,
        Ok(None) => return Ok(()),
        Err(DaemonError::GitProgramsUnreadable(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    all.extend_from_slice(new);
    write(paths, &all).map_err(DaemonError::io("write git-programs.json"))
}

fn with_trusted(paths: &Paths) -> Result<Repo, DaemonError> {
    let trusted = read(paths)?;
    Ok(with(paths, trusted)?)
}

fn with(paths: &Paths, trusted: Option<Vec<Setting>>) -> Result<Repo, GitError> {
    let settings = Settings {
        trusted,
        ..Settings::default()
    };
    Repo::open_with(&paths.root, settings)
}

fn listed(settings: &[Setting]) -> String {
    let each = settings.iter();
    let each = each.map(|(key, value)| format!("{key} = {}", value.escape_debug()));
    each.collect::<Vec<_>>().join(", ")
}

fn file(paths: &Paths) -> PathBuf {
    paths.private.join("git-programs.json")
}

/// `None` before the first daemon has started.
fn read(paths: &Paths) -> Result<Option<Vec<Setting>>, DaemonError> {
    let text = match fs::read(file(paths)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DaemonError::GitProgramsUnreadable(error.to_string())),
    };
    let unreadable = |why: String| DaemonError::GitProgramsUnreadable(why);
    let kept: Kept = serde_json::from_slice(&text).map_err(|e| unreadable(e.to_string()))?;
    if kept.version != VERSION {
        return Err(unreadable(format!("its version is {}", kept.version)));
    }
    let programs = kept.programs.into_iter();
    Ok(Some(
        programs
            .map(|program| (program.key, program.value))
            .collect(),
    ))
}

/// Replaces the file atomically and durably.
fn write(paths: &Paths, programs: &[Setting]) -> io::Result<()> {
    let programs = programs.iter().cloned();
    let kept = Kept {
        version: VERSION,
        programs: programs
            .map(|(key, value)| Program { key, value })
            .collect(),
    };
    // Always the same name, so that the next call overwrites what a kill left.
    let new = paths.private.join("git-programs.json.new");
    let mut file_now = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file_now.write_all(&serde_json::to_vec_pretty(&kept)?)?;
    file_now.sync_all()?;
    crate::crash::point("trust.before-rename");
    fs::rename(&new, file(paths))?;
    File::open(&paths.private)?.sync_all()
}
