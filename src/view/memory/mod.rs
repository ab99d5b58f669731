//! The memory that agents share, as programs see it: the board, its facts, notes, hits and answers.
//!
//! Invariant: the same documents with and without a daemon. The order of a list is part of its
//! shape. `confidence` and `landed` follow the present state of the ideas, so a rollback changes
//! them.

mod answer;
mod board;
mod compacted;
mod fact;
mod hit;
mod log;
mod nearest;
mod news;
mod note;
mod shown;
mod sides;
mod stats;

use std::collections::BTreeMap;

use utoipa::ToSchema;

use crate::domain::memory::{Fact, FactKey};

pub use answer::{
    ClaimedView, FactChangedView, LearnedView, NotePutView, RetractedView, Taken, WrittenView,
    changed_fact, learned, learned_references, put_note, retracted, written,
};
pub use board::{BoardFilter, BoardPage, board_page, fact_count};
pub use compacted::{CompactedView, compacted, dropped, dropped_words};
pub use fact::{
    ClaimView, EvidenceView, FactDetail, FactView, OldValueView, RetractionView, SHOWN_HISTORY,
    board, fact,
};
pub use hit::{HitView, SearchView, fact_hit, learning_hit};
pub use log::{KINDS as MEMORY_KINDS, LineFilter, LogFilter};
pub use nearest::{note_suggestions, suggestions};
pub use news::{NewsGroupView, NewsView, SynthesisBegunView, synthesis_begun};
pub(in crate::view) use note::sha256;
pub use note::{NoteHeadView, NoteView, note, notes};
pub use shown::{ShownItemView, ShownView, shown, shown_by_log};
pub use sides::{SideView, sides};
pub use stats::{
    ArmView, DuplicationView, FactsView, LatencyView, LiftView, Measure, Measures, SinceStart,
    StatsView, SynthesisView, TOO_FEW, UseView, markdown, stats, summary,
};

/// For each fact, the paths of its evidence that changed since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aged(BTreeMap<FactKey, Vec<String>>);

impl Aged {
    /// No path is known to have changed.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The changed paths of a fact.
    pub fn paths(&self, key: &FactKey) -> &[String] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }
}

impl From<BTreeMap<FactKey, Vec<String>>> for Aged {
    fn from(paths: BTreeMap<FactKey, Vec<String>>) -> Self {
        Self(paths)
    }
}

/// Whether nobody took it back.
fn is_in_force(fact: &Fact) -> bool {
    fact.retracted.is_none()
}

/// Who wrote something.
#[derive(ToSchema)]
#[schema(as = Author, rename_all = "camelCase")]
pub struct AuthorShape {
    /// `person`; `mcp`: a person's own agent; `hook`; `agent`: an agent in an iteration;
    /// `synthesis`: the run that summarises; `check`: a quality or setup command.
    pub kind: String,
    /// The agent.
    #[schema(required = false)]
    pub id: Option<String>,
    /// The idea that the agent works on.
    #[schema(required = false)]
    pub idea_id: Option<String>,
    /// Its run.
    #[schema(required = false)]
    pub run: Option<String>,
    /// Name of the person's program.
    #[schema(required = false)]
    pub client: Option<String>,
}

#[cfg(test)]
mod tests;
