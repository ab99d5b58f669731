//! A recorded iteration is repeated and compared: at most once, and nothing of it is left behind.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::harness::{Daemon, Ran, Sandbox};

/// What an agent does unless a file in `out` says otherwise.
const DOING: &str = "if [ -e $OUT/other ]; then write c.txt x; exit 0; fi; write a.txt one; [ -e \
    $OUT/less ] || write b.txt x; say COMPLETE";

/// One idea has landed, with a record, and the daemon runs on.
fn landed<'s>(sandbox: &'s Sandbox, doing: &str) -> Daemon<'s> {
    let daemon = sandbox.start();
    sandbox.idea(doing);
    sandbox.wait_idea("idea-001", "done");
    sandbox.wait_for("the record", || {
        (!sandbox.logged("iterationRecorded").is_empty()).then_some(())
    });
    sandbox.wait_for("the idea's branch to be removed", || {
        let branches = sandbox.git(&["for-each-ref", "refs/heads/agent/"]);
        branches.trim().is_empty().then_some(())
    });
    daemon
}

fn replay(sandbox: &Sandbox, also: &[&str]) -> Ran {
    let args = [&["provenance", "replay", "idea-001"], also].concat();
    sandbox.swarm(&args)
}

/// From now on the agent finds this file.
fn put(sandbox: &Sandbox, name: &str) {
    fs::write(sandbox.path("out").join(name), "").unwrap();
}

/// The runs of replays that were really started.
fn started(sandbox: &Sandbox) -> Vec<String> {
    let runs = sandbox.notes("runs").into_iter();
    runs.filter(|run| run.contains("-replay-run")).collect()
}

/// The verdicts in the log.
fn judged(sandbox: &Sandbox) -> Vec<Value> {
    let events = sandbox.logged("replayJudged").into_iter();
    events.map(|event| event.data).collect()
}

/// All references, and the target's files.
fn repository(sandbox: &Sandbox) -> [String; 2] {
    let refs = sandbox.git(&["for-each-ref"]);
    [refs, sandbox.git(&["ls-tree", "-r", "main"])]
}

fn assert_nothing_left(sandbox: &Sandbox) {
    assert!(!sandbox.worktrees().join("replay").exists());
    assert!(!sandbox.worktrees().join(".new-replay").exists());
    let known = sandbox.git(&["worktree", "list"]);
    assert!(!known.contains("worktrees/replay"), "{known}");
}

fn verdict_file(sandbox: &Sandbox, run: &str) -> PathBuf {
    sandbox.dot_swarm(&format!("provenance/replays/{run}.json"))
}

/// The id of the idea's last record.
fn recorded_run(sandbox: &Sandbox) -> String {
    let shown = sandbox.swarm(&["provenance", "show", "idea-001", "--json"]);
    shown.json()["run"].as_str().unwrap().to_owned()
}

#[test]
fn the_same_program_matches_exactly_and_leaves_nothing_behind() {
    let sandbox = Sandbox::ready();
    let daemon = landed(&sandbox, DOING);
    let before = repository(&sandbox);
    let run = recorded_run(&sandbox);
    let record = sandbox.dot_swarm(&format!("provenance/snapshots/{run}.json"));
    let content = fs::read(&record).unwrap();
    let ran = replay(&sandbox, &["--expect", "exact", "--yes"]);
    assert!(ran.ok().starts_with("exact match\n"), "{ran}");
    let found = replay(&sandbox, &["--yes", "--json"]).json();
    assert_eq!(found["run"], json!(run));
    let last = &found["last"];
    assert_eq!(last["matchStatus"], "exact_match");
    assert_eq!(last["why"], Value::Null);
    assert_eq!(last["measures"]["trees"], true);
    assert_eq!(started(&sandbox).len(), 2);
    assert_nothing_left(&sandbox);
    assert_eq!(repository(&sandbox), before);
    assert_eq!(
        fs::read(&record).unwrap(),
        content,
        "a record never changes"
    );
    let kept: Value =
        serde_json::from_slice(&fs::read(verdict_file(&sandbox, &run)).unwrap()).unwrap();
    assert_eq!(kept, judged(&sandbox)[1]);
    let matching = sandbox.swarm(&["provenance", "list", "--match", "exact_match", "--json"]);
    assert_eq!(matching.json()[0]["replayCount"], 2);
    let shown = sandbox
        .swarm(&["provenance", "show", &run, "--json"])
        .json();
    let status = json!({"replayed": true, "replayCount": 2, "matchStatus": "exact_match"});
    assert_eq!(shown["replayStatus"], status);
    let shown = sandbox.swarm(&["provenance", "show", &run]);
    assert!(shown.ok().contains("exact match"), "{shown}");
    sandbox.asked(&format!("provenance/{run}/replay")).unwrap();
    daemon.stop();
    sandbox.swarm(&["provenance", "verify", "--all"]).ok();
    sandbox.swarm(&["replay", "--verify"]).ok();
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
}

#[test]
fn it_begins_with_the_uncommitted_files_that_the_iteration_found() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea(
        "git status --porcelain >>\"$OUT/status\"; if iteration 1; then write a.txt one; write \
        README.md new; else append a.txt two; commit; say COMPLETE; fi",
    );
    sandbox.wait_idea("idea-001", "done");
    sandbox.wait_for("the records", || {
        (sandbox.logged("iterationRecorded").len() == 2).then_some(())
    });
    let found = sandbox.notes("status");
    let ran = replay(&sandbox, &["--expect", "exact", "--yes"]);
    assert!(ran.ok().starts_with("exact match\n"), "{ran}");
    let again = sandbox.notes("status").split_off(found.len());
    assert_eq!(again, found, "it found other files");
    assert!(!again.is_empty());
    assert_nothing_left(&sandbox);
    daemon.stop();
}

#[test]
fn another_result_matches_in_part_or_not_at_all() {
    let sandbox = Sandbox::ready();
    let daemon = landed(&sandbox, DOING);
    let before = repository(&sandbox);
    put(&sandbox, "less");
    let ran = replay(&sandbox, &["--expect", "partial", "--yes"]);
    assert!(ran.ok().starts_with("partial match\n"), "{ran}");
    let worse = replay(&sandbox, &["--expect", "semantic", "--yes"]);
    assert_eq!(worse.code, 5, "{worse}");
    assert!(worse.stdout.starts_with("partial match\n"), "{worse}");
    assert!(worse.stderr.contains("worse than expected"), "{worse}");
    put(&sandbox, "other");
    let ran = replay(&sandbox, &["--yes"]);
    assert!(ran.ok().starts_with("no match\n"), "{ran}");
    let worse = replay(&sandbox, &["--expect", "partial", "--yes", "--json"]);
    assert_eq!(worse.code, 5, "{worse}");
    let document: Value = serde_json::from_str(&worse.stdout).unwrap();
    assert_eq!(document["last"]["measures"]["files"], 0.0);
    assert_nothing_left(&sandbox);
    assert_eq!(repository(&sandbox), before);
    daemon.stop();
}

#[test]
fn where_quality_commands_judged_the_work_the_gate_is_unknown() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"qualityCommands": ["true"]}));
    let daemon = landed(&sandbox, DOING);
    let found = replay(&sandbox, &["--yes", "--json"]).json();
    assert_eq!(found["last"]["matchStatus"], "exact_match");
    assert_eq!(found["last"]["measures"]["gate"], Value::Null);
    daemon.stop();
}

#[test]
fn a_killed_daemon_goes_on_with_the_same_run() {
    let sandbox = Sandbox::ready();
    let doing = format!("[ ! -e $OUT/again ] || hold replay; {DOING}");
    let daemon = landed(&sandbox, &doing);
    put(&sandbox, "again");
    let run = recorded_run(&sandbox);
    let path = format!("provenance/{run}/replay");
    let (status, begun) = sandbox.post(&path, &json!({})).unwrap();
    assert_eq!((status, &begun["of"]), (200, &json!(run)));
    let here = sandbox.path("out/replay.here");
    sandbox.wait_for("the replay", || here.exists().then_some(()));
    let (status, refused) = sandbox.post(&path, &json!({})).unwrap();
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("NOT_NOW"))
    );
    assert_eq!(sandbox.status()["slots"]["used"], 1);
    daemon.kill();
    drop(daemon);
    let daemon = sandbox.start();
    put(&sandbox, "replay.go");
    let judged = sandbox.wait_for("the verdict", || judged(&sandbox).into_iter().next());
    assert_eq!(judged["run"], begun["run"]);
    assert_eq!(judged["verdict"]["matchStatus"], "exact_match");
    assert_eq!(started(&sandbox).len(), 1);
    assert_nothing_left(&sandbox);
    daemon.stop();
}

#[test]
fn a_run_that_fails_or_is_stopped_has_no_verdict_and_is_not_repeated() {
    let sandbox = Sandbox::ready();
    let doing = format!("[ ! -e $OUT/fail ] || exit 3; [ ! -e $OUT/again ] || hold it; {DOING}");
    let daemon = landed(&sandbox, &doing);
    put(&sandbox, "fail");
    replay(&sandbox, &["--yes"]).refused(1, &["no verdict: exit code 3", ".git/swarm/runs/"]);
    fs::remove_file(sandbox.path("out/fail")).unwrap();
    put(&sandbox, "again");
    let run = recorded_run(&sandbox);
    let path = format!("provenance/{run}/replay");
    assert_eq!(sandbox.post(&path, &json!({})).unwrap().0, 200);
    let here = sandbox.path("out/it.here");
    sandbox.wait_for("the replay", || here.exists().then_some(()));
    daemon.stop();
    drop(daemon);
    let daemon = sandbox.start();
    sandbox.wait_for("the end", || (judged(&sandbox).len() == 2).then_some(()));
    assert_eq!(started(&sandbox).len(), 2);
    assert!(judged(&sandbox)[1].get("verdict").is_none());
    let list = sandbox.swarm(&["provenance", "list", "--json"]).json();
    assert_eq!(list[0]["matchStatus"], "not_replayed");
    assert_nothing_left(&sandbox);
    daemon.stop();
}

#[test]
fn it_is_refused_without_a_daemon_a_yes_an_intact_record_or_while_paused() {
    let sandbox = Sandbox::ready();
    let daemon = landed(&sandbox, DOING);
    replay(&sandbox, &[]).refused(1, &["--yes", "nothing was changed"]);
    replay(&sandbox, &["--profile", "nobody", "--yes"]).refused(1, &["nobody"]);
    sandbox.swarm(&["pause"]).ok();
    replay(&sandbox, &["--yes"]).refused(1, &["the swarm is paused", "swarm resume"]);
    sandbox.swarm(&["resume"]).ok();
    // An agent may not spend money in the name of a person.
    sandbox.idea(
        "\"$SWARM_BIN\" provenance replay idea-001 --yes >\"$OUT/refused\" 2>&1; write d.txt x; \
        say COMPLETE",
    );
    sandbox.wait_idea("idea-002", "done");
    let refused = fs::read_to_string(sandbox.path("out/refused")).unwrap();
    assert!(refused.contains("needs a person"), "{refused}");
    let run = recorded_run(&sandbox);
    let record = sandbox.dot_swarm(&format!("provenance/snapshots/{run}.json"));
    let content = fs::read(&record).unwrap();
    fs::write(&record, b"{}").unwrap();
    replay(&sandbox, &["--yes"]).refused(1, &["is damaged"]);
    let path = format!("provenance/{run}/replay");
    let (status, refused) = sandbox.post(&path, &json!({})).unwrap();
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("RECORD_DAMAGED"))
    );
    fs::remove_file(&record).unwrap();
    replay(&sandbox, &["--yes"]).refused(1, &["is missing"]);
    fs::write(&record, content).unwrap();
    daemon.stop();
    replay(&sandbox, &["--yes"]).refused(3, &["swarm start"]);
    assert!(started(&sandbox).is_empty());
    assert!(sandbox.logged("replayAsked").is_empty());
}

#[test]
fn a_record_whose_replay_does_not_match_is_kept_longer() {
    let sandbox = Sandbox::ready();
    let daemon = landed(&sandbox, DOING);
    sandbox.idea("write d.txt x; say COMPLETE");
    sandbox.wait_idea("idea-002", "done");
    sandbox.wait_for("the record", || {
        (sandbox.logged("iterationRecorded").len() == 2).then_some(())
    });
    put(&sandbox, "other");
    replay(&sandbox, &["--yes"]).ok();
    daemon.stop();
    drop(daemon);
    let failed = recorded_run(&sandbox);
    let records = sandbox.dot_swarm("provenance/snapshots");
    let age = |days: u64| {
        for entry in fs::read_dir(&records).unwrap() {
            let file = fs::File::options()
                .write(true)
                .open(entry.unwrap().path())
                .unwrap();
            let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
            file.set_modified(then).unwrap();
        }
    };
    let left = || {
        let entries = fs::read_dir(&records).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<Vec<_>>()
    };
    age(100);
    let daemon = sandbox.start();
    sandbox.wait_for("the end of the other record", || {
        (left() == [format!("{failed}.json")]).then_some(())
    });
    daemon.stop();
    drop(daemon);
    let references = || sandbox.git(&["for-each-ref", "refs/swarm/provenance/"]);
    assert!(!references().is_empty());
    assert!(verdict_file(&sandbox, &failed).exists());
    age(200);
    let daemon = sandbox.start();
    sandbox.wait_for("the end of the last record", || {
        left().is_empty().then_some(())
    });
    daemon.stop();
    assert!(!verdict_file(&sandbox, &failed).exists());
}
