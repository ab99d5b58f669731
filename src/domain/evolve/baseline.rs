//! Folds what is known of the untouched target.

use super::attempt::count_lost;
use super::checks::outage;
use super::{blame, setup};
use crate::domain::effect::TargetTree;
use crate::domain::event::{
    BaselineCleared, BaselineFailed, BaselinePassed, BaselineReady, BaselineStarted, ChecksProbed,
    RunEnded,
};
use crate::domain::ids::{Oid, RunId};
use crate::domain::observation::CheckEnvironment;
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::domain::state::baseline::{Baseline, BaselineCheck, BaselineFailure, PassedElsewhere};
use crate::domain::time::Timestamp;

/// Number of passed commits that are remembered: attempts may begin from an earlier one while
/// others land.
const PASSED: usize = 20;

/// Number of environments whose passed commits are remembered: two terminals that take turns do not
/// check the target each time.
const ENVIRONMENTS: usize = 8;

/// A commit that passed before is not checked again, but it may be needed for the probe.
pub(super) fn check_out(state: &mut State, at: Timestamp, ready: &BaselineReady) {
    let setup = setup::require(state, ready.tree.name(), ready.setup.as_deref());
    depend_on(state, ready.probe.as_deref());
    let settings = state.settings.as_deref();
    let commands = settings.map_or(0, |settings| settings.quality_commands.len());
    let is_checked = settings.is_some_and(Settings::checks_baseline);
    let probes = state.is_probe_due() && ready.tree == TargetTree::Verify;
    let baseline = &mut state.swarm.baseline;
    baseline.green = baseline.passed.contains(&ready.commit);
    let passed = baseline.green && !baseline.doubted;
    if !passed || probes {
        baseline.checking = Some(BaselineCheck {
            commit: ready.commit.clone(),
            tree: ready.tree,
            setup,
            next: if passed || !is_checked { commands } else { 0 },
            probe: ready.probe.clone(),
            run: None,
            since: at,
        });
    }
    if passed {
        // Lost runs of the probe count on.
        let lost_runs = state.swarm.baseline.lost_runs;
        pass(state, at, &ready.commit);
        state.swarm.baseline.lost_runs = lost_runs;
    }
}

/// What a probe found out says nothing about other manifests.
fn depend_on(state: &mut State, digest: Option<&str>) {
    let probed = state.swarm.baseline.probed.take();
    state.swarm.baseline.probed =
        probed.filter(|probed| digest.is_none_or(|now| probed.digest == now));
}

/// The quality commands were probed.
pub(super) fn probe(state: &mut State, probed: &ChecksProbed) {
    let is_over = |check: &BaselineCheck| {
        check.run.is_none() && check.tree == TargetTree::Verify && state.is_at_probe(check)
    };
    let is_over = state.swarm.baseline.checking.as_ref().is_some_and(is_over);
    let baseline = &mut state.swarm.baseline;
    baseline.probed = Some(Box::new(probed.clone()));
    baseline.lost_runs = 0;
    if is_over {
        baseline.checking = None;
    }
}

pub(super) fn start(state: &mut State, at: Timestamp, started: &BaselineStarted) {
    state.counters.runs += 1;
    begin_run(state, at, &started.run);
}

/// A quality or setup command of the check begins.
pub(super) fn begin_run(state: &mut State, at: Timestamp, run: &RunId) {
    if let Some(check) = &mut state.swarm.baseline.checking {
        check.run = Some(run.clone());
        check.since = at;
    }
}

pub(super) fn end_run(state: &mut State, ended: &RunEnded) {
    let baseline = &mut state.swarm.baseline;
    let of_run = |check: &&mut BaselineCheck| check.run.as_ref() == Some(&ended.run);
    if let Some(check) = baseline.checking.as_mut().filter(of_run) {
        check.run = None;
        count_lost(&mut baseline.lost_runs, &ended.end);
    }
}

pub(super) fn pass_command(state: &mut State, at: Timestamp, passed: &BaselinePassed) {
    if passed.last {
        let baseline = &mut state.swarm.baseline;
        baseline.control_unfit |= baseline.outage.is_some() && is_in_verify(baseline);
        pass(state, at, &passed.commit);
        // Where landings need no verdict, they go first.
        let probes = state.is_probe_due() && (state.awaits_probe() || !state.lands_soon());
        let check = state.swarm.baseline.checking.take();
        let check = check.filter(|check| probes && check.tree == TargetTree::Verify);
        state.swarm.baseline.checking = check.map(|mut check| {
            check.next = passed.index + 1;
            check
        });
    } else if let Some(check) = &mut state.swarm.baseline.checking {
        check.next = passed.index + 1;
    }
}

pub(super) fn fail(state: &mut State, at: Timestamp, failed: &BaselineFailed) {
    let baseline = &mut state.swarm.baseline;
    let failure = baseline.failure(failed);
    let outage = failure.environment;
    if outage {
        baseline.outage.clone_from(&failure.commit);
    }
    baseline.control_unfit &= !is_in_verify(baseline);
    baseline.failed = Some(failure);
    baseline.green = false;
    baseline.checking = None;
    baseline.lost_runs = 0;
    baseline.doubted = false;
    baseline.down = true;
    let stands = |passed: &Oid| failed.commit.as_ref() != Some(passed);
    baseline.passed.retain(stands);
    blame::excuse_all(state);
    if let Some(command) = failed.command.as_deref().filter(|_| outage) {
        outage::go_on(state, at, command);
    }
}

/// Whether the check that goes on is in the merge worktree.
fn is_in_verify(baseline: &Baseline) -> bool {
    let checking = baseline.checking.as_ref();
    checking.is_some_and(|check| check.tree == TargetTree::Verify)
}

/// The check starts over when it is needed, but a command that is running goes on. What
/// passed before counts again once no failed check is in doubt.
pub(super) fn clear(state: &mut State, cleared: &BaselineCleared) {
    let over = state.is_doubt_over();
    let baseline = &mut state.swarm.baseline;
    if cleared.probe {
        baseline.probed = None;
    }
    baseline.doubted &= !over;
    baseline.failed = None;
    let running = |check: &BaselineCheck| check.run.is_some();
    baseline.checking = baseline.checking.take().filter(running);
}

/// What passed under another environment says nothing about this one, and neither does what failed.
pub(super) fn change_environment(
    state: &mut State,
    at: Timestamp,
    before: Option<CheckEnvironment>,
    now: Option<&CheckEnvironment>,
) {
    let (Some(before), Some(now)) = (before, now) else {
        return;
    };
    if before.digest == now.digest {
        return;
    }
    outage::end(state, at);
    let old = std::mem::take(&mut state.swarm.baseline);
    let mut elsewhere = old.elsewhere;
    let known = elsewhere.iter().position(|it| it.digest == now.digest);
    let known = known.map(|index| elsewhere.remove(index));
    if !old.passed.is_empty() {
        elsewhere.push(PassedElsewhere {
            digest: before.digest,
            passed: old.passed,
            probed: old.probed,
        });
    }
    let over = elsewhere.len().saturating_sub(ENVIRONMENTS - 1);
    elsewhere.drain(..over);
    let (passed, probed) = known.map_or_else(Default::default, |it| (it.passed, it.probed));
    state.swarm.baseline = Baseline {
        passed,
        probed,
        elsewhere,
        commands: old.commands,
        restored: state.counters.runs,
        ..Baseline::default()
    };
    blame::excuse_all(state);
}

/// The target was seen at this commit.
pub(super) fn see_target(state: &mut State, commit: &Oid) {
    let baseline = &mut state.swarm.baseline;
    baseline.green = baseline.passed.contains(commit);
    let same = |failed: &BaselineFailure| failed.commit.as_ref() == Some(commit);
    baseline.failed = baseline.failed.take().filter(same);
}

/// A new attempt begins at this commit of the target. An older one that passed says nothing about
/// where the target is now.
pub(super) fn see_base(state: &mut State, base: &Oid) {
    if !state.swarm.baseline.passed.contains(base) {
        see_target(state, base);
    }
}

/// The target is now at a commit that swarm landed. A control goes on while a failed check is in
/// doubt, because the landing's own checks may have begun before it failed.
pub(super) fn land(
    state: &mut State,
    at: Timestamp,
    commit: &Oid,
    checked: bool,
    probe: Option<&str>,
) {
    depend_on(state, probe);
    if checked {
        pass(state, at, commit);
        if !state.swarm.baseline.doubted {
            state.swarm.baseline.checking = None;
        }
    } else {
        see_target(state, commit);
    }
}

fn pass(state: &mut State, at: Timestamp, commit: &Oid) {
    outage::end(state, at);
    let begun = state.counters.runs;
    let baseline = &mut state.swarm.baseline;
    if std::mem::take(&mut baseline.down) {
        baseline.restored = begun;
    }
    baseline.passed.retain(|passed| passed != commit);
    baseline.passed.push(commit.clone());
    let over = baseline.passed.len().saturating_sub(PASSED);
    baseline.passed.drain(..over);
    baseline.green = true;
    baseline.outage = None;
    baseline.failed = None;
    baseline.lost_runs = 0;
    state.swarm.baseline.doubted &= state.is_check_in_doubt();
}
