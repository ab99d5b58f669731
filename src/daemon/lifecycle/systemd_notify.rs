//! What the daemon tells the service manager that started it, by systemd's protocol: that it is
//! ready, how it stands, that its actor lives, that it ends.
//!
//! Invariant: the watchdog is fed by answers of the actor and by nothing else. One that is stuck
//! lets the time run out, and the service manager ends the daemon and starts it again; agents go on
//! under their runners meanwhile. Nothing here ever waits for the service manager.

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

/// The least time from one status text to the next.
const BREATH: Duration = Duration::from_secs(1);

/// A service manager that wants to be told.
#[derive(Debug)]
pub struct SystemdNotify {
    socket: UnixDatagram,
    address: SocketAddr,
    /// How long it waits for a sign of life; none: it does not ask for any.
    watchdog: Option<Duration>,
    stopping: AtomicBool,
}

impl SystemdNotify {
    /// The one that the environment names; none: nobody wants to be told.
    pub fn of_environment() -> Option<Self> {
        let name = std::env::var_os("NOTIFY_SOCKET")?;
        let of_us = |pid: String| pid.parse() == Ok(std::process::id());
        let asked = std::env::var("WATCHDOG_PID").map_or(true, of_us);
        let watchdog = std::env::var("WATCHDOG_USEC").ok().filter(|_| asked);
        let micros = watchdog.and_then(|text| text.parse().ok());
        let watchdog = micros.filter(|it| *it > 0).map(Duration::from_micros);
        match Self::new(&name, watchdog) {
            Ok(supervisor) => Some(supervisor),
            Err(error) => {
                tracing::warn!(%error, "the service manager cannot be told anything");
                None
            }
        }
    }

    /// One that listens on this socket; a name that begins with `@` is in the abstract name space.
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

    /// The daemon ends. Said once.
    pub fn stopping(&self) {
        if !self.stopping.swap(true, Ordering::Relaxed) {
            self.say("STOPPING=1\nSTATUS=ending");
        }
    }

    fn say(&self, text: &str) {
        if let Err(error) = self.socket.send_to_addr(text.as_bytes(), &self.address) {
            tracing::debug!(%error, "the service manager does not listen");
        }
    }

    /// Says that the daemon is ready, and from then on how it stands, until it has ended or this is
    /// dropped.
    pub async fn inform(&self, handle: Handle) {
        let mut told = handle.read(status_line);
        self.say(&format!("READY=1\nSTATUS={told}"));
        tokio::join!(self.follow(&handle, &mut told), self.feed(&handle));
    }

    async fn follow(&self, handle: &Handle, told: &mut String) {
        let mut seq = handle.seq();
        loop {
            if handle.read(|state| state.swarm.phase == SwarmPhase::Draining) {
                self.stopping();
            }
            let now = handle.read(status_line);
            if *told != now && !self.stopping.load(Ordering::Relaxed) {
                self.say(&format!("STATUS={now}"));
                *told = now;
            }
            if seq.changed().await.is_err() {
                return;
            }
            tokio::time::sleep(BREATH.min(self.breath())).await;
        }
    }

    fn breath(&self) -> Duration {
        self.watchdog.map_or(BREATH, |watchdog| watchdog / 4)
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

/// How it stands, on one line.
fn status_line(state: &State) -> String {
    let pending = state
        .ideas
        .values()
        .filter(|idea| idea.status == IdeaStatus::Pending)
        .count();
    let phase = serde_json::to_value(state.swarm.phase).unwrap_or_default();
    let mut words = format!(
        "{}; {} agents at work, {pending} ideas wait, {} to merge",
        phase.as_str().unwrap_or_default(),
        state.slots_used(),
        state.queue.len()
    );
    let needs = view::needs_you(state).len();
    if needs > 0 {
        // Writing to a string does not fail.
        let _ = write!(words, ", {needs} need you");
    }
    words
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::daemon::testkit::Seat;
    use crate::domain::event::{Event, PhaseChanged};
    use crate::domain::time::Timestamp;

    /// Times long enough for a busy machine, short enough for a test.
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
            let supervisor = SystemdNotify::new(path.as_os_str(), Some(WATCHDOG)).unwrap();
            let manager = Self {
                socket,
                _folder: folder,
            };
            (manager, supervisor)
        }

        fn next(&self) -> String {
            let mut bytes = [0; 4096];
            let length = self.receive(&mut bytes).expect("nothing was told");
            String::from_utf8(bytes[..length].to_vec()).unwrap()
        }

        /// A wait with a time is not taken up again by the system after a signal, and other tests
        /// of this process have children.
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

        /// How much comes until nothing came for so long, or it is clear that it does not cease.
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
    async fn the_watchdog_is_fed_while_the_actor_answers_and_starves_when_it_is_stuck() {
        let (manager, supervisor) = Manager::new();
        let (handle, mut seat) = Seat::new(State::default(), 10);
        let informs = tokio::spawn(async move { supervisor.inform(handle).await });
        assert!(
            manager
                .next()
                .starts_with("READY=1\nSTATUS=stopped; 0 agents")
        );
        // An actor that has not answered yet is not vouched for.
        assert_eq!(manager.until_silent(5 * WATCHDOG), 0);
        // While it takes its messages it is, again and again.
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
        // At most one was under way; then never again.
        manager.until_silent(5 * WATCHDOG);
        assert_eq!(manager.until_silent(5 * WATCHDOG), 0);
        // It goes on: so does the watchdog.
        let actor = tokio::spawn(async move {
            seat.next().await;
        });
        manager.wait_for("WATCHDOG=1");
        actor.abort();
        informs.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn it_tells_how_the_daemon_stands_and_once_that_it_ends() {
        let (manager, supervisor) = Manager::new();
        let supervisor = Arc::new(supervisor);
        let (handle, seat) = Seat::new(State::default(), 10);
        let informing = Arc::clone(&supervisor);
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
        manager.wait_for("STATUS=running; 0 agents at work, 0 ideas wait, 0 to merge");
        seat.publish(&[phase(2, SwarmPhase::Draining)]);
        manager.wait_for("STOPPING=1");
        supervisor.stopping();
        drop(seat);
        informs.await.unwrap();
        assert_eq!(manager.until_silent(2 * WATCHDOG), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_abstract_name_is_one_too() {
        use std::os::linux::net::SocketAddrExt as _;
        let name = format!("swarm-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let supervisor = SystemdNotify::new(format!("@{name}").as_ref(), None).unwrap();
        supervisor.stopping();
        let mut bytes = [0; 100];
        let length = socket.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"STOPPING=1\nSTATUS=ending");
    }
}
