//! Twenty agents at work at once while their daemon is killed again and again: none is lost, none runs twice, every idea lands once.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::crashes::Dice;
use crate::harness::{PATIENCE, Sandbox};

const AGENTS: usize = 20;

/// `SWARM_STORM_KILLS` says how often (12; the long run takes 50).
#[test]
fn twenty_agents_live_through_kills() {
    let kills: u32 = std::env::var("SWARM_STORM_KILLS").map_or(12, |text| text.parse().unwrap());
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": AGENTS}}));
    let base = sandbox.head("main");
    for _ in 0..AGENTS {
        sandbox.idea("note began; write $SWARM_IDEA_ID.txt x; hold storm; commit; say COMPLETE");
    }
    let mut dice = Dice::thrown();
    // While all of them live, and from the half on also while they end and land.
    for kill in 0..kills {
        let daemon = sandbox.spawn_daemon(&["--until-idle"]);
        if kill == kills / 4 {
            sandbox.wait_within(2 * PATIENCE, "all agents at work at once", || {
                (sandbox.notes("began").len() == AGENTS).then_some(())
            });
        }
        if kill == kills / 2 {
            sandbox.release("storm");
        }
        // Not synchronisation: the instant of the blow is what is drawn.
        std::thread::sleep(Duration::from_millis(dice.below(600)));
        daemon.kill();
    }
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(daemon.wait_exit(4 * PATIENCE), 0, "{}", daemon.output());

    let landed = sandbox.landings(&base, "main");
    let once: BTreeSet<&String> = landed.iter().map(|(_, idea)| idea).collect();
    assert_eq!((landed.len(), once.len()), (AGENTS, AGENTS), "{landed:?}");
    let runs = sandbox.notes("runs");
    assert_eq!(runs.len(), AGENTS, "{runs:#?}");
    for idea in sandbox.ideas() {
        assert_eq!(
            (&idea["status"], &idea["retryCount"]),
            (&json!("done"), &json!(0)),
            "{idea}"
        );
    }
    sandbox.swarm(&["replay", "--verify"]).ok();
    sandbox.assert_repository_clean();
    sandbox.assert_nothing_runs();
    println!("{AGENTS} agents, {kills} kills: lost 0, twice 0");
}
