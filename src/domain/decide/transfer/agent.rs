//! The import of an agent's state: on a new idea, or on one that nobody works on.
//!
//! Invariant: a new idea comes into being together with what it goes on from, so that a torn log
//! cannot start it without. Work that an idea has of its own, and its conversation, is never
//! replaced by imported ones.
//! Importing the same file on the same idea again changes nothing.

use crate::domain::decide::decision::Plan;
use crate::domain::decide::ideas;
use crate::domain::event::AgentImported;
use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::operation::{ImportAgent, NewIdea};
use crate::domain::rejection::Rejection;
use crate::domain::state::transfer::agent::ImportedAgent;
use crate::domain::state::{Idea, IdeaStatus};

pub(in crate::domain::decide) fn import(
    plan: &mut Plan<'_>,
    import: &ImportAgent,
) -> Result<(), Rejection> {
    match &import.idea {
        Some(id) => on_idea(plan, id, import),
        None => on_new_idea(plan, import),
    }
}

fn on_new_idea(plan: &mut Plan<'_>, import: &ImportAgent) -> Result<(), Rejection> {
    let new = NewIdea {
        text: import.text.clone(),
        profile: import.profile.clone(),
        imported: Some(Box::new(import.imported.clone())),
        ..NewIdea::default()
    };
    ideas::add(plan, &new)?;
    plan.emit(AgentImported {
        id: IdeaId::numbered(plan.state.counters.ideas + 1),
        imported: Box::new(import.imported.clone()),
        profile: import.profile.clone(),
    });
    Ok(())
}

fn on_idea(plan: &mut Plan<'_>, id: &IdeaId, import: &ImportAgent) -> Result<(), Rejection> {
    let idea = ideas::known(plan.state, id)?;
    ideas::check_profile(plan.state, import.profile.as_ref())?;
    refuse_taken(id, idea)?;
    refuse_other_profile(id, idea, import.profile.as_ref())?;
    let mut imported = import.imported.clone();
    if has_own_work(idea) {
        imported.work = None;
        imported.conversation = None;
    }
    let same_profile = import.profile.is_none() || import.profile == idea.profile;
    let known = idea.imported.as_deref();
    if known.is_some_and(|known| known.is_as_good_as(&imported)) && same_profile {
        return Ok(());
    }
    plan.emit(AgentImported {
        id: id.clone(),
        imported: Box::new(imported),
        profile: import.profile.clone(),
    });
    Ok(())
}

/// Whether the next attempt has something to go on from that no import brought.
pub fn has_own_work(idea: &Idea) -> bool {
    let Some(kept) = idea.kept.as_deref() else {
        return false;
    };
    let brought = idea.imported.as_deref().and_then(ImportedAgent::kept);
    brought.as_ref() != Some(kept)
}

/// Refuses an idea that somebody works on, or that is over.
fn refuse_taken(id: &IdeaId, idea: &Idea) -> Result<(), Rejection> {
    let instead = match idea.status {
        IdeaStatus::Pending | IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Blocked => {
            return Ok(());
        }
        IdeaStatus::Active => "stop its agent first: swarm agent list".to_owned(),
        IdeaStatus::Merging => "see its merge: swarm merge list".to_owned(),
        IdeaStatus::Cancelled => format!("swarm idea retry {id}"),
        IdeaStatus::Done => "leave out --idea: the import then adds a new idea".to_owned(),
    };
    Err(Rejection::NotNow {
        what: format!("import an agent on {id}"),
        why: format!("it {}", idea.status.predicate()),
        instead: Some(instead),
    })
}

/// Refuses another profile for an idea that a redirected agent takes next.
fn refuse_other_profile(
    id: &IdeaId,
    idea: &Idea,
    profile: Option<&ProfileName>,
) -> Result<(), Rejection> {
    let Some(reserved) = &idea.reserved else {
        return Ok(());
    };
    if profile.is_none_or(|profile| *profile == reserved.profile) {
        return Ok(());
    }
    Err(Rejection::NotNow {
        what: format!("import an agent on {id}"),
        why: format!(
            "{} was redirected to it, so profile {} takes it next",
            reserved.from, reserved.profile
        ),
        instead: Some(format!("name that profile: --profile {}", reserved.profile)),
    })
}
