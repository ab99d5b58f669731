//! Live updates: one stream for each open page.
//!
//! Invariant: only what changed is sent, at most every [`BREATH`], each fragment as a message of
//! its own. A reconnected page is drawn as a whole, so it misses nothing. A page that cannot be
//! drawn keeps its stream, and what it owes is sent once it can.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use futures_util::stream;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Site;
use super::document::Fragment;
use super::moment::Moment;
use super::pages::asked::Query;
use super::pages::{Route, WebError, draw};
use super::streams::{Entered, Place};
use super::touches::{Touched, touches};
use super::visible::visible;
use crate::web::entry::guard::Session;

/// The shortest time between two updates.
const BREATH: Duration = Duration::from_millis(250);
/// The shortest time between two updates of the time bar alone, which every event changes.
const TICK: Duration = Duration::from_secs(1);
/// How often a silent stream sends a comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Durations on the page are drawn anew at least this often.
const REDRAW: Duration = Duration::from_secs(10);
/// How soon a page with a stream of its own reconnects, in milliseconds.
const RETRY_SOON: u64 = 500;
/// How often a page asks whose stream was ended for a newer one, in milliseconds.
const RETRY_CROWDED: u64 = 5_000;

#[derive(Debug, Deserialize)]
struct Asked {
    page: String,
    #[serde(default)]
    document: String,
    /// The log that the page is about, see [`Site::log_id`].
    #[serde(default)]
    log: String,
    /// The last event that the page showed when it was loaded.
    #[serde(default)]
    seq: Option<u64>,
}

/// The route of the streams.
pub fn routes() -> Router<Arc<Site>> {
    Router::new().route("/live", get(live))
}

async fn live(
    State(site): State<Arc<Site>>,
    Extension(session): Extension<Session>,
    headers: HeaderMap,
    extract::Query(asked): extract::Query<Asked>,
) -> Response {
    let (path, query) = asked.page.split_once('?').unwrap_or((&asked.page, ""));
    let query = Query::of(query);
    let Some(route) = Route::of(path) else {
        return WebError::not_found(format!("there is no page `{path}`")).into_response();
    };
    let last = headers.get("last-event-id");
    let last: Option<u64> = last.and_then(|last| last.to_str().ok()?.parse().ok());
    let known = site.api.handle.read(|state| state.seq);
    let shown = last.or(asked.seq);
    let is_same = asked.log.is_empty() || asked.log == site.log_id().await;
    if !is_same || shown.is_some_and(|shown| shown > known) {
        return as_stream(Body::from(named("swarm:reload", None)));
    }
    let entered = site.streams.enter(&session.0, &asked.document);
    let greeting = match &entered {
        Entered::Stays(_) => named("swarm:live", Some(RETRY_SOON)),
        Entered::Asks => named("swarm:crowded", Some(RETRY_CROWDED)),
    };
    let follower = Follower {
        published: site.api.handle.seq(),
        stop: site.api.stop.clone(),
        // Who reconnects is sent everything: its page may lack what an ended stream still owed.
        after: asked.seq.filter(|_| last.is_none()),
        entered,
        greeting: Some(greeting),
        is_over: false,
        sent: HashMap::new(),
        kinds: Touched::NOTHING,
        drawn: Instant::now(),
        cost: Duration::ZERO,
        said: Instant::now(),
        path: path.to_owned(),
        document: asked.document.clone(),
        site,
        route,
        query,
    };
    let messages = stream::unfold(follower, |mut follower| async {
        let message = follower.next().await?;
        follower.said = Instant::now();
        Some((Ok::<_, Infallible>(message), follower))
    });
    as_stream(Body::from_stream(messages))
}

fn as_stream(body: Body) -> Response {
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

struct Follower {
    site: Arc<Site>,
    route: Route,
    path: String,
    query: Query,
    document: String,
    published: tokio::sync::watch::Receiver<u64>,
    stop: tokio::sync::watch::Receiver<bool>,
    entered: Entered,
    /// The first message, until it is sent.
    greeting: Option<Bytes>,
    is_over: bool,
    /// The event up to which the page is drawn; `None`: it needs everything.
    after: Option<u64>,
    /// The hash of each fragment as the page has it.
    sent: HashMap<String, u64>,
    /// What the page's fragments show.
    kinds: Touched,
    drawn: Instant,
    /// How long that took.
    cost: Duration,
    said: Instant,
}

/// Why a stream woke up.
enum Woke {
    /// There may be something to send.
    Work,
    /// A newer stream of the session takes its place.
    Crowded,
    /// The daemon ends.
    End,
}

impl Follower {
    /// The next message; `None` when the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        let mut is_first = self.sent.is_empty();
        while !self.is_over {
            if !is_first {
                match self.wait().await {
                    Woke::Work => {}
                    Woke::Crowded => {
                        self.is_over = true;
                        return Some(named("swarm:crowded", Some(RETRY_CROWDED)));
                    }
                    Woke::End => return None,
                }
            }
            is_first = false;
            let message = self.draw().await;
            self.is_over = matches!(self.entered, Entered::Asks) || *self.stop.borrow();
            if message.is_some() {
                return message;
            }
            if self.said.elapsed() >= KEEP_ALIVE {
                return Some(Bytes::from_static(b": alive\n\n"));
            }
        }
        None
    }

    /// Waits for an event, until what is owed is due, or until durations must be drawn anew; never
    /// shorter than [`BREATH`].
    async fn wait(&mut self) -> Woke {
        let owes = self.after != Some(*self.published.borrow());
        let redraw = self.drawn + if owes { TICK } else { REDRAW };
        let breath = self.drawn + BREATH;
        let Entered::Stays(place) = &mut self.entered else {
            return Woke::End;
        };
        let (published, stop) = (&mut self.published, &mut self.stop);
        let work = async {
            sleep_until(breath).await;
            // Both mean that there is something to do; without a sender, `stop` follows.
            drop(timeout_at(redraw.max(breath), published.changed()).await);
        };
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => Woke::End,
            () = Place::lost(place) => Woke::Crowded,
            () = work => Woke::Work,
        }
    }

    /// What changed since the last message; `None` if nothing did, or the page cannot be drawn.
    async fn draw(&mut self) -> Option<Bytes> {
        let is_begin = self.sent.is_empty();
        let mut seq = *self.published.borrow_and_update();
        let mut touched = self.touched(seq);
        let is_old = self.drawn.elapsed() >= REDRAW;
        if !is_begin && !is_old && !self.is_due(touched) {
            if !self.kinds.meets(touched) {
                self.after = Some(seq);
            }
            return None;
        }
        if !is_begin {
            self.turn().await;
            seq = *self.published.borrow_and_update();
            touched = self.touched(seq);
        }
        self.drawn = Instant::now();
        let page = (&self.route, self.path.as_str(), &self.query);
        let drawn = draw(&self.site, &Moment::now(), page, Some(&self.document)).await;
        // Bounded, so that one slow page holds up the others for a second at most.
        self.cost = self.drawn.elapsed().min(BREATH);
        // What it owes stays owed: `after` is not moved.
        let drawn = drawn.ok()?;
        self.after = Some(seq);
        self.kinds = Touched::NOTHING;
        let mut changed = Vec::new();
        for fragment in &drawn.fragments {
            self.kinds = self.kinds | fragment.touched;
            let is_new = self.is_new(fragment);
            let is_known = is_begin && !fragment.touched.meets(touched);
            if is_new && !is_known && (is_begin || is_old || fragment.touched.meets(touched)) {
                changed.push(partial(fragment));
            }
        }
        (!changed.is_empty()).then(|| messages(seq, &changed))
    }

    /// Waits until the streams together may spend the time that this one takes, or the daemon ends.
    async fn turn(&mut self) {
        let turn = self.site.pace.turn(self.cost);
        tokio::select! {
            () = sleep_until(turn) => {}
            _ = self.stop.wait_for(|stop| *stop) => {}
        }
    }

    /// Whether the page shows something of this, and it is time for it.
    fn is_due(&self, touched: Touched) -> bool {
        let of_page = self.kinds.and(touched);
        match of_page.without(Touched::TIME) {
            Touched::NOTHING => of_page != Touched::NOTHING && self.drawn.elapsed() >= TICK,
            _ => true,
        }
    }

    /// What the events since the last message touch; everything if they are not in memory.
    fn touched(&self, seq: u64) -> Touched {
        let Some(after) = self.after else {
            return Touched::EVERYTHING;
        };
        let count = usize::try_from(seq.saturating_sub(after)).unwrap_or(usize::MAX);
        match self.site.api.handle.recent_after(after, count) {
            Some(events) => events
                .iter()
                .fold(Touched::NOTHING, |all, one| all | touches(&one.event)),
            None => Touched::EVERYTHING,
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
        fragment.id,
        visible(fragment.markup.clone())
    )
}

/// Server-sent events, one for each of the texts. The last one carries the sequence number: until
/// then the page does not show all of it.
fn messages(seq: u64, texts: &[String]) -> Bytes {
    let mut all = String::new();
    for (index, text) in texts.iter().enumerate() {
        if index + 1 == texts.len() {
            all.extend(["id: ", &seq.to_string(), "\n"]);
        }
        let text = text.replace("\r\n", "\n");
        for line in text.split(['\n', '\r']) {
            all.push_str("data: ");
            all.push_str(line);
            all.push('\n');
        }
        all.push('\n');
    }
    Bytes::from(all)
}

/// A server-sent event that tells the page's script something, and how soon to reconnect.
fn named(name: &str, retry: Option<u64>) -> Bytes {
    let retry = retry.map_or_else(String::new, |millis| format!("retry: {millis}\n"));
    Bytes::from(format!("{retry}event: {name}\ndata: {name}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_message_of_an_update_has_its_number() {
        let bytes = messages(17, &["a\r\nb".to_owned(), "c\rd".to_owned()]);
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(text, "data: a\ndata: b\n\nid: 17\ndata: c\ndata: d\n\n");
    }
}
