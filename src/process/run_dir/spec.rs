//! The specification of one child, and the search for its program.
//!
//! Invariant: the environment is complete (nothing is inherited). It may hold secrets, so it is
//! never in `spec.json` but in its own file, which is removed once the child has claimed the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use serde::{Deserialize, Serialize};

use super::lease::Lease;
use crate::process::error::{ProcessError, Result};

/// Specification of one child process. All text is UTF-8; paths are absolute except `stdin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSpec {
    /// Id of the run and name of its directory: `[a-z0-9][a-z0-9-]{0,63}`.
    pub id: String,
    /// The program, preferably from [`resolve_program`]. A bare name is looked up in the `PATH` of
    /// `env`.
    pub program: String,
    /// Arguments, without the program's name.
    pub args: Vec<String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Complete environment, to which the runner adds `SWARM_RUN_ID` and `SWARM_RUN_DIR`. Empty
    /// when the specification is read back from its run.
    #[serde(default, skip_serializing)]
    pub env: BTreeMap<String, String>,
    /// File of the run directory to use as standard input; `None` means `/dev/null`.
    pub stdin: Option<String>,
    /// Time limit in milliseconds; `None` means no limit.
    pub timeout_ms: Option<u64>,
    /// Limit in milliseconds on the time in which neither `stdout.log` nor `stderr.log` grows;
    /// `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// Time from SIGTERM to SIGKILL, in milliseconds.
    pub grace_ms: u64,
    /// Limit on the total length of `stdout.log` and `stderr.log`, checked at least once a second;
    /// `None` means no limit.
    pub max_output_bytes: Option<u64>,
    /// Limit on the time without a live daemon; `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
}

#[cfg(test)]
impl RunSpec {
    /// A specification for tests that only need the directory.
    pub(crate) fn of_true(id: &str) -> Self {
        Self {
            id: id.into(),
            program: "true".into(),
            args: vec![],
            cwd: "/".into(),
            env: BTreeMap::new(),
            stdin: None,
            timeout_ms: None,
            idle_ms: None,
            grace_ms: 0,
            max_output_bytes: None,
            lease: None,
        }
    }
}

/// Finds `program` as the child would: a bare name in the `PATH` of `env`, a path with `/` relative
/// to `cwd`.
///
/// # Errors
/// [`ProcessError::ProgramMissing`] or [`ProcessError::NotExecutable`].
pub fn resolve_program(
    program: &str,
    env: &BTreeMap<String, String>,
    cwd: &Path,
) -> Result<PathBuf> {
    if program.contains('/') {
        return usable(cwd.join(program), program);
    }
    let search = env.get("PATH").map_or("", String::as_str);
    let found: Vec<PathBuf> = search
        .split(':')
        .filter(|_| !program.is_empty())
        // An empty entry in PATH means the working directory, as for execvp.
        .map(|entry| cwd.join(entry).join(program))
        .filter(|candidate| candidate.is_file())
        .collect();
    let executable = found.iter().find(|candidate| is_executable(candidate));
    match (executable, found.first()) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(path)) => Err(ProcessError::NotExecutable(path.clone())),
        (None, None) => Err(ProcessError::ProgramMissing {
            program: program.to_owned(),
            searched: format!("PATH={search}"),
        }),
    }
}

fn usable(path: PathBuf, program: &str) -> Result<PathBuf> {
    if !path.exists() {
        return Err(ProcessError::ProgramMissing {
            program: program.to_owned(),
            searched: path.display().to_string(),
        });
    }
    if path.is_file() && is_executable(&path) {
        Ok(path)
    } else {
        Err(ProcessError::NotExecutable(path))
    }
}

fn is_executable(path: &Path) -> bool {
    access(path, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn script(dir: &Path, name: &str, mode: u32) {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn env(path: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("PATH".to_owned(), path.to_owned())])
    }

    #[test]
    fn a_name_is_looked_up_only_in_the_given_path() {
        let dir = tempfile::tempdir().unwrap();
        script(&dir.path().join("b"), "tool", 0o755);
        let env = env("/nowhere:b");
        let found = resolve_program("tool", &env, dir.path()).unwrap();
        assert_eq!(found, dir.path().join("b/tool"));
        let missing = resolve_program("sh", &env, dir.path()).unwrap_err();
        assert!(missing.to_string().contains("PATH=/nowhere:b"), "{missing}");
        assert!(resolve_program("", &env, dir.path()).is_err());
        assert!(resolve_program("sh", &BTreeMap::new(), dir.path()).is_err());
    }

    #[test]
    fn a_file_that_is_not_executable_is_skipped_or_reported() {
        let dir = tempfile::tempdir().unwrap();
        script(&dir.path().join("a"), "tool", 0o644);
        let plain = resolve_program("tool", &env("a"), dir.path()).unwrap_err();
        assert!(matches!(plain, ProcessError::NotExecutable(_)));
        script(&dir.path().join("b"), "tool", 0o755);
        let found = resolve_program("tool", &env("a:b"), dir.path()).unwrap();
        assert_eq!(found, dir.path().join("b/tool"));
    }

    #[test]
    fn a_path_is_relative_to_the_working_directory() {
        let dir = tempfile::tempdir().unwrap();
        script(dir.path(), "tool", 0o755);
        let found = resolve_program("./tool", &env(""), dir.path()).unwrap();
        assert!(found.is_file());
        let error = resolve_program("./none", &env(""), dir.path()).unwrap_err();
        assert!(matches!(error, ProcessError::ProgramMissing { .. }));
        let error = resolve_program("/", &env(""), dir.path()).unwrap_err();
        assert!(matches!(error, ProcessError::NotExecutable(_)));
    }
}
