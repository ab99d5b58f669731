//! The page: what needs a person, what happened, what it cost and the way back, as HTML for a
//! browser on the same machine.
//!
//! | place | does |
//! | --- | --- |
//! | `server` | the TCP port |
//! | `entry` | who may come in, and what every answer carries |
//! | `document`, `frame`, `parts` | what a page consists of, what surrounds it, and small pieces |
//! | `visible` | shows characters that hide or turn text around |
//! | `moment` | the state to show: now, or at an earlier event (`?at=`) |
//! | `history`, `time` | what the log tells beyond a state; the way back in time |
//! | `pages` | one file for each page: from a view to markup |
//! | `output` | the output of runs: its lines, colours, and a search in it |
//! | `actions` | the forms: each becomes a command of the domain |
//! | `live`, `pace`, `streams`, `touches` | send the parts of an open page that new events change |
//! | `palette`, `preferences` | finds pages, ideas and actions; theme, shortcuts, notifications |
//! | `metrics` | figures for Prometheus, behind the API's token |
//! | `assets` | the stylesheet and the script, with their hashes as names |
//!
//! Invariant: nothing changes without a command of the domain, and every change is a POST from this
//! very page. Text that an agent wrote reaches markup only through `html!`, which escapes it.

mod actions;
mod assets;
mod document;
pub mod entry;
mod frame;
mod history;
mod live;
pub mod metrics;
mod moment;
pub mod output;
mod pace;
#[allow(clippy::unused_async)] // every page loads in the same way, whether it waits or not
mod pages;
mod palette;
mod parts;
mod preferences;
pub mod server;
mod streams;
#[cfg(test)]
mod tests;
mod time;
mod touches;
mod visible;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::middleware;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::api::ApiContext;
use crate::config;
use crate::view::TargetNow;
use entry::access::{self, Access};
use entry::guard;
use history::Chronicle;
use moment::Past;
use pace::Pace;
use pages::checkpoints::preview::Previews;
use pages::memory::freshness::Freshness;
use streams::Streams;

/// How long it is taken for granted where the target branch is.
const TARGET_AGE: Duration = Duration::from_secs(5);

/// What the pages need.
pub struct Site {
    /// What the routes of the API need.
    pub api: Arc<ApiContext>,
    /// Who may come in, and where the pages are.
    pub access: Arc<Access>,
    /// The repository's name, for people.
    pub name: String,
    /// What is known of the outputs that are looked at.
    outputs: Arc<output::Outputs>,
    /// Whether only the scripted agent works here.
    pub is_demo: bool,
    /// The run of `swarm demo` that ends with the daemon.
    pub demo_run: Option<DemoRun>,
    /// Earlier states.
    past: Past,
    /// What rollbacks would change, for open pages.
    previews: Previews,
    /// Which files of facts changed, for open pages.
    freshness: Freshness,
    /// Actions that were accepted.
    operations: actions::Operations,
    /// What the log tells beyond the state.
    chronicle: Chronicle,
    /// The open streams.
    streams: Streams,
    /// When open pages are drawn anew.
    pace: Pace,
    log_id: OnceCell<String>,
    target: Mutex<Option<(Instant, TargetNow)>>,
}

/// A run of `swarm demo`: when it is over, no daemon comes back by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoRun {
    /// Whether its repository stays.
    pub is_kept: bool,
}

impl Site {
    /// The pages of a run of `swarm demo`.
    #[must_use]
    pub fn of_demo_run(mut self, run: DemoRun) -> Self {
        self.demo_run = Some(run);
        self
    }

    /// The pages of one repository.
    pub fn new(api: Arc<ApiContext>, access: Arc<Access>) -> Self {
        let name = api.repo_root.file_name().map_or_else(
            || "repository".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        Self {
            outputs: Arc::default(),
            is_demo: is_demo(&api.repo_root),
            demo_run: None,
            past: Past::new(Arc::clone(&api.log)),
            previews: Previews::default(),
            freshness: Freshness::default(),
            operations: actions::Operations::default(),
            chronicle: Chronicle::default(),
            streams: Streams::default(),
            pace: Pace::default(),
            log_id: OnceCell::new(),
            target: Mutex::default(),
            api,
            access,
            name,
        }
    }

    /// Identifies the log and the version of the pages: a page of another log, or with another
    /// script, must be loaded anew.
    pub async fn log_id(&self) -> String {
        let log = Arc::clone(&self.api.log);
        let read = || async {
            let first = tokio::task::spawn_blocking(move || log.read(0, 1)).await;
            let first = first.ok().and_then(Result::ok).unwrap_or_default();
            let first = first
                .first()
                .map(|one| format!("{} {:?}", one.ts, one.event));
            let digest = Sha256::digest(first.unwrap_or_default().as_bytes());
            let hash = access::hex(&digest[..8]);
            format!("{hash}-{}", assets::version())
        };
        self.log_id.get_or_init(read).await.clone()
    }

    /// The same, if it is known.
    pub fn known_log_id(&self) -> Option<&str> {
        self.log_id.get().map(String::as_str)
    }

    /// Where the target branch is, at most [`TARGET_AGE`] ago.
    pub async fn target(&self) -> TargetNow {
        let known = lock(&self.target).clone();
        if let Some((at, target)) = known
            && at.elapsed() < TARGET_AGE
        {
            return target;
        }
        let branch = self.api.handle.read(|state| {
            let settings = state.settings.as_deref();
            settings.map(|settings| settings.target.clone())
        });
        let target = match branch {
            Some(branch) => self.api.control.target(branch).await,
            None => TargetNow::Unknown,
        };
        *lock(&self.target) = Some((Instant::now(), target.clone()));
        target
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether all profiles are scripted agents, so that no model works here.
fn is_demo(root: &Path) -> bool {
    let loaded = config::load(&root.join(".swarm"), config::environment(), vec![]);
    loaded.is_ok_and(|layered| {
        let profiles = &layered.config.agents.profiles;
        let is_scripted = |profile: &config::Profile| profile.adapter == config::Adapter::Demo;
        !profiles.is_empty() && profiles.values().all(is_scripted)
    })
}

/// Everything that is served on the TCP port: the pages, and the API behind its token.
pub fn router(site: &Arc<Site>, api: Router) -> Router {
    let pages = pages::routes()
        .merge(actions::routes())
        .merge(live::routes())
        .merge(palette::routes())
        .merge(preferences::routes())
        .route_layer(middleware::from_fn_with_state(
            Arc::clone(site),
            guard::with_session,
        ))
        .merge(guard::entrance())
        .merge(assets::routes())
        .fallback(pages::nothing_here)
        .with_state(Arc::clone(site));
    let metrics = metrics::routes().with_state(Arc::clone(&site.api));
    let api = api
        .merge(metrics)
        .route_layer(middleware::from_fn_with_state(
            Arc::clone(&site.access),
            guard::with_token,
        ));
    Router::new()
        .nest(&format!("{}/", site.access.path()), pages)
        .merge(api)
        .fallback(guard::nobody_here)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&site.access),
            guard::every_request,
        ))
}
