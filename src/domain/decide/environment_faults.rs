//! Failures that no attempt is to blame for: no room on the disk, a repository that only a person
//! can put right.
//!
//! Invariant: they count against nobody, and nothing new starts until they are over.

use super::decision::{End, Plan};
use crate::domain::event::RoomAwaited;
use crate::domain::ids::AgentId;
use crate::domain::observation::{FailureKind, Outcome};
use crate::domain::state::{AttemptEnd, IdeaStatus};

/// How long a full disk is left alone before something is started again.
const ROOM_WAIT_MS: i64 = 10_000;
/// The warning that there is no room on the disk.
const DISK_FULL: &str = "disk-full";
/// The warning that nothing can be done in this repository.
const REPOSITORY: &str = "repository";

/// A failure that no attempt is to blame for, and that every other idea would meet too.
#[derive(Clone, Copy)]
pub(super) struct EnvironmentFault<'a> {
    key: &'static str,
    message: &'a str,
}

impl EnvironmentFault<'_> {
    /// Whether it is over some time by itself: there is room again.
    pub(super) fn passes(&self) -> bool {
        self.key == DISK_FULL
    }
}

/// The idea goes back as it is, and nothing starts until the trouble is over.
pub(super) fn release(plan: &mut Plan<'_>, agent: &AgentId, trouble: EnvironmentFault<'_>) {
    hold_for(plan, trouble);
    let end = End::keeping(AttemptEnd::Released, IdeaStatus::Pending, None);
    plan.end(agent, end);
}

/// For room on the disk the swarm waits by itself; the rest pauses it.
pub(super) fn hold_for(
    plan: &mut Plan<'_>,
    EnvironmentFault { key, message }: EnvironmentFault<'_>,
) {
    plan.warn(key, message);
    if key == DISK_FULL {
        let until = plan.now.plus_millis(ROOM_WAIT_MS);
        return plan.emit(RoomAwaited { until });
    }
    if let Err(refused) = super::swarm::pause(plan, Some(message)) {
        plan.warn(key, &format!("{message} ({refused})"));
    }
}

/// Such trouble, if that is what an effect came to.
pub(super) fn nobodys_fault(outcome: &Outcome) -> Option<EnvironmentFault<'_>> {
    let Outcome::Failed { kind, message } = outcome else {
        return None;
    };
    let key = match kind {
        FailureKind::NoSpace => DISK_FULL,
        FailureKind::Repository => REPOSITORY,
        FailureKind::AgentUnusable | FailureKind::Other => return None,
    };
    Some(EnvironmentFault { key, message })
}

/// Something went well that would have met it.
pub(super) fn over(plan: &mut Plan<'_>) {
    plan.clear_warning(DISK_FULL);
    plan.clear_warning(REPOSITORY);
}
