//! Provenance records: each iteration has one, it says what git says, and one that was changed is
//! not shown.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::Sandbox;

/// Waits until this many iterations have a record; the events.
fn recorded(sandbox: &Sandbox, count: usize) -> Vec<Value> {
    let events = sandbox.wait_for("the records", || {
        let found = sandbox.logged("iterationRecorded");
        (found.len() >= count).then_some(found)
    });
    events.into_iter().map(|event| event.data).collect()
}

/// One idea that has landed after two iterations, with both records; no daemon.
fn landed() -> Sandbox {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea(
        "if iteration 1; then write a.txt one; commit; else write a.txt two; write b.txt x; say \
        COMPLETE; fi",
    );
    sandbox.wait_idea("idea-001", "done");
    recorded(&sandbox, 2);
    daemon.stop();
    drop(daemon);
    sandbox
}

fn show(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.swarm(&["provenance", "show", id, "--json"]).json()
}

fn file_of(sandbox: &Sandbox, run: &str) -> PathBuf {
    sandbox.dot_swarm(&format!("provenance/snapshots/{run}.json"))
}

/// The id of the last record of the first idea.
fn last_run(sandbox: &Sandbox) -> String {
    let run = &show(sandbox, "idea-001")["run"];
    run.as_str().unwrap().to_owned()
}

/// What an instance violates of a schema.
fn violations(schema: &Value, instance: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors = validator.iter_errors(instance);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn who_made_a_commit_with_which_prompt_is_found_by_run_idea_and_commit() {
    let sandbox = landed();
    let by_idea = show(&sandbox, "idea-001");
    let run = by_idea["run"].as_str().unwrap();
    assert_eq!(show(&sandbox, run), by_idea);
    assert_eq!(show(&sandbox, "1"), by_idea);
    let landed = sandbox.show("idea-001")["commit"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(show(&sandbox, &landed), by_idea);
    assert_eq!(show(&sandbox, &landed[..10]), by_idea);
    let made = by_idea["outputs"]["after"]["commit"].as_str().unwrap();
    assert_eq!(show(&sandbox, made)["outputs"]["after"]["commit"], made);
    let prompt = fs::read_to_string(sandbox.private(&format!("runs/{run}/prompt.md"))).unwrap();
    assert_eq!(by_idea["inputs"]["prompt"]["text"], prompt);
    assert_eq!(by_idea["outputs"]["signal"]["word"], "COMPLETE");
    assert_eq!(by_idea["replayStatus"]["matchStatus"], "not_replayed");
    let shown = sandbox.swarm(&["provenance", "show", run, "--prompt"]);
    assert_eq!(shown.ok().trim_end(), prompt.trim_end());
    let listed = sandbox.swarm(&["provenance", "list", "--json"]).json();
    assert_eq!(listed[0]["run"], run);
    let none = sandbox.swarm(&["provenance", "list", "--match", "exact_match", "--json"]);
    assert_eq!(none.json(), Value::Array(vec![]));
    sandbox
        .swarm(&["provenance", "show", "idea-999"])
        .refused(1, &["no record belongs to", "swarm provenance list"]);
}

#[test]
fn no_agent_is_named_for_a_commit_that_its_branch_began_with() {
    let sandbox = landed();
    let root = sandbox.git(&["rev-list", "--max-parents=0", "main"]);
    sandbox.git(&["commit", "--allow-empty", "-m", "by a person"]);
    let by_a_person = sandbox.git(&["rev-parse", "main"]);
    let daemon = sandbox.start();
    sandbox.idea("write c.txt x; commit; say COMPLETE");
    sandbox.wait_idea("idea-002", "done");
    recorded(&sandbox, 3);
    daemon.stop();
    let of_another = show(&sandbox, "idea-001")["outputs"]["after"]["commit"].clone();
    assert_eq!(
        show(&sandbox, of_another.as_str().unwrap())["workflowId"],
        "idea-001"
    );
    for commit in [root.trim(), by_a_person.trim()] {
        sandbox
            .swarm(&["provenance", "show", commit])
            .refused(1, &["no record belongs to"]);
    }
    let own = show(&sandbox, "idea-002")["outputs"]["after"]["commit"].clone();
    assert_eq!(
        show(&sandbox, own.as_str().unwrap())["workflowId"],
        "idea-002"
    );
}

#[test]
fn the_changed_files_are_those_of_git() {
    let sandbox = landed();
    let record = show(&sandbox, "idea-001");
    let tree = |part: &str, when: &str| record[part][when]["tree"].as_str().unwrap().to_owned();
    let (before, after) = (tree("inputs", "before"), tree("outputs", "after"));
    let listed = sandbox.git(&[
        "diff-tree",
        "-r",
        "--no-renames",
        "--name-status",
        &before,
        &after,
    ]);
    let artifacts = record["outputs"]["artifacts"].as_array().unwrap();
    let lines: Vec<String> = artifacts
        .iter()
        .map(|it| {
            let letter = match it["operation"].as_str().unwrap() {
                "created" => "A",
                "modified" => "M",
                "deleted" => "D",
                other => panic!("{other}"),
            };
            format!("{letter}\t{}", it["path"].as_str().unwrap())
        })
        .collect();
    assert_eq!(lines.join("\n"), listed.trim_end());
    assert!(!lines.is_empty());
    let patch = sandbox.swarm(&["provenance", "show", "idea-001", "--patch"]);
    assert!(patch.ok().contains("+++ b/b.txt"), "{patch}");
}

#[test]
fn records_are_valid_by_both_schemas() {
    let sandbox = landed();
    let schema = sandbox.swarm(&["provenance", "schema"]).json();
    let seed = include_str!("../fixtures/provenance/execution-snapshot-v1.schema.json");
    let seed: Value = serde_json::from_str(seed).unwrap();
    for (format, schema) in [("json", schema), ("aiwg", seed)] {
        let lines = sandbox.swarm(&["provenance", "export", "--all", "--format", format]);
        let mut count = 0;
        for line in lines.ok().lines() {
            let record = serde_json::from_str(line).unwrap();
            assert_eq!(violations(&schema, &record), Vec::<String>::new(), "{line}");
            count += 1;
        }
        assert_eq!(count, sandbox.logged("iterationRecorded").len(), "{format}");
    }
    let file = sandbox.path("records.jsonl");
    let written = [
        "provenance",
        "export",
        "--all",
        "-o",
        file.to_str().unwrap(),
    ];
    sandbox.swarm(&written).ok();
    let all = sandbox.swarm(&["provenance", "export", "--all"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), all.ok());
}

#[test]
fn a_record_that_was_changed_or_deleted_is_named_and_never_shown() {
    let sandbox = landed();
    let run = last_run(&sandbox);
    let path = file_of(&sandbox, &run);
    sandbox.swarm(&["provenance", "verify", "--all"]).ok();
    let content = fs::read(&path).unwrap();
    let mut changed = content.clone();
    let at = content.len() / 2;
    changed[at] ^= 1;
    let refused = |words: &str| {
        for args in [
            &["provenance", "show", &run][..],
            &["provenance", "show", &run, "--prompt"],
            &["provenance", "export", &run],
            &["provenance", "export", "--all", "-o", "records.jsonl"],
        ] {
            sandbox.swarm(args).refused(1, &[words]);
        }
        let verified = sandbox.swarm(&["provenance", "verify", &run]);
        assert_eq!(verified.code, 1, "{verified}");
        assert!(verified.stderr.contains(&run), "{verified}");
    };
    fs::write(&path, changed).unwrap();
    refused("is damaged");
    fs::remove_file(&path).unwrap();
    refused("is missing");
    std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
    refused("a symbolic link");
    fs::remove_file(&path).unwrap();
    fs::write(&path, content).unwrap();
    sandbox.swarm(&["provenance", "verify", &run]).ok();
    assert!(!sandbox.repo().join("records.jsonl").exists());
}

#[test]
fn a_running_daemon_serves_intact_records_and_nothing_else() {
    let sandbox = landed();
    let run = last_run(&sandbox);
    let daemon = sandbox.start();
    sandbox.asked("provenance?limit=5").unwrap();
    sandbox.asked(&format!("provenance/{run}")).unwrap();
    fs::write(file_of(&sandbox, &run), "{}").unwrap();
    let refused = sandbox.asked(&format!("provenance/{run}")).unwrap_err();
    assert!(refused.to_string().contains("RECORD_DAMAGED"), "{refused}");
    daemon.stop();
}

#[test]
fn a_record_has_no_value_of_a_variable_that_may_be_secret() {
    let sandbox = Sandbox::ready();
    let env = json!({ "API_TOKEN": "hush-1", "DEPLOY_KEY": "hush-2" });
    sandbox.configure(&json!({ "agents": { "profiles": { "ed": { "env": env } } } }));
    let daemon = sandbox.start();
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_idea("idea-001", "done");
    recorded(&sandbox, 1);
    daemon.stop();
    let record = show(&sandbox, "idea-001");
    let environment = &record["inputs"]["environment"];
    let names = environment["names"].as_array().unwrap();
    assert!(names.contains(&"API_TOKEN".into()), "{names:?}");
    assert!(environment["values"]["SWARM_RUN_ID"].is_string());
    assert!(!record.to_string().contains("hush-"), "{record}");
}

fn warns(sandbox: &Sandbox) -> bool {
    let status = sandbox.swarm(&["status", "--json"]).json();
    let warnings = status["warnings"].as_array().unwrap().iter();
    warnings.clone().any(|warning| warning["kind"] == "records")
}

#[test]
fn records_that_cannot_be_written_hold_up_no_agent_and_are_made_up_for() {
    let sandbox = Sandbox::ready();
    let in_the_way = sandbox.dot_swarm("provenance");
    fs::write(&in_the_way, "not a folder").unwrap();
    let daemon = sandbox.start();
    sandbox.idea("write a.txt one; say COMPLETE");
    sandbox.wait_idea("idea-001", "done");
    sandbox.wait_for("the warning", || warns(&sandbox).then_some(()));
    daemon.stop();
    drop(daemon);
    assert_eq!(sandbox.logged("iterationRecorded").len(), 0);
    assert_eq!(fs::read_to_string(&in_the_way).unwrap(), "not a folder");
    fs::remove_file(&in_the_way).unwrap();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(recorded(&sandbox, 1).len(), 1);
    assert!(!warns(&sandbox));
    sandbox.swarm(&["provenance", "verify", "--all"]).ok();
}

#[test]
fn an_iteration_whose_run_is_gone_has_no_record_and_says_why() {
    let sandbox = Sandbox::ready();
    let in_the_way = sandbox.dot_swarm("provenance");
    fs::write(&in_the_way, "not a folder").unwrap();
    let daemon = sandbox.start();
    sandbox.idea("write a.txt one; say COMPLETE");
    sandbox.wait_idea("idea-001", "done");
    sandbox.wait_for("the warning", || warns(&sandbox).then_some(()));
    daemon.stop();
    drop(daemon);
    fs::remove_file(&in_the_way).unwrap();
    let runs = sandbox.private("runs");
    fs::rename(&runs, sandbox.path("moved-away")).unwrap();
    fs::create_dir(&runs).unwrap();
    assert_eq!(sandbox.run_until_idle(), 0);
    let record = &recorded(&sandbox, 1)[0];
    assert_eq!(record["sha256"], Value::Null);
    let why = record["why"].as_str().unwrap();
    assert_eq!(why, "the directory of its run is gone");
    let list = sandbox.swarm(&["provenance", "list"]);
    assert!(list.ok().contains("none"), "{list}");
}

#[test]
fn old_records_are_deleted_and_the_log_says_so_first() {
    let sandbox = landed();
    let old = file_of(&sandbox, &last_run(&sandbox));
    let hundred_days = std::time::Duration::from_secs(100 * 24 * 60 * 60);
    let file = fs::File::options().write(true).open(&old).unwrap();
    file.set_modified(std::time::SystemTime::now() - hundred_days)
        .unwrap();
    let daemon = sandbox.start();
    sandbox.wait_for("the end of the old record", || {
        (!old.exists()).then_some(())
    });
    daemon.stop();
    drop(daemon);
    assert_eq!(sandbox.logged("recordsExpired").len(), 1);
    let left = fs::read_dir(old.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1);
    sandbox.swarm(&["replay", "--verify"]).ok();
}
