//! kill -9: of the daemon at any instant, and of everything.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use swarm::crash;

use crate::harness::{PATIENCE, Sandbox};

/// A small generator; the seed is printed, and `SWARM_IT_SEED` repeats it.
pub struct Dice(u64);

impl Dice {
    pub fn thrown() -> Self {
        let now = || {
            u64::from(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap()
                    .subsec_nanos(),
            )
        };
        let given = std::env::var("SWARM_IT_SEED")
            .ok()
            .map(|seed| seed.parse().unwrap());
        Self::of(given.unwrap_or_else(now))
    }

    /// From this seed, which is printed.
    pub fn of(seed: u64) -> Self {
        println!("SWARM_IT_SEED={seed}");
        Self(seed | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn a_daemon_killed_at_any_instant_lands_each_idea_once() {
    const IDEAS: usize = 8;
    const KILLS: usize = 10;
    let sandbox = Sandbox::ready();
    sandbox
        .configure(&json!({"qualityCommands": ["test ! -e broken"], "agents": {"maxParallel": 3}}));
    let base = sandbox.head("main");
    for _ in 0..IDEAS {
        sandbox.idea(
            "sleep 0.2; write $SWARM_IDEA_ID.txt x; commit; sleep 0.2; write \
            left-$SWARM_IDEA_ID.txt y; say COMPLETE",
        );
    }
    let mut dice = Dice::thrown();
    for kill in 0..KILLS {
        let daemon = sandbox.spawn_daemon(&["--until-idle"]);
        let instant = Duration::from_millis(dice.below(900));
        // Not synchronisation: the instant of the blow is what is drawn.
        std::thread::sleep(instant);
        println!(
            "kill {kill} after {instant:?}, at seq {}",
            sandbox.log().len()
        );
        daemon.kill();
    }
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(daemon.wait_exit(2 * PATIENCE), 0, "{}", daemon.output());

    let landed: Vec<String> = sandbox
        .landings(&base, "main")
        .into_iter()
        .map(|(_, idea)| idea)
        .collect();
    let once: BTreeSet<&String> = landed.iter().collect();
    assert_eq!((landed.len(), once.len()), (IDEAS, IDEAS), "{landed:?}");
    let runs = sandbox.notes("runs");
    assert_eq!(runs.len(), IDEAS, "{runs:#?}");
    for idea in sandbox.ideas() {
        assert_eq!(
            (&idea["status"], &idea["retryCount"]),
            (&json!("done"), &json!(0)),
            "{idea}"
        );
    }
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

#[test]
fn agents_whose_run_directories_were_deleted_do_not_run_twice() {
    let sandbox = Sandbox::ready();
    let alone = "for pid in $(cut -d' ' -f6 \"$OUT/runs\"); do [ $pid = $$ ] || ! kill -0 $pid \
        2>/dev/null || note together; done";
    sandbox.idea(&format!(
        "{alone}; if [ ! -e first.txt ]; then write first.txt x; hold it; fi; say COMPLETE"
    ));
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    daemon.kill();
    drop(daemon);
    let warnings = sandbox.status()["warnings"].to_string();
    assert!(warnings.contains("(ed-001 on idea-001)"), "{warnings}");
    fs::remove_dir_all(sandbox.private("runs")).unwrap();
    let warnings = sandbox.warnings();
    let kinds: Vec<&Value> = warnings.iter().map(|warning| &warning["kind"]).collect();
    assert_eq!(kinds, ["daemon"], "{warnings:?}");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.file_at("main", "first.txt"), "x");
    assert_eq!(sandbox.notes("runs").len(), 2);
    assert_eq!(sandbox.notes("together"), Vec::<String>::new());
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

#[test]
fn a_daemon_killed_at_any_instant_settles_every_conflict_and_loses_neither_side() {
    const IDEAS: usize = 4;
    const KILLS: usize = 8;
    let sandbox = Sandbox::new();
    sandbox.write("lines.txt", "one\ntwo\nthree\n");
    sandbox.commit("Lines");
    sandbox.set_up();
    sandbox.configure(&json!({
        "qualityCommands": ["! grep -q '^[<=>]' lines.txt"],
        "agents": {"maxParallel": 4, "failuresToPause": 100},
    }));
    let base = sandbox.head("main");
    for _ in 0..IDEAS {
        sandbox.idea(
            "note began; sleep 0.3; sed \"s/^two/two $SWARM_IDEA_ID/\" lines.txt >new; mv new \
            lines.txt; commit; say COMPLETE\nRESOLVE: note resolved; sleep 0.1; sed '/^[<=>|]/d' \
            lines.txt >new; mv new lines.txt; say RESOLVED",
        );
    }
    let mut dice = Dice::thrown();
    for kill in 0..KILLS {
        let daemon = sandbox.spawn_daemon(&["--until-idle"]);
        let instant = Duration::from_millis(dice.below(1000));
        std::thread::sleep(instant);
        println!(
            "kill {kill} after {instant:?}, at seq {}",
            sandbox.log().len()
        );
        daemon.kill();
    }
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(daemon.wait_exit(2 * PATIENCE), 0, "{}", daemon.output());
    assert_eq!(sandbox.landings(&base, "main").len(), IDEAS);
    let lines = sandbox.read("lines.txt");
    for idea in sandbox.ideas() {
        let id = idea["id"].as_str().unwrap();
        assert!(
            lines.contains(&format!("two {id}")),
            "{id} was lost:\n{lines}"
        );
        assert_eq!(idea["retryCount"], 0, "{idea}");
    }
    assert_eq!(
        sandbox.notes("began").len(),
        IDEAS,
        "an agent was run twice"
    );
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

/// Like a power cut: daemon, runners, agents and every git at work are gone at the same instant.
#[test]
fn everything_killed_at_any_instant_loses_no_work_and_lands_each_idea_once() {
    const IDEAS: usize = 6;
    const KILLS: usize = 8;
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "qualityCommands": ["sleep 0.1"],
        "agents": {"maxParallel": 3, "crashRetries": 100, "failuresToPause": 100},
    }));
    sandbox.write("README.md", "changed by hand\n");
    let base = sandbox.head("main");
    for _ in 0..IDEAS {
        sandbox.idea(
            "append trace-$SWARM_IDEA_ID.txt $SWARM_ATTEMPT; sleep 0.2; commit; write \
            $SWARM_IDEA_ID.txt x; say COMPLETE",
        );
    }
    let mut dice = Dice::thrown();
    for kill in 0..KILLS {
        let daemon = sandbox.spawn_daemon(&["--until-idle"]);
        let instant = Duration::from_millis(dice.below(1200));
        std::thread::sleep(instant);
        println!(
            "kill {kill} after {instant:?}, at seq {}",
            sandbox.log().len()
        );
        daemon.kill_everything();
    }
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(daemon.wait_exit(2 * PATIENCE), 0, "{}", daemon.output());

    let landed = sandbox.landings(&base, "main");
    let once: BTreeSet<&String> = landed.iter().map(|(_, idea)| idea).collect();
    assert_eq!((landed.len(), once.len()), (IDEAS, IDEAS), "{landed:?}");
    for idea in sandbox.ideas() {
        assert_eq!(idea["status"], "done", "{idea}");
        // What each attempt wrote, committed or not, was there for the next.
        let id = idea["id"].as_str().unwrap();
        let runs = sandbox.notes("runs");
        let began = runs.iter().filter(|run| run.starts_with(id)).count();
        let traces = sandbox.read(&format!("trace-{id}.txt")).lines().count();
        assert!(
            (1..=began).contains(&traces),
            "{traces} traces of {began} runs of {id}"
        );
    }
    assert_eq!(sandbox.read("README.md"), "changed by hand\n");
    sandbox.git(&["checkout", "-q", "--", "README.md"]);
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
    sandbox.assert_nothing_runs();
}

#[test]
fn after_the_loss_of_everything_ideas_come_back_with_a_recovery_context() {
    let sandbox = Sandbox::ready();
    let doing = "if attempt 1; then write done.txt x; commit Half of it; write partial.txt y; hold \
        never; else [ -e partial.txt ] && note kept; say COMPLETE; fi";
    let id = sandbox.idea(doing);
    let daemon = sandbox.start();
    sandbox.wait_held("never");
    daemon.kill_everything();
    sandbox.assert_nothing_runs();

    let daemon = sandbox.start();
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(idea["retryCount"], 1, "{idea}");
    assert_eq!(idea["attempts"], 2, "{idea}");
    let history = idea["history"].as_array().unwrap();
    assert!(
        history
            .iter()
            .any(|entry| entry["what"] == "crash_recovery"),
        "{idea}"
    );
    assert_eq!(
        sandbox.notes("kept"),
        [id.as_str()],
        "the uncommitted work was not there"
    );
    let (prompt, recovery) = second_attempt(&sandbox, "1");
    for line in [
        "## Recovery Context",
        "**Previous attempts:** 1",
        "**Worktree has uncommitted changes:** Yes",
        "### Last Attempt Log",
        "- Started: 2",
        "- Files modified: ",
        "- Last commit: ",
        "\"Half of it\"",
        "- Crashed during iteration 1",
    ] {
        assert!(prompt.contains(line), "`{line}` is missing in\n{prompt}");
    }
    let modified = prompt
        .lines()
        .find(|line| line.starts_with("- Files modified: "))
        .unwrap();
    assert!(
        modified.contains("partial.txt") && modified.contains("done.txt"),
        "{modified}"
    );
    assert_eq!(
        (
            &recovery["previousAttempts"],
            &recovery["worktreeHasChanges"]
        ),
        (&json!(1), &json!(true))
    );
    assert!(recovery["instruction"].is_string(), "{recovery}");
    let log = recovery["auditLog"].as_array().unwrap();
    assert!(
        log.iter().any(|entry| entry["event"] == "start"),
        "{recovery}"
    );
    assert!(
        log.iter().any(|entry| entry["event"] == "crash"),
        "{recovery}"
    );
    daemon.stop();
    sandbox.assert_repository_clean();
    assert_eq!(sandbox.file_at("main", "partial.txt"), "y");
}

#[test]
fn what_another_idea_landed_is_not_told_as_the_work_of_the_one_that_crashed() {
    let sandbox = Sandbox::ready();
    let doing = "attempt 1 && hold never; if iteration 1; then write own.txt x; commit Own; else \
        say COMPLETE; fi";
    let id = sandbox.idea(doing);
    let daemon = sandbox.start();
    sandbox.wait_held("never");
    let agent = sandbox.notes("runs")[0]
        .rsplit(' ')
        .next()
        .unwrap()
        .to_owned();
    let other = sandbox.idea("write others.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&other, "done");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(agent.parse().unwrap()),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(idea["retryCount"], 1, "{idea}");
    // What the second attempt does is not the first one's either.
    for iteration in ["1", "2"] {
        let (prompt, recovery) = second_attempt(&sandbox, iteration);
        for line in ["- Files modified: none\n", "- Last commit: none\n"] {
            assert!(prompt.contains(line), "`{line}` is missing in\n{prompt}");
        }
        let all = recovery.to_string();
        assert!(
            !all.contains("others.txt") && !all.contains("own.txt"),
            "{all}"
        );
    }
    daemon.stop();
}

/// Prompt and `recovery.json` of this iteration of attempt 2.
fn second_attempt(sandbox: &Sandbox, iteration: &str) -> (String, Value) {
    let runs = sandbox.notes("runs");
    let run = runs
        .iter()
        .find(|run| {
            let words: Vec<&str> = run.split(' ').collect();
            words[2..4] == ["2", iteration]
        })
        .unwrap();
    let folder = sandbox.private("runs").join(run.split(' ').nth(4).unwrap());
    let prompt = fs::read_to_string(folder.join("prompt.md")).unwrap();
    let recovery = fs::read(folder.join("recovery.json")).unwrap();
    (prompt, serde_json::from_slice(&recovery).unwrap())
}

#[test]
fn a_runner_killed_alone_is_noticed_and_the_attempt_comes_back() {
    let sandbox = Sandbox::ready();
    let id =
        sandbox.idea("if attempt 1; then write partial.txt x; hold never; else say COMPLETE; fi");
    let daemon = sandbox.start();
    sandbox.wait_held("never");
    let runner = sandbox.wait_for("the runner", || {
        let all = sandbox.processes();
        let runner = all.iter().find(|process| process.contains("__runner"))?;
        runner.split(' ').next()?.parse::<i32>().ok()
    });
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(runner),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(idea["retryCount"], 1, "{idea}");
    assert_eq!(sandbox.file_at("main", "partial.txt"), "x");
    daemon.stop();
}

/// Its directory is there, and nothing has been executed: the next start launches it, and nobody
/// has crashed.
#[test]
fn a_run_that_was_prepared_and_never_launched_is_launched_without_a_penalty() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("write a.txt x; commit; say COMPLETE");
    let mut start = sandbox.swarm_command(&["start", "--until-idle"]);
    start.env(crash::VARIABLE, "run.prepared");
    assert_eq!(sandbox.spawn(start).wait_exit(PATIENCE), 137);
    assert_eq!(sandbox.run_until_idle(), 0);
    let idea = sandbox.show(&id);
    assert_eq!(
        (&idea["status"], &idea["retryCount"], &idea["attempts"]),
        (&json!("done"), &json!(0), &json!(1)),
        "{idea}"
    );
    assert_eq!(sandbox.notes("runs").len(), 1);
}

/// How often an effect is tried before it has failed.
const TRIES: usize = 3;

#[test]
fn a_runner_that_always_dies_is_launched_three_times_and_no_more() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    sandbox.idea("say COMPLETE");
    let visits = sandbox.path("out/visits");
    let mut start = sandbox.swarm_command(&["start"]);
    start.env(crash::VARIABLE, "runner.locked");
    start.env(crash::VISITS, &visits);
    let daemon = sandbox.spawn(start);
    let error = sandbox.wait_for("the failed run", || {
        let finished = sandbox.logged("effectFinished").into_iter();
        finished
            .map(|one| one.data["error"].clone())
            .find(Value::is_string)
    });
    let error = error.as_str().unwrap();
    assert!(
        error.contains("died before it started the process"),
        "{error}"
    );
    daemon.kill();
    let visits = fs::read_to_string(visits).unwrap();
    let count = |label: &str| visits.lines().filter(|line| line.ends_with(label)).count();
    // A further effect may have begun before the kill.
    let effects = count("effect.run.begin");
    let launches = count(" run.launched");
    assert!((1..=2).contains(&effects), "{visits}");
    assert!((TRIES..=TRIES * effects).contains(&launches), "{visits}");
}

/// A `start` whose git is killed when its arguments match this pattern of the shell: always, or
/// only the nth time. `out/matched` has a line for each match.
pub fn start_with_killed_git(sandbox: &Sandbox, pattern: &str, nth: Option<u32>) -> Command {
    use std::os::unix::fs::PermissionsExt as _;

    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let matched = sandbox.path("out/matched");
    let is_due = nth.map_or_else(
        || "true".to_owned(),
        |nth| format!("[ $(wc -l <\"$matched\") -eq {nth} ]"),
    );
    let script = format!(
        "#!/bin/sh\nmatched='{}'\ncase \" $* \" in {pattern}) echo >>\"$matched\"; \
        if {is_due}; then kill -9 $$; fi ;; esac\nexec '{}' \"$@\"\n",
        matched.display(),
        real.display()
    );
    let bin = sandbox.path("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut start = sandbox.swarm_command(&["start"]);
    start.env("PATH", format!("{}:{path}", bin.display()));
    start
}

#[test]
fn a_git_that_is_always_killed_holds_new_worktrees_and_is_charged_to_no_idea() {
    let sandbox = Sandbox::ready();
    let idea = sandbox.idea("say COMPLETE");
    let start = start_with_killed_git(&sandbox, "*' worktree add '*", None);
    let daemon = sandbox.spawn(start);
    let need = sandbox.wait_needs_you("environment");
    let message = need["message"].as_str().unwrap();
    assert!(message.contains("no worktree can be made"), "{message}");
    assert_eq!(sandbox.idea_status(&idea), "pending");
    daemon.kill();
    drop(daemon);
    let starts = fs::read_to_string(sandbox.path("out/matched")).unwrap();
    let holds = sandbox.logged("worktreesHeld").len();
    // A further try may have begun before the kill.
    assert!(
        (holds..=holds + 1).contains(&starts.lines().count()),
        "{holds}: {starts}"
    );
    // The next git lives.
    let daemon = sandbox.start();
    sandbox.wait_idea(&idea, "done");
    daemon.stop();
}

#[test]
fn crashes_of_one_idea_are_bounded_and_then_a_person_is_asked() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"crashRetries": 1}}));
    let id = sandbox.idea("hold never");
    for crash in 1..=2 {
        let daemon = sandbox.start();
        sandbox.wait_for("the next run", || {
            (sandbox.notes("runs").len() == crash).then_some(())
        });
        daemon.kill_everything();
    }
    let daemon = sandbox.start();
    let idea = sandbox.wait_idea(&id, "failed");
    assert!(idea["lastError"].is_string(), "{idea}");
    sandbox.wait_needs_you("failed");
    assert_eq!(sandbox.notes("runs").len(), 2);
    daemon.stop();
}

#[test]
fn an_agent_that_ends_while_no_daemon_lives_has_not_worked_in_vain() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("hold alone; write a.txt x; commit; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("alone");
    daemon.kill();
    sandbox.release("alone");
    sandbox.assert_nothing_runs();
    assert_eq!(sandbox.run_until_idle(), 0);
    let idea = sandbox.show(&id);
    assert_eq!(
        (&idea["status"], &idea["retryCount"], &idea["attempts"]),
        (&json!("done"), &json!(0), &json!(1))
    );
    assert_eq!(sandbox.notes("runs").len(), 1);
    sandbox.assert_repository_clean();
}

#[test]
fn a_pause_survives_a_kill() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.swarm(&["pause", "--reason", "lunch"]).ok();
    daemon.kill();
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    let status = sandbox.status();
    assert_eq!(status["phase"], "paused", "{status}");
    assert!(status.to_string().contains("lunch"), "{status}");
    assert_eq!(sandbox.idea_status(&id), "pending");
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn an_agent_that_outlived_its_daemon_is_named_at_the_next_start() {
    let sandbox = Sandbox::ready();
    sandbox.idea("hold it; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    assert!(!daemon.output().contains("from before"));
    daemon.kill();
    drop(daemon);
    let daemon = sandbox.start();
    sandbox.wait_for("the line about it", || {
        let named = "resuming ed-001 on idea-001, iteration 1";
        daemon.output().contains(named).then_some(())
    });
    sandbox.release("it");
    sandbox.wait_idea("idea-001", "done");
    assert_eq!(sandbox.notes("runs").len(), 1);
    daemon.stop();
}
