//! The moment that a page shows: now, or an earlier event (`?at=SEQ|TIME`).
//!
//! Invariant: an earlier state is what `swarm replay --at` shows, by the same function.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::Deserialize;

use super::Site;
use super::pages::WebError;
use crate::api::EventLog;
use crate::daemon::offline::Upto;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// Earlier states that are kept for the next request.
const KEPT: usize = 4;

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

    /// The moment of an address.
    pub async fn of(site: &Arc<Site>, at: Option<String>) -> Result<Self, WebError> {
        let Some(text) = at.filter(|at| !at.is_empty()) else {
            return Ok(Self::now());
        };
        let upto = parse(&text).ok_or_else(|| {
            WebError::bad(format!("`{text}` is neither an event's number nor a time"))
        })?;
        let past = site.past.state(site, upto).await?;
        Ok(Self {
            past: Some(past),
            at: Some(text),
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

fn parse(text: &str) -> Option<Upto> {
    if let Ok(seq) = text.parse() {
        return Some(Upto::Seq(seq));
    }
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(Upto::Time(Timestamp::from_millis(time.as_millisecond())))
}

/// Earlier states, the last used ones kept.
pub struct Past {
    log: Arc<dyn EventLog>,
    kept: Mutex<Vec<(Upto, Arc<State>)>>,
}

impl Past {
    /// The states of this log.
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        Self {
            log,
            kept: Mutex::default(),
        }
    }

    async fn state(&self, site: &Arc<Site>, upto: Upto) -> Result<Arc<State>, WebError> {
        let kept = |all: &Vec<(Upto, Arc<State>)>| {
            let found = all.iter().find(|(its, _)| *its == upto);
            found.map(|(_, state)| Arc::clone(state))
        };
        let last = site.api.handle.read(|state| state.seq);
        if let Upto::Seq(seq) = upto
            && seq > last
        {
            return Err(WebError::not_found(format!(
                "there is no event {seq}: the log ends at event {last}"
            )));
        }
        if let Some(state) = kept(&self.lock()) {
            return Ok(state);
        }
        let log = Arc::clone(&self.log);
        let read = tokio::task::spawn_blocking(move || log.state_at(upto)).await;
        let state = read
            .map_err(|error| WebError::failed(error.to_string()))?
            .map_err(|error| WebError::failed(error.to_string()))?;
        let state = Arc::new(state);
        let mut all = self.lock();
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push((upto, Arc::clone(&state)));
        Ok(state)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Upto, Arc<State>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default, Deserialize)]
struct At {
    at: Option<String>,
}

impl FromRequestParts<Arc<Site>> for Moment {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, WebError> {
        let query = Query::<At>::from_request_parts(parts, site).await;
        let at = query.map(|Query(At { at })| at).unwrap_or_default();
        Self::of(site, at).await
    }
}
