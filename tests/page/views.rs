//! Every page, at every width and in both themes: no barrier, nothing that overflows, nothing that
//! the console or the security policy complains of.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::axe;
use crate::browser::{self, Browser};
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
    "ideas/idea-003?tab=history",
    "agents",
    "agents/ed-001",
    "agents/ed-006",
    "train",
    "timeline",
    "events",
    "checkpoints",
    "checkpoints/after-the-first",
    "report",
    "cost",
    "learnings",
    "hooks",
    "settings",
    "do/pause",
    "do/checkpoint",
    "do/rollback/after-the-first",
    "do/cancel/idea-007",
    "do/reject/idea-003",
    "do/redirect/ed-006",
    "do/intervene/ed-006",
    "palette",
];

/// Width, height, whether it is dark.
const LOOKS: [(u32, u32, bool); 6] = [
    (1440, 900, false),
    (1440, 900, true),
    (1024, 768, false),
    (1024, 768, true),
    (390, 844, false),
    (390, 844, true),
];

/// What is wrong with the page that is shown; `axe` is left out where a look differs in size alone.
fn faults(browser: &Browser<'_>) -> Vec<String> {
    let mut faults = axe::violations(browser);
    let wide = browser.run(
        "const all = document.documentElement; \
        return all.scrollWidth > all.clientWidth ? `${all.scrollWidth} px wide` : null",
    );
    if let Some(wide) = wide.as_str() {
        faults.push(format!("overflows: {wide}"));
    }
    faults.extend(browser.complaints());
    faults
}

#[test]
fn every_page_is_without_barriers_at_every_width_and_in_both_themes() {
    if browser::is_missing() {
        return;
    }
    let sandbox = night::sandbox();
    let daemon = night::play(&sandbox);
    let browser = Browser::open(&sandbox);
    let mut broken = Vec::new();
    for (width, height, is_dark) in LOOKS {
        browser.look(width, height, is_dark);
        for page in PAGES {
            browser.go(page);
            let found = faults(&browser);
            if !found.is_empty() {
                let theme = if is_dark { "dark" } else { "light" };
                broken.push(format!(
                    "/{page} at {width}, {theme}:\n  {}",
                    found.join("\n  ")
                ));
            }
        }
    }
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
    let seq = sandbox.status()["seq"].as_u64().unwrap() / 2;
    for page in PAGES
        .iter()
        .filter(|page| !page.starts_with("do/") && **page != "ideas/add")
    {
        let sign = if page.contains('?') { '&' } else { '?' };
        browser.go(&format!("{page}{sign}at={seq}"));
        let posts = browser.run("return document.querySelectorAll('form[method=post]').length");
        assert_eq!(posts, json!(0), "/{page}");
        assert_eq!(
            faults(&browser),
            Vec::<String>::new(),
            "/{page} in the past"
        );
    }
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}

/// Pictures of all pages, into the folder that `SWARM_PICTURES` names.
#[test]
#[ignore = "makes the pictures of docs/page.md; run by tests/page/pictures.sh"]
fn pictures_of_every_page() {
    let folder = PathBuf::from(std::env::var_os("SWARM_PICTURES").unwrap());
    let sandbox = night::sandbox();
    let daemon = night::play(&sandbox);
    let browser = Browser::open(&sandbox);
    for (width, height, is_dark) in LOOKS {
        browser.look(width, height, is_dark);
        for page in PAGES {
            browser.go(page);
            let name = page.replace(['/', '?', '='], "-");
            let name = if name.is_empty() { "overview" } else { &name };
            let theme = if is_dark { "dark" } else { "light" };
            let file = folder.join(format!("{name}-{width}-{theme}.png"));
            fs::write(file, browser.picture()).unwrap();
        }
    }
    drop(browser);
    sandbox.release("work");
    daemon.stop();
}
