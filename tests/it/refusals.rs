//! What swarm refuses: with the contract's exit code, a message that names what to do, and nothing
//! changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::harness::{Fingerprint, PATIENCE, Sandbox};

/// Runs `swarm` and expects a refusal that changes nothing below the repository's folder.
#[track_caller]
fn refuse(sandbox: &Sandbox, args: &[&str], code: i32, words: &[&str]) {
    refuse_in(sandbox, &sandbox.repo(), args, code, words);
}

#[track_caller]
fn refuse_in(sandbox: &Sandbox, folder: &Path, args: &[&str], code: i32, words: &[&str]) {
    let before = Fingerprint::of(&sandbox.repo());
    sandbox.swarm_in(folder, args).refused(code, words);
    let after = Fingerprint::of(&sandbox.repo());
    before.assert_same(&after, &format!("swarm {}", args.join(" ")));
}

const INIT: [&str; 4] = ["init", "--yes", "--agent", "command"];

#[test]
fn outside_of_a_repository() {
    let sandbox = Sandbox::empty();
    refuse(&sandbox, &INIT, 1, &["git init"]);
    for args in [
        &["status"][..],
        &["start"],
        &["idea", "add", "x"],
        &["events"],
    ] {
        refuse(&sandbox, args, 1, &["swarm init"]);
    }
}

#[test]
fn a_bare_repository() {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q", "--bare"]);
    refuse(&sandbox, &INIT, 1, &["bare"]);
}

#[test]
fn a_repository_without_commits() {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q", "-b", "main"]);
    refuse(&sandbox, &INIT, 1, &["git commit"]);
}

#[test]
fn a_detached_head_without_a_target() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "--detach"]);
    refuse(&sandbox, &INIT, 1, &["--target"]);
    sandbox
        .swarm(&["init", "--yes", "--agent", "command", "--target", "main"])
        .ok();
}

#[test]
fn a_target_that_is_not_there() {
    let sandbox = Sandbox::new();
    refuse(
        &sandbox,
        &["init", "--yes", "--agent", "command", "--target", "nowhere"],
        1,
        &["nowhere"],
    );
    sandbox.set_up();
    sandbox.configure(&json!({"target": "nowhere"}));
    refuse(&sandbox, &["start"], 1, &["nowhere", "config.json"]);
}

#[test]
fn a_symbolic_link_in_place_of_the_state() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("elsewhere")).unwrap();
    symlink(sandbox.path("elsewhere"), sandbox.repo().join(".swarm")).unwrap();
    refuse(&sandbox, &INIT, 1, &[".swarm"]);
    for args in [&["start"][..], &["status"], &["idea", "add", "x"]] {
        refuse(&sandbox, args, 1, &[".swarm"]);
    }
    assert_eq!(fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_symbolic_link_in_place_of_a_state_folder() {
    let sandbox = Sandbox::ready();
    sandbox.idea("say COMPLETE");
    let outside = sandbox.path("elsewhere");
    fs::rename(sandbox.dot_swarm("state"), &outside).unwrap();
    symlink(&outside, sandbox.dot_swarm("state")).unwrap();
    let before = Fingerprint::of(&outside);
    refuse(&sandbox, &["start"], 1, &["state"]);
    refuse(&sandbox, &["idea", "add", "x"], 1, &["state"]);
    before.assert_same(&Fingerprint::of(&outside), "the folder behind the link");
}

#[test]
fn a_second_init() {
    let sandbox = Sandbox::ready();
    refuse(&sandbox, &INIT, 1, &[".swarm", "config"]);
}

#[test]
fn a_second_daemon() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let second = sandbox.swarm(&["start"]);
    second.refused(1, &[&daemon.pid.to_string()]);
    assert_eq!(sandbox.status()["pid"], daemon.pid);
    daemon.stop();
}

#[test]
fn of_several_daemons_started_at_once_one_runs() {
    let sandbox = Sandbox::ready();
    let mut daemons: Vec<_> = (0..4).map(|_| sandbox.spawn_daemon(&[])).collect();
    let ended = |daemons: &[crate::harness::Daemon<'_>]| {
        daemons
            .iter()
            .filter(|daemon| daemon.exited().is_some())
            .count()
    };
    sandbox.wait_for("three to be refused", || {
        (ended(&daemons) == 3).then_some(())
    });
    let running = daemons.iter().position(|daemon| daemon.exited().is_none());
    let running = daemons.remove(running.unwrap());
    running.wait_ready();
    for refused in &daemons {
        assert_eq!(refused.exited(), Some(1), "{}", refused.output());
        assert!(
            refused.output().contains(&running.pid.to_string()),
            "{}",
            refused.output()
        );
    }
    running.stop();
}

#[test]
fn configuration_that_is_wrong() {
    let sandbox = Sandbox::ready();
    for (change, words) in [
        (
            json!({"agents": {"maxParalel": 3}}),
            &["agents.maxParalel", "maxParallel", "config.json"][..],
        ),
        (
            json!({"qualityCommand": ["true"]}),
            &["qualityCommand", "qualityCommands"],
        ),
        (
            json!({"agents": {"maxParallel": 0}}),
            &["agents.maxParallel", "0", "64"],
        ),
        (
            json!({"agents": {"maxParallel": "many"}}),
            &["agents.maxParallel", "many"],
        ),
        (
            json!({"mode": "auto"}),
            &["mode", "auto", "semi-auto", "autopilot"],
        ),
        (
            json!({"agents": {"profile": "nobody"}}),
            &["agents.profile", "nobody", "ed"],
        ),
        (
            json!({"merge": {"resolver": "nobody"}}),
            &["merge.resolver", "nobody"],
        ),
        (
            json!({"agents": {"profiles": {"ed": {"command": []}}}}),
            &["agents.profiles.ed.command"],
        ),
    ] {
        sandbox.configure(&change);
        refuse(&sandbox, &["start"], 1, words);
        let checked = sandbox.swarm(&["config", "check"]);
        assert_eq!(checked.code, 1, "{checked}");
    }
    fs::write(sandbox.dot_swarm("config.json"), "{\"mode\": ").unwrap();
    refuse(&sandbox, &["start"], 1, &["config.json", "JSON"]);
    sandbox.configure(&json!({}));
    sandbox.swarm(&["config", "check"]).ok();
}

#[test]
fn an_agent_whose_program_is_missing() {
    let sandbox = Sandbox::ready();
    let profile = |program: &str| json!({"agents": {"profiles": {"ed": {"command": [program]}}}});
    fs::write(sandbox.path("no-program"), "no program").unwrap();
    for program in [
        "no-such-program-at-all",
        "tools/missing.sh",
        sandbox.path("no-program").to_str().unwrap(),
    ] {
        sandbox.configure(&profile(program));
        refuse(&sandbox, &["start"], 4, &[program, "agents.profiles.ed"]);
    }
    let claude = json!({"agents": {"profile": "ed", "profiles": {"ed": {"adapter": "claude"}}}});
    fs::write(sandbox.dot_swarm("config.json"), claude.to_string()).unwrap();
    refuse(&sandbox, &["start"], 4, &["claude", "`ed`"]);
}

#[test]
fn ideas_that_are_none() {
    let sandbox = Sandbox::ready();
    sandbox.idea("say COMPLETE");
    refuse(&sandbox, &["idea", "add", ""], 1, &["swarm idea add"]);
    refuse(&sandbox, &["idea", "add", "  \n "], 1, &["swarm idea add"]);
    let before = Fingerprint::of(&sandbox.repo());
    let large = "x".repeat(1024 * 1024);
    sandbox
        .swarm_fed(&["idea", "add", "-"], large.as_bytes())
        .refused(1, &["file"]);
    sandbox
        .swarm_fed(&["idea", "add", "-"], b"not \xff UTF-8")
        .refused(1, &["UTF-8"]);
    sandbox
        .swarm_fed(&["idea", "add", "-"], b"")
        .refused(1, &["text"]);
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "refused ideas");
}

#[test]
fn a_cycle_is_shown() {
    let sandbox = Sandbox::ready();
    let first = sandbox.idea("say COMPLETE");
    let second = sandbox.idea_with("say COMPLETE", &["--after", &first]);
    let third = sandbox.idea_with("say COMPLETE", &["--after", &second]);
    let all = [first.as_str(), second.as_str(), third.as_str(), "->"];
    refuse(
        &sandbox,
        &["idea", "edit", &first, "--after", &third],
        1,
        &all,
    );
    refuse(
        &sandbox,
        &["idea", "edit", &first, "--after", &first],
        1,
        &[&first],
    );
}

#[test]
fn ids_that_are_unknown() {
    let sandbox = Sandbox::ready();
    sandbox.idea("say COMPLETE");
    let idea_commands = [
        &["idea", "show", "idea-999"][..],
        &["idea", "edit", "idea-999", "--priority", "1"],
        &["idea", "retry", "idea-999"],
        &["idea", "cancel", "idea-999"],
        &["idea", "assign", "idea-999"],
        &["idea", "add", "text", "--after", "idea-999"],
        &["idea", "edit", "idea-001", "--after", "idea-999"],
        &["merge", "retry", "idea-999"],
        &["merge", "resolve", "idea-999"],
    ];
    for args in idea_commands {
        refuse(&sandbox, args, 1, &["idea-999", "swarm idea list"]);
    }
    refuse(
        &sandbox,
        &["idea", "add", "text", "--profile", "nobody"],
        1,
        &["nobody", "ed"],
    );
    refuse(&sandbox, &["idea", "show", "../x"], 2, &[]);

    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    for args in idea_commands {
        sandbox
            .swarm(args)
            .refused(1, &["idea-999", "swarm idea list"]);
    }
    sandbox
        .swarm(&["wait", "idea-999"])
        .refused(1, &["idea-999"]);
    for args in [
        &["agent", "show", "ed-999"][..],
        &["agent", "logs", "ed-999"],
        &["agent", "stop", "ed-999"],
        &["agent", "say", "ed-999", "hello"],
    ] {
        sandbox
            .swarm(args)
            .refused(1, &["ed-999", "swarm agent list"]);
    }
    daemon.stop();
}

#[test]
fn commands_that_need_a_daemon() {
    let sandbox = Sandbox::ready();
    sandbox.idea("say COMPLETE");
    for args in [
        &["agent", "stop", "ed-001"][..],
        &["agent", "stop", "--all"],
        &["agent", "say", "ed-001", "hello"],
        &["agent", "redirect", "ed-001", "idea-001"],
        &["pause"],
        &["resume"],
        &["wait"],
        &["wait", "idea-001"],
        &["events", "-f"],
    ] {
        refuse(&sandbox, args, 3, &["swarm start"]);
    }
    refuse(&sandbox, &["stop"], 3, &["nothing to stop"]);
}

#[test]
fn errors_are_documents_where_json_is_asked_for() {
    let sandbox = Sandbox::ready();
    let ran = sandbox.swarm(&["idea", "show", "idea-999", "--json"]);
    assert_eq!(ran.code, 1);
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["error"]["code"], "IDEA_UNKNOWN", "{error}");
    for key in ["message", "details", "suggestions"] {
        assert!(!error["error"][key].is_null(), "{key} in {error}");
    }
}

#[test]
fn usage_errors_have_their_own_code() {
    let sandbox = Sandbox::ready();
    for args in [
        &["fly"][..],
        &["idea"],
        &["idea", "list", "--status", "sleeping"],
        &["start", "--mode", "x"],
    ] {
        refuse(&sandbox, args, 2, &[]);
    }
}

#[test]
fn what_other_programs_call_it_is_answered_with_the_command_to_type() {
    let sandbox = Sandbox::ready();
    for (typed, command) in [
        ("ls", "swarm idea list"),
        ("add", "swarm idea add"),
        ("logs", "swarm agent logs"),
        ("run", "swarm start"),
        ("log-in", "swarm doctor"),
        ("kill", "swarm agent stop"),
        ("rm", "swarm idea cancel"),
    ] {
        refuse(&sandbox, &[typed], 2, &["is not a command", command]);
    }
    refuse(&sandbox, &["agent", "ls"], 2, &["swarm agent list"]);
    let ran = sandbox.swarm(&["--json", "ls", "--all"]);
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    let suggestion = "list the ideas: swarm idea list";
    assert_eq!(
        (ran.code, &error["error"]["suggestions"][0]),
        (2, &json!(suggestion))
    );
}

/// A file system of its own for the worktrees, too small for one: only this daemon sees it.
#[test]
fn a_disk_without_room_for_a_worktree() {
    if crate::harness::required_tools::mounts_are_forbidden() {
        return;
    }
    let sandbox = Sandbox::new();
    // Hardly compressible, so that the repository itself does not hide how large a worktree is.
    sandbox.write("large.txt", &"0123456789abcdef".repeat(256 * 1024));
    sandbox.commit("Something large");
    sandbox.set_up();
    let id = sandbox.idea("write a.txt hello; commit; say COMPLETE");
    let room = sandbox.path("disk");
    fs::create_dir_all(&room).unwrap();
    sandbox.configure(&json!({"worktree": {"root": room}}));
    let daemon = sandbox.start_on_disk(&room, "2m");
    daemon.wait_ready();
    let status = sandbox.wait_status("the lack of room to be reported", |status| {
        let said = format!("{}{}", status["warnings"], status["needsYou"]);
        ["room", "space"].iter().any(|word| said.contains(word))
    });
    assert_eq!(status["ideas"]["done"], 0);
    assert_eq!(
        sandbox.notes("runs").len(),
        0,
        "no agent runs without a worktree"
    );
    sandbox.assert_sound();
    // Nothing half is left, and with room the idea goes its way.
    let mut grow = daemon.beside("mount");
    grow.args(["-o", "remount,size=64m"]).arg(&room);
    sandbox.run(&mut grow, b"", PATIENCE).ok();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}
