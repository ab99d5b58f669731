//! What people and agents say to each other: modes, order, signals, pause, stop, messages.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Sandbox;
use crate::report::without_ages;

/// The ideas in the order in which their agents were started.
fn order(sandbox: &Sandbox) -> Vec<String> {
    let runs = sandbox.notes("runs");
    runs.iter()
        .map(|run| run.split(' ').next().unwrap().to_owned())
        .collect()
}

/// The prompt of the last run that was started.
fn last_prompt(sandbox: &Sandbox) -> String {
    let run = sandbox.notes("runs").pop().unwrap();
    let path = sandbox
        .private("runs")
        .join(run.split(' ').nth(4).unwrap())
        .join("prompt.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn ideas_are_taken_by_their_score() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    let work = "write $SWARM_IDEA_ID.txt x; say COMPLETE";
    let plain = sandbox.idea(work);
    let quick = sandbox.idea_with(work, &["--tag", "quick-win"]);
    let critical = sandbox.idea_with(work, &["--tag", "critical"]);
    let waiting = sandbox.idea_with(work, &["--after", &plain, "--priority", "100"]);
    let low = sandbox.idea_with(work, &["--after", &plain, "--priority", "-5"]);
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        order(&sandbox),
        [&critical, &quick, &plain, &waiting, &low].map(String::as_str)
    );
}

#[test]
fn in_semi_auto_mode_a_person_assigns() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    let first = sandbox.idea("write a.txt x; say COMPLETE");
    let second = sandbox.idea("write b.txt x; say COMPLETE");
    sandbox.swarm(&["idea", "assign", &second]).ok();
    sandbox.wait_idea(&second, "done");
    assert_eq!(sandbox.idea_status(&first), "pending");
    assert_eq!(sandbox.status()["mode"], "semi-auto");
    daemon.stop();
}

#[test]
fn a_pause_holds_at_the_boundary_and_resume_goes_on() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox
        .idea("if iteration 1; then hold one; echo busy; else write a.txt x; say COMPLETE; fi");
    let other = sandbox.idea_with("write b.txt x; say COMPLETE", &["--after", &id]);
    sandbox.wait_held("one");
    sandbox.swarm(&["pause", "--reason", "lunch"]).ok();
    let status = sandbox.status();
    assert_eq!(status["phase"], "pausing", "{status}");
    sandbox.release("one");
    let status = sandbox.wait_status("the pause", |status| status["phase"] == "paused");
    assert!(status.to_string().contains("lunch"), "{status}");
    assert_eq!(sandbox.notes("runs").len(), 1);
    assert_eq!(sandbox.idea_status(&id), "active");
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&other, "done");
    assert_eq!(sandbox.show(&id)["attempts"], 1);
    daemon.stop();
}

#[test]
fn a_stopped_agent_leaves_its_work_to_the_next() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox.idea(
        "if attempt 1; then write half.txt x; hold never; else [ -e half.txt ] \
        && note kept; write b.txt y; say COMPLETE; fi",
    );
    sandbox.wait_held("never");
    sandbox.swarm(&["agent", "stop", "ed-001"]).ok();
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(
        (&idea["retryCount"], &idea["attempts"]),
        (&json!(0), &json!(2)),
        "{idea}"
    );
    assert_eq!(sandbox.notes("kept").len(), 1);
    // Asked again, after it was done: nothing follows. Its successor has landed its work.
    sandbox.swarm(&["agent", "stop", "ed-001"]).ok();
    sandbox
        .swarm(&["agent", "stop", "ed-002"])
        .refused(1, &["landed", "swarm idea show"]);
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn what_a_person_says_comes_with_the_next_prompt_once() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox.idea(
        "iteration 1 && hold one; iteration 2 && hold two; echo busy; if \
        iteration 3; then write a.txt x; say COMPLETE; fi",
    );
    sandbox.wait_held("one");
    sandbox
        .swarm(&["agent", "say", "ed-001", "mind the gap"])
        .ok();
    // Durable until it is delivered.
    daemon.kill();
    let daemon = sandbox.start();
    sandbox.release("one");
    sandbox.wait_held("two");
    assert!(
        last_prompt(&sandbox).contains("mind the gap"),
        "{}",
        last_prompt(&sandbox)
    );
    sandbox.release("two");
    sandbox.wait_idea(&id, "done");
    assert!(
        !last_prompt(&sandbox).contains("mind the gap"),
        "said twice"
    );
    daemon.stop();
}

#[test]
fn a_question_waits_for_a_person_and_others_go_on() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    let daemon = sandbox.start();
    let id = sandbox.idea(
        "if iteration 1; then say 'NEEDS_HUMAN:red or blue?'; else write a.txt x; say COMPLETE; fi",
    );
    let need = sandbox.wait_needs_you("question");
    assert!(
        need["message"].as_str().unwrap().contains("red or blue?"),
        "{need}"
    );
    let other = sandbox.idea("write b.txt x; say COMPLETE");
    sandbox.wait_idea(&other, "done");
    sandbox.swarm(&["wait", &id]).refused(6, &[]);
    sandbox.swarm(&["agent", "say", "ed-001", "blue"]).ok();
    sandbox.wait_idea(&id, "done");
    assert!(sandbox.notes("runs").len() == 3);
    daemon.stop();
}

#[test]
fn a_blocked_idea_frees_its_slot_and_can_be_retried() {
    let sandbox = Sandbox::ready();
    let id = sandbox
        .idea("if attempt 1; then say 'BLOCKED:no key'; else write a.txt x; say COMPLETE; fi");
    assert_eq!(sandbox.run_until_idle(), 5);
    let idea = sandbox.show(&id);
    assert_eq!(idea["status"], "blocked");
    assert!(
        idea["lastError"].as_str().unwrap().contains("no key"),
        "{idea}"
    );
    sandbox.swarm(&["idea", "retry", &id]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
}

#[test]
fn a_retry_without_work_of_its_own_starts_where_the_target_is_now() {
    let sandbox = Sandbox::ready();
    let id = sandbox
        .idea("test -e key.txt || { say 'BLOCKED:no key'; exit 0; }; write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 5);
    sandbox.write("key.txt", "k");
    sandbox.commit("the key");
    sandbox.swarm(&["idea", "retry", &id]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    sandbox.assert_repository_clean();
}

#[test]
fn iterations_are_limited_and_the_worktree_is_kept() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"completion": {"maxIterations": 3, "stuckThreshold": 2}}));
    let id = sandbox.idea("append log.txt $SWARM_ITERATION; echo busy");
    assert_eq!(sandbox.run_until_idle(), 5);
    let idea = sandbox.show(&id);
    assert_eq!(idea["status"], "timeout", "{idea}");
    assert_eq!(sandbox.notes("runs").len(), 3);
    let kept = sandbox
        .repo()
        .join(idea["keptWorktree"].as_str().unwrap())
        .join("log.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), "1\n2\n3\n");
    assert!(
        !sandbox.logged("warningRaised").is_empty(),
        "no warning of a stuck agent"
    );
}

#[test]
fn a_failed_check_comes_back_with_its_output() {
    let sandbox = Sandbox::ready();
    let check = "test -e good.txt || { echo 'good.txt is missing'; exit 3; }";
    sandbox.configure(&json!({"qualityCommands": ["true", check]}));
    let id = sandbox
        .idea("if iteration 1; then write bad.txt x; else write good.txt x; fi; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let prompt = last_prompt(&sandbox);
    assert!(
        prompt.contains(check) && prompt.contains("good.txt is missing"),
        "{prompt}"
    );
    assert_eq!(sandbox.show(&id)["attempts"], 1);
    assert_eq!(sandbox.notes("runs").len(), 2);
}

#[test]
fn what_an_agent_quotes_from_its_prompt_is_no_signal() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea(
        "if iteration 1; then cat \"$SWARM_PROMPT_FILE\"; else write a.txt x; say COMPLETE; fi",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(
        sandbox.notes("runs").len(),
        2,
        "a quote counted as a signal"
    );
}

#[test]
fn a_signal_within_a_sentence_ends_nothing() {
    let sandbox = Sandbox::ready();
    // With a variable in the tags, so that what it prints is no quote of its prompt.
    let id = sandbox.idea(
        "tag=swarm; if iteration 1; then write a.txt half; commit; \
        echo \"I will not print <$tag>COMPLETE</$tag> yet; if I had no key, I would say \
        <$tag>BLOCKED:no key</$tag>, but I do.\"; \
        else write a.txt whole; commit; echo \"Done. <$tag>COMPLETE</$tag>\"; fi",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done", "{}", sandbox.show(&id));
    assert_eq!(sandbox.notes("runs").len(), 2);
    assert_eq!(sandbox.logged("signalSeen").len(), 1);
}

#[test]
fn a_signal_in_pieces_counts_once() {
    let sandbox = Sandbox::ready();
    sandbox.idea(
        "write a.txt x; printf '<swarm>COMP'; sleep 0.3; printf 'LETE</swa'; sleep 0.3; \
        printf 'rm>'",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.notes("runs").len(), 1);
    assert_eq!(sandbox.logged("signalSeen").len(), 1);
}

#[test]
fn progress_is_shown_and_learnings_reach_the_others() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"profiles": {"finn": sandbox.profile("agent.sh")}}}));
    let daemon = sandbox.start();
    let first = sandbox.idea(
        "say PROGRESS:40; say 'LEARNING_GLOBAL:the door is green'; say \
        'LEARNING_LOCAL:mine alone'; hold one; write a.txt x; say COMPLETE",
    );
    let status = sandbox.wait_status("the progress", |status| {
        status["agents"][0]["progress"] == 40
    });
    assert_eq!(status["agents"][0]["phase"], "working", "{status}");
    let second = sandbox.idea_with("write b.txt x; say COMPLETE", &["--profile", "finn"]);
    sandbox.wait_idea(&second, "done");
    let prompt = last_prompt(&sandbox);
    assert!(
        prompt.contains("the door is green") && !prompt.contains("mine alone"),
        "{prompt}"
    );
    sandbox.release("one");
    sandbox.wait_idea(&first, "done");
    daemon.stop();
    assert!(
        sandbox
            .read(".swarm/learnings.md")
            .contains("the door is green")
    );
}

#[test]
fn the_learnings_are_the_same_with_and_without_a_daemon() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    assert!(sandbox.swarm(&["memory", "learnings"]).ok().is_empty());
    assert_eq!(
        sandbox.swarm(&["memory", "learnings", "--json"]).json(),
        json!([])
    );
    let daemon = sandbox.start();
    let first = sandbox.idea(
        "say 'LEARNING_GLOBAL:the door is green'; say 'LEARNING_LOCAL:mine \
        alone'; write a.txt x; say COMPLETE",
    );
    let second =
        sandbox.idea("say 'LEARNING_GLOBAL:The door  is GREEN'; write b.txt x; say COMPLETE");
    for id in [&first, &second] {
        sandbox.wait_idea(id, "done");
    }
    let by_daemon = sandbox.swarm(&["memory", "learnings", "--json"]).json();
    let sources = &by_daemon[0]["sources"];
    assert_eq!(
        sources,
        &json!([
            {"agentId": "ed-001", "ideaId": first},
            {"agentId": "ed-002", "ideaId": second}
        ])
    );
    assert_eq!(by_daemon.as_array().unwrap().len(), 2, "{by_daemon}");
    assert_eq!(by_daemon[1]["scope"], "local");
    let page = sandbox.swarm(&["memory", "learnings"]);
    daemon.stop();
    assert_eq!(
        sandbox.swarm(&["memory", "learnings", "--json"]).json(),
        by_daemon
    );
    let told = |page: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        page.lines()
            .map(|line| without_ages(&words(line)))
            .collect()
    };
    let alone = sandbox.swarm(&["memory", "learnings"]);
    assert_eq!(told(alone.ok()), told(page.ok()));
    for words in [
        "learning-001",
        "    the door is green\n",
        "global",
        "local to ed",
        "ed-001 (idea-001), ed-002 (idea-002)",
    ] {
        assert!(page.stdout.contains(words), "`{words}`: {page}");
    }
}

#[test]
fn an_agents_process_has_the_environment_of_the_contract() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox.idea(
        "env >$OUT/env; pwd >$OUT/pwd; cmp -s \"$SWARM_PROMPT_FILE\" - && note \
        stdin; write a.txt x; say COMPLETE",
    );
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    let env = sandbox.notes("env");
    let value = |name: &str| {
        let line = env
            .iter()
            .find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.unwrap_or_else(|| panic!("{name} is not set: {env:#?}"))
            .to_owned()
    };
    let worktree = sandbox.worktrees().join("w01");
    assert_eq!(value("SWARM_IDEA_ID"), id);
    assert_eq!(value("SWARM_AGENT"), "ed-001");
    assert_eq!(
        (value("SWARM_ATTEMPT"), value("SWARM_ITERATION")),
        ("1".into(), "1".into())
    );
    assert_eq!(value("SWARM_BRANCH"), "agent/ed-001/idea-001");
    assert_eq!(value("SWARM_WORKTREE"), worktree.to_str().unwrap());
    assert_eq!(value("SWARM_REPO"), sandbox.repo().to_str().unwrap());
    assert_eq!(value("SWARM_BIN"), env!("CARGO_BIN_EXE_swarm"));
    assert_eq!(sandbox.notes("pwd"), [worktree.to_str().unwrap()]);
    assert_eq!(
        sandbox.notes("stdin").len(),
        1,
        "standard input is not the prompt"
    );
    let run = sandbox.private("runs").join(value("SWARM_RUN_ID"));
    for name in ["prompt.md", "stdout.log", "stderr.log", "exit.json"] {
        assert!(run.join(name).exists(), "{name}");
    }
}

#[test]
fn rules_and_prompts_of_the_repository_reach_the_agent() {
    let sandbox = Sandbox::ready();
    fs::write(sandbox.dot_swarm("rules/style.md"), "Two spaces, always.\n").unwrap();
    fs::create_dir_all(sandbox.dot_swarm("agents/ed")).unwrap();
    fs::write(
        sandbox.dot_swarm("agents/ed/prompt.md"),
        "You are a careful editor.\n",
    )
    .unwrap();
    fs::write(sandbox.dot_swarm("agents/ed/rules.md"), "Never guess.\n").unwrap();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let prompt = last_prompt(&sandbox);
    for words in [
        "Two spaces, always.",
        "You are a careful editor.",
        "Never guess.",
    ] {
        assert!(prompt.contains(words), "{words} in {prompt}");
    }
}

#[test]
fn agents_can_be_listed_shown_and_read() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id =
        sandbox.idea("echo first words; hold one; echo last words; write a.txt x; say COMPLETE");
    sandbox.wait_held("one");
    let list = sandbox.swarm(&["agent", "list", "--json"]).json();
    assert_eq!(
        (&list[0]["id"], &list[0]["ideaId"]),
        (&json!("ed-001"), &json!(id)),
        "{list}"
    );
    let shown = sandbox.swarm(&["agent", "show", "ed-001", "--json"]).json();
    assert_eq!(shown["phase"], "working", "{shown}");
    let logs = sandbox.wait_for("the first words", || {
        let logs = sandbox.swarm(&["agent", "logs", "ed-001"]);
        logs.ok().contains("first words").then_some(logs)
    });
    assert!(!logs.stdout.contains("last words"));
    let follow = sandbox.swarm_command(&["agent", "logs", "ed-001", "-f"]);
    let followed = std::thread::scope(|scope| {
        let mut follow = follow;
        let sandbox = &sandbox;
        let followed = scope.spawn(move || sandbox.run(&mut follow, b"", crate::harness::PATIENCE));
        sandbox.release("one");
        followed.join().unwrap()
    });
    assert!(
        followed.ok().contains("first words") && followed.stdout.contains("last words"),
        "{followed}"
    );
    sandbox.wait_idea(&id, "done");
    let shown: Value = sandbox.swarm(&["agent", "show", "ed-001", "--json"]).json();
    assert_eq!(shown["phase"], "merged", "{shown}");
    daemon.stop();
}

#[test]
fn an_idea_can_be_cancelled_in_every_state() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    let pending = sandbox.idea("say COMPLETE");
    sandbox.swarm(&["idea", "cancel", &pending]).ok();
    assert_eq!(sandbox.idea_status(&pending), "cancelled");
    let active = sandbox.idea("hold never");
    sandbox.swarm(&["idea", "assign", &active]).ok();
    sandbox.wait_held("never");
    sandbox.swarm(&["idea", "cancel", &active]).ok();
    sandbox.wait_idea(&active, "cancelled");
    sandbox.wait_status("the slot to be free", |status| status["slots"]["used"] == 0);
    let done = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.swarm(&["idea", "assign", &done]).ok();
    sandbox.wait_idea(&done, "done");
    sandbox
        .swarm(&["idea", "cancel", &done])
        .refused(1, &[&done, "done"]);
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn the_reason_of_a_pause_is_said_once() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    for (args, said) in [
        (&["pause"][..], "paused by hand"),
        (&["pause", "--reason", "lunch"][..], "paused: lunch"),
    ] {
        sandbox.swarm(args).ok();
        let page = sandbox.swarm(&["status"]).ok().to_owned();
        assert_eq!(page.matches(said).count(), 1, "{page}");
        assert_eq!(
            page.matches("paused:").count(),
            usize::from(said.contains(':')),
            "{page}"
        );
        sandbox.swarm(&["resume"]).ok();
    }
    daemon.stop();
}
