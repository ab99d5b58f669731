//! Lock files of git (`index.lock`, `<reference>.lock`): is the one who made it still alive?
//!
//! Invariant: a lock is taken away only if it is dead: no process has the file open, no git process
//! works in the directories concerned, and it is older than the moment a live git may need between
//! closing and renaming it. Where the processes of others cannot be looked at (no `/proc`), only a
//! lock of [`ANCIENT`] age counts as dead.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::git::GitError;
use crate::git::error::At;
use crate::remove;

const GRACE: Duration = Duration::from_millis(300);
/// No git holds a lock that long; only used where it cannot be seen who does.
const ANCIENT: Duration = Duration::from_secs(600);

/// What is known of a lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Absent,
    Held,
    Dead,
}

/// Looks at the lock.
pub(crate) fn inspect_lock(lock: &Path) -> Result<Lock, GitError> {
    let meta = match fs::symlink_metadata(lock) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Lock::Absent),
        Err(error) => return Err(GitError::io("look at", lock, error)),
    };
    // A clock that went back makes a lock look new; then it is held for a moment longer.
    let age = meta
        .modified()
        .ok()
        .and_then(|time| time.elapsed().ok())
        .unwrap_or_default();
    // Looking at all processes takes a few milliseconds, so a new lock is not looked at any closer.
    let dead = age >= GRACE
        && match has_owner(lock) {
            Some(owned) => !owned,
            None => age >= ANCIENT,
        };
    Ok(if dead { Lock::Dead } else { Lock::Held })
}

/// Takes the lock away if it is dead.
pub(crate) fn remove_if_dead(lock: &Path) -> Result<(), GitError> {
    if inspect_lock(lock)? != Lock::Dead {
        return Ok(());
    }
    remove::file_if_there(lock).at("remove", lock)
}

/// The same, and a lock too new to be judged is given the moment that it takes. Whose owner lives
/// stays.
pub(crate) fn outlive(lock: &Path) -> Result<(), GitError> {
    let end = Instant::now() + GRACE;
    while inspect_lock(lock)? == Lock::Held && Instant::now() < end {
        super::command::pause();
    }
    remove_if_dead(lock)
}

/// The same for all locks below a folder.
pub(crate) fn outlive_all(folder: &Path) -> Result<(), GitError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).at("list", folder),
    };
    for entry in entries {
        let path = entry.at("list", folder)?.path();
        if path.extension().is_some_and(|ending| ending == "lock") {
            outlive(&path)?;
        } else if path.is_dir() && !path.is_symlink() {
            outlive_all(&path)?;
        }
    }
    Ok(())
}

/// The error for a lock that did not go away.
pub(crate) fn held(lock: &Path) -> GitError {
    GitError::Locked {
        path: lock.to_owned(),
        why: "another git command seems to be running there".into(),
        next: "Wait for it; if there is none, delete the file".into(),
    }
}

/// Whether a live process may own the lock; none when that cannot be seen here.
fn has_owner(lock: &Path) -> Option<bool> {
    let lock = fs::canonicalize(lock).ok()?;
    let near = directories_of(&lock);
    let processes = fs::read_dir("/proc").ok()?;
    Some(processes.flatten().any(|process| {
        let is_process = process
            .file_name()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit);
        is_process && owns(&process.path(), &lock, &near)
    }))
}

/// Where a git that could hold this lock would work: the git directory, and the work tree that a
/// linked one belongs to.
fn directories_of(lock: &Path) -> Vec<PathBuf> {
    let git_dir = lock
        .ancestors()
        .find(|dir| dir.join("HEAD").is_file())
        .unwrap_or(lock);
    let linked = fs::read(git_dir.join("gitdir")).ok().and_then(|text| {
        let file = crate::git::objects::names::path_of(text.trim_ascii_end());
        file.parent().map(Path::to_owned)
    });
    let main = (git_dir.file_name() == Some(OsStr::new(".git")))
        .then(|| git_dir.parent().map(Path::to_owned));
    [Some(git_dir.to_owned()), linked, main.flatten()]
        .into_iter()
        .flatten()
        .collect()
}

fn owns(process: &Path, lock: &Path, near: &[PathBuf]) -> bool {
    let open = fs::read_dir(process.join("fd"));
    let holds = open.is_ok_and(|open| {
        open.flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|file| file == lock))
    });
    holds || (is_git(process) && works_in(process, near))
}

fn is_git(process: &Path) -> bool {
    fs::read(process.join("comm")).is_ok_and(|name| name.trim_ascii_end().starts_with(b"git"))
}

fn works_in(process: &Path, near: &[PathBuf]) -> bool {
    // The worktrees of the agents lie inside the person's checkout, but a git there is not at work
    // on that checkout.
    let inside =
        |cwd: &Path, dir: &Path| cwd.starts_with(dir) && !cwd.starts_with(dir.join(".swarm"));
    fs::read_link(process.join("cwd")).is_ok_and(|cwd| near.iter().any(|dir| inside(&cwd, dir)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn aged(path: &Path) {
        let past = std::time::SystemTime::now() - Duration::from_secs(5);
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(past)
            .unwrap();
    }

    #[test]
    fn a_lock_is_dead_when_nobody_has_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("index.lock");
        assert_eq!(inspect_lock(&lock).unwrap(), Lock::Absent);
        let open = fs::File::create(&lock).unwrap();
        aged(&lock);
        assert_eq!(inspect_lock(&lock).unwrap(), Lock::Held);
        drop(open);
        assert_eq!(inspect_lock(&lock).unwrap(), Lock::Dead);
        remove_if_dead(&lock).unwrap();
        assert!(!lock.exists());
    }

    #[test]
    fn a_new_lock_is_given_a_moment() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("index.lock");
        fs::write(&lock, "").unwrap();
        assert_eq!(inspect_lock(&lock).unwrap(), Lock::Held);
    }
}
