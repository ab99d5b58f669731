//! How many events there were when.
//!
//! Invariant: at most [`BUCKETS`] buckets of the same width; a longer log has wider ones.

use crate::domain::time::Timestamp;

/// The most buckets.
pub const BUCKETS: usize = 2_048;
/// The width of a bucket at first, in milliseconds.
const FIRST_WIDTH: i64 = 1_000;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Activity {
    first_at: Option<Timestamp>,
    first_seq: u64,
    last_at: Timestamp,
    width: i64,
    buckets: Vec<Bucket>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bucket {
    events: u32,
    /// The last event up to its end.
    last_seq: u64,
}

/// A part of the time, for drawing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Column {
    /// Events in it.
    pub events: u64,
    /// The last event up to its end.
    pub last_seq: u64,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            first_at: None,
            first_seq: 0,
            last_at: Timestamp::default(),
            width: FIRST_WIDTH,
            buckets: Vec::new(),
        }
    }
}

impl Activity {
    pub(super) fn fold(&mut self, seq: u64, at: Timestamp) {
        if self.first_at.is_none() {
            self.first_seq = seq;
        }
        let first = *self.first_at.get_or_insert(at);
        self.last_at = at;
        let index = loop {
            let index = usize::try_from(at.since(first) / self.width).unwrap_or(usize::MAX);
            if index < BUCKETS {
                break index;
            }
            self.widen();
        };
        let before = self.buckets.last().map_or(0, |bucket| bucket.last_seq);
        while self.buckets.len() <= index {
            self.buckets.push(Bucket {
                events: 0,
                last_seq: before,
            });
        }
        if let Some(bucket) = self.buckets.last_mut() {
            bucket.events = bucket.events.saturating_add(1);
            bucket.last_seq = seq;
        }
    }

    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let pairs = self.buckets.chunks(2).map(|pair| Bucket {
            events: pair
                .iter()
                .fold(0, |sum, one| sum.saturating_add(one.events)),
            last_seq: pair.last().map_or(0, |last| last.last_seq),
        });
        self.buckets = pairs.collect();
    }

    /// The first event's time; `None` before it.
    pub fn first_at(&self) -> Option<Timestamp> {
        self.first_at
    }

    /// The first event: 1, or a later one after a repair.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// The last event's time.
    pub fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// The whole time in equal parts, at most this many.
    pub fn columns(&self, most: usize) -> Vec<Column> {
        let total = self.buckets.len().max(1);
        let count = most.min(total);
        let mut columns = vec![Column::default(); count];
        for (index, bucket) in self.buckets.iter().enumerate() {
            let column = &mut columns[index * count / total];
            column.events += u64::from(bucket.events);
            column.last_seq = bucket.last_seq;
        }
        let mut before = self.first_seq;
        for column in &mut columns {
            column.last_seq = column.last_seq.max(before);
            before = column.last_seq;
        }
        columns
    }

    /// Where a time is between the beginning and the end of [`Self::columns`], from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "for drawing")]
    pub fn place(&self, at: Timestamp) -> f64 {
        let (Some(first), count) = (self.first_at, self.buckets.len().max(1)) else {
            return 0.0;
        };
        let whole = self.width as f64 * count as f64;
        (at.since(first) as f64 / whole).clamp(0.0, 1.0)
    }

    /// The time at this place, from 0 to 1.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "for labels"
    )]
    pub fn time_at(&self, place: f64) -> Timestamp {
        let first = self.first_at.unwrap_or_default();
        let whole = self.width as f64 * self.buckets.len().max(1) as f64;
        first.plus_millis((whole * place) as i64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folded(gaps: &[i64]) -> (Activity, Vec<Timestamp>) {
        let mut activity = Activity::default();
        let mut at = Timestamp::from_millis(1_767_225_600_000);
        let mut times = Vec::new();
        for (seq, gap) in (1..).zip(gaps) {
            at = at.plus_millis(*gap);
            activity.fold(seq, at);
            times.push(at);
        }
        (activity, times)
    }

    proptest! {
        #[test]
        fn buckets_are_what_counting_the_whole_log_gives(
            gaps in prop::collection::vec(prop_oneof![0..5_000i64, 0..50_000_000i64], 1..300)
        ) {
            let (activity, times) = folded(&gaps);
            prop_assert!(activity.buckets.len() <= BUCKETS);
            for (index, bucket) in activity.buckets.iter().enumerate() {
                let of = |at: &Timestamp| {
                    usize::try_from(at.since(times[0]) / activity.width).unwrap()
                };
                let events = times.iter().filter(|at| of(at) == index).count();
                let upto = times.iter().filter(|at| of(at) <= index).count();
                prop_assert_eq!(bucket.events as usize, events);
                prop_assert_eq!(bucket.last_seq, upto as u64);
            }
            for most in [1, 7, 400] {
                let columns = activity.columns(most);
                let sum: u64 = columns.iter().map(|column| column.events).sum();
                prop_assert_eq!(sum, times.len() as u64);
                prop_assert!(columns.is_sorted_by_key(|column| column.last_seq));
                prop_assert_eq!(columns.last().unwrap().last_seq, times.len() as u64);
            }
        }
    }

    #[test]
    fn half_a_million_events_and_a_wild_clock_need_no_more_room() {
        let mut activity = Activity::default();
        for seq in 1..500_000 {
            activity.fold(
                seq,
                Timestamp::from_millis(i64::try_from(seq).unwrap() * 70_000),
            );
        }
        activity.fold(500_000, Timestamp::from_millis(i64::MAX));
        assert!(activity.buckets.len() <= BUCKETS);
        assert_eq!(activity.columns(100)[99].last_seq, 500_000);
    }
}
