//! Reads the configuration files.
//!
//! Invariant: reads only regular files, never blocks on a pipe, and never reads more than
//! [`MAX_FILE_BYTES`]. In a repository it follows no link; the person's own file may be one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::errors::{ConfigError, Origin, Problem, ProblemKind};
use super::layers::{Flag, Layered, Sources, UserFile, VARIABLES, layer};
use crate::plain_file;

/// Largest configuration file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Variables that say where the person's own file is.
const PLACE_VARIABLES: [&str; 2] = ["XDG_CONFIG_HOME", "HOME"];

/// Reads the person's own file, and `config.json` and `config.local.json` in `swarm_dir`; merges
/// environment and flags over them. The environment also says where the person's file is.
///
/// # Errors
/// All problems. A missing `config.json` is one; the others may be missing.
pub fn load(
    swarm_dir: &Path,
    environment: BTreeMap<String, String>,
    flags: Vec<Flag>,
) -> Result<Layered, ConfigError> {
    let (mut sources, problems) = sources(Some(swarm_dir), environment);
    sources.flags = flags;
    with_problems(layer(&sources), problems)
}

/// Adds the problems of files that could not be read.
pub(super) fn with_problems(
    layered: Result<Layered, ConfigError>,
    mut problems: Vec<Problem>,
) -> Result<Layered, ConfigError> {
    match layered {
        Ok(layered) if problems.is_empty() => Ok(layered),
        Ok(_) => Err(ConfigError::new(problems)),
        Err(error) => {
            problems.extend(error.problems);
            Err(ConfigError::new(problems))
        }
    }
}

/// What the files and the environment say, and which files cannot be read. Outside a repository
/// (`None`) there is only the person's own file.
pub(super) fn sources(
    swarm_dir: Option<&Path>,
    environment: BTreeMap<String, String>,
) -> (Sources, Vec<Problem>) {
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
    let user = user_file(&environment).and_then(|path| {
        let name = for_people(&path, &environment);
        let text = read(&path.canonicalize().unwrap_or(path));
        let text = keep(Origin::User(name.clone()), text, true)?;
        Some(UserFile { name, text })
    });
    let mut file = |name: &str, origin, may_lack| {
        let text = read(&swarm_dir?.join(name));
        keep(origin, text, may_lack)
    };
    let sources = Sources {
        user,
        shared: file("config.json", Origin::Shared, false),
        local: file("config.local.json", Origin::Local, true),
        environment,
        flags: vec![],
    };
    (sources, problems)
}

/// The person's own file; `None` if the environment names no absolute directory for it.
pub(super) fn user_file(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(environment.get(name)?);
        path.is_absolute().then_some(path)
    };
    let home = || Some(absolute("HOME")?.join(".config"));
    let folder = absolute("XDG_CONFIG_HOME").or_else(home)?;
    Some(folder.join("swarm/config.json"))
}

/// A path with `~` for the home directory.
pub(super) fn for_people(path: &Path, environment: &BTreeMap<String, String>) -> String {
    let home = environment.get("HOME").filter(|home| home.len() > 1);
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(
        || path.display().to_string(),
        |below| format!("~/{}", below.display()),
    )
}

/// The variables of this process's environment that set a configuration key, or say where the
/// person's own file is.
pub fn environment() -> BTreeMap<String, String> {
    let read = |name: &str| {
        let value = std::env::var_os(name)?;
        Some((name.to_owned(), value.to_string_lossy().into_owned()))
    };
    // A test in this process must not read the file of whoever runs it.
    let places = PLACE_VARIABLES.into_iter().filter(|_| !cfg!(test));
    VARIABLES
        .into_iter()
        .chain(places)
        .filter_map(read)
        .collect()
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
    fn the_persons_file_is_found_by_the_environment_and_may_be_a_link() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("config.json"), r#"{"target": "main"}"#).unwrap();
        let home = dir.path().join("home");
        let own = home.join(".config/swarm/config.json");
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        let text = r#"{"target": "own", "mode": "semi-auto"}"#;
        fs::write(home.join("dotfile"), text).unwrap();
        std::os::unix::fs::symlink(home.join("dotfile"), &own).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut environment = BTreeMap::from([("HOME".to_owned(), text(&home))]);
        let layered = load(dir.path(), environment.clone(), vec![]).unwrap();
        assert_eq!(layered.origin("target"), Origin::Shared);
        let name = "~/.config/swarm/config.json";
        assert_eq!(layered.origin("mode"), Origin::User(name.to_owned()));
        // The variable of the standard is first, if it is valid.
        environment.insert("XDG_CONFIG_HOME".to_owned(), text(dir.path()));
        let layered = load(dir.path(), environment.clone(), vec![]).unwrap();
        assert_eq!(layered.origin("mode"), Origin::Default);
        environment.insert("XDG_CONFIG_HOME".to_owned(), "relative".to_owned());
        let layered = load(dir.path(), environment, vec![]).unwrap();
        assert_eq!(layered.origin("mode"), Origin::User(name.to_owned()));
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
