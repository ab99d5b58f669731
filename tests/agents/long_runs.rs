//! What takes minutes, or programs that CI does not install: asked for by `tests/long-run.sh`.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::processes;
use crate::lab::{BOTH, Lab, commit};
use crate::stub::End;

/// The least that the configuration allows for silence and for an attempt.
const MINUTE: Duration = Duration::from_secs(60);

#[test]
#[ignore = "takes minutes"]
fn a_model_that_hangs_is_given_up_and_asked_again() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::with(&json!({"agents": {"idleMinutes": 1, "timeoutMinutes": 30}}));
    let text = "A long answer that stops in its middle and never comes.";
    let ideas = lab.ideas(|name| {
        json!([
            {"sh": commit(&format!("{name}-1.txt"), name)},
            {"sh": commit(&format!("{name}-2.txt"), name), "text": text, "hang": 1},
            {"text": "Done.", "say": "COMPLETE"},
        ])
    });
    let begun = Instant::now();
    let daemon = lab.sandbox.start();
    for (name, idea) in BOTH.into_iter().zip(&ideas) {
        let idea = lab
            .sandbox
            .wait_within(5 * MINUTE, &format!("{name} to get through"), || {
                Some(lab.sandbox.show(idea)).filter(|idea| idea["status"] == "done")
            });
        assert!(begun.elapsed() >= MINUTE);
        assert_eq!(
            (&idea["retryCount"], &idea["attempts"]),
            (&json!(0), &json!(1)),
            "{idea:#}"
        );
        // The conversation went on: the first step was not asked for again.
        let asked = lab.stub.asked_for(&format!("{name}-1.txt"));
        let first = asked.iter().filter(|asked| asked.step == 0);
        assert_eq!(first.count(), 1, "{asked:#?}");
    }
    daemon.stop();
}

#[test]
#[ignore = "takes minutes"]
fn an_attempt_that_takes_too_long_is_ended_with_its_tree() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::with(&json!({"agents": {"timeoutMinutes": 1}}));
    // Codex goes on to ask the model, which does not answer.
    let ideas = lab.ideas(|name| {
        let away = format!("setsid -f {} >/dev/null 2>&1", lab.hold(name));
        json!([{"sh": format!("{away}; {}", lab.hold(name))}, {"wait": "never"}])
    });
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    for idea in &ideas {
        lab.sandbox
            .wait_within(2 * MINUTE, "the time to be over", || {
                Some(lab.sandbox.show(idea)).filter(|idea| idea["status"] == "timeout")
            });
    }
    lab.sandbox
        .wait_within(Duration::from_secs(2), "every process to be gone", || {
            let mut left = lab.sandbox.processes();
            left.retain(|line| line.contains("hold ") || line.contains("node_modules"));
            left.is_empty().then_some(())
        });
    daemon.stop();
}

#[test]
#[ignore = "takes minutes"]
fn a_million_tiny_pieces_are_read_in_bounded_memory() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    for name in BOTH {
        let lab = Lab::new();
        let idea = lab.idea(
            name,
            &json!([{"text": "And done.", "say": "COMPLETE", "pieces": 1_000_000}]),
        );
        let daemon = lab.sandbox.start();
        let mut most = 0;
        lab.sandbox
            .wait_within(10 * MINUTE, &format!("{name} to get through"), || {
                most = most.max(processes::resident(daemon.pid));
                Some(lab.sandbox.show(&idea)).filter(|idea| idea["status"] == "done")
            });
        println!("{name}: the daemon had {} MiB at most", most >> 20);
        assert!(most < 256 << 20, "{most}");
        let asked = lab.stub.asked_for("And done.");
        assert!(
            asked.iter().all(|asked| asked.end == End::Served),
            "{asked:#?}"
        );
        daemon.stop();
    }
}
