//! Decides whether failed work is charged for a failed check.
//!
//! Invariant: where the untouched target must pass before work begins, a failed command is
//! charged only after it has passed elsewhere in a run that began after the failure, so that a
//! database that is gone or a full table is nobody's fault. While the target fails as well, nothing
//! is charged: the command runs again when the target passes. Nor is anything charged that failed
//! on a port or a database of another check, or on a port of its slot that another program holds.
//! This is the only place that decides it; the gate and the merge queue ask.

use super::decision::{Plan, shorten};
use crate::domain::effect::Effect;
use crate::domain::event::BaselineDoubted;
use crate::domain::ids::RunId;
use crate::domain::observation::RunEnd;
use crate::domain::state::baseline::Doubt;
use crate::domain::state::{Attempt, State};
use crate::domain::warning::WarningKind;

/// A command that takes longer is not repeated before its work is charged, in milliseconds.
const LONG_MS: i64 = 120_000;

/// Who is to blame for a failed setup or quality command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The work.
    Work,
    /// Nobody knows yet.
    InDoubt,
    /// Nobody: the untouched target fails as well, or did so while the command ran.
    Nobody,
    /// Another check of this swarm, which used the same port, file or database, or another program,
    /// which holds a port of the worktree.
    Collision,
}

/// Who is to blame for this failed run, given what is in doubt about the work already.
pub(super) fn judge(
    state: &State,
    before: Option<&Doubt>,
    command: &str,
    (run, end): (&RunId, &RunEnd),
) -> Blame {
    if has_collided(state, run, end) {
        return Blame::Collision;
    }
    if !state.requires_baseline() {
        return Blame::Work;
    }
    if state.is_target_down() || run.number() <= state.swarm.baseline.restored {
        return Blame::Nobody;
    }
    let same = before.filter(|doubt| doubt.command == command && doubt.run != *run);
    match same {
        // Something may have broken after the command passed elsewhere.
        Some(doubt) if doubt.repeat && doubt.fingerprint != end.fingerprint => Blame::InDoubt,
        Some(doubt) if state.has_passed_since(doubt) => Blame::Work,
        Some(_) | None => Blame::InDoubt,
    }
}

/// Whether a failed run met another check of this swarm that used the same port, file or database,
/// or another program that holds a port of its worktree.
pub(super) fn has_collided(state: &State, run: &RunId, end: &RunEnd) -> bool {
    end.held_port.is_some() || (end.in_use && state.swarm.checks.in_company.contains(run))
}

/// Says once what a command in this worktree collided with, and what keeps them apart.
pub(super) fn warn_of_collision(plan: &mut Plan<'_>, command: &str, worktree: &str, end: &RunEnd) {
    match end.held_port {
        Some(port) => warn_of_held_port(plan, command, worktree, port),
        None => warn_of_checks(plan, command),
    }
}

fn warn_of_held_port(plan: &mut Plan<'_>, command: &str, worktree: &str, port: u16) {
    let message = format!(
        "port {port} of the worktree {worktree} is held by another program, so `{command}` \
        failed. No idea is charged: the worktree has other ports until the daemon ends, and the \
        command runs again with them"
    );
    let who = format!("lsof -nP -i :{port}   # which program it is");
    plan.warn_with(&WarningKind::Port.about(port), &message, vec![who]);
}

/// From then on [`State::has_room_for_check`] has fewer run side by side, unless their number is
/// configured.
fn warn_of_checks(plan: &mut Plan<'_>, command: &str) {
    if plan.state.have_checks_collided() {
        return;
    }
    let settings = plan.state.settings.as_deref();
    let others = match settings.and_then(|settings| settings.max_checks) {
        None => "with checks.maxParallel \"auto\" checks in agents' worktrees now run one at a \
            time"
            .to_owned(),
        Some(most) => format!(
            "checks.maxParallel is {most}, so the next ones may collide, too, unless you set it to \
            \"auto\""
        ),
    };
    let message = format!(
        "`{command}` failed because another check of swarm had the port, the file or the database \
        that it needs. No idea is charged: the command runs again alone, and {others}. To let them \
        run side by side, have them use SWARM_PORT_BASE and SWARM_SLOT, or set worktree.env in \
        .swarm/config.json, such as {{\"PORT\": \"{{port}}\"}}"
    );
    plan.warn(WarningKind::Collision.only(), &message);
}

/// A new daemon gives each worktree its own ports again.
pub(super) fn forget_held_ports(plan: &mut Plan<'_>) {
    for key in plan.state.warnings.keys() {
        if WarningKind::Port.thing(key).is_some() {
            plan.clear_warning(key);
        }
    }
}

/// The doubt that a failed run leaves.
pub(super) fn doubt(
    state: &State,
    command: &str,
    (run, how, end): (&RunId, &str, &RunEnd),
) -> Doubt {
    Doubt {
        after: state.counters.runs,
        command: command.to_owned(),
        run: run.clone(),
        how: shorten(how),
        fingerprint: end.fingerprint.clone(),
        failed_tests: end.failed_tests,
        output: end.last_words.as_deref().map(shorten),
        repeat: false,
    }
}

/// The same doubt about an attempt's work, with whether the command is repeated before the work is
/// charged: not if it was repeated already, takes long, fails as it did last time, or if nothing
/// checks the merged tree. A command that mends files would then pass on files that do not land.
pub(super) fn repeated(state: &State, doubt: Doubt, attempt: &Attempt, end: &RunEnd) -> Doubt {
    let same = end.fingerprint.is_some() && end.fingerprint == attempt.check.fingerprint;
    let repeated = is_repeated(attempt.doubt(), &doubt);
    let settings = state.settings.as_deref();
    let verifies = settings.is_some_and(|settings| settings.verify);
    Doubt {
        repeat: verifies && !same && !repeated && end.duration_ms < LONG_MS,
        ..doubt
    }
}

/// Whether the command was in doubt already and ran once more since.
pub(super) fn is_repeated(before: Option<&Doubt>, doubt: &Doubt) -> bool {
    before.is_some_and(|before| before.command == doubt.command && before.run != doubt.run)
}

/// Has the untouched target checked once more, if a failed check waits for it. A check of the
/// target that is under way will do.
pub(super) fn doubt_target(plan: &mut Plan<'_>) {
    let state = plan.state;
    let baseline = &state.swarm.baseline;
    let is_due = baseline.doubted
        || baseline.checking.is_some()
        || baseline.failed.is_some()
        || state.is_pending(Effect::is_baseline);
    if !is_due && state.is_check_in_doubt() {
        plan.emit(BaselineDoubted {});
    }
}
