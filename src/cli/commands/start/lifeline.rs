//! The pipe between a full-screen view and the daemon below it: signals go down through it, and its
//! end tells that the view was killed.
//!
//! Invariant: the daemon signals only itself. A view that was killed counts as a closed terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::process::ChildStdin;
use std::sync::{Mutex, PoisonError};
use std::thread;

use nix::sys::signal::{SigSet, Signal, raise};
use rustix::termios::{Termios, tcgetattr};

use crate::cli::screen::terminal::{give_back, has_the_views_modes};

/// The view has taken the terminal.
pub(super) const VIEW_SHOWN: u8 = b'v';
/// The view has given the terminal back.
pub(super) const VIEW_GONE: u8 = b'w';

/// The byte for a signal that is passed on.
pub(super) fn byte_of(signal: i32) -> Option<u8> {
    let signal = Signal::try_from(signal).ok()?;
    let known = PASSED_ON.iter().find(|(_, other)| *other == signal);
    known.map(|(byte, _)| *byte)
}

const PASSED_ON: [(u8, Signal); 4] = [
    (b'i', Signal::SIGINT),
    (b't', Signal::SIGTERM),
    (b'h', Signal::SIGHUP),
    (b'u', Signal::SIGUSR1),
];

/// The view's end. What is sent before the daemon is there waits for it.
#[derive(Default)]
pub(super) struct Lifeline(Mutex<Pipe>);

#[derive(Default)]
struct Pipe {
    waiting: Vec<u8>,
    to_daemon: Option<ChildStdin>,
}

impl Lifeline {
    /// Sends a byte. A daemon that has ended needs it no more.
    pub(super) fn send(&self, byte: u8) {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut pipe.to_daemon {
            Some(daemon) => drop(daemon.write_all(&[byte])),
            None => pipe.waiting.push(byte),
        }
    }

    /// The daemon is there.
    pub(super) fn connect(&self, mut daemon: ChildStdin) {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(daemon.write_all(&std::mem::take(&mut pipe.waiting)));
        pipe.to_daemon = Some(daemon);
    }
}

/// In the daemon: raises what comes down, on a thread of its own.
pub(super) fn hold() -> io::Result<()> {
    // The view takes the terminal only after the daemon answers, so these are the modes before it.
    let terminal = Terminal::of_session();
    thread::Builder::new()
        .name("lifeline".into())
        .spawn(move || listen(terminal.as_ref()))?;
    Ok(())
}

fn listen(terminal: Option<&Terminal>) {
    let mut shown = false;
    let mut byte = [0];
    let mut stdin = io::stdin().lock();
    while stdin.read_exact(&mut byte).is_ok() {
        match byte[0] {
            VIEW_SHOWN => shown = true,
            VIEW_GONE => shown = false,
            other => raise_byte(other),
        }
    }
    if let Some(terminal) = terminal.filter(|_| shown) {
        terminal.give_back();
    }
    // Ignored under `nohup`, like a closed terminal.
    raise_on_self(Signal::SIGHUP);
}

fn raise_byte(byte: u8) {
    if let Some((_, signal)) = PASSED_ON.iter().find(|(known, _)| *known == byte) {
        raise_on_self(*signal);
    }
}

fn raise_on_self(signal: Signal) {
    if let Err(error) = raise(signal) {
        tracing::warn!(%signal, %error, "a signal from the view was lost");
    }
}

/// The terminal as it was before the view.
struct Terminal {
    device: File,
    modes: Termios,
}

impl Terminal {
    /// `None` if there is none: then there is nothing to give back.
    fn of_session() -> Option<Self> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/tty");
        let device = device.ok()?;
        let modes = tcgetattr(&device).ok()?;
        Some(Self { device, modes })
    }

    /// Gives it back for a view that was killed, unless somebody else has done so.
    fn give_back(&self) {
        // The daemon is in the background, where changing the terminal would stop it.
        let background: SigSet = [Signal::SIGTTOU].into_iter().collect();
        if background.thread_block().is_err() {
            return;
        }
        if tcgetattr(&self.device).is_ok_and(|now| has_the_views_modes(&now)) {
            give_back(&self.device, &self.modes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_is_sent_before_the_daemon_is_there_waits_for_it() {
        let lifeline = Lifeline::default();
        lifeline.send(byte_of(nix::libc::SIGINT).unwrap());
        let mut cat = Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child = child.as_mut().unwrap();
        lifeline.connect(child.stdin.take().unwrap());
        lifeline.send(VIEW_SHOWN);
        drop(lifeline);
        let mut read = String::new();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_to_string(&mut read).unwrap();
        child.wait().unwrap();
        assert_eq!(read, "iv");
    }

    #[test]
    fn only_signals_that_are_for_the_daemon_are_passed_on() {
        assert_eq!(byte_of(nix::libc::SIGUSR1), Some(b'u'));
        assert_eq!(byte_of(nix::libc::SIGWINCH), None);
    }
}
