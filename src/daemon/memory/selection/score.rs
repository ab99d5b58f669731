//! How much an item helps with what the agent is about to do, from 0 to 1.

use std::collections::{BTreeSet, HashMap};

use super::{Candidate, ItemRef, Request};
use crate::domain::time::Timestamp;

/// The weights of the words in common, of confidence, of age and of a path in common.
const WORDS: f64 = 0.55;
const CONFIDENCE: f64 = 0.20;
const FRESHNESS: f64 = 0.15;
const PATH: f64 = 0.10;

/// After so many days freshness has fallen to 1/e.
const FADING_DAYS: f64 = 14.0;

/// What the scores of one request have in common.
pub(super) struct Scorer<'a> {
    /// BM25 of each item that has words of the query.
    hits: HashMap<&'a ItemRef, f64>,
    /// The best of them.
    top: f64,
    /// What the agent changes.
    changed: BTreeSet<&'a str>,
    /// The same, and every folder around it.
    around: BTreeSet<&'a str>,
    now: Timestamp,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(request: &Request<'a>) -> Self {
        let scores = request.hits.iter().map(|hit| hit.score);
        let paths = request.query.changed_paths.iter();
        let changed: BTreeSet<&str> = paths.map(|path| path.trim_end_matches('/')).collect();
        let around = changed.iter().flat_map(|path| folders(path).chain([*path]));
        Self {
            hits: request
                .hits
                .iter()
                .map(|hit| (&hit.id, hit.score))
                .collect(),
            top: scores.fold(0.0, f64::max),
            around: around.collect(),
            changed,
            now: request.now,
        }
    }

    pub(super) fn score(&self, candidate: &Candidate<'_>) -> f64 {
        let words = self.hits.get(&candidate.reference).copied();
        let words = words.map_or(0.0, |score| part(score / self.top));
        let shares_path = candidate.paths.iter().any(|path| self.touches(path));
        WORDS * words
            + CONFIDENCE * part(candidate.confidence)
            + FRESHNESS * self.freshness(candidate.at)
            + if shares_path { PATH } else { 0.0 }
    }

    #[allow(clippy::cast_precision_loss)] // ages of 2^52 ms are all the same
    fn freshness(&self, at: Timestamp) -> f64 {
        const DAY_MILLIS: f64 = 86_400_000.0;
        let days = self.now.since(at).max(0) as f64 / DAY_MILLIS;
        (-days / FADING_DAYS).exp()
    }

    /// Whether the agent changes this path, something in it, or a folder around it.
    fn touches(&self, path: &str) -> bool {
        if self.changed.is_empty() {
            return false;
        }
        let path = path.trim_end_matches('/');
        self.around.contains(path) || folders(path).any(|folder| self.changed.contains(folder))
    }
}

/// The folders that a path is in.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// A number as a part of 1; what is no number counts nothing.
fn part(number: f64) -> f64 {
    if number.is_nan() {
        0.0
    } else {
        number.clamp(0.0, 1.0)
    }
}
