//! The memory that agents share: learnings, the board of facts, and the scratchpad's notes.
//!
//! | word | meaning |
//! | --- | --- |
//! | [`Learning`] | one sentence that somebody found out; it never changes |
//! | [`Fact`] | a value under a key, with version, evidence, history and rival claims |
//! | [`Note`] | a text under a key, shared by the agents, which expires unless it is kept |
//! | [`Evidence`] | who said something, in which event, about which files |
//!
//! Invariant: a fact's versions count from 1 without gaps, and nothing overwrites a version that
//! its writer did not see. Nothing merges or contradicts by similarity: only [`normal_form`]
//! compares. `decide::memory` decides, `evolve::memory` folds.

mod command;
mod compaction;
mod confidence;
mod evidence;
mod fact;
mod grounding;
mod invisible;
mod key;
mod learning;
mod memory_use;
mod note;
mod refusal;
pub mod synthesis;

pub use command::{
    Claim, ConfirmFact, DisputeFact, Learn, MemoryCommand, PutNote, Reference, Retracted, WriteFact,
};
pub(in crate::domain) use compaction::learning_id;
pub use compaction::{Compacted, KEPT_VALUES, LearningRange, OldHistory, learning_number};
pub use confidence::{confidence, landed_ideas};
pub use evidence::{Evidence, MAX_EVIDENCE, Sources};
pub(in crate::domain) use fact::NewValue;
pub use fact::{Board, Fact, FactStatus, MAX_HISTORY, OldValue, Retraction, Rival};
pub use grounding::Grounds;
pub use invisible::without_invisible;
pub use key::{BadKey, FactKey, NoteKey};
pub use learning::{Learning, Learnings};
pub use memory_use::{MAX_READ, MemoryUse};
pub use note::{Note, Notes};
pub use refusal::{CurrentValue, MemoryRefusal};
pub use synthesis::Synthesis;

/// Two texts say the same if their normal forms are equal: case and whitespace do not count.
pub fn normal_form(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}
