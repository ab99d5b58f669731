//! What has changed since a dialog was drawn.
//!
//! Invariant: one exhaustive match, so that a new kind of event must be placed.

use std::sync::Arc;

use crate::api::ApiError;
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId};
use crate::domain::state::State;
use crate::web::Site;
use crate::web::pages::WebError;
use crate::web::parts;

/// The most events that are looked at; after more, the dialog is drawn anew in any case.
const MOST: usize = 4_096;

/// What must not have changed since a dialog was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Watch {
    /// The action is right whatever has happened, or binds itself to what was shown.
    Nothing,
    /// An idea, and who works on it.
    Idea(IdeaId),
    /// Several ideas, and who works on them.
    Ideas(Vec<IdeaId>),
    /// An agent and its idea.
    Agent(AgentId),
    /// The target and the work that waits for it.
    Target,
    /// Whether the swarm runs.
    Phase,
    /// One checkpoint, and the target that a rollback moves.
    Checkpoint(CheckpointName),
}

impl Watch {
    /// What it watches, for people.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Nothing => "nothing".into(),
            Self::Idea(id) => id.to_string(),
            Self::Ideas(_) => "what you chose".into(),
            Self::Agent(id) => id.to_string(),
            Self::Target => "the target".into(),
            Self::Phase => "the swarm".into(),
            Self::Checkpoint(name) => format!("checkpoint {name}"),
        }
    }
}

/// What an event changes.
enum Object<'e> {
    Idea(&'e IdeaId),
    /// What becomes of an agent.
    Agent(&'e AgentId),
    /// How far an agent is.
    Progress(&'e AgentId),
    /// A new idea, which may wait for others.
    Dependent(&'e [IdeaId]),
    Target,
    Phase,
    Checkpoint(&'e CheckpointName),
    Everything,
}

/// The changes of what is watched after event `seq`, in words, oldest first.
pub(super) async fn since(
    site: &Arc<Site>,
    seq: Option<u64>,
    watch: &Watch,
) -> Result<Vec<String>, WebError> {
    let Some(seq) = seq.filter(|_| *watch != Watch::Nothing) else {
        return Ok(Vec::new());
    };
    let Some(events) = events_after(site, seq).await? else {
        return Ok(vec![format!("more than {MOST} events have happened")]);
    };
    Ok(site.api.handle.read(|state| {
        let all = events.iter().filter_map(change);
        let watched = all.filter(|(object, _)| is_watched(state, watch, object));
        watched.map(|(_, words)| words).collect()
    }))
}

/// The events after `seq`; `None` if they are too many.
pub(super) async fn events_after(site: &Site, seq: u64) -> Result<Option<Vec<Event>>, WebError> {
    let recent = site.api.handle.recent_after(seq, MOST + 1);
    let all: Vec<Event> = if let Some(recent) = recent {
        recent.iter().map(|one| one.event.clone()).collect()
    } else {
        let log = Arc::clone(&site.api.log);
        let read = tokio::task::spawn_blocking(move || log.read(seq, MOST + 1)).await;
        let read = read.map_err(|error| WebError::failed(error.to_string()))?;
        let read = read.map_err(|error| ApiError::unreadable("the event log", &error))?;
        read.into_iter().map(|one| one.event).collect()
    };
    Ok((all.len() <= MOST).then_some(all))
}

fn is_watched(state: &State, watch: &Watch, object: &Object<'_>) -> bool {
    if matches!(object, Object::Everything) {
        return *watch != Watch::Nothing;
    }
    match watch {
        Watch::Nothing => false,
        Watch::Idea(id) => is_about(state, id, object),
        Watch::Ideas(ids) => ids.iter().any(|id| is_about(state, id, object)),
        Watch::Agent(id) => {
            matches!(object, Object::Idea(its) if idea_of(state, id) == Some(*its))
                || matches!(object, Object::Agent(its) | Object::Progress(its) if id == *its)
        }
        Watch::Target => matches!(object, Object::Target),
        Watch::Phase => matches!(object, Object::Phase),
        Watch::Checkpoint(name) => {
            matches!(object, Object::Target)
                || matches!(object, Object::Checkpoint(its) if name == *its)
        }
    }
}

fn is_about(state: &State, id: &IdeaId, object: &Object<'_>) -> bool {
    matches!(object, Object::Idea(its) if id == *its)
        || matches!(object, Object::Agent(agent) if idea_of(state, agent) == Some(id))
        || matches!(object, Object::Dependent(after) if after.contains(id))
}

fn idea_of<'s>(state: &'s State, agent: &AgentId) -> Option<&'s IdeaId> {
    let live = state.agents.get(agent).map(|attempt| &attempt.idea);
    live.or_else(|| state.ended.get(agent).map(|ended| &ended.idea))
}

/// What an event changes that a dialog speaks of, and how, in words.
fn change(event: &Event) -> Option<(Object<'_>, String)> {
    Some(match event {
        Event::IdeaAdded(it) => (
            Object::Dependent(&it.idea.after),
            format!("{} was added and waits for it", it.id),
        ),
        Event::IdeaEdited(it) => (Object::Idea(&it.id), format!("{} was edited", it.id)),
        Event::AgentImported(it) => (
            Object::Idea(&it.id),
            format!("{} goes on from an imported agent", it.id),
        ),
        Event::IdeaRetried(it) => (Object::Idea(&it.id), format!("{} was retried", it.id)),
        Event::IdeaCancelled(it) => (Object::Idea(&it.id), format!("{} was cancelled", it.id)),
        Event::IdeaAssigned(it) => (Object::Idea(&it.id), format!("{} was assigned", it.id)),
        Event::CancelUndone(it) => (
            Object::Idea(&it.id),
            format!("the cancellation of {} was taken back", it.id),
        ),
        Event::IdeaHeld(it) => (Object::Idea(&it.id), format!("{} was held", it.id)),
        Event::IdeaUnheld(it) => (Object::Idea(&it.id), format!("{} was released", it.id)),
        Event::IdeaClaimed(it) => (
            Object::Idea(&it.id),
            format!("{} began to work on {}", it.agent, it.id),
        ),
        Event::MergeQueued(it) => (
            Object::Idea(&it.id),
            format!("the work of {} came to the merge train", it.id),
        ),
        Event::MergeApproved(it) => (
            Object::Idea(&it.id),
            format!("the work of {} was approved", it.id),
        ),
        Event::MergeRejected(it) => (
            Object::Idea(&it.id),
            format!("the work of {} was sent back to {}", it.id, it.agent),
        ),
        Event::ApprovalWithdrawn(it) => (
            Object::Idea(&it.id),
            format!("the approval of {} was taken back", it.id),
        ),
        Event::MergeConflicted(it) => (
            Object::Idea(&it.id),
            format!("{} is in conflict with the target", it.id),
        ),
        Event::ConflictSettled(it) => (
            Object::Idea(&it.id),
            format!("the conflict of {} was resolved", it.id),
        ),
        Event::MergeReturned(it) => (
            Object::Idea(&it.id),
            format!("the checks sent {} back to its agent", it.id),
        ),
        Event::LandingFound(it) => (Object::Target, format!("it has the work of {}", it.id)),
        Event::IdeaLanded(it) => (Object::Idea(&it.id), format!("{} landed", it.id)),
        Event::AttemptMoved(it) => (
            Object::Progress(&it.agent),
            format!("{}: {}", it.agent, parts::doing(it.phase).to_lowercase()),
        ),
        Event::IterationStarted(it) => (
            Object::Progress(&it.agent),
            format!("{} began iteration {}", it.agent, it.iteration),
        ),
        Event::AgentRedirected(it) => (
            Object::Agent(&it.agent),
            format!("{} was redirected to {}", it.agent, it.to),
        ),
        Event::RedirectUndone(it) => (
            Object::Agent(&it.agent),
            format!("the redirect of {} was taken back", it.agent),
        ),
        Event::EndingAsked(it) => (
            Object::Agent(&it.agent),
            format!("{} was told to end", it.agent),
        ),
        Event::AttemptEnded(it) => (Object::Agent(&it.agent), format!("{} {}", it.agent, it.end)),
        Event::TargetSeen(it) => (
            Object::Target,
            format!("{} moved to {:.10}", it.branch, it.commit),
        ),
        Event::TargetRewritten(it) => (
            Object::Target,
            format!("the history of the target was rewritten to {:.10}", it.to),
        ),
        Event::TargetSettled(_) => (
            Object::Target,
            "it was decided what becomes of the missing work".into(),
        ),
        Event::PhaseChanged(it) => (
            Object::Phase,
            format!("the swarm: {}", parts::phase(it.phase).0.to_lowercase()),
        ),
        Event::CheckpointMade(it) => (
            Object::Checkpoint(&it.name),
            format!("checkpoint {} was created", it.name),
        ),
        Event::CheckpointDeleted(it) => (
            Object::Checkpoint(&it.name),
            format!("checkpoint {} was deleted", it.name),
        ),
        Event::RollbackBegun(_) => (Object::Everything, "a rollback began".into()),
        Event::RolledBack(it) => (
            Object::Everything,
            format!("the swarm was rolled back to {}", it.to),
        ),
        Event::StateRepaired(_) | Event::StateRestored(_) => {
            (Object::Everything, "the state was repaired".into())
        }
        Event::SwarmImported(_) | Event::WorkImported(_) => {
            (Object::Everything, "the swarm was imported".into())
        }
        Event::SwarmMoved(_) => (Object::Everything, "the swarm has moved away".into()),
        Event::SwarmReclaimed(_) => (Object::Everything, "the swarm was reclaimed".into()),
        Event::Mark(_)
        | Event::DaemonStarted(_)
        | Event::NumbersRaised(_)
        | Event::PauseSet(_)
        | Event::PauseLifted(_)
        | Event::SettingsLoaded(_)
        | Event::ModeSet(_)
        | Event::ClockWentBack(_)
        | Event::MachineSlept(_)
        | Event::RoomAwaited(_)
        | Event::WorktreesHeld(_)
        | Event::WorktreesFreed(_)
        | Event::BaselineReady(_)
        | Event::BaselineStarted(_)
        | Event::BaselinePassed(_)
        | Event::BaselineFailed(_)
        | Event::BaselineCleared(_)
        | Event::ChecksProbed(_)
        | Event::BaselineDoubted(_)
        | Event::GateDoubted(_)
        | Event::GateExcused(_)
        | Event::VerifyDoubted(_)
        | Event::SetupStarted(_)
        | Event::SetupPassed(_)
        | Event::WorktreeReady(_)
        | Event::WorktreeLent(_)
        | Event::WorktreeStays(_)
        | Event::GateStarted(_)
        | Event::CommitHooksStarted(_)
        | Event::RunStarted(_)
        | Event::RunEnded(_)
        | Event::SignalSeen(_)
        | Event::IterationJudged(_)
        | Event::IterationExcused(_)
        | Event::SessionBegan(_)
        | Event::ProviderAwaited(_)
        | Event::SessionDropped(_)
        | Event::UsageSeen(_)
        | Event::AccountHeld(_)
        | Event::AccountTried(_)
        | Event::AccountFreed(_)
        | Event::ProfileHeld(_)
        | Event::ProfileTried(_)
        | Event::ProfileFreed(_)
        | Event::BudgetReached(_)
        | Event::AttemptSealed(_)
        | Event::GatePassed(_)
        | Event::CommitHooksPassed(_)
        | Event::GateFailed(_)
        | Event::TaskSet(_)
        | Event::MessageQueued(_)
        | Event::WorkSaved(_)
        | Event::MergeMoved(_)
        | Event::MergeReleased(_)
        | Event::MergeBuilt(_)
        | Event::ConflictLaidOut(_)
        | Event::ResolverFailed(_)
        | Event::VerifyReady(_)
        | Event::VerifyStarted(_)
        | Event::VerifyPassed(_)
        | Event::RollbackPlanned(_)
        | Event::RollbackStepped(_)
        | Event::RollbackAbandoned(_)
        | Event::UndoRecorded(_)
        | Event::WorkRescued(_)
        | Event::HookOwed(_)
        | Event::HookAsked(_)
        | Event::HookStarted(_)
        | Event::HookCutOff(_)
        | Event::HookFinished(_)
        | Event::HookTimedOut(_)
        | Event::HookApproved(_)
        | Event::Learned(_)
        | Event::FactWritten(_)
        | Event::FactConfirmed(_)
        | Event::FactDisputed(_)
        | Event::FactPinned(_)
        | Event::MemoryRetracted(_)
        | Event::NotePut(_)
        | Event::NotesDropped(_)
        | Event::MemoryShown(_)
        | Event::MemoryRead(_)
        | Event::MemoryCompacted(_)
        | Event::Synthesised(_)
        | Event::IterationRecorded(_)
        | Event::RecordsExpired(_)
        | Event::ReplayAsked(_)
        | Event::ReplayJudged(_)
        | Event::CommandTaken(_)
        | Event::WarningRaised(_)
        | Event::WarningCleared(_)
        | Event::NeedArose(_)
        | Event::NeedSettled(_)
        | Event::NightBegan(_)
        | Event::NightEnded(_)
        | Event::NoticeDelivered(_)
        | Event::NoticeFailed(_)
        | Event::EffectRequested(_)
        | Event::EffectFinished(_) => return None,
    })
}
