//! Decides on the conversations of agents: one begins, one cannot be resumed, one cannot go on.
//!
//! Invariant: an iteration that lost its conversation counts neither as an iteration nor as a
//! failure; the next one starts a new conversation. The number of such iterations in a row is
//! limited. Called by `provider` and `run_end`.

use super::provider::{CUT_MS, Judged, profile};
use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::event::{SessionBegan, SessionDropped};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::observation::RunEnd;
use crate::domain::session::{Session, SessionId};
use crate::domain::state::Attempt;
use crate::domain::state::provider::Excuse;
use crate::domain::verdict::Verdict;
use crate::domain::warning::WarningKind;

/// Runs in a row that fail to resume a conversation until it is dropped.
const SESSION_FAILURES: u32 = 2;
/// Conversations in a row that end without a commit until the idea fails.
const EXHAUSTED: u32 = 2;

/// Records the conversation that an agent's program reported.
pub(crate) fn seen(plan: &mut Plan<'_>, run: &RunId, session: &SessionId) {
    let of_run = |(_, attempt): &(&AgentId, &Attempt)| attempt.run.as_ref() == Some(run);
    let (Some((agent, attempt)), Some(settings)) = (
        plan.state.agents.iter().find(of_run),
        plan.state.settings.as_deref(),
    ) else {
        return;
    };
    let known = attempt.session.as_deref();
    if known.is_none_or(|known| known.id != *session) {
        plan.emit(SessionBegan {
            agent: agent.clone(),
            run: run.clone(),
            profile: profile(plan.state, settings, attempt).clone(),
            session: session.clone(),
        });
    }
}

/// After two failures in a row a new conversation starts.
pub(super) fn cannot_resume(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    session: &Session,
    message: &str,
) {
    let drops = session.failures + 1 >= SESSION_FAILURES;
    let why = shorten(message);
    if drops {
        plan.warn(
            &WarningKind::Conversation.about(agent),
            &format!(
                "{agent} could not resume its conversation ({why}); it starts a new one, with \
                everything known about its work"
            ),
        );
    }
    let until = plan.now.plus_millis(CUT_MS);
    plan.excuse(agent, Excuse::Session, Some(until));
    // Last, because an end that is judged again after a torn log must still know that there was a
    // conversation to resume.
    if drops {
        plan.emit(SessionDropped {
            agent: agent.clone(),
            why,
        });
    }
}

/// Drops a conversation that cannot go on. A second one in a row without a commit between fails
/// the idea: a new conversation meets the same obstacle.
pub(super) fn exhausted(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    end: &RunEnd,
) -> Judged {
    let message = end.verdict.as_ref().and_then(Verdict::message);
    let why = shorten(message.unwrap_or_default());
    // First: after the excuse, an end is not judged again. Only the excuse is counted.
    plan.emit(SessionDropped {
        agent: agent.clone(),
        why: why.clone(),
    });
    let moved = end.head.is_some() && end.head != attempt.head;
    let before = if moved { 0 } else { attempt.excused.exhausted };
    if before + 1 >= EXHAUSTED {
        return Judged::Failed(format!(
            "the agent's conversation could not go on {EXHAUSTED} times in a row, without a \
            commit in between: {why}; split the idea, or see the output: swarm agent logs {agent}"
        ));
    }
    let until = plan.now.plus_millis(CUT_MS);
    plan.excuse(agent, Excuse::Exhausted, Some(until));
    Judged::Excused
}
