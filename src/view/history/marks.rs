//! What marked the way: landings, failures, checkpoints, limits, restarts, rollbacks.
//!
//! Invariant: at most [`MOST`], in order of events; the oldest go first.

use super::spans::Spans;
use crate::domain::event::Event;
use crate::domain::ids::IdeaId;
use crate::domain::time::Timestamp;

/// The most marks that are kept.
pub const MOST: usize = 32_768;
/// The longest label, in characters.
const LABEL: usize = 60;

/// What a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// An idea landed.
    Landed,
    /// A check failed, or an attempt ended badly.
    Bad,
    /// A checkpoint was made.
    Checkpoint,
    /// The target and the ideas went back to a checkpoint.
    RolledBack,
    /// An account or the budget reached its limit.
    Limit,
    /// A daemon started.
    Started,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Its event.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What it stands for.
    pub kind: MarkKind,
    /// The idea that it is about.
    pub idea: Option<IdeaId>,
    /// The checkpoint or the account.
    pub label: Option<Box<str>>,
}

/// All marks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks(Vec<Mark>);

impl Marks {
    pub(super) fn fold(&mut self, seq: u64, at: Timestamp, event: &Event, spans: &Spans) {
        let Some((kind, idea, label)) = mark(event, spans) else {
            return;
        };
        if self.0.len() >= MOST {
            self.0.drain(..MOST / 4);
        }
        self.0.push(Mark {
            seq,
            at,
            kind,
            idea,
            label: label.map(|label| label.chars().take(LABEL).collect::<String>().into()),
        });
    }

    /// All, oldest first.
    pub fn all(&self) -> &[Mark] {
        &self.0
    }

    /// The last mark before this event.
    pub fn before(&self, seq: u64) -> Option<&Mark> {
        let index = self.0.partition_point(|mark| mark.seq < seq);
        self.0.get(index.checked_sub(1)?)
    }

    /// The first mark after this event.
    pub fn after(&self, seq: u64) -> Option<&Mark> {
        self.0.get(self.0.partition_point(|mark| mark.seq <= seq))
    }
}

type Found<'e> = (MarkKind, Option<IdeaId>, Option<&'e str>);

fn mark<'e>(event: &'e Event, spans: &Spans) -> Option<Found<'e>> {
    if let Event::IdeaLanded(landed) = event {
        return Some((MarkKind::Landed, Some(landed.id.clone()), None));
    }
    if let Event::AttemptEnded(ended) = event
        && ended.status.is_bad()
    {
        return Some((MarkKind::Bad, spans.idea_of(&ended.agent), None));
    }
    if let Event::GateFailed(failed) = event {
        return Some((MarkKind::Bad, spans.idea_of(&failed.agent), None));
    }
    if let Event::MergeReturned(returned) = event {
        return Some((MarkKind::Bad, Some(returned.id.clone()), None));
    }
    if let Event::BaselineFailed(_) = event {
        return Some((MarkKind::Bad, None, None));
    }
    if let Event::ChecksProbed(probed) = event
        && !probed.found.alarms.is_empty()
    {
        return Some((MarkKind::Bad, None, None));
    }
    if let Event::CheckpointMade(made) = event {
        return Some((MarkKind::Checkpoint, None, Some(made.name.as_str())));
    }
    if let Event::RolledBack(back) = event {
        return Some((MarkKind::RolledBack, None, Some(back.to.as_str())));
    }
    if let Event::AccountHeld(held) = event {
        return Some((MarkKind::Limit, None, Some(held.account.as_str())));
    }
    if let Event::ProfileHeld(held) = event {
        return Some((MarkKind::Limit, None, Some(held.profile.as_str())));
    }
    if let Event::BudgetReached(_) = event {
        return Some((MarkKind::Limit, None, Some("the daily budget")));
    }
    if let Event::DaemonStarted(_) = event {
        return Some((MarkKind::Started, None, None));
    }
    None
}
