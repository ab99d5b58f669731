//! Agents that misbehave: the daemon stays quick and small, and nothing of them is left.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Daemon, PATIENCE, Sandbox, processes};

/// What a status answer may take at the 99th percentile while an agent is at its worst, beyond what
/// this machine takes at the same time for a command that asks nobody.
const QUICK: Duration = Duration::from_millis(200);

/// Answers that are measured at least.
const ANSWERS: usize = 50;

/// What the daemon's memory may grow by.
const GROWTH: u64 = 64 * 1024 * 1024;

/// What was seen of a daemon at work.
struct Watched {
    /// How long status answers took.
    answers: Vec<Duration>,
    /// How long commands took, each right before, that ask no daemon.
    floor: Vec<Duration>,
    /// By how many bytes the daemon grew at most.
    growth: u64,
}

/// Watches the daemon until the idea is over.
fn watch(sandbox: &Sandbox, daemon: &Daemon<'_>, id: &str) -> Watched {
    let before = processes::resident(daemon.pid);
    let (mut answers, mut floor, mut most) = (Vec::new(), Vec::new(), before);
    let begun = Instant::now();
    loop {
        floor.push(sandbox.swarm(&["--version"]).took);
        let ran = sandbox.swarm(&["status", "--json"]);
        answers.push(ran.took);
        most = most.max(processes::resident(daemon.pid));
        let status = ran.json();
        let open = ["pending", "active", "merging"];
        if answers.len() >= ANSWERS && open.iter().all(|state| status["ideas"][*state] == 0) {
            let growth = most - before;
            return Watched {
                answers,
                floor,
                growth,
            };
        }
        if begun.elapsed() > 2 * PATIENCE {
            sandbox.fail(&format!("{id} is not over"));
        }
    }
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 99 / 100 - 1]
}

/// Runs one idea under the eyes of [`watch`].
fn endure(doing: &str, status: &str) {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    // The first answers of a fresh process are not what is measured.
    for _ in 0..3 {
        sandbox.status();
    }
    let id = sandbox.idea(doing);
    let seen = watch(&sandbox, &daemon, &id);
    assert_eq!(sandbox.idea_status(&id), status, "{}", sandbox.show(&id));
    let (answer, floor) = (p99(seen.answers), p99(seen.floor));
    assert!(
        answer < QUICK + floor,
        "p99 of the answers: {answer:?}, of the floor: {floor:?}"
    );
    assert!(
        seen.growth < GROWTH,
        "the daemon grew by {} bytes",
        seen.growth
    );
    daemon.stop();
}

#[test]
fn two_hundred_megabytes_of_lines() {
    endure(
        "yes 'a line of output that says nothing' | head -c 209715200; write a.txt hello; commit; \
        say COMPLETE",
        "done",
    );
}

#[test]
fn a_hundred_megabytes_without_a_line_end() {
    endure(
        "head -c 104857600 /dev/zero | tr '\\0' x; echo; write a.txt hello; commit; say COMPLETE",
        "done",
    );
}

#[test]
fn output_that_is_never_a_signal() {
    // Openers without an end, and signals that are none.
    endure(
        "yes '<swarm>COMPLETE' | head -c 20000000; echo; echo '<swarm>FLY</swarm> \
        <swarm>PROGRESS:900</swarm>'; write a.txt x; commit; say COMPLETE",
        "done",
    );
}

#[test]
fn an_agent_that_closes_its_output() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea(
        "if iteration 1; then exec >&- 2>&-; write a.txt hello; commit; else say COMPLETE; fi",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(sandbox.notes("runs").len(), 2);
}

#[test]
fn an_agent_that_ignores_term_is_ended_all_the_same() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox.idea("trap '' TERM INT HUP; hold stubborn");
    sandbox.wait_held("stubborn");
    sandbox.swarm(&["idea", "cancel", &id]).ok();
    sandbox.wait_idea(&id, "cancelled");
    sandbox.wait_for("the agent to be gone", || {
        let left = sandbox.processes();
        (!left.iter().any(|process| process.contains("agent.sh"))).then_some(())
    });
    assert!(daemon.exited().is_none());
    daemon.stop();
}

#[test]
fn an_agent_or_a_check_that_ends_its_runner_is_not_begun_for_ever() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"crashRetries": 1}}));
    let agent = sandbox.idea("kill -TERM $PPID; sleep 1000");
    assert_eq!(sandbox.run_until_idle(), 5);
    assert_eq!(sandbox.idea_status(&agent), "failed");
    assert_eq!(sandbox.notes("runs").len(), 2);
    sandbox.configure(&json!({"qualityCommands": ["kill -TERM $PPID; sleep 1000"]}));
    let check = sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 5);
    let idea = sandbox.show(&check);
    assert_eq!(idea["status"], "failed", "{idea}");
    assert!(
        idea["lastError"].as_str().unwrap().contains("in a row"),
        "{idea}"
    );
}

#[test]
fn children_that_ran_away_are_ended_with_their_run() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id = sandbox.idea(
        "pids=$OUT/pids; for n in 1 2 3; do setsid sh -c 'echo $$ >>'$pids'; exec sleep 300' & \
        (setsid env -i sh -c 'cd /; echo $$ >>'$pids'; exec /bin/sleep 300' >/dev/null 2>&1 &) ; \
        done; while [ \"$(cat $pids | wc -l)\" -lt 6 ]; do sleep 0.05; done; write a.txt hello; \
        commit; say COMPLETE",
    );
    sandbox.wait_idea(&id, "done");
    let pids = sandbox.notes("pids");
    assert_eq!(pids.len(), 6);
    for pid in pids {
        assert!(!processes::lives(pid.parse().unwrap()), "{pid} still runs");
    }
    sandbox.wait_for("no zombie of the daemon", || {
        processes::zombies_of(daemon.pid).is_empty().then_some(())
    });
    daemon.stop();
}

#[test]
fn an_agent_that_exits_at_once_does_not_spin() {
    let sandbox = Sandbox::ready();
    let failing = sandbox.idea("exit 7");
    assert_eq!(sandbox.run_until_idle(), 5);
    let idea = sandbox.show(&failing);
    assert_eq!(idea["status"], "failed", "{idea}");
    assert!(idea["lastError"].as_str().unwrap().contains('7'), "{idea}");
    let runs = sandbox.notes("runs").len();
    assert!(runs <= 5, "{runs} runs of an agent that exits at once");
}

#[test]
fn an_agent_that_says_nothing_three_times_has_failed() {
    let sandbox = Sandbox::ready();
    let silent = sandbox.idea("sleep 0.2");
    assert_eq!(sandbox.run_until_idle(), 5);
    let idea = sandbox.show(&silent);
    assert_eq!(idea["status"], "failed", "{idea}");
    assert!(
        idea["lastError"].as_str().unwrap().contains("empty")
            || idea["lastError"].as_str().unwrap().contains("nothing"),
        "{idea}"
    );
    assert_eq!(sandbox.notes("runs").len(), 3);
}

#[test]
fn three_failures_in_a_row_pause_autopilot() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    let daemon = sandbox.start();
    for _ in 0..3 {
        sandbox.idea("echo busy; exit 7");
    }
    let waiting = sandbox.idea_with("say COMPLETE", &["--priority", "-100"]);
    let status = sandbox.wait_status("the pause", |status| status["phase"] == "paused");
    assert!(
        status["needsYou"]
            .as_array()
            .unwrap()
            .iter()
            .any(|need| need["kind"] == "paused"),
        "{status}"
    );
    assert_eq!(sandbox.idea_status(&waiting), "pending");
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&waiting, "done");
    daemon.stop();
}

#[test]
fn an_agent_that_tampers_with_the_shared_git_configuration_runs_nothing_in_our_git() {
    let sandbox = Sandbox::ready();
    let trap = "git config core.fsmonitor \"touch $OUT/sprung; false\"; git config core.hooksPath \
        $OUT/hooks; mkdir -p $OUT/hooks; for hook in post-checkout pre-commit post-merge \
        reference-transaction post-index-change pre-merge-commit commit-msg; do printf \
        '#!/bin/sh\\ntouch %s/sprung\\n' $OUT >$OUT/hooks/$hook; chmod +x $OUT/hooks/$hook; done; \
        git config commit.gpgSign true; git config core.editor \"$OUT/hooks/post-merge\"; git \
        config core.pager \"$OUT/hooks/post-merge\"; git config diff.external \
        \"$OUT/hooks/post-merge\"; git config core.sshCommand $OUT/hooks/post-merge";
    sandbox.idea(&format!(
        "{trap}; write left.txt uncommitted; rm -f $OUT/sprung; say COMPLETE"
    ));
    let second = sandbox.idea_with("write b.txt x; say COMPLETE", &["--after", "idea-001"]);
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&second), "done");
    assert!(
        !sandbox.path("out/sprung").exists(),
        "swarm ran what an agent had configured"
    );
    for setting in ["core.fsmonitor", "core.hooksPath", "commit.gpgSign"] {
        sandbox.git(&["config", "--unset", setting]);
    }
    assert_eq!(
        sandbox
            .landings(
                &sandbox.git(&["rev-list", "--max-parents=0", "main"]),
                "main"
            )
            .len(),
        2
    );
}

#[test]
fn the_last_words_of_an_agent_that_failed_are_in_the_reason() {
    let sandbox = Sandbox::ready();
    let long = "x".repeat(300);
    let id = sandbox.idea(&format!(
        "printf '%s\\n\\033[31mno key\\007 for the\\r\\nservice\\033]0;title\\007\\n' {long} >&2; \
        exit 3"
    ));
    assert_eq!(sandbox.run_until_idle(), 5);
    let why = sandbox.show(&id)["lastError"].as_str().unwrap().to_owned();
    let words = why
        .split_once("exited with code 3: ")
        .and_then(|(_, rest)| rest.rsplit_once("; its output"))
        .unwrap_or_else(|| panic!("{why}"))
        .0;
    assert!(words.ends_with("x no key for the service"), "{words}");
    assert_eq!(words.chars().count(), 200, "{words}");
    assert!(!why.contains(char::is_control), "{why:?}");
}
