//! The output that the page of an agent shows: which run, which lines, and what was found in it.
//!
//! Invariant: opening an output reads its last lines only. Lines are counted beside that, and if
//! this takes longer than [`COUNTING`], the page shows them without numbers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::known::{Known, Then};
use crate::domain::ids::RunId;
use crate::web::Site;
use crate::web::output::{Chunk, Found, Limits, Output, Pattern, Place, Stream, file};
use crate::web::pages::WebError;
use crate::web::pages::asked::Query;

/// Lines of one answer.
pub const LINES: usize = 500;
/// How long the first page waits for line numbers.
const COUNTING: Duration = Duration::from_millis(80);
/// The lines that match of which the page tells without script.
pub const HITS: usize = 200;
/// How long the page searches.
const SEARCHING: Duration = Duration::from_millis(400);

/// What the query asks of an output.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub run: RunId,
    pub stream: Stream,
    /// The first line, from 1; `None` for the last ones.
    pub from: Option<u64>,
    /// The line that was linked to, or the match that is looked at.
    pub line: Option<u64>,
    /// What to search for, as typed.
    pub text: Option<String>,
    pub is_regex: bool,
}

impl Wanted {
    /// From a query; `run` is shown if it names none.
    pub fn of(query: &Query, run: &RunId) -> Result<Self, WebError> {
        let number = |name: &str| query.get(name).and_then(|text| text.parse().ok());
        let run = match query.get("run") {
            None => run.clone(),
            Some(text) => {
                let parsed = text.parse();
                parsed.map_err(|_| WebError::not_found(format!("there is no run `{text}`")))?
            }
        };
        Ok(Self {
            run,
            stream: match query.get("stream") {
                Some("stderr") => Stream::Stderr,
                Some(_) | None => Stream::Stdout,
            },
            from: number("from"),
            line: number("line"),
            text: query.get("q").map(str::to_owned),
            is_regex: query.get("regex").is_some(),
        })
    }

    /// What to search for; `Err` says why it is no pattern.
    pub fn pattern(&self) -> Option<Result<Pattern, String>> {
        let text = self.text.as_deref()?;
        Some(Pattern::new(text, self.is_regex))
    }
}

/// See the module.
pub struct Shown {
    pub wanted: Wanted,
    /// The lines; `None` if the output is not kept.
    pub lines: Option<Lines>,
    /// The length of the run's standard error.
    pub stderr: u64,
}

/// Lines that are shown.
pub struct Lines {
    pub chunk: Chunk,
    /// The number of all lines, if they were counted.
    pub count: Option<u64>,
    pub bytes: u64,
    pub is_rendered: bool,
    pub pattern: Option<Result<Pattern, String>>,
    pub search: Option<Search>,
    /// What is not shown because it is not known whether it existed then.
    pub then: Option<Then>,
}

/// What was found.
pub struct Search {
    pub found: Found,
    /// The line that is looked at.
    pub at: Option<u64>,
    /// The next line that matches.
    pub next: Option<u64>,
}

/// Opens an output of a run that the agent had; `None` if it is not kept.
pub async fn open(
    site: &Arc<Site>,
    known: &Known,
    run: &RunId,
    stream: Stream,
) -> Result<Option<(Output, Option<Then>)>, WebError> {
    let (outputs, dir) = (Arc::clone(&site.outputs), site.api.runs_dir.clone());
    let is_live_now = site.api.handle.read(|state| {
        let mut runs = state
            .agents
            .values()
            .filter_map(|attempt| attempt.run.as_ref());
        runs.any(|live| live == run)
    });
    let then = known.then(run);
    let run = run.clone();
    let opened = blocking(move || {
        let Some(mut output) = outputs.open(&dir, &run, stream, !is_live_now)? else {
            return Ok(None);
        };
        let cut = match then {
            None => None,
            Some(Then::UpTo(_)) if output.is_rendered() || stream == Stream::Stderr => {
                Some(Then::Unknown)
            }
            Some(then) => Some(then),
        };
        match cut {
            None => {}
            Some(Then::UpTo(byte)) => output.cut_after_line(byte)?,
            Some(Then::Unknown) => output.cut(0),
        }
        Ok(Some((output, cut)))
    });
    opened.await
}

/// Does what blocks.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, WebError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| WebError::failed(error.to_string()))?;
    done.map_err(|error| WebError::failed(format!("the output cannot be read: {error}")))
}

/// Loads what the query asks for.
pub async fn load(site: &Arc<Site>, known: &Known, wanted: Wanted) -> Result<Shown, WebError> {
    let opened = open(site, known, &wanted.run, wanted.stream).await?;
    let dir = site.api.runs_dir.join(wanted.run.as_str());
    let stderr = blocking(move || match file(&dir, Stream::Stderr)? {
        Some(file) => Ok(file.metadata()?.len()),
        None => Ok(0),
    });
    let stderr = stderr.await?;
    let lines = match opened {
        None => None,
        Some((output, then)) => Some(lines(output, then, wanted.clone()).await?),
    };
    Ok(Shown {
        wanted,
        lines,
        stderr,
    })
}

async fn lines(output: Output, then: Option<Then>, wanted: Wanted) -> Result<Lines, WebError> {
    let output = Arc::new(output);
    let pattern = wanted.pattern();
    let search = match &pattern {
        Some(Ok(pattern)) => {
            let (output, pattern, at) = (Arc::clone(&output), pattern.clone(), wanted.line);
            Some(blocking(move || search(&output, &pattern, at)).await?)
        }
        Some(Err(_)) | None => None,
    };
    let at = wanted
        .line
        .or_else(|| search.as_ref().and_then(|search| search.at));
    // Some lines above the one that is looked at.
    let from = wanted
        .from
        .or_else(|| at.map(|line| line.saturating_sub(LINES as u64 / 4).max(1)));
    let counting = Arc::clone(&output);
    let counting = tokio::task::spawn_blocking(move || counting.count());
    // It goes on if this page does not wait for it, so that the next one need not.
    let count = match tokio::time::timeout(COUNTING, counting).await {
        Ok(Ok(count)) => Some(count.map_err(|error| WebError::failed(error.to_string()))?),
        Ok(Err(error)) => return Err(WebError::failed(error.to_string())),
        Err(_) => None,
    };
    let reading = Arc::clone(&output);
    let chunk = blocking(move || match from {
        Some(from) => reading.lines(from, LINES),
        None => reading.tail(LINES, count.is_some()),
    });
    Ok(Lines {
        chunk: chunk.await?,
        count,
        bytes: output.len(),
        is_rendered: output.is_rendered(),
        pattern,
        search,
        then,
    })
}

fn search(output: &Output, pattern: &Pattern, at: Option<u64>) -> io::Result<Search> {
    let limits = Limits {
        hits: HITS,
        time: SEARCHING,
    };
    let found = output.search(pattern, Place::START, limits)?;
    let at = at.or_else(|| found.hits.first().map(|hit| hit.line));
    let later = |hits: &[crate::web::output::Hit]| {
        let mut lines = hits.iter().map(|hit| hit.line);
        lines.find(|line| Some(*line) > at)
    };
    let next = match (later(&found.hits), found.next, at) {
        (None, Some(next), Some(at)) => {
            let from = output.place(at + 1)?.filter(|place| place.byte > next.byte);
            let one = Limits { hits: 1, ..limits };
            later(&output.search(pattern, from.unwrap_or(next), one)?.hits)
        }
        (near, _, _) => near,
    };
    Ok(Search { found, at, next })
}
