//! Without a daemon, and many at once.

use std::collections::BTreeSet;

use serde_json::json;

use crate::harness::Sandbox;

/// Twenty `idea add` at once; their ids.
fn add_twenty(sandbox: &Sandbox) -> BTreeSet<String> {
    std::thread::scope(|scope| {
        let added: Vec<_> = (0..20)
            .map(|number| {
                scope.spawn(move || sandbox.swarm(&["idea", "add", &format!("number {number}")]))
            })
            .collect();
        added
            .into_iter()
            .map(|ran| ran.join().unwrap().ok().trim().to_owned())
            .collect()
    })
}

fn check(sandbox: &Sandbox, ids: &BTreeSet<String>, total: usize) {
    assert_eq!(ids.len(), 20, "{ids:?}");
    let ideas = sandbox.ideas();
    assert_eq!(ideas.len(), total);
    let listed: BTreeSet<String> = ideas
        .iter()
        .map(|idea| idea["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(ids.is_subset(&listed), "{listed:?}");
}

#[test]
fn twenty_ideas_added_at_once_are_all_there() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let first = add_twenty(&sandbox);
    check(&sandbox, &first, 20);
    let daemon = sandbox.start();
    let second = add_twenty(&sandbox);
    check(&sandbox, &second, 40);
    assert!(first.is_disjoint(&second));
    daemon.stop();
    assert_eq!(sandbox.ideas().len(), 40);
    sandbox.assert_log_sound();
}

#[test]
fn ideas_added_while_a_daemon_comes_and_goes_are_all_there() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let ids = std::thread::scope(|scope| {
        let sandbox = &sandbox;
        let adding = scope.spawn(move || -> BTreeSet<String> {
            let add = |number: usize| {
                sandbox
                    .swarm(&["idea", "add", &format!("number {number}")])
                    .ok()
                    .trim()
                    .to_owned()
            };
            (0..20).map(add).collect()
        });
        for _ in 0..3 {
            let daemon = sandbox.start();
            sandbox.swarm(&["stop"]).ok();
            daemon.wait_exit(crate::harness::PATIENCE);
        }
        adding.join().unwrap()
    });
    check(&sandbox, &ids, 20);
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

#[test]
fn everything_that_reads_or_changes_works_without_a_daemon() {
    let sandbox = Sandbox::ready();
    let first = sandbox.idea("say COMPLETE");
    let second = sandbox.idea_with("say COMPLETE", &["--after", &first, "--tag", "x"]);
    sandbox
        .swarm(&[
            "idea",
            "edit",
            &second,
            "--text",
            "another text",
            "--priority",
            "4",
            "--tag",
            "y",
        ])
        .ok();
    let idea = sandbox.show(&second);
    assert_eq!(
        (&idea["content"], &idea["priority"], &idea["tags"]),
        (&json!("another text"), &json!(4), &json!(["y"]))
    );
    assert_eq!(idea["after"], json!([first]));
    sandbox.swarm(&["idea", "cancel", &second]).ok();
    assert_eq!(sandbox.idea_status(&second), "cancelled");
    sandbox.swarm(&["idea", "retry", &second]).ok();
    assert_eq!(sandbox.idea_status(&second), "pending");
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["ideas"]["pending"]),
        (&json!("stopped"), &json!(2))
    );
    for args in [
        &["idea", "list"][..],
        &["idea", "show", &first],
        &["status"],
        &["merge", "list"],
        &["events"],
        &["replay"],
        &["replay", "--verify"],
        &["config", "show"],
        &["config", "check"],
        &["config", "schema"],
        &["completions", "bash"],
        &["doctor"],
    ] {
        sandbox.swarm(args).ok();
    }
    for args in [
        &["config", "show", "--json"][..],
        &["config", "schema", "--json"],
        &["doctor", "--json"],
        &["merge", "list", "--json"],
    ] {
        sandbox.swarm(args).json();
    }
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let sandbox = Sandbox::ready();
    for number in 0..5 {
        sandbox
            .swarm(&["idea", "add", &format!("number {number}")])
            .ok();
    }
    let line = format!("'{}' events | head -n 1", env!("CARGO_BIN_EXE_swarm"));
    let mut shell = sandbox.command("sh");
    let ran = sandbox.run(shell.args(["-c", &line]), b"", crate::harness::PATIENCE);
    assert_eq!(
        (ran.ok().lines().count(), ran.stderr.as_str()),
        (1, ""),
        "{ran}"
    );
}

#[test]
fn questions_are_asked_on_a_terminal_only() {
    let sandbox = Sandbox::new();
    let ran = sandbox.swarm(&["init", "--agent", "command"]);
    // Nobody can answer here: it either needs no yes, or names the way to say it beforehand.
    if ran.code != 0 {
        ran.refused(1, &["--yes"]);
    }
}

/// A page without the lines whose times grow: `started  3 s ago`, `ended  just now`.
fn without_ages(page: &str) -> Vec<&str> {
    let grows = |line: &&str| line.starts_with("started ") || line.starts_with("ended ");
    page.lines().filter(|line| !grows(line)).collect()
}

#[test]
fn what_agents_wrote_and_did_is_shown_without_a_daemon_as_with_one() {
    let sandbox = Sandbox::ready();
    sandbox.idea("echo one; echo two; write a.txt 1; say COMPLETE");
    let looks: [&[&str]; 6] = [
        &["agent", "logs", "ed-001"],
        &["agent", "logs", "ed-001", "--lines", "1"],
        &["agent", "logs", "ed-001", "--raw", "--json"],
        &["agent", "show", "ed-001"],
        &["agent", "show", "ed-001", "--json"],
        &["agent", "list", "--json"],
    ];
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    sandbox.wait_for("the agent's end", || {
        let list = sandbox.swarm(&["agent", "list", "--json"]).json();
        (list[0]["phase"] == "merged").then_some(())
    });
    let before = looks.map(|look| sandbox.swarm(look).ok().to_owned());
    assert!(before[0].contains("one\ntwo\n"), "{}", before[0]);
    daemon.stop();
    for (look, before) in looks.iter().zip(&before) {
        let ran = sandbox.swarm(look);
        assert_eq!(without_ages(ran.ok()), without_ages(before), "{ran}");
        assert!(
            ran.stderr.contains("this is the last recorded state"),
            "{ran}"
        );
        assert!(ran.stderr.contains("swarm start"), "{ran}");
    }
    let followed = sandbox.swarm(&["agent", "logs", "ed-001", "-f"]);
    assert_eq!(
        followed.ok(),
        before[0],
        "it has ended, so there is nothing to follow"
    );
    assert!(followed.stderr.contains("no daemon is running"));
    let unknown = sandbox.swarm(&["agent", "logs", "ed-009"]);
    unknown.refused(1, &["ed-009", "swarm agent list"]);
    sandbox.assert_log_sound();
}

#[test]
fn what_is_no_file_in_the_state_directory_is_not_waited_for() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let snapshot = sandbox.dot_swarm("state/snapshot.prev.json");
    for path in [sandbox.private("daemon.json"), snapshot] {
        let line = format!("rm -f '{0}' && mkfifo '{0}'", path.display());
        sandbox.shell(&line).ok();
        assert_eq!(sandbox.ideas().len(), 1, "{}", path.display());
        sandbox.swarm(&["doctor"]);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn whether_a_daemon_runs_is_known_where_its_file_cannot_be_read() {
    let sandbox = Sandbox::ready();
    let file = sandbox.private("daemon.json");
    let daemon = sandbox.start();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, "").unwrap();
    // Not "no daemon is running": one does, and would go on spending.
    for command in ["stop", "pause"] {
        let refused = sandbox.swarm(&[command]);
        refused.refused(
            1,
            &[
                "a daemon is running",
                "daemon.json",
                "kill -TERM ",
                "start it again",
            ],
        );
    }
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(doctor.stdout.contains("a daemon is running"), "{doctor}");
    // What refuses for the lock says to stop it: that must not lead in a circle.
    std::fs::remove_file(&file).unwrap();
    sandbox
        .swarm(&["idea", "add", "x"])
        .refused(1, &["swarm stop"]);
    sandbox
        .swarm(&["stop"])
        .refused(1, &["a daemon is running", "daemon.json", "kill -TERM "]);
    std::fs::write(&file, whole).unwrap();
    daemon.stop();
    // Where none runs, it says nothing that anybody needs.
    std::fs::write(&file, "").unwrap();
    assert_eq!(sandbox.ideas().len(), 0);
    let none = sandbox.swarm(&["stop"]);
    none.refused(3, &["no daemon is running"]);
    assert_eq!(sandbox.run_until_idle(), 0);
}
