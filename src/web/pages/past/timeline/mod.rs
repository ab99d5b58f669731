//! What happened when: a lane for each idea or agent, with a bar for each piece of work.
//!
//! Invariant: what the page shows of a past moment began by then; what ended later is faint.

pub mod draw;
mod lanes;

use std::time::Duration;

use crate::domain::event::Event;
use crate::domain::ids::AgentId;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::describe::{self, Interest};
use crate::view::history::{History, LaneBy, MarkKind, Told, told};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Query};
use crate::web::time::bar::words;
use lanes::{Known, LaneView, Window};

/// Lanes on a page.
pub const LANES: usize = 100;
/// The windows that the page offers.
pub const SPANS: [&str; 5] = ["1h", "3h", "7h", "24h", "all"];
/// The window without `?last=`.
const USUAL: &str = "7h";
/// How long the page waits for the first reading of the log.
const PATIENCE: Duration = Duration::from_secs(3);
/// Things that happened before the moment, and after it.
const AROUND: (usize, usize) = (9, 4);
/// Events that are read for them, on either side.
const READ: u32 = 160;

/// What the page shows.
pub struct View {
    pub(super) by: LaneBy,
    pub(super) last: String,
    pub(super) is_table: bool,
    pub(super) page: usize,
    pub(super) window: Window,
    pub(super) open: Vec<LaneView>,
    pub(super) ended: Vec<LaneView>,
    /// Lanes in the window, on all pages.
    pub(super) count: usize,
    pub(super) lines: Vec<Line>,
    pub(super) around: Vec<Told>,
    pub(super) seq: u64,
    pub(super) is_ready: bool,
    pub(super) is_cut: bool,
    pub(super) query: Query,
}

/// Something that all lanes share.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub(super) kind: MarkKind,
    /// In percent.
    pub(super) place: f64,
    pub(super) words: String,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let is_ready = asked.site.chronicle.is_ready(PATIENCE).await;
    let around = around(asked).await?;
    let mut view = asked.site.chronicle.read(|history| view(asked, history));
    view.is_ready = is_ready;
    view.around = around;
    Ok(view)
}

fn view(asked: &Asked<'_>, history: &History) -> View {
    let (seq, at) = asked.read(|state| (state.seq, state.swarm.last_event_at));
    let by = match asked.query.get("by") {
        Some("agent") => LaneBy::Agent,
        _ => LaneBy::Idea,
    };
    let last = asked.query.get("last").unwrap_or(USUAL);
    let is_past = asked.moment.is_past();
    let moment = at.min(history.last_at);
    let window = Window::of(history, last, is_past.then_some(moment));
    let lanes = history.spans.lanes(by, window.range(), seq);
    let begun =
        |lane: &crate::view::history::Lane<'_>| lane.bars.iter().any(|bar| bar.from_seq <= seq);
    let lanes: Vec<_> = lanes.into_iter().filter(begun).collect();
    let count = lanes.len();
    let page = asked.query.page().min(count.saturating_sub(1) / LANES);
    let shown = lanes.iter().skip(page * LANES).take(LANES);
    let many = shown.len();
    let ids = shown.clone().filter_map(lanes::idea_of).collect();
    let known = Known::of(&ids, history, asked);
    let (open, ended) = shown
        .map(|lane| LaneView::of(lane, by, (history, &known), &window, many))
        .partition(|lane: &LaneView| lane.is_open);
    View {
        by,
        last: if describe::read_span(last).is_some() || last == "all" {
            last.to_owned()
        } else {
            USUAL.to_owned()
        },
        is_table: asked.query.get("as") == Some("table"),
        page,
        open,
        ended,
        count,
        lines: lines(history, &window),
        around: Vec::new(),
        seq,
        is_ready: true,
        is_cut: history.spans.is_cut(),
        query: asked.query.clone(),
        window,
    }
}

/// The marks that all lanes share, those that are near each other as one.
fn lines(history: &History, window: &Window) -> Vec<Line> {
    const NEAR: f64 = 0.3;
    let mut lines: Vec<Line> = Vec::new();
    for mark in history.marks.all() {
        let is_shared = match mark.kind {
            MarkKind::Checkpoint | MarkKind::RolledBack | MarkKind::Limit | MarkKind::Started => {
                true
            }
            MarkKind::Landed | MarkKind::Bad => false,
        };
        let Some(place) = window.place(mark.at).filter(|_| is_shared) else {
            continue;
        };
        let same = lines
            .iter()
            .rev()
            .find(|line| line.kind == mark.kind && place - line.place < NEAR);
        if same.is_none() {
            lines.push(Line {
                kind: mark.kind,
                place,
                words: words(mark),
            });
        }
    }
    lines
}

/// What happened around the moment.
async fn around(asked: &Asked<'_>) -> Result<Vec<Told>, WebError> {
    if !asked.moment.is_past() {
        let last = |history: &History| {
            history
                .stories
                .all()
                .rev()
                .take(AROUND.0)
                .cloned()
                .collect()
        };
        let mut last: Vec<Told> = asked.site.chronicle.read(last);
        last.reverse();
        return Ok(last);
    }
    let seq = asked.read(|state| state.seq);
    let log = std::sync::Arc::clone(&asked.site.api.log);
    let after = seq.saturating_sub(READ.into());
    let events = tokio::task::spawn_blocking(move || log.read(after, 2 * READ as usize)).await;
    let events = events
        .map_err(|error| WebError::failed(error.to_string()))?
        .map_err(|error| WebError::failed(error.to_string()))?;
    let is_told = |event: &Event| describe::interest(event) != Interest::Plumbing;
    let idea_of = |agent: &AgentId| asked.read(|state| idea_of(state, agent));
    let tell = |one: &crate::daemon::actor::handle::Journaled| {
        (is_told(&one.event) || one.seq == seq).then(|| told(one.seq, one.ts, &one.event, idea_of))
    };
    let all: Vec<Told> = events.iter().filter_map(tell).collect();
    let now = all.partition_point(|one| one.seq <= seq);
    let upto = (now + AROUND.1).min(all.len());
    Ok(all[now.saturating_sub(AROUND.0)..upto].to_vec())
}

/// The idea that an agent works or worked on.
pub fn idea_of(state: &State, agent: &AgentId) -> Option<crate::domain::ids::IdeaId> {
    let living = state.agents.get(agent).map(|attempt| &attempt.idea);
    let ended = || state.ended.get(agent).map(|attempt| &attempt.idea);
    living.or_else(ended).cloned()
}

impl View {
    /// The end of the shown time.
    pub(super) fn until(&self) -> Timestamp {
        self.window.range().1
    }
}
