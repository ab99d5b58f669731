//! Live updates: one stream for each open page.
//!
//! Invariant: only what changed is sent, at most every [`BREATH`]. The id of each message is the
//! sequence number that it shows, so a reconnected page misses nothing: it is drawn anew.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{self, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::stream;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until, timeout};

use super::Site;
use super::document::Fragment;
use super::moment::Moment;
use super::pages::asked::Query;
use super::pages::{Route, WebError, draw};
use super::touches::{Touched, touches};

/// The shortest time between two updates.
const BREATH: Duration = Duration::from_millis(250);
/// How often a silent stream sends a comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Durations on the page are drawn anew at least this often.
const REDRAW: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
struct Asked {
    page: String,
    #[serde(default)]
    document: String,
}

/// The route of the streams.
pub fn routes() -> Router<Arc<Site>> {
    Router::new().route("/live", get(live))
}

async fn live(
    State(site): State<Arc<Site>>,
    extract::Query(Asked { page, document }): extract::Query<Asked>,
) -> Response {
    let (path, query) = page.split_once('?').unwrap_or((&page, ""));
    let query = Query::of(query);
    let Some(route) = Route::of(path) else {
        return WebError::not_found(format!("there is no page `{page}`")).into_response();
    };
    let follower = Follower {
        published: site.api.handle.seq(),
        stop: site.api.stop.clone(),
        after: 0,
        sent: HashMap::new(),
        drawn: Instant::now(),
        site,
        route,
        path: path.to_owned(),
        query,
        document,
    };
    let messages = stream::unfold(follower, |mut follower| async {
        let message = follower.next().await?;
        Some((Ok::<_, Infallible>(message), follower))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream")];
    (headers, Body::from_stream(messages)).into_response()
}

struct Follower {
    site: Arc<Site>,
    route: Route,
    path: String,
    query: Query,
    document: String,
    published: tokio::sync::watch::Receiver<u64>,
    stop: tokio::sync::watch::Receiver<bool>,
    after: u64,
    /// The hash of each fragment as the page has it.
    sent: HashMap<String, u64>,
    drawn: Instant,
}

impl Follower {
    /// The next message; `None` when the daemon ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let is_first = self.sent.is_empty();
            if !is_first {
                let due = self.drawn + BREATH;
                tokio::select! {
                    _ = self.stop.wait_for(|stop| *stop) => return None,
                    () = sleep_until(due) => {}
                }
                match timeout(KEEP_ALIVE.min(REDRAW), self.published.changed()).await {
                    Ok(Ok(())) | Err(_) => {}
                    Ok(Err(_)) => return None,
                }
            }
            if *self.stop.borrow() {
                return None;
            }
            let message = self.draw(is_first).await;
            return Some(message.unwrap_or_else(|| Bytes::from_static(b": alive\n\n")));
        }
    }

    /// What changed since the last message.
    async fn draw(&mut self, is_first: bool) -> Option<Bytes> {
        let seq = *self.published.borrow_and_update();
        let touched = self.touched(seq);
        let is_old = self.drawn.elapsed() >= REDRAW;
        self.drawn = Instant::now();
        self.after = seq;
        let page = (&self.route, self.path.as_str(), &self.query);
        let drawn = draw(&self.site, &Moment::now(), page, Some(&self.document))
            .await
            .ok()?;
        let mut message = String::new();
        for fragment in &drawn.fragments {
            if (is_first || is_old || fragment.touched.meets(touched)) && self.is_new(fragment) {
                message.push_str(&partial(fragment));
            }
        }
        (!message.is_empty()).then(|| event(seq, &message))
    }

    /// What the events since the last message touch; everything if they are not in memory.
    fn touched(&self, seq: u64) -> Touched {
        const EVERYTHING: Touched = Touched::EVERYTHING;
        let count = usize::try_from(seq - self.after.min(seq)).unwrap_or(usize::MAX);
        match self.site.api.handle.recent_after(self.after, count.max(1)) {
            Some(events) => events
                .iter()
                .fold(Touched::NOTHING, |all, one| all | touches(&one.event)),
            None => EVERYTHING,
        }
    }

    fn is_new(&mut self, fragment: &Fragment) -> bool {
        let mut hasher = DefaultHasher::new();
        fragment.markup.hash(&mut hasher);
        let hash = hasher.finish();
        self.sent.insert(fragment.id.clone(), hash) != Some(hash)
    }
}

fn partial(fragment: &Fragment) -> String {
    format!(
        "<hx-partial hx-target=\"#{}\" hx-swap=\"outerMorph\">{}</hx-partial>",
        fragment.id, fragment.markup
    )
}

/// A server-sent event.
fn event(seq: u64, data: &str) -> Bytes {
    let lines = data.split(['\n', '\r']);
    let lines: String = lines.map(|line| format!("data: {line}\n")).collect();
    Bytes::from(format!("id: {seq}\n{lines}\n"))
}
