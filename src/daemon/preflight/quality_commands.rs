//! Quality commands that cannot run: agents would finish ideas that could never pass. Called by
//! `preflight`'s users.
//!
//! Invariant: only certain failures are reported. A command counts only if it fails whenever its
//! first program cannot be executed: one given by name that is missing, or a script of the project
//! that the system cannot execute. A script that is missing may be made by the work itself.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::Preflight;
use super::agent_script::inside;
use crate::plain_file::{self, ScriptFault};
use crate::process::{self, Answer};

/// What to do about a missing program.
const ADVICE: &str = "install it, or change `qualityCommands` in .swarm/config.json";

/// How long the shell may take to look up a builtin.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A quality command that cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableCommand {
    /// The configured command.
    pub command: String,
    /// Why its program cannot be executed.
    pub why: String,
    /// What to do about it.
    pub advice: String,
}

impl fmt::Display for UnusableCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, why, .. } = self;
        write!(
            f,
            "the quality command `{command}` cannot run here, so nothing can pass it: {why}"
        )
    }
}

impl Preflight<'_> {
    /// The quality commands that cannot run.
    pub fn unusable_commands(&self, commands: &[String]) -> Vec<UnusableCommand> {
        let inherited = self.for_worktrees().environment;
        let path = inherited.get(OsStr::new("PATH"));
        let path = path.map(|path| path.to_string_lossy().into_owned());
        let env: BTreeMap<String, String> = path
            .map(|path| ("PATH".to_owned(), path))
            .into_iter()
            .collect();
        let judged = commands.iter().filter_map(|command| {
            let program = deciding_program(command)?;
            let (why, advice) = if program.contains('/') {
                let fault = self.fault_of_project_script(program)?;
                (fault.what, format!("{}; then commit it", fault.way_out))
            } else if self.is_missing(program, &env) {
                (format!("`{program}` is not in PATH"), ADVICE.to_owned())
            } else {
                return None;
            };
            Some(UnusableCommand {
                command: command.clone(),
                why,
                advice,
            })
        });
        judged.collect()
    }

    /// The fault of a script of the project as the target has it; where that is unknown, as the
    /// checkout has it.
    fn fault_of_project_script(&self, program: &str) -> Option<ScriptFault> {
        let path = inside(program)?;
        match self.target {
            Some(target) => plain_file::fault_of_script(&target.content(&path)?, &path),
            None => plain_file::script_fault(&self.root.join(&path), &path),
        }
    }

    fn is_missing(&self, program: &str, env: &BTreeMap<String, String>) -> bool {
        if process::resolve_program(program, env, self.root).is_ok() {
            return false;
        }
        let args = ["-c", "command -v \"$0\"", program].map(str::to_owned);
        let answer = process::query_program(Path::new("/bin/sh"), &args, env, self.root, TIMEOUT);
        matches!(answer, Ok(Answer::Said { status, .. })
            if status.code().is_some_and(|code| code != 0))
    }
}

/// The program, or the script of the project, without which the whole line fails; `None` if there
/// is no such program.
fn deciding_program(line: &str) -> Option<&str> {
    let all_must_pass = !line.replace("&&", "").contains(['|', '&', ';', '\n']);
    let word = line.split_ascii_whitespace().next()?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte);
    let name = word.strip_prefix("./").unwrap_or(word);
    let named = name
        .split('/')
        .all(|part| !part.is_empty() && part.bytes().all(is_name) && !part.starts_with(['-', '.']));
    (all_must_pass && named).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::environment::Environment;

    #[test]
    fn only_lines_that_need_their_first_program_are_judged() {
        for (line, program) in [
            ("cargo test --all", Some("cargo")),
            ("  npm run lint && npm test", Some("npm")),
            ("nope $HOME 'x'", Some("nope")),
            ("nope || true", None),
            ("nope | tee log", None),
            ("nope; true", None),
            ("nope & true", None),
            ("A=1 nope", None),
            ("./check", Some("./check")),
            ("scripts/check.sh --all", Some("scripts/check.sh")),
            ("/opt/check", None),
            ("../check", None),
            (". ./env", None),
            ("! nope", None),
            ("\"nope\"", None),
            ("$NOPE", None),
            ("(nope)", None),
            ("", None),
        ] {
            assert_eq!(deciding_program(line), program, "{line}");
        }
    }

    #[test]
    fn shell_builtins_are_not_missing() {
        let empty = tempfile::tempdir().unwrap();
        let path = empty.path().as_os_str().to_owned();
        let inherited = Environment::from([("PATH".into(), path)]);
        let preflight = Preflight {
            root: empty.path(),
            inherited: &inherited,
            pass: &[],
            target: None,
        };
        let lines = ["cd src && true", "test -f x", "if true", "exit 3", "nope x"];
        let found = preflight.unusable_commands(&lines.map(str::to_owned));
        let commands: Vec<&str> = found.iter().map(|one| &*one.command).collect();
        assert_eq!(commands, ["nope x"]);
    }

    #[test]
    fn a_script_with_crlf_line_ends_cannot_run() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("check.sh"), "#!/bin/sh\r\ntrue\r\n").unwrap();
        let preflight = Preflight {
            root: root.path(),
            inherited: &Environment::new(),
            pass: &[],
            target: None,
        };
        let lines = ["./check.sh --all", "./absent.sh"].map(str::to_owned);
        let found = preflight.unusable_commands(&lines);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].why.contains("CRLF"), "{}", found[0]);
        assert!(found[0].advice.contains("sed -i"), "{}", found[0].advice);
    }
}
