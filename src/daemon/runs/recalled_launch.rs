//! The launch record of a run that an earlier daemon launched. Called by `run`.
//!
//! Invariant: the run's directory, where agents can write, counts only as far as the log agrees. An
//! unusable directory fails no run.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, spawn_blocking};

use super::launch;
use super::launch_record::{LaunchRecord, RecordFiles, STARTED_AS, is_transient, read_directory};
use crate::agents::AdapterKind;
use crate::agents::adapter::StartedAs;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::domain::effect::Purpose;
use crate::domain::ids::RunId;
use crate::domain::state::{Attempt, State};
use crate::process::RunDir;

/// How often an unreadable file is tried.
const TRIES: u32 = 20;
/// The pause between two tries.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The launch record of a run that an earlier daemon launched; `None` if it is not an agent's.
pub(crate) async fn recall(
    context: &Arc<DriverContext>,
    handle: &Handle,
    dir: &RunDir,
    run: &RunId,
    purpose: &Purpose,
) -> Result<Option<LaunchRecord>, JoinError> {
    let (Purpose::Iteration { profile, .. }
    | Purpose::Synthesis { profile, .. }
    | Purpose::Replay { profile, .. }) = purpose
    else {
        return Ok(None);
    };
    let run_dir = dir.clone();
    let found = retry_reading(move || read_directory(run_dir.path())).await?;
    let (context, handle) = (Arc::clone(context), handle.clone());
    let (run, purpose, profile) = (run.clone(), purpose.clone(), profile.clone());
    let judge = move || {
        let adapter = handle
            .read(|state| logged_adapter(state, &run))
            .or_else(|| Some(context.profile(&profile)?.adapter));
        // A profile that is gone cannot launch it again; then the adapter alone decides.
        let relaunched = || launch::specify(&context, &handle, &run, &purpose).ok();
        choose(&run, found, adapter, || {
            LaunchRecord::from_files(&relaunched()?.1)
        })
    };
    Ok(Some(spawn_blocking(judge).await?))
}

/// The run's adapter by the log, which only swarm writes; independent of later profile changes.
fn logged_adapter(state: &State, run: &RunId) -> Option<AdapterKind> {
    let of_run = |attempt: &&Attempt| attempt.run.as_ref() == Some(run);
    let name = state
        .agents
        .values()
        .find(of_run)?
        .started
        .adapter
        .as_deref()?;
    serde_json::from_value(name.into()).ok()
}

/// Retries after transient errors (no free descriptor, a disk error), which say nothing about what
/// a file holds.
async fn retry_reading(
    read: impl Fn() -> RecordFiles + Clone + Send + 'static,
) -> Result<RecordFiles, JoinError> {
    let mut tries = 1;
    loop {
        let found = spawn_blocking(read.clone()).await?;
        let (started, quoted) = (found.started.as_ref(), found.quoted.as_ref());
        let is_final = !started.is_err_and(is_transient) && !quoted.is_err_and(is_transient);
        if is_final || tries == TRIES {
            return Ok(found);
        }
        tries += 1;
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// Takes what the directory says where that is credible, and the rest from `relaunched`: how the
/// run would be launched now.
fn choose(
    run: &RunId,
    found: RecordFiles,
    adapter: Option<AdapterKind>,
    relaunched: impl FnOnce() -> Option<LaunchRecord>,
) -> LaunchRecord {
    let started = found.started.and_then(|started| match adapter {
        Some(adapter) if adapter != started.adapter => Err(mismatch(adapter, started.adapter)),
        _ => Ok(started),
    });
    let doubt = |error: io::Error| {
        tracing::warn!(%run, %error, "a run's launch record is unusable; using the log and the \
            settings");
    };
    let (started, quoted) = (
        started.map_err(doubt).ok(),
        found.quoted.map_err(doubt).ok(),
    );
    if let (Some(started), Some(quoted)) = (&started, &quoted) {
        let (started, quoted) = (started.clone(), quoted.clone());
        return LaunchRecord { started, quoted };
    }
    let relaunched = relaunched();
    let (now_started, now_quoted) = relaunched.map(|now| (now.started, now.quoted)).unzip();
    let same_adapter = |now: &StartedAs| adapter.is_none_or(|adapter| adapter == now.adapter);
    // Without a profile, only lines in the format of swarm's own bridge count as an agent's
    // messages.
    let bare = || StartedAs::new(adapter.unwrap_or(AdapterKind::Acp));
    LaunchRecord {
        started: started
            .or(now_started.filter(same_adapter))
            .unwrap_or_else(bare),
        quoted: quoted.or(now_quoted).unwrap_or_default(),
    }
}

fn mismatch(adapter: AdapterKind, found: AdapterKind) -> io::Error {
    io::Error::other(format!(
        "`{STARTED_AS}` names the adapter `{}`, but the run was launched with `{}`",
        found.name(),
        adapter.name()
    ))
}
