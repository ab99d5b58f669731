//! The actor's side of the journal: passes batches to the writer thread and receives the results in
//! order. Called by the actor alone.

use std::io;

use tokio::sync::mpsc;

use crate::domain::event::{Event, Mark};
use crate::domain::time::Timestamp;
use crate::journal::{
    AppendError, Appended, Batch, Journal, JournalEvent, Position, Writer, spawn_writer,
};

impl JournalEvent for Event {
    /// Until the first tag: a digest of one sample of each form that an event may have.
    const SCHEMA: u64 = fnv1a(include_bytes!("../../../tests/golden/events-v1.jsonl"));

    fn mark() -> Self {
        Self::Mark(Mark {})
    }

    fn kind(&self) -> &str {
        Event::kind(self)
    }
}

/// FNV-1a, 64 bits.
const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// The result of writing a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    /// On disk; these are its events.
    Durable(Vec<Event>),
    /// Not written because the disk is full; a later batch may work.
    Full(String),
    /// Possibly not written; the log accepts nothing more.
    Failed(String),
}

/// The writer thread, and the results that it sends back.
pub(crate) struct JournalThread {
    writer: Writer<Event>,
    results: mpsc::UnboundedReceiver<Appended<Event>>,
    in_flight: usize,
    forgotten: usize,
    position: Position,
}

impl JournalThread {
    /// Starts the writer thread.
    pub(crate) fn new(journal: Journal) -> io::Result<Self> {
        let position = journal.position();
        let (sender, results) = mpsc::unbounded_channel();
        let writer = spawn_writer(journal, move |appended| {
            // The actor may have ended.
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

    /// Submits a batch that was decided after event `expected`.
    pub(crate) fn write(&mut self, expected: u64, ts: Timestamp, events: Vec<Event>) {
        let batch = Batch {
            expected,
            ts,
            events,
        };
        match self.writer.submit(batch) {
            Ok(()) => self.in_flight += 1,
            // The results end too, and with them the actor.
            Err(error) => tracing::error!(%error, "the writer of the event log has ended"),
        }
    }

    /// The result of the next batch, in the order of submission. Without an open batch, waits until
    /// the log is lost.
    pub(crate) async fn written(&mut self) -> Written {
        loop {
            let Some(appended) = self.results.recv().await else {
                return Written::Failed("the writer of the event log has ended".to_owned());
            };
            // A lost log is reported even without an open batch.
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

    /// Ignores the results of the open batches: they follow a failed one, so they fail too.
    pub(crate) fn forget_unwritten(&mut self) {
        self.forgotten = self.in_flight;
    }

    /// The end of what is on disk.
    pub(crate) fn position(&self) -> Position {
        self.position
    }
}
