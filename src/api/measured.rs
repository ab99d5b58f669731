//! The measures of the memory, folded from the event log when somebody asks for them.
//!
//! Invariant: the log is read on a thread that may block, by one reader at a time, and never by the
//! actor. Whoever gives up waiting does not stop the reader: who asks again finds its result.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::EventLog;
use crate::view::memory::Measures;

/// Folds that are kept: of the present and of an earlier moment that somebody looks at.
const KEPT: usize = 2;

/// See the module.
#[derive(Default)]
pub struct Measured {
    /// Last used last.
    kept: Mutex<Vec<Arc<Measures>>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Measured {
    /// The measures up to the event `seq`.
    ///
    /// # Errors
    /// The log cannot be read.
    pub async fn at(
        self: &Arc<Self>,
        log: &Arc<dyn EventLog>,
        seq: u64,
    ) -> io::Result<Arc<Measures>> {
        if let Some(kept) = self.kept_at(seq) {
            return Ok(kept);
        }
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let (this, log) = (Arc::clone(self), Arc::clone(log));
        let read = tokio::task::spawn_blocking(move || {
            let read = this.read(&*log, seq);
            drop(turn);
            read
        });
        read.await.map_err(io::Error::other)?
    }

    fn read(&self, log: &dyn EventLog, seq: u64) -> io::Result<Arc<Measures>> {
        // Whoever had its turn before may have read it.
        if let Some(kept) = self.kept_at(seq) {
            return Ok(kept);
        }
        let mut measures = self
            .nearest(seq)
            .map_or_else(Measures::default, |nearest| Measures::clone(&nearest));
        log.scan(measures.seq, seq, &mut |one| {
            measures.fold(one.seq, one.ts, &one.event);
        })?;
        // A log that was repaired may lack events.
        measures.seq = measures.seq.max(seq);
        let measures = Arc::new(measures);
        let mut all = self.lock();
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push(Arc::clone(&measures));
        Ok(measures)
    }

    fn kept_at(&self, seq: u64) -> Option<Arc<Measures>> {
        let mut all = self.lock();
        let index = all.iter().position(|kept| kept.seq == seq)?;
        let kept = all.remove(index);
        all.push(Arc::clone(&kept));
        Some(kept)
    }

    /// The last kept ones before this event.
    fn nearest(&self, seq: u64) -> Option<Arc<Measures>> {
        let all = self.lock();
        let earlier = all.iter().filter(|kept| kept.seq < seq);
        earlier.max_by_key(|kept| kept.seq).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Measures>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::daemon::actor::handle::Journaled;
    use crate::daemon::offline::Upto;
    use crate::domain::event::{ClockWentBack, Event};
    use crate::domain::state::State;
    use crate::domain::time::Timestamp;

    /// A log that counts the events that are read of it.
    #[derive(Default)]
    struct Counted(AtomicU64);

    impl EventLog for Counted {
        fn read(&self, after: u64, limit: usize) -> io::Result<Vec<Journaled>> {
            let seqs = after + 1..=after + limit as u64;
            let one = |seq| Journaled {
                seq,
                ts: Timestamp::from_millis(0),
                event: Event::ClockWentBack(ClockWentBack { by_ms: 1 }),
            };
            let all: Vec<Journaled> = seqs.map(one).collect();
            self.0.fetch_add(all.len() as u64, Ordering::Relaxed);
            Ok(all)
        }

        fn state_at(&self, _: Upto) -> io::Result<State> {
            Ok(State::default())
        }
    }

    #[tokio::test]
    async fn each_event_is_read_once_as_time_goes_on_and_few_folds_are_kept() {
        let log = Arc::new(Counted::default());
        let shared: Arc<dyn EventLog> = log.clone();
        let measured = Arc::new(Measured::default());
        let read = || log.0.swap(0, Ordering::Relaxed);
        for (seq, events) in [(100, 100), (100, 0), (120, 20), (125, 5), (125, 0)] {
            let folded = measured.at(&shared, seq).await.unwrap();
            assert_eq!((folded.seq, read()), (seq, events), "at {seq}");
        }
        // An earlier moment is read from the beginning, the next one from there.
        for (seq, events) in [(50, 50), (51, 1), (125, 74)] {
            let folded = measured.at(&shared, seq).await.unwrap();
            assert_eq!((folded.seq, read()), (seq, events), "at {seq}");
        }
        assert!(measured.lock().len() <= KEPT);
    }
}
