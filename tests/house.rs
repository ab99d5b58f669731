//! The laws of the house, read off the sources: who may know whom, what the domain may touch, where
//! git and statig live.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each room and the rooms that it may know. See the architecture in `lib.rs`.
const ROOMS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("crash", &[]),
    ("view", &["domain"]),
    ("remove", &[]),
    ("plain_file", &[]),
    ("journal", &["domain", "crash", "remove", "plain_file"]),
    ("process", &["domain", "crash", "remove", "plain_file"]),
    ("git", &["domain", "crash", "remove", "plain_file"]),
    ("config", &["domain", "crash", "remove", "plain_file"]),
    ("hooks", &["domain"]),
    (
        "agents",
        &[
            "domain",
            "journal",
            "process",
            "git",
            "config",
            "crash",
            "remove",
            "plain_file",
        ],
    ),
    (
        "daemon",
        &[
            "domain",
            "view",
            "journal",
            "process",
            "git",
            "config",
            "hooks",
            "agents",
            "crash",
            "remove",
            "plain_file",
        ],
    ),
    (
        "api",
        &[
            "domain",
            "view",
            "journal",
            "process",
            "git",
            "config",
            "hooks",
            "agents",
            "daemon",
            "crash",
            "remove",
            "plain_file",
        ],
    ),
    (
        "cli",
        &[
            "domain",
            "view",
            "journal",
            "process",
            "git",
            "config",
            "hooks",
            "agents",
            "daemon",
            "api",
            "crash",
            "remove",
            "plain_file",
        ],
    ),
];

/// What the domain must not so much as name.
const IMPURE: &[&str] = &[
    "tokio",
    "std::fs",
    "std::io",
    "std::process",
    "std::net",
    "std::env",
    "std::thread",
    "git2",
    "nix::",
    "SystemTime",
    "Instant",
    "rand::",
    "tracing",
];

/// A source file without comments and without its unit tests.
struct Source {
    path: PathBuf,
    room: String,
    text: String,
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(source(&root, &path));
            }
        }
    }
    assert!(found.len() > 50, "the sources were not found");
    found
}

#[allow(clippy::similar_names)] // `room` is the word of the house
fn source(root: &Path, path: &Path) -> Source {
    let text = fs::read_to_string(path).unwrap();
    let within = path.strip_prefix(root).unwrap();
    let first = within.components().next().unwrap().as_os_str();
    let room = first.to_string_lossy().trim_end_matches(".rs").to_owned();
    let bare = text
        .split("\n#[cfg(test)]")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    Source {
        path: within.to_owned(),
        room,
        text,
        code: bare,
    }
}

/// Test-only files, by name: `tests.rs`, `testkit.rs`.
fn is_test_file(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.starts_with("test") && name != "test_status"
        || path
            .components()
            .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "testkit")
}

/// Rooms named after `crate::` in a piece of code, also in `use crate::{a, b}`.
fn rooms_named(code: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for after in code.split("crate::").skip(1) {
        let list = match after.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default(),
            None => after,
        };
        let names: Vec<&str> = if after.starts_with('{') {
            list.split(',').collect()
        } else {
            vec![list]
        };
        for name in names {
            let end = |c: char| !(c.is_alphanumeric() || c == '_');
            let name = name.trim().split(end).next().unwrap_or_default();
            rooms.push(name.to_owned());
        }
    }
    rooms
}

#[test]
fn rooms_know_only_the_rooms_below_them() {
    let allowed: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    let mut broken = Vec::new();
    for source in sources() {
        if ["lib", "main"].contains(&source.room.as_str()) {
            continue;
        }
        let Some(may_know) = allowed.get(source.room.as_str()) else {
            broken.push(format!(
                "{}: a room that the map does not have",
                source.path.display()
            ));
            continue;
        };
        for room in rooms_named(&source.code) {
            let known = allowed.contains_key(room.as_str());
            // Tests of the rules may look at the state as people see it.
            let is_allowed =
                may_know.contains(&room.as_str()) || room == "view" && is_test_file(&source.path);
            if known && room != source.room && !is_allowed {
                broken.push(format!("{} knows `{room}`", source.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_domain_is_pure() {
    let mut broken = Vec::new();
    for source in sources() {
        if source.room != "domain" || is_test_file(&source.path) {
            continue;
        }
        for word in IMPURE.iter().filter(|word| source.code.contains(**word)) {
            broken.push(format!("{} names `{word}`", source.path.display()));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn statig_lives_in_the_lifecycles_only() {
    let broken: Vec<String> = sources()
        .iter()
        .filter(|source| source.code.contains("statig"))
        .filter(|source| !source.path.starts_with("domain/lifecycle"))
        .filter(|source| source.path != Path::new("domain/testkit/invariants.rs"))
        .map(|source| source.path.display().to_string())
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn git_is_started_in_one_place() {
    let mut places = Vec::new();
    for source in sources() {
        let starts = source.code.matches(r#"Command::new("git")"#).count();
        places.extend(std::iter::repeat_n(source.path.clone(), starts));
    }
    assert_eq!(places, [PathBuf::from("git/exec/command.rs")]);
}

#[test]
fn every_file_says_what_it_is() {
    let broken: Vec<String> = sources()
        .iter()
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| source.path.display().to_string())
        .collect();
    assert!(broken.is_empty(), "without a module doc: {broken:?}");
}

#[test]
fn files_stay_small_enough_to_read() {
    /// The state and the domain's vocabulary are lists; nothing is gained by cutting them.
    const LISTS: &[&str] = &["domain/state.rs", "domain/event.rs"];
    const MAX_LINES: usize = 450;
    let broken: Vec<String> = sources()
        .iter()
        .filter(|source| !is_test_file(&source.path))
        .filter(|source| !LISTS.iter().any(|list| source.path.ends_with(list)))
        .map(|source| (source, source.code.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(source, lines)| format!("{}: {lines}", source.path.display()))
        .collect();
    assert!(
        broken.is_empty(),
        "longer than {MAX_LINES} lines: {broken:?}"
    );
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    let broken: Vec<String> = sources()
        .iter()
        .filter(|source| source.code.contains("unsafe {") && !source.text.contains("SAFETY"))
        .map(|source| source.path.display().to_string())
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn every_crash_point_is_listed_once() {
    let mut found: Vec<String> = Vec::new();
    for source in sources() {
        let calls = source.code.split("crash::point(\"").skip(1);
        let effects = source.code.split("(\"effect.").skip(1).flat_map(|rest| {
            let (begin, rest) = rest.split_once('"').unwrap();
            let done = rest.split('"').nth(1).unwrap().to_owned();
            [format!("effect.{begin}"), done]
        });
        found.extend(calls.map(|rest| rest.split('"').next().unwrap().to_owned()));
        found.extend(effects);
    }
    found.sort();
    found.dedup();
    assert!(found.len() >= 60, "only {} crash points", found.len());
    assert_eq!(found, swarm::crash::LABELS, "crash::LABELS, sorted");
}

#[test]
fn the_table_of_effects_has_every_effect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("docs/internals/effects.md")).unwrap();
    let source = fs::read_to_string(root.join("src/domain/effect/mod.rs")).unwrap();
    let body = source.split_once("pub enum Effect {").unwrap().1;
    let body = body.split_once("\n}").unwrap().0;
    let names = body
        .lines()
        .filter_map(|line| Some(line.strip_prefix("    ")?.split_once('(')?.0));
    let names: Vec<&str> = names
        .filter(|name| name.chars().all(char::is_alphanumeric))
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(
            table.contains(&format!("| `{name}` |")),
            "{name} is missing in docs/internals/effects.md"
        );
    }
}

/// The calls that remove files and directories, wherever they come from.
const REMOVALS: &[&str] = &["remove_dir", "remove_file", "unlink", "rmdir"];

#[test]
fn only_one_file_removes_files_and_directories() {
    let mut broken = Vec::new();
    for source in sources() {
        if is_test_file(&source.path) || source.room == "remove" {
            continue;
        }
        let calls = REMOVALS.iter().filter(|name| source.code.contains(**name));
        broken.extend(calls.map(|name| format!("{}: `{name}`", source.path.display())));
    }
    assert!(
        broken.is_empty(),
        "use `crate::remove`, which never follows a link:\n{}",
        broken.join("\n")
    );
}
