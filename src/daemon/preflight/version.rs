//! A program's version, by asking it.
//!
//! Invariant: only what the program itself says counts against it: that it took too long or was
//! killed says nothing.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::Seen;
use crate::agents::adapter::ProgramInfo;
use crate::process::{self, Answer};

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// So much of what it complains of is shown.
const COMPLAINT: usize = 300;

/// Major, minor, patch.
pub(super) type Version = (u32, u32, u32);

/// Asks `program`, which `first` arguments may make the program that is meant, and compares.
pub(super) fn probe_version(
    about: &ProgramInfo,
    program: &Path,
    first: &[String],
    mut env: BTreeMap<String, String>,
    cwd: &Path,
    seen: &mut Seen,
) {
    // There is no work that it could be told about.
    env.retain(|name, _| !name.starts_with("SWARM_"));
    let mut args = first.to_vec();
    args.push("--version".to_owned());
    let asked = format!("`{} {}`", program.display(), args.join(" "));
    match process::query_program(program, &args, &env, cwd, PATIENCE) {
        Ok(Answer::Said {
            status,
            stdout,
            stderr,
        }) => match found(&String::from_utf8_lossy(&stdout)) {
            Some(version) => compare(about, version, seen),
            None => not_said(about, &asked, status, &stderr, seen),
        },
        Ok(Answer::TooLate) => {
            let seconds = PATIENCE.as_secs();
            seen.doubts
                .push(format!("{asked} did not answer within {seconds} s"));
        }
        Ok(Answer::NotStarted(error)) => seen.fault(
            format!("program `{}` cannot be started: {error}", program.display()),
            format!("install it anew: {}", about.install),
        ),
        Err(error) => seen.doubts.push(format!("{asked}: {error}")),
    }
}

fn compare(about: &ProgramInfo, version: Version, seen: &mut Seen) {
    let said = text(version);
    if version < about.oldest {
        seen.fault(
            format!(
                "{} {said} is too old: {} or newer is needed",
                about.title,
                text(about.oldest)
            ),
            format!("update it: {}", about.install),
        );
    }
    seen.version = Some(said);
}

fn not_said(about: &ProgramInfo, asked: &str, status: ExitStatus, stderr: &[u8], seen: &mut Seen) {
    match status.code() {
        Some(0) => seen.doubts.push(format!("{asked} said no version")),
        Some(code) => {
            let complaint = complaint(stderr);
            seen.fault(
                format!("{asked} failed with exit code {code}{complaint}"),
                format!("mend that, or install it anew: {}", about.install),
            );
        }
        None => {
            let signal = status.signal().unwrap_or_default();
            seen.doubts
                .push(format!("{asked} was ended by signal {signal}"));
        }
    }
}

/// The last words of its messages, if it had any.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(str::trim).rev();
    match lines.find(|line| !line.is_empty()) {
        Some(line) => format!(": {}", line.chars().take(COMPLAINT).collect::<String>()),
        None => String::new(),
    }
}

/// The first three numbers with points between them.
fn found(text: &str) -> Option<Version> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    words.into_iter().find_map(|word| {
        let mut numbers = word.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some((next()?, next()?, next()?))
    })
}

fn text((major, minor, patch): Version) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("2.1.329 (Claude Code)\n", Some((2, 1, 329))),
            ("codex-cli 0.169.0", Some((0, 169, 0))),
            ("v1.2.3-rc.1+5", Some((1, 2, 3))),
            ("a warning of 2025.\nThe tool, 1.0.7", Some((1, 0, 7))),
            ("1.2", None),
            ("1.2.99999999999", None),
            ("", None),
        ] {
            assert_eq!(found(said), version, "{said}");
        }
    }

    #[test]
    fn the_last_words_are_the_complaint() {
        assert_eq!(complaint(b"at x\nError: no node \n\n"), ": Error: no node");
        assert_eq!(complaint(b" \n"), "");
    }
}
