//! Probes whether the quality commands see the tree that they check: once for each digest of what
//! that depends on, after the target has passed them, in the merge worktree.
//!
//! Invariant: a probe without a verdict is a warning and holds nothing up. The check of the target
//! checks the tree out and sets it up; its last step is the probe. Called by `baseline`.

use super::{hold_for, nobodys_fault};
use crate::domain::decide::attempt::iterations::{may_check_out, may_start};
use crate::domain::decide::attempt::run_end::{
    failure_of, is_stopped, killed_too_often, run_ended,
};
use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::decide::merge::queue;
use crate::domain::effect::{self, Effect, Purpose, TargetTree};
use crate::domain::event::{BaselineCleared, BaselineStarted, ChecksProbed, Findings};
use crate::domain::ids::{Oid, RunId};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::Failure;
use crate::domain::scheduling;
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::domain::state::baseline::{BaselineCheck, RUN_OWNER};

/// How often a command runs: as it is, hidden, with polite and with hard garbage.
const RUNS_OF_EACH: i64 = 4;

/// Whether a probe is due and may run: there is work that its result is about.
pub(in crate::domain::decide) fn is_wanted(plan: &Plan<'_>) -> bool {
    let state = plan.state;
    let ready = |state: &State| {
        let mut ideas = state.ideas.open();
        ideas.any(|(_, idea)| scheduling::is_ready(state, idea))
    };
    state.is_probe_due()
        && may_start(plan)
        && (!state.agents.is_empty() || !state.queue.is_empty() || ready(state))
}

/// Checks the target out for a probe. Where landings need no verdict, they go first.
pub(in crate::domain::decide) fn begin(plan: &mut Plan<'_>, settings: &Settings) {
    let state = plan.state;
    let failed = state.swarm.baseline.failed.as_ref();
    let later = failed.is_some_and(|failed| failed.not_before > plan.now) || !may_check_out(plan);
    let lands = !settings.requires_canary() && state.lands_soon();
    if later || lands || queue::is_busy(state) || state.is_pending(Effect::is_baseline) {
        return;
    }
    plan.request(effect::PrepareBaseline {
        target: settings.target.clone(),
        tree: TargetTree::Verify,
    });
}

/// Starts the probe in a tree that is checked out and set up.
pub(in crate::domain::decide) fn start(
    plan: &mut Plan<'_>,
    check: &BaselineCheck,
    settings: &Settings,
) {
    let run = plan.run_id(&format!("{RUN_OWNER}-probe"));
    plan.emit(BaselineStarted {
        index: check.next,
        run: run.clone(),
        command: None,
        probe: true,
    });
    let purpose = Purpose::Canary {
        commit: check.commit.clone(),
        digest: check.probe.clone().unwrap_or_default(),
    };
    // Each command has limits of its own.
    let commands = i64::try_from(settings.quality_commands.len()).unwrap_or(1);
    let each = settings.quality_timeout_ms.saturating_mul(RUNS_OF_EACH);
    plan.request_run(run, purpose, each.saturating_mul(commands));
}

/// Handles the end of a probe.
pub(in crate::domain::decide) fn over(
    plan: &mut Plan<'_>,
    run: &RunId,
    (commit, digest): (&Oid, &str),
    mut outcome: Result<RunEnd, Failure>,
) {
    let found = outcome.as_mut().ok().and_then(|end| end.probe.take());
    let end = run_ended(plan, run, &outcome);
    let state = plan.state;
    let baseline = &state.swarm.baseline;
    // The quality commands or the target branch have changed: it starts over.
    let checking = baseline.checking.as_ref();
    if checking.is_none_or(|check| check.run.as_ref() != Some(run)) {
        return;
    }
    if let Some(fault) = outcome.as_ref().err().and_then(nobodys_fault) {
        return hold_for(plan, fault);
    }
    let killed = killed_too_often(state, &end.how, baseline.lost_runs);
    let why = match (found, &end.how) {
        (Some(found), RunEndKind::Exited { code: 0 }) => {
            return probed(plan, Some(commit), digest, *found);
        }
        (None, RunEndKind::Exited { code: 0 }) => "it wrote no report".to_owned(),
        _ if is_stopped(state, run, &end.how) => return plan.emit(BaselineCleared::default()),
        (_, how) => match killed
            .map(|how| format!("its runner {how}"))
            .or(failure_of(how))
        {
            Some(why) => why,
            // Lost: it starts over.
            None => return plan.emit(BaselineCleared::default()),
        },
    };
    let words = end
        .last_words
        .map_or_else(String::new, |it| format!(": {it}"));
    no_verdict(plan, Some(commit), digest, &format!("{why}{words}"));
}

/// Nothing could be found out: people are warned, and nothing waits.
pub(in crate::domain::decide) fn no_verdict(
    plan: &mut Plan<'_>,
    commit: Option<&Oid>,
    digest: &str,
    why: &str,
) {
    let why = shorten(&format!(
        "whether your checks see the tree that they check is unknown, because they could not be \
        probed: {why}"
    ));
    probed(plan, commit, digest, Findings::no_verdict(why));
}

fn probed(plan: &mut Plan<'_>, commit: Option<&Oid>, digest: &str, found: Findings) {
    plan.emit(ChecksProbed {
        digest: digest.to_owned(),
        commit: commit.cloned(),
        found,
    });
}

/// A person accepted that these commands are blind: their alarms are over.
pub(in crate::domain::decide) fn accepted(plan: &mut Plan<'_>, commands: &[String]) {
    let Some(probed) = plan.state.swarm.baseline.probed.as_deref() else {
        return;
    };
    let mut now = probed.clone();
    let is_open = |command: &String| !commands.contains(command);
    now.found
        .alarms
        .retain(|alarm| alarm.command.as_ref().is_none_or(is_open));
    if now != *probed {
        plan.emit(now);
    }
}
