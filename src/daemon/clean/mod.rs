//! Removes what is no longer needed: all of it for `swarm clean`, old runs once a day in a daemon.
//!
//! `find` chooses, by the domain's rule ([`Needs`](crate::domain::retention::Needs)) on durable
//! events; `trash` removes; `report` tells what went and what stayed; `schedule` is the daemon's
//! part. Invariant: the event log, snapshots, checkpoints and references are never removed. Beside
//! a running daemon nothing goes that a driver may read or move. A directory is renamed to
//! `.trash-<name>`, synced, before it is deleted, so a kill leaves no half of it.

mod find;
mod report;
mod schedule;
mod trash;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::actor::clock;
use super::error::DaemonError;
use super::files::config_loader::Loader;
use super::files::paths::Paths;
use super::files::store::{self, Store};
use crate::config::Config;
use crate::crash;
use crate::domain::decide::transfer::refuse_moved;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::git::{self, Repo};
pub use report::{Failure, Kept, Kind, Removed, Report, Rescue};
pub(super) use schedule::keep;
use trash::Trash;

/// How long to wait for git commands that a killed daemon left running.
const ORPHANS: Duration = Duration::from_secs(5);

/// What may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Run directories and files of imported agents only: what the daemon does by itself.
    Runs,
    /// Also copies and kept repositories, which is safe beside a running daemon.
    BesideDaemon,
    /// Everything, because no daemon is running.
    Everything,
}

/// The inputs of the decision what may be removed.
struct Site<'a> {
    paths: &'a Paths,
    repo: &'a Repo,
    state: &'a State,
    runs_days: u32,
    now: Timestamp,
    scope: Scope,
}

/// What to remove, and the report about it.
#[derive(Default)]
struct Plan {
    report: Report,
    /// Trash that a killed clean left.
    leftovers: Vec<PathBuf>,
    runs: Vec<String>,
    copies: Vec<String>,
    /// Files of imported agents.
    imports: Vec<String>,
    /// References to the commits of imported agents.
    import_refs: Vec<(String, git::Oid)>,
    /// Kept repositories, by the names of their worktrees.
    repositories: Vec<String>,
    pool: bool,
}

/// `swarm clean` without a daemon. A dry run takes no lock and changes nothing.
///
/// # Errors
/// [`DaemonError::Locked`]; an invalid configuration; a damaged log. Nothing was removed then.
pub fn offline(paths: &Paths, dry_run: bool) -> Result<Report, DaemonError> {
    let config = Loader::new(paths).load()?;
    let repo = Repo::open(&paths.root)?;
    if dry_run {
        let (state, _) = store::read(paths)?;
        let site = Site::new(paths, &repo, &state, &config, Scope::Everything);
        return Ok(find::plan(&site, true)?.report);
    }
    // Keeps the lock to the end, and reads only durable events.
    let store = Store::open(paths)?;
    refuse_moved(&store.state)?;
    let site = Site::new(paths, &repo, &store.state, &config, Scope::Everything);
    let (report, trash) = carry_out(&site, find::plan(&site, false)?);
    Ok(emptied(report, trash))
}

impl<'a> Site<'a> {
    fn new(
        paths: &'a Paths,
        repo: &'a Repo,
        state: &'a State,
        config: &Config,
        scope: Scope,
    ) -> Self {
        Self {
            paths,
            repo,
            state,
            runs_days: config.retention.runs_days,
            now: clock::wall(),
            scope,
        }
    }
}

/// Renames everything to trash; the content is deleted when the trash is emptied.
fn carry_out(site: &Site<'_>, plan: Plan) -> (Report, Trash) {
    crash::point("clean.planned");
    let mut report = plan.report;
    let mut trash = Trash::of(plan.leftovers);
    for (folder, names) in [
        (&site.paths.runs, plan.runs),
        (&site.paths.state, plan.copies),
        (&site.paths.imports(), plan.imports),
    ] {
        report.failed.extend(trash.take(folder, &names));
    }
    for (name, oid) in plan.import_refs {
        if let Err(error) = site.repo.delete_ref(&name, oid) {
            report.failed.push(Failure::of(Path::new(&name), &error));
        }
    }
    for worktree in plan.repositories {
        let path = site.repo.worktree_path(&worktree);
        if let Err(error) = site.repo.discard_kept_repositories(&worktree) {
            report.failed.push(Failure::of(&path, &error));
        }
    }
    if plan.pool
        && let Err(error) = site.repo.drain_pool()
    {
        report
            .failed
            .push(Failure::of(&site.paths.worktrees, &error));
    }
    (report.without_what_stayed(&site.paths.root), trash)
}

fn emptied(mut report: Report, trash: Trash) -> Report {
    report.failed.extend(trash.empty());
    report
}
