//! `GET events`: the log as an array, as JSON lines, or as server-sent events.
//!
//! Invariant: in every form, a client can continue after any `seq` without gap or repeat.

pub mod feed;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use tokio::time::timeout;

use super::ApiContext;
use super::error::ApiError;
use super::extract::Params;
use super::schema::EventRecord;
use super::types::EventQuery;
use crate::daemon::actor::handle::Journaled;
use crate::view::schema::event_kinds;
use feed::Feed;

/// The most events in one array.
pub const MAX_ARRAY: u64 = 1_000;

/// The longest silence in a stream of server-sent events.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One event as the API shows it: `{"seq","ts","kind","data"}`, on one line.
pub fn record(event: &Journaled) -> serde_json::Result<Vec<u8>> {
    let mut record = format!(r#"{{"seq":{},"ts":"{}","#, event.seq, event.ts).into_bytes();
    // The event's own JSON has the other two fields; put these two before them.
    let own = serde_json::to_vec(&event.event)?;
    record.extend_from_slice(&own[1..]);
    Ok(record)
}

/// The forms of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Array,
    Lines,
    ServerSent,
}

/// List or follow events, oldest first.
///
/// `Accept: text/event-stream` gives server-sent events with `id:` = seq, and follows new events.
/// `Accept: application/x-ndjson` or `follow=true` gives one line per event. Otherwise the answer
/// is an array of at most 1000 events.
#[utoipa::path(
    get, path = "/events", tag = "events", params(EventQuery),
    responses(
        (status = 200, content(
            (Vec<EventRecord> = "application/json"),
            (EventRecord = "application/x-ndjson"),
            (String = "text/event-stream"),
        )),
        (status = "default", description = "Refused or failed", body = super::error::ErrorBody),
    ),
)]
pub(super) async fn events(
    State(context): State<Arc<ApiContext>>,
    Params(query): Params<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let form = form(&headers, &query);
    check_kind(query.kind.as_deref())?;
    let since = since(&headers, &query)?;
    let last = context.handle.read(|state| state.seq);
    if since > last {
        let message = format!("there is no event {since} yet; the last one is {last}");
        let next = format!("follow new events: swarm events -f --since {last}");
        let error = ApiError::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message);
        return Err(error.suggest(next));
    }
    let follow = query.follow.unwrap_or(form == Form::ServerSent);
    let mut reader = Reader {
        feed: Feed::new(&context, since),
        form,
        kind: query.kind,
        left: query.limit.unwrap_or(u64::MAX),
        until: if follow { u64::MAX } else { last },
    };
    match form {
        Form::Array => array(&mut reader).await,
        Form::Lines => begin(reader, "application/x-ndjson").await,
        Form::ServerSent => begin(reader, "text/event-stream").await,
    }
}

fn form(headers: &HeaderMap, query: &EventQuery) -> Form {
    let accept = headers.get(header::ACCEPT);
    let accept = accept
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if accept.contains("text/event-stream") {
        Form::ServerSent
    } else if accept.contains("application/x-ndjson") || query.follow == Some(true) {
        Form::Lines
    } else {
        Form::Array
    }
}

/// Where to start: a reconnecting client names the last event it has seen.
fn since(headers: &HeaderMap, query: &EventQuery) -> Result<u64, ApiError> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(query.since.unwrap_or(0));
    };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| ApiError::bad_request("Last-Event-ID is not a sequence number"))
}

fn check_kind(kind: Option<&str>) -> Result<(), ApiError> {
    let known = event_kinds();
    match kind {
        Some(kind) if !known.contains(&kind) => Err(ApiError::bad_request(format!(
            "`{}` is not a kind of event",
            kind.escape_debug()
        ))
        .details(format!("the kinds are: {}", known.join(", ")))),
        _ => Ok(()),
    }
}

/// Selects events and encodes them.
struct Reader {
    feed: Feed,
    form: Form,
    kind: Option<String>,
    left: u64,
    until: u64,
}

impl Reader {
    /// The next bytes to send; `None` at the end. Empty if no event matched so far.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.left == 0 || self.feed.after() >= self.until {
            return Ok(None);
        }
        match self.feed.next().await? {
            Some(events) => self.encode(&events).map(Some),
            None => Ok(None),
        }
    }

    fn encode(&mut self, events: &[Arc<Journaled>]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        for event in events {
            if self.left == 0 || event.seq > self.until {
                break;
            }
            let wanted = self.kind.as_deref();
            if wanted.is_none_or(|kind| kind == event.event.kind()) {
                self.left -= 1;
                self.write(&mut out, event.seq, &record(event)?);
            }
        }
        Ok(out)
    }

    fn write(&self, out: &mut Vec<u8>, seq: u64, record: &[u8]) {
        match self.form {
            Form::ServerSent => {
                out.extend_from_slice(format!("id: {seq}\ndata: ").as_bytes());
                out.extend_from_slice(record);
                out.extend_from_slice(b"\n\n");
            }
            Form::Lines | Form::Array => {
                out.extend_from_slice(record);
                out.push(b'\n');
            }
        }
    }

    /// The next bytes, or a comment after some silence, so that both ends notice a lost connection.
    async fn alive(&mut self, silence: Duration) -> io::Result<Option<Vec<u8>>> {
        if self.form != Form::ServerSent {
            return self.next().await;
        }
        match timeout(silence, self.next()).await {
            Ok(next) => next,
            Err(_) => Ok(Some(b": keep-alive\n\n".to_vec())),
        }
    }
}

async fn array(reader: &mut Reader) -> Result<Response, ApiError> {
    reader.left = reader.left.min(MAX_ARRAY);
    let mut lines = Vec::new();
    while let Some(bytes) = reader.next().await.map_err(|error| unreadable(&error))? {
        lines.extend_from_slice(&bytes);
    }
    let mut body = vec![b'['];
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        if body.len() > 1 {
            body.push(b',');
        }
        body.extend_from_slice(line.trim_ascii_end());
    }
    body.push(b']');
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], body).into_response())
}

/// Reads the available events before it sends the answer's head, so that an unreadable log becomes
/// an error instead of an early end.
async fn begin(mut reader: Reader, content_type: &'static str) -> Result<Response, ApiError> {
    let ready = reader.feed.ready().await;
    let ready = ready.and_then(|events| reader.encode(&events));
    let mut first = match reader.form {
        Form::ServerSent => b"retry: 1000\n\n".to_vec(),
        Form::Lines | Form::Array => vec![],
    };
    first.extend_from_slice(&ready.map_err(|error| unreadable(&error))?);
    let first = (!first.is_empty()).then_some(Ok(Bytes::from(first)));
    let rest = stream::try_unfold(reader, |mut reader| async {
        let bytes = more(&mut reader).await?;
        Ok::<_, io::Error>(bytes.map(|bytes| (Bytes::from(bytes), reader)))
    });
    let body = Body::from_stream(stream::iter(first).chain(rest));
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((head, body).into_response())
}

/// The next bytes that are not empty; `None` at the end.
async fn more(reader: &mut Reader) -> io::Result<Option<Vec<u8>>> {
    loop {
        match reader.alive(KEEP_ALIVE).await {
            Ok(Some(bytes)) if bytes.is_empty() => {}
            Err(error) => {
                tracing::error!(%error, "a stream of events broke off");
                return Err(error);
            }
            next => return next,
        }
    }
}

fn unreadable(error: &io::Error) -> ApiError {
    ApiError::unreadable("the event log", error)
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use tokio::sync::watch;

    use super::*;
    use crate::api::{Control, EventLog, ReloadError};
    use crate::daemon::offline::Upto;
    use crate::daemon::testkit::Seat;
    use crate::domain::event::{Event, Mark};
    use crate::domain::state;
    use crate::domain::time::Timestamp;

    struct Nobody;

    impl EventLog for Nobody {
        fn read(&self, _: u64, _: usize) -> io::Result<Vec<Journaled>> {
            Ok(vec![])
        }

        fn scan(&self, _: u64, _: u64, _: &mut dyn FnMut(Journaled)) -> io::Result<()> {
            Ok(())
        }

        fn state_from(&self, state: state::State, _: u64) -> io::Result<state::State> {
            Ok(state)
        }

        fn state_at(&self, _: Upto) -> io::Result<state::State> {
            Ok(state::State::default())
        }
    }

    impl Control for Nobody {
        fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
            Box::pin(async { Ok(0) })
        }

        fn target(&self, _: String) -> BoxFuture<'_, crate::view::TargetNow> {
            Box::pin(async { crate::view::TargetNow::Unknown })
        }

        fn merge_diff(
            &self,
            _: crate::daemon::review::Wanted,
        ) -> BoxFuture<'_, Result<crate::view::MergeDiff, String>> {
            Box::pin(async { Err("nobody knows".to_owned()) })
        }

        fn clean(&self, _: bool) -> BoxFuture<'_, Result<crate::daemon::clean::Report, String>> {
            Box::pin(async { Ok(crate::daemon::clean::Report::default()) })
        }

        fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<serde_json::Value>, String>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn hooks(&self) -> BoxFuture<'_, Result<Vec<crate::daemon::hooks::HookView>, String>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn preview(
            &self,
            _: &crate::domain::ids::CheckpointName,
        ) -> BoxFuture<'_, Result<crate::daemon::checkpoints::list::Preview, String>> {
            Box::pin(async { Err("nobody knows".to_owned()) })
        }
    }

    fn mark(seq: u64) -> Arc<Journaled> {
        Arc::new(Journaled {
            seq,
            ts: Timestamp::from_millis(0),
            event: Event::Mark(Mark {}),
        })
    }

    fn follower(handle: crate::daemon::Handle, stop: watch::Receiver<bool>) -> Reader {
        let context = ApiContext {
            handle,
            repo_root: "/".into(),
            runs_dir: "/".into(),
            pid: 1,
            web_url: None,
            log: Arc::new(Nobody),
            control: Arc::new(Nobody),
            entrance: None,
            finder: Arc::default(),
            measured: Arc::default(),
            stop,
        };
        Reader {
            feed: Feed::new(&context, 0),
            form: Form::ServerSent,
            kind: None,
            left: u64::MAX,
            until: u64::MAX,
        }
    }

    #[tokio::test]
    async fn keep_alive_comments_lose_no_event() {
        let (_stop, stopped) = watch::channel(false);
        let (handle, seat) = Seat::new(state::State::default(), 16);
        let mut reader = follower(handle, stopped);
        let comment = reader.alive(Duration::ZERO).await.unwrap().unwrap();
        assert_eq!(comment, b": keep-alive\n\n");
        seat.publish(&[mark(1), mark(2)]);
        let events = reader.alive(KEEP_ALIVE).await.unwrap().unwrap();
        let record = |seq: u64| {
            let ts = "1970-01-01T00:00:00.000Z";
            format!(
                "id: {seq}\ndata: \
                {{\"seq\":{seq},\"ts\":\"{ts}\",\"kind\":\"mark\",\"data\":{{}}}}\n\n"
            )
        };
        assert_eq!(String::from_utf8(events).unwrap(), record(1) + &record(2));
    }

    #[tokio::test]
    async fn a_log_with_a_gap_is_an_error() {
        let (_stop, stopped) = watch::channel(false);
        let (handle, seat) = Seat::new(state::State::default(), 16);
        let mut reader = follower(handle, stopped);
        seat.publish(&[mark(1), mark(3)]);
        let error = reader.next().await.unwrap_err();
        assert!(error.to_string().contains("gap"), "{error}");
    }
}
