//! The figures of the page that only a browser can tell, each printed beside its bar. No test here
//! runs by itself: a busy machine would fail it.
//!
//! ```sh
//! cargo test --release --test page figures:: -- --ignored --nocapture --test-threads=1
//! ```
//!
//! `SWARM_FIGURES_EVENTS` (100000): the events of a day that are played to an open page.

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::browser::{self, Browser};
use crate::harness::Sandbox;
use crate::night;

/// Prints a line of the table; whether the bar is met.
fn judge(what: &str, bar: f64, measured: f64, unit: &str) -> bool {
    let is_met = measured <= bar;
    let verdict = if is_met { "met" } else { "MISSED" };
    println!("  {what:<44} | {bar} {unit} | {measured:.3} {unit} | {verdict}");
    is_met
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent).div_ceil(100) - 1]
}

/// When each idea of the log was added, in milliseconds, as the browser reads the log's times.
fn added(sandbox: &Sandbox, browser: &Browser<'_>) -> BTreeMap<String, f64> {
    let log = fs::read_to_string(sandbox.dot_swarm("state/events.jsonl")).unwrap();
    let events = log.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let is_added = line["kind"] == "ideaAdded";
        is_added.then(|| json!([line["data"]["id"], line["ts"]]))
    });
    let script = "return arguments[0].map(([id, ts]) => [id, Date.parse(ts)])";
    let times = browser.run_with(script, vec![events.collect()]);
    let times = times.as_array().unwrap().iter();
    times
        .map(|pair| {
            (
                pair[0].as_str().unwrap().to_owned(),
                pair[1].as_f64().unwrap(),
            )
        })
        .collect()
}

/// Keeps when each row of the list was first painted, in `seen`.
const WATCH_ROWS: &str = "window.seen = {}; \
    const look = () => requestAnimationFrame(() => { \
      const now = Date.now(); \
      for (const row of document.querySelectorAll('tr[id^=row-]')) { \
        seen[row.id.slice(4)] ??= now; \
      } \
    }); \
    new MutationObserver(look).observe(document.body, {subtree: true, childList: true}); look()";

#[test]
#[ignore = "measures; see the head of this file"]
fn from_an_event_to_its_pixel() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    sandbox.idea("say COMPLETE");
    let browser = Browser::open(&sandbox);
    browser.go("ideas");
    browser.wait("the first row", "document.querySelector('#row-idea-001')");
    browser.run(WATCH_ROWS);
    let mut last = String::new();
    for _ in 0..60 {
        last = sandbox.idea("say COMPLETE");
    }
    browser.wait("the last row", &format!("window.seen['{last}']"));
    let seen = browser.run("return window.seen");
    let mut times: Vec<f64> = added(&sandbox, &browser)
        .iter()
        .filter(|(id, _)| *id != "idea-001")
        .map(|(id, added)| seen[id].as_f64().unwrap() - added)
        .collect();
    assert!(times.len() >= 60, "{times:?}");
    let median = percentile(&mut times, 50);
    println!(
        "  event on disk to pixel, median: {median:.0} ms of {}",
        times.len()
    );
    judge(
        "event on disk to pixel, p95",
        500.0,
        percentile(&mut times, 95),
        "ms",
    );
    drop(browser);
    daemon.stop();
}

/// Keeps shifts of the layout and long tasks, in `figures`.
const OBSERVE: &str = "window.figures = {shift: 0, tasks: []}; \
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) { \
      if (!entry.hadRecentInput) figures.shift += entry.value; \
    } }).observe({type: 'layout-shift', buffered: true}); \
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) { \
      figures.tasks.push(entry.duration); \
    } }).observe({type: 'longtask', buffered: true})";

#[test]
#[ignore = "measures; see the head of this file"]
fn loading_and_updating_the_overview() {
    if browser::is_missing() {
        return;
    }
    let sandbox = night::sandbox();
    let daemon = night::play(&sandbox);
    let browser = Browser::open(&sandbox);
    browser.look(1440, 900, false);
    let mut paints = Vec::new();
    for turn in 0..20 {
        if turn % 2 == 0 {
            browser.devtools("Network.clearBrowserCache", &json!({}));
        }
        browser.go("");
        browser.wait(
            "a paint",
            "performance.getEntriesByName('first-contentful-paint')[0]",
        );
        let paint = "return performance.getEntriesByName('first-contentful-paint')[0].startTime";
        paints.push(browser.run(paint).as_f64().unwrap());
    }
    judge(
        "time to first text, p95 of 20 loads",
        300.0,
        percentile(&mut paints, 95),
        "ms",
    );
    browser.run(OBSERVE);
    let before = sandbox.status()["lastSeq"].as_u64().unwrap();
    for turn in 0..150 {
        let what = if turn % 2 == 0 {
            "holdIdea"
        } else {
            "unholdIdea"
        };
        let command = json!({"do": what, "id": "idea-007"});
        sandbox.send(&command).unwrap();
        if turn % 10 == 0 {
            sandbox.idea_with("say COMPLETE", &["--after", "idea-006"]);
        }
    }
    let last = sandbox.status()["lastSeq"].as_u64().unwrap();
    assert!(last >= before + 150, "{before} to {last}");
    wait_shown(&browser, last);
    let figures = browser.run("return window.figures");
    judge(
        "layout shift while events come",
        0.01,
        figures["shift"].as_f64().unwrap(),
        "",
    );
    let tasks = figures["tasks"].as_array().unwrap();
    let longest = tasks.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
    judge("longest task", 50.0, longest, "ms");
    println!("  tasks over 50 ms: {}", tasks.len());
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

/// Waits until the time bar of the page shows this event or a later one.
fn wait_shown(browser: &Browser<'_>, seq: u64) {
    let range = "Number(document.querySelector('.time input[type=range]').max)";
    browser.wait("the last event", &format!("{range} >= {seq}"));
}

/// Elements of the page, and megabytes of its scripts' memory, when all garbage is collected.
fn weight(browser: &Browser<'_>) -> (f64, f64) {
    browser.devtools("HeapProfiler.collectGarbage", &json!({}));
    let heap = browser.devtools("Runtime.getHeapUsage", &json!({}));
    let elements = browser.run("return document.querySelectorAll('*').length");
    let used = heap["usedSize"].as_f64().unwrap();
    (elements.as_f64().unwrap(), used / 1e6)
}

#[test]
#[ignore = "measures; see the head of this file"]
fn a_day_played_to_an_open_page() {
    const HANDS: usize = 8;
    if browser::is_missing() {
        return;
    }
    let events = std::env::var("SWARM_FIGURES_EVENTS");
    let events: usize = events.map_or(100_000, |text| text.parse().unwrap());
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    for _ in 0..HANDS {
        sandbox.idea("say COMPLETE");
    }
    let browser = Browser::open(&sandbox);
    let play = |events: usize| {
        thread::scope(|scope| {
            for hand in 1..=HANDS {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    for turn in 0..events / HANDS {
                        let what = if turn % 2 == 0 {
                            "holdIdea"
                        } else {
                            "unholdIdea"
                        };
                        let command = json!({"do": what, "id": format!("idea-{hand:03}")});
                        let (status, body) = sandbox.send(&command).unwrap();
                        assert_eq!(status, 200, "{body}");
                    }
                });
            }
        });
        wait_shown(&browser, sandbox.status()["lastSeq"].as_u64().unwrap());
    };
    // The first of them fill what the page keeps at most.
    play(events / 50);
    let (before, heap_before) = weight(&browser);
    play(events);
    let (after, heap) = weight(&browser);
    println!("  {events} events: {before} to {after} elements, {heap_before:.1} to {heap:.1} MB");
    judge(
        "change of elements",
        1.0,
        (after / before - 1.0).abs() * 100.0,
        "%",
    );
    judge("heap after garbage collection", 30.0, heap, "MB");
    drop(browser);
    daemon.stop();
}
