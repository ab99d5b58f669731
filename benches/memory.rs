//! The shared memory: whether the index finds a fact by other words, whether learnings merge that
//! say different things, and what searching, building, adding and selecting take.
//!
//! A call takes microseconds, and a busy machine interrupts some for milliseconds. So every round
//! makes the same calls, and the fastest of the rounds counts for each.
//!
//! `BENCH_ITEMS` (18000), `BENCH_ROUNDS` (20).

mod common;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use common::facts::{self, Corpus};
use common::log::Maker;
use common::samples::{Goal, Samples};
use common::{Result, ensure, note, size, smoke, wanted};
use swarm::daemon::Paths;
use swarm::daemon::memory::index::{Hit, Index};
use swarm::daemon::memory::selection::{
    Candidate, DEFAULT_BUDGET, ItemRef, Query, Request, Support, select,
};
use swarm::domain::time::Timestamp;

/// Part of the paraphrases whose fact must be among the first three hits.
const RECALL: f64 = 0.9;
/// Slowest search or selection but for one in a hundred, in milliseconds.
const SEARCH: f64 = 5.0;
/// The whole index, in milliseconds.
const BUILD: f64 = 200.0;
/// One more text, in microseconds.
const INSERT: f64 = 50.0;
/// Time between two items of the memory.
const STEP_MS: i64 = 60_000;

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let corpus = facts::corpus(if smoke() { 20 } else { 1 });
    println!(
        "memory: {} facts, {} paraphrases, {} traps",
        corpus.facts.len(),
        corpus.paraphrases.len(),
        corpus.traps.len()
    );
    recall(&corpus);
    merging(&corpus)?;
    times(
        &corpus,
        size("BENCH_ITEMS", 18_000, 600)?,
        size("BENCH_ROUNDS", 20, 1)?,
    )
}

fn recall(corpus: &Corpus) {
    let mut index = Index::default();
    for (fact, text) in corpus.facts.iter().enumerate() {
        index.insert(fact, text);
    }
    let mut found = [0; 3];
    for (fact, paraphrase) in &corpus.paraphrases {
        let hits = index.search(paraphrase, 5);
        let place = hits.iter().position(|hit| hit.id == *fact);
        for (within, found) in [1, 3, 5].into_iter().zip(&mut found) {
            *found += u32::from(place.is_some_and(|place| place < within));
        }
    }
    let all = f64::from(u32::try_from(corpus.paraphrases.len()).unwrap_or(u32::MAX));
    let [first, third, fifth] = found.map(|found| Samples::one(f64::from(found) / all));
    first.show("the fact of a paraphrase is the first hit", "");
    Goal::AtLeast(RECALL).judge("it is among the first 3", &third, "");
    fifth.show("it is among the first 5", "");
}

/// Lets the rules decide which learnings are the same.
fn merging(corpus: &Corpus) -> Result {
    let mut said: Vec<(String, usize, &str)> = Vec::new();
    for (fact, text) in corpus.facts.iter().enumerate() {
        said.push((format!("fact {fact}"), 0, text));
    }
    for (at, (fact, text)) in corpus.paraphrases.iter().enumerate() {
        said.push((format!("fact {fact}"), 1 + at % 2, text));
    }
    for (at, (_, text)) in corpus.traps.iter().enumerate() {
        said.push((format!("trap {at}"), 1, text));
    }
    let folder = tempfile::tempdir()?;
    let mut maker = Maker::new(&Paths::new(folder.path()).state)?;
    let sentences: Vec<_> = said
        .iter()
        .map(|(_, agent, text)| (*agent, *text))
        .collect();
    let ids = maker.learn(&sentences)?;
    let mut meanings: HashMap<String, &str> = HashMap::new();
    let (mut right, mut wrong) = (0.0, 0.0);
    for ((meaning, _, text), id) in said.iter().zip(ids) {
        let id = id.ok_or_else(|| format!("no learning: {text}"))?;
        match meanings.get(&id) {
            None => {
                meanings.insert(id, meaning);
            }
            Some(same) if same == meaning => right += 1.0,
            Some(other) => {
                wrong += 1.0;
                note(format!("{meaning} became {other}: {text}"));
            }
        }
    }
    ensure(right > 0.0, || "no learnings merged".to_owned())?;
    Goal::AtLeast(1.0).judge(
        "merges of the same fact",
        &Samples::one(right / (right + wrong)),
        "",
    );
    #[allow(clippy::cast_precision_loss)]
    let paraphrases = corpus.paraphrases.len() as f64;
    Samples::one(right / paraphrases).show("paraphrases that merge", "");
    Ok(())
}

/// The times of each kind of call, in the order of the calls.
#[derive(Default)]
struct Times {
    build: Fastest,
    insert: Fastest,
    search: Fastest,
    select: Fastest,
}

fn times(corpus: &Corpus, items: usize, rounds: usize) -> Result {
    note(format!("an index of {items} texts"));
    let texts = facts::texts(items + 1_000);
    let (there, more) = texts.split_at(items);
    let mut times = Times::default();
    for _ in 0..rounds {
        let mut index = Index::default();
        times.build.add(timed_each([there].into_iter(), |there| {
            for (at, text) in there.iter().enumerate() {
                index.insert(reference(at), text);
            }
        }));
        times.search.add(searches(&index, corpus)?);
        times.select.add(selections(&index, there, corpus)?);
        times
            .insert
            .add(timed_each(more.iter().enumerate(), |(at, text)| {
                index.insert(reference(items + at), text);
            }));
        ensure(index.len() == texts.len(), || {
            "texts are missing".to_owned()
        })?;
    }
    let Times {
        build,
        insert,
        search,
        select,
    } = times;
    Goal::AtMost(BUILD).judge("the index is built", &build.percentile(50, 1_000.0), "ms");
    insert
        .percentile(50, 1e6)
        .show("one more text, median", "us");
    Goal::AtMost(INSERT).judge("one more text, p99", &insert.percentile(99, 1e6), "us");
    search
        .percentile(50, 1_000.0)
        .show("a search, median", "ms");
    Goal::AtMost(SEARCH).judge("a search, p99", &search.percentile(99, 1_000.0), "ms");
    select
        .percentile(50, 1_000.0)
        .show("search and selection, median", "ms");
    Goal::AtMost(SEARCH).judge("both, p99", &select.percentile(99, 1_000.0), "ms");
    Ok(())
}

/// Ten of eighteen texts are facts, the others learnings.
fn reference(at: usize) -> ItemRef {
    if at % 9 < 5 {
        ItemRef::Fact(format!("fact.{at}"))
    } else {
        ItemRef::Learning(format!("learning-{at:05}"))
    }
}

/// What an idea and a failed check say, of different length.
fn queries(corpus: &Corpus) -> Vec<String> {
    let paraphrases: Vec<&str> = corpus.paraphrases.iter().map(|(_, text)| &**text).collect();
    let of = |count: usize| {
        paraphrases
            .chunks(count)
            .take(200)
            .map(|some| some.join("\n"))
    };
    of(1).chain(of(4)).chain(of(30)).collect()
}

fn searches(index: &Index<ItemRef>, corpus: &Corpus) -> Result<Vec<Duration>> {
    let queries = queries(corpus);
    let mut hits = 0;
    let times = timed_each(queries.iter(), |query| {
        hits += index.search(query, 100).len();
    });
    ensure(hits >= queries.len(), || "searches find nothing".to_owned())?;
    Ok(times)
}

fn selections(index: &Index<ItemRef>, texts: &[String], corpus: &Corpus) -> Result<Vec<Duration>> {
    let queries = queries(corpus);
    let names: Vec<ItemRef> = (0..texts.len()).map(reference).collect();
    let changed = ["src/api.rs".to_owned(), "docs/api.md".to_owned()];
    let now = Timestamp::from_millis(STEP_MS).plus_millis(STEP_MS * 20_000);
    let mut told = 0;
    let times = timed_each(queries.iter(), |idea| {
        let query = Query {
            idea,
            changed_paths: &changed,
            ..Query::default()
        };
        let hits: Vec<Hit<ItemRef>> = index.search(&query.text(), 100);
        let items = names.iter().zip(texts).enumerate();
        let candidates: Vec<Candidate<'_>> = items.map(candidate).collect();
        let selection = select(&Request {
            candidates: &candidates,
            query: &query,
            hits: &hits,
            now,
            budget: DEFAULT_BUDGET,
            shown: &BTreeMap::new(),
            told_at: None,
            search: "memory_search",
        });
        told += selection.shown.len();
    });
    ensure(told >= 10 * queries.len(), || format!("only {told} items"))?;
    Ok(times)
}

fn candidate<'a>((at, (name, text)): (usize, (&ItemRef, &'a String))) -> Candidate<'a> {
    let minutes = i64::try_from(at).unwrap_or(i64::MAX);
    Candidate {
        reference: name.clone(),
        version: 1,
        text,
        pinned: at.is_multiple_of(1_000),
        retracted: at.is_multiple_of(50),
        confidence: [0.05, 0.25, 0.5, 0.75][at % 4],
        at: Timestamp::from_millis(minutes.saturating_mul(STEP_MS)),
        paths: match at % 4 {
            0 => vec!["src/api.rs", "src/lib.rs"],
            _ => vec![],
        },
        claims: vec![],
        only_idea: None,
        support: Support::default(),
    }
}

fn timed_each<T>(items: impl Iterator<Item = T>, mut work: impl FnMut(T)) -> Vec<Duration> {
    let timed = |item| {
        let start = Instant::now();
        work(item);
        start.elapsed()
    };
    items.map(timed).collect()
}

/// For each of the same calls the fastest of the rounds.
#[derive(Default)]
struct Fastest(Vec<Duration>);

impl Fastest {
    fn add(&mut self, round: Vec<Duration>) {
        if self.0.is_empty() {
            self.0 = round;
            return;
        }
        for (fastest, time) in self.0.iter_mut().zip(round) {
            *fastest = time.min(*fastest);
        }
    }

    /// A percentile of the calls, in a unit of which a second has so many.
    fn percentile(&self, percent: usize, in_a_second: f64) -> Samples {
        let mut times = self.0.clone();
        times.sort_unstable();
        Samples::one(times[times.len() * percent / 100].as_secs_f64() * in_a_second)
    }
}
