//! Every page: no barrier, nothing that overflows, nothing that the console or the security policy
//! complains of, and no more elements than a browser draws at once; now, in the past, of a swarm
//! without ideas and of one with 10,000.

use serde_json::json;

use crate::backlog;
use crate::browser::{self, Browser};
use crate::looks::{LOOKS, faults, faults_of, faults_of_missing, in_turn};
use crate::night;

/// The pages; ids are those of the night.
pub const PAGES: &[&str] = &[
    "",
    "ideas",
    "ideas?status=done",
    "ideas/graph",
    "ideas/add",
    "ideas/idea-001",
    "ideas/idea-003",
    "ideas/idea-003?tab=changes",
    "ideas/idea-003?tab=changes&view=split",
    "ideas/idea-003?tab=history",
    "ideas/idea-003?tab=provenance",
    "agents",
    "agents/ed-001",
    "agents/ed-006",
    "train",
    "timeline",
    "events",
    "checkpoints",
    "checkpoints/after-the-first",
    "changes?from=1",
    "changes?from=1&to=now&section=ideas",
    "report",
    "cost",
    "learnings",
    "memory",
    "memory?status=contradicted",
    "memory?q=api&note=tasks/auth.md",
    "memory/api.port",
    "memory/db.url",
    "hooks",
    "settings",
    "do/pause",
    "do/checkpoint",
    "do/fact-settle/api.port",
    "do/fact-retract/api.port",
    "do/rollback/after-the-first",
    "do/cancel/idea-007",
    "do/reject/idea-003",
    "do/redirect/ed-006",
    "do/intervene/ed-006",
    "palette",
    "ideas>ideas/add",
    ">do/pause",
    "checkpoints>do/rollback/after-the-first",
    "memory/api.port>do/fact-dispute/api.port",
    "ideas/idea-003>do/reject/idea-003",
    "agents/ed-006>do/intervene/ed-006",
];

/// The pages of a swarm without ideas.
const EMPTY: &[&str] = &[
    "",
    "ideas",
    "ideas?status=failed",
    "ideas/graph",
    "ideas/add",
    "agents",
    "train",
    "timeline",
    "events",
    "checkpoints",
    "changes",
    "report",
    "cost",
    "learnings",
    "memory",
    "hooks",
    "settings",
    "do/pause",
    "do/checkpoint",
    "palette",
];

/// What a swarm without ideas does not have.
const MISSING: &[&str] = &[
    "ideas/idea-001",
    "agents/ed-001",
    "checkpoints/nowhere",
    "changes?from=99999999",
    "memory/nowhere",
    "nowhere",
];

/// The pages that a swarm with 10,000 ideas makes long; half of them are done.
const LARGE: &[&str] = &[
    "",
    "ideas",
    "ideas?status=done&page=30",
    "ideas?q=command",
    "ideas/graph",
    "ideas/graph?of=idea-9990",
    "ideas/add",
    "ideas/idea-010",
    "ideas/idea-9990",
    "agents",
    "train",
    "timeline?last=all",
    "timeline?by=agent&last=all",
    "timeline?last=all&as=table",
    "events",
    "events?all=1",
    "checkpoints",
    "changes",
    "report",
    "cost",
    "cost?by=idea&unit=tokens",
    "learnings",
    "memory",
    "hooks",
    "settings",
    "do/cancel/idea-9989",
    "palette?q=command",
];

#[test]
fn every_page_is_without_barriers_at_every_width_and_in_both_themes() {
    if browser::is_missing() {
        return;
    }
    let sandbox = night::sandbox();
    let daemon = night::play(&sandbox);
    let browser = Browser::open(&sandbox);
    let visits = LOOKS.map(|look| PAGES.iter().map(move |page| (*page, look)));
    let broken = faults_of(&browser, visits.into_iter().flatten());
    drop(browser);
    sandbox.release("work");
    daemon.stop();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_past_page_shows_no_form_and_says_that_it_is_past() {
    if browser::is_missing() {
        return;
    }
    let sandbox = night::sandbox();
    let daemon = night::play(&sandbox);
    let browser = Browser::open(&sandbox);
    let last_seq = sandbox.status()["lastSeq"].as_u64().unwrap();
    // A moment at which everything that the pages name was there.
    let pages = PAGES
        .iter()
        .filter(|page| !page.contains("do/") && !page.contains('>'));
    let mut broken = Vec::new();
    for (page, look) in pages.zip(LOOKS.into_iter().cycle()) {
        let sign = if page.contains('?') { '&' } else { '?' };
        let page = format!("{page}{sign}at={}", last_seq - 1);
        broken.extend(faults_of(&browser, [(page.as_str(), look)]));
        assert_is_past(&browser, &page);
    }
    // Before there was such an idea, the way back to now stays.
    let early = "ideas/idea-003?at=10";
    broken.extend(faults_of_missing(&browser, [(early, LOOKS[0])]));
    assert_is_past(&browser, early);
    drop(browser);
    sandbox.release("work");
    daemon.stop();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_pages_of_a_swarm_without_ideas_are_without_barriers() {
    if browser::is_missing() {
        return;
    }
    let sandbox = night::sandbox();
    let daemon = sandbox.start();
    let browser = Browser::open(&sandbox);
    let mut broken = faults_of(&browser, in_turn(EMPTY));
    broken.extend(faults_of_missing(&browser, in_turn(MISSING)));
    browser.go("");
    assert!(browser.text().contains("Nothing to do yet"));
    browser.keys("?");
    browser.wait(
        "the list of shortcuts",
        "document.querySelector('#shortcuts[open]')",
    );
    broken.extend(faults(&browser));
    let forms = "return document.querySelectorAll('main form[method=post] textarea').length";
    let forms = browser.run(forms);
    drop(browser);
    daemon.stop();
    assert_eq!(forms, json!(1), "the form for the first idea");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_pages_of_10_000_ideas_are_light_and_without_barriers() {
    if browser::is_missing() {
        return;
    }
    let sandbox = backlog::sandbox(10_000);
    let daemon = sandbox.start();
    let browser = Browser::open(&sandbox);
    let broken = faults_of(&browser, in_turn(LARGE));
    drop(browser);
    daemon.stop();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn assert_is_past(browser: &Browser<'_>, page: &str) {
    let posts = browser.run("return document.querySelectorAll('form[method=post]').length");
    assert_eq!(posts, json!(0), "/{page}");
    for words in ["You are looking at", "Back to now"] {
        browser.wait_text(words);
    }
}
