//! The repository's commit hooks on what an agent left uncommitted.
//!
//! Invariant: what the hooks reject is not committed; it goes back to its agent like a failed
//! check. They run once an iteration, and only if something is left.

use super::gate::charge;
use super::outcomes::{fail, working};
use super::run_end::{failure_of, is_stopped, killed_too_often, run_ended};
use crate::domain::decide::blame;
use crate::domain::decide::decision::Plan;
use crate::domain::decide::environment_faults::{nobodys_fault, release};
use crate::domain::effect::Purpose;
use crate::domain::event::{CommitHooksPassed, CommitHooksStarted};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::Failure;

/// What the hooks are called in messages, and how a prompt names them.
pub(in crate::domain) const COMMIT_HOOKS: &str = "the commit hooks of this repository";

/// Starts them: the branch could not be sealed, because something is uncommitted.
pub(super) fn start(plan: &mut Plan<'_>, agent: &AgentId) {
    let Some(settings) = plan.state.settings.as_deref() else {
        return;
    };
    let timeout = settings.quality_timeout_ms;
    let run = plan.run_id(&format!("{agent}-hooks"));
    plan.emit(CommitHooksStarted {
        agent: agent.clone(),
        run: run.clone(),
    });
    let agent = agent.clone();
    plan.request_run(run, Purpose::CommitHooks { agent }, timeout);
}

/// Handles their end: commits what passed, returns what was rejected. A run that was stopped or
/// lost is not judged; sealing asks for another one.
pub(in crate::domain::decide) fn over(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    run: &RunId,
    outcome: &Result<RunEnd, Failure>,
) {
    let end = run_ended(plan, run, outcome);
    let Some(attempt) = working(plan, agent, AttemptPhase::Gating) else {
        return;
    };
    if let Some(trouble) = outcome.as_ref().err().and_then(nobodys_fault) {
        return release(plan, agent, trouble);
    }
    if let Some(how) = killed_too_often(plan.state, &end.how, attempt.lost_runs) {
        return fail(plan, agent, format!("the runner of {COMMIT_HOOKS} {how}"));
    }
    match failure_of(&end.how) {
        None if matches!(end.how, RunEndKind::Exited { .. }) => plan.emit(CommitHooksPassed {
            agent: agent.clone(),
        }),
        Some(how) if !is_stopped(plan.state, run, &end.how) => {
            let doubt = blame::doubt(plan.state, COMMIT_HOOKS, (run, &how, &end));
            charge(plan, agent, attempt, &doubt);
        }
        _ => {}
    }
}
