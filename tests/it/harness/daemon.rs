//! A daemon in the foreground, in a process group of its own, its output in a file.

use std::fs;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::{PATIENCE, Sandbox};

/// A running `swarm start`. It is ended when this is dropped.
pub struct Daemon<'a> {
    pub(super) sandbox: &'a Sandbox,
    child: Mutex<Child>,
    log: PathBuf,
    /// Its process id.
    pub pid: i32,
}

/// The exit code of the contract; 128 + signal where a signal ended it.
pub fn code(status: ExitStatus) -> i32 {
    let signal = || status.signal().map(|signal| 128 + signal);
    status.code().or_else(signal).unwrap()
}

impl Sandbox {
    /// Starts a daemon and waits until it answers.
    pub fn start(&self) -> Daemon<'_> {
        self.start_with(&[])
    }

    /// Starts a daemon with these arguments and waits until it answers.
    pub fn start_with(&self, args: &[&str]) -> Daemon<'_> {
        let daemon = self.spawn_daemon(args);
        daemon.wait_ready();
        daemon
    }

    /// Starts a daemon and waits for nothing.
    pub fn spawn_daemon(&self, args: &[&str]) -> Daemon<'_> {
        let mut command = self.swarm_command(&["start"]);
        command.args(args);
        self.spawn(command)
    }

    /// Starts this command as a daemon.
    pub fn spawn(&self, mut command: Command) -> Daemon<'_> {
        let mut logs = self.logs.lock().unwrap();
        let log = self.path(&format!("out/daemon-{}.log", logs.len() + 1));
        let output = fs::File::create(&log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0)
            .spawn()
            .unwrap();
        logs.push(log.clone());
        Daemon {
            sandbox: self,
            pid: child.id().cast_signed(),
            child: Mutex::new(child),
            log,
        }
    }

    /// Runs `start --until-idle` to its end; gives its exit code.
    pub fn run_until_idle(&self) -> i32 {
        self.run_until_idle_within(2 * PATIENCE)
    }

    /// The same where much is to be done.
    pub fn run_until_idle_within(&self, limit: Duration) -> i32 {
        self.spawn_daemon(&["--until-idle"]).wait_exit(limit)
    }

    /// The pid that `daemon.json` names.
    pub fn announced_pid(&self) -> Option<i64> {
        let text = fs::read_to_string(self.private("daemon.json")).ok()?;
        serde_json::from_str::<Value>(&text).ok()?["pid"].as_i64()
    }
}

impl Daemon<'_> {
    /// Waits until the daemon has recovered and answers.
    pub fn wait_ready(&self) {
        self.sandbox.wait_for("the daemon to answer", || {
            if let Some(code) = self.exited() {
                self.sandbox.fail(&format!("the daemon ended with {code}"));
            }
            self.sandbox
                .announced_pid()
                .filter(|pid| *pid == i64::from(self.pid))?;
            let ran = self.sandbox.swarm(&["status", "--json"]);
            let status = (ran.code == 0).then(|| ran.json())?;
            let phase = status["phase"].as_str()?;
            (!["stopped", "recovering"].contains(&phase)).then_some(())
        });
    }

    /// Its exit code, if it has ended.
    pub fn exited(&self) -> Option<i32> {
        self.child().try_wait().unwrap().map(code)
    }

    /// Waits for its end; its exit code.
    pub fn wait_exit(&self, limit: Duration) -> i32 {
        self.sandbox
            .wait_within(limit, "the daemon to end", || self.exited())
    }

    /// What it wrote so far.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }

    /// What Ctrl+C in its terminal does.
    pub fn interrupt(&self) {
        killpg(Pid::from_raw(self.pid), Signal::SIGINT).unwrap();
    }

    /// Sends a signal to the daemon alone.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid), signal).unwrap();
    }

    /// `kill -9` of the daemon alone.
    pub fn kill(&self) {
        let mut child = self.child();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// `kill -9` of the daemon, the runners and the agents.
    pub fn kill_everything(&self) {
        self.kill();
        super::processes::end_all(self.sandbox.folder.path());
    }

    /// `swarm stop`: the daemon must end with 0, and nothing of the sandbox may run then.
    pub fn stop(&self) {
        self.sandbox.swarm(&["stop"]).ok();
        assert_eq!(self.wait_exit(PATIENCE), 0, "{}", self.output());
        self.sandbox.assert_nothing_runs();
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap()
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        // Of a test that passed, the sandbox says what is left; this daemon counts as left if it
        // still ran.
        if !std::thread::panicking() {
            assert!(self.exited().is_some(), "the daemon was not ended");
        }
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}
