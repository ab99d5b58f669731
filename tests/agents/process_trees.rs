//! After every end of an agent nothing of its tree lives: its program, its tools, and what they
//! started in sessions of their own.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::harness::processes;
use crate::lab::{BOTH, Lab, commit};

/// By when everything of an agent must be gone after its end.
const GONE: Duration = Duration::from_secs(2);

/// Shell code that leaves a process behind, in a session of its own, with nothing in its
/// environment.
fn escape(lab: &Lab, name: &str) -> String {
    let mark = lab.sandbox.path(&format!("mark-{name}"));
    fs::write(&mark, "").unwrap();
    format!(
        "cd / && env -i setsid -f tail -f /dev/null {} >/dev/null 2>&1 </dev/null; cd - >/dev/null",
        mark.display()
    )
}

/// The processes of the runs that work now: all but the daemon and the git processes that it
/// keeps to read objects.
fn of_agents(lab: &Lab) -> BTreeSet<i32> {
    let daemon = lab.sandbox.announced_pid();
    let all = processes::numbers(&lab.sandbox.path(""));
    all.into_iter()
        .filter(|pid| Some(i64::from(*pid)) != daemon && !processes::reads_objects(*pid))
        .collect()
}

fn wait_escaped(lab: &Lab, name: &str) {
    let mark = format!("mark-{name}");
    lab.wait(&format!("the process that {name} leaves behind"), || {
        let mut running = lab.sandbox.processes().into_iter();
        running.find(|line| line.contains("tail -f") && line.contains(&mark))
    });
}

fn wait_gone(lab: &Lab, what: &str, pids: &BTreeSet<i32>) {
    lab.sandbox
        .wait_within(GONE, &format!("every process to be gone, {what}"), || {
            pids.iter().all(|pid| !processes::lives(*pid)).then_some(())
        });
}

#[test]
fn nothing_outlives_an_agent_however_it_ends() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    // It leaves something behind and stands still, each time that it begins or goes on.
    let ideas = lab.ideas(|name| {
        let work = commit(&format!("{name}.txt"), name);
        let stand = format!("{work}; {}; {}", escape(&lab, name), lab.hold(name));
        let stand = json!({"sh": stand});
        json!([stand, stand, stand, {"text": "Done.", "say": "COMPLETE"}])
    });
    let daemon = lab.sandbox.start();
    let both_stand = || {
        lab.wait_both_held();
        for name in BOTH {
            wait_escaped(&lab, name);
        }
        let pids = of_agents(&lab);
        assert!(pids.len() >= 8, "{:#?}", lab.sandbox.processes());
        pids
    };
    let again = || {
        for name in BOTH {
            fs::remove_file(lab.sandbox.path(&format!("hold.{name}.here"))).unwrap();
        }
    };

    // Killed.
    let pids = both_stand();
    again();
    for agent in lab.sandbox.status()["agents"].as_array().unwrap() {
        let pid = i32::try_from(agent["pid"].as_i64().unwrap()).unwrap();
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    }
    wait_gone(&lab, "killed", &pids);

    // Stopped. It is given out again at once.
    let pids = both_stand();
    again();
    for agent in lab.sandbox.status()["agents"].as_array().unwrap() {
        lab.sandbox
            .swarm(&["agent", "stop", agent["id"].as_str().unwrap()])
            .ok();
    }
    wait_gone(&lab, "stopped", &pids);

    // Through with its work.
    let pids = both_stand();
    lab.release_both();
    for idea in &ideas {
        lab.wait_idea(idea, "done");
    }
    wait_gone(&lab, "done", &pids);
    daemon.stop();
}

#[test]
fn what_is_spent_ends_an_agent_and_its_tree() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::with(&json!({"budget": {"tokensPerIdea": 1500}}));
    // Two answers are more than that. It has not said that it is through.
    let ideas = lab.ideas(|name| {
        let work = format!("{}; {}", escape(&lab, name), lab.hold(name));
        json!([{"sh": work}, {"text": "There is more to do."},
            {"text": "Done.", "say": "COMPLETE"}])
    });
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    let pids = of_agents(&lab);
    lab.release_both();
    for (name, idea) in BOTH.into_iter().zip(&ideas) {
        let idea = lab.wait(&format!("{name} to be ended"), || {
            let idea = lab.sandbox.show(idea);
            ["blocked", "failed", "timeout"]
                .contains(&idea["status"].as_str()?)
                .then_some(idea)
        });
        let why = idea["lastError"].as_str().unwrap();
        assert!(why.contains("budget.tokensPerIdea"), "{why}");
        // What ran was completed.
        let asked = lab.stub.asked_for(&format!("mark-{name}"));
        assert_eq!(asked.len(), 2, "{asked:#?}");
    }
    wait_gone(&lab, "spent", &pids);
    daemon.stop();
}

#[test]
fn a_hard_stop_ends_an_agent_in_the_middle() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    // The first answer, of about 1,100 tokens, is within it; with the second one it is used up.
    let lab = Lab::with(&json!({"budget": {"tokensPerIdea": 1500, "hardStop": true}}));
    // Codex does not tell what it used before it is through.
    let idea = lab.idea(
        "claude",
        &json!([{"sh": escape(&lab, "claude")}, {"sh": lab.hold("claude")},
            {"text": "Done.", "say": "COMPLETE"}]),
    );
    let daemon = lab.sandbox.start();
    let idea = lab.wait("the budget to end it", || {
        let idea = lab.sandbox.show(&idea);
        (idea["status"] != "active").then_some(idea)
    });
    let why = idea["lastError"].as_str().unwrap();
    assert!(why.contains("budget.tokensPerIdea"), "{why}");
    assert_eq!(lab.stub.asked_for("mark-claude").len(), 2);
    lab.sandbox
        .wait_within(GONE, "every process to be gone", || {
            of_agents(&lab).is_empty().then_some(())
        });
    daemon.stop();
}
