//! What holds whatever happens: thousands of simulated lives, with failures, people and crashes in
//! any order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::domain::effect::{self, Effect};
use crate::domain::event::{
    CheckpointMade, EffectFinished, EffectRequested, Event, IdeaClaimed, IdeaLanded, RolledBack,
};
use crate::domain::ids::{CheckpointName, IdeaId};
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::testkit::{people, sim::Sim};

/// A number that must be new.
fn must_be_new<T: Ord + std::fmt::Debug>(seen: &mut BTreeSet<T>, number: T) {
    assert!(!seen.contains(&number), "{number:?} is used twice");
    seen.insert(number);
}

/// What the log as a whole must not hold.
fn check_log(sim: &Sim) {
    let (mut effects, mut agents, mut runs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut finished = BTreeSet::new();
    let mut landed: BTreeSet<IdeaId> = BTreeSet::new();
    let mut checkpoints: BTreeMap<CheckpointName, BTreeSet<IdeaId>> = BTreeMap::new();
    for (_, event) in &sim.log {
        match event {
            Event::EffectRequested(EffectRequested { id, effect }) => {
                must_be_new(&mut effects, *id);
                if let Effect::Run(effect::Run { run, .. }) = effect {
                    must_be_new(&mut runs, run.clone());
                }
            }
            Event::EffectFinished(EffectFinished { id, .. }) => must_be_new(&mut finished, *id),
            Event::IdeaClaimed(IdeaClaimed { agent, .. }) => {
                must_be_new(&mut agents, agent.clone());
            }
            // Once, unless a rollback has taken it back since.
            Event::IdeaLanded(IdeaLanded { id, .. }) => must_be_new(&mut landed, id.clone()),
            Event::CheckpointMade(CheckpointMade { name, .. }) => {
                checkpoints.insert(name.clone(), landed.clone());
            }
            Event::RolledBack(RolledBack { to, .. }) => landed = checkpoints[to].clone(),
            _ => {}
        }
    }
    assert!(finished.is_subset(&effects));
    let in_log: BTreeSet<_> = landed.iter().collect();
    let in_world: BTreeSet<_> = sim.world.landed().collect();
    assert_eq!(in_log, in_world, "the log and the target differ");
}

/// What is done is done for a reason, and the target has it.
fn check_done(sim: &Sim) {
    sim.world.agrees(&sim.state);
    sim.world.programs.agree(&sim.state);
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

/// A plain generator of choices.
fn choices(seed: u64) -> Vec<u16> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        u16::try_from(x >> 48).unwrap()
    };
    (0..500).map(|_| next()).collect()
}

/// A worktree that was another idea's.
fn is_handed_over(event: &Event) -> bool {
    let Event::EffectRequested(EffectRequested { effect, .. }) = event else {
        return false;
    };
    match effect {
        Effect::PrepareWorktree(effect::PrepareWorktree {
            idea,
            from: Some(from),
            ..
        }) => from.saved.is_none() && !from.branch.ends_with(idea.as_str()),
        _ => false,
    }
}

#[test]
fn the_simulated_lives_hold_checkpoints_and_rollbacks_of_every_kind() {
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 1..=250 {
        let mut sim = Sim::new(choices(seed));
        sim.live();
        sim.attend_to();
        for (_, event) in &sim.log {
            *found.entry(event.kind()).or_default() += 1;
        }
    }
    for kind in [
        "checkpointMade",
        "checkpointDeleted",
        "rollbackBegun",
        "rollbackAbandoned",
        "rolledBack",
    ] {
        assert!(
            found.get(kind).is_some_and(|times| *times > 50),
            "{found:?}"
        );
    }
}

#[test]
fn lives_with_many_interventions_hold_redirects_of_every_kind() {
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 1..=200 {
        let mut sim = Sim::with_people(choices(seed), people::some_intervention);
        sim.live();
        sim.attend_to();
        for (_, event) in &sim.log {
            *found.entry(event.kind()).or_default() += 1;
            if is_handed_over(event) {
                *found.entry("handed over").or_default() += 1;
            }
        }
    }
    for kind in ["agentRedirected", "workSaved", "handed over"] {
        assert!(
            found.get(kind).is_some_and(|times| *times > 10),
            "{kind}: {found:?}"
        );
    }
}

#[test]
fn the_simulated_lives_hold_limits_conversations_and_budgets_of_every_kind() {
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 1..=1_000 {
        let mut sim = Sim::new(choices(seed));
        sim.live();
        sim.attend_to();
        for (_, event) in &sim.log {
            *found.entry(event.kind()).or_default() += 1;
        }
    }
    for kind in [
        "accountHeld",
        "accountTried",
        "accountFreed",
        "profileHeld",
        "profileTried",
        "profileFreed",
        "iterationExcused",
        "sessionBegan",
        "sessionDropped",
        "usageSeen",
        "budgetReached",
        "agentImported",
        "replayJudged",
    ] {
        assert!(
            found.get(kind).is_some_and(|times| *times > 1),
            "{kind}: {found:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: sequences(),
        // A life that fails is to be named, not to look like a test that hangs.
        max_shrink_time: 60_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_simulated_life_comes_to_rest_and_lands_once(life in lives()) {
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

    #[test]
    fn every_life_with_interventions_comes_to_rest_and_lands_once(life in lives()) {
        let mut sim = Sim::with_people(life.0, people::some_intervention);
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
