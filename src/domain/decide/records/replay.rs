//! Replays a recorded iteration: one agent run in a worktree of its own, compared with the record.
//!
//! Invariant: at most one is under way, and it never lands. `replayAsked` names its run; the
//! run is requested once, when a slot, the account and the disk allow it, and is over with
//! `runEnded`. Only then is it measured, and `replayJudged` comes before `effectFinished`: a log
//! that is torn anywhere goes on from there, and no run begins a second time.

use crate::domain::decide::attempt::iterations::may_check_out;
use crate::domain::decide::attempt::provider;
use crate::domain::decide::attempt::run_end;
use crate::domain::decide::budget::unpriced;
use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::decide::environment_faults::{hold_for, nobodys_fault};
use crate::domain::decide::memory::synthesis::{describe_end, not_now, require_running};
use crate::domain::effect::{Effect, JudgeReplay, Purpose};
use crate::domain::event::{ReplayAsked, ReplayJudged};
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::observation::RunEnd;
use crate::domain::outcome::{Failure, ReplayMeasured};
use crate::domain::rejection::Rejection;
use crate::domain::request::Author;
use crate::domain::settings::Settings;
use crate::domain::state::records::{REPLAY_OWNER, Replay};

/// What a person is refused.
const WHAT: &str = "replay an iteration";

/// A record to replay.
pub(in crate::domain::decide) struct Asked<'a> {
    /// Run of the recorded iteration.
    pub(in crate::domain::decide) of: &'a RunId,
    /// SHA-256 of the record's file, in hex.
    pub(in crate::domain::decide) sha256: &'a str,
    pub(in crate::domain::decide) profile: &'a ProfileName,
}

/// Accepts a replay; returns the name of its run.
pub(in crate::domain::decide) fn ask(
    plan: &mut Plan<'_>,
    by: &Author,
    asked: &Asked<'_>,
) -> Result<String, Rejection> {
    let state = plan.state;
    let settings = state.settings.as_deref();
    let settings = settings.ok_or_else(|| not_now(WHAT, "the daemon has just started", None))?;
    if !settings.profiles.contains(asked.profile) {
        return Err(Rejection::ProfileUnknown {
            name: asked.profile.clone(),
            known: settings.profiles.clone(),
        });
    }
    if let Some(run) = state.replay_under_way() {
        let see = format!("see what it does: .git/swarm/runs/{run}");
        let why = format!("{run} is under way, and there is one at a time");
        return Err(not_now(WHAT, &why, Some(&see)));
    }
    require_running(plan, WHAT)?;
    if let Some(held) = provider::held(state, settings, asked.profile, plan.now) {
        let why = format!("{held} has to wait");
        return Err(not_now(WHAT, &why, None));
    }
    let run = plan.run_id(&format!("{REPLAY_OWNER}-run"));
    plan.emit(ReplayAsked {
        by: by.clone(),
        of: asked.of.clone(),
        sha256: asked.sha256.to_owned(),
        profile: asked.profile.clone(),
        run: run.clone(),
    });
    Ok(run.to_string())
}

/// Requests the run of a replay that waits for it.
pub(in crate::domain::decide) fn begin_due(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let Some(replay) = state.records.replay.as_deref().filter(|it| it.waits()) else {
        return;
    };
    let Replay {
        of,
        sha256,
        profile,
        run,
        ..
    } = replay;
    if !may_check_out(plan)
        || state.slots_free() == 0
        || provider::is_held(state, settings, profile, plan.now)
    {
        return;
    }
    provider::begins(plan, profile, run, settings);
    let purpose = Purpose::Replay {
        profile: profile.clone(),
        of: of.clone(),
        sha256: sha256.clone(),
    };
    plan.request_run(run.clone(), purpose, settings.attempt_timeout_ms);
}

/// Handles the end of the run. A torn log repeats an end that it knows.
pub(in crate::domain::decide) fn over(
    plan: &mut Plan<'_>,
    (run, profile): (&RunId, &ProfileName),
    outcome: &Result<RunEnd, Failure>,
) {
    let Some(settings) = plan.state.settings.as_deref() else {
        return;
    };
    if plan.state.replay_run() != Some(run) {
        return;
    }
    let end = run_end::lone_run_ended(plan, run, outcome);
    if let (Some(usage), Some(bill)) = (&end.usage, &end.bill) {
        unpriced::watch(plan, settings, profile, (usage, bill));
    }
    if let Some(fault) = outcome.as_ref().err().and_then(nobodys_fault) {
        return hold_for(plan, fault);
    }
    provider::holds_if_at_fault(plan, settings, profile, &end);
}

/// Requests the comparison once the run is over.
pub(in crate::domain::decide) fn judge_due(plan: &mut Plan<'_>, _: &Settings) {
    let state = plan.state;
    let Some(replay) = state.records.replay.as_deref() else {
        return;
    };
    let Some(end) = &replay.end else { return };
    let judges = |effect: &Effect| matches!(effect, Effect::JudgeReplay(_));
    if state.run_effect(&replay.run).is_some() || state.is_pending(judges) {
        return;
    }
    plan.request(JudgeReplay {
        of: replay.of.clone(),
        sha256: replay.sha256.clone(),
        run: replay.run.clone(),
        why: problem(end),
    });
}

/// Why a run that ended like this cannot be compared; `None` if it can.
fn problem(end: &RunEnd) -> Option<String> {
    let well = run_end::is_complete(end) && run_end::counts(end);
    (!well).then(|| shorten(&describe_end(end)))
}

/// Handles the comparison. That of a replay which is judged already says nothing.
pub(in crate::domain::decide) fn judged(
    plan: &mut Plan<'_>,
    effect: &JudgeReplay,
    outcome: Result<ReplayMeasured, Failure>,
) {
    let current = plan.state.records.replay.as_deref();
    let Some(replay) = current.filter(|it| it.run == effect.run) else {
        return;
    };
    let (of, run) = (replay.of.clone(), replay.run.clone());
    let measured = outcome.unwrap_or_else(|failure| ReplayMeasured {
        judgement: Err(failure.message),
    });
    let judgement = measured.judgement.map_err(|why| shorten(&why));
    plan.emit(ReplayJudged {
        of,
        run,
        verdict: judgement.as_ref().ok().map(|it| it.verdict),
        measures: judgement.as_ref().ok().map(|it| it.measures),
        why: judgement.err(),
    });
}
