//! Returns unused memory to the system. Called after each snapshot and when the daemon is idle.
//!
//! Snapshots allocate and free much memory between long-lived parts of the state. After some
//! thousand ideas glibc's allocator then keeps a third more than a new daemon needs. jemalloc keeps
//! almost nothing, if it is told when to purge. Other systems keep their own allocator.
//! Invariant: the actor never waits for a purge.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::daemon::actor::handle::Handle;

/// Without events for this long, the daemon counts as idle.
const QUIET: Duration = Duration::from_secs(5);

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// jemalloc's settings: two arenas, since few threads work; thread caches only up to a page; freed
/// memory is returned after a second.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
// SAFETY: jemalloc expects a pointer to a text that ends with a zero byte under this name, and
// nothing else defines it.
#[unsafe(export_name = "malloc_conf")]
#[used]
static SETTINGS: Option<&'static std::ffi::c_char> = Some(settings());

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
const fn settings() -> &'static std::ffi::c_char {
    let text = c"narenas:2,lg_tcache_max:12,dirty_decay_ms:1000,muzzy_decay_ms:0";
    // SAFETY: it points to the first byte of a text that is never freed.
    unsafe { &*text.as_ptr() }
}

/// Returns unused memory. Other threads may wait a moment for memory meanwhile.
pub(crate) fn purge() {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    // SAFETY: the name ends with a zero byte; no value is passed or requested.
    let refused = unsafe {
        use std::ptr::null_mut;
        tikv_jemalloc_sys::mallctl(ALL.as_ptr(), null_mut(), null_mut(), null_mut(), 0)
    };
    #[cfg(target_os = "linux")]
    debug_assert_eq!(refused, 0);
}

/// The control that purges all arenas (jemalloc's manual, `arena.<i>.purge`; 4096 means all).
#[cfg(target_os = "linux")]
const ALL: &std::ffi::CStr = c"arena.4096.purge";

/// Returns memory whenever the daemon has become idle, until it ends. Also drops the events kept
/// for followers, who can read them from the log.
pub(crate) async fn purge_when_idle(handle: Handle) {
    at_each_rest(handle, purge).await;
}

async fn at_each_rest(handle: Handle, purge: fn()) {
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
            purge();
        };
        if let Err(error) = spawn_blocking(at_rest).await {
            tracing::warn!(%error, "returning memory crashed");
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
    use crate::daemon::actor::handle::Journaled;
    use crate::daemon::testkit::Seat;
    use crate::domain::event::{Event, Mark};
    use crate::domain::state::State;
    use crate::domain::time::Timestamp;

    static PURGES: AtomicU32 = AtomicU32::new(0);

    /// Lets time pass; returns the number of purges.
    async fn pass(time: Duration) -> u32 {
        tokio::time::sleep(time).await;
        PURGES.load(Ordering::SeqCst)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_allocator_has_read_its_settings() {
        let mut arenas = 0_u32;
        let mut size = size_of::<u32>();
        #[allow(unsafe_code)]
        // SAFETY: the name ends with a zero byte; the value asked for is an unsigned number of this
        // size.
        let refused = unsafe {
            let value = (&raw mut arenas).cast();
            let none = std::ptr::null_mut();
            tikv_jemalloc_sys::mallctl(c"opt.narenas".as_ptr(), value, &raw mut size, none, 0)
        };
        assert_eq!((refused, arenas), (0, 2));
        purge();
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_returned_once_each_time_the_daemon_is_idle() {
        let (handle, seat) = Seat::new(State::default(), 10);
        let happens = |seq| {
            let (ts, event) = (Timestamp::default(), Event::Mark(Mark {}));
            seat.publish(&[Arc::new(Journaled { seq, ts, event })]);
        };
        let keeper = tokio::spawn(at_each_rest(handle.clone(), || {
            PURGES.fetch_add(1, Ordering::SeqCst);
        }));
        // Once after the start.
        assert_eq!(pass(QUIET * 2).await, 1);
        for seq in 1..10 {
            happens(seq);
            assert_eq!(pass(QUIET / 2).await, 1);
        }
        assert_eq!(handle.recent_after(0, 10).unwrap().len(), 9);
        assert_eq!(pass(QUIET).await, 2);
        // Followers have everything, and older events are in the log.
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
