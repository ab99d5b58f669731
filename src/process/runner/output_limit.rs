//! When a run's output is looked at, so that it cannot grow far beyond its limit.
//!
//! Invariant: at least once a second, and the sooner the faster it grows: at the speed that was seen last, half of what is left could have been
//! written by the next look. How fast a new run writes nobody knows; it is looked at soon.

use std::time::{Duration, Instant};

/// The longest time between two looks.
const SELDOM: Duration = Duration::from_secs(1);
/// The shortest. In it a program can write some ten megabytes.
const SOON: Duration = Duration::from_millis(10);

/// See the module.
pub(super) struct Gauge {
    limit: u64,
    /// What was there at the last look.
    size: u64,
    looked: Instant,
    pause: Duration,
}

impl Gauge {
    /// Of a run that begins to write now.
    pub(super) fn new(limit: u64, now: Instant) -> Self {
        Self {
            limit,
            size: 0,
            looked: now,
            pause: SOON,
        }
    }

    /// When to look again.
    pub(super) fn next(&self) -> Instant {
        self.looked + self.pause
    }

    /// So much is there now; whether that is too much.
    pub(super) fn is_passed(&mut self, size: u64, now: Instant) -> bool {
        if now >= self.next() {
            let left = self.limit.saturating_sub(size);
            let grown = size.saturating_sub(self.size);
            let elapsed = now.duration_since(self.looked).as_nanos();
            let until_full = elapsed.saturating_mul(left.into()) / u128::from(grown.max(1));
            let half = Duration::from_nanos(u64::try_from(until_full / 2).unwrap_or(u64::MAX));
            self.pause = half.clamp(SOON, SELDOM.min(self.pause * 2));
            (self.size, self.looked) = (size, now);
        }
        size > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;
    const LIMIT: u64 = 16 * MIB;

    /// What is there when it is found to be too much, of one that writes so much a second after it has been silent for a while.
    fn at_the_end(a_second: u64, silent: Duration) -> u64 {
        let begun = Instant::now();
        let mut gauge = Gauge::new(LIMIT, begun);
        loop {
            let now = gauge.next();
            let writes = now.duration_since(begun).saturating_sub(silent);
            let size = u128::from(a_second) * writes.as_millis() / 1_000;
            let size = u64::try_from(size).unwrap();
            if gauge.is_passed(size, now) {
                return size;
            }
        }
    }

    #[test]
    fn one_that_writes_from_the_beginning_passes_its_limit_by_little() {
        for a_second in [MIB, 100 * MIB, 1_000 * MIB] {
            let over = at_the_end(a_second, Duration::ZERO) - LIMIT;
            assert!(over <= a_second / 50, "{a_second}: {over}");
        }
    }

    #[test]
    fn one_that_was_silent_is_looked_at_within_a_second() {
        let over = at_the_end(1_000 * MIB, Duration::from_secs(60)) - LIMIT;
        assert!(over <= 1_000 * MIB, "{over}");
    }

    #[test]
    fn a_quiet_one_is_left_alone() {
        let begun = Instant::now();
        let mut gauge = Gauge::new(LIMIT, begun);
        let looks = std::iter::from_fn(|| {
            let now = gauge.next();
            // A line now and then is quiet, too.
            let lines = now.duration_since(begun).as_secs() * 80;
            (!gauge.is_passed(lines, now) && now < begun + Duration::from_secs(60)).then_some(())
        });
        assert!(looks.count() < 70);
    }

    #[test]
    fn a_signal_in_between_changes_no_time() {
        let begun = Instant::now();
        let mut gauge = Gauge::new(LIMIT, begun);
        let next = gauge.next();
        assert!(!gauge.is_passed(5, begun + Duration::from_millis(1)));
        assert_eq!(gauge.next(), next);
        assert!(gauge.is_passed(LIMIT + 1, begun + Duration::from_millis(2)));
    }
}
