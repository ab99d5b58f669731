//! Decides on the memory that agents share.
//!
//! Invariant: one command is one event, so that a torn log contains all of it or nothing; only a
//! large retraction has several. No rule compares by similarity. `learn` records learnings and the
//! claims in them, `facts` changes the board, `retract` takes back, `notes` changes the scratchpad,
//! `writer` checks who writes and what.

mod facts;
mod learn;
mod notes;
mod retract;
mod writer;

pub(super) use learn::signalled;
pub(super) use notes::{expire, next_expiry};

use super::decision::Plan;
use crate::domain::event::{MemoryShown, ShownItem};
use crate::domain::ids::RunId;
use crate::domain::memory::MemoryCommand;
use crate::domain::rejection::Rejection;
use crate::domain::request::Author;
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
    let mut of_run = plan.state.agents.iter();
    let of_run = of_run.find(|(_, attempt)| attempt.run.as_ref() == Some(run));
    let Some((agent, attempt)) = of_run else {
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
