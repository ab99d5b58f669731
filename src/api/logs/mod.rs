//! `GET agents/{id}/logs`: the output of an agent's runs, as text for people, from their files.
//!
//! A line `==> RUN <==` precedes each run's output, `==> RUN stderr <==` its standard error. A
//! structured stream becomes a [transcript](crate::agents::transcript), unless `raw` is set. All
//! other output is passed on unchanged; the client makes it safe.
//!
//! Invariant: following sends every byte of the text once, across all later runs of the agent, and
//! ends when the agent has ended and everything was read.

mod readable;
pub mod stored;
mod tail;

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::watch;

use super::error::ApiError;
use super::extract::{Id, Params};
use super::types::LogQuery;
use super::{ApiContext, stopped};
use crate::daemon::Handle;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::rejection::Rejection;
use crate::domain::state;
use tail::{Output, Part, Wanted};

/// The number of lines if the request names none.
pub const DEFAULT_LINES: u64 = 200;

/// How often the files of a running child are checked for new output.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Read an agent's output as text for people, with a line `==> RUN <==` before each run;
/// `raw=true` gives the output unchanged.
#[utoipa::path(
    get, path = "/agents/{id}/logs", tag = "agents",
        params(("id" = String, Path, description = "The agent"), LogQuery),
    responses(
        (status = 200, body = String, content_type = "text/plain"),
        (status = "default", description = "Refused or failed", body = super::error::ErrorBody),
    ),
)]
pub(super) async fn logs(
    State(context): State<Arc<ApiContext>>,
    Id(agent): Id<AgentId>,
    Params(query): Params<LogQuery>,
) -> Result<Response, ApiError> {
    let known = context.handle.read(|state| known_runs(state, &agent));
    let known = known.ok_or_else(|| ApiError::from(Rejection::AgentUnknown(agent.clone())))?;
    let runs = match &query.run {
        None => known.runs,
        Some(run) if known.runs.contains(run) => vec![run.clone()],
        Some(run) => return Err(unknown_run(&agent, run)),
    };
    let dir = context.runs_dir.clone();
    let wanted = Wanted {
        lines: query.lines.unwrap_or(DEFAULT_LINES),
        follow: query.follow,
        raw: query.raw,
        live: known.live,
    };
    let asked = wanted.clone();
    let planned = blocking(move || tail::plan(&dir, runs, &wanted)).await;
    let planned = planned.map_err(|error| ApiError::unreadable("the output", &error))?;
    let follower = Follower {
        handle: context.handle.clone(),
        runs_dir: context.runs_dir.clone(),
        agent,
        only: query.run.is_some(),
        asked,
        published: context.handle.seq(),
        stop: context.stop.clone(),
        stopping: false,
        last: planned.last().map(|part| part.run.clone()),
        planned: planned.into(),
        current: None,
        page: Page::default(),
    };
    Ok(answer(follower))
}

fn answer(follower: Follower) -> Response {
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    let body = stream::try_unfold(follower, |mut follower| async {
        let bytes = follower.next().await.inspect_err(|error| {
            tracing::warn!(%error, "a stream of output broke off");
        })?;
        Ok::<_, io::Error>(bytes.map(|bytes| (Bytes::from(bytes), follower)))
    });
    ([(header::CONTENT_TYPE, text)], Body::from_stream(body)).into_response()
}

fn unknown_run(agent: &AgentId, run: &RunId) -> ApiError {
    let message = format!("agent `{agent}` has no run `{run}`");
    ApiError::new(StatusCode::NOT_FOUND, "RUN_UNKNOWN", message)
        .suggest(format!("list its runs: swarm agent show {agent}"))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await?
}

/// An agent's runs, from the state.
pub(super) struct KnownRuns {
    pub(super) runs: Vec<RunId>,
    pub(super) live: Option<RunId>,
    ended: bool,
}

pub(super) fn known_runs(state: &state::State, agent: &AgentId) -> Option<KnownRuns> {
    let living = state.agents.get(agent).map(|attempt| KnownRuns {
        runs: attempt.runs.clone(),
        live: attempt.run.clone(),
        ended: false,
    });
    living.or_else(|| {
        state.ended.get(agent).map(|ended| KnownRuns {
            runs: ended.runs.clone(),
            live: None,
            ended: true,
        })
    })
}

/// Reads the planned runs and, when following, later ones.
struct Follower {
    handle: Handle,
    runs_dir: PathBuf,
    agent: AgentId,
    only: bool,
    asked: Wanted,
    published: watch::Receiver<u64>,
    stop: watch::Receiver<bool>,
    stopping: bool,
    planned: VecDeque<Part>,
    /// The last run that was planned.
    last: Option<RunId>,
    current: Option<Part>,
    page: Page,
}

impl Follower {
    /// The next bytes, never empty; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            // Whatever was written before this will be read below.
            self.published.borrow_and_update();
            let stopping = self.stopping;
            let known = self.known();
            let Some(part) = self.current.take().or_else(|| self.planned.pop_front()) else {
                if self.plan_next(&known) {
                    continue;
                }
                if !self.asked.follow || self.only || known.ended || stopping {
                    return Ok(None);
                }
                self.wait(false).await;
                continue;
            };
            let live = known.live.as_ref() == Some(&part.run);
            let over = !self.asked.follow || !live || stopping;
            if let Some(bytes) = self.read(part, !live, over).await? {
                return Ok(Some(bytes));
            }
            if !over {
                self.wait(true).await;
            }
        }
    }

    fn known(&self) -> KnownRuns {
        let gone = || KnownRuns {
            runs: vec![],
            live: None,
            ended: true,
        };
        let known = self.handle.read(|state| known_runs(state, &self.agent));
        known.unwrap_or_else(gone)
    }

    /// Plans the run after the last one, or the oldest known run if the last one is forgotten.
    fn plan_next(&mut self, known: &KnownRuns) -> bool {
        if !self.asked.follow || self.only {
            return false;
        }
        let last = self.last.as_ref();
        let place = last.and_then(|last| known.runs.iter().position(|run| run == last));
        let Some(run) = known.runs.get(place.map_or(0, |place| place + 1)) else {
            return false;
        };
        self.last = Some(run.clone());
        let part = Part::new(&self.runs_dir, run.clone(), self.asked.raw);
        self.planned.push_back(part);
        true
    }

    /// Reads the available output of a run. `ended`: its writer has ended. `over`: read no more of
    /// it afterwards.
    async fn read(
        &mut self,
        mut part: Part,
        ended: bool,
        over: bool,
    ) -> io::Result<Option<Vec<u8>>> {
        let (part, read) = blocking(move || {
            let read = part.read(ended)?;
            Ok((part, read))
        })
        .await?;
        let more = read.is_some() || !over;
        let out = self.page.show(&part, read, over);
        self.current = more.then_some(part);
        Ok((!out.is_empty()).then_some(out))
    }

    /// Waits until something may have changed. Cancel-safe.
    async fn wait(&mut self, growing: bool) {
        let grown = async {
            if growing {
                tokio::time::sleep(LOOK_AGAIN).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            changed = self.published.changed() => self.stopping |= changed.is_err(),
            () = stopped(&mut self.stop) => self.stopping = true,
            () = grown => {}
        }
    }
}

/// The position of the last byte on the page.
#[derive(Debug, Default)]
pub(super) struct Page {
    source: Option<(RunId, Output)>,
    within_line: bool,
}

impl Page {
    /// Formats what was read of a run. If that is all (`over`) and there is no output file, the
    /// page says so.
    fn show(&mut self, part: &Part, read: Option<(Output, Vec<u8>)>, over: bool) -> Vec<u8> {
        let mut out = Vec::new();
        self.begin(&mut out, &part.run);
        match read {
            Some((output, bytes)) => self.put(&mut out, &part.run, output, &bytes),
            None if over && !part.exists() => out.extend_from_slice(b"(no output is kept)\n"),
            None => {}
        }
        out
    }

    /// Writes the line before a run's output, once.
    fn begin(&mut self, out: &mut Vec<u8>, run: &RunId) {
        if self.source.as_ref().is_none_or(|(before, _)| before != run) {
            self.turn_to(out, run, Output::Stdout);
        }
    }

    fn put(&mut self, out: &mut Vec<u8>, run: &RunId, output: Output, bytes: &[u8]) {
        let same = |(before, of): &(RunId, Output)| before == run && *of == output;
        if !self.source.as_ref().is_some_and(same) {
            self.turn_to(out, run, output);
        }
        out.extend_from_slice(bytes);
        self.within_line = bytes.last() != Some(&b'\n');
    }

    fn turn_to(&mut self, out: &mut Vec<u8>, run: &RunId, output: Output) {
        if self.within_line {
            out.push(b'\n');
        }
        let name = match output {
            Output::Stdout => "",
            Output::Stderr => " stderr",
        };
        out.extend_from_slice(format!("==> {run}{name} <==\n").as_bytes());
        self.within_line = false;
        self.source = Some((run.clone(), output));
    }
}
