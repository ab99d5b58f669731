//! Takes back learnings, facts and rival claims.
//!
//! Invariant: agents take back only what they alone support. A person's retraction stays in force
//! until a person says the same again. Retractions are independent: of a torn one, the rest can
//! be repeated.

use super::facts;
use super::writer::{self, Writer};
use crate::domain::decide::decision::Plan;
use crate::domain::event::{MemoryRetracted, RivalClaim};
use crate::domain::ids::AgentId;
use crate::domain::memory::{
    Fact, FactKey, Learning, MemoryRefusal, Retracted, Retraction, Sources,
};
use crate::domain::rejection::Rejection;

/// Most items of one event, so that it fits into a line of the log.
const AT_ONCE: usize = 400;

/// One thing to take back.
enum Item {
    Learning(String),
    Fact(FactKey),
    Claim(RivalClaim),
}

/// Takes something back.
pub(super) fn retract(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    what: &Retracted,
    why: Option<&str>,
) -> Result<(), Rejection> {
    let why = writer::reason(why)?;
    let items = match what {
        Retracted::Learning(id) => Vec::from_iter(learning(writer, id)?),
        Retracted::Fact(key) => Vec::from_iter(fact(writer, key)?),
        Retracted::Agent(id) => all_of_agent(writer, id)?,
    };
    for some in items.chunks(AT_ONCE) {
        emit(plan, writer, some, why.clone());
    }
    Ok(())
}

fn emit(plan: &mut Plan<'_>, writer: &Writer<'_>, items: &[Item], why: Option<String>) {
    let mut event = MemoryRetracted {
        learnings: Vec::new(),
        facts: Vec::new(),
        claims: Vec::new(),
        by: writer.author.clone(),
        why,
    };
    for item in items {
        match item {
            Item::Learning(id) => event.learnings.push(id.clone()),
            Item::Fact(key) => event.facts.push(key.clone()),
            Item::Claim(claim) => event.claims.push(claim.clone()),
        }
    }
    plan.emit(event);
}

/// The learning, unless it is retracted already.
fn learning(writer: &Writer<'_>, id: &str) -> Result<Option<Item>, MemoryRefusal> {
    let unknown = || MemoryRefusal::no_learning(writer.state, id);
    let known = writer.state.learnings.get(id).ok_or_else(unknown)?;
    require_own(writer, writer.supports_alone(&known.evidence), id)?;
    let is_due = is_due(writer, known.retracted.as_ref());
    Ok(is_due.then(|| Item::Learning(id.to_owned())))
}

/// The fact, unless it is retracted already.
fn fact(writer: &Writer<'_>, key: &FactKey) -> Result<Option<Item>, MemoryRefusal> {
    let fact = facts::existing(writer.state, key)?;
    let own = writer.supports_alone(&fact.evidence) && is_uncontested(writer, fact);
    require_own(writer, own, key.as_str())?;
    let is_due = is_due(writer, fact.retracted.as_ref());
    Ok(is_due.then(|| Item::Fact(key.clone())))
}

/// What one agent said and no other idea or person supports, except pinned facts.
fn all_of_agent(writer: &Writer<'_>, id: &AgentId) -> Result<Vec<Item>, MemoryRefusal> {
    let asks_for_itself = writer.author.agent() == Some(id);
    require_own(writer, asks_for_itself, id.as_str())?;
    let only = |sources: &Sources| sources.is_only_of_agent(id);
    let wanted = |it: &&Learning| only(&it.evidence) && is_due(writer, it.retracted.as_ref());
    let learnings = writer.state.learnings.iter().filter(wanted);
    let mut items: Vec<Item> = learnings.map(|it| Item::Learning(it.id.clone())).collect();
    for (key, fact) in writer.state.facts.iter() {
        let may = writer.is_person() || is_uncontested(writer, fact);
        if only(&fact.evidence) && !fact.pinned && may && is_due(writer, fact.retracted.as_ref()) {
            items.push(Item::Fact(key.clone()));
        }
        let claims = fact.rivals.iter().filter(|rival| only(&rival.evidence));
        items.extend(claims.map(|rival| {
            Item::Claim(RivalClaim {
                key: key.clone(),
                claim: rival.id.clone(),
            })
        }));
    }
    Ok(items)
}

/// Whether nobody else has a say in it, now or in a value that was replaced.
fn is_uncontested(writer: &Writer<'_>, fact: &Fact) -> bool {
    let whole = fact.history_dropped == 0;
    let mut before = fact.history.iter().filter(|old| !old.rival);
    let own = whole && before.all(|old| old.by.is_on_side_of(writer.author));
    own && fact.rivals.is_empty() && !fact.pinned
}

fn is_due(writer: &Writer<'_>, retracted: Option<&Retraction>) -> bool {
    retracted.is_none_or(|it| it.yields_to(writer.author))
}

/// A person takes back whatever they want, an agent only what is its own.
fn require_own(writer: &Writer<'_>, is_own: bool, what: &str) -> Result<(), MemoryRefusal> {
    if writer.is_person() || is_own {
        return Ok(());
    }
    let what = what.to_owned();
    Err(MemoryRefusal::NotYours { what })
}
