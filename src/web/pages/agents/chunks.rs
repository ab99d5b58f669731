//! What the script asks for while an agent's page is open: more lines, the lines that match, and
//! the output as it is.
//!
//! | address | answer |
//! | --- | --- |
//! | `agents/ID/output?run=&from=&lines=&size=` | lines as markup; 204 if its size is the same |
//! | `agents/ID/search?run=&q=&regex=&byte=&line=` | lines that match from there on, as JSON |
//! | `agents/ID/raw?run=&stream=`, `agents/ID/prompt?run=` | the bytes, as text |

use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{OriginalUri, Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::stream;
use maud::{Markup, html};
use serde_json::json;

use super::known::Known;
use super::rows::{Look, rows};
use super::shown::{LINES, Wanted, blocking, open};
use crate::domain::ids::AgentId;
use crate::plain_file;
use crate::web::Site;
use crate::web::document::as_html;
use crate::web::moment::Moment;
use crate::web::output::{Chunk, Limits, Place, Stream, file};
use crate::web::pages::WebError;
use crate::web::pages::asked::Query;

/// How long one answer searches.
const SEARCHING: Duration = Duration::from_millis(250);
/// How many lines that match one answer has; a few more may come.
const HITS: usize = 2_000;
/// Bytes that are sent at once.
const SENT: usize = 64 * 1024;

/// See the module.
pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/agents/{id}/output", get(output))
        .route("/agents/{id}/search", get(search))
        .route("/agents/{id}/raw", get(raw))
        .route("/agents/{id}/prompt", get(prompt))
}

/// What every one of these requests is about.
struct About {
    known: Known,
    wanted: Wanted,
    query: Query,
}

impl About {
    fn of(site: &Site, moment: &Moment, id: &str, uri: &OriginalUri) -> Result<Self, WebError> {
        let nobody = || WebError::not_found(format!("there is no agent `{id}`"));
        let id: AgentId = id.parse().map_err(|_| nobody())?;
        let known = moment.read(site, |state| Known::of(state, &id, moment.is_past()));
        let known = known.ok_or_else(nobody)?;
        let query = Query::of(uri.query().unwrap_or_default());
        let run = known.first_run();
        let run = run.ok_or_else(|| WebError::not_found(format!("{id} has no run yet")))?;
        let wanted = Wanted::of(&query, run)?;
        if !known.agent.runs.contains(&wanted.run) {
            let message = format!("{id} has no run `{}`", wanted.run);
            return Err(WebError::not_found(message));
        }
        Ok(Self {
            known,
            wanted,
            query,
        })
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.query.get(name)?.parse().ok()
    }
}

fn gone() -> WebError {
    WebError::not_found("this output is no longer kept")
}

/// Lines as markup.
pub async fn output(
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
    moment: Moment,
    uri: OriginalUri,
) -> Result<Response, WebError> {
    let about = About::of(&site, &moment, &id, &uri)?;
    let (run, stream) = (about.wanted.run.clone(), about.wanted.stream);
    let is_live = !moment.is_past() && about.known.live.as_ref() == Some(&run);
    let (opened, _) = open(&site, &about.known, &run, stream)
        .await?
        .ok_or_else(gone)?;
    if is_live && about.number("size") == Some(opened.len()) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let lines = about
        .number("lines")
        .and_then(|lines| usize::try_from(lines).ok());
    let lines = lines.unwrap_or(LINES).min(LINES);
    let pattern = about.wanted.pattern().and_then(Result::ok);
    let from = about.wanted.from;
    let drawn = blocking(move || {
        let count = opened.count()?;
        let chunk = match from {
            Some(from) => opened.lines(from, lines)?,
            None => opened.tail(lines, true)?,
        };
        let look = Look {
            is_rendered: opened.is_rendered(),
            stream,
            pattern: pattern.as_ref(),
        };
        let about = ListedAs {
            count: Some(count),
            bytes: opened.len(),
            is_live,
        };
        Ok(list(&chunk, &look, &about))
    });
    Ok(as_html(drawn.await?))
}

/// What a list of lines says about the whole output.
pub struct ListedAs {
    pub count: Option<u64>,
    pub bytes: u64,
    pub is_live: bool,
}

/// A list of lines; its attributes are for the script.
pub fn list(chunk: &Chunk, look: &Look<'_>, about: &ListedAs) -> Markup {
    let first = chunk.lines.first().and_then(|line| line.number);
    let last = chunk.lines.last();
    html! {
        ol .log #log tabindex="0" aria-label="Output" role="list"
            data-first=[first] data-last=[last.and_then(|line| line.number)]
            data-open[last.is_some_and(|line| line.is_open)]
            data-count=[about.count] data-bytes=(about.bytes) data-live[about.is_live] {
            (rows(&chunk.lines, look))
        }
    }
}

/// Lines that match.
pub async fn search(
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
    moment: Moment,
    uri: OriginalUri,
) -> Result<Response, WebError> {
    let about = About::of(&site, &moment, &id, &uri)?;
    let pattern = match about.wanted.pattern() {
        Some(Ok(pattern)) => pattern,
        Some(Err(why)) => return Err(WebError::bad(format!("this cannot be searched for: {why}"))),
        None => return Err(WebError::bad("there is nothing to search for")),
    };
    let (run, stream) = (&about.wanted.run, about.wanted.stream);
    let (opened, _) = open(&site, &about.known, run, stream)
        .await?
        .ok_or_else(gone)?;
    let from = match (about.number("byte"), about.wanted.line) {
        (Some(byte), Some(line)) => Place { byte, line },
        _ => Place::START,
    };
    // The first answer is there at once, however long the rest takes.
    let limits = Limits {
        hits: if from == Place::START { 1 } else { HITS },
        time: SEARCHING,
    };
    let found = blocking(move || opened.search(&pattern, from, limits)).await?;
    let lines: Vec<u64> = found.hits.iter().map(|hit| hit.line).collect();
    let next = found
        .next
        .map(|next| json!({ "byte": next.byte, "line": next.line }));
    Ok(Json(json!({ "lines": lines, "next": next })).into_response())
}

/// The output's bytes.
pub async fn raw(
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
    uri: OriginalUri,
) -> Result<Response, WebError> {
    let about = About::of(&site, &Moment::now(), &id, &uri)?;
    let Wanted { run, stream, .. } = about.wanted;
    let dir = site.api.runs_dir.join(run.as_str());
    let opened = blocking(move || {
        let Some(file) = file(&dir, stream)? else {
            return Ok(None);
        };
        let len = file.metadata()?.len();
        Ok(Some((file, len)))
    });
    let (file, len) = opened.await?.ok_or_else(gone)?;
    let mut response = text(Body::from_stream(bytes(Arc::new(file), len)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, len.into());
    if about.query.get("download").is_some() {
        let ending = match stream {
            Stream::Stdout => "log",
            Stream::Stderr => "stderr.log",
        };
        let name = format!("attachment; filename=\"{run}.{ending}\"");
        if let Ok(name) = HeaderValue::from_str(&name) {
            headers.insert(CONTENT_DISPOSITION, name);
        }
    }
    Ok(response)
}

fn text(body: Body) -> Response {
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response()
}

/// The first `len` bytes of a file.
fn bytes(
    file: Arc<std::fs::File>,
    len: u64,
) -> impl futures_util::Stream<Item = std::io::Result<Bytes>> {
    stream::try_unfold(0, move |at: u64| {
        let file = Arc::clone(&file);
        async move {
            let wanted = usize::try_from(len - at).map_or(SENT, |left| left.min(SENT));
            if wanted == 0 {
                return Ok(None);
            }
            let read = tokio::task::spawn_blocking(move || {
                let mut bytes = vec![0; wanted];
                file.read_exact_at(&mut bytes, at)?;
                Ok::<_, std::io::Error>(bytes)
            });
            let bytes = read.await.map_err(std::io::Error::other)??;
            let next = at + bytes.len() as u64;
            Ok(Some((Bytes::from(bytes), next)))
        }
    })
}

/// The prompt of a run, as its program got it.
async fn prompt(
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
    uri: OriginalUri,
) -> Result<Response, WebError> {
    let about = About::of(&site, &Moment::now(), &id, &uri)?;
    let path = site
        .api
        .runs_dir
        .join(about.wanted.run.as_str())
        .join("prompt.md");
    let read = blocking(move || match plain_file::open(&path) {
        Ok(file) => {
            let len = file.metadata()?.len();
            Ok(Some((file, len)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    });
    let (file, len) = read.await?.ok_or_else(|| {
        WebError::not_found(format!(
            "the prompt of {} is no longer kept",
            about.wanted.run
        ))
    })?;
    Ok(text(Body::from_stream(bytes(Arc::new(file), len))))
}
