//! Signals to the daemon: the first Ctrl+C, TERM or HUP shuts it down gracefully, a later Ctrl+C at
//! once; USR1 reloads the configuration. Called by `daemon` and `hooks::try_run`.
//!
//! Invariant: HUP and TERM never hurry a shutdown. Closing a terminal or halting the machine sends
//! several of them, and nobody has lost patience.

use std::io;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tokio::sync::mpsc;

/// The handled signals.
const HANDLED: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
];

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Shut down; at once if that was requested before.
    Interrupt,
    /// Shut down.
    End,
    /// Reload the configuration.
    Reload,
}

/// Receives signals on a thread of its own until the receiver is dropped. Call this while the
/// process has one thread, so that no signal is lost while the handlers are installed.
pub(crate) fn receive_signals() -> io::Result<mpsc::UnboundedReceiver<Request>> {
    let (sender, requests) = mpsc::unbounded_channel();
    // A handler swallows signals between its installation and its registration here.
    let handled: SigSet = HANDLED.into_iter().collect();
    let before = handled.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let registered = register();
    before.thread_set_mask()?;
    let mut signals = registered?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if sender.send(meaning(signal)).is_err() {
                    return;
                }
            }
        })?;
    Ok(requests)
}

fn register() -> io::Result<Signals> {
    let signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
    // Under `nohup` the daemon must survive a closed terminal.
    if !is_ignored(SIGHUP) {
        signals.handle().add_signal(SIGHUP)?;
    }
    Ok(signals)
}

fn meaning(signal: i32) -> Request {
    match signal {
        SIGINT => Request::Interrupt,
        SIGUSR1 => Request::Reload,
        _ => Request::End,
    }
}

/// Whether the signal was ignored when this process started; `false` if the system does not tell.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
