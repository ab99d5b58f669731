//! Ending the daemon: gracefully, at once, and with the agents left at work.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::harness::{Daemon, Sandbox, processes};

/// Half of the work, then waits; goes on from what it finds.
const IN_TWO_PARTS: &str = "if [ -e half.txt ]; then note again; write whole.txt x; commit; say COMPLETE; else write half.txt x; hold half; write whole.txt x; commit; say COMPLETE; fi";

/// The process ids of the agents that ever ran.
fn agents(sandbox: &Sandbox) -> Vec<i32> {
    let runs = sandbox.notes("runs");
    runs.iter()
        .map(|run| run.rsplit(' ').next().unwrap().parse().unwrap())
        .collect()
}

/// A daemon whose two agents are in the middle of an iteration.
fn busy(sandbox: &Sandbox, grace: u64) -> Daemon<'_> {
    sandbox.configure(&json!({"shutdown": {"graceSeconds": grace}}));
    for _ in 0..2 {
        sandbox.idea(IN_TWO_PARTS);
    }
    let daemon = sandbox.start();
    sandbox.wait_for("both agents to work", || {
        (sandbox.notes("runs").len() == 2).then_some(())
    });
    sandbox.wait_held("half");
    sandbox.wait_for("both half files", || {
        let status = sandbox.status();
        let agents = status["agents"].as_array().unwrap();
        let half = |agent: &&serde_json::Value| {
            sandbox
                .repo()
                .join(agent["worktree"].as_str().unwrap())
                .join("half.txt")
                .exists()
        };
        (agents.iter().filter(half).count() == 2).then_some(())
    });
    daemon
}

#[test]
fn one_interrupt_ends_in_time_and_the_next_start_goes_on_in_the_same_worktree() {
    let sandbox = Sandbox::ready();
    let grace = Duration::from_secs(2);
    let daemon = busy(&sandbox, grace.as_secs());
    let begun = Instant::now();
    daemon.interrupt();
    assert_eq!(
        daemon.wait_exit(grace + Duration::from_secs(5)),
        0,
        "{}",
        daemon.output()
    );
    let took = begun.elapsed();
    assert!(took < grace + Duration::from_secs(1), "took {took:?}");
    sandbox.assert_nothing_runs();
    for idea in sandbox.ideas() {
        assert_eq!(
            (&idea["status"], &idea["retryCount"]),
            (&json!("pending"), &json!(0)),
            "{idea}"
        );
    }
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["pid"]),
        (&json!("stopped"), &json!(null))
    );

    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        sandbox.notes("again").len(),
        2,
        "the half-done work was not there"
    );
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
}

#[test]
fn agents_that_finish_within_the_grace_are_not_ended() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 20);
    let begun = Instant::now();
    daemon.interrupt();
    sandbox.wait_status("draining", |status| status["phase"] == "draining");
    sandbox.release("half");
    assert_eq!(daemon.wait_exit(Duration::from_secs(15)), 0);
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "it waited although nothing ran"
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        sandbox.notes("again").len(),
        0,
        "an iteration that was over was run again"
    );
    sandbox.assert_repository_clean();
}

#[test]
fn a_second_interrupt_ends_at_once_and_the_agents_are_adopted() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    daemon.interrupt();
    sandbox.wait_status("draining", |status| status["phase"] == "draining");
    let begun = Instant::now();
    daemon.interrupt();
    assert_eq!(
        daemon.wait_exit(Duration::from_secs(5)),
        130,
        "{}",
        daemon.output()
    );
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "took {:?}",
        begun.elapsed()
    );
    adopted_by_the_next_start(&sandbox);
}

#[test]
fn keep_agents_leaves_them_to_the_next_start() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    sandbox.swarm(&["stop", "--keep-agents"]).ok();
    assert_eq!(daemon.wait_exit(Duration::from_secs(2)), 0);
    adopted_by_the_next_start(&sandbox);
}

/// The agents live, are adopted in the same attempt, and end their only run.
fn adopted_by_the_next_start(sandbox: &Sandbox) {
    for pid in agents(sandbox) {
        assert!(processes::lives(pid), "agent {pid} was ended");
    }
    let daemon = sandbox.start();
    let status = sandbox.wait_status("both to be at work", |status| status["slots"]["used"] == 2);
    for agent in status["agents"].as_array().unwrap() {
        assert_eq!(
            (&agent["attempt"], &agent["iteration"]),
            (&json!(1), &json!(1)),
            "{agent}"
        );
    }
    for pid in agents(sandbox) {
        assert!(processes::lives(pid), "agent {pid} was not adopted");
    }
    sandbox.release("half");
    for idea in ["idea-001", "idea-002"] {
        let idea = sandbox.wait_idea(idea, "done");
        assert_eq!(idea["retryCount"], 0, "{idea}");
    }
    assert_eq!(sandbox.notes("runs").len(), 2, "an agent was run twice");
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn stop_now_does_not_wait_for_boundaries() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    let ran = sandbox.swarm(&["stop", "--now"]);
    ran.ok();
    assert!(ran.took < Duration::from_secs(8), "{ran}");
    daemon.wait_exit(Duration::from_secs(1));
    sandbox.assert_nothing_runs();
    for idea in sandbox.ideas() {
        assert_eq!(
            (&idea["status"], &idea["retryCount"]),
            (&json!("pending"), &json!(0)),
            "{idea}"
        );
    }
}

#[test]
fn term_ends_as_gracefully_as_an_interrupt() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait_exit(Duration::from_secs(5)), 0);
    sandbox.assert_nothing_runs();
}

#[test]
fn stopping_twice() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["stop"]).refused(3, &["swarm start"]);
    let daemon = sandbox.start();
    daemon.stop();
    sandbox.swarm(&["stop"]).refused(3, &["swarm start"]);
    assert!(sandbox.announced_pid().is_none() || !processes::lives(daemon.pid));
}

#[test]
fn a_hangup_takes_up_the_configuration() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    let daemon = sandbox.start();
    for _ in 0..2 {
        sandbox.idea("hold both; write $SWARM_IDEA_ID.txt x; say COMPLETE");
    }
    sandbox.wait_status("the first", |status| status["slots"]["used"] == 1);
    sandbox.configure(&json!({"agents": {"maxParallel": 2}}));
    daemon.signal(Signal::SIGHUP);
    sandbox.wait_status("the second", |status| {
        status["slots"]["used"] == 2 && status["slots"]["max"] == 2
    });
    sandbox.release("both");
    for idea in ["idea-001", "idea-002"] {
        sandbox.wait_idea(idea, "done");
    }
    daemon.stop();
}

#[test]
fn a_daemon_in_the_background() {
    let sandbox = Sandbox::ready();
    let ran = sandbox.swarm(&["start", "--detach"]);
    let pid = sandbox.status()["pid"].as_i64().unwrap();
    assert!(ran.ok().contains(&pid.to_string()), "{ran}");
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.swarm(&["wait", &id]).ok();
    sandbox.swarm(&["stop"]).ok();
    sandbox.assert_nothing_runs();

    fs::write(sandbox.dot_swarm("config.json"), "{\"fly\": 1}").unwrap();
    sandbox.swarm(&["start", "--detach"]).refused(1, &["fly"]);
    sandbox.assert_nothing_runs();
}

/// Until the new daemon has spoken, the state is the dead one's: nothing to do for a semi-automatic one, plenty for this one.
#[test]
fn what_a_killed_daemon_left_is_not_taken_for_the_end_of_the_work() {
    let sandbox = Sandbox::ready();
    for round in 1..=6 {
        sandbox.configure(&json!({"mode": "semi-auto"}));
        let daemon = sandbox.start();
        let id = sandbox.idea("write $SWARM_IDEA_ID.txt x; say COMPLETE");
        daemon.kill();
        sandbox.configure(&json!({"mode": "autopilot"}));
        assert_eq!(sandbox.run_until_idle(), 0);
        assert_eq!(sandbox.idea_status(&id), "done", "in round {round}");
    }
}
