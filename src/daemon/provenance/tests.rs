//! Tests of records: what they say, that they are always the same, and what hostile or missing
//! files come to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use serde_json::{Value, json};

use super::build::{RecordError, build};
use super::find::find;
use super::log::records;
use super::store;
use super::testkit::{Site, Written, owed};
use super::verify::{Condition, Unserved, check, load};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::view::provenance::outputs::Operation;
use crate::view::provenance::record::schema;
use crate::view::provenance::{Record, RecordFilter, aiwg::aiwg};

fn made(site: &Site) -> Record {
    build(&site.paths, &site.repo, &site.run, &owed(site)).unwrap()
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/provenance")
        .join(name)
}

/// Compares with a golden file, or writes it if `UPDATE_GOLDEN` is set.
fn assert_golden(name: &str, content: &Value) {
    let path = golden(name);
    let text = format!("{content:#}\n");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "UPDATE_GOLDEN=1 cargo test provenance");
}

fn valid(schema: &Value, instance: &Value) {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap();
    let errors: Vec<String> = validator
        .iter_errors(instance)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}\n{instance:#}", errors.join("\n"));
}

fn seed() -> Value {
    let path = "tests/fixtures/provenance/execution-snapshot-v1.schema.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_record_says_what_was_given_what_was_done_and_what_came_of_it() {
    let site = Site::new();
    let record = serde_json::to_value(made(&site)).unwrap();
    assert_golden("record.json", &record);
    valid(&schema(), &record);
}

#[test]
fn a_record_in_the_other_names_is_valid_by_the_other_schema() {
    let site = Site::new();
    let exported = aiwg(&made(&site));
    assert_golden("record.aiwg.json", &exported);
    valid(&seed(), &exported);
}

#[test]
fn the_schemas_refuse_what_is_no_record() {
    let site = Site::new();
    let mut record = serde_json::to_value(made(&site)).unwrap();
    record["version"] = "2.0".into();
    record["outputs"]["artifacts"][0]["operation"] = "renamed".into();
    record.as_object_mut().unwrap().remove("unknown");
    let validator = jsonschema::validator_for(&schema()).unwrap();
    assert_eq!(validator.iter_errors(&record).count(), 3);
    let mut exported = aiwg(&made(&site));
    exported["config"]["execution_mode"] = "guessed".into();
    let validator = jsonschema::validator_for(&seed()).unwrap();
    assert_eq!(validator.iter_errors(&exported).count(), 1);
}

#[test]
fn a_record_that_is_made_again_has_the_same_bytes() {
    let site = Site::new();
    let first = store::bytes(&made(&site)).unwrap();
    // Whatever is written after the end of the run does not count.
    let mut output = fs::read(site.file("stdout.log")).unwrap();
    let known = owed(&site);
    output.extend_from_slice(b"{\"type\":\"assistant\",\"message\":{\"content\":[]}}\nmore\n");
    fs::write(site.file("stdout.log"), output).unwrap();
    let again = build(&site.paths, &site.repo, &site.run, &known).unwrap();
    assert_eq!(store::bytes(&again).unwrap(), first);
}

#[test]
fn the_artifacts_are_the_difference_of_the_trees() {
    let site = Site::new();
    let record = made(&site);
    let artifacts = record.outputs.artifacts.iter();
    let found: Vec<(&str, Operation, Option<u64>)> = artifacts
        .map(|it| (it.path.as_str(), it.operation, it.size))
        .collect();
    assert_eq!(
        found,
        [
            ("a.txt", Operation::Modified, Some(4)),
            ("new/b.txt", Operation::Created, Some(2)),
            ("old.txt", Operation::Deleted, None),
        ]
    );
}

#[test]
fn what_an_agent_put_in_the_place_of_a_file_is_never_read() {
    for name in [
        "prompt.md",
        "stdout.log",
        "inputs.json",
        "memory.json",
        "agent.json",
    ] {
        for is_pipe in [true, false] {
            let site = Site::new();
            let known = owed(&site);
            let path = site.file(name);
            fs::rename(&path, site.paths.swarm.join("elsewhere")).unwrap();
            if is_pipe {
                nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
            } else {
                symlink(site.paths.swarm.join("elsewhere"), &path).unwrap();
            }
            let record = build(&site.paths, &site.repo, &site.run, &known).unwrap();
            let part = match name {
                "prompt.md" => "inputs.prompt",
                "stdout.log" => "outputs.response",
                "inputs.json" => "inputs",
                "memory.json" => "inputs.memory",
                // The event log knows the adapter too.
                _ => {
                    assert_eq!(record.config.agent.adapter.as_deref(), Some("claude"));
                    continue;
                }
            };
            assert!(
                record.unknown.iter().any(|it| it == part),
                "{name}: {:?}",
                record.unknown
            );
            valid(&schema(), &serde_json::to_value(record).unwrap());
        }
    }
}

#[test]
fn an_iteration_that_never_started_has_a_record_and_a_directory_that_is_gone_has_none() {
    let site = Site::new();
    for name in ["stdout.log", "memory.json", "inputs.json"] {
        fs::remove_file(site.file(name)).unwrap();
    }
    let mut known = owed(&site);
    known.end = RunEnd::new(RunEndKind::NotStarted {
        message: "no such program".to_owned(),
    });
    known.gate.clear();
    known.adapter = None;
    let record = build(&site.paths, &site.repo, &site.run, &known).unwrap();
    assert_eq!(record.outputs.end, "no such program");
    assert_eq!(record.config.model.id.as_deref(), Some("sonnet"));
    valid(&seed(), &aiwg(&record));
    fs::rename(site.file(""), site.paths.runs.join("moved")).unwrap();
    let gone = build(&site.paths, &site.repo, &site.run, &known).unwrap_err();
    assert!(matches!(gone, RecordError::Gone), "{gone}");
}

/// The event of an iteration's record.
fn recorded(run: &str, idea: &str, sha256: Option<&str>) -> Written {
    Written::new(
        "iterationRecorded",
        json!({
            "agent": run.split('-').skip(1).take(2).collect::<Vec<_>>().join("-"),
            "idea": idea,
            "iteration": 1,
            "run": run,
            "sha256": sha256,
            "why": sha256.is_none().then_some("the directory of its run is gone"),
        }),
    )
}

fn ended(run: &str, head: &str) -> Written {
    Written::new("runEnded", json!({ "run": run, "end": { "head": head } }))
}

#[test]
fn ten_thousand_records_are_listed_within_a_second() {
    let site = Site::new();
    let events = (0..10_000_u64).flat_map(|number| {
        let run = format!("r{number:04}-ed-{:03}-i1", number % 10);
        let digest = "1".repeat(64);
        let other = Written::new("mark", json!({ "text": "x".repeat(400) }));
        [recorded(&run, "idea-001", Some(&digest)), other]
    });
    site.log(&events.collect::<Vec<_>>());
    let begun = Instant::now();
    let log = records(&site.paths, u64::MAX).unwrap();
    let took = begun.elapsed();
    assert_eq!(log.lines.len(), 10_000);
    // The goal is a second; this program is not optimised, and others run beside it.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let filter = RecordFilter {
        agent: Some("ed-007".parse().unwrap()),
        ..RecordFilter::default()
    };
    let wanted = log.wanted(&filter, 3);
    let runs: Vec<&str> = wanted.iter().map(|line| line.run.as_str()).collect();
    assert_eq!(
        runs,
        ["r9997-ed-007-i1", "r9987-ed-007-i1", "r9977-ed-007-i1"]
    );
}

/// Writes the record of an iteration that began at this commit; its digest.
fn began_at(site: &Site, run: &str, start: &str) -> String {
    let mut record = made(site);
    record.run = run.to_owned();
    record.inputs.before.commit = Some(start.to_owned());
    store::write(&site.paths, &record).unwrap()
}

#[test]
fn a_record_is_found_by_its_run_its_idea_and_the_commits_of_both() {
    let site = Site::new();
    let began = |run, start| Some(began_at(&site, run, start));
    let first = began("r0001-ed-001-i1", &site.before);
    let second = began("r0002-ed-001-i2", &site.before);
    let third = began("r0003-ed-002-i1", &site.after);
    site.log(&[
        ended("r0001-ed-001-i1", &site.before),
        recorded("r0001-ed-001-i1", "idea-001", first.as_deref()),
        ended("r0002-ed-001-i2", &site.after),
        recorded("r0002-ed-001-i2", "idea-001", second.as_deref()),
        ended("r0003-ed-002-i1", &site.after),
        recorded("r0003-ed-002-i1", "idea-002", third.as_deref()),
        recorded("r0004-ed-002-i2", "idea-002", None),
    ]);
    let log = records(&site.paths, u64::MAX).unwrap();
    let landing = "c".repeat(40);
    let landings = vec![(landing.clone(), "idea-001".parse().unwrap())];
    let cases = [
        ("r0001-ed-001-i1", Some("r0001-ed-001-i1")),
        ("r0002", Some("r0002-ed-001-i2")),
        ("idea-001", Some("r0002-ed-001-i2")),
        ("2", Some("r0003-ed-002-i1")),
        (&landing[..8], Some("r0002-ed-001-i2")),
        // The iteration began with it and made no other.
        (&site.before, None),
        (&site.after[..10], Some("r0002-ed-001-i2")),
        ("idea-009", None),
        ("r0009", None),
        ("r00", None),
        ("fedcba9876", None),
        ("../../etc/passwd", None),
    ];
    for (typed, expected) in cases {
        let found = find(&site.paths, &log, &landings, typed).unwrap();
        assert_eq!(found.map(|line| line.run.as_str()), expected, "{typed}");
    }
}

#[test]
fn a_commit_within_an_iteration_belongs_to_the_first_one_that_had_it() {
    let site = Site::new();
    let middle = site.commit_between();
    let began = |run, start| Some(began_at(&site, run, start));
    let first = began("r0001-ed-001-i1", &site.before);
    let second = began("r0002-ed-001-i2", &site.before);
    let third = began("r0003-ed-001-i3", &middle.tip);
    site.log(&[
        ended("r0001-ed-001-i1", &site.before),
        recorded("r0001-ed-001-i1", "idea-001", first.as_deref()),
        ended("r0002-ed-001-i2", &middle.tip),
        recorded("r0002-ed-001-i2", "idea-001", second.as_deref()),
        ended("r0003-ed-001-i3", &middle.tip),
        recorded("r0003-ed-001-i3", "idea-001", third.as_deref()),
    ]);
    let log = records(&site.paths, u64::MAX).unwrap();
    let made_by = || {
        let found = find(&site.paths, &log, &Vec::new(), &middle.inner).unwrap();
        found.map(|line| line.run.to_string())
    };
    assert_eq!(made_by().as_deref(), Some("r0002-ed-001-i2"));
    // A record that somebody changed proves nothing.
    began_at(&site, "r0002-ed-001-i2", &middle.tip);
    assert_eq!(made_by(), None);
}

#[test]
fn each_record_is_checked_against_the_log_and_its_trees_against_git() {
    let site = Site::new();
    let record = made(&site);
    let digest = store::write(&site.paths, &record).unwrap();
    let mut lost = record.clone();
    lost.run = "r0002-ed-001-i2".to_owned();
    lost.inputs.before.tree = Some("d".repeat(40));
    let lost_digest = store::write(&site.paths, &lost).unwrap();
    let other = "1".repeat(64);
    let mut damaged = record;
    damaged.run = "r0003-ed-001-i3".to_owned();
    store::write(&site.paths, &damaged).unwrap();
    let events = [
        recorded(site.run.as_str(), "idea-001", Some(&digest)),
        recorded("r0002-ed-001-i2", "idea-001", Some(&lost_digest)),
        recorded("r0003-ed-001-i3", "idea-001", Some(&other)),
        recorded("r0004-ed-001-i4", "idea-001", Some(&other)),
        recorded("r0005-ed-001-i5", "idea-001", None),
    ];
    site.log(&events);
    let conditions = || {
        let log = records(&site.paths, u64::MAX).unwrap();
        let checked = check(&site.paths, &log, log.lines.iter()).unwrap();
        checked.iter().map(|it| it.condition).collect::<Vec<_>>()
    };
    let mut expected = [
        Condition::Intact,
        Condition::TreeMissing,
        Condition::Damaged,
        Condition::Missing,
        Condition::NotRecorded,
    ];
    assert_eq!(conditions(), expected);
    let log = records(&site.paths, u64::MAX).unwrap();
    for (line, condition) in log.lines.iter().zip(expected) {
        match load(&site.paths, &log, line) {
            Ok(_) => assert!(matches!(
                condition,
                Condition::Intact | Condition::TreeMissing
            )),
            Err(Unserved::Record {
                condition: found, ..
            }) => assert_eq!(found, condition),
            Err(Unserved::Daemon(error)) => panic!("{error}"),
        }
    }
    let later = owed(&site).ended_at.plus_millis(86_400_000);
    site.log(&[Written::new(
        "recordsExpired",
        json!({ "before": later, "failedBefore": later }),
    )]);
    expected[3] = Condition::Expired;
    assert_eq!(conditions(), expected);
}
