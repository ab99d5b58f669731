//! The end of a process that has only messages left to write.
//!
//! Invariant: a terminal or pipe that takes nothing any more keeps the process no longer than the
//! time it is given.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// While this lives, the messages have so much time.
#[derive(Debug)]
pub struct FinalFlush {
    _said: Sender<()>,
}

impl FinalFlush {
    /// Ends the process with this exit code when the time is over before this value is dropped.
    /// Without a thread for it nobody waits less.
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
