//! Runs the synthesis: one agent run that reads new learnings and writes facts.
//!
//! Invariant: at most one is under way, and the outbox alone says so. Its request is the last event
//! of its decision, and its turn is over with `synthesised`, which comes before `effectFinished`: a
//! log that is torn anywhere repeats the end and never begins a second run. A run that was stopped,
//! lost or refused by its provider keeps its turn; one that failed waits for the next one.

use crate::domain::decide::attempt::iterations::may_start;
use crate::domain::decide::attempt::provider;
use crate::domain::decide::attempt::run_end::{self, is_asked_to_end};
use crate::domain::decide::budget::unpriced;
use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::decide::environment_faults::{hold_for, nobodys_fault};
use crate::domain::effect::Purpose;
use crate::domain::event::Synthesised;
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::memory::synthesis::{batch, has_new, has_unread};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::Failure;
use crate::domain::rejection::Rejection;
use crate::domain::settings::{Mode, Settings};
use crate::domain::verdict::Verdict;
use crate::domain::warning::WarningKind;

/// Key of the warning about a run that failed.
const FAILED: &str = WarningKind::Synthesis.only();
/// What a person is refused.
const WHAT: &str = "start a synthesis";
/// What the name of its run says.
const RUN_NAME: &str = "synthesis";

/// A run of the synthesis that ended.
pub(in crate::domain::decide) struct Run<'a> {
    pub(in crate::domain::decide) id: &'a RunId,
    pub(in crate::domain::decide) profile: &'a ProfileName,
    /// Number of the last learning that it read.
    pub(in crate::domain::decide) up_to: u64,
}

/// Begins a run if enough is new.
pub(in crate::domain::decide) fn begin_due(plan: &mut Plan<'_>, settings: &Settings) {
    let (state, every) = (plan.state, settings.synthesis.every);
    let Some(profile) = &settings.synthesis.profile else {
        return;
    };
    let may = may_start(plan) && state.mode() == Mode::Autopilot && state.synthesis_run().is_none();
    let waits = provider::is_held(state, settings, profile, plan.now);
    if may && !waits && has_new(state, every.max(1)) {
        let run = plan.run_id(RUN_NAME);
        provider::begins(plan, profile, &run, settings);
        request(plan, &run, profile, settings);
    }
}

/// Begins a run because a person asks; returns its name.
pub(in crate::domain::decide) fn begin_asked(
    plan: &mut Plan<'_>,
    profile: Option<&ProfileName>,
) -> Result<String, Rejection> {
    let state = plan.state;
    let settings = state.settings.as_deref();
    let settings = settings.ok_or_else(|| later("the daemon has just started", None))?;
    let profile = profile.or(settings.synthesis.profile.as_ref());
    let profile = profile.ok_or_else(|| {
        let name = "name a profile: swarm memory synthesize --profile PROFILE";
        later("memory.synthesis.profile is not set", Some(name))
    })?;
    if !settings.profiles.contains(profile) {
        return Err(Rejection::ProfileUnknown {
            name: profile.clone(),
            known: settings.profiles.clone(),
        });
    }
    if let Some(run) = state.synthesis_run() {
        return Err(later(&format!("{run} is under way"), None));
    }
    require_running(plan, WHAT)?;
    if let Some(held) = provider::held(state, settings, profile, plan.now) {
        return Err(later(&format!("{held} has to wait"), None));
    }
    if !has_unread(state) {
        let see = "see what is known: swarm memory board";
        return Err(later(
            "nothing new was learned since the last one",
            Some(see),
        ));
    }
    // The request is the only event: with it the operation is done.
    let run = plan.run_id(RUN_NAME);
    request(plan, &run, profile, settings);
    Ok(run.to_string())
}

/// Refuses to start a run that a person asks for while the swarm may not start one.
pub(in crate::domain::decide) fn require_running(
    plan: &Plan<'_>,
    what: &str,
) -> Result<(), Rejection> {
    let (why, instead) = match plan.state.swarm.phase {
        SwarmPhase::Running if may_start(plan) => return Ok(()),
        SwarmPhase::Running => ("the disk is full", None),
        SwarmPhase::Pausing | SwarmPhase::Paused => {
            ("the swarm is paused", Some("continue: swarm resume"))
        }
        SwarmPhase::Recovering => ("the daemon has just started", None),
        SwarmPhase::RollingBack => ("a rollback is under way", None),
        SwarmPhase::Draining | SwarmPhase::Stopped => (
            "the daemon is shutting down",
            Some("start it again: swarm start"),
        ),
    };
    Err(not_now(what, why, instead))
}

fn later(why: &str, instead: Option<&str>) -> Rejection {
    not_now(WHAT, why, instead)
}

/// Says that `what` is not possible now.
pub(in crate::domain::decide) fn not_now(
    what: &str,
    why: &str,
    instead: Option<&str>,
) -> Rejection {
    Rejection::NotNow {
        what: what.to_owned(),
        why: why.to_owned(),
        instead: instead.map(str::to_owned),
    }
}

/// Requests the run, which reads as much as fits.
fn request(plan: &mut Plan<'_>, run: &RunId, profile: &ProfileName, settings: &Settings) {
    let last = batch(plan.state, None).last().map(|last| last.number());
    let purpose = Purpose::Synthesis {
        profile: profile.clone(),
        up_to: last.unwrap_or(plan.state.synthesis.up_to),
    };
    plan.request_run(run.clone(), purpose, settings.attempt_timeout_ms);
}

/// Handles the end of a run.
pub(in crate::domain::decide) fn over(
    plan: &mut Plan<'_>,
    run: &Run<'_>,
    outcome: &Result<RunEnd, Failure>,
) {
    let end = run_end::lone_run_ended(plan, run.id, outcome);
    let Some(settings) = plan.state.settings.as_deref() else {
        return;
    };
    if let (Some(usage), Some(bill)) = (&end.usage, &end.bill) {
        unpriced::watch(plan, settings, run.profile, (usage, bill));
    }
    if let Some(fault) = outcome.as_ref().err().and_then(nobodys_fault) {
        return hold_for(plan, fault);
    }
    let lost = end.how == RunEndKind::Lost;
    let well = run_end::is_complete(&end) && run_end::counts(&end);
    let stopped = if lost {
        run_end::killed_too_often(plan.state, &end.how, plan.state.synthesis.lost_runs).is_none()
    } else {
        !well && is_asked_to_end(plan.state, run.id, &end.how)
    };
    if stopped || provider::holds_if_at_fault(plan, settings, run.profile, &end) {
        return;
    }
    if well {
        plan.clear_warning(FAILED);
    } else {
        let how = describe_end(&end);
        let message = format!(
            "the synthesis of learnings failed ({how}); what it was to read waits for the next \
            one, when more is learned; its output: .git/swarm/runs/{}",
            run.id
        );
        plan.warn(FAILED, &message);
    }
    plan.emit(Synthesised {
        run: run.id.clone(),
        up_to: run.up_to,
        failed: !well,
    });
}

/// How a run failed, for people.
pub(in crate::domain::decide) fn describe_end(end: &RunEnd) -> String {
    let said = end.verdict.as_ref().and_then(Verdict::message);
    let said = said.or(end.last_words.as_deref()).map(shorten);
    let how = &end.how;
    said.map_or_else(|| how.to_string(), |said| format!("{how}: {said}"))
}
