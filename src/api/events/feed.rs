//! Durable events in order, from memory where it still holds them, else from the log.
//!
//! Invariant: from where the log begins, from one sequence number to the next, without gap and
//! without repeat, never past what is published; a log that does not hold what it should is an
//! error, not an end.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;

use crate::api::{ApiContext, EventLog, stopped};
use crate::daemon::Handle;
use crate::daemon::actor::handle::Journaled;
use crate::domain::event::Event;

/// Events that are read at a time.
const BATCH: usize = 512;

/// A place in the sequence of events.
pub(in crate::api) struct Feed {
    handle: Handle,
    log: Arc<dyn EventLog>,
    after: u64,
    published: watch::Receiver<u64>,
    stop: watch::Receiver<bool>,
    over: bool,
}

impl Feed {
    /// Before the first event after `after`.
    pub(in crate::api) fn new(context: &ApiContext, after: u64) -> Self {
        Self {
            handle: context.handle.clone(),
            log: context.log.clone(),
            after,
            published: context.handle.seq(),
            stop: context.stop.clone(),
            over: false,
        }
    }

    /// The last event that was given.
    pub(in crate::api) fn after(&self) -> u64 {
        self.after
    }

    /// The next events, at least one; none once all there were have been given and the daemon is
    /// ending.
    pub(in crate::api) async fn next(&mut self) -> io::Result<Option<Vec<Arc<Journaled>>>> {
        loop {
            let over = self.over;
            let batch = self.ready().await?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
            // Only what was read after the end was seen is known to be all.
            if over {
                return Ok(None);
            }
            self.wait().await;
        }
    }

    /// The next events that are there already; empty: none.
    pub(in crate::api) async fn ready(&mut self) -> io::Result<Vec<Arc<Journaled>>> {
        // What is published after this look wakes the wait.
        self.published.borrow_and_update();
        let batch = match self.handle.recent_after(self.after, BATCH) {
            Some(batch) => batch,
            None => self.older().await?,
        };
        if let (Some(first), Some(newest)) = (batch.first(), batch.last()) {
            self.check(first, newest.seq, batch.len())?;
            self.after = newest.seq;
        }
        Ok(batch)
    }

    async fn older(&self) -> io::Result<Vec<Arc<Journaled>>> {
        let last = self.handle.read(|state| state.seq);
        let (log, after) = (self.log.clone(), self.after);
        let read = move || log.read(after, BATCH);
        let mut events = tokio::task::spawn_blocking(read).await??;
        events.retain(|event| event.seq <= last);
        if events.is_empty() {
            let message = format!("the event log does not hold event {}", after + 1);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(events.into_iter().map(Arc::new).collect())
    }

    fn check(&self, first: &Journaled, newest: u64, count: usize) -> io::Result<()> {
        // A log that was repaired may begin with a whole state, and not with event 1.
        let begins = matches!(first.event, Event::StateRestored(_));
        let follows = first.seq == self.after + 1 || (begins && first.seq > self.after);
        if follows && newest + 1 == first.seq + count as u64 {
            return Ok(());
        }
        let after = self.after;
        let message = format!("the event log has a gap after event {after}");
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }

    /// Until there is more, or there never will be. Cancel-safe.
    async fn wait(&mut self) {
        tokio::select! {
            changed = self.published.changed() => self.over = changed.is_err(),
            () = stopped(&mut self.stop) => self.over = true,
        }
    }
}
