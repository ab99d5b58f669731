//! Checks who is at the other end of a unix socket, and finds the runs that it belongs to.
//!
//! Invariant: only processes of our own user or of root can send a request; the kernel says whose
//! they are, and which process connected.

use std::io;
use std::path::Path;
use std::sync::Arc;

use nix::unistd::geteuid;
use tokio::net::UnixStream;

use crate::domain::ids::RunId;
use crate::process::{self, RunDir};

/// The other end belongs to another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the process at the other end of the socket belongs to user {uid}, not to user {own}")]
pub struct Foreign {
    /// The other end's user id.
    pub uid: u32,
    /// Our user id.
    pub own: u32,
}

/// Refuses a peer that belongs neither to us nor to root.
pub fn check(stream: &UnixStream) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    judge(peer.uid(), geteuid().as_raw())
        .map_err(|foreign| io::Error::new(io::ErrorKind::PermissionDenied, foreign))
}

/// The rule, without the kernel.
pub fn judge(uid: u32, own: u32) -> Result<(), Foreign> {
    if uid == own || uid == 0 {
        Ok(())
    } else {
        Err(Foreign { uid, own })
    }
}

/// The live runs above the process that opened a connection, or why they are unknown.
///
/// They are looked for once: the kernel fixes the pid when the process connects, an exec keeps it,
/// and orphans stay below the runner of their run.
#[derive(Debug, Clone)]
pub struct Peer {
    runs: Arc<Result<Vec<RunDir>, String>>,
}

impl Peer {
    /// Looks at the process at the other end. A process in another container has no pid here, and
    /// no run is found for it.
    pub fn of(stream: &UnixStream) -> Self {
        let peer = stream.peer_cred().map_err(|error| error.to_string());
        let runs = peer.and_then(|peer| match peer.pid().filter(|pid| *pid > 0) {
            Some(pid) => process::runs_above(pid).map_err(|error| error.to_string()),
            None => Ok(Vec::new()),
        });
        Self {
            runs: Arc::new(runs),
        }
    }

    /// Its run of the repository with this folder for runs.
    ///
    /// # Errors
    /// Its runs are unknown.
    pub fn run_in(&self, runs_dir: &Path) -> Result<Option<RunId>, String> {
        let runs = self.runs.as_ref().as_ref().map_err(Clone::clone)?;
        let run = runs.iter().find(|run| run.is_in(runs_dir));
        let id = run.map(|run| run.id().parse::<RunId>());
        id.transpose().map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_and_root_are_admitted() {
        assert_eq!(judge(1000, 1000), Ok(()));
        assert_eq!(judge(0, 1000), Ok(()));
        let foreign = judge(1001, 1000).unwrap_err();
        assert_eq!((foreign.uid, foreign.own), (1001, 1000));
        // A daemon run by root admits only root.
        assert!(judge(1000, 0).is_err());
    }

    #[tokio::test]
    async fn a_peer_of_our_own_user_is_admitted() {
        let (one, _other) = UnixStream::pair().unwrap();
        check(&one).unwrap();
        let nowhere = tempfile::tempdir().unwrap();
        assert_eq!(Peer::of(&one).run_in(nowhere.path()), Ok(None));
    }
}
