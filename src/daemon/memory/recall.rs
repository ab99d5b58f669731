//! What the prompts of an iteration show of the memory: the facts and learnings of the state as
//! candidates for the selection. Called by `runs::prompt_inputs`.
//!
//! Invariant: the same state and the same occasion give the same sections.

use std::collections::BTreeMap;

use super::freshness::Aged;
use super::index::Hit;
use super::selection::{self, Candidate, Claim, ItemRef, Query, Request, Selection, Support};
use crate::domain::event::ShownItem;
use crate::domain::ids::AgentId;
use crate::domain::memory::{
    Evidence, Fact, FactKey, FactStatus, Learning, Rival, Sources, confidence, landed_ideas,
};
use crate::domain::request::Author;
use crate::domain::state::{Attempt, State};
use crate::domain::time::Timestamp;

/// Most texts that the search for a prompt finds.
pub const HITS: usize = 200;

/// How agents search for more.
const SEARCH: &str = "\"$SWARM_BIN\" memory search WORDS";

/// What the prompts of an iteration are about.
#[derive(Debug, Clone, Copy)]
pub struct Occasion<'a> {
    /// What the agent is about to do.
    pub query: &'a Query<'a>,
    /// What the search for it found.
    pub hits: &'a [Hit<ItemRef>],
    /// Files of each fact that changed since.
    pub aged: &'a Aged,
    /// Longest section, in bytes.
    pub budget: usize,
    /// The time.
    pub now: Timestamp,
}

/// What the two prompts of an iteration show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled {
    /// For a new conversation.
    pub whole: Selection,
    /// For the conversation that goes on.
    pub next: Selection,
}

/// Selects what the prompts of this attempt show.
pub fn recall(state: &State, attempt: &Attempt, occasion: Occasion<'_>) -> Recalled {
    let authors = Authors::of(state);
    let candidates = candidates(state, &authors, occasion.aged);
    let request = |shown, told_at| Request {
        candidates: &candidates,
        query: occasion.query,
        hits: occasion.hits,
        now: occasion.now,
        budget: occasion.budget,
        shown,
        told_at,
        search: SEARCH,
    };
    let shown = attempt.memory.shown.iter();
    let shown = shown.map(|(name, version)| (named(state, name), *version));
    let shown: BTreeMap<ItemRef, u64> = shown.collect();
    Recalled {
        whole: selection::select(&request(&BTreeMap::new(), None)),
        next: selection::select(&request(&shown, attempt.memory.shown_at)),
    }
}

/// The version of what is retracted. Versions in force count from 1.
const RETRACTED: u64 = 0;

fn version_of_learning(learning: &Learning) -> u64 {
    u64::from(learning.retracted.is_none())
}

fn version_of_fact(fact: &Fact) -> u64 {
    if fact.retracted.is_some() {
        RETRACTED
    } else {
        fact.version
    }
}

fn learning_ref(learning: &Learning) -> ItemRef {
    ItemRef::Learning(learning.id.clone())
}

fn fact_ref(key: &FactKey) -> ItemRef {
    ItemRef::Fact(key.to_string())
}

/// The item of this name: a learning's id or a fact's key.
fn named(state: &State, name: &str) -> ItemRef {
    if state.learnings.get(name).is_some() {
        ItemRef::Learning(name.to_owned())
    } else {
        ItemRef::Fact(name.to_owned())
    }
}

/// The items of a selection as its event names them.
pub fn shown_items(selection: &Selection) -> Vec<ShownItem> {
    let shown = selection.shown.iter();
    shown
        .map(|(item, version)| ShownItem {
            reference: match item {
                ItemRef::Learning(id) => id.clone(),
                ItemRef::Fact(key) => key.clone(),
            },
            version: *version,
        })
        .collect()
}

/// Whether the attempt gets no section, so that what the memory is worth can be measured: this
/// share of the agents, drawn by their names.
pub fn is_held_out(agent: &AgentId, share: f64) -> bool {
    // FNV-1a, which is the same on every machine and in every version.
    let hash = agent
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    // Both bounds are exact: a share of 0 holds nobody, a share of 1 everybody.
    // At most 9,999, so it fits.
    let place = u32::try_from(hash % 10_000).unwrap_or(u32::MAX);
    f64::from(place) < share * 10_000.0
}

/// What authors are called in a prompt, by the claims of contradicted facts.
struct Authors(BTreeMap<(FactKey, Option<String>), String>);

impl Authors {
    fn of(state: &State) -> Self {
        let mut names = BTreeMap::new();
        let contradicted = state.facts.iter();
        let contradicted = contradicted.filter(|(_, fact)| !fact.rivals.is_empty());
        for (key, fact) in contradicted {
            let of_value = name_of(fact.evidence.kept.last());
            names.insert((key.clone(), None), of_value);
            for rival in &fact.rivals {
                let of_rival = name_of(rival.evidence.kept.last());
                names.insert((key.clone(), Some(rival.id.clone())), of_rival);
            }
        }
        Self(names)
    }

    fn get(&self, key: &FactKey, rival: Option<&str>) -> &str {
        let place = (key.clone(), rival.map(str::to_owned));
        self.0.get(&place).map_or("", String::as_str)
    }
}

/// The idea of the author, or what else there is to name.
fn name_of(evidence: Option<&Evidence>) -> String {
    let Some(evidence) = evidence else {
        return "unknown".to_owned();
    };
    let idea = evidence.author.idea().map(ToString::to_string);
    idea.unwrap_or_else(|| evidence.author.to_string())
}

/// All global learnings that are no claims about a fact, and all facts.
fn candidates<'a>(state: &'a State, authors: &'a Authors, aged: &'a Aged) -> Vec<Candidate<'a>> {
    let plain = |learning: &&Learning| learning.global && learning.key.is_none();
    let learnings = state.learnings.iter().filter(plain);
    let learnings = learnings.map(|learning| of_learning(state, learning));
    let facts = state.facts.iter();
    let facts = facts.map(|(key, fact)| {
        let aged = aged.get(key).map_or(&[][..], Vec::as_slice);
        of_fact(state, authors, (key, fact), aged)
    });
    learnings.chain(facts).collect()
}

fn of_learning<'a>(state: &State, learning: &'a Learning) -> Candidate<'a> {
    Candidate {
        reference: learning_ref(learning),
        version: version_of_learning(learning),
        text: &learning.content,
        pinned: false,
        retracted: learning.retracted.is_some(),
        confidence: confidence(state, &learning.evidence, false, false),
        at: learning.at,
        paths: paths(&learning.evidence),
        claims: Vec::new(),
        only_idea: only_idea(&learning.evidence),
        support: support(state, &learning.evidence, &[]),
    }
}

fn of_fact<'a>(
    state: &State,
    authors: &'a Authors,
    (key, fact): (&'a FactKey, &'a Fact),
    aged: &'a [String],
) -> Candidate<'a> {
    let contradicted = fact.status() == FactStatus::Contradicted;
    let is_aged = !aged.is_empty();
    Candidate {
        reference: fact_ref(key),
        version: version_of_fact(fact),
        text: &fact.value,
        pinned: fact.pinned,
        retracted: fact.retracted.is_some(),
        confidence: confidence(state, &fact.evidence, is_aged, contradicted),
        at: newest_change(fact),
        paths: paths(&fact.evidence),
        claims: claims(state, authors, key, fact),
        only_idea: only_idea(&fact.evidence),
        support: support(state, &fact.evidence, aged),
    }
}

/// When its value or a claim against it was last written.
fn newest_change(fact: &Fact) -> Timestamp {
    let first = |rival: &Rival| rival.evidence.kept.first().map(|evidence| evidence.at);
    let claims = fact.rivals.iter().filter_map(first);
    claims.max().map_or(fact.at, |claim| claim.max(fact.at))
}

/// The idea that all evidence comes from.
fn only_idea(sources: &Sources) -> Option<&str> {
    let first = sources.kept.first()?.author.idea()?;
    let mut ideas = sources.kept.iter().map(|it| it.author.idea());
    ideas
        .all(|idea| idea == Some(first))
        .then_some(first.as_str())
}

fn paths(sources: &Sources) -> Vec<&str> {
    let paths = sources.kept.iter().flat_map(|evidence| &evidence.paths);
    paths.map(String::as_str).collect()
}

fn support<'a>(state: &State, sources: &Sources, aged: &'a [String]) -> Support<'a> {
    let landed = landed_ideas(state, sources);
    let voices = || sources.kept.iter().flat_map(Evidence::voices);
    let ideas = voices().filter_map(Author::idea);
    let mut open: Vec<_> = ideas.filter(|idea| !landed.contains(idea)).collect();
    open.sort();
    open.dedup();
    Support {
        person: voices().any(Author::is_person),
        synthesis: sources
            .kept
            .first()
            .is_some_and(|it| is_synthesis(&it.author)),
        landed: landed.len(),
        unfinished: open.len(),
        aged: aged.iter().map(String::as_str).collect(),
    }
}

fn is_synthesis(author: &Author) -> bool {
    matches!(author, Author::Synthesis { .. })
}

/// All sides of a contradicted fact: the heavier first, of equals the newer.
fn claims<'a>(
    state: &State,
    authors: &'a Authors,
    key: &FactKey,
    fact: &'a Fact,
) -> Vec<Claim<'a>> {
    if fact.rivals.is_empty() {
        return Vec::new();
    }
    let weight = |sources: &Sources| {
        let at = sources.kept.last().map_or(Timestamp::default(), |it| it.at);
        (confidence(state, sources, false, false), at)
    };
    let own = Claim {
        value: &fact.value,
        by: authors.get(key, None),
    };
    let mut sides = vec![(weight(&fact.evidence), own)];
    for rival in &fact.rivals {
        let claim = Claim {
            value: rival.value.as_deref().unwrap_or("this is wrong"),
            by: authors.get(key, Some(&rival.id)),
        };
        sides.push((weight(&rival.evidence), claim));
    }
    sides.sort_by(|((one, one_at), _), ((other, other_at), _)| {
        other.total_cmp(one).then(other_at.cmp(one_at))
    });
    sides.into_iter().map(|(_, claim)| claim).collect()
}
