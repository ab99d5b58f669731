//! A simulated shell: it holds the log and the state, carries out every effect with outcomes taken from [`Choices`], and can crash at any
//! point, also in the middle of writing a batch.
//!
//! What a crash cannot take: the log up to the last batch that was acted on, and the [`World`](super::world::World) outside.

use std::collections::BTreeMap;

use super::choices::Choices;
use super::invariants;
use super::scenario::{ROUNDS, fold};
use super::world::World;
use super::{START, new_idea, settings};
use crate::domain::command::{Command, IdeaEdit, InboxFile, NewIdea, TargetChoice};
use crate::domain::decide;
use crate::domain::effect::{Effect, Purpose};
use crate::domain::event::Event;
use crate::domain::evolve::evolve;
use crate::domain::ids::{AgentId, EffectId, IdeaId};
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::observation::{Observation, Outcome};
use crate::domain::settings::{Mode, Settings};
use crate::domain::signal::Signal;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::domain::view::{self, Rest};

/// Ideas that one simulation has at most.
const IDEAS: usize = 12;

/// See the module.
pub(crate) struct Sim {
    pub(crate) state: State,
    pub(crate) log: Vec<(Timestamp, Event)>,
    pub(crate) world: World,
    now: Timestamp,
    choices: Choices,
    settings: Settings,
    /// Effects that this daemon has sent out and has no answer to.
    sent: BTreeMap<EffectId, Effect>,
    /// Effects that are over, to be answered a second time.
    over: Vec<(EffectId, Outcome)>,
    /// So much of the log is durable: what lies behind has had no effect yet.
    durable: usize,
}

impl Sim {
    /// A swarm that has just started.
    pub(crate) fn new(list: Vec<u16>) -> Self {
        let mut choices = Choices::new(list);
        let settings = some_settings(&mut choices);
        let mut this = Self {
            state: State::default(),
            log: Vec::new(),
            world: World::default(),
            now: START,
            choices,
            settings,
            sent: BTreeMap::new(),
            over: Vec::new(),
            durable: 0,
        };
        this.start();
        for _ in 0..this.choices.pick(5) {
            let command = this.some_new_idea();
            this.ask(&command);
        }
        this
    }

    /// Lives until the choices are used up.
    pub(crate) fn live(&mut self) {
        while !self.choices.is_over() {
            self.step();
        }
    }

    /// From now on all goes well, and nobody interferes: things come to rest. How many steps that took.
    pub(crate) fn settle(&mut self) -> usize {
        self.choices.end();
        for steps in 0..ROUNDS * 10 {
            if view::rest(&self.state) != Rest::Busy && self.sent.is_empty() {
                return steps;
            }
            if self.sent.is_empty() {
                self.wait_for_deadline();
            } else {
                self.answer_one();
            }
        }
        panic!("it never comes to rest: {:#?}", self.state);
    }

    /// A person does what is asked, until nothing is left to ask.
    pub(crate) fn attend_to(&mut self) {
        for _ in 0..ROUNDS {
            self.settle();
            if view::rest(&self.state) == Rest::Idle {
                return;
            }
            let help = self.help();
            assert!(!help.is_empty(), "nobody can help: {:#?}", self.state);
            for command in help {
                self.ask(&command);
            }
        }
        panic!("no help is enough: {:#?}", self.state);
    }

    /// What a person would do now.
    fn help(&self) -> Vec<Command> {
        let state = &self.state;
        let mut help = Vec::new();
        if state.swarm.phase != SwarmPhase::Running {
            help.push(Command::Resume);
        }
        if state.swarm.rewritten.is_some() {
            let choice = TargetChoice::Rebase;
            help.push(Command::SettleTarget { choice });
        }
        for entry in &state.queue {
            let id = entry.idea.clone();
            if entry.phase == MergePhase::Person {
                help.push(Command::ResolveMerge { id });
            } else if entry.held || entry.waits.is_some() {
                help.push(Command::RetryMerge { id });
            }
        }
        for (id, attempt) in &state.agents {
            if attempt.phase == AttemptPhase::WaitingForHuman {
                let (id, text) = (id.clone(), "yes".into());
                help.push(Command::SayToAgent { id, text });
            }
        }
        // What is complete must not wait for ever behind what will not be done.
        for (id, idea) in state.ideas.iter().filter(|_| !state.queue.is_empty()) {
            let id = id.clone();
            match idea.status {
                IdeaStatus::Pending => help.push(Command::AssignIdea { id, profile: None }),
                status if status.is_bad() || status == IdeaStatus::Cancelled => {
                    help.push(Command::RetryIdea { id });
                }
                _ => {}
            }
        }
        help
    }

    /// The daemon ends gracefully, and must.
    pub(crate) fn drain(&mut self) {
        let mut asked = self.ask(&Command::Shutdown { keep_agents: false });
        if self.choices.chance(20) {
            asked |= self.ask(&Command::ShutdownNow);
        }
        assert!(asked || self.state.swarm.phase == SwarmPhase::Stopped);
        for _ in 0..ROUNDS {
            if self.state.swarm.phase == SwarmPhase::Stopped {
                assert!(self.state.outbox.is_empty(), "{:?}", self.state.outbox);
                assert!(
                    !self
                        .state
                        .agents
                        .values()
                        .any(|attempt| attempt.run.is_some())
                );
                return;
            }
            // What agents do, they go on doing until they are stopped.
            let waits = !self.sent.values().any(|effect| self.world.may_end(effect));
            if waits || self.choices.chance(30) {
                self.wait_for_deadline();
            } else {
                self.answer_one();
            }
        }
        panic!("it never stops: {:#?}", self.state);
    }

    fn step(&mut self) {
        match self.choices.pick(100) {
            0..66 => self.answer_one(),
            66..72 => self.hear(),
            72..76 => self.wait(),
            76..92 => {
                let command = self.some_command();
                self.ask(&command);
            }
            92..94 => self.answer_again(),
            94..98 => self.crash(),
            98 => {
                self.ask(&Command::Shutdown { keep_agents: true });
                self.crash();
            }
            _ => {
                self.drain();
                self.restart();
            }
        }
    }

    // ---- the actor ----

    fn see(&mut self, seen: &Observation) {
        let events = decide::observation(&self.state, seen, self.now);
        self.go_on(events);
    }

    /// Whether it is possible.
    fn ask(&mut self, command: &Command) -> bool {
        match decide::command(&self.state, command, self.now) {
            Ok(events) => {
                self.go_on(events);
                true
            }
            Err(rejection) => {
                assert!(!rejection.to_string().is_empty());
                assert!(
                    !rejection.suggestions().is_empty(),
                    "no way out of: {rejection}"
                );
                false
            }
        }
    }

    /// Folds events and what follows from them; they are durable and acted on, unless the daemon crashes right now.
    fn go_on(&mut self, events: Vec<Event>) {
        self.fold(events);
        for round in 0.. {
            let events = decide::advance(&self.state, self.now);
            if events.is_empty() {
                break;
            }
            assert!(round < ROUNDS, "advance does not end");
            self.fold(events);
        }
        invariants::check(&self.state, self.now);
        self.act();
    }

    fn fold(&mut self, events: Vec<Event>) {
        for event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
            let seq = self.state.seq + 1;
            evolve(&mut self.state, seq, self.now, &event);
            self.world.look(&self.state, &event);
            self.log.push((self.now, event));
        }
    }

    /// What is new in the log is durable: its effects are sent out.
    fn act(&mut self) {
        for (_, event) in &self.log[self.durable..] {
            if let Event::EffectRequested { id, effect } = event {
                self.sent.insert(*id, effect.clone());
            }
        }
        self.durable = self.log.len();
    }

    fn start(&mut self) {
        let left: Vec<_> = self.state.outbox.clone().into_iter().collect();
        let version = "1.0.0".into();
        self.see(&Observation::DaemonStarted { version });
        self.ask(&Command::LoadSettings {
            hash: "hash".into(),
            settings: Box::new(self.settings.clone()),
        });
        self.sent.extend(left);
        self.see(&Observation::RecoveryDone);
    }

    /// Killed, and started again. Perhaps in the middle of writing: then the last decision is in the log with its first events only.
    fn crash(&mut self) {
        if self.choices.chance(60) {
            self.tear();
        }
        if self.choices.chance(20) {
            // Everything died, not only the daemon.
            for effect in fold(&self.log).outbox.values() {
                if let Effect::Run { run, .. } = effect {
                    self.world.lose(run);
                }
            }
        }
        self.restart();
    }

    /// Decides on something more, and only a part of that reaches the disk.
    fn tear(&mut self) {
        let before = self.log.len();
        let events = match self.choices.pick(3) {
            0 => {
                let command = self.some_command();
                decide::command(&self.state, &command, self.now).unwrap_or_default()
            }
            _ => match self.some_answer() {
                Some((effect, outcome)) => {
                    let seen = Observation::EffectDone { effect, outcome };
                    decide::observation(&self.state, &seen, self.now)
                }
                None => Vec::new(),
            },
        };
        self.fold(events);
        for _ in 0..ROUNDS {
            let events = decide::advance(&self.state, self.now);
            if events.is_empty() {
                break;
            }
            self.fold(events);
        }
        let written = self.choices.pick(self.log.len() - before + 1);
        self.log.truncate(before + written);
        self.durable = self.log.len();
    }

    /// A new daemon knows the log and nothing else.
    fn restart(&mut self) {
        self.sent.clear();
        self.over.clear();
        self.state = self.replay();
        if self.state.settings.is_some() {
            self.settings = *self.state.settings.clone().unwrap();
        }
        self.durable = self.log.len();
        self.start();
    }

    /// The state from the log alone, and through JSON; both ways must agree.
    pub(crate) fn replay(&self) -> State {
        let state = fold(&self.log);
        assert_eq!(state, fold(&self.log));
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
        state
    }

    // ---- the world's side ----

    /// An effect that was sent out comes to something.
    fn answer_one(&mut self) {
        if let Some((effect, outcome)) = self.some_answer() {
            self.sent.remove(&effect);
            self.over.push((effect, outcome.clone()));
            self.see(&Observation::EffectDone { effect, outcome });
        }
    }

    fn some_answer(&mut self) -> Option<(EffectId, Outcome)> {
        if self.sent.is_empty() {
            return None;
        }
        let at = self.choices.pick(self.sent.len());
        let (id, effect) = self.sent.iter().nth(at)?;
        let (id, effect) = (*id, effect.clone());
        let iteration = |purpose: &Purpose| matches!(purpose, Purpose::Iteration { .. });
        if let Effect::Run { run, purpose, .. } = &effect
            && iteration(purpose)
            && let Some(signal) = self.last_word()
        {
            let (run, offset) = (run.clone(), u64::MAX);
            self.see(&Observation::SignalSeen {
                run,
                offset,
                signal,
            });
        }
        let outcome = self.world.outcome(&effect, &mut self.choices);
        Some((id, outcome))
    }

    /// Most agents say COMPLETE before they end; all do when all goes well.
    fn last_word(&mut self) -> Option<Signal> {
        match self.choices.pick(10) {
            0..6 => Some(Signal::Complete(None)),
            6 | 7 => Some(self.some_signal()),
            _ => None,
        }
    }

    /// An effect that is over is answered again: nothing follows.
    fn answer_again(&mut self) {
        if self.over.is_empty() {
            return;
        }
        let at = self.choices.pick(self.over.len());
        let (effect, outcome) = self.over[at].clone();
        let seen = Observation::EffectDone { effect, outcome };
        let events = decide::observation(&self.state, &seen, self.now);
        assert!(events.is_empty(), "a second answer to {effect}: {events:?}");
    }

    /// An agent starts or says something.
    fn hear(&mut self) {
        let agents: Vec<_> = self
            .state
            .agents
            .values()
            .filter_map(|attempt| attempt.run.clone())
            .collect();
        if agents.is_empty() {
            return;
        }
        let run = agents[self.choices.pick(agents.len())].clone();
        if self.choices.pick(6) == 5 {
            let pid = 100;
            return self.see(&Observation::RunStarted { run, pid });
        }
        let offset = u64::try_from(self.choices.pick(50)).unwrap();
        let signal = self.some_signal();
        self.see(&Observation::SignalSeen {
            run,
            offset,
            signal,
        });
    }

    fn some_signal(&mut self) -> Signal {
        match self.choices.pick(12) {
            0..5 => Signal::Complete(None),
            5 => Signal::Blocked(Some("no access".into())),
            6 | 7 => Signal::NeedsHuman(Some("which way?".into())),
            8 => Signal::Resolved(None),
            9 => Signal::Progress(50),
            10 => Signal::LearningGlobal("tests need a database".into()),
            _ => Signal::LearningLocal("Tests  need a database".into()),
        }
    }

    fn wait(&mut self) {
        if self.choices.chance(50) {
            return self.wait_for_deadline();
        }
        let millis = i64::try_from(self.choices.pick(20_000)).unwrap();
        self.now = self.now.plus_millis(millis);
        self.see(&Observation::Tick);
    }

    fn wait_for_deadline(&mut self) {
        if let Some(deadline) = decide::next_deadline(&self.state, self.now) {
            assert!(deadline > self.now);
            self.now = deadline;
        }
        self.see(&Observation::Tick);
    }

    // ---- people ----

    fn some_idea(&mut self) -> IdeaId {
        let ideas = self.state.ideas.len();
        IdeaId::numbered(self.choices.pick(ideas + 1) as u64 + 1)
    }

    fn some_agent(&mut self) -> AgentId {
        let agents = self.state.agents.len();
        let at = self.choices.pick(agents + 1);
        let agent = self.state.agents.keys().nth(at).cloned();
        agent.unwrap_or_else(|| super::agent(1))
    }

    fn some_command(&mut self) -> Command {
        match self.choices.pick(27) {
            0..6 => self.some_new_idea(),
            6 => self.some_edit(),
            7 | 8 => Command::RetryIdea {
                id: self.some_idea(),
            },
            9 => Command::CancelIdea {
                id: self.some_idea(),
            },
            10 => {
                let (id, profile) = (self.some_idea(), None);
                Command::AssignIdea { id, profile }
            }
            11 => Command::StopAgent {
                id: self.some_agent(),
            },
            12 => {
                let (id, text) = (self.some_agent(), "look at the tests".into());
                Command::SayToAgent { id, text }
            }
            13 => Command::Pause { reason: None },
            14 => Command::Resume,
            15 => Command::RetryMerge {
                id: self.some_idea(),
            },
            16 => Command::ResolveMerge {
                id: self.some_idea(),
            },
            17 => {
                use TargetChoice::{Cancel, Ignore, Rebase};
                let choice = [Rebase, Ignore, Cancel][self.choices.pick(3)];
                Command::SettleTarget { choice }
            }
            18 => {
                let settings = Box::new(some_settings(&mut self.choices));
                let hash = "hash".into();
                Command::LoadSettings { hash, settings }
            }
            19..26 => self.some_help(),
            _ => {
                let mode = [Mode::Autopilot, Mode::SemiAuto][self.choices.pick(2)];
                Command::SetMode { mode }
            }
        }
    }

    /// Something that a person is asked for.
    fn some_help(&mut self) -> Command {
        let mut help = self.help();
        let at = self.choices.pick(help.len());
        if help.is_empty() {
            Command::Resume
        } else {
            help.swap_remove(at)
        }
    }

    fn some_new_idea(&mut self) -> Command {
        if self.state.ideas.len() >= IDEAS {
            return Command::Resume;
        }
        let mut new = NewIdea {
            after: self.some_after(),
            priority: i64::try_from(self.choices.pick(50)).unwrap(),
            ..new_idea("do it")
        };
        if self.choices.chance(20) {
            let name = format!("{}.md", self.choices.pick(3));
            let sha256 = "00".into();
            new.inbox = Some(InboxFile { name, sha256 });
        }
        if self.choices.chance(20) {
            new.tags.push("critical".into());
        }
        Command::AddIdea(new)
    }

    fn some_after(&mut self) -> Vec<IdeaId> {
        if self.choices.chance(30) {
            vec![self.some_idea()]
        } else {
            vec![]
        }
    }

    fn some_edit(&mut self) -> Command {
        let id = self.some_idea();
        let edit = IdeaEdit {
            after: Some(self.some_after()),
            priority: Some(3),
            ..IdeaEdit::default()
        };
        Command::EditIdea { id, edit }
    }
}

/// Settings, mostly small limits.
fn some_settings(choices: &mut Choices) -> Settings {
    let gates: [&[&str]; 6] = [
        &["check"],
        &[],
        &["check", "lint"],
        &["lint"],
        &["lint", "check"],
        &["build", "lint"],
    ];
    let commands = gates[choices.pick(gates.len())];
    let number = |choices: &mut Choices, most| u32::try_from(choices.pick(most)).unwrap();
    Settings {
        mode: [Mode::Autopilot, Mode::SemiAuto][usize::from(choices.chance(15))],
        max_parallel: 1 + number(choices, 4),
        failures_to_pause: number(choices, 6),
        crash_retries: number(choices, 4),
        max_iterations: 1 + number(choices, 6),
        conflict_retries: number(choices, 3),
        stuck_threshold: 2,
        quality_commands: commands.iter().map(ToString::to_string).collect(),
        auto_commit: !choices.chance(20),
        auto_merge: !choices.chance(20),
        verify: !choices.chance(20),
        cleanup_on_success: !choices.chance(20),
        grace_ms: 1_000,
        ..settings()
    }
}

impl Drop for Sim {
    /// A life that fails tells its end, where that is wanted (`SIM_TAIL=1`).
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("SIM_TAIL").is_some() {
            let tail = self.log.len().saturating_sub(80);
            let events = self.log[tail..].iter().map(|(_, event)| event);
            eprintln!("---- life\n{}\n---- end", super::render::lines(events));
        }
    }
}
