//! Registry of running git commands, so that a daemon leaves none behind when it exits.
//!
//! Invariant: a process group is signalled only before its leader has been waited for, so its
//! number cannot have been reused. Once closed, nothing is started any more.

use std::collections::BTreeSet;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::command::pause;
use crate::git::GitError;

/// Time for git to remove its lock files after SIGTERM.
const TERM_GRACE: Duration = Duration::from_millis(80);
/// Time to disappear after SIGKILL.
const KILL_GRACE: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(crate) struct Running {
    closed: RwLock<bool>,
    groups: Mutex<BTreeSet<i32>>,
}

impl Running {
    /// Starts a command, unless the daemon is shutting down.
    pub(crate) fn start(
        &self,
        spawn: impl FnOnce() -> Result<Child, GitError>,
    ) -> Result<Child, GitError> {
        self.unless_ending(|| {
            let child = spawn()?;
            self.with(|groups| groups.extend(group(&child)));
            Ok(child)
        })
    }

    /// Does something, unless the daemon is shutting down.
    pub(crate) fn unless_ending<T>(
        &self,
        act: impl FnOnce() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if *closed {
            return Err(GitError::Ending);
        }
        act()
    }

    /// Waits for a command to exit, and unregisters it before its number can be reused.
    pub(crate) fn wait(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        if let Some(pid) = group(child).and_then(rustix::process::Pid::from_raw) {
            let until_dead = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            // An error means there is nothing to wait for; `child.wait` below reports why.
            while matches!(
                waitid(WaitId::Pid(pid), until_dead),
                Err(rustix::io::Errno::INTR)
            ) {}
        }
        self.with(|groups| group(child).map(|group| groups.remove(&group)));
        child.wait()
    }

    /// Refuses new commands. Running ones get `patience` to finish, then SIGTERM, then SIGKILL.
    /// Returns whether none is left.
    pub(crate) fn end(&self, patience: Duration) -> bool {
        *self.closed.write().unwrap_or_else(PoisonError::into_inner) = true;
        if self.are_over(patience) {
            return true;
        }
        self.signal(Signal::SIGTERM);
        if self.are_over(TERM_GRACE) {
            return true;
        }
        self.signal(Signal::SIGKILL);
        self.are_over(KILL_GRACE)
    }

    fn are_over(&self, within: Duration) -> bool {
        let end = Instant::now() + within;
        while !self.with(|groups| groups.is_empty()) {
            if Instant::now() >= end {
                return false;
            }
            pause();
        }
        true
    }

    fn signal(&self, signal: Signal) {
        self.with(|groups| {
            for group in groups.iter() {
                // An error means that it has already ended.
                let _ = killpg(Pid::from_raw(*group), signal);
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
        work(&mut self.groups.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn group(child: &Child) -> Option<i32> {
    i32::try_from(child.id()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};
    use std::sync::Arc;

    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    /// Starts a script and waits for it on a thread, as the callers do.
    fn started(running: &Arc<Running>, script: &str) -> std::thread::JoinHandle<ExitStatus> {
        let mut child = running.start(|| Ok(shell(script))).unwrap();
        let running = Arc::clone(running);
        std::thread::spawn(move || running.wait(&mut child).unwrap())
    }

    #[test]
    fn a_command_that_finishes_in_time_is_not_signalled() {
        let running = Arc::new(Running::default());
        let short = started(&running, "sleep 0.05; exit 3");
        assert!(running.end(Duration::from_secs(20)));
        assert_eq!(short.join().unwrap().code(), Some(3));
    }

    #[test]
    fn hanging_commands_are_killed_with_their_children_and_no_new_one_starts() {
        let running = Arc::new(Running::default());
        let polite = started(&running, "sleep 30 & wait");
        let folder = tempfile::tempdir().unwrap();
        let deaf = folder.path().join("deaf");
        let script = format!("trap '' TERM; : >{}; sleep 30 & sleep 30", deaf.display());
        let stubborn = started(&running, &script);
        while !deaf.exists() {
            std::thread::yield_now();
        }
        let groups: Vec<i32> = running.with(|groups| groups.iter().copied().collect());
        let patience = Instant::now() + Duration::from_secs(5);
        while !running.end(Duration::ZERO) {
            assert!(
                Instant::now() < patience,
                "a command that ignores SIGTERM is still running"
            );
        }
        assert!(polite.join().unwrap().signal().is_some());
        assert!(stubborn.join().unwrap().signal().is_some());
        for group in groups {
            while killpg(Pid::from_raw(group), None).is_ok() {
                std::thread::yield_now();
            }
        }
        assert!(matches!(
            running.start(|| Ok(shell("true"))),
            Err(GitError::Ending)
        ));
    }
}
