//! Spreads the drawing of open pages over time, so that many of them do not take the processor from
//! the daemon.
//!
//! Invariant: updates of open pages take at most 1/[`SHARE`] of one core in the long run, however
//! many pages are open. While few are open nothing waits.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// After an update that took some time, the next one begins this many times as long later.
const SHARE: u32 = 4;

/// See the module.
#[derive(Debug, Default)]
pub struct Pace {
    /// When the next update may begin.
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// When an update that will take `cost` may begin.
    pub fn turn(&self, cost: Duration) -> Instant {
        let now = Instant::now();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = next.map_or(now, |next| next.max(now));
        *next = Some(begin + cost * SHARE);
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn updates_of_many_pages_take_turns() {
        let pace = Pace::default();
        let start = Instant::now();
        let cost = Duration::from_millis(10);
        let turns: Vec<u128> = (0..3)
            .map(|_| (pace.turn(cost) - start).as_millis())
            .collect();
        assert_eq!(turns, [0, 40, 80]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((pace.turn(cost) - start).as_millis(), 1_000);
    }
}
