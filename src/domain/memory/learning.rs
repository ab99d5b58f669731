//! Learnings: sentences that agents and people found out.
//!
//! Invariant: in order of their numbers; two learnings with the same scope never have the same
//! normal form. A snapshot has them as a plain list.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Evidence, FactKey, Retraction, Sources, normal_form};
use crate::domain::ids::{AgentId, ProfileName};
use crate::domain::request::Author;
use crate::domain::time::Timestamp;

/// One sentence that somebody found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "OnDisk")]
pub struct Learning {
    /// `learning-001`.
    pub id: String,
    /// Whether it is for all agents.
    pub global: bool,
    /// Profile that a local learning is for; of a global one, the profile of the agent that
    /// reported it first. `None` if a person wrote it for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// The sentence.
    pub content: String,
    /// Fact that it is a claim about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<FactKey>,
    /// Who reported it.
    pub evidence: Sources,
    /// When it was first reported.
    pub at: Timestamp,
    /// Set while it is retracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retracted: Option<Retraction>,
}

/// A learning in a snapshot. Older snapshots have the agents alone, as `sources`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnDisk {
    id: String,
    global: bool,
    #[serde(default)]
    profile: Option<ProfileName>,
    content: String,
    #[serde(default)]
    key: Option<FactKey>,
    #[serde(default)]
    evidence: Sources,
    #[serde(default)]
    sources: Vec<AgentId>,
    at: Timestamp,
    #[serde(default)]
    retracted: Option<Retraction>,
}

impl From<OnDisk> for Learning {
    fn from(on_disk: OnDisk) -> Self {
        let mut evidence = on_disk.evidence;
        for id in on_disk.sources {
            let author = Author::Agent {
                id,
                idea_id: None,
                run: None,
            };
            evidence.add(Evidence {
                at: on_disk.at,
                author,
                ..Evidence::default()
            });
        }
        Self {
            id: on_disk.id,
            global: on_disk.global,
            profile: on_disk.profile,
            content: on_disk.content,
            key: on_disk.key,
            evidence,
            at: on_disk.at,
            retracted: on_disk.retracted,
        }
    }
}

/// All learnings. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(from = "Vec<Learning>", into = "Vec<Learning>")]
pub struct Learnings {
    list: Vec<Arc<Learning>>,
    /// Places in the list by scope and normal form, and by id.
    by_text: BTreeMap<(Option<ProfileName>, String), usize>,
    by_id: BTreeMap<String, usize>,
}

impl From<Vec<Learning>> for Learnings {
    fn from(list: Vec<Learning>) -> Self {
        let mut learnings = Self::default();
        list.into_iter().for_each(|it| learnings.push(it));
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
fn scope(global: bool, profile: Option<&ProfileName>) -> Option<ProfileName> {
    profile.filter(|_| !global).cloned()
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

    /// All, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Learning> {
        self.list.iter().map(Arc::as_ref)
    }

    /// The learning with this id.
    pub fn get(&self, id: &str) -> Option<&Learning> {
        self.by_id.get(id).map(|at| self.list[*at].as_ref())
    }

    /// The learning of this scope that says the same.
    pub fn find(
        &self,
        global: bool,
        profile: Option<&ProfileName>,
        content: &str,
    ) -> Option<&Learning> {
        let place = (scope(global, profile), normal_form(content));
        self.by_text.get(&place).map(|at| self.list[*at].as_ref())
    }

    pub(in crate::domain) fn push(&mut self, learning: Learning) {
        let at = self.list.len();
        let scope = scope(learning.global, learning.profile.as_ref());
        self.by_text
            .insert((scope, normal_form(&learning.content)), at);
        self.by_id.insert(learning.id.clone(), at);
        self.list.push(Arc::new(learning));
    }

    pub(in crate::domain) fn change(&mut self, id: &str, change: impl FnOnce(&mut Learning)) {
        if let Some(at) = self.by_id.get(id) {
            change(Arc::make_mut(&mut self.list[*at]));
        }
    }
}
