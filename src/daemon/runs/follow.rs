//! Following a run to its end: reports an agent's output as it comes, and concludes the result at
//! the end. Called by `run`.
//!
//! Invariant: everything that a run wrote is reported before its end is.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::launch_record::LaunchRecord;
use super::output_reader::{AgentOutputReader, OutputEvent};
use super::run::{RunError, inspect};
use crate::agents::stream::Conclusion;
use crate::daemon::actor::handle::Handle;
use crate::domain::ids::RunId;
use crate::domain::observation::{Observation, RunEndKind};
use crate::process::{self, Launched, RunDir, RunStatus};

/// How often a live run's output is read.
const READ_EVERY: Duration = Duration::from_millis(200);
/// Bytes read from the end of a failed run's standard error.
const STDERR_END: usize = 16 * 1024;

/// Waits for the end of a run; reads an agent's output meanwhile.
pub(crate) async fn follow(
    handle: &Handle,
    run: &RunId,
    dir: &RunDir,
    launched: Option<Launched>,
    record: Option<&LaunchRecord>,
) -> Result<(process::RunEnd, Option<AgentOutputReader>), RunError> {
    let Some(record) = record else {
        return Ok((process::wait(dir, launched).await?, None));
    };
    let (end, reader) = follow_output(handle, run, dir, launched, record).await?;
    Ok((end, Some(reader)))
}

/// Waits for the end and reports the output until then.
async fn follow_output(
    handle: &Handle,
    run: &RunId,
    dir: &RunDir,
    launched: Option<Launched>,
    record: &LaunchRecord,
) -> Result<(process::RunEnd, AgentOutputReader), RunError> {
    let mut reader = record.output_reader(dir, run);
    let end = process::wait(dir, launched);
    tokio::pin!(end);
    let mut ticks = tokio::time::interval(READ_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks.tick().await;
    let mut is_started = false;
    let end = loop {
        tokio::select! {
            end = &mut end => break end?,
            _ = ticks.tick() => {
                if !is_started {
                    is_started = report_start(handle, run, dir, record).await;
                }
                let events;
                (reader, events) = spawn_blocking(move || {
                    let events = reader.read_new();
                    (reader, events)
                })
                .await?;
                report(handle, run, events?).await;
            }
        }
    };
    let events;
    (reader, events) = spawn_blocking(move || {
        let events = reader.finish();
        (reader, events)
    })
    .await?;
    report(handle, run, events?).await;
    Ok((end, reader))
}

/// Reports that the process has started; returns whether it has.
async fn report_start(handle: &Handle, run: &RunId, dir: &RunDir, record: &LaunchRecord) -> bool {
    let Ok(RunStatus::Running {
        started: Some(started),
        ..
    }) = inspect(dir).await
    else {
        return false;
    };
    let pid = u32::try_from(started.pid).unwrap_or_default();
    let seen = Observation::RunStarted {
        run: run.clone(),
        pid,
        adapter: record.adapter().name().to_owned(),
        resumed: record.resumes(),
    };
    handle.observe(seen).await;
    true
}

async fn report(handle: &Handle, run: &RunId, events: Vec<OutputEvent>) {
    for event in events {
        let run = run.clone();
        let seen = match event {
            OutputEvent::Signal(offset, signal) => Observation::SignalSeen {
                run,
                offset,
                signal,
            },
            OutputEvent::Session(session) => Observation::SessionSeen { run, session },
            OutputEvent::Answered => Observation::ModelAnswered { run },
            OutputEvent::ProviderAwaited(why) => Observation::ProviderAwaited { run, why },
            OutputEvent::Usage(usage) => Observation::UsageSeen { run, usage },
        };
        handle.observe(seen).await;
    }
}

/// The result of a run, once it has ended and all its output is read.
pub(crate) async fn conclude(
    dir: RunDir,
    record: Arc<LaunchRecord>,
    reader: AgentOutputReader,
    how: &RunEndKind,
) -> Result<Conclusion, RunError> {
    let how = how.clone();
    let conclude = move || {
        let stderr = process::tail(&dir.stderr(), STDERR_END).unwrap_or_default();
        let mut conclusion = reader.conclude(&how, &stderr);
        record.amend(&mut conclusion);
        conclusion
    };
    Ok(spawn_blocking(conclude).await?)
}
