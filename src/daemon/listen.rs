//! Following a run to its end: what an agent says is passed on meanwhile, and at the end it is concluded what the run came to.
//!
//! Invariant: when a run's end is reported, everything that it said has been passed on before.

use std::io;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::ear::{Ear, Heard};
use super::handle::Handle;
use super::launch;
use super::runs::{RunError, looked_at};
use crate::agents;
use crate::agents::adapter::StartedAs;
use crate::agents::stream::Conclusion;
use crate::domain::effect::Purpose;
use crate::domain::ids::RunId;
use crate::domain::observation::{Observation, RunEndKind};
use crate::process::{self, Launched, RunDir, RunStatus};

/// How often a live run's output is looked at.
const LISTEN: Duration = Duration::from_millis(200);
/// How much of the end of a run's standard error is looked at for why it failed, in bytes.
const STDERR_END: usize = 16 * 1024;

/// Waits for the end of a run; an agent's output is listened to until then.
pub(super) async fn follow(
    handle: &Handle,
    run: &RunId,
    purpose: &Purpose,
    dir: &RunDir,
    launched: Option<Launched>,
) -> Result<(process::RunEnd, Option<Ear>), RunError> {
    let Purpose::Iteration { .. } = purpose else {
        return Ok((process::wait(dir, launched).await?, None));
    };
    let (here, run_name) = (dir.clone(), run.to_string());
    let ear = spawn_blocking(move || launch::ear(&here, &run_name)).await??;
    let (end, ear) = listen(handle, run, dir, launched, ear).await?;
    Ok((end, Some(ear)))
}

/// Waits for the end and passes on what is heard until then.
async fn listen(
    handle: &Handle,
    run: &RunId,
    dir: &RunDir,
    launched: Option<Launched>,
    mut ear: Ear,
) -> Result<(process::RunEnd, Ear), RunError> {
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
                    seen_child = report_child(handle, run, dir).await;
                }
                let heard;
                (ear, heard) = spawn_blocking(move || {
                    let heard = ear.listen();
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

async fn report_child(handle: &Handle, run: &RunId, dir: &RunDir) -> bool {
    let Ok(RunStatus::Running {
        started: Some(started),
        ..
    }) = looked_at(dir).await
    else {
        return false;
    };
    let pid = u32::try_from(started.pid).unwrap_or_default();
    let run = run.clone();
    handle.observe(Observation::RunStarted { run, pid }).await;
    true
}

async fn report(handle: &Handle, run: &RunId, heard: Vec<Heard>) {
    for heard in heard {
        let run = run.clone();
        let seen = match heard {
            Heard::Signal(offset, signal) => Observation::SignalSeen {
                run,
                offset,
                signal,
            },
            Heard::Session(session) => Observation::SessionSeen { run, session },
            Heard::Answered => Observation::ModelAnswered { run },
            Heard::Usage(usage) => Observation::UsageSeen { run, usage },
        };
        handle.observe(seen).await;
    }
}

/// What a run came to, once it is over and all is heard.
pub(super) async fn conclude(
    dir: RunDir,
    ear: Ear,
    how: &RunEndKind,
) -> Result<Conclusion, RunError> {
    let how = how.clone();
    let look = move || -> io::Result<Conclusion> {
        let stderr = process::tail(&dir.stderr(), STDERR_END).unwrap_or_default();
        let mut concluded = ear.conclude(&how, &stderr);
        amend(&launch::started_as(dir.path())?, &mut concluded);
        Ok(concluded)
    };
    Ok(spawn_blocking(look).await??)
}

/// Adds what the program's own records say.
fn amend(started: &StartedAs, concluded: &mut Conclusion) {
    if let Err(error) = agents::adapter(started.adapter).amend(started, concluded) {
        let session = concluded.session.as_ref().map(ToString::to_string);
        tracing::warn!(%error, session, "the records of an agent's program cannot be read; of its run only what it wrote is known");
    }
}
