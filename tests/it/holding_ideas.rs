//! Ideas that a person holds: they do not start, whatever else happens, until they are released.

use serde_json::{Value, json};

use crate::harness::Sandbox;

fn held(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.swarm(&["idea", "show", id, "--json"]).json()["held"].clone()
}

#[test]
fn a_held_idea_does_not_start_and_nobody_waits_for_it() {
    let sandbox = Sandbox::ready();
    for number in 1..=3 {
        let after: &[&str] = if number == 2 { &["--after", "1"] } else { &[] };
        sandbox.idea_with(&format!("write {number}.txt x; say COMPLETE"), after);
    }
    let told = sandbox.swarm(&["idea", "hold", "1", "9"]);
    assert_eq!(told.code, 1, "{told}");
    for said in ["idea-001 held", "swarm idea unhold idea-001", "no idea `9`"] {
        assert!(told.stderr.contains(said), "{said}: {told}");
    }
    let table = sandbox.swarm(&["idea", "list"]);
    assert!(table.ok().contains("pending, held"), "{table}");
    let status = sandbox.swarm(&["status"]);
    assert!(status.ok().contains("3 pending; 1 held"), "{status}");
    let ran = sandbox.swarm(&["start", "--until-idle"]);
    for said in [
        "held: idea-001",
        "swarm idea unhold idea-001",
        "waiting: idea-002",
    ] {
        assert!(ran.ok().contains(said), "{said}: {ran}");
    }
    assert_eq!(sandbox.status()["ideasHeld"], 1);
    let daemon = sandbox.start();
    let waited = sandbox.swarm(&["wait"]);
    waited.ok();
    assert!(waited.stderr.contains("1 idea is held"), "{waited}");
    sandbox
        .swarm(&["wait", "1"])
        .refused(6, &["idea-001 is held", "swarm idea unhold idea-001"]);
    sandbox
        .swarm(&["idea", "assign", "1"])
        .refused(1, &["it is held", "swarm idea unhold"]);
    assert_eq!(sandbox.idea_status("idea-001"), "pending");
    daemon.kill();
    drop(daemon);
    let daemon = sandbox.start();
    assert_eq!(held(&sandbox, "1"), true);
    sandbox.swarm(&["idea", "unhold", "--all"]).ok();
    sandbox.swarm(&["wait"]).ok();
    assert_eq!(sandbox.status()["ideas"]["done"], 3);
    assert_eq!(held(&sandbox, "1"), false);
    sandbox
        .swarm(&["idea", "hold", "1"])
        .refused(1, &["it is done"]);
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn an_agent_at_work_goes_on_and_the_hold_is_for_the_next_attempt() {
    let sandbox = Sandbox::ready();
    sandbox.idea("hold first.$SWARM_ATTEMPT; write 1.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("first.1");
    let told = sandbox.swarm(&["idea", "hold", "1"]);
    for said in ["ed-001 goes on", "swarm agent stop ed-001"] {
        assert!(told.stderr.contains(said), "{said}: {told}");
    }
    let again = sandbox.swarm(&["idea", "hold", "1", "--json"]).json();
    assert!(
        again["note"].as_str().unwrap().contains("goes on"),
        "{again}"
    );
    assert_eq!(sandbox.idea_status("idea-001"), "active");
    sandbox.swarm(&["agent", "stop", "1"]).ok();
    sandbox.wait_idea("idea-001", "pending");
    sandbox.swarm(&["wait"]).ok();
    assert_eq!(sandbox.logged("ideaClaimed").len(), 1);
    sandbox.swarm(&["idea", "unhold", "1"]).ok();
    sandbox.wait_held("first.2");
    sandbox.release("first.2");
    sandbox.wait_idea("idea-001", "done");
    daemon.stop();
}

#[test]
fn several_ideas_are_edited_and_assigned_at_once() {
    let sandbox = Sandbox::ready();
    for number in 1..=3 {
        sandbox.idea(&format!("write {number}.txt x; say COMPLETE"));
    }
    sandbox
        .swarm(&[
            "idea",
            "edit",
            "1",
            "3",
            "--priority",
            "7",
            "--tag",
            "later",
        ])
        .ok();
    let priorities: Vec<Value> = sandbox
        .ideas()
        .iter()
        .map(|idea| idea["priority"].clone())
        .collect();
    assert_eq!(priorities, [json!(7), json!(0), json!(7)]);
    sandbox
        .swarm(&["idea", "edit", "1", "3", "--text", "x"])
        .refused(2, &["one idea"]);
    let daemon = sandbox.start_with(&["--mode", "semi-auto"]);
    let ran = sandbox.swarm(&["idea", "assign", "1", "9", "2"]);
    assert_eq!(ran.code, 1, "{ran}");
    for id in ["idea-001", "idea-002"] {
        sandbox.wait_idea(id, "done");
    }
    assert_eq!(sandbox.idea_status("idea-003"), "pending");
    daemon.stop();
}
