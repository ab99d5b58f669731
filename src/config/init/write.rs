//! Writes the plan of `swarm init` to disk.
//!
//! Invariant: `.swarm` appears complete or not at all. All files are written and synced in
//! `.swarm.new-<pid>`, which is then renamed. The next run removes what an interrupted one left
//! there. Nothing that exists is changed. A `.swarm` without `config.json`, as `git clean -fdx`
//! leaves it where worktrees are, gets what it lacks, the configuration last.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::plan::{InitError, InitPlan, SWARM_DIR};
use crate::remove;

/// Checks that `.swarm` can be created in `repo_root`. Called before the plan is shown.
///
/// # Errors
/// `.swarm` exists, or cannot be inspected.
pub fn check_free(repo_root: &Path) -> Result<(), InitError> {
    let path = repo_root.join(SWARM_DIR);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(InitError::Io { path, source }),
        Ok(meta) if meta.is_dir() && is_cleaned(&path) => Ok(()),
        Ok(meta) if meta.is_dir() => Err(InitError::Exists(path)),
        Ok(_) => Err(InitError::NotADirectory(path)),
    }
}

/// Whether somebody removed the setup and left the rest.
fn is_cleaned(swarm: &Path) -> bool {
    let config = fs::symlink_metadata(swarm.join(CONFIG));
    config.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Writes the plan as `repo_root/.swarm`.
///
/// # Errors
/// As [`check_free`], and if a write fails. Then nothing of the plan is left on disk.
pub fn write(repo_root: &Path, plan: &InitPlan) -> Result<(), InitError> {
    check_free(repo_root)?;
    remove_leftovers(repo_root)?;
    let fresh = repo_root.join(format!("{NEW_PREFIX}{}", std::process::id()));
    let written = write_tree(&fresh, plan).and_then(|()| publish(repo_root, &fresh));
    if written.is_err() {
        // The first failure is the one to report. The next run removes what this cannot.
        drop(remove::tree(&fresh));
    }
    written
}

const NEW_PREFIX: &str = ".swarm.new-";
const CONFIG: &str = "config.json";

/// Removes what killed runs left beside `.swarm`, but nothing that belongs to a live process.
fn remove_leftovers(repo_root: &Path) -> Result<(), InitError> {
    let entries = fs::read_dir(repo_root).map_err(io_at(repo_root))?;
    for entry in entries {
        let path = entry.map_err(io_at(repo_root))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let pid = name.and_then(|name| name.strip_prefix(NEW_PREFIX)?.parse().ok());
        if pid.is_some_and(is_left) && fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir()) {
            remove::tree(&path).map_err(io_at(&path))?;
        }
    }
    Ok(())
}

fn is_left(pid: u32) -> bool {
    let own = pid == std::process::id();
    let gone = |pid: i32| pid > 0 && kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH);
    own || i32::try_from(pid).is_ok_and(gone)
}

fn write_tree(fresh: &Path, plan: &InitPlan) -> Result<(), InitError> {
    make_dir(fresh, 0o755)?;
    let mut dirs = vec![fresh.to_owned()];
    make_dir(&fresh.join("state"), 0o700)?;
    for (path, text) in &plan.files {
        for dir in parents(path) {
            let dir = fresh.join(dir);
            if !dirs.contains(&dir) {
                make_dir(&dir, 0o755)?;
                dirs.push(dir);
            }
        }
        write_file(&fresh.join(path), text)?;
    }
    dirs.iter().try_for_each(|dir| sync_dir(dir))
}

/// The directories that contain `path`, outermost first.
fn parents(path: &Path) -> Vec<&Path> {
    let mut dirs: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .filter(|dir| !dir.as_os_str().is_empty())
        .collect();
    dirs.reverse();
    dirs
}

/// The mode is explicit because a lax umask must not make hooks writable by others.
fn make_dir(path: &Path, mode: u32) -> Result<(), InitError> {
    DirBuilder::new()
        .mode(mode)
        .create(path)
        .map_err(io_at(path))
}

fn write_file(path: &Path, text: &str) -> Result<(), InitError> {
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(path);
    let written = opened.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(io_at(path))
}

fn sync_dir(path: &Path) -> Result<(), InitError> {
    File::open(path)
        .and_then(|dir| dir.sync_all())
        .map_err(io_at(path))
}

fn publish(repo_root: &Path, fresh: &Path) -> Result<(), InitError> {
    let path = repo_root.join(SWARM_DIR);
    if path.is_dir() && is_cleaned(&path) {
        return complete(&path, fresh).map_err(io_at(&path));
    }
    // The system's kinds of error are open-ended: what it says is passed on.
    #[allow(clippy::wildcard_enum_match_arm)]
    fs::rename(fresh, &path).map_err(|source| match source.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
            InitError::Exists(path.clone())
        }
        io::ErrorKind::NotADirectory => InitError::NotADirectory(path.clone()),
        _ => InitError::Io {
            path: path.clone(),
            source,
        },
    })?;
    sync_dir(repo_root)
}

/// Moves what is missing into `.swarm`, the configuration last: it is what says that all is there.
fn complete(swarm: &Path, fresh: &Path) -> io::Result<()> {
    let names: io::Result<Vec<_>> = fs::read_dir(fresh)?
        .map(|entry| Ok(entry?.file_name()))
        .collect();
    let (config, others): (Vec<_>, Vec<_>) = names?.into_iter().partition(|name| *name == CONFIG);
    for name in others.into_iter().chain(config) {
        let place = swarm.join(&name);
        if fs::symlink_metadata(&place).is_err() {
            fs::rename(fresh.join(&name), place)?;
        }
    }
    File::open(swarm)?.sync_all()?;
    remove::tree(fresh)
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> InitError {
    let path = path.to_owned();
    move |source| InitError::Io {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::process::Command;

    use tempfile::TempDir;

    use super::*;
    use crate::config::init::detect::Detected;
    use crate::config::init::plan::{Choices, plan_init};
    use crate::config::load;
    use crate::config::schema::schema_text;

    fn plan() -> InitPlan {
        let choices = Choices {
            agent: Some("claude".to_owned()),
            target: Some("main".to_owned()),
            ..Choices::default()
        };
        plan_init(&choices, &Detected::default()).unwrap()
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_written_files_are_complete_load_and_keep_state_private() {
        let repo = TempDir::new().unwrap();
        let plan = plan();
        check_free(repo.path()).unwrap();
        write(repo.path(), &plan).unwrap();
        assert_eq!(names(repo.path()), [".swarm"]);
        let swarm = repo.path().join(".swarm");
        assert_eq!(
            names(&swarm),
            [
                ".gitignore",
                "agents",
                "config.json",
                "config.schema.json",
                "hooks",
                "inbox",
                "rules",
                "state"
            ]
        );
        let mode =
            |name: &str| fs::metadata(swarm.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("state"), 0o700);
        assert_eq!(mode("hooks") & 0o022, 0);
        let loaded = load(&swarm, BTreeMap::new(), Vec::new()).unwrap();
        assert_eq!(loaded.config, plan.config);
        assert_eq!(
            fs::read_to_string(swarm.join("config.schema.json")).unwrap(),
            schema_text()
        );
    }

    #[test]
    fn git_ignores_state_and_tracks_the_rest() {
        let repo = TempDir::new().unwrap();
        write(repo.path(), &plan()).unwrap();
        let swarm = repo.path().join(".swarm");
        for file in [
            "state/events.jsonl",
            "inbox/a.md",
            "inbox/accepted/a.md",
            "config.local.json",
            "ideas.jsonl",
            "hooks/x.secret",
        ] {
            fs::create_dir_all(swarm.join(file).parent().unwrap()).unwrap();
            fs::write(swarm.join(file), "x").unwrap();
        }
        let output = Command::new("sh")
            .args([
                "-c",
                "git init -q && git ls-files --others --exclude-standard",
            ])
            .current_dir(repo.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", repo.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let seen = String::from_utf8(output.stdout).unwrap();
        let seen: Vec<&str> = seen.lines().collect();
        assert_eq!(
            seen,
            [
                ".swarm/.gitignore",
                ".swarm/agents/ed/prompt.md",
                ".swarm/agents/ed/rules.md",
                ".swarm/config.json",
                ".swarm/config.schema.json",
                ".swarm/hooks/README.md",
                ".swarm/inbox/.gitkeep",
                ".swarm/rules/general.md"
            ]
        );
    }

    #[test]
    fn existing_files_are_never_touched() {
        let plan = plan();
        let repo = TempDir::new().unwrap();
        let swarm = repo.path().join(".swarm");
        fs::create_dir(&swarm).unwrap();
        fs::write(swarm.join(CONFIG), "{}").unwrap();
        assert!(matches!(
            write(repo.path(), &plan),
            Err(InitError::Exists(_))
        ));
        assert_eq!(names(&swarm), [CONFIG]);
        assert_eq!(fs::read_to_string(swarm.join(CONFIG)).unwrap(), "{}");
        fs::remove_dir_all(&swarm).unwrap();
        std::os::unix::fs::symlink("elsewhere", &swarm).unwrap();
        assert!(matches!(
            write(repo.path(), &plan),
            Err(InitError::NotADirectory(_))
        ));
        assert_eq!(names(repo.path()), [".swarm"]);
    }

    #[test]
    fn what_is_left_of_a_cleaned_setup_is_kept_and_the_rest_comes_back() {
        let repo = TempDir::new().unwrap();
        let swarm = repo.path().join(".swarm");
        fs::create_dir_all(swarm.join("worktrees/one")).unwrap();
        fs::create_dir(swarm.join("hooks")).unwrap();
        fs::write(swarm.join("hooks/post-merge.sh"), "mine").unwrap();
        check_free(repo.path()).unwrap();
        write(repo.path(), &plan()).unwrap();
        assert_eq!(names(repo.path()), [".swarm"]);
        assert_eq!(names(&swarm.join("hooks")), ["post-merge.sh"]);
        assert_eq!(names(&swarm.join("worktrees")), ["one"]);
        load(&swarm, BTreeMap::new(), Vec::new()).unwrap();
    }

    #[test]
    fn a_directory_that_appears_during_the_write_is_kept() {
        let repo = TempDir::new().unwrap();
        let fresh = repo.path().join(".swarm.new-1");
        write_tree(&fresh, &plan()).unwrap();
        fs::create_dir(repo.path().join(".swarm")).unwrap();
        fs::write(repo.path().join(".swarm/config.json"), "{}").unwrap();
        assert!(matches!(
            publish(repo.path(), &fresh),
            Err(InitError::Exists(_))
        ));
        assert_eq!(names(&repo.path().join(".swarm")), ["config.json"]);
    }

    #[test]
    fn the_next_run_removes_what_a_killed_run_left() {
        let repo = TempDir::new().unwrap();
        let mut child = Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        for pid in [dead, std::process::id(), 1] {
            fs::create_dir_all(repo.path().join(format!(".swarm.new-{pid}/state"))).unwrap();
        }
        fs::create_dir(repo.path().join(".swarm.new-mine")).unwrap();
        write(repo.path(), &plan()).unwrap();
        assert_eq!(
            names(repo.path()),
            [".swarm", ".swarm.new-1", ".swarm.new-mine"]
        );
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let repo = TempDir::new().unwrap();
        let mut plan = plan();
        plan.files
            .push((PathBuf::from("config.json/x"), String::new()));
        let error = write(repo.path(), &plan).unwrap_err();
        assert!(error.to_string().contains("config.json"), "{error}");
        assert_eq!(names(repo.path()), [""; 0]);
    }
}
