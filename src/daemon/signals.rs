//! Signals to the daemon: the first Ctrl+C, TERM or HUP ends it gracefully, a later Ctrl+C at once; USR1 reads the configuration again.
//!
//! Invariant: a hang-up or TERM never hurries an end. Where a terminal is closed or a machine shut down several of them come, one after the
//! other, and nobody has lost patience.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tokio::sync::mpsc;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// End, and, when that was asked for before, at once.
    Interrupt,
    /// End.
    End,
    /// Read the configuration again.
    Reload,
}

/// Listens from now on, on a thread of its own, until nobody takes what it hears.
pub(super) fn listen() -> io::Result<mpsc::UnboundedReceiver<Asked>> {
    let (asked, heard) = mpsc::unbounded_channel();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
    // `nohup` means: go on when the terminal is closed.
    if !is_ignored(SIGHUP) {
        signals.handle().add_signal(SIGHUP)?;
    }
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if asked.send(meaning(signal)).is_err() {
                    return;
                }
            }
        })?;
    Ok(heard)
}

fn meaning(signal: i32) -> Asked {
    match signal {
        SIGINT => Asked::Interrupt,
        SIGUSR1 => Asked::Reload,
        _ => Asked::End,
    }
}

/// Whether whoever started this process had it ignore the signal. Where the system does not tell, it did not.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
