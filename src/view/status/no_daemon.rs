//! Adapts suggested commands to a repository without a running daemon.
//!
//! Invariant: every suggested command works as typed.

use crate::view::NeedsYou;

/// The prefixes of commands that need a daemon.
const NEED_A_DAEMON: [&str; 2] = ["swarm resume", "swarm agent "];

/// Puts `swarm start` before commands that need a daemon.
pub fn after_a_start(mut needs: Vec<NeedsYou>) -> Vec<NeedsYou> {
    let commands = needs.iter_mut().flat_map(|need| need.commands.iter_mut());
    for command in commands {
        if NEED_A_DAEMON
            .iter()
            .any(|begins| command.starts_with(begins))
        {
            command.insert_str(0, "swarm start --detach && ");
        }
    }
    needs
}
