//! The daemon's clock: the wall clock without steps back. Called by the actor and by `offline`.
//!
//! Invariant: its times never decrease and are never before the last event. If the wall clock goes
//! back, this clock continues from where it was and reports the step once. It also notices that the
//! machine slept, by two clocks of which only one counts that time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

use crate::domain::observation::Observation;
use crate::domain::time::Timestamp;

/// A step back by less than this is noise, not worth an event.
const NOISE_MS: i64 = 1_000;

/// A shorter sleep is not worth an event.
const SHORT_SLEEP: Duration = Duration::from_secs(30);

/// Notices that the machine was suspended between two looks.
#[derive(Debug)]
struct SleepWatch {
    asleep: Option<Duration>,
    read: fn() -> Option<Duration>,
}

impl SleepWatch {
    /// `read` says how long the machine has slept since some time.
    fn of(read: fn() -> Option<Duration>) -> Self {
        Self {
            asleep: read(),
            read,
        }
    }

    /// For how many seconds the machine has slept since the last call, if for more than 30.
    fn slept(&mut self) -> Option<u64> {
        let now = (self.read)();
        let before = std::mem::replace(&mut self.asleep, now);
        let slept = now?.saturating_sub(before?);
        (slept > SHORT_SLEEP).then_some(slept.as_secs())
    }
}

/// How much longer the clock ran that counts a suspended machine's time than the one that does not;
/// `None` where the system has no such clocks.
fn asleep() -> Option<Duration> {
    #[cfg(target_os = "macos")]
    let clocks = (
        ClockId::CLOCK_MONOTONIC,
        ClockId::from_raw(nix::libc::CLOCK_UPTIME_RAW),
    );
    #[cfg(not(target_os = "macos"))]
    let clocks = (ClockId::CLOCK_BOOTTIME, ClockId::CLOCK_MONOTONIC);
    let [counts, stands] = [clocks.0, clocks.1].map(|clock| clock_gettime(clock).ok());
    Some(Duration::from(counts?).saturating_sub(Duration::from(stands?)))
}

/// A clock that never goes back.
#[derive(Debug)]
pub struct Clock {
    last: Timestamp,
    ahead_ms: i64,
    wall: fn() -> Timestamp,
    sleep: SleepWatch,
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
        Self::of(last, wall, asleep)
    }

    /// A clock that goes on from `last`, by a wall clock of the caller's and a measure of how long
    /// the machine has slept.
    pub(crate) fn of(
        last: Timestamp,
        wall: fn() -> Timestamp,
        asleep: fn() -> Option<Duration>,
    ) -> Self {
        Self {
            last,
            ahead_ms: 0,
            wall,
            sleep: SleepWatch::of(asleep),
        }
    }

    /// The time now, and what happened to the clock since the last call: it went back by more than
    /// a second, or the machine slept.
    pub fn now(&mut self) -> (Timestamp, Vec<Observation>) {
        let (now, went_back) = self.read((self.wall)());
        let went_back = went_back.map(|by_ms| Observation::ClockWentBack { by_ms });
        let slept = self.sleep.slept();
        let slept = slept.map(|seconds| Observation::MachineSlept { seconds });
        (now, went_back.into_iter().chain(slept).collect())
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
    fn a_sleep_of_more_than_30_seconds_is_told_once() {
        use std::cell::Cell;
        thread_local! {
            static ASLEEP: Cell<u64> = const { Cell::new(100) };
        }
        let mut watch = SleepWatch::of(|| Some(Duration::from_secs(ASLEEP.get())));
        assert_eq!(watch.slept(), None);
        ASLEEP.set(130);
        assert_eq!(watch.slept(), None);
        ASLEEP.set(130 + 28_800);
        assert_eq!(watch.slept(), Some(28_800));
        assert_eq!(watch.slept(), None);
    }

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
