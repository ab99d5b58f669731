//! Reports to the service manager by systemd's notification protocol (`sd_notify(3)`): ready,
//! status, watchdog, stopping. Called by `swarm start`.
//!
//! Invariant: only answers of the actor feed the watchdog. If the actor hangs, the service manager
//! restarts the daemon, while agents continue under their runners. Nothing here ever waits for the
//! service manager.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::daemon::actor::handle::Handle;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::state::{IdeaStatus, State};
use crate::view;

/// The least time between two status texts.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// A service manager that expects notifications.
#[derive(Debug)]
pub struct SystemdNotify {
    socket: UnixDatagram,
    address: SocketAddr,
    /// The watchdog's timeout; `None` if it has no watchdog.
    watchdog: Option<Duration>,
    stopping: AtomicBool,
}

impl SystemdNotify {
    /// The service manager named by the environment, if any.
    pub fn of_environment() -> Option<Self> {
        let name = std::env::var_os("NOTIFY_SOCKET")?;
        let of_us = |pid: String| pid.parse() == Ok(std::process::id());
        let is_ours = std::env::var("WATCHDOG_PID").map_or(true, of_us);
        let watchdog = std::env::var("WATCHDOG_USEC").ok().filter(|_| is_ours);
        let micros = watchdog.and_then(|text| text.parse().ok());
        let watchdog = micros.filter(|it| *it > 0).map(Duration::from_micros);
        match Self::new(&name, watchdog) {
            Ok(manager) => Some(manager),
            Err(error) => {
                tracing::warn!(%error, "the service manager cannot be notified");
                None
            }
        }
    }

    /// The service manager on this socket; a name that begins with `@` is in the abstract
    /// namespace.
    pub(crate) fn new(name: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            address: address(name)?,
            watchdog,
            stopping: AtomicBool::new(false),
        })
    }

    /// Reports once that the daemon is stopping.
    pub fn stopping(&self) {
        if !self.stopping.swap(true, Ordering::Relaxed) {
            self.say("STOPPING=1\nSTATUS=stopping");
        }
    }

    fn say(&self, text: &str) {
        if let Err(error) = self.socket.send_to_addr(text.as_bytes(), &self.address) {
            tracing::debug!(%error, "the service manager does not receive notifications");
        }
    }

    /// Reports that the daemon is ready, then its status, until the daemon ends or this is dropped.
    pub async fn inform(&self, handle: Handle) {
        let mut status = handle.read(status_line);
        self.say(&format!("READY=1\nSTATUS={status}"));
        tokio::join!(self.follow(&handle, &mut status), self.feed(&handle));
    }

    async fn follow(&self, handle: &Handle, status: &mut String) {
        let mut seq = handle.seq();
        loop {
            if handle.read(|state| state.swarm.phase == SwarmPhase::Draining) {
                self.stopping();
            }
            let now = handle.read(status_line);
            if *status != now && !self.stopping.load(Ordering::Relaxed) {
                self.say(&format!("STATUS={now}"));
                *status = now;
            }
            if seq.changed().await.is_err() {
                return;
            }
            tokio::time::sleep(STATUS_INTERVAL.min(self.interval())).await;
        }
    }

    fn interval(&self) -> Duration {
        self.watchdog
            .map_or(STATUS_INTERVAL, |watchdog| watchdog / 4)
    }

    async fn feed(&self, handle: &Handle) {
        let Some(watchdog) = self.watchdog else {
            return;
        };
        while handle.is_answered().await {
            self.say("WATCHDOG=1");
            tokio::time::sleep(watchdog / 3).await;
        }
    }
}

#[cfg(target_os = "linux")]
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    }
}

#[cfg(not(target_os = "linux"))]
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    SocketAddr::from_pathname(name)
}

/// The status, on one line.
fn status_line(state: &State) -> String {
    let pending = state
        .ideas
        .values()
        .filter(|idea| idea.status == IdeaStatus::Pending)
        .count();
    let phase = serde_json::to_value(state.swarm.phase).unwrap_or_default();
    let mut status = format!(
        "{}; agents running: {}, ideas pending: {pending}, waiting to merge: {}",
        phase.as_str().unwrap_or_default(),
        state.slots_used(),
        state.queue.len()
    );
    let needs = view::needs_you(state).len();
    if needs > 0 {
        // Writing to a string does not fail.
        let _ = write!(status, ", waiting for you: {needs}");
    }
    status
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::daemon::testkit::Seat;
    use crate::domain::event::{Event, PhaseChanged};
    use crate::domain::time::Timestamp;

    /// Long enough for a busy machine, short enough for a test.
    const WATCHDOG: Duration = Duration::from_millis(60);
    const PATIENCE: Duration = Duration::from_secs(20);

    struct Manager {
        socket: UnixDatagram,
        _folder: tempfile::TempDir,
    }

    impl Manager {
        fn new() -> (Self, SystemdNotify) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("notify");
            let socket = UnixDatagram::bind(&path).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            let notify = SystemdNotify::new(path.as_os_str(), Some(WATCHDOG)).unwrap();
            let manager = Self {
                socket,
                _folder: folder,
            };
            (manager, notify)
        }

        fn next(&self) -> String {
            let mut bytes = [0; 4096];
            let length = self.receive(&mut bytes).expect("no notification");
            String::from_utf8(bytes[..length].to_vec()).unwrap()
        }

        /// A wait with a timeout is not restarted after a signal, and other tests of this process
        /// have children.
        fn receive(&self, bytes: &mut [u8]) -> std::io::Result<usize> {
            loop {
                match self.socket.recv(bytes) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    received => return received,
                }
            }
        }

        fn wait_for(&self, text: &str) {
            while !self.next().contains(text) {}
        }

        /// Counts messages until there was none for `time`, or 50.
        fn until_silent(&self, time: Duration) -> usize {
            self.socket.set_read_timeout(Some(time)).unwrap();
            let mut bytes = [0; 4096];
            let mut came = 0;
            while came < 50 && self.receive(&mut bytes).is_ok() {
                came += 1;
            }
            self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
            came
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_watchdog_is_fed_only_while_the_actor_answers() {
        let (manager, notify) = Manager::new();
        let (handle, mut seat) = Seat::new(State::default(), 10);
        let informs = tokio::spawn(async move { notify.inform(handle).await });
        assert!(
            manager
                .next()
                .starts_with("READY=1\nSTATUS=stopped; agents running: 0")
        );
        // The actor has not answered yet.
        assert_eq!(manager.until_silent(5 * WATCHDOG), 0);
        // While it answers, the watchdog is fed repeatedly.
        let (stuck, mut is_stuck) = tokio::sync::watch::channel(false);
        let actor = tokio::spawn(async move {
            tokio::select! {
                _ = seat.next() => {}
                _ = is_stuck.changed() => {}
            }
            seat
        });
        for _ in 0..5 {
            manager.wait_for("WATCHDOG=1");
        }
        stuck.send_replace(true);
        let mut seat = actor.await.unwrap();
        // At most one was on its way; then none.
        manager.until_silent(5 * WATCHDOG);
        assert_eq!(manager.until_silent(5 * WATCHDOG), 0);
        // The actor answers again, and the watchdog is fed again.
        let actor = tokio::spawn(async move {
            seat.next().await;
        });
        manager.wait_for("WATCHDOG=1");
        actor.abort();
        informs.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_status_is_reported_and_stopping_once() {
        let (manager, notify) = Manager::new();
        let notify = Arc::new(notify);
        let (handle, seat) = Seat::new(State::default(), 10);
        let informing = Arc::clone(&notify);
        let informs = tokio::spawn(async move { informing.inform(handle).await });
        manager.wait_for("READY=1");
        let phase = |seq, phase| {
            let event = Event::PhaseChanged(PhaseChanged {
                phase,
                reason: None,
                deadline: None,
            });
            let ts = Timestamp::from_millis(0);
            Arc::new(crate::daemon::actor::handle::Journaled { seq, ts, event })
        };
        seat.publish(&[phase(1, SwarmPhase::Running)]);
        manager
            .wait_for("STATUS=running; agents running: 0, ideas pending: 0, waiting to merge: 0");
        seat.publish(&[phase(2, SwarmPhase::Draining)]);
        manager.wait_for("STOPPING=1");
        notify.stopping();
        drop(seat);
        informs.await.unwrap();
        assert_eq!(manager.until_silent(2 * WATCHDOG), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_abstract_socket_name_works() {
        use std::os::linux::net::SocketAddrExt as _;
        let name = format!("swarm-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let notify = SystemdNotify::new(format!("@{name}").as_ref(), None).unwrap();
        notify.stopping();
        let mut bytes = [0; 100];
        let length = socket.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"STOPPING=1\nSTATUS=stopping");
    }
}
