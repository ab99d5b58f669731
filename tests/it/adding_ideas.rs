//! Ideas from files and from the editor.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use crate::harness::{PATIENCE, Sandbox, Terminal};

/// The texts of all ideas, oldest first.
fn texts(sandbox: &Sandbox) -> Vec<String> {
    let text = |idea: &serde_json::Value| idea["content"].as_str().unwrap().to_owned();
    sandbox.ideas().iter().map(text).collect()
}

#[test]
fn files_become_ideas_in_their_order() {
    let sandbox = Sandbox::ready();
    let first = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.write(
        "one.md",
        "---\nafter: [idea-001]\ntags: [docs]\npriority: 7\nprofile: ed\n---\n# One\n\nmore\n",
    );
    sandbox.write("two.md", "Two\n---\nis one idea");
    let ran = sandbox.swarm(&[
        "idea", "add", "-f", "two.md", "-f", "one.md", "--tag", "night",
    ]);
    assert_eq!(ran.ok(), "idea-002\nidea-003\n");
    let (two, one) = (sandbox.show("idea-002"), sandbox.show("idea-003"));
    assert_eq!(
        (&two["content"], &two["tags"], &two["priority"]),
        (
            &json!("Two\n---\nis one idea"),
            &json!(["night"]),
            &json!(0)
        )
    );
    assert_eq!(
        (
            &one["content"],
            &one["tags"],
            &one["priority"],
            &one["after"],
            &one["profile"]
        ),
        (
            &json!("# One\n\nmore"),
            &json!(["docs", "night"]),
            &json!(7),
            &json!([first]),
            &json!("ed")
        )
    );
    let daemon = sandbox.start();
    let ran = sandbox.swarm(&["idea", "add", "--json", "-f", "two.md", "-f", "two.md"]);
    let ids: Vec<_> = ran
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(ids, ["idea-004", "idea-005"]);
    let single = sandbox
        .swarm(&["idea", "add", "--json", "-f", "one.md", "--priority=-2"])
        .json();
    assert_eq!(single["id"], "idea-006");
    assert_eq!(sandbox.show("idea-006")["priority"], -2);
    daemon.stop();
}

#[test]
fn a_file_that_is_no_idea_adds_nothing_and_a_refusal_says_what_was_added() {
    let sandbox = Sandbox::ready();
    sandbox.write("good.md", "Good");
    sandbox.write("bad.md", "---\npriorty: 1\n---\nBad");
    sandbox.write("late.md", "---\nafter: idea-900\n---\nLate");
    let ran = sandbox.swarm(&["idea", "add", "-f", "good.md", "-f", "bad.md"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(
        ran.stderr
            .contains("bad.md is no idea, and nothing was added: line 2"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("did you mean `priority`"), "{ran:?}");
    assert!(texts(&sandbox).is_empty());
    let ran = sandbox.swarm(&[
        "idea", "add", "-f", "good.md", "-f", "late.md", "-f", "good.md",
    ]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "idea-001\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("late.md: ") && ran.stderr.contains("already added: idea-001"));
    assert_eq!(texts(&sandbox), ["Good"]);
    for args in [
        ["idea", "add", "-f", "gone.md"],
        ["idea", "add", "x", "--file=good.md"],
    ] {
        assert_ne!(sandbox.swarm(&args).code, 0, "{args:?}");
    }
    assert_eq!(
        sandbox.swarm(&["idea", "add"]).code,
        2,
        "no text and no terminal"
    );
    assert_eq!(texts(&sandbox), ["Good"]);
}

/// Runs `idea add` on a terminal with an editor that runs this; its exit code.
fn edited(sandbox: &Sandbox, script: &str, args: &[&str]) -> i32 {
    let editor = editor(sandbox, script);
    let mut all = vec!["idea", "add"];
    all.extend(args);
    let mut command = sandbox.swarm_command(&all);
    command.env("EDITOR", format!("{editor} --wait"));
    on_a_terminal(sandbox, &command)
}

/// A program that runs this.
fn editor(sandbox: &Sandbox, script: &str) -> String {
    let editor = sandbox.path("editor");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&editor, Permissions::from_mode(0o755)).unwrap();
    editor.display().to_string()
}

fn on_a_terminal(sandbox: &Sandbox, command: &Command) -> i32 {
    let terminal = Terminal::open();
    let mut child = terminal.start(command);
    sandbox.wait_within(PATIENCE, "the editor's command to end", || {
        child
            .try_wait()
            .unwrap()
            .map(|status| status.code().unwrap())
    })
}

/// What the editor left in the temporary folder.
fn kept(sandbox: &Sandbox) -> Vec<String> {
    let files = fs::read_dir(sandbox.path("tmp")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with("swarm-idea-"))
        .collect()
}

#[test]
fn a_file_names_its_dependencies_by_number_too() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["idea", "add", "One"]).ok();
    sandbox.write("two.md", "---\nafter: [1]\n---\nTwo");
    sandbox.swarm(&["idea", "add", "-f", "two.md"]).ok();
    assert_eq!(sandbox.show("idea-002")["after"], json!(["idea-001"]));
    sandbox.write(
        ".swarm/inbox/three.md",
        "---\nafter: [2, idea-1]\n---\nThree",
    );
    sandbox.write(".swarm/inbox/zero.md", "---\nafter: [9]\n---\nZero");
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    sandbox.wait_for("the third idea", || {
        (sandbox.ideas().len() == 3).then_some(())
    });
    assert_eq!(
        sandbox.show("idea-003")["after"],
        json!(["idea-002", "idea-001"])
    );
    sandbox.wait_status("the refusal of the other file", |status| {
        status["warnings"]
            .to_string()
            .contains("there is no idea `9`")
    });
    daemon.stop();
}

#[test]
fn without_variables_gits_editor_opens_but_not_the_repositorys() {
    let sandbox = Sandbox::ready();
    let editor = editor(&sandbox, r#"echo "From git's editor" >"$1""#);
    let settings = sandbox.path("gitconfig");
    fs::write(&settings, format!("[core]\neditor = {editor}\n")).unwrap();
    // An agent can write this file.
    sandbox.git(&["config", "core.editor", "false"]);
    let mut command = sandbox.swarm_command(&["idea", "add"]);
    command.env("GIT_CONFIG_GLOBAL", &settings);
    for name in ["VISUAL", "EDITOR", "GIT_EDITOR"] {
        command.env_remove(name);
    }
    assert_eq!(on_a_terminal(&sandbox, &command), 0);
    assert_eq!(texts(&sandbox), ["From git's editor"]);
}

#[test]
fn the_editor_writes_an_idea_and_loses_none() {
    let sandbox = Sandbox::ready();
    let write = r#"test "$1" = --wait; printf -- '---\ntags: [a]\n---\nFrom the editor\n' >"$2""#;
    assert_eq!(edited(&sandbox, write, &["--priority", "4"]), 0);
    let idea = sandbox.show("idea-001");
    assert_eq!(
        (&idea["content"], &idea["tags"], &idea["priority"]),
        (&json!("From the editor"), &json!(["a"]), &json!(4))
    );
    assert_eq!(
        edited(&sandbox, "true", &[]),
        1,
        "an empty text adds nothing"
    );
    assert_eq!(sandbox.ideas().len(), 1);
    assert!(kept(&sandbox).is_empty(), "{:?}", kept(&sandbox));
    assert_eq!(
        edited(&sandbox, "echo x >\"$2\"", &["--after", "idea-900"]),
        1
    );
    let files = kept(&sandbox);
    assert_eq!(files.len(), 1, "a refused text is kept");
    let text = fs::read_to_string(sandbox.path("tmp").join(&files[0])).unwrap();
    assert_eq!(text, "x\n");
    assert_eq!(edited(&sandbox, "echo y >\"$2\"; exit 3", &[]), 1);
    assert_eq!(
        kept(&sandbox).len(),
        2,
        "the text of an editor that failed is kept"
    );
    assert_eq!(edited(&sandbox, "exit 3", &[]), 1);
    assert_eq!((kept(&sandbox).len(), sandbox.ideas().len()), (2, 1));
}
