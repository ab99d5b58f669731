//! Reads durable events in order: from memory if they are still there, otherwise from the log.
//!
//! Invariant: sequence numbers follow each other without gap or repeat, and never run ahead of what
//! is published. A log with missing events is an error, not an end.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;

use crate::api::{ApiContext, EventLog, stopped};
use crate::daemon::Handle;
use crate::daemon::actor::handle::Journaled;
use crate::domain::event::Event;

/// The most events read at once.
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
    /// Starts with the first event after `after`.
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

    /// The last event that was returned.
    pub(in crate::api) fn after(&self) -> u64 {
        self.after
    }

    /// The next events, at least one; `None` when all were returned and the daemon is ending.
    pub(in crate::api) async fn next(&mut self) -> io::Result<Option<Vec<Arc<Journaled>>>> {
        loop {
            let over = self.over;
            let batch = self.ready().await?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
            // Read once more after the end was seen: only then is this known to be all.
            if over {
                return Ok(None);
            }
            self.wait().await;
        }
    }

    /// The next events that are available now; may be empty.
    pub(in crate::api) async fn ready(&mut self) -> io::Result<Vec<Arc<Journaled>>> {
        // Events published after this wake the wait.
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
            let message = format!("event {} is missing from the event log", after + 1);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(events.into_iter().map(Arc::new).collect())
    }

    fn check(&self, first: &Journaled, newest: u64, count: usize) -> io::Result<()> {
        // A repaired log may start with a restored state instead of event 1.
        let begins = matches!(first.event, Event::StateRestored(_));
        let follows = first.seq == self.after + 1 || (begins && first.seq > self.after);
        if follows && newest + 1 == first.seq + count as u64 {
            return Ok(());
        }
        let after = self.after;
        let message = format!("the event log has a gap after event {after}");
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }

    /// Waits until there are more events, or the daemon ends. Cancel-safe.
    async fn wait(&mut self) {
        tokio::select! {
            changed = self.published.changed() => self.over = changed.is_err(),
            () = stopped(&mut self.stop) => self.over = true,
        }
    }
}
