//! How alike two iterations are that began from the same commit with the same prompt: the verdict
//! of a replay.
//!
//! Invariant: every measure is between 0 and 1, does not depend on which of the two comes first,
//! and is 1 where there is nothing to compare. No model and no dictionary takes part.

mod shapes;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// From here on, shapes or texts mean the same.
const SAME: f64 = 0.95;
/// From here on, files or texts are partly the same.
const PARTLY: f64 = 0.5;

/// What an iteration came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome<'a> {
    /// Tree of git after it.
    pub tree: &'a str,
    /// What the agent said.
    pub response: &'a str,
    /// Its final signal, such as `COMPLETE`; `None` if it gave none.
    pub signal: Option<&'a str>,
    /// The changed files.
    pub changes: Vec<Change<'a>>,
    /// The quality commands that ran, in their order.
    pub gate: Vec<GateResult<'a>>,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<'a> {
    /// Its path in the repository.
    pub path: &'a str,
    /// What happened to it.
    pub operation: Operation,
    /// Its changed lines as in a patch: each begins with `+` or `-`.
    pub lines: &'a str,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// It is new.
    Created,
    /// It has other content.
    Modified,
    /// It is gone.
    Deleted,
}

/// How a quality command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateResult<'a> {
    /// The command.
    pub command: &'a str,
    /// Its exit code; `None` if a signal or swarm ended it.
    pub code: Option<i32>,
    /// Tests that failed, if its output says so.
    pub failed: Option<u64>,
}

/// All measures of two outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools)] // each is a measure
pub struct Likeness {
    /// The trees are equal.
    pub trees: bool,
    /// The responses are equal.
    pub responses: bool,
    /// The signals are equal.
    pub signals: bool,
    /// The signals are equal, and each quality command ended alike.
    pub gate: bool,
    /// Every quality command of both passed, and there was one.
    pub passed: bool,
    /// Neither changed a file.
    pub unchanged: bool,
    /// Jaccard index of the changed files, each with its operation.
    pub files: f64,
    /// Dice coefficient of the shapes of the changed lines.
    pub shape: f64,
    /// Cosine of the words and pairs of words of the responses.
    pub text: f64,
}

/// A measure as the log keeps it: hundredths of a percent, written as a number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Share(u32);

impl From<f64> for Share {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to 10,000
    fn from(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * 10_000.0).round() as u32)
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        Self::from(share.0) / 10_000.0
    }
}

/// All measures of a replay, as the log keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_excessive_bools)] // each is a measure
pub struct Measures {
    /// As in [`Likeness::trees`].
    pub trees: bool,
    /// As in [`Likeness::responses`].
    pub responses: bool,
    /// As in [`Likeness::signals`].
    pub signals: bool,
    /// As in [`Likeness::gate`]; `None` if the quality commands did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<bool>,
    /// As in [`Likeness::unchanged`].
    pub unchanged: bool,
    /// As in [`Likeness::files`].
    pub files: Share,
    /// As in [`Likeness::shape`].
    pub shape: Share,
    /// As in [`Likeness::text`].
    pub text: Share,
}

impl From<Likeness> for Measures {
    fn from(likeness: Likeness) -> Self {
        let Likeness {
            trees,
            responses,
            signals,
            gate,
            passed: _,
            unchanged,
            files,
            shape,
            text,
        } = likeness;
        Self {
            trees,
            responses,
            signals,
            gate: Some(gate),
            unchanged,
            files: files.into(),
            shape: shape.into(),
            text: text.into(),
        }
    }
}

/// How well a replay matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchStatus {
    /// It does not.
    NoMatch,
    /// In part.
    PartialMatch,
    /// It means the same.
    SemanticMatch,
    /// It is the same.
    ExactMatch,
}

/// What decided a semantic match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// The trees are equal.
    Trees,
    /// The same files have changes of the same shape, with the same signal and checks.
    Structural,
    /// Neither changed a file, and the responses say the same, with the same signal.
    Text,
}

/// A verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// How well it matches.
    pub match_status: MatchStatus,
    /// What decided it, for a semantic match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
}

/// Measures two outcomes.
pub fn likeness(one: &Outcome<'_>, other: &Outcome<'_>) -> Likeness {
    let signals = one.signal == other.signal;
    let passes = |it: &Outcome<'_>| it.gate.iter().all(|result| result.code == Some(0));
    Likeness {
        trees: one.tree == other.tree,
        responses: one.response == other.response,
        signals,
        gate: signals && one.gate == other.gate,
        passed: !one.gate.is_empty() && !other.gate.is_empty() && passes(one) && passes(other),
        unchanged: one.changes.is_empty() && other.changes.is_empty(),
        files: jaccard(&files(one), &files(other)),
        shape: dice(&shapes::grams(&one.changes), &shapes::grams(&other.changes)),
        text: cosine(&words::grams(one.response), &words::grams(other.response)),
    }
}

impl Likeness {
    /// The first verdict that holds. Where neither changed a file, equal trees say nothing, and the
    /// responses decide.
    pub fn verdict(&self) -> Verdict {
        use MatchStatus::{ExactMatch, NoMatch, PartialMatch, SemanticMatch};
        let (match_status, by) = if self.trees && self.responses {
            (ExactMatch, None)
        } else if self.unchanged {
            if self.signals && self.text >= SAME {
                (SemanticMatch, Some(By::Text))
            } else if self.text >= PARTLY {
                (PartialMatch, None)
            } else {
                (NoMatch, None)
            }
        } else if self.trees {
            (SemanticMatch, Some(By::Trees))
        } else if self.gate && self.files >= 1.0 && self.shape >= SAME {
            (SemanticMatch, Some(By::Structural))
        } else if self.files >= PARTLY || self.gate && self.passed {
            (PartialMatch, None)
        } else {
            (NoMatch, None)
        };
        Verdict { match_status, by }
    }
}

type Files<'a> = BTreeSet<(&'a str, Operation)>;

fn files<'a>(outcome: &Outcome<'a>) -> Files<'a> {
    let changes = outcome.changes.iter();
    changes
        .map(|change| (change.path, change.operation))
        .collect()
}

fn jaccard(one: &Files<'_>, other: &Files<'_>) -> f64 {
    ratio(one.intersection(other).count(), one.union(other).count())
}

/// Of two collections that may hold things several times.
fn dice(one: &BTreeMap<u64, usize>, other: &BTreeMap<u64, usize>) -> f64 {
    let common: usize = one
        .iter()
        .map(|(gram, count)| (*count).min(other.get(gram).copied().unwrap_or(0)))
        .sum();
    let all: usize = one.values().chain(other.values()).sum();
    ratio(2 * common, all)
}

#[allow(clippy::cast_precision_loss)] // counts of words
fn cosine(one: &BTreeMap<u64, usize>, other: &BTreeMap<u64, usize>) -> f64 {
    if one == other {
        return 1.0;
    }
    let product = |a: &BTreeMap<u64, usize>, b: &BTreeMap<u64, usize>| -> f64 {
        let both = a.iter().filter_map(|(gram, n)| Some((*n, *b.get(gram)?)));
        both.map(|(n, m)| n as f64 * m as f64).sum()
    };
    let norms = product(one, one) * product(other, other);
    if norms == 0.0 {
        return 0.0;
    }
    (product(one, other) / norms.sqrt()).clamp(0.0, 1.0)
}

#[allow(clippy::cast_precision_loss)] // counts of tokens
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 1.0;
    }
    part as f64 / whole as f64
}
