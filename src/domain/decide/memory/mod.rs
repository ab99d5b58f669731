//! Decides on the memory that agents share.
//!
//! Invariant: one command is one event, so that a torn log contains all of it or nothing; only a
//! large retraction or compaction has several. No rule compares by similarity. `learn` records
//! learnings and the claims in them, `facts` changes the board, `retract` takes back, `notes`
//! changes the scratchpad, `compact` drops what is old, `writer` checks who writes and what,
//! `synthesis` when a model makes facts, `grounds` what that relies on.

mod compact;
mod facts;
mod grounds;
mod learn;
mod notes;
mod retract;
pub(super) mod synthesis;
mod writer;

pub(super) use compact::compact_if_full;
pub(super) use learn::signalled;
pub(super) use notes::{expire, next_expiry};

use super::decision::Plan;
use crate::domain::event::{MemoryRead, MemoryShown, ReadCounts, ShownItem};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::memory::{MAX_READ, MemoryCommand};
use crate::domain::rejection::Rejection;
use crate::domain::request::Author;
use crate::domain::state::{Attempt, State};
use writer::Writer;

/// Decides on a command; returns the id or version that it makes, if it makes one.
pub(super) fn command(
    plan: &mut Plan<'_>,
    by: &Author,
    command: &MemoryCommand,
) -> Result<Option<String>, Rejection> {
    let writer = Writer::admit(plan.state, by)?;
    match command {
        MemoryCommand::Learn(learn) => learn::learn(plan, &writer, learn).map(Some),
        MemoryCommand::WriteFact(write) => facts::write(plan, &writer, write).map(Some),
        MemoryCommand::ConfirmFact(confirm) => facts::confirm(plan, &writer, confirm).map(Some),
        MemoryCommand::DisputeFact(dispute) => facts::dispute(plan, &writer, dispute).map(Some),
        MemoryCommand::Pin { key, on } => facts::pin(plan, key, *on).map(|()| None),
        MemoryCommand::Retract { what, why } => {
            retract::retract(plan, &writer, what, why.as_deref()).map(|()| None)
        }
        MemoryCommand::PutNote(put) => notes::put(plan, &writer, put),
        MemoryCommand::Compact => {
            compact::compact(plan, by);
            Ok(None)
        }
        MemoryCommand::Synthesize { profile } => {
            synthesis::begin_asked(plan, profile.as_ref()).map(Some)
        }
    }
}

/// Records what the prompt of a run shows, once for each run.
pub(super) fn shown(
    plan: &mut Plan<'_>,
    run: &RunId,
    items: &[ShownItem],
    fresh: bool,
    held: bool,
) {
    let Some((agent, attempt)) = attempt_of(plan.state, run) else {
        return;
    };
    let before = &attempt.memory;
    let is_known = before.shown_by.as_ref() == Some(run);
    let says_nothing = items.is_empty() && before.shown.is_empty() && held == before.held;
    if is_known || says_nothing {
        return;
    }
    plan.emit(MemoryShown {
        agent: agent.clone(),
        run: run.clone(),
        items: items.to_vec(),
        fresh,
        held,
    });
}

/// Records what the iteration of a run read by itself, once for each run.
pub(super) fn read(plan: &mut Plan<'_>, run: &RunId, items: &[ShownItem], by_tool: ReadCounts) {
    let Some((agent, attempt)) = attempt_of(plan.state, run) else {
        return;
    };
    let is_known = attempt.memory.read_by.as_ref() == Some(run);
    let says_nothing = items.is_empty() && by_tool == ReadCounts::default();
    if is_known || says_nothing {
        return;
    }
    plan.emit(MemoryRead {
        agent: agent.clone(),
        run: run.clone(),
        items: items.iter().take(MAX_READ).cloned().collect(),
        by_tool,
    });
}

fn attempt_of<'a>(state: &'a State, run: &RunId) -> Option<(&'a AgentId, &'a Attempt)> {
    let mut agents = state.agents.iter();
    agents.find(|(_, attempt)| attempt.run.as_ref() == Some(run))
}
