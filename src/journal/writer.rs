//! The writer thread: appends all waiting batches together. Started by `daemon::actor`.
//!
//! Invariant: each batch is answered exactly once, in order, when it is on disk or refused. A batch
//! decided after a refused one is refused too, because its `expected` is missing. A lost log is
//! reported once, even while nothing is being written.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::append::{Journal, StagedEnd};
use super::error::AppendError;
use super::record::JournalEvent;
use super::segments::Position;
use crate::domain::time::Timestamp;

/// Staged bytes after which no more batches are waited for.
const GROUP_BYTES: usize = 4 * 1024 * 1024;

/// How often an idle writer checks the log, so that a removed log is noticed before the next event.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Events that are decided together, and stand or fall together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<E> {
    /// The seq of the last record before them.
    pub expected: u64,
    /// When they were decided.
    pub ts: Timestamp,
    /// The events, in order.
    pub events: Vec<E>,
}

/// What became of a batch. One without events, that nobody handed in, says that the log was lost
/// while nothing was to be written.
#[derive(Debug)]
pub struct Appended<E> {
    /// The batch, given back.
    pub batch: Batch<E>,
    /// Where it ends in the log, now that it is on disk; or why it is not in the log.
    pub result: Result<Position, AppendError>,
}

impl<E> Appended<E> {
    fn lost(why: AppendError) -> Self {
        let batch = Batch {
            expected: 0,
            ts: Timestamp::from_millis(0),
            events: Vec::new(),
        };
        Self {
            batch,
            result: Err(why),
        }
    }
}

/// The owner's end of the writer's thread. Dropping it waits until all that was handed in is
/// answered.
#[derive(Debug)]
pub struct Writer<E> {
    // Both are there until `close` or `drop`.
    batches: Option<Sender<Batch<E>>>,
    thread: Option<JoinHandle<Journal>>,
}

/// The writer's thread has ended by a panic, in the journal or in the sink: whether the last
/// batches are on disk is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the writer thread of the event log crashed; the next start finds out what is on disk")]
pub struct WriterDied;

/// Starts the thread. `sink` runs on it, once for each batch, in order; while it runs nothing is
/// written, so it should only pass the answer on.
pub fn spawn_writer<E>(
    journal: Journal,
    sink: impl FnMut(Appended<E>) + Send + 'static,
) -> std::io::Result<Writer<E>>
where
    E: JournalEvent + Send + 'static,
{
    let (sender, receiver) = channel();
    let thread = Builder::new()
        .name("journal".into())
        .spawn(move || run(journal, &receiver, sink))?;
    Ok(Writer {
        batches: Some(sender),
        thread: Some(thread),
    })
}

impl<E> Writer<E> {
    /// Hands a batch in; the sink gets the answer. Never blocks.
    pub fn submit(&self, batch: Batch<E>) -> Result<(), WriterDied> {
        let sender = self.batches.as_ref().ok_or(WriterDied)?;
        sender.send(batch).map_err(|_| WriterDied)
    }

    /// Waits until all that was handed in is answered, and gives the journal back, for a last mark.
    pub fn close(mut self) -> Result<Journal, WriterDied> {
        self.join().ok_or(WriterDied)
    }

    fn join(&mut self) -> Option<Journal> {
        drop(self.batches.take());
        self.thread.take()?.join().ok()
    }
}

impl<E> Drop for Writer<E> {
    fn drop(&mut self) {
        self.join();
    }
}

fn run<E: JournalEvent>(
    mut journal: Journal,
    batches: &Receiver<Batch<E>>,
    mut sink: impl FnMut(Appended<E>),
) -> Journal {
    let mut group = Vec::new();
    loop {
        let first = match batches.recv_timeout(LOOK_EVERY) {
            Ok(first) => first,
            Err(RecvTimeoutError::Disconnected) => return journal,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(gone) = journal.check() {
                    sink(Appended::lost(gone));
                }
                continue;
            }
        };
        stage(&mut journal, &mut group, first);
        while journal.staged_bytes() < GROUP_BYTES {
            let Ok(next) = batches.try_recv() else { break };
            stage(&mut journal, &mut group, next);
        }
        finish(&mut journal, &mut group, &mut sink);
    }
}

type Staged<E> = (Batch<E>, Result<StagedEnd, AppendError>);

fn stage<E: JournalEvent>(journal: &mut Journal, group: &mut Vec<Staged<E>>, batch: Batch<E>) {
    let staged = journal.stage(batch.expected, batch.ts, &batch.events);
    group.push((batch, staged));
}

fn finish<E: JournalEvent>(
    journal: &mut Journal,
    group: &mut Vec<Staged<E>>,
    sink: &mut impl FnMut(Appended<E>),
) {
    let all = journal.staged_bytes() as u64;
    let committed = journal.commit().map(|_| ());
    for (batch, staged) in group.drain(..) {
        let result = staged.and_then(|staged| {
            committed.clone()?;
            Ok(journal.end_of(staged, all))
        });
        sink(Appended { batch, result });
    }
}
