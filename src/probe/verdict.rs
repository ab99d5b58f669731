//! What the runs of one command say about it, and which run comes next.
//!
//! Invariant: pure. A run that says nothing (a time limit, a program that cannot start) is never a
//! verdict. A command that fails with the checkout hidden is believed only if it passes in a
//! namespace in which nothing is hidden.

use serde::{Deserialize, Serialize};

/// Whether a command notices that the tree's source files are garbage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Sight {
    /// It compiles or executes the tree.
    Executes,
    /// It only parses the tree, as linters do.
    Reads,
    /// It passes whatever the tree contains.
    Blind,
    /// Nobody knows.
    Unknown,
}

/// What a command needs of the person's checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Dependence {
    /// Nothing.
    None,
    /// The checkout's source files, in place of the tree's.
    Source,
    /// Something else: tools, or a built library.
    Other,
    /// Nobody knows.
    Unknown,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    Green,
    Red,
    /// Says nothing about the tree, and why.
    NoVerdict(String),
}

/// The runs of a command, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    /// As swarm runs it: in the worktree itself.
    Normal,
    /// With the checkout out of sight.
    Hidden,
    /// In a namespace, with nothing hidden or replaced.
    Control,
    /// With the checkout's source files replaced.
    Swapped,
    /// With polite garbage in the tree.
    Polite,
    /// With hard garbage in the tree.
    Hard,
}

/// How the runs of a command ended so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Runs {
    pub normal: Option<Ended>,
    pub hidden: Option<Ended>,
    pub control: Option<Ended>,
    pub swapped: Option<Ended>,
    pub polite: Option<Ended>,
    pub hard: Option<Ended>,
}

impl Runs {
    /// The run that is needed next; `None` if the verdict is clear.
    pub(super) fn next(&self) -> Option<RunKind> {
        let is = |run: &Option<Ended>, ended: &Ended| run.as_ref() == Some(ended);
        if self.normal.is_none() {
            return Some(RunKind::Normal);
        }
        if !is(&self.normal, &Ended::Green) {
            return None;
        }
        if self.hidden.is_none() {
            return Some(RunKind::Hidden);
        }
        if is(&self.hidden, &Ended::Red) {
            if self.control.is_none() {
                return Some(RunKind::Control);
            }
            if !is(&self.control, &Ended::Green) {
                return None;
            }
            if self.swapped.is_none() {
                return Some(RunKind::Swapped);
            }
        }
        if self.polite.is_none() {
            return Some(RunKind::Polite);
        }
        (is(&self.polite, &Ended::Green) && self.hard.is_none()).then_some(RunKind::Hard)
    }

    pub(super) fn note(&mut self, kind: RunKind, ended: Ended) {
        let place = match kind {
            RunKind::Normal => &mut self.normal,
            RunKind::Hidden => &mut self.hidden,
            RunKind::Control => &mut self.control,
            RunKind::Swapped => &mut self.swapped,
            RunKind::Polite => &mut self.polite,
            RunKind::Hard => &mut self.hard,
        };
        *place = Some(ended);
    }

    pub(super) fn sight(&self) -> Sight {
        match (&self.polite, &self.hard) {
            (Some(Ended::Red), _) => Sight::Executes,
            (Some(Ended::Green), Some(Ended::Red)) => Sight::Reads,
            (Some(Ended::Green), Some(Ended::Green)) => Sight::Blind,
            (None | Some(Ended::NoVerdict(_) | Ended::Green), _) => Sight::Unknown,
        }
    }

    pub(super) fn dependence(&self) -> Dependence {
        match (&self.hidden, &self.control, &self.swapped) {
            (Some(Ended::Green), _, _) => Dependence::None,
            (Some(Ended::Red), Some(Ended::Green), Some(Ended::Red)) => Dependence::Source,
            (Some(Ended::Red), Some(Ended::Green), Some(Ended::Green)) => Dependence::Other,
            (None | Some(Ended::Red | Ended::NoVerdict(_)), _, _) => Dependence::Unknown,
        }
    }

    /// Why there is no verdict, for people.
    pub(super) fn unknown_because(&self) -> Option<String> {
        if let Some(Ended::Red) = self.normal {
            return Some("it fails on this tree as it is".into());
        }
        if let Some(Ended::Red) = self.control {
            return Some("it fails in a namespace of its own, with nothing hidden".into());
        }
        let all = [
            &self.normal,
            &self.control,
            &self.hidden,
            &self.swapped,
            &self.polite,
            &self.hard,
        ];
        all.into_iter().find_map(|run| match run {
            Some(Ended::NoVerdict(why)) => Some(why.clone()),
            None | Some(Ended::Green | Ended::Red) => None,
        })
    }
}
