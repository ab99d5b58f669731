//! The pages over a state in memory, with changes that git need not know.

use std::io;
use std::sync::Arc;

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
use crate::web::Site;
use crate::web::entry::access::Access;
use crate::web::moment::Moment;
use crate::web::pages::asked::Query;
use crate::web::pages::{Drawn, Route, draw};

/// See the module.
pub(crate) struct World {
    site: Arc<Site>,
    _seat: Seat,
    dir: tempfile::TempDir,
}

struct Past(State);

impl EventLog for Past {
    fn read(&self, _: u64, _: usize) -> io::Result<Vec<Journaled>> {
        Ok(Vec::new())
    }

    fn state_at(&self, upto: Upto) -> io::Result<State> {
        Ok(match upto {
            Upto::Seq(0) => State::default(),
            Upto::Seq(_) | Upto::Time(_) | Upto::End => self.0.clone(),
        })
    }
}

/// Answers with these changes, whatever is asked for.
struct Told(Option<MergeDiff>);

impl Control for Told {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        Box::pin(async { Ok(0) })
    }

    fn target(&self, _: String) -> BoxFuture<'_, TargetNow> {
        Box::pin(async { TargetNow::Unknown })
    }

    fn merge_diff(&self, _: Wanted) -> BoxFuture<'_, Result<MergeDiff, String>> {
        let diff = self.0.clone();
        Box::pin(async move { diff.ok_or_else(|| "git <cannot> be asked".to_owned()) })
    }

    fn clean(&self, _: bool) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async { Err("nobody told".into()) })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn preview(&self, _: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>> {
        Box::pin(async { Err("nobody told".into()) })
    }
}

impl World {
    /// The pages over this state.
    pub(crate) fn of(state: &State) -> Self {
        Self::with_changes(state, None)
    }

    /// The same, with what work on its ideas changes.
    pub(crate) fn with_changes(state: &State, diff: Option<MergeDiff>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (handle, seat) = Seat::new(state.clone(), 64);
        let api = ApiContext {
            handle,
            repo_root: dir.path().to_owned(),
            runs_dir: dir.path().join("runs"),
            pid: 1,
            web_url: None,
            log: Arc::new(Past(state.clone())),
            control: Arc::new(Told(diff)),
            entrance: None,
            finder: Arc::default(),
            measured: Arc::default(),
            stop: watch::channel(false).1,
        };
        let access = Access::open(dir.path(), 4_000).unwrap();
        Self {
            site: Arc::new(Site::new(Arc::new(api), Arc::new(access))),
            _seat: seat,
            dir,
        }
    }

    /// The root of the repository.
    pub(crate) fn root(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// The page at this address, now, in a document of this name.
    pub(crate) async fn drawn(&self, address: &str, document: Option<&str>) -> Drawn {
        self.at(address, &Moment::now(), document).await
    }

    /// The document at this address, now.
    pub(crate) async fn page(&self, address: &str) -> String {
        self.at(address, &Moment::now(), None).await.document
    }

    /// The document at this address, at the last event, as a moment of the past.
    pub(crate) async fn past(&self, address: &str) -> String {
        let seq = self.site.api.handle.read(|state| state.seq);
        let moment = Moment::of(&self.site, Some(seq.to_string())).await.unwrap();
        self.at(address, &moment, None).await.document
    }

    async fn at(&self, address: &str, moment: &Moment, document: Option<&str>) -> Drawn {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let (route, query) = (Route::of(path).unwrap(), Query::of(query));
        let drawn = draw(&self.site, moment, (&route, path, &query), document).await;
        drawn.unwrap()
    }
}

/// Between two texts.
pub(crate) fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text
        .split_once(from)
        .unwrap_or_else(|| panic!("no {from}: {text}"));
    rest.split_once(to).unwrap().0
}
