//! The moment that a page shows: now, or an earlier event (`?at=SEQ|TIME`).
//!
//! Invariant: an earlier state is what `swarm replay --at` shows, by the same function.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::Site;
use super::pages::WebError;
use crate::api::EventLog;
use crate::daemon::offline::Upto;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::describe::{self, Point};

/// Earlier states that are kept for the next request.
const KEPT: usize = 4;
/// How many events before an unknown moment a state is kept too: steps back begin there.
const STEPS_BACK: u64 = 1_000;

/// See the module.
#[derive(Debug, Clone)]
pub struct Moment {
    /// The state then; `None` for now.
    past: Option<Arc<State>>,
    /// As it stands in the address.
    pub at: Option<String>,
    /// The time now.
    pub clock: Timestamp,
}

impl Moment {
    /// Now.
    pub fn now() -> Self {
        Self {
            past: None,
            at: None,
            clock: clock(),
        }
    }

    /// Now, at a time that stands still.
    #[cfg(test)]
    pub fn now_at(clock: Timestamp) -> Self {
        Self {
            clock,
            ..Self::now()
        }
    }

    /// The moment of an address.
    pub async fn of(site: &Arc<Site>, at: Option<String>) -> Result<Self, WebError> {
        let Some(text) = at.filter(|at| !at.is_empty()) else {
            return Ok(Self::now());
        };
        let upto = parse(&text).ok_or_else(|| {
            let points = describe::POINTS;
            WebError::bad(format!(
                "`{text}` is no event number, age or time: {points}"
            ))
        })?;
        Self::at(site, upto).await
    }

    /// The moment at a point of the log.
    pub async fn at(site: &Arc<Site>, upto: Upto) -> Result<Self, WebError> {
        let last = site.api.handle.read(|state| state.seq);
        let past = site.past.state(last, upto).await?;
        let seq = past.seq;
        Ok(Self {
            past: Some(past),
            // An age means another moment later on; the links keep this one.
            at: Some(seq.to_string()),
            clock: clock(),
        })
    }

    /// Whether this is an earlier moment.
    pub fn is_past(&self) -> bool {
        self.past.is_some()
    }

    /// The time that durations count to: then, or now.
    pub fn time(&self) -> Timestamp {
        self.past
            .as_ref()
            .map_or(self.clock, |state| state.swarm.last_event_at)
    }

    /// The state of this moment, to keep.
    pub fn state(&self, site: &Site) -> Arc<State> {
        match &self.past {
            Some(state) => Arc::clone(state),
            None => Arc::new(site.api.handle.read(State::clone)),
        }
    }

    /// Reads the state of this moment. `read` must be short: the actor waits for it.
    pub fn read<T>(&self, site: &Site, read: impl FnOnce(&State) -> T) -> T {
        match &self.past {
            Some(state) => read(state),
            None => site.api.handle.read(read),
        }
    }
}

fn clock() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}

/// An event's number, an age (`2h`) or a time, as on the command line.
fn parse(text: &str) -> Option<Upto> {
    Some(match describe::point(text, &TimeZone::system(), clock())? {
        Point::Seq(seq) => Upto::Seq(seq),
        Point::Time(time) => Upto::Time(time),
    })
}

/// Earlier states, the last used ones kept.
pub struct Past {
    log: Arc<dyn EventLog>,
    kept: Mutex<Vec<Arc<State>>>,
    /// One replay at a time: who waits may find its state kept, or a nearer one.
    replaying: tokio::sync::Mutex<()>,
}

impl Past {
    /// The states of this log.
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        Self {
            log,
            kept: Mutex::default(),
            replaying: tokio::sync::Mutex::default(),
        }
    }

    /// The state at a point of a log whose last event is `last`.
    async fn state(&self, last: u64, upto: Upto) -> Result<Arc<State>, WebError> {
        if let Upto::Seq(seq) = upto {
            check_known(last, seq)?;
            if let Some(state) = self.kept_at(seq) {
                return Ok(state);
            }
        }
        let _turn = self.replaying.lock().await;
        let base = match upto {
            Upto::Seq(seq) => match self.nearest(seq) {
                Some(state) if state.seq == seq => return Ok(state),
                base => base,
            },
            // Whether all events before a kept state were earlier is not known.
            Upto::Time(_) | Upto::End => None,
        };
        let log = Arc::clone(&self.log);
        let read = tokio::task::spawn_blocking(move || replayed(&*log, base, upto));
        let (early, state) = read
            .await
            .map_err(|error| WebError::failed(error.to_string()))?
            .map_err(|error| WebError::failed(error.to_string()))?;
        if let Upto::Seq(seq) = upto
            && state.seq != seq
        {
            return Err(WebError::not_found(format!(
                "event {seq} is gone: the repaired log starts later"
            )));
        }
        early.map(|early| self.keep(early));
        Ok(self.keep(state))
    }

    fn keep(&self, state: State) -> Arc<State> {
        let state = Arc::new(state);
        let mut all = self.lock();
        all.retain(|kept| kept.seq != state.seq);
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push(Arc::clone(&state));
        state
    }

    /// The state at this event, if it is kept; it is the last used one then.
    fn kept_at(&self, seq: u64) -> Option<Arc<State>> {
        let mut all = self.lock();
        let index = all.iter().position(|state| state.seq == seq)?;
        let state = all.remove(index);
        all.push(Arc::clone(&state));
        Some(state)
    }

    /// The last kept state up to this event.
    fn nearest(&self, seq: u64) -> Option<Arc<State>> {
        let earlier = {
            let all = self.lock();
            let earlier = all.iter().map(|state| state.seq);
            earlier.filter(|kept| *kept <= seq).max()?
        };
        self.kept_at(earlier)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<State>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state at a point, from a state before it if there is one; else also one somewhat earlier.
fn replayed(
    log: &dyn EventLog,
    base: Option<Arc<State>>,
    upto: Upto,
) -> io::Result<(Option<State>, State)> {
    match (base, upto) {
        (Some(base), Upto::Seq(seq)) => {
            let base = Arc::unwrap_or_clone(base);
            Ok((None, log.state_from(base, seq)?))
        }
        (None, Upto::Seq(seq)) if seq > STEPS_BACK => {
            let early = log.state_at(Upto::Seq(seq - STEPS_BACK))?;
            let state = log.state_from(early.clone(), seq)?;
            Ok((Some(early), state))
        }
        (_, upto) => Ok((None, log.state_at(upto)?)),
    }
}

fn check_known(last: u64, seq: u64) -> Result<(), WebError> {
    if seq > last {
        return Err(WebError::not_found(format!(
            "there is no event {seq}: the log ends at event {last}"
        )));
    }
    Ok(())
}

#[derive(Debug, Default, Deserialize)]
struct At {
    at: Option<String>,
}

impl FromRequestParts<Arc<Site>> for Moment {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, WebError> {
        let query = Query::<At>::from_request_parts(parts, site).await;
        // Two moments, for example: none of them may pass for now.
        let Query(At { at }) = query.map_err(|error| WebError::bad(error.body_text()))?;
        Self::of(site, at).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::actor::handle::Journaled;
    use crate::daemon::{Paths, offline};
    use crate::domain::event::Event;
    use crate::domain::testkit::sim::Sim;
    use crate::journal::Journal;

    /// The log on disk, as the daemon reads it.
    struct Disk(Paths);

    impl EventLog for Disk {
        fn read(&self, after: u64, limit: usize) -> io::Result<Vec<Journaled>> {
            offline::events(&self.0, after, limit).map_err(io::Error::other)
        }

        fn scan(&self, after: u64, upto: u64, each: &mut dyn FnMut(Journaled)) -> io::Result<()> {
            offline::scan(&self.0, after, upto, each).map_err(io::Error::other)
        }

        fn state_at(&self, upto: Upto) -> io::Result<State> {
            offline::state_at(&self.0, upto).map_err(io::Error::other)
        }

        fn state_from(&self, state: State, seq: u64) -> io::Result<State> {
            offline::state_from(&self.0, state, Upto::Seq(seq)).map_err(io::Error::other)
        }
    }

    fn append(paths: &Paths, log: &[(Timestamp, Event)]) {
        let (mut journal, _) = Journal::open(&paths.state).unwrap();
        for (at, event) in log {
            let expected = journal.position().seq;
            journal
                .append(expected, *at, std::slice::from_ref(event))
                .unwrap();
        }
    }

    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        let mut x = seed | 1;
        std::iter::repeat_with(move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        })
    }

    #[tokio::test]
    async fn an_earlier_state_is_that_of_a_replay_live_and_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir_all(&paths.state).unwrap();
        let mut sim = Sim::new(numbers(7).take(600).map(|n| (n >> 48) as u16).collect());
        sim.live();
        let half = sim.log.len() / 2;
        append(&paths, &sim.log[..half]);
        let mut past = Past::new(Arc::new(Disk(paths.clone())));
        let mut last = half as u64;
        for (turn, number) in numbers(11).take(200).enumerate() {
            if turn == 100 {
                append(&paths, &sim.log[half..]);
                last = sim.log.len() as u64;
            }
            if turn == 150 {
                past = Past::new(Arc::new(Disk(paths.clone())));
            }
            let seq = number % (last + 1);
            let state = past.state(last, Upto::Seq(seq)).await.unwrap();
            let replayed = offline::state_at(&paths, Upto::Seq(seq)).unwrap();
            assert_eq!(*state, replayed, "at {seq}");
            let time = Upto::Time(replayed.swarm.last_event_at);
            if turn % 10 == 0 {
                let state = past.state(last, time).await.unwrap();
                assert_eq!(*state, offline::state_at(&paths, time).unwrap());
            }
            assert!(past.lock().len() <= KEPT);
        }
        let beyond = past.state(last, Upto::Seq(last + 1)).await;
        assert!(beyond.is_err(), "there is no such event");
    }

    #[test]
    fn a_moment_is_an_event_an_age_or_a_time() {
        assert_eq!(parse("120"), Some(Upto::Seq(120)));
        for text in [
            "2h",
            "10m",
            "2026-01-31T23:59:00Z",
            "2026-01-31 23:59",
            "02:14",
            "2:14:07",
        ] {
            assert!(matches!(parse(text), Some(Upto::Time(_))), "{text}");
        }
        for text in ["<script>", "-1", "1e9", "25:00", "yesterday", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
