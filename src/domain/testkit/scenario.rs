//! A story: given these events, when this comes in, then that follows.

use std::collections::BTreeMap;

use super::outcomes::{self, failed};
use super::{START, invariants, new_idea, oid, render, settings};
use crate::domain::decide::{self, Decided};
use crate::domain::effect::{self, Effect, Purpose, Saved};
use crate::domain::event::Event;
use crate::domain::evolve::evolve;
use crate::domain::ids::{AgentId, EffectId, IdeaId, RunId};
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::operation::{Command, NewIdea};
use crate::domain::outcome::{
    BaselineReady, BuildMergeOutcome, CheckRollbackOutcome, CheckpointDeleted, Failure,
    FailureKind, InboxArchived, LandOutcome, LendOutcome, MoveTargetOutcome, NotifyOutcome,
    Outcome, StopDelivered, WorktreePrepared, WorktreeReleased,
};
use crate::domain::rejection::Rejection;
use crate::domain::request::Request;
use crate::domain::settings::Settings;
use crate::domain::signal::Signal;
use crate::domain::state::checkpoint::{
    Checkpoint, IdeaThen, Reason, SavedWork, Unfinished, unfinished,
};
use crate::domain::state::{Attempt, Idea, MergeEntry, State};
use crate::domain::time::Timestamp;

/// More rounds than any advance may take.
pub(crate) const ROUNDS: usize = 1_000;

/// See the module.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) state: State,
    pub(crate) now: Timestamp,
    pub(crate) log: Vec<(Timestamp, Event)>,
    told: usize,
}

impl Scenario {
    /// No daemon has ever run.
    pub(crate) fn empty() -> Self {
        Self {
            state: State::default(),
            now: START,
            log: Vec::new(),
            told: 0,
        }
    }

    /// A swarm that runs with these settings.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut this = Self::empty();
        this.start(change);
        this.told = this.log.len();
        this
    }

    /// A swarm that runs.
    pub(crate) fn running() -> Self {
        Self::with(|_| ())
    }

    /// A daemon starts: also after a crash.
    pub(crate) fn start(&mut self, change: impl FnOnce(&mut Settings)) -> &mut Self {
        let version = "1.0.0".into();
        self.when(Observation::DaemonStarted {
            version,
            counters: None,
            host: None,
        });
        self.load(change);
        self.when(Observation::RecoveryDone)
    }

    /// A daemon is killed, and another starts: nothing is known but the log.
    pub(crate) fn restart(&mut self) -> &mut Self {
        let settings = *self.state.settings.clone().unwrap();
        self.state = fold(&self.log);
        self.start(|new| *new = settings)
    }

    pub(crate) fn load(&mut self, change: impl FnOnce(&mut Settings)) -> &mut Self {
        let mut new = match &self.state.settings {
            Some(settings) => Settings::clone(settings),
            None => settings(),
        };
        change(&mut new);
        self.command(Command::LoadSettings {
            hash: "hash".into(),
            settings: Box::new(new),
        })
    }

    /// These events are in the log already.
    pub(crate) fn given(&mut self, events: impl IntoIterator<Item = Event>) -> &mut Self {
        self.fold(events.into_iter().collect());
        self.told = self.log.len();
        self
    }

    /// This is seen; then all that can go on goes on.
    #[expect(clippy::needless_pass_by_value, reason = "a story is made of values")]
    pub(crate) fn when(&mut self, seen: Observation) -> &mut Self {
        let events = decide::observation(&self.state, &seen, self.now);
        self.fold(events);
        self.advance()
    }

    /// This is asked for, and it is possible.
    #[expect(clippy::needless_pass_by_value, reason = "a story is made of values")]
    pub(crate) fn command(&mut self, command: Command) -> &mut Self {
        if let Err(rejection) = self.ask(&command) {
            panic!("{command:?} is refused: {rejection}");
        }
        self
    }

    /// This is asked for.
    pub(crate) fn ask(&mut self, command: &Command) -> Result<(), Rejection> {
        let events = decide::command(&self.state, command, self.now)?;
        self.fold(events);
        self.advance();
        Ok(())
    }

    /// Somebody asks for this.
    pub(crate) fn request(&mut self, request: &Request) -> Result<Decided, Rejection> {
        let decided = decide::request(&self.state, request, self.now)?;
        if let Decided::Events(events) = &decided {
            self.fold(events.clone());
            self.advance();
        }
        Ok(decided)
    }

    /// This is asked for, and it is refused: code, sentence and suggestions.
    pub(crate) fn refused(&mut self, command: &Command) -> String {
        let rejection = self.ask(command).expect_err("it is accepted");
        let suggestions = rejection.suggestions().join(" | ");
        format!("{}: {rejection}\n{suggestions}", rejection.code())
    }

    /// Time passes, and the clock strikes.
    pub(crate) fn wait(&mut self, millis: i64) -> &mut Self {
        self.now = self.now.plus_millis(millis);
        self.when(Observation::Tick)
    }

    /// Time passes until the next deadline.
    pub(crate) fn wait_for_deadline(&mut self) -> &mut Self {
        let deadline = decide::next_deadline(&self.state, self.now).expect("there is no deadline");
        self.wait(deadline.since(self.now))
    }

    pub(crate) fn add(&mut self, text: &str) -> &mut Self {
        self.command(Command::AddIdea(new_idea(text)))
    }

    pub(crate) fn add_after(&mut self, text: &str, after: &[IdeaId]) -> &mut Self {
        self.command(Command::AddIdea(NewIdea {
            after: after.to_vec(),
            ..new_idea(text)
        }))
    }

    /// A person asks for a checkpoint, and it is made.
    pub(crate) fn checkpoint(&mut self, name: &str) -> &mut Self {
        let name = super::checkpoint_name(name);
        self.command(Command::CreateCheckpoint { name, tag: false });
        let (effect, asked) = self.last_asked();
        self.done(effect, good(&asked, effect.0))
    }

    /// A landing that is under way ends, and the look at the checkpoint of a rollback goes well;
    /// all ideas came later.
    pub(crate) fn looked(&mut self) -> &mut Self {
        if self.pending("land").is_some() {
            self.goes_well("land");
        }
        self.rollback_ready(BTreeMap::new())
    }

    /// The look at the checkpoint of a rollback goes well; it has these ideas.
    pub(crate) fn rollback_ready(&mut self, ideas: BTreeMap<IdeaId, IdeaThen>) -> &mut Self {
        self.answer("checkRollback", CheckRollbackOutcome::Ready(ideas))
    }

    /// A run was told to end.
    pub(crate) fn stop_delivered(&mut self) -> &mut Self {
        self.answer("stopRun", StopDelivered)
    }

    /// The newest effect that waits for its outcome.
    fn last_asked(&self) -> (EffectId, Effect) {
        let last = self.state.outbox.last_key_value();
        let (id, effect) = last.expect("nothing is asked for");
        (*id, effect.clone())
    }

    /// The events since the last time that this was asked.
    pub(crate) fn then(&mut self) -> String {
        let new = self.log[self.told..].iter().map(|(_, event)| event);
        let lines = render::lines(new);
        self.told = self.log.len();
        lines
    }

    /// Forgets what happened so far.
    pub(crate) fn quietly(&mut self) -> &mut Self {
        self.told = self.log.len();
        self
    }

    fn fold(&mut self, events: Vec<Event>) {
        for event in events {
            let seq = self.state.seq + 1;
            invariants::follows_the_machines(&self.state, &event);
            invariants::room_is_made_first(&self.state, &event);
            invariants::hooks_are_owed(&self.state, self.now, &event);
            invariants::people_are_told_once(&self.state, &event);
            evolve(&mut self.state, seq, self.now, &event);
            self.log.push((self.now, event));
        }
    }

    fn advance(&mut self) -> &mut Self {
        for _ in 0..ROUNDS {
            let events = decide::advance(&self.state, self.now);
            if events.is_empty() {
                invariants::check(&self.state, self.now);
                return self;
            }
            self.fold(events);
        }
        panic!("advance does not end");
    }

    pub(crate) fn idea(&self, number: u64) -> &Idea {
        &self.state.ideas[&IdeaId::numbered(number)]
    }

    pub(crate) fn attempt(&self, number: u64) -> &Attempt {
        let agent = super::agent(number);
        &self.state.agents[&agent]
    }

    pub(crate) fn entry(&self, number: u64) -> &MergeEntry {
        let id = IdeaId::numbered(number);
        self.state.entry(&id).expect("it is not in the queue")
    }

    /// The first effect that waits for its outcome and has this name.
    pub(crate) fn pending(&self, name: &str) -> Option<EffectId> {
        let named = |(_, effect): &(&EffectId, &Effect)| name_of(effect) == name;
        self.state.outbox.iter().find(named).map(|(id, _)| *id)
    }

    /// An effect comes to this.
    pub(crate) fn answer(&mut self, name: &str, outcome: impl Into<Outcome>) -> &mut Self {
        self.ends(name, Ok(outcome.into()))
    }

    /// An effect comes to this, or fails.
    pub(crate) fn ends(&mut self, name: &str, outcome: Result<Outcome, Failure>) -> &mut Self {
        let Some(effect) = self.pending(name) else {
            let asked: Vec<&str> = self.state.outbox.values().map(name_of).collect();
            panic!("{name} is not asked for; what is: {asked:?}");
        };
        self.when(Observation::EffectDone { effect, outcome })
    }

    /// This very effect comes to this.
    pub(crate) fn done(&mut self, effect: EffectId, outcome: impl Into<Outcome>) -> &mut Self {
        let outcome = Ok(outcome.into());
        self.when(Observation::EffectDone { effect, outcome })
    }

    /// An effect cannot be done.
    pub(crate) fn fails(&mut self, name: &str, message: &str) -> &mut Self {
        self.fails_as(name, FailureKind::Other, message)
    }

    /// An effect cannot be done, for such a reason.
    pub(crate) fn fails_as(&mut self, name: &str, kind: FailureKind, message: &str) -> &mut Self {
        self.ends(name, Err(failed(kind, message)))
    }

    /// An agent says something in its run.
    pub(crate) fn says(&mut self, agent: &AgentId, signal: Signal) -> &mut Self {
        let attempt = &self.state.agents[agent];
        let run = attempt.run.clone().expect("it does not run");
        let offset = attempt.signal_offset.map_or(10, |last| last + 10);
        self.when(Observation::SignalSeen {
            run,
            offset,
            signal,
        })
    }

    /// An agent's iteration ends after a second, having written something.
    pub(crate) fn iteration(&mut self, agent: &AgentId, how: RunEndKind) -> &mut Self {
        let run = self.state.agents[agent].run.clone();
        self.run_ends(&run.expect("it does not run"), how)
    }

    /// An agent says COMPLETE, and its CLI ends well.
    pub(crate) fn completes(&mut self, agent: &AgentId) -> &mut Self {
        self.says(agent, Signal::Complete(None));
        self.iteration(agent, exit(0))
    }

    /// A run ends.
    pub(crate) fn run_ends(&mut self, run: &RunId, how: RunEndKind) -> &mut Self {
        let (effect, _) = self.state.run_effect(run).expect("no such run");
        let end = RunEnd {
            stdout_bytes: 100,
            duration_ms: 1_000,
            ..RunEnd::new(how)
        };
        self.run_over(effect, end)
    }

    /// The run of this effect ends.
    pub(crate) fn run_over(&mut self, effect: EffectId, end: RunEnd) -> &mut Self {
        self.done(effect, end)
    }

    /// The call of a hook that runs ends.
    pub(crate) fn hook(&mut self, name: &str, how: RunEndKind) -> &mut Self {
        let of_name = |effect: &&Effect| name_of(effect) == name;
        let run = match self.state.outbox.values().find(of_name) {
            Some(Effect::Run(effect::Run { run, .. })) => run.clone(),
            _ => panic!("{name} is not called"),
        };
        self.run_ends(&run, how)
    }

    /// The calls of hooks that run, and those that follow, go well.
    pub(crate) fn all_hooks(&mut self) -> &mut Self {
        let running = |s: &Self| s.state.hooks.iter().find_map(|call| call.run.clone());
        while let Some(run) = running(self) {
            self.run_ends(&run, exit(0));
        }
        self
    }

    /// The quality command that runs ends.
    pub(crate) fn check(&mut self, how: RunEndKind) -> &mut Self {
        let run = self.state.outbox.values().find_map(|effect| match effect {
            Effect::Run(effect::Run {
                run,
                purpose:
                    Purpose::Gate { .. }
                    | Purpose::CommitHooks { .. }
                    | Purpose::Verify { .. }
                    | Purpose::Baseline { .. }
                    | Purpose::Canary { .. }
                    | Purpose::Setup { .. },
                ..
            }) => Some(run.clone()),
            _ => None,
        });
        self.run_ends(&run.expect("no quality command runs"), how)
    }

    /// All that is asked for goes well, until an effect with this name is asked for.
    pub(crate) fn well_until(&mut self, name: &str) -> &mut Self {
        for _ in 0..ROUNDS {
            if self.pending(name).is_some() {
                return self;
            }
            assert!(self.one_goes_well(), "{name} is never asked for");
        }
        panic!("it goes on for ever");
    }

    /// All that is asked for goes well.
    pub(crate) fn all_goes_well(&mut self) -> &mut Self {
        for _ in 0..ROUNDS {
            if !self.one_goes_well() {
                return self;
            }
        }
        panic!("it goes on for ever");
    }

    /// The first effect of this name goes well.
    pub(crate) fn goes_well(&mut self, name: &str) -> &mut Self {
        let effect = self.pending(name).expect("it is not asked for");
        let asked = self.state.outbox[&effect].clone();
        self.done(effect, good(&asked, effect.0))
    }

    /// The first that is asked for goes well; false: nothing is.
    pub(crate) fn one_goes_well(&mut self) -> bool {
        let Some((id, effect)) = self.state.outbox.iter().next() else {
            return false;
        };
        let (effect, asked) = (*id, effect.clone());
        if let Effect::Run(effect::Run {
            run,
            purpose: Purpose::Iteration { .. },
            ..
        }) = &asked
        {
            self.when(Observation::SignalSeen {
                run: run.clone(),
                offset: 1_000,
                signal: Signal::Complete(None),
            });
        }
        self.done(effect, good(&asked, effect.0));
        true
    }
}

/// What a log comes to.
pub(crate) fn fold(log: &[(Timestamp, Event)]) -> State {
    let mut state = State::default();
    for (seq, (at, event)) in (1..).zip(log) {
        evolve(&mut state, seq, *at, event);
    }
    state
}

/// The way an effect is named in the log.
pub(crate) fn name_of(effect: &Effect) -> &'static str {
    match effect {
        Effect::PrepareWorktree(_) => "prepareWorktree",
        Effect::Run(effect::Run { purpose, .. }) => match purpose {
            Purpose::Iteration { .. } => "iteration",
            Purpose::Gate { .. } => "gate",
            Purpose::CommitHooks { .. } => "commitHooks",
            Purpose::Verify { .. } => "verify",
            Purpose::Baseline { .. } => "baseline",
            Purpose::Canary { .. } => "canary",
            Purpose::Setup { .. } => "setup",
            Purpose::Hook { hook, .. } => hook.as_str(),
            Purpose::Synthesis { .. } => "synthesis",
            Purpose::Replay { .. } => "replay",
        },
        Effect::StopRun(_) => "stopRun",
        Effect::Seal(_) => "seal",
        Effect::SaveWork(_) => "saveWork",
        Effect::BuildMerge(_) => "buildMerge",
        Effect::PrepareVerify(_) => "prepareVerify",
        Effect::PrepareBaseline(_) => "prepareBaseline",
        Effect::Land(_) => "land",
        Effect::StartResolution(_) => "startResolution",
        Effect::FinishResolution(_) => "finishResolution",
        Effect::LendWorktree(_) => "lendWorktree",
        Effect::ReleaseWorktree(_) => "releaseWorktree",
        Effect::MakeCheckpoint(_) => "makeCheckpoint",
        Effect::DeleteCheckpoint(_) => "deleteCheckpoint",
        Effect::CheckRollback(_) => "checkRollback",
        Effect::MoveTarget(_) => "moveTarget",
        Effect::ArchiveInbox(_) => "archiveInbox",
        Effect::Notify(_) => "notify",
        Effect::JudgeReplay(_) => "judgeReplay",
    }
}

pub(crate) fn exit(code: i32) -> RunEndKind {
    RunEndKind::Exited { code }
}

/// What a checkpoint of this state holds of the ideas, with the work that is kept under these
/// commits.
pub(crate) fn held(
    state: &State,
    mut keep: impl FnMut(&Unfinished) -> Option<Saved>,
) -> BTreeMap<IdeaId, IdeaThen> {
    let mut works = BTreeMap::new();
    for work in unfinished(state) {
        let Some(saved) = keep(&work) else { continue };
        let kept = SavedWork {
            agent: work.agent,
            base: work.base,
            tip: saved.tip,
            wip: saved.wip,
            iterations: work.iterations,
            last_run: work.last_run,
            feedback: work.feedback,
            review: work.review,
            messages: work.messages,
        };
        let before = works.insert(work.idea, kept);
        assert!(before.is_none(), "two works of one idea: {before:?}");
    }
    let ideas = state.ideas.iter();
    ideas
        .map(|(id, idea)| (id.clone(), IdeaThen::of(idea, works.remove(id))))
        .collect()
}

/// A checkpoint of the first commit; `number` makes its tag its own.
pub(crate) fn checkpoint(reason: Reason, at: Timestamp, number: u64) -> Checkpoint {
    Checkpoint {
        created_at: at,
        reason,
        commit: oid(1),
        tag: oid(0x8000 + number),
        seq: number,
        sha256: "00".repeat(32),
        number: None,
    }
}

/// The outcome of an effect that goes well; `number` makes its commits its own.
pub(crate) fn good(effect: &Effect, number: u64) -> Outcome {
    let new = 0x1000 + number;
    match effect {
        Effect::PrepareWorktree(effect::PrepareWorktree { from, .. }) => WorktreePrepared {
            head: from
                .as_ref()
                .and_then(|kept| kept.saved.as_ref())
                .map_or_else(|| oid(1), |saved| saved.tip.clone()),
            base: from
                .as_ref()
                .map_or_else(|| oid(1), |kept| kept.base.clone()),
            warm: from.is_some(),
            setup: outcomes::tree_setup(),
        }
        .into(),
        Effect::Run(it) => RunEnd {
            stdout_bytes: 100,
            duration_ms: 2_000,
            probe: it.purpose.is_probe().then(Box::default),
            ..RunEnd::new(exit(0))
        }
        .into(),
        Effect::StopRun(_) => StopDelivered.into(),
        Effect::Seal(_) => outcomes::sealed(new, true).into(),
        Effect::SaveWork(_) => outcomes::work_saved(new, None).into(),
        Effect::BuildMerge(effect::BuildMerge { known_target, .. }) => BuildMergeOutcome::Built {
            commit: oid(new),
            target: known_target.clone().unwrap_or_else(|| oid(1)),
            resolved: vec![],
        }
        .into(),
        Effect::PrepareVerify(_) => outcomes::verify_ready().into(),
        Effect::PrepareBaseline(_) => BaselineReady {
            commit: oid(1),
            warm: true,
            setup: outcomes::tree_setup(),
            probe: Some("digest".into()),
        }
        .into(),
        Effect::Land(_) => LandOutcome::Landed.into(),
        Effect::StartResolution(_) => outcomes::resolution_started(new, &["a.rs"]).into(),
        Effect::FinishResolution(_) => outcomes::resolution_finished(new).into(),
        Effect::LendWorktree(_) => LendOutcome::Lent.into(),
        Effect::ReleaseWorktree(_) => WorktreeReleased::default().into(),
        Effect::MakeCheckpoint(effect::MakeCheckpoint { reason, at, .. }) => {
            Box::new(checkpoint(*reason, *at, number)).into()
        }
        Effect::CheckRollback(_) => CheckRollbackOutcome::Ready(BTreeMap::new()).into(),
        Effect::MoveTarget(_) => MoveTargetOutcome::Moved.into(),
        Effect::DeleteCheckpoint(_) => CheckpointDeleted.into(),
        Effect::ArchiveInbox(_) => InboxArchived.into(),
        Effect::Notify(_) => NotifyOutcome::Delivered.into(),
        Effect::JudgeReplay(it) => outcomes::replay_measured(it.why.as_deref()).into(),
    }
}
