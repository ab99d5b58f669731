//! A swarm that moves: what its import keeps, what it drops, and what is refused after a departure.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::decide::{self, transfer};
use crate::domain::event::{Event, SwarmImported};
use crate::domain::evolve::evolve;
use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::operation::Command;
use crate::domain::rejection::Rejection;
use crate::domain::request::Author;
use crate::domain::state::checkpoint::{SavedWork, Unfinished, unfinished};
use crate::domain::state::transfer::{ImportIssue, ImportPurpose, ImportedWork};
use crate::domain::state::{Ending, Idea, IdeaStatus, State};
use crate::domain::testkit::sim::Sim;
use crate::domain::testkit::{START, Scenario, agent, idea, invariants, oid, people, profile};
use crate::domain::time::Timestamp;

const SHA256: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn work(unfinished: &Unfinished) -> ImportedWork {
    ImportedWork {
        saved: SavedWork {
            agent: unfinished.agent.clone(),
            base: unfinished.base.clone(),
            tip: oid(901),
            wip: Some(oid(902)),
            iterations: unfinished.iterations,
            last_run: unfinished.last_run.clone(),
            feedback: None,
            review: None,
            messages: Vec::new(),
        },
        conversation: true,
        prompt: None,
    }
}

/// An archive with all unfinished work of this state.
fn import_of(state: &State) -> transfer::Import {
    let works = unfinished(state);
    transfer::Import {
        manifest_sha256: SHA256.into(),
        swarm_id: SHA256.into(),
        purpose: ImportPurpose::Copy,
        issues: BTreeMap::from([(ImportIssue::ConfigDiffers, 1)]),
        works: works.iter().map(|it| (it.idea.clone(), work(it))).collect(),
        unusable: Vec::new(),
        unknown_profiles: Vec::new(),
        by: Author::Person,
    }
}

fn fold(state: &mut State, events: &[Event], now: Timestamp) {
    for event in events {
        let seq = state.seq + 1;
        evolve(state, seq, now, event);
    }
}

fn imported(before: &State, import: &transfer::Import) -> State {
    let mut after = before.clone();
    let events = transfer::imported(before, import, before.swarm.last_event_at);
    fold(&mut after, &events, before.swarm.last_event_at);
    after
}

/// What an import may change of an idea is left out. That a person has cancelled it stays.
fn without_attempt(state: &State, id: &IdeaId, idea: &Idea) -> Idea {
    let attempt = state.attempt_at(id);
    let cancelled = attempt.is_some_and(|(_, it)| it.ending == Some(Ending::Cancelled));
    let mut idea = idea.clone();
    idea.status = if cancelled {
        IdeaStatus::Cancelled
    } else {
        idea.status.without_attempt()
    };
    idea.kept = None;
    idea.imported = None;
    idea.reserved = None;
    idea.assigned = false;
    idea.held = false;
    idea.not_before = None;
    idea.last_error = None;
    idea.audit.clear();
    idea.updated_at = START;
    idea
}

/// All that an import keeps, for a comparison of before and after.
fn kept_parts(state: &State) -> serde_json::Value {
    let ideas: BTreeMap<&IdeaId, Idea> = state
        .ideas
        .iter()
        .map(|(id, idea)| (id, without_attempt(state, id, idea)))
        .collect();
    serde_json::json!({
        "ideas": ideas,
        "settings": state.settings,
        "configHash": state.config_hash,
        "learnings": state.learnings,
        "compacted": state.compacted,
        "facts": state.facts,
        "notes": state.notes,
        "synthesis": state.synthesis,
        "operations": state.operations,
        "checkpoints": state.checkpoints,
        "hooksLast": state.hooks_last,
        "used": state.used,
        "counters": state.counters,
        "paused": state.swarm.paused,
        "pauseReason": state.swarm.pause_reason,
        "mode": state.swarm.mode_override,
        "target": state.swarm.target,
        "rewritten": state.swarm.rewritten,
        "lastLanded": state.swarm.last_landed,
        "budgetPaused": state.swarm.budget_paused,
    })
}

/// Nothing is under way, and nothing of the other machine is trusted.
fn is_at_rest(state: &State) {
    assert_eq!(state.swarm.phase, SwarmPhase::Stopped);
    assert!(state.agents.is_empty() && state.queue.is_empty());
    assert!(state.outbox.is_empty() && state.stops.is_empty());
    assert!(state.owed.is_empty() && state.owed.worktrees_failed.is_empty());
    assert!(state.rollback.is_none() && state.setups.is_empty());
    assert!(state.accounts.is_empty() && state.warnings.is_empty());
    assert!(state.hooks.is_empty() && state.hooks_announced.is_empty());
    assert!(state.hooks_approved.is_empty() && state.attention.outgoing.is_empty());
}

/// Each unfinished work of before is what its idea continues from, unless its idea was cancelled.
fn work_is_kept(before: &State, after: &State) {
    let cancelled: BTreeSet<&IdeaId> = before
        .agents
        .values()
        .filter(|attempt| attempt.ending == Some(Ending::Cancelled))
        .map(|attempt| &attempt.idea)
        .collect();
    let works = unfinished(before);
    for work in &works {
        let kept = after.ideas.get(&work.idea).unwrap().kept.as_deref();
        if cancelled.contains(&work.idea) {
            assert!(kept.is_none());
            continue;
        }
        let kept = kept.unwrap_or_else(|| panic!("{} lost its work", work.idea));
        assert_eq!(kept.worktree.agent, work.agent);
        assert_eq!(kept.worktree.saved.as_ref().unwrap().tip, oid(901));
        let messages = (&kept.messages, &work.messages);
        assert!(messages.1.iter().all(|text| messages.0.contains(text)));
    }
    let with_work: BTreeSet<&IdeaId> = works.iter().map(|work| &work.idea).collect();
    for (id, idea) in &after.ideas {
        assert!(idea.kept.is_none() || with_work.contains(id), "{id}");
    }
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
    (0..seed % 400 + 40).map(|_| next()).collect()
}

#[test]
fn an_import_keeps_all_but_what_is_under_way() {
    let (mut ended, mut works) = (0, 0);
    for seed in 1..=200 {
        let mut sim = if seed % 2 == 0 {
            Sim::new(choices(seed))
        } else {
            Sim::with_people(choices(seed), people::some_intervention)
        };
        sim.live();
        let before = sim.state.clone();
        let after = imported(&before, &import_of(&before));
        assert_eq!(kept_parts(&before), kept_parts(&after), "seed {seed}");
        is_at_rest(&after);
        work_is_kept(&before, &after);
        invariants::check(&after, after.swarm.last_event_at);
        for (agent, attempt) in &before.agents {
            let end = &after.ended[agent];
            assert_eq!((&end.idea, &end.runs), (&attempt.idea, &attempt.runs));
            ended += 1;
        }
        works += unfinished(&before).len();
        let text = serde_json::to_string(&after).unwrap();
        assert_eq!(serde_json::from_str::<State>(&text).unwrap(), after);
    }
    assert!(ended > 50 && works > 50, "{ended} {works}");
}

#[test]
fn an_imported_swarm_goes_on_by_itself_until_all_has_landed() {
    let mut swarm = Scenario::running();
    swarm.add("one").add("two").add("three");
    swarm.well_until("iteration");
    let import = import_of(&swarm.state);
    let events = transfer::imported(&swarm.state, &import, swarm.state.swarm.last_event_at);
    swarm.given(events);
    assert_eq!(swarm.state.agents.len(), 0);
    swarm.restart();
    swarm.all_goes_well();
    for number in 1..=3 {
        assert_eq!(swarm.idea(number).status, IdeaStatus::Done, "{number}");
    }
}

#[test]
fn work_that_is_not_in_the_archive_starts_again() {
    let mut swarm = Scenario::running();
    swarm.add("one");
    swarm.well_until("iteration");
    let import = transfer::Import {
        works: BTreeMap::new(),
        ..import_of(&swarm.state)
    };
    let after = imported(&swarm.state, &import);
    let idea = after.ideas.get(&idea(1)).unwrap();
    assert_eq!((idea.status, &idea.kept), (IdeaStatus::Pending, &None));
}

#[test]
fn a_profile_that_is_unknown_here_is_forgotten() {
    let mut swarm = Scenario::running();
    swarm.add("one");
    swarm.well_until("iteration");
    let mut state = swarm.state.clone();
    state
        .ideas
        .change(&idea(1), |idea| idea.profile = Some(profile("finn")));
    let import = transfer::Import {
        unknown_profiles: vec![profile("finn")],
        ..import_of(&state)
    };
    let after = imported(&state, &import);
    assert_eq!(after.ideas.get(&idea(1)).unwrap().profile, None);
}

#[test]
fn the_recorded_prompt_is_used_once() {
    let mut swarm = Scenario::running();
    swarm.add("one");
    swarm.well_until("iteration");
    let mut import = import_of(&swarm.state);
    let prompt = "r1-ed-001-i1".parse().ok();
    import
        .works
        .get_mut(&idea(1))
        .unwrap()
        .prompt
        .clone_from(&prompt);
    let events = transfer::imported(&swarm.state, &import, swarm.state.swarm.last_event_at);
    swarm.given(events);
    swarm.restart();
    swarm.well_until("iteration");
    let attempt = swarm.attempt(2);
    assert_eq!(attempt.iteration, 1);
    assert_eq!(attempt.kept.as_ref().unwrap().prompt, prompt);
    // A second import of what has begun to use it builds a new one.
    let again = imported(&swarm.state, &import_of(&swarm.state));
    let kept = again.ideas.get(&idea(1)).unwrap().kept.as_ref();
    assert_eq!(kept.unwrap().prompt, None);
}

#[test]
fn the_event_says_where_the_swarm_comes_from() {
    let mut swarm = Scenario::running();
    swarm.add("one");
    let events = transfer::imported(&swarm.state, &import_of(&swarm.state), START);
    let found = events.iter().find_map(|event| match event {
        Event::SwarmImported(SwarmImported { seq, issues, .. }) => Some((*seq, issues.len())),
        _ => None,
    });
    assert_eq!(found, Some((swarm.state.seq, 1)));
}

#[test]
fn a_swarm_that_has_moved_away_changes_nothing_until_it_is_reclaimed() {
    let mut swarm = Scenario::running();
    swarm.add("one");
    let by = Author::Person;
    assert!(transfer::reclaimed(&swarm.state, &by).is_err());
    let moved = transfer::moved(&swarm.state, SHA256, &by).unwrap().unwrap();
    swarm.given([moved]);
    // The same archive again: nothing is left to do. Another one: refused.
    assert_eq!(transfer::moved(&swarm.state, SHA256, &by), Ok(None));
    assert!(transfer::moved(&swarm.state, "00", &by).is_err());
    for command in [
        Command::Resume,
        Command::CancelIdea { id: idea(1) },
        Command::StopAgent { id: agent(1) },
    ] {
        let refused = decide::command(&swarm.state, &command, START).unwrap_err();
        assert!(matches!(refused, Rejection::Moved { .. }), "{command:?}");
        let next = refused.suggestions().join("\n");
        assert!(next.ends_with("swarm snapshot reclaim"), "{next}");
    }
    let back = transfer::reclaimed(&swarm.state, &by).unwrap();
    swarm.given([back]);
    assert!(decide::command(&swarm.state, &Command::Resume, START).is_ok());
}
