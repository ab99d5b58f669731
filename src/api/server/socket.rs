//! The unix socket of a daemon.
//!
//! Invariant: the socket has mode 0600, in our own directory of mode 0700. The caller holds the
//! state lock, so an old socket belongs to a dead daemon. A normal end removes the socket, and the
//! next bind removes what a kill left. (Except a directory elsewhere that no `daemon.json` names
//! yet: it contains at most a dead socket, and is removed with the temporary files.)

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
/// The prefix of a directory made for a socket whose usual path would be too long.
const ELSEWHERE: &str = "swarm-";

/// Whether a directory was made only for a socket.
pub(super) fn is_elsewhere(dir: &Path) -> bool {
    let name = dir.file_name().and_then(std::ffi::OsStr::to_str);
    name.is_some_and(|name| name.starts_with(ELSEWHERE))
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Other users can enter the directory.
    #[error(
        "`{}` has mode {mode:03o}, so other users could reach the daemon; fix it: chmod 700 {}",
        dir.display(), dir.display()
    )]
    Exposed {
        /// The directory.
        dir: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Something that is not a socket is at its path.
    #[error("`{}` is not a socket, but the daemon needs this path; move it away", .0.display())]
    InTheWay(PathBuf),
    /// No directory has a path that is short enough.
    #[error(
        "the paths of all directories for the daemon's socket are too long for the system; set \
        XDG_RUNTIME_DIR or TMPDIR to a shorter one"
    )]
    TooLong,
    /// The system refused.
    #[error("the daemon's socket `{}` cannot be created: {error}", path.display())]
    Io {
        /// The path that was created or inspected.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

/// A bound socket. It is removed when dropped, before the state lock is released.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// The directory made for it alone.
    own_dir: Option<PathBuf>,
}

impl Socket {
    /// Binds `swarm.sock` in the private directory or, if that path is too long for the system, in
    /// a new directory with a random name. The caller holds the state lock. Clients need
    /// [`Socket::path`].
    pub fn bind(private: &Path) -> Result<Self, SocketError> {
        check_closed(private)?;
        remove_leftover(private);
        let path = private.join(NAME);
        if fits(&path) {
            clear(&path)?;
            return Self::listen(path, None);
        }
        let dir = elsewhere()?;
        Self::listen(dir.join(NAME), Some(dir))
    }

    /// The socket's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }

    fn listen(path: PathBuf, own_dir: Option<PathBuf>) -> Result<Self, SocketError> {
        let listener = UnixListener::bind(&path).map_err(|error| at(&path, error))?;
        // From here on, a failure removes it again.
        let socket = Self {
            listener,
            path,
            own_dir,
        };
        // Until here, only the directory's mode keeps other users out.
        fs::set_permissions(&socket.path, Permissions::from_mode(0o600))
            .and_then(|()| socket.listener.set_nonblocking(true))
            .map_err(|error| at(&socket.path, error))?;
        Ok(socket)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // If this fails, the next bind removes it.
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

/// Whether the path is short enough for a socket.
fn fits(path: &Path) -> bool {
    SocketAddr::from_pathname(path).is_ok()
}

/// Whether group and others have no permissions.
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

/// Removes an old socket at this path.
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

/// Creates our own directory, mode 0700, with a short path.
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

/// Removes the directory that a killed daemon made for its socket. A leftover is harmless, so
/// failures are ignored.
fn remove_leftover(private: &Path) {
    let Ok(Some(old)) = DaemonFile::read(private) else {
        return;
    };
    let Some(dir) = old.socket.parent().filter(|dir| *dir != private) else {
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
    fn a_stale_socket_is_replaced_by_one_with_mode_0600() {
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
    fn a_long_path_moves_the_socket_and_the_next_bind_cleans_up() {
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
    fn a_daemon_file_that_names_a_foreign_path_removes_nothing() {
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
