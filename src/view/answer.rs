//! The answer to a command that was carried out, with and without a daemon.
//!
//! Invariant: its shape depends on the command alone. Whoever asked learns the sequence number of
//! the command's last event, or of the log's last event if it changed nothing.

use serde::Serialize;
use utoipa::ToSchema;

use super::memory::{
    self, CompactedView, FactChangedView, HitView, LearnedView, NotePutView, RetractedView,
    SynthesisBegunView, Taken, WrittenView,
};
use crate::domain::ids::{CheckpointName, IdeaId};
use crate::domain::memory::MemoryCommand;
use crate::domain::operation::Command;
use crate::domain::state::State;

/// The answer to a command.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Answer {
    /// To `learn`.
    Learned(LearnedView),
    /// To `writeFact`.
    Written(WrittenView),
    /// To `confirmFact` and `disputeFact`.
    FactChanged(FactChangedView),
    /// To `putNote` with a content.
    NotePut(NotePutView),
    /// To `retract`.
    Retracted(RetractedView),
    /// To `compactMemory`.
    Compacted(CompactedView),
    /// To `synthesize`.
    SynthesisBegun(SynthesisBegunView),
    /// To all others.
    Done(Done),
}

/// The command is on disk.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// The new idea.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>, example = "idea-001")]
    pub id: Option<IdeaId>,
    /// The sequence number of the command's last event, or of the log's last event if the command
    /// changed nothing.
    pub seq: u64,
    /// A note that a running agent continues as before: with the old text, or though its idea is
    /// held.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub note: Option<String>,
    /// For a rollback: the checkpoint to roll back to in order to undo it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub safety: Option<CheckpointName>,
}

impl Answer {
    /// The answer to an accepted command in the state after it. `similar` are the hits for
    /// [`compared_text`].
    pub fn of(state: &State, command: &Command, taken: &Taken<'_>, similar: Vec<HitView>) -> Self {
        if let Command::Memory(command) = command {
            return Self::of_memory(state, command, taken, similar);
        }
        let note = if let Command::EditIdea { id, .. } = command {
            super::edited(state, id)
        } else if let Command::HoldIdea { id } = command {
            super::held(state, id)
        } else {
            None
        };
        Self::Done(Done {
            id: taken.added_idea(),
            note,
            ..Done::at(taken.seq)
        })
    }

    fn of_memory(
        state: &State,
        command: &MemoryCommand,
        taken: &Taken<'_>,
        similar: Vec<HitView>,
    ) -> Self {
        match command {
            MemoryCommand::Learn(learn) => {
                Self::Learned(memory::learned(state, learn, taken, similar))
            }
            MemoryCommand::WriteFact(write) => {
                Self::Written(memory::written(state, &write.key, taken, similar))
            }
            MemoryCommand::ConfirmFact(confirm) => {
                Self::FactChanged(memory::changed_fact(state, &confirm.key, taken))
            }
            MemoryCommand::DisputeFact(dispute) => {
                Self::FactChanged(memory::changed_fact(state, &dispute.key, taken))
            }
            MemoryCommand::PutNote(put) if put.content.is_some() => {
                Self::NotePut(memory::put_note(state, &put.key, taken))
            }
            MemoryCommand::Retract { .. } => Self::Retracted(memory::retracted(taken)),
            MemoryCommand::Compact => Self::Compacted(memory::compacted(taken)),
            MemoryCommand::Synthesize { .. } => {
                Self::SynthesisBegun(memory::synthesis_begun(taken))
            }
            MemoryCommand::Pin { .. } | MemoryCommand::PutNote(_) => {
                Self::Done(Done::at(taken.seq))
            }
        }
    }
}

impl Done {
    /// Done by the event with this sequence number.
    pub fn at(seq: u64) -> Self {
        Self {
            seq,
            ..Self::default()
        }
    }
}

/// What a claim is compared with the rest of the memory by.
#[derive(Debug, PartialEq, Eq)]
pub struct ComparedText {
    /// The words.
    pub text: String,
    /// The references of the claim itself, which are no hits.
    pub except: Vec<String>,
}

/// The words whose most similar facts and learnings belong into the answer; `None` for a command
/// that makes no claim.
pub fn compared_text(state: &State, command: &Command, taken: &Taken<'_>) -> Option<ComparedText> {
    if let Command::Memory(MemoryCommand::Learn(learn)) = command {
        return Some(ComparedText {
            text: learn.content.clone(),
            except: memory::learned_references(state, learn, taken),
        });
    }
    if let Command::Memory(MemoryCommand::WriteFact(write)) = command {
        return Some(ComparedText {
            text: format!("{} {}", write.key, write.value),
            except: vec![write.key.to_string()],
        });
    }
    None
}
