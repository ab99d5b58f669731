//! What the synthesis relies on: each of its writes names evidence, and says no more than that.
//!
//! Invariant: only what others said counts, and nothing that is retracted. The words of the
//! synthesis are never evidence, so it cannot rest one claim on another of its own.

use crate::domain::memory::{
    Claim, Evidence, Fact, FactKey, Grounds, Learning, MemoryRefusal, Reference, Sources,
    normal_form,
};
use crate::domain::request::Author;
use crate::domain::state::State;

/// Most authors kept of the evidence that one write names.
const MAX_CITED: usize = 16;
/// Most words that a refusal names.
const NAMED: usize = 3;

/// What a write says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// The fact that it is about.
    pub(super) key: Option<&'a FactKey>,
    /// Empty if it only says that a value is wrong.
    pub(super) value: &'a str,
}

impl<'a> Said<'a> {
    pub(super) fn of(key: &'a FactKey, value: &'a str) -> Self {
        let key = Some(key);
        Self { key, value }
    }
}

/// Whom a write of the synthesis names, and which files they spoke of.
#[derive(Default)]
pub(super) struct Cited {
    pub(super) authors: Vec<Author>,
    pub(super) paths: Vec<String>,
}

/// Refuses a write that says more than its evidence; returns who said the evidence.
pub(super) fn require(
    state: &State,
    said: Said<'_>,
    claim: &Claim,
) -> Result<Cited, MemoryRefusal> {
    if claim.evidence.is_empty() {
        return Err(MemoryRefusal::EvidenceMissing);
    }
    let mut found = Found::default();
    for reference in &claim.evidence {
        found.look_up(state, reference)?;
    }
    let mut lacks = found.grounds.lacks(said.value);
    let key = said.key.map(FactKey::as_str).unwrap_or_default();
    if said.key.is_some_and(|key| state.facts.get(key).is_none()) {
        lacks.extend(found.grounds.lacks_of_key(key));
    }
    let paths = claim.paths.iter();
    lacks.extend(paths.filter(|path| !found.grounds.has(path)).cloned());
    // A reason may also name what it is about.
    if let Some(why) = &claim.why {
        let mut grounds = found.grounds;
        grounds.add(said.value);
        grounds.add(key);
        for reference in &claim.evidence {
            grounds.add(&reference.to_string());
        }
        lacks.extend(grounds.lacks(why));
    }
    if lacks.is_empty() {
        return Ok(found.cited);
    }
    lacks.truncate(NAMED);
    let what = lacks.join(", ");
    Err(MemoryRefusal::EvidenceLacks { what })
}

/// What the named evidence says, and who says it.
#[derive(Default)]
struct Found {
    grounds: Grounds,
    cited: Cited,
}

impl Found {
    fn look_up(&mut self, state: &State, reference: &Reference) -> Result<(), MemoryRefusal> {
        let is_found = match reference {
            Reference::Learning(id) => {
                let known = state.learnings.get(id);
                known.is_some_and(|known| self.take_learning(known, None))
            }
            Reference::Event(seq) => self.take_event(state, *seq),
        };
        if is_found {
            return Ok(());
        }
        let what = match reference {
            Reference::Learning(id) => format!("learning `{id}` of others that is in force"),
            Reference::Event(seq) => format!("event {seq} in which others say something"),
        };
        Err(MemoryRefusal::EvidenceUnknown(what))
    }

    /// What an event said: as a learning, for a fact or against one.
    fn take_event(&mut self, state: &State, seq: u64) -> bool {
        let mut is_found = false;
        for learning in state.learnings.iter() {
            is_found |= self.take_learning(learning, Some(seq));
        }
        let standing = |(_, fact): &(&FactKey, &Fact)| fact.retracted.is_none();
        for (_, fact) in state.facts.iter().filter(standing) {
            let of_value = (fact.value.as_str(), Some(seq));
            is_found |= self.take(of_value, &fact.evidence, |_| true);
            for rival in &fact.rivals {
                let of_rival = (rival.value.as_deref().unwrap_or_default(), Some(seq));
                is_found |= self.take(of_rival, &rival.evidence, |_| true);
            }
        }
        is_found
    }

    fn take_learning(&mut self, learning: &Learning, seq: Option<u64>) -> bool {
        let content = learning.content.as_str();
        // Whoever said it in other words did not say what stands there.
        let is_own = |evidence: &Evidence| {
            let quote = evidence.quote.as_deref();
            quote.is_none_or(|quote| is_beginning(quote, content))
        };
        let in_force = learning.retracted.is_none();
        in_force && self.take((content, seq), &learning.evidence, is_own)
    }

    /// Takes the words of others for a text: all of them, or those of one event.
    fn take(
        &mut self,
        (text, seq): (&str, Option<u64>),
        sources: &Sources,
        says_text: impl Fn(&Evidence) -> bool,
    ) -> bool {
        let is_of_others = |it: &&Evidence| !matches!(it.author, Author::Synthesis { .. });
        let of_others = sources.kept.iter().filter(is_of_others);
        let mut is_found = false;
        for evidence in of_others.filter(|it| seq.is_none_or(|seq| it.seq == seq)) {
            is_found = true;
            if says_text(evidence) {
                self.grounds.add(text);
            }
            let quote = evidence.quote.as_deref();
            for said in quote.into_iter().chain(paths(evidence)) {
                self.grounds.add(said);
            }
            let Cited { authors, paths } = &mut self.cited;
            paths.extend(evidence.paths.iter().cloned());
            if !authors.contains(&evidence.author) && authors.len() < MAX_CITED {
                authors.push(evidence.author.clone());
            }
        }
        is_found
    }
}

fn paths(evidence: &Evidence) -> impl Iterator<Item = &str> {
    evidence.paths.iter().map(String::as_str)
}

/// Whether a quote, which may be cut, is the same text in another spelling.
fn is_beginning(quote: &str, text: &str) -> bool {
    normal_form(text).starts_with(&normal_form(quote))
}
