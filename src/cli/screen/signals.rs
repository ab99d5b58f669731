//! Signals to a process that shows the full-screen view.
//!
//! Invariant: those that end or interrupt the process never wait for the view, which may be blocked
//! by its terminal. Those that stop it give the terminal back first.

use std::io;
use std::thread;

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::Message;
use super::mailbox::Mailbox;
use super::terminal::restore;

/// Receives signals on a thread of its own until the process ends. `on_end` gets SIGINT, SIGTERM,
/// SIGHUP and SIGUSR1.
pub fn receive(mailbox: Mailbox, on_end: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    let handled = [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGTSTP, SIGCONT, SIGWINCH];
    let mut signals = Signals::new(handled)?;
    let take = move || {
        for signal in signals.forever() {
            match signal {
                SIGTSTP => mailbox.send(Message::Suspend),
                SIGCONT | SIGWINCH => mailbox.send(Message::Retake),
                signal => on_end(signal),
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(take)?;
    Ok(())
}

/// Gives the terminal back and ends the process as the signal would have without a handler.
pub fn end_by(signal: i32) {
    restore();
    // It ends the process; if it cannot, the signal has no effect.
    drop(emulate_default_handler(signal));
}
