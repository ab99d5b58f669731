//! What runs cost, by when they ended.
//!
//! Invariant: at most [`MOST`] entries. When there are more, the older half is added up by hour,
//! profile and model, so sums stay exact. What is told, estimated and not known stays apart.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::spans::Spans;
use crate::domain::event::Event;
use crate::domain::ids::RunId;
use crate::domain::time::Timestamp;
use crate::domain::usage::{Spent, undated};

/// The most entries.
pub const MOST: usize = 16_384;
/// The most names of profiles and models; more are `others`.
const NAMES: usize = 256;
/// The longest name, in characters.
const NAME: usize = 80;
/// Runs of which it is remembered that they ended.
const REMEMBERED: usize = 1_024;
/// An hour in milliseconds.
const HOUR: i64 = 3_600_000;

/// What one run cost, or several of the same hour, profile and model.
#[derive(Debug, Clone, PartialEq)]
pub struct Paid {
    /// The event with which the last of them ended.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The profile.
    pub profile: Arc<str>,
    /// The model, without its version; `not told` if its program did not say.
    pub model: Arc<str>,
    /// What was used.
    pub spent: Spent,
}

/// All of them, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Costs {
    paid: Vec<Paid>,
    names: Vec<Arc<str>>,
    /// The runs that ended last. A daemon that is killed while it writes an end is followed by one
    /// that writes the end again, and that is paid once.
    over: VecDeque<RunId>,
}

impl Paid {
    /// The beginning of its hour.
    pub fn hour(&self) -> Timestamp {
        Timestamp::from_millis(self.at.millis().div_euclid(HOUR) * HOUR)
    }
}

impl Costs {
    pub(super) fn fold(&mut self, seq: u64, at: Timestamp, event: &Event, spans: &Spans) {
        let Event::RunEnded(ended) = event else {
            return;
        };
        let Some(bill) = &ended.end.bill else {
            return;
        };
        if self.over.contains(&ended.run) {
            return;
        }
        if self.over.len() >= REMEMBERED {
            self.over.pop_front();
        }
        self.over.push_back(ended.run.clone());
        let profile = spans.profile_of(&ended.run);
        let profile = profile.map_or("not known", |profile| profile.as_str());
        let usage = ended.end.usage.as_ref();
        let model = usage.and_then(|usage| usage.model.as_deref());
        let (profile, model) = (
            self.name(profile),
            self.name(model.map_or("not told", undated)),
        );
        let mut spent = Spent::default();
        spent.add(bill);
        if self.paid.len() >= MOST {
            self.compact();
        }
        self.paid.push(Paid {
            seq,
            at,
            profile,
            model,
            spent,
        });
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        let name: String = name.chars().take(NAME).collect();
        if let Some(known) = self.names.iter().find(|known| ***known == *name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = if self.names.len() < NAMES {
            name.into()
        } else {
            "others".into()
        };
        if !self.names.contains(&name) {
            self.names.push(Arc::clone(&name));
        }
        name
    }

    fn compact(&mut self) {
        let newer = self.paid.split_off(MOST / 2);
        let mut sums: BTreeMap<(Timestamp, Arc<str>, Arc<str>), Paid> = BTreeMap::new();
        for paid in std::mem::take(&mut self.paid) {
            let key = (
                paid.hour(),
                Arc::clone(&paid.profile),
                Arc::clone(&paid.model),
            );
            let sum = sums.entry(key).or_insert_with(|| Paid {
                spent: Spent::default(),
                ..paid.clone()
            });
            sum.spent.add_all(&paid.spent);
            (sum.seq, sum.at) = (paid.seq, paid.at);
        }
        self.paid = sums.into_values().collect();
        // Many profiles over many hours would not become fewer: their oldest become one.
        if self.paid.len() > MOST / 4 {
            self.join_oldest();
        }
        self.paid.sort_by_key(|paid| paid.seq);
        self.paid.extend(newer);
    }

    fn join_oldest(&mut self) {
        let older: Vec<Paid> = self.paid.drain(..MOST / 4).collect();
        let mut sums: BTreeMap<(Arc<str>, Arc<str>), Paid> = BTreeMap::new();
        for paid in older {
            let key = (Arc::clone(&paid.profile), Arc::clone(&paid.model));
            let sum = sums.entry(key).or_insert_with(|| Paid {
                spent: Spent::default(),
                ..paid.clone()
            });
            sum.spent.add_all(&paid.spent);
            (sum.seq, sum.at) = (paid.seq, paid.at);
        }
        self.paid.extend(sums.into_values());
    }

    /// What runs cost that ended up to the event `seq`, oldest first.
    pub fn upto(&self, seq: u64) -> &[Paid] {
        &self.paid[..self.paid.partition_point(|paid| paid.seq <= seq)]
    }
}
