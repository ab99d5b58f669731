//! Every dependency's licence is one that `deny.toml` allows. Reads what cargo knows; needs no
//! network.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::process::Command;

use serde_json::Value;

/// The crate with a licence of its own, which `deny.toml` excepts.
const ONLY_IN_TESTS: &str = "webdriver";

/// The quoted words of the list that begins after `key`.
fn list_after(text: &str, key: &str) -> Vec<String> {
    let list = text.split(key).nth(1).unwrap().split(']').next().unwrap();
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Whether a licence expression can be fulfilled with allowed licences only. `/` is the old way to
/// write OR.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace(['(', ')'], " ").replace('/', " OR ");
    expression.split(" OR ").any(|choice| {
        choice
            .split(" AND ")
            .all(|licence| allowed.iter().any(|known| known == licence.trim()))
    })
}

/// The platform that this is built on; what only others need is not downloaded.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let root = env!("CARGO_MANIFEST_DIR");
    let deny = std::fs::read_to_string(format!("{root}/deny.toml")).unwrap();
    let allowed = list_after(&deny, "allow = [");
    assert!(allowed.contains(&"MIT".to_owned()));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", &host()])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50);
    let refused: Vec<String> = packages
        .iter()
        .map(|package| {
            (
                &package["name"],
                package["license"].as_str().unwrap_or("none"),
            )
        })
        .filter(|(name, licence)| {
            !is_allowed(licence, &allowed) && name.as_str() != Some(ONLY_IN_TESTS)
        })
        .map(|(name, licence)| format!("{name}: {licence}"))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn what_only_the_tests_may_use_is_not_in_the_program() {
    let deny = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deny.toml")).unwrap();
    let listed = deny.matches("[[licenses.exceptions]]").count();
    assert_eq!(listed, 1);
    assert!(deny.contains(&format!("crate = \"{ONLY_IN_TESTS}\"")));
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal,build"])
        .args(["--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.lines().any(|line| line.starts_with("axum ")), "{tree}");
    let is_it = |line: &str| line.split(' ').next() == Some(ONLY_IN_TESTS);
    assert!(!tree.lines().any(is_it), "{tree}");
}

/// What stands in the program besides crates: the script of the page.
#[test]
fn what_is_included_has_its_licence_beside_it() {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = std::path::Path::new(root).join("src/web/assets");
    let licence = std::fs::read_to_string(folder.join("HTMX-LICENSE")).unwrap();
    assert!(
        licence.contains("Permission to use, copy, modify"),
        "{licence}"
    );
    let entries = std::fs::read_dir(&folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut foreign: Vec<String> = names.filter(|name| name.ends_with(".min.js")).collect();
    foreign.sort();
    assert_eq!(
        foreign,
        ["htmx.min.js", "hx-sse.min.js"],
        "each needs a licence beside it"
    );
}
