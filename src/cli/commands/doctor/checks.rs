//! The single checks. Each looks at one thing and says what it found.
//!
//! Invariant: nothing is changed but with `fix`, and then only permissions of our own folders and
//! the traces of a daemon that is proven dead: nobody holds the lock.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use nix::sys::statvfs::{Statvfs, statvfs};

use super::check::{Check, Level, Looked, mended};
use super::{agents, damage};
use crate::api::DaemonFile;
use crate::cli::access::remote::Daemon;
use crate::cli::commands::config::{load, not_ready};
use crate::cli::commands::replay;
use crate::cli::context::Context;
use crate::cli::repo::Repo;
use crate::config::Config;
use crate::daemon::actor::clock::wall;
use crate::daemon::error::DaemonError;
use crate::daemon::hooks::{HookView, list_in};
use crate::daemon::repair::{self, Findings};
use crate::daemon::{Paths, offline};
use crate::git::Repo as GitRepo;
use crate::remove;
use crate::view;

/// Less room than this and nothing can be written soon.
const NO_ROOM: u64 = 64 * 1024 * 1024;
/// Less room than this and it may become tight.
const LITTLE_ROOM: u64 = 1024 * 1024 * 1024;
/// Less than this is no news, milliseconds.
const CLOCK_BEHIND_MS: i64 = 5_000;
/// The oldest git that will do.
const MINIMUM_GIT: (u32, u32) = (2, 38);

/// All checks, in the order of what depends on what.
pub(super) fn all(fix: bool, context: &Context) -> Looked {
    let mut checks = Vec::new();
    let findings = examine_state(fix, context, &mut checks);
    Looked { checks, findings }
}

fn examine_state(fix: bool, context: &Context, checks: &mut Vec<Check>) -> Option<Findings> {
    let git = open_git(context, checks);
    let repo = match context.repo() {
        Ok(repo) => repo,
        Err(error) => {
            checks.push(Check::error("setup", error));
            return None;
        }
    };
    checks.push(Check::ok("setup", format!("{}", repo.folder().display())));
    checks.extend(["state", "runs"].map(|name| private_folder(&repo, name, fix)));
    let config = configuration(&repo, checks);
    if let Some(config) = &config {
        checks.extend(agents::all(&repo, config));
    }
    if let Some(git) = &git {
        checks.push(target(git, config.as_ref()));
    }
    checks.push(room(&repo));
    daemon_and_log(&repo, fix, checks)
}

fn open_git(context: &Context, checks: &mut Vec<Check>) -> Option<GitRepo> {
    let folder = match context.start_folder() {
        Ok(folder) => folder,
        Err(error) => {
            checks.push(Check::error("git", error));
            return None;
        }
    };
    match GitRepo::open(&folder) {
        Ok(git) => {
            let (major, minor) = git.git_version();
            checks.push(if (major, minor) >= MINIMUM_GIT {
                Check::ok("git", format!("version {major}.{minor}"))
            } else {
                let (at_least, least_minor) = MINIMUM_GIT;
                Check::fail("git", format!("version {major}.{minor} is too old"))
                    .advice(format!("install git {at_least}.{least_minor} or newer"))
            });
            checks.push(Check::ok("repository", git.root().display().to_string()));
            Some(git)
        }
        Err(error) => {
            checks.push(Check::fail("git", error.to_string()));
            None
        }
    }
}

/// `state/` and `runs/` hold what only their owner may see.
fn private_folder(repo: &Repo, name: &'static str, fix: bool) -> Check {
    let path = repo.folder().join(name);
    let metadata = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata,
        // The check of the log says what can be done.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && name == "state"
                && repo.folder().join("ideas.jsonl").exists() =>
        {
            return Check::fail(name, format!("{} is gone", path.display()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Check::ok(name, "not there yet; the first start makes it");
        }
        Err(error) => return Check::fail(name, format!("cannot be looked at: {error}")),
    };
    if !metadata.is_dir() {
        return Check::fail(name, format!("{} is not a folder", path.display())).advice(format!(
            "look what it is, then remove it: rm {}",
            path.display()
        ));
    }
    if metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Check::fail(name, format!("{} belongs to somebody else", path.display()))
            .advice("work as the user who set it up, or give it to yourself with chown");
    }
    permissions(name, &path, &metadata, fix)
}

fn permissions(name: &'static str, path: &Path, metadata: &Metadata, fix: bool) -> Check {
    let mode = metadata.permissions().mode() & 0o777;
    if mode == 0o700 {
        return Check::ok(name, "only its owner can look into it");
    }
    let advice = format!(
        "chmod 700 {}, or let it be mended: swarm doctor --fix",
        path.display()
    );
    let wrong = Check::fail(name, format!("its permissions are {mode:o}, not 700")).advice(advice);
    if !fix {
        return wrong;
    }
    match fs::set_permissions(path, Permissions::from_mode(0o700)) {
        Ok(()) => mended(
            name,
            format!("its permissions were {mode:o} and are 700 now"),
        ),
        Err(error) => Check::fail(name, format!("its permissions cannot be changed: {error}")),
    }
}

fn configuration(repo: &Repo, checks: &mut Vec<Check>) -> Option<Config> {
    match load(repo) {
        Ok(layered) => {
            let problems = layered.readiness();
            checks.push(if problems.is_empty() {
                Check::ok("config", "right")
            } else {
                Check::error("config", not_ready(&problems))
            });
            Some(layered.config)
        }
        Err(error) => {
            checks.push(Check::error("config", error));
            None
        }
    }
}

fn target(git: &GitRepo, config: Option<&Config>) -> Check {
    let named = config.and_then(|config| config.target.clone());
    let branch = match named.map_or_else(|| git.head_branch(), |named| Ok(Some(named))) {
        Ok(Some(branch)) => branch,
        Ok(None) => {
            return Check::fail(
                "target",
                "no branch is checked out, and the configuration names none",
            )
            .advice("name one: `target` in .swarm/config.json");
        }
        Err(error) => return Check::fail("target", error.to_string()),
    };
    match git.target_exists(&branch) {
        Ok(true) => Check::ok("target", format!("work lands on {branch}")),
        Ok(false) => Check::fail("target", format!("there is no branch {branch}"))
            .advice("make it with git branch, or name another: `target` in .swarm/config.json"),
        Err(error) => Check::fail("target", error.to_string()),
    }
}

fn room(repo: &Repo) -> Check {
    let status = match statvfs(&repo.folder()) {
        Ok(status) => status,
        Err(errno) => return Check::warn("disk", format!("its free space is not known: {errno}")),
    };
    let free = free_bytes(&status);
    let message = format!("{} MiB free", free / (1024 * 1024));
    if free < NO_ROOM {
        Check::fail("disk", message).advice("make room: nothing can be written soon")
    } else if free < LITTLE_ROOM {
        Check::warn("disk", message).advice("make room before long work")
    } else {
        Check::ok("disk", message)
    }
}

/// These counts are narrower than 64 bits on some systems.
#[allow(clippy::useless_conversion)]
fn free_bytes(status: &Statvfs) -> u64 {
    u64::from(status.blocks_available()).saturating_mul(u64::from(status.fragment_size()))
}

/// With a daemon the log is its own; without one it is read and compared.
fn daemon_and_log(repo: &Repo, fix: bool, checks: &mut Vec<Check>) -> Option<Findings> {
    let paths = &repo.paths();
    match Daemon::connect(repo) {
        Ok(Some(daemon)) => {
            checks.push(Check::ok("daemon", format!("runs (pid {})", daemon.pid())));
            checks.push(Check::ok("log", "the daemon has read it"));
            checks.extend(checkpoints(paths));
            checks.extend(hooks(paths));
            return None;
        }
        Ok(None) => checks.push(without_daemon(repo, fix)),
        Err(error) => checks.push(Check::error("daemon", error)),
    }
    // A daemon that starts or ends is writing at this moment.
    if offline::is_locked(paths).is_ok_and(|locked| locked) {
        checks.push(log(paths));
        return None;
    }
    state(paths, fix, checks)
}

fn state(paths: &Paths, fix: bool, checks: &mut Vec<Check>) -> Option<Findings> {
    let mut examined = repair::examine(paths);
    if fix && examined.as_ref().is_ok_and(|found| found.interrupted) {
        checks.push(damage::finish(paths));
        examined = repair::examine(paths);
    }
    match examined {
        Ok(findings) => {
            let found = damage::checks(&findings);
            let fails = found.iter().any(|check| check.level == Level::Fail);
            checks.extend(found);
            if !fails {
                checks.push(log(paths));
                checks.extend(rollback(paths));
                checks.extend(checkpoints(paths));
                checks.extend(hooks(paths));
                checks.extend(clock(paths));
            }
            Some(findings)
        }
        Err(error) => {
            checks.push(Check::error("log", error));
            None
        }
    }
}

fn hooks_of(paths: &Paths) -> Result<Vec<HookView>, DaemonError> {
    list_in(paths, &offline::read(paths)?)
}

/// Hooks that are not run. One that stands before a step holds everything at that step.
fn hooks(paths: &Paths) -> Vec<Check> {
    let all = match hooks_of(paths) {
        Ok(all) => all,
        Err(error) => return vec![Check::error("hooks", error)],
    };
    let refused = all
        .iter()
        .filter_map(|hook| Some((hook.hook, hook.refused.as_ref()?)));
    let found: Vec<Check> = refused
        .map(|(hook, why)| Check::warn("hooks", format!("{hook}: {why}")))
        .collect();
    match all.len() {
        0 => Vec::new(),
        _ if !found.is_empty() => found,
        1 => vec![Check::ok("hooks", "one, and it is in order")],
        number => vec![Check::ok("hooks", format!("{number}, all in order"))],
    }
}

/// One that was cut off with its daemon.
fn rollback(paths: &Paths) -> Option<Check> {
    let state = offline::read(paths).ok()?;
    let cut_off = view::cut_off(&state)?;
    Some(Check::warn("rollback", cut_off.message).advice("finish it: swarm start"))
}

/// What can still be rolled back to.
fn checkpoints(paths: &Paths) -> Vec<Check> {
    let (sound, faults) = match offline::sound_checkpoints(paths) {
        Ok(found) => found,
        Err(error) => return vec![Check::error("checkpoints", error)],
    };
    let mut checks: Vec<Check> = faults
        .iter()
        .map(|(name, why)| {
            Check::warn(
                "checkpoint",
                format!("{name} cannot be rolled back to: {why}"),
            )
            .advice(format!("or forget it: swarm checkpoint delete {name}"))
        })
        .collect();
    if let Some(newest) = sound.last() {
        let count = sound.len();
        let words = format!("{count} can be rolled back to, the newest is {newest}");
        checks.push(Check::ok("checkpoints", words));
    }
    checks
}

/// Whether the clock has gone back behind what was written last: times stand still until it has
/// caught up.
fn clock(paths: &Paths) -> Option<Check> {
    let last = offline::read(paths).ok()?.swarm.last_event_at;
    let behind = last.since(wall());
    if behind < CLOCK_BEHIND_MS {
        return Some(Check::ok("clock", "not behind the last event"));
    }
    let seconds = behind / 1_000;
    let words = format!(
        "{seconds} s behind the last event ({last}): events keep that time until it has caught up"
    );
    Some(Check::warn("clock", words).advice("set the clock, for instance by NTP"))
}

fn without_daemon(repo: &Repo, fix: bool) -> Check {
    match offline::is_locked(&repo.paths()) {
        Err(error) => return Check::error("daemon", error),
        Ok(true) => {
            return Check::warn("daemon", "something holds the lock and does not answer")
                .advice("a daemon that starts or ends, or a command: look again in a moment");
        }
        Ok(false) => {}
    }
    let left = match DaemonFile::read(&repo.state()) {
        Ok(None) => return Check::ok("daemon", "none runs"),
        Ok(Some(file)) => file,
        Err(error) => {
            return Check::warn(
                "daemon",
                format!("none runs; its file cannot be read: {error}"),
            )
            .advice("the next start writes it anew: swarm start");
        }
    };
    let message = format!("none runs; the last one (pid {}) was killed", left.pid);
    if !fix {
        return Check::warn("daemon", message).advice(
            "nothing is lost, the next start goes on: swarm start; or tidy up: swarm doctor --fix",
        );
    }
    match tidy_up(repo, &left) {
        Ok(()) => mended(
            "daemon",
            format!("{message}; what it left has been removed"),
        ),
        Err(error) => Check::warn(
            "daemon",
            format!("{message}; its traces cannot be removed: {error}"),
        ),
    }
}

/// Removes the socket and the file that names it. Only a socket is removed: the file could name
/// anything.
fn tidy_up(repo: &Repo, left: &DaemonFile) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let kind = fs::symlink_metadata(&left.socket).map(|metadata| metadata.file_type());
    if kind.is_ok_and(|kind| kind.is_socket()) {
        remove::file(&left.socket)?;
    }
    DaemonFile::remove(&repo.state())
}

fn log(paths: &Paths) -> Check {
    match replay::verify(paths) {
        Ok(report) => match &report.difference {
            None => Check::ok(
                "log",
                format!("{} events, snapshot and events agree", report.events),
            ),
            Some(difference) => {
                Check::fail("log", format!("snapshot and events differ: {difference}")).advice(
                    "the events are the truth; remove .swarm/state/snapshot.json and start again",
                )
            }
        },
        Err(error) => Check::error("log", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo() -> (tempfile::TempDir, Repo) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".swarm/state")).unwrap();
        let repo = Repo::find(dir.path()).unwrap();
        (dir, repo)
    }

    #[test]
    fn loose_permissions_are_found_and_mended() {
        let (_dir, repo) = repo();
        fs::set_permissions(repo.state(), Permissions::from_mode(0o755)).unwrap();
        let check = private_folder(&repo, "state", false);
        assert_eq!(check.level, Level::Fail);
        assert!(check.advice.unwrap().contains("chmod 700"));
        let check = private_folder(&repo, "state", true);
        assert!(check.fixed && check.message.contains("755"));
        assert_eq!(private_folder(&repo, "state", false).level, Level::Ok);
        assert_eq!(private_folder(&repo, "runs", false).level, Level::Ok);
    }

    #[test]
    fn a_link_in_the_place_of_the_state_fails() {
        let (_dir, repo) = repo();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::remove_dir(repo.state()).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), repo.state()).unwrap();
        assert_eq!(private_folder(&repo, "state", true).level, Level::Fail);
    }

    #[test]
    fn tidying_up_removes_a_socket_and_nothing_else() {
        let (dir, repo) = repo();
        let precious = dir.path().join("precious");
        fs::write(&precious, "x").unwrap();
        let mut left = DaemonFile {
            pid: 1,
            socket: precious.clone(),
            started_at: crate::domain::time::Timestamp::default(),
            version: "0".into(),
            web_url: None,
            state: None,
        };
        left.write(&repo.state()).unwrap();
        tidy_up(&repo, &left).unwrap();
        assert!(precious.exists());
        assert_eq!(DaemonFile::read(&repo.state()).unwrap(), None);
        left.socket = repo.state().join("s");
        drop(std::os::unix::net::UnixListener::bind(&left.socket).unwrap());
        tidy_up(&repo, &left).unwrap();
        assert!(!left.socket.exists());
    }
}
