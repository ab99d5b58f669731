//! Learnings: sentences that agents and people found out.
//!
//! Invariant: in order of their numbers; two learnings with the same scope never have the same
//! normal form. A snapshot has them as a plain list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{FactKey, LearningRange, Retraction, Sources, learning_number, normal_form};
use crate::domain::ids::ProfileName;
use crate::domain::time::Timestamp;

/// One sentence that somebody found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Learning {
    /// `learning-001`.
    pub id: String,
    /// Whether it is for all agents.
    pub global: bool,
    /// Profile that a local learning is for; of a global one, the profile of the agent that
    /// reported it first. `None` if a person wrote it for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// The sentence.
    pub content: String,
    /// Fact that it is a claim about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<FactKey>,
    /// Who reported it.
    pub evidence: Sources,
    /// When it was first reported.
    pub at: Timestamp,
    /// Set while it is retracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retracted: Option<Retraction>,
}

impl Learning {
    /// Whether the state can do without it: it supports no fact. What a person took back stays, so
    /// that it is not shown when somebody finds it again.
    pub fn is_dispensable(&self) -> bool {
        let by_person = |it: &Retraction| it.by.is_person();
        self.key.is_none() && !self.retracted.as_ref().is_some_and(by_person)
    }

    /// Its number: 1 for `learning-001`; 0 for an id of another form.
    pub fn number(&self) -> u64 {
        learning_number(&self.id).unwrap_or(0)
    }
}

/// All learnings. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(from = "Vec<Learning>", into = "Vec<Learning>")]
pub struct Learnings {
    list: Vec<Arc<Learning>>,
    places: Arc<Places>,
    /// How many of them are dispensable.
    dispensable: usize,
}

/// Places in the list by hashes, so that a copy is small. Equal hashes stand side by side: whoever
/// looks one up compares the learnings themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Places {
    by_id: BTreeSet<(u64, usize)>,
    by_text: BTreeSet<(u64, usize)>,
}

/// The places with this hash.
fn with_hash(places: &BTreeSet<(u64, usize)>, hash: u64) -> impl Iterator<Item = usize> {
    let places = places.range((hash, 0)..=(hash, usize::MAX));
    places.map(|(_, place)| *place)
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl From<Vec<Learning>> for Learnings {
    fn from(list: Vec<Learning>) -> Self {
        let mut learnings = Self::default();
        for learning in list {
            learnings.push(learning);
        }
        learnings
    }
}

impl From<Learnings> for Vec<Learning> {
    fn from(learnings: Learnings) -> Self {
        let list = learnings.list.into_iter();
        list.map(Arc::unwrap_or_clone).collect()
    }
}

/// Local learnings are compared within their profile, global ones among all.
fn scope(global: bool, profile: Option<&ProfileName>) -> Option<&ProfileName> {
    profile.filter(|_| !global)
}

impl Learnings {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are, retracted ones included.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// How many the state can do without.
    pub fn dispensable(&self) -> usize {
        self.dispensable
    }

    /// All, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Learning> {
        self.list.iter().map(Arc::as_ref)
    }

    /// The learning with this id.
    pub fn get(&self, id: &str) -> Option<&Learning> {
        self.place_of(id).map(|place| self.list[place].as_ref())
    }

    fn place_of(&self, id: &str) -> Option<usize> {
        with_hash(&self.places.by_id, hash(id)).find(|place| self.list[*place].id == id)
    }

    /// The learning of this scope that says the same.
    pub fn find(
        &self,
        global: bool,
        profile: Option<&ProfileName>,
        content: &str,
    ) -> Option<&Learning> {
        let wanted = normal_form(content);
        let same = |known: &&Learning| {
            scope(known.global, known.profile.as_ref()) == scope(global, profile)
                && normal_form(&known.content) == wanted
        };
        with_hash(&self.places.by_text, hash(&wanted))
            .map(|place| self.list[place].as_ref())
            .find(same)
    }

    pub(in crate::domain) fn push(&mut self, learning: Learning) {
        self.insert(Arc::new(learning));
    }

    fn insert(&mut self, learning: Arc<Learning>) {
        let place = self.list.len();
        self.dispensable += usize::from(learning.is_dispensable());
        let places = Arc::make_mut(&mut self.places);
        places.by_id.insert((hash(&learning.id), place));
        let text = hash(&normal_form(&learning.content));
        places.by_text.insert((text, place));
        self.list.push(learning);
    }

    pub(in crate::domain) fn change(&mut self, id: &str, change: impl FnOnce(&mut Learning)) {
        if let Some(place) = self.place_of(id) {
            let learning = Arc::make_mut(&mut self.list[place]);
            self.dispensable -= usize::from(learning.is_dispensable());
            change(learning);
            self.dispensable += usize::from(learning.is_dispensable());
        }
    }

    /// Drops the learnings with these numbers, whatever they are; returns how many there were.
    pub(in crate::domain) fn forget(&mut self, ranges: &[LearningRange]) -> u64 {
        let ranges: BTreeMap<u64, u64> = ranges.iter().map(|it| (it.first, it.last)).collect();
        let is_dropped = |learning: &Learning| {
            let number = learning_number(&learning.id);
            let range = number.and_then(|number| ranges.range(..=number).next_back());
            range.is_some_and(|(_, last)| number <= Some(*last))
        };
        let before = self.len();
        let mut left = Self::default();
        for learning in std::mem::take(&mut self.list) {
            if !is_dropped(&learning) {
                left.insert(learning);
            }
        }
        *self = left;
        (before - self.len()) as u64
    }
}
