//! Carries out one run: prepares and launches it, or adopts it, and reports its end. Called by
//! `effects::dispatch` and at the daemon's start and end.
//!
//! Invariant: a repeated call gives the same report. A prepared run is launched, a live one
//! adopted, an ended one read; if its runner was killed, what survives is ended and the run
//! reported as lost. Files are never read on one of the daemon's worker threads, which a busy disk
//! would block.

use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;

use super::end_diagnosis::{self, EndDiagnosis};
use super::launch_record::LaunchRecord;
use super::lone::probe;
use super::output_reader::AgentOutputReader;
use super::{follow, launch, recalled_launch, shown_memory, slot};
use crate::agents::stream::Conclusion;
use crate::crash;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::kind_of;
use crate::daemon::memory::tally::Reading;
use crate::domain::effect::{self, Purpose};
use crate::domain::event::Findings;
use crate::domain::ids::RunId;
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::outcome::{Failure, FailureKind, StopDelivered};
use crate::domain::state::State;
use crate::process::{
    self, EndReason, ExitRecord, Launched, ProcessError, RunDir, RunStatus, Stop,
};

/// How often a stopped runner is resumed.
const WAKE_EVERY: Duration = Duration::from_secs(1);
/// How long the processes of a killed runner may take to end.
const SURVIVORS: Duration = Duration::from_secs(5);
/// How long a shutdown waits for killed runs; their runners finish the job in any case.
const KILL_WAIT: Duration = Duration::from_millis(100);

/// Carries out a run.
pub(crate) async fn run(
    context: Arc<DriverContext>,
    handle: Handle,
    effect: effect::Run,
) -> Result<RunEnd, Failure> {
    let end = carry_out(&context, &handle, &effect).await;
    end.map_err(|error| error.into_failure(&effect.run))
}

/// A failure of swarm to carry out a run; the child's own failure is a normal end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("a driver stopped unexpectedly: {0}")]
    Join(#[from] tokio::task::JoinError),
    #[error("the daemon is shutting down; the next start carries on")]
    Ending,
    /// Its message stands without the name of the run.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl RunError {
    fn into_failure(self, run: &RunId) -> Failure {
        let message = format!("run {run}: {self}");
        let kind = match self {
            Self::Failed(failure) => return failure,
            Self::Process(error) => kind_of(&error),
            Self::Io(error) => kind_of(&error),
            Self::Join(_) | Self::Ending => FailureKind::Other,
        };
        Failure { kind, message }
    }
}

async fn carry_out(
    context: &Arc<DriverContext>,
    handle: &Handle,
    effect: &effect::Run,
) -> Result<RunEnd, RunError> {
    let (run, purpose) = (&effect.run, &effect.purpose);
    let (dir, prepared) = existing_or_prepared(context, handle, effect).await?;
    let record = match prepared {
        Some(record) => Some(record),
        None => recalled_launch::recall(context, handle, &dir, run, purpose).await?,
    }
    .map(Arc::new);
    shown_memory::report(handle, &dir, run, purpose).await;
    let launched = launch_if_prepared(context, &dir).await?;
    let followed = follow::follow(handle, run, &dir, launched, record.as_deref());
    let (end, reader) = keep_awake(&dir, followed).await?;
    let end = match end {
        process::RunEnd::Exited(record) => ended(record),
        // Nothing was executed, so the dispatcher may launch the run again.
        process::RunEnd::Lost if inspect(&dir).await? == RunStatus::Prepared => {
            return Err(runner_died(context, dir).await?.into());
        }
        process::RunEnd::Lost => lost(&dir).await?,
    };
    let places = [&context.paths.runs, &context.paths.worktrees].map(Clone::clone);
    let (purpose_of, how) = (purpose.clone(), end.how.clone());
    let output = match end_diagnosis::diagnose_end(dir.clone(), places, purpose_of, how).await? {
        EndDiagnosis::Output(output) => output,
        EndDiagnosis::DiskFull => return Err(disk_full(context, &dir, effect).await?.into()),
    };
    let held_port = held_port(context, &dir, output.port_in_use).await?;
    crash::point("run.over");
    let probe = probed(context, &dir, purpose, &end.how).await?;
    report_reading(handle, run, purpose).await;
    let after = launch::after_iteration(context, handle, purpose).await;
    let mentioned = reader.as_ref().and_then(AgentOutputReader::mentioned);
    let conclusion = match record.zip(reader) {
        Some((record, reader)) => follow::conclude(dir, record, reader, &end.how).await?,
        None => Conclusion::default(),
    };
    Ok(RunEnd {
        head: after.head,
        tree: after.tree,
        last_words: output.last_words,
        fingerprint: output.fingerprint,
        failed_tests: output.failed_tests,
        in_use: output.in_use,
        held_port,
        verdict: conclusion.verdict,
        usage: conclusion.usage,
        session: conclusion.session,
        mentioned,
        probe,
        ..end
    })
}

/// What a probe of the quality commands found out.
async fn probed(
    context: &Arc<DriverContext>,
    dir: &RunDir,
    purpose: &Purpose,
    how: &RunEndKind,
) -> Result<Option<Box<Findings>>, RunError> {
    if !purpose.is_probe() {
        return Ok(None);
    }
    let (context, dir) = (Arc::clone(context), dir.clone());
    let (purpose, how) = (purpose.clone(), how.clone());
    Ok(spawn_blocking(move || probe::findings(&context, &dir, &purpose, &how)).await?)
}

/// Reports what an iteration read of the memory. What it read under an earlier daemon is lost.
async fn report_reading(handle: &Handle, run: &RunId, purpose: &Purpose) {
    if !matches!(purpose, Purpose::Iteration { .. }) {
        return;
    }
    let Reading { items, by_tool } = handle.tally().take(run);
    let run = run.clone();
    handle
        .observe(Observation::MemoryRead {
            run,
            items,
            by_tool,
        })
        .await;
}

/// The port of its worktree that another program holds, if that is why a command failed.
async fn held_port(
    context: &Arc<DriverContext>,
    dir: &RunDir,
    in_use: bool,
) -> Result<Option<u16>, RunError> {
    if !in_use {
        return Ok(None);
    }
    let (context, dir) = (Arc::clone(context), dir.clone());
    Ok(spawn_blocking(move || slot::leave_held_ports(&context, &dir)).await?)
}

/// The failure of a run that met a full disk. What a setup or check may have written only in part
/// is removed. If that fails, a person finds out at the next check.
async fn disk_full(
    context: &Arc<DriverContext>,
    dir: &RunDir,
    effect: &effect::Run,
) -> Result<Failure, RunError> {
    let (context, dir) = (Arc::clone(context), dir.clone());
    let drop_torn = move || {
        let cwd = dir.spec().ok()?.cwd;
        let name = context.paths.worktree_name(&cwd)?;
        if let Err(error) = context.repo.drop_ignored(name) {
            tracing::warn!(%error, name, "ignored files could not be removed after a full disk");
        }
        Some(())
    };
    let purpose = &effect.purpose;
    if purpose.is_check() || matches!(purpose, Purpose::Setup { .. }) {
        spawn_blocking(drop_torn).await?;
    }
    Ok(Failure {
        kind: FailureKind::NoSpace,
        message: format!(
            "the disk is full, so run {} failed. Free some space; swarm then carries on by itself",
            effect.run
        ),
    })
}

/// Launches a run that was only prepared. `None`: it is running or over, and is adopted.
async fn launch_if_prepared(
    context: &Arc<DriverContext>,
    dir: &RunDir,
) -> Result<Option<Launched>, RunError> {
    match inspect(dir).await? {
        RunStatus::Prepared => {
            let launched = start(context, dir).await?;
            crash::point("run.launched");
            Ok(Some(launched))
        }
        RunStatus::Running { .. } | RunStatus::Exited(_) | RunStatus::Lost { .. } => Ok(None),
    }
}

/// The status of a run.
pub(crate) async fn inspect(dir: &RunDir) -> Result<RunStatus, RunError> {
    let dir = dir.clone();
    Ok(spawn_blocking(move || process::inspect(&dir)).await??)
}

/// Keeps resuming the runner, so that its child cannot escape the limits by stopping it.
async fn keep_awake<T>(dir: &RunDir, end: impl Future<Output = T>) -> T {
    tokio::pin!(end);
    let mut ticks = tokio::time::interval(WAKE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            end = &mut end => return end,
            _ = ticks.tick() => {
                let dir = dir.clone();
                let woken = spawn_blocking(move || process::wake(&dir).map_err(io::Error::other));
                if let Err(error) = woken.await.map_err(io::Error::other).flatten() {
                    tracing::debug!(%error, "a runner cannot be inspected");
                }
            }
        }
    }
}

/// The failure of a run whose runner died before it started the child.
async fn runner_died(context: &DriverContext, dir: RunDir) -> Result<Failure, RunError> {
    let runs = context.paths.runs.clone();
    let diagnose = move || {
        let log = process::tail(&dir.file("runner.log"), 1_000).unwrap_or_default();
        (end_diagnosis::is_full(&runs), log)
    };
    let (is_full, log) = spawn_blocking(diagnose).await?;
    Ok(Failure {
        kind: if is_full {
            FailureKind::NoSpace
        } else {
            FailureKind::Other
        },
        message: format!("its runner died before it started the process: {log}"),
    })
}

/// Ends processes whose run directory was deleted: they cannot be followed, so their runs start
/// over.
pub(crate) fn end_vanished(runs: &Path) -> io::Result<()> {
    let ended = process::end_vanished(runs, SURVIVORS).map_err(io::Error::other)?;
    if ended > 0 {
        tracing::warn!(
            processes = ended,
            "the run directories of running agents were deleted; the agents were stopped, and \
            their iterations start over in the same worktrees"
        );
    }
    Ok(())
}

/// Refuses unfinished runs whose records a newer version wrote: misreading them could kill a live
/// run or start it twice.
pub(crate) fn refuse_newer(runs: &Path, state: &State) -> Result<(), ProcessError> {
    for (_, effect::Run { run, .. }) in state.runs_under_way() {
        let status = RunDir::open(runs, run.as_str()).and_then(|dir| process::inspect(&dir));
        if let Err(newer @ ProcessError::Newer { .. }) = status {
            return Err(newer);
        }
    }
    Ok(())
}

/// The run's directory; with how it will be launched, unless it was there before.
async fn existing_or_prepared(
    context: &Arc<DriverContext>,
    handle: &Handle,
    effect: &effect::Run,
) -> Result<(RunDir, Option<LaunchRecord>), RunError> {
    let (run, purpose) = (&effect.run, &effect.purpose);
    if let Some(dir) = existing(context, run).await? {
        return Ok((dir, None));
    }
    let prepared = launch::prepare(context, handle, run, purpose, effect.timeout_ms).await?;
    crash::point("run.prepared");
    Ok(prepared)
}

async fn existing(context: &DriverContext, run: &RunId) -> Result<Option<RunDir>, RunError> {
    let (runs, run) = (context.paths.runs.clone(), run.clone());
    let found = spawn_blocking(move || {
        if !runs.join(run.as_str()).exists() {
            return Ok(None);
        }
        let dir = RunDir::open(&runs, run.as_str())?;
        // A power failure may have torn a prepared directory, so it is prepared again.
        let is_prepared = process::inspect(&dir)? == RunStatus::Prepared;
        Ok((!is_prepared).then_some(dir))
    });
    found.await?
}

async fn start(context: &Arc<DriverContext>, dir: &RunDir) -> Result<Launched, RunError> {
    let (dir, exe) = (dir.clone(), context.exe.clone());
    let context = Arc::clone(context);
    spawn_blocking(move || {
        // Held during the launch, so that whoever closes it knows every run.
        let open = context.launching.read();
        if !*open.unwrap_or_else(PoisonError::into_inner) {
            return Err(RunError::Ending);
        }
        Ok(process::launch(&dir, &exe)?)
    })
    .await?
}

/// How a run ended, in words, and whether it succeeded.
pub(crate) fn describe_exit(record: ExitRecord) -> (String, bool) {
    let how = ended(record).how;
    let succeeded = how == RunEndKind::Exited { code: 0 };
    (how.to_string(), succeeded)
}

fn ended(record: ExitRecord) -> RunEnd {
    let how = match (record.reason, record.code, record.signal) {
        (EndReason::Exited, Some(code), _) => RunEndKind::Exited { code },
        (EndReason::Exited, None, signal) => RunEndKind::Signalled {
            signal: signal.unwrap_or_default(),
        },
        (EndReason::TimedOut, ..) => RunEndKind::TimedOut,
        (EndReason::Idle, ..) => RunEndKind::Idle,
        (EndReason::Stopped | EndReason::Killed, ..) => RunEndKind::Stopped,
        (EndReason::LeaseExpired, ..) => RunEndKind::LeaseExpired,
        (EndReason::OutputLimit, ..) => RunEndKind::OutputLimit,
        (EndReason::SpawnError, ..) => RunEndKind::NotStarted {
            message: record.spawn_error.unwrap_or_default(),
        },
    };
    RunEnd {
        stdout_bytes: record.stdout_bytes,
        duration_ms: record.ran_ms.max(0),
        cpu_ms: i64::try_from(record.rusage.user_ms + record.rusage.system_ms).ok(),
        ..RunEnd::new(how)
    }
}

/// The runner was killed: ends the processes that carry the run's mark before reporting.
async fn lost(dir: &RunDir) -> Result<RunEnd, RunError> {
    let dir = dir.clone();
    let stdout_bytes = spawn_blocking(move || {
        process::end_survivors(&dir, SURVIVORS)?;
        Ok::<_, ProcessError>(std::fs::metadata(dir.stdout()).map_or(0, |file| file.len()))
    });
    let stdout_bytes = stdout_bytes.await??;
    Ok(RunEnd {
        stdout_bytes,
        ..RunEnd::new(RunEndKind::Lost)
    })
}

/// Asks a run to end. A run that does not exist counts as stopped.
pub(crate) async fn stop(
    context: &DriverContext,
    effect: &effect::StopRun,
) -> Result<StopDelivered, Failure> {
    let effect::StopRun { run, now } = effect;
    let how = if *now { Stop::Now } else { Stop::Graceful };
    let (runs, id) = (context.paths.runs.clone(), run.clone());
    let stopped = spawn_blocking(move || stop_in(&runs, &id, how)).await;
    match stopped {
        Ok(Ok(())) => Ok(StopDelivered),
        Ok(Err(error)) => Err(Failure::other(format!(
            "run {run} could not be stopped: {error}"
        ))),
        Err(error) => Err(Failure::other(error.to_string())),
    }
}

/// From now on no run is launched. Called after the actor has ended.
pub(crate) fn close(context: &DriverContext) {
    let mut open = context
        .launching
        .write()
        .unwrap_or_else(PoisonError::into_inner);
    *open = false;
}

/// Kills the live runs, once no more are launched. Blocks for a moment.
pub(crate) fn end_all(context: &DriverContext, state: &State) {
    let runs: Vec<&RunId> = state.runs_under_way().map(|(_, it)| &it.run).collect();
    for run in &runs {
        if let Err(error) = stop_in(&context.paths.runs, run, Stop::Now) {
            tracing::warn!(%run, %error,
                "a run could not be stopped; the next start takes care of it");
        }
    }
    let lives = |run: &&&RunId| {
        let status =
            RunDir::open(&context.paths.runs, run.as_str()).and_then(|dir| process::inspect(&dir));
        matches!(status, Ok(RunStatus::Running { .. }))
    };
    let until = Instant::now() + KILL_WAIT;
    while runs.iter().any(|run| lives(&run)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn stop_in(runs: &Path, id: &RunId, how: Stop) -> Result<(), ProcessError> {
    if runs.join(id.as_str()).exists() {
        process::stop(&RunDir::open(runs, id.as_str())?, how)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;
    use crate::process::Usage;

    #[test]
    fn time_in_which_the_machine_slept_or_its_clock_was_set_is_not_charged() {
        let hours = 8 * 3_600_000;
        for wall in [4_000, hours, -hours] {
            let end = ended(ExitRecord {
                reason: EndReason::Exited,
                code: Some(0),
                signal: None,
                spawn_error: None,
                started_at: Timestamp::from_millis(0),
                ended_at: Timestamp::from_millis(wall),
                ran_ms: 4_000,
                rusage: Usage::default(),
                stdout_bytes: 0,
                stderr_bytes: 0,
                left_behind: 0,
            });
            assert_eq!(end.duration_ms, 4_000);
        }
    }
}
