//! Memory that passing work took goes back to the system.
//!
//! A snapshot copies the whole state and writes it as text, now on one thread, now on another, and
//! what stays in the state lies between what is freed soon. Linux's usual allocator (glibc's) then
//! holds a third more after some thousand ideas than a new daemon would; jemalloc, which keeps each
//! size apart, holds next to nothing more, if it is told when to give back: of itself it waits for
//! more work. Elsewhere the system's own allocator stays.
//!
//! Invariant: it goes back after each snapshot, and once more when the daemon has come to rest,
//! together with the events that are kept for those who follow; the actor never waits for that.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::daemon::actor::handle::Handle;

/// How long nothing happens at rest.
const QUIET: Duration = Duration::from_secs(5);

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What jemalloc reads before the first byte is asked of it: two arenas for all threads, since the
/// daemon's work is done by few; nothing of more than a page is kept by a thread for itself; what
/// is freed goes back after a second's work.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
// SAFETY: jemalloc looks for a pointer to text that ends with a zero byte under this name, and
// nobody else has one.
#[unsafe(export_name = "malloc_conf")]
#[used]
static SETTINGS: Option<&'static std::ffi::c_char> = Some(settings());

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
const fn settings() -> &'static std::ffi::c_char {
    let text = c"narenas:2,lg_tcache_max:12,dirty_decay_ms:1000,muzzy_decay_ms:0";
    // SAFETY: it points to the first of the bytes of a text that is never freed.
    unsafe { &*text.as_ptr() }
}

/// Gives back what nobody uses. Other threads may wait a moment for memory meanwhile.
pub(crate) fn give_back() {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    // SAFETY: the name ends with a zero byte, and neither a value is passed nor one asked for.
    let refused = unsafe {
        use std::ptr::null_mut;
        tikv_jemalloc_sys::mallctl(ALL.as_ptr(), null_mut(), null_mut(), null_mut(), 0)
    };
    #[cfg(target_os = "linux")]
    debug_assert_eq!(refused, 0);
}

/// What gives back at once what no arena uses (jemalloc's manual, `arena.<i>.purge`; 4096 stands
/// for all).
#[cfg(target_os = "linux")]
const ALL: &std::ffi::CStr = c"arena.4096.purge";

/// Gives back, whenever the daemon has come to rest, what its work until then took; until it ends.
pub(crate) async fn keep(handle: Handle) {
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
    use crate::daemon::actor::handle::Journaled;
    use crate::daemon::testkit::Seat;
    use crate::domain::event::{Event, Mark};
    use crate::domain::state::State;
    use crate::domain::time::Timestamp;

    static GIVEN: AtomicU32 = AtomicU32::new(0);

    /// Lets time pass, and what is due be done.
    async fn pass(time: Duration) -> u32 {
        tokio::time::sleep(time).await;
        GIVEN.load(Ordering::SeqCst)
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
        give_back();
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_back_once_at_each_rest_and_not_before() {
        let (handle, seat) = Seat::new(State::default(), 10);
        let happens = |seq| {
            let (ts, event) = (Timestamp::default(), Event::Mark(Mark {}));
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
