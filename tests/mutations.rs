//! The planted faults of `tests/mutations/`: each still applies to the tree, and names a test that
//! is there. Whether the test fails with the fault is shown by `tests/mutations/run.sh`, which
//! takes too long for every day.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Fewer than this, and somebody has thrown them away.
const LEAST: usize = 15;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|end| end == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn patches() -> Vec<PathBuf> {
    files(&root().join("tests/mutations"), "patch")
}

fn name(patch: &Path) -> String {
    patch.file_stem().unwrap().to_string_lossy().into_owned()
}

/// What a patch says that catches it: a target's arguments and the beginning of a test's name.
fn caught_by(text: &str) -> Option<(&str, &str)> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Caught by: cargo test "))?;
    line.rsplit_once(' ')
}

/// The tests of a target, as `cargo test` names them.
fn tests_of(target: &str) -> Vec<String> {
    if target == "--lib" {
        return tests_below(&root().join("src"));
    }
    let name = target.strip_prefix("--test ").unwrap_or_default();
    let folder = root().join("tests").join(name);
    if folder.is_dir() {
        return tests_below(&folder);
    }
    let file = folder.with_extension("rs");
    fs::read_to_string(file).map_or_else(|_| Vec::new(), |text| tests_in(&text, &[]))
}

fn tests_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for file in files(folder, "rs") {
        let within = file.strip_prefix(folder).unwrap().with_extension("");
        let parts = within.iter().map(|part| part.to_str().unwrap());
        let rooms: Vec<&str> = parts
            .filter(|part| !["mod", "main", "lib"].contains(part))
            .collect();
        found.extend(tests_in(&fs::read_to_string(&file).unwrap(), &rooms));
    }
    found
}

/// The functions after a line with `#[test]` or the like; those of an inner module bear its name.
fn tests_in(text: &str, rooms: &[&str]) -> Vec<String> {
    let mut inner = None;
    let mut is_test = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(opened) = line.strip_prefix("mod ").and_then(|l| l.strip_suffix(" {")) {
            inner = Some(opened);
        } else if line == "}" {
            inner = None;
        }
        let line = line.trim();
        is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
        let function = line.strip_prefix("async ").unwrap_or(line);
        if let Some(function) = function.strip_prefix("fn ")
            && std::mem::take(&mut is_test)
        {
            let own = function.split(['(', '<']).next().unwrap();
            let path = rooms.iter().copied().chain(inner).chain([own]);
            found.push(path.collect::<Vec<_>>().join("::"));
        }
    }
    found
}

/// Git's own word on whether a patch applies, with nothing of the user's configuration and no
/// repository above the tree.
fn applies(patch: &Path) -> Result<(), String> {
    let mut git = Command::new("git");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(variable);
    }
    let checked = git
        .env("GIT_CEILING_DIRECTORIES", root().parent().unwrap())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["apply", "--check", "--verbose"])
        .arg(patch)
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    // A patch that git skips because it lies outside is not one that applies.
    if checked.status.success() && said.contains("Checking patch") {
        return Ok(());
    }
    Err(said)
}

#[test]
fn every_fault_applies_to_the_tree() {
    let patches = patches();
    assert!(patches.len() >= LEAST, "only {} faults", patches.len());
    let broken: Vec<String> = patches
        .iter()
        .filter_map(|patch| Some(format!("{}: {}", name(patch), applies(patch).err()?)))
        .collect();
    assert!(
        broken.is_empty(),
        "plant these anew in the present sources:\n{}",
        broken.join("\n")
    );
}

#[test]
fn every_fault_says_what_it_is_and_names_a_test_that_is_there() {
    let mut broken = Vec::new();
    for patch in patches() {
        let patched = fs::read_to_string(&patch).unwrap();
        if !patched.starts_with("Fault: ") {
            broken.push(format!("{}: its first line is no `Fault:`", name(&patch)));
        }
        let Some((target, test)) = caught_by(&patched) else {
            broken.push(format!("{}: names no test", name(&patch)));
            continue;
        };
        if !tests_of(target).iter().any(|one| one.starts_with(test)) {
            broken.push(format!("{}: no test {test} in {target}", name(&patch)));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_fault_is_in_the_table() {
    let table = fs::read_to_string(root().join("tests/mutations/README.md")).unwrap();
    let missing: Vec<String> = patches()
        .iter()
        .map(|patch| name(patch))
        .filter(|name| !table.contains(&format!("| `{name}` |")))
        .collect();
    assert!(
        missing.is_empty(),
        "not in tests/mutations/README.md: {missing:?}"
    );
}

#[test]
fn tests_are_found_in_the_sources() {
    let text = "#[test]\nfn outer() {\n}\nmod tests {\n    #[tokio::test(flavor = \"x\")]\n    \
        async fn inner() {\n    }\n    fn helper() {\n    }\n}\n";
    assert_eq!(
        tests_in(text, &["room"]),
        ["room::outer", "room::tests::inner"]
    );
    assert!(tests_of("--lib").len() > 300);
    assert!(
        tests_of("--test it")
            .iter()
            .any(|test| test.starts_with("kill_and_restart::"))
    );
    assert!(tests_of("--test nowhere").is_empty());
}
