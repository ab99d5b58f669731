//! The pages: an address becomes a [`Route`], a route a view of the moment's state, a view markup.
//!
//! Invariant: drawing changes nothing.

mod agents;
pub mod asked;
pub mod checkpoints;
mod error;
mod ideas;
pub mod memory;
mod needs;
mod overview;
mod past;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod sizes;
mod swarm;
mod train;

use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::Site;
use super::document::{Drawing, Fragment, as_html};
use super::frame::{self, FrameView};
use super::history::Chronicle;
use super::moment::Moment;
use crate::domain::ids::IdeaId;
use asked::{Asked, Query, Ready};

pub use error::WebError;

/// A page's place below the site's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// What needs a person, agents, the train, what comes next.
    Overview,
    /// All ideas, or those that the query asks for.
    Ideas,
    /// What waits for what.
    Graph,
    /// The form that adds ideas.
    AddIdea,
    /// One idea.
    Idea(IdeaId),
    /// All agents.
    Agents,
    /// One agent.
    Agent(String),
    /// The merge train.
    Train,
    /// What happened when.
    Timeline,
    /// Every event.
    Events,
    /// All checkpoints.
    Checkpoints,
    /// One checkpoint.
    Checkpoint(String),
    /// What differs between two points of the log.
    Changes,
    /// What a night brought.
    Report,
    /// What was spent.
    Cost,
    /// What agents found out.
    Learnings,
    /// The memory that agents share: facts and notes.
    Memory,
    /// One fact.
    Fact(String),
    /// All hooks.
    Hooks,
    /// One hook.
    Hook(String),
    /// The settings.
    Settings,
}

impl Route {
    /// The page at this path below the site's; `None` if there is none.
    pub fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        Some(match parts[..] {
            [] => Self::Overview,
            ["ideas"] => Self::Ideas,
            ["ideas", "graph"] => Self::Graph,
            ["ideas", "add"] => Self::AddIdea,
            ["ideas", id] => Self::Idea(id.parse().ok()?),
            ["agents"] => Self::Agents,
            ["agents", id] => Self::Agent(id.to_owned()),
            ["train"] => Self::Train,
            ["timeline"] => Self::Timeline,
            ["events"] => Self::Events,
            ["checkpoints"] => Self::Checkpoints,
            ["checkpoints", name] => Self::Checkpoint(name.to_owned()),
            ["changes"] => Self::Changes,
            ["report"] => Self::Report,
            ["cost"] => Self::Cost,
            ["learnings"] => Self::Learnings,
            ["memory"] => Self::Memory,
            ["memory", key] => Self::Fact(key.to_owned()),
            ["hooks"] => Self::Hooks,
            ["hooks", name] => Self::Hook(name.to_owned()),
            ["settings"] => Self::Settings,
            _ => return None,
        })
    }

    async fn load(&self, asked: &Asked<'_>) -> Result<Box<dyn Ready>, WebError> {
        Ok(match self {
            Self::Overview => Box::new(overview::load(asked).await?),
            Self::Ideas => Box::new(ideas::load(asked).await?),
            Self::Graph => Box::new(ideas::graph::load(asked).await?),
            Self::AddIdea => Box::new(ideas::edit::load(asked).await?),
            Self::Idea(id) => Box::new(ideas::idea::load(asked, id).await?),
            Self::Agents => Box::new(agents::load(asked).await?),
            Self::Agent(id) => Box::new(agents::agent::load(asked, id).await?),
            Self::Train => Box::new(train::load(asked).await?),
            Self::Timeline => Box::new(past::timeline::load(asked).await?),
            Self::Events => Box::new(past::events::load(asked).await?),
            Self::Checkpoints => Box::new(checkpoints::load(asked).await?),
            Self::Checkpoint(name) => Box::new(checkpoints::checkpoint::load(asked, name).await?),
            Self::Changes => Box::new(past::changes::load(asked).await?),
            Self::Report => Box::new(past::report::load(asked).await?),
            Self::Cost => Box::new(past::cost::load(asked).await?),
            Self::Learnings => Box::new(swarm::learnings::load(asked).await?),
            Self::Memory => Box::new(memory::load(asked).await?),
            Self::Fact(key) => Box::new(memory::fact::load(asked, key).await?),
            Self::Hooks => Box::new(swarm::hooks::load(asked).await?),
            Self::Hook(name) => Box::new(swarm::hook::load(asked, name).await?),
            Self::Settings => Box::new(swarm::settings::load(asked).await?),
        })
    }
}

/// A page with its fragments.
pub struct Drawn {
    /// The whole document.
    pub document: String,
    /// The parts that live updates replace.
    pub fragments: Vec<Fragment>,
}

/// Draws a page. For an update of a `document` that a browser has, only what fragments show must be
/// right.
pub async fn draw(
    site: &Arc<Site>,
    moment: &Moment,
    (route, path, query): (&Route, &str, &Query),
    document: Option<&str>,
) -> Result<Drawn, WebError> {
    Chronicle::begin(site);
    let asked = Asked {
        site,
        moment,
        query,
        is_update: document.is_some(),
    };
    let ready = route.load(&asked).await?;
    let frame = frame_of(site, moment).await;
    let address = address(path, query);
    let document = document.map_or_else(|| new_document(site), str::to_owned);
    let drawing = Drawing::new(site, moment, &address, &document);
    let page = ready.page(&drawing);
    let document = frame::document(&drawing, &page, &frame).into_string();
    Ok(Drawn {
        document,
        fragments: drawing.into_fragments(),
    })
}

async fn frame_of(site: &Arc<Site>, moment: &Moment) -> FrameView {
    let last_seq = site.api.handle.read(|state| state.seq);
    let mut frame = moment.read(site, |state| FrameView::of(state, last_seq));
    if !moment.is_past() {
        frame.look_outside(site).await;
        site.log_id().await;
    }
    frame
}

fn address(path: &str, query: &Query) -> String {
    match query.text() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Says why there is no page, with the ways to the other pages and moments.
async fn refuse(site: &Arc<Site>, moment: &Moment, address: &str, error: &WebError) -> Response {
    let frame = frame_of(site, moment).await;
    let document = new_document(site);
    let drawing = Drawing::new(site, moment, address, &document);
    let mut response = as_html(frame::document(&drawing, &error.page(), &frame));
    *response.status_mut() = error.refusal().status;
    response
}

/// A name for a document that nobody else has. It begins with the sequence number at which the
/// document is drawn, so that its forms know what their page showed.
pub fn new_document(site: &Site) -> String {
    let seq = site.api.handle.read(|state| state.seq);
    format!("{seq}-{}", crate::web::entry::access::secret())
}

/// The routes of all pages.
pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/", get(show))
        .route("/{*path}", get(show))
        .merge(agents::routes())
}

async fn show(State(site): State<Arc<Site>>, moment: Moment, uri: OriginalUri) -> Response {
    let path = uri
        .path()
        .strip_prefix(&site.access.path())
        .unwrap_or_default();
    let path = path.trim_matches('/');
    let query = Query::of(uri.query().unwrap_or_default());
    let Some(route) = Route::of(path) else {
        let error = WebError::not_found(format!("there is no page `{path}`"));
        return refuse(&site, &moment, "", &error).await;
    };
    match draw(&site, &moment, (&route, path, &query), None).await {
        Ok(drawn) => as_html(maud::PreEscaped(drawn.document)),
        Err(error) => refuse(&site, &moment, &address(path, &query), &error).await,
    }
}

/// Answers what is no page.
pub async fn nothing_here() -> Response {
    (StatusCode::NOT_FOUND, "nothing is here").into_response()
}
