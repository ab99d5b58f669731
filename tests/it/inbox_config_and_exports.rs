//! What comes in and goes out beside the agents: the inbox, the configuration, the views, events,
//! replay, wait.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Sandbox;

fn drop_into_inbox(sandbox: &Sandbox, name: &str, content: &str) {
    fs::create_dir_all(sandbox.dot_swarm("inbox")).unwrap();
    let new = sandbox.dot_swarm("inbox").join(format!(".{name}.new"));
    fs::write(&new, content).unwrap();
    fs::rename(new, sandbox.dot_swarm("inbox").join(name)).unwrap();
}

fn accepted(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.dot_swarm("inbox/accepted"))
        .into_iter()
        .flatten();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_file_in_the_inbox_becomes_an_idea_once() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let first = sandbox.idea("say COMPLETE");
    let daemon = sandbox.start();
    let file = format!(
        "---\nafter: [{first}]\ntags: [critical, docs]\npriority: 7\nprofile: ed\n---\nWrite the \
        manual\n\nDO: say COMPLETE\n"
    );
    drop_into_inbox(&sandbox, "manual.md", &file);
    let added = sandbox.wait_for("the idea", || sandbox.ideas().into_iter().nth(1));
    assert_eq!(
        added["content"].as_str().unwrap().trim(),
        "Write the manual\n\nDO: say COMPLETE"
    );
    assert_eq!(
        (&added["after"], &added["tags"], &added["priority"]),
        (&json!([first]), &json!(["critical", "docs"]), &json!(7))
    );
    sandbox.wait_for("the file to be moved", || {
        (!sandbox.dot_swarm("inbox/manual.md").exists()).then_some(())
    });
    assert_eq!(accepted(&sandbox).len(), 1);
    daemon.stop();
    let daemon = sandbox.start();
    assert_eq!(sandbox.ideas().len(), 2);
    daemon.stop();
}

#[test]
fn a_file_dropped_while_no_daemon_runs_is_taken_at_the_start_and_once_over_kills() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    for number in 1..=5 {
        drop_into_inbox(
            &sandbox,
            &format!("{number}.md"),
            &format!("Idea {number}\n"),
        );
    }
    for events in [3, 4, 5, 6, 8] {
        let daemon = sandbox.spawn_daemon(&[]);
        let before = sandbox.log().len();
        sandbox.wait_for("a few events", || {
            let enough = sandbox.log().len() >= before + events || accepted(&sandbox).len() == 5;
            enough.then_some(())
        });
        daemon.kill();
    }
    let daemon = sandbox.start();
    sandbox.wait_for("all to be moved", || {
        (accepted(&sandbox).len() == 5).then_some(())
    });
    let texts: BTreeSet<String> = sandbox
        .ideas()
        .iter()
        .map(|idea| idea["content"].as_str().unwrap().trim().to_owned())
        .collect();
    assert_eq!((sandbox.ideas().len(), texts.len()), (5, 5), "{texts:?}");
    daemon.stop();
}

#[test]
fn the_warning_about_an_inbox_file_goes_with_the_file() {
    let sandbox = Sandbox::ready();
    let warned = |name: &str, is: bool| {
        sandbox.wait_status("the warnings", |status| {
            status["warnings"].to_string().contains(name) == is
        });
    };
    let daemon = sandbox.start();
    for name in ["first.md", "second.md"] {
        drop_into_inbox(&sandbox, name, "---\nafterwards: [idea-001]\n---\nText\n");
        warned(name, true);
    }
    fs::remove_file(sandbox.dot_swarm("inbox/first.md")).unwrap();
    warned("first.md", false);
    warned("second.md", true);
    daemon.stop();
    fs::remove_file(sandbox.dot_swarm("inbox/second.md")).unwrap();
    let daemon = sandbox.start();
    warned("second.md", false);
    daemon.stop();
}

#[test]
fn an_inbox_file_that_is_wrong_stays_and_is_reported() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    drop_into_inbox(
        &sandbox,
        "wrong.md",
        "---\nafterwards: [idea-001]\n---\nText\n",
    );
    let status = sandbox.wait_status("the warning", |status| {
        status["warnings"].to_string().contains("wrong.md")
    });
    assert!(
        status["warnings"].to_string().contains("afterwards"),
        "{status}"
    );
    drop_into_inbox(
        &sandbox,
        "unknown.md",
        "---\nafter: [idea-999]\n---\nText\n",
    );
    sandbox.wait_status("the second warning", |status| {
        status["warnings"].to_string().contains("idea-999")
    });
    assert!(
        sandbox.dot_swarm("inbox/wrong.md").exists()
            && sandbox.dot_swarm("inbox/unknown.md").exists()
    );
    assert_eq!(sandbox.ideas().len(), 0);
    drop_into_inbox(&sandbox, "wrong.md", "Text\n\nDO: say COMPLETE\n");
    sandbox.wait_for("the mended file", || {
        (sandbox.ideas().len() == 1).then_some(())
    });
    sandbox.wait_status("no warning of it", |status| {
        !status["warnings"].to_string().contains("wrong.md")
    });
    daemon.stop();
}

#[test]
fn an_edited_configuration_is_taken_up_and_a_wrong_one_is_reported() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    let daemon = sandbox.start();
    sandbox.configure(&json!({"agents": {"maxParallel": 5}}));
    sandbox.wait_status("the new number of slots", |status| {
        status["slots"]["max"] == 5
    });
    sandbox.configure(&json!({"agents": {"maxParalel": 7}}));
    let status = sandbox.wait_status("the warning", |status| {
        status["warnings"].to_string().contains("maxParalel")
    });
    assert_eq!(status["slots"]["max"], 5, "{status}");
    let warning = status["warnings"][0]["message"].as_str().unwrap();
    assert!(
        warning.contains("1 problem: ") && !warning.contains('\n'),
        "{warning}"
    );
    sandbox.configure(&json!({"agents": {"maxParallel": 2}}));
    sandbox.wait_status("the mended configuration", |status| {
        status["slots"]["max"] == 2 && !status["warnings"].to_string().contains("maxParalel")
    });
    daemon.stop();
}

#[test]
fn an_argument_that_belongs_to_the_adapter_is_named_and_not_taken_up() {
    let sandbox = Sandbox::ready();
    let profiles = |args: &[&str]| json!({"al": {"adapter": "claude", "args": args}});
    let daemon = sandbox.start();
    let wrong = profiles(&["--effort=high", "--resume=abc"]);
    sandbox.configure(&json!({"agents": {"maxParallel": 5, "profiles": wrong}}));
    let words = "agents.profiles.al.args[1]: adapter `claude` does not allow `--resume`";
    sandbox
        .swarm(&["config", "check"])
        .refused(1, &["config.json:", words]);
    let status = sandbox.wait_status("the warning", |status| {
        status["warnings"].to_string().contains(words)
    });
    assert_ne!(status["slots"]["max"], 5, "{status}");
    let right = profiles(&["--effort=high"]);
    sandbox.configure(&json!({"agents": {"maxParallel": 5, "profiles": right}}));
    sandbox.wait_status("the mended configuration", |status| {
        status["slots"]["max"] == 5 && !status["warnings"].to_string().contains(words)
    });
    sandbox.swarm(&["config", "check"]).ok();
    daemon.stop();
}

#[test]
fn environment_wins_over_the_files_and_flags_over_the_environment() {
    let sandbox = Sandbox::ready();
    let mut command = sandbox.swarm_command(&["start", "--mode", "semi-auto"]);
    command
        .env("SWARM_MAX_AGENTS", "9")
        .env("SWARM_MODE", "autopilot");
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    let status = sandbox.status();
    assert_eq!(
        (&status["slots"]["max"], &status["mode"]),
        (&json!(9), &json!("semi-auto")),
        "{status}"
    );
    daemon.stop();
    fs::write(
        sandbox.dot_swarm("config.local.json"),
        r#"{"agents": {"maxParallel": 4}}"#,
    )
    .unwrap();
    let daemon = sandbox.start();
    let status = sandbox.status();
    assert_eq!(
        (&status["slots"]["max"], &status["mode"]),
        (&json!(4), &json!("autopilot")),
        "{status}"
    );
    daemon.stop();
}

#[test]
fn the_ideas_file_shows_the_ideas_as_they_are() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.idea_with("say 'BLOCKED:no'", &["--tag", "later", "--priority", "-3"]);
    let as_file = |sandbox: &Sandbox| -> Vec<Value> {
        let text = sandbox.read(".swarm/ideas.jsonl");
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let compare = |sandbox: &Sandbox| {
        for (file, listed) in as_file(sandbox).iter().zip(sandbox.ideas()) {
            for key in ["id", "status", "content", "tags", "priority", "after"] {
                assert_eq!(file[key], listed[key], "{key} of {file}");
            }
        }
        assert_eq!(as_file(sandbox).len(), sandbox.ideas().len());
    };
    compare(&sandbox);
    assert_eq!(sandbox.run_until_idle(), 5);
    compare(&sandbox);
    // A view: what somebody writes there is never read back.
    fs::write(sandbox.dot_swarm("ideas.jsonl"), "nonsense\n").unwrap();
    sandbox.idea("say COMPLETE");
    assert_eq!(sandbox.ideas().len(), 3);
    compare(&sandbox);
}

#[test]
fn events_can_be_listed_filtered_and_followed() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_idea(&id, "done");
    let events = |args: &[&str]| -> Vec<Value> {
        let mut all = vec!["events", "--json"];
        all.extend(args);
        sandbox
            .swarm(&all)
            .ok()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let all = events(&[]);
    for (place, event) in all.iter().enumerate() {
        assert_eq!(event["seq"], place + 1, "{event}");
        for key in ["ts", "kind", "data"] {
            assert!(!event[key].is_null(), "{key} in {event}");
        }
    }
    let since = all.len() / 2;
    let later = events(&["--since", &since.to_string()]);
    assert_eq!(later[0]["seq"], since + 1);
    let added = events(&["--kind", "ideaAdded"]);
    assert_eq!((added.len(), &added[0]["data"]["id"]), (1, &json!(id)));
    let mut follow = sandbox.swarm_command(&["events", "-f", "--json", "--kind", "ideaAdded"]);
    let followed = std::thread::scope(|scope| {
        let sandbox = &sandbox;
        let followed = scope.spawn(move || sandbox.run(&mut follow, b"", crate::harness::PATIENCE));
        sandbox.idea("write b.txt x; say COMPLETE");
        sandbox.wait_idea("idea-002", "done");
        daemon.stop();
        followed.join().unwrap()
    });
    let ids: Vec<Value> = followed
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["data"]["id"].clone())
        .collect();
    assert_eq!(ids, ["idea-001", "idea-002"], "{followed}");
    // Without a daemon the same is read from the files.
    assert_eq!(events(&["--kind", "ideaAdded"]).len(), 2);
}

#[test]
fn the_state_can_be_seen_at_any_point() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    let added = sandbox.log().len();
    let after_adding = sandbox.swarm(&["replay"]).json();
    assert_eq!(sandbox.run_until_idle(), 0);
    let at = |point: &str| sandbox.swarm(&["replay", "--at", point]).json();
    assert_eq!(at(&added.to_string()), after_adding);
    assert_eq!(
        at(&added.to_string())["ideas"]["idea-001"]["status"],
        "pending"
    );
    let end = sandbox.log().len();
    assert_eq!(at(&end.to_string()), sandbox.swarm(&["replay"]).json());
    assert_eq!(at(&end.to_string())["ideas"]["idea-001"]["status"], "done");
    let first: Value = serde_json::from_str(
        sandbox
            .read(".swarm/state/events.jsonl")
            .lines()
            .next()
            .unwrap(),
    )
    .unwrap();
    let before = at("2001-01-01T00:00:00.000Z");
    assert_eq!(before["ideas"], json!({}), "{before}");
    at(first["ts"].as_str().unwrap());
    let beyond = sandbox.swarm(&["replay", "--at", &(end + 1).to_string()]);
    beyond.refused(1, &[&end.to_string()]);
    sandbox
        .swarm(&["replay", "--at", "yesterday"])
        .refused(2, &["yesterday"]);
}

#[test]
fn waiting_has_an_exit_code_for_each_end() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let done = sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.swarm(&["wait", &done]).code, 0);
    assert_eq!(sandbox.swarm(&["wait", &done, "--until", "done"]).code, 0);
    assert_eq!(sandbox.swarm(&["wait", "--until", "idle"]).code, 0);
    let held = sandbox.idea("hold one; write b.txt x; say COMPLETE");
    let late = sandbox.swarm(&["wait", &held, "--timeout", "1"]);
    late.refused(1, &["swarm status"]);
    assert!(
        late.took >= Duration::from_secs(1) && late.took < Duration::from_secs(3),
        "{late}"
    );
    sandbox.release("one");
    assert_eq!(sandbox.swarm(&["wait", &held]).code, 0);
    let asking = sandbox.idea("say 'NEEDS_HUMAN:which?'");
    assert_eq!(sandbox.swarm(&["wait", &asking]).code, 6);
    assert_eq!(sandbox.swarm(&["wait", "--until", "needs-you"]).code, 6);
    sandbox.swarm(&["idea", "cancel", &asking]).ok();
    let blocked = sandbox.idea("say BLOCKED:no");
    assert_eq!(sandbox.swarm(&["wait", &blocked]).code, 5);
    daemon.stop();
}

#[test]
fn the_socket_serves_its_owner_even_where_paths_are_long() {
    let sandbox = Sandbox::empty();
    let deep = sandbox.repo().join("d".repeat(60)).join("e".repeat(60));
    fs::create_dir_all(&deep).unwrap();
    sandbox.git_in(&deep, &["init", "-q", "-b", "main"]);
    sandbox.git_in(&deep, &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    sandbox
        .swarm_in(&deep, &["init", "--yes", "--agent", "command"])
        .ok();
    let config = json!({"agents": {"profiles": {"ed": sandbox.profile("agent.sh")}},
        "checkpoints": {"beforeAutopilot": false}});
    fs::write(deep.join(".swarm/config.json"), config.to_string()).unwrap();
    let mut command = sandbox.swarm_command(&["start"]);
    command.current_dir(&deep);
    let daemon = sandbox.spawn(command);
    let status = sandbox.wait_for("the daemon", || {
        let ran = sandbox.swarm_in(&deep, &["status", "--json"]);
        Some(ran).filter(|ran| ran.code == 0 && ran.stdout.contains("running"))
    });
    assert_eq!(status.json()["pid"], daemon.pid);
    sandbox.swarm_in(&deep, &["stop"]).ok();
    assert_eq!(daemon.wait_exit(Duration::from_secs(10)), 0);
    assert_eq!(
        fs::read_dir(sandbox.path("tmp")).unwrap().count(),
        0,
        "the socket's folder is left"
    );
}

#[test]
fn commands_work_from_inside_the_repository_and_its_worktrees() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("say COMPLETE");
    let inside = sandbox.repo().join("some/folder");
    fs::create_dir_all(&inside).unwrap();
    let list = sandbox
        .swarm_in(&inside, &["idea", "list", "--json"])
        .json();
    assert_eq!(list[0]["id"], id.as_str());
    let repo = sandbox.repo();
    let elsewhere = sandbox
        .swarm_in(
            &sandbox.path("home"),
            &["-C", repo.to_str().unwrap(), "idea", "list", "--json"],
        )
        .json();
    assert_eq!(elsewhere, list);
    sandbox.configure(&json!({}));
    let daemon = sandbox.start();
    sandbox.wait_idea(&id, "done");
    let seen = sandbox.idea(&format!(
        "'{}' idea list --json >$OUT/list; write a.txt x; say COMPLETE",
        env!("CARGO_BIN_EXE_swarm")
    ));
    sandbox.wait_idea(&seen, "done");
    let list: Value = serde_json::from_str(&sandbox.notes("list").join("\n")).unwrap();
    assert_eq!(
        list.as_array().unwrap().len(),
        2,
        "an agent asked from its worktree"
    );
    daemon.stop();
}

#[test]
fn a_target_branch_that_does_not_exist_is_found_by_the_check() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["config", "check"]).ok();
    sandbox.configure(&json!({"target": "release"}));
    sandbox
        .swarm(&["config", "check"])
        .refused(1, &["`release`", "git branch release"]);
}
