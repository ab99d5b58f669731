//! Lists of ideas as a person wants to see them: `swarm idea list`, and the list of the page.
//!
//! Invariant: what is sorted are the ideas themselves; views are made only of those that are shown.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::{IdeaView, with_usage};
use crate::domain::ids::{AgentId, IdeaId, ProfileName};
use crate::domain::scheduling;
use crate::domain::state::{Idea, IdeaStatus, MergeEntry, State};

/// Which ideas are asked for; `None` and `false` stand for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdeaFilter {
    /// Only those of this status.
    pub status: Option<IdeaStatus>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Only those with this in their text, id or tags, in small or capital letters.
    pub text: Option<String>,
    /// Only those that ask for this profile.
    pub profile: Option<ProfileName>,
    /// Only those that a person holds.
    pub held: bool,
    /// Only those whose work a person must approve, or that wait for it now.
    pub review: bool,
}

impl IdeaFilter {
    fn has(&self, state: &State, id: &IdeaId, idea: &Idea) -> bool {
        let waits = || state.entry(id).is_some_and(MergeEntry::is_in_review);
        self.status.is_none_or(|status| idea.status == status)
            && self.tag.as_ref().is_none_or(|tag| idea.tags.contains(tag))
            && (self.profile.is_none() || self.profile == idea.profile)
            && (!self.held || idea.held)
            && (!self.review || idea.review || waits())
            && self.has_text(id, idea)
    }

    fn has_text(&self, id: &IdeaId, idea: &Idea) -> bool {
        let Some(wanted) = &self.text else {
            return true;
        };
        let wanted = wanted.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        has(id.as_str()) || has(&idea.text) || idea.tags.iter().any(|tag| has(tag))
    }
}

/// Part of a list of ideas.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IdeaPage {
    /// Number of ideas in the whole list.
    pub found: usize,
    /// Those of this part.
    pub ideas: Vec<IdeaView>,
    /// The agents that work on them.
    pub agents: BTreeMap<IdeaId, AgentId>,
    /// Number of ideas of each status that the rest of the filter finds.
    pub counts: BTreeMap<IdeaStatus, usize>,
}

/// The ideas as a person wants to see them, with what they used: what is under way, what needs
/// somebody, what waits in the order of its start, then what is over, the newest first.
pub fn ideas_open_first(state: &State, status: Option<IdeaStatus>) -> Vec<IdeaView> {
    let filter = IdeaFilter {
        status,
        ..IdeaFilter::default()
    };
    let found = filtered(state, &filter);
    let sorted = open_first(state, found).into_iter();
    sorted.map(|(id, idea)| with_usage(id, idea)).collect()
}

/// Up to `count` of the ideas that the filter finds, without the first `skip`, in the order of
/// [`ideas_open_first`].
pub fn idea_page(state: &State, filter: &IdeaFilter, skip: usize, count: usize) -> IdeaPage {
    let of_any_status = IdeaFilter {
        status: None,
        ..filter.clone()
    };
    let mut found = filtered(state, &of_any_status);
    let mut counts = BTreeMap::new();
    for (_, idea) in &found {
        *counts.entry(idea.status).or_insert(0) += 1;
    }
    found.retain(|(_, idea)| filter.status.is_none_or(|status| idea.status == status));
    let all = found.len();
    let part = open_first(state, found).into_iter().skip(skip).take(count);
    let ideas: Vec<IdeaView> = part.map(|(id, idea)| with_usage(id, idea)).collect();
    let agent = |idea: &IdeaView| {
        let (agent, _) = state.attempt_at(&idea.id)?;
        Some((idea.id.clone(), agent.clone()))
    };
    IdeaPage {
        found: all,
        agents: ideas.iter().filter_map(agent).collect(),
        ideas,
        counts,
    }
}

fn filtered<'s>(state: &'s State, filter: &IdeaFilter) -> Vec<(&'s IdeaId, &'s Idea)> {
    let all = state.ideas.iter();
    all.filter(|(id, idea)| filter.has(state, id, idea))
        .collect()
}

fn open_first<'s>(
    state: &'s State,
    mut list: Vec<(&'s IdeaId, &'s Idea)>,
) -> Vec<(&'s IdeaId, &'s Idea)> {
    let line = scheduling::line(state);
    let places: HashMap<&IdeaId, usize> = (0..).zip(line).map(|(at, id)| (id, at)).collect();
    let group = |idea: &Idea| match idea.status {
        IdeaStatus::Active => 0,
        IdeaStatus::Merging => 1,
        IdeaStatus::Blocked | IdeaStatus::Failed | IdeaStatus::Timeout => 2,
        IdeaStatus::Pending => 3,
        IdeaStatus::Done | IdeaStatus::Cancelled => 4,
    };
    list.sort_by_cached_key(|(id, idea)| {
        let group = group(idea);
        let newest = (group == 4).then_some(idea.updated_at);
        let place = places.get(id).copied();
        (group, Reverse(newest), place, id.as_str().len(), *id)
    });
    list
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use super::*;
    use crate::view::testkit::{idea, state};

    fn ideas() -> State {
        let mut bread = idea("Bake bread", IdeaStatus::Done);
        bread.tags = vec!["text".into()];
        let mut cake = idea("Bake a CAKE", IdeaStatus::Pending);
        cake.held = true;
        let mut tart = idea("Tart", IdeaStatus::Pending);
        tart.review = true;
        tart.profile = Some("ed".parse().unwrap());
        state([bread, cake, tart])
    }

    fn found(filter: &IdeaFilter) -> Vec<String> {
        let page = idea_page(&ideas(), filter, 0, 10);
        assert_eq!(page.found, page.ideas.len());
        page.ideas.iter().map(|idea| idea.id.to_string()).collect()
    }

    #[test]
    fn each_filter_finds_its_ideas() {
        let none = IdeaFilter::default;
        let cake = || Some("cake".to_owned());
        assert_eq!(
            found(&IdeaFilter {
                text: cake(),
                ..none()
            }),
            ["idea-002"]
        );
        let tag = Some("text".to_owned());
        assert_eq!(found(&IdeaFilter { tag, ..none() }), ["idea-001"]);
        assert_eq!(
            found(&IdeaFilter {
                held: true,
                ..none()
            }),
            ["idea-002"]
        );
        assert_eq!(
            found(&IdeaFilter {
                review: true,
                ..none()
            }),
            ["idea-003"]
        );
        let profile = "ed".parse().ok();
        assert_eq!(found(&IdeaFilter { profile, ..none() }), ["idea-003"]);
        let status = Some(IdeaStatus::Done);
        assert_eq!(found(&IdeaFilter { status, ..none() }), ["idea-001"]);
    }

    #[test]
    fn a_page_is_a_part_of_the_whole_list_with_the_counts_of_all() {
        let state = ideas();
        let all: Vec<IdeaView> = ideas_open_first(&state, None);
        let page = idea_page(&state, &IdeaFilter::default(), 1, 1);
        assert_eq!((page.found, &page.ideas[..]), (3, &all[1..2]));
        let filter = IdeaFilter {
            status: Some(IdeaStatus::Done),
            ..IdeaFilter::default()
        };
        let page = idea_page(&state, &filter, 0, 10);
        let counts = [(IdeaStatus::Pending, 2), (IdeaStatus::Done, 1)];
        assert_eq!((page.found, page.counts), (1, counts.into()));
    }
}
