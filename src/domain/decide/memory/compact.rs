//! Drops what is old from the state. The event log keeps it.
//!
//! Invariant: an event names all that it drops, so that no replay needs these rules. Facts, and
//! learnings that support them, stay. Events are independent: of a torn compaction, the next one
//! drops the rest.

use crate::domain::decide::decision::Plan;
use crate::domain::event::MemoryCompacted;
use crate::domain::memory::{
    Fact, FactKey, KEPT_VALUES, LearningRange, OldHistory, learning_number,
};
use crate::domain::request::Author;
use crate::domain::settings::{MEMORY_WINDOW, Settings};
use crate::domain::state::State;

/// Most bytes that the names of what an event drops take, so that it fits into a line of the log.
const BYTES: usize = 48 * 1024;

/// What one event drops, while it has room.
#[derive(Default)]
struct Dropped {
    learnings: Vec<LearningRange>,
    history: Vec<OldHistory>,
    bytes: usize,
}

/// Drops what is old because somebody asks for it; emits nothing if there is nothing to drop.
pub(super) fn compact(plan: &mut Plan<'_>, by: &Author) {
    let settings = plan.state.settings.as_deref();
    let window = settings.map_or(MEMORY_WINDOW, |settings| settings.memory_window);
    drop_old(plan, window, Some(by));
}

/// Drops what is old once there are twice as many dispensable learnings as the window.
pub(in crate::domain::decide) fn compact_if_full(plan: &mut Plan<'_>, settings: &Settings) {
    let window = settings.memory_window;
    let full = 2 * u64::from(window);
    if plan.state.learnings.dispensable() as u64 >= full {
        drop_old(plan, window, None);
    }
}

fn drop_old(plan: &mut Plan<'_>, window: u32, by: Option<&Author>) {
    let state = plan.state;
    let mut dropped = Dropped::default();
    for range in old_learnings(state, window) {
        let bytes = 32 + digits(range.first) + digits(range.last);
        dropped.make_room(plan, bytes, by);
        dropped.learnings.push(range);
    }
    for (key, fact) in state.facts.iter() {
        let Some(history) = old_history(key, fact) else {
            continue;
        };
        let bytes = 48 + key.as_str().len();
        dropped.make_room(plan, bytes, by);
        dropped.history.push(history);
    }
    dropped.emit(plan, by);
}

/// The oldest learnings that the state can do without, but for as many as the window has.
fn old_learnings(state: &State, window: u32) -> Vec<LearningRange> {
    let learnings = &state.learnings;
    let count = learnings.dispensable().saturating_sub(window as usize);
    let oldest = learnings.iter().filter(|it| it.is_dispensable());
    LearningRange::join(oldest.take(count).filter_map(|it| learning_number(&it.id)))
}

fn old_history(key: &FactKey, fact: &Fact) -> Option<OldHistory> {
    let entries = fact.history_before(KEPT_VALUES) as u64;
    let key = key.clone();
    (entries > 0).then_some(OldHistory { key, entries })
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or_default() as usize + 1
}

impl Dropped {
    /// Emits what there is if this many bytes more do not fit.
    fn make_room(&mut self, plan: &mut Plan<'_>, bytes: usize, by: Option<&Author>) {
        if self.bytes + bytes > BYTES {
            std::mem::take(self).emit(plan, by);
        }
        self.bytes += bytes;
    }

    fn emit(self, plan: &mut Plan<'_>, by: Option<&Author>) {
        if self.bytes > 0 {
            plan.emit(MemoryCompacted {
                up_to: plan.state.seq,
                learnings: self.learnings,
                history: self.history,
                by: by.cloned(),
            });
        }
    }
}
