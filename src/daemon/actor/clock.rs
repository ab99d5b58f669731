//! The daemon's clock: the wall clock without steps back. Called by the actor and by `offline`.
//!
//! Invariant: its times never decrease and are never before the last event. If the wall clock goes
//! back, this clock continues from where it was and reports the step once.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::domain::time::Timestamp;

/// A step back by less than this is noise, not worth an event.
const NOISE_MS: i64 = 1_000;

/// A clock that never goes back.
#[derive(Debug)]
pub struct Clock {
    last: Timestamp,
    ahead_ms: i64,
    wall: fn() -> Timestamp,
}

/// The wall clock. Before 1970 counts as 1970.
pub fn wall() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

impl Clock {
    /// A clock that goes on from `last`.
    pub fn after(last: Timestamp) -> Self {
        Self::of(last, wall)
    }

    /// A clock that goes on from `last`, by a wall clock of the caller's.
    pub(crate) fn of(last: Timestamp, wall: fn() -> Timestamp) -> Self {
        Self {
            last,
            ahead_ms: 0,
            wall,
        }
    }

    /// The time now, and by how many milliseconds the wall clock has gone back since the last call,
    /// if by more than a second.
    pub fn now(&mut self) -> (Timestamp, Option<i64>) {
        self.read((self.wall)())
    }

    /// The time now, without taking note of a step back.
    pub fn peek(&self) -> Timestamp {
        (self.wall)().plus_millis(self.ahead_ms).max(self.last)
    }

    fn read(&mut self, wall: Timestamp) -> (Timestamp, Option<i64>) {
        let now = wall.plus_millis(self.ahead_ms);
        let back = self.last.since(now);
        if back <= 0 {
            self.last = now;
            return (now, None);
        }
        self.ahead_ms = self.ahead_ms.saturating_add(back);
        (self.last, (back >= NOISE_MS).then_some(back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_when_the_wall_clock_goes_back_and_says_so_once() {
        let at = Timestamp::from_millis;
        let mut clock = Clock::after(at(10_000));
        assert_eq!(clock.read(at(11_000)), (at(11_000), None));
        assert_eq!(clock.read(at(5_000)), (at(11_000), Some(6_000)));
        assert_eq!(clock.read(at(6_000)), (at(12_000), None));
        assert_eq!(clock.read(at(5_990)), (at(12_000), None));
    }
}
