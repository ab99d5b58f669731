//! Limits how long the process waits to write its last messages.
//!
//! Invariant: a blocked terminal or pipe delays the exit by at most the given time.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// The time limit for the last messages; dropping it cancels the limit.
#[derive(Debug)]
pub struct FinalFlush {
    _said: Sender<()>,
}

impl FinalFlush {
    /// Exits the process with `code` unless this value is dropped within `time`. `None` if no
    /// thread could be started; then there is no limit.
    pub fn within(time: Duration, code: u8) -> Option<Self> {
        let (said, waiting) = channel::<()>();
        let watch = move || {
            if waiting.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                std::process::exit(i32::from(code));
            }
        };
        let thread = thread::Builder::new().name("last-words".into());
        thread.spawn(watch).ok().map(|_| Self { _said: said })
    }
}
