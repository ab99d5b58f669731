//! Schedules the checks of a run's output size, so that it cannot grow far beyond its limit.
//!
//! Invariant: checks at least once a second, and earlier the faster the output grows: at the last
//! speed, at most half of the remaining bytes are written until the next check. A new run's speed
//! is unknown, so its first check comes soon.

use std::time::{Duration, Instant};

/// Longest time between two checks.
const SELDOM: Duration = Duration::from_secs(1);
/// Shortest time between two checks, in which a program can write about ten megabytes.
const SOON: Duration = Duration::from_millis(10);

/// Size of a run's output at the last check, and the time of the next.
pub(super) struct OutputLimit {
    limit: u64,
    /// Bytes at the last check.
    size: u64,
    looked: Instant,
    pause: Duration,
}

impl OutputLimit {
    /// For a run that starts to write now.
    pub(super) fn new(limit: u64, now: Instant) -> Self {
        Self {
            limit,
            size: 0,
            looked: now,
            pause: SOON,
        }
    }

    /// Time of the next check.
    pub(super) fn next(&self) -> Instant {
        self.looked + self.pause
    }

    /// Records `size`; returns whether it exceeds the limit.
    pub(super) fn exceeds_limit(&mut self, size: u64, now: Instant) -> bool {
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

    /// Bytes at the check that finds the limit exceeded, for a run that is silent for a while and
    /// then writes `a_second` bytes per second.
    fn at_the_end(a_second: u64, silent: Duration) -> u64 {
        let begun = Instant::now();
        let mut gauge = OutputLimit::new(LIMIT, begun);
        loop {
            let now = gauge.next();
            let writes = now.duration_since(begun).saturating_sub(silent);
            let size = u128::from(a_second) * writes.as_millis() / 1_000;
            let size = u64::try_from(size).unwrap();
            if gauge.exceeds_limit(size, now) {
                return size;
            }
        }
    }

    #[test]
    fn a_run_that_writes_from_the_start_exceeds_its_limit_only_slightly() {
        for a_second in [MIB, 100 * MIB, 1_000 * MIB] {
            let over = at_the_end(a_second, Duration::ZERO) - LIMIT;
            assert!(over <= a_second / 50, "{a_second}: {over}");
        }
    }

    #[test]
    fn a_silent_run_is_checked_within_a_second() {
        let over = at_the_end(1_000 * MIB, Duration::from_secs(60)) - LIMIT;
        assert!(over <= 1_000 * MIB, "{over}");
    }

    #[test]
    fn a_quiet_run_is_rarely_checked() {
        let begun = Instant::now();
        let mut gauge = OutputLimit::new(LIMIT, begun);
        let looks = std::iter::from_fn(|| {
            let now = gauge.next();
            // A line now and then still counts as quiet.
            let lines = now.duration_since(begun).as_secs() * 80;
            (!gauge.exceeds_limit(lines, now) && now < begun + Duration::from_secs(60))
                .then_some(())
        });
        assert!(looks.count() < 70);
    }

    #[test]
    fn a_signal_between_checks_does_not_change_the_schedule() {
        let begun = Instant::now();
        let mut gauge = OutputLimit::new(LIMIT, begun);
        let next = gauge.next();
        assert!(!gauge.exceeds_limit(5, begun + Duration::from_millis(1)));
        assert_eq!(gauge.next(), next);
        assert!(gauge.exceeds_limit(LIMIT + 1, begun + Duration::from_millis(2)));
    }
}
