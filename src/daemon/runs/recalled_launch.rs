//! The launch record of a run that an earlier daemon began.
//!
//! Invariant: the run's folder, where agents can write, is believed only as far as the log agrees.
//! A folder that tells nothing ends no run.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, spawn_blocking};

use super::launch;
use super::launch_record::{FolderRecord, LaunchRecord, STARTED_AS, passes, read_folder};
use crate::agents::AdapterKind;
use crate::agents::adapter::StartedAs;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::domain::effect::Purpose;
use crate::domain::ids::RunId;
use crate::domain::state::{Attempt, State};
use crate::process::RunDir;

/// How often a file is tried that cannot be read at the moment.
const TRIES: u32 = 20;
/// How long between two tries.
const AGAIN: Duration = Duration::from_millis(500);

/// How a run was begun that an earlier daemon began; none: it is no agent's.
pub(crate) async fn recall(
    context: &Arc<DriverContext>,
    handle: &Handle,
    dir: &RunDir,
    run: &RunId,
    purpose: &Purpose,
) -> Result<Option<LaunchRecord>, JoinError> {
    let Purpose::Iteration { profile, .. } = purpose else {
        return Ok(None);
    };
    let here = dir.clone();
    let told = again_and_again(move || read_folder(here.path())).await?;
    let (context, handle) = (Arc::clone(context), handle.clone());
    let (run, purpose, profile) = (run.clone(), purpose.clone(), profile.clone());
    let judged = move || {
        let adapter = handle
            .read(|state| logged(state, &run))
            .or_else(|| Some(context.profile(&profile)?.adapter));
        // A profile that is gone cannot begin it again; `judge` then reads the output by its kind
        // alone.
        let anew = || launch::begin(&context, &handle, &run, &purpose).ok();
        judge(&run, told, adapter, || LaunchRecord::with(&anew()?.1))
    };
    Ok(Some(spawn_blocking(judged).await?))
}

/// How a run's output is to be read by the log, which nobody but swarm writes, and whatever became
/// of its profile since.
fn logged(state: &State, run: &RunId) -> Option<AdapterKind> {
    let of_run = |attempt: &&Attempt| attempt.run.as_ref() == Some(run);
    let name = state.agents.values().find(of_run)?.adapter.as_deref()?;
    serde_json::from_value(name.into()).ok()
}

/// Trouble that passes (no descriptor free, a disk that errs) says nothing about what a file holds:
/// it is tried again before anything is concluded from it.
async fn again_and_again(
    look: impl Fn() -> FolderRecord + Clone + Send + 'static,
) -> Result<FolderRecord, JoinError> {
    let mut tries = 1;
    loop {
        let told = spawn_blocking(look.clone()).await?;
        let (started, quoted) = (told.started.as_ref(), told.quoted.as_ref());
        let stays = !started.is_err_and(passes) && !quoted.is_err_and(passes);
        if stays || tries == TRIES {
            return Ok(told);
        }
        tries += 1;
        tokio::time::sleep(AGAIN).await;
    }
}

/// What the folder tells, where it can be believed; `anew`: how the run would begin now, by the
/// settings and the log.
fn judge(
    run: &RunId,
    told: FolderRecord,
    adapter: Option<AdapterKind>,
    anew: impl FnOnce() -> Option<LaunchRecord>,
) -> LaunchRecord {
    let started = told.started.and_then(|started| match adapter {
        Some(adapter) if adapter != started.adapter => Err(unlike(adapter, started.adapter)),
        _ => Ok(started),
    });
    let doubt = |error: io::Error| {
        tracing::warn!(%run, %error, "what the folder of a run says of how it was begun is not \
            believed; the settings and the log say it");
    };
    let (started, quoted) = (started.map_err(doubt).ok(), told.quoted.map_err(doubt).ok());
    if let (Some(started), Some(quoted)) = (&started, &quoted) {
        let (started, quoted) = (started.clone(), quoted.clone());
        return LaunchRecord { started, quoted };
    }
    let anew = anew();
    let (anew, said) = anew.map(|anew| (anew.started, anew.quoted)).unzip();
    let of_its_kind = |anew: &StartedAs| adapter.is_none_or(|adapter| adapter == anew.adapter);
    // Where even the profile is gone, nothing but lines in the form of swarm's own bridge counts as
    // an agent's words.
    let bare = || StartedAs::new(adapter.unwrap_or(AdapterKind::Acp));
    LaunchRecord {
        started: started.or(anew.filter(of_its_kind)).unwrap_or_else(bare),
        quoted: quoted.or(said).unwrap_or_default(),
    }
}

fn unlike(adapter: AdapterKind, told: AdapterKind) -> io::Error {
    io::Error::other(format!(
        "`{STARTED_AS}` names the adapter `{}`, and it was begun with `{}`",
        told.name(),
        adapter.name()
    ))
}
