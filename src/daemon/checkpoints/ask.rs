//! Asking a daemon for a checkpoint or a rollback, and waiting for its end.
//!
//! Invariant: the request is on disk before anything is waited for. Who goes away changes nothing: what was asked for goes on, if need be with
//! the next daemon.

use std::sync::Arc;

use crate::daemon::handle::{CommandError, Handle, Journaled};
use crate::domain::command::Command;
use crate::domain::effect::Effect;
use crate::domain::event::Event;
use crate::domain::ids::CheckpointName;
use crate::domain::lifecycle::SwarmPhase;

/// So many events are looked at together.
const PAGE: usize = 256;

/// What it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The checkpoint is there.
    Made,
    /// The checkpoint is gone.
    Deleted,
    /// Rolled back; this checkpoint undoes it.
    RolledBack {
        /// It.
        safety: CheckpointName,
    },
}

/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It was refused; nothing has changed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
    /// The rollback was given up; the target and the ideas are as they were.
    #[error("the rollback to `{to}` was given up: {why}")]
    Abandoned {
        /// To what.
        to: CheckpointName,
        /// Why.
        why: String,
        /// The files in the way.
        files: Vec<String>,
    },
    /// The daemon ends; the next one goes on with it.
    #[error("the daemon ends before this is done; the next start goes on with it")]
    Ended,
}

/// Asks, and waits for the end; with the seq of the last event that tells of it.
pub async fn ask(handle: &Handle, command: Command) -> Result<(Answer, u64), AskError> {
    let mut seq = handle.seq();
    let wanted = Wanted::of(&command);
    let accepted = handle.command(command).await?;
    let mut after = accepted.seq.saturating_sub(accepted.events.len() as u64);
    let mut effect = None;
    loop {
        seq.mark_unchanged();
        while let Some(events) = handle.recent_after(after, PAGE) {
            let Some(last) = events.last() else { break };
            after = last.seq;
            for event in &events {
                if let Some(answer) = wanted.judge(event, &mut effect) {
                    settled(handle).await;
                    return answer.map(|answer| (answer, event.seq));
                }
            }
        }
        let missed = handle.recent_after(after, PAGE).is_none();
        if missed && handle.read(|state| state.rollback.is_none()) {
            let why = "it has ended, and how stands in the log: swarm events";
            return Err(AskError::Failed(why.into()));
        }
        if let Some(answer) = wanted.by_state(handle) {
            return Ok((answer, handle.read(|state| state.seq)));
        }
        if seq.changed().await.is_err() {
            return Err(AskError::Ended);
        }
    }
}

/// Until what a rollback leaves behind is given back, and work goes on. A daemon that ends before leaves that to the next.
async fn settled(handle: &Handle) {
    let mut seq = handle.seq();
    loop {
        seq.mark_unchanged();
        let under_way = handle.read(|state| state.swarm.phase == SwarmPhase::RollingBack);
        if !under_way || seq.changed().await.is_err() {
            return;
        }
    }
}

enum Wanted {
    Make(CheckpointName),
    Delete(CheckpointName),
    RollBack(CheckpointName),
    Other,
}

impl Wanted {
    fn of(command: &Command) -> Self {
        match command {
            Command::CreateCheckpoint { name } => Self::Make(name.clone()),
            Command::DeleteCheckpoint { name } => Self::Delete(name.clone()),
            Command::RollBack { name, .. } => Self::RollBack(name.clone()),
            _ => Self::Other,
        }
    }

    fn judge(
        &self,
        record: &Arc<Journaled>,
        effect: &mut Option<crate::domain::ids::EffectId>,
    ) -> Option<Result<Answer, AskError>> {
        match (&record.event, self) {
            (Event::CheckpointMade { name, .. }, Self::Make(wanted)) if name == wanted => {
                Some(Ok(Answer::Made))
            }
            (Event::CheckpointDeleted { name }, Self::Delete(wanted)) if name == wanted => {
                Some(Ok(Answer::Deleted))
            }
            (Event::RolledBack { to, safety, .. }, Self::RollBack(wanted)) if to == wanted => {
                let safety = safety.clone();
                Some(Ok(Answer::RolledBack { safety }))
            }
            (Event::RollbackAbandoned { to, why, files }, Self::RollBack(wanted))
                if to == wanted =>
            {
                Some(Err(AskError::Abandoned {
                    to: to.clone(),
                    why: why.clone(),
                    files: files.clone(),
                }))
            }
            (Event::EffectRequested { id, effect: this }, _) if self.is_mine(this) => {
                *effect = Some(*id);
                None
            }
            (
                Event::EffectFinished {
                    id,
                    error: Some(why),
                },
                _,
            ) if Some(*id) == *effect => Some(Err(AskError::Failed(why.clone()))),
            _ => None,
        }
    }

    fn is_mine(&self, effect: &Effect) -> bool {
        match (self, effect) {
            (Self::Make(wanted), Effect::MakeCheckpoint { name, .. })
            | (Self::Delete(wanted), Effect::DeleteCheckpoint { name, .. }) => name == wanted,
            _ => false,
        }
    }

    /// Asked for twice at once, or so slow that the events are no longer at hand.
    fn by_state(&self, handle: &Handle) -> Option<Answer> {
        handle.read(|state| match self {
            Self::Make(name) => state.checkpoints.contains_key(name).then_some(Answer::Made),
            Self::Delete(name) => {
                let gone = !state.checkpoints.contains_key(name);
                gone.then_some(Answer::Deleted)
            }
            Self::RollBack(_) | Self::Other => None,
        })
    }
}
