//! Records learnings. One with a key is a claim about a fact, and the same rules apply to it in a
//! signal, a command and a tool.

use super::facts::{self, MAX_VALUE};
use super::grounds::Said;
use super::writer::{self, Writer};
use crate::domain::decide::decision::Plan;
use crate::domain::event::{ClaimEffect, Claimed, Learned};
use crate::domain::ids::ProfileName;
use crate::domain::memory::{Claim, FactKey, Learn, Learning, MemoryRefusal, learning_id};
use crate::domain::rejection::Rejection;
use crate::domain::request::Author;

/// Longest learning, in bytes; as long as a signal's payload.
const MAX_CONTENT: usize = 4_096;

/// Records a learning that an agent signalled. A refused one is only a signal in the log.
pub(in crate::domain::decide) fn signalled(
    plan: &mut Plan<'_>,
    by: &Author,
    content: &str,
    global: bool,
) {
    let Ok(writer) = Writer::admit(plan.state, by) else {
        return;
    };
    let local = writer.profile().filter(|_| !global);
    let draft = Learn {
        content: content.to_owned(),
        profile: local.cloned(),
        ..Learn::default()
    };
    // A refusal concerns the sender of a command; a signal has none who waits for an answer.
    let mut recorded = |draft| record(plan, &writer, &draft, None, &Claim::default()).ok();
    let id = Draft::of(&writer, &draft).ok().and_then(&mut recorded);
    if id.is_none() {
        // What cannot be a claim about a fact is still a sentence.
        let sentence = Draft::plain(&writer, &draft).ok();
        drop(sentence.and_then(recorded));
    }
}

/// Records a learning; returns its id.
pub(super) fn learn(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    learn: &Learn,
) -> Result<String, Rejection> {
    let draft = Draft::of(writer, learn)?;
    let same_as = learn.same_as.as_deref();
    Ok(record(plan, writer, &draft, same_as, &learn.claim)?)
}

/// A checked learning.
struct Draft {
    content: String,
    key: Option<FactKey>,
    /// Profile that it is for; `None` for all.
    local: Option<ProfileName>,
}

impl Draft {
    fn of(writer: &Writer<'_>, learn: &Learn) -> Result<Self, MemoryRefusal> {
        let Self { content, local, .. } = Self::plain(writer, learn)?;
        let (key, content) = match (&learn.key, FactKey::split_claim(&content)) {
            (Some(key), Some((named, value))) if *key == named => {
                (Some(key.clone()), value.to_owned())
            }
            (Some(key), _) => (Some(key.clone()), content),
            (None, Some((named, value))) if local.is_none() => (Some(named), value.to_owned()),
            (None, _) => (None, content),
        };
        if key.is_some() && local.is_some() {
            return Err(MemoryRefusal::KeyIsGlobal);
        }
        if key.is_some() {
            writer::check_size("value", &content, MAX_VALUE)?;
        }
        Ok(Self {
            content,
            key,
            local,
        })
    }

    /// The sentence alone, whatever key it may have.
    fn plain(writer: &Writer<'_>, learn: &Learn) -> Result<Self, MemoryRefusal> {
        // An agent learns for its own profile, whichever it names.
        let own = writer.profile().or(learn.profile.as_ref());
        Ok(Self {
            content: writer::line("learning", &learn.content, MAX_CONTENT)?,
            key: None,
            local: learn.profile.is_some().then(|| own.cloned()).flatten(),
        })
    }
}

fn record(
    plan: &mut Plan<'_>,
    writer: &Writer<'_>,
    draft: &Draft,
    same_as: Option<&str>,
    claim: &Claim,
) -> Result<String, MemoryRefusal> {
    let known = known(writer, draft, same_as)?;
    let quote = known.is_some_and(|known| known.content != draft.content);
    let quote = quote.then_some(draft.content.as_str());
    let said = Said {
        key: draft.key.as_ref(),
        value: &draft.content,
    };
    let evidence = writer.evidence(said, claim, quote)?;
    let key = draft.key.as_ref();
    let effect = key.map(|key| effect_on(writer, key, &draft.content));
    let effect = effect.transpose()?;
    let restored = known.is_some_and(|known| ends_retraction(writer, known));
    let said_before = known.is_some_and(|known| known.evidence.has(writer.author));
    let id = known.map_or_else(
        || learning_id(plan.state.counters.learnings + 1),
        |known| known.id.clone(),
    );
    if said_before && !effect.as_ref().is_some_and(|it| it.is_new) && !restored {
        return Ok(id);
    }
    plan.emit(Learned {
        id: id.clone(),
        agent: writer.author.agent().cloned(),
        profile: draft.local.clone().or_else(|| writer.profile().cloned()),
        global: draft.local.is_none(),
        content: draft.content.clone(),
        evidence: Box::new(evidence),
        claim: effect.map(|it| it.claimed),
        restored,
    });
    Ok(id)
}

/// The learning that says the same already.
fn known<'a>(
    writer: &Writer<'a>,
    draft: &Draft,
    same_as: Option<&str>,
) -> Result<Option<&'a Learning>, MemoryRefusal> {
    let learnings = &writer.state.learnings;
    let Some(id) = same_as else {
        let local = draft.local.as_ref();
        return Ok(learnings.find(local.is_none(), local, &draft.content));
    };
    let known = learnings.get(id);
    known
        .map(Some)
        .ok_or_else(|| MemoryRefusal::no_learning(writer.state, id))
}

/// Whether this writer's words bring the learning back.
fn ends_retraction(writer: &Writer<'_>, known: &Learning) -> bool {
    let retracted = known.retracted.as_ref();
    retracted.is_some_and(|it| !it.outlasts(writer.author))
}

/// What a claim does to a fact.
struct Effect {
    claimed: Claimed,
    /// Whether the writer has not said it of the fact before.
    is_new: bool,
}

/// What the claim does to the fact.
fn effect_on(writer: &Writer<'_>, key: &FactKey, value: &str) -> Result<Effect, MemoryRefusal> {
    let claims = |version, effect, is_new| {
        let key = key.clone();
        let claimed = Claimed {
            key,
            version,
            effect,
        };
        Ok(Effect { claimed, is_new })
    };
    let Some(fact) = writer.state.facts.get(key) else {
        facts::check_new(writer.state, key)?;
        return claims(1, ClaimEffect::Wrote, true);
    };
    let may_write = !fact.pinned || writer.is_person();
    let restores = fact.retracted.is_some() && !fact.stays_retracted(writer.author);
    if restores && may_write {
        return claims(fact.version + 1, ClaimEffect::Wrote, true);
    }
    if fact.says(value) {
        let is_new = !fact.evidence.has(writer.author);
        return claims(fact.version, ClaimEffect::Confirmed, is_new);
    }
    if may_write && fact.rivals.is_empty() && writer.supports_alone(&fact.evidence) {
        return claims(fact.version + 1, ClaimEffect::Wrote, true);
    }
    let (version, id, is_new) = match fact.rival(Some(value)) {
        Some(rival) => {
            let is_new = !rival.evidence.has(writer.author);
            (fact.version, rival.id.clone(), is_new)
        }
        None => (fact.version + 1, facts::next_rival(fact)?, true),
    };
    claims(version, ClaimEffect::Disputed(id), is_new)
}
