//! Failures that no attempt is to blame for: a full disk, a repository that only a person can fix.
//!
//! Invariant: they count against no attempt, and nothing new starts until they are over. Called for
//! the outcome of every effect.

pub(in crate::domain::decide) mod broken_commands;
pub(in crate::domain::decide) mod canary;

use crate::domain::decide::attempt::outcomes::fail;
use crate::domain::decide::decision::{End, Plan};
use crate::domain::event::RoomAwaited;
use crate::domain::ids::AgentId;
use crate::domain::outcome::{Failure, FailureKind};
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::warning::WarningKind;

/// Time before something starts again after a full disk.
const ROOM_WAIT_MS: i64 = 10_000;
/// Key of the warning about a full disk.
const DISK_FULL: &str = WarningKind::Disk.only();
/// Key of the warning about a repository that cannot be used.
const REPOSITORY: &str = WarningKind::Repository.only();

/// A failure that no attempt is to blame for and that every other idea would meet too.
#[derive(Clone, Copy)]
pub(in crate::domain::decide) struct EnvironmentFault<'a> {
    key: &'static str,
    message: &'a str,
}

impl EnvironmentFault<'_> {
    /// Whether it may pass by itself: a full disk.
    pub(in crate::domain::decide) fn passes(&self) -> bool {
        self.key == DISK_FULL
    }
}

/// Returns the idea unchanged; nothing starts until the fault is over.
pub(in crate::domain::decide) fn release(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    fault: EnvironmentFault<'_>,
) {
    hold_for(plan, fault);
    let why = Some(fault.message.to_owned());
    let end = End::keeping(AttemptEnd::Released, IdeaStatus::Pending, why);
    plan.end(agent, end);
}

/// Ends an attempt that needs the effect that failed.
pub(in crate::domain::decide) fn release_or_fail(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    failure: &Failure,
) {
    match nobodys_fault(failure) {
        Some(trouble) => release(plan, agent, trouble),
        None => fail(plan, agent, failure.message.clone()),
    }
}

/// Waits for disk space by itself; pauses the swarm for any other fault.
pub(in crate::domain::decide) fn hold_for(
    plan: &mut Plan<'_>,
    EnvironmentFault { key, message }: EnvironmentFault<'_>,
) {
    plan.warn(key, message);
    if key == DISK_FULL {
        let until = plan.now.plus_millis(ROOM_WAIT_MS);
        return plan.emit(RoomAwaited { until });
    }
    if let Err(refused) = crate::domain::decide::swarm::pause(plan, Some(message)) {
        plan.warn(key, &format!("{message} ({refused})"));
    }
}

/// The environment fault in a failure, if any.
pub(in crate::domain::decide) fn nobodys_fault(failure: &Failure) -> Option<EnvironmentFault<'_>> {
    let Failure { kind, message } = failure;
    let key = match kind {
        FailureKind::NoSpace => DISK_FULL,
        FailureKind::Repository => REPOSITORY,
        FailureKind::AgentUnusable | FailureKind::Other => return None,
    };
    Some(EnvironmentFault { key, message })
}

/// Clears the fault: something succeeded that it would have prevented.
pub(in crate::domain::decide) fn over(plan: &mut Plan<'_>) {
    plan.clear_warning(DISK_FULL);
    plan.clear_warning(REPOSITORY);
}
