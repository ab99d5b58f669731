//! The page that `swarm demo` opens, when the demo is over.

use serde_json::json;

use crate::browser::{self, Browser};
use crate::harness::{PATIENCE, Sandbox, required_tools};

#[test]
fn the_page_of_a_demo_that_is_over_says_so_and_asks_no_more() {
    if browser::is_missing() || required_tools::are_missing(&["script"]) {
        return;
    }
    let sandbox = Sandbox::empty();
    let mut browser = Browser::start(&sandbox);
    // Without a terminal the demo has no page.
    let program = env!("CARGO_BIN_EXE_swarm");
    let demo = format!("{program} demo --no-open --ideas 2");
    let mut command = sandbox.command("script");
    command.args(["--quiet", "--return", "--command", &demo, "/dev/null"]);
    command
        .env("TERM", "xterm")
        .current_dir(sandbox.path("home"));
    let daemon = sandbox.spawn(command);
    let link = sandbox.wait_for("the link to the page", || {
        let told = daemon.output();
        let (_, link) = told.split_once("http://127.0.0.1:")?;
        let (link, _) = link.split_once(['\r', '\n', ' ', '\u{1b}'])?;
        Some(format!("http://127.0.0.1:{link}"))
    });
    browser.enter(&link);
    browser.wait(
        "the stream",
        "document.getElementById('stream')?._htmx?.sse",
    );
    assert_eq!(daemon.wait_exit(PATIENCE), 0, "{}", daemon.output());
    browser.wait_text("The demo is over.");
    for words in ["swarm demo --keep", "swarm init", "swarm start"] {
        browser.wait_text(words);
    }
    assert!(
        !browser.text().contains("No answer since"),
        "{}",
        browser.text()
    );
    let left = browser.run(
        "return [document.getElementById('stream'), \
        [...document.querySelectorAll('a[href^=\"/\"]')].filter((link) => !link.inert).length, \
        document.querySelector('#demo-over button').inert]",
    );
    assert_eq!(left, json!([null, 0, false]));
    drop(browser);
    sandbox.assert_nothing_runs();
}
