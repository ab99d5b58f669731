//! The pages: an address becomes a [`Route`], a route a view of the moment's state, a view markup.
//!
//! Invariant: drawing changes nothing.

mod error;
mod idea;
mod ideas;
mod overview;

use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::Site;
use super::document::{Drawing, Fragment, Page, as_html};
use super::frame::{self, FrameView};
use super::moment::Moment;
use crate::domain::ids::IdeaId;
use crate::domain::state::State as Swarm;

pub use error::WebError;

/// A page's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// What needs a person, agents, the train, what comes next.
    Overview,
    /// All ideas, or those of one status.
    Ideas(ideas::Asked),
    /// One idea.
    Idea(IdeaId),
}

impl Route {
    /// The page at this path below the site's; `None` if there is none.
    pub fn of(path: &str, query: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts[..] {
            [] => Some(Self::Overview),
            ["ideas"] => Some(Self::Ideas(ideas::Asked::of(query))),
            ["ideas", id] => id.parse().ok().map(Self::Idea),
            _ => None,
        }
    }
}

/// A page with its fragments.
pub struct Drawn {
    /// The whole document.
    pub document: String,
    /// The parts that live updates replace.
    pub fragments: Vec<Fragment>,
}

/// Draws a page. `path` is its address below the site's, without `at`.
pub fn draw(
    site: &Site,
    moment: &Moment,
    route: &Route,
    path: &str,
) -> Result<Drawn, WebError> {
    let drawing = Drawing::new(site, moment, path);
    let last_seq = site.api.handle.read(|state| state.seq);
    // The actor waits while the state is read, so nothing is rendered meanwhile.
    let (view, frame) = moment.read(site, |state| {
        Ok::<_, WebError>((View::of(state, route)?, FrameView::of(state, last_seq)))
    })?;
    let page = view.page(&drawing);
    let document = frame::document(&drawing, &page, &frame).into_string();
    Ok(Drawn {
        document,
        fragments: drawing.into_fragments(),
    })
}

/// What a page shows, taken from a state.
enum View {
    Overview(overview::View),
    Ideas(ideas::View),
    Idea(Box<idea::View>),
}

impl View {
    fn of(state: &Swarm, route: &Route) -> Result<Self, WebError> {
        Ok(match route {
            Route::Overview => Self::Overview(overview::View::of(state)),
            Route::Ideas(asked) => Self::Ideas(ideas::View::of(state, asked)),
            Route::Idea(id) => Self::Idea(Box::new(idea::View::of(state, id)?)),
        })
    }

    fn page(&self, drawing: &Drawing<'_>) -> Page {
        match self {
            Self::Overview(view) => overview::page(drawing, view),
            Self::Ideas(view) => ideas::page(drawing, view),
            Self::Idea(view) => idea::page(drawing, view),
        }
    }
}

/// The routes of all pages.
pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/", get(show))
        .route("/{*path}", get(show))
}

async fn show(State(site): State<Arc<Site>>, moment: Moment, uri: OriginalUri) -> Response {
    let path = uri.path().strip_prefix(&site.access.path()).unwrap_or_default();
    let path = path.trim_start_matches('/');
    let query = without_moment(uri.query().unwrap_or_default());
    let Some(route) = Route::of(path, &query) else {
        return WebError::not_found(format!("there is no page `{path}`")).into_response();
    };
    let address = if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{query}")
    };
    match draw(&site, &moment, &route, &address) {
        Ok(drawn) => as_html(maud::PreEscaped(drawn.document)),
        Err(error) => error.into_response(),
    }
}

fn without_moment(query: &str) -> String {
    let rest = query.split('&').filter(|pair| !pair.starts_with("at="));
    rest.collect::<Vec<_>>().join("&")
}

/// Answers what is no page.
pub async fn nothing_here() -> Response {
    (StatusCode::NOT_FOUND, "nothing is here").into_response()
}
