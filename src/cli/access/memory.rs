//! The memory through a daemon or the files: its views, its log, and the answers to commands.

use std::ops::ControlFlow;

use serde_json::Value;

use super::{Access, Files};
use crate::api::client::encode;
use crate::cli::error::CliError;
use crate::cli::event_json;
use crate::cli::json::to_value;
use crate::daemon::Paths;
use crate::daemon::files::archive;
use crate::daemon::memory::finder::{Finder, Query, search_archive};
use crate::daemon::memory::news::news;
use crate::daemon::memory::{freshness, log};
use crate::daemon::offline;
use crate::domain::event::Event;
use crate::domain::ids::AgentId;
use crate::domain::memory::{FactKey, MemoryRefusal, NoteKey};
use crate::domain::rejection::Rejection;
use crate::domain::state::State;
use crate::view::describe::Point;
use crate::view::memory::{self, Aged, LogFilter, Measures};

/// The most events of one page of the log.
const PAGE: usize = 1_000;

impl Access {
    /// `memory board --json`.
    pub fn board(&mut self, all: bool) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("memory/facts?all={all}")),
            Self::Offline(files) => {
                let state = files.state()?;
                to_value(&memory::board(&state, &aged(&files.paths, &state), all))
            }
        }
    }

    /// `memory get --json`: one fact with at most `history` earlier values.
    pub fn fact(&mut self, key: &FactKey, history: usize) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("memory/facts/{key}?history={history}")),
            Self::Offline(files) => {
                let state = files.state()?;
                let fact = memory::fact(&state, &aged(&files.paths, &state), key, history);
                to_value(&fact.ok_or_else(|| unknown_fact(&state, key))?)
            }
        }
    }

    /// The next events about the memory, oldest first, as `{"seq","ts","kind","data"}`; none at the
    /// end.
    pub fn memory_log(&mut self, filter: &LogFilter) -> Result<Vec<Value>, CliError> {
        match self {
            Self::Daemon(daemon) => {
                let page = daemon.get(&format!("memory/log?{}", of_filter(filter)))?;
                Ok(page.as_array().cloned().unwrap_or_default())
            }
            Self::Offline(Files { paths, .. }) => {
                let mut found = Vec::new();
                log::select(paths, filter, u64::MAX, &mut |one| {
                    found.push(one);
                    if found.len() < PAGE {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                })?;
                found.iter().map(event_json::to_json).collect()
            }
        }
    }

    /// `memory search --json`.
    pub fn search(&mut self, query: &Query<'_>) -> Result<Value, CliError> {
        let Query { text, limit, all } = query;
        match self {
            Self::Daemon(daemon) => {
                let text = encode(text);
                daemon.get(&format!("memory/search?q={text}&limit={limit}&all={all}"))
            }
            Self::Offline(files) => {
                let state = files.state()?;
                if *all && state.compacted.learnings > 0 {
                    let archive = archive::learnings(&files.paths, state.seq)?;
                    return to_value(&search_archive(&state, &archive, query));
                }
                to_value(&Finder::default().search(&|each| each(&state), query))
            }
        }
    }

    /// `memory shown --json`.
    pub fn shown(&mut self, id: &AgentId) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("memory/shown/{id}")),
            Self::Offline(files) => {
                let state = files.state()?;
                if let Some(shown) = memory::shown(&state, id) {
                    return to_value(&shown);
                }
                if !state.ended.contains_key(id) {
                    return Err(Rejection::AgentUnknown(id.clone()).into());
                }
                let mut events = Vec::new();
                offline::scan(&files.paths, 0, state.seq, &mut |one| {
                    if matches!(one.event, Event::MemoryShown(_)) {
                        events.push(one.event);
                    }
                })?;
                to_value(&memory::shown_by_log(&state, id, &events))
            }
        }
    }

    /// `memory stats --json`.
    pub fn memory_stats(&mut self) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("memory/stats"),
            Self::Offline(files) => {
                let state = files.state()?;
                let mut measures = Measures::default();
                offline::scan(&files.paths, 0, state.seq, &mut |one| {
                    measures.fold(one.seq, one.ts, &one.event);
                })?;
                let aged = aged(&files.paths, &state);
                to_value(&memory::stats(&state, &aged, &measures, None))
            }
        }
    }

    /// `memory synthesize --dry-run --json`.
    pub fn news(&mut self) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get("memory/news"),
            Self::Offline(files) => to_value(&news(&files.state()?, None)),
        }
    }

    /// `scratch list --json`.
    pub fn notes(&mut self, prefix: &str) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("scratch?prefix={}", encode(prefix))),
            Self::Offline(files) => to_value(&memory::notes(&files.state()?, prefix)),
        }
    }

    /// `scratch get --json`.
    pub fn note(&mut self, key: &NoteKey) -> Result<Value, CliError> {
        match self {
            Self::Daemon(daemon) => daemon.get(&format!("scratch/{key}")),
            Self::Offline(files) => {
                let state = files.state()?;
                let unknown = || {
                    let refusal = MemoryRefusal::NoteUnknown(key.clone());
                    let mut error = CliError::from(Rejection::from(refusal));
                    let near = memory::note_suggestions(&state, key);
                    error.hints.splice(0..0, near);
                    error
                };
                to_value(&memory::note(&state, key).ok_or_else(unknown)?)
            }
        }
    }
}

/// The paths of evidence that had changed on the target in this state.
fn aged(paths: &Paths, state: &State) -> Aged {
    let (seen, target) = (freshness::seen_files(state), freshness::target_of(state));
    freshness::aged_in(&paths.root, &seen, target.as_ref()).into()
}

fn of_point(point: Point) -> String {
    match point {
        Point::Seq(seq) => seq.to_string(),
        Point::Time(time) => encode(&time.to_string()),
    }
}

fn of_filter(filter: &LogFilter) -> String {
    let LogFilter {
        since,
        until,
        agent,
        kind,
    } = filter;
    let mut query = format!("limit={PAGE}");
    for (name, value) in [
        ("since", since.map(of_point)),
        ("until", until.map(of_point)),
        ("agent", agent.as_ref().map(|it| encode(it.as_str()))),
        ("kind", kind.as_deref().map(encode)),
    ] {
        if let Some(value) = value {
            query = format!("{query}&{name}={value}");
        }
    }
    query
}

fn unknown_fact(state: &State, key: &FactKey) -> CliError {
    let refusal = MemoryRefusal::no_fact(state, key);
    let mut error = CliError::from(Rejection::from(refusal));
    let near = memory::suggestions(state, key);
    error.hints.splice(0..0, near);
    error
}
