//! Making room: what is over for long enough goes. `swarm clean` asks for all of it, the daemon for
//! old runs once a day.
//!
//! Invariants:
//! * What goes is needed by nobody by the rule of the domain
//!   ([`Needs`](crate::domain::retention::Needs)), asked about events that are on disk. A run that
//!   is over never becomes needed again by a driver, and its number is never given again, so beside
//!   a running daemon too nothing that is read is taken away. What its drivers move about, the pool
//!   of worktrees and the leftovers beside it, goes only while no daemon runs.
//! * The event log, its segments, snapshots, checkpoints and references are never deleted: the log
//!   is the only ledger.
//! * A name goes by a rename to `.trash-<name>`, synced, before anything behind it is deleted; a
//!   kill leaves at most such names, which the next start or clean deletes. Nothing of this is
//!   journaled: nothing follows from it.

mod find;
mod report;
mod schedule;
mod trash;

use std::time::Duration;

use super::actor::clock;
use super::error::DaemonError;
use super::files::config_loader::Loader;
use super::files::paths::Paths;
use super::files::store::{self, Store};
use crate::config::Config;
use crate::crash;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::git::Repo;
pub use report::{Failure, Kept, Kind, Removed, Report, Rescue};
pub(super) use schedule::keep;
use trash::Trash;

/// How long a git command that a killed daemon left running is waited for.
const ORPHANS: Duration = Duration::from_secs(5);

/// What may be looked at and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Run directories: what the daemon does by itself.
    Runs,
    /// And copies and kept repositories: safe beside a running daemon.
    BesideDaemon,
    /// All: nobody else has the state.
    Everything,
}

/// The ground on which is decided what goes.
struct Site<'a> {
    paths: &'a Paths,
    repo: &'a Repo,
    state: &'a State,
    runs_days: u32,
    now: Timestamp,
    scope: Scope,
}

/// What would go, and how.
#[derive(Default)]
struct Plan {
    report: Report,
    /// Leftovers of a clean that was killed.
    leftovers: Vec<std::path::PathBuf>,
    runs: Vec<String>,
    copies: Vec<String>,
    /// By the names of their worktrees.
    repositories: Vec<String>,
    pool: bool,
}

/// `swarm clean` without a daemon. A dry run takes no lock and changes nothing.
///
/// # Errors
/// [`DaemonError::Locked`]; a wrong configuration; damage to acknowledged events, with nothing
/// removed.
pub fn offline(paths: &Paths, dry_run: bool) -> Result<Report, DaemonError> {
    let config = Loader::new(paths).load()?;
    let repo = Repo::open(&paths.root)?;
    if dry_run {
        let (state, _) = store::read(paths)?;
        let site = Site::new(paths, &repo, &state, &config, Scope::Everything);
        return Ok(find::plan(&site, true)?.report);
    }
    // Held until all is done. What is rested on is on disk then.
    let store = Store::open(paths)?;
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

/// Takes the names away; what is behind them goes when the trash is emptied.
fn carry_out(site: &Site<'_>, plan: Plan) -> (Report, Trash) {
    crash::point("clean.planned");
    let mut report = plan.report;
    let mut trash = Trash::of(plan.leftovers);
    for (folder, names) in [
        (&site.paths.runs, plan.runs),
        (&site.paths.state, plan.copies),
    ] {
        report.failed.extend(trash.take(folder, &names));
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
