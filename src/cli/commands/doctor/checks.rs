//! The checks of the installation, the daemon and the state.
//!
//! Invariant: only `fix` changes anything, and then only the permissions of our own folders and the
//! files of a daemon that is proven dead because nobody holds the lock.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use nix::sys::statvfs::{Statvfs, statvfs};

use super::check::{Check, Examination, Level, fixed};
use super::commits::commits;
use super::content::content;
use super::repository::{layout, leftovers};
use super::{agents, damage};
use crate::api::DaemonFile;
use crate::cli::access::remote::Daemon;
use crate::cli::commands::config::{load, not_ready};
use crate::cli::commands::replay;
use crate::cli::context::Context;
use crate::cli::repo::Repo;
use crate::config::Config;
use crate::daemon::actor::clock::wall;
use crate::daemon::checks_probe;
use crate::daemon::error::DaemonError;
use crate::daemon::hooks::{HookView, list_in};
use crate::daemon::repair::{self, Findings};
use crate::daemon::{Paths, offline};
use crate::git::Repo as GitRepo;
use crate::probe::{CommandReport, Sight};
use crate::remove;
use crate::view;

/// Free bytes below which writes will soon fail.
const CRITICAL_SPACE: u64 = 64 * 1024 * 1024;
/// Free bytes below which a long run may fill the disk.
const LOW_SPACE: u64 = 1024 * 1024 * 1024;
/// A smaller difference is not reported, in milliseconds.
const CLOCK_BEHIND_MS: i64 = 5_000;
/// The oldest supported git.
const MINIMUM_GIT: (u32, u32) = (2, 38);

/// Runs all checks; each after those that it depends on.
pub(super) fn all(fix: bool, context: &Context) -> Examination {
    let mut checks = Vec::new();
    let findings = examine_state(fix, context, &mut checks);
    Examination { checks, findings }
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
    checks.extend(["state", "private"].map(|name| private_folder(&repo, name, fix)));
    let config = configuration(&repo, checks);
    if let Some(config) = &config {
        checks.extend(agents::all(&repo, config));
    }
    if let Some(git) = &git {
        checks.push(target(git, config.as_ref()));
        checks.extend(commits(git, config.as_ref()));
        checks.push(layout(git));
        checks.extend(leftovers(git, config.as_ref()));
        checks.extend(content(git));
    }
    checks.extend(probed_checks(&repo));
    checks.push(disk_space(&repo));
    daemon_and_log(&repo, fix, checks)
}

/// What the last `swarm checks probe` found; `None` if nothing is known.
fn probed_checks(repo: &Repo) -> Option<Check> {
    let probed = checks_probe::last(&repo.paths()).ok()??;
    let alarms = probed.report.alarms.iter().map(|it| it.message.clone());
    let unknown = |it: &&CommandReport| it.sight == Sight::Unknown && !it.accepted;
    let unknown = probed.report.commands.iter().filter(unknown).map(|it| {
        let why = it.why.as_deref().unwrap_or("the reason is unknown");
        format!(
            "the last probe could not tell whether `{}` sees the tree: {why}",
            it.command
        )
    });
    let messages: Vec<String> = alarms.chain(unknown).collect();
    Some(if messages.is_empty() {
        Check::ok("checks", "the last probe found nothing wrong")
    } else {
        Check::warn("checks", messages.join("\n")).advice("see all of it: swarm checks probe")
    })
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

/// `.swarm/state` and swarm's folder in the git directory must be private to their owner.
fn private_folder(repo: &Repo, name: &'static str, fix: bool) -> Check {
    let path = if name == "state" {
        repo.state()
    } else {
        repo.private()
    };
    let metadata = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata,
        // The check of the log gives the advice.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && name == "state"
                && repo.folder().join("ideas.jsonl").exists() =>
        {
            return Check::fail(name, format!("{} is gone", path.display()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Check::ok(name, "not there yet; the first start creates it");
        }
        Err(error) => return Check::fail(name, format!("cannot be inspected: {error}")),
    };
    if !metadata.is_dir() {
        return Check::fail(name, format!("{} is not a folder", path.display())).advice(format!(
            "check what it is, then remove it: rm {}",
            path.display()
        ));
    }
    if metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Check::fail(name, format!("{} belongs to another user", path.display()))
            .advice("run swarm as that user, or take ownership with chown");
    }
    permissions(name, &path, &metadata, fix)
}

fn permissions(name: &'static str, path: &Path, metadata: &Metadata, fix: bool) -> Check {
    let mode = metadata.permissions().mode() & 0o777;
    if mode == 0o700 {
        return Check::ok(name, "private to you");
    }
    let advice = format!(
        "make it private: chmod 700 {}\nor let doctor do it: swarm doctor --fix",
        path.display()
    );
    let wrong = Check::fail(name, format!("its permissions are {mode:o}, not 700")).advice(advice);
    if !fix {
        return wrong;
    }
    match fs::set_permissions(path, Permissions::from_mode(0o700)) {
        Ok(()) => fixed(name, format!("permissions changed from {mode:o} to 700")),
        Err(error) => Check::fail(name, format!("its permissions cannot be changed: {error}")),
    }
}

fn configuration(repo: &Repo, checks: &mut Vec<Check>) -> Option<Config> {
    match load(repo) {
        Ok(layered) => {
            let problems = layered.readiness();
            checks.push(if problems.is_empty() {
                Check::ok("config", "valid")
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
                "no branch is checked out, and the configuration sets no `target`",
            )
            .advice("set `target` in .swarm/config.json");
        }
        Err(error) => return Check::fail("target", error.to_string()),
    };
    match git.target_exists(&branch) {
        Ok(true) => Check::ok("target", format!("work lands on {branch}")),
        Ok(false) => {
            Check::fail("target", format!("the branch `{branch}` does not exist")).advice(format!(
                "create it: git branch {branch}\nor set another `target` in .swarm/config.json"
            ))
        }
        Err(error) => Check::fail("target", error.to_string()),
    }
}

fn disk_space(repo: &Repo) -> Check {
    let status = match statvfs(&repo.folder()) {
        Ok(status) => status,
        Err(errno) => return Check::warn("disk", format!("free space unknown: {errno}")),
    };
    // The worktrees may lie on another file system.
    let worktrees = statvfs(&repo.paths().worktrees).map_or(u64::MAX, |it| free_bytes(&it));
    let free = free_bytes(&status).min(worktrees);
    let mib = free / (1024 * 1024);
    let message = match mib / 1024 {
        0 => format!("{mib} MiB free"),
        gib => format!("{gib} GiB free"),
    };
    if free < CRITICAL_SPACE {
        Check::fail("disk", message).advice("free some space now, or writing will soon fail")
    } else if free < LOW_SPACE {
        Check::warn("disk", message).advice("free some space before a long run")
    } else {
        Check::ok("disk", message)
    }
}

/// These counts are narrower than 64 bits on some systems.
#[allow(clippy::useless_conversion)]
fn free_bytes(status: &Statvfs) -> u64 {
    u64::from(status.blocks_available()).saturating_mul(u64::from(status.fragment_size()))
}

/// Checks the log only if no daemon runs: a running daemon has checked it at its start.
fn daemon_and_log(repo: &Repo, fix: bool, checks: &mut Vec<Check>) -> Option<Findings> {
    let paths = &repo.paths();
    match Daemon::connect(repo) {
        Ok(Some(daemon)) => {
            checks.push(Check::ok(
                "daemon",
                format!("running (pid {})", daemon.pid()),
            ));
            checks.push(Check::ok("log", "checked by the daemon when it started"));
            checks.extend(checkpoints(paths, fix));
            checks.extend(hooks(paths));
            return None;
        }
        Ok(None) => checks.push(without_daemon(repo, fix)),
        Err(error) => checks.push(Check::error("daemon", error)),
    }
    // A daemon that is starting or stopping may be writing.
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
                checks.extend(checkpoints(paths, fix));
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

/// Hooks that are refused. A refused `pre-` hook holds everything at its step.
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
        1 => vec![Check::ok("hooks", "1 hook, OK")],
        number => vec![Check::ok("hooks", format!("{number} hooks, all OK"))],
    }
}

/// A rollback that was interrupted with its daemon.
fn rollback(paths: &Paths) -> Option<Check> {
    let state = offline::read(paths).ok()?;
    let cut_off = view::cut_off(&state)?;
    Some(Check::warn("rollback", cut_off.message).advice("finish it: swarm start"))
}

/// Which checkpoints are usable.
fn checkpoints(paths: &Paths, fix: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    if fix {
        match offline::put_back_work(paths) {
            Ok(refs) => checks.extend(
                refs.iter()
                    .map(|name| fixed("checkpoint", format!("{name} was deleted and is back"))),
            ),
            Err(error) => checks.push(Check::error("checkpoint", error)),
        }
    }
    let (sound, faults) = match offline::sound_checkpoints(paths) {
        Ok(found) => found,
        Err(error) => return vec![Check::error("checkpoints", error)],
    };
    checks.extend(faults.iter().map(|(name, why)| {
        Check::warn("checkpoint", format!("cannot roll back to {name}: {why}")).advice(format!(
            "if you do not need it, delete it: swarm checkpoint delete {name}"
        ))
    }));
    if let Some(newest) = sound.last() {
        let count = sound.len();
        let message = format!("{count} usable, the newest is {newest}");
        checks.push(Check::ok("checkpoints", message));
    }
    checks
}

/// Whether the clock is behind the last event. New events repeat that time until it catches up.
fn clock(paths: &Paths) -> Option<Check> {
    let last = offline::read(paths).ok()?.swarm.last_event_at;
    let behind = last.since(wall());
    if behind < CLOCK_BEHIND_MS {
        return Some(Check::ok("clock", "not behind the last event"));
    }
    let seconds = behind / 1_000;
    let message = format!(
        "{seconds} s behind the last event ({last}); new events carry that time until the clock \
        catches up"
    );
    Some(Check::warn("clock", message).advice("correct the system clock, for example with NTP"))
}

fn without_daemon(repo: &Repo, fix: bool) -> Check {
    match offline::is_locked(&repo.paths()) {
        Err(error) => return Check::error("daemon", error),
        Ok(true) => {
            return Check::warn(
                "daemon",
                "another process holds the lock and does not answer",
            )
            .advice("a daemon may be starting or stopping; try again in a moment");
        }
        Ok(false) => {}
    }
    let left = match DaemonFile::read(&repo.private()) {
        Ok(None) => return Check::ok("daemon", "not running"),
        Ok(Some(file)) => file,
        Err(error) => {
            return Check::warn(
                "daemon",
                format!("not running; daemon.json cannot be read: {error}"),
            )
            .advice("the next start replaces it: swarm start");
        }
    };
    let message = format!("not running; the last one (pid {}) was killed", left.pid);
    if !fix {
        return Check::warn("daemon", message).advice(
            "nothing is lost; carry on: swarm start\nor only clean up: swarm doctor --fix",
        );
    }
    match remove_stale_files(repo, &left) {
        Ok(()) => fixed(
            "daemon",
            format!("{message}; its socket and daemon.json were removed"),
        ),
        Err(error) => Check::warn(
            "daemon",
            format!("{message}; its socket and daemon.json cannot be removed: {error}"),
        ),
    }
}

/// Removes the socket and the file that names it. The file could name anything, so nothing but a
/// socket is removed.
fn remove_stale_files(repo: &Repo, left: &DaemonFile) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let kind = fs::symlink_metadata(&left.socket).map(|metadata| metadata.file_type());
    if kind.is_ok_and(|kind| kind.is_socket()) {
        remove::file(&left.socket)?;
    }
    DaemonFile::remove(&repo.private())
}

fn log(paths: &Paths) -> Check {
    match replay::verify(paths) {
        Ok(report) => match &report.difference {
            None => Check::ok(
                "log",
                format!("{} events; the snapshot matches them", report.events),
            ),
            Some(difference) => Check::fail(
                "log",
                format!("the snapshot differs from the events: {difference}"),
            )
            .advice(
                "the events are right, so delete the snapshot and restart: \
                        rm .swarm/state/snapshot.json && swarm start",
            ),
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
    fn loose_permissions_are_found_and_fixed() {
        let (_dir, repo) = repo();
        fs::set_permissions(repo.state(), Permissions::from_mode(0o755)).unwrap();
        let check = private_folder(&repo, "state", false);
        assert_eq!(check.level, Level::Fail);
        assert!(check.advice.unwrap().contains("chmod 700"));
        let check = private_folder(&repo, "state", true);
        assert!(check.fixed && check.message.contains("755"));
        assert_eq!(private_folder(&repo, "state", false).level, Level::Ok);
        assert_eq!(private_folder(&repo, "private", false).level, Level::Ok);
    }

    #[test]
    fn a_symbolic_link_as_state_folder_fails() {
        let (_dir, repo) = repo();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::remove_dir(repo.state()).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), repo.state()).unwrap();
        assert_eq!(private_folder(&repo, "state", true).level, Level::Fail);
    }

    #[test]
    fn only_a_socket_is_removed() {
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
        remove_stale_files(&repo, &left).unwrap();
        assert!(precious.exists());
        assert_eq!(DaemonFile::read(&repo.private()).unwrap(), None);
        left.socket = repo.state().join("s");
        drop(std::os::unix::net::UnixListener::bind(&left.socket).unwrap());
        remove_stale_files(&repo, &left).unwrap();
        assert!(!left.socket.exists());
    }
}
