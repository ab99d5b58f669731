//! An event changes only fragments that it touches, and what it touches changes.

use std::collections::{BTreeMap, BTreeSet};

use super::{World, life};
use crate::domain::event::Event;
use crate::domain::testkit::scenario::name_of;
use crate::domain::time::Timestamp;
use crate::view::describe::KINDS;
use crate::web::touches::{Touched, touches};

/// Events of a kind that are looked at, each in another life.
const OF_A_KIND: usize = 10;

/// Kinds that show nothing by themselves but in the list of events: another event follows that
/// does.
const STEPS: &[&str] = &[
    "accountTried",
    "attemptSealed",
    "baselinePassed",
    "baselineReady",
    "baselineStarted",
    "conflictLaidOut",
    "conflictSettled",
    "effectFinished",
    "endingAsked",
    "gatePassed",
    "hookAsked",
    "hookCutOff",
    "hookFinished",
    "hookOwed",
    "hookStarted",
    "iterationJudged",
    "memoryShown",
    "mergeBuilt",
    "mergeConflicted",
    "needArose",
    "needSettled",
    "nightBegan",
    "nightEnded",
    "noticeDelivered",
    "noticeFailed",
    "rollbackPlanned",
    "roomAwaited",
    "setupPassed",
    "signalSeen",
    "taskSet",
    "verifyReady",
    "verifyStarted",
    "workRescued",
    "workSaved",
    "worktreeReady",
];

type Shown = BTreeMap<(String, String), (Touched, String)>;

async fn shown(world: &World, clock: Timestamp) -> Shown {
    let mut all = Shown::new();
    for address in world.addresses() {
        for fragment in world.fragments(&address, clock).await {
            let key = (address.clone(), fragment.id);
            all.insert(key, (fragment.touched, fragment.markup));
        }
    }
    all
}

/// The fragments that both have, with different content.
fn changed<'s>(before: &'s Shown, after: &'s Shown) -> impl Iterator<Item = (&'s str, Touched)> {
    after.iter().filter_map(|(key, (touched, markup))| {
        let (_, old) = before.get(key)?;
        (old != markup).then_some((key.1.as_str(), *touched))
    })
}

/// Its kind; of a request also what is asked for, of a signal what it says.
fn name(event: &Event) -> String {
    let kind = event.kind();
    if let Event::EffectRequested(asked) = event {
        format!("{kind} {}", name_of(&asked.effect))
    } else if let Event::SignalSeen(seen) = event {
        format!("{kind} {:?}", seen.signal)
    } else {
        kind.to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_changes_fragments_and_only_those_that_it_touches() {
    let mut looked_at: BTreeMap<String, usize> = BTreeMap::new();
    let mut showing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut missed: BTreeSet<String> = BTreeSet::new();
    for seed in 1..=16 {
        let log = life(seed, 600);
        let clock = log.last().unwrap().0.plus_millis(3_600_000);
        let world = World::of(&log);
        let mut known: Option<(u64, Shown)> = None;
        let mut in_this_life = BTreeSet::new();
        for (seq, (_, event)) in (1..).zip(&log) {
            let count = looked_at.entry(name(event)).or_default();
            if *count >= OF_A_KIND || !in_this_life.insert(name(event)) {
                continue;
            }
            *count += 1;
            let before = match known.take() {
                Some((at, shown)) if at == seq - 1 => shown,
                _ => {
                    world.go_to(seq - 1).await;
                    shown(&world, clock).await
                }
            };
            world.go_to(seq).await;
            let after = shown(&world, clock).await;
            for (id, kinds) in changed(&before, &after) {
                if !touches(event).meets(kinds) {
                    missed.insert(format!("{} changes {id} (seed {seed})", event.kind()));
                } else if kinds != Touched::TIME {
                    showing
                        .entry(name(event))
                        .or_default()
                        .insert(id.to_owned());
                }
            }
            known = Some((seq, after));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    let kinds: BTreeSet<&str> = looked_at.keys().map(|name| kind(name)).collect();
    let shown: BTreeSet<&str> = showing.keys().map(|name| kind(name)).collect();
    eprintln!(
        "{} of {} kinds, of which {} show",
        kinds.len(),
        KINDS.len(),
        shown.len()
    );
    assert!(kinds.len() > 75, "{kinds:?}");
    let silent: Vec<_> = kinds
        .difference(&shown)
        .filter(|one| !STEPS.contains(one))
        .collect();
    assert!(silent.is_empty(), "nothing shows {silent:?}");
    eprintln!(
        "steps that do show: {:?}",
        STEPS
            .iter()
            .filter(|one| shown.contains(**one))
            .collect::<Vec<_>>()
    );
}

fn kind(name: &str) -> &str {
    name.split(' ').next().unwrap()
}
