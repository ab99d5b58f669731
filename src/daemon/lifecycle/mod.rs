//! The life of a daemon, from taking the lock to its clean shutdown. Called by `swarm start`.
//!
//! `daemon` opens and runs it; `signals` receives signals and `shutdown` acts on them.
//! `file_events` reports changes below `.swarm/`; `watcher` acts on them and ends an idle daemon,
//! and `reload` reloads the configuration. `systemd_notify` reports to the service manager, `heap`
//! returns memory to the system, `target_watch` notices what people do to the target, `logging`
//! writes the daemon's own log, `port_block` leases the ports of agents and checks,
//! `restored_worktrees` makes worktrees again that went away, and `check_environment` tells one
//! environment of checks from another.

pub(super) mod check_environment;
pub mod daemon;
pub(super) mod file_events;
pub(super) mod heap;
pub(super) mod logging;
pub(super) mod port_block;
pub mod reload;
pub(super) mod restored_worktrees;
pub(super) mod shutdown;
pub(super) mod signals;
pub mod systemd_notify;
mod target_watch;
pub(super) mod watcher;
