//! Git lock files (`index.lock`, `<reference>.lock`): decides whether their owner is still alive.
//!
//! Invariant: a lock is removed only if it is dead: no process has it open, no git process works in
//! its directories, and it is older than [`GRACE`], the moment a live git may need between closing
//! and renaming it. Without `/proc`, only a lock older than [`ANCIENT`] is dead.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::git::GitError;
use crate::git::error::At;
use crate::remove;

const GRACE: Duration = Duration::from_millis(300);
/// No git holds a lock for this long. Used only where the owner cannot be determined.
const ANCIENT: Duration = Duration::from_secs(600);

/// State of a lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Absent,
    Held,
    Dead,
}

/// Determines the state of a lock.
pub(crate) fn inspect_lock(lock: &Path) -> Result<Lock, GitError> {
    let meta = match fs::symlink_metadata(lock) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Lock::Absent),
        Err(error) => return Err(GitError::io("look at", lock, error)),
    };
    // If the clock went back, a lock looks new and counts as held a little longer.
    let age = meta
        .modified()
        .ok()
        .and_then(|time| time.elapsed().ok())
        .unwrap_or_default();
    // Scanning all processes takes a few milliseconds, so a new lock is not examined.
    let dead = age >= GRACE
        && match has_owner(lock) {
            Some(owned) => !owned,
            None => age >= ANCIENT,
        };
    Ok(if dead { Lock::Dead } else { Lock::Held })
}

/// Removes the lock if it is dead.
pub(crate) fn remove_if_dead(lock: &Path) -> Result<(), GitError> {
    if inspect_lock(lock)? != Lock::Dead {
        return Ok(());
    }
    remove::file_if_there(lock).at("remove", lock)
}

/// Waits up to [`GRACE`] for a held lock to disappear or become dead, then removes a dead one. A
/// lock with a live owner stays.
pub(crate) fn wait_out(lock: &Path) -> Result<(), GitError> {
    let end = Instant::now() + GRACE;
    while inspect_lock(lock)? == Lock::Held && Instant::now() < end {
        super::command::pause();
    }
    remove_if_dead(lock)
}

/// [`wait_out`] for all locks below a folder.
pub(crate) fn wait_out_all(folder: &Path) -> Result<(), GitError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).at("list", folder),
    };
    for entry in entries {
        let path = entry.at("list", folder)?.path();
        if path.extension().is_some_and(|ending| ending == "lock") {
            wait_out(&path)?;
        } else if path.is_dir() && !path.is_symlink() {
            wait_out_all(&path)?;
        }
    }
    Ok(())
}

/// Error for a lock that is still held.
pub(crate) fn held(lock: &Path) -> GitError {
    GitError::Locked {
        path: lock.to_owned(),
        why: "another git command seems to be running".into(),
        next: "Wait for it to finish; if none is running, delete the file".into(),
    }
}

/// Whether a live process may own the lock; `None` if processes cannot be inspected.
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

/// Directories in which the owner would run: the git directory and its work tree.
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
    // Agents' worktrees lie inside the person's checkout, but a git there does not work on that
    // checkout.
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
    fn a_lock_is_dead_when_no_process_has_it_open() {
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
    fn a_new_lock_counts_as_held() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("index.lock");
        fs::write(&lock, "").unwrap();
        assert_eq!(inspect_lock(&lock).unwrap(), Lock::Held);
    }
}
