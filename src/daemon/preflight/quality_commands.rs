//! Quality commands whose program is missing: agents would finish ideas that could never pass.
//! Called by `preflight`'s users.
//!
//! Invariant: only certain failures are reported. A command counts only if it fails whenever its
//! first program, given by name, is missing; a path may point into the work itself.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::Preflight;
use crate::process::{self, Answer};

/// How long the shell may take to look up a builtin.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A quality command that cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingProgram {
    /// The configured command.
    pub command: String,
    /// Its program, which is not in `PATH`.
    pub program: String,
}

impl fmt::Display for MissingProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, program } = self;
        write!(
            f,
            "the quality command `{command}` cannot run here, so nothing can pass it: `{program}` \
            is not in PATH"
        )
    }
}

impl MissingProgram {
    /// What to do about it.
    pub const ADVICE: &str = "install it, or change `qualityCommands` in .swarm/config.json";
}

impl Preflight<'_> {
    /// The quality commands whose program is missing.
    pub fn missing_programs(&self, commands: &[String]) -> Vec<MissingProgram> {
        let inherited = self.for_worktrees().environment;
        let path = inherited.get(OsStr::new("PATH"));
        let path = path.map(|path| path.to_string_lossy().into_owned());
        let env: BTreeMap<String, String> = path
            .map(|path| ("PATH".to_owned(), path))
            .into_iter()
            .collect();
        let named = commands.iter().filter_map(|command| {
            let program = deciding_program(command)?.to_owned();
            Some((command.clone(), program))
        });
        named
            .filter(|(_, program)| self.is_missing(program, &env))
            .map(|(command, program)| MissingProgram { command, program })
            .collect()
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

/// The program without which the whole line fails; `None` if there is no such program.
fn deciding_program(line: &str) -> Option<&str> {
    let all_must_pass = !line.replace("&&", "").contains(['|', '&', ';', '\n']);
    let word = line.split_ascii_whitespace().next()?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte);
    let named = word.bytes().all(is_name) && !word.starts_with(['-', '.']);
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
            ("./check", None),
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
        let found = preflight.missing_programs(&lines.map(str::to_owned));
        let programs: Vec<&str> = found.iter().map(|one| &*one.program).collect();
        assert_eq!(programs, ["nope"]);
    }
}
