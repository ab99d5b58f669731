//! What happened: `swarm log` for people, `swarm events` with its filters.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Ran, Sandbox};

/// One idea whose check fails once and that asks a question, another that is blocked, a daemon that
/// is killed, a pause.
fn eventful() -> Sandbox {
    let sandbox = Sandbox::ready();
    live_through(&sandbox);
    sandbox
}

fn live_through(sandbox: &Sandbox) {
    sandbox.configure(&json!({"qualityCommands": ["test ! -e bad.txt"]}));
    let first = sandbox.idea(
        "if iteration 1; then write bad.txt x; commit; say COMPLETE; \
        elif iteration 2; then rm bad.txt; write a.txt x; commit; say 'NEEDS_HUMAN:which colour?'; \
        else say COMPLETE; fi",
    );
    let second = sandbox.idea("say 'BLOCKED:no network here'");
    let daemon = sandbox.start();
    sandbox.wait_idea(&second, "blocked");
    sandbox.wait_status("the question", |status| {
        status["needsYou"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["kind"] == "question")
    });
    daemon.kill_everything();
    let daemon = sandbox.start();
    sandbox.swarm(&["agent", "say", "ed-001", "blue"]).ok();
    sandbox.wait_idea(&first, "done");
    sandbox.swarm(&["pause", "--reason", "lunch"]).ok();
    sandbox.swarm(&["resume"]).ok();
    sandbox.swarm(&["checkpoint", "create", "good"]).ok();
    daemon.stop();
}

fn log(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let all: Vec<&str> = ["log"].iter().chain(args).copied().collect();
    sandbox.swarm(&all)
}

/// Whether the parts stand in lines of the text in this order.
#[track_caller]
fn tells_in_order(text: &str, parts: &[&str]) {
    let mut lines = text.lines();
    for part in parts {
        assert!(
            lines.any(|line| line.contains(part)),
            "`{part}` is not told in time:\n{text}"
        );
    }
}

#[test]
fn the_log_tells_what_matters_and_nothing_else() {
    let sandbox = eventful();
    let text = log(&sandbox, &[]).ok().to_owned();
    let commit = sandbox.show("idea-001")["commit"].as_str().unwrap()[..10].to_owned();
    tells_in_order(
        &text,
        &[
            "  idea-001 added",
            "idea-002 added",
            "daemon started",
            "ed-001 takes idea-001, attempt 1",
            "ed-001 on idea-001: `test ! -e bad.txt` failed",
            "ed-001 on idea-001 asks: which colour?",
            "after a crash, and continues what was under way",
            "message for ed-001 on idea-001: blue",
            &format!("idea-001 landed as {commit}"),
            "paused: lunch",
            "resumed",
            "checkpoint good made at",
            "the swarm is stopped",
        ],
    );
    let has_age = |line: &str| line.starts_with("just now  ") || line.contains(" s ago  ");
    assert!(text.lines().all(has_age), "{text}");
    assert!(
        text.contains("idea is now blocked: no network here"),
        "{text}"
    );
    for plumbing in ["requested", "on disk", "hook", "iteration", "run "] {
        assert!(
            !text.contains(plumbing),
            "`{plumbing}` is plumbing:\n{text}"
        );
    }
    assert_eq!(log(&sandbox, &["-n", "2"]).ok().lines().count(), 2);
    let idea = log(&sandbox, &["--idea", "idea-002"]).ok().to_owned();
    assert!(
        idea.contains("blocked") && !idea.contains("idea-001"),
        "{idea}"
    );
    // Without the ages, which may grow between the two calls.
    let told = |args: &[&str]| -> Vec<String> {
        let told = log(&sandbox, args).ok().to_owned();
        let lines = told.lines().map(|line| line.split_once("  ").unwrap().1);
        lines.map(|line| line.trim_start().to_owned()).collect()
    };
    assert_eq!(told(&["--since", "1h"]), told(&["-n", "999"]));
    let future = log(&sandbox, &["--since", "2999-01-01 00:00"]);
    assert!(
        future.ok().is_empty() && future.stderr.contains("nothing happened"),
        "{future:?}"
    );
}

#[test]
fn the_log_is_one_document_for_programs_with_and_without_a_daemon() {
    let sandbox = eventful();
    let entries = log(&sandbox, &["--json", "-n", "999"]).json();
    let entries = entries.as_array().unwrap();
    let landed = entries
        .iter()
        .find(|one| one["text"].as_str().unwrap().contains("landed"));
    assert_eq!(landed.unwrap()["ideaId"], "idea-001");
    let asks = entries
        .iter()
        .find(|one| one["text"].as_str().unwrap().contains("asks"));
    assert_eq!(
        (&asks.unwrap()["agent"], &asks.unwrap()["ideaId"]),
        (&json!("ed-001"), &json!("idea-001"))
    );
    let seqs: Vec<u64> = entries
        .iter()
        .map(|one| one["seq"].as_u64().unwrap())
        .collect();
    assert!(
        seqs.is_sorted() && entries.iter().all(|one| one["ts"].is_string()),
        "{entries:?}"
    );
    let daemon = sandbox.start();
    let with_daemon = log(&sandbox, &["--json", "-n", "999"]).json();
    assert_eq!(
        with_daemon.as_array().unwrap()[..entries.len()],
        entries[..]
    );
    let unknown = log(&sandbox, &["--idea", "idea-999"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    daemon.stop();
    let bad = log(&sandbox, &["--since", "yesterday"]);
    assert!(
        bad.code == 2 && bad.stderr.contains("an age (10m"),
        "{bad:?}"
    );
}

/// The events that `--json` gives.
fn events(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let all: Vec<&str> = ["events", "--json"].iter().chain(args).copied().collect();
    let ran = sandbox.swarm(&all);
    let lines = ran.ok().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn events_are_selected_by_range_idea_agent_and_kind() {
    let sandbox = eventful();
    let all = events(&sandbox, &[]);
    let seqs: Vec<u64> = all.iter().map(|one| one["seq"].as_u64().unwrap()).collect();
    assert_eq!(
        seqs,
        (1..=all.len() as u64).collect::<Vec<_>>(),
        "JSON has every event"
    );
    assert_eq!(
        events(&sandbox, &["--since", "3", "--until", "7"]),
        all[3..7]
    );
    assert_eq!(events(&sandbox, &["-n", "5"]), all[all.len() - 5..]);
    assert_eq!(events(&sandbox, &["--since", "1d"]), all);
    assert!(events(&sandbox, &["--until", "1d"]).is_empty());
    let time = all[9]["ts"].as_str().unwrap();
    let mut both = events(&sandbox, &["--until", time]);
    assert!(both.len() >= 10);
    both.extend(events(&sandbox, &["--since", time]));
    assert_eq!(both, all, "a time cuts the log in two");
    let of_idea = events(&sandbox, &["--idea", "idea-001"]);
    let kinds: Vec<&str> = of_idea
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    for kind in [
        "ideaAdded",
        "gateFailed",
        "runEnded",
        "effectFinished",
        "ideaLanded",
    ] {
        assert!(kinds.contains(&kind), "{kind} is about idea-001: {kinds:?}");
    }
    assert!(
        of_idea
            .iter()
            .all(|one| !one["data"].to_string().contains("idea-002"))
    );
    let of_agent = events(&sandbox, &["--agent", "ed-002", "--kind", "attemptEnded"]);
    assert_eq!(of_agent.len(), 1, "{of_agent:?}");
    assert_eq!(sandbox.swarm(&["events", "--agent", "ed-777"]).code, 1);
}

#[test]
fn text_hides_plumbing_unless_all_is_asked_for() {
    let sandbox = eventful();
    let count = |args: &[&str]| sandbox.swarm(args).ok().lines().count();
    let all = events(&sandbox, &[]);
    let short = sandbox.swarm(&["events"]).ok().to_owned();
    for kind in ["mark", "effectRequested", "effectFinished", "attemptMoved"] {
        assert!(!short.contains(&format!("  {kind} ")), "{kind}:\n{short}");
    }
    for kind in ["runEnded", "gateFailed", "gatePassed", "ideaLanded"] {
        assert!(short.contains(&format!("  {kind} ")), "{kind}:\n{short}");
    }
    assert_eq!(count(&["events", "--all"]), all.len());
    let marks = all.iter().filter(|one| one["kind"] == "mark").count();
    assert_eq!(count(&["events", "--kind", "mark"]), marks);
    assert_eq!(count(&["events", "-n", "3"]), 3);
}

#[test]
fn following_keeps_the_filters() {
    let sandbox = Sandbox::ready();
    let first = sandbox.idea("hold first; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("first");
    let out = sandbox.path("followed");
    let mut command = sandbox.swarm_command(&["events", "-f", "-n", "1", "--idea", &first]);
    let mut child = command
        .stdout(fs::File::create(&out).unwrap())
        .spawn()
        .unwrap();
    sandbox.wait_for("the newest event", || {
        (!fs::read_to_string(&out).unwrap().is_empty()).then_some(())
    });
    let second = sandbox.idea("write b.txt x; say COMPLETE");
    sandbox.wait_idea(&second, "done");
    sandbox.swarm(&["idea", "edit", &first, "--tag", "x"]).ok();
    sandbox.wait_for("the new event", || {
        fs::read_to_string(&out)
            .unwrap()
            .contains("ideaEdited")
            .then_some(())
    });
    daemon.stop();
    assert!(child.wait().unwrap().success());
    let text = fs::read_to_string(&out).unwrap();
    assert!(!text.contains(&second), "{text}");
}
