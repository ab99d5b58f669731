//! All ideas, with an index of the open ones.
//!
//! Invariant: the set of open ideas and the counts per status follow from the ideas. They are
//! stored because every decision needs them, and a long-lived swarm has very many finished ideas.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Idea, IdeaStatus};
use crate::domain::ids::IdeaId;

/// Map of all ideas; dereferences to the plain map for reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backlog {
    all: BTreeMap<IdeaId, Idea>,
    open: BTreeSet<IdeaId>,
    count: [usize; IdeaStatus::ALL.len()],
}

impl Backlog {
    /// Adds an idea, or replaces the one with this id.
    pub fn insert(&mut self, id: IdeaId, idea: Idea) {
        self.forget(&id);
        self.note(&id, idea.status);
        self.all.insert(id, idea);
    }

    /// Changes an idea; `None` if it does not exist.
    pub fn change<T>(&mut self, id: &IdeaId, change: impl FnOnce(&mut Idea) -> T) -> Option<T> {
        let idea = self.all.get_mut(id)?;
        let before = idea.status;
        let changed = change(idea);
        let now = idea.status;
        if now != before {
            self.count[before as usize] -= 1;
            self.open.remove(id);
            self.note(id, now);
        }
        Some(changed)
    }

    /// Ideas that are neither done nor cancelled, sorted by id.
    pub fn open(&self) -> impl Iterator<Item = (&IdeaId, &Idea)> + Clone {
        self.open.iter().filter_map(|id| self.all.get_key_value(id))
    }

    /// Number of ideas with this status.
    pub fn count(&self, status: IdeaStatus) -> usize {
        self.count[status as usize]
    }

    fn note(&mut self, id: &IdeaId, status: IdeaStatus) {
        self.count[status as usize] += 1;
        if !matches!(status, IdeaStatus::Done | IdeaStatus::Cancelled) {
            self.open.insert(id.clone());
        }
    }

    fn forget(&mut self, id: &IdeaId) {
        if let Some(before) = self.all.get(id) {
            self.count[before.status as usize] -= 1;
            self.open.remove(id);
        }
    }
}

impl Deref for Backlog {
    type Target = BTreeMap<IdeaId, Idea>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl<'a> IntoIterator for &'a Backlog {
    type Item = (&'a IdeaId, &'a Idea);
    type IntoIter = std::collections::btree_map::Iter<'a, IdeaId, Idea>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl FromIterator<(IdeaId, Idea)> for Backlog {
    fn from_iter<T: IntoIterator<Item = (IdeaId, Idea)>>(ideas: T) -> Self {
        let mut backlog = Self::default();
        for (id, idea) in ideas {
            backlog.insert(id, idea);
        }
        backlog
    }
}

impl Serialize for Backlog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Backlog {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<IdeaId, Idea>::deserialize(deserializer)?;
        Ok(all.into_iter().collect())
    }
}
