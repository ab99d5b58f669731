//! Signals to the daemon: the first Ctrl+C, TERM or HUP ends it gracefully, a later Ctrl+C at once;
//! USR1 reads the configuration again.
//!
//! Invariant: a hang-up or TERM never hurries an end. Where a terminal is closed or a machine shut
//! down several of them come, one after the other, and nobody has lost patience.

use std::io;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tokio::sync::mpsc;

/// All that are listened to.
const HEEDED: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
];

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// End, and, when that was asked for before, at once.
    Interrupt,
    /// End.
    End,
    /// Read the configuration again.
    Reload,
}

/// Listens from now on, on a thread of its own, until nobody takes what it hears. To be called
/// while there is but one thread: then no signal is lost on the way from what the system does by
/// itself to this.
pub(crate) fn receive_signals() -> io::Result<mpsc::UnboundedReceiver<Asked>> {
    let (asked, heard) = mpsc::unbounded_channel();
    // Between the handler's coming into force and its knowing what to do, it swallows what comes.
    let later: SigSet = HEEDED.into_iter().collect();
    let before = later.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let registered = register();
    before.thread_set_mask()?;
    let mut signals = registered?;
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

fn register() -> io::Result<Signals> {
    let signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
    // `nohup` means: go on when the terminal is closed.
    if !is_ignored(SIGHUP) {
        signals.handle().add_signal(SIGHUP)?;
    }
    Ok(signals)
}

fn meaning(signal: i32) -> Asked {
    match signal {
        SIGINT => Asked::Interrupt,
        SIGUSR1 => Asked::Reload,
        _ => Asked::End,
    }
}

/// Whether whoever started this process had it ignore the signal. Where the system does not tell,
/// it did not.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
