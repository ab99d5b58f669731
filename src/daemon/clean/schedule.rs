//! Cleaning in a daemon: old runs once a day, and for `swarm clean` all that is safe beside it.
//!
//! Invariant: one clean at a time, and none before the daemon has recovered.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::report::{Failure, Report};
use super::trash::Trash;
use super::{Scope, Site, carry_out, find};
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::error::DaemonError;
use crate::daemon::lifecycle::reload::Reloader;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::state::State;

/// How often old runs are removed.
const PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes old runs until it is dropped.
pub(in crate::daemon) async fn keep(context: Arc<DriverContext>, handle: Handle) {
    let mut seq = handle.seq();
    let recovering = |state: &State| {
        matches!(
            state.swarm.phase,
            SwarmPhase::Recovering | SwarmPhase::Stopped
        )
    };
    while handle.read(recovering) {
        if seq.changed().await.is_err() {
            return;
        }
    }
    loop {
        let (context, handle) = (Arc::clone(&context), handle.clone());
        match spawn_blocking(move || old_runs(&context, &handle)).await {
            Ok(Ok(report)) => log(&report),
            Ok(Err(error)) => tracing::warn!(%error, "old runs could not be removed"),
            Err(error) => tracing::warn!(%error, "the removal of old runs crashed"),
        }
        tokio::time::sleep(PERIOD).await;
    }
}

fn old_runs(context: &DriverContext, handle: &Handle) -> Result<Report, DaemonError> {
    let state = handle.read(State::clone);
    let (mut report, trash) = removed(context, &site(context, &state, Scope::Runs))?;
    report.failed.extend(emptied(context, trash));
    Ok(report)
}

fn site<'a>(context: &'a DriverContext, state: &'a State, scope: Scope) -> Site<'a> {
    Site::new(
        &context.paths,
        &context.repo,
        state,
        &context.config(),
        scope,
    )
}

fn log(report: &Report) {
    let (removed, bytes) = (report.removed.len(), report.bytes);
    if let Some(first) = report.failed.first() {
        let failed = report.failed.len();
        tracing::warn!(removed, bytes, failed, path = %first.path, error = %first.error, "not all \
            old runs could be removed");
    } else if removed > 0 {
        tracing::info!(removed, bytes, "old runs removed");
    }
}

impl Reloader {
    /// `swarm clean` while this daemon runs. Returns when everything is renamed durably; the
    /// content is deleted afterwards.
    ///
    /// # Errors
    /// A directory cannot be listed; nothing was removed then.
    pub async fn clean(&self, dry_run: bool) -> Result<Report, DaemonError> {
        let (context, handle) = (Arc::clone(&self.context), self.handle.clone());
        let done = spawn_blocking(move || beside_daemon(&context, &handle, dry_run)).await;
        done.unwrap_or_else(|error| Err(DaemonError::io("clean")(std::io::Error::other(error))))
    }
}

fn beside_daemon(
    context: &Arc<DriverContext>,
    handle: &Handle,
    dry_run: bool,
) -> Result<Report, DaemonError> {
    let state = handle.read(State::clone);
    let site = site(context, &state, Scope::BesideDaemon);
    if dry_run {
        return Ok(find::plan(&site, true)?.report);
    }
    let (report, trash) = removed(context, &site)?;
    let context = Arc::clone(context);
    spawn_blocking(move || {
        for failure in emptied(&context, trash) {
            tracing::warn!(path = %failure.path, error = %failure.error,
                "trash could not be deleted");
        }
    });
    Ok(report)
}

/// Finds and renames, one clean at a time.
fn removed(context: &DriverContext, site: &Site<'_>) -> Result<(Report, Trash), DaemonError> {
    let _one = locked(&context.cleaning);
    Ok(carry_out(site, find::plan(site, false)?))
}

/// Deletes, one clean at a time: the trash of one may be the leftovers of another.
fn emptied(context: &DriverContext, trash: Trash) -> Vec<Failure> {
    let _one = locked(&context.emptying);
    trash.empty()
}

fn locked(one: &Mutex<()>) -> MutexGuard<'_, ()> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}
