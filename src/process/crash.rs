//! Named places where a test may kill this process.
//!
//! Invariant: without `SWARM_CRASH_POINT` in the environment a crash point does nothing.

use nix::sys::signal::{Signal, raise};

/// The variable that names the one crash point that is active.
pub(super) const VARIABLE: &str = "SWARM_CRASH_POINT";

/// Kills this process as `kill -9` would, when `SWARM_CRASH_POINT` is `label`.
pub fn crash_point(label: &str) {
    if std::env::var_os(VARIABLE).is_some_and(|chosen| chosen == label) {
        // SIGKILL cannot fail against oneself, and nothing after it runs.
        let _ = raise(Signal::SIGKILL);
    }
}

/// Gives the chosen crash point on to a runner, which inherits nothing else.
pub(super) fn pass_on(command: &mut std::process::Command) {
    if let Some(label) = std::env::var_os(VARIABLE) {
        command.env(VARIABLE, label);
    }
}
