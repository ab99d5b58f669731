//! The page without script: every page can be read, and every action is a form or a page with one.

use serde_json::{Value, json};

use crate::browser::{self, Browser};
use crate::harness::Sandbox;
use crate::night;
use crate::views::PAGES;

/// A browser that is signed in and runs no script of a page.
fn without_script(sandbox: &Sandbox) -> Browser<'_> {
    let browser = Browser::open(sandbox);
    // High enough that the driver never clicks on the time bar, which lies over the page.
    browser.look(1200, 2000, false);
    browser.devtools(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": true}),
    );
    browser.go("");
    assert_eq!(
        browser.run("return typeof window.swarm"),
        json!("undefined")
    );
    browser
}

#[test]
fn every_page_can_be_read_without_script() {
    if browser::is_missing() {
        return;
    }
    let sandbox = night::sandbox();
    let daemon = night::play(&sandbox);
    let browser = without_script(&sandbox);
    for page in PAGES {
        browser.go(page);
        let heading = browser.run("return document.querySelector('main h1')?.innerText");
        let heading = heading.as_str().unwrap_or_default();
        assert!(!heading.is_empty(), "/{page}: {}", browser.text());
        assert_ne!(heading, "Not done", "/{page}");
        // What only the script could fill, or show, must not be there.
        let empty = browser.run(
            "return [...document.querySelectorAll('main section, main .card, main table')] \
                .filter((one) => one.checkVisibility() && !one.innerText.trim() \
                    && !one.querySelector('svg, input, textarea, select')) \
                .map((one) => one.outerHTML.slice(0, 200))",
        );
        assert_eq!(empty, json!([]), "/{page}");
    }
    // Every page, and the search, can be reached by links.
    browser.go("");
    press(&browser, "header a[data-palette]");
    browser.fill("main input[name=q]", "idea-003");
    browser.keys(browser::ENTER);
    browser.wait(
        "what was found",
        "document.querySelector('main a[href*=\"ideas/idea-003\"]')",
    );
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

#[test]
fn everything_can_be_done_without_script() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = night::evening(&sandbox);
    let browser = without_script(&sandbox);
    pause_and_resume(&sandbox, &browser);
    ideas(&sandbox, &browser);
    reviews(&sandbox, &browser);
    agents(&sandbox, &browser);
    checkpoints(&sandbox, &browser);
    preferences(&browser);
    assert_eq!(
        browser.run("return typeof window.swarm"),
        json!("undefined")
    );
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

/// Clicks on what leads to another page, and waits for that.
fn press(browser: &Browser<'_>, selector: &str) {
    browser.run("window.isOld = true");
    browser.click(selector);
    browser.wait(
        "the next page",
        "!window.isOld && document.readyState === 'complete'",
    );
}

/// Confirms a rollback, the swarm's `count`th; again where an agent has done something since the
/// dialog was drawn, because then it comes anew.
fn confirm(sandbox: &Sandbox, browser: &Browser<'_>, button: &str, count: usize) {
    sandbox.wait_for("the rollback", || {
        let asks = format!("return Boolean(document.querySelector({}))", json!(button));
        if browser.run(&asks) == json!(true) {
            press(browser, button);
        }
        (sandbox.logged("rolledBack").len() == count).then_some(())
    });
}

/// The address below the pages' path.
fn place(browser: &Browser<'_>) -> String {
    let path = browser.run("return location.href.slice(location.origin.length)");
    let path = path.as_str().unwrap();
    // `/s/RANDOM/`
    path.splitn(4, '/').nth(3).unwrap().to_owned()
}

fn data(sandbox: &Sandbox, kind: &str) -> Value {
    sandbox.wait_for(kind, || {
        let all = sandbox.logged(kind);
        all.last().map(|event| event.data.clone())
    })
}

fn pause_and_resume(sandbox: &Sandbox, browser: &Browser<'_>) {
    browser.go("train");
    press(browser, "header a[href$='do/pause']");
    browser.fill("main #why", "it is late");
    press(browser, "main button.pri");
    browser.wait_text("it is late");
    assert_eq!(place(browser), "train");
    assert_eq!(data(sandbox, "pauseSet")["reason"], "it is late");
    press(browser, "header form[action$='do/resume'] button");
    browser.wait(
        "the end of the pause",
        "document.querySelector('header a[href$=\"do/pause\"]')",
    );
    data(sandbox, "pauseLifted");
}

fn ideas(sandbox: &Sandbox, browser: &Browser<'_>) {
    browser.go("ideas");
    press(browser, "header a[href$='ideas/add']");
    browser.fill("main #text", "A page with the hours\n\nDO: say COMPLETE");
    press(browser, "main button.pri");
    browser.wait_text("A page with the hours");
    assert_eq!(place(browser), "ideas/idea-008");
    press(browser, "form[action$='do/hold/idea-008'] button");
    press(browser, "form[action$='do/unhold/idea-008'] button");
    data(sandbox, "ideaUnheld");
    press(browser, "main a[href$='do/edit/idea-008']");
    browser.fill("main #priority", "7");
    press(browser, "main button.pri");
    sandbox.wait_for("the new priority", || {
        (sandbox.show("idea-008")["priority"] == json!(7)).then_some(())
    });
    browser.go("ideas/idea-008");
    press(browser, "main a[href$='do/cancel/idea-008']");
    // What leaves everything as it is leads back.
    press(browser, "main [data-close]");
    browser.wait_text("A page with the hours");
    press(browser, "main a[href$='do/cancel/idea-008']");
    press(browser, "main button.danger");
    sandbox.wait_idea("idea-008", "cancelled");
    // The same for several at once.
    browser.go("ideas");
    browser.click("#pick-idea-007");
    press(browser, "form[action$='do/bulk'] button[value=hold]");
    sandbox.wait_for("idea-007 to be held", || {
        (sandbox.show("idea-007")["held"] == json!(true)).then_some(())
    });
    sandbox.swarm(&["idea", "unhold", "idea-007"]).ok();
}

fn reviews(sandbox: &Sandbox, browser: &Browser<'_>) {
    browser.go("ideas/idea-003?tab=changes");
    press(browser, "form[action$='do/approve/idea-003'] button");
    sandbox.wait_idea("idea-003", "done");
    browser.go("ideas/idea-004?tab=changes");
    press(browser, "#review a[href$='do/reject/idea-004']");
    browser.fill("main #why", "Name it better\nand say why");
    press(browser, "main button.pri");
    let why = data(sandbox, "mergeRejected");
    assert_eq!(why["why"], "Name it better\nand say why", "{why}");
    browser.wait(
        "the way back",
        "location.pathname.endsWith('ideas/idea-004')",
    );
}

fn agents(sandbox: &Sandbox, browser: &Browser<'_>) {
    browser.go("");
    browser.fill("[id^=answer-ed-005]", "Blue");
    press(browser, "form[action$='do/say/ed-005'] button");
    assert_eq!(data(sandbox, "messageQueued")["text"], "Blue");
    browser.go("agents/ed-006");
    browser.fill("#say", "Leave the footer alone");
    press(browser, "form[action$='do/say/ed-006'] button");
    sandbox.wait_for("the message", || {
        (data(sandbox, "messageQueued")["text"] == "Leave the footer alone").then_some(())
    });
    press(browser, "main a[href$='do/intervene/ed-006']");
    press(browser, "main a[href$='do/redirect/ed-006']");
    press(browser, "main button.danger");
    assert_eq!(data(sandbox, "agentRedirected")["agent"], "ed-006");
}

fn checkpoints(sandbox: &Sandbox, browser: &Browser<'_>) {
    browser.go("checkpoints");
    press(browser, "main a[href$='do/checkpoint']");
    browser.fill("main #checkpoint-name", "by-hand");
    press(browser, "main button.pri");
    browser.wait(
        "the checkpoint",
        "document.getElementById('checkpoint-by-hand')",
    );
    press(browser, "a[href$='do/rollback/base']");
    confirm(
        sandbox,
        browser,
        "form[action$='do/rollback/base'] button.danger",
        1,
    );
    assert_eq!(sandbox.idea_status("idea-003"), "pending");
    browser.go("checkpoints");
    press(browser, "a[href$='do/undo']");
    confirm(sandbox, browser, "form[action$='do/undo'] button.danger", 2);
    sandbox.wait_for("the undo", || {
        (sandbox.logged("rolledBack").len() == 2).then_some(())
    });
    assert_eq!(sandbox.idea_status("idea-003"), "done");
    browser.go("checkpoints");
    press(browser, "a[href$='do/checkpoint-delete/by-hand']");
    press(browser, "main button.danger");
    browser.wait(
        "it to be gone",
        "!document.getElementById('checkpoint-by-hand')",
    );
}

fn preferences(browser: &Browser<'_>) {
    browser.go("settings");
    press(browser, "button[name=theme][value=dark]");
    browser.wait(
        "the dark theme",
        "document.documentElement.dataset.theme === 'dark'",
    );
}
