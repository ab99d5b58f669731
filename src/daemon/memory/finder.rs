//! Searches the memory: the index of a process, kept up with the state.
//!
//! Invariant: the index is a cache. Whatever it holds, only what is in the state is found. It is
//! locked before the state is read, and never while somebody waits for the state.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::index::{Hit, Index};
use super::selection::ItemRef;
use crate::domain::memory::{Fact, FactKey, FactStatus, Learning, Learnings};
use crate::domain::state::State;
use crate::view::memory::{Aged, HitView, SearchView, fact_hit, learning_hit};

/// Most hits of one search.
pub const MAX_HITS: usize = 100;
/// Hits when nobody says how many.
pub const DEFAULT_HITS: usize = 10;
/// Similar facts and learnings that the answer to a write names.
const SIMILAR: usize = 3;

/// What somebody searches for.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The words.
    pub text: &'a str,
    /// Most hits.
    pub limit: usize,
    /// Whether retracted facts and learnings are found too.
    pub all: bool,
}

/// Gives access to the state, for a short time.
pub type ReadState<'a> = dyn Fn(&mut dyn FnMut(&State)) + 'a;

/// Finds facts and learnings.
#[derive(Debug, Default)]
pub struct Finder {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    index: Index<ItemRef>,
    /// Learnings in the index: the first ones of the state.
    learnings: usize,
    /// Learnings that had been dropped from the state.
    dropped: u64,
    /// Version of each fact in the index.
    facts: BTreeMap<FactKey, u64>,
}

impl Finder {
    /// Searches.
    pub fn search(&self, read: &ReadState<'_>, query: &Query<'_>) -> SearchView {
        let kept = self.refreshed(read);
        let found = kept.index.search(query.text, usize::MAX);
        drop(kept);
        let mut hits = Vec::new();
        read(&mut |state| {
            let references = found.iter().map(|hit| &hit.id);
            let views = references.filter_map(|reference| hit(state, reference, query.all));
            hits = views.collect();
        });
        let left_out = hits.len().saturating_sub(query.limit);
        hits.truncate(query.limit);
        SearchView { hits, left_out }
    }

    /// What fits best, with its scores. It may have been retracted.
    pub fn hits(&self, read: &ReadState<'_>, text: &str, limit: usize) -> Vec<Hit<ItemRef>> {
        self.refreshed(read).index.search(text, limit)
    }

    /// The facts and learnings that are most similar to a text, without those in `except`.
    pub fn similar(&self, read: &ReadState<'_>, text: &str, except: &[&str]) -> Vec<HitView> {
        let query = Query {
            text,
            limit: SIMILAR + except.len(),
            all: false,
        };
        let mut hits = self.search(read, &query).hits;
        hits.retain(|hit| !except.contains(&hit.reference.as_str()));
        hits.truncate(SIMILAR);
        hits
    }

    /// The index, with what has changed since.
    fn refreshed(&self, read: &ReadState<'_>) -> MutexGuard<'_, Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut news = Vec::new();
        read(&mut |state| news = kept.take_news(state));
        for (reference, text) in news {
            kept.index.insert(reference, &text);
        }
        kept
    }
}

impl Kept {
    /// What is not in the index yet. Between compactions the state only grows, but for facts that
    /// change; after one the index begins anew.
    fn take_news(&mut self, state: &State) -> Vec<(ItemRef, String)> {
        if self.dropped != state.compacted.learnings {
            *self = Self {
                dropped: state.compacted.learnings,
                ..Self::default()
            };
        }
        let learnings = state.learnings.iter().skip(self.learnings);
        let learning = |it: &Learning| (ItemRef::Learning(it.id.clone()), it.content.clone());
        let mut news: Vec<(ItemRef, String)> = learnings.map(learning).collect();
        self.learnings = state.learnings.len();
        for (key, fact) in state.facts.iter() {
            if self.facts.get(key) != Some(&fact.version) {
                self.facts.insert(key.clone(), fact.version);
                news.push((ItemRef::Fact(key.to_string()), words(key, fact)));
            }
        }
        news
    }
}

/// Searches the state and the learnings that were dropped from it. `archive` has all learnings of
/// the log.
pub fn search_archive(state: &State, archive: &Learnings, query: &Query<'_>) -> SearchView {
    let is_dropped = |it: &&Learning| state.compacted.has(&it.id, &state.learnings);
    let dropped: Vec<&Learning> = archive.iter().filter(is_dropped).collect();
    let texts: BTreeMap<&str, &str> = dropped
        .iter()
        .map(|it| (it.id.as_str(), it.content.as_str()))
        .collect();
    let all = dropped.iter().copied().chain(state.learnings.iter());
    let whole = State {
        learnings: all.cloned().collect::<Vec<_>>().into(),
        ..state.clone()
    };
    let mut found = Finder::default().search(&|each| each(&whole), query);
    for hit in &mut found.hits {
        // A fact may have a key that looks like the id of a learning.
        hit.compacted = texts.get(hit.reference.as_str()) == Some(&hit.text.as_str());
    }
    found
}

/// A fact or learning as a hit; with `all`, also what is retracted, and claims about facts that say
/// something else.
fn hit(state: &State, reference: &ItemRef, all: bool) -> Option<HitView> {
    let hit = match reference {
        ItemRef::Fact(key) => fact_hit(state, &Aged::nothing(), &key.parse().ok()?)?,
        ItemRef::Learning(id) => {
            let learning = state.learnings.get(id)?;
            let fact = learning.key.as_ref().and_then(|key| state.facts.get(key));
            // The fact stands for it.
            if fact.is_some_and(|fact| !all || fact.says(&learning.content)) {
                return None;
            }
            learning_hit(state, learning)
        }
    };
    Some(hit).filter(|hit| all || hit.status != FactStatus::Retracted)
}

/// What is searched of a fact: its key, its value and the claims against it.
fn words(key: &FactKey, fact: &Fact) -> String {
    let mut words = format!("{key} {}", fact.value);
    for claimed in fact.rivals.iter().filter_map(|rival| rival.value.as_ref()) {
        words.push(' ');
        words.push_str(claimed);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::decide;
    use crate::domain::event::MemoryCompacted;
    use crate::domain::evolve::evolve;
    use crate::domain::memory::{Claim, Learn, LearningRange, MemoryCommand, Retracted, WriteFact};
    use crate::domain::operation::Command;
    use crate::domain::time::Timestamp;

    fn carry_out(state: &mut State, command: MemoryCommand) {
        let now = Timestamp::from_millis(1_000);
        for event in decide::command(state, &Command::Memory(command), now).unwrap() {
            let seq = state.seq + 1;
            evolve(state, seq, now, &event);
        }
    }

    fn write(state: &mut State, key: &str, value: &str) {
        let write = WriteFact {
            key: key.parse().unwrap(),
            value: value.into(),
            expected: None,
            claim: Claim::default(),
        };
        carry_out(state, MemoryCommand::WriteFact(write));
    }

    fn learn(state: &mut State, content: &str) {
        let learn = Learn {
            content: content.into(),
            ..Learn::default()
        };
        carry_out(state, MemoryCommand::Learn(learn));
    }

    fn found(finder: &Finder, state: &State, text: &str, all: bool) -> Vec<String> {
        let query = Query {
            text,
            limit: 10,
            all,
        };
        let hits = finder.search(&|read| read(state), &query).hits;
        hits.into_iter().map(|hit| hit.reference).collect()
    }

    #[test]
    fn a_search_follows_every_change() {
        let (finder, mut state) = (Finder::default(), State::default());
        assert_eq!(found(&finder, &state, "port", false), [""; 0]);
        write(&mut state, "api.port", "The API listens on 8080");
        learn(&mut state, "Tests need a database");
        assert_eq!(found(&finder, &state, "listens", false), ["api.port"]);
        assert_eq!(found(&finder, &state, "databases", false), ["learning-001"]);
        write(&mut state, "api.port", "It is 9090");
        assert_eq!(found(&finder, &state, "listens", false), [""; 0]);
        assert_eq!(found(&finder, &state, "9090", false), ["api.port"]);
        let what = Retracted::Learning("learning-001".into());
        carry_out(&mut state, MemoryCommand::Retract { what, why: None });
        assert_eq!(found(&finder, &state, "database", false), [""; 0]);
        assert_eq!(found(&finder, &state, "database", true), ["learning-001"]);
    }

    #[test]
    fn a_learning_that_is_the_value_of_its_fact_is_found_once() {
        let (finder, mut state) = (Finder::default(), State::default());
        learn(&mut state, "[api.port] The API listens on 8080");
        assert_eq!(found(&finder, &state, "listens", true), ["api.port"]);
        write(&mut state, "api.port", "It is 9090");
        assert_eq!(found(&finder, &state, "listens", false), [""; 0]);
        assert_eq!(found(&finder, &state, "listens", true), ["learning-001"]);
    }

    #[test]
    fn similar_ones_leave_out_the_text_itself() {
        let (finder, mut state) = (Finder::default(), State::default());
        write(&mut state, "api.port", "The API listens on 8080");
        learn(&mut state, "the API listens on port 9090");
        let read = |read: &mut dyn FnMut(&State)| read(&state);
        let similar = finder.similar(&read, "The API listens", &["learning-001"]);
        let similar: Vec<&str> = similar.iter().map(|hit| hit.reference.as_str()).collect();
        assert_eq!(similar, ["api.port"]);
    }

    #[test]
    fn what_was_dropped_is_found_in_the_archive_alone() {
        let (finder, mut state) = (Finder::default(), State::default());
        learn(&mut state, "Tests need a database");
        learn(&mut state, "Tests need Redis");
        assert_eq!(found(&finder, &state, "database", false), ["learning-001"]);
        let archive = state.learnings.clone();
        let compacted = MemoryCompacted {
            up_to: state.seq,
            learnings: LearningRange::join([1]),
            history: Vec::new(),
            by: None,
        };
        let seq = state.seq + 1;
        evolve(&mut state, seq, Timestamp::default(), &compacted.into());
        assert_eq!(found(&finder, &state, "database", true), [""; 0]);
        assert_eq!(found(&finder, &state, "redis", false), ["learning-002"]);
        let query = Query {
            text: "tests",
            limit: 10,
            all: true,
        };
        let hits = search_archive(&state, &archive, &query).hits;
        let hits: Vec<_> = hits
            .iter()
            .map(|hit| (hit.reference.as_str(), hit.compacted))
            .collect();
        assert_eq!(hits, [("learning-002", false), ("learning-001", true)]);
    }
}
