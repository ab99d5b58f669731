//! Following a run to its end: what an agent says is passed on meanwhile, and at the end it is
//! concluded what the run came to.
//!
//! Invariant: when a run's end is reported, everything that it said has been passed on before.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::launch_record::LaunchRecord;
use super::output_reader::{AgentOutputReader, OutputEvent};
use super::run::{RunError, looked_at};
use crate::agents::stream::Conclusion;
use crate::daemon::actor::handle::Handle;
use crate::domain::ids::RunId;
use crate::domain::observation::{Observation, RunEndKind};
use crate::process::{self, Launched, RunDir, RunStatus};

/// How often a live run's output is looked at.
const LISTEN: Duration = Duration::from_millis(200);
/// How much of the end of a run's standard error is looked at for why it failed, in bytes.
const STDERR_END: usize = 16 * 1024;

/// Waits for the end of a run; an agent's output is listened to until then.
pub(crate) async fn follow(
    handle: &Handle,
    run: &RunId,
    dir: &RunDir,
    launched: Option<Launched>,
    began: Option<&LaunchRecord>,
) -> Result<(process::RunEnd, Option<AgentOutputReader>), RunError> {
    let Some(began) = began else {
        return Ok((process::wait(dir, launched).await?, None));
    };
    let (end, ear) = follow_output(handle, run, dir, launched, began).await?;
    Ok((end, Some(ear)))
}

/// Waits for the end and passes on what is heard until then.
async fn follow_output(
    handle: &Handle,
    run: &RunId,
    dir: &RunDir,
    launched: Option<Launched>,
    began: &LaunchRecord,
) -> Result<(process::RunEnd, AgentOutputReader), RunError> {
    let mut ear = began.output_reader(dir, run);
    let end = process::wait(dir, launched);
    tokio::pin!(end);
    let mut looks = tokio::time::interval(LISTEN);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    looks.tick().await;
    let mut seen_child = false;
    let end = loop {
        tokio::select! {
            end = &mut end => break end?,
            _ = looks.tick() => {
                if !seen_child {
                    seen_child = report_child(handle, run, dir, began).await;
                }
                let heard;
                (ear, heard) = spawn_blocking(move || {
                    let heard = ear.read_new();
                    (ear, heard)
                })
                .await?;
                report(handle, run, heard?).await;
            }
        }
    };
    let heard;
    (ear, heard) = spawn_blocking(move || {
        let heard = ear.finish();
        (ear, heard)
    })
    .await?;
    report(handle, run, heard?).await;
    Ok((end, ear))
}

async fn report_child(handle: &Handle, run: &RunId, dir: &RunDir, began: &LaunchRecord) -> bool {
    let Ok(RunStatus::Running {
        started: Some(started),
        ..
    }) = looked_at(dir).await
    else {
        return false;
    };
    let pid = u32::try_from(started.pid).unwrap_or_default();
    let seen = Observation::RunStarted {
        run: run.clone(),
        pid,
        adapter: began.adapter().name().to_owned(),
        resumed: began.resumes(),
    };
    handle.observe(seen).await;
    true
}

async fn report(handle: &Handle, run: &RunId, heard: Vec<OutputEvent>) {
    for heard in heard {
        let run = run.clone();
        let seen = match heard {
            OutputEvent::Signal(offset, signal) => Observation::SignalSeen {
                run,
                offset,
                signal,
            },
            OutputEvent::Session(session) => Observation::SessionSeen { run, session },
            OutputEvent::Answered => Observation::ModelAnswered { run },
            OutputEvent::Usage(usage) => Observation::UsageSeen { run, usage },
        };
        handle.observe(seen).await;
    }
}

/// What a run came to, once it is over and all is heard.
pub(crate) async fn conclude(
    dir: RunDir,
    began: Arc<LaunchRecord>,
    ear: AgentOutputReader,
    how: &RunEndKind,
) -> Result<Conclusion, RunError> {
    let how = how.clone();
    let look = move || {
        let stderr = process::tail(&dir.stderr(), STDERR_END).unwrap_or_default();
        let mut concluded = ear.conclude(&how, &stderr);
        began.amend(&mut concluded);
        concluded
    };
    Ok(spawn_blocking(look).await?)
}
