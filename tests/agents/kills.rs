//! kill -9 in the middle of a tool call: of the daemon alone, and of everything.

use std::collections::BTreeSet;
use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::lab::{BOTH, Lab, commit, dialect, tokens};
use crate::stub::{Asked, End};

/// Commits, and then stands still in its tool.
fn script(lab: &Lab, name: &str) -> Value {
    json!([
        {"sh": commit(&format!("{name}.txt"), name), "text": "I write it."},
        {"sh": format!("echo I stood still; {}", lab.hold(name)), "text": "I wait."},
        {"text": "Done.", "say": "COMPLETE"},
    ])
}

fn steps(asked: &[Asked]) -> Vec<usize> {
    asked.iter().map(|asked| asked.step).collect()
}

#[test]
fn a_killed_daemon_finds_its_agents_at_work() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    let ideas = lab.ideas(|name| script(&lab, name));
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    daemon.kill();
    drop(daemon);
    let daemon = lab.sandbox.start();
    lab.release_both();
    let ideas = ideas.map(|idea| lab.wait_idea(&idea, "done"));
    daemon.stop();
    for (name, idea) in BOTH.into_iter().zip(ideas) {
        assert_eq!(
            (&idea["retryCount"], &idea["attempts"]),
            (&json!(0), &json!(1))
        );
        assert_eq!(lab.iterations(idea["id"].as_str().unwrap()).len(), 1);
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        assert_eq!(steps(&asked), [0, 1, 2], "{asked:#?}");
        assert!(asked[2].results[1].contains("I stood still"), "{asked:#?}");
        // Nothing was lost of what it used.
        assert_eq!(
            tokens(&idea["used"]),
            lab.stub.served(dialect(name)),
            "{idea:#}"
        );
    }
    lab.sandbox.assert_log_sound();
}

#[test]
fn when_everything_was_killed_conversations_go_on_where_they_were() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    let ideas = lab.ideas(|name| script(&lab, name));
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    lab.wait_recorded();
    daemon.kill_everything();
    drop(daemon);
    let before = BOTH.map(|name| lab.stub.asked_for(&format!("{name}.txt")));
    lab.release_both();
    lab.work_off();
    for ((name, idea), before) in BOTH.into_iter().zip(&ideas).zip(before) {
        assert_eq!(steps(&before), [0, 1]);
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        let session = &before[0].session;
        assert!(
            asked.iter().all(|asked| asked.session == *session),
            "{asked:#?}"
        );
        // What was done is known and not done again.
        assert_eq!(steps(&asked).iter().filter(|step| **step == 0).count(), 1);
        let resumed = &asked[2];
        assert_eq!(resumed.results[0], before[1].results[0]);
        let told = resumed.prompts.last().unwrap();
        assert!(!told.contains("An idea of the test"), "{told}");
        let idea = lab.sandbox.show(idea);
        assert_eq!(
            (&idea["retryCount"], &idea["attempts"]),
            (&json!(1), &json!(2))
        );
        assert_used(name, &idea, &lab, &before);
    }
    lab.sandbox.assert_log_sound();
}

/// All that was served is counted. Codex tells what an answer used only after the tool that it
/// called: of the answer that was being worked on when it was killed nobody knows, which is said.
fn assert_used(name: &str, idea: &Value, lab: &Lab, before: &[Asked]) {
    let asked = lab.stub.asked_for(&format!("{name}.txt"));
    assert!(
        asked.iter().all(|asked| asked.end == End::Served),
        "{asked:#?}"
    );
    let mut known = lab.stub.served(dialect(name));
    let used = &idea["used"];
    if name == "codex" {
        known = known.since(before[1].tokens).unwrap();
    }
    assert_eq!(tokens(used), known, "{name}: {used:#}");
    assert_eq!(used["runsNotCounted"], 1, "{name}: {used:#}");
    assert_eq!(used["runs"], 2, "{name}: {used:#}");
}

#[test]
fn an_agent_that_is_interrupted_from_outside_is_not_taken_for_done() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    let ideas = lab.ideas(|name| script(&lab, name));
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    // Claude exits with 0 then.
    for agent in lab.sandbox.status()["agents"].as_array().unwrap() {
        let pid = i32::try_from(agent["pid"].as_i64().unwrap()).unwrap();
        kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    }
    lab.release_both();
    for (name, idea) in BOTH.into_iter().zip(ideas) {
        let idea = lab.wait_idea(&idea, "done");
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        let words = asked
            .iter()
            .filter(|asked| asked.step == 2 && asked.end == End::Served);
        assert_eq!(words.count(), 1, "{asked:#?}");
        assert!(
            lab.iterations(idea["id"].as_str().unwrap()).len() >= 2,
            "{idea:#}"
        );
        let sessions: BTreeSet<_> = asked.iter().map(|asked| &asked.session).collect();
        assert_eq!(sessions.len(), 1, "{asked:#?}");
    }
    daemon.stop();
}

#[test]
fn a_conversation_that_is_gone_begins_anew() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    let ideas = lab.ideas(|name| script(&lab, name));
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    lab.wait_recorded();
    daemon.kill_everything();
    drop(daemon);
    fs::remove_dir_all(lab.sandbox.path("home/.claude/projects")).unwrap();
    fs::remove_dir_all(lab.sandbox.path("codex/sessions")).unwrap();
    lab.release_both();
    lab.work_off();
    for (name, idea) in BOTH.into_iter().zip(ideas) {
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        let last = asked.last().unwrap();
        assert_ne!(last.session, asked[0].session);
        // It was told what is known of its work.
        let told = last.prompts.last().unwrap();
        assert!(told.contains("## Recovery Context"), "{told}");
        assert!(told.contains("An idea of the test"), "{told}");
        assert_eq!(lab.sandbox.show(&idea)["retryCount"], 1);
    }
}
