//! Decides on people's commands about merges.

use super::conflict::back_to_work;
use super::queue::request_finish;
use super::review;
use crate::domain::decide::decision::Plan;
use crate::domain::decide::ideas::known;
use crate::domain::decide::undo;
use crate::domain::effect::{self, Effect};
use crate::domain::event::{IdeaCancelled, IdeaRetried, MergeReleased, TargetSettled};
use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::{MergeInput, MergePhase};
use crate::domain::operation::TargetChoice;
use crate::domain::rejection::Rejection;
use crate::domain::state::{IdeaStatus, MergeEntry, State};

/// The entry of an idea, for a command about its merge: `verb`.
///
/// # Errors
/// There is no such idea, or it is not in the merge queue.
pub fn entry_of<'a>(
    state: &'a State,
    id: &IdeaId,
    verb: &str,
) -> Result<&'a MergeEntry, Rejection> {
    let idea = known(state, id)?;
    state.entry(id).ok_or_else(|| Rejection::NotNow {
        what: format!("{verb} the merge of {id}"),
        why: format!(
            "the idea {}, so it is not in the merge queue",
            idea.status.predicate()
        ),
        instead: Some(match idea.status {
            IdeaStatus::Cancelled => match undo::of_cancel(state, id) {
                Some(undo) => format!(
                    "take the cancellation back, with the work: {undo}; or start again from \
                    nothing: swarm idea retry {id}"
                ),
                None => format!("swarm idea retry {id}"),
            },
            IdeaStatus::Blocked | IdeaStatus::Failed | IdeaStatus::Timeout => {
                format!("swarm idea retry {id}")
            }
            IdeaStatus::Active => "its agent is still working on it: swarm agent list".into(),
            IdeaStatus::Pending | IdeaStatus::Merging | IdeaStatus::Done => {
                "list the queue: swarm merge list".into()
            }
        }),
    })
}

/// Retries at once what waits for a person but is also retried automatically; otherwise a start
/// that ends when idle would end too early.
pub(crate) fn look_again(plan: &mut Plan<'_>) {
    for entry in &plan.state.queue {
        let asked = entry.waits.as_ref().is_some_and(|waits| waits.person);
        let again = entry.not_before.is_some_and(|at| at > plan.now);
        if entry.phase == MergePhase::Queued && !entry.held && asked && again {
            let id = entry.idea.clone();
            plan.emit(MergeReleased { id });
        }
    }
}

pub(crate) fn retry(plan: &mut Plan<'_>, id: &IdeaId) -> Result<(), Rejection> {
    let entry = entry_of(plan.state, id, "retry")?;
    if entry.is_in_review() {
        return Err(review::asked_for(
            &format!("retry the merge of {id}"),
            entry,
        ));
    }
    match entry.phase {
        MergePhase::Queued if entry.waits.is_some() || entry.not_before.is_some() => {
            plan.emit(MergeReleased { id: id.clone() });
        }
        MergePhase::Person => {
            refuse_while_settling(plan, entry, "retry")?;
            back_to_work(plan, &entry.agent);
            plan.move_merge(id, MergeInput::Requeue);
        }
        // It is being tried now.
        MergePhase::Queued
        | MergePhase::Building
        | MergePhase::Resolver
        | MergePhase::Verifying
        | MergePhase::Landing => {}
    }
    Ok(())
}

pub(crate) fn resolve(plan: &mut Plan<'_>, id: &IdeaId) -> Result<(), Rejection> {
    let entry = entry_of(plan.state, id, "resolve")?;
    if entry.phase != MergePhase::Person {
        return Err(Rejection::NotNow {
            what: format!("resolve the merge of {id}"),
            why: "it does not wait for a person".into(),
            instead: Some("swarm merge list".into()),
        });
    }
    let finishing = |effect: &Effect| {
        matches!(effect, Effect::FinishResolution(effect::FinishResolution { idea, .. })
            if idea == id)
    };
    if plan.state.is_pending(finishing) {
        return Ok(());
    }
    refuse_while_settling(plan, entry, "resolve")?;
    if let Some(attempt) = plan.attempt(&entry.agent) {
        request_finish(plan, attempt);
    }
    Ok(())
}

/// Refuses a command while the conflict is being prepared or finished: nothing else may touch the
/// worktree. `verb` is the subcommand as typed. Whether a daemon is running is unknown here.
fn refuse_while_settling(plan: &Plan<'_>, entry: &MergeEntry, verb: &str) -> Result<(), Rejection> {
    if !plan.state.is_under_way(&entry.agent, &entry.idea) {
        return Ok(());
    }
    Err(Rejection::NotNow {
        what: format!("{verb} the merge of {}", entry.idea),
        why: "its worktree is being prepared or checked".into(),
        instead: Some(format!(
            "try again in a moment: swarm merge {verb} {}; if no daemon runs: swarm start",
            entry.idea
        )),
    })
}

/// Decides about landed ideas whose work the rewritten target lacks.
pub(crate) fn settle_target(plan: &mut Plan<'_>, choice: TargetChoice) -> Result<(), Rejection> {
    let Some(rewritten) = &plan.state.swarm.rewritten else {
        return Err(Rejection::NotNow {
            what: "choose what happens to missing work".into(),
            why: "the target has all the work that has landed".into(),
            instead: Some("swarm status".into()),
        });
    };
    for id in &rewritten.dropped {
        let idea = plan.state.ideas.get(id);
        if idea.is_none_or(|idea| idea.status != IdeaStatus::Done) {
            continue;
        }
        match choice {
            TargetChoice::Redo => plan.emit(IdeaRetried { id: id.clone() }),
            TargetChoice::Cancel => plan.emit(IdeaCancelled { id: id.clone() }),
            TargetChoice::Ignore => {}
        }
    }
    // Last: if the log contains only a part of this, the question is still open.
    plan.emit(TargetSettled {
        choice,
        to: rewritten.to.clone(),
    });
    Ok(())
}
