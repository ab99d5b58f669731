//! Which ideas and which agent an event is about.
//!
//! Invariant: the matches name every kind of event and effect, so that a new one does not compile
//! until someone has said what it is about.

use std::collections::BTreeMap;

use crate::domain::attention::NeedKey;
use crate::domain::effect::{Effect, Purpose, SetupTree};
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, EffectId, IdeaId, RunId};
use crate::domain::request::Author;

/// What an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// The ideas; its agent's own idea comes first.
    pub ideas: Vec<IdeaId>,
    /// The agent.
    pub agent: Option<AgentId>,
}

impl Subject {
    /// Adds the idea to a line that names only the agent.
    pub fn named_in(&self, words: String) -> String {
        let (Some(idea), Some(agent)) = (self.ideas.first(), &self.agent) else {
            return words;
        };
        if words.contains(idea.as_str()) {
            return words;
        }
        // The name of a run contains its agent's.
        let is_in_name = |letter: char| letter.is_alphanumeric() || letter == '-';
        let alone = words.match_indices(agent.as_str()).find(|(at, name)| {
            let (before, after) = (words.get(..*at), words.get(at + name.len()..));
            !before.is_some_and(|text| text.ends_with(is_in_name))
                && !after.is_some_and(|text| text.starts_with(is_in_name))
        });
        match alone.map(|(at, name)| words.split_at(at + name.len())) {
            Some((until, rest)) => format!("{until} on {idea}{rest}"),
            None => words,
        }
    }
}

/// What an event names itself.
#[derive(Default)]
struct Names<'e> {
    ideas: Vec<&'e IdeaId>,
    agent: Option<&'e AgentId>,
    run: Option<&'e RunId>,
    effect: Option<EffectId>,
    /// The event that a hook call is about.
    about: Option<u64>,
}

impl<'e> Names<'e> {
    fn idea(idea: &'e IdeaId) -> Self {
        Self {
            ideas: vec![idea],
            ..Self::default()
        }
    }

    fn agent(agent: &'e AgentId) -> Self {
        Self {
            agent: Some(agent),
            ..Self::default()
        }
    }

    fn author(author: &'e Author) -> Self {
        Self {
            ideas: author.idea().into_iter().collect(),
            agent: author.agent(),
            run: author.run(),
            ..Self::default()
        }
    }

    fn of(self, agent: Option<&'e AgentId>, idea: Option<&'e IdeaId>) -> Self {
        Self {
            ideas: idea.into_iter().collect(),
            agent,
            ..self
        }
    }

    fn run(run: &'e RunId) -> Self {
        Self {
            run: Some(run),
            ..Self::default()
        }
    }

    fn about(about: u64) -> Self {
        Self {
            about: Some(about),
            ..Self::default()
        }
    }
}

/// Follows the log to know whose an agent, a run, an effect and a hook call is.
#[derive(Debug, Default)]
pub struct Subjects {
    ideas: BTreeMap<AgentId, IdeaId>,
    runs: BTreeMap<RunId, Subject>,
    effects: BTreeMap<EffectId, Subject>,
    calls: BTreeMap<u64, Subject>,
}

impl Subjects {
    /// What the next event of the log is about.
    pub fn resolve(&mut self, seq: u64, event: &Event) -> Subject {
        let names = names(event);
        let mut subject = Subject {
            ideas: names.ideas.into_iter().cloned().collect(),
            agent: names.agent.cloned(),
        };
        if subject == Subject::default() {
            let by_run = names.run.and_then(|run| self.runs.get(run));
            let by_effect = || names.effect.and_then(|effect| self.effects.get(&effect));
            let by_call = || names.about.and_then(|about| self.calls.get(&about));
            let found = by_run.or_else(by_effect).or_else(by_call);
            subject = found.cloned().unwrap_or_default();
        }
        self.add_own_idea(event, &mut subject);
        if let Some(run) = names.run {
            let known = self.runs.entry(run.clone());
            known.or_insert_with(|| subject.clone());
        }
        match (names.effect, event) {
            (Some(effect), Event::EffectFinished(_)) => drop(self.effects.remove(&effect)),
            (Some(effect), _) => drop(self.effects.insert(effect, subject.clone())),
            (None, _) => {}
        }
        if matches!(event, Event::HookOwed(_) | Event::HookAsked(_)) {
            // A call that guards a step is about its own event, another one about the next event.
            self.calls.insert(seq, subject.clone());
            self.calls.insert(seq + 1, subject.clone());
        } else if matches!(event, Event::NeedArose(_)) {
            self.calls.insert(seq, subject.clone());
        }
        subject
    }

    /// An agent works on one idea, which the first event that names both says.
    fn add_own_idea(&mut self, event: &Event, subject: &mut Subject) {
        let Some(agent) = &subject.agent else {
            return;
        };
        // A redirect names the next idea, which another agent will take.
        let is_redirect = matches!(event, Event::AgentRedirected(_));
        if let (false, Some(idea)) = (is_redirect, subject.ideas.first()) {
            let known = self.ideas.entry(agent.clone());
            known.or_insert_with(|| idea.clone());
        }
        if let Some(own) = self.ideas.get(agent)
            && !subject.ideas.contains(own)
        {
            subject.ideas.insert(0, own.clone());
        }
    }
}

fn names(event: &Event) -> Names<'_> {
    match event {
        Event::IdeaAdded(it) => Names::idea(&it.id),
        Event::IdeaEdited(it) => Names::idea(&it.id),
        Event::IdeaRetried(it) => Names::idea(&it.id),
        Event::IdeaCancelled(it) => Names::idea(&it.id),
        Event::IdeaAssigned(it) => Names::idea(&it.id),
        Event::CancelUndone(it) => Names::idea(&it.id),
        Event::RedirectUndone(it) => Names::agent(&it.agent),
        Event::IdeaHeld(it) => Names::idea(&it.id),
        Event::IdeaUnheld(it) => Names::idea(&it.id),
        Event::IdeaLanded(it) => Names::idea(&it.id),
        Event::LandingFound(it) => Names::idea(&it.id),
        Event::MergeMoved(it) => Names::idea(&it.id),
        Event::MergeReleased(it) => Names::idea(&it.id),
        Event::MergeApproved(it) => Names::idea(&it.id),
        Event::MergeBuilt(it) => Names::idea(&it.id),
        Event::MergeConflicted(it) => Names::idea(&it.id),
        Event::ConflictLaidOut(it) => Names::idea(&it.id),
        Event::ConflictSettled(it) => Names::idea(&it.id),
        Event::ResolverFailed(it) => Names::idea(&it.id),
        Event::VerifyReady(it) => Names::idea(&it.id),
        Event::VerifyPassed(it) => Names::idea(&it.id),
        Event::VerifyDoubted(it) => Names::idea(&it.id),
        Event::MergeReturned(it) => Names::idea(&it.id),
        Event::RollbackPlanned(it) => Names::idea(&it.id),
        Event::WorkImported(it) => Names::idea(&it.id),
        Event::AgentImported(it) => Names::idea(&it.id),
        Event::SwarmImported(it) => Names::author(&it.by),
        Event::SwarmMoved(it) => Names::author(&it.by),
        Event::SwarmReclaimed(it) => Names::author(&it.by),
        Event::IdeaClaimed(it) => Names::default().of(Some(&it.agent), Some(&it.id)),
        Event::ApprovalWithdrawn(it) => Names::idea(&it.id),
        Event::MergeRejected(it) => Names::default().of(Some(&it.agent), Some(&it.id)),
        Event::MergeQueued(it) => Names::default().of(Some(&it.agent), Some(&it.id)),
        Event::HookAsked(it) => Names::default().of(Some(&it.agent), Some(&it.id)),
        Event::AgentRedirected(it) => Names::default().of(Some(&it.agent), Some(&it.to)),
        Event::NeedArose(it) => Names::default().of(None, it.idea.as_ref()),
        Event::NeedSettled(it) => need_names(&it.key),
        Event::NoticeDelivered(it) => Names::about(it.about),
        Event::NoticeFailed(it) => Names::about(it.about),
        Event::HookOwed(it) => Names::default().of(it.agent.as_ref(), it.idea.as_ref()),
        Event::VerifyStarted(it) => Names::run(&it.run).of(None, Some(&it.id)),
        Event::IterationStarted(it) => Names::run(&it.run).of(Some(&it.agent), None),
        Event::CommitHooksStarted(it) => Names::run(&it.run).of(Some(&it.agent), None),
        Event::CommitHooksPassed(it) => Names::agent(&it.agent),
        Event::GateStarted(it) => Names::run(&it.run).of(Some(&it.agent), None),
        Event::AttemptMoved(it) => Names::agent(&it.agent),
        Event::WorktreeReady(it) => Names::agent(&it.agent),
        Event::WorktreeLent(it) => Names::agent(&it.agent),
        Event::WorktreeStays(it) => Names::agent(&it.agent),
        Event::SignalSeen(it) => Names::agent(&it.agent),
        Event::IterationJudged(it) => Names::agent(&it.agent),
        Event::IterationExcused(it) => Names::agent(&it.agent),
        Event::SessionBegan(it) => Names::agent(&it.agent),
        Event::ProviderAwaited(it) => Names::agent(&it.agent),
        Event::SessionDropped(it) => Names::agent(&it.agent),
        Event::UsageSeen(it) => Names::agent(&it.agent),
        Event::AttemptSealed(it) => Names::agent(&it.agent),
        Event::GatePassed(it) => Names::agent(&it.agent),
        Event::GateFailed(it) => Names::agent(&it.agent),
        Event::GateDoubted(it) => Names::agent(&it.agent),
        Event::GateExcused(it) => Names::agent(&it.agent),
        Event::TaskSet(it) => Names::agent(&it.agent),
        Event::MessageQueued(it) => Names::agent(&it.agent),
        Event::EndingAsked(it) => Names::agent(&it.agent),
        Event::WorkSaved(it) => Names::agent(&it.agent),
        Event::AttemptEnded(it) => Names::agent(&it.agent),
        Event::Learned(it) => Names {
            agent: it.agent.as_ref(),
            ..Names::default()
        },
        Event::FactWritten(it) => Names::author(&it.evidence.author),
        Event::FactConfirmed(it) => Names::author(&it.evidence.author),
        Event::FactDisputed(it) => Names::author(&it.evidence.author),
        Event::MemoryRetracted(it) => Names::author(&it.by),
        Event::NotePut(it) => Names::author(&it.by),
        Event::NotesDropped(it) => it.by.as_ref().map_or_else(Names::default, Names::author),
        Event::CommandTaken(it) => Names::author(&it.by),
        Event::MemoryShown(it) => Names {
            run: Some(&it.run),
            ..Names::agent(&it.agent)
        },
        Event::MemoryRead(it) => Names {
            run: Some(&it.run),
            ..Names::agent(&it.agent)
        },
        Event::IterationRecorded(it) => Names {
            run: Some(&it.run),
            ideas: vec![&it.idea],
            ..Names::agent(&it.agent)
        },
        Event::MemoryCompacted(it) => it.by.as_ref().map_or_else(Names::default, Names::author),
        Event::Synthesised(it) => Names::run(&it.run),
        Event::ReplayAsked(it) => Names::run(&it.of),
        Event::ReplayJudged(it) => Names::run(&it.of),
        Event::RunStarted(it) => Names::run(&it.run),
        Event::BaselineStarted(it) => Names::run(&it.run),
        Event::SetupStarted(it) => of_tree(Names::run(&it.run), &it.tree),
        Event::SetupPassed(it) => of_tree(Names::default(), &it.tree),
        Event::RunEnded(it) => Names::run(&it.run),
        Event::AccountTried(it) => Names::run(&it.run),
        Event::ProfileTried(it) => Names::run(&it.run),
        Event::HookStarted(it) => Names {
            run: Some(&it.run),
            ..Names::about(it.about)
        },
        Event::HookCutOff(it) => Names::about(it.about),
        Event::HookFinished(it) => Names::about(it.about),
        Event::HookTimedOut(it) => Names::about(it.about),
        Event::TargetRewritten(it) => Names {
            ideas: it.dropped.iter().collect(),
            ..Names::default()
        },
        Event::StateRepaired(it) => Names {
            ideas: it.landed.iter().map(|landing| &landing.idea).collect(),
            ..Names::default()
        },
        Event::EffectRequested(it) => Names {
            effect: Some(it.id),
            ..effect_names(&it.effect)
        },
        Event::EffectFinished(it) => Names {
            effect: Some(it.id),
            ..Names::default()
        },
        Event::Mark(_)
        | Event::FactPinned(_)
        | Event::DaemonStarted(_)
        | Event::NumbersRaised(_)
        | Event::PhaseChanged(_)
        | Event::PauseSet(_)
        | Event::PauseLifted(_)
        | Event::SettingsLoaded(_)
        | Event::ModeSet(_)
        | Event::ClockWentBack(_)
        | Event::MachineSlept(_)
        | Event::RoomAwaited(_)
        | Event::WorktreesHeld(_)
        | Event::WorktreesFreed(_)
        | Event::TargetSeen(_)
        | Event::TargetSettled(_)
        | Event::BaselineReady(_)
        | Event::BaselinePassed(_)
        | Event::BaselineFailed(_)
        | Event::BaselineCleared(_)
        | Event::ChecksProbed(_)
        | Event::BaselineDoubted(_)
        | Event::AccountHeld(_)
        | Event::AccountFreed(_)
        | Event::ProfileHeld(_)
        | Event::ProfileFreed(_)
        | Event::BudgetReached(_)
        | Event::CheckpointMade(_)
        | Event::CheckpointDeleted(_)
        | Event::UndoRecorded(_)
        | Event::WorkRescued(_)
        | Event::RollbackBegun(_)
        | Event::RollbackStepped(_)
        | Event::RolledBack(_)
        | Event::RollbackAbandoned(_)
        | Event::HookApproved(_)
        | Event::RecordsExpired(_)
        | Event::NightBegan(_)
        | Event::NightEnded(_)
        | Event::WarningRaised(_)
        | Event::WarningCleared(_)
        | Event::StateRestored(_) => Names::default(),
    }
}

fn of_tree<'e>(names: Names<'e>, tree: &'e SetupTree) -> Names<'e> {
    match tree {
        SetupTree::Worktree { agent } => names.of(Some(agent), None),
        SetupTree::Merged { idea } => names.of(None, Some(idea)),
        SetupTree::Target | SetupTree::Control => names,
    }
}

fn effect_names(effect: &Effect) -> Names<'_> {
    match effect {
        Effect::PrepareWorktree(it) => Names::default().of(Some(&it.agent), Some(&it.idea)),
        Effect::Seal(it) => Names::default().of(Some(&it.agent), Some(&it.idea)),
        Effect::LendWorktree(it) => Names::agent(&it.agent),
        Effect::SaveWork(it) => Names::default().of(Some(&it.agent), Some(&it.idea)),
        Effect::BuildMerge(it) => Names::idea(&it.idea),
        Effect::PrepareVerify(it) => Names::idea(&it.idea),
        Effect::Land(it) => Names::idea(&it.idea),
        Effect::StartResolution(it) => Names::idea(&it.idea),
        Effect::FinishResolution(it) => Names::idea(&it.idea),
        Effect::StopRun(it) => Names::run(&it.run),
        Effect::Run(it) => match &it.purpose {
            Purpose::Iteration { agent, .. }
            | Purpose::Gate { agent, .. }
            | Purpose::CommitHooks { agent } => Names::run(&it.run).of(Some(agent), None),
            Purpose::Verify { idea, .. } => Names::run(&it.run).of(None, Some(idea)),
            Purpose::Baseline { .. }
            | Purpose::Canary { .. }
            | Purpose::Synthesis { .. }
            | Purpose::Replay { .. } => Names::run(&it.run),
            Purpose::Setup { tree, .. } => of_tree(Names::run(&it.run), tree),
            Purpose::Hook { agent, idea, .. } => {
                Names::run(&it.run).of(agent.as_ref(), idea.as_ref())
            }
        },
        Effect::PrepareBaseline(_)
        | Effect::ReleaseWorktree(_)
        | Effect::MakeCheckpoint(_)
        | Effect::DeleteCheckpoint(_)
        | Effect::CheckRollback(_)
        | Effect::MoveTarget(_)
        | Effect::ArchiveInbox(_) => Names::default(),
        Effect::Notify(it) => Names::about(it.about),
        Effect::JudgeReplay(it) => Names::run(&it.run),
    }
}

fn need_names(key: &NeedKey) -> Names<'_> {
    match key {
        NeedKey::Conflict { idea }
        | NeedKey::Review { idea }
        | NeedKey::Merge { idea, .. }
        | NeedKey::Checkout { idea, .. }
        | NeedKey::Failed { idea }
        | NeedKey::Blocked { idea }
        | NeedKey::WaitsInVain { idea, .. } => Names::idea(idea),
        NeedKey::Question { agent } => Names::agent(agent),
        NeedKey::Rewritten { .. }
        | NeedKey::Baseline { .. }
        | NeedKey::Blind { .. }
        | NeedKey::Paused
        | NeedKey::Account { .. }
        | NeedKey::Worktrees
        | NeedKey::Profile { .. } => Names::default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(kind: &str, data: &Value) -> Event {
        serde_json::from_value(json!({"kind": kind, "data": data})).unwrap()
    }

    #[test]
    fn the_idea_stands_behind_the_name_of_its_agent_and_not_within_that_of_a_run() {
        let subject = Subject {
            ideas: vec!["idea-002".parse().unwrap()],
            agent: Some("ed-001".parse().unwrap()),
        };
        for (words, expected) in [
            ("ed-001 is stuck", "ed-001 on idea-002 is stuck"),
            ("run r0002-ed-001-q1 exited", "run r0002-ed-001-q1 exited"),
            (
                "run r0002-ed-001-q1 of ed-001",
                "run r0002-ed-001-q1 of ed-001 on idea-002",
            ),
            ("ed-001 took idea-002", "ed-001 took idea-002"),
        ] {
            assert_eq!(subject.named_in(words.to_owned()), expected);
        }
    }

    #[test]
    fn runs_effects_and_hook_calls_belong_to_their_idea() {
        let log = [
            event(
                "ideaClaimed",
                &json!({"id": "idea-001", "agent": "ed-001", "attempt": 1,
                "profile": "ed", "branch": "b", "worktree": "w"}),
            ),
            event(
                "effectRequested",
                &json!({"id": 7, "effect": {"run": {"run": "r1-x",
                "purpose": {"gate": {"agent": "ed-001", "index": 0, "command": "true"}},
                "timeoutMs": 1}}}),
            ),
            event("runStarted", &json!({"run": "r1-x", "pid": 1})),
            event("effectFinished", &json!({"id": 7})),
            event(
                "hookAsked",
                &json!({"hook": "pre-merge", "id": "idea-001", "agent": "ed-001"}),
            ),
            event(
                "hookFinished",
                &json!({"hook": "pre-merge", "about": 5, "how": "ok",
                "well": true}),
            ),
            event(
                "agentRedirected",
                &json!({"agent": "ed-001", "to": "idea-002",
                "newWorktree": false}),
            ),
        ];
        let mut subjects = Subjects::default();
        let found: Vec<Subject> = (1..)
            .zip(&log)
            .map(|(seq, event)| subjects.resolve(seq, event))
            .collect();
        let one: IdeaId = "idea-001".parse().unwrap();
        for (subject, event) in found.iter().zip(&log) {
            assert_eq!(subject.ideas.first(), Some(&one), "{event:?}");
            assert_eq!(
                subject.agent.as_ref().map(AgentId::as_str),
                Some("ed-001"),
                "{event:?}"
            );
        }
        assert_eq!(found[6].ideas.len(), 2, "{:?}", found[6]);
        let unknown = event("effectFinished", &json!({"id": 7}));
        assert_eq!(subjects.resolve(8, &unknown), Subject::default());
    }
}
