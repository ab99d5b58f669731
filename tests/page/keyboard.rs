//! The page by keyboard alone: no click, and no focus that a script of the test sets.

use serde_json::{Value, json};

use crate::browser::{self, Browser, ENTER, ESCAPE, TAB};
use crate::harness::Sandbox;
use crate::night;

/// The button that leaves everything as it is.
const SAFE: &str = "dialog[open] [data-close]";

/// Pages on which the Tab key must reach everything.
const PAGES: &[&str] = &[
    "",
    "ideas",
    "ideas/idea-004?tab=changes",
    "agents/ed-006",
    "train",
    "timeline",
    "checkpoints",
    "report",
    "settings",
];

#[test]
fn what_matters_most_is_done_by_keyboard_and_the_focus_returns() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = night::evening(&sandbox);
    let browser = Browser::open(&sandbox);
    answer(&sandbox, &browser);
    approve(&sandbox, &browser);
    reject(&sandbox, &browser);
    redirect(&sandbox, &browser);
    roll_back(&sandbox, &browser);
    undo(&sandbox, &browser);
    browser.go("settings");
    browser.tab_to("button[name=theme][value=dark]");
    act(&browser);
    assert!(browser.has("html[data-theme=dark]"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

#[test]
fn the_tab_key_reaches_everything_and_is_trapped_nowhere() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = night::evening(&sandbox);
    let browser = Browser::open(&sandbox);
    // Low, so that the bars lie over much of each page.
    browser.look(1000, 480, false);
    for page in PAGES {
        browser.go(page);
        let missed = missed_by_tab(&browser);
        assert_eq!(missed, json!([]), "not reached on /{page}");
    }
    browser.look(1440, 900, false);
    browser.go("agents/ed-006");
    for path in ["do/intervene/ed-006", "do/redirect/ed-006", "do/checkpoint"] {
        let link = format!("a[data-dialog][href$='{path}']");
        open(&browser, &link);
        let missed = missed_by_tab(&browser);
        assert_eq!(missed, json!([]), "not reached in {path}");
        leave(&browser, &link);
    }
    // What has the focus may go away with a live update: the focus stays near.
    let link = "a[data-dialog][href$='do/stop-agent/ed-006']";
    browser.tab_to(link);
    sandbox.swarm(&["agent", "stop", "ed-006"]).ok();
    let is_gone = format!("!document.querySelector({})", json!(link));
    browser.wait("the link to go", &is_gone);
    let is_near = "document.activeElement.closest('#f-agent-head')";
    browser.wait("the focus near the link", is_near);
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

/// Goes through the page, or the open dialog, until an element comes a second time; what was never
/// reached, or lay under a bar when it was.
fn missed_by_tab(browser: &Browser<'_>) -> Value {
    browser.run("window.reached = new Set(); window.covered = []");
    // Bars lie over the page, never over what has the focus.
    let step = "const now = document.activeElement; \
        if (now === document.body) return false; \
        const is = reached.has(now); reached.add(now); \
        const {left, top, width, height} = now.getBoundingClientRect(); \
        const shown = document.elementFromPoint(left + width / 2, top + height / 2); \
        const bar = shown?.closest('header.top, footer.time, .bulk, .skip'); \
        if (bar && !bar.contains(now) && !now.matches('.vh, .skip')) \
            covered.push(now.outerHTML.slice(0, 200)); \
        return is";
    for _ in 0..300 {
        browser.keys(TAB);
        if browser.run(step) == json!(true) {
            break;
        }
    }
    browser.run(
        "const room = document.querySelector('dialog[open]') ?? document.body; \
        const all = room.querySelectorAll('a[href], button, textarea, select, summary, \
            input:not([type=hidden]):not([type=radio])'); \
        return [...all].filter((one) => one.tabIndex >= 0 && !one.disabled \
            && !one.closest('[inert]') && one.checkVisibility({visibilityProperty: true}) \
            && !reached.has(one)) \
            .map((one) => one.outerHTML.slice(0, 200)) \
            .concat(covered.map((one) => `covered: ${one}`))",
    )
}

/// Opens a dialog with Enter on its link; the focus goes into it.
fn open(browser: &Browser<'_>, link: &str) {
    browser.tab_to(link);
    browser.keys(ENTER);
    let inside = "document.querySelector('dialog[open]')?.contains(document.activeElement)";
    browser.wait(&format!("the dialog of {link}"), inside);
}

/// Leaves the dialog with Escape; the focus returns to the link.
fn leave(browser: &Browser<'_>, link: &str) {
    browser.keys(ESCAPE);
    let is_back = format!("document.activeElement.matches({})", json!(link));
    browser.wait(&format!("the focus on {link}"), &is_back);
    assert!(!browser.has("dialog[open]"));
}

fn assert_focus(browser: &Browser<'_>, selector: &str) {
    let script = "const now = document.activeElement; \
        return now.matches(arguments[0]) ? null : now.outerHTML.slice(0, 300)";
    let other = browser.run_with(script, vec![json!(selector)]);
    assert_eq!(other, Value::Null, "not on {selector}");
}

/// Does what the focus is on, and waits until the page is drawn anew with the focus in its text.
fn act(browser: &Browser<'_>) {
    browser.run("window.isOld = true");
    browser.keys(ENTER);
    browser.wait("the page after the action", "!window.isOld && window.swarm");
    let inside = "document.getElementById('main').contains(document.activeElement)";
    browser.wait("the focus in the page", inside);
    assert!(!browser.has("dialog[open]"));
}

fn wait_logged(sandbox: &Sandbox, kind: &str, count: usize) {
    sandbox.wait_for(&format!("{count} {kind}"), || {
        (sandbox.logged(kind).len() == count).then_some(())
    });
}

fn answer(sandbox: &Sandbox, browser: &Browser<'_>) {
    browser.go("");
    browser.tab_to("[id^=answer-ed-005]");
    browser.keys("Blue");
    act(browser);
    wait_logged(sandbox, "messageQueued", 1);
    assert_eq!(sandbox.logged("messageQueued")[0].data["text"], "Blue");
}

fn approve(sandbox: &Sandbox, browser: &Browser<'_>) {
    browser.go("ideas/idea-003?tab=changes");
    browser.tab_to("form[action$='do/approve/idea-003'] button");
    act(browser);
    sandbox.wait_idea("idea-003", "done");
}

fn reject(sandbox: &Sandbox, browser: &Browser<'_>) {
    let link = "a[data-dialog][href$='do/reject/idea-004']";
    browser.go("");
    open(browser, link);
    // What must be filled in comes first.
    assert_focus(browser, "dialog #why");
    leave(browser, link);
    open(browser, link);
    browser.keys("Name it better");
    browser.tab_to("dialog button.pri");
    act(browser);
    wait_logged(sandbox, "mergeRejected", 1);
}

fn redirect(sandbox: &Sandbox, browser: &Browser<'_>) {
    let link = "a[data-dialog][href$='do/redirect/ed-006']";
    browser.go("agents/ed-006");
    // The sheet with all actions opens with a single key, and leaves the focus where it was.
    browser.tab_to("#say");
    browser.keys(TAB);
    browser.keys("i");
    let sheet = "document.querySelector('dialog[open]')?.contains(document.activeElement)";
    browser.wait("the sheet", sheet);
    browser.keys(ESCAPE);
    browser.wait(
        "the end of the sheet",
        "!document.querySelector('dialog[open]')",
    );
    assert_focus(browser, "form[action$='do/say/ed-006'] button");
    open(browser, link);
    assert_focus(browser, SAFE);
    browser.keys(ENTER);
    let is_back = format!("document.activeElement.matches({})", json!(link));
    browser.wait("the focus on the link", &is_back);
    open(browser, link);
    browser.tab_to("dialog button.danger");
    act(browser);
    wait_logged(sandbox, "agentRedirected", 1);
    // The dialog of a rollback is refused if what it shows changes: the others come to rest first.
    sandbox.wait_idea("idea-004", "merging");
    sandbox.wait_idea("idea-005", "done");
    sandbox.wait_idea("idea-007", "done");
    sandbox.wait_for("ed-006's idea to be at work again", || {
        let runs = sandbox.logged("iterationStarted");
        let is_last = runs.last().unwrap().data["agent"] == "ed-008";
        (is_last && sandbox.show("idea-006")["status"] == "active").then_some(())
    });
}

fn roll_back(sandbox: &Sandbox, browser: &Browser<'_>) {
    let link = "a[data-dialog][href$='do/rollback/base']";
    browser.go("checkpoints");
    open(browser, link);
    assert_focus(browser, SAFE);
    leave(browser, link);
    open(browser, link);
    browser.tab_to("dialog button.danger");
    act(browser);
    wait_logged(sandbox, "rolledBack", 1);
    assert_eq!(sandbox.idea_status("idea-002"), "pending");
}

fn undo(sandbox: &Sandbox, browser: &Browser<'_>) {
    browser.go("checkpoints");
    let link = "a[data-dialog][href$='do/undo']";
    browser.wait_text("1 rollback in effect");
    open(browser, link);
    assert_focus(browser, SAFE);
    browser.tab_to("dialog button.danger");
    act(browser);
    wait_logged(sandbox, "rolledBack", 2);
    assert_eq!(sandbox.idea_status("idea-002"), "done");
}
