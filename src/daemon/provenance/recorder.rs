//! Writes the records that iterations owe, and deletes old ones. Runs beside the actor until it is
//! dropped.
//!
//! Invariant: nothing waits for it. An iteration owes its record until `iterationRecorded`, so a
//! kill anywhere, or a full disk, only delays it. Trees are kept before the record is written, and
//! the record is on disk before the log says so. What expires is in the log before it is deleted.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::build::RecordError;
use super::expiry::Expiry;
use super::inputs::RunInputs;
use super::{build, store};
use crate::crash;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::ours;
use crate::domain::ids::{Oid, RunId};
use crate::domain::observation::{Observation, Recorded};
use crate::domain::state::State;
use crate::domain::state::records::OwedRecord;
use crate::domain::warning::WarningKind;
use crate::git::{self, GitError, KeepTrees, TreeAt};

/// How long it waits after a failure, such as a full disk.
const AGAIN: Duration = Duration::from_secs(20);
/// How often it looks for old records.
const EXPIRY: Duration = Duration::from_secs(60 * 60);
/// References that keep the files of iterations; one for each month.
pub(super) const REFERENCES: &str = "refs/swarm/provenance/";

/// Why a record is not written now.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("its files cannot be kept in git: {0}")]
    Git(#[from] GitError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes records until it is dropped.
pub(crate) async fn keep(context: Arc<DriverContext>, handle: Handle) {
    let mut seq = handle.seq();
    let mut look_at = Instant::now();
    let mut again_at = None;
    let mut expiry = Expiry::default();
    // The log says a moment later that it is written.
    let mut last: Option<RunId> = None;
    loop {
        if again_at.is_none_or(|at| at <= Instant::now()) {
            again_at = match write_next(&context, &handle, last.as_ref()).await {
                Next::Nothing => None,
                Next::Done(run) => {
                    last = Some(run);
                    continue;
                }
                Next::Failed => Some(Instant::now() + AGAIN),
            };
        }
        if look_at <= Instant::now() {
            look_at = Instant::now() + EXPIRY;
            Expiry::announce(&context, &handle).await;
        }
        expiry.carry_out(&context, &handle).await;
        let wake_at = again_at.map_or(look_at, |at| at.min(look_at));
        tokio::select! {
            alive = seq.changed() => if alive.is_err() { return },
            () = tokio::time::sleep_until(wake_at) => {}
        }
    }
}

enum Next {
    /// No record is due.
    Nothing,
    /// The record of this run is written, or can never be.
    Done(RunId),
    /// The disk or the repository fails; people are warned.
    Failed,
}

async fn write_next(context: &Arc<DriverContext>, handle: &Handle, last: Option<&RunId>) -> Next {
    let due = |state: &State| {
        let due = state.record_due().filter(|(run, _)| Some(*run) != last);
        due.map(|(run, owed)| (run.clone(), owed.clone()))
    };
    let Some((run, owed)) = handle.read(due) else {
        return Next::Nothing;
    };
    let work = {
        let (context, run) = (Arc::clone(context), run.clone());
        move || record(&context, &run, &owed)
    };
    let written = match spawn_blocking(work).await {
        Ok(written) => written,
        Err(error) => Err(Trouble::Io(io::Error::other(error))),
    };
    let recorded = match written {
        Ok(recorded) => Ok(recorded),
        Err(Trouble::Record(error)) if error.is_final() => Err(error.to_string()),
        Err(trouble) => {
            warn(handle, &run, &trouble).await;
            return Next::Failed;
        }
    };
    clear_warning(handle).await;
    let observation = Observation::IterationRecorded {
        run: run.clone(),
        recorded,
    };
    handle.observe(observation).await;
    Next::Done(run)
}

/// Keeps the files before and after the iteration, and writes its record. Blocks.
fn record(context: &DriverContext, run: &RunId, owed: &OwedRecord) -> Result<Recorded, Trouble> {
    let record = build(&context.paths, &context.repo, run, owed)?;
    let after = after(owed);
    if let Some(after) = after {
        context.repo.keep_trees(&KeepTrees {
            reference: format!("{REFERENCES}{}", month(owed)),
            message: format!("{run}: {} iteration {}\n", owed.idea, owed.iteration),
            identity: context.repo.identity()?,
            time: owed.ended_at,
            before: before(context, run),
            after,
        })?;
    }
    crash::point("record.trees-kept");
    let sha256 = store::write(&context.paths, &record)?;
    Ok(Recorded {
        sha256,
        tree: match after {
            Some(after) => Some(ours(context.repo.peel_to_tree(after.tree)?)),
            None => None,
        },
        model: record.config.model.id,
    })
}

/// The files before the iteration, if they could be read.
fn before(context: &DriverContext, run: &RunId) -> Option<TreeAt> {
    let inputs = RunInputs::read(&context.paths.runs.join(run.as_str()));
    inputs.ok()?.files_before()
}

/// The files after the iteration, if they could be read.
fn after(owed: &OwedRecord) -> Option<TreeAt> {
    let oid = |text: &str| git::Oid::from_str(text).ok();
    let tree = oid(owed.end.tree.as_deref()?)?;
    let commit = owed.end.head.as_ref().map(Oid::as_str).and_then(oid);
    Some(TreeAt {
        commit: commit.unwrap_or(tree),
        tree,
    })
}

/// `2026-01`
fn month(owed: &OwedRecord) -> String {
    owed.ended_at.day().chars().take(7).collect()
}

async fn warn(handle: &Handle, run: &RunId, trouble: &Trouble) {
    let message = format!(
        "the provenance record of {run} cannot be written: {trouble}. Agents go on; swarm tries \
        again every {} s",
        AGAIN.as_secs()
    );
    let key = WarningKind::Records.only().to_owned();
    handle.observe(Observation::Trouble { key, message }).await;
}

async fn clear_warning(handle: &Handle) {
    let key = WarningKind::Records.only().to_owned();
    if handle.read(|state| state.warnings.contains_key(&key)) {
        handle.observe(Observation::TroubleOver { key }).await;
    }
}
