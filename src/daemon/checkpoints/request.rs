//! Requests a checkpoint or rollback from a daemon and waits for its end. Called by the API.
//!
//! Invariant: the request is on disk before the wait begins. If the caller goes away, the work goes
//! on, if necessary with the next daemon.

use std::sync::Arc;

use crate::daemon::actor::handle::{CommandError, Handle, Journaled};
use crate::domain::effect::{self, Effect};
use crate::domain::event::{
    CheckpointDeleted, CheckpointMade, EffectFinished, EffectRequested, Event, RollbackAbandoned,
    RolledBack,
};
use crate::domain::ids::{CheckpointName, EffectId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::operation::Command;
use crate::domain::request::Request;
use crate::domain::state::State;
use crate::domain::state::undo::Action;

/// Events read at once.
const PAGE: usize = 256;

/// The result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The checkpoint was made.
    Made,
    /// The checkpoint was deleted.
    Deleted,
    /// It was done when its events were on disk: an undo of something else than a rollback.
    Accepted,
    /// Rolled back; this checkpoint undoes it.
    RolledBack {
        /// The checkpoint of the state before the rollback.
        safety: CheckpointName,
    },
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It was refused; nothing has changed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
    /// The rollback was abandoned; the target and the ideas are unchanged.
    #[error("the rollback to `{to}` was abandoned: {why}")]
    Abandoned {
        /// To what.
        to: CheckpointName,
        /// Why.
        why: String,
        /// The files in the way.
        files: Vec<String>,
    },
    /// The daemon ends; the next one goes on with it.
    #[error("the daemon is shutting down before this is finished; the next start carries on")]
    Ended,
}

/// Sends the command and waits for its end; also returns the seq of the last event about it.
pub async fn request(handle: &Handle, request: Request) -> Result<(Answer, u64), AskError> {
    let mut seq = handle.seq();
    let wanted = handle.read(|state| Wanted::of(state, &request.command));
    let accepted = handle.request(request).await?;
    if matches!(wanted, Wanted::Other) {
        return Ok((Answer::Accepted, accepted.seq));
    }
    let mut follower = Follower {
        handle,
        after: accepted.begin(),
        effect: None,
        missed: false,
    };
    loop {
        seq.mark_unchanged();
        if let Some((answer, seq)) = follower.follow(&wanted) {
            settled(handle).await;
            return answer.map(|answer| (answer, seq));
        }
        if let Some(answer) = wanted.by_state(handle) {
            return Ok((answer, handle.read(|state| state.seq)));
        }
        if follower.has_missed_the_end(&wanted) {
            let why = "it has ended; see the result in the log: swarm events";
            return Err(AskError::Failed(why.into()));
        }
        if seq.changed().await.is_err() {
            return Err(AskError::Ended);
        }
    }
}

/// How far a waiting caller has read. A rollback of thousands of ideas pushes events out of memory
/// unread; then it continues with what is left.
struct Follower<'a> {
    handle: &'a Handle,
    after: u64,
    effect: Option<EffectId>,
    missed: bool,
}

impl Follower<'_> {
    /// Reads on to the event that is the end, or to the last one.
    fn follow(&mut self, wanted: &Wanted) -> Option<(Result<Answer, AskError>, u64)> {
        loop {
            let Some(events) = self.handle.recent_after(self.after, PAGE) else {
                self.missed = true;
                self.after = self.handle.forgotten();
                let requested = self.handle.read(|state| wanted.requested(state));
                self.effect = self.effect.or(requested);
                continue;
            };
            self.after = events.last()?.seq;
            for event in &events {
                if let Some(answer) = wanted.judge(event, &mut self.effect) {
                    return Some((answer, event.seq));
                }
            }
        }
    }

    fn has_missed_the_end(&self, wanted: &Wanted) -> bool {
        let over = |state: &State| state.seq == self.after && !wanted.is_under_way(state);
        self.missed && self.handle.read(over)
    }
}

/// Until what a rollback leaves behind is given back, and work goes on. A daemon that ends before
/// leaves that to the next.
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

/// The checkpoint to which an undo of this action rolls back, if the action is a rollback.
fn undone_rollback(state: &State, seq: u64) -> Option<CheckpointName> {
    let mut actions = state.undo.actions.iter();
    let Action::Rollback { safety, .. } = &actions.find(|one| one.seq == seq)?.action else {
        return None;
    };
    Some(safety.clone())
}

enum Wanted {
    Make(CheckpointName),
    Delete(CheckpointName),
    RollBack(CheckpointName),
    Other,
}

impl Wanted {
    fn of(state: &State, command: &Command) -> Self {
        if let Command::Undo { seq, .. } = command {
            let rollback = undone_rollback(state, *seq);
            return rollback.map_or(Self::Other, Self::RollBack);
        }
        if let Command::CreateCheckpoint { name, .. } = command {
            return Self::Make(name.clone());
        }
        if let Command::DeleteCheckpoint { name } = command {
            return Self::Delete(name.clone());
        }
        if let Command::RollBack { name, .. } = command {
            return Self::RollBack(name.clone());
        }
        Self::Other
    }

    fn judge(
        &self,
        record: &Arc<Journaled>,
        effect: &mut Option<EffectId>,
    ) -> Option<Result<Answer, AskError>> {
        match (&record.event, self) {
            (Event::CheckpointMade(CheckpointMade { name, .. }), Self::Make(wanted))
                if name == wanted =>
            {
                Some(Ok(Answer::Made))
            }
            (Event::CheckpointDeleted(CheckpointDeleted { name }), Self::Delete(wanted))
                if name == wanted =>
            {
                Some(Ok(Answer::Deleted))
            }
            (Event::RolledBack(RolledBack { to, safety, .. }), Self::RollBack(wanted))
                if to == wanted =>
            {
                let safety = safety.clone();
                Some(Ok(Answer::RolledBack { safety }))
            }
            (
                Event::RollbackAbandoned(RollbackAbandoned { to, why, files }),
                Self::RollBack(wanted),
            ) if to == wanted => Some(Err(AskError::Abandoned {
                to: to.clone(),
                why: why.clone(),
                files: files.clone(),
            })),
            (Event::EffectRequested(EffectRequested { id, effect: this }), _)
                if self.is_mine(this) =>
            {
                *effect = Some(*id);
                None
            }
            (
                Event::EffectFinished(EffectFinished {
                    id,
                    error: Some(why),
                }),
                _,
            ) if Some(*id) == *effect => Some(Err(AskError::Failed(why.clone()))),
            _ => None,
        }
    }

    fn is_mine(&self, effect: &Effect) -> bool {
        match (self, effect) {
            (Self::Make(wanted), Effect::MakeCheckpoint(effect::MakeCheckpoint { name, .. }))
            | (
                Self::Delete(wanted),
                Effect::DeleteCheckpoint(effect::DeleteCheckpoint { name, .. }),
            ) => name == wanted,
            _ => false,
        }
    }

    /// Its effect that has no outcome yet.
    fn requested(&self, state: &State) -> Option<EffectId> {
        let mut outbox = state.outbox.iter();
        outbox.find_map(|(id, effect)| self.is_mine(effect).then_some(*id))
    }

    fn is_under_way(&self, state: &State) -> bool {
        match self {
            Self::RollBack(name) => {
                let rollback = state.rollback.as_deref();
                rollback.is_some_and(|rollback| rollback.to == *name)
            }
            Self::Make(_) | Self::Delete(_) => self.requested(state).is_some(),
            Self::Other => false,
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

#[cfg(test)]
mod tests {
    use crate::domain::event::{RollbackBegun, RollbackPlanned, TargetSeen};
    use std::sync::RwLock;

    use tokio::sync::{mpsc, watch};

    use super::*;
    use crate::daemon::actor::handle::{Accepted, Message, Published, RECENT_RECORDS};
    use crate::domain::state::IdeaStatus;
    use crate::domain::state::checkpoint::{IdeaThen, Reason, Rollback, RollbackStep};
    use crate::domain::testkit::{START, checkpoint_name, idea, oid};

    /// Takes one command, leads it to the first of these batches of events, and publishes the
    /// others one by one as soon as they can be seen to be waited for.
    async fn answer(command: Command, batches: Vec<Vec<Event>>) -> Result<Answer, AskError> {
        let (inbox, mut commands) = mpsc::channel(1);
        let (told, seq) = watch::channel(0);
        let published = Arc::new(RwLock::new(Published::default()));
        let handle = Handle {
            inbox,
            published,
            seq,
            tally: Arc::default(),
        };
        let daemon = handle.clone();
        let lives = async move {
            let Some(Message::Request(_, asker)) = commands.recv().await else {
                panic!("nobody asks");
            };
            let mut asker = Some(asker);
            let mut last = 0;
            for events in batches {
                let first = last;
                last += events.len() as u64;
                let number = |(at, event): (usize, &Event)| {
                    Arc::new(Journaled {
                        seq: first + 1 + at as u64,
                        ts: START,
                        event: event.clone(),
                    })
                };
                let records: Vec<_> = events.iter().enumerate().map(number).collect();
                daemon.publish(&records);
                told.send(last).unwrap();
                if let Some(asker) = asker.take() {
                    let accepted = Accepted {
                        seq: last,
                        events,
                        before: None,
                    };
                    asker.send(Ok(accepted)).unwrap();
                }
                // On this one thread whoever waits is next.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
            }
        };
        let (answer, ()) = tokio::join!(request(&handle, command.into()), lives);
        answer.map(|(answer, _)| answer)
    }

    fn begun() -> Event {
        let rollback = Rollback {
            to: checkpoint_name("mid"),
            commit: oid(1),
            safety: checkpoint_name("safety"),
            pause: false,
            resume: true,
            from: None,
            undoes: None,
            step: RollbackStep::Checking,
            at: START,
            ideas: std::collections::BTreeMap::new(),
        };
        Event::RollbackBegun(RollbackBegun {
            rollback: Box::new(rollback),
        })
    }

    fn planned(number: usize) -> Event {
        let then = IdeaThen {
            status: IdeaStatus::Pending,
            retry_count: 0,
            failed_attempts: 0,
            commit: None,
            landed_since: None,
            last_error: None,
            saved: None,
        };
        Event::RollbackPlanned(RollbackPlanned {
            id: idea(number as u64),
            idea: Box::new(then),
        })
    }

    fn rolled_back() -> Event {
        Event::RolledBack(RolledBack {
            to: checkpoint_name("mid"),
            commit: oid(1),
            safety: checkpoint_name("safety"),
        })
    }

    fn roll_back() -> Command {
        Command::RollBack {
            name: checkpoint_name("mid"),
            pause: false,
            from: None,
        }
    }

    #[tokio::test]
    async fn of_more_ideas_than_events_are_at_hand_a_rollback_is_told_of_all_the_same() {
        let plan = (1..=RECENT_RECORDS + 10).map(planned).collect();
        let answer = answer(roll_back(), vec![vec![begun()], plan, vec![rolled_back()]]).await;
        let safety = checkpoint_name("safety");
        assert_eq!(answer.unwrap(), Answer::RolledBack { safety });
    }

    #[tokio::test]
    async fn an_end_that_nobody_saw_is_not_made_up() {
        let mut batch = vec![rolled_back()];
        batch.extend((1..=RECENT_RECORDS).map(planned));
        let answer = answer(roll_back(), vec![vec![begun()], batch]).await;
        let error = answer.unwrap_err().to_string();
        assert!(error.contains("swarm events"), "{error}");
    }

    #[tokio::test]
    async fn why_a_checkpoint_failed_is_told_though_its_request_is_no_longer_at_hand() {
        let id = EffectId(1);
        let effect = Effect::MakeCheckpoint(effect::MakeCheckpoint {
            name: checkpoint_name("mid"),
            reason: Reason::Manual,
            target: "main".into(),
            at: START,
            tag: false,
        });
        let seen = |_| {
            Event::TargetSeen(TargetSeen {
                branch: "main".into(),
                commit: oid(1),
            })
        };
        let mut request = vec![Event::EffectRequested(EffectRequested { id, effect })];
        request.extend((0..=RECENT_RECORDS).map(seen));
        let failed = Event::EffectFinished(EffectFinished {
            id,
            error: Some("the tag is taken".into()),
        });
        let create = Command::CreateCheckpoint {
            name: checkpoint_name("mid"),
            tag: false,
        };
        let answer = answer(create, vec![request, vec![failed]]).await;
        let error = answer.unwrap_err().to_string();
        assert_eq!(error, "the tag is taken");
    }
}
