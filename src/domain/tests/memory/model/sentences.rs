//! The model of learnings: which there are, and which the state has dropped.

use std::collections::BTreeSet;

use super::expected::{Outcome, Who, same};
use crate::domain::memory::Learnings;

/// Learnings without a key that stay. A compaction comes at twice as many.
pub(super) const WINDOW: usize = 2;

/// A learning, as the model and the state are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    id: String,
    text: String,
    has_key: bool,
    supporters: u64,
    retracted: bool,
}

#[derive(Debug, Clone)]
struct Sentence {
    number: u64,
    text: String,
    has_key: bool,
    supporters: BTreeSet<Who>,
    retracted_by: Option<Who>,
}

/// All learnings, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Sentences {
    list: Vec<Sentence>,
    /// Numbers that were given out.
    numbers: u64,
    /// The highest number that was dropped.
    dropped: u64,
}

fn id(number: u64) -> String {
    format!("learning-{number:03}")
}

impl Sentence {
    fn stays(&self) -> bool {
        self.has_key || self.retracted_by == Some(Who::Person)
    }

    fn retract(&mut self, who: Who) {
        if self.retracted_by.is_none() || who == Who::Person {
            self.retracted_by = Some(who);
        }
    }
}

impl Sentences {
    pub(super) fn seen(&self) -> Vec<Seen> {
        let seen = |it: &Sentence| Seen {
            id: id(it.number),
            text: it.text.clone(),
            has_key: it.has_key,
            supporters: it.supporters.len() as u64,
            retracted: it.retracted_by.is_some(),
        };
        self.list.iter().map(seen).collect()
    }

    /// The state's learnings in the form of the model.
    pub(super) fn of(learnings: &Learnings) -> Vec<Seen> {
        let seen = |it: &crate::domain::memory::Learning| Seen {
            id: it.id.clone(),
            text: it.content.clone(),
            has_key: it.key.is_some(),
            supporters: it.evidence.count,
            retracted: it.retracted.is_some(),
        };
        learnings.iter().map(seen).collect()
    }

    /// How many numbers were given out.
    pub(super) fn numbers(&self) -> usize {
        usize::try_from(self.numbers).unwrap()
    }

    /// Somebody says it, perhaps as a claim about a fact.
    pub(super) fn say(&mut self, who: Who, text: &str, claims: bool) {
        let known = self.list.iter_mut().find(|it| same(&it.text, text));
        let Some(known) = known else {
            self.numbers += 1;
            self.list.push(Sentence {
                number: self.numbers,
                text: text.to_owned(),
                has_key: claims,
                supporters: BTreeSet::from([who]),
                retracted_by: None,
            });
            return;
        };
        let is_own = known.supporters == BTreeSet::from([who]);
        known.has_key |= claims && is_own;
        known.supporters.insert(who);
        if known.retracted_by != Some(Who::Person) || who == Who::Person {
            known.retracted_by = None;
        }
    }

    pub(super) fn retract(&mut self, who: Who, what: &str) -> Outcome {
        let Some(known) = self.list.iter_mut().find(|it| id(it.number) == what) else {
            let was_dropped = (1..=self.dropped).any(|number| id(number) == what);
            return Err(if was_dropped {
                "LEARNING_COMPACTED"
            } else {
                "LEARNING_UNKNOWN"
            });
        };
        if who != Who::Person && known.supporters != BTreeSet::from([who]) {
            return Err("NOT_YOURS");
        }
        known.retract(who);
        Ok(())
    }

    pub(super) fn retract_all_of(&mut self, who: Who, whose: Who) {
        let only = BTreeSet::from([whose]);
        for sentence in self.list.iter_mut().filter(|it| it.supporters == only) {
            sentence.retract(who);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.list.iter().filter(|it| !it.stays()).count() >= 2 * WINDOW
    }

    pub(super) fn compact(&mut self) {
        while self.list.iter().filter(|it| !it.stays()).count() > WINDOW {
            let oldest = self.list.iter().position(|it| !it.stays()).unwrap();
            let gone = self.list.remove(oldest);
            self.dropped = self.dropped.max(gone.number);
        }
    }
}
