//! Commands about ideas: add, edit, retry, cancel, assign, hold.
//!
//! Invariant: repeating a command changes nothing, and ideas never wait for each other in a cycle.
//! Called by [`super::command`].

use super::attempt::outcomes::ask_end;
use super::decision::{End, Plan};
use super::merge::review;
use super::undo;
use crate::domain::effect::{self, Effect};
use crate::domain::event::{
    IdeaAdded, IdeaAssigned, IdeaCancelled, IdeaEdited, IdeaHeld, IdeaRetried, IdeaUnheld,
};
use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase};
use crate::domain::operation::{IdeaEdit, InboxFile, NewIdea};
use crate::domain::rejection::Rejection;
use crate::domain::state::undo::Action;
use crate::domain::state::{AttemptEnd, Ending, Idea, IdeaStatus, MergeEntry, State};

/// Longest text of an idea, in bytes as JSON: it must fit into a log line.
pub const MAX_TEXT_BYTES: usize = 48 * 1024;
const MAX_TAGS: usize = 32;
const MAX_TAG_CHARS: usize = 64;
const MAX_AFTER: usize = 200;

pub(super) fn add(plan: &mut Plan<'_>, new: &NewIdea) -> Result<(), Rejection> {
    if new
        .inbox
        .as_ref()
        .is_some_and(|file| is_taken(plan.state, file))
    {
        return Ok(());
    }
    check_text(&new.text)?;
    check_tags(&new.tags)?;
    check_after(plan.state, &new.after)?;
    check_profile(plan.state, new.profile.as_ref())?;
    let id = IdeaId::numbered(plan.state.counters.ideas + 1);
    plan.emit(IdeaAdded {
        id,
        idea: new.clone(),
    });
    Ok(())
}

/// Whether an inbox file is already an idea and only waits to be moved.
fn is_taken(state: &State, file: &InboxFile) -> bool {
    let moving = |effect: &Effect| {
        matches!(effect, Effect::ArchiveInbox(effect::ArchiveInbox { name, sha256 })
            if *name == file.name && *sha256 == file.sha256)
    };
    state.owed.inbox.contains(file)
        || state.owed.inbox_failed.contains(file)
        || state.is_pending(moving)
}

pub(super) fn edit(plan: &mut Plan<'_>, id: &IdeaId, edit: &IdeaEdit) -> Result<(), Rejection> {
    let idea = known(plan.state, id)?;
    let in_review = review::waiting(plan.state, id);
    let too_late = match idea.status {
        IdeaStatus::Done => true,
        IdeaStatus::Merging => in_review.is_none(),
        IdeaStatus::Pending
        | IdeaStatus::Active
        | IdeaStatus::Blocked
        | IdeaStatus::Failed
        | IdeaStatus::Timeout
        | IdeaStatus::Cancelled => false,
    };
    if too_late {
        return Err(not_now("edit", id, idea, Some("swarm idea add \"...\"")));
    }
    if let Some(text) = &edit.text {
        check_text(text)?;
    }
    if let Some(tags) = &edit.tags {
        check_tags(tags)?;
    }
    if let Some(after) = &edit.after {
        check_after(plan.state, after)?;
        check_cycle(plan.state, id, after)?;
    }
    // Its agent must do what the new text says.
    let returned = in_review.filter(|entry| is_new_to_agent(plan, entry, idea, edit));
    if let Some(entry) = returned {
        review::can_be_edited(plan, entry)?;
    }
    if changes(idea, edit) {
        plan.emit(IdeaEdited {
            id: id.clone(),
            edit: edit.clone(),
        });
    }
    if let Some(entry) = returned {
        review::return_edited(plan, entry);
    }
    Ok(())
}

/// Whether the new text differs from the one that the finished work was done for. The idea may have
/// the new text already: it was edited meanwhile, or the log was torn here.
fn is_new_to_agent(plan: &Plan<'_>, entry: &MergeEntry, idea: &Idea, edit: &IdeaEdit) -> bool {
    let attempt = plan.attempt(&entry.agent);
    let known = attempt.and_then(|attempt| attempt.text.as_ref());
    let known = known.unwrap_or(&idea.text);
    edit.text.as_deref().is_some_and(|text| *text != **known)
}

/// Whether the edit changes anything; a repeated one does not.
fn changes(idea: &Idea, edit: &IdeaEdit) -> bool {
    let text = edit.text.as_deref().is_some_and(|text| *text != *idea.text);
    let after = edit
        .after
        .as_ref()
        .is_some_and(|after| *after != idea.after);
    let tags = edit.tags.as_ref().is_some_and(|tags| *tags != idea.tags);
    text || after
        || tags
        || edit
            .priority
            .is_some_and(|priority| priority != idea.priority)
}

pub(super) fn retry(plan: &mut Plan<'_>, id: &IdeaId) -> Result<(), Rejection> {
    let idea = known(plan.state, id)?;
    if idea.held && idea.status.without_attempt() == idea.status {
        return Err(is_held("retry", id));
    }
    match idea.status {
        // After a crash it waits for a while; a retry ends the wait.
        IdeaStatus::Pending if idea.not_before.is_some() => {
            plan.emit(IdeaRetried { id: id.clone() });
        }
        IdeaStatus::Pending => {}
        IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Blocked | IdeaStatus::Cancelled => {
            plan.emit(IdeaRetried { id: id.clone() });
        }
        IdeaStatus::Active => continue_waiting(plan, id, idea)?,
        IdeaStatus::Merging => {
            if let Some(entry) = review::waiting(plan.state, id) {
                return review::start_over(plan, entry);
            }
            let instead = format!("swarm merge retry {id}");
            return Err(not_now("retry", id, idea, Some(&instead)));
        }
        IdeaStatus::Done => {
            return Err(not_now("retry", id, idea, Some("swarm idea add \"...\"")));
        }
    }
    Ok(())
}

/// Continues an attempt that waits for a person.
fn continue_waiting(plan: &mut Plan<'_>, id: &IdeaId, idea: &Idea) -> Result<(), Rejection> {
    match plan.state.attempt_at(id) {
        Some((agent, attempt))
            if attempt.phase == AttemptPhase::WaitingForHuman && attempt.ending.is_none() =>
        {
            plan.move_attempt(agent, AttemptInput::Answered);
            Ok(())
        }
        Some((agent, _)) => {
            let instead = format!(
                "to restart it: swarm agent stop {agent}; to send it a message: swarm agent say \
                {agent} \"...\""
            );
            Err(not_now("retry", id, idea, Some(&instead)))
        }
        None => Err(not_now("retry", id, idea, Some("swarm agent list"))),
    }
}

pub(super) fn cancel(plan: &mut Plan<'_>, id: &IdeaId) -> Result<(), Rejection> {
    let idea = known(plan.state, id)?;
    match idea.status {
        IdeaStatus::Cancelled => {}
        IdeaStatus::Done => {
            let instead = "to undo it, revert its merge commit: swarm idea show";
            return Err(not_now(
                "cancel",
                id,
                idea,
                Some(&format!("{instead} {id}")),
            ));
        }
        IdeaStatus::Active => cancel_active(plan, id),
        IdeaStatus::Merging => cancel_merging(plan, id, idea)?,
        IdeaStatus::Pending | IdeaStatus::Blocked | IdeaStatus::Failed | IdeaStatus::Timeout => {
            undo::record(plan, Action::Cancel { idea: id.clone() });
            plan.emit(IdeaCancelled { id: id.clone() });
        }
    }
    Ok(())
}

fn cancel_active(plan: &mut Plan<'_>, id: &IdeaId) {
    if let Some((agent, attempt)) = plan.state.attempt_at(id) {
        if attempt.ending != Some(Ending::Cancelled) {
            undo::record(plan, Action::Cancel { idea: id.clone() });
        }
        ask_end(plan, agent, attempt, Ending::Cancelled);
    }
}

fn cancel_merging(plan: &mut Plan<'_>, id: &IdeaId, idea: &Idea) -> Result<(), Rejection> {
    let entry = plan.entry(id);
    if entry.is_some_and(|entry| entry.phase.is_busy()) {
        return Err(not_now(
            "cancel",
            id,
            idea,
            Some("wait for the merge: swarm merge list"),
        ));
    }
    cancel_active(plan, id);
    Ok(())
}

/// End of a cancelled attempt: only its commits are kept, under a rescue reference.
pub(super) fn cancelled() -> End {
    End {
        end: AttemptEnd::Cancelled,
        status: IdeaStatus::Cancelled,
        message: None,
        not_before: None,
        keep_worktree: false,
    }
}

pub(super) fn assign(
    plan: &mut Plan<'_>,
    id: &IdeaId,
    profile: Option<&ProfileName>,
) -> Result<(), Rejection> {
    let idea = known(plan.state, id)?;
    check_profile(plan.state, profile)?;
    if idea.held && idea.status == IdeaStatus::Pending {
        return Err(is_held("assign", id));
    }
    if idea.status != IdeaStatus::Pending {
        let instead = match idea.status {
            IdeaStatus::Active => "see who works on it: swarm agent list".to_owned(),
            IdeaStatus::Merging => "swarm merge list".to_owned(),
            IdeaStatus::Done => "swarm idea add \"...\"".to_owned(),
            IdeaStatus::Pending
            | IdeaStatus::Blocked
            | IdeaStatus::Failed
            | IdeaStatus::Timeout
            | IdeaStatus::Cancelled => format!("swarm idea retry {id}"),
        };
        return Err(not_now("assign", id, idea, Some(&instead)));
    }
    if let Some(reserved) = &idea.reserved
        && profile.is_some_and(|profile| *profile != reserved.profile)
    {
        let from = &reserved.from;
        return Err(Rejection::NotNow {
            what: format!("assign {id}"),
            why: format!(
                "{from} was redirected to it, so profile {} takes it next",
                reserved.profile
            ),
            instead: Some(super::redirect::take_back(plan.state, id, from)),
        });
    }
    if !idea.assigned || profile.is_some_and(|profile| idea.profile.as_ref() != Some(profile)) {
        plan.emit(IdeaAssigned {
            id: id.clone(),
            profile: profile.cloned(),
        });
    }
    Ok(())
}

/// Holds an idea. Its running attempt goes on; a stop would be a command of its own.
pub(super) fn hold(plan: &mut Plan<'_>, id: &IdeaId) -> Result<(), Rejection> {
    let idea = known(plan.state, id)?;
    if idea.held {
        return Ok(());
    }
    let instead = match idea.status {
        IdeaStatus::Pending | IdeaStatus::Active | IdeaStatus::Merging => None,
        IdeaStatus::Blocked | IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Cancelled => {
            Some(format!(
                "it does not start by itself; to start it: swarm idea retry {id}"
            ))
        }
        IdeaStatus::Done => Some("swarm idea add \"...\"".to_owned()),
    };
    if let Some(instead) = instead {
        return Err(not_now("hold", id, idea, Some(&instead)));
    }
    if let Some(reserved) = &idea.reserved {
        let from = &reserved.from;
        return Err(Rejection::NotNow {
            what: format!("hold {id}"),
            why: format!("{from} was redirected to it"),
            instead: Some(super::redirect::take_back(plan.state, id, from)),
        });
    }
    plan.emit(IdeaHeld { id: id.clone() });
    Ok(())
}

pub(super) fn unhold(plan: &mut Plan<'_>, id: &IdeaId) -> Result<(), Rejection> {
    if known(plan.state, id)?.held {
        plan.emit(IdeaUnheld { id: id.clone() });
    }
    Ok(())
}

fn is_held(what: &str, id: &IdeaId) -> Rejection {
    Rejection::NotNow {
        what: format!("{what} {id}"),
        why: "it is held".into(),
        instead: Some(format!("swarm idea unhold {id}")),
    }
}

pub(super) fn known<'a>(state: &'a State, id: &IdeaId) -> Result<&'a Idea, Rejection> {
    state
        .ideas
        .get(id)
        .ok_or_else(|| Rejection::IdeaUnknown(id.clone()))
}

fn not_now(what: &str, id: &IdeaId, idea: &Idea, instead: Option<&str>) -> Rejection {
    Rejection::NotNow {
        what: format!("{what} {id}"),
        why: format!("it {}", idea.status.predicate()),
        instead: instead.map(str::to_owned),
    }
}

/// Size of a text as a JSON string, in bytes.
fn json_bytes(text: &str) -> usize {
    let bytes = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    };
    text.chars().map(bytes).sum()
}

pub(super) fn check_text(text: &str) -> Result<(), Rejection> {
    if text.trim().is_empty() {
        return Err(Rejection::TextEmpty);
    }
    check_length(text, MAX_TEXT_BYTES)
}

/// Refuses a text that takes more than `max` bytes as JSON.
pub(super) fn check_length(text: &str, max: usize) -> Result<(), Rejection> {
    let bytes = json_bytes(text);
    if bytes > max {
        return Err(Rejection::TextTooLong { bytes, max });
    }
    Ok(())
}

fn check_tags(tags: &[String]) -> Result<(), Rejection> {
    if tags.len() > MAX_TAGS {
        return Err(Rejection::TooMuch(format!(
            "an idea has at most {MAX_TAGS} tags"
        )));
    }
    let bad = |tag: &&String| {
        tag.trim().is_empty()
            || tag.chars().count() > MAX_TAG_CHARS
            || tag.chars().any(char::is_control)
    };
    match tags.iter().find(bad) {
        Some(tag) => Err(Rejection::TooMuch(format!(
            "`{}` is not a tag: use 1 to {MAX_TAG_CHARS} characters, none of them a control \
            character",
            tag.escape_debug().take(80).collect::<String>()
        ))),
        None => Ok(()),
    }
}

fn check_after(state: &State, after: &[IdeaId]) -> Result<(), Rejection> {
    if after.len() > MAX_AFTER {
        return Err(Rejection::TooMuch(format!(
            "an idea can wait for at most {MAX_AFTER} others"
        )));
    }
    for id in after {
        let idea = known(state, id)?;
        if idea.status == IdeaStatus::Cancelled {
            let instead = format!("swarm idea retry {id}");
            return Err(not_now("wait for", id, idea, Some(&instead)));
        }
    }
    Ok(())
}

pub(super) fn check_profile(state: &State, profile: Option<&ProfileName>) -> Result<(), Rejection> {
    let (Some(name), Some(settings)) = (profile, &state.settings) else {
        return Ok(());
    };
    if settings.profiles.contains(name) {
        return Ok(());
    }
    Err(Rejection::ProfileUnknown {
        name: name.clone(),
        known: settings.profiles.clone(),
    })
}

/// Refuses `after` if `id` would wait for itself, directly or through others.
fn check_cycle(state: &State, id: &IdeaId, after: &[IdeaId]) -> Result<(), Rejection> {
    let mut path = vec![(id, after.iter())];
    let mut seen = std::collections::BTreeSet::new();
    while let Some((_, ways)) = path.last_mut() {
        let Some(next) = ways.next() else {
            path.pop();
            continue;
        };
        if next == id {
            let mut cycle: Vec<IdeaId> = path.iter().map(|(id, _)| (*id).clone()).collect();
            cycle.push(id.clone());
            return Err(Rejection::Cycle(cycle));
        }
        if let Some(idea) = state.ideas.get(next).filter(|_| seen.insert(next)) {
            path.push((next, idea.after.iter()));
        }
    }
    Ok(())
}
