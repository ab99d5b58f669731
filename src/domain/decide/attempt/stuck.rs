//! Ends attempts that would only cost more: the same failure of a quality command again and again,
//! or iterations that change nothing. Says when attempts in a row are reason to pause.
//!
//! Invariant: an outcome that is judged again after a torn log is not counted again. Called by
//! `outcomes`.

use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::event::GateFailed;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::observation::RunEnd;
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, Feedback, GaveUp, State};
use crate::domain::warning::WarningKind;

/// Agents in a row that give up with the same reason until autopilot pauses.
const SAME_REASONS: u32 = 3;
/// Equal failures of a quality command in a row that block the idea.
pub(crate) const SAME_FAILURES: u32 = 3;

/// Why the idea is blocked, if a quality command keeps failing with the same output.
pub(super) fn same_failure(
    attempt: &Attempt,
    failed: &GateFailed,
    last_words: Option<&str>,
) -> Option<String> {
    let GateFailed {
        agent,
        feedback: Feedback { command, how, .. },
        fingerprint,
        ..
    } = failed;
    let times = attempt.failures_with(&failed.feedback, fingerprint.as_deref());
    if times < SAME_FAILURES {
        return None;
    }
    let output = last_words.map_or_else(
        || "the output is empty".to_owned(),
        |words| format!("the output ends with: {words}"),
    );
    Some(format!(
        "stuck: `{command}` failed {times} times in a row with the same output ({how}), so its \
        agent was stopped; {output}. All output: swarm agent logs {agent}"
    ))
}

/// Why the idea is blocked, if a quality command keeps failing, whatever its output.
pub(super) fn same_check(
    plan: &Plan<'_>,
    attempt: &Attempt,
    failed: &GateFailed,
) -> Option<String> {
    let limit = plan.state.settings.as_ref()?.same_check_failures;
    let times = attempt.check_failures_with(&failed.feedback, failed.failed_tests);
    if limit == 0 || times < limit {
        return None;
    }
    let GateFailed {
        agent,
        feedback: Feedback { command, how, .. },
        ..
    } = failed;
    Some(format!(
        "stuck: `{command}` failed in {times} iterations in a row, and no fewer tests fail than \
        before ({how}; completion.sameCheckFailures is {limit}). All output: swarm agent logs \
        {agent}"
    ))
}

/// Why the idea is blocked, if this iteration is one too many that changed nothing.
pub(super) fn without_change(
    plan: &Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    run: &RunId,
    end: &RunEnd,
) -> Option<String> {
    let is_counted = attempt.run.as_ref() != Some(run);
    let in_a_row = if is_counted {
        attempt.without_change
    } else {
        attempt.without_change_after(end)
    };
    reason(plan, agent, in_a_row, "")
}

/// [`without_change`] for an attempt whose work a check sends back.
pub(super) fn sent_back_without_change(
    plan: &Plan<'_>,
    attempt: &Attempt,
    failed: &GateFailed,
) -> Option<String> {
    let GateFailed {
        agent,
        feedback: Feedback { command, how, .. },
        ..
    } = failed;
    let why = format!(", and `{command}` fails: {how}");
    reason(plan, agent, attempt.without_change, &why)
}

fn reason(plan: &Plan<'_>, agent: &AgentId, in_a_row: u32, why: &str) -> Option<String> {
    let threshold = threshold(plan).filter(|threshold| in_a_row >= *threshold)?;
    Some(format!(
        "stuck: {in_a_row} iterations in a row changed nothing in the worktree{why} \
        (completion.stuckThreshold is {threshold}); its output: swarm agent logs {agent}"
    ))
}

/// `None` if it is turned off.
fn threshold(plan: &Plan<'_>) -> Option<u32> {
    let settings = plan.state.settings.as_ref()?;
    Some(settings.stuck_threshold).filter(|threshold| *threshold > 0)
}

/// Warns after as many iterations without a commit: the worktree changes, but nothing is ready to
/// land. `failed`: the check that keeps sending the agent back.
pub(super) fn warn(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    in_a_row: u32,
    failed: Option<&Feedback>,
) {
    let key = WarningKind::Stuck.about(agent);
    if in_a_row == 0 {
        return plan.clear_warning(&key);
    }
    let Some(threshold) = threshold(plan).filter(|threshold| in_a_row >= *threshold) else {
        return;
    };
    let why = failed.map_or_else(String::new, |failed| {
        format!(", and `{}` fails each time: {}", failed.command, failed.how)
    });
    plan.warn_with(
        &key,
        &format!(
            "{agent} has made no commit on {} for {threshold} or more iterations{why}",
            attempt.idea
        ),
        vec![format!("swarm agent logs {agent}")],
    );
}

/// Why autopilot pauses, if too many attempts in a row have failed: they would all meet the same
/// fault.
pub(in crate::domain::decide) fn why_to_pause(
    state: &State,
    settings: &Settings,
) -> Option<String> {
    let swarm = &state.swarm;
    let limit = settings.failures_to_pause;
    if limit == 0 {
        return None;
    }
    let same = swarm.gave_up.as_ref();
    if let Some(GaveUp { reason, times }) = same.filter(|it| it.times >= SAME_REASONS) {
        return Some(format!(
            "{times} agents in a row gave up with the same reason: {}; remove the cause, then: \
            swarm resume",
            shorten(reason)
        ));
    }
    (swarm.failures_in_a_row >= limit).then(|| {
        format!(
            "{} attempts in a row failed or were blocked; inspect them (swarm report), then: swarm \
            resume",
            swarm.failures_in_a_row
        )
    })
}
