//! The history against a look at the whole log, over lives of the simulated swarm.

use proptest::prelude::*;

use super::*;
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::{
    CheckpointDeleted, EffectRequested, IdeaClaimed, IdeaLanded, RunEnded, RunStarted,
};
use crate::domain::ids::{AgentId, EffectId, IdeaId, RunId};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::testkit::sim::Sim;
use crate::domain::testkit::{agent, idea, oid, profile};
use crate::domain::usage::{Bill, MicroUsd, Spent, Usage};
use crate::view::{all_spent, spent_under_way};

fn fold(history: &mut History, log: &[(Timestamp, Event)]) {
    for (at, event) in log {
        history.fold(history.seq + 1, *at, event);
    }
}

/// The end of a run, by looking through the rest of the log.
fn end_of(log: &[(Timestamp, Event)], run: &RunId, from: usize) -> Option<u64> {
    let found = log
        .iter()
        .skip(from)
        .position(|(_, event)| matches!(event, Event::RunEnded(ended) if ended.run == *run))?;
    Some((from + found + 1) as u64)
}

fn bars_are_what_the_log_says(history: &History, log: &[(Timestamp, Event)]) {
    let mut wanted = Vec::new();
    for (index, (_, event)) in log.iter().enumerate() {
        let seq = index as u64 + 1;
        if let Event::EffectRequested(EffectRequested {
            effect: Effect::Run(asked),
            ..
        }) = event
            // It is for no idea and not for the target.
            && !matches!(asked.purpose, Purpose::Replay { .. })
        {
            wanted.push((seq, end_of(log, &asked.run, index)));
        }
    }
    let runs = history.spans.bars().filter(|bar| bar.work != Work::Attempt);
    let found: Vec<_> = runs
        .map(|bar| (bar.from_seq, bar.to.map(|(_, end)| end)))
        .collect();
    assert_eq!(found, wanted);
}

proptest! {
    #[test]
    fn the_history_is_what_a_look_at_the_whole_log_gives(
        list in prop::collection::vec(any::<u16>(), 20..400),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut sim = Sim::new(list);
        sim.live();
        let (log, state) = (&sim.log, &sim.state);
        let mut history = History::default();
        let cut = cut.index(log.len());
        fold(&mut history, &log[..cut]);
        // As when the page reads the log and then follows.
        let mut history = history.clone();
        fold(&mut history, &log[cut..]);

        let mut whole = History::default();
        fold(&mut whole, log);
        prop_assert_eq!(&history, &whole);
        prop_assert_eq!(history.seq, state.seq);
        bars_are_what_the_log_says(&history, log);
        let landed = log.iter().filter(|(_, event)| matches!(event, Event::IdeaLanded(_)));
        let marks = history.marks.all().iter().filter(|mark| mark.kind == MarkKind::Landed);
        prop_assert_eq!(marks.count(), landed.count());

        let mut spent = spent_under_way(state);
        for paid in history.costs.upto(state.seq) {
            spent.add_all(&paid.spent);
        }
        prop_assert_eq!(spent, all_spent(state));
    }
}

fn request(run: &RunId, agent: &AgentId) -> Event {
    Event::EffectRequested(EffectRequested {
        id: EffectId(1),
        effect: Effect::Run(effect::Run {
            run: run.clone(),
            purpose: Purpose::Iteration {
                agent: agent.clone(),
                iteration: 1,
                profile: profile("ed"),
            },
            timeout_ms: 1,
        }),
    })
}

fn ended(run: &RunId, model: &str) -> Event {
    Event::RunEnded(RunEnded {
        run: run.clone(),
        end: RunEnd {
            usage: Some(Usage {
                model: Some(model.to_owned()),
                ..Usage::default()
            }),
            bill: Some(Bill {
                cost: Some(MicroUsd(10)),
                ..Bill::default()
            }),
            ..RunEnd::new(RunEndKind::Exited { code: 0 })
        },
    })
}

fn claimed(agent: &AgentId, id: &IdeaId) -> Event {
    Event::IdeaClaimed(IdeaClaimed {
        id: id.clone(),
        agent: agent.clone(),
        attempt: 1,
        profile: profile("ed"),
        branch: "b".into(),
        worktree: "w".into(),
    })
}

#[test]
fn it_stays_bounded_and_its_sums_exact_whatever_the_length_of_the_log() {
    let mut history = History::default();
    let count = spans::MOST + spans::MOST / 2;
    let mut at = Timestamp::from_millis(1_767_225_600_000);
    let mut next = |history: &mut History, event: &Event| {
        at = at.plus_millis(90_000);
        history.fold(history.seq + 1, at, event);
    };
    next(&mut history, &claimed(&agent(1), &idea(1)));
    for number in 0..count {
        let run = RunId::numbered(number as u64, "x");
        next(&mut history, &request(&run, &agent(1)));
        let started = RunStarted {
            run: run.clone(),
            pid: 1,
            adapter: None,
            resumed: false,
        };
        next(&mut history, &Event::RunStarted(started));
        let model = format!("{}{}", "<b>".repeat(number % 300), number % 1_000);
        next(&mut history, &ended(&run, &model));
        let landed = IdeaLanded {
            id: idea(1),
            commit: oid(1),
            checked: false,
        };
        next(&mut history, &Event::IdeaLanded(landed));
    }
    assert!(history.spans.bars().count() <= spans::MOST);
    assert!(history.spans.is_cut());
    assert!(history.marks.all().len() <= marks::MOST);
    let paid = history.costs.upto(u64::MAX);
    assert!(paid.len() <= costs::MOST, "{}", paid.len());
    assert!(paid.iter().all(|one| one.model.chars().count() <= 80));
    let mut spent = Spent::default();
    for one in paid {
        spent.add_all(&one.spent);
    }
    assert_eq!(spent.cost, MicroUsd(10 * count as u64));
    assert_eq!(spent.runs, count as u64);
    assert!(paid.is_sorted_by_key(|one| one.seq));
    assert!(history.stories.all().len() <= stories::MOST);
}

#[test]
fn an_end_that_is_written_again_after_a_kill_is_paid_once() {
    let mut history = History::default();
    let at = Timestamp::from_millis(1_000);
    let run = RunId::numbered(1, "x");
    let events = [claimed(&agent(1), &idea(1)), request(&run, &agent(1))];
    for event in events.iter().chain([&ended(&run, "m"), &ended(&run, "m")]) {
        history.fold(history.seq + 1, at, event);
    }
    let paid = history.costs.upto(u64::MAX);
    assert_eq!(paid.len(), 1, "{paid:?}");
    assert_eq!(paid[0].spent.cost, MicroUsd(10));
}

#[test]
fn a_run_under_way_is_an_open_bar_of_its_agents_lane() {
    let mut history = History::default();
    let at = Timestamp::from_millis(1_000);
    let mut next = |event: &Event| history.fold(history.seq + 1, at, event);
    let run = RunId::numbered(1, "x");
    next(&claimed(&agent(1), &idea(1)));
    next(&Event::CheckpointDeleted(CheckpointDeleted {
        name: "one".parse().unwrap(),
    }));
    next(&request(&run, &agent(1)));
    next(&Event::RunStarted(RunStarted {
        run: run.clone(),
        pid: 1,
        adapter: None,
        resumed: false,
    }));
    let lanes = history.spans.lanes(LaneBy::Agent, (at, at), history.seq);
    assert_eq!(lanes.len(), 1);
    assert!(lanes[0].is_open(history.seq));
    let agent = agent(1);
    assert_eq!(lanes[0].id, Some(agent.as_str()));
    let works: Vec<Work> = lanes[0].bars.iter().map(|bar| bar.work).collect();
    assert_eq!(works, [Work::Attempt, Work::Iteration]);
    assert_eq!(lanes[0].bars[1].idea, Some(idea(1)));
    // Before the run began, its lane was open by the attempt alone.
    assert!(!lanes[0].bars[1].is_open(2) && lanes[0].bars[0].is_open(2));
}
