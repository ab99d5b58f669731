//! Memory that passing work took goes back to the system.
//!
//! A snapshot copies the whole state and writes it as text, now on one thread, now on another. Glibc's allocator keeps what that frees in an
//! arena for each thread: after some hours a daemon would hold several times what it needs.

/// Arenas for all threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS: nix::libc::c_int = 2;

/// To be called before the first thread begins.
pub(crate) fn share() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    // SAFETY: it takes no pointer, and no other thread is there yet.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, ARENAS);
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
