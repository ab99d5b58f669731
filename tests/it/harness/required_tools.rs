//! What a machine may lack: a test that needs such a tool is skipped there, and says so by name.
//!
//! Invariant: with `SWARM_TEST_REQUIRE_ALL` set, as in CI, no test is skipped: it fails instead.

#![allow(dead_code)] // not every test binary needs each of them

use std::io::Write as _;
use std::process::{Command, Stdio};

/// Whether the running test must be skipped because one of `tools` cannot be started here.
pub fn are_missing(tools: &[&str]) -> bool {
    tools.iter().any(|tool| {
        let version = match *tool {
            "go" => "version",
            "ssh" => "-V",
            _ => "--version",
        };
        let starts = runs(Command::new(tool).arg(version));
        !starts && is_skipped(&format!("`{tool}` cannot be started"))
    })
}

/// Whether the running test must be skipped because it may not mount a disk of its own. Some
/// systems forbid that to all but root.
pub fn mounts_are_forbidden() -> bool {
    let as_root = nix::unistd::Uid::effective().is_root();
    let mut unshare = Command::new("unshare");
    unshare.arg(if as_root { "-m" } else { "-rm" });
    let permitted = runs(unshare.args(["mount", "-t", "tmpfs", "tmpfs", "/tmp"]));
    !permitted && is_skipped("this user may not mount in a namespace of its own")
}

fn runs(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    let status = quiet.stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Says on the real standard error, which the test runner does not hold back, what is skipped.
fn is_skipped(why: &str) -> bool {
    let required = std::env::var_os("SWARM_TEST_REQUIRE_ALL").is_some();
    assert!(!required, "{why}, and SWARM_TEST_REQUIRE_ALL is set");
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("skipped: {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    true
}
