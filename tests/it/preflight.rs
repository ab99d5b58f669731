//! Agents that cannot work are named before any idea is given to them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Fingerprint, PATIENCE, Ran, Sandbox};

/// Runs `swarm` with a `PATH` that begins with the sandbox's own programs, and this login.
fn swarm(sandbox: &Sandbox, args: &[&str], login: Option<&str>) -> Ran {
    let mut command = sandbox.swarm_command(args);
    let path = std::env::var("PATH").unwrap();
    let own = sandbox.path("bin");
    command.env("PATH", format!("{}:{path}", own.display()));
    command.envs(login.map(|value| ("ANTHROPIC_API_KEY", value)));
    sandbox.run(&mut command, b"", PATIENCE)
}

/// Puts a program there that runs this script.
fn program(sandbox: &Sandbox, name: &str, script: &str) {
    let bin = sandbox.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = bin.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
}

fn use_profile(sandbox: &Sandbox, profile: &Value) {
    let agents = json!({"profile": "cl", "profiles": {"cl": profile}});
    sandbox.configure(&json!({ "agents": agents }));
}

fn doctor(sandbox: &Sandbox) -> String {
    swarm(sandbox, &["doctor"], None).stdout
}

fn refused_start(sandbox: &Sandbox, login: Option<&str>, words: &[&str]) {
    let before = Fingerprint::of(&sandbox.repo());
    swarm(sandbox, &["start"], login).refused(4, words);
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "swarm start");
}

#[test]
fn a_start_says_what_keeps_the_agent_from_working() {
    let sandbox = Sandbox::ready();
    use_profile(&sandbox, &json!({"adapter": "claude"}));
    program(&sandbox, "claude", "echo 1.0.3");
    let words = ["`cl`", "1.0.3 is too old", "npm install", "swarm doctor"];
    refused_start(&sandbox, Some("k"), &words);
    program(&sandbox, "claude", "echo 99.0.0");
    let words = ["not logged in", "ANTHROPIC_API_KEY", ".credentials.json"];
    refused_start(&sandbox, None, &words);
    program(&sandbox, "claude", "echo cannot find node >&2; exit 1");
    refused_start(&sandbox, Some("k"), &["exit code 1: cannot find node"]);
    program(&sandbox, "claude", "echo 99.0.0");
    let args = json!({"adapter": "claude", "args": ["--resume"]});
    use_profile(&sandbox, &args);
    refused_start(
        &sandbox,
        Some("k"),
        &["`--resume`", "agents.profiles.cl.args"],
    );
    fs::set_permissions(sandbox.path("bin/claude"), Permissions::from_mode(0o644)).unwrap();
    use_profile(
        &sandbox,
        &json!({"adapter": "claude", "command": [sandbox.path("bin/claude")]}),
    );
    refused_start(&sandbox, Some("k"), &["not an executable file"]);
}

#[test]
fn no_idea_is_spent_on_a_profile_that_cannot_work() {
    let sandbox = Sandbox::ready();
    program(&sandbox, "claude", "echo 1.0.3");
    sandbox.configure(&json!({"agents": {"profiles": {"cl": {"adapter": "claude"}}}}));
    // Nobody asks for it: it keeps nothing from working.
    let first = sandbox.idea("write a.txt x; say COMPLETE");
    swarm(&sandbox, &["start", "--until-idle"], Some("k")).ok();
    assert_eq!(sandbox.idea_status(&first), "done");
    let second = sandbox.idea_with("write b.txt x; say COMPLETE", &["--profile", "cl"]);
    let third = sandbox.idea("write c.txt x; say COMPLETE");
    let runs = sandbox.notes("runs").len();
    let start = swarm(&sandbox, &["start", "--until-idle"], Some("k"));
    start.refused(4, &["`cl`", "too old"]);
    for idea in [&second, &third] {
        assert_eq!(sandbox.idea_status(idea), "pending");
        assert_eq!(sandbox.show(idea)["attempts"], 0, "{idea}");
    }
    assert_eq!(sandbox.notes("runs").len(), runs);
    sandbox.swarm(&["idea", "cancel", &second]).ok();
    swarm(&sandbox, &["start", "--until-idle"], Some("k")).ok();
    assert_eq!(sandbox.idea_status(&third), "done");
}

#[test]
fn the_doctor_says_of_each_profile_how_it_is() {
    let sandbox = Sandbox::ready();
    program(&sandbox, "claude", "echo '99.1.2 (Claude Code)'");
    program(&sandbox, "codex", "echo codex-cli 99.3.4");
    use_profile(&sandbox, &json!({"adapter": "claude"}));
    let seen = swarm(&sandbox, &["doctor"], Some("secret-of-the-test"));
    let text = seen.ok().to_owned();
    let path = sandbox.path("bin/claude");
    let line = format!(
        "profile `cl` runs {}, version 99.1.2, logged in by ANTHROPIC_API_KEY",
        path.display()
    );
    assert!(text.contains(&line), "{seen}");
    assert!(text.contains("--dangerously-skip-permissions"), "{seen}");
    assert!(text.contains("no profile uses codex: "), "{seen}");
    assert!(text.contains(r#""codex": {"adapter": "codex"}"#), "{seen}");
    assert!(!text.contains("secret-of-the-test"), "{seen}");
    let seen = swarm(&sandbox, &["doctor"], None);
    assert_eq!(seen.code, 1, "{seen}");
    assert!(
        seen.stdout.contains("Claude Code is not logged in"),
        "{seen}"
    );
    // A profile that nobody uses is a warning.
    sandbox.configure(&json!({"agents": {"profiles": {"cl": {"adapter": "claude"}}}}));
    let seen = swarm(&sandbox, &["doctor"], None);
    assert!(seen.ok().contains("Claude Code is not logged in"), "{seen}");
    assert_nothing_marked(sandbox.path("").as_path());
}

/// What was asked for its version is gone.
fn assert_nothing_marked(folder: &Path) {
    let folder = folder.to_str().unwrap();
    for entry in fs::read_dir("/proc").unwrap() {
        let environ = fs::read(entry.unwrap().path().join("environ")).unwrap_or_default();
        let environ = String::from_utf8_lossy(&environ);
        assert!(
            !(environ.contains(folder) && environ.contains("SWARM_QUESTION=")),
            "{environ}"
        );
    }
}

#[test]
fn init_takes_an_agent_that_can_work_and_says_what_it_may_do() {
    let sandbox = Sandbox::new();
    program(&sandbox, "claude", "echo 99.1.2");
    program(&sandbox, "codex", "echo codex-cli 99.3.4");
    fs::create_dir(sandbox.path("home/.codex")).unwrap();
    fs::write(sandbox.path("home/.codex/auth.json"), "{}").unwrap();
    // Nobody is logged in to the first one.
    let ran = swarm(&sandbox, &["init", "--yes"], None);
    ran.ok();
    let config: Value = serde_json::from_str(&sandbox.read(".swarm/config.json")).unwrap();
    assert_eq!(
        config["agents"]["profiles"],
        json!({"ed": {"adapter": "codex"}})
    );
    for words in [
        "is not confined to it",
        "version 99.3.4, logged in by ",
        "Permissions: ",
        "Also installed: claude",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {ran}");
    }
    fs::remove_dir_all(sandbox.dot_swarm("")).unwrap();
    let ran = swarm(&sandbox, &["init", "--yes", "--agent", "claude"], None);
    ran.ok();
    let config: Value = serde_json::from_str(&sandbox.read(".swarm/config.json")).unwrap();
    assert_eq!(
        config["agents"]["profiles"],
        json!({"ed": {"adapter": "claude"}})
    );
    assert!(ran.stderr.contains("Claude Code is not logged in"), "{ran}");
    assert!(ran.stderr.contains("agents.profiles.ed.env"), "{ran}");
}

#[test]
fn a_quality_command_that_nothing_can_pass_is_told_before_any_idea_is_spent() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"qualityCommands": ["test -f README.md", "no-such-linter --all"]}));
    let words = [
        "`no-such-linter --all`",
        "is not in PATH",
        "qualityCommands",
    ];
    let doctor = sandbox.swarm(&["doctor"]);
    let start = sandbox.swarm(&["start", "--until-idle"]);
    let detached = sandbox.swarm(&["start", "--detach"]);
    sandbox.swarm(&["stop"]).ok();
    for said in [doctor.stdout, start.stderr, detached.stderr] {
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!said.contains("`test -f README.md` cannot"), "{said}");
    }
    sandbox.configure(&json!({"qualityCommands": ["test -f README.md"]}));
    let start = sandbox.swarm(&["start", "--until-idle"]).stderr;
    assert!(!start.contains("warning"), "{start}");
}

#[test]
fn a_script_that_worktrees_lack_is_refused_before_any_idea_is_spent() {
    let sandbox = Sandbox::ready();
    let script = fs::read_to_string(sandbox.path("agent.sh")).unwrap();
    sandbox.write("tools/agent.sh", &script);
    let profile = |path: &str| {
        let env = json!({"OUT": sandbox.path("out")});
        json!({"adapter": "command", "command": ["sh", path], "env": env})
    };
    use_profile(&sandbox, &profile("tools/agent.sh"));
    let idea = sandbox.idea("write a.txt x; say COMPLETE");
    let absolute = sandbox.repo().join("tools/agent.sh");
    let absolute = absolute.to_str().unwrap();
    let words = [
        "`cl` cannot run",
        "its script tools/agent.sh is not committed on main",
        absolute,
        "swarm doctor",
    ];
    refused_start(&sandbox, None, &words);
    let doctor = swarm(&sandbox, &["doctor"], None);
    assert_eq!(doctor.code, 1, "{doctor}");
    assert!(doctor.stdout.contains(words[1]), "{doctor}");
    // Staged is not committed, and an ignored file is no better.
    sandbox.git(&["add", "tools/agent.sh"]);
    refused_start(&sandbox, None, &words);
    sandbox.git(&["rm", "-q", "--cached", "tools/agent.sh"]);
    fs::write(sandbox.repo().join(".git/info/exclude"), "tools/\n").unwrap();
    refused_start(&sandbox, None, &words);
    // What the message says to do helps: the absolute path, or a commit.
    use_profile(&sandbox, &profile(absolute));
    sandbox.start().stop();
    use_profile(&sandbox, &profile("./tools/agent.sh"));
    refused_start(&sandbox, None, &words);
    sandbox.git(&["add", "-f", "tools/agent.sh"]);
    sandbox.git(&["commit", "-q", "-m", "Add the agent"]);
    swarm(&sandbox, &["start", "--until-idle"], None).ok();
    assert_eq!(sandbox.idea_status(&idea), "done");
}

#[test]
fn a_script_that_the_setup_brings_is_accepted() {
    let sandbox = Sandbox::ready();
    let script = fs::read_to_string(sandbox.path("agent.sh")).unwrap();
    sandbox.write("tools/agent.sh", &script);
    sandbox.write(".gitignore", "tools/\n");
    sandbox.commit("Ignore the tools");
    let with_worktrees = |worktree: Value| {
        let env = json!({"OUT": sandbox.path("out")});
        let agent = json!({"adapter": "command", "command": ["sh", "tools/agent.sh"], "env": env});
        let agents = json!({"profile": "cl", "profiles": {"cl": agent}});
        sandbox.configure(&json!({"agents": agents, "worktree": worktree}));
    };
    let doubt = "worktree.setup has to make it";
    with_worktrees(json!({"copy": ["tools/agent.sh"]}));
    let first = sandbox.idea("write a.txt x; say COMPLETE");
    swarm(&sandbox, &["start", "--until-idle"], None).ok();
    assert!(!doctor(&sandbox).contains(doubt));
    assert_eq!(sandbox.idea_status(&first), "done");

    let from = sandbox.path("agent.sh");
    let make = format!("mkdir -p tools && cp '{}' tools/agent.sh", from.display());
    with_worktrees(json!({"setup": [make]}));
    let second = sandbox.idea("write b.txt x; say COMPLETE");
    swarm(&sandbox, &["start", "--until-idle"], None).ok();
    assert!(doctor(&sandbox).contains(doubt));
    assert_eq!(sandbox.idea_status(&second), "done");
}
