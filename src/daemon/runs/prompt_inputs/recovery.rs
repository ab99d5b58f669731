//! Gathers the recovery context of a prompt: what happened before, from the state, the runs and the
//! worktree. After a crash it is about the attempt before; after a conversation that could not go
//! on it is about that conversation.
//!
//! Invariant: only reads.

use std::io;

use super::{RECOVERY, launch_record, output_tail};
use crate::agents::recovery_context::{
    AuditDetails, AuditEntry, AuditEvent, NEW_CONVERSATION, RecoveryContext, last_commit,
};
use crate::agents::test_status::TestStatus;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::domain::ids::Oid;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::{Attempt, Feedback, Idea, Kept, State};
use crate::git::{self, WorktreeState};

/// Most bytes read of a recovery context.
const RECOVERY_MAX: u64 = 64 * 1024 * 1024;

/// The name of a rollback in an idea's history.
const ROLLED_BACK: &str = "rolled_back";

/// The name of an import in an idea's history.
const IMPORTED: &str = "imported";

/// The recovery context of the current iteration, if something happened before it.
pub(super) fn find(
    context: &DriverContext,
    handle: &Handle,
    attempt: &Attempt,
    idea: &Idea,
) -> io::Result<Option<RecoveryContext>> {
    if attempt.excused.exhausted > 0 {
        let target = target_of(context, handle)?;
        return new_conversation(context, attempt, target).map(Some);
    }
    match &attempt.kept {
        Some(kept) if kept.worktree.crashed => {
            let target = target_of(context, handle)?;
            after_crash(context, attempt, kept, idea, target).map(Some)
        }
        _ => Ok(None),
    }
}

/// The target's commit, if the branch exists.
fn target_of(context: &DriverContext, handle: &Handle) -> io::Result<Option<git::Oid>> {
    let name = |state: &State| Some(state.settings.as_deref()?.target.clone());
    let Some(target) = handle.read(name) else {
        return Ok(None);
    };
    context
        .repo
        .branch_commit(&target)
        .map_err(io::Error::other)
}

/// What is known about the work of this attempt, whose last conversation could not go on.
fn new_conversation(
    context: &DriverContext,
    attempt: &Attempt,
    target: Option<git::Oid>,
) -> io::Result<RecoveryContext> {
    let base = attempt.base.as_ref();
    let base = base.ok_or_else(|| io::Error::other("the attempt has no worktree yet"))?;
    let found = inspect(context, attempt, base, target)?;
    let why = if let PromptCause::NewConversation { why } = &attempt.cause {
        Some(why.clone())
    } else {
        None
    };
    let feedback = attempt.feedback.as_ref();
    let iteration = attempt.iteration.saturating_sub(1);
    let log = vec![
        AuditEntry {
            timestamp: attempt.claimed_at,
            event: AuditEvent::Start,
            details: AuditDetails::default(),
        },
        AuditEntry {
            timestamp: attempt.iteration_at.unwrap_or(attempt.claimed_at),
            event: AuditEvent::Iteration,
            details: evidence(context, (feedback, iteration), &found, why),
        },
    ];
    Ok(RecoveryContext {
        instruction: NEW_CONVERSATION.to_owned(),
        ..RecoveryContext::new(attempt.number.saturating_sub(1), log, found.dirty)
    })
}

fn inspect(
    context: &DriverContext,
    attempt: &Attempt,
    base: &Oid,
    target: Option<git::Oid>,
) -> io::Result<WorktreeState> {
    let base = git::Oid::from_str(base.as_str()).map_err(io::Error::other)?;
    let found = context.repo.inspect(&attempt.worktree, base, target);
    found.map_err(io::Error::other)
}

/// What is known about a crashed attempt, from the state, its runs and its worktree. Changes that
/// came from the target since are not its work.
fn after_crash(
    context: &DriverContext,
    attempt: &Attempt,
    kept: &Kept,
    idea: &Idea,
    target: Option<git::Oid>,
) -> io::Result<RecoveryContext> {
    // A worktree without work starts from a newer target than the attempt that left it.
    let base = attempt.base.as_ref().unwrap_or(&kept.worktree.base);
    let found = inspect(context, attempt, base, target)?;
    if let Some(log) = first_audit_log(context, attempt) {
        let earlier = attempt.number.saturating_sub(1);
        return Ok(RecoveryContext::new(earlier, log, found.dirty));
    }
    let claimed = |audit: &&crate::domain::state::Audit| audit.what == "claimed";
    let mut starts = idea.audit.iter().rev().filter(claimed);
    // The last claim is this attempt's own.
    let started = starts.nth(1).map_or(idea.created_at, |audit| audit.at);
    let crashed = idea.audit.iter().rev().find(|audit| {
        matches!(
            audit.what.as_str(),
            "crash_recovery" | ROLLED_BACK | IMPORTED
        )
    });
    let why = crashed.map(|audit| match audit.what.as_str() {
        ROLLED_BACK => format!(
            "swarm was rolled back to the checkpoint {}; this is the work as it was then",
            audit.detail
        ),
        IMPORTED => "swarm was moved here; this is the work as it was then".to_owned(),
        _ => audit.detail.clone(),
    });
    let log = vec![
        AuditEntry {
            timestamp: started,
            event: AuditEvent::Start,
            details: AuditDetails::default(),
        },
        AuditEntry {
            timestamp: crashed.map_or(started, |audit| audit.at),
            event: AuditEvent::Crash,
            details: evidence(
                context,
                (kept.feedback.as_ref(), kept.iterations),
                &found,
                why,
            ),
        },
    ];
    Ok(RecoveryContext::new(
        attempt.number.saturating_sub(1),
        log,
        found.dirty,
    ))
}

/// The audit log in this attempt's first prompt, if that still exists. By now the worktree has this
/// attempt's own work too, so it is not gathered again.
fn first_audit_log(context: &DriverContext, attempt: &Attempt) -> Option<Vec<AuditEntry>> {
    if attempt.iteration <= 1 {
        return None;
    }
    attempt.runs.iter().find_map(|run| {
        let path = context.paths.runs.join(run.as_str()).join(RECOVERY);
        let text = launch_record::text(&path, RECOVERY_MAX).ok()?;
        let recovery = serde_json::from_str::<RecoveryContext>(&text).ok()?;
        Some(recovery.audit_log)
    })
}

fn evidence(
    context: &DriverContext,
    (feedback, iteration): (Option<&Feedback>, u32),
    found: &WorktreeState,
    error: Option<String>,
) -> AuditDetails {
    let gate = feedback.and_then(|feedback| feedback.run.as_ref());
    AuditDetails {
        files_modified: found.files_modified.clone(),
        test_status: gate
            .and_then(|run| TestStatus::from_output(&output_tail(&context.paths.runs, run))),
        last_commit: found
            .last_commit
            .as_ref()
            .map(|(oid, subject)| last_commit(&oid.to_string(), subject)),
        error,
        iteration: Some(iteration),
    }
}
