//! Merge conflicts: prepared in the attempt's worktree, resolved by an agent or a person, finished.
//!
//! Invariant: these decisions only record the state of a conflict; [`queue`](super::queue) derives
//! the next step from it.

use crate::domain::decide::attempt::provider::{self, Judged};
use crate::domain::decide::attempt::provider_wait;
use crate::domain::decide::attempt::run_end::{counts, failure_of, is_complete, is_stopped};
use crate::domain::decide::decision::{Plan, few, shorten};
use crate::domain::decide::environment_faults::{EnvironmentFault, hold_for, release_or_fail};
use crate::domain::effect::{self, ConflictLevel};
use crate::domain::event::{
    ConflictLaidOut, ConflictSettled, MergeConflicted, ResolverFailed, TaskSet, WorktreeReady,
};
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase, MergeInput, MergePhase};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::{Failure, FinishResolutionOutcome, LeftOut, ResolutionStarted};
use crate::domain::state::{Attempt, Lending, MergeEntry, Said, Task, Waits};

/// Prefix of references to saved work.
const RESCUED: &str = "refs/swarm/rescue/";

/// Records a conflict and who resolves it.
pub(crate) fn conflicted(
    plan: &mut Plan<'_>,
    entry: &MergeEntry,
    target: &Oid,
    level: ConflictLevel,
    files: &[String],
) {
    let id = &entry.idea;
    plan.emit(MergeConflicted {
        id: id.clone(),
        level,
        files: few(files),
        target: target.clone(),
    });
    let to_resolver = level != ConflictLevel::Complex && may_resolve(plan, entry.resolver_tries);
    let input = if to_resolver {
        MergeInput::ToResolver
    } else {
        MergeInput::ToPerson
    };
    plan.move_merge(id, input);
}

/// Whether another try is allowed after `tries`.
pub(crate) fn may_resolve(plan: &Plan<'_>, tries: u32) -> bool {
    let settings = plan.state.settings.as_ref();
    settings.is_some_and(|settings| tries < settings.conflict_retries)
}

/// The conflict (or, after a failed verification, the target) is now in the worktree.
pub(crate) fn resolution_started(
    plan: &mut Plan<'_>,
    effect: &effect::StartResolution,
    outcome: Result<ResolutionStarted, Failure>,
) {
    let id = &effect.idea;
    if plan.entry(id).is_none() {
        return caught_up(plan, id, outcome);
    }
    let Some(entry) = unsettled(plan, id) else {
        return;
    };
    match outcome {
        Ok(ResolutionStarted {
            head,
            files,
            left_out,
            ..
        }) if files.is_empty() => settled(plan, id, &entry.agent, head, left_out.as_ref()),
        Ok(ResolutionStarted { files, saved, .. }) => laid_out(plan, entry, &files, saved),
        Err(failure) => to_person(plan, entry, &failure.message),
    }
}

/// The entry, if its conflict is unresolved. A torn log may contain the resolution but not the
/// return to the queue.
fn unsettled<'a>(plan: &mut Plan<'a>, id: &IdeaId) -> Option<&'a MergeEntry> {
    let conflicted =
        |entry: &&MergeEntry| matches!(entry.phase, MergePhase::Resolver | MergePhase::Person);
    let entry = plan.entry(id).filter(conflicted)?;
    if entry.conflict.is_none() {
        requeue(plan, id, &entry.agent);
        return None;
    }
    Some(entry)
}

fn laid_out(plan: &mut Plan<'_>, entry: &MergeEntry, files: &[String], saved: Option<Oid>) {
    plan.emit(ConflictLaidOut {
        id: entry.idea.clone(),
        files: few(files),
        saved: saved.clone(),
    });
    if let (MergePhase::Resolver, Some(conflict)) = (entry.phase, &entry.conflict) {
        plan.emit(TaskSet {
            agent: entry.agent.clone(),
            task: Task::Resolve {
                target: conflict.target.clone(),
                files: few(files),
                saved,
            },
        });
        plan.move_attempt(&entry.agent, AttemptInput::Returned);
    }
}

/// After a failed verification: the agent continues, with the target merged into its branch.
fn caught_up(plan: &mut Plan<'_>, id: &IdeaId, outcome: Result<ResolutionStarted, Failure>) {
    let Some((agent, attempt)) = plan.state.attempt_at(id) else {
        return;
    };
    // An attempt that is ending does so now that this is over.
    if attempt.catch_up.is_none() || attempt.ending.is_some() {
        return;
    }
    match outcome {
        Ok(ResolutionStarted { head, .. }) => {
            let still_due = attempt
                .setup
                .as_ref()
                .filter(|_| attempt.lending == Lending::MadeAgain);
            if let Some(base) = &attempt.base {
                plan.emit(WorktreeReady {
                    agent: agent.clone(),
                    base: base.clone(),
                    head,
                    warm: true,
                    // One that was made again may still have to be set up.
                    setup: still_due.map(|due| due.key.clone()),
                    worktree: None,
                });
            }
        }
        Err(failure) => release_or_fail(plan, agent, &failure),
    }
}

/// The branch contains the target; the entry returns to its place in the queue.
fn settled(
    plan: &mut Plan<'_>,
    id: &IdeaId,
    agent: &AgentId,
    head: Oid,
    left_out: Option<&LeftOut>,
) {
    if let Some(left_out) = left_out {
        warn_about_dropped_changes(plan, id, left_out);
    }
    plan.emit(ConflictSettled {
        id: id.clone(),
        head,
    });
    requeue(plan, id, agent);
}

/// Warns about dropped changes. A person must judge them: the target's version may be the better
/// one.
fn warn_about_dropped_changes(plan: &mut Plan<'_>, id: &IdeaId, left_out: &LeftOut) {
    let LeftOut {
        files,
        undone,
        kept,
    } = left_out;
    let mut dropped = Vec::new();
    if !files.is_empty() {
        let files = few(files).join(", ");
        dropped.push(format!(
            "the idea's changes to {files} in favour of the target's"
        ));
    }
    if !undone.is_empty() {
        let files = few(undone).join(", ");
        dropped.push(format!(
            "changes to {files} that were already on the target"
        ));
    }
    let message = format!(
        "the conflict resolution of {id} dropped {}; the idea's work is saved: compare it, \
        then delete the reference if nothing is missing",
        dropped.join(", and ")
    );
    let commands = vec![
        format!("git log -p {kept}"),
        format!("git update-ref -d {kept}"),
    ];
    plan.warn_with(kept.trim_start_matches(RESCUED), &message, commands);
}

fn requeue(plan: &mut Plan<'_>, id: &IdeaId, agent: &AgentId) {
    back_to_work(plan, agent);
    rest_in_queue(plan, agent);
    plan.move_merge(id, MergeInput::Requeue);
}

/// Its attempt has nothing to do; after a crash it may already have been told to try again.
fn rest_in_queue(plan: &mut Plan<'_>, agent: &AgentId) {
    let attempt = plan.attempt(agent);
    if attempt.is_some_and(|attempt| attempt.phase != AttemptPhase::ReadyToMerge) {
        plan.move_attempt(agent, AttemptInput::GatePassed);
    }
}

/// Ends the attempt's work on a conflict.
pub(crate) fn back_to_work(plan: &mut Plan<'_>, agent: &AgentId) {
    if plan
        .attempt(agent)
        .is_some_and(|attempt| attempt.task != Task::Work)
    {
        plan.emit(TaskSet {
            agent: agent.clone(),
            task: Task::Work,
        });
    }
}

/// Leaves the conflict to a person because no resolver may start.
pub(crate) fn leave_to_person(plan: &mut Plan<'_>, agent: &AgentId, entry: &MergeEntry, why: &str) {
    to_person(plan, entry, why);
    plan.move_attempt(agent, AttemptInput::Hold);
    rest_in_queue(plan, agent);
}

/// Handles that an attempt that had lent its worktree gets none: its conflict waits for a person.
/// Otherwise it goes on as far as it can without one, or ends.
pub(crate) fn has_no_place(
    plan: &mut Plan<'_>,
    (agent, attempt): (&AgentId, &Attempt),
    failure: &Failure,
) {
    let Some(entry) = plan.entry(&attempt.idea) else {
        return release_or_fail(plan, agent, failure);
    };
    if matches!(entry.phase, MergePhase::Resolver | MergePhase::Person) {
        to_person(plan, entry, &failure.message);
    }
}

fn to_person(plan: &mut Plan<'_>, entry: &MergeEntry, reason: &str) {
    let waits = Waits {
        reason: shorten(reason),
        files: vec![],
        person: true,
        target: false,
    };
    let moved = plan.move_merge_waiting(&entry.idea, MergeInput::ToPerson, None, Some(waits));
    debug_assert!(moved, "{} cannot wait for a person", entry.idea);
}

/// Handles the end of a resolver's iteration.
pub(crate) fn resolver_over(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    run: &RunId,
    end: &RunEnd,
    trouble: Option<EnvironmentFault<'_>>,
) {
    let Some(entry) = plan.entry(&attempt.idea) else {
        // Nothing is left to resolve: the idea's own work continues.
        back_to_work(plan, agent);
        plan.move_attempt(agent, AttemptInput::Hold);
        return;
    };
    if let Some(trouble) = trouble {
        hold_for(plan, trouble);
        plan.move_attempt(agent, AttemptInput::Hold);
        return;
    }
    let last_word = attempt.said.as_ref().filter(|_| counts(end));
    if last_word.is_none() && provider_wait::excuses(plan, agent, attempt, end) {
        return;
    }
    if last_word.is_none() && !is_stopped(plan.state, run, &end.how) {
        match provider::judge(plan, agent, attempt, end) {
            Judged::Served => {}
            Judged::Excused => return,
            Judged::Failed(why) => return resolver_failed(plan, agent, entry, &why, false),
        }
    }
    let said_so = matches!(last_word, Some(Said::Complete | Said::Resolved));
    if let Some(Said::Blocked(why)) = last_word {
        let why = format!("the resolver is blocked: {why}");
        resolver_failed(plan, agent, entry, &why, true);
    } else if let Some(Said::NeedsHuman(question)) = last_word {
        // Not a failed try: an answer must always reach a resolver.
        to_person(plan, entry, &format!("the resolver asks: {question}"));
        rest_in_queue(plan, agent);
    } else if said_so || is_complete(end) {
        // A resolution needs no gate of its own: the merged tree is verified.
        plan.move_attempt(agent, AttemptInput::GatePassed);
    } else if matches!(end.how, RunEndKind::Stopped | RunEndKind::LeaseExpired)
        || is_stopped(plan.state, run, &end.how)
    {
        plan.move_attempt(agent, AttemptInput::Hold);
    } else {
        let how = failure_of(&end.how).unwrap_or_else(|| "it was killed".into());
        resolver_failed(
            plan,
            agent,
            entry,
            &format!("the resolver failed: {how}"),
            false,
        );
    }
}

/// Another try, or a person.
fn resolver_failed(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    entry: &MergeEntry,
    why: &str,
    gave_up: bool,
) {
    let working = plan
        .attempt(agent)
        .is_some_and(|attempt| attempt.phase == AttemptPhase::Working);
    if !gave_up && may_resolve(plan, entry.resolver_tries + 1) {
        let input = if working {
            AttemptInput::Hold
        } else {
            AttemptInput::Returned
        };
        plan.move_attempt(agent, input);
    } else {
        to_person(plan, entry, why);
        rest_in_queue(plan, agent);
    }
    plan.emit(ResolverFailed {
        id: entry.idea.clone(),
        why: shorten(why),
    });
}

/// Handles the result of finishing the merge in the worktree.
pub(crate) fn resolution_finished(
    plan: &mut Plan<'_>,
    effect: &effect::FinishResolution,
    outcome: Result<FinishResolutionOutcome, Failure>,
) {
    let id = &effect.idea;
    let Some(entry) = unsettled(plan, id) else {
        return;
    };
    let problem = match outcome {
        Ok(FinishResolutionOutcome::Finished { head, left_out }) => {
            return settled(plan, id, &entry.agent, head, left_out.as_ref());
        }
        Ok(FinishResolutionOutcome::StillConflicted { files }) => {
            format!("still in conflict: {}", few(&files).join(", "))
        }
        Err(failure) => failure.message,
    };
    if entry.phase == MergePhase::Resolver {
        resolver_failed(plan, &entry.agent, entry, &problem, false);
    } else {
        to_person(plan, entry, &problem);
    }
}
