//! What a compaction of the memory dropped, as a page for people. Called by `exports`, which writes
//! it to `state/memory/summary-<seq>.md`.
//!
//! Invariant: a page is made from the log and never read back. The state names the compactions, so
//! a page that is missing, after a kill or because somebody removed it, is written again.

use std::collections::BTreeMap;

use super::archive::{self, Dropped};
use super::markdown::paragraph;
use super::paths::Paths;
use crate::domain::memory::{Evidence, Learning, LearningRange, confidence};
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::journal::JournalError;
use crate::view::memory::dropped;

/// Sentences that a page has.
const SENTENCES: usize = 20;

/// The compactions without a page.
pub(super) fn missing(paths: &Paths, seqs: &[u64]) -> Vec<u64> {
    let is_missing = |seq: &&u64| std::fs::symlink_metadata(paths.summary(**seq)).is_err();
    seqs.iter().filter(is_missing).copied().collect()
}

/// The page of a compaction; `None` if the log no longer has its event. How much supports a
/// sentence follows the present state of the ideas.
pub(super) fn page(paths: &Paths, state: &State, seq: u64) -> Result<Option<String>, JournalError> {
    let dropped = archive::compaction(paths, seq)?;
    Ok(dropped.map(|dropped| write(state, seq, &dropped)))
}

fn write(state: &State, seq: u64, dropped: &Dropped) -> String {
    let went = learnings(dropped);
    let mut page = opening(seq, dropped);
    let agents = |it: &Learning| first(it).map_or_else(String::new, |it| name(&it.author));
    counts(&mut page, "agent", went.iter().map(|it| agents(it)));
    let idea = |it: &Learning| {
        let idea = first(it).and_then(|it| it.author.idea());
        idea.map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    counts(&mut page, "idea", went.iter().map(|it| idea(it)));
    sentences(&mut page, state, &went);
    history(&mut page, dropped);
    let mut seqs: Vec<u64> = went
        .iter()
        .filter_map(|it| first(it).map(|it| it.seq))
        .collect();
    seqs.sort_unstable();
    seqs.dedup();
    if !seqs.is_empty() {
        let seqs = LearningRange::join(seqs);
        let seqs: Vec<String> = seqs.iter().map(|it| span(it.first, it.last)).collect();
        section(&mut page, "Events", &[seqs.join(", ")]);
    }
    page
}

/// The learnings that went, oldest first.
fn learnings(dropped: &Dropped) -> Vec<&Learning> {
    let ranges = &dropped.compacted.learnings;
    let went = |it: &&Learning| ranges.iter().any(|range| range.has(&it.id));
    dropped.archive.iter().filter(went).collect()
}

fn opening(seq: u64, what: &Dropped) -> String {
    let Dropped { at, compacted, .. } = what;
    let by = compacted.by.as_ref().map(Author::to_string);
    let by = by.unwrap_or_else(|| "swarm".to_owned());
    let (words, up_to) = (dropped(compacted), compacted.up_to);
    let mut page = String::new();
    let what = format!(
        "{by} compacted the memory at {at}: {words} left the state. The event log keeps them."
    );
    let ways = [
        "Find a learning: `swarm memory search --all WORDS`".to_owned(),
        format!("Show a fact as it was: `swarm memory get KEY --at {up_to}`"),
    ];
    page.extend(["# Compaction ", &seq.to_string(), "\n"]);
    for text in std::iter::once(&what).chain(&ways) {
        page.extend(["\n", &paragraph(text)]);
    }
    page
}

/// A heading and its paragraphs; nothing where there are none.
fn section(page: &mut String, heading: &str, paragraphs: &[String]) {
    if paragraphs.is_empty() {
        return;
    }
    page.extend(["\n## ", heading, "\n"]);
    for text in paragraphs {
        page.extend(["\n", &paragraph(text)]);
    }
}

fn first(learning: &Learning) -> Option<&Evidence> {
    learning.evidence.kept.first()
}

fn name(author: &Author) -> String {
    let agent = author.agent().map(ToString::to_string);
    agent.unwrap_or_else(|| author.to_string())
}

/// How many learnings each one reported first, the most first.
fn counts(page: &mut String, what: &str, names: impl Iterator<Item = String>) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rows = counts
        .iter()
        .map(|(name, count)| format!("{name}: {count}"));
    section(
        page,
        &format!("Learnings by {what}"),
        &rows.collect::<Vec<_>>(),
    );
}

/// The sentences in which confidence is highest, of equals those with more evidence first, then
/// the newest.
fn sentences(page: &mut String, state: &State, went: &[&Learning]) {
    let weight = |it: &Learning| confidence(state, &it.evidence, false, false);
    let mut best: Vec<(f64, &Learning)> = went.iter().map(|it| (weight(it), *it)).collect();
    best.reverse();
    best.sort_by(|(one, this), (other, that)| {
        let by_weight = other.total_cmp(one);
        by_weight.then_with(|| that.evidence.count.cmp(&this.evidence.count))
    });
    best.truncate(SENTENCES);
    let best = best.into_iter().map(|(_, learning)| sentence(learning));
    section(page, "Best supported", &best.collect::<Vec<_>>());
}

fn sentence(learning: &Learning) -> String {
    let said = first(learning).map_or_else(String::new, |it| {
        format!(" ({}, event {})", it.author, it.seq)
    });
    let retracted = match learning.retracted {
        Some(_) => ", retracted",
        None => "",
    };
    format!("{}{retracted}: {}{said}", learning.id, learning.content)
}

/// The facts that lost earlier values, and how many.
fn history(page: &mut String, dropped: &Dropped) {
    let old = dropped.compacted.history.iter();
    let rows = old.map(|old| format!("{}: {}", old.key, old.entries));
    section(page, "Earlier values", &rows.collect::<Vec<_>>());
}

fn span(first: u64, last: u64) -> String {
    if first == last {
        return first.to_string();
    }
    format!("{first}-{last}")
}
