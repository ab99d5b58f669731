//! Changes the board of facts.
//!
//! Invariant: a write names the version that its writer saw, unless a person overwrites on purpose;
//! a refusal carries what is there, so that a retry needs no other request.

use super::writer::{self, Writer};
use crate::domain::decide::decision::Plan;
use crate::domain::event::{FactConfirmed, FactDisputed, FactPinned, FactWritten, MemoryRetracted};
use crate::domain::ids::AgentId;
use crate::domain::memory::{
    ConfirmFact, CurrentValue, DisputeFact, Fact, FactKey, Learning, MemoryRefusal, Retracted,
    Sources, WriteFact,
};
use crate::domain::rejection::Rejection;
use crate::domain::state::State;

/// Longest value, in bytes.
pub(super) const MAX_VALUE: usize = 2_000;
/// Most facts.
const MAX_FACTS: usize = 10_000;
/// Most rival claims of one fact at a time.
const MAX_RIVALS: usize = 16;

/// Refuses a new fact if there are too many.
pub(super) fn check_room(state: &State) -> Result<(), MemoryRefusal> {
    if state.facts.len() >= MAX_FACTS {
        return Err(MemoryRefusal::Quota(format!(
            "there are {MAX_FACTS} facts; no more fit"
        )));
    }
    Ok(())
}

/// The id of a fact's next rival claim.
pub(super) fn next_rival(fact: &Fact) -> Result<String, MemoryRefusal> {
    if fact.rivals.len() >= MAX_RIVALS {
        return Err(MemoryRefusal::Quota(format!(
            "{MAX_RIVALS} claims contradict this fact already; settle it first"
        )));
    }
    Ok(format!("c{}", fact.rivals_made + 1))
}

/// A person brings back whatever was retracted, an agent only what no person took back.
pub(super) fn may_restore(writer: &Writer<'_>, fact: &Fact) -> bool {
    writer.is_person() || !fact.is_retracted_by_person()
}

/// Writes a fact; returns its version.
pub(super) fn write(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    write: &WriteFact,
) -> Result<String, Rejection> {
    let WriteFact {
        key,
        value,
        expected,
        claim,
    } = write;
    let value = writer::line("value", value, MAX_VALUE)?;
    let why = writer::reason(claim.why.as_deref())?;
    let fact = plan.state.facts.get(key);
    match expected {
        Some(expected) => require_version(key, fact, *expected)?,
        None if writer.is_person() => {}
        None => return Err(MemoryRefusal::VersionMissing(key.clone()).into()),
    }
    let evidence = Box::new(writer.evidence(claim, None)?);
    let Some(fact) = fact else {
        check_room(plan.state)?;
        return Ok(emit_written(plan, key, 1, value, why, evidence));
    };
    if fact.pinned && !writer.is_person() {
        return Err(MemoryRefusal::Pinned(key.clone()).into());
    }
    let says_same = fact.says(&value);
    let stays_retracted = fact.retracted.is_some() && !may_restore(writer, fact);
    let adds_evidence = fact.rivals.is_empty() && fact.retracted.is_none();
    if says_same && (stays_retracted || adds_evidence) {
        let version = fact.version;
        if !fact.evidence.has(writer.author) {
            plan.emit(FactConfirmed {
                key: key.clone(),
                version,
                evidence,
            });
        }
        return Ok(version.to_string());
    }
    Ok(emit_written(
        plan,
        key,
        fact.version + 1,
        value,
        why,
        evidence,
    ))
}

fn emit_written(
    plan: &mut Plan<'_>,
    key: &FactKey,
    version: u64,
    value: String,
    why: Option<String>,
    evidence: Box<crate::domain::memory::Evidence>,
) -> String {
    plan.emit(FactWritten {
        key: key.clone(),
        version,
        value,
        evidence,
        why,
    });
    version.to_string()
}

/// Adds evidence to a fact; returns its version.
pub(super) fn confirm(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    confirm: &ConfirmFact,
) -> Result<String, Rejection> {
    let ConfirmFact {
        key,
        version,
        claim,
    } = confirm;
    let fact = existing(plan.state, key)?;
    require_version(key, Some(fact), *version)?;
    let evidence = Box::new(writer.evidence(claim, claim.why.as_deref())?);
    if !fact.evidence.has(writer.author) {
        plan.emit(FactConfirmed {
            key: key.clone(),
            version: *version,
            evidence,
        });
    }
    Ok(version.to_string())
}

/// Contradicts a fact; returns its version afterwards.
pub(super) fn dispute(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    dispute: &DisputeFact,
) -> Result<String, Rejection> {
    let DisputeFact {
        key,
        version,
        value,
        claim,
    } = dispute;
    let fact = existing(plan.state, key)?;
    require_version(key, Some(fact), *version)?;
    let value = value.as_deref();
    let value = value.map(|value| writer::line("value", value, MAX_VALUE));
    let value = value.transpose()?;
    let evidence = Box::new(writer.evidence(claim, claim.why.as_deref())?);
    if value.as_deref().is_some_and(|value| fact.says(value)) {
        return Err(MemoryRefusal::SaysTheSame(key.clone()).into());
    }
    let (version, id) = match fact.rival(value.as_deref()) {
        Some(rival) if rival.evidence.has(writer.author) => return Ok(fact.version.to_string()),
        Some(rival) => (fact.version, rival.id.clone()),
        None => (fact.version + 1, next_rival(fact)?),
    };
    plan.emit(FactDisputed {
        key: key.clone(),
        version,
        claim: id,
        value,
        evidence,
    });
    Ok(version.to_string())
}

/// Pins a fact, or releases it.
pub(super) fn pin(plan: &mut Plan<'_>, key: &FactKey, on: bool) -> Result<(), Rejection> {
    let fact = existing(plan.state, key)?;
    if fact.pinned != on {
        let key = key.clone();
        plan.emit(FactPinned { key, on });
    }
    Ok(())
}

/// Takes something back.
pub(super) fn retract(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    what: &Retracted,
    why: Option<&str>,
) -> Result<(), Rejection> {
    let why = writer::reason(why)?;
    match what {
        Retracted::Learning(id) => {
            let unknown = || MemoryRefusal::LearningUnknown(id.clone());
            let known = plan.state.learnings.get(id).ok_or_else(unknown)?;
            require_own(writer, &known.evidence, id)?;
            retract_learning(plan, writer, known, why.as_ref());
        }
        Retracted::Fact(key) => {
            let fact = existing(plan.state, key)?;
            let mine = fact.rivals.is_empty() && !fact.pinned;
            if !writer.is_person() && !mine {
                let what = key.to_string();
                return Err(MemoryRefusal::NotYours { what }.into());
            }
            require_own(writer, &fact.evidence, key.as_str())?;
            retract_fact(plan, writer, key, fact, why.as_ref());
        }
        Retracted::Agent(id) => {
            if !writer.is_person() && writer.author.agent() != Some(id) {
                let what = id.to_string();
                return Err(MemoryRefusal::NotYours { what }.into());
            }
            retract_agent(plan, writer, id, why.as_ref());
        }
    }
    Ok(())
}

/// Everything that one agent alone supports.
fn retract_agent(plan: &mut Plan<'_>, writer: &Writer<'_>, id: &AgentId, why: Option<&String>) {
    let only = |sources: &Sources| {
        let of_agent = |it: &crate::domain::memory::Evidence| it.author.agent() == Some(id);
        sources.count == sources.kept.len() as u64 && sources.kept.iter().all(of_agent)
    };
    let state = plan.state;
    for learning in state.learnings.iter().filter(|it| only(&it.evidence)) {
        retract_learning(plan, writer, learning, why);
    }
    let facts = state.facts.iter();
    for (key, fact) in facts.filter(|(_, fact)| only(&fact.evidence) && !fact.pinned) {
        retract_fact(plan, writer, key, fact, why);
    }
}

fn retract_learning(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    known: &Learning,
    why: Option<&String>,
) {
    let by_person = known.retracted.as_ref().map(|it| it.by.is_person());
    if by_person.is_none_or(|by_person| writer.is_person() && !by_person) {
        plan.emit(MemoryRetracted {
            learning: Some(known.id.clone()),
            key: None,
            by: writer.author.clone(),
            why: why.cloned(),
        });
    }
}

fn retract_fact(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    key: &FactKey,
    fact: &Fact,
    why: Option<&String>,
) {
    let by_person = fact.retracted.as_ref().map(|it| it.by.is_person());
    if by_person.is_none_or(|by_person| writer.is_person() && !by_person) {
        plan.emit(MemoryRetracted {
            learning: None,
            key: Some(key.clone()),
            by: writer.author.clone(),
            why: why.cloned(),
        });
    }
}

/// An agent takes back only what its own idea supports alone.
fn require_own(writer: &Writer<'_>, sources: &Sources, what: &str) -> Result<(), MemoryRefusal> {
    if writer.is_person() || sources.is_only_of(writer.author) {
        return Ok(());
    }
    let what = what.to_owned();
    Err(MemoryRefusal::NotYours { what })
}

fn existing<'a>(state: &'a State, key: &FactKey) -> Result<&'a Fact, MemoryRefusal> {
    let unknown = || MemoryRefusal::FactUnknown(key.clone());
    state.facts.get(key).ok_or_else(unknown)
}

fn require_version(key: &FactKey, fact: Option<&Fact>, expected: u64) -> Result<(), MemoryRefusal> {
    let version = fact.map_or(0, |fact| fact.version);
    if version == expected {
        return Ok(());
    }
    Err(MemoryRefusal::FactConflict {
        key: key.clone(),
        expected,
        current: Box::new(CurrentValue {
            version,
            value: fact.map(|fact| fact.value.clone()),
            by: fact.map(|fact| fact.by.clone()),
        }),
    })
}
