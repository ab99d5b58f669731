//! Decides on provenance records: which iteration has its record, which records are too old, and
//! in `replay`, which is replayed.
//!
//! Invariant: an iteration that owes no record gets none, however often it is reported.

pub(super) mod replay;

use super::decision::{Plan, shorten};
use crate::domain::event::{IterationRecorded, RecordsExpired};
use crate::domain::ids::RunId;
use crate::domain::observation::Recorded;
use crate::domain::time::Timestamp;

/// The record of this iteration is on disk, or can never be written.
pub(super) fn recorded(plan: &mut Plan<'_>, run: &RunId, recorded: &Result<Recorded, String>) {
    let Some(owed) = plan.state.records.owed.get(run) else {
        return;
    };
    let written = recorded.as_ref().ok();
    plan.emit(IterationRecorded {
        agent: owed.agent.clone(),
        idea: owed.idea.clone(),
        iteration: owed.iteration,
        run: run.clone(),
        sha256: written.map(|it| it.sha256.clone()),
        tree: written.and_then(|it| it.tree.clone()),
        model: written.and_then(|it| it.model.clone()),
        why: recorded.as_ref().err().map(|why| shorten(why)),
    });
}

/// Time only goes on: what may be deleted stays deletable.
pub(super) fn expire(plan: &mut Plan<'_>, before: Timestamp) {
    if plan.state.records.expired_before < Some(before) {
        plan.emit(RecordsExpired { before });
    }
}
