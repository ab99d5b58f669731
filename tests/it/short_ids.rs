//! Ideas, agents and checkpoints by their numbers and beginnings, and several at once.

use serde_json::{Value, json};

use crate::harness::Sandbox;

const HOLD: &str = "hold $SWARM_IDEA_ID; write $SWARM_IDEA_ID.txt x; say COMPLETE";

fn backlog(ideas: usize) -> Sandbox {
    let sandbox = Sandbox::ready();
    for _ in 0..ideas {
        sandbox.idea(HOLD);
    }
    sandbox
}

fn shown(sandbox: &Sandbox, words: &[&str], key: &str) -> Value {
    sandbox.swarm(words).json()[key].clone()
}

#[test]
fn an_idea_is_named_by_its_number_or_a_beginning() {
    let sandbox = backlog(11);
    let look = || {
        for (typed, id) in [
            ("2", "idea-002"),
            ("idea-2", "idea-002"),
            ("idea-02", "idea-002"),
            ("idea-01", "idea-001"),
            ("11", "idea-011"),
            ("idea-011", "idea-011"),
        ] {
            let found = shown(&sandbox, &["idea", "show", typed, "--json"], "id");
            assert_eq!(found, id, "{typed}");
        }
        let several = sandbox.swarm(&["idea", "show", "idea-0"]);
        several.refused(
            1,
            &["fits several ideas", "idea-001, idea-002", "and 1 more"],
        );
        let nothing = sandbox.swarm(&["idea", "show", "12"]);
        nothing.refused(1, &["no idea `12`", "idea-012", "swarm idea list"]);
    };
    look();
    let added = sandbox.idea_with("say COMPLETE", &["--after", "1,idea-3"]);
    let after = |id: &str| shown(&sandbox, &["idea", "show", id, "--json"], "after");
    assert_eq!(after(&added), json!(["idea-001", "idea-003"]));
    sandbox
        .swarm(&["idea", "edit", "12", "--after", "idea-2"])
        .ok();
    assert_eq!(after(&added), json!(["idea-002"]));
    sandbox
        .swarm(&["idea", "add", "x", "--after", "idea-0"])
        .refused(1, &["fits several ideas"]);
    assert_eq!(sandbox.ideas().len(), 12);
    sandbox.swarm(&["idea", "cancel", "12"]).ok();
    sandbox.swarm(&["idea", "cancel", "idea-011"]).ok();
    sandbox.idea("x");
    sandbox.swarm(&["idea", "cancel", "13"]).ok();
    let daemon = sandbox.start_with(&["--mode", "semi-auto"]);
    let found = shown(&sandbox, &["idea", "show", "2", "--json"], "id");
    assert_eq!(found, "idea-002");
    sandbox.swarm(&["idea", "assign", "idea-2"]).ok();
    sandbox.wait_held("idea-002");
    sandbox.release("idea-002");
    sandbox.swarm(&["wait", "2"]).ok();
    daemon.stop();
}

#[test]
fn each_of_several_ideas_is_done_whatever_becomes_of_the_others() {
    let sandbox = backlog(3);
    let ran = sandbox.swarm(&["idea", "cancel", "1", "9", "idea-2", "idea-001"]);
    assert_eq!(ran.code, 1, "{ran}");
    for said in ["1 of 3 were refused", "no idea `9`", "idea-002 cancelled"] {
        assert!(ran.stderr.contains(said), "{said}: {ran}");
    }
    let statuses = || -> Vec<String> {
        let text = |idea: &Value| idea["status"].as_str().unwrap().to_owned();
        sandbox.ideas().iter().map(text).collect()
    };
    assert_eq!(statuses(), ["cancelled", "cancelled", "pending"]);
    let answer = sandbox.swarm(&["idea", "retry", "1", "2", "--json"]).json();
    let ids = [answer[0]["id"].clone(), answer[1]["id"].clone()];
    assert_eq!(ids, ["idea-001", "idea-002"], "{answer}");
    assert_eq!(statuses(), ["pending"; 3]);
    sandbox
        .swarm(&["idea", "cancel", "--all"])
        .refused(1, &["--yes", "nothing was changed"]);
    assert_eq!(statuses(), ["pending"; 3]);
    sandbox.swarm(&["idea", "cancel", "--all", "--yes"]).ok();
    assert_eq!(statuses(), ["cancelled"; 3]);
    let none = sandbox.swarm(&["idea", "cancel", "--all", "--json"]).json();
    assert_eq!(none, json!([]));
    // What a person has cancelled comes back only by its name.
    sandbox.swarm(&["idea", "retry", "--all"]).ok();
    assert_eq!(statuses(), ["cancelled"; 3]);
    for wrong in [&["idea", "retry"][..], &["idea", "retry", "1", "--all"]] {
        sandbox.swarm(wrong).refused(2, &[]);
    }
}

#[test]
fn every_idea_that_ended_badly_is_retried() {
    let sandbox = Sandbox::ready();
    for _ in 0..2 {
        sandbox
            .idea("attempt 1 && say BLOCKED:no || { write $SWARM_IDEA_ID.txt x; say COMPLETE; }");
    }
    let daemon = sandbox.start();
    for id in ["idea-001", "idea-002"] {
        sandbox.wait_idea(id, "blocked");
    }
    sandbox.swarm(&["wait", "1"]).refused(5, &["idea-001"]);
    let answer = sandbox.swarm(&["idea", "retry", "--all", "--json"]).json();
    assert_eq!(answer.as_array().unwrap().len(), 2, "{answer}");
    for id in ["idea-001", "idea-002"] {
        sandbox.wait_idea(id, "done");
    }
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn a_wait_for_what_is_over_needs_no_daemon() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.idea("say BLOCKED:no");
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    sandbox.wait_idea("idea-002", "blocked");
    daemon.stop();
    sandbox.swarm(&["wait", "1"]).ok();
    sandbox.swarm(&["wait", "2"]).refused(5, &["idea-002"]);
    sandbox.swarm(&["wait"]).refused(5, &["1 blocked"]);
    sandbox.swarm(&["idea", "cancel", "2"]).ok();
    sandbox.swarm(&["wait"]).ok();
    sandbox.swarm(&["wait", "2"]).refused(5, &["cancelled"]);
    sandbox.idea("say COMPLETE");
    for open in [&["wait"][..], &["wait", "3"]] {
        sandbox.swarm(open).refused(3, &["swarm start"]);
    }
    sandbox.swarm(&["wait", "1"]).ok();
}

#[test]
fn agents_are_named_by_their_numbers_and_stopped_together() {
    let sandbox = backlog(3);
    sandbox.configure(&json!({"agents": {"maxParallel": 3}}));
    let daemon = sandbox.start();
    for id in ["idea-001", "idea-002", "idea-003"] {
        sandbox.wait_held(id);
    }
    for typed in ["2", "ed-2", "ed-002"] {
        let found = shown(&sandbox, &["agent", "show", typed, "--json"], "id");
        assert_eq!(found, "ed-002", "{typed}");
        let logs = shown(&sandbox, &["agent", "logs", typed, "--json"], "id");
        assert_eq!(logs, "ed-002", "{typed}");
    }
    sandbox
        .swarm(&["agent", "show", "ed"])
        .refused(1, &["fits several agents: ed-001, ed-002, ed-003"]);
    sandbox.swarm(&["agent", "say", "2", "hello"]).ok();
    sandbox.swarm(&["pause"]).ok();
    let ran = sandbox.swarm(&["agent", "stop", "1", "9", "ed-2"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("no agent `9`"), "{ran}");
    for id in ["idea-001", "idea-002"] {
        sandbox.wait_idea(id, "pending");
    }
    assert_eq!(sandbox.idea_status("idea-003"), "active");
    let answer = sandbox.swarm(&["agent", "stop", "--all", "--json"]).json();
    assert_eq!(answer[0]["id"], "ed-003", "{answer}");
    sandbox.wait_idea("idea-003", "pending");
    assert_eq!(answer.as_array().unwrap().len(), 1, "{answer}");
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn failed_merges_are_retried_together() {
    let sandbox = Sandbox::ready();
    for number in 1..=2 {
        sandbox.write(&format!("{number}.txt"), "mine\n");
        sandbox.idea(&format!("write {number}.txt theirs; say COMPLETE"));
    }
    let daemon = sandbox.start();
    let waiting = |merges: &Value| {
        let reasons = merges.as_array().unwrap().iter();
        reasons.filter(|merge| merge["reason"].is_string()).count()
    };
    sandbox.wait_for("both landings to be refused", || {
        let merges = sandbox.swarm(&["merge", "list", "--json"]).json();
        (waiting(&merges) == 2).then_some(())
    });
    for number in 1..=2 {
        std::fs::remove_file(sandbox.repo().join(format!("{number}.txt"))).unwrap();
    }
    let answer = sandbox.swarm(&["merge", "retry", "--all", "--json"]).json();
    assert_eq!(answer.as_array().unwrap().len(), 2, "{answer}");
    for id in ["1", "2"] {
        sandbox.swarm(&["wait", id]).ok();
    }
    sandbox.swarm(&["merge", "retry", "--all"]).ok();
    sandbox
        .swarm(&["merge", "retry", "7"])
        .refused(1, &["no idea `7`"]);
    daemon.stop();
}

#[test]
fn a_checkpoint_keeps_its_number_and_its_name_comes_first() {
    let sandbox = Sandbox::ready();
    let create = |name: &str| sandbox.swarm(&["checkpoint", "create", name]).ok().len();
    for name in ["one", "two", "three"] {
        create(name);
    }
    let numbers = || {
        let list = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
        let one = |it: &Value| (it["number"].clone(), it["name"].clone());
        list.as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    sandbox.swarm(&["checkpoint", "delete", "3"]).ok();
    create("four");
    let expected = [(1, "one"), (2, "two"), (4, "four")];
    assert_eq!(numbers(), expected.map(|(n, name)| (json!(n), json!(name))));
    let table = sandbox.swarm(&["checkpoint", "list"]);
    let line = |text: &str| table.ok().lines().any(|line| line.starts_with(text));
    assert!(line("NUMBER") && line("4 ") && !line("3 "), "{table}");
    let name = |typed: &str| shown(&sandbox, &["checkpoint", "show", typed, "--json"], "name");
    assert_eq!((name("4"), name("tw")), (json!("four"), json!("two")));
    sandbox
        .swarm(&["checkpoint", "show", "3"])
        .refused(1, &["no checkpoint `3`", "swarm checkpoint list"]);
    let to = |typed: &str| {
        let words = ["rollback", typed, "--dry-run", "--json"];
        shown(&sandbox, &words, "checkpoint")
    };
    assert_eq!((to("2"), to("--last")), (json!("two"), json!("four")));
    create("2");
    assert_eq!((to("2"), name("5")), (json!("2"), json!("2")));
    sandbox.swarm(&["rollback", "1", "--yes"]).ok();
    assert_eq!(to("--last"), "2", "a rollback's own checkpoint is no goal");
    sandbox
        .swarm(&["rollback", "t"])
        .refused(1, &["no terminal"]);
    sandbox.swarm(&["rollback"]).refused(2, &["--last"]);
    sandbox.assert_log_sound();
}
