//! The programs that CI does not install, and an agent by its protocol: asked for by
//! `tests/long-run.sh`.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use swarm::domain::usage::Tokens;

use crate::lab::{Lab, commit, holds, tokens};
use crate::programs;
use crate::stub::{Asked, End};

/// How long work may take: without a network Gemini CLI waits for it at each start.
const TIME: Duration = Duration::from_secs(600);
/// The names of the profiles.
const NAMES: [&str; 3] = ["gemini", "opencode", "acp"];

/// A lab with these profiles.
fn lab() -> Lab {
    let lab = Lab::new();
    // With an address of its own for the service it asks how it is to log in.
    let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
    let folder = lab.sandbox.path("home/.gemini");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    lab.configure(&json!({
        "agents": {"maxParallel": NAMES.len(), "profiles": profiles(&lab)},
        "qualityCommands": ["test ! -e broken || { echo the file is called $(cat broken); false; \
            }"],
    }));
    lab
}

fn profiles(lab: &Lab) -> Value {
    let folder = programs::folder_of_all().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let gemini = json!({
        "PATH": path, "GOOGLE_GEMINI_BASE_URL": lab.stub.url(), "GEMINI_API_KEY": "made-up",
    });
    let provider = json!({
        "$schema": "https://opencode.ai/config.json", "share": "disabled",
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
        "acp": {"adapter": "acp", "command": ["gemini", "--acp", "--skip-trust"], "env": gemini},
    })
}

/// What was sent whole within one piece of work.
fn served(asked: &[Asked]) -> Tokens {
    let served = asked.iter().filter(|asked| asked.end == End::Served);
    served.fold(Tokens::default(), |sum, asked| sum.plus(asked.tokens))
}

fn steps(asked: &[Asked]) -> Vec<usize> {
    asked.iter().map(|asked| asked.step).collect()
}

fn wait(lab: &Lab, what: &str, condition: impl Fn() -> bool) {
    lab.sandbox
        .wait_within(TIME, what, || condition().then_some(()));
}

/// All of it was one conversation, by the log.
fn assert_one_conversation(lab: &Lab, name: &str) {
    let mut began = lab.sandbox.logged("sessionBegan");
    began.retain(|event| event.data["profile"] == name);
    assert_eq!(began.len(), 1, "{name}: {began:?}");
}

#[test]
#[ignore = "installs more programs"]
fn what_the_others_commit_lands_and_what_fails_the_check_is_mended() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = lab();
    let base = lab.sandbox.head("main");
    let ideas = NAMES.map(|name| {
        lab.idea(
            name,
            &json!([
                {"sh": commit("broken", name), "text": "I write it."},
                {"text": "Done.", "say": "COMPLETE"},
                {"sh": format!("git mv broken {name}.txt && git commit -qm Mend")},
                {"text": "Mended.", "say": "COMPLETE"},
            ]),
        )
    });
    lab.work_off_within(TIME);
    assert_eq!(lab.sandbox.landings(&base, "main").len(), NAMES.len());
    for (name, idea) in NAMES.into_iter().zip(&ideas) {
        assert_eq!(lab.sandbox.file_at("main", &format!("{name}.txt")), name);
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        assert_eq!(steps(&asked), [0, 1, 2, 3], "{name}: {asked:#?}");
        let told = asked[2].prompts.last().unwrap();
        let broken = format!("the file is called {name}");
        assert!(told.contains(&broken), "{name}: {told}");
        assert!(!told.contains("An idea of the test"), "{name}: {told}");
        assert_one_conversation(&lab, name);
        let idea = lab.sandbox.show(idea);
        assert_eq!(idea["attempts"], 1, "{idea:#}");
        // What an agent of the protocol used it need not tell.
        if name != "acp" {
            assert_eq!(tokens(&idea["used"]), served(&asked), "{name}: {idea:#}");
            assert_eq!(idea["used"]["runsNotCounted"], 0, "{name}: {idea:#}");
        }
    }
    lab.sandbox.assert_repository_clean();
    lab.sandbox.assert_log_sound();
}

#[test]
#[ignore = "installs more programs"]
fn when_everything_was_killed_the_others_go_on_where_they_were() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = lab();
    let ideas = NAMES.map(|name| {
        lab.idea(
            name,
            &json!([
                {"sh": commit(&format!("{name}.txt"), name), "text": "I write it."},
                {"sh": lab.hold(name), "text": format!("I wait as {name}.")},
                {"text": "Done.", "say": "COMPLETE"},
            ]),
        )
    });
    let daemon = lab.sandbox.start();
    for name in NAMES {
        let here = lab.sandbox.path(&format!("hold.{name}.here"));
        wait(&lab, &format!("a tool of {name}"), || here.exists());
        // The answer, not the prompt, in which quotes are escaped.
        let recorded = ["content", "text"].map(|field| format!("\"{field}\":\"I wait as {name}."));
        let home = lab.sandbox.path("home");
        wait(&lab, &format!("the records of {name}"), || {
            recorded.iter().any(|words| holds(&home, words))
        });
    }
    daemon.kill_everything();
    drop(daemon);
    let before = NAMES.map(|name| lab.stub.asked_for(&format!("{name}.txt")));
    for name in NAMES {
        lab.release(name);
    }
    lab.work_off_within(TIME);
    for ((name, idea), before) in NAMES.into_iter().zip(&ideas).zip(before) {
        assert_eq!(steps(&before), [0, 1], "{name}");
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        assert_eq!(lab.sandbox.file_at("main", &format!("{name}.txt")), name);
        // What was done is known and not done again.
        assert_eq!(steps(&asked).iter().filter(|step| **step == 0).count(), 1);
        assert_eq!(asked[2].results[0], before[1].results[0], "{name}");
        let told = asked[2].prompts.last().unwrap();
        assert!(!told.contains("An idea of the test"), "{name}: {told}");
        assert_one_conversation(&lab, name);
        let idea = lab.sandbox.show(idea);
        assert_eq!(idea["attempts"], 2, "{idea:#}");
        let used = &idea["used"];
        // opencode tells what an answer used only after the tool that it called; Gemini CLI has it
        // in its records.
        let unknown = match name {
            "gemini" => Tokens::default(),
            "opencode" => before[1].tokens,
            _ => continue,
        };
        let known = served(&asked).since(unknown).unwrap();
        assert_eq!(tokens(used), known, "{name}: {used:#}");
        assert_eq!(used["runsNotCounted"], 1, "{name}: {used:#}");
    }
    lab.sandbox.assert_log_sound();
}
