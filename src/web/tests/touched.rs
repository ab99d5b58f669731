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

/// Lives that are looked at in any case.
const LIVES: u64 = 16;

/// More lives follow until every kind that happened has shown: what is rare, such as a hook that
/// times out, may happen first where nobody can see it.
const LIVES_AT_MOST: u64 = 200;

/// The fragment that whatever comes first on a new day changes.
const OF_TODAY: &str = "f-cost";

/// Kinds that show nothing by themselves but in the list of events: another event follows that
/// does.
const STEPS: &[&str] = &[
    "accountTried",
    "attemptSealed",
    "baselineDoubted",
    "baselinePassed",
    "baselineReady",
    "baselineStarted",
    "commandTaken",
    "conflictLaidOut",
    "conflictSettled",
    "effectFinished",
    "endingAsked",
    "gateDoubted",
    "gateExcused",
    "gatePassed",
    "hookAsked",
    "hookCutOff",
    "hookFinished",
    "hookOwed",
    "hookStarted",
    "iterationJudged",
    "memoryRead",
    "memoryShown",
    "mergeBuilt",
    "mergeConflicted",
    "needArose",
    "needSettled",
    "nightBegan",
    "nightEnded",
    "noticeDelivered",
    "noticeFailed",
    "profileTried",
    "replayAsked",
    "replayJudged",
    // It counts the tries. What shows, the merge that waits for a person or the agent that goes
    // on, is told by the events before it.
    "resolverFailed",
    "rollbackPlanned",
    "roomAwaited",
    "setupPassed",
    "signalSeen",
    "synthesised",
    "taskSet",
    "verifyDoubted",
    "verifyReady",
    "verifyStarted",
    "workRescued",
    "workSaved",
    "worktreeLent",
    // Only the second try in a row needs a person.
    "worktreesFreed",
    "worktreesHeld",
    "worktreeReady",
    "worktreeStays",
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
    for seed in 1..=LIVES_AT_MOST {
        let silent: BTreeSet<String> = silent(&looked_at, &showing);
        if seed > LIVES && silent.is_empty() {
            break;
        }
        let log = life(seed, 600);
        let clock = log.last().unwrap().0.plus_millis(3_600_000);
        let world = World::of(&log);
        let mut known: Option<(u64, Shown)> = None;
        let mut in_this_life = BTreeSet::new();
        let mut today = None;
        for (seq, (ts, event)) in (1..).zip(&log) {
            // A stream draws what is of today with the durations.
            let is_new_day = today.replace(ts.day()) != Some(ts.day());
            if seed > LIVES && !silent.contains(event.kind()) {
                continue;
            }
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
                let is_touched = touches(event).meets(kinds);
                let is_of_today = is_new_day && id == OF_TODAY;
                if !is_touched && !is_of_today {
                    missed.insert(format!("{} changes {id} (seed {seed})", event.kind()));
                } else if is_touched && kinds != Touched::TIME {
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
    let silent = silent(&looked_at, &showing);
    assert!(silent.is_empty(), "nothing shows {silent:?}");
    eprintln!(
        "steps that do show: {:?}",
        STEPS
            .iter()
            .filter(|one| shown.contains(**one))
            .collect::<Vec<_>>()
    );
}

/// The kinds that were looked at and should show but in no life did.
fn silent(
    looked_at: &BTreeMap<String, usize>,
    showing: &BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<String> {
    let shown: BTreeSet<&str> = showing.keys().map(|name| kind(name)).collect();
    let kinds = looked_at.keys().map(|name| kind(name));
    kinds
        .filter(|one| !shown.contains(one) && !STEPS.contains(one))
        .map(str::to_owned)
        .collect()
}

fn kind(name: &str) -> &str {
    name.split(' ').next().unwrap()
}
