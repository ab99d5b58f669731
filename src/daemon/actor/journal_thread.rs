//! The actor's side of the journal: batches go to the writer's thread, what became of them comes
//! back in order.

use std::io;

use tokio::sync::mpsc;

use crate::domain::event::{Event, Mark};
use crate::domain::time::Timestamp;
use crate::journal::{
    AppendError, Appended, Batch, Journal, JournalEvent, Position, Writer, spawn_writer,
};

impl JournalEvent for Event {
    fn mark() -> Self {
        Self::Mark(Mark {})
    }

    fn kind(&self) -> &str {
        Event::kind(self)
    }
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is on disk; its events come back.
    Durable(Vec<Event>),
    /// It is not: the disk is full. A later one may be.
    Full(String),
    /// It may not be, and nothing more will.
    Failed(String),
}

/// See the module.
pub(crate) struct JournalThread {
    writer: Writer<Event>,
    results: mpsc::UnboundedReceiver<Appended<Event>>,
    in_flight: usize,
    forgotten: usize,
    position: Position,
}

impl JournalThread {
    /// Starts the writer's thread.
    pub(crate) fn new(journal: Journal) -> io::Result<Self> {
        let position = journal.position();
        let (sender, results) = mpsc::unbounded_channel();
        let writer = spawn_writer(journal, move |appended| {
            // The actor has gone: nobody is to be told any more.
            drop(sender.send(appended));
        })?;
        Ok(Self {
            writer,
            results,
            in_flight: 0,
            forgotten: 0,
            position,
        })
    }

    /// Hands in a batch, decided on a log that ends with `expected`.
    pub(crate) fn write(&mut self, expected: u64, ts: Timestamp, events: Vec<Event>) {
        let batch = Batch {
            expected,
            ts,
            events,
        };
        match self.writer.submit(batch) {
            Ok(()) => self.in_flight += 1,
            // Its results end too, and with them the actor.
            Err(error) => tracing::error!(%error, "the event log's writer is gone"),
        }
    }

    /// What became of the next batch, in the order in which they were handed in. When none is under
    /// way, waits for the log to be lost.
    pub(crate) async fn written(&mut self) -> Written {
        loop {
            let Some(appended) = self.results.recv().await else {
                return Written::Failed("the event log's writer stopped".to_owned());
            };
            // A log that was lost is reported though no batch is under way.
            self.in_flight = self.in_flight.saturating_sub(1);
            if self.forgotten > 0 {
                self.forgotten -= 1;
                continue;
            }
            return match appended.result {
                Ok(position) => {
                    self.position = position;
                    Written::Durable(appended.batch.events)
                }
                Err(full @ AppendError::Full { .. }) => Written::Full(full.to_string()),
                Err(error) => Written::Failed(error.to_string()),
            };
        }
    }

    /// Batches under way were decided on one that failed: what becomes of them is known already.
    pub(crate) fn forget_unwritten(&mut self) {
        self.forgotten = self.in_flight;
    }

    /// The end of what is on disk.
    pub(crate) fn position(&self) -> Position {
        self.position
    }
}
