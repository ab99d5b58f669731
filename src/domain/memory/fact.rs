//! Facts: the board that agents share.
//!
//! Invariant: versions count from 1 without gaps. A dispute raises the version, so that whoever
//! settles it has seen it. Replaced values and settled claims become history. `decide::memory`
//! chooses the events that change a fact, `evolve::memory` applies them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Evidence, FactKey, Sources, normal_form};
use crate::domain::request::Author;
use crate::domain::time::Timestamp;

/// Earlier values and settled claims kept in the state; the log has all.
pub const MAX_HISTORY: usize = 32;

/// A value under a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fact {
    /// Its version.
    pub version: u64,
    /// Version that brought the value; each later one is a dispute.
    pub value_version: u64,
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
    /// Earlier values and settled claims, oldest first; at most [`MAX_HISTORY`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<OldValue>,
    /// Older ones that only the log has.
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

impl Retraction {
    /// Whether it stays in force when this author says the same again: what a person took back,
    /// only a person brings back.
    pub fn outlasts(&self, author: &Author) -> bool {
        self.by.is_person() && !author.is_person()
    }

    /// Whether this author's own retraction replaces it: a person's stays in force for longer.
    pub fn yields_to(&self, author: &Author) -> bool {
        author.is_person() && !self.by.is_person()
    }
}

impl Rival {
    /// Whether it claims this value.
    fn says(&self, value: &str) -> bool {
        let own = self.value.as_deref();
        own.is_some_and(|own| normal_form(own) == normal_form(value))
    }

    /// The claim as history. One without a value has nothing to keep.
    fn lost(self, version: u64) -> Option<OldValue> {
        let first = self.evidence.kept.into_iter().next()?;
        Some(OldValue {
            version,
            value: self.value?,
            by: first.author,
            at: first.at,
            rival: true,
        })
    }
}

/// A value that is written, by the author of its evidence and at its time.
pub(in crate::domain) struct NewValue {
    /// Version of the fact from now on.
    pub(in crate::domain) version: u64,
    /// One line.
    pub(in crate::domain) value: String,
    /// Why, in the words of the writer.
    pub(in crate::domain) why: Option<String>,
    /// Where it comes from.
    pub(in crate::domain) evidence: Evidence,
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

    /// Whether it stays retracted when this author says the same again.
    pub fn stays_retracted(&self, author: &Author) -> bool {
        let retracted = self.retracted.as_ref();
        retracted.is_some_and(|retraction| retraction.outlasts(author))
    }

    /// A fact that is new.
    pub(in crate::domain) fn new(first: NewValue) -> Self {
        Self {
            version: first.version,
            value_version: first.version,
            value: first.value,
            by: first.evidence.author.clone(),
            why: first.why,
            at: first.evidence.at,
            evidence: Sources::one(first.evidence),
            rivals: Vec::new(),
            rivals_made: 0,
            history: Vec::new(),
            history_dropped: 0,
            pinned: false,
            retracted: None,
        }
    }

    /// Replaces the value and settles the dispute. The old value and the claims that lost become
    /// history; what supported the new value already still does.
    pub(in crate::domain) fn replace(&mut self, new: NewValue) {
        let mut evidence = self.support_of(&new.value);
        evidence.add(new.evidence.clone());
        let author = new.evidence.author;
        self.retracted = self.retracted.take().filter(|it| it.outlasts(&author));
        let old = OldValue {
            version: self.value_version,
            value: std::mem::replace(&mut self.value, new.value),
            by: std::mem::replace(&mut self.by, author),
            at: std::mem::replace(&mut self.at, new.evidence.at),
            rival: false,
        };
        self.remember(old);
        for rival in std::mem::take(&mut self.rivals) {
            if !rival.says(&self.value) {
                self.lose(rival, new.version);
            }
        }
        self.version = new.version;
        self.value_version = new.version;
        self.why = new.why;
        self.evidence = evidence;
    }

    /// The evidence that this value has already, as the fact's value or as a rival claim.
    fn support_of(&mut self, value: &str) -> Sources {
        if self.says(value) {
            return std::mem::take(&mut self.evidence);
        }
        let rival = self.rivals.iter().find(|rival| rival.says(value));
        rival.map_or_else(Sources::default, |rival| rival.evidence.clone())
    }

    /// Takes back a rival claim.
    pub(in crate::domain) fn withdraw(&mut self, claim: &str) {
        if let Some(at) = self.rivals.iter().position(|rival| rival.id == claim) {
            let rival = self.rivals.remove(at);
            self.lose(rival, self.version);
        }
    }

    fn lose(&mut self, rival: Rival, version: u64) {
        if let Some(lost) = rival.lost(version) {
            self.remember(lost);
        }
    }

    /// How many entries of its history are older than the newest `kept` earlier values. A claim
    /// that lost belongs to the value before it.
    pub fn history_before(&self, kept: usize) -> usize {
        let Some(at) = kept.checked_sub(1) else {
            return self.history.len();
        };
        let entries = self.history.iter().enumerate().rev();
        let mut values = entries.filter(|(_, old)| !old.rival);
        values.nth(at).map_or(0, |(place, _)| place)
    }

    /// Drops the oldest entries of its history.
    pub(in crate::domain) fn forget_history(&mut self, entries: u64) {
        let all = self.history.len();
        let entries = usize::try_from(entries).map_or(all, |entries| entries.min(all));
        self.history.drain(..entries);
        self.history_dropped += entries as u64;
    }

    fn remember(&mut self, old: OldValue) {
        if self.history.len() >= MAX_HISTORY {
            self.history.remove(0);
            self.history_dropped += 1;
        }
        self.history.push(old);
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
