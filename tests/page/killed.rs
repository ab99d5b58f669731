//! The daemon is killed in the middle of an action: the action is done once or not at all, sent
//! again it acts once in all, and the tab recovers with what was typed.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use swarm::crash;

use crate::browser::{self, Browser, ENTER, ESCAPE};
use crate::harness::{Daemon, PATIENCE, Sandbox};
use crate::night;

/// How soon after the daemon answers again a tab must be live again.
const RECOVERY: Duration = Duration::from_secs(2);

/// Whether the page has its stream.
const STREAM: &str = "document.getElementById('stream')?._htmx?.sse";

/// Where the daemon dies: before the action is on disk, or after that but before the answer.
const POINTS: [&str; 2] = ["actor.decided", "actor.durable"];

/// An action by keyboard on a page.
struct Action {
    name: &'static str,
    page: &'static str,
    /// What opens its dialog, if it has one.
    link: Option<&'static str>,
    /// Where [`Action::word`] is typed first, if anywhere.
    field: Option<&'static str>,
    /// What acts.
    button: &'static str,
    /// The event that means that it was done.
    kind: &'static str,
    /// What that event contains.
    mark: &'static str,
}

/// What is typed, where something is.
const WORD: &str = "my-own-word";

const ACTIONS: &[Action] = &[
    Action {
        name: "add",
        page: "ideas/add",
        link: None,
        field: Some("main textarea[name=text]"),
        button: "main button.pri",
        kind: "ideaAdded",
        mark: WORD,
    },
    Action {
        name: "say",
        page: "agents/ed-003",
        link: None,
        field: Some("#say"),
        button: "form[action$='do/say/ed-003'] button",
        kind: "messageQueued",
        mark: WORD,
    },
    Action {
        name: "approve",
        page: "ideas/idea-001?tab=changes",
        link: None,
        field: None,
        button: "#review form[action$='do/approve/idea-001'] button",
        kind: "mergeApproved",
        mark: "idea-001",
    },
    Action {
        name: "reject",
        page: "ideas/idea-002?tab=changes",
        link: Some("#review a[data-dialog][href$='do/reject/idea-002']"),
        field: Some("dialog #why"),
        button: "dialog button.pri",
        kind: "mergeRejected",
        mark: "idea-002",
    },
    Action {
        name: "cancel",
        page: "ideas/idea-004",
        link: Some("main a[data-dialog][href$='do/cancel/idea-004']"),
        field: None,
        button: "dialog button.danger",
        kind: "ideaCancelled",
        mark: "idea-004",
    },
    Action {
        name: "checkpoint",
        page: "checkpoints",
        link: Some("main a[data-dialog][href$='do/checkpoint']"),
        field: Some("dialog #checkpoint-name"),
        button: "dialog button.pri",
        kind: "checkpointMade",
        mark: WORD,
    },
    Action {
        name: "pause",
        page: "train",
        link: Some("header a[data-dialog][href$='do/pause']"),
        field: Some("dialog #why"),
        button: "dialog button.pri",
        kind: "pauseSet",
        mark: WORD,
    },
    Action {
        name: "rollback",
        page: "checkpoints",
        link: Some("a[data-dialog][href$='do/rollback/base']"),
        field: None,
        button: "dialog button.danger",
        kind: "rolledBack",
        mark: "base",
    },
];

/// The same swarm, killed again and again.
struct Stage<'a, 'b> {
    sandbox: &'a Sandbox,
    browser: &'b Browser<'a>,
}

#[test]
fn an_action_that_a_kill_cuts_off_is_done_once_or_refused_and_the_tab_recovers() {
    if browser::is_missing() {
        return;
    }
    let mut slowest = Duration::ZERO;
    for point in POINTS {
        let sandbox = Sandbox::ready();
        sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
        let mut daemon = start(&sandbox, point);
        prepare(&sandbox);
        let browser = Browser::open(&sandbox);
        let stage = Stage {
            sandbox: &sandbox,
            browser: &browser,
        };
        for action in ACTIONS {
            eprintln!("{} at {point}", action.name);
            let took;
            (daemon, took) = stage.cut_off(action, point, daemon);
            slowest = slowest.max(took);
        }
        drop(browser);
        sandbox.release("work");
        daemon.stop();
        sandbox.assert_log_sound();
    }
    println!("the tab was live again at most {slowest:?} after the daemon");
}

#[test]
fn whoever_types_when_the_daemon_goes_away_types_on_and_the_page_stays() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea("hold work; say COMPLETE");
    sandbox.wait_held("work");
    let browser = Browser::open(&sandbox);
    browser.go("agents/ed-001");
    browser.wait("the stream", STREAM);
    browser.tab_to("#say");
    browser.keys("one ");
    daemon.kill();
    drop(daemon);
    browser.wait_text("No answer since");
    browser.keys("two ");
    let daemon = sandbox.start();
    let is_back = "document.getElementById('gone').hidden";
    browser.wait("the tab to be live again", is_back);
    browser.keys("three");
    let typed = browser.run("return document.getElementById('say').value");
    assert_eq!(typed, json!("one two three"));

    // A dialog that cannot be fetched does not lead away from the page.
    daemon.kill();
    drop(daemon);
    browser.wait_text("No answer since");
    browser.tab_to("header a[data-palette]");
    browser.keys("i");
    browser.wait_text("The daemon does not answer");
    browser.keys(ESCAPE);
    let is_closed = "!document.querySelector('dialog[open]')";
    browser.wait("the end of the dialog", is_closed);
    assert_eq!(
        browser.run("return document.getElementById('say').value"),
        typed
    );
    let daemon = sandbox.start();
    browser.wait("the tab to be live again", is_back);
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

/// Starts a daemon that dies at this point once [`arm`] was called.
fn start<'a>(sandbox: &'a Sandbox, point: &str) -> Daemon<'a> {
    let once = sandbox.path("out/died");
    fs::write(&once, "").unwrap();
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(crash::VARIABLE, point).env(crash::ONCE, once);
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    daemon
}

fn arm(sandbox: &Sandbox) {
    fs::remove_file(sandbox.path("out/died")).unwrap();
}

/// An agent at work in the only slot, work that waits for review, a checkpoint.
fn prepare(sandbox: &Sandbox) {
    for name in ["a", "b"] {
        let doing = format!("write {name}.txt {name}; commit; say COMPLETE");
        let id = sandbox.idea_with(&doing, &["--review"]);
        sandbox.wait_idea(&id, "merging");
    }
    sandbox.swarm(&["checkpoint", "create", "base"]).ok();
    sandbox.idea("hold work; say COMPLETE");
    sandbox.wait_held("work");
    sandbox.idea("say COMPLETE");
}

impl<'a> Stage<'a, '_> {
    /// Kills the daemon in the middle of the action, starts another, and sends the same form once
    /// more; the new daemon, and how long the tab took to be live again.
    fn cut_off(&self, action: &Action, point: &str, daemon: Daemon<'_>) -> (Daemon<'a>, Duration) {
        let (sandbox, browser) = (self.sandbox, self.browser);
        self.fill_in(action);
        arm(sandbox);
        browser.keys(ENTER);
        assert_eq!(daemon.wait_exit(PATIENCE), 137, "{}", action.name);
        drop(daemon);
        browser.wait_text("No answer since");
        browser.wait("the form to say so", "document.querySelector('.refused')");
        assert!(self.times(action) <= 1, "{}", action.name);

        let daemon = start(sandbox, point);
        let seq = night::last_seq(sandbox);
        let took = self.recovery(action, seq);
        assert!(took < RECOVERY, "{}: {took:?}", action.name);
        self.assert_kept(action);

        browser.keys(ENTER);
        let is_answered = "!window.isOld || document.querySelector('[data-go]') \
             || [...document.querySelectorAll('.refused')] \
                .some((box) => !box.textContent.includes('did not answer')) \
             || document.querySelector('dialog input:invalid')";
        browser.wait("the answer to the repeated form", is_answered);
        sandbox.wait_for(&format!("{} to be done", action.name), || {
            (self.times(action) > 0).then_some(())
        });
        self.settle(action);
        assert_eq!(self.times(action), 1, "{} at {point}", action.name);
        (daemon, took)
    }

    /// How long the tab takes until it shows this event.
    fn recovery(&self, action: &Action, seq: u64) -> Duration {
        let begun = Instant::now();
        loop {
            let [is_gone, shown, stream] = self.state();
            if is_gone == json!(false) && shown.as_u64() >= Some(seq) {
                return begun.elapsed();
            }
            let name = action.name;
            let is_late = begun.elapsed() > PATIENCE;
            assert!(
                !is_late,
                "{name}: gone: {is_gone}, event {shown} of {seq}, {stream}"
            );
        }
    }

    /// Whether the tab says that the daemon is away, the last event that it shows, its stream.
    fn state(&self) -> [Value; 3] {
        let state = self.browser.run(
            "const sse = document.getElementById('stream')?._htmx?.sse; \
            return [!document.getElementById('gone').hidden, \
                Number(document.querySelector('.time input[type=range]').max), \
                sse ? `attempt ${sse.attempt}, event ${sse.lastEventId}` : 'no stream']",
        );
        serde_json::from_value(state).unwrap()
    }

    /// Opens the page and its form, types, and goes to the button that acts.
    fn fill_in(&self, action: &Action) {
        let browser = self.browser;
        browser.go(action.page);
        // The stream is there when the page is live.
        browser.wait("the stream", STREAM);
        if let Some(link) = action.link {
            browser.tab_to(link);
            browser.keys(ENTER);
            browser.wait("the dialog", "document.querySelector('dialog[open]')");
        }
        if let Some(field) = action.field {
            browser.tab_to(field);
            browser.run("document.activeElement.select()");
            browser.keys(WORD);
        }
        browser.tab_to(action.button);
        browser.run("window.isOld = true");
    }

    fn assert_kept(&self, action: &Action) {
        let Some(field) = action.field else {
            return;
        };
        let script = "return document.querySelector(arguments[0])?.value";
        let typed = self.browser.run_with(script, vec![json!(field)]);
        assert_eq!(typed, json!(WORD), "{}", action.name);
    }

    /// How often the log says that it was done.
    fn times(&self, action: &Action) -> usize {
        let all = self.sandbox.logged(action.kind);
        let its = |data: &Value| data.to_string().contains(action.mark);
        all.iter().filter(|event| its(&event.data)).count()
    }

    /// Waits until nothing more comes of it by itself, so that it is not killed in its place.
    fn settle(&self, action: &Action) {
        match action.name {
            "approve" => drop(self.sandbox.wait_idea("idea-001", "done")),
            "rollback" => drop(
                self.sandbox
                    .wait_status("the end of the rollback", |status| {
                        status["phase"] == "paused"
                    }),
            ),
            _ => {}
        }
    }
}
