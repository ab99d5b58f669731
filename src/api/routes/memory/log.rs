//! The history of the memory, what agents were shown of it, and searches.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::types::{LogQuery, SearchQuery};
use super::{blocking, point};
use crate::api::ApiContext;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::events::record;
use crate::api::extract::{Id, Params, Reader};
use crate::api::schema::EventRecord;
use crate::daemon::memory::finder::{self, DEFAULT_HITS, MAX_HITS, Query};
use crate::daemon::memory::tally::ReadOf;
use crate::domain::event::{Event, ShownItem};
use crate::domain::ids::AgentId;
use crate::domain::rejection::Rejection;
use crate::domain::state;
use crate::view;
use crate::view::memory::{LogFilter, SearchView, ShownView};

type Context = State<Arc<ApiContext>>;

/// The most events in one answer.
const MAX_EVENTS: usize = 1_000;

/// List the events about the memory, oldest first.
///
/// A time as `since` or `until` means after the last event that is not later. To go on, ask again
/// with the last event's `seq` as `since`.
#[utoipa::path(
    get, path = "/views/memory/log", tag = "memory", params(LogQuery),
    responses((status = 200, body = Vec<EventRecord>),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn log(
    State(context): Context,
    reader: Reader,
    Params(query): Params<LogQuery>,
) -> Result<Response, ApiError> {
    query.check_kind()?;
    let limit = query.limit.unwrap_or(MAX_EVENTS).min(MAX_EVENTS);
    let filter = LogFilter {
        since: query.since.as_deref().map(point).transpose()?,
        until: query.until.as_deref().map(point).transpose()?,
        agent: query.agent,
        kind: query.kind,
    };
    let last = context.handle.read(|state| state.seq);
    let log = Arc::clone(&context.log);
    let records = blocking(move || -> io::Result<Vec<Vec<u8>>> {
        let mut records = Vec::new();
        if limit > 0 {
            log.memory_log(&filter, last, &mut |one| {
                records.push(record(&one));
                if records.len() < limit {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
        }
        records.into_iter().map(|it| Ok(it?)).collect()
    })
    .await?;
    let records = records.map_err(|error| ApiError::unreadable("the event log", &error))?;
    // A client that asks for the next page until there is none has read once.
    if !records.is_empty() {
        reader.reads(&context, ReadOf::Log, Vec::new());
    }
    let mut body = vec![b'['];
    body.extend_from_slice(&records.join(&b','));
    body.push(b']');
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], Body::from(body)).into_response())
}

/// Search facts and learnings by their words.
///
/// With `all`, the event log is searched too, for learnings that were dropped from the state.
#[utoipa::path(
    get, path = "/views/memory/search", tag = "memory", params(SearchQuery),
    responses((status = 200, body = view::memory::SearchView),
        (status = "default", description = "Refused", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn search(
    State(context): Context,
    reader: Reader,
    Params(query): Params<SearchQuery>,
) -> Result<Json<SearchView>, ApiError> {
    let searched = Arc::clone(&context);
    let found = blocking(move || -> io::Result<SearchView> {
        let read = |each: &mut dyn FnMut(&state::State)| searched.handle.read(|it| each(it));
        let wanted = Query {
            text: &query.q,
            limit: query.limit.unwrap_or(DEFAULT_HITS).min(MAX_HITS),
            all: query.all,
        };
        let is_whole = |state: &state::State| state.compacted.learnings == 0;
        if !query.all || searched.handle.read(is_whole) {
            return Ok(searched.finder.search(&read, &wanted));
        }
        let state = searched.handle.read(state::State::clone);
        let archive = searched.log.learned(state.seq)?;
        Ok(finder::search_archive(&state, &archive, &wanted))
    });
    let found = found.await?;
    let found = found.map_err(|error| ApiError::unreadable("the event log", &error))?;
    let items = found.hits.iter().map(|hit| ShownItem {
        reference: hit.reference.clone(),
        version: hit.version,
    });
    reader.reads(&context, ReadOf::Search, items.collect());
    Ok(Json(found))
}

/// Show what the conversation of an agent was shown of the memory.
#[utoipa::path(
    get, path = "/views/memory/shown/{agent}", tag = "memory",
        params(("agent" = String, Path, description = "The agent")),
    responses((status = 200, body = view::memory::ShownView),
        (status = "default", description = "Refused or failed", body = ErrorBody)),
)]
pub(in crate::api::routes) async fn shown(
    State(context): Context,
    Id(id): Id<AgentId>,
) -> Result<Json<ShownView>, ApiError> {
    if let Some(shown) = context.handle.read(|state| view::memory::shown(state, &id)) {
        return Ok(Json(shown));
    }
    let (last, has_ended) = context
        .handle
        .read(|state| (state.seq, state.ended.contains_key(&id)));
    if !has_ended {
        return Err(Rejection::AgentUnknown(id).into());
    }
    let log = Arc::clone(&context.log);
    let events = blocking(move || -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        log.scan(0, last, &mut |one| {
            if matches!(one.event, Event::MemoryShown(_)) {
                events.push(one.event);
            }
        })?;
        Ok(events)
    })
    .await?;
    let events = events.map_err(|error| ApiError::unreadable("the event log", &error))?;
    let shown = |state: &_| view::memory::shown_by_log(state, &id, &events);
    Ok(Json(context.handle.read(shown)))
}
