//! Failures that no attempt is to blame for: a full disk, a lock of git that another program holds,
//! a repository that only a person can fix, worktrees that git cannot fill.
//!
//! Invariant: they count against no attempt, and nothing new starts until they are over. Called for
//! the outcome of every effect.

pub(in crate::domain::decide) mod broken_commands;
pub(in crate::domain::decide) mod canary;
pub(in crate::domain::decide) mod worktrees;

use crate::domain::decide::attempt::outcomes::fail;
use crate::domain::decide::decision::{End, Plan};
use crate::domain::event::RoomAwaited;
use crate::domain::ids::AgentId;
use crate::domain::outcome::{Failure, FailureKind};
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::warning::WarningKind;

/// Time before something starts again after a full disk or a held lock.
const ROOM_WAIT_MS: i64 = 10_000;
/// Key of the warning about a full disk.
const DISK_FULL: &str = WarningKind::Disk.only();
/// Key of the warning about a lock that another program holds.
const LOCKED: &str = WarningKind::Lock.only();
/// Key of the warning about a repository that cannot be used.
const REPOSITORY: &str = WarningKind::Repository.only();

/// A failure that no attempt is to blame for and that every other idea would meet too.
#[derive(Clone, Copy)]
pub(in crate::domain::decide) struct EnvironmentFault<'a> {
    what: What,
    message: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Disk,
    Lock,
    Repository,
    Worktrees,
}

impl EnvironmentFault<'_> {
    /// Whether it may pass by itself, as a full disk or a held lock does.
    pub(in crate::domain::decide) fn passes(&self) -> bool {
        self.what != What::Repository
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

/// Waits by itself for what may pass; pauses the swarm for what only a person can fix.
pub(in crate::domain::decide) fn hold_for(
    plan: &mut Plan<'_>,
    EnvironmentFault { what, message }: EnvironmentFault<'_>,
) {
    match what {
        What::Worktrees => worktrees::hold(plan, message),
        What::Disk => await_room(plan, DISK_FULL, message),
        What::Lock => await_room(plan, LOCKED, message),
        What::Repository => {
            plan.warn(REPOSITORY, message);
            if let Err(refused) = crate::domain::decide::swarm::pause(plan, Some(message)) {
                plan.warn(REPOSITORY, &format!("{message} ({refused})"));
            }
        }
    }
}

fn await_room(plan: &mut Plan<'_>, key: &str, message: &str) {
    plan.warn(key, message);
    let until = plan.now.plus_millis(ROOM_WAIT_MS);
    plan.emit(RoomAwaited { until });
}

/// The environment fault in a failure, if any.
pub(in crate::domain::decide) fn nobodys_fault(failure: &Failure) -> Option<EnvironmentFault<'_>> {
    let Failure { kind, message } = failure;
    let what = match kind {
        FailureKind::NoSpace => What::Disk,
        FailureKind::Repository => What::Repository,
        FailureKind::Locked { .. } => What::Lock,
        FailureKind::Content => What::Worktrees,
        FailureKind::AgentUnusable | FailureKind::Other => return None,
    };
    Some(EnvironmentFault { what, message })
}

/// Clears the fault: something succeeded that it would have prevented.
pub(in crate::domain::decide) fn over(plan: &mut Plan<'_>) {
    plan.clear_warning(DISK_FULL);
    plan.clear_warning(LOCKED);
    plan.clear_warning(REPOSITORY);
    worktrees::free(plan);
}
