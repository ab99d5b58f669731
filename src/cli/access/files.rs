//! The state in the files: as it is, or as it was at an earlier point of the event log.

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::cli::clock;
use crate::cli::error::CliError;
use crate::daemon::Paths;
use crate::daemon::offline::{self, Upto};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::describe::Point;

/// The files of a repository, seen now or at an earlier point.
#[derive(Clone)]
pub struct Files {
    /// Where they are.
    pub paths: Box<Paths>,
    past: Option<Past>,
}

impl Files {
    /// As they are.
    pub fn now(paths: Paths) -> Self {
        let paths = Box::new(paths);
        Self { paths, past: None }
    }

    /// As they were at a point.
    pub fn then(paths: Paths, past: Past) -> Self {
        let past = Some(past);
        let paths = Box::new(paths);
        Self { paths, past }
    }

    /// The state.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn state(&self) -> Result<State, CliError> {
        match &self.past {
            Some(past) => Ok(State::clone(&past.state)),
            None => Ok(offline::read(&self.paths)?),
        }
    }

    /// The last event that the state knows, if it is an earlier one.
    pub fn last_seq(&self) -> Option<u64> {
        self.past.as_ref().map(Past::seq)
    }

    /// Whether the state is an earlier one.
    pub const fn is_past(&self) -> bool {
        self.past.is_some()
    }
}

/// The state at an earlier point of the event log. Cheap to clone.
#[derive(Clone)]
pub struct Past {
    state: Arc<State>,
}

impl From<State> for Past {
    fn from(state: State) -> Self {
        let state = Arc::new(state);
        Self { state }
    }
}

impl Past {
    /// Replays the log up to a point. A time means after the last event that is not later.
    ///
    /// # Errors
    /// There is no such event, or the log is damaged before it.
    pub fn read(paths: &Paths, at: Point) -> Result<Self, CliError> {
        let upto = match at {
            Point::Seq(seq) => Upto::Seq(seq),
            Point::Time(time) => Upto::Time(time),
        };
        let state = offline::state_at(paths, upto)?;
        if let Point::Seq(seq) = at
            && seq != state.seq
        {
            let last = offline::read(paths)?.seq;
            return Err(if seq > last {
                CliError::refused(format!(
                    "there is no event {seq}: the log ends at event {last}"
                ))
            } else {
                CliError::refused(format!(
                    "event {seq} is gone: the repaired log starts later"
                ))
            }
            .hint("see the events: swarm events"));
        }
        let state = Arc::new(state);
        Ok(Self { state })
    }

    /// The last event before the point; 0 if there is none.
    pub fn seq(&self) -> u64 {
        self.state.seq
    }

    /// When that event happened.
    pub fn time(&self) -> Timestamp {
        self.state.swarm.last_event_at
    }

    /// The state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// `event 120, 2026-01-31 23:59:00 (3 h ago)`.
    pub fn describe(&self, zone: &TimeZone) -> String {
        if self.seq() == 0 {
            return "event 0: before the first event".to_owned();
        }
        let then = clock::local(self.time(), zone);
        let ago = clock::ago(self.time(), clock::now());
        format!("event {}, {then} ({ago})", self.seq())
    }
}
