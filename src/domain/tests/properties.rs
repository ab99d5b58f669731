//! What holds whatever happens: thousands of simulated lives, with failures, people and crashes in any order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::domain::effect::Effect;
use crate::domain::event::Event;
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::testkit::sim::Sim;

/// A number that must be new.
fn must_be_new<T: Ord + std::fmt::Debug>(seen: &mut BTreeSet<T>, number: T) {
    assert!(!seen.contains(&number), "{number:?} is used twice");
    seen.insert(number);
}

/// What the log as a whole must not hold.
fn check_log(sim: &Sim) {
    let (mut effects, mut agents, mut runs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut finished = BTreeSet::new();
    let mut landed: BTreeMap<_, u32> = BTreeMap::new();
    for (_, event) in &sim.log {
        match event {
            Event::EffectRequested { id, effect } => {
                must_be_new(&mut effects, *id);
                if let Effect::Run { run, .. } = effect {
                    must_be_new(&mut runs, run.clone());
                }
            }
            Event::EffectFinished { id, .. } => must_be_new(&mut finished, *id),
            Event::IdeaClaimed { agent, .. } => must_be_new(&mut agents, agent.clone()),
            Event::IdeaLanded { id, .. } => *landed.entry(id.clone()).or_default() += 1,
            _ => {}
        }
    }
    assert!(landed.values().all(|times| *times == 1), "{landed:?}");
    assert!(finished.is_subset(&effects));
    let in_log: BTreeSet<_> = landed.keys().collect();
    let in_world: BTreeSet<_> = sim.world.landed().collect();
    assert_eq!(in_log, in_world, "the log and the target differ");
}

/// What is done is done for a reason.
fn check_done(sim: &Sim) {
    for (id, idea) in &sim.state.ideas {
        if idea.status != IdeaStatus::Done {
            continue;
        }
        let empty = sim
            .state
            .ended
            .values()
            .any(|ended| ended.idea == *id && ended.end == AttemptEnd::NothingToMerge);
        assert!(
            idea.commit.is_some() || empty,
            "{id} is done without a landing"
        );
    }
}

/// Shown on one line.
#[derive(Clone)]
struct Life(Vec<u16>);

impl std::fmt::Debug for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// `SWARM_SEQUENCES` asks for more.
fn sequences() -> u32 {
    std::env::var("SWARM_SEQUENCES").map_or(10_000, |text| text.parse().unwrap())
}

fn lives() -> impl Strategy<Value = Life> {
    // Long lives and short ones; a short one is easier to understand when it fails.
    prop_oneof![
        prop::collection::vec(any::<u16>(), 0..200),
        prop::collection::vec(any::<u16>(), 200..700),
    ]
    .prop_map(Life)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sequences()))]

    #[test]
    fn whatever_happens_all_comes_to_rest_and_lands_once(life in lives()) {
        let mut sim = Sim::new(life.0);
        sim.live();
        sim.settle();
        check_log(&sim);
        prop_assert_eq!(&sim.replay(), &sim.state);
        sim.attend_to();
        check_log(&sim);
        check_done(&sim);
        sim.drain();
    }
}
