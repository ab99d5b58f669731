//! A site for tests: the pages over a state in memory, with a control that answers as it is told.

use std::io;
use std::sync::{Arc, Mutex};

use axum::response::Response;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use crate::api::{ApiContext, Control, EventLog, ReloadError};
use crate::daemon::actor::handle::Journaled;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::clean::Report;
use crate::daemon::hooks::HookView;
use crate::daemon::offline::Upto;
use crate::daemon::review::Wanted;
use crate::daemon::testkit::Seat;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::view::{MergeDiff, TargetNow};
use crate::web::entry::access::Access;
use crate::web::moment::Moment;
use crate::web::pages::asked::Query;
use crate::web::pages::{Route, draw};
use crate::web::{DemoRun, Site};

/// See the module.
pub struct World {
    pub site: Arc<Site>,
    pub seat: Seat,
    pub told: Arc<Told>,
    _dir: tempfile::TempDir,
}

/// What the control answers.
#[derive(Default)]
pub struct Told {
    pub preview: Mutex<Option<Preview>>,
    pub checkpoints: Mutex<Vec<Value>>,
}

struct Past(State);

impl EventLog for Past {
    fn read(&self, _: u64, _: usize) -> io::Result<Vec<Journaled>> {
        Ok(Vec::new())
    }

    fn state_at(&self, _: Upto) -> io::Result<State> {
        Ok(self.0.clone())
    }
}

impl Control for Told {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        Box::pin(async { Ok(0) })
    }

    fn target(&self, _: String) -> BoxFuture<'_, TargetNow> {
        Box::pin(async { TargetNow::Unknown })
    }

    fn merge_diff(&self, _: Wanted) -> BoxFuture<'_, Result<MergeDiff, String>> {
        Box::pin(async { Err("nobody told".into()) })
    }

    fn clean(&self, _: bool) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async { Err("nobody told".into()) })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        let all = self.checkpoints.lock().unwrap().clone();
        Box::pin(async move { Ok(all) })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn preview(&self, _: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>> {
        let preview = self.preview.lock().unwrap().clone();
        Box::pin(async move { preview.ok_or_else(|| "git cannot be asked".to_owned()) })
    }
}

impl World {
    /// A site over this state.
    pub fn of(state: &State) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (handle, seat) = Seat::new(state.clone(), 64);
        let told = Arc::new(Told::default());
        let access = Arc::new(Access::open(dir.path(), 4_000).unwrap());
        let api = ApiContext {
            handle,
            repo_root: dir.path().to_owned(),
            runs_dir: dir.path().join("runs"),
            pid: 1,
            web_url: None,
            log: Arc::new(Past(state.clone())),
            control: told.clone(),
            entrance: None,
            finder: Arc::default(),
            measured: Arc::default(),
            stop: watch::channel(false).1,
        };
        Self {
            site: Arc::new(Site::new(Arc::new(api), access)),
            seat,
            told,
            _dir: dir,
        }
    }

    /// The same, while `swarm demo` runs it.
    pub fn of_demo_run(state: &State, run: DemoRun) -> Self {
        let mut world = Self::of(state);
        let site = Site::new(Arc::clone(&world.site.api), Arc::clone(&world.site.access));
        world.site = Arc::new(site.of_demo_run(run));
        world
    }

    /// The document at this address, now.
    pub async fn page(&self, address: &str) -> String {
        self.page_at(address, Moment::now()).await
    }

    /// The document at this address, at the last event, as a moment of the past.
    pub async fn past(&self, address: &str) -> String {
        let seq = self.site.api.handle.read(|state| state.seq);
        let moment = Moment::of(&self.site, Some(seq.to_string())).await;
        self.page_at(address, moment.unwrap()).await
    }

    async fn page_at(&self, address: &str, moment: Moment) -> String {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let (route, query) = (Route::of(path).unwrap(), Query::of(query));
        let drawn = draw(&self.site, &moment, (&route, path, &query), None).await;
        drawn.unwrap().document
    }
}

/// The body of an answer.
pub async fn body(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await;
    String::from_utf8(bytes.unwrap().to_vec()).unwrap()
}
