//! The laws of the house, read off the sources: who may know whom, what the domain may touch, where
//! git and statig live.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each room and the rooms that it may know. See the architecture in `lib.rs`.
const ROOMS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("crash", &[]),
    ("view", &["domain"]),
    ("remove", &[]),
    ("plain_file", &[]),
    ("archive", &["domain", "crash", "remove", "plain_file"]),
    ("journal", &["domain", "crash", "remove", "plain_file"]),
    ("process", &["domain", "crash", "remove", "plain_file"]),
    ("git", &["domain", "crash", "remove", "plain_file"]),
    ("config", &["domain", "crash", "remove", "plain_file"]),
    ("hooks", &["domain", "plain_file"]),
    ("probe", &[]),
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
            "archive",
            "journal",
            "process",
            "git",
            "config",
            "hooks",
            "probe",
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
        "web",
        &[
            "domain",
            "view",
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
    (
        "cli",
        &[
            "domain",
            "view",
            "archive",
            "journal",
            "process",
            "git",
            "config",
            "hooks",
            "probe",
            "agents",
            "daemon",
            "api",
            "web",
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
    let files = rust_files(&root);
    assert!(files.len() > 50, "the sources were not found");
    files.iter().map(|path| source(&root, path)).collect()
}

fn rust_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
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
    const MAX_LINES: usize = 450;
    let broken: Vec<String> = sources()
        .iter()
        .filter(|source| !is_test_file(&source.path))
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

/// The variants of `Command`.
fn commands() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("src/domain/operation/command.rs")).unwrap();
    let body = text.split_once("pub enum Command {").unwrap().1;
    let body = body.split_once("\n}").unwrap().0;
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(char::is_uppercase));
    let names = names.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap());
    // It only holds the commands about the memory.
    let names = names.filter(|name| *name != "Memory");
    names.map(str::to_owned).collect()
}

#[test]
fn a_command_stands_in_at_most_four_rooms_beside_the_rules() {
    let sources = sources();
    let commands = commands();
    assert!(commands.len() > 25, "{commands:?}");
    let mut broken = Vec::new();
    for command in commands {
        let variant = format!("Command::{command}");
        let is_in = |code: &str| {
            let mut ends = code
                .match_indices(&variant)
                .map(|(at, _)| &code[at + variant.len()..]);
            ends.any(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        let rooms: BTreeSet<&str> = sources
            .iter()
            .filter(|source| source.room != "domain" && !is_test_file(&source.path))
            .filter(|source| is_in(&source.code))
            .map(|source| source.room.as_str())
            .collect();
        if rooms.len() > 4 {
            broken.push(format!("{command}: {rooms:?}"));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn what_is_added_stands_in_at_most_four_places_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/internals/adding.md")).unwrap();
    let mut sections = text.split("\n## To add ").skip(1);
    assert!(sections.clone().count() >= 5, "a section is missing");
    assert!(sections.all(|section| {
        let steps: Vec<&str> = section
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .collect();
        for step in &steps {
            let path = step.split('`').nth(1).unwrap();
            assert!(root.join(path).exists(), "{path} is not there");
        }
        (1..=4).contains(&steps.len())
    }));
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

/// Where markup is written without escaping: the icons of the frame, and a document that was drawn.
const UNESCAPED: &[&str] = &["web/frame/mod.rs", "web/pages/mod.rs"];

/// What a strict content security policy forbids, or what `eval` would have to run.
const FORBIDDEN_MARKUP: &[&str] = &["hx-on", "js:", "style=", "onclick", "javascript:"];

#[test]
fn pages_have_no_inline_code_or_style_and_escape_all_text() {
    let mut broken = Vec::new();
    for source in sources() {
        if source.room != "web" || is_test_file(&source.path) {
            continue;
        }
        let path = source.path.display();
        for word in FORBIDDEN_MARKUP {
            if source.code.contains(word) {
                broken.push(format!("{path}: `{word}`"));
            }
        }
        let triggers = source.code.split("hx-trigger=").skip(1);
        for trigger in triggers.filter_map(|rest| rest.lines().next()) {
            if trigger.contains('[') {
                broken.push(format!("{path}: the trigger filter in {trigger}"));
            }
        }
        let may_be_raw = UNESCAPED.iter().any(|file| source.path == Path::new(file));
        if !may_be_raw && source.code.contains("PreEscaped") {
            broken.push(format!("{path}: `PreEscaped`"));
        }
    }
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/assets");
    for entry in fs::read_dir(scripts).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_script = path.extension().is_some_and(|ending| ending == "js");
        if !is_script || name.ends_with(".min.js") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for word in [
            "eval(",
            "new Function",
            "hx-on",
            "insertAdjacentHTML",
            ".style.",
        ] {
            if text.contains(word) {
                broken.push(format!("{name}: `{word}`"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
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

/// Functions that are one exhaustive match: an arm for each variant, and nothing is gained by
/// cutting them.
const LONG_MATCHES: &[(&str, &str, &str)] = &[
    (
        "view/describe/mod.rs",
        "describe_event",
        "a sentence for each event",
    ),
    ("view/describe/tone.rs", "tone", "a tone for each event"),
    (
        "view/describe/kinds.rs",
        "interest",
        "who wants to see each event",
    ),
    ("view/describe/subject.rs", "names", "what each event names"),
    (
        "domain/evolve/mod.rs",
        "fold",
        "each event to the file that folds it",
    ),
    ("web/touches.rs", "of_kind", "the fragments of each event"),
    (
        "domain/decide/hooks/causes.rs",
        "caused_by",
        "the hook calls that each event causes",
    ),
    (
        "web/actions/changes.rs",
        "change",
        "what each event changes that a dialog speaks of",
    ),
];

/// The functions of a formatted file before its tests, with their lengths in lines.
fn functions(source: &Source) -> Vec<(&str, usize)> {
    let text = source.text.split("\nmod tests {").next();
    let lines: Vec<&str> = text.unwrap_or_default().lines().collect();
    let mut found = Vec::new();
    for (begin, line) in lines.iter().enumerate() {
        let head = line.trim_start();
        let indent = &line[..line.len() - head.len()];
        let (before, after) = head.split_once("fn ").unwrap_or(("no", ""));
        let qualifiers = [
            "pub",
            "pub(super)",
            "pub(crate)",
            "const",
            "async",
            "unsafe",
        ];
        let is_qualifier = |word: &str| qualifiers.contains(&word) || word.starts_with("pub(in");
        if !before
            .split_whitespace()
            .all(|word| is_qualifier(word) || word.ends_with(')'))
        {
            continue;
        }
        let name = after.split(['(', '<']).next().unwrap_or_default();
        // A declaration ends where its line does.
        let is_last = |rest: &str| rest == "}" || rest.ends_with(';') && !rest.starts_with(' ');
        let is_end = |line: &&str| line.strip_prefix(indent).is_some_and(is_last);
        if let Some(length) = lines[begin..].iter().position(is_end) {
            found.push((name, length + 1));
        }
    }
    found
}

#[test]
fn a_function_fits_a_screen_but_for_one_exhaustive_match() {
    const MAX_LINES: usize = 60;
    let mut broken = Vec::new();
    let mut long_matches = Vec::new();
    for source in sources() {
        if is_test_file(&source.path) {
            continue;
        }
        for (name, lines) in functions(&source) {
            let is_this = |(path, function, _): &&(&str, &str, &str)| {
                source.path == Path::new(path) && *function == name
            };
            match LONG_MATCHES.iter().find(is_this) {
                Some(listed) if lines > MAX_LINES => long_matches.push(listed.1),
                None if lines > MAX_LINES => {
                    broken.push(format!("{}: {name} {lines}", source.path.display()));
                }
                Some(_) | None => {}
            }
        }
    }
    assert!(
        broken.is_empty(),
        "longer than {MAX_LINES} lines:\n{}",
        broken.join("\n")
    );
    assert_eq!(
        long_matches.len(),
        LONG_MATCHES.len(),
        "listed, and short or gone: {long_matches:?}"
    );
}

/// Where a line in a raw string may be wide, because it stands as it is printed, read or run.
const WIDE: &[(&str, &str)] = &[
    ("src/config/layers.rs", "configuration documents"),
    ("src/daemon/preflight/budget.rs", "snapshots of warnings"),
    (
        "src/domain/tests/",
        "snapshots: an event or a row of a table is one line",
    ),
    ("src/journal/", "lines of the log"),
    (
        "src/cli/commands/service/launchd.rs",
        "a property list as launchd reads it",
    ),
    ("tests/api/errors.rs", "answers as they are sent"),
    (
        "tests/it/",
        "scripts of made-up agents, and pages as they are printed",
    ),
];

/// For each line, whether any of it lies in a raw string.
fn lines_in_raw_strings(text: &str) -> Vec<bool> {
    let mut within = vec![false; text.lines().count() + 1];
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (before, tail) = rest.split_at(at);
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = tail.starts_with('"') && before[..at - hashes].ends_with('r');
        let length = if is_raw {
            let end = format!("\"{}", "#".repeat(hashes));
            let end = tail[1..].find(&end).map_or(tail.len(), |at| at + 2);
            let first = text[..text.len() - tail.len()].matches('\n').count();
            let lines = tail[..end].matches('\n').count();
            within[first..=first + lines].fill(true);
            end
        } else if tail.starts_with("//") {
            tail.find('\n').unwrap_or(tail.len())
        } else if tail.starts_with('"') {
            end_of_string(tail)
        } else if let Some(character) = tail.strip_prefix("'\\") {
            character[1..].find('\'').map_or(1, |at| at + 4)
        } else {
            let is_character = tail.chars().nth(2) == Some('\'');
            let length = tail.chars().take(3).map(char::len_utf8).sum();
            if is_character { length } else { 1 }
        };
        rest = &tail[length.min(tail.len())..];
    }
    within
}

/// The length of the string literal that this text begins with.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[test]
fn a_line_has_at_most_100_columns() {
    const COLUMNS: usize = 100;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut broken = Vec::new();
    let folders = ["src", "tests", "benches", "fuzz/src", "fuzz/fuzz_targets"];
    for path in folders
        .iter()
        .flat_map(|folder| rust_files(&root.join(folder)))
    {
        let text = fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(root).unwrap().display().to_string();
        let may_be_wide = WIDE.iter().any(|(begin, _)| path.starts_with(begin));
        let raw = lines_in_raw_strings(&text);
        for (at, line) in text.lines().enumerate() {
            if line.chars().count() > COLUMNS && !(may_be_wide && raw[at]) {
                broken.push(format!("{path}:{}", at + 1));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "wider than {COLUMNS} columns:\n{}",
        broken.join("\n")
    );
}

/// Folders that are a list on purpose.
const LISTS: &[(&str, &str)] = &[
    ("cli/commands", "one file for each verb, by its name"),
    ("domain/tests", "one file for each behaviour of the rules"),
];

#[test]
fn a_folder_has_at_most_15_files_of_its_own() {
    const MAX_FILES: usize = 15;
    let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for source in sources() {
        *folders
            .entry(source.path.parent().unwrap().to_owned())
            .or_default() += 1;
    }
    folders.retain(|folder, files| {
        *files > MAX_FILES && !LISTS.iter().any(|(list, _)| folder == Path::new(list))
    });
    assert!(
        folders.is_empty(),
        "more than {MAX_FILES} files; sub-folders say what belongs together: {folders:?}"
    );
}
