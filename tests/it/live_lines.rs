//! What `swarm start --plain` leaves on a terminal.

use std::num::NonZero;

use serde_json::json;
use vt100::Parser;

use crate::harness::{Sandbox, Terminal};

const COLUMNS: u16 = 60;
const ROWS: u16 = 20;

#[test]
fn an_interrupted_start_leaves_only_whole_lines_on_the_terminal() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"shutdown": {"graceSeconds": 1}}));
    sandbox.idea("hold it; write a.txt x; say COMPLETE");
    let terminal = Terminal::of_size(COLUMNS, ROWS);
    let mut command = sandbox.swarm_command(&["start", "--plain"]);
    command.env("TERM", "xterm");
    let mut daemon = terminal.start(&command);
    let mut screen = Parser::new(
        NonZero::new(ROWS).unwrap(),
        NonZero::new(COLUMNS).unwrap(),
        0,
    );
    let mut bytes = Vec::new();
    let mut read = |terminal: &Terminal, screen: &mut Parser| {
        let new = terminal.take_output();
        screen.process(&new);
        bytes.extend(new);
        screen.screen().contents()
    };
    sandbox.wait_for("the agent's line", || {
        let shown = read(&terminal, &mut screen);
        shown.contains("starts iteration 1").then_some(())
    });
    terminal.type_in("\u{3}");
    let status = sandbox.wait_for("the daemon to end", || {
        read(&terminal, &mut screen);
        daemon.try_wait().unwrap()
    });
    let shown = read(&terminal, &mut screen);
    assert_eq!(status.code(), Some(0), "{shown}");
    let last = shown.trim_end().lines().last().unwrap();
    assert!(last.ends_with("the daemon has stopped"), "{shown}");
    // A line that is filled up with spaces cannot be copied or read by another program.
    let padding = " ".repeat(30);
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains(&padding), "{text:?}");
    sandbox.assert_nothing_runs();
}
