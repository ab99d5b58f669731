//! Checks a page for barriers with axe-core.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::browser::Browser;

/// What axe-core finds against WCAG 2.2 AA on the page: each rule with the elements that break it.
pub fn violations(browser: &Browser<'_>) -> Vec<String> {
    browser.run(source());
    // What lies beneath a bar that stays in view can be scrolled out from under it, but axe-core
    // takes it for covered.
    let script = "const done = arguments[arguments.length - 1]; \
        document.querySelectorAll('.time, .bulk').forEach((bar) => \
        { bar.style.position = 'static'; }); \
        axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', \
        'best-practice']}).then((found) => done(found.violations.map((one) => one.id + ': ' + \
        one.nodes.map((node) => node.html.slice(0, 200)).join(' | '))), \
        (error) => done([`${error}`]))";
    let found = browser.run_async(script);
    let found = found.as_array().unwrap().iter();
    found.map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// axe-core: `SWARM_AXE`, else installed now.
fn source() -> &'static str {
    static SOURCE: OnceLock<String> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let path = std::env::var("SWARM_AXE").unwrap_or_else(|_| installed());
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    })
}

fn installed() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("axe");
    let mut install = Command::new(root.join("tests/page/install.sh"));
    install.arg(&place).stdin(Stdio::null());
    let done = install.stderr(Stdio::inherit()).output().unwrap();
    assert!(done.status.success(), "{install:?}: {}", done.status);
    String::from_utf8(done.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}
