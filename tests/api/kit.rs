//! A daemon without a disk: the real rules, the real routes, a real socket in a temporary
//! directory.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::Value;
use swarm::api::{
    self, ApiContext, Client, ClientError, Control, DaemonFile, EventLog, ReloadError, Socket,
};
use swarm::daemon::Handle;
use swarm::daemon::actor::handle::{Accepted, CommandError, Journaled};
use swarm::daemon::checkpoints::list::Preview;
use swarm::daemon::clean::Report;
use swarm::daemon::offline::Upto;
use swarm::daemon::testkit::{Answer, Seat};
use swarm::domain::decide::{self, Decided};
use swarm::domain::effect::Effect;
use swarm::domain::event::Event;
use swarm::domain::evolve::evolve;
use swarm::domain::ids::{CheckpointName, EffectId, Oid};
use swarm::domain::observation::Observation;
use swarm::domain::operation::Command;
use swarm::domain::outcome::{Failure, Outcome, WorktreePrepared};
use swarm::domain::request::Request;
use swarm::domain::settings::{Mode, Settings};
use swarm::domain::state::State;
use swarm::domain::time::Timestamp;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// The log, in memory.
#[derive(Default)]
pub struct Memory {
    records: Mutex<Vec<Arc<Journaled>>>,
    pub broken: AtomicBool,
    pub reads: AtomicUsize,
}

impl EventLog for Memory {
    fn read(&self, after: u64, limit: usize) -> io::Result<Vec<Journaled>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("bad sector"));
        }
        let records = self.records.lock().unwrap();
        let skip = usize::try_from(after).unwrap();
        let some = records.iter().skip(skip).take(limit);
        Ok(some.map(|record| record.as_ref().clone()).collect())
    }

    fn state_at(&self, upto: Upto) -> io::Result<State> {
        let mut state = State::default();
        for record in self.records.lock().unwrap().iter() {
            let is_within = match upto {
                Upto::Seq(seq) => record.seq <= seq,
                Upto::Time(time) => record.ts <= time,
                Upto::End => true,
            };
            if is_within {
                evolve(&mut state, record.seq, record.ts, &record.event);
            }
        }
        Ok(state)
    }
}

/// What the routes ask of the daemon around the actor.
#[derive(Default)]
pub struct Levers {
    pub reload: Mutex<Option<ReloadError>>,
    pub clean: Mutex<Option<String>>,
    pub checkpoints: Mutex<Vec<serde_json::Value>>,
    pub preview: Mutex<Option<Preview>>,
    pub hooks: Mutex<Vec<swarm::daemon::hooks::HookView>>,
    pub merge_diff: Mutex<Option<swarm::view::MergeDiff>>,
}

impl Control for Levers {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        let answer = self.reload.lock().unwrap().clone();
        Box::pin(async move { answer.map_or(Ok(7), Err) })
    }

    fn target(&self, _: String) -> BoxFuture<'_, swarm::view::TargetNow> {
        Box::pin(async { swarm::view::TargetNow::Unknown })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<serde_json::Value>, String>> {
        let all = self.checkpoints.lock().unwrap().clone();
        Box::pin(async move { Ok(all) })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<swarm::daemon::hooks::HookView>, String>> {
        let hooks = self.hooks.lock().unwrap().clone();
        Box::pin(async move { Ok(hooks) })
    }

    fn preview(&self, _: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>> {
        let preview = self.preview.lock().unwrap().clone();
        Box::pin(async move { preview.ok_or_else(|| "git cannot be asked".to_owned()) })
    }

    fn merge_diff(
        &self,
        _: swarm::daemon::review::Wanted,
    ) -> BoxFuture<'_, Result<swarm::view::MergeDiff, String>> {
        let diff = self.merge_diff.lock().unwrap().clone();
        Box::pin(async move { diff.ok_or_else(|| "git cannot be asked".to_owned()) })
    }

    fn clean(&self, dry_run: bool) -> BoxFuture<'_, Result<Report, String>> {
        let answer = self.clean.lock().unwrap().clone();
        let report = Report {
            dry_run,
            ..Report::default()
        };
        Box::pin(async move { answer.map_or(Ok(report), Err) })
    }
}

#[allow(clippy::large_enum_variant)] // one at a time
enum Input {
    See(Observation, oneshot::Sender<()>),
    Facts(Vec<Event>, oneshot::Sender<()>),
}

/// The actor in memory.
struct Actor {
    seat: Seat,
    state: State,
    log: Arc<Memory>,
    full: Arc<AtomicBool>,
    clock: AtomicI64,
}

impl Actor {
    async fn run(mut self, mut inputs: mpsc::UnboundedReceiver<Input>) {
        loop {
            tokio::select! {
                request = self.seat.next_request() => match request {
                    Some((request, answer)) => self.carry_out(&request, answer),
                    None => return,
                },
                input = inputs.recv() => match input {
                    Some(Input::See(seen, done)) => {
                        let events = decide::observation(&self.state, &seen, self.now());
                        self.append(events);
                        done.send(()).unwrap();
                    }
                    Some(Input::Facts(events, done)) => {
                        self.publish(events);
                        done.send(()).unwrap();
                    }
                    None => return,
                },
            }
        }
    }

    fn carry_out(&mut self, request: &Request, answer: Answer) {
        if self.full.load(Ordering::Relaxed) {
            let full = CommandError::Unavailable("no space left on device".into());
            drop(answer.send(Err(full)));
            return;
        }
        let result = match decide::request(&self.state, request, self.now()) {
            Ok(Decided::Events(events)) => {
                self.publish(events.clone());
                Ok(Accepted {
                    seq: self.state.seq,
                    events,
                    before: None,
                })
            }
            Ok(Decided::DoneBefore(operation)) => Ok(Accepted {
                seq: operation.seq,
                events: vec![],
                before: Some(operation),
            }),
            Err(rejection) => Err(rejection.into()),
        };
        drop(answer.send(result));
        self.append(vec![]);
    }

    /// Publishes, and then whatever follows by itself.
    fn append(&mut self, events: Vec<Event>) {
        let mut events = events;
        loop {
            self.publish(events);
            events = decide::advance(&self.state, self.now());
            if events.is_empty() {
                return;
            }
        }
    }

    fn publish(&mut self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let ts = self.now();
        let mut records = Vec::new();
        for event in events {
            let seq = self.state.seq + 1;
            evolve(&mut self.state, seq, ts, &event);
            records.push(Arc::new(Journaled { seq, ts, event }));
        }
        let mut log = self.log.records.lock().unwrap();
        log.extend(records.iter().cloned());
        drop(log);
        self.seat.publish(&records);
    }

    fn now(&self) -> Timestamp {
        let tick = self.clock.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_millis(1_800_000_000_000 + tick)
    }
}

pub fn settings(mode: Mode) -> Settings {
    Settings {
        webhook: None,
        mode,
        target: "main".into(),
        max_parallel: 3,
        attempt_timeout_ms: 60_000,
        default_profile: "ed".parse().unwrap(),
        profiles: vec!["ed".parse().unwrap()],
        failures_to_pause: 3,
        crash_retries: 3,
        provider_wait_ms: 300_000,
        max_iterations: 50,
        stuck_threshold: 5,
        same_check_failures: 8,
        auto_commit: true,
        commit_hooks: false,
        setup: vec![],
        quality_commands: vec![],
        quality_timeout_ms: 60_000,
        max_checks: None,
        baseline: swarm::domain::settings::BaselineMode::Off,
        canary: swarm::domain::settings::CanaryMode::Off,
        auto_merge: true,
        verify: false,
        conflict_retries: 3,
        cleanup_on_success: true,
        resolver: None,
        grace_ms: 5_000,
        checkpoint_every: 0,
        checkpoint_before_autopilot: false,
        checkpoint_tag: false,
        checkpoints_kept: 50,
        max_worktrees: 4,
        hooks: std::collections::BTreeMap::new(),
        accounts: std::collections::BTreeMap::new(),
        auto_resume: true,
        resume_sessions: true,
        prices: std::collections::BTreeMap::new(),
        budget: swarm::domain::settings::Budget::default(),
        agents_may_add: false,
        memory_window: 4096,
        keep_records: true,
        synthesis: swarm::domain::settings::SynthesisSettings::default(),
    }
}

pub fn oid(digit: char) -> Oid {
    digit.to_string().repeat(40).parse().unwrap()
}

/// A daemon without a disk.
pub struct World {
    pub context: Arc<ApiContext>,
    pub dir: TempDir,
    pub state_dir: PathBuf,
    pub runs_dir: PathBuf,
    pub socket: PathBuf,
    pub handle: Handle,
    pub log: Arc<Memory>,
    pub levers: Arc<Levers>,
    pub full: Arc<AtomicBool>,
    pub stop: watch::Sender<bool>,
    pub server: JoinHandle<io::Result<()>>,
    pub actor: JoinHandle<()>,
    inputs: mpsc::UnboundedSender<Input>,
}

impl World {
    /// Running, in semi-auto mode, with 16 events in memory.
    pub async fn new() -> Self {
        Self::with(Mode::SemiAuto, "state", 16).await
    }

    pub async fn with(mode: Mode, state_name: &str, keep: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state_dir = dir.path().join(state_name);
        let runs_dir = dir.path().join("runs");
        fs::create_dir(&state_dir).unwrap();
        fs::set_permissions(&state_dir, Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(&runs_dir).unwrap();
        let log = Arc::new(Memory::default());
        let full = Arc::new(AtomicBool::new(false));
        let (handle, seat) = Seat::new(State::default(), keep);
        let (inputs, received) = mpsc::unbounded_channel();
        let actor = Actor {
            seat,
            state: State::default(),
            log: log.clone(),
            full: full.clone(),
            clock: AtomicI64::new(0),
        };
        let actor = tokio::spawn(actor.run(received));
        let levers = Arc::new(Levers::default());
        let (stop, stopped) = watch::channel(false);
        let context = Arc::new(ApiContext {
            handle: handle.clone(),
            repo_root: dir.path().to_owned(),
            runs_dir: runs_dir.clone(),
            pid: 4242,
            web_url: None,
            log: log.clone(),
            control: levers.clone(),
            entrance: None,
            finder: Arc::default(),
            measured: Arc::default(),
            stop: stopped.clone(),
        });
        let router = api::router(context.clone());
        let socket = Socket::bind(&state_dir).unwrap();
        let path = socket.path().to_owned();
        let file = DaemonFile {
            pid: 4242,
            socket: path.clone(),
            started_at: Timestamp::default(),
            version: "0".into(),
            web_url: None,
            state: None,
        };
        file.write(&state_dir).unwrap();
        let server = tokio::spawn(api::serve(socket, router, stopped));
        let world = Self {
            context,
            dir,
            state_dir,
            runs_dir,
            socket: path,
            handle,
            log,
            levers,
            full,
            stop,
            server,
            actor,
            inputs,
        };
        world.begin(mode).await;
        world
    }

    async fn begin(&self, mode: Mode) {
        let version = "0".into();
        self.see(Observation::DaemonStarted {
            version,
            counters: None,
            host: None,
        })
        .await;
        let settings = Box::new(settings(mode));
        let hash = "hash".into();
        let load = Command::LoadSettings { hash, settings };
        self.handle.command(load).await.unwrap();
        self.see(Observation::RecoveryDone).await;
    }

    pub async fn client(&self) -> Client {
        Client::connect(&self.state_dir).await.unwrap()
    }

    /// Lets the actor see something, and waits until it has been dealt with.
    pub async fn see(&self, seen: Observation) {
        let (done, seen_it) = oneshot::channel();
        self.inputs.send(Input::See(seen, done)).unwrap();
        seen_it.await.unwrap();
    }

    /// Publishes facts as they are.
    pub async fn facts(&self, events: Vec<Event>) {
        let (done, published) = oneshot::channel();
        self.inputs.send(Input::Facts(events, done)).unwrap();
        published.await.unwrap();
    }

    /// Waits for the effect that fits, and ends it.
    pub async fn finish(
        &self,
        fits: impl Fn(&Effect) -> bool,
        outcome: impl Into<Outcome>,
    ) -> EffectId {
        self.end_effect(fits, Ok(outcome.into())).await
    }

    /// Waits for the effect that fits; it ends like this.
    pub async fn end_effect(
        &self,
        fits: impl Fn(&Effect) -> bool,
        outcome: Result<Outcome, Failure>,
    ) -> EffectId {
        let mut seq = self.handle.seq();
        let effect = loop {
            let found = self.handle.read(|state| {
                let mut outbox = state.outbox.iter();
                outbox.find(|(_, effect)| fits(effect)).map(|(id, _)| *id)
            });
            match found {
                Some(effect) => break effect,
                None => seq.changed().await.unwrap(),
            }
        };
        self.see(Observation::EffectDone { effect, outcome }).await;
        effect
    }

    /// A request as it is on the wire; the status and the JSON of the answer.
    pub async fn raw(&self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let (status, body) = self.bytes(method, path, body).await;
        let json = serde_json::from_slice(&body)
            .unwrap_or_else(|_| panic!("{method} {path}: {}", String::from_utf8_lossy(&body)));
        (status, json)
    }

    pub async fn bytes(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        self.with_header(method, path, "x-none: x", body).await
    }

    /// The same with one more header.
    pub async fn with_header(
        &self,
        method: &str,
        path: &str,
        header: &str,
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\n\
            content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // The server may have answered and closed before all is written.
        drop(stream.write_all(body).await);
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        split(&answer)
    }

    /// Ends the daemon as a clean end does.
    pub async fn end(self) -> TempDir {
        self.stop.send_replace(true);
        self.server.await.unwrap().unwrap();
        self.actor.abort();
        self.dir
    }
}

fn split(answer: &[u8]) -> (u16, Vec<u8>) {
    let text = String::from_utf8_lossy(answer);
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
    let at = text.find("\r\n\r\n").map_or(answer.len(), |at| at + 4);
    let chunked = text[..at].contains("transfer-encoding: chunked");
    let body = &answer[at..];
    let body = if chunked {
        unchunk(body)
    } else {
        body.to_vec()
    };
    (status.unwrap_or(0), body)
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(at) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&rest[..at]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        out.extend_from_slice(&rest[at + 2..at + 2 + size]);
        rest = &rest[at + 4 + size..];
    }
    out
}

/// The code of a refusal, and its status.
pub fn refused(result: Result<Value, ClientError>) -> (u16, String, String) {
    match result {
        Err(ClientError::Api {
            status,
            code,
            message,
            ..
        }) => (status, code, message),
        other => panic!("not refused: {other:?}"),
    }
}

/// An agent that is in its first iteration on `idea-001`; its name and its run.
pub async fn working_agent(world: &World) -> (String, String) {
    let client = world.client().await;
    let idea = serde_json::json!({"do": "addIdea", "content": "work"});
    let added = client.post("commands", &idea).await.unwrap();
    let id = added["id"].as_str().unwrap();
    let assign = serde_json::json!({"do": "assignIdea", "id": id});
    client.post("commands", &assign).await.unwrap();
    let prepared = WorktreePrepared {
        head: oid('a'),
        base: oid('a'),
        warm: false,
        setup: swarm::domain::outcome::TreeSetup::default(),
    };
    world
        .finish(
            |effect| matches!(effect, Effect::PrepareWorktree(_)),
            prepared,
        )
        .await;
    current_run(world).await
}

/// The agent that has a run, and the run; waits for one.
pub async fn current_run(world: &World) -> (String, String) {
    let mut seq = world.handle.seq();
    loop {
        let found = world.handle.read(|state| {
            state.agents.iter().find_map(|(id, attempt)| {
                let run = attempt.run.as_ref()?;
                Some((id.to_string(), run.to_string()))
            })
        });
        match found {
            Some(found) => return found,
            None => seq.changed().await.unwrap(),
        }
    }
}

pub fn write_output(runs_dir: &Path, run: &str, file: &str, text: &str) {
    use std::io::Write;
    let dir = runs_dir.join(run);
    fs::create_dir_all(&dir).unwrap();
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .create(true)
        .append(true)
        .open(dir.join(file))
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
