//! A person's judgement of finished work: approve it, return it to its agent with a comment, or
//! start it over.
//!
//! Invariant: an approval is for one commit of the branch. The merge may be built on any later
//! target; a new commit of the branch waits for review again.

use super::commands::entry_of;
use crate::domain::decide::attempt::outcomes::ask_end;
use crate::domain::decide::decision::Plan;
use crate::domain::decide::ideas::check_length;
use crate::domain::decide::undo;
use crate::domain::effect::Effect;
use crate::domain::event::{IdeaRetried, MergeApproved, MergeRejected};
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::lifecycle::{AttemptInput, MergePhase};
use crate::domain::rejection::Rejection;
use crate::domain::settings::Settings;
use crate::domain::state::undo::Action;
use crate::domain::state::{Ending, MergeEntry, State};

/// Longest comment, in bytes as JSON: a log line may also have to hold messages beside it.
const MAX_COMMENT_BYTES: usize = 16 * 1024;

/// Whether finished work of this idea waits for a person.
pub(crate) fn is_wanted(state: &State, id: &IdeaId, settings: &Settings) -> bool {
    !settings.auto_merge || state.ideas.get(id).is_some_and(|idea| idea.review)
}

/// The entry of an idea whose work waits for review.
pub(crate) fn waiting<'a>(state: &'a State, id: &IdeaId) -> Option<&'a MergeEntry> {
    state.entry(id).filter(|entry| entry.is_in_review())
}

/// Refuses what only work without a review allows, and names the commands for a review.
pub(crate) fn asked_for(what: &str, entry: &MergeEntry) -> Rejection {
    let id = &entry.idea;
    Rejection::NotNow {
        what: what.to_owned(),
        why: "its work waits for your review".into(),
        instead: Some(format!("look at it: swarm merge diff {id}")),
    }
}

/// Approves the commit that waits, if it is the one that the person saw.
pub(crate) fn approve(
    plan: &mut Plan<'_>,
    id: &IdeaId,
    shown: Option<&Oid>,
) -> Result<(), Rejection> {
    let entry = entry_of(plan.state, id, "approve")?;
    if let Some(shown) = shown.filter(|shown| **shown != entry.source) {
        return Err(Rejection::WorkChanged {
            id: id.clone(),
            shown: shown.clone(),
            current: entry.source.clone(),
        });
    }
    if is_approved(entry) && !is_conflicted(entry) {
        return Ok(());
    }
    if !entry.is_in_review() {
        return Err(not_in_review(plan.state, entry, "approve"));
    }
    let source = entry.source.clone();
    undo::record(
        plan,
        Action::Approval {
            idea: id.clone(),
            source: source.clone(),
        },
    );
    plan.emit(MergeApproved {
        id: id.clone(),
        source,
    });
    Ok(())
}

/// Whether the target may be moved to the work of this idea at this moment.
pub(crate) fn is_landing(state: &State, id: &IdeaId) -> bool {
    state.is_pending(|effect| matches!(effect, Effect::Land(land) if land.idea == *id))
}

fn is_approved(entry: &MergeEntry) -> bool {
    !entry.held && entry.approved.as_ref() == Some(&entry.source)
}

fn is_conflicted(entry: &MergeEntry) -> bool {
    matches!(entry.phase, MergePhase::Resolver | MergePhase::Person)
}

/// Returns the work to its agent, also if it is approved and its landing has not begun. The comment
/// goes into the agent's next prompt. The attempt gets all its iterations and time again: a person
/// wants more work, whatever was used up before.
pub(crate) fn reject(plan: &mut Plan<'_>, id: &IdeaId, why: &str) -> Result<(), Rejection> {
    if why.trim().is_empty() {
        return Err(Rejection::NoReason(id.clone()));
    }
    check_length(why, MAX_COMMENT_BYTES)?;
    // If the command is repeated, perhaps because the answer was lost, the work is not returned
    // twice.
    let attempt = plan.state.attempt_at(id).map(|(_, attempt)| attempt);
    let comment = attempt.and_then(|attempt| attempt.review.as_deref());
    if comment.is_some_and(|comment| comment.text == why) {
        return Ok(());
    }
    let entry = entry_of(plan.state, id, "reject")?;
    if entry.is_in_review() {
        refuse_while_busy(plan, entry, &format!("reject the work of {id}"))?;
    } else if !is_approved(entry) || is_conflicted(entry) || is_landing(plan.state, id) {
        return Err(not_in_review(plan.state, entry, "reject"));
    }
    give_back(plan, entry, why, false);
    Ok(())
}

/// Whether a new text may go to the agent whose work waits for review.
pub(crate) fn can_be_edited(plan: &Plan<'_>, entry: &MergeEntry) -> Result<(), Rejection> {
    refuse_while_busy(plan, entry, &format!("edit {}", entry.idea))
}

/// Returns the work to its agent because the idea's text has changed.
pub(crate) fn return_edited(plan: &mut Plan<'_>, entry: &MergeEntry) {
    let why = "the text of the idea has changed; change your work so that it does what the idea \
               says now";
    give_back(plan, entry, why, true);
}

/// Ends the attempt; the next one continues from its work with its full iterations.
pub(crate) fn start_over(plan: &mut Plan<'_>, entry: &MergeEntry) -> Result<(), Rejection> {
    refuse_while_busy(plan, entry, &format!("retry {}", entry.idea))?;
    if let Some(attempt) = plan.attempt(&entry.agent) {
        ask_end(plan, &entry.agent, attempt, Ending::Stopped);
        plan.emit(IdeaRetried {
            id: entry.idea.clone(),
        });
    }
    Ok(())
}

/// Says what the work waits for, if not for a person's review, and what to type for that.
fn not_in_review(state: &State, entry: &MergeEntry, verb: &str) -> Rejection {
    let id = &entry.idea;
    let (why, instead) = match (entry.phase, &entry.waits) {
        (MergePhase::Person, _) => (
            "it waits for you to resolve its conflict".to_owned(),
            format!(
                "resolve and commit it in \"$(swarm path {id})\", then: swarm merge resolve {id}"
            ),
        ),
        (MergePhase::Resolver, _) => (
            "an agent is resolving its conflict".to_owned(),
            "see when that is done: swarm merge list".to_owned(),
        ),
        (MergePhase::Landing, _) if is_landing(state, id) => (
            "its landing has begun".to_owned(),
            "see whether it has landed: swarm log; if no daemon runs: swarm start".to_owned(),
        ),
        (MergePhase::Queued, Some(waits)) => (
            format!("its merge waits for something else: {}", waits.reason),
            format!("try the merge again: swarm merge retry {id}"),
        ),
        (
            MergePhase::Queued | MergePhase::Building | MergePhase::Verifying | MergePhase::Landing,
            _,
        ) => (
            "it does not wait for review".to_owned(),
            "swarm merge list".to_owned(),
        ),
    };
    Rejection::NotNow {
        what: format!("{verb} the work of {id}"),
        why,
        instead: Some(instead),
    }
}

/// After a torn log its worktree may be in use once more.
fn refuse_while_busy(plan: &Plan<'_>, entry: &MergeEntry, what: &str) -> Result<(), Rejection> {
    if !plan.state.is_under_way(&entry.agent, &entry.idea) {
        return Ok(());
    }
    Err(Rejection::NotNow {
        what: what.to_owned(),
        why: "its worktree is being checked".into(),
        instead: Some("try again in a moment; if no daemon runs: swarm start".into()),
    })
}

fn give_back(plan: &mut Plan<'_>, entry: &MergeEntry, why: &str, edited: bool) {
    plan.emit(MergeRejected {
        id: entry.idea.clone(),
        agent: entry.agent.clone(),
        source: entry.source.clone(),
        why: why.to_owned(),
        edited,
        renewed: true,
    });
    plan.move_attempt(&entry.agent, AttemptInput::Returned);
}
