//! The page: what needs a person, what happened, what it cost and the way back, as HTML for a
//! browser on the same machine.
//!
//! | place | does |
//! | --- | --- |
//! | `server`, `access`, `guard` | the TCP port, who may come in, and what every answer carries |
//! | `document`, `frame`, `parts` | what a page consists of, what surrounds it, and small pieces |
//! | `moment` | the state to show: now, or at an earlier event (`?at=`) |
//! | `history`, `timebar`, `timeaxis` | what the log tells beyond a state; the way back in time |
//! | `pages` | one file for each page: from a view to markup |
//! | `output` | the output of runs: its lines, colours, and a search in it |
//! | `actions` | the forms: each becomes a command of the domain |
//! | `live`, `touches` | sends the parts of an open page that new events change |
//! | `assets` | the stylesheet and the script, with their hashes as names |
//!
//! Invariant: nothing changes without a command of the domain, and every change is a POST from this
//! very page. Text that an agent wrote reaches markup only through `html!`, which escapes it.

pub mod access;
mod actions;
mod assets;
mod document;
mod frame;
mod guard;
mod history;
mod live;
mod moment;
pub mod output;
mod pages;
mod parts;
pub mod server;
mod timeaxis;
mod timebar;
mod touches;

use std::sync::Arc;

use axum::Router;
use axum::middleware;

use crate::api::ApiContext;
use access::Access;
use history::Chronicle;
use moment::Past;
use pages::checkpoints::preview::Previews;

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
    /// Earlier states.
    past: Past,
    /// What rollbacks would change, for open pages.
    previews: Previews,
    /// Actions that were accepted.
    operations: actions::Operations,
    /// What the log tells beyond the state.
    chronicle: Chronicle,
}

impl Site {
    /// The pages of one repository.
    pub fn new(api: Arc<ApiContext>, access: Arc<Access>) -> Self {
        let name = api.repo_root.file_name().map_or_else(
            || "repository".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        Self {
            outputs: Arc::default(),
            past: Past::new(Arc::clone(&api.log)),
            previews: Previews::default(),
            operations: actions::Operations::default(),
            chronicle: Chronicle::default(),
            api,
            access,
            name,
        }
    }
}

/// Everything that is served on the TCP port: the pages, and the API behind its token.
pub fn router(site: &Arc<Site>, api: Router) -> Router {
    let pages = pages::routes()
        .merge(actions::routes())
        .merge(live::routes())
        .route_layer(middleware::from_fn_with_state(
            Arc::clone(site),
            guard::with_session,
        ))
        .merge(guard::entrance())
        .merge(assets::routes())
        .fallback(pages::nothing_here)
        .with_state(Arc::clone(site));
    let api = api.route_layer(middleware::from_fn_with_state(
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
