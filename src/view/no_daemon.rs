//! What is told where no daemon runs.
//!
//! Invariant: a command that is named can be typed as it stands.

use super::NeedsYou;

/// How commands begin that only a daemon takes.
const NEED_A_DAEMON: [&str; 2] = ["swarm resume", "swarm agent "];

/// The same needs, where no daemon runs: what only one takes comes after its start.
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
