//! Changes the board of facts.
//!
//! Invariant: a write names the version that its writer saw, unless a person overwrites on purpose;
//! a refusal carries what is there, so that a retry needs no other request.

use super::grounds::Said;
use super::writer::{self, Writer};
use crate::domain::decide::decision::Plan;
use crate::domain::event::{FactConfirmed, FactDisputed, FactPinned, FactWritten};
use crate::domain::memory::{
    ConfirmFact, CurrentValue, DisputeFact, Evidence, Fact, FactKey, MemoryRefusal, WriteFact,
};
use crate::domain::rejection::Rejection;
use crate::domain::state::State;

/// Longest value, in bytes.
pub(super) const MAX_VALUE: usize = 2_000;
/// Most facts.
const MAX_FACTS: usize = 10_000;
/// Most rival claims of one fact at a time.
const MAX_RIVALS: usize = 16;

/// Refuses a new fact if its key has a secret, or if there are too many. What was taken back does
/// not count.
pub(super) fn check_new(state: &State, key: &FactKey) -> Result<(), MemoryRefusal> {
    writer::check_secrets("key", key.as_str())?;
    let standing = |(_, fact): &(&FactKey, &Fact)| fact.retracted.is_none();
    let is_full = || state.facts.iter().filter(standing).count() >= MAX_FACTS;
    if state.facts.len() >= MAX_FACTS && is_full() {
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
    let evidence = Box::new(writer.evidence(Said::of(key, &value), claim, None)?);
    let Some(fact) = fact else {
        check_new(plan.state, key)?;
        return Ok(emit_written(plan, key, 1, value, why, evidence));
    };
    if fact.pinned && !writer.is_person() {
        return Err(MemoryRefusal::Pinned(key.clone()).into());
    }
    if is_evidence(writer, fact, &value) {
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

/// Whether a write of this value only supports the one that is there.
fn is_evidence(writer: &Writer<'_>, fact: &Fact, value: &str) -> bool {
    // A person may correct how it is spelled.
    let says_same = if writer.is_person() {
        fact.value == value
    } else {
        fact.says(value)
    };
    let nothing_to_settle = fact.rivals.is_empty() && fact.retracted.is_none();
    says_same && (nothing_to_settle || fact.stays_retracted(writer.author))
}

fn emit_written(
    plan: &mut Plan<'_>,
    key: &FactKey,
    version: u64,
    value: String,
    why: Option<String>,
    evidence: Box<Evidence>,
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
    let said = Said::of(key, &fact.value);
    let evidence = Box::new(writer.evidence(said, claim, claim.why.as_deref())?);
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
    let said = Said::of(key, value.as_deref().unwrap_or_default());
    let evidence = Box::new(writer.evidence(said, claim, claim.why.as_deref())?);
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

pub(super) fn existing<'a>(state: &'a State, key: &FactKey) -> Result<&'a Fact, MemoryRefusal> {
    let unknown = || MemoryRefusal::no_fact(state, key);
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
