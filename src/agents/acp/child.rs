//! Starts the agent's process, exchanges lines with it, and ends it.
//!
//! Invariant: the process is signalled only while it is not reaped, so its pid cannot be reused.
//! SIGTERM, SIGINT and SIGHUP to the bridge end the agent at once, then the bridge. The runner
//! ends what the agent leaves behind. Unread output is bounded.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::mpsc;

use super::options::Options;
use crate::agents::stream::{Line, Lines};

/// How long it may take to end by itself once nothing more is said to it; it may still write its
/// conversation down.
const LEAVE: Duration = Duration::from_secs(2);
/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(1);
/// How often its end is looked for.
const LOOK: Duration = Duration::from_millis(10);
/// Lines that wait in either direction.
const WAITING: usize = 64;
/// Bytes that are read at a time.
const BLOCK: usize = 64 * 1024;

/// The agent.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    child: Arc<Mutex<Child>>,
    /// A signal to the bridge is ending both.
    ending: Arc<AtomicBool>,
}

/// The two ends of the talk with it.
pub(super) struct Ends {
    /// Lines to it.
    pub(super) to: mpsc::Sender<String>,
    /// Lines from it; over when it has closed its output.
    pub(super) from: mpsc::Receiver<Line>,
}

impl Agent {
    /// Starts it. Its standard error is the bridge's.
    pub(super) fn start(options: &Options) -> io::Result<(Self, Ends)> {
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let mut child = Command::new(&options.program)
            .args(&options.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let agent = Self {
            child: Arc::new(Mutex::new(child)),
            ending: Arc::default(),
        };
        let (to, lines_to) = mpsc::channel(WAITING);
        let (lines_from, from) = mpsc::channel(WAITING);
        if let (Some(stdin), Some(stdout)) = (stdin, stdout) {
            thread::spawn(move || speak(stdin, lines_to));
            thread::spawn(move || read_lines(stdout, &lines_from));
        }
        let ended = agent.clone();
        thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                ended.ending.store(true, Ordering::SeqCst);
                ended.end(Duration::ZERO);
                std::process::exit(128 + signal);
            }
        });
        Ok((agent, Ends { to, from }))
    }

    /// Waits for its end for so long, then TERM, then KILL.
    pub(super) fn end(&self, leave: Duration) -> Option<ExitStatus> {
        if let Some(status) = self.wait(leave) {
            return Some(status);
        }
        self.signal(Signal::SIGTERM);
        if let Some(status) = self.wait(GRACE) {
            return Some(status);
        }
        self.signal(Signal::SIGKILL);
        self.wait(GRACE)
    }

    /// Lets it go, as [`end`](Self::end) does. Where a signal ends both, this is the end.
    pub(super) fn leave(&self) -> Option<ExitStatus> {
        let status = self.end(LEAVE);
        while self.ending.load(Ordering::SeqCst) {
            thread::park();
        }
        status
    }

    /// Whether it has ended.
    pub(super) fn is_gone(&self) -> bool {
        !matches!(self.lock().try_wait(), Ok(None))
    }

    fn wait(&self, time: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + time;
        loop {
            // One that cannot be waited for is as good as gone.
            if let Some(status) = self.lock().try_wait().ok()? {
                return Some(status);
            }
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(LOOK);
        }
    }

    fn signal(&self, signal: Signal) {
        let mut child = self.lock();
        // Not waited for, and locked: the number is still its own.
        if let (Ok(None), Ok(pid)) = (child.try_wait(), i32::try_from(child.id())) {
            // That it is gone in this moment is what was wanted.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Its input is closed when nobody will say any more.
fn speak(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.blocking_recv() {
        let written = stdin.write_all(format!("{line}\n").as_bytes());
        if written.and_then(|()| stdin.flush()).is_err() {
            // It has closed its input. What follows from that is seen at its output.
            return;
        }
    }
}

fn read_lines(mut stdout: ChildStdout, to: &mpsc::Sender<Line>) {
    let mut lines = Lines::default();
    let mut block = vec![0; BLOCK];
    loop {
        let read = match stdout.read(&mut block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A pipe that cannot be read has no more to tell.
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        for line in lines.push(&block[..read]) {
            if to.blocking_send(line).is_err() {
                return;
            }
        }
    }
    if let Some(line) = lines.finish() {
        // Nobody may want it any more.
        drop(to.blocking_send(line));
    }
}

/// A line as it goes to the protocol.
pub(super) fn protocol_line(line: Line) -> Result<String, String> {
    match line {
        Line::Json(object) => Ok(Value::Object(object).to_string()),
        Line::Foreign(text) => Err(text),
    }
}
