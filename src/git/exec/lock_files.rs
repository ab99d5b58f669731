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
use crate::git::objects::names::{quoted, shown};
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

/// Who may hold a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owner {
    Process {
        pid: String,
        name: String,
    },
    Nobody,
    /// Processes cannot be inspected.
    Unknown,
}

/// Determines the state of a lock.
pub(crate) fn inspect_lock(lock: &Path) -> Result<Lock, GitError> {
    let Some(age) = age(lock)? else {
        return Ok(Lock::Absent);
    };
    // Scanning all processes takes a few milliseconds, so a new lock is not examined.
    let dead = age >= GRACE
        && match owner_of(lock) {
            Owner::Process { .. } => false,
            Owner::Nobody => true,
            Owner::Unknown => age >= ANCIENT,
        };
    Ok(if dead { Lock::Dead } else { Lock::Held })
}

/// How long the file has been there; `None` if it is gone.
pub(crate) fn age(lock: &Path) -> Result<Option<Duration>, GitError> {
    let meta = match fs::symlink_metadata(lock) {
        Ok(meta) => meta,
        // Where references are kept in tables, `refs/heads` is a file.
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(GitError::io("look at", lock, error)),
    };
    // If the clock went back, a lock looks new and counts as held a little longer.
    let age = meta.modified().ok().and_then(|time| time.elapsed().ok());
    Ok(Some(age.unwrap_or_default()))
}

fn is_missing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Removes the lock if it is dead.
pub(crate) fn remove_if_dead(lock: &Path) -> Result<(), GitError> {
    if inspect_lock(lock)? != Lock::Dead {
        return Ok(());
    }
    tracing::warn!(lock = %shown(lock), "removing a lock that no running git holds");
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
        Err(error) if is_missing(&error) => return Ok(()),
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

/// Error for a lock that is in the way.
pub(crate) fn held(lock: &Path) -> GitError {
    let age = age(lock).ok().flatten().unwrap_or_default();
    GitError::Locked {
        path: lock.to_owned(),
        age,
        why: describe(lock, age),
    }
}

/// What is known of a lock, for people.
pub(crate) struct LockReport {
    /// The file, its age and its probable holder.
    pub(crate) what: String,
    /// When the command may be run.
    when: &'static str,
    /// The command that removes it.
    pub(crate) command: String,
}

/// [`report`] as one text.
pub(crate) fn describe(lock: &Path, age: Duration) -> String {
    let LockReport {
        what,
        when,
        command,
    } = report(lock, age);
    format!("{what}. {when} remove the lock: {command}")
}

/// What is known of a lock, and the command that removes it.
pub(crate) fn report(lock: &Path, age: Duration) -> LockReport {
    let (who, when) = match owner_of(lock) {
        Owner::Process { pid, name } => (
            format!("{name} (process {pid}) may hold it"),
            "If that program hangs, end it, then",
        ),
        Owner::Nobody => (
            "no git process is running in this repository".to_owned(),
            "If none runs on another machine or in a container,",
        ),
        Owner::Unknown => (
            "swarm cannot tell whether a git process is running".to_owned(),
            "If none is running,",
        ),
    };
    LockReport {
        what: format!(
            "the lock {} has been there for {}, and {who}",
            shown(lock),
            in_words(age)
        ),
        when,
        command: format!("rm {}", quoted(lock)),
    }
}

fn in_words(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// The lock that a failed git command names in its error.
pub(crate) fn named_in(stderr: &str) -> Option<PathBuf> {
    let (_, rest) = stderr.split_once("Unable to create '")?;
    let (path, _) = rest.split_once(".lock': File exists")?;
    Some(PathBuf::from(format!("{path}.lock")))
}

/// The live process that may own the lock.
fn owner_of(lock: &Path) -> Owner {
    let Ok(lock) = fs::canonicalize(lock) else {
        return Owner::Unknown;
    };
    let near = directories_of(&lock);
    let Ok(processes) = fs::read_dir("/proc") else {
        return Owner::Unknown;
    };
    let is_process = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let mut processes = processes.flatten();
    let owner =
        processes.find(|one| is_process(&one.file_name()) && owns(&one.path(), &lock, &near));
    owner.map_or(Owner::Nobody, |process| Owner::Process {
        pid: process.file_name().to_string_lossy().into_owned(),
        name: fs::read_to_string(process.path().join("comm")).map_or_else(
            |_| "a program".to_owned(),
            |name| name.trim_end().to_owned(),
        ),
    })
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
        // A child that another test starts has it open until it executes its program.
        while inspect_lock(&lock).unwrap() == Lock::Held {
            super::super::command::pause();
        }
        assert_eq!(inspect_lock(&lock).unwrap(), Lock::Dead);
        remove_if_dead(&lock).unwrap();
        assert!(!lock.exists());
    }

    #[test]
    fn a_lock_in_the_way_is_described_with_its_age_its_holder_and_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("index.lock");
        let open = fs::File::create(&lock).unwrap();
        aged(&lock);
        let said = held(&lock).to_string();
        let own = format!("(process {})", std::process::id());
        assert!(said.contains("for 5 s") && said.contains(&own), "{said}");
        drop(open);
        let said = held(&lock).to_string();
        assert!(said.contains("no git process is running"), "{said}");
        assert!(said.ends_with(&format!("rm {}", lock.display())), "{said}");
    }

    #[test]
    fn the_lock_in_an_error_of_git_is_found() {
        let said = "fatal: Unable to create '/r/.git/HEAD.lock': File exists.\n\nAnother git";
        assert_eq!(named_in(said), Some("/r/.git/HEAD.lock".into()));
        assert_eq!(named_in("fatal: Unable to create '/r/x': No space"), None);
    }

    #[test]
    fn a_new_lock_counts_as_held() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("index.lock");
        fs::write(&lock, "").unwrap();
        assert_eq!(inspect_lock(&lock).unwrap(), Lock::Held);
    }
}
