//! Folds events about the memory that agents share.

use super::attempt::{count_lost, with_attempt};
use crate::domain::event::{
    ClaimEffect, Claimed, FactConfirmed, FactDisputed, FactPinned, FactWritten, Learned,
    MemoryCompacted, MemoryRead, MemoryRetracted, MemoryShown, NotePut, NotesDropped, RivalClaim,
    RunEnded, Synthesised,
};
use crate::domain::memory::{
    Evidence, Fact, FactKey, Learning, NewValue, Note, Retraction, Rival, Sources,
};
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

pub(super) fn learn(state: &mut State, at: Timestamp, learned: &Learned) {
    let evidence = learned.evidence.recorded(state.seq, at);
    count_write(state, &evidence.author);
    if let Some(claimed) = &learned.claim {
        claim(state, claimed, &learned.content, evidence.clone());
    }
    let key = learned.claim.as_ref().map(|claimed| claimed.key.clone());
    if state.learnings.get(&learned.id).is_some() {
        state.learnings.change(&learned.id, |known| {
            // Prompts show a fact in place of its learnings, so a learning becomes part of one only
            // by its own author.
            let is_own = known.evidence.is_only_of(&evidence.author);
            known.key = known.key.take().or(key.filter(|_| is_own));
            known.evidence.add(evidence);
            if learned.restored {
                known.retracted = None;
            }
        });
        return;
    }
    state.counters.learnings += 1;
    state.learnings.push(Learning {
        id: learned.id.clone(),
        global: learned.global,
        profile: learned.profile.clone(),
        content: learned.content.clone(),
        key,
        evidence: Sources::one(evidence),
        at,
        retracted: None,
    });
}

/// Counts what a run has written.
fn count_write(state: &mut State, author: &Author) {
    if let Author::Synthesis { run } = author {
        let synthesis = &mut state.synthesis;
        synthesis.writes = synthesis.writes_of(run) + 1;
        synthesis.writer = Some(run.clone());
    }
    let (Some(agent), Some(run)) = (author.agent(), author.run()) else {
        return;
    };
    with_attempt(state, agent, |attempt| {
        if attempt.run.as_ref() == Some(run) {
            attempt.memory.writes += 1;
        }
    });
}

fn claim(state: &mut State, claimed: &Claimed, value: &str, evidence: Evidence) {
    let Claimed {
        key,
        version,
        effect,
    } = claimed;
    match effect {
        ClaimEffect::Wrote => {
            let new = NewValue {
                version: *version,
                value: value.to_owned(),
                why: None,
                evidence,
            };
            set(state, key, new);
        }
        ClaimEffect::Confirmed => support(state, key, evidence),
        ClaimEffect::Disputed(id) => contradict(state, key, *version, id, Some(value), evidence),
    }
}

pub(super) fn write(state: &mut State, at: Timestamp, written: &FactWritten) {
    let evidence = written.evidence.recorded(state.seq, at);
    count_write(state, &evidence.author);
    let new = NewValue {
        version: written.version,
        value: written.value.clone(),
        why: written.why.clone(),
        evidence,
    };
    set(state, &written.key, new);
}

fn set(state: &mut State, key: &FactKey, new: NewValue) {
    if state.facts.get(key).is_none() {
        state.facts.insert(key.clone(), Fact::new(new));
    } else {
        state.facts.change(key, |fact| fact.replace(new));
    }
}

pub(super) fn confirm(state: &mut State, at: Timestamp, confirmed: &FactConfirmed) {
    let evidence = confirmed.evidence.recorded(state.seq, at);
    count_write(state, &evidence.author);
    support(state, &confirmed.key, evidence);
}

fn support(state: &mut State, key: &FactKey, evidence: Evidence) {
    state.facts.change(key, |fact| fact.evidence.add(evidence));
}

pub(super) fn dispute(state: &mut State, at: Timestamp, disputed: &FactDisputed) {
    let evidence = disputed.evidence.recorded(state.seq, at);
    count_write(state, &evidence.author);
    let FactDisputed {
        key,
        version,
        claim,
        value,
        ..
    } = disputed;
    contradict(state, key, *version, claim, value.as_deref(), evidence);
}

fn contradict(
    state: &mut State,
    key: &FactKey,
    version: u64,
    id: &str,
    value: Option<&str>,
    evidence: Evidence,
) {
    state.facts.change(key, |fact| {
        fact.version = version;
        if let Some(known) = fact.rivals.iter_mut().find(|rival| rival.id == id) {
            known.evidence.add(evidence);
            return;
        }
        fact.rivals_made += 1;
        fact.rivals.push(Rival {
            id: id.to_owned(),
            value: value.map(str::to_owned),
            evidence: Sources::one(evidence),
        });
    });
}

pub(super) fn pin(state: &mut State, pinned: &FactPinned) {
    state
        .facts
        .change(&pinned.key, |fact| fact.pinned = pinned.on);
}

pub(super) fn retract(state: &mut State, at: Timestamp, retracted: &MemoryRetracted) {
    let retraction = Retraction {
        by: retracted.by.clone(),
        why: retracted.why.clone(),
        at,
    };
    for id in &retracted.learnings {
        let retraction = retraction.clone();
        state
            .learnings
            .change(id, |known| known.retracted = Some(retraction));
    }
    for key in &retracted.facts {
        let retraction = retraction.clone();
        state
            .facts
            .change(key, |fact| fact.retracted = Some(retraction));
    }
    for RivalClaim { key, claim } in &retracted.claims {
        state.facts.change(key, |fact| fact.withdraw(claim));
    }
}

pub(super) fn put_note(state: &mut State, at: Timestamp, put: &NotePut) {
    count_write(state, &put.by);
    let note = Note {
        version: state.seq,
        title: put.title.clone(),
        content: put.content.clone(),
        by: put.by.clone(),
        at,
        expires_at: put.expires_at,
    };
    state.notes.insert(put.key.clone(), note);
}

pub(super) fn drop_notes(state: &mut State, dropped: &NotesDropped) {
    if let Some(by) = &dropped.by {
        count_write(state, by);
    }
    for key in &dropped.keys {
        state.notes.remove(key);
    }
}

pub(super) fn show(state: &mut State, at: Timestamp, shown: &MemoryShown) {
    with_attempt(state, &shown.agent, |attempt| {
        attempt.memory.held = shown.held;
        attempt.memory.shown_at = Some(at);
        attempt.memory.shown_by = Some(shown.run.clone());
        if shown.fresh {
            attempt.memory.shown.clear();
        }
        let items = shown.items.iter();
        let items = items.map(|item| (item.reference.clone(), item.version));
        attempt.memory.shown.extend(items);
    });
}

pub(super) fn read(state: &mut State, read: &MemoryRead) {
    with_attempt(state, &read.agent, |attempt| {
        attempt.memory.read_by = Some(read.run.clone());
    });
}

pub(super) fn compact(state: &mut State, compacted: &MemoryCompacted) {
    let learnings = state.learnings.forget(&compacted.learnings);
    for old in &compacted.history {
        state
            .facts
            .change(&old.key, |fact| fact.forget_history(old.entries));
    }
    state
        .compacted
        .add(state.seq, learnings, &compacted.learnings);
}

pub(super) fn synthesise(state: &mut State, synthesised: &Synthesised) {
    let newest = state.counters.learnings;
    let synthesis = &mut state.synthesis;
    if synthesised.failed {
        synthesis.after = newest;
    } else {
        synthesis.up_to = synthesis.up_to.max(synthesised.up_to);
        synthesis.after = synthesis.up_to;
    }
    synthesis.lost_runs = 0;
}

pub(super) fn end_run(state: &mut State, ended: &RunEnded) {
    if state.synthesis_run() == Some(&ended.run) {
        count_lost(&mut state.synthesis.lost_runs, &ended.end);
    }
}
