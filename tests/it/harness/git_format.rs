//! The formats of the repositories that tests make, from `SWARM_GIT_FORMAT`: `<hash>-<references>`,
//! such as `sha256-reftable`. Without it, git's own defaults.
//!
//! Invariant: what is said here reaches each `git init` of a test, through git's own variables.

#![allow(dead_code)] // not every test binary needs each of them

use std::process::Command;

const FORMAT: &str = "SWARM_GIT_FORMAT";

/// Formats beside the usual one, SHA-1 and files: git 3 uses the last one.
const OTHERS: [&str; 2] = ["sha1-reftable", "sha256-reftable"];

/// First git with tables of references: major, minor.
const TABLES_SINCE: (u32, u32) = (2, 45);

/// Variables that make git use the format.
pub fn variables() -> Vec<(&'static str, String)> {
    let Ok(format) = std::env::var(FORMAT) else {
        return Vec::new();
    };
    let (hash, references) = format.split_once('-').unwrap();
    vec![
        ("GIT_DEFAULT_HASH", hash.to_owned()),
        ("GIT_DEFAULT_REF_FORMAT", references.to_owned()),
    ]
}

/// Whether references lie in tables, so that no test can put a file beside one.
pub fn has_tables() -> bool {
    std::env::var(FORMAT).is_ok_and(|format| format.ends_with("-reftable"))
}

/// Whether this git knows all formats; says so where it does not.
pub fn are_known() -> bool {
    let version = Command::new("git").arg("version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let mut parts = version
        .split([' ', '.'])
        .filter_map(|part| part.parse().ok());
    let version: (u32, u32) = (parts.next().unwrap(), parts.next().unwrap());
    if version < TABLES_SINCE {
        eprintln!("skipped: git {version:?} knows no tables of references");
    }
    version >= TABLES_SINCE
}

/// Runs tests of this program once more in another format, by turns (`SWARM_TURN`); all formats
/// where no turn is given.
pub fn run_again(words: &[&str]) {
    if !are_known() || std::env::var_os(FORMAT).is_some() {
        return;
    }
    let turn: Option<usize> = std::env::var("SWARM_TURN")
        .ok()
        .and_then(|turn| turn.parse().ok());
    let formats = match turn {
        Some(turn) => vec![OTHERS[turn % OTHERS.len()]],
        None => OTHERS.to_vec(),
    };
    for format in formats {
        let mut tests = Command::new(std::env::current_exe().unwrap());
        let output = tests.args(words).env(FORMAT, format).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let ran = text
            .lines()
            .any(|line| line.starts_with("running ") && line != "running 0 tests");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && ran,
            "in {format}:\n{text}\n{errors}"
        );
    }
}
