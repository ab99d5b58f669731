//! What takes minutes, or programs that CI does not install: asked for by `tests/long-run.sh`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::processes;
use crate::lab::{BOTH, Lab, commit};
use crate::stub::End;

/// The least that the configuration allows for silence and for an attempt.
const MINUTE: Duration = Duration::from_secs(60);

#[test]
#[ignore = "takes minutes"]
fn a_model_that_hangs_is_given_up_and_asked_again() {
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

/// Profiles of the programs that only the long run has.
fn others(lab: &Lab) -> Value {
    let folder = crate::programs::folder_of_all();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let gemini = json!({
        "PATH": path, "GOOGLE_GEMINI_BASE_URL": lab.stub.url(), "GEMINI_API_KEY": "made-up",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    });
    let provider = json!({
        "$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled", "permission": "allow",
        "provider": {"stub": {
            "npm": "@ai-sdk/openai-compatible", "name": "stub",
            "options": {"baseURL": format!("{}/v1", lab.stub.url()), "apiKey": "made-up"},
            "models": {"stub": {"name": "stub"}},
        }},
    });
    json!({
        "gemini": {"adapter": "gemini", "model": "gemini-2.5-flash", "env": gemini},
        "opencode": {"adapter": "opencode", "model": "stub/stub", "env": {
            "PATH": path, "OPENCODE_CONFIG_CONTENT": provider.to_string(),
        }},
        "acp": {"adapter": "acp", "command": [folder.join("gemini"), "--experimental-acp"], "env": gemini},
    })
}

#[test]
#[ignore = "installs more programs"]
fn gemini_opencode_and_an_acp_agent_land_what_they_commit() {
    let lab = Lab::new();
    let profiles = others(&lab);
    lab.configure(&json!({
        "agents": {"maxParallel": 3, "profiles": profiles}, "qualityCommands": ["test ! -e broken"],
    }));
    let base = lab.sandbox.head("main");
    let names = ["gemini", "opencode", "acp"];
    for name in names {
        lab.idea(
            name,
            &json!([
                {"sh": commit("broken", name), "text": "I write it."},
                {"text": "Done.", "say": "COMPLETE"},
                {"sh": format!("git mv broken {name}.txt && git commit -qm Mend")},
                {"text": "Mended.", "say": "COMPLETE"},
            ]),
        );
    }
    lab.work_off();
    assert_eq!(lab.sandbox.landings(&base, "main").len(), names.len());
    for name in names {
        assert_eq!(lab.sandbox.file_at("main", &format!("{name}.txt")), name);
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        let first = asked.iter().filter(|asked| asked.step == 0);
        assert_eq!(
            first.count(),
            1,
            "{name} did not go on with its conversation: {asked:#?}"
        );
    }
}
