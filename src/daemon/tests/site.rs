//! A state directory, and in it one daemon after the other: the real actor on a real log.
//!
//! Invariant: nothing happens by itself. The actor goes on only while it is waited for here, time
//! passes only when it is told to, and the disk can be held, so that a daemon can be killed with
//! any number of batches on their way.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, RwLock};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::daemon::actor::clock::Clock;
use crate::daemon::actor::drivers::Drivers;
use crate::daemon::actor::handle::{Accepted, CommandError, Handle, Message, Published};
use crate::daemon::actor::journal_thread::JournalThread;
use crate::daemon::actor::snapshots::Snapshots;
use crate::daemon::actor::{Actor, Ended, FirstInputs};
use crate::daemon::files::paths::Paths;
use crate::daemon::files::store;
use crate::domain::effect::Effect;
use crate::domain::ids::EffectId;
use crate::domain::observation::Observation;
use crate::domain::operation::Command;
use crate::domain::state::State;
use crate::domain::testkit::START;
use crate::domain::time::Timestamp;
use crate::journal::testing::faulty::Faults;
use crate::journal::{BALLAST_BYTES, BALLAST_FILE, Journal, JournalError, LIVE_FILE, StartFrom};

/// What a command came to.
pub(super) type Answer = (Command, Result<Accepted, CommandError>);

thread_local! {
    /// When the clock of this thread's daemons stood at [`START`].
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    /// How long the machine of this thread's daemons has slept.
    static SLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The machine of this thread's daemons is suspended for so long.
pub(super) fn suspend(time: Duration) {
    SLEPT.set(SLEPT.get() + time);
}

/// The wall clock of this thread's daemons: it goes as tokio's, which stands unless it is moved.
pub(super) fn wall() -> Timestamp {
    let began = BEGAN.get().expect("a site was made");
    let since = Instant::now().duration_since(began).as_millis();
    START.plus_millis(i64::try_from(since).unwrap())
}

fn clock(last: Timestamp) -> Clock {
    Clock::of(last, wall, || Some(SLEPT.get()))
}

/// See the module.
pub(super) struct Site {
    dir: tempfile::TempDir,
    pub(super) paths: Paths,
    /// The disk of the next daemon.
    pub(super) faults: Faults,
    segment_bytes: u64,
}

impl Site {
    pub(super) fn new(segment_bytes: u64) -> Self {
        BEGAN.set(Some(Instant::now()));
        let in_memory = tempfile::tempdir_in("/dev/shm");
        let dir = in_memory.or_else(|_| tempfile::tempdir()).unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir_all(&paths.state).unwrap();
        // A ballast without weight: a disk that is full is made up here.
        let ballast = std::fs::File::create(paths.state.join(BALLAST_FILE)).unwrap();
        ballast.set_len(BALLAST_BYTES).unwrap();
        Self {
            dir,
            paths,
            faults: Faults::default(),
            segment_bytes,
        }
    }

    /// The log, put in order.
    pub(super) fn open(&mut self) -> Result<Journal, JournalError> {
        let disk = self.faults.disk();
        Ok(Journal::open_with(&self.paths.state, self.segment_bytes, disk)?.0)
    }

    /// The state as a start reads it.
    pub(super) fn load(&self) -> (State, StartFrom) {
        store::read(&self.paths).unwrap()
    }

    /// Bytes of the live log behind record `seq`, and where they begin.
    fn behind(&self, seq: u64) -> (u64, u64) {
        #[derive(serde::Deserialize)]
        struct Line {
            seq: u64,
        }
        // Killed between two renames it has no name.
        let bytes = std::fs::read(self.paths.state.join(LIVE_FILE)).unwrap_or_default();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match serde_json::from_slice::<Line>(line) {
                Ok(line) if line.seq <= seq => {}
                _ => break,
            }
            at += line.len();
        }
        (at as u64, (bytes.len() - at) as u64)
    }

    /// What a kill leaves of the bytes behind record `seq`: the first of them, as many as `survive`
    /// says of how many there are.
    pub(super) fn cut(&self, seq: u64, survive: impl FnOnce(u64) -> u64) -> bool {
        let (at, behind) = self.behind(seq);
        if behind == 0 {
            return false;
        }
        let left = survive(behind);
        let file = std::fs::File::options()
            .write(true)
            .open(self.paths.state.join(LIVE_FILE))
            .unwrap();
        file.set_len(at + left).unwrap();
        left < behind
    }

    /// Waits until no snapshot is being written: there is one thread for them; see [`Still`].
    pub(super) async fn quiet(&self) {
        assert!(self.dir.path().is_dir());
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    }
}

/// Notes what is asked for.
#[derive(Clone, Default)]
struct MadeUp(Arc<Mutex<Vec<(EffectId, Effect)>>>);

impl Drivers for MadeUp {
    fn dispatch(&self, id: EffectId, effect: Effect) {
        self.0.lock().unwrap().push((id, effect));
    }
}

/// Before a daemon is dropped its disk must not be held: its writer is waited for.
struct LetGo(Faults);

impl Drop for LetGo {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

/// A running daemon.
pub(super) struct Alive {
    let_go: LetGo,
    actor: Pin<Box<dyn Future<Output = Ended>>>,
    pub(super) ended: Option<Ended>,
    pub(super) handle: Handle,
    drivers: MadeUp,
    asked: VecDeque<(Command, oneshot::Receiver<Result<Accepted, CommandError>>)>,
    answered: Vec<Answer>,
}

impl Alive {
    /// A daemon on this log, which has not done anything yet.
    pub(super) fn new(site: &Site, journal: Journal, state: State, first: Vec<Command>) -> Self {
        let (seq, seen) = watch::channel(state.seq);
        let (sender, inbox) = mpsc::channel(1_024);
        let snapshots = Snapshots::new(&site.paths, state.seq);
        let published = Published {
            state,
            ..Published::default()
        };
        let handle = Handle {
            inbox: sender,
            published: Arc::new(RwLock::new(published)),
            seq: seen,
            tally: Arc::default(),
        };
        let drivers = MadeUp::default();
        let actor = Actor::new(
            inbox,
            handle.clone(),
            seq,
            JournalThread::new(journal).unwrap(),
            Box::new(drivers.clone()),
            snapshots,
            FirstInputs {
                started: Observation::DaemonStarted {
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    counters: None,
                    host: None,
                },
                commands: first,
                troubles: vec![],
            },
        );
        Self {
            let_go: LetGo(site.faults.clone()),
            actor: Box::pin(actor.with_clock(clock).run()),
            ended: None,
            handle,
            drivers,
            asked: VecDeque::new(),
            answered: Vec::new(),
        }
    }

    pub(super) fn ask(&mut self, command: Command) {
        let (answer, answered) = oneshot::channel();
        self.send(Message::Request(command.clone().into(), answer));
        self.asked.push_back((command, answered));
    }

    pub(super) fn see(&mut self, seen: Observation) {
        self.send(Message::Observation(seen));
    }

    fn send(&mut self, message: Message) {
        // A daemon that ends takes nothing, and says so.
        if let Err(TrySendError::Full(_)) = self.handle.inbox.try_send(message) {
            panic!("the inbox is full");
        }
    }

    async fn nudge(&mut self) {
        tokio::task::yield_now().await;
        if self.ended.is_some() {
            return;
        }
        let actor = &mut self.actor;
        if let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(actor.as_mut().poll(cx))).await {
            self.ended = Some(ended);
        }
    }

    /// It takes in all that was sent, and waits for nothing.
    pub(super) async fn think(&mut self) {
        let inbox = self.handle.inbox.clone();
        while self.ended.is_none() && inbox.capacity() < inbox.max_capacity() {
            self.nudge().await;
        }
        self.nudge().await;
    }

    /// It goes on until all that follows at this moment is on disk.
    pub(super) async fn rest(&mut self) {
        self.nudge().await;
        while !self.asked.is_empty() {
            self.next_answer().await;
        }
        // The answer to what changes nothing comes when all before it is on disk.
        let mode = self.handle.read(State::mode);
        self.ask(Command::SetMode { mode });
        self.next_answer().await;
        if self
            .answered
            .last()
            .is_some_and(|(_, answer)| answer.is_ok())
        {
            self.answered.pop();
        }
        self.nudge().await;
    }

    /// Goes on until the oldest question is answered.
    pub(super) async fn next_answer(&mut self) {
        let Some((command, mut answer)) = self.asked.pop_front() else {
            return;
        };
        let mut gone = self.ended.is_some();
        let answer = loop {
            if gone {
                break answer.try_recv().unwrap_or(Err(CommandError::Unknown));
            }
            tokio::select! {
                biased;
                answer = &mut answer => break answer.unwrap_or(Err(CommandError::Unknown)),
                ended = &mut self.actor => {
                    self.ended = Some(ended);
                    gone = true;
                }
            }
        };
        self.answered.push((command, answer));
    }

    /// It has begun to end: until it has.
    pub(super) async fn finish(&mut self) {
        if self.ended.is_none() {
            self.ended = Some(self.actor.as_mut().await);
        }
    }

    /// What the drivers were asked for since the last time.
    pub(super) fn dispatched(&mut self) -> Vec<(EffectId, Effect)> {
        std::mem::take(&mut *self.drivers.0.lock().unwrap())
    }

    /// Answers since the last time, in the order of the questions.
    pub(super) fn answers(&mut self) -> Vec<Answer> {
        while let Some((_, answer)) = self.asked.front_mut() {
            let Ok(answer) = answer.try_recv() else { break };
            if let Some((command, _)) = self.asked.pop_front() {
                self.answered.push((command, answer));
            }
        }
        std::mem::take(&mut self.answered)
    }

    /// Killed. All that it had handed to the writer reaches the file; what of that a kill leaves is
    /// the caller's to cut. The questions that nobody will answer.
    pub(super) fn kill(self) -> Vec<Command> {
        drop(self.let_go);
        drop(self.actor);
        self.asked.into_iter().map(|(command, _)| command).collect()
    }
}

/// Where time stands until [`pass`]: as long as a task for blocking work is there, tokio's paused
/// clock does not go on by itself while the log is being written. A second thread is for snapshots.
pub(super) struct Still {
    // Dropped first: the runtime waits for the task that waits for it.
    _over: std::sync::mpsc::Sender<()>,
    runtime: tokio::runtime::Runtime,
}

impl Still {
    pub(super) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .max_blocking_threads(2)
            .build()
            .unwrap();
        let (over, held) = std::sync::mpsc::channel();
        runtime.spawn_blocking(move || held.recv());
        Self {
            runtime,
            _over: over,
        }
    }

    pub(super) fn block_on<T>(&self, life: impl Future<Output = T>) -> T {
        self.runtime.block_on(life)
    }
}

/// Time passes; the daemon may not have noticed yet.
pub(super) async fn pass(millis: i64) {
    let millis = u64::try_from(millis).unwrap();
    tokio::time::advance(Duration::from_millis(millis)).await;
}
