//! A page without a disk: the real rules, the real routes, an actor in memory that notes commands.

use std::io;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::api::{ApiContext, Control, EventLog, ReloadError};
use crate::daemon::Handle;
use crate::daemon::actor::handle::{Accepted, Journaled};
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::clean::Report;
use crate::daemon::hooks::HookView;
use crate::daemon::offline::Upto;
use crate::daemon::review::Wanted;
use crate::daemon::testkit::Seat;
use crate::domain::decide;
use crate::domain::evolve::evolve;
use crate::domain::ids::CheckpointName;
use crate::domain::operation::Command;
use crate::domain::request::OperationId;
use crate::domain::state::State;
use crate::domain::testkit::Scenario;
use crate::domain::time::Timestamp;
use crate::view::{MergeDiff, TargetNow};
use crate::web::entry::access::Access;
use crate::web::{Site, router};

/// The log, in memory, from the event after `first`.
struct Memory {
    first: State,
    records: Mutex<Vec<Arc<Journaled>>>,
}

impl EventLog for Memory {
    fn read(&self, after: u64, limit: usize) -> io::Result<Vec<Journaled>> {
        let records = self.records.lock().unwrap();
        let later = records.iter().filter(|record| record.seq > after);
        Ok(later.take(limit).map(|one| Journaled::clone(one)).collect())
    }

    fn state_at(&self, upto: Upto) -> io::Result<State> {
        let mut state = self.first.clone();
        for record in self.records.lock().unwrap().iter() {
            if matches!(upto, Upto::Seq(seq) if record.seq > seq) {
                break;
            }
            evolve(&mut state, record.seq, record.ts, &record.event);
        }
        Ok(state)
    }
}

/// What the daemon does around the actor.
#[derive(Default)]
pub(super) struct Levers {
    pub(super) diff: Mutex<Option<MergeDiff>>,
    pub(super) reloads: Mutex<u32>,
}

impl Control for Levers {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        *self.reloads.lock().unwrap() += 1;
        Box::pin(async { Ok(7) })
    }

    fn target(&self, _: String) -> BoxFuture<'_, TargetNow> {
        Box::pin(async { TargetNow::Unknown })
    }

    fn merge_diff(&self, _: Wanted) -> BoxFuture<'_, Result<MergeDiff, String>> {
        let diff = self.diff.lock().unwrap().clone();
        Box::pin(async move { diff.ok_or_else(|| "git cannot be asked".to_owned()) })
    }

    fn clean(&self, _: bool) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async { Ok(Report::default()) })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn preview(&self, _: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>> {
        Box::pin(async { Err("git cannot be asked".to_owned()) })
    }
}

/// What was asked of the daemon.
#[derive(Default)]
struct Noted {
    commands: Vec<Command>,
    operations: Vec<Option<OperationId>>,
}

/// Carries commands out as the daemon does, and notes them.
async fn act(mut seat: Seat, mut state: State, log: Arc<Memory>, noted: Arc<Mutex<Noted>>) {
    while let Some((request, answer)) = seat.next_request().await {
        let command = request.command;
        let mut all = noted.lock().unwrap();
        all.commands.push(command.clone());
        all.operations.push(request.operation);
        drop(all);
        let ts = Timestamp::from_millis(state.swarm.last_event_at.millis() + 1);
        let result = decide::command(&state, &command, ts).map(|events| {
            let mut records = Vec::new();
            for event in &events {
                let (seq, event) = (state.seq + 1, event.clone());
                evolve(&mut state, seq, ts, &event);
                records.push(Arc::new(Journaled { seq, ts, event }));
            }
            log.records.lock().unwrap().extend(records.iter().cloned());
            seat.publish(&records);
            let seq = state.seq;
            Accepted {
                seq,
                events,
                before: None,
            }
        });
        drop(answer.send(result.map_err(Into::into)));
    }
}

/// See the module.
pub(super) struct World {
    dir: TempDir,
    handle: Handle,
    log: Arc<Memory>,
    pub(super) levers: Arc<Levers>,
    noted: Arc<Mutex<Noted>>,
    access: Arc<Access>,
    router: Router,
    session: String,
    stop: watch::Sender<bool>,
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Where it leads, below the pages.
    pub(super) to: Option<String>,
    pub(super) text: String,
}

impl Answer {
    /// The value of a hidden field.
    pub(super) fn hidden(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let (_, rest) = self.text.split_once(&start).unwrap_or_else(|| {
            panic!("no field {name} in {}", self.text);
        });
        rest.split('"').next().unwrap().to_owned()
    }

    /// The value of the last hidden field of this name: that of the page's own part.
    pub(super) fn hidden_last(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let (_, rest) = self.text.rsplit_once(&start).unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// The dialog in this answer, without the page around it.
    pub(super) fn of_sheet(answer: &Self) -> Self {
        let (_, sheet) = answer.text.split_once("data-sheet").unwrap();
        Self {
            status: answer.status,
            to: answer.to.clone(),
            text: sheet.to_owned(),
        }
    }

    /// What is within the page's own part, without tags.
    pub(super) fn says(&self) -> String {
        let (_, main) = self
            .text
            .split_once("data-sheet")
            .unwrap_or(("", &self.text));
        let mut words = String::new();
        let mut is_tag = true;
        for letter in main.chars() {
            match letter {
                '<' => is_tag = true,
                '>' => is_tag = false,
                _ if !is_tag => words.push(letter),
                _ => {}
            }
        }
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl World {
    /// The page of the daemon in this story.
    pub(super) fn of(story: &Scenario) -> Self {
        let state = story.state.clone();
        let dir = tempfile::tempdir().unwrap();
        let (handle, seat) = Seat::new(state.clone(), 64);
        let log = Arc::new(Memory {
            first: state.clone(),
            records: Mutex::default(),
        });
        let noted = Arc::new(Mutex::<Noted>::default());
        tokio::spawn(act(seat, state, Arc::clone(&log), Arc::clone(&noted)));
        let access = Arc::new(Access::open(dir.path(), 7420).unwrap());
        let link = access.link();
        let (_, code) = link.rsplit_once("code=").unwrap();
        let session = access.enter(code).unwrap().unwrap();
        let (stop, _) = watch::channel(false);
        let levers = Arc::new(Levers::default());
        let mut world = Self {
            router: Router::new(),
            dir,
            handle,
            log,
            levers,
            noted,
            access,
            session,
            stop,
        };
        world.restart();
        world
    }

    /// The page of the daemon in this story, whose log begins at an earlier state of it.
    pub(super) fn after(first: &State, story: &Scenario) -> Self {
        let world = Self::of(story);
        let later = story.log.iter().skip(usize::try_from(first.seq).unwrap());
        let records = (first.seq + 1..).zip(later).map(|(seq, (ts, event))| {
            let (ts, event) = (*ts, event.clone());
            Arc::new(Journaled { seq, ts, event })
        });
        world.log.records.lock().unwrap().extend(records);
        world
    }

    /// The pages begin anew: nothing is remembered but the log.
    pub(super) fn restart(&mut self) {
        let api = Arc::new(ApiContext {
            handle: self.handle.clone(),
            repo_root: self.dir.path().to_owned(),
            runs_dir: self.dir.path().join("runs"),
            pid: 4242,
            web_url: None,
            log: self.log.clone(),
            control: self.levers.clone(),
            entrance: None,
            finder: Arc::default(),
            measured: Arc::default(),
            stop: self.stop.subscribe(),
        });
        let routes = crate::api::router(Arc::clone(&api));
        let site = Arc::new(Site::new(api, Arc::clone(&self.access)));
        self.router = router(&site, routes);
    }

    /// The commands since the last call.
    pub(super) fn commands(&self) -> Vec<Command> {
        std::mem::take(&mut self.noted.lock().unwrap().commands)
    }

    /// The operations that all requests named.
    pub(super) fn operations(&self) -> Vec<Option<OperationId>> {
        self.noted.lock().unwrap().operations.clone()
    }

    /// The path of a page or an action, as forms name it.
    pub(super) fn path(&self, page: &str) -> String {
        format!("{}/{page}", self.access.path())
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        self.handle.read(read)
    }

    /// Somebody else does this.
    pub(super) async fn elsewhere(&self, command: Command) {
        self.handle.command(command).await.unwrap();
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, &[]).await
    }

    /// Sends a form of a page that was drawn just now.
    pub(super) async fn post(&self, path: &str, form: &str) -> Answer {
        let op = crate::web::entry::access::secret();
        let seq = self.read(|state| state.seq);
        let form = format!("op={seq}-{op}&{form}");
        self.send("POST", path, Some(&form), &[]).await
    }

    /// Sends a form as it is; `headers` replace the usual ones.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        form: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let cookie = format!("{}={}", self.access.cookie(), self.session);
        let usual = [
            ("host", self.access.host()),
            ("cookie", cookie),
            ("origin", self.access.origin()),
            ("sec-fetch-site", "same-origin".to_owned()),
            (
                "content-type",
                "application/x-www-form-urlencoded".to_owned(),
            ),
        ];
        let base = format!("{}/", self.access.path());
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{base}{path}"));
        for (name, value) in &usual {
            let other = headers.iter().find(|(its, _)| its == name);
            request = request.header(*name, other.map_or(value.as_str(), |(_, value)| value));
        }
        let more = |(name, _): &&(&str, &str)| usual.iter().all(|(its, _)| its != name);
        for (name, value) in headers.iter().filter(more) {
            request = request.header(*name, *value);
        }
        let body = Body::from(form.unwrap_or_default().to_owned());
        let service = TowerToHyperService::new(self.router.clone());
        let response = service.call(request.body(body).unwrap()).await.unwrap();
        let header = |name: &str| {
            let value = response.headers().get(name)?.to_str().ok()?;
            value.strip_prefix(&base).map(str::to_owned)
        };
        let to = header("location").or_else(|| header("swarm-go"));
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Answer {
            status,
            to,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    /// The address of a page, as a browser says where it comes from.
    pub(super) fn address(&self, page: &str) -> String {
        format!("{}{}/{page}", self.access.origin(), self.access.path())
    }
}
