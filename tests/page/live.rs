//! Live pages while much happens: what a person types, selects, reads, opened and focused stays as
//! it is, and each event soon reaches the screen.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::browser::{self, Browser, ESCAPE};
use crate::harness::{Daemon, Sandbox};
use crate::night;

/// Events that happen on each page, half of them while somebody types.
const EVENTS: usize = 1_000;

/// Ideas that are held and released, again and again.
const IDEAS: usize = 60;

/// What somebody types.
const TEXT: &str = "what a person types";

/// The agent that prints lines all the time.
const TALKING: &str = ": >\"$OUT/work.here\"; n=0; while [ ! -e \"$OUT/work.go\" ]; do n=$((n+1)); \
     echo \"line $n\"; sleep 0.05; done; say COMPLETE";

/// A page, and where something is typed on it.
struct Live {
    page: &'static str,
    /// Opens the dialog with the field, if it is in one.
    link: Option<&'static str>,
    field: &'static str,
}

/// Pages with something to open.
const FOLDED: [&str; 4] = [
    "",
    "ideas/idea-002?tab=changes",
    "ideas/idea-002?tab=history",
    "report",
];

const PAUSE: Option<&str> = Some("header a[data-dialog][href$='do/pause']");

const PAGES: &[Live] = &[
    Live {
        page: "",
        link: None,
        field: "[id^=answer-ed-004]",
    },
    Live {
        page: "ideas",
        link: None,
        field: "form.filters input[name=q]",
    },
    Live {
        page: "ideas/idea-002?tab=changes",
        link: Some("#review a[data-dialog][href$='do/reject/idea-002']"),
        field: "dialog #why",
    },
    Live {
        page: "agents/ed-005",
        link: None,
        field: "#say",
    },
    Live {
        page: "train",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "timeline",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "checkpoints",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "report",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "ideas/add",
        link: None,
        field: "main #text",
    },
    Live {
        page: "ideas/graph",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "ideas/idea-002?tab=history",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "agents",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "cost",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "hooks",
        link: PAUSE,
        field: "dialog #why",
    },
    Live {
        page: "settings",
        link: PAUSE,
        field: "dialog #why",
    },
];

/// idea-001 has landed, idea-002 waits for review, idea-003 is blocked, ed-004 asks, ed-005 talks;
/// many ideas wait for idea-005.
fn busy_night(sandbox: &Sandbox) -> Daemon<'_> {
    sandbox.configure(&json!({"agents": {"maxParallel": 2}}));
    let daemon = sandbox.start();
    let first = sandbox.idea("write a.txt a; commit; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    for number in 0..12 {
        let name = format!("checkpoint-{number}");
        sandbox.swarm(&["checkpoint", "create", &name]).ok();
    }
    // Its text is so long that the page folds it.
    let doing = format!(
        "for n in 1 2 3 4 5 6 7 8 9; do write $n.txt x; done; true {}; commit; say COMPLETE",
        "words ".repeat(100)
    );
    let review = sandbox.idea_with(&doing, &["--review"]);
    sandbox.wait_idea(&review, "merging");
    sandbox.idea("say BLOCKED:there is no database");
    sandbox.wait_needs_you("blocked");
    sandbox.idea("say 'NEEDS_HUMAN:Which port?'");
    sandbox.wait_needs_you("question");
    let talking = sandbox.idea(TALKING);
    sandbox.wait_held("work");
    for number in 0..IDEAS {
        add(sandbox, &format!("Idea {number} of many"), &talking);
    }
    daemon
}

/// Adds an idea over the API; its id.
fn add(sandbox: &Sandbox, text: &str, after: &str) -> String {
    let body = json!({"do": "addIdea", "content": text, "after": [after]});
    let (status, answer) = sandbox.send(&body).unwrap();
    assert!(status < 300, "{answer}");
    let text = answer.to_string();
    let begin = text.find("idea-").unwrap();
    text[begin..].split('"').next().unwrap().to_owned()
}

/// Sends a command about one idea.
fn send(sandbox: &Sandbox, command: &str, id: &str) {
    let (status, answer) = sandbox.send(&json!({"do": command, "id": id})).unwrap();
    assert!(status < 300, "{command} {id}: {answer}");
}

/// Plays events as fast as they are accepted; each adds to `played`.
fn play(sandbox: &Sandbox, played: &AtomicUsize) {
    let mut added = None;
    for number in 0..EVENTS / 2 {
        // The first six ideas are those of the night.
        let idea = format!("idea-{:03}", 6 + number / 2 % IDEAS);
        match (number % 20, added.take()) {
            (0, _) => added = Some(add(sandbox, "One more", "idea-005")),
            (1, Some(last)) => send(sandbox, "cancelIdea", &last),
            (step, _) if step % 2 == 0 => send(sandbox, "holdIdea", &idea),
            _ => send(sandbox, "unholdIdea", &idea),
        }
        played.fetch_add(1, Ordering::Relaxed);
    }
}

/// Plays events while the other function runs, and waits until the page shows the last one.
fn during(sandbox: &Sandbox, browser: &Browser<'_>, act: impl FnOnce(&AtomicUsize)) {
    let played = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| play(sandbox, &played));
        act(&played);
    });
    let seq = night::last_seq(sandbox);
    let caught_up =
        format!("Number(document.getElementById('stream')._htmx.sse.lastEventId) >= {seq}");
    browser.wait("the page to show the last event", &caught_up);
}

#[test]
fn a_thousand_events_change_nothing_that_a_person_has_in_hand() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = busy_night(&sandbox);
    let browser = Browser::open(&sandbox);
    browser.look(1000, 480, false);
    for live in PAGES {
        browser.go(live.page);
        browser.wait("the stream", "document.getElementById('stream')._htmx?.sse");
        let before = night::last_seq(&sandbox);
        // Its landing takes rows away, which may move the rest.
        let idea = sandbox.idea("say COMPLETE");
        sandbox.wait_idea(&idea, "done");
        type_during_events(&sandbox, &browser, live);
        read_during_events(&sandbox, &browser, live);
        let events = night::last_seq(&sandbox) - before;
        assert!(events >= EVENTS as u64, "only {events} events");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "/{}", live.page);
    }
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

/// What somebody types, the caret, the focus, what is open and where the page stands.
const HANDS: &str = "const now = document.activeElement; \
    const box = window.marker?.getBoundingClientRect(); \
    return {focus: now === window.field || now === window.link, value: window.field?.value, \
        caret: window.field?.selectionStart, open: window.opened?.open ?? null, \
        selected: getSelection().toString(), \
        top: window.isScrolled && window.marker.isConnected ? Math.round(box.top) : null}";

/// Opens what can be opened and goes to the middle of the page.
const SETTLE: &str = "window.opened = document.querySelector('main details'); \
    if (opened) opened.open = true; \
    const log = document.getElementById('logbox'); \
    if (log) log.scrollTop /= 2; \
    scrollTo(0, Math.round((document.documentElement.scrollHeight - innerHeight) / 2));";

/// Remembers the uppermost text in view. What is inserted below may move the rest.
const MARK: &str = "const at = (y) => document.elementFromPoint(400, y); \
    window.isScrolled = scrollY > 0; \
    window.marker = [...Array(20).keys()] \
        .map((step) => at(70 + 15 * step)) \
        .map((one) => one?.closest('main :is(tr, li, p, h1, h2, h3, section, div)')) \
        .find((one) => one?.innerText?.trim())";

fn type_during_events(sandbox: &Sandbox, browser: &Browser<'_>, live: &Live) {
    // Drafts of the page before.
    browser.run("sessionStorage.clear()");
    browser.run(SETTLE);
    browser.run(MARK);
    if let Some(link) = live.link {
        let script = "document.querySelector(arguments[0]).click()";
        browser.run_with(script, vec![json!(link)]);
        browser.wait("the dialog", "document.querySelector('dialog[open]')");
    }
    let script = "window.field = document.querySelector(arguments[0]); field.focus()";
    browser.run_with(script, vec![json!(live.field)]);
    // The focus may move the page, and so may the first letter.
    browser.keys(&TEXT[..1]);
    if live.link.is_none() {
        browser.run(MARK);
    }
    let before = browser.run(HANDS);
    let is_open = before["open"] == json!(true);
    assert_eq!(is_open, FOLDED.contains(&live.page), "/{}", live.page);
    during(sandbox, browser, |played| {
        for (index, letter) in TEXT.chars().enumerate().skip(1) {
            let due = index * (EVENTS / 2) / (2 * TEXT.len());
            sandbox.wait_for("some events", || {
                (played.load(Ordering::Relaxed) >= due).then_some(())
            });
            browser.keys(&letter.to_string());
        }
        browser.run("window.field.setSelectionRange(4, 4)");
    });
    let after = browser.run(HANDS);
    let page = live.page;
    assert_eq!(after["value"], json!(TEXT), "/{page}");
    assert_eq!(after["caret"], json!(4), "/{page}");
    assert_eq!(after["focus"], json!(true), "/{page}");
    assert_eq!(after["open"], before["open"], "/{page}");
    let marked = || browser.run("return window.marker.outerHTML");
    assert_eq!(after["top"], before["top"], "/{page}: {}", marked());
    if live.link.is_some() {
        browser.keys(ESCAPE);
        browser.wait(
            "the end of the dialog",
            "!document.querySelector('dialog[open]')",
        );
    }
}

fn read_during_events(sandbox: &Sandbox, browser: &Browser<'_>, live: &Live) {
    browser.run("window.field = null");
    let script = "window.link = document.querySelector('header a[data-palette]'); link.focus(); \
        const range = new Range(); range.selectNodeContents(window.marker); \
        getSelection().removeAllRanges(); getSelection().addRange(range)";
    browser.run(&format!("{SETTLE}; {MARK}; {script}"));
    let before = browser.run(HANDS);
    assert_ne!(before["selected"], json!(""), "/{}", live.page);
    // One page is too short.
    let is_scrolled = before["top"].is_number() || live.page == "cost";
    assert!(is_scrolled, "/{}: {before}", live.page);
    during(sandbox, browser, |_| {});
    assert_eq!(browser.run(HANDS), before, "/{}", live.page);
    if live.link.is_none() {
        let script = "return document.querySelector(arguments[0])?.value";
        let typed = browser.run_with(script, vec![json!(live.field)]);
        assert_eq!(typed, json!(TEXT), "/{}", live.page);
    }
    browser.run("getSelection().removeAllRanges()");
}

fn millis() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs_f64() * 1_000.0
}

#[test]
fn each_event_reaches_the_screen() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let first = sandbox.idea("hold work; say COMPLETE");
    sandbox.wait_held("work");
    let id = add(&sandbox, "Held and released", &first);
    let browser = Browser::open(&sandbox);
    browser.go("ideas");
    browser.wait("the stream", "document.getElementById('stream')._htmx?.sse");
    browser.run(
        "const is = () => document.getElementById('row-idea-002').innerText.includes('held'); \
        window.shown = []; let last = is(); \
        new MutationObserver(() => { if (is() === last) return; last = is(); \
            requestAnimationFrame(() => shown.push(Date.now())); }) \
            .observe(document.querySelector('main'), {subtree: true, childList: true, \
                characterData: true})",
    );
    let mut took = Vec::new();
    for number in 0..41 {
        let command = if number % 2 == 0 {
            "holdIdea"
        } else {
            "unholdIdea"
        };
        send(&sandbox, command, &id);
        let accepted = millis();
        let shown = sandbox.wait_for("the change on the screen", || {
            browser.run("return shown.shift() ?? null").as_f64()
        });
        took.push(Duration::from_secs_f64(
            (shown - accepted).max(0.0) / 1_000.0,
        ));
    }
    took.sort();
    println!(
        "from the event to the screen: median {:?}, p95 {:?}, most {:?}",
        took[20], took[38], took[40]
    );
    // What only the time bar shows comes too, before durations are drawn anew.
    sandbox.release("work");
    sandbox.wait_idea(&first, "done");
    let what = "the time bar to show the last event";
    sandbox.wait_within(Duration::from_secs(5), what, || {
        let last = night::last_seq(&sandbox);
        let shown = browser.run("return document.querySelector('.time input[type=range]').max");
        (shown == json!(last.to_string())).then_some(())
    });
    drop(browser);
    daemon.stop();
}

#[test]
fn a_hidden_tab_closes_its_stream_and_draws_everything_when_it_comes_back() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let first = sandbox.idea("hold work; say COMPLETE");
    sandbox.wait_held("work");
    let browser = Browser::open(&sandbox);
    browser.go("ideas");
    let is_open = "document.getElementById('stream')._htmx?.sse?.reader";
    browser.wait("the stream", is_open);
    browser.hide();
    browser.wait("the tab to be hidden", "document.hidden");
    browser.wait("the end of the stream", &format!("!{is_open}"));
    let id = add(&sandbox, "Added behind its back", &first);
    let row = format!("document.getElementById('row-{id}')");
    assert_eq!(browser.run(&format!("return {row}")), Value::Null);
    browser.show();
    browser.wait("the tab to be seen", "!document.hidden");
    browser.wait("the new idea", &row);
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

#[test]
fn the_sixth_page_of_a_session_takes_the_place_of_the_oldest_which_says_so() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let browser = Browser::open(&sandbox);
    let address = browser.address();
    let oldest = browser.window();
    let is_live = "document.getElementById('stream')._htmx?.sse?.reader \
        && document.getElementById('crowded').hidden";
    browser.wait("the first stream", is_live);
    let mut newest = oldest.clone();
    for _ in 0..5 {
        newest = browser.open_window();
        browser.visit(&address);
        browser.wait("its stream", is_live);
    }
    browser.switch(&oldest);
    browser.wait_text("Five newer tabs are open");
    // It still learns of what happens, and is live again as soon as there is room.
    sandbox.swarm(&["pause"]).ok();
    browser.wait_text("Paused");
    browser.switch(&newest);
    browser.close_window();
    browser.switch(&oldest);
    browser.wait("the oldest to be live again", is_live);
    drop(browser);
    daemon.stop();
}
