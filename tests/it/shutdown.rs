//! Ending the daemon: gracefully, at once, and with the agents left at work.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::harness::{Daemon, Sandbox, Terminal, processes};
use crate::service::with_systemctl;

/// Half of the work, then waits; goes on from what it finds.
const IN_TWO_PARTS: &str = "if [ -e half.txt ]; then note again; write whole.txt x; commit; say \
    COMPLETE; else write half.txt x; hold half; write whole.txt x; commit; say COMPLETE; fi";

/// The process ids of the agents that ever ran.
fn agents(sandbox: &Sandbox) -> Vec<i32> {
    let runs = sandbox.notes("runs");
    runs.iter()
        .map(|run| run.rsplit(' ').next().unwrap().parse().unwrap())
        .collect()
}

/// A daemon whose two agents are in the middle of an iteration.
fn busy(sandbox: &Sandbox, grace: u64) -> Daemon<'_> {
    sandbox.configure(&json!({"shutdown": {"graceSeconds": grace}}));
    for _ in 0..2 {
        sandbox.idea(IN_TWO_PARTS);
    }
    let daemon = sandbox.start();
    sandbox.wait_for("both agents to work", || {
        (sandbox.notes("runs").len() == 2).then_some(())
    });
    sandbox.wait_held("half");
    sandbox.wait_for("both half files", || {
        let status = sandbox.status();
        let agents = status["agents"].as_array().unwrap();
        let half = |agent: &&serde_json::Value| {
            sandbox
                .repo()
                .join(agent["worktree"].as_str().unwrap())
                .join("half.txt")
                .exists()
        };
        (agents.iter().filter(half).count() == 2).then_some(())
    });
    daemon
}

/// Asks for a graceful end, which must come; says after how long it did.
fn ends(daemon: &Daemon<'_>, signal: Signal) {
    let begun = Instant::now();
    daemon.signal(signal);
    let code = daemon.wait_exit(Duration::from_secs(15));
    assert_eq!(code, 0, "{}", daemon.output());
    println!("ended after {:?}", begun.elapsed());
}

/// Files of the kind `.stuck` go through this filter of git's.
fn filter_with(sandbox: &Sandbox, kind: &str, filter: &str) {
    sandbox.git(&["config", &format!("filter.stuck.{kind}"), filter]);
    sandbox.write(".gitattributes", "*.stuck filter=stuck\n");
}

fn wait_until_git_hangs(sandbox: &Sandbox) {
    sandbox.wait_for("the hanging filter", || {
        (!sandbox.notes("hangs").is_empty()).then_some(())
    });
}

#[test]
fn one_interrupt_ends_in_time_and_the_next_start_goes_on_in_the_same_worktree() {
    let sandbox = Sandbox::ready();
    let grace = Duration::from_secs(2);
    let daemon = busy(&sandbox, grace.as_secs());
    let begun = Instant::now();
    daemon.interrupt();
    assert_eq!(
        daemon.wait_exit(grace + Duration::from_secs(5)),
        0,
        "{}",
        daemon.output()
    );
    let took = begun.elapsed();
    assert!(took < grace + Duration::from_secs(1), "took {took:?}");
    sandbox.assert_nothing_runs();
    for idea in sandbox.ideas() {
        assert_eq!(
            (&idea["status"], &idea["retryCount"]),
            (&json!("pending"), &json!(0)),
            "{idea}"
        );
    }
    let status = sandbox.status();
    assert_eq!(
        (&status["phase"], &status["pid"]),
        (&json!("stopped"), &json!(null))
    );

    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        sandbox.notes("again").len(),
        2,
        "the half-done work was not there"
    );
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
}

#[test]
fn agents_that_finish_within_the_grace_are_not_ended() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 20);
    let begun = Instant::now();
    daemon.interrupt();
    sandbox.wait_status("draining", |status| status["phase"] == "draining");
    sandbox.release("half");
    assert_eq!(daemon.wait_exit(Duration::from_secs(15)), 0);
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "it waited although nothing ran"
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        sandbox.notes("again").len(),
        0,
        "an iteration that was over was run again"
    );
    sandbox.assert_repository_clean();
}

#[test]
fn a_second_interrupt_ends_at_once_and_the_agents_are_adopted() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    daemon.interrupt();
    sandbox.wait_status("draining", |status| status["phase"] == "draining");
    let begun = Instant::now();
    daemon.interrupt();
    assert_eq!(
        daemon.wait_exit(Duration::from_secs(5)),
        130,
        "{}",
        daemon.output()
    );
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "took {:?}",
        begun.elapsed()
    );
    adopted_by_the_next_start(&sandbox);
}

#[test]
fn keep_agents_leaves_them_to_the_next_start() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    sandbox.swarm(&["stop", "--keep-agents"]).ok();
    assert_eq!(daemon.wait_exit(Duration::from_secs(2)), 0);
    adopted_by_the_next_start(&sandbox);
}

#[test]
fn at_a_restart_by_the_service_manager_agents_go_on() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    let jobs = "echo '12 swarm-x.service restart running'";
    let (ran, asked) = with_systemctl(&sandbox, jobs, END);
    ran.ok();
    assert_eq!(
        asked,
        ["--user list-jobs --plain --no-legend swarm-x.service"]
    );
    assert_eq!(daemon.wait_exit(Duration::from_secs(2)), 0);
    adopted_by_the_next_start(&sandbox);
}

#[test]
fn when_the_service_manager_stops_it_agents_end() {
    for jobs in [
        "echo '12 swarm-x.service stop running'",
        "echo no bus >&2; exit 1",
    ] {
        let sandbox = Sandbox::ready();
        let daemon = busy(&sandbox, 1);
        let (ran, _) = with_systemctl(&sandbox, jobs, END);
        ran.ok();
        assert_eq!(daemon.wait_exit(Duration::from_secs(5)), 0);
        sandbox.assert_nothing_runs();
    }
}

const END: &[&str] = &["service", "end", "swarm-x.service"];

/// The agents live, are adopted in the same attempt, and end their only run.
fn adopted_by_the_next_start(sandbox: &Sandbox) {
    for pid in agents(sandbox) {
        assert!(processes::lives(pid), "agent {pid} was ended");
    }
    let daemon = sandbox.start();
    let status = sandbox.wait_status("both to be at work", |status| status["slots"]["used"] == 2);
    for agent in status["agents"].as_array().unwrap() {
        assert_eq!(
            (&agent["attempt"], &agent["iteration"]),
            (&json!(1), &json!(1)),
            "{agent}"
        );
    }
    for pid in agents(sandbox) {
        assert!(processes::lives(pid), "agent {pid} was not adopted");
    }
    sandbox.release("half");
    for idea in ["idea-001", "idea-002"] {
        let idea = sandbox.wait_idea(idea, "done");
        assert_eq!(idea["retryCount"], 0, "{idea}");
    }
    assert_eq!(sandbox.notes("runs").len(), 2, "an agent was run twice");
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn stop_now_does_not_wait_for_boundaries() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    let ran = sandbox.swarm(&["stop", "--now"]);
    ran.ok();
    assert!(ran.took < Duration::from_secs(8), "{ran}");
    daemon.wait_exit(Duration::from_secs(1));
    sandbox.assert_nothing_runs();
    for idea in sandbox.ideas() {
        assert_eq!(
            (&idea["status"], &idea["retryCount"]),
            (&json!("pending"), &json!(0)),
            "{idea}"
        );
    }
}

#[test]
fn term_ends_as_gracefully_as_an_interrupt() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait_exit(Duration::from_secs(5)), 0);
    sandbox.assert_nothing_runs();
}

/// A terminal that is closed sends it more than once, and TERM may follow: all of them ask for the
/// same graceful end.
#[test]
fn a_hangup_ends_as_gracefully_as_an_interrupt_and_none_of_its_kind_hurries() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    daemon.signal(Signal::SIGHUP);
    sandbox.wait_status("draining", |status| status["phase"] == "draining");
    for signal in [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGTERM] {
        daemon.signal(signal);
    }
    assert_eq!(sandbox.status()["phase"], "draining");
    sandbox.release("half");
    assert_eq!(daemon.wait_exit(Duration::from_secs(15)), 0);
    sandbox.assert_nothing_runs();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        sandbox.notes("again").len(),
        0,
        "an iteration was cut short"
    );
}

#[test]
fn whoever_starts_it_with_nohup_closes_the_terminal_without_ending_it() {
    let sandbox = Sandbox::ready();
    let mut command = sandbox.command("sh");
    let start = format!("trap '' HUP; exec {} start", env!("CARGO_BIN_EXE_swarm"));
    command.args(["-c", &start]);
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    daemon.signal(Signal::SIGHUP);
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn the_first_interrupt_says_at_once_what_it_waits_for() {
    let sandbox = Sandbox::ready();
    let daemon = busy(&sandbox, 30);
    daemon.signal(Signal::SIGINT);
    sandbox.wait_for("the words", || {
        daemon.output().contains("Ctrl+C again").then_some(())
    });
    let output = daemon.output();
    let line = output.lines().find(|line| line.starts_with("stopping: "));
    let line = line.unwrap_or_else(|| panic!("{output}"));
    for words in [
        "up to 30 s",
        "ed-001 (iteration 1 of idea-001)",
        "ed-002 (iteration 1 of idea-002)",
    ] {
        assert!(line.contains(words), "`{words}`: {line}");
    }
    assert!(output.contains("130"), "{output}");
    sandbox.release("half");
    assert_eq!(daemon.wait_exit(Duration::from_secs(15)), 0);
}

/// The terminal is gone: what is written to it fails, and the kernel sends the hang-up.
#[test]
fn a_terminal_that_is_closed_ends_it_gracefully() {
    for arguments in [&["start"][..], &["start", "-v"], &["start", "--json"]] {
        let sandbox = Sandbox::ready();
        sandbox.configure(&json!({"shutdown": {"graceSeconds": 1}}));
        let id = sandbox.idea("hold it; write a.txt x; say COMPLETE");
        let terminal = Terminal::open();
        let mut command = sandbox.swarm_command(arguments);
        command.env("TERM", "xterm");
        let mut daemon = terminal.start(&command);
        sandbox.wait_held("it");
        // Nobody is there any more to see anything.
        drop(terminal);
        let status = sandbox.wait_for("the daemon to end", || daemon.try_wait().unwrap());
        assert_eq!(status.code(), Some(0), "{arguments:?}: {status}");
        sandbox.assert_nothing_runs();
        let idea = sandbox.show(&id);
        assert_eq!(
            (&idea["status"], &idea["retryCount"]),
            (&json!("pending"), &json!(0)),
            "{idea}"
        );
        let ended = sandbox.logged("phaseChanged");
        assert_eq!(ended.last().unwrap().data["phase"], "stopped");
        sandbox.assert_log_sound();
    }
}

/// A pipe that is full and that nobody reads: what is shown hangs, the end does not.
#[test]
fn a_reader_that_stopped_reading_does_not_hold_up_the_end() {
    let sandbox = Sandbox::ready();
    let (reader, writer) = nix::unistd::pipe().unwrap();
    nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
    let mut command = sandbox.swarm_command(&["start", "-v"]);
    let output = fs::File::from(writer);
    command
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .process_group(0);
    let mut daemon = command.spawn().unwrap();
    drop(command);
    for _ in 0..30 {
        sandbox.idea("say COMPLETE");
    }
    sandbox.wait_status("all to be over", |status| {
        status["ideas"]["done"].as_u64().unwrap() + status["ideas"]["failed"].as_u64().unwrap()
            == 30
    });
    let begun = Instant::now();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(daemon.id().cast_signed()),
        Signal::SIGTERM,
    )
    .unwrap();
    let status = sandbox.wait_for("the daemon to end", || daemon.try_wait().unwrap());
    assert_eq!(status.code(), Some(0), "{status}");
    println!("ended after {:?}", begun.elapsed());
    drop(reader);
    sandbox.assert_nothing_runs();
}

/// An agent that ignores TERM and forked into sessions of its own, and a git that hangs in a
/// filter, at the same time.
#[test]
fn whatever_hangs_the_end_comes_in_time_and_nothing_runs_on() {
    let sandbox = Sandbox::ready();
    let out = sandbox.path("out");
    let out = out.display();
    let filter =
        format!("sh -c 'cat; [ ! -e {out}/hang ] || {{ echo x >>{out}/hangs; exec sleep 1000; }}'");
    filter_with(&sandbox, "clean", &filter);
    sandbox.commit("A filter");
    sandbox.swarm(&["config", "trust-git"]);
    let daemon = sandbox.start();
    fs::write(sandbox.path("out/hang"), "").unwrap();
    let stubborn = sandbox.idea(
        "trap '' TERM INT HUP; setsid sh -c \"trap '' TERM INT HUP; echo \
        away >>$OUT/away; sleep 1000\" & hold stubborn",
    );
    let sealed = sandbox.idea("write a.stuck x; say COMPLETE");
    sandbox.wait_held("stubborn");
    sandbox.wait_for("the escaped child and the hanging filter", || {
        (sandbox.notes("away").len() == 1 && !sandbox.notes("hangs").is_empty()).then_some(())
    });
    ends(&daemon, Signal::SIGINT);
    sandbox.assert_nothing_runs();
    // What was cut off is for the next start.
    fs::remove_file(sandbox.path("out/hang")).unwrap();
    sandbox.release("stubborn");
    let ideas = [&stubborn, &sealed].map(|id| sandbox.show(id));
    for idea in &ideas {
        assert_eq!(idea["retryCount"], 0, "{idea}");
    }
    let daemon = sandbox.start();
    assert_eq!(sandbox.wait_idea(&sealed, "done")["attempts"], 1);
    sandbox.swarm(&["idea", "cancel", &stubborn]).ok();
    daemon.stop();
    sandbox.assert_log_sound();
}

/// Everything gets TERM at the same time: the daemon, the runners, the agents.
#[test]
fn a_machine_that_goes_down_penalises_nobody() {
    for doing in [
        "hold it",
        "trap 'exit 1' TERM; hold it",
        "trap '' TERM; hold it",
    ] {
        let sandbox = Sandbox::ready();
        for _ in 0..2 {
            sandbox.idea(&format!(
                "{doing}; write $SWARM_IDEA_ID.txt x; say COMPLETE"
            ));
        }
        let daemon = sandbox.start();
        sandbox.wait_for("both agents", || {
            (sandbox.notes("runs").len() == 2).then_some(())
        });
        sandbox.wait_held("it");
        for pid in processes::numbers(&sandbox.path("")) {
            // Some end meanwhile.
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGTERM);
        }
        assert_eq!(
            daemon.wait_exit(Duration::from_secs(15)),
            0,
            "{doing}: {}",
            daemon.output()
        );
        sandbox.assert_nothing_runs();
        for idea in sandbox.ideas() {
            assert_eq!(
                (&idea["status"], &idea["retryCount"]),
                (&json!("pending"), &json!(0)),
                "{doing}: {idea}"
            );
        }
        for ended in sandbox.logged("attemptEnded") {
            assert_eq!(
                ended.data["end"], "interrupted",
                "{doing}: {:?}",
                ended.data
            );
        }
        sandbox.release("it");
        assert_eq!(sandbox.run_until_idle(), 0);
    }
}

/// Agents go on; a git that hangs has nobody to look after it any more.
#[test]
fn a_second_interrupt_leaves_no_git_behind() {
    let sandbox = Sandbox::ready();
    let out = sandbox.path("out");
    let out = out.display();
    let filter =
        format!("sh -c 'cat; [ ! -e {out}/hang ] || {{ echo x >>{out}/hangs; exec sleep 1000; }}'");
    filter_with(&sandbox, "clean", &filter);
    sandbox.commit("A filter");
    sandbox.configure(&json!({"shutdown": {"graceSeconds": 30}}));
    fs::write(sandbox.path("out/hang"), "").unwrap();
    let daemon = sandbox.start();
    let sealed = sandbox.idea("write a.stuck x; say COMPLETE");
    let held = sandbox.idea("hold it; write b.txt x; say COMPLETE");
    sandbox.wait_held("it");
    wait_until_git_hangs(&sandbox);
    daemon.signal(Signal::SIGINT);
    sandbox.wait_status("draining", |status| status["phase"] == "draining");
    let begun = Instant::now();
    daemon.signal(Signal::SIGINT);
    assert_eq!(
        daemon.wait_exit(Duration::from_secs(15)),
        130,
        "{}",
        daemon.output()
    );
    println!("ended after {:?}", begun.elapsed());
    let left = sandbox.processes();
    assert!(
        !left
            .iter()
            .any(|one| one.contains("git ") || one.contains("sleep 1000")),
        "{left:#?}"
    );
    let lives = agents(&sandbox)
        .into_iter()
        .filter(|pid| processes::lives(*pid));
    assert_eq!(lives.count(), 1, "the agent that worked was ended");
    fs::remove_file(sandbox.path("out/hang")).unwrap();
    let daemon = sandbox.start();
    sandbox.release("it");
    for id in [&sealed, &held] {
        let idea = sandbox.wait_idea(id, "done");
        assert_eq!(
            (&idea["attempts"], &idea["retryCount"]),
            (&json!(1), &json!(0)),
            "{idea}"
        );
    }
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// git hangs while the person's checkout follows a landing.
#[test]
fn a_landing_that_hangs_in_the_persons_checkout_is_cut_off_and_finished_by_the_next_start() {
    let sandbox = Sandbox::ready();
    let out = sandbox.path("out");
    let (out, root) = (out.display(), sandbox.repo());
    let root = root.display();
    let filter = format!(
        "sh -c 'cat; [ ! -e {out}/hang ] || [ \"$PWD\" != {root} ] || {{ echo x >>{out}/hangs; \
        exec sleep 1000; }}'"
    );
    filter_with(&sandbox, "smudge", &filter);
    sandbox.commit("A filter");
    let base = sandbox.head("main");
    fs::write(sandbox.path("out/hang"), "").unwrap();
    let daemon = sandbox.start();
    sandbox.idea("write a.stuck x; write b.txt x; say COMPLETE");
    wait_until_git_hangs(&sandbox);
    ends(&daemon, Signal::SIGTERM);
    sandbox.assert_nothing_runs();
    fs::remove_file(sandbox.path("out/hang")).unwrap();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.landings(&base, "main").len(), 1);
    assert_eq!(sandbox.read("a.stuck"), "x\n");
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
}

#[test]
fn a_client_that_hangs_holds_up_no_end() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let socket = sandbox.private("swarm.sock");
    let clients: Vec<UnixStream> = [
        "GET /api/v1/views/status HTTP/1.1\r\nHost: x",
        "",
        "GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
    ]
    .into_iter()
    .map(|words| {
        let mut client = UnixStream::connect(&socket).unwrap();
        client.write_all(words.as_bytes()).unwrap();
        client
    })
    .collect();
    ends(&daemon, Signal::SIGINT);
    // Until here they hung.
    drop(clients);
    sandbox.assert_nothing_runs();
}

/// git hangs while a worktree is made.
#[test]
fn a_checkout_that_hangs_is_cut_off_and_made_anew_by_the_next_start() {
    let sandbox = Sandbox::ready();
    let out = sandbox.path("out");
    let out = out.display();
    let filter = format!(
        "sh -c 'cat; [ ! -e {out}/hang ] || {{ echo x >>{out}/hangs; trap : TERM; sleep 1000 & \
        wait; sleep 1000; }}'"
    );
    filter_with(&sandbox, "smudge", &filter);
    sandbox.write("a.stuck", "x\n");
    sandbox.commit("A filter");
    fs::write(sandbox.path("out/hang"), "").unwrap();
    let daemon = sandbox.start();
    let id = sandbox.idea("write b.txt x; say COMPLETE");
    wait_until_git_hangs(&sandbox);
    ends(&daemon, Signal::SIGHUP);
    sandbox.assert_nothing_runs();
    fs::remove_file(sandbox.path("out/hang")).unwrap();
    assert_eq!(sandbox.run_until_idle(), 0);
    let idea = sandbox.show(&id);
    assert_eq!(
        (&idea["status"], &idea["retryCount"]),
        (&json!("done"), &json!(0)),
        "{idea}"
    );
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
}

#[test]
fn stopping_twice() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["stop"]).refused(3, &["nothing to stop"]);
    let daemon = sandbox.start();
    daemon.stop();
    sandbox.swarm(&["stop"]).refused(3, &["nothing to stop"]);
    assert!(sandbox.announced_pid().is_none() || !processes::lives(daemon.pid));
}

#[test]
fn a_user_signal_takes_up_the_configuration() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    let daemon = sandbox.start();
    for _ in 0..2 {
        sandbox.idea("hold both; write $SWARM_IDEA_ID.txt x; say COMPLETE");
    }
    sandbox.wait_status("the first", |status| status["slots"]["used"] == 1);
    sandbox.configure(&json!({"agents": {"maxParallel": 2}}));
    daemon.signal(Signal::SIGUSR1);
    sandbox.wait_status("the second", |status| {
        status["slots"]["used"] == 2 && status["slots"]["max"] == 2
    });
    sandbox.release("both");
    for idea in ["idea-001", "idea-002"] {
        sandbox.wait_idea(idea, "done");
    }
    daemon.stop();
}

#[test]
fn a_daemon_in_the_background() {
    let sandbox = Sandbox::ready();
    let ran = sandbox.swarm(&["start", "--detach"]);
    let pid = sandbox.status()["pid"].as_i64().unwrap();
    assert!(ran.ok().contains(&pid.to_string()), "{ran}");
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.swarm(&["wait", &id]).ok();
    sandbox.swarm(&["stop"]).ok();
    sandbox.assert_nothing_runs();

    fs::write(sandbox.dot_swarm("config.json"), "{\"fly\": 1}").unwrap();
    sandbox.swarm(&["start", "--detach"]).refused(1, &["fly"]);
    sandbox.assert_nothing_runs();
}

/// Until the new daemon has spoken, the state is the dead one's: nothing to do for a semi-automatic
/// one, plenty for this one.
#[test]
fn what_a_killed_daemon_left_is_not_taken_for_the_end_of_the_work() {
    let sandbox = Sandbox::ready();
    for round in 1..=6 {
        sandbox.configure(&json!({"mode": "semi-auto"}));
        let daemon = sandbox.start();
        let id = sandbox.idea("write $SWARM_IDEA_ID.txt x; say COMPLETE");
        daemon.kill();
        sandbox.configure(&json!({"mode": "autopilot"}));
        assert_eq!(sandbox.run_until_idle(), 0);
        assert_eq!(sandbox.idea_status(&id), "done", "in round {round}");
    }
}
