//! Memory that passing work took goes back to the system.
//!
//! A snapshot copies the whole state and writes it as text, now on one thread, now on another. Glibc's allocator keeps what that frees in an
//! arena for each thread: after some hours a daemon would hold several times what it needs.
//!
//! Invariant: it goes back after each snapshot, and once more when the daemon has come to rest, together with the events that are kept for
//! those who follow; the actor never waits for that.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::handle::Handle;

/// How long nothing happens at rest.
const QUIET: Duration = Duration::from_secs(5);

/// Arenas for all threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS: nix::libc::c_int = 2;
/// From so many bytes on, what is asked for is the system's own, and goes back to it as soon as it is freed. Left to itself, glibc takes the
/// next text of a snapshot's size from an arena.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OF_ITS_OWN: nix::libc::c_int = 256 * 1024;

/// To be called before the first thread begins.
pub(crate) fn share() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    // SAFETY: it takes no pointer, and no other thread is there yet.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, ARENAS);
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, OF_ITS_OWN);
    }
}

/// Gives back what nobody uses. Other threads may wait a moment for memory meanwhile.
pub(super) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    // SAFETY: it takes no pointer, and may be called by any thread at any time.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}

/// Gives back, whenever the daemon has come to rest, what its work until then took; until it ends.
pub(super) async fn keep(handle: Handle) {
    at_each_rest(handle, give_back).await;
}

async fn at_each_rest(handle: Handle, give_back: fn()) {
    let mut seq = handle.seq();
    loop {
        while let Ok(changed) = timeout(QUIET, seq.changed()).await {
            if changed.is_err() {
                return;
            }
        }
        let (followed, last) = (handle.clone(), *seq.borrow());
        let at_rest = move || {
            followed.forget(last);
            give_back();
        };
        if let Err(error) = spawn_blocking(at_rest).await {
            tracing::warn!(%error, "giving back memory stopped");
        }
        if seq.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::daemon::handle::Journaled;
    use crate::daemon::testkit::Seat;
    use crate::domain::event::Event;
    use crate::domain::state::State;
    use crate::domain::time::Timestamp;

    static GIVEN: AtomicU32 = AtomicU32::new(0);

    /// Lets time pass, and what is due be done.
    async fn pass(time: Duration) -> u32 {
        tokio::time::sleep(time).await;
        GIVEN.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_back_once_at_each_rest_and_not_before() {
        let (handle, seat) = Seat::new(State::default(), 10);
        let happens = |seq| {
            let (ts, event) = (Timestamp::default(), Event::Mark {});
            seat.publish(&[Arc::new(Journaled { seq, ts, event })]);
        };
        let keeper = tokio::spawn(at_each_rest(handle.clone(), || {
            GIVEN.fetch_add(1, Ordering::SeqCst);
        }));
        // What a start took, too.
        assert_eq!(pass(QUIET * 2).await, 1);
        for seq in 1..10 {
            happens(seq);
            assert_eq!(pass(QUIET / 2).await, 1);
        }
        assert_eq!(handle.recent_after(0, 10).unwrap().len(), 9);
        assert_eq!(pass(QUIET).await, 2);
        // Who follows has it all, and what came before is in the log.
        assert_eq!(handle.recent_after(9, 10), Some(vec![]));
        assert_eq!(handle.recent_after(8, 10), None);
        assert_eq!(handle.forgotten(), 9);
        assert_eq!(pass(QUIET * 100).await, 2);
        happens(10);
        assert_eq!(handle.recent_after(9, 10).unwrap().len(), 1);
        assert_eq!(pass(QUIET * 2).await, 3);
        drop(seat);
        keeper.await.unwrap();
    }
}
