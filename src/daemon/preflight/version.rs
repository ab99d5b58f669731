//! Probing a program's version with `--version`, for `preflight`.
//!
//! Invariant: only the program's own answer counts against it. If it took too long or was killed,
//! that is a doubt.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::Seen;
use crate::agents::adapter::ProgramInfo;
use crate::process::{self, Answer};

/// How long a program may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most characters of an error message that are shown.
const MESSAGE_CHARS: usize = 300;

/// Major, minor, patch.
pub(super) type Version = (u32, u32, u32);

/// Probes `program` and compares its version. `first` are arguments that select the actual program,
/// as in `npx claude`.
pub(super) fn probe_version(
    about: &ProgramInfo,
    program: &Path,
    first: &[String],
    mut env: BTreeMap<String, String>,
    cwd: &Path,
    seen: &mut Seen,
) {
    // There is no run that these variables could describe.
    env.retain(|name, _| !name.starts_with("SWARM_"));
    let mut args = first.to_vec();
    args.push("--version".to_owned());
    let command = format!("`{} {}`", program.display(), args.join(" "));
    match process::query_program(program, &args, &env, cwd, TIMEOUT) {
        Ok(Answer::Said {
            status,
            stdout,
            stderr,
        }) => match parse_version(&String::from_utf8_lossy(&stdout)) {
            Some(version) => compare(about, version, seen),
            None => no_version(about, &command, status, &stderr, seen),
        },
        Ok(Answer::TooLate) => {
            let seconds = TIMEOUT.as_secs();
            seen.doubts
                .push(format!("{command} did not answer within {seconds} s"));
        }
        Ok(Answer::NotStarted(error)) => seen.fault(
            format!("program `{}` cannot be started: {error}", program.display()),
            format!("reinstall it: {}", about.install),
        ),
        Err(error) => seen.doubts.push(format!("{command}: {error}")),
    }
}

fn compare(about: &ProgramInfo, version: Version, seen: &mut Seen) {
    let found = text(version);
    if version < about.oldest {
        seen.fault(
            format!(
                "{} {found} is too old: swarm needs {} or newer",
                about.title,
                text(about.oldest)
            ),
            format!("update it: {}", about.install),
        );
    }
    seen.version = Some(found);
}

fn no_version(
    about: &ProgramInfo,
    command: &str,
    status: ExitStatus,
    stderr: &[u8],
    seen: &mut Seen,
) {
    match status.code() {
        Some(0) => seen.doubts.push(format!("{command} printed no version")),
        Some(code) => {
            let message = last_message(stderr);
            seen.fault(
                format!("{command} failed with exit code {code}{message}"),
                format!("fix that, or reinstall it: {}", about.install),
            );
        }
        None => {
            let signal = status.signal().unwrap_or_default();
            seen.doubts
                .push(format!("{command} was killed by signal {signal}"));
        }
    }
}

/// The last line of its error output, with a colon before it; empty if there is none.
fn last_message(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(str::trim).rev();
    match lines.find(|line| !line.is_empty()) {
        Some(line) => format!(": {}", line.chars().take(MESSAGE_CHARS).collect::<String>()),
        None => String::new(),
    }
}

/// The first three numbers with dots between them.
fn parse_version(text: &str) -> Option<Version> {
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
    fn versions_are_found_in_program_output() {
        for (output, version) in [
            ("2.1.329 (Claude Code)\n", Some((2, 1, 329))),
            ("codex-cli 0.169.0", Some((0, 169, 0))),
            ("v1.2.3-rc.1+5", Some((1, 2, 3))),
            ("a warning of 2025.\nThe tool, 1.0.7", Some((1, 0, 7))),
            ("1.2", None),
            ("1.2.99999999999", None),
            ("", None),
        ] {
            assert_eq!(parse_version(output), version, "{output}");
        }
    }

    #[test]
    fn the_last_line_is_shown() {
        assert_eq!(
            last_message(b"at x\nError: no node \n\n"),
            ": Error: no node"
        );
        assert_eq!(last_message(b" \n"), "");
    }
}
