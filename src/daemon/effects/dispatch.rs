//! From effects to drivers: one exhaustive match. Each effect runs on its own and ends in one
//! observation.
//!
//! Invariant: called only with effects whose request is on disk. An effect that is dispatched again
//! does what its variant's documentation says about being done already.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::attempt as git;
use super::context::DriverContext;
use super::inbox;
use super::outcome::failed;
use crate::crash;
use crate::daemon::actor::drivers::Drivers;
use crate::daemon::actor::handle::Handle;
use crate::daemon::checkpoints;
use crate::daemon::runs::run;
use crate::domain::effect::{self, Effect};
use crate::domain::ids::EffectId;
use crate::domain::observation::{FailureKind, Observation, Outcome};

/// Git work at a time; more only makes the disk slower.
const GIT_AT_ONCE: usize = 4;

/// The pauses before an effect that failed is tried again; the only place that retries one. A disk
/// error that passes, a killed git or a dead runner says nothing about anybody's work.
const AGAIN_AFTER: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

/// Sends effects to their drivers.
#[derive(Clone)]
pub(crate) struct Dispatcher {
    context: Arc<DriverContext>,
    handle: Handle,
    git: Arc<Semaphore>,
}

impl Dispatcher {
    pub(crate) fn new(context: Arc<DriverContext>, handle: Handle) -> Self {
        let git = Arc::new(Semaphore::new(GIT_AT_ONCE));
        Self {
            context,
            handle,
            git,
        }
    }
}

impl Drivers for Dispatcher {
    fn dispatch(&self, id: EffectId, effect: Effect) {
        let this = self.clone();
        let (begin, done) = points(&effect);
        tokio::spawn(async move {
            crash::point(begin);
            let mut outcome = this.guarded(id, effect.clone()).await;
            for pause in AGAIN_AFTER {
                if !may_pass(&outcome) {
                    break;
                }
                tracing::warn!(effect = %id, ?outcome, "an effect failed; it is done again");
                tokio::time::sleep(pause).await;
                outcome = this.guarded(id, effect.clone()).await;
            }
            crash::point(done);
            let effect = id;
            this.handle
                .observe(Observation::EffectDone { effect, outcome })
                .await;
        });
    }
}

impl Dispatcher {
    /// In a task of its own, so that a panic in a driver is an outcome too and nothing waits for
    /// ever.
    async fn guarded(&self, id: EffectId, effect: Effect) -> Outcome {
        let worker = self.clone();
        match tokio::spawn(async move { worker.perform(id, effect).await }).await {
            Ok(outcome) => outcome,
            Err(error) => failed(format!("a driver stopped unexpectedly: {error}")),
        }
    }

    async fn perform(&self, id: EffectId, effect: Effect) -> Outcome {
        let context = Arc::clone(&self.context);
        match effect {
            Effect::Run(effect::Run {
                run,
                purpose,
                timeout_ms,
            }) => run::run(context, self.handle.clone(), run, purpose, timeout_ms).await,
            Effect::StopRun(effect::StopRun { run, now }) => run::stop(&context, &run, now).await,
            Effect::PrepareWorktree(_)
            | Effect::Seal(_)
            | Effect::SaveWork(_)
            | Effect::BuildMerge(_)
            | Effect::PrepareVerify(_)
            | Effect::Land(_)
            | Effect::StartResolution(_)
            | Effect::FinishResolution(_)
            | Effect::ReleaseWorktree(_)
            | Effect::DeleteCheckpoint(_)
            | Effect::CheckRollback(_)
            | Effect::MoveTarget(_) => self.in_git(id, effect).await,
            Effect::MakeCheckpoint(_) => {
                let state = checkpoints::settled(&self.handle).await;
                blocking(move || git::made(&context, &state, id, &effect)).await
            }
            Effect::ArchiveInbox(effect::ArchiveInbox { name, sha256 }) => {
                blocking(move || inbox::archive(&context.paths.inbox, &name, &sha256)).await
            }
        }
    }

    async fn in_git(&self, id: EffectId, effect: Effect) -> Outcome {
        let Ok(_permit) = self.git.acquire().await else {
            return failed("the daemon is ending");
        };
        let looks = |effect: &Effect| {
            use Effect::{Land, SaveWork, Seal};
            matches!(effect, Seal { .. } | SaveWork { .. } | Land { .. })
        };
        if looks(&effect) {
            self.look_for_strays().await;
        }
        let context = Arc::clone(&self.context);
        blocking(move || git::perform(&context, id, &effect)).await
    }

    /// No worktree of ours stays on the target; that an agent has moved it is a warning until a
    /// landing moves it on.
    async fn look_for_strays(&self) {
        let target = self
            .handle
            .read(|state| Some(state.settings.as_ref()?.target.clone()));
        let Some(target) = target else { return };
        let (context, branch) = (Arc::clone(&self.context), target.clone());
        let found = tokio::task::spawn_blocking(move || context.repo.off_target(&branch)).await;
        let key = "target-moved".to_owned();
        let observation = match found {
            Ok(Ok(None)) => Observation::TroubleOver { key },
            Ok(Ok(Some(stray))) => Observation::Trouble {
                key,
                message: git::moved_by_an_agent(&target, &stray),
            },
            Ok(Err(error)) => {
                return tracing::warn!(%error, "the agents' worktrees cannot be looked at");
            }
            Err(error) => return tracing::warn!(%error, "looking at the agents' worktrees stopped"),
        };
        self.handle.observe(observation).await;
    }
}

/// Where a test may kill the daemon: before the driver begins, and when it has done its work and
/// nothing says so yet.
fn points(effect: &Effect) -> (&'static str, &'static str) {
    match effect {
        Effect::PrepareWorktree(_) => ("effect.prepare.begin", "effect.prepare.done"),
        Effect::Run(_) => ("effect.run.begin", "effect.run.done"),
        Effect::StopRun(_) => ("effect.stop.begin", "effect.stop.done"),
        Effect::Seal(_) => ("effect.seal.begin", "effect.seal.done"),
        Effect::SaveWork(_) => ("effect.save.begin", "effect.save.done"),
        Effect::BuildMerge(_) => ("effect.build.begin", "effect.build.done"),
        Effect::PrepareVerify(_) => ("effect.verify.begin", "effect.verify.done"),
        Effect::Land(_) => ("effect.land.begin", "effect.land.done"),
        Effect::StartResolution(_) => ("effect.resolve.begin", "effect.resolve.done"),
        Effect::FinishResolution(_) => ("effect.finish.begin", "effect.finish.done"),
        Effect::ReleaseWorktree(_) => ("effect.release.begin", "effect.release.done"),
        Effect::MakeCheckpoint(_) => ("effect.checkpoint.begin", "effect.checkpoint.done"),
        Effect::DeleteCheckpoint(_) => ("effect.forget.begin", "effect.forget.done"),
        Effect::CheckRollback(_) => ("effect.check.begin", "effect.check.done"),
        Effect::MoveTarget(_) => ("effect.move.begin", "effect.move.done"),
        Effect::ArchiveInbox(_) => ("effect.archive.begin", "effect.archive.done"),
    }
}

async fn blocking(work: impl FnOnce() -> Outcome + Send + 'static) -> Outcome {
    match spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => failed(format!("a driver stopped unexpectedly: {error}")),
    }
}

/// Whether a failure may be the disk's, and over in a moment. What a person must put right is not.
fn may_pass(outcome: &Outcome) -> bool {
    let Outcome::Failed { kind, .. } = outcome else {
        return false;
    };
    match kind {
        FailureKind::NoSpace | FailureKind::Other => true,
        FailureKind::Repository | FailureKind::AgentUnusable => false,
    }
}
