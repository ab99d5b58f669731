//! The gits of ours that run at this moment, so that a daemon that ends leaves none behind.
//!
//! Invariant: a process group is signalled only while its leader has not been waited for, so its
//! number is still its own; once closed, nothing is started any more.

use std::collections::BTreeSet;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::command::pause;
use crate::git::GitError;

/// How long a git may take to remove its lock files when it is asked to end.
const TERM_GRACE: Duration = Duration::from_millis(80);
/// How long one that is killed may take to be gone.
const KILL_GRACE: Duration = Duration::from_millis(50);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Running {
    closed: RwLock<bool>,
    groups: Mutex<BTreeSet<i32>>,
}

impl Running {
    /// Starts one, unless the daemon is ending.
    pub(crate) fn start(
        &self,
        spawn: impl FnOnce() -> Result<Child, GitError>,
    ) -> Result<Child, GitError> {
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if *closed {
            return Err(GitError::Ending);
        }
        let child = spawn()?;
        self.with(|groups| groups.extend(group(&child)));
        Ok(child)
    }

    /// Waits for the end of one, and takes it off the list before its number can be given to
    /// another process.
    pub(crate) fn wait(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        if let Some(pid) = group(child).and_then(rustix::process::Pid::from_raw) {
            let until_dead = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            // An error means that there is nothing to wait for; what follows tells why.
            while matches!(
                waitid(WaitId::Pid(pid), until_dead),
                Err(rustix::io::Errno::INTR)
            ) {}
        }
        self.with(|groups| group(child).map(|group| groups.remove(&group)));
        child.wait()
    }

    /// From now on none is started. Those that run may end by themselves within `patience`; then
    /// they are asked to, then killed. Whether none is left.
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
                // An error means that it has ended meanwhile.
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

    /// Started, and waited for on a thread as the callers do; gives how it ended.
    fn started(running: &Arc<Running>, script: &str) -> std::thread::JoinHandle<ExitStatus> {
        let mut child = running.start(|| Ok(shell(script))).unwrap();
        let running = Arc::clone(running);
        std::thread::spawn(move || running.wait(&mut child).unwrap())
    }

    #[test]
    fn one_that_is_about_to_end_is_let_go() {
        let running = Arc::new(Running::default());
        let short = started(&running, "sleep 0.05; exit 3");
        assert!(running.end(Duration::from_secs(20)));
        assert_eq!(short.join().unwrap().code(), Some(3));
    }

    #[test]
    fn one_that_hangs_is_ended_with_its_children_and_none_begins_again() {
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
            assert!(Instant::now() < patience, "what ignores TERM runs on");
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
