//! The merge queue: what its effects came to, and what people ask of it.

use super::attempt::{fail, failure_of, run_end};
use super::ideas::{cancelled, known};
use super::plan::{End, Plan};
use crate::domain::command::TargetChoice;
use crate::domain::effect::{ConflictLevel, Effect};
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::lifecycle::{AttemptInput, MergeInput, MergePhase};
use crate::domain::observation::{Outcome, RunEnd, RunEndKind};
use crate::domain::rejection::Rejection;
use crate::domain::state::{
    Attempt, AttemptEnd, Feedback, IdeaStatus, MergeEntry, Said, Task, Waits,
};

/// How long a merge waits before it looks at a checkout again that is in its way.
const CHECKOUT_WAIT_MS: i64 = 10_000;

pub(super) fn built(plan: &mut Plan<'_>, id: &IdeaId, outcome: &Outcome) {
    let Some(entry) = plan.entry(id) else {
        return;
    };
    match outcome {
        Outcome::Built {
            commit,
            target,
            resolved,
        } => {
            see_target(plan, target);
            plan.emit(Event::MergeBuilt {
                id: id.clone(),
                commit: commit.clone(),
                target: target.clone(),
                resolved: resolved.clone(),
            });
            plan.move_merge(id, MergeInput::Built);
        }
        Outcome::NothingToMerge { target } => {
            see_target(plan, target);
            let why = "the agent said COMPLETE, and its branch holds nothing that the target lacks";
            plan.end(
                &entry.agent,
                End {
                    end: AttemptEnd::NothingToMerge,
                    status: IdeaStatus::Done,
                    message: Some(why.into()),
                    not_before: None,
                    keep_worktree: false,
                },
            );
        }
        Outcome::Conflicted {
            target,
            level,
            files,
        } => {
            see_target(plan, target);
            conflicted(plan, entry, target, *level, files);
        }
        Outcome::TargetRewritten { found } => {
            plan.move_merge(id, MergeInput::Requeue);
            if let Some(seen) = &plan.state.swarm.target {
                plan.emit(Event::TargetRewritten {
                    from: seen.commit.clone(),
                    to: found.clone(),
                });
            }
        }
        Outcome::Failed { message, .. } => needs_person(plan, id, message),
        _ => {}
    }
}

fn see_target(plan: &mut Plan<'_>, commit: &Oid) {
    let Some(settings) = &plan.state.settings else {
        return;
    };
    let seen = plan.state.swarm.target.as_ref();
    if seen.is_none_or(|seen| seen.commit != *commit || seen.branch != settings.target) {
        plan.emit(Event::TargetSeen {
            branch: settings.target.clone(),
            commit: commit.clone(),
        });
    }
}

fn conflicted(
    plan: &mut Plan<'_>,
    entry: &MergeEntry,
    target: &Oid,
    level: ConflictLevel,
    files: &[String],
) {
    let id = &entry.idea;
    plan.emit(Event::MergeConflicted {
        id: id.clone(),
        level,
        files: files.to_vec(),
        target: target.clone(),
    });
    let to_resolver = level != ConflictLevel::Complex && may_resolve(plan, entry.resolver_tries);
    let input = if to_resolver {
        MergeInput::ToResolver
    } else {
        MergeInput::ToPerson
    };
    plan.move_merge(id, input);
    lay_out(plan, id, &entry.agent, target);
}

/// Whether a resolver that failed `tries` times may try again.
fn may_resolve(plan: &Plan<'_>, tries: u32) -> bool {
    let settings = plan.state.settings.as_ref();
    settings.is_some_and(|settings| tries < settings.conflict_retries)
}

/// Merges the target into the attempt's worktree.
fn lay_out(plan: &mut Plan<'_>, id: &IdeaId, agent: &AgentId, target: &Oid) {
    let Some(attempt) = plan.attempt(agent) else {
        return;
    };
    plan.request(Effect::StartResolution {
        idea: id.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.worktree.clone(),
        target: target.clone(),
        at: plan.now,
    });
}

/// The entry waits in the queue until somebody says `merge retry`.
fn needs_person(plan: &mut Plan<'_>, id: &IdeaId, reason: &str) {
    let waits = Waits {
        reason: super::plan::shorten(reason),
        files: vec![],
        person: true,
    };
    plan.move_merge_waiting(id, MergeInput::Requeue, None, Some(waits));
}

/// The conflict, or the target after a failed verification, lies in the worktree.
pub(super) fn resolution_started(plan: &mut Plan<'_>, id: &IdeaId, outcome: &Outcome) {
    let Some(entry) = plan.entry(id) else {
        return returned_with_target(plan, id, outcome);
    };
    match outcome {
        Outcome::ResolutionStarted { head, files } if files.is_empty() => settled(plan, id, head),
        Outcome::ResolutionStarted { files, .. } => {
            plan.emit(Event::ConflictLaidOut {
                id: id.clone(),
                files: files.clone(),
            });
            if let (MergePhase::Resolver, Some(conflict)) = (entry.phase, &entry.conflict) {
                plan.emit(Event::TaskSet {
                    agent: entry.agent.clone(),
                    task: Task::Resolve {
                        target: conflict.target.clone(),
                        files: files.clone(),
                    },
                });
                plan.move_attempt(&entry.agent, AttemptInput::Returned);
            }
        }
        Outcome::Failed { message, .. } => to_person(plan, entry, message),
        _ => {}
    }
}

/// After a failed verification the agent goes on, with the target merged into its branch.
fn returned_with_target(plan: &mut Plan<'_>, id: &IdeaId, outcome: &Outcome) {
    let Some((agent, attempt)) = plan.state.attempt_at(id) else {
        return;
    };
    match outcome {
        Outcome::ResolutionStarted { head, .. } => {
            if let Some(base) = &attempt.base {
                plan.emit(Event::WorktreeReady {
                    agent: agent.clone(),
                    base: base.clone(),
                    head: head.clone(),
                });
            }
        }
        Outcome::Failed { message, .. } => fail(plan, agent, message.clone()),
        _ => {}
    }
}

fn settled(plan: &mut Plan<'_>, id: &IdeaId, head: &Oid) {
    plan.emit(Event::ConflictSettled {
        id: id.clone(),
        head: head.clone(),
    });
    plan.move_merge(id, MergeInput::Requeue);
}

fn to_person(plan: &mut Plan<'_>, entry: &MergeEntry, reason: &str) {
    let waits = Waits {
        reason: super::plan::shorten(reason),
        files: vec![],
        person: true,
    };
    // Also where it waits for a person already: with the new reason.
    plan.emit(Event::MergeMoved {
        id: entry.idea.clone(),
        phase: MergePhase::Person,
        not_before: None,
        waits: Some(waits),
    });
}

/// A resolver's iteration is over.
pub(super) fn resolver_over(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, end: &RunEnd) {
    let Some(entry) = plan.entry(&attempt.idea) else {
        return;
    };
    let gave_up = match &attempt.said {
        Some(Said::Blocked(why) | Said::NeedsHuman(why)) => Some(why.clone()),
        _ => None,
    };
    let said_so = matches!(attempt.said, Some(Said::Complete | Said::Resolved));
    if let Some(why) = gave_up {
        resolver_failed(
            plan,
            agent,
            entry,
            &format!("the resolver gave up: {why}"),
            true,
        );
    } else if said_so || end.how == (RunEndKind::Exited { code: 0 }) {
        plan.move_attempt(agent, AttemptInput::GatePassed);
        finish(plan, entry);
    } else if end.how == RunEndKind::Stopped {
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

/// Concludes the merge in the worktree.
fn finish(plan: &mut Plan<'_>, entry: &MergeEntry) {
    let Some(attempt) = plan.attempt(&entry.agent) else {
        return;
    };
    let same = |effect: &Effect| matches!(effect, Effect::FinishResolution { idea, .. } if *idea == entry.idea);
    if !plan.state.is_pending(same) {
        plan.request(Effect::FinishResolution {
            idea: entry.idea.clone(),
            branch: attempt.branch.clone(),
            worktree: attempt.worktree.clone(),
            at: plan.now,
        });
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
    let id = &entry.idea;
    plan.emit(Event::ResolverFailed {
        id: id.clone(),
        why: super::plan::shorten(why),
    });
    let working = plan
        .attempt(agent)
        .is_some_and(|attempt| attempt.phase.is_live());
    if !gave_up && may_resolve(plan, entry.resolver_tries + 1) {
        let input = if working {
            AttemptInput::Hold
        } else {
            AttemptInput::Returned
        };
        plan.move_attempt(agent, input);
        return;
    }
    if working {
        plan.move_attempt(agent, AttemptInput::GatePassed);
    }
    to_person(plan, entry, why);
}

pub(super) fn resolution_finished(plan: &mut Plan<'_>, id: &IdeaId, outcome: &Outcome) {
    let Some(entry) = plan.entry(id) else {
        return;
    };
    let problem = match outcome {
        Outcome::ResolutionFinished { head } => {
            plan.emit(Event::TaskSet {
                agent: entry.agent.clone(),
                task: Task::Work,
            });
            return settled(plan, id, head);
        }
        Outcome::StillConflicted { files } => format!("still in conflict: {}", files.join(", ")),
        Outcome::Failed { message, .. } => message.clone(),
        _ => return,
    };
    if entry.phase == MergePhase::Resolver {
        resolver_failed(plan, &entry.agent, entry, &problem, false);
    } else {
        to_person(plan, entry, &problem);
    }
}

pub(super) fn verify_ready(plan: &mut Plan<'_>, id: &IdeaId, outcome: &Outcome) {
    match outcome {
        Outcome::VerifyReady => plan.emit(Event::VerifyReady { id: id.clone() }),
        Outcome::Failed { message, .. } => needs_person(plan, id, message),
        _ => {}
    }
}

pub(super) fn verify_over(
    plan: &mut Plan<'_>,
    id: &IdeaId,
    run: &RunId,
    index: usize,
    command: &str,
    outcome: &Outcome,
) {
    let Some(end) = run_end(outcome) else {
        return;
    };
    plan.emit(Event::RunEnded {
        run: run.clone(),
        end: end.clone(),
    });
    let Some(entry) = plan.entry(id) else {
        return;
    };
    match failure_of(&end.how) {
        None if matches!(end.how, RunEndKind::Exited { .. }) => plan.emit(Event::VerifyPassed {
            id: id.clone(),
            index,
        }),
        // Stopped or lost: not judged; built and verified again when the swarm goes on.
        None => {
            plan.move_merge(id, MergeInput::Requeue);
        }
        Some(how) => {
            let feedback = Feedback {
                command: command.to_owned(),
                how,
                run: Some(run.clone()),
                merged: true,
            };
            give_back(plan, entry, feedback);
        }
    }
}

/// The merged tree failed: the agent gets it back, so often only.
fn give_back(plan: &mut Plan<'_>, entry: &MergeEntry, feedback: Feedback) {
    let (Some(attempt), Some(target)) = (plan.attempt(&entry.agent), &entry.target) else {
        return;
    };
    if !may_resolve(plan, attempt.returns) {
        let why = format!(
            "merged with the target, `{}` fails ({}); the agent had {} tries to mend it",
            feedback.command, feedback.how, attempt.returns
        );
        return fail(plan, &entry.agent, why);
    }
    plan.move_merge(&entry.idea, MergeInput::Requeue);
    plan.emit(Event::MergeReturned {
        id: entry.idea.clone(),
        feedback,
    });
    plan.move_attempt(&entry.agent, AttemptInput::Returned);
    lay_out(plan, &entry.idea, &entry.agent, target);
}

pub(super) fn landed(plan: &mut Plan<'_>, id: &IdeaId, commit: &Oid, outcome: &Outcome) {
    let Some(entry) = plan.entry(id) else {
        return;
    };
    match outcome {
        Outcome::Landed => {
            plan.move_merge(id, MergeInput::Land);
            plan.emit(Event::IdeaLanded {
                id: id.clone(),
                commit: commit.clone(),
            });
            let cleanup = plan
                .state
                .settings
                .as_ref()
                .is_some_and(|settings| settings.cleanup_on_success);
            plan.end(
                &entry.agent,
                End {
                    end: AttemptEnd::Merged,
                    status: IdeaStatus::Done,
                    message: None,
                    not_before: None,
                    keep_worktree: !cleanup,
                },
            );
        }
        Outcome::TargetMoved { .. } => {
            plan.move_merge(id, MergeInput::Requeue);
        }
        Outcome::CheckoutBlocked { reason, files } => {
            let waits = Waits {
                reason: super::plan::shorten(reason),
                files: files.iter().take(100).cloned().collect(),
                person: true,
            };
            let again = plan.now.plus_millis(CHECKOUT_WAIT_MS);
            plan.move_merge_waiting(id, MergeInput::Requeue, Some(again), Some(waits));
        }
        Outcome::Failed { message, .. } => needs_person(plan, id, message),
        _ => {}
    }
}

fn entry_of<'a>(plan: &Plan<'a>, id: &IdeaId, what: &str) -> Result<&'a MergeEntry, Rejection> {
    let idea = known(plan.state, id)?;
    plan.entry(id).ok_or_else(|| Rejection::NotNow {
        what: format!("{what} {id}"),
        why: format!("it is {}, and not in the merge queue", idea.status.as_str()),
        instead: Some("swarm merge list".into()),
    })
}

pub(super) fn retry(plan: &mut Plan<'_>, id: &IdeaId) -> Result<(), Rejection> {
    let entry = entry_of(plan, id, "merge")?;
    match entry.phase {
        MergePhase::Queued if entry.held || entry.waits.is_some() || entry.not_before.is_some() => {
            plan.emit(Event::MergeReleased { id: id.clone() });
        }
        MergePhase::Person => {
            plan.move_merge(id, MergeInput::Requeue);
        }
        // It is being tried at this moment.
        _ => {}
    }
    Ok(())
}

pub(super) fn resolve(plan: &mut Plan<'_>, id: &IdeaId) -> Result<(), Rejection> {
    let entry = entry_of(plan, id, "resolve")?;
    if entry.phase != MergePhase::Person {
        return Err(Rejection::NotNow {
            what: format!("resolve {id}"),
            why: "no person is needed for its merge".into(),
            instead: Some("swarm merge list".into()),
        });
    }
    finish(plan, entry);
    Ok(())
}

pub(super) fn settle_target(plan: &mut Plan<'_>, choice: TargetChoice) -> Result<(), Rejection> {
    let Some(rewritten) = &plan.state.swarm.rewritten else {
        return Err(Rejection::NotNow {
            what: "settling the target".into(),
            why: "it was not force-pushed".into(),
            instead: Some("swarm status".into()),
        });
    };
    plan.emit(Event::TargetSettled {
        choice,
        to: rewritten.to.clone(),
    });
    if choice == TargetChoice::Cancel {
        for entry in plan
            .state
            .queue
            .iter()
            .filter(|entry| !entry.phase.is_busy())
        {
            plan.end(&entry.agent, cancelled());
        }
    }
    Ok(())
}
