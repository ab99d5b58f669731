//! What the rest of the program holds of the daemon: a way to ask, a way to read, a way to follow.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{mpsc, oneshot, watch};

use crate::daemon::memory::tally::{Tally, Write};
use crate::domain::effect::Effect;
use crate::domain::event::Event;
use crate::domain::evolve::evolve;
use crate::domain::ids::IdeaId;
use crate::domain::observation::Observation;
use crate::domain::operation::Command;
use crate::domain::rejection::Rejection;
use crate::domain::request::{Operation, Request};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::memory::Taken;

/// Most events kept in memory for followers; older ones are read from the log.
pub const RECENT_RECORDS: usize = 4_096;

/// One durable event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journaled {
    /// Its sequence number.
    pub seq: u64,
    /// When it was decided.
    pub ts: Timestamp,
    /// The event itself.
    pub event: Event,
}

/// A command was accepted: its events are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The seq of its last event, or of the log's last event if it changed nothing.
    pub seq: u64,
    /// Its events; none if the operation was done before.
    pub events: Vec<Event>,
    /// The operation, if it was done before; `seq` is that of its first event then.
    pub before: Option<Operation>,
}

impl Accepted {
    /// These events carry it out; the last one has this seq.
    pub fn now(seq: u64, events: Vec<Event>) -> Self {
        Self {
            seq,
            events,
            before: None,
        }
    }

    /// The operation was done before.
    pub fn before(operation: Operation) -> Self {
        Self {
            seq: operation.seq,
            events: Vec::new(),
            before: Some(operation),
        }
    }

    /// The seq before its first event, now or when the operation was first sent.
    pub fn begin(&self) -> u64 {
        let own = if self.before.is_some() {
            1
        } else {
            self.events.len() as u64
        };
        self.seq.saturating_sub(own)
    }

    /// The idea that it added, now or when the operation was first sent.
    pub fn added_idea(&self) -> Option<IdeaId> {
        self.taken().added_idea()
    }

    /// What it did, for its answer.
    pub fn taken(&self) -> Taken<'_> {
        Taken {
            seq: self.seq,
            events: &self.events,
            before: self.before.as_ref(),
        }
    }
}

/// Why a command had no effect, or an unknown one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// It is not allowed in the current state.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The log cannot be written at the moment; nothing has changed.
    #[error("the event log cannot be written: {0}")]
    Unavailable(String),
    /// The log failed during the write and may hold the events. The daemon ends.
    #[error("the event log failed while this command was being written: {0}")]
    Lost(String),
    /// The daemon is shutting down; nothing has changed.
    #[error("the daemon is shutting down")]
    Ended,
    /// The daemon ended before it answered.
    #[error("the daemon stopped before it could answer")]
    Unknown,
}

/// A message to the actor.
pub(crate) enum Message {
    /// A request, and where its answer goes.
    Request(Request, oneshot::Sender<Result<Accepted, CommandError>>),
    /// Something a driver observed.
    Observation(Observation),
    /// Asks whether the actor still takes messages.
    Ping(oneshot::Sender<()>),
}

/// The durable state, for readers.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) state: State,
    pub(crate) recent: VecDeque<Arc<Journaled>>,
    /// Since when and why the log cannot be written.
    pub(crate) stalled: Option<(Timestamp, String)>,
}

/// A handle on the daemon's actor. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(crate) inbox: mpsc::Sender<Message>,
    pub(crate) published: Arc<RwLock<Published>>,
    pub(crate) seq: watch::Receiver<u64>,
    pub(crate) tally: Arc<Tally>,
}

impl Handle {
    /// Sends a person's command; returns once its events are on disk.
    pub async fn command(&self, command: Command) -> Result<Accepted, CommandError> {
        self.request(command.into()).await
    }

    /// Sends a request; returns once its events are on disk.
    pub async fn request(&self, request: Request) -> Result<Accepted, CommandError> {
        let write = Write::in_request(&request);
        let (answer, answered) = oneshot::channel();
        let message = Message::Request(request, answer);
        if self.inbox.send(message).await.is_err() {
            return Err(CommandError::Ended);
        }
        let answer = answered.await.unwrap_or(Err(CommandError::Unknown));
        if let Some(write) = write {
            self.tally.count(write, &answer);
        }
        answer
    }

    /// What happens with the memory and no event says.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Reports what a driver observed. Lost if the actor has ended: the next start observes it
    /// again.
    pub(crate) async fn observe(&self, observation: Observation) {
        // A closed inbox means that the daemon has ended.
        drop(self.inbox.send(Message::Observation(observation)).await);
    }

    /// Waits without limit until the actor answers; `false` if it has ended.
    pub async fn is_answered(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.inbox.send(Message::Ping(answer)).await.is_ok() && answered.await.is_ok()
    }

    /// Makes durable events visible.
    pub(crate) fn publish(&self, records: &[Arc<Journaled>]) {
        let mut published = self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        published.stalled = None;
        for record in records {
            evolve(&mut published.state, record.seq, record.ts, &record.event);
            if published.recent.len() >= RECENT_RECORDS {
                published.recent.pop_front();
            }
            published.recent.push_back(Arc::clone(record));
        }
    }

    /// Drops the events up to `seq` from memory; slow followers read them from the log.
    pub(crate) fn forget(&self, seq: u64) {
        let mut published = self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let count = published.recent.partition_point(|it| it.seq <= seq);
        let newer = published.recent.split_off(count);
        let older = std::mem::replace(&mut published.recent, newer);
        drop(published);
        drop(older);
    }

    /// Reads the durable state. `read` must be short: the actor waits for it.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        let published = self
            .published
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        read(&published.state)
    }

    /// Records that the log cannot be written, since `now` if that is new.
    pub(crate) fn stall(&self, now: Timestamp, why: &str) {
        let mut published = self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let since = published.stalled.take().map_or(now, |(since, _)| since);
        published.stalled = Some((since, why.to_owned()));
    }

    /// Since when and why the log cannot be written; `None` if it can.
    pub fn stalled(&self) -> Option<(Timestamp, String)> {
        let published = self
            .published
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        published.stalled.clone()
    }

    /// The seq of the last event that is no longer in memory.
    pub fn forgotten(&self) -> u64 {
        let published = self
            .published
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let oldest = published.recent.front();
        oldest.map_or(published.state.seq, |oldest| oldest.seq.saturating_sub(1))
    }

    /// Durable events after `seq`, oldest first, at most `limit`; `None` when they are no longer in
    /// memory and must be read from the log.
    pub fn recent_after(&self, seq: u64, limit: usize) -> Option<Vec<Arc<Journaled>>> {
        let published = self
            .published
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if seq >= published.state.seq {
            return Some(Vec::new());
        }
        let first = published.recent.front()?.seq;
        if seq + 1 < first {
            return None;
        }
        let skip = usize::try_from(seq + 1 - first).unwrap_or(usize::MAX);
        Some(
            published
                .recent
                .iter()
                .skip(skip)
                .take(limit)
                .cloned()
                .collect(),
        )
    }

    /// The last durable seq, to wait for the next one.
    pub fn seq(&self) -> watch::Receiver<u64> {
        self.seq.clone()
    }

    /// Waits until no landing is under way, or the daemon ends: a landing moves the checkouts
    /// before the branch, and in between they look changed by a person.
    pub(crate) async fn landing_over(&self) {
        let mut seq = self.seq();
        loop {
            seq.mark_unchanged();
            let lands = self.read(|state| state.is_pending(Effect::is_landing));
            if !lands || seq.changed().await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::domain::effect::Land;
    use crate::domain::event::{EffectFinished, EffectRequested};
    use crate::domain::ids::EffectId;
    use crate::domain::testkit::{START, idea, oid};

    #[test]
    fn whoever_waits_for_a_landing_waits_until_it_is_over() {
        let (inbox, _commands) = mpsc::channel(1);
        let (told, seq) = watch::channel(0);
        let published = Arc::new(RwLock::new(Published::default()));
        let handle = Handle {
            inbox,
            published,
            seq,
            tally: Arc::default(),
        };
        let happens = |seq, event| {
            let ts = START;
            handle.publish(&[Arc::new(Journaled { seq, ts, event })]);
            told.send(seq).unwrap();
        };
        let id = EffectId(1);
        let effect = Effect::Land(Land {
            idea: idea(1),
            target: "main".into(),
            expected: oid(1),
            commit: oid(2),
        });
        assert_eq!(handle.landing_over().now_or_never(), Some(()));
        happens(1, Event::EffectRequested(EffectRequested { id, effect }));
        let mut waits = Box::pin(handle.landing_over());
        assert_eq!(waits.as_mut().now_or_never(), None);
        happens(2, Event::EffectFinished(EffectFinished { id, error: None }));
        assert_eq!(waits.now_or_never(), Some(()));
    }
}
