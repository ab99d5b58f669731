//! A lane: its bars in percent of the window, and the same in words.
//!
//! Invariant: a lane has a bounded number of bars, however many runs there were: runs of one kind
//! that lie close together become one bar.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::view::describe::read_span;
use crate::view::history::{Bar, History, Lane, LaneBy, Mark, MarkKind, Work};
use crate::web::pages::asked::Asked;
use crate::web::parts::title;

/// Bars on a page, all lanes together.
const BARS: usize = 900;
/// Bars of a lane that are always drawn.
const FEW: usize = 6;
/// Bars that are nearer than this, in percent, are drawn as one.
const NEAR: f64 = 0.1;
/// The narrowest bar, in percent.
const NARROW: f64 = 0.25;
/// The window without a usable `?last=`, in milliseconds.
const USUAL: i64 = 7 * 3_600_000;

/// The time that is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    from: Timestamp,
    to: Timestamp,
    /// The moment, if it is past.
    pub moment: Option<Timestamp>,
}

impl Window {
    /// The last part of the history, or the part around a moment. Its end is rounded up, so that
    /// lanes that have ended look the same for a while.
    pub fn of(history: &History, last: &str, moment: Option<Timestamp>) -> Self {
        let end = history.last_at;
        let first = history.activity.first_at().unwrap_or(end);
        let all = end.since(first).max(10_000);
        let span = match last {
            "all" => all,
            last => read_span(last).unwrap_or(USUAL).clamp(10_000, all),
        };
        let step = u64::try_from(span / 60).unwrap_or(1).next_power_of_two();
        let step = i64::try_from(step).unwrap_or(1).max(1_000);
        let end = match moment {
            Some(moment) => end.min(moment.plus_millis(span / 3)),
            None => end,
        };
        let to = Timestamp::from_millis(end.millis().div_euclid(step) * step + step);
        let from = if last == "all" {
            first
        } else {
            to.plus_millis(-span - step).max(first)
        };
        Self { from, to, moment }
    }

    /// From when to when.
    pub fn range(&self) -> (Timestamp, Timestamp) {
        (self.from, self.to)
    }

    /// Where a time is, in percent; `None` outside.
    pub fn place(&self, at: Timestamp) -> Option<f64> {
        (self.from..=self.to)
            .contains(&at)
            .then(|| self.clamped(at))
    }

    #[expect(clippy::cast_precision_loss, reason = "for drawing")]
    fn clamped(&self, at: Timestamp) -> f64 {
        let whole = self.to.since(self.from).max(1) as f64;
        (at.since(self.from) as f64 * 100.0 / whole).clamp(0.0, 100.0)
    }
}

/// A bar as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// What it stands for.
    pub work: Work,
    /// Whether it ended badly.
    pub is_bad: bool,
    /// Whether it was later than the moment.
    pub is_future: bool,
    /// From the left, in percent.
    pub from: f64,
    /// Its end, in percent.
    pub to: f64,
}

/// A lane as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneView {
    /// The idea's or agent's id; `None`: the target.
    pub id: Option<String>,
    /// Its idea's title.
    pub title: String,
    /// Its idea.
    pub idea: Option<String>,
    /// Its idea's status.
    pub status: Option<IdeaStatus>,
    /// Whether anything is going on.
    pub is_open: bool,
    /// From the first claim to the last end: what no bar covers was waiting.
    pub line: Option<(f64, f64)>,
    /// Its bars.
    pub bars: Vec<Drawn>,
    /// Where it landed, and whether that was later than the moment.
    pub landed: Vec<(f64, bool)>,
    /// Where attempts failed.
    pub failed: Vec<f64>,
    /// The same as numbers.
    pub sum: Sum,
}

/// A lane in numbers, up to the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// When it began.
    pub from: Timestamp,
    /// When it ended; `None`: it goes on.
    pub to: Option<Timestamp>,
    /// Iterations, those for conflicts included.
    pub iterations: usize,
    /// Checks that failed.
    pub failed_checks: usize,
    /// Time at work, in milliseconds.
    pub work: i64,
    /// Time of its attempts at which nothing ran, in milliseconds.
    pub waiting: i64,
}

impl LaneView {
    /// A lane among `many` on the page.
    pub fn of(
        lane: &Lane<'_>,
        by: LaneBy,
        (history, known): (&History, &Known<'_>),
        window: &Window,
        many: usize,
    ) -> Self {
        let seq = known.seq;
        let now = window.moment.unwrap_or(history.last_at);
        let idea = idea_of(lane);
        let about = idea.as_ref().and_then(|id| known.ideas.get(id));
        let name = about.map(|(title, _)| title.clone());
        let drawn = lane
            .bars
            .iter()
            .filter(|bar| bar.work != Work::Attempt)
            .flat_map(|bar| drawn(bar, window, (seq, now), history.last_at))
            .collect();
        let attempts = || lane.bars.iter().filter(|bar| bar.work == Work::Attempt);
        let end = |bar: &&&Bar| bar.to.map_or(history.last_at, |(at, _)| at);
        let from = attempts().map(|bar| bar.from).min();
        let to = attempts().map(|bar| end(&bar)).max();
        let stretch = from.zip(to).map(|(from, to)| {
            let to = window.moment.map_or(to, |moment| to.min(moment));
            (window.clamped(from), window.clamped(to))
        });
        let (landed, failed) = match by {
            LaneBy::Idea => ends(known, idea.as_ref(), window),
            LaneBy::Agent => (Vec::new(), Vec::new()),
        };
        Self {
            id: lane.id.map(str::to_owned),
            title: name.unwrap_or_else(|| {
                idea.as_ref()
                    .map_or("The target".to_owned(), ToString::to_string)
            }),
            status: about.map(|(_, status)| *status),
            idea: idea.map(|idea| idea.to_string()),
            is_open: lane.is_open(seq),
            line: stretch.filter(|(from, to)| to > from),
            bars: joined(drawn, (BARS / many.max(1)).max(FEW)),
            landed,
            failed,
            sum: Sum::of(lane, seq, now),
        }
    }
}

/// The parts of a bar before and after the moment.
fn drawn(bar: &Bar, window: &Window, (seq, now): (u64, Timestamp), last: Timestamp) -> Vec<Drawn> {
    let end = bar.to.map_or(last, |(at, _)| at);
    let part = |from: Timestamp, to: Timestamp, is_future: bool| Drawn {
        work: bar.work,
        is_bad: !bar.well && bar.to.is_some_and(|(_, end)| end <= seq || is_future),
        is_future,
        from: window.clamped(from),
        to: window.clamped(to),
    };
    if bar.from_seq > seq {
        return vec![part(bar.from, end, true)];
    }
    if bar.is_open(seq) && window.moment.is_some() {
        let now = now.max(bar.from);
        return vec![part(bar.from, now, false), part(now, end.max(now), true)];
    }
    vec![part(bar.from, end, false)]
}

/// Joins bars that lie close together until there are at most `most`.
fn joined(mut bars: Vec<Drawn>, most: usize) -> Vec<Drawn> {
    let mut near = NEAR;
    loop {
        let mut kept: Vec<Drawn> = Vec::with_capacity(bars.len());
        for bar in bars {
            let same = kept.iter_mut().rev().take(3).find(|before| {
                let is_kind = before.work == bar.work || near > 2.0;
                is_kind
                    && (before.is_bad, before.is_future) == (bar.is_bad, bar.is_future)
                    && bar.from - before.to < near
            });
            match same {
                Some(before) => before.to = before.to.max(bar.to),
                None => kept.push(bar),
            }
        }
        if kept.len() <= most || near > 100.0 {
            // Alternating outcomes cannot be joined: the newest are drawn.
            let first = kept.len().saturating_sub(most);
            let mut kept = kept.split_off(first);
            for bar in &mut kept {
                bar.to = bar.to.max(bar.from + NARROW);
            }
            return kept;
        }
        (bars, near) = (kept, near * 2.0);
    }
}

/// Where an idea landed, and where its attempts failed.
fn ends(known: &Known<'_>, idea: Option<&IdeaId>, window: &Window) -> (Vec<(f64, bool)>, Vec<f64>) {
    let (mut landed, mut failed) = (Vec::new(), Vec::new());
    let marks = idea.and_then(|idea| known.marks.get(idea));
    for mark in marks.into_iter().flatten() {
        let Some(place) = window.place(mark.at) else {
            continue;
        };
        match mark.kind {
            MarkKind::Landed => landed.push((place, mark.seq > known.seq)),
            MarkKind::Bad if mark.seq <= known.seq => failed.push(place),
            MarkKind::Bad
            | MarkKind::Checkpoint
            | MarkKind::RolledBack
            | MarkKind::Limit
            | MarkKind::Started => {}
        }
    }
    let last = failed.len().saturating_sub(FEW);
    (landed, failed.split_off(last))
}

/// The last idea of a lane.
pub fn idea_of(lane: &Lane<'_>) -> Option<IdeaId> {
    lane.bars.iter().rev().find_map(|bar| bar.idea.clone())
}

/// What is known of the ideas of the lanes on a page.
pub struct Known<'a> {
    /// The event that is shown.
    pub seq: u64,
    /// Their titles and statuses.
    pub ideas: BTreeMap<IdeaId, (String, IdeaStatus)>,
    /// Their landings and failures.
    pub marks: BTreeMap<IdeaId, Vec<&'a Mark>>,
}

impl<'a> Known<'a> {
    /// Of these ideas.
    pub fn of(ids: &BTreeSet<IdeaId>, history: &'a History, asked: &Asked<'_>) -> Self {
        let titles = |state: &State| {
            let about = |id: &IdeaId| {
                let idea = state.ideas.get(id)?;
                Some((id.clone(), (title(&idea.text).to_owned(), idea.status)))
            };
            (state.seq, ids.iter().filter_map(about).collect())
        };
        let (seq, ideas) = asked.read(titles);
        let mut marks: BTreeMap<IdeaId, Vec<&'a Mark>> = BTreeMap::new();
        for mark in history.marks.all() {
            if let Some(id) = mark.idea.as_ref().filter(|id| ids.contains(*id)) {
                marks.entry(id.clone()).or_default().push(mark);
            }
        }
        Self { seq, ideas, marks }
    }
}

impl Sum {
    fn of(lane: &Lane<'_>, seq: u64, now: Timestamp) -> Self {
        let mut sum = Self::default();
        let begun: Vec<&&Bar> = lane.bars.iter().filter(|bar| bar.from_seq <= seq).collect();
        sum.from = begun.first().map_or(now, |bar| bar.from);
        let end = |bar: &Bar| bar.to.filter(|(_, end)| *end <= seq).map(|(at, _)| at);
        if !lane.is_open(seq) {
            sum.to = begun.iter().filter_map(|bar| end(bar)).max();
        }
        let mut attempts = 0;
        for bar in begun {
            let length = end(bar).unwrap_or(now).since(bar.from).max(0);
            let is_bad = !bar.well && end(bar).is_some();
            match bar.work {
                Work::Attempt => attempts += length,
                Work::Iteration | Work::Conflict => {
                    sum.iterations += 1;
                    sum.work += length;
                }
                Work::Check | Work::MergeCheck | Work::TargetCheck => {
                    sum.failed_checks += usize::from(is_bad);
                    sum.work += length;
                }
                Work::Setup | Work::Hook => sum.work += length,
            }
        }
        sum.waiting = (attempts - sum.work).max(0);
        sum
    }
}

/// The page of an agent or idea.
pub fn path(by: LaneBy, lane: &LaneView) -> Option<String> {
    let id = lane.id.as_ref()?;
    match by {
        LaneBy::Idea => id.parse::<IdeaId>().ok().map(|id| format!("ideas/{id}")),
        LaneBy::Agent => id.parse::<AgentId>().ok().map(|id| format!("agents/{id}")),
    }
}
