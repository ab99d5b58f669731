//! Signals to the daemon: the first Ctrl+C or TERM ends it gracefully, the second at once; HUP reads the configuration again.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use tokio::sync::mpsc;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// End; the second time, at once.
    End,
    /// Read the configuration again.
    Reload,
}

/// Listens on a thread of its own until the returned handle is closed.
pub(super) fn listen(asked: mpsc::UnboundedSender<Asked>) -> io::Result<Handle> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                let what = if signal == SIGHUP {
                    Asked::Reload
                } else {
                    Asked::End
                };
                if asked.send(what).is_err() {
                    return;
                }
            }
        })?;
    Ok(handle)
}
