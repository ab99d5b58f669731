//! Finds short texts by their words: BM25 over an inverted index in memory.
//!
//! Invariant: the result depends only on the texts and the order in which they came. An index that
//! items left and one that never had them give the same scores. The index is never stored: at its
//! first use it is built from the state.

use std::collections::{BTreeMap, HashMap};

use super::words::each_term;

/// How soon more of the same word stops counting.
const SATURATION: f64 = 1.2;
/// How much a long text is discounted. Low, because all texts here are short.
const LENGTH: f64 = 0.4;
/// Most terms of a query that are compared, the rarest first: an idea may be a page long.
const MAX_QUERY_TERMS: usize = 64;

/// Texts by their words. Inserts, removals and searches may alternate. `R` names a text.
#[derive(Debug, Clone)]
pub struct Index<R> {
    /// Position of each term in `postings`. Terms stay when their last text goes.
    terms: HashMap<String, usize>,
    /// For each term the texts that have it, in no order.
    postings: Vec<Vec<Posting>>,
    texts: Vec<Option<Text<R>>>,
    /// Places in `texts` that are empty.
    free: Vec<usize>,
    places: BTreeMap<R, usize>,
    /// Sum of the lengths of all texts, in terms.
    total_length: u64,
    /// How many texts were ever inserted.
    inserted: u64,
}

/// A text that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit<R> {
    /// The text.
    pub id: R,
    /// Its BM25 score, above 0. Scores of different queries cannot be compared.
    pub score: f64,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    place: usize,
    /// How often the text has the term.
    count: u32,
}

#[derive(Debug, Clone)]
struct Text<R> {
    id: R,
    /// Its number among all that were inserted.
    number: u64,
    /// In terms.
    length: u32,
    /// Each of its terms once.
    terms: Vec<usize>,
}

// Derived, it would ask for `R: Default`.
impl<R> Default for Index<R> {
    fn default() -> Self {
        Self {
            terms: HashMap::new(),
            postings: Vec::new(),
            texts: Vec::new(),
            free: Vec::new(),
            places: BTreeMap::new(),
            total_length: 0,
            inserted: 0,
        }
    }
}

impl<R: Ord + Clone> Index<R> {
    /// Adds a text, or replaces the text of this name; either way it is then the newest.
    pub fn insert(&mut self, id: R, text: &str) {
        self.remove(&id);
        let mut found = Vec::new();
        each_term(text, |term| found.push(self.term(term)));
        let length = u32::try_from(found.len()).unwrap_or(u32::MAX);
        found.sort_unstable();
        let place = self.free.pop().unwrap_or(self.texts.len());
        for same in found.chunk_by(|one, other| one == other) {
            let count = u32::try_from(same.len()).unwrap_or(u32::MAX);
            self.postings[same[0]].push(Posting { place, count });
        }
        found.dedup();
        self.inserted += 1;
        let text = Text {
            id: id.clone(),
            number: self.inserted,
            length,
            terms: found,
        };
        if place == self.texts.len() {
            self.texts.push(Some(text));
        } else {
            self.texts[place] = Some(text);
        }
        self.places.insert(id, place);
        self.total_length += u64::from(length);
    }

    /// Removes a text, if it is there.
    pub fn remove(&mut self, id: &R) {
        let Some(place) = self.places.remove(id) else {
            return;
        };
        let Some(text) = self.texts[place].take() else {
            return;
        };
        for term in text.terms {
            let postings = &mut self.postings[term];
            if let Some(at) = postings.iter().position(|posting| posting.place == place) {
                postings.swap_remove(at);
            }
        }
        self.total_length -= u64::from(text.length);
        self.free.push(place);
    }

    /// The texts that share a term with the query: at most `limit`, best first, of equals the
    /// newest first.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit<R>> {
        let mut scores = vec![0.0; self.texts.len()];
        let mut touched = Vec::new();
        for (term, rarity) in self.query_terms(query) {
            for posting in &self.postings[term] {
                let score = &mut scores[posting.place];
                if *score <= 0.0 {
                    touched.push(posting.place);
                }
                *score += rarity * self.weight(*posting);
            }
        }
        let number = |place: usize| self.texts[place].as_ref().map(|text| text.number);
        let best_first = |one: &usize, other: &usize| {
            let by_score = scores[*other].total_cmp(&scores[*one]);
            by_score.then_with(|| number(*other).cmp(&number(*one)))
        };
        if limit < touched.len() && limit > 0 {
            touched.select_nth_unstable_by(limit - 1, best_first);
        }
        touched.truncate(limit);
        touched.sort_unstable_by(best_first);
        let hit = |place: usize| {
            Some(Hit {
                id: self.texts[place].as_ref()?.id.clone(),
                score: scores[place],
            })
        };
        touched.into_iter().filter_map(hit).collect()
    }

    /// How many texts it has.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The position of a term, which is new if no text had it yet.
    fn term(&mut self, term: &str) -> usize {
        if let Some(known) = self.terms.get(term) {
            return *known;
        }
        let new = self.postings.len();
        self.postings.push(Vec::new());
        self.terms.insert(term.to_owned(), new);
        new
    }

    /// The rarest terms of a query with how rare they are, each once, in the order of the query.
    fn query_terms(&self, query: &str) -> Vec<(usize, f64)> {
        let mut terms = Vec::new();
        each_term(query, |term| {
            if let Some(known) = self.terms.get(term)
                && !self.postings[*known].is_empty()
            {
                terms.push((*known, terms.len()));
            }
        });
        terms.sort_unstable();
        terms.dedup_by_key(|(term, _)| *term);
        terms.sort_by_key(|(term, at)| (self.postings[*term].len(), *at));
        terms.truncate(MAX_QUERY_TERMS);
        // A fixed order of summands makes equal texts equal to the last bit.
        terms.sort_unstable_by_key(|(_, at)| *at);
        terms
            .into_iter()
            .map(|(term, _)| (term, self.rarity(term)))
            .collect()
    }

    #[allow(clippy::cast_precision_loss)] // no index has 2^52 texts
    fn rarity(&self, term: usize) -> f64 {
        let (all, having) = (self.len() as f64, self.postings[term].len() as f64);
        ((all - having + 0.5) / (having + 0.5)).ln_1p()
    }

    /// How much a term counts in a text.
    #[allow(clippy::cast_precision_loss)]
    fn weight(&self, posting: Posting) -> f64 {
        let length = self.texts[posting.place].as_ref();
        let length = length.map_or(0.0, |text| f64::from(text.length));
        let average = self.total_length as f64 / self.len() as f64;
        let count = f64::from(posting.count);
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * length / average);
        count * (SATURATION + 1.0) / (count + norm)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(texts: &[&str]) -> Index<usize> {
        let mut index = Index::default();
        for (id, text) in texts.iter().enumerate() {
            index.insert(id, text);
        }
        index
    }

    fn ids(hits: &[Hit<usize>]) -> Vec<usize> {
        hits.iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn the_best_text_comes_first() {
        let index = index(&[
            "The API listens on port 8080",
            "Tests need a running Postgres",
            "Port numbers are read from config/ports.toml",
            "Integration tests listen for events",
        ]);
        assert_eq!(
            ids(&index.search("which port does the api use?", 9)),
            [0, 2]
        );
        assert_eq!(ids(&index.search("listening", 9)), [3, 0]);
        assert_eq!(ids(&index.search("listening", 1)), [3]);
        assert_eq!(ids(&index.search("config/ports.toml", 9))[0], 2);
        assert!(index.search("nothing the like", 9).is_empty());
        assert!(index.search("port", 0).is_empty());
        assert!(index.search("", 9).is_empty());
    }

    #[test]
    fn a_rare_word_counts_more_than_a_usual_one() {
        let index = index(&["tests need time", "tests need redis", "tests need disk"]);
        assert_eq!(ids(&index.search("tests need redis", 2))[0], 1);
    }

    #[test]
    fn of_equals_the_newest_comes_first() {
        let mut index = index(&["the port is 1", "the port is 1", "the port is 1"]);
        assert_eq!(ids(&index.search("port", 9)), [2, 1, 0]);
        index.insert(1, "the port is 1");
        assert_eq!(ids(&index.search("port", 2)), [1, 2]);
    }

    #[test]
    fn a_replaced_or_removed_text_is_not_found() {
        let mut index = index(&["redis is needed", "postgres is needed"]);
        index.insert(0, "mysql is needed");
        assert!(index.search("redis", 9).is_empty());
        index.remove(&1);
        index.remove(&1);
        index.remove(&7);
        assert!(index.search("postgres", 9).is_empty());
        assert_eq!(ids(&index.search("needed", 9)), [0]);
        assert_eq!(index.len(), 1);
        index.remove(&0);
        assert!(index.is_empty());
        assert!(index.search("needed", 9).is_empty());
    }

    #[test]
    fn of_a_long_query_the_rarest_terms_count() {
        let mut index = Index::default();
        for id in 0..100 {
            index.insert(id, "usual words in every text");
        }
        index.insert(100, "zebra");
        let many: Vec<String> = (0..200).map(|number| format!("usual{number}")).collect();
        let query = format!("usual words {} zebra", many.join(" "));
        assert_eq!(index.search(&query, 1)[0].id, 100);
    }

    /// Changes of few texts with few words, so that they meet.
    fn changes() -> impl Strategy<Value = Vec<(usize, Option<String>)>> {
        let words = prop::sample::select(vec!["port", "test", "redis", "api_port", "Config"]);
        let text = prop::collection::vec(words, 0..6).prop_map(|words| words.join(" "));
        prop::collection::vec((0..8_usize, prop::option::weighted(0.7, text)), 0..40)
    }

    proptest! {
        #[test]
        fn changes_leave_the_index_of_what_is_there(changes in changes(), limit in 0..9_usize) {
            let mut changed = Index::default();
            let mut there: Vec<(usize, String)> = Vec::new();
            for (id, text) in changes {
                there.retain(|(other, _)| *other != id);
                match text {
                    Some(text) => {
                        changed.insert(id, &text);
                        there.push((id, text));
                    }
                    None => changed.remove(&id),
                }
            }
            let mut fresh = Index::default();
            for (id, text) in &there {
                fresh.insert(*id, text);
            }
            for query in ["port", "redis tests config", "api_port port nothing"] {
                let all = changed.search(query, usize::MAX);
                prop_assert_eq!(&all, &fresh.search(query, usize::MAX));
                prop_assert!(all.iter().all(|hit| hit.score > 0.0));
                prop_assert!(all.windows(2).all(|pair| pair[0].score >= pair[1].score));
                let some = changed.search(query, limit);
                prop_assert_eq!(&some[..], &all[..limit.min(all.len())]);
            }
        }
    }
}
