//! `swarm clean`: what is over goes, what anybody needs stays, and a kill in the middle leaves
//! nothing that the next one does not finish.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use swarm::crash;

use crate::harness::{Fingerprint, PATIENCE, Sandbox, is_spare};

/// Two ideas that landed, each checked in its worktree and merged: six runs. Old output may go at
/// once.
fn landed() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"qualityCommands": ["true"]}));
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.idea("write b.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(run_names(&sandbox).len(), 6);
    sandbox
}

/// Whatever is over is old enough.
fn at_once(sandbox: &Sandbox) {
    sandbox.configure(&json!({"qualityCommands": ["true"], "retention": {"runsDays": 0}}));
}

fn names(sandbox: &Sandbox, folder: &str) -> BTreeSet<String> {
    names_in(&sandbox.dot_swarm(folder))
}

fn run_names(sandbox: &Sandbox) -> BTreeSet<String> {
    names_in(&sandbox.private("runs"))
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect()
}

fn clean(sandbox: &Sandbox) -> Value {
    sandbox.swarm(&["clean", "--json"]).json()
}

fn removed(report: &Value, kind: &str) -> BTreeSet<String> {
    let all = report["removed"].as_array().unwrap();
    let some = all.iter().filter(|one| one["kind"] == kind);
    some.map(|one| one["path"].as_str().unwrap().to_owned())
        .collect()
}

/// Copies that were put aside, old and new, kept repositories, leftovers beside the worktrees.
fn litter(sandbox: &Sandbox) {
    let state = sandbox.dot_swarm("state");
    fs::write(state.join("torn-2020-01-01T00-00-00.000Z"), "half a line").unwrap();
    fs::write(state.join("torn-2020-01-01T00-00-00.000Z-2"), "half").unwrap();
    fs::write(state.join("torn-2999-01-01T00-00-00.000Z"), "half").unwrap();
    fs::write(state.join("restored-2020-01-01.json"), "{}").unwrap();
    fs::create_dir(state.join("doctor-2020-01-01T00-00-00.000Z")).unwrap();
    fs::write(state.join("doctor-2020-01-01T00-00-00.000Z/old"), "x").unwrap();
    for name in [
        ".kept-ed-001-idea-001/inner",
        ".kept-ed-077-idea-001/inner",
        ".old-ed-001-idea-001",
        ".trash-Ab12/tree",
    ] {
        let folder = sandbox.worktrees().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), vec![7; 9_000]).unwrap();
    }
}

const OLD_COPIES: [&str; 3] = [
    ".swarm/state/doctor-2020-01-01T00-00-00.000Z",
    ".swarm/state/torn-2020-01-01T00-00-00.000Z",
    ".swarm/state/torn-2020-01-01T00-00-00.000Z-2",
];

/// The paths of these in the folder of the worktrees.
fn in_worktrees(sandbox: &Sandbox, names: &[&str]) -> BTreeSet<String> {
    let path = |name: &&str| sandbox.worktrees().join(name).display().to_string();
    names.iter().map(path).collect()
}

fn of(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn a_dry_run_changes_nothing_and_the_clean_after_it_does_what_it_said() {
    let sandbox = landed();
    at_once(&sandbox);
    litter(&sandbox);
    let before = Fingerprint::of(&sandbox.repo());
    let said = sandbox.swarm(&["clean", "--dry-run", "--json"]).json();
    let page = sandbox.swarm(&["clean", "--dry-run"]).ok().to_owned();
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "clean --dry-run");
    let mut done = clean(&sandbox);
    assert_eq!(
        (&said["dryRun"], &done["dryRun"]),
        (&json!(true), &json!(false))
    );
    done["dryRun"] = json!(true);
    assert_eq!(said, done);
    assert_eq!(removed(&done, "run").len(), 6);
    assert_eq!(removed(&done, "copy"), of(&OLD_COPIES));
    let repositories = removed(&done, "repositories");
    assert_eq!(
        repositories,
        in_worktrees(&sandbox, &[".kept-ed-001-idea-001"])
    );
    let leftovers = in_worktrees(&sandbox, &[".old-ed-001-idea-001", ".trash-Ab12"]);
    let worktrees = removed(&done, "worktree");
    let (spare, left): (BTreeSet<_>, _) = worktrees
        .into_iter()
        .partition(|path| is_spare(Path::new(path)));
    assert_eq!(left, leftovers);
    let known = in_worktrees(&sandbox, &["verify", ".pool-w01"]);
    assert!(spare.is_superset(&known), "{spare:?}");
    for one in done["removed"].as_array().unwrap() {
        let path = one["path"].as_str().unwrap();
        assert!(!sandbox.repo().join(path).exists(), "{path}");
        assert!(page.contains(path), "{path}: {page}");
        assert!(one["bytes"].as_u64().unwrap() > 0, "{one}");
    }
    let kept = &done["kept"];
    assert_eq!(kept["copies"], json!({"young": 1}));
    assert_eq!(kept["repositories"], json!({"unknown": 1}));
    let state = names(&sandbox, "state");
    assert!(state.contains("restored-2020-01-01.json"), "{state:?}");
    assert!(state.contains("snapshot.json"), "{state:?}");
    assert_eq!(run_names(&sandbox), BTreeSet::new());
    let again = clean(&sandbox);
    assert_eq!(
        (&again["removed"], &again["bytes"]),
        (&json!([]), &json!(0))
    );
    sandbox.assert_log_sound();
    sandbox.idea("write c.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.assert_repository_clean();
}

fn set_end(sandbox: &Sandbox, run: &str, at: &str) {
    let path = sandbox.private("runs").join(run).join("exit.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    record["endedAt"] = json!(at);
    fs::write(&path, record.to_string()).unwrap();
}

#[test]
fn the_age_of_a_run_is_its_attempts_and_its_records_never_a_files() {
    let sandbox = landed();
    let runs = run_names(&sandbox);
    let named = |part: &str| {
        runs.iter()
            .find(|name| name.contains(part))
            .unwrap()
            .clone()
    };
    let (check, iteration) = (named("-idea-001-v"), named("-ed-001-i"));
    let long_ago = "2020-01-01T00:00:00.000Z";
    assert_eq!(removed(&clean(&sandbox), "run"), of(&[]));
    // The log says when the attempt ended: no record makes it older.
    set_end(&sandbox, &iteration, long_ago);
    // Of a check of the merged tree the state remembers nothing: its record counts.
    set_end(&sandbox, &check, long_ago);
    let report = clean(&sandbox);
    let gone = format!(".git/swarm/runs/{check}");
    assert_eq!(removed(&report, "run"), of(&[&gone]));
    assert_eq!(report["kept"]["runs"], json!({"young": 5}));
    // A record from the future, and one that cannot be read, keep theirs.
    at_once(&sandbox);
    set_end(&sandbox, &iteration, "2999-01-01T00:00:00.000Z");
    fs::write(
        sandbox
            .private("runs")
            .join(named("-ed-002-i"))
            .join("exit.json"),
        "{",
    )
    .unwrap();
    let report = clean(&sandbox);
    assert_eq!(report["kept"]["runs"], json!({"unreadable": 1, "young": 1}));
    assert_eq!(removed(&report, "run").len(), 3);
}

#[test]
fn runs_that_anybody_needs_stay_beside_a_daemon_and_without_one() {
    let sandbox = landed();
    at_once(&sandbox);
    let before: BTreeSet<String> = run_names(&sandbox);
    sandbox.idea("if attempt 1; then hold it; fi; say COMPLETE");
    sandbox.idea("echo not yet; say BLOCKED:later");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    sandbox.wait_idea("idea-004", "blocked");
    // Until then its record needs the run.
    sandbox.wait_for("the record of the blocked run", || {
        let recorded = sandbox.logged("iterationRecorded");
        let mut runs = recorded.iter().filter_map(|it| it.data["run"].as_str());
        runs.any(|run| run.contains("-ed-004-")).then_some(())
    });
    // What was over went by itself, after the start.
    sandbox.wait_for("old runs to be removed", || {
        run_names(&sandbox).is_disjoint(&before).then_some(())
    });
    litter(&sandbox);
    let needed = run_names(&sandbox);
    let report = clean(&sandbox);
    assert_eq!(run_names(&sandbox), needed);
    let kept = &report["kept"];
    assert_eq!(kept["runs"], json!({"inUse": 1, "unfinished": 1}));
    assert_eq!(removed(&report, "copy"), of(&OLD_COPIES));
    assert_eq!(removed(&report, "worktree"), of(&[]));
    assert!(
        kept["worktrees"]["daemonRuns"].as_u64().unwrap() >= 2,
        "{kept}"
    );
    assert!(sandbox.worktrees().join(".old-ed-001-idea-001").exists());
    let logs = sandbox.swarm(&["agent", "logs", "ed-004"]).ok().to_owned();
    assert!(logs.contains("not yet"), "{logs}");
    // The agent lives on without its daemon: nothing of it goes.
    daemon.kill();
    drop(daemon);
    let report = clean(&sandbox);
    assert_eq!(report["kept"]["runs"], json!({"inUse": 1, "unfinished": 1}));
    assert_eq!(run_names(&sandbox), needed);
    sandbox.release("it");
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-003", "done");
    assert_eq!(sandbox.notes("runs").len(), 4, "adopted, not run again");
    sandbox.swarm(&["idea", "cancel", "idea-004"]).ok();
    sandbox.wait_for("the runs of what is over to go", || {
        clean(&sandbox);
        run_names(&sandbox).is_disjoint(&needed).then_some(())
    });
    // Its output is gone, and it says nothing wrong.
    sandbox.swarm(&["agent", "logs", "ed-001"]).ok();
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn the_daemon_removes_old_runs_at_its_start_and_journals_nothing_of_it() {
    let sandbox = landed();
    litter(&sandbox);
    fs::create_dir(sandbox.private("runs/.trash-r0001-ed-001-i1")).unwrap();
    at_once(&sandbox);
    let daemon = sandbox.start();
    sandbox.wait_for("old runs to be removed", || {
        run_names(&sandbox).is_empty().then_some(())
    });
    let diary = sandbox.wait_for("a line about it", || {
        let diary = fs::read_to_string(sandbox.dot_swarm("logs/daemon.jsonl")).unwrap();
        diary.contains("old runs removed").then_some(diary)
    });
    assert_eq!(diary.matches("old runs removed").count(), 1, "{diary}");
    daemon.stop();
    // Copies and kept repositories go when a person asks.
    assert!(sandbox.repo().join(OLD_COPIES[0]).exists());
    assert!(sandbox.worktrees().join(".kept-ed-001-idea-001").exists());
    sandbox.assert_log_sound();
}

fn killed_at(sandbox: &Sandbox, point: &str) {
    let mut command = sandbox.swarm_command(&["clean"]);
    command.env(crash::VARIABLE, point);
    let ran = sandbox.run(&mut command, b"", PATIENCE);
    assert_eq!(ran.code, 137, "{point}: {ran}");
}

/// Every run is whole under its own name, or not there under it.
fn assert_whole(runs: &Path) {
    for entry in fs::read_dir(runs).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.starts_with(".trash-") {
            assert!(path.join("exit.json").exists(), "{name} is half there");
        }
    }
}

#[test]
fn killed_anywhere_the_next_one_finishes_it() {
    for point in [
        "clean.planned",
        "clean.renamed",
        "clean.renamed#4",
        "clean.renamed#9",
        "clean.deleted",
        "clean.deleted#5",
        "clean.deleted#9",
        "git.discard.between",
    ] {
        let sandbox = landed();
        at_once(&sandbox);
        litter(&sandbox);
        killed_at(&sandbox, point);
        assert_whole(&sandbox.private("runs"));
        let report = clean(&sandbox);
        assert_eq!(report["failed"], Value::Null, "{point}");
        assert_eq!(run_names(&sandbox), BTreeSet::new(), "{point}");
        let state = names(&sandbox, "state");
        let left = state.iter().filter(|name| {
            name.starts_with(".trash-") || name.contains("-2020-") && !name.starts_with("restored")
        });
        assert_eq!(left.count(), 0, "{point}: {state:?}");
        let worktrees = names_in(&sandbox.worktrees());
        let kept = of(&[".kept-ed-077-idea-001", "owner"]);
        assert_eq!(worktrees, kept, "{point}");
        sandbox.assert_log_sound();
        sandbox.assert_nothing_runs();
    }
}

#[test]
fn what_cannot_be_trusted_is_left_alone() {
    let sandbox = landed();
    let runs = Fingerprint::of(&sandbox.private("runs"));
    sandbox.configure(&json!({"retention": {"runsDays": -1}}));
    sandbox
        .swarm(&["clean"])
        .refused(1, &["retention.runsDays", "config check"]);
    at_once(&sandbox);
    let path = sandbox.dot_swarm("state/events.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    let snapshot = sandbox.dot_swarm("state/snapshot.json");
    fs::remove_file(snapshot).unwrap();
    fs::write(&path, log.replacen("ideaAdded", "ideaAddee", 1)).unwrap();
    sandbox.swarm(&["clean"]).refused(75, &["doctor"]);
    fs::write(&path, log).unwrap();
    runs.assert_same(&Fingerprint::of(&sandbox.private("runs")), "swarm clean");
    fs::write(sandbox.private("runs/notes.txt"), "a person's").unwrap();
    fs::create_dir(sandbox.private("runs/r0099-ed-001-i1")).unwrap();
    let report = clean(&sandbox);
    assert_eq!(report["kept"]["runs"], json!({"unknown": 2}));
    assert_eq!(run_names(&sandbox).len(), 2);
}

#[test]
fn work_that_was_rescued_is_counted_and_stays() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write left.txt x; say BLOCKED:no");
    assert_eq!(sandbox.run_until_idle(), 5);
    sandbox.swarm(&["idea", "cancel", "idea-001"]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    let refs = sandbox.git(&["for-each-ref", "refs/swarm/rescue"]);
    assert!(!refs.is_empty());
    sandbox.configure(&json!({"retention": {"runsDays": 0}}));
    let report = clean(&sandbox);
    let rescue = &report["kept"]["rescue"];
    assert_eq!(rescue["count"], refs.lines().count());
    assert!(
        rescue["oldest"].as_str().unwrap().starts_with("20"),
        "{rescue}"
    );
    assert_eq!(sandbox.git(&["for-each-ref", "refs/swarm/rescue"]), refs);
    let page = sandbox.swarm(&["clean"]).ok().to_owned();
    assert!(
        page.contains("(refs/swarm/rescue/): 2 references"),
        "{page}"
    );
}

#[test]
fn where_nothing_ever_ran_there_is_nothing_to_clean() {
    let sandbox = Sandbox::ready();
    let before = Fingerprint::of(&sandbox.repo());
    sandbox.swarm(&["clean", "--dry-run"]).ok();
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "clean --dry-run");
    let report = clean(&sandbox);
    assert_eq!(
        (&report["removed"], &report["bytes"]),
        (&json!([]), &json!(0))
    );
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
}

#[test]
fn repositories_that_an_agent_made_go_when_their_idea_is_over_for_long_enough() {
    let sandbox = Sandbox::ready();
    sandbox.idea("git init -q inner; write inner/mine.txt x; write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let kept = sandbox
        .worktrees()
        .join(".kept-ed-001-idea-001/inner/mine.txt");
    assert!(kept.exists());
    let young = clean(&sandbox);
    assert_eq!(young["kept"]["repositories"], json!({"young": 1}));
    assert!(kept.exists());
    sandbox.configure(&json!({"retention": {"runsDays": 0}}));
    let report = clean(&sandbox);
    let gone = in_worktrees(&sandbox, &[".kept-ed-001-idea-001"]);
    assert_eq!(removed(&report, "repositories"), gone);
    assert!(!kept.exists());
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.assert_repository_clean();
}
