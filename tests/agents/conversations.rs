//! Conversations that go on under another home and in another worktree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use swarm::agents::conversation::Placement;
use swarm::agents::environment::Environment;
use swarm::agents::{AdapterKind, adapter};
use swarm::domain::session::SessionId;

use crate::lab::{BOTH, Lab, WORK, commit};
use crate::stub_programs::program;

const LIMIT: Duration = Duration::from_secs(60);

fn kind(name: &str) -> AdapterKind {
    match name {
        "claude" => AdapterKind::Claude,
        _ => AdapterKind::Codex,
    }
}

/// The variables that say where a program keeps its records, below this folder.
fn home(name: &str, folder: &Path) -> Environment {
    let variable = match name {
        "claude" => "CLAUDE_CONFIG_DIR",
        _ => "CODEX_HOME",
    };
    [(variable.into(), folder.into())].into()
}

/// Copies a conversation to the records of `to`; the file it came from.
fn carry(name: &str, session: &SessionId, from: [&Path; 2], to: [&Path; 2]) -> PathBuf {
    let adapter = adapter(kind(name));
    let [records, worktree] = from;
    let file = adapter.conversation_file(records, session, worktree);
    let file = file.unwrap().unwrap();
    let records = adapter.records(&home(name, to[0])).unwrap();
    let mut placement = Placement {
        session,
        new_session: None,
        worktree: to[1],
        name: file.file_name().unwrap().to_str().unwrap(),
        content: &mut fs::File::open(&file).unwrap(),
    };
    adapter
        .place_conversation(&records, &mut placement)
        .unwrap();
    file
}

/// The program as swarm resumes a conversation with it.
fn resuming(lab: &Lab, name: &str, session: &SessionId) -> Command {
    if name == "claude" {
        let mut command = program(lab, name);
        command.args(["--resume", session.as_str()]);
        return command;
    }
    let known = program(lab, name);
    let mut args: Vec<_> = known.get_args().map(ToOwned::to_owned).collect();
    let last = args.pop().unwrap();
    let mut command = lab.command_of(&lab.profile(name));
    command.args(args).args(["resume", session.as_str()]);
    command.arg(last);
    command
}

#[test]
fn a_killed_conversation_goes_on_under_another_home_and_path() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    for name in BOTH {
        lab.idea(name, &script(&lab, name));
    }
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    lab.wait_recorded();
    let agents = lab.sandbox.status()["agents"].clone();
    daemon.kill_everything();
    drop(daemon);
    lab.release_both();
    for name in BOTH {
        let mut agents = agents.as_array().unwrap().iter();
        let agent = agents.find(|agent| agent["profile"] == name).unwrap();
        let worktree = lab.sandbox.repo().join(agent["worktree"].as_str().unwrap());
        let session: SessionId = agent["session"].as_str().unwrap().parse().unwrap();
        let (records, before) = match name {
            "claude" => ("home/.claude/projects", "home"),
            _ => ("codex/sessions", "codex"),
        };
        let other_home = lab.sandbox.path(&format!("other-{before}"));
        let other_worktree = lab.sandbox.path(&format!("elsewhere/{name}'s work"));
        fs::create_dir_all(&other_worktree).unwrap();
        let mut init = lab.sandbox.command("git");
        init.args(["init", "-q"]).current_dir(&other_worktree);
        assert!(init.status().unwrap().success());
        let records = lab.sandbox.path(records);
        let old = carry(
            name,
            &session,
            [&records, &worktree],
            [&other_home, &other_worktree],
        );
        // The program must not find the first one.
        fs::remove_file(old).unwrap();
        let asked = lab.stub.asked_for(&format!("{name} did this"));
        let mut command = resuming(&lab, name, &session);
        command.current_dir(&other_worktree);
        for (variable, value) in home(name, &other_home) {
            command.env(variable, value);
        }
        let ran = lab.sandbox.run(&mut command, b"Go on.", LIMIT);
        ran.ok();
        let first = &lab.stub.asked_for(&format!("{name} did this"))[asked.len()];
        assert!(
            first.results[0].contains(&format!("{name} did this")),
            "{name}: {first:#?}\n{ran}"
        );
        assert!(
            first.prompts.last().unwrap().contains("Go on."),
            "{first:#?}"
        );
    }
}

/// Gives a result, and then stands still in its tool.
fn script(lab: &Lab, name: &str) -> Value {
    json!([
        {"sh": format!("echo {name} did this > {name}.txt; cat {name}.txt"), "text": "I write it."},
        {"sh": lab.hold(name), "text": "I wait."},
        {"text": "Done.", "say": "COMPLETE"},
    ])
}

/// The files of conversations below a folder that hold these words.
fn files_with(folder: &Path, words: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, words));
        } else if fs::read_to_string(&path).is_ok_and(|text| text.contains(words)) {
            found.push(path);
        }
    }
    found
}

/// It gives up after a commit.
fn half(name: &str) -> Value {
    let write = commit(&format!("{name}.txt"), &format!("{name} did this"));
    json!([
        {"sh": format!("{write}; cat {name}.txt"), "text": "I write it."},
        {"text": "I know the way.", "say": "BLOCKED:enough"},
    ])
}

fn rest(name: &str, number: usize) -> Value {
    json!([
        {"sh": commit(&format!("{name}-{number}.txt"), "x"), "text": "I go on."},
        {"text": "Done.", "say": "COMPLETE"},
    ])
}

#[test]
fn an_exported_agent_goes_on_with_its_conversation_elsewhere_on_two_ideas() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let old = Lab::new();
    for name in BOTH {
        old.idea(name, &half(name));
    }
    assert_eq!(old.sandbox.run_until_idle_within(WORK), 5);
    let agents = old.sandbox.swarm(&["agent", "list", "--json"]).json();
    let new = Lab::new();
    let from = old.sandbox.repo();
    let fetch = ["fetch", "-q", from.to_str().unwrap(), "main"];
    new.sandbox.git(&fetch);
    new.sandbox.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    for name in BOTH {
        let mut agents = agents.as_array().unwrap().iter();
        let agent = agents.find(|agent| agent["profile"] == name).unwrap();
        let file = old.sandbox.path(&format!("{name}.tar.zst"));
        let file = file.to_str().unwrap();
        let id = agent["id"].as_str().unwrap();
        old.sandbox.swarm(&["agent", "export", id, "-o", file]).ok();
        for number in 0..2 {
            let idea = new.idea(name, &rest(name, number));
            let import = ["agent", "import", file, "--idea", &idea, "--json"];
            let imported = new.sandbox.swarm(&import).json();
            assert_eq!(imported["conversation"]["fate"], "carried", "{imported}");
            assert_eq!(imported["commits"]["fate"], "taken", "{imported}");
        }
    }
    new.work_off();
    for name in BOTH {
        let did = format!("{name} did this");
        for number in 0..2 {
            let asked = new.stub.asked_for(&format!("{name}-{number}.txt"));
            let first = &asked[0];
            assert!(first.remembered[0].contains(&did), "{name}: {asked:#?}");
            let told = first
                .prompts
                .iter()
                .any(|it| it.contains("## You are in another place"));
            assert!(told, "{name}: {first:#?}");
        }
        let records = match name {
            "claude" => new.sandbox.path("home/.claude/projects"),
            _ => new.sandbox.path("codex/sessions"),
        };
        let files = files_with(&records, &did);
        assert_eq!(files.len(), 2, "{name}: {files:?}");
    }
    assert!(new.sandbox.logged("sessionDropped").is_empty());
}
