//! A daemon from its lock to its clean end.
//!
//! `daemon` opens and runs it, `reload` reads the configuration again, `shutdown` ends what runs
//! and stops the rest, `signals` asks for that end. `file_events` sees changes below `.swarm/`,
//! `watcher` acts on them and ends an idle swarm. `systemd_notify` reports to the service manager,
//! `heap` gives memory back, and `log` writes the daemon's own log. Called by the command line's
//! `start`.

pub mod daemon;
pub(super) mod file_events;
pub(super) mod heap;
pub(super) mod log;
pub mod reload;
pub(super) mod shutdown;
pub(super) mod signals;
pub mod systemd_notify;
pub(super) mod watcher;
