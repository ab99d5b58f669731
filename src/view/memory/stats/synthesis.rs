//! Synthesis: what the summarising runs wrote, and how much of it was soon taken back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::share;
use crate::domain::event::{ClaimEffect, Event};
use crate::domain::memory::FactKey;
use crate::domain::request::Author;
use crate::domain::time::Timestamp;

/// What is retracted within this time was written too soon: 14 days, in milliseconds.
const SOON: i64 = 14 * 24 * 3_600_000;

/// What the summarising runs wrote.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemorySynthesis)]
pub struct SynthesisView {
    /// Changes to facts and learnings.
    pub accepted: u64,
    /// Values of facts among them.
    pub created: u64,
    /// Those that were taken back within 14 days.
    pub retracted_soon: u64,
    /// `retractedSoon / created`; null if none was created.
    #[schema(required)]
    pub retracted_soon_rate: Option<f64>,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Summarised {
    accepted: u64,
    created: u64,
    retracted_soon: u64,
    /// Facts whose value is of the synthesis, and since when.
    standing: BTreeMap<FactKey, Timestamp>,
}

impl Summarised {
    pub(super) fn fold(&mut self, at: Timestamp, event: &Event) {
        if let Event::FactWritten(written) = event {
            self.write(at, &written.evidence.author, &written.key);
        } else if let Event::FactConfirmed(confirmed) = event {
            self.accept(&confirmed.evidence.author);
        } else if let Event::FactDisputed(disputed) = event {
            self.accept(&disputed.evidence.author);
        } else if let Event::Learned(learned) = event {
            let author = &learned.evidence.author;
            match &learned.claim {
                Some(claim) if claim.effect == ClaimEffect::Wrote => {
                    self.write(at, author, &claim.key);
                }
                Some(_) | None => {
                    self.accept(author);
                }
            }
        } else if let Event::MemoryRetracted(retracted) = event {
            for key in &retracted.facts {
                let since = self.standing.remove(key);
                let is_soon = since.is_some_and(|since| at.since(since) <= SOON);
                self.retracted_soon += u64::from(is_soon);
            }
        }
    }

    /// Whether it is the synthesis' own.
    fn accept(&mut self, by: &Author) -> bool {
        let is_own = matches!(by, Author::Synthesis { .. });
        self.accepted += u64::from(is_own);
        is_own
    }

    fn write(&mut self, at: Timestamp, by: &Author, key: &FactKey) {
        if self.accept(by) {
            self.created += 1;
            self.standing.insert(key.clone(), at);
        } else {
            self.standing.remove(key);
        }
    }

    pub(super) fn view(&self) -> SynthesisView {
        SynthesisView {
            accepted: self.accepted,
            created: self.created,
            retracted_soon: self.retracted_soon,
            retracted_soon_rate: share(self.retracted_soon, self.created),
        }
    }
}
