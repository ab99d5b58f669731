//! Lift and use: how attempts fare that are shown the memory, and what they do with it.
//!
//! Invariant: an attempt counts when it has ended by itself. One that a person or the daemon ended
//! says nothing about the memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{percentile, share};
use crate::domain::event::{AttemptEnded, ClaimEffect, Event, MemoryRead, MemoryShown};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::memory::Evidence;
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::usage::MicroUsd;

/// With fewer attempts on one side, the lift says nothing.
pub const TOO_FEW: u64 = 20;

/// Whether attempts that are shown the memory do better than those from which it is held back
/// (`memory.holdout`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryLift)]
pub struct LiftView {
    /// Attempts that were shown something.
    pub shown: ArmView,
    /// Attempts that were shown nothing on purpose although there was something.
    pub held: ArmView,
    /// Share of the shown that are done, minus share of the held; null if either has none.
    #[schema(required)]
    pub lift: Option<f64>,
    /// Whether either side has fewer than 20 attempts.
    pub too_few: bool,
}

/// Attempts on one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryArm)]
pub struct ArmView {
    /// Attempts that ended by themselves.
    pub attempts: u64,
    /// Those whose idea is done.
    pub done: u64,
    /// `done / attempts`; null without attempts.
    #[schema(required)]
    pub rate: Option<f64>,
    /// Median of their iterations.
    #[schema(required)]
    pub median_iterations: Option<u32>,
    /// Median of their costs in dollars, of those with a known cost.
    #[schema(required)]
    pub median_usd: Option<f64>,
}

/// What agents use of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MemoryUse)]
pub struct UseView {
    /// Facts and learnings that attempts were shown.
    pub shown: u64,
    /// Those that the same attempt then looked up, confirmed or disputed.
    pub used: u64,
    /// `used / shown`; null if nothing was shown.
    #[schema(required)]
    pub rate: Option<f64>,
    /// How often agents read the board, a fact or a search.
    pub board_reads: u64,
    /// How often they read the log.
    pub log_reads: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Shown,
    Held,
}

/// A live attempt.
#[derive(Debug, Clone, Default)]
struct Attempt {
    iterations: u32,
    cost: MicroUsd,
    /// Whether any of its runs told a cost.
    has_cost: bool,
    side: Option<Side>,
    /// Whether it was on both sides, because the configuration changed.
    is_mixed: bool,
    /// Whether its prompts show nothing on purpose.
    held: bool,
    /// What it was shown.
    items: BTreeMap<String, Item>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Item {
    /// Whether its present conversation was shown it.
    is_known: bool,
    is_used: bool,
}

/// The attempts on one side that have ended.
#[derive(Debug, Clone, Default)]
struct Arm {
    done: u64,
    iterations: Vec<u32>,
    costs: Vec<MicroUsd>,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempts {
    live: BTreeMap<AgentId, Attempt>,
    /// The iterations under way.
    runs: BTreeMap<RunId, AgentId>,
    shown: Arm,
    held: Arm,
    items: u64,
    used: u64,
    board_reads: u64,
    log_reads: u64,
}

impl Attempts {
    /// `is_any`: whether there is anything to know yet.
    pub(super) fn fold(&mut self, event: &Event, is_any: bool) {
        if let Event::IterationStarted(started) = event {
            self.runs.insert(started.run.clone(), started.agent.clone());
            let attempt = self.live.entry(started.agent.clone()).or_default();
            attempt.iterations += 1;
            if attempt.held && is_any {
                attempt.join(Side::Held);
            }
        } else if let Event::IterationExcused(excused) = event {
            if let Some(attempt) = self.live.get_mut(&excused.agent) {
                attempt.iterations = attempt.iterations.saturating_sub(1);
            }
        } else if let Event::RunEnded(ended) = event {
            let cost = ended.end.bill.as_ref().and_then(|bill| bill.cost);
            self.pay(&ended.run, cost);
        } else if let Event::MemoryShown(shown) = event {
            self.show(shown, is_any);
        } else if let Event::MemoryRead(read) = event {
            self.read(read);
        } else if let Event::FactConfirmed(confirmed) = event {
            self.use_by(&confirmed.evidence, confirmed.key.as_str());
        } else if let Event::FactDisputed(disputed) = event {
            self.use_by(&disputed.evidence, disputed.key.as_str());
        } else if let Event::Learned(learned) = event
            && let Some(claim) = &learned.claim
            && matches!(claim.effect, ClaimEffect::Disputed(_))
        {
            self.use_by(&learned.evidence, claim.key.as_str());
        } else if let Event::AttemptEnded(ended) = event {
            self.end(ended);
        }
    }

    /// Whether the agent's conversation was shown this.
    pub(super) fn is_shown(&self, agent: &AgentId, reference: &str) -> bool {
        let attempt = self.live.get(agent);
        let item = attempt.and_then(|attempt| attempt.items.get(reference));
        item.is_some_and(|item| item.is_known)
    }

    fn pay(&mut self, run: &RunId, cost: Option<MicroUsd>) {
        let agent = self.runs.remove(run);
        let attempt = agent.and_then(|agent| self.live.get_mut(&agent));
        if let (Some(attempt), Some(cost)) = (attempt, cost) {
            attempt.cost = attempt.cost.plus(cost);
            attempt.has_cost = true;
        }
    }

    fn show(&mut self, shown: &MemoryShown, is_any: bool) {
        let attempt = self.live.entry(shown.agent.clone()).or_default();
        attempt.held = shown.held;
        if shown.held {
            if is_any {
                attempt.join(Side::Held);
            }
            return;
        }
        if shown.fresh {
            attempt
                .items
                .values_mut()
                .for_each(|item| item.is_known = false);
        }
        for item in &shown.items {
            // Version 0 says that it was taken back.
            let is_known = item.version > 0;
            if let Some(known) = attempt.items.get_mut(&item.reference) {
                known.is_known = is_known;
            } else if is_known {
                let new = Item {
                    is_known,
                    is_used: false,
                };
                attempt.items.insert(item.reference.clone(), new);
                self.items += 1;
            }
        }
        if !attempt.items.is_empty() {
            attempt.join(Side::Shown);
        }
    }

    fn read(&mut self, read: &MemoryRead) {
        let counts = &read.by_tool;
        self.board_reads +=
            u64::from(counts.board) + u64::from(counts.fact) + u64::from(counts.search);
        self.log_reads += u64::from(counts.log);
        for item in &read.items {
            self.use_item(&read.agent, &item.reference);
        }
    }

    fn use_by(&mut self, evidence: &Evidence, reference: &str) {
        if let Some(agent) = evidence.author.agent() {
            self.use_item(agent, reference);
        }
    }

    fn use_item(&mut self, agent: &AgentId, reference: &str) {
        let attempt = self.live.get_mut(agent);
        let item = attempt.and_then(|attempt| attempt.items.get_mut(reference));
        if let Some(item) = item
            && !std::mem::replace(&mut item.is_used, true)
        {
            self.used += 1;
        }
    }

    fn end(&mut self, ended: &AttemptEnded) {
        self.runs.retain(|_, agent| *agent != ended.agent);
        let Some(attempt) = self.live.remove(&ended.agent) else {
            return;
        };
        let arm = match attempt.side {
            Some(_) if attempt.is_mixed || !is_by_itself(ended.end) => return,
            Some(Side::Shown) => &mut self.shown,
            Some(Side::Held) => &mut self.held,
            None => return,
        };
        arm.done += u64::from(ended.status == IdeaStatus::Done);
        arm.iterations.push(attempt.iterations);
        if attempt.has_cost {
            arm.costs.push(attempt.cost);
        }
    }

    pub(super) fn lift(&self) -> LiftView {
        let (shown, held) = (self.shown.view(), self.held.view());
        let rates = shown.rate.zip(held.rate);
        LiftView {
            lift: rates.map(|(shown, held)| shown - held),
            too_few: shown.attempts.min(held.attempts) < TOO_FEW,
            shown,
            held,
        }
    }

    pub(super) fn used(&self) -> UseView {
        UseView {
            shown: self.items,
            used: self.used,
            rate: share(self.used, self.items),
            board_reads: self.board_reads,
            log_reads: self.log_reads,
        }
    }
}

impl Attempt {
    fn join(&mut self, side: Side) {
        self.is_mixed |= self.side.is_some_and(|known| known != side);
        self.side = Some(side);
    }
}

impl Arm {
    fn view(&self) -> ArmView {
        let attempts = self.iterations.len() as u64;
        let (mut iterations, mut costs) = (self.iterations.clone(), self.costs.clone());
        iterations.sort_unstable();
        costs.sort_unstable();
        ArmView {
            attempts,
            done: self.done,
            rate: share(self.done, attempts),
            median_iterations: percentile(&iterations, 50),
            median_usd: percentile(&costs, 50).map(MicroUsd::dollars),
        }
    }
}

/// Whether neither a person nor the daemon ended it.
fn is_by_itself(end: AttemptEnd) -> bool {
    match end {
        AttemptEnd::Merged
        | AttemptEnd::NothingToMerge
        | AttemptEnd::Blocked
        | AttemptEnd::Failed
        | AttemptEnd::TimedOut
        | AttemptEnd::Crashed => true,
        AttemptEnd::Stopped
        | AttemptEnd::Interrupted
        | AttemptEnd::Cancelled
        | AttemptEnd::Released
        | AttemptEnd::Redirected => false,
    }
}
