//! Duplication and latency: what is said again, and how long until another agent sees it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::attempts::Attempts;
use super::{percentile, share};
use crate::domain::event::{ClaimEffect, Event, FactWritten, Learned, ShownItem};
use crate::domain::ids::AgentId;
use crate::domain::time::Timestamp;

/// How much is said again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryDuplication)]
pub struct DuplicationView {
    /// How often something was reported as a learning.
    pub mentions: u64,
    /// How many different things that were.
    pub distinct: u64,
    /// `1 - distinct / mentions`; null without mentions.
    #[schema(required)]
    pub rate: Option<f64>,
    /// Mentions of what another agent or a person had said before.
    pub across_agents: u64,
    /// `acrossAgents / mentions`; null without mentions.
    #[schema(required)]
    pub across_agents_rate: Option<f64>,
    /// Mentions of what the attempt had been shown.
    pub avoidable: u64,
    /// `avoidable / mentions`; null without mentions.
    #[schema(required)]
    pub avoidable_rate: Option<f64>,
}

/// How long a find takes to another agent: from its event until a prompt shows it to another agent,
/// or the end of another agent's iteration that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryLatency)]
pub struct LatencyView {
    /// Finds that another agent has seen.
    pub seen: u64,
    /// Finds that none has seen yet.
    pub unseen: u64,
    /// Milliseconds within which half of those seen were; null if none was.
    #[schema(required)]
    pub p50_ms: Option<i64>,
    /// The same for 90 %.
    #[schema(required)]
    pub p90_ms: Option<i64>,
    /// The same for 99 %.
    #[schema(required)]
    pub p99_ms: Option<i64>,
}

/// Who says something: an agent, or people and their programs.
type Speaker = Option<AgentId>;

/// Something new that no other agent has seen.
#[derive(Debug, Clone)]
struct Find {
    at: Timestamp,
    by: Speaker,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Sayings {
    mentions: u64,
    repeated: u64,
    across_agents: u64,
    avoidable: u64,
    /// Who has said each learning.
    said_by: BTreeMap<String, BTreeSet<Speaker>>,
    /// Facts that were written directly.
    writes: u64,
    /// By the event that made it.
    unseen: BTreeMap<u64, Find>,
    /// For each fact and learning its versions with unseen finds.
    waiting: BTreeMap<String, Vec<(u64, u64)>>,
    latencies: Vec<i64>,
}

impl Sayings {
    pub(super) fn fold(&mut self, seq: u64, at: Timestamp, event: &Event, attempts: &Attempts) {
        if let Event::Learned(learned) = event {
            self.learn(seq, at, learned, attempts);
        } else if let Event::FactWritten(written) = event {
            self.write(seq, at, written);
        } else if let Event::MemoryShown(shown) = event
            && !shown.held
        {
            self.see(at, &shown.agent, &shown.items);
        } else if let Event::MemoryRead(read) = event {
            self.see(at, &read.agent, &read.items);
        }
    }

    /// Whether there was ever anything to know.
    pub(super) fn is_any(&self) -> bool {
        self.mentions + self.writes > 0
    }

    fn learn(&mut self, seq: u64, at: Timestamp, learned: &Learned, attempts: &Attempts) {
        self.mentions += 1;
        let by: Speaker = learned.evidence.author.agent().cloned();
        let confirmed = learned.claim.as_ref();
        let confirmed = confirmed.filter(|claim| claim.effect == ClaimEffect::Confirmed);
        let before = self.said_by.entry(learned.id.clone()).or_default();
        let by_others = !before.is_empty() && !before.contains(&by);
        let is_repeated = confirmed.is_some() || !before.is_empty();
        before.insert(by.clone());
        if !is_repeated {
            self.find(seq, at, by, learned);
            return;
        }
        self.repeated += 1;
        // Nobody confirms what is only their own.
        self.across_agents += u64::from(by_others || confirmed.is_some());
        let is_shown = |agent: &AgentId| {
            let of_fact = confirmed.is_some_and(|it| attempts.is_shown(agent, it.key.as_str()));
            of_fact || attempts.is_shown(agent, &learned.id)
        };
        self.avoidable += u64::from(by.as_ref().is_some_and(is_shown));
    }

    fn find(&mut self, seq: u64, at: Timestamp, by: Speaker, learned: &Learned) {
        self.unseen.insert(seq, Find { at, by });
        self.wait(learned.id.clone(), 1, seq);
        if let Some(claim) = &learned.claim {
            self.wait(claim.key.to_string(), claim.version, seq);
        }
    }

    fn write(&mut self, seq: u64, at: Timestamp, written: &FactWritten) {
        self.writes += 1;
        let by = written.evidence.author.agent().cloned();
        self.unseen.insert(seq, Find { at, by });
        self.wait(written.key.to_string(), written.version, seq);
    }

    fn wait(&mut self, reference: String, version: u64, seq: u64) {
        self.waiting
            .entry(reference)
            .or_default()
            .push((version, seq));
    }

    /// An agent sees these versions, and with them all earlier ones.
    fn see(&mut self, at: Timestamp, agent: &AgentId, items: &[ShownItem]) {
        for item in items {
            let Some(waiting) = self.waiting.get_mut(&item.reference) else {
                continue;
            };
            let (unseen, latencies) = (&mut self.unseen, &mut self.latencies);
            waiting.retain(|(version, seq)| {
                let Some(find) = unseen.get(seq) else {
                    return false;
                };
                if *version > item.version || find.by.as_ref() == Some(agent) {
                    return true;
                }
                latencies.push(at.since(find.at).max(0));
                unseen.remove(seq);
                false
            });
            if waiting.is_empty() {
                self.waiting.remove(&item.reference);
            }
        }
    }

    pub(super) fn duplication(&self) -> DuplicationView {
        let rate = |count| share(count, self.mentions);
        DuplicationView {
            mentions: self.mentions,
            distinct: self.mentions - self.repeated,
            rate: rate(self.repeated),
            across_agents: self.across_agents,
            across_agents_rate: rate(self.across_agents),
            avoidable: self.avoidable,
            avoidable_rate: rate(self.avoidable),
        }
    }

    pub(super) fn latency(&self) -> LatencyView {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        LatencyView {
            seen: sorted.len() as u64,
            unseen: self.unseen.len() as u64,
            p50_ms: percentile(&sorted, 50),
            p90_ms: percentile(&sorted, 90),
            p99_ms: percentile(&sorted, 99),
        }
    }
}
