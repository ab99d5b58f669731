//! Earlier states: `--at` on the reading commands, and `swarm snapshot`.

use serde_json::{Value, json};
use swarm::journal::{read_snapshot, write_snapshot};

use crate::harness::Sandbox;

/// One idea that landed, and the facts of the memory before and after it.
fn with_a_past() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.swarm(&["memory", "put", "api.port", "8080"]).ok();
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    daemon.stop();
    drop(daemon);
    sandbox.swarm(&["memory", "put", "api.port", "9090"]).ok();
    sandbox
}

fn last_seq(sandbox: &Sandbox) -> u64 {
    sandbox.swarm(&["replay", "--json"]).json()["seq"]
        .as_u64()
        .unwrap()
}

fn at(sandbox: &Sandbox, words: &[&str], seq: u64) -> Value {
    let seq = seq.to_string();
    let mut args = words.to_vec();
    args.extend(["--at", &seq, "--json"]);
    sandbox.swarm(&args).json()
}

#[test]
fn reading_commands_show_the_state_after_each_event() {
    let sandbox = with_a_past();
    for seq in 1..=last_seq(&sandbox) {
        let state = at(&sandbox, &["replay"], seq);
        let ideas = at(&sandbox, &["idea", "list"], seq);
        let known = state["ideas"].as_object().unwrap();
        assert_eq!(ideas.as_array().unwrap().len(), known.len(), "event {seq}");
        for idea in ideas.as_array().unwrap() {
            let then = &known[idea["id"].as_str().unwrap()];
            assert_eq!(idea["status"], then["status"], "event {seq}");
        }
        let agents = at(&sandbox, &["agent", "list"], seq);
        let then = ["agents", "ended"].map(|key| state[key].as_object().unwrap().len());
        assert_eq!(
            agents.as_array().unwrap().len(),
            then.iter().sum::<usize>(),
            "event {seq}"
        );
        let status = at(&sandbox, &["status"], seq);
        assert_eq!(status["lastSeq"], seq);
        let queue = at(&sandbox, &["merge", "list"], seq);
        assert_eq!(
            queue.as_array().unwrap().len(),
            state["queue"].as_array().unwrap().len()
        );
        let board = at(&sandbox, &["memory", "board"], seq);
        let facts = state["facts"].as_object().map_or(0, serde_json::Map::len);
        assert_eq!(board.as_array().unwrap().len(), facts, "event {seq}");
        let report = at(&sandbox, &["report"], seq);
        let done = known.values().filter(|idea| idea["status"] == "done");
        let landed = report["landed"].as_array().unwrap().len();
        assert_eq!(landed, done.count(), "event {seq}");
    }
    // A look back is no report that the next one could begin at.
    assert!(!sandbox.path(".swarm/state/report.json").exists());
}

#[test]
fn an_idea_is_told_up_to_the_moment_and_a_note_names_it() {
    let sandbox = with_a_past();
    let claimed = sandbox.swarm(&["events", "--all", "--kind", "ideaClaimed", "--json"]);
    let claimed = claimed.ok().lines().next().unwrap().to_owned();
    let claimed: Value = serde_json::from_str(&claimed).unwrap();
    let seq = claimed["seq"].as_u64().unwrap();
    let then = at(&sandbox, &["idea", "show", "1"], seq);
    assert_eq!(then["status"], "active");
    let attempts = then["story"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["runs"], json!([]), "{then}");
    let page = sandbox.swarm(&["idea", "show", "1", "--at", &seq.to_string()]);
    assert!(page.ok().contains("active"), "{page}");
    assert!(
        page.stderr.contains(&format!("as of event {seq}, ")),
        "{page}"
    );
    assert!(!page.stderr.contains("no daemon"), "{page}");
}

#[test]
fn a_moment_that_is_none_is_refused() {
    let sandbox = with_a_past();
    let late = last_seq(&sandbox) + 1;
    let words = format!("there is no event {late}");
    for command in [["status", "--at"], ["report", "--at"]] {
        let mut args = command.to_vec();
        let text = late.to_string();
        args.push(&text);
        sandbox.swarm(&args).refused(1, &[&words]);
    }
    sandbox
        .swarm(&["status", "--at", "yesterday"])
        .refused(2, &["yesterday"]);
    sandbox
        .swarm(&["snapshot", "show", "checkpoint:none"])
        .refused(1, &["there is no checkpoint `none`"]);
    sandbox
        .swarm(&["snapshot", "show", "someday"])
        .refused(2, &["someday", "checkpoint:NAME"]);
}

#[test]
fn a_difference_names_each_thing_and_its_exit_code_is_for_scripts() {
    let sandbox = with_a_past();
    let last = last_seq(&sandbox).to_string();
    let found = sandbox
        .swarm(&["snapshot", "diff", "2", &last, "--json"])
        .json();
    assert_eq!(found["same"], false);
    let idea = &found["sections"]["ideas"]["changed"]["idea-001"];
    assert_eq!(idea["status"], json!({"from": "pending", "to": "done"}));
    assert_eq!(
        found["sections"]["agents"]["added"]["ed-001"]["end"],
        "merged"
    );
    let same = sandbox.swarm(&["snapshot", "diff", "now", &last, "--exit-code"]);
    assert!(same.ok().contains("no differences"), "{same}");
    let differs = sandbox.swarm(&["snapshot", "diff", "2", "now", "--exit-code"]);
    assert_eq!(differs.code, 1, "{differs}");
    assert!(differs.stderr.contains("the states differ"), "{differs}");
    let page = sandbox.swarm(&["snapshot", "diff", "2", "now", "--section", "ideas"]);
    for words in ["~ idea-001", "status: pending -> done"] {
        assert!(page.ok().contains(words), "{words}: {page}");
    }
    assert!(!page.ok().contains("agents"), "{page}");
}

#[test]
fn a_snapshot_is_shown_verified_and_rebuilt() {
    let sandbox = with_a_past();
    let shown = sandbox.swarm(&["snapshot", "show"]);
    for words in ["ideas        1    idea-001", "facts        1    api.port"] {
        assert!(shown.ok().contains(words), "{words}: {shown}");
    }
    let agent = sandbox.swarm(&["snapshot", "show", "now", "--agent", "ed-001"]);
    assert!(agent.ok().contains("ideaId          idea-001"), "{agent}");
    sandbox.swarm(&["snapshot", "verify"]).ok();
    let rebuilt = sandbox.swarm(&["snapshot", "rebuild", "--json"]).json();
    assert_eq!(rebuilt["differed"], false);
    assert_eq!(rebuilt["seq"], last_seq(&sandbox));
    sandbox.swarm(&["replay", "--verify"]).ok();
}

#[test]
fn a_snapshot_that_lies_is_found_kept_and_replaced() {
    let sandbox = with_a_past();
    sandbox.swarm(&["snapshot", "rebuild"]).ok();
    // As a bug would write it: whole, but with another state.
    let file = sandbox.dot_swarm("state/snapshot.json");
    let mut lie = read_snapshot::<Value>(&file).unwrap();
    lie.state["ideas"]["idea-001"]["status"] = json!("failed");
    write_snapshot(&sandbox.dot_swarm("state"), &lie).unwrap();
    let faulty = sandbox.swarm(&["snapshot", "verify"]);
    assert_eq!(faulty.code, 1, "{faulty}");
    for words in ["differs from the event log", "swarm snapshot rebuild"] {
        assert!(faulty.stderr.contains(words), "{words}: {faulty}");
    }
    let rebuilt = sandbox.swarm(&["snapshot", "rebuild", "--json"]).json();
    assert_eq!(rebuilt["differed"], true);
    let copy = rebuilt["copies"][0].as_str().unwrap();
    assert!(
        std::fs::read_to_string(copy)
            .unwrap()
            .contains("\"failed\"")
    );
    sandbox.swarm(&["snapshot", "verify"]).ok();
    assert_eq!(sandbox.idea_status("idea-001"), "done");
}

#[test]
fn a_snapshot_is_not_rebuilt_under_a_daemon() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let rebuild = sandbox.swarm(&["snapshot", "rebuild"]);
    assert_ne!(rebuild.code, 0, "{rebuild}");
    daemon.stop();
}
