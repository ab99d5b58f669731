//! From effects to drivers: one exhaustive match. Each effect runs on its own and ends in one
//! observation.
//!
//! Invariant: called only with effects whose request is on disk. An effect that is dispatched again
//! does what its variant's documentation says about being done already.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{JoinError, spawn_blocking};

use super::context::DriverContext;
use super::save_work::save_work;
use super::{attempt, inbox, landed_work, merge, notify};
use crate::crash;
use crate::daemon::actor::drivers::Drivers;
use crate::daemon::actor::handle::Handle;
use crate::daemon::checkpoints;
use crate::daemon::provenance::replay;
use crate::daemon::runs::run;
use crate::domain::effect::Effect;
use crate::domain::ids::EffectId;
use crate::domain::observation::Observation;
use crate::domain::outcome::{Failure, FailureKind, Outcome};
use crate::domain::warning::WarningKind;

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
                let Err(failure) = &outcome else { break };
                if !may_pass(&effect, failure.kind) {
                    break;
                }
                tracing::warn!(effect = %id, ?failure, "an effect failed; retrying");
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
    async fn guarded(&self, id: EffectId, effect: Effect) -> Result<Outcome, Failure> {
        let worker = self.clone();
        let work = tokio::spawn(async move { worker.perform(id, effect).await });
        work.await.unwrap_or_else(|error| Err(stopped(&error)))
    }

    async fn perform(&self, id: EffectId, effect: Effect) -> Result<Outcome, Failure> {
        let context = Arc::clone(&self.context);
        match effect {
            Effect::Run(it) => Ok(run::run(context, self.handle.clone(), it).await?.into()),
            Effect::StopRun(it) => Ok(run::stop(&context, &it).await?.into()),
            Effect::PrepareWorktree(it) => self.in_git(move |git| attempt::prepare(git, &it)).await,
            Effect::Seal(it) => self.past_strays(move |git| attempt::seal(git, &it)).await,
            Effect::SaveWork(it) => self.past_strays(move |git| save_work(git, &it)).await,
            Effect::BuildMerge(it) => {
                let handle = self.handle.clone();
                let landed = move || handle.read(landed_work::landed);
                self.in_git(move |git| merge::build(git, id, &it, landed))
                    .await
            }
            Effect::PrepareVerify(it) => {
                self.in_git(move |git| merge::prepare_verify(git, &it))
                    .await
            }
            Effect::PrepareBaseline(it) => {
                self.in_git(move |git| merge::prepare_baseline(git, &it))
                    .await
            }
            Effect::Land(it) => self.past_strays(move |git| merge::land(git, &it)).await,
            Effect::StartResolution(it) => {
                self.in_git(move |git| merge::start_resolution(git, &it))
                    .await
            }
            Effect::FinishResolution(it) => {
                self.in_git(move |git| merge::finish_resolution(git, &it))
                    .await
            }
            Effect::ReleaseWorktree(it) => self.in_git(move |git| attempt::release(git, &it)).await,
            Effect::LendWorktree(it) => self.in_git(move |git| attempt::lend(git, &it)).await,
            Effect::MakeCheckpoint(it) => {
                let state = checkpoints::settled(&self.handle).await;
                blocking(move || checkpoints::create(&context, &state, id, &it)).await
            }
            Effect::DeleteCheckpoint(it) => {
                self.in_git(move |git| checkpoints::delete(git, &it)).await
            }
            Effect::CheckRollback(it) => self.in_git(move |git| checkpoints::check(git, &it)).await,
            Effect::MoveTarget(it) => {
                self.in_git(move |git| checkpoints::move_target(git, &it))
                    .await
            }
            // Its worktree is looked at before it goes: its agent may have moved the target.
            Effect::JudgeReplay(it) => self.past_strays(move |git| replay::judge(git, &it)).await,
            Effect::Notify(it) => Ok(notify::notify(&context, &self.handle, &it).await.into()),
            Effect::ArchiveInbox(it) => {
                blocking(move || inbox::archive(&context.paths.inbox, &it)).await
            }
        }
    }

    async fn in_git<T: Into<Outcome> + Send + 'static>(
        &self,
        work: impl FnOnce(&DriverContext) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Outcome, Failure> {
        let _turn = self.turn().await?;
        let context = Arc::clone(&self.context);
        blocking(move || work(&context)).await
    }

    /// Git work for which it matters where the agents' worktrees and the target are.
    async fn past_strays<T: Into<Outcome> + Send + 'static>(
        &self,
        work: impl FnOnce(&DriverContext) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Outcome, Failure> {
        let _turn = self.turn().await?;
        self.look_for_strays().await;
        let context = Arc::clone(&self.context);
        blocking(move || work(&context)).await
    }

    async fn turn(&self) -> Result<SemaphorePermit<'_>, Failure> {
        let turn = self.git.acquire().await;
        turn.map_err(|_closed| Failure::other("the daemon is shutting down"))
    }

    /// Who works in this worktree, for people.
    fn agent_in(&self, worktree: &str) -> String {
        let agent = self.handle.read(|state| {
            let mut agents = state.agents.iter();
            let (agent, _) = agents.find(|(_, attempt)| attempt.worktree == *worktree)?;
            Some(agent.to_string())
        });
        agent.unwrap_or_else(|| "an agent".to_owned())
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
        let key = WarningKind::Target.only().to_owned();
        let observation = match found {
            Ok(Ok(None)) => Observation::TroubleOver { key },
            Ok(Ok(Some(stray))) => Observation::Trouble {
                key,
                message: attempt::moved_by_an_agent(
                    &target,
                    &stray,
                    &self.agent_in(&stray.worktree),
                ),
            },
            Ok(Err(error)) => {
                return tracing::warn!(%error, "the agents' worktrees cannot be inspected");
            }
            Err(error) => return tracing::warn!(%error, "inspecting the agents' worktrees crashed"),
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
        Effect::PrepareBaseline(_) => ("effect.baseline.begin", "effect.baseline.done"),
        Effect::Land(_) => ("effect.land.begin", "effect.land.done"),
        Effect::StartResolution(_) => ("effect.resolve.begin", "effect.resolve.done"),
        Effect::FinishResolution(_) => ("effect.finish.begin", "effect.finish.done"),
        Effect::ReleaseWorktree(_) => ("effect.release.begin", "effect.release.done"),
        Effect::LendWorktree(_) => ("effect.lend.begin", "effect.lend.done"),
        Effect::MakeCheckpoint(_) => ("effect.checkpoint.begin", "effect.checkpoint.done"),
        Effect::DeleteCheckpoint(_) => ("effect.forget.begin", "effect.forget.done"),
        Effect::CheckRollback(_) => ("effect.check.begin", "effect.check.done"),
        Effect::MoveTarget(_) => ("effect.move.begin", "effect.move.done"),
        Effect::ArchiveInbox(_) => ("effect.archive.begin", "effect.archive.done"),
        Effect::Notify(_) => ("effect.notify.begin", "effect.notify.done"),
        Effect::JudgeReplay(_) => ("effect.judge.begin", "effect.judge.done"),
    }
}

async fn blocking<T: Into<Outcome> + Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<Outcome, Failure> {
    let done = spawn_blocking(work).await;
    Ok(done.map_err(|error| stopped(&error))??.into())
}

fn stopped(error: &JoinError) -> Failure {
    Failure::other(format!("a driver stopped unexpectedly: {error}"))
}

/// Whether a failure may be the disk's or a lock's, and over in a moment. What a person must put
/// right is not.
fn may_pass(effect: &Effect, kind: FailureKind) -> bool {
    match kind {
        FailureKind::Locked { .. } | FailureKind::Other => true,
        // The disk may have room again by then, and the run that it ended would be charged.
        FailureKind::NoSpace => !matches!(effect, Effect::Run(_)),
        // An agent's worktree that cannot be prepared is retried later, with the next idea.
        FailureKind::Content => {
            matches!(
                effect,
                Effect::PrepareVerify(_) | Effect::PrepareBaseline(_)
            )
        }
        FailureKind::Repository | FailureKind::AgentUnusable => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::effect::{self, Purpose};
    use crate::domain::ids::RunId;
    use crate::domain::testkit::{idea, oid};

    #[test]
    fn a_run_that_a_full_disk_ended_is_judged_once() {
        let run = Effect::Run(effect::Run {
            run: RunId::numbered(1, "idea-001-v1"),
            purpose: Purpose::Verify {
                idea: idea(1),
                index: 0,
                command: "true".into(),
            },
            timeout_ms: 1,
        });
        let verify = Effect::PrepareVerify(effect::PrepareVerify {
            idea: idea(1),
            commit: oid(1),
        });
        assert!(!may_pass(&run, FailureKind::NoSpace));
        assert!(may_pass(&verify, FailureKind::NoSpace));
        assert!(may_pass(&verify, FailureKind::Content));
        assert!(may_pass(&run, FailureKind::Other));
    }
}
