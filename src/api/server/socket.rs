//! The unix socket of a daemon: where it lies, and who can reach it.
//!
//! Invariant: mode 0600 in a directory of mode 0700 that is ours. The caller holds the state lock,
//! so whatever lies in the way was left by a daemon that is dead. A normal end removes the socket;
//! what a kill leaves, the next bind removes (but for a directory elsewhere that no `daemon.json`
//! names yet: it is empty or holds a dead socket, and goes with the temporary files).

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::geteuid;

use super::daemon_file::DaemonFile;
use crate::remove;

const NAME: &str = "swarm.sock";
/// Begins the name of a directory made for a socket whose own path would be too long.
const ELSEWHERE: &str = "swarm-";

/// Whether it is a directory that was made for a socket alone.
pub(super) fn is_elsewhere(dir: &Path) -> bool {
    let name = dir.file_name().and_then(std::ffi::OsStr::to_str);
    name.is_some_and(|name| name.starts_with(ELSEWHERE))
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Others can enter the directory.
    #[error(
        "`{}` has mode {mode:03o}, so others could reach the daemon; close it: chmod 700 {}",
        dir.display(), dir.display()
    )]
    Exposed {
        /// The directory.
        dir: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Something that is not a socket lies there.
    #[error("`{}` is in the way of the daemon's socket and is not one; move it away", .0.display())]
    InTheWay(PathBuf),
    /// No directory has a path that is short enough.
    #[error(
        "no directory for the daemon's socket has a path that is short enough for the system; set \
        XDG_RUNTIME_DIR or TMPDIR to a shorter one"
    )]
    TooLong,
    /// The system refused.
    #[error("the daemon's socket `{}` cannot be made: {error}", path.display())]
    Io {
        /// What was to be made or looked at.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// A bound socket, removed when it is dropped, which comes before the state lock is given back.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// The directory made for it alone.
    own_dir: Option<PathBuf>,
}

impl Socket {
    /// Binds `swarm.sock` in the state directory, or, where that path is too long for the system,
    /// in a directory of its own with a random name. The caller holds the state lock. What is to be
    /// told to clients is [`Socket::path`].
    pub fn bind(state_dir: &Path) -> Result<Self, SocketError> {
        check_closed(state_dir)?;
        remove_leftover(state_dir);
        let path = state_dir.join(NAME);
        if fits(&path) {
            clear(&path)?;
            return Self::listen(path, None);
        }
        let dir = elsewhere()?;
        Self::listen(dir.join(NAME), Some(dir))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }

    fn listen(path: PathBuf, own_dir: Option<PathBuf>) -> Result<Self, SocketError> {
        let listener = UnixListener::bind(&path).map_err(|error| at(&path, error))?;
        // From here on a failure removes it again.
        let socket = Self {
            listener,
            path,
            own_dir,
        };
        // Until this line the directory alone keeps others out.
        fs::set_permissions(&socket.path, Permissions::from_mode(0o600))
            .and_then(|()| socket.listener.set_nonblocking(true))
            .map_err(|error| at(&socket.path, error))?;
        Ok(socket)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Nothing can be done where it fails; the next bind clears what is left.
        drop(remove::file(&self.path));
        if let Some(dir) = &self.own_dir {
            drop(remove::empty_dir(dir));
        }
    }
}

fn at(path: &Path, error: io::Error) -> SocketError {
    SocketError::Io {
        path: path.to_owned(),
        error,
    }
}

/// Whether the system takes a socket's path of this length.
fn fits(path: &Path) -> bool {
    SocketAddr::from_pathname(path).is_ok()
}

/// Whether neither group nor others may do anything.
fn is_closed(meta: &fs::Metadata) -> bool {
    Mode::from_bits_truncate(meta.mode() & 0o777)
        .intersection(Mode::S_IRWXG | Mode::S_IRWXO)
        .is_empty()
}

fn check_closed(dir: &Path) -> Result<(), SocketError> {
    let meta = fs::metadata(dir).map_err(|error| at(dir, error))?;
    let mode = meta.mode() & 0o777;
    if !is_closed(&meta) {
        let dir = dir.to_owned();
        return Err(SocketError::Exposed { dir, mode });
    }
    Ok(())
}

/// Makes room for a new socket.
fn clear(path: &Path) -> Result<(), SocketError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(at(path, error)),
        Ok(meta) if meta.file_type().is_socket() => {
            remove::file(path).map_err(|error| at(path, error))
        }
        Ok(_) => Err(SocketError::InTheWay(path.to_owned())),
    }
}

/// Makes a directory of our own, mode 0700, whose path is short.
fn elsewhere() -> Result<PathBuf, SocketError> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let bases = [runtime, Some(std::env::temp_dir()), Some("/tmp".into())];
    // As long as the name will be.
    let sample = Path::new("swarm-0123456789ab").join(NAME);
    let base = bases
        .into_iter()
        .flatten()
        .filter_map(|base| fs::canonicalize(base).ok())
        .find(|base| base.is_absolute() && base.is_dir() && fits(&base.join(&sample)))
        .ok_or(SocketError::TooLong)?;
    let made = tempfile::Builder::new()
        .prefix(ELSEWHERE)
        .rand_bytes(12)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&base);
    Ok(made.map_err(|error| at(&base, error))?.keep())
}

/// Removes the directory that a killed daemon made for its socket. A leftover is harmless, so what
/// cannot be removed stays.
fn remove_leftover(state_dir: &Path) {
    let Ok(Some(old)) = DaemonFile::read(state_dir) else {
        return;
    };
    let Some(dir) = old.socket.parent().filter(|dir| *dir != state_dir) else {
        return;
    };
    if old.socket.file_name().is_some_and(|name| name == NAME) && is_our_own(dir) {
        drop(clear(&old.socket));
        drop(remove::empty_dir(dir));
    }
}

fn is_our_own(dir: &Path) -> bool {
    let ours = fs::symlink_metadata(dir)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw() && is_closed(&meta));
    is_elsewhere(dir) && ours
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    fn closed_dir(base: &Path, name: &str) -> PathBuf {
        let dir = base.join(name);
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
        dir
    }

    #[test]
    fn a_stale_socket_is_replaced_and_the_new_one_is_the_owners_only() {
        let base = tempfile::tempdir().unwrap();
        let state = closed_dir(base.path(), "state");
        // What a killed daemon leaves: the file without a listener.
        drop(UnixListener::bind(state.join(NAME)).unwrap());
        let socket = Socket::bind(&state).unwrap();
        assert_eq!(socket.path(), state.join(NAME));
        let mode = fs::metadata(socket.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(socket);
        assert!(!state.join(NAME).exists());
    }

    #[test]
    fn an_open_directory_and_a_file_in_the_way_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let state = closed_dir(base.path(), "state");
        for mode in [0o710, 0o701, 0o777] {
            fs::set_permissions(&state, Permissions::from_mode(mode)).unwrap();
            let error = Socket::bind(&state).unwrap_err();
            assert!(matches!(error, SocketError::Exposed { .. }), "{error}");
        }
        fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
        fs::write(state.join(NAME), "precious").unwrap();
        let error = Socket::bind(&state).unwrap_err();
        assert!(matches!(error, SocketError::InTheWay(_)), "{error}");
        assert_eq!(fs::read(state.join(NAME)).unwrap(), b"precious");
    }

    #[test]
    fn a_long_path_moves_the_socket_and_a_kill_leaves_nothing_for_ever() {
        let base = tempfile::tempdir().unwrap();
        let state = closed_dir(base.path(), &"x".repeat(120));
        let socket = Socket::bind(&state).unwrap();
        let first = socket.path().to_owned();
        assert!(!first.starts_with(&state));
        let dir = first.parent().unwrap().to_owned();
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
        let file = DaemonFile {
            pid: 1,
            socket: first.clone(),
            started_at: Timestamp::default(),
            version: "0".into(),
            web_url: None,
            state: None,
        };
        file.write(&state).unwrap();
        // As after a kill: nothing runs, nothing is removed.
        std::mem::forget(socket);
        let second = Socket::bind(&state).unwrap();
        assert!(!dir.exists());
        assert_ne!(second.path(), first);
        let dir = second.path().parent().unwrap().to_owned();
        drop(second);
        assert!(!dir.exists());
    }

    #[test]
    fn a_daemon_file_that_names_a_foreign_place_removes_nothing() {
        let base = tempfile::tempdir().unwrap();
        let state = closed_dir(base.path(), "state");
        let other = closed_dir(base.path(), "other");
        let listener = UnixListener::bind(other.join(NAME)).unwrap();
        let file = DaemonFile {
            pid: 1,
            socket: other.join(NAME),
            started_at: Timestamp::default(),
            version: "0".into(),
            web_url: None,
            state: None,
        };
        file.write(&state).unwrap();
        drop(Socket::bind(&state).unwrap());
        assert!(other.join(NAME).exists());
        drop(listener);
    }
}
