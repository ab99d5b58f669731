//! A swarm with a long history and a large backlog.

use serde_json::json;

use crate::harness::Sandbox;
use crate::made::log::Maker;

/// Of all ideas, the part that is done.
const DONE: u64 = 2;

/// A sandbox with this many ideas: half of them done, the others wait for a person to assign them.
/// swarm's own rules wrote its log; no agent ran.
pub fn sandbox(ideas: u64) -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto", "checks": {"baseline": "off"}}));
    let commit = sandbox.git(&["rev-parse", "main"]);
    let folder = sandbox.dot_swarm("state");
    let mut maker = Maker::at_commit(&folder, commit.trim()).unwrap();
    maker.work_until_done(ideas / DONE).unwrap();
    maker.add_until(ideas).unwrap();
    maker.snapshot(&folder).unwrap();
    sandbox
}
