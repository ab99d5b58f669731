//! Checks who is at the other end of a unix socket.
//!
//! Invariant: only processes of our own user or of root can send a request; the kernel says whose
//! they are.

use std::io;

use nix::unistd::geteuid;
use tokio::net::UnixStream;

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
    }
}
