//! Reads the configuration files.
//!
//! Invariant: reads only regular files, never follows a link, never blocks on a pipe, and never
//! reads more than [`MAX_FILE_BYTES`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::errors::{ConfigError, Origin, Problem, ProblemKind};
use super::layers::{Flag, Layered, Sources, VARIABLES, layer};
use crate::plain_file;

/// Largest configuration file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Reads `config.json` and `config.local.json` in `swarm_dir`, and merges environment and flags
/// over them.
///
/// # Errors
/// All problems. A missing `config.json` is one; a missing `config.local.json` is not.
pub fn load(
    swarm_dir: &Path,
    environment: BTreeMap<String, String>,
    flags: Vec<Flag>,
) -> Result<Layered, ConfigError> {
    let shared = read(&swarm_dir.join("config.json"));
    let local = read(&swarm_dir.join("config.local.json"));
    let mut problems = Vec::new();
    let mut keep = |origin, text: Result<String, ProblemKind>, may_lack: bool| match text {
        Ok(text) => Some(text),
        Err(ProblemKind::NoFile) if may_lack => None,
        Err(kind) => {
            problems.push(Problem {
                origin,
                position: None,
                key: String::new(),
                kind,
            });
            None
        }
    };
    let sources = Sources {
        shared: keep(Origin::Shared, shared, false),
        local: keep(Origin::Local, local, true),
        environment,
        flags,
    };
    match layer(&sources) {
        Ok(layered) if problems.is_empty() => Ok(layered),
        Ok(_) => Err(ConfigError::new(problems)),
        Err(error) => {
            problems.extend(error.problems);
            Err(ConfigError::new(problems))
        }
    }
}

/// The variables of this process's environment that set a configuration key.
pub fn environment() -> BTreeMap<String, String> {
    let read = |name: &str| {
        let value = std::env::var_os(name)?;
        Some((name.to_owned(), value.to_string_lossy().into_owned()))
    };
    VARIABLES.into_iter().filter_map(read).collect()
}

fn read(path: &Path) -> Result<String, ProblemKind> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| unreadable(&e))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let limit = MAX_FILE_BYTES;
        return Err(ProblemKind::TooLarge { limit });
    }
    String::from_utf8(bytes).map_err(|e| unreadable(&io::Error::other(e.utf8_error())))
}

fn open(path: &Path) -> Result<File, ProblemKind> {
    plain_file::open(path).map_err(|error| match plain_file::other_kind(&error) {
        Some(what) => ProblemKind::NotRegular {
            what: what.to_owned(),
        },
        None if error.kind() == io::ErrorKind::NotFound => ProblemKind::NoFile,
        None => unreadable(&error),
    })
}

fn unreadable(error: &io::Error) -> ProblemKind {
    ProblemKind::Unreadable {
        why: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn told(dir: &TempDir) -> String {
        let error = load(dir.path(), BTreeMap::new(), Vec::new()).expect_err("refused");
        error.to_string()
    }

    #[test]
    fn both_files_are_read_and_a_byte_order_mark_is_skipped() {
        let dir = TempDir::new().unwrap();
        fs::write(
            dir.path().join("config.json"),
            "\u{feff}{\"mode\": \"semi-auto\", \"target\": \"main\"}",
        )
        .unwrap();
        fs::write(
            dir.path().join("config.local.json"),
            "{\"target\": \"dev\"}",
        )
        .unwrap();
        let layered = load(dir.path(), BTreeMap::new(), Vec::new()).unwrap();
        assert_eq!(layered.config.target.as_deref(), Some("dev"));
        assert_eq!(layered.origin("mode"), Origin::Shared);
        assert_eq!(layered.origin("target"), Origin::Local);
    }

    #[test]
    fn a_missing_file_names_the_command_that_writes_it() {
        let dir = TempDir::new().unwrap();
        assert!(told(&dir).contains("swarm init"), "{}", told(&dir));
    }

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("config.json");
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(told(&dir).contains("a symbolic link"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(told(&dir).contains("a directory"));
        fs::remove_dir(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(told(&dir).contains("a pipe"));
        fs::remove_file(&path).unwrap();
        let length = usize::try_from(MAX_FILE_BYTES).unwrap() + 1;
        fs::write(&path, vec![b' '; length]).unwrap();
        assert!(told(&dir).contains("the file is larger than 1048576 bytes"));
        fs::write(&path, b"{\"mode\": \"\xff\"}").unwrap();
        assert!(told(&dir).contains("cannot read the file: invalid utf-8"));
    }

    #[test]
    fn problems_of_both_files_are_reported_at_once() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("config.json"), "{\n  \"mod\": 1\n}").unwrap();
        fs::create_dir(dir.path().join("config.local.json")).unwrap();
        let told = told(&dir);
        assert!(
            told.contains("config.local.json: found a directory"),
            "{told}"
        );
        assert!(
            told.contains("config.json:2:3: mod: unknown key; did you mean `mode`?"),
            "{told}"
        );
    }
}
