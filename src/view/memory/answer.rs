//! The answers to commands about the memory.
//!
//! Invariant: what a command made is read from its own events, so that a later change by somebody
//! else does not appear in its answer.

use serde::Serialize;
use utoipa::ToSchema;

use super::HitView;
use crate::domain::event::{ClaimEffect, Claimed, Event};
use crate::domain::ids::IdeaId;
use crate::domain::memory::{Fact, FactKey, FactStatus, Learn, Learning, NoteKey, normal_form};
use crate::domain::request::Operation;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::schema;

/// A command that was accepted.
#[derive(Debug, Clone, Copy)]
pub struct Taken<'a> {
    /// Sequence number of its last event, or of the log's last event if it changed nothing.
    pub seq: u64,
    /// Its events.
    pub events: &'a [Event],
    /// The operation, if it was done before; `events` is empty then.
    pub before: Option<&'a Operation>,
}

impl Taken<'_> {
    /// The sequence number of its first event that fits; of an operation done before, of its event.
    fn seq_of(&self, fits: impl Fn(&Event) -> bool) -> Option<u64> {
        let place = self.events.iter().position(fits);
        let own = place.map(|at| self.seq - (self.events.len() - 1 - at) as u64);
        own.or(self.before.map(|operation| operation.seq))
    }

    /// The idea that it added, now or when the operation was first sent.
    pub fn added_idea(&self) -> Option<IdeaId> {
        let now = self.events.iter().find_map(Event::added_idea);
        now.cloned().or_else(|| self.recorded())
    }

    /// What it made, as the operation recorded it when it was done.
    fn recorded<T: std::str::FromStr>(&self) -> Option<T> {
        self.before?.answer.as_deref()?.parse().ok()
    }

    fn version(&self) -> Option<u64> {
        let version = |event: &Event| match made(event) {
            Some(Made::Version(version)) => Some(version),
            Some(Made::Claim(_)) | None => None,
        };
        self.events
            .iter()
            .find_map(version)
            .or_else(|| self.recorded())
    }

    fn claimed(&self) -> Option<&Claimed> {
        self.events.iter().find_map(|event| match made(event) {
            Some(Made::Claim(claimed)) => Some(claimed),
            Some(Made::Version(_)) | None => None,
        })
    }
}

/// What an event made of a fact.
enum Made<'a> {
    Version(u64),
    Claim(&'a Claimed),
}

fn made(event: &Event) -> Option<Made<'_>> {
    if let Event::FactWritten(written) = event {
        Some(Made::Version(written.version))
    } else if let Event::FactConfirmed(confirmed) = event {
        Some(Made::Version(confirmed.version))
    } else if let Event::FactDisputed(disputed) = event {
        Some(Made::Version(disputed.version))
    } else if let Event::Learned(learned) = event {
        learned.claim.as_ref().map(Made::Claim)
    } else {
        None
    }
}

/// The fact was written.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FactWritten)]
pub struct WrittenView {
    /// The fact.
    #[schema(value_type = String)]
    pub key: FactKey,
    /// Its version afterwards.
    pub version: u64,
    /// The sequence number of its event, or of the log's last event if the fact says the same
    /// already.
    pub seq: u64,
    /// Other facts and learnings that are about similar things.
    pub similar: Vec<HitView>,
}

/// The fact was confirmed or disputed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FactChanged)]
pub struct FactChangedView {
    /// The fact.
    #[schema(value_type = String)]
    pub key: FactKey,
    /// Its version afterwards.
    pub version: u64,
    /// Whether it can be relied on now.
    #[schema(schema_with = schema::words::<FactStatus>, required)]
    pub status: FactStatus,
    /// The sequence number of its event, or of the log's last event if nothing changed.
    pub seq: u64,
}

/// The learning was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Learned)]
pub struct LearnedView {
    /// Its id.
    pub id: String,
    /// Whether the sentence was known already: it has one more piece of evidence now.
    pub known: bool,
    /// Other facts and learnings that are about similar things.
    pub similar: Vec<HitView>,
    /// The sequence number of its event, or of the log's last event if nothing changed.
    pub seq: u64,
    /// What it did to the fact whose key it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub fact: Option<ClaimedView>,
}

/// What a learning with a key did to the fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Claimed)]
pub struct ClaimedView {
    /// The fact.
    #[schema(value_type = String)]
    pub key: FactKey,
    /// Its version afterwards.
    pub version: u64,
    /// `wrote`: it is the value now; `confirmed`: it is evidence for the value; `disputed`: it
    /// contradicts the value.
    pub effect: &'static str,
}

/// Something was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Retracted)]
pub struct RetractedView {
    /// The learnings and facts that are retracted now and were not before, and the claims that were
    /// withdrawn, as `KEY CLAIM`.
    pub retracted: Vec<String>,
    /// The sequence number of the last event, or of the log's last event if nothing changed.
    pub seq: u64,
}

/// The note was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotePut)]
pub struct NotePutView {
    /// The note.
    #[schema(value_type = String)]
    pub key: NoteKey,
    /// Its version: the sequence number of its event.
    pub version: u64,
    /// When it is dropped; null if it is kept.
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<Timestamp>,
}

/// The answer to a write of a fact.
pub fn written(
    state: &State,
    key: &FactKey,
    taken: &Taken<'_>,
    similar: Vec<HitView>,
) -> WrittenView {
    WrittenView {
        key: key.clone(),
        version: version(state, key, taken),
        seq: taken.seq,
        similar,
    }
}

/// The answer to a confirmation or a dispute.
pub fn changed_fact(state: &State, key: &FactKey, taken: &Taken<'_>) -> FactChangedView {
    let status = state.facts.get(key).map(Fact::status);
    FactChangedView {
        key: key.clone(),
        version: version(state, key, taken),
        status: status.unwrap_or(FactStatus::Active),
        seq: taken.seq,
    }
}

/// The fact's version after the command. If the command changed nothing, that is the present one.
fn version(state: &State, key: &FactKey, taken: &Taken<'_>) -> u64 {
    let now = || state.facts.get(key).map_or(0, |fact| fact.version);
    taken.version().unwrap_or_else(now)
}

/// The answer to a new learning.
pub fn learned(
    state: &State,
    learn: &Learn,
    taken: &Taken<'_>,
    similar: Vec<HitView>,
) -> LearnedView {
    let id = learned_id(state, learn, taken);
    let seq = taken.seq_of(|event| matches!(event, Event::Learned(_)));
    let learning = state.learnings.get(&id);
    let first = learning.and_then(|it| it.evidence.kept.first());
    LearnedView {
        known: first.map(|first| first.seq) != seq,
        id,
        similar,
        seq: taken.seq,
        fact: taken.claimed().map(claimed),
    }
}

/// What a new learning is not similar to: itself, and the fact that it is a claim about.
pub fn learned_references(state: &State, learn: &Learn, taken: &Taken<'_>) -> Vec<String> {
    let claimed = taken.claimed().map(|claimed| &claimed.key);
    let key = claimed.or(learn.key.as_ref()).map(ToString::to_string);
    let id = learned_id(state, learn, taken);
    std::iter::once(id).chain(key).collect()
}

/// The id of a learning; one that changed nothing is known already.
fn learned_id(state: &State, learn: &Learn, taken: &Taken<'_>) -> String {
    let own = |event: &Event| {
        if let Event::Learned(learned) = event {
            Some(learned.id.clone())
        } else {
            None
        }
    };
    let known = || {
        let claim = FactKey::split_claim(&learn.content);
        let said = claim.map_or(learn.content.as_str(), |(_, value)| value);
        let forms = [normal_form(&learn.content), normal_form(said)];
        let says = |it: &&Learning| forms.contains(&normal_form(&it.content));
        let same = state.learnings.iter().find(says);
        same.map(|learning| learning.id.clone())
    };
    taken
        .events
        .iter()
        .find_map(own)
        .or_else(|| taken.recorded())
        .or_else(|| learn.same_as.clone())
        .or_else(known)
        .unwrap_or_default()
}

fn claimed(claimed: &Claimed) -> ClaimedView {
    ClaimedView {
        key: claimed.key.clone(),
        version: claimed.version,
        effect: match claimed.effect {
            ClaimEffect::Wrote => "wrote",
            ClaimEffect::Confirmed => "confirmed",
            ClaimEffect::Disputed(_) => "disputed",
        },
    }
}

/// The answer to a retraction.
pub fn retracted(taken: &Taken<'_>) -> RetractedView {
    let mut references = Vec::new();
    for event in taken.events {
        if let Event::MemoryRetracted(retracted) = event {
            references.extend(retracted.learnings.iter().cloned());
            references.extend(retracted.facts.iter().map(ToString::to_string));
            let claims = retracted.claims.iter();
            references.extend(claims.map(|rival| format!("{} {}", rival.key, rival.claim)));
        }
    }
    RetractedView {
        retracted: references,
        seq: taken.seq,
    }
}

/// The answer to a written note.
pub fn put_note(state: &State, key: &NoteKey, taken: &Taken<'_>) -> NotePutView {
    let put = taken.events.iter().find_map(|event| {
        if let Event::NotePut(put) = event {
            Some(put.expires_at)
        } else {
            None
        }
    });
    let seq = taken.seq_of(|event| matches!(event, Event::NotePut(_)));
    let known = state.notes.get(key);
    NotePutView {
        key: key.clone(),
        version: seq.unwrap_or(taken.seq),
        expires_at: put.unwrap_or_else(|| known.and_then(|note| note.expires_at)),
    }
}
