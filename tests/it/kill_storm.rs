//! Twenty live agents and one daemon after the other killed: nobody works twice, nobody's work is
//! lost.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::harness::{PATIENCE, Sandbox};
use crate::kill_and_restart::Dice;

const AGENTS: usize = 20;

#[test]
fn twenty_agents_outlive_fifty_daemons() {
    let kills: usize = std::env::var("SWARM_STORM_KILLS").map_or(50, |text| text.parse().unwrap());
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": AGENTS}}));
    let base = sandbox.head("main");
    for _ in 0..AGENTS {
        sandbox.idea("note began; hold it; write $SWARM_IDEA_ID.txt x; say COMPLETE; note said");
    }
    let daemon = sandbox.start();
    sandbox.wait_for("all agents to be at work", || {
        (sandbox.notes("began").len() == AGENTS).then_some(())
    });
    daemon.kill();
    drop(daemon);
    let mut dice = Dice::thrown();
    for kill in 1..kills {
        // The last third of the blows falls on gates and landings.
        if kill == kills * 2 / 3 {
            sandbox.release("it");
        }
        let daemon = sandbox.spawn_daemon(&["--until-idle"]);
        // Not synchronisation: the instant of the blow is what is drawn.
        std::thread::sleep(Duration::from_millis(dice.below(400)));
        daemon.kill();
    }
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(daemon.wait_exit(2 * PATIENCE), 0, "{}", daemon.output());

    let landed = sandbox.landings(&base, "main");
    let once: BTreeSet<&String> = landed.iter().map(|(_, idea)| idea).collect();
    assert_eq!((landed.len(), once.len()), (AGENTS, AGENTS), "{landed:?}");
    let runs = sandbox.notes("runs");
    assert_eq!(runs.len(), AGENTS, "{runs:#?}");
    for idea in sandbox.ideas() {
        assert_eq!(idea["retryCount"], 0, "an agent was lost: {idea}");
        assert_eq!(idea["attempts"], 1, "{idea}");
    }
    println!(
        "{kills} kills, {AGENTS} agents, {} runs, {} landings; lost 0, twice 0",
        runs.len(),
        landed.len()
    );
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}
