//! Facts: the board that agents share.
//!
//! Invariant: versions count from 1 without gaps. A dispute raises the version, so that whoever
//! settles it has seen it. Replaced values and settled claims become history.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Evidence, FactKey, Sources, normal_form};
use crate::domain::request::Author;
use crate::domain::time::Timestamp;

/// A value under a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fact {
    /// Its version.
    pub version: u64,
    /// One line.
    pub value: String,
    /// Who wrote this value.
    pub by: Author,
    /// Why, in the words of the writer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When this value was written.
    pub at: Timestamp,
    /// Evidence for this value.
    pub evidence: Sources,
    /// Claims that contradict it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<Rival>,
    /// Claims made so far; the next one is `c<rivals_made + 1>`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rivals_made: u64,
    /// Earlier values and settled claims, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<OldValue>,
    /// Earlier values that compaction dropped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub history_dropped: u64,
    /// Whether a person pinned it: it is shown first, and agents cannot write it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Set while it is retracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retracted: Option<Retraction>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A claim that contradicts a fact's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rival {
    /// `c1`, unique within the fact.
    pub id: String,
    /// The other value; `None` if the claim only says that the value is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Evidence for it.
    pub evidence: Sources,
}

/// An earlier value of a fact, or a claim that lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldValue {
    /// Version that had it; for a claim, the version that settled it.
    pub version: u64,
    /// The value.
    pub value: String,
    /// Who wrote it.
    pub by: Author,
    /// When it was written.
    pub at: Timestamp,
    /// Whether it was a claim that lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rival: bool,
}

/// A person or an agent took something back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retraction {
    /// Who.
    pub by: Author,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Whether a fact can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum FactStatus {
    /// Nobody contradicts it.
    Active,
    /// Rival claims stand beside its value.
    Contradicted,
    /// It was taken back.
    Retracted,
}

impl Fact {
    /// Whether it can be relied on.
    pub fn status(&self) -> FactStatus {
        if self.retracted.is_some() {
            FactStatus::Retracted
        } else if self.rivals.is_empty() {
            FactStatus::Active
        } else {
            FactStatus::Contradicted
        }
    }

    /// Whether its value says the same.
    pub fn says(&self, value: &str) -> bool {
        normal_form(&self.value) == normal_form(value)
    }

    /// The rival claim that says the same.
    pub fn rival(&self, value: Option<&str>) -> Option<&Rival> {
        let wanted = value.map(normal_form);
        let same = |rival: &&Rival| rival.value.as_deref().map(normal_form) == wanted;
        self.rivals.iter().find(same)
    }

    /// The oldest and the newest evidence, for people.
    pub fn newest_evidence(&self) -> Option<&Evidence> {
        self.evidence.kept.last()
    }

    /// Whether a person took it back.
    pub fn is_retracted_by_person(&self) -> bool {
        let retracted = self.retracted.as_ref();
        retracted.is_some_and(|retraction| retraction.by.is_person())
    }
}

/// All facts, by key. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Board {
    facts: BTreeMap<FactKey, Arc<Fact>>,
}

impl Board {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// How many there are, retracted ones included.
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// One fact.
    pub fn get(&self, key: &FactKey) -> Option<&Fact> {
        self.facts.get(key).map(Arc::as_ref)
    }

    /// All facts, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&FactKey, &Fact)> {
        self.facts.iter().map(|(key, fact)| (key, fact.as_ref()))
    }

    pub(in crate::domain) fn insert(&mut self, key: FactKey, fact: Fact) {
        self.facts.insert(key, Arc::new(fact));
    }

    pub(in crate::domain) fn change(&mut self, key: &FactKey, change: impl FnOnce(&mut Fact)) {
        if let Some(fact) = self.facts.get_mut(key) {
            change(Arc::make_mut(fact));
        }
    }
}
