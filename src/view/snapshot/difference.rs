//! What differs between two states.
//!
//! Invariant: ideas, agents and facts that both states have alike are not put into words, so that
//! a small difference of large states costs little time.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::outline::{Fields, Outline, Section, outline_without};
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// Two states and what differs between them.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = StateComparison)]
pub struct Comparison {
    /// The first state.
    pub from: Head,
    /// The second state.
    pub to: Head,
    /// Whether nothing differs.
    pub same: bool,
    /// The sections that differ: `swarm`, `ideas`, `agents`, `queue`, `learnings`, `facts`,
    /// `notes`, `checkpoints`, `settings`.
    #[schema(value_type = BTreeMap<String, SectionDifference>)]
    pub sections: Difference,
}

/// A state's place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = StateHead)]
pub struct Head {
    /// Its last event; 0 if there is none.
    pub seq: u64,
    /// When that happened.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

impl Head {
    /// Of this state.
    pub const fn of(state: &State) -> Self {
        Self {
            seq: state.seq,
            at: state.swarm.last_event_at,
        }
    }
}

impl Comparison {
    /// Compares two states, or only one section of them.
    pub fn of(earlier: &State, later: &State, only: Option<Section>) -> Self {
        let one = outline_without(earlier, Some(later));
        let other = outline_without(later, Some(earlier));
        let mut sections = difference(&one, &other);
        sections.retain(|section, _| only.is_none_or(|only| only == *section));
        Self {
            from: Head::of(earlier),
            to: Head::of(later),
            same: sections.is_empty(),
            sections,
        }
    }
}

/// The sections that differ.
pub type Difference = BTreeMap<Section, SectionDifference>;

/// What differs in one section.
#[derive(Debug, Clone, PartialEq, Serialize, Default, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StateSectionDifference)]
pub struct SectionDifference {
    /// What only the second state has, by name, each with its fields.
    #[schema(value_type = BTreeMap<String, Object>)]
    pub added: BTreeMap<String, Fields>,
    /// What only the first state has, by name, each with its fields.
    #[schema(value_type = BTreeMap<String, Object>)]
    pub removed: BTreeMap<String, Fields>,
    /// What both have, but not alike, by name: each field that differs, as `{"from", "to"}`.
    #[schema(value_type = BTreeMap<String, BTreeMap<String, FieldChange>>)]
    pub changed: BTreeMap<String, Changed>,
}

/// The fields that differ, by name.
pub type Changed = BTreeMap<String, FieldChange>;

/// A field before and after; `null` where it has no value.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = StateFieldChange)]
pub struct FieldChange {
    /// Its value in the first state.
    pub from: Value,
    /// Its value in the second state.
    pub to: Value,
}

/// Compares two states. Sections that are alike are left out.
pub fn difference(earlier: &Outline, later: &Outline) -> Difference {
    let nothing = BTreeMap::new();
    let sections: BTreeSet<Section> = earlier.keys().chain(later.keys()).copied().collect();
    let compared = sections.into_iter().map(|section| {
        let before = earlier.get(&section).unwrap_or(&nothing);
        let after = later.get(&section).unwrap_or(&nothing);
        (section, of_section(before, after))
    });
    compared
        .filter(|(_, found)| *found != SectionDifference::default())
        .collect()
}

fn of_section(
    before: &BTreeMap<String, Fields>,
    after: &BTreeMap<String, Fields>,
) -> SectionDifference {
    let only = |these: &BTreeMap<String, Fields>, others: &BTreeMap<String, Fields>| {
        let own = these.iter().filter(|(name, _)| !others.contains_key(*name));
        own.map(|(name, fields)| (name.clone(), fields.clone()))
            .collect()
    };
    let both = before
        .iter()
        .filter_map(|(name, old)| Some((name, old, after.get(name)?)));
    let changed = both.map(|(name, old, new)| (name.clone(), of_fields(old, new)));
    SectionDifference {
        added: only(after, before),
        removed: only(before, after),
        changed: changed.filter(|(_, fields)| !fields.is_empty()).collect(),
    }
}

fn of_fields(old: &Fields, new: &Fields) -> Changed {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let value = |fields: &Fields, name: &String| fields.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .map(|name| {
            let (from, to) = (value(old, name), value(new, name));
            (name.clone(), FieldChange { from, to })
        })
        .filter(|(_, change)| change.from != change.to)
        .collect()
}
