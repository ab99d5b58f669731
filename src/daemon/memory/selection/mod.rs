//! Selects what a prompt shows of the shared memory, and writes that section.
//!
//! Invariants: the same request gives the same section, in whatever order the candidates come. The
//! section is never longer than its budget. An item is one line that can neither fake a heading nor
//! contain a signal. The text of a retracted item never appears. A conversation is told each
//! version of an item once.

mod lines;
mod score;

use std::collections::BTreeMap;

use super::index::Hit;
use crate::agents::text::{head, tail};
use crate::domain::time::Timestamp;
use score::Scorer;

/// Heading of the section.
pub const HEADING: &str = "## What agents here found out";

/// Default length of the section, in bytes.
pub const DEFAULT_BUDGET: usize = 6 * 1024;

/// Most items of a section.
pub const MAX_ITEMS: usize = 24;

/// Most new or changed items that one idea alone stands behind, so that it cannot fill the section.
const OF_ONE_IDEA: usize = 6;

/// Bytes that are kept for pinned items. Further ones compete with the others.
const PINNED_BYTES: usize = 2 * 1024;

/// What scores less is not worth its place, unless it is pinned or corrects what was told.
const LEAST_SCORE: f64 = 0.15;

/// Most items without precedence that are considered: more than fit, so that a short one may take
/// the place of a long one.
const CONSIDERED: usize = 2 * MAX_ITEMS;

/// What an item is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemRef {
    /// A learning, by its id.
    Learning(String),
    /// A fact, by its key.
    Fact(String),
}

/// A learning or a fact that may be shown. Retracted ones belong to the candidates too, so that a
/// conversation that was told them hears of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<'a> {
    /// Its name.
    pub reference: ItemRef,
    /// Every change raises it, also a retraction and the end of one. Only facts show theirs.
    pub version: u64,
    /// The sentence of the learning, or the value of the fact.
    pub text: &'a str,
    /// Whether a person pinned it.
    pub pinned: bool,
    /// Whether it is retracted.
    pub retracted: bool,
    /// From 0 to 1.
    pub confidence: f64,
    /// When this version was written.
    pub at: Timestamp,
    /// The paths of its evidence, relative to the repository.
    pub paths: Vec<&'a str>,
    /// All sides of a contradicted fact, its present value among them, in the order in which they
    /// are shown. Otherwise empty.
    pub claims: Vec<Claim<'a>>,
    /// The idea that alone stands behind it.
    pub only_idea: Option<&'a str>,
    /// Who stands behind it.
    pub support: Support<'a>,
}

/// One side of a contradiction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The value claimed.
    pub value: &'a str,
    /// Who claims it, such as an idea's id.
    pub by: &'a str,
}

/// Who stands behind an item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Support<'a> {
    /// Whether a person wrote or confirmed it.
    pub person: bool,
    /// Whether a model put it together from what these say.
    pub synthesis: bool,
    /// Landed ideas whose agents wrote or confirmed it.
    pub landed: usize,
    /// The same for ideas that are not finished.
    pub unfinished: usize,
    /// Paths of its evidence that changed on the target since.
    pub aged: Vec<&'a str>,
}

/// What the agent is about to do. Empty texts are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query<'a> {
    /// Text of the idea.
    pub idea: &'a str,
    /// Tags of the idea.
    pub tags: &'a [String],
    /// Output of the check that failed after the last iteration.
    pub failed_gate: &'a str,
    /// Paths that the agent's branch changes.
    pub changed_paths: &'a [String],
}

/// Everything that a section follows from.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// All items, in any order.
    pub candidates: &'a [Candidate<'a>],
    /// What the agent is about to do.
    pub query: &'a Query<'a>,
    /// What the index finds for [`Query::text`].
    pub hits: &'a [Hit<ItemRef>],
    /// The time.
    pub now: Timestamp,
    /// Longest section, in bytes; 0 turns it off.
    pub budget: usize,
    /// What the conversation was told, and which version; empty when it begins.
    pub shown: &'a BTreeMap<ItemRef, u64>,
    /// When it was last told. What is older and was not told then stays left out, unless a person
    /// pinned it; `None` when the conversation begins.
    pub told_at: Option<Timestamp>,
    /// How the agent searches for more, such as `memory_search`.
    pub search: &'a str,
}

/// The section and what it tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// The section with its heading, each line ended; empty if there is nothing to tell.
    pub section: String,
    /// What it tells and which version, retractions too, in the order of the lines.
    pub shown: Vec<(ItemRef, u64)>,
    /// Items in force that this conversation has not been told.
    pub left_out: usize,
}

impl Query<'_> {
    /// The words to search for.
    pub fn text(&self) -> String {
        const IDEA: usize = 8 * 1024;
        const GATE: usize = 4 * 1024;
        let mut words = vec![head(self.idea, IDEA)];
        words.extend(self.tags.iter().map(String::as_str));
        words.push(tail(self.failed_gate, GATE));
        words.extend(self.changed_paths.iter().map(String::as_str));
        words.join("\n")
    }
}

/// What a line says about its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// It was told, and is retracted.
    Retracted,
    /// Another version was told.
    Changed,
    /// It was not told.
    New,
}

/// A candidate that may get a line.
struct Item<'a> {
    candidate: &'a Candidate<'a>,
    news: News,
    score: f64,
}

/// The rank of items without precedence.
const LAST_RANK: u8 = 3;

impl<'a> Item<'a> {
    /// The idea whose share of the section it takes. Retractions and pinned items take none.
    fn of_one_idea(&self) -> Option<&'a str> {
        let counts = self.news != News::Retracted && !self.candidate.pinned;
        self.candidate.only_idea.filter(|_| counts)
    }

    /// Retractions first, then what is pinned, then corrections, then the rest.
    fn rank(&self) -> u8 {
        match (self.news, self.candidate.pinned) {
            (News::Retracted, _) => 0,
            (News::Changed | News::New, true) => 1,
            (News::Changed, false) => 2,
            (News::New, false) => LAST_RANK,
        }
    }

    fn is_worth_it(&self) -> bool {
        match self.news {
            News::Retracted | News::Changed => true,
            News::New => self.candidate.pinned || self.score >= LEAST_SCORE,
        }
    }
}

/// Selects what the next prompt of a conversation shows.
pub fn select(request: &Request<'_>) -> Selection {
    let mut untold = 0;
    let mut items = Vec::new();
    let scorer = Scorer::new(request);
    for candidate in request.candidates {
        let Some(news) = news(candidate, request.shown) else {
            continue;
        };
        untold += usize::from(news != News::Retracted);
        // A person may pin what is old.
        let is_old = request.told_at.is_some_and(|told| candidate.at < told);
        if news == News::New && is_old && !candidate.pinned {
            continue;
        }
        let score = scorer.score(candidate);
        items.push(Item {
            candidate,
            news,
            score,
        });
    }
    items.retain(Item::is_worth_it);
    let items = ordered(items);
    let empty = lines::opening(request, untold).len();
    let chosen = fill(&items, request, empty);
    write(request, &items, chosen, untold)
}

/// The items in the order of their lines. Of those without precedence only the best are kept.
fn ordered(items: Vec<Item<'_>>) -> Vec<Item<'_>> {
    let best_first = |one: &Item<'_>, other: &Item<'_>| {
        let by_rank = one.rank().cmp(&other.rank());
        let by_score = || other.score.total_cmp(&one.score);
        let (this, that) = (one.candidate, other.candidate);
        let by_name = || (that.at, &this.reference).cmp(&(this.at, &that.reference));
        by_rank.then_with(by_score).then_with(by_name)
    };
    let (mut first, mut others): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| item.rank() < LAST_RANK);
    if others.len() > CONSIDERED {
        others.select_nth_unstable_by(CONSIDERED, best_first);
        others.truncate(CONSIDERED);
    }
    first.append(&mut others);
    first.sort_by(best_first);
    first
}

/// What a conversation has to hear of an item.
fn news(candidate: &Candidate<'_>, shown: &BTreeMap<ItemRef, u64>) -> Option<News> {
    match (shown.get(&candidate.reference), candidate.retracted) {
        (Some(version), _) if *version == candidate.version => None,
        (Some(_), true) => Some(News::Retracted),
        (Some(_), false) => Some(News::Changed),
        (None, true) => None,
        (None, false) => Some(News::New),
    }
}

/// The items that fit, as positions with their lines. A long line does not keep out the shorter
/// ones after it.
fn fill(items: &[Item<'_>], request: &Request<'_>, taken: usize) -> BTreeMap<usize, String> {
    let mut room = request.budget.saturating_sub(taken);
    let mut pinned_room = PINNED_BYTES;
    let mut by_idea: BTreeMap<&str, usize> = BTreeMap::new();
    let mut chosen = BTreeMap::new();
    for (at, has_precedence) in turns(items) {
        if chosen.len() == MAX_ITEMS {
            break;
        }
        if chosen.contains_key(&at) {
            continue;
        }
        let item = &items[at];
        let of_one = item.of_one_idea();
        if of_one.is_some_and(|idea| by_idea.get(idea) == Some(&OF_ONE_IDEA)) {
            continue;
        }
        let line = lines::line(item.candidate, item.news, request.now);
        let is_pinned = has_precedence && item.news != News::Retracted;
        if line.len() > room || is_pinned && line.len() > pinned_room {
            continue;
        }
        room -= line.len();
        if is_pinned {
            pinned_room -= line.len();
        }
        if let Some(idea) = of_one {
            *by_idea.entry(idea).or_default() += 1;
        }
        chosen.insert(at, line);
    }
    chosen
}

/// In which order the items get room, as positions, and whether that is by precedence: retractions,
/// then the pinned, then corrections, then the best. Pinned items for which too little room was
/// kept get another turn by their score.
fn turns(items: &[Item<'_>]) -> Vec<(usize, bool)> {
    let with_precedence = items.iter().take_while(|item| item.rank() <= 1).count();
    let mut by_score: Vec<usize> = (0..items.len()).collect();
    by_score.sort_by(|one, other| {
        let (one, other) = (&items[*one], &items[*other]);
        let is_new = |item: &Item<'_>| item.news == News::New;
        let by_news = is_new(one).cmp(&is_new(other));
        by_news.then_with(|| other.score.total_cmp(&one.score))
    });
    let first = (0..with_precedence).map(|at| (at, true));
    first
        .chain(by_score.into_iter().map(|at| (at, false)))
        .collect()
}

fn write(
    request: &Request<'_>,
    items: &[Item<'_>],
    chosen: BTreeMap<usize, String>,
    untold: usize,
) -> Selection {
    let told = chosen.keys().map(|at| &items[*at]);
    let in_force = told.clone().filter(|item| item.news != News::Retracted);
    let left_out = untold - in_force.count();
    let shown = told.map(|item| (item.candidate.reference.clone(), item.candidate.version));
    let shown: Vec<(ItemRef, u64)> = shown.collect();
    let mut section = String::new();
    if !chosen.is_empty() {
        section = lines::opening(request, left_out);
        section.extend(chosen.into_values());
    }
    Selection {
        section,
        shown,
        left_out,
    }
}

#[cfg(test)]
mod tests;
