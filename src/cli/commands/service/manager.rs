//! Runs commands of the service manager.
//!
//! Invariant: one at a time, and none after a failed one.

use std::process::{Command, Stdio};

use crate::cli::error::CliError;

/// Runs the commands in order until one fails.
pub(super) fn run(commands: &[Vec<String>]) -> Result<(), CliError> {
    commands.iter().try_for_each(|words| one(words).map(drop))
}

/// Runs one command and returns its output.
pub(super) fn one(words: &[String]) -> Result<String, CliError> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(String::new());
    };
    let ran = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let line = line(words);
    let ran = ran.map_err(|error| {
        CliError::io(format!("run `{line}`"), &error)
            .hint("without this service manager, use: swarm start --detach")
    })?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
    Err(
        CliError::refused(format!("`{line}` failed ({}): {said}", ran.status))
            .hint("fix that, then run the same command again"),
    )
}

/// The command as it would be typed.
pub(super) fn line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| typed(word)).collect();
    words.join(" ")
}

fn typed(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[&str]) -> Vec<String> {
        line.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn commands_are_quoted_for_a_shell() {
        assert_eq!(
            line(&words(&["launchctl", "bootstrap", "/a b/it's"])),
            r"launchctl bootstrap '/a b/it'\''s'"
        );
    }

    #[test]
    fn a_failed_command_ends_the_sequence() {
        let refused = run(&[
            words(&["sh", "-c", "echo no bus >&2; exit 4"]),
            words(&["touch", "/nowhere/at/all"]),
        ]);
        let told = refused.unwrap_err().message;
        assert!(
            told.contains("no bus") && told.contains("exit status: 4"),
            "{told}"
        );
        assert!(run(&[words(&["/nowhere/at/all"])]).is_err());
    }
}
