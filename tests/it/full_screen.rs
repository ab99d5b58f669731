//! The full-screen view of `start`, `attach` and `status --watch` on a terminal.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::harness::{Sandbox, Screen};

/// An agent that asks, in wide characters.
const ASKS: &str = "say 'NEEDS_HUMAN:Which port? 漢字漢字 and more words, so that it is far longer \
    than a narrow terminal is wide'";

/// An idea whose text would clear the screen and leave it.
const HOSTILE: &str = "\x1b[2J\x1b[?1049l漢字 title\n\nDO: hold it; write a.txt x; say COMPLETE";

fn pid(number: i64) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap())
}

/// With one idea that asks, one that failed, one at work and many that wait.
fn busy() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 3}}));
    sandbox.idea(ASKS);
    sandbox.idea("say BLOCKED:no database");
    sandbox.swarm(&["idea", "add", HOSTILE]).ok();
    for number in 4..=30 {
        let text = format!("Idea {number} of a long 漢字漢字漢字漢字漢字漢字漢字漢字 backlog");
        sandbox
            .swarm(&["idea", "add", &text, "--after", "idea-003"])
            .ok();
    }
    sandbox
}

/// Waits until the view shows that backlog.
fn wait_busy(sandbox: &Sandbox, screen: &Screen<'_>) {
    sandbox.wait_held("it");
    screen.wait("the view", Screen::has_view);
    screen.wait_text("Needs you (2)");
    screen.wait_text("asks: Which port?");
}

/// Everything that must be typed is whole, somewhere on the way through the list.
fn commands_are_whole(sandbox: &Sandbox, screen: &Screen<'_>) {
    let status = sandbox.status();
    let needs = status["needsYou"].as_array().unwrap().iter();
    let commands = needs.flat_map(|need| need["commands"].as_array().unwrap());
    let commands: Vec<&str> = commands.map(|command| command.as_str().unwrap()).collect();
    assert!(commands.len() >= 4, "{status}");
    screen.type_keys("g");
    for command in commands {
        while !screen.flat().contains(command) {
            let before = marked(screen);
            screen.type_keys("j");
            screen.wait(&format!("`{command}`, or the next thing"), |screen| {
                screen.flat().contains(command) || marked(screen) != before
            });
        }
    }
    screen.type_keys("g");
}

/// The row of what is selected; empty while that is scrolled away.
fn marked(screen: &Screen<'_>) -> String {
    let mut rows = screen.rows().into_iter();
    rows.find(|row| row.starts_with('>')).unwrap_or_default()
}

/// The header begins the screen, the footer ends it, and hostile text is visible and harmless.
fn fits(screen: &Screen<'_>, height: usize) {
    screen.wait("a whole screen", |screen| {
        let rows = screen.rows();
        rows.len() == height
            && rows[0].starts_with("running · autopilot")
            && rows[height - 1] == "q leave · j k select · Enter open · / filter · ? keys"
            && rows.iter().any(|row| row.starts_with("Log"))
    });
    screen.type_keys("/字 title\r");
    screen.wait_text("only \"字 title\"");
    screen.wait_text("␛[2J␛[?1049l漢字 title…");
    screen.type_keys("\x1b");
    screen.wait_gone("only \"字 title\"");
}

#[test]
fn it_fits_every_size_and_follows_a_resize() {
    let sandbox = busy();
    let daemon = sandbox.start();
    for (columns, rows) in [(60, 20), (100, 30), (200, 50)] {
        let screen = sandbox.on_screen(columns, rows, "swarm attach");
        wait_busy(&sandbox, &screen);
        fits(&screen, usize::from(rows));
        commands_are_whole(&sandbox, &screen);
        for (columns, rows) in [(100, 40), (60, 20), (200, 50)] {
            screen.resize(columns, rows);
            fits(&screen, usize::from(rows));
            commands_are_whole(&sandbox, &screen);
        }
        screen.type_keys("q");
        screen.wait_exit(0);
        screen.close();
    }
    sandbox.release("it");
    sandbox.wait_idea("idea-003", "done");
    sandbox.swarm(&["pause"]).ok();
    daemon.stop();
}

#[test]
fn keys_select_open_filter_and_go_back() {
    let sandbox = busy();
    let daemon = sandbox.start();
    let screen = sandbox.on_screen(100, 30, "swarm status --watch");
    wait_busy(&sandbox, &screen);

    screen.type_keys("\r");
    screen.wait_text("Type in the root of the repository: swarm");
    screen.type_keys("\x1b");
    screen.wait_text("Needs you (2)");

    screen.type_keys("/waiting for you\r");
    screen.wait_text("only \"waiting for you\"");
    screen.wait_gone("Backlog");
    screen.type_keys("\r");
    screen.wait_text("Output of ed-");
    screen.wait_text("NEEDS_HUMAN:Which port?");
    screen.type_keys("q\x1b");
    screen.wait_text("Backlog");

    screen.type_keys("/idea 30 of\rG\r");
    screen.wait_text("Idea idea-030");
    screen.wait_text("after idea-003");
    screen.type_keys("q");
    screen.wait_text("only \"idea 30 of\"");
    screen.type_keys("\x1b");
    screen.wait_gone("only \"idea 30 of\"");

    screen.type_keys("?");
    screen.wait_text("leave the view; the daemon goes on");
    screen.type_keys("q");
    screen.wait_gone("leave the view; the daemon goes on");
    screen.type_keys("l");
    screen.wait_text("Log: what happened");
    screen.type_keys("q");
    screen.wait_text("Needs you (2)");

    screen.type_keys("\x1b[6~");
    screen.wait_text("rows above");
    screen.type_keys("\x1b[5~\x1b[A");
    screen.wait("the first thing to be selected", |screen| {
        marked(screen).starts_with("> ! ed-")
    });
    screen.type_keys("\x03");
    screen.wait_exit(0);
    screen.close();
    sandbox.swarm(&["pause"]).ok();
    sandbox.release("it");
    daemon.stop();
}

#[test]
fn the_output_of_an_agent_is_followed() {
    let sandbox = Sandbox::ready();
    sandbox.idea("echo first words; hold it; echo 'later words'; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    let screen = sandbox.on_screen(80, 24, "swarm attach");
    sandbox.wait_held("it");
    screen.wait_text("Agents (1)");
    screen.type_keys("\r");
    screen.wait_text("first words");
    sandbox.release("it");
    screen.wait_text("later words");
    screen.wait_text("(the output ends here)");
    screen.type_keys("q");
    screen.wait_text("done");
    sandbox.swarm(&["stop"]).ok();
    screen.wait_text("the daemon has stopped");
    screen.wait_exit(0);
    screen.close();
    daemon.wait_exit(crate::harness::PATIENCE);
}

#[test]
fn attach_needs_a_daemon_and_a_terminal() {
    let sandbox = Sandbox::ready();
    sandbox
        .swarm(&["attach"])
        .refused(3, &["no daemon is running", "swarm start"]);
    let daemon = sandbox.start();
    let piped = sandbox.swarm(&["attach"]);
    piped.refused(2, &["needs a terminal", "swarm events -f"]);
    daemon.stop();
}

#[test]
fn start_shows_the_view_and_ctrl_c_ends_both_gracefully() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("hold it; write a.txt x; say COMPLETE");
    let screen = sandbox.on_screen(60, 20, "swarm start");
    sandbox.wait_held("it");
    screen.wait("the view", Screen::has_view);
    screen.wait_text("q Ctrl+C stop");
    screen.type_keys("q");
    screen.wait_text("stop the daemon gracefully?");
    screen.type_keys("n");
    screen.wait_text("q Ctrl+C stop");
    screen.type_keys("\x03");
    screen.wait_text("stopping: waiting up to 1 s for ed-001 (iteration 1 of idea-001)");
    screen.wait_text("[exit 0]");
    screen.wait_exit(0);
    let flat = screen.flat();
    assert!(flat.contains("daemon running (pid"), "{flat}");
    assert!(flat.contains("the daemon has stopped"), "{flat}");
    screen.close();
    assert_eq!(sandbox.idea_status(&id), "pending");
    sandbox.assert_nothing_runs();
    sandbox.assert_log_sound();
}

#[test]
fn a_second_ctrl_c_ends_the_daemon_at_once() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"shutdown": {"graceSeconds": 30}}));
    let id = sandbox.idea("hold it; write a.txt x; say COMPLETE");
    let screen = sandbox.on_screen(60, 20, "swarm start");
    sandbox.wait_held("it");
    screen.wait("the view", Screen::has_view);
    screen.type_keys("qy");
    screen.wait_text("press Ctrl+C again to stop at once");
    assert!(screen.has_view(), "{:?}", screen.rows());
    screen.type_keys("\x03");
    screen.wait_text("interrupted: the daemon stopped at once");
    screen.wait_exit(130);
    screen.close();
    sandbox.release("it");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(sandbox.notes("runs").len(), 1, "the agent was not adopted");
}

#[test]
fn a_summary_is_on_the_normal_screen_and_the_exit_code_is_the_daemons() {
    let sandbox = Sandbox::ready();
    sandbox.idea("hold it; write a.txt x; say COMPLETE");
    sandbox.idea("say BLOCKED:no database");
    let screen = sandbox.on_screen(100, 30, "swarm start --until-idle");
    sandbox.wait_held("it");
    screen.wait("the view", Screen::has_view);
    sandbox.release("it");
    screen.wait_text("landed 1 idea");
    screen.wait_text("did not land: 1 blocked");
    screen.wait_text("swarm idea retry idea-002");
    screen.wait_exit(5);
    screen.close();
}

#[test]
fn ctrl_c_leaves_a_summary_too() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.idea("say BLOCKED:no database");
    let screen = sandbox.on_screen(100, 30, "swarm start");
    screen.wait("the view", Screen::has_view);
    sandbox.wait_idea(&id, "done");
    sandbox.wait_idea("idea-002", "blocked");
    screen.type_keys("\x03");
    screen.wait_text("landed 1 idea");
    screen.wait_text("did not land: 1 blocked");
    screen.wait_text("swarm idea retry idea-002");
    screen.wait_exit(0);
    screen.close();
}

#[test]
fn a_daemon_that_cannot_start_says_so_with_its_exit_code() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"profiles": {"ed": {"command": ["no-such-agent"]}}}}));
    let screen = sandbox.on_screen(100, 30, "swarm start");
    screen.wait_text("no-such-agent");
    screen.wait_exit(4);
    screen.close();
}

#[test]
fn the_terminal_is_restored_after_kill_9_of_the_daemon() {
    let sandbox = Sandbox::ready();
    let screen = sandbox.on_screen(60, 20, "swarm start");
    screen.wait("the view", Screen::has_view);
    let daemon = sandbox.wait_for("the daemon", || sandbox.announced_pid());
    kill(pid(daemon), Signal::SIGKILL).unwrap();
    screen.wait_text("the daemon was killed by SIGKILL");
    screen.wait_text("swarm start");
    screen.wait_exit(1);
    screen.close();
    let warning = sandbox.warnings().remove(0);
    assert_eq!(
        (&warning["kind"], &warning["commands"]),
        (&json!("daemon"), &json!(["swarm start"]))
    );
    let message = warning["message"].as_str().unwrap();
    assert!(
        message.contains(&format!("(pid {daemon}) was killed")),
        "{message}"
    );
    let said = sandbox.swarm(&["status"]);
    assert!(said.ok().contains(message), "{said}");
    let daemon = sandbox.start();
    assert_eq!(sandbox.warnings(), [json!(null); 0]);
    let screen = sandbox.on_screen(60, 20, "swarm attach");
    screen.wait("the view", Screen::has_view);
    screen.wait_text("running · autopilot");
    daemon.kill();
    screen.wait_exit(1);
    screen.close();
}

/// The process that shows the view, from the daemon below it.
fn parent_of(process: i64) -> i64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.clone().nth(1).unwrap().parse().unwrap()
}

#[test]
fn the_terminal_is_restored_after_kill_9_of_the_view_and_the_daemon_ends_gracefully() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("hold it; write a.txt x; say COMPLETE");
    let screen = sandbox.on_screen(60, 20, "swarm start");
    sandbox.wait_held("it");
    screen.wait("the view", Screen::has_view);
    let daemon = sandbox.wait_for("the daemon", || sandbox.announced_pid());
    kill(pid(parent_of(daemon)), Signal::SIGKILL).unwrap();
    screen.wait("the terminal to be restored", Screen::is_restored);
    // The shell may say so before the view's screen is left.
    screen.wait_written("[exit 137]");
    screen.close();
    sandbox.assert_nothing_runs();
    assert_eq!(sandbox.idea_status(&id), "pending");
    let ended = sandbox.logged("phaseChanged");
    assert_eq!(ended.last().unwrap().data["phase"], "stopped");
}

#[test]
fn a_signal_to_the_view_is_passed_on_once() {
    for (signal, code) in [
        (Signal::SIGTERM, 0),
        (Signal::SIGINT, 0),
        (Signal::SIGHUP, 0),
    ] {
        let sandbox = Sandbox::ready();
        let screen = sandbox.on_screen(60, 20, "swarm start");
        screen.wait("the view", Screen::has_view);
        let daemon = sandbox.wait_for("the daemon", || sandbox.announced_pid());
        kill(pid(parent_of(daemon)), signal).unwrap();
        screen.wait_exit(code);
        screen.close();
        sandbox.assert_nothing_runs();
    }
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    let sandbox = Sandbox::ready();
    sandbox.idea("hold it; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    let script = "set -m; swarm attach; echo \"[stopped $?]\"; read line; fg; echo \"[exit $?]\"; \
        read line";
    let screen = sandbox.on_screen_of("bash", 80, 24, script);
    screen.wait("the view", Screen::has_view);
    screen.wait_text("Agents (1)");
    screen.type_keys("\x1a");
    screen.wait_text("[stopped 147]");
    assert!(screen.is_restored(), "{:?}", screen.rows());
    screen.type_keys("\n");
    screen.wait("the view again", Screen::has_view);
    screen.wait_text("Agents (1)");
    screen.type_keys("q");
    screen.wait_exit(0);
    screen.close();
    sandbox.release("it");
    daemon.stop();
}

#[test]
fn plain_quiet_and_piped_starts_print_lines() {
    for line in [
        "swarm start --plain --until-idle",
        "swarm start --until-idle -v",
        "swarm start --until-idle 2>&1 | cat",
        "TERM=dumb swarm start --until-idle",
    ] {
        let sandbox = Sandbox::ready();
        sandbox.idea("write a.txt x; say COMPLETE");
        let screen = sandbox.on_screen(100, 30, line);
        screen.wait_text("daemon running (pid");
        screen.wait_text("idea-001 landed");
        screen.wait_exit(0);
        screen.close();
    }
}

#[test]
fn without_colours_nothing_is_styled() {
    let sandbox = busy();
    let daemon = sandbox.start();
    for (line, styled) in [
        ("NO_COLOR=1 swarm attach", false),
        ("swarm attach --color never", false),
        ("NO_COLOR=1 swarm attach --color always", true),
    ] {
        let screen = sandbox.on_screen(100, 30, line);
        wait_busy(&sandbox, &screen);
        assert_eq!(screen.is_styled(), styled, "{line}");
        screen.type_keys("q");
        screen.wait_exit(0);
        screen.close();
    }
    sandbox.swarm(&["pause"]).ok();
    sandbox.release("it");
    daemon.stop();
}
