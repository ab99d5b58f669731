//! What was used, as far as the lines of a damaged log that can still be read tell it.
//!
//! Invariant: a run counts once, however often the log has its end, as in the state itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::event::{Event, IdeaClaimed, RunEnded};
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::usage::Spent;
use crate::journal::Record;

/// See the module.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Used {
    pub(super) by_day: BTreeMap<String, Spent>,
    /// Of the runs of which it can be told whose they were.
    pub(super) by_idea: BTreeMap<IdeaId, Spent>,
}

/// Of these records.
pub(super) fn told_by(records: &[Record<Event>]) -> Used {
    let claimed = |record: &Record<Event>| match &record.event {
        Event::IdeaClaimed(IdeaClaimed { id, agent, .. }) => Some((agent.clone(), id.clone())),
        _ => None,
    };
    let ideas: BTreeMap<AgentId, IdeaId> = records.iter().filter_map(claimed).collect();
    let mut used = Used::default();
    let mut counted = BTreeSet::new();
    for record in records {
        let Event::RunEnded(RunEnded { run, end }) = &record.event else {
            continue;
        };
        let Some(bill) = end.bill.as_ref().filter(|_| counted.insert(run)) else {
            continue;
        };
        let day = used.by_day.entry(record.ts.day()).or_default();
        day.add(bill);
        if let Some(idea) = agent_of(run).and_then(|agent| ideas.get(&agent)) {
            used.by_idea.entry(idea.clone()).or_default().add(bill);
        }
    }
    used
}

/// Whose run `r0042-ed-001-i2` was.
fn agent_of(run: &RunId) -> Option<AgentId> {
    let (_, rest) = run.as_str().split_once('-')?;
    let (agent, _) = rest.rsplit_once("-i")?;
    agent.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::observation::{RunEnd, RunEndKind};
    use crate::domain::time::Timestamp;
    use crate::domain::usage::{Bill, MicroUsd};

    fn ended(seq: u64, run: &str, cost: Option<u64>, at: Timestamp) -> Record<Event> {
        let bill = cost.map(|cost| Bill {
            cost: Some(MicroUsd(cost)),
            ..Bill::default()
        });
        let end = RunEnd {
            bill,
            ..RunEnd::new(RunEndKind::Stopped)
        };
        let run = run.parse().unwrap();
        record(seq, at, Event::RunEnded(RunEnded { run, end }))
    }

    fn record(seq: u64, ts: Timestamp, event: Event) -> Record<Event> {
        let dur = seq - 1;
        Record {
            seq,
            dur,
            ts,
            event,
        }
    }

    #[test]
    fn each_run_counts_once_for_its_day_and_for_its_idea_where_that_is_known() {
        let day = Timestamp::from_millis(1_790_000_000_000);
        let next = day.plus_millis(86_400_000);
        let claimed = Event::IdeaClaimed(IdeaClaimed {
            id: "idea-007".parse().unwrap(),
            agent: "ed-003".parse().unwrap(),
            attempt: 1,
            profile: "ed".parse().unwrap(),
            branch: "agent/ed-003/idea-007".into(),
            worktree: "ed-003-idea-007".into(),
        });
        let used = told_by(&[
            ended(5, "r0001-ed-002-i1", Some(1), day),
            record(6, day, claimed),
            ended(7, "r0002-ed-003-i1", Some(10), day),
            // As after a log that was torn in the middle of the decision.
            ended(8, "r0002-ed-003-i1", Some(10), day),
            ended(9, "r0003-ed-003-q1", None, day),
            ended(10, "r0004-ed-003-i2", Some(100), next),
        ]);
        let days: Vec<(&str, u64)> = used
            .by_day
            .iter()
            .map(|(day, used)| (day.as_str(), used.cost.0))
            .collect();
        assert_eq!(days, [("2026-09-21", 11), ("2026-09-22", 100)]);
        let ideas: Vec<(&str, u64, u64)> = used
            .by_idea
            .iter()
            .map(|(idea, used)| (idea.as_str(), used.cost.0, used.runs))
            .collect();
        assert_eq!(ideas, [("idea-007", 110, 2)]);
    }
}
