//! Holds new worktrees while git cannot write their files: a filter fails or its program is away,
//! objects are missing, a partial clone cannot reach its remote.
//!
//! Invariant: no idea is charged; swarm tries again by itself after growing waits, with one idea at
//! a time, and people hear of it when that did not help. Attempts that have their worktree
//! continue. Called by the parent module, and where a worktree has been filled.

use crate::domain::decide::decision::{Plan, shorten};
use crate::domain::event::{WorktreesFreed, WorktreesHeld};
use crate::domain::state::worktrees::WorktreesHold;

/// Waits before another worktree is tried; the last one repeats.
const STEPS_MS: [i64; 4] = [2_000, 10_000, 60_000, 300_000];

/// Holds new worktrees until the next try.
pub(in crate::domain::decide) fn hold(plan: &mut Plan<'_>, message: &str) {
    hold_all(plan, message, false);
}

/// Work that is done cannot be committed: so it waits, too. Another attempt would begin with a paid
/// iteration.
pub(in crate::domain::decide) fn hold_seal(plan: &mut Plan<'_>, message: &str) {
    hold_all(plan, message, true);
}

fn hold_all(plan: &mut Plan<'_>, message: &str, seals: bool) {
    let known = plan.state.swarm.worktrees_held.as_ref();
    // Those that were prepared at the same time meet the same problem: that does not count again.
    if let Some(known) = known.filter(|known| known.until > plan.now) {
        if seals && !known.seals {
            let hold = WorktreesHold {
                seals,
                ..known.clone()
            };
            plan.emit(WorktreesHeld { hold });
        }
        return;
    }
    let times = known.map_or(1, |known| known.times + 1);
    let step = usize::try_from(times)
        .unwrap_or(usize::MAX)
        .min(STEPS_MS.len());
    plan.emit(WorktreesHeld {
        hold: WorktreesHold {
            since: known.map_or(plan.now, |known| known.since),
            until: plan.now.plus_millis(STEPS_MS[step - 1]),
            times,
            message: shorten(message),
            seals: seals || known.is_some_and(|known| known.seals),
        },
    });
}

/// Work was committed, which says nothing of new worktrees unless that had failed before.
pub(in crate::domain::decide) fn free_seal(plan: &mut Plan<'_>) {
    let held = plan.state.swarm.worktrees_held.as_ref();
    if held.is_some_and(|held| held.seals) {
        free(plan);
    }
}

/// A worktree was filled, or somebody may have mended the cause.
pub(in crate::domain::decide) fn free(plan: &mut Plan<'_>) {
    if plan.state.swarm.worktrees_held.is_some() {
        plan.emit(WorktreesFreed {});
    }
}
