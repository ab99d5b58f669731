//! A simulated shell: it holds the log and the state, carries out every effect with outcomes taken
//! from [`Choices`], and can crash at any point, also in the middle of writing a batch.
//!
//! What a crash cannot take: the log up to the last batch that was acted on, and the
//! [`World`](super::world::World) outside.

use std::collections::BTreeMap;

use super::choices::Choices;
use super::invariants;
use super::scenario::{ROUNDS, fold};
use super::world::World;
use super::{START, people};
use crate::domain::decide::{self, Decided};
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::{EffectRequested, Event};
use crate::domain::evolve::evolve;
use crate::domain::ids::{CheckpointName, EffectId, IdeaId, RunId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Observation;
use crate::domain::operation::Command;
use crate::domain::outcome::{Failure, Outcome};
use crate::domain::request::{Author, Request};
use crate::domain::settings::Settings;
use crate::domain::signal::Signal;
use crate::domain::state::State;
use crate::domain::state::checkpoint::IdeaThen;
use crate::domain::time::Timestamp;
use crate::view::{self, Rest};

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
    over: Vec<(EffectId, Result<Outcome, Failure>)>,
    /// What people ask for.
    ask_for: fn(&State, &mut Choices) -> Command,
    /// So much of the log is durable: what lies behind has had no effect yet.
    durable: usize,
}

impl Sim {
    /// A swarm that has just started.
    pub(crate) fn new(list: Vec<u16>) -> Self {
        Self::with_people(list, people::some_command)
    }

    /// The same, and this is what people ask for.
    pub(crate) fn with_people(
        list: Vec<u16>,
        ask_for: fn(&State, &mut Choices) -> Command,
    ) -> Self {
        let mut choices = Choices::new(list);
        let settings = people::some_settings(&mut choices);
        let mut this = Self {
            state: State::default(),
            log: Vec::new(),
            world: World::default(),
            now: START,
            choices,
            settings,
            sent: BTreeMap::new(),
            over: Vec::new(),
            ask_for,
            durable: 0,
        };
        this.start();
        for _ in 0..this.choices.pick(5) {
            let command = people::some_new_idea(&this.state, &mut this.choices);
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

    /// From now on all goes well, and nobody interferes: things come to rest. How many steps that
    /// took.
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
            let help = people::help(&self.state);
            assert!(!help.is_empty(), "nobody can help: {:#?}", self.state);
            for command in help {
                self.ask(&command);
            }
        }
        panic!("no help is enough: {:#?}", self.state);
    }

    /// Rolls back while all goes well and nobody interferes, and stays paused: what the checkpoint
    /// had of each idea. `None` if it cannot be done now.
    pub(crate) fn roll_back(
        &mut self,
        name: &CheckpointName,
    ) -> Option<BTreeMap<IdeaId, IdeaThen>> {
        self.choices.end();
        let (name, pause, from) = (name.clone(), true, None);
        let mut then = BTreeMap::new();
        if !self.ask(&Command::RollBack { name, pause, from }) {
            return None;
        }
        for _ in 0..ROUNDS {
            let Some(rollback) = self.state.rollback.as_deref() else {
                return Some(then);
            };
            then.clone_from(&rollback.ideas);
            if self.sent.is_empty() {
                self.wait_for_deadline();
            } else {
                self.answer_one();
            }
        }
        panic!("the rollback never ends: {:#?}", self.state);
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
                self.has_ended();
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

    /// Nothing is left; or the time was over, and then all that runs has been asked to end at once.
    fn has_ended(&self) {
        let state = &self.state;
        if state.swarm.drain_deadline.is_some() {
            for effect in state.outbox.values() {
                if let Effect::Run(effect::Run { run, .. }) = effect {
                    assert_eq!(state.stops.get(run), Some(&true), "{run} was let run on");
                }
            }
            return;
        }
        // Nobody waits for the webhook; the next start sends a notice again.
        let left = state.outbox.values().all(Effect::is_notice);
        assert!(left, "{:?}", state.outbox);
        let mut agents = state.agents.values();
        assert!(!agents.any(|attempt| attempt.run.is_some()));
    }

    fn step(&mut self) {
        match self.choices.pick(100) {
            0..66 => self.answer_one(),
            66..72 => self.hear(),
            72..76 => self.wait(),
            76..92 => {
                let command = (self.ask_for)(&self.state, &mut self.choices);
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

    /// Folds events and what follows from them; they are durable and acted on, unless the daemon
    /// crashes right now.
    fn go_on(&mut self, events: Vec<Event>) {
        let used = self.state.slots_used();
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
        // More than there are only after there became fewer; then nothing begins.
        let settings = self.state.settings.as_ref();
        let max = settings.map_or(0, |settings| settings.max_parallel as usize);
        assert!(self.state.slots_used() <= used.max(max), "too many slots");
        self.act();
    }

    fn fold(&mut self, events: Vec<Event>) {
        for event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
            let seq = self.state.seq + 1;
            invariants::follows_the_machines(&self.state, &event);
            invariants::room_is_made_first(&self.state, &event);
            if self.durable < self.log.len() || self.state.hooks_announced.is_empty() {
                invariants::hooks_are_owed(&self.state, self.now, &event);
                invariants::people_are_told_once(&self.state, &event);
            }
            evolve(&mut self.state, seq, self.now, &event);
            self.world.look(&self.state, &event);
            self.log.push((self.now, event));
        }
    }

    /// What is new in the log is durable: its effects are sent out.
    fn act(&mut self) {
        for (_, event) in &self.log[self.durable..] {
            if let Event::EffectRequested(EffectRequested { id, effect }) = event {
                self.sent.insert(*id, effect.clone());
            }
        }
        self.durable = self.log.len();
    }

    fn start(&mut self) {
        let left: Vec<_> = self.state.outbox.clone().into_iter().collect();
        let version = "1.0.0".into();
        self.see(&Observation::DaemonStarted {
            version,
            counters: None,
            host: None,
        });
        self.ask(&Command::LoadSettings {
            hash: "hash".into(),
            settings: Box::new(self.settings.clone()),
        });
        self.sent.extend(left);
        self.see(&Observation::RecoveryDone);
    }

    /// Killed, and started again. Perhaps in the middle of writing: then the last decision is in
    /// the log with its first events only.
    fn crash(&mut self) {
        if self.choices.chance(60) {
            self.tear();
        }
        if self.choices.chance(20) {
            // Everything died, not only the daemon.
            for effect in fold(&self.log).outbox.values() {
                if let Effect::Run(effect::Run { run, .. }) = effect {
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
                let command = (self.ask_for)(&self.state, &mut self.choices);
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

    fn some_answer(&mut self) -> Option<(EffectId, Result<Outcome, Failure>)> {
        if self.sent.is_empty() {
            return None;
        }
        let ready = |(_, effect): &(&EffectId, &Effect)| !World::waits(&self.state, effect);
        let ready: Vec<_> = self.sent.iter().filter(ready).collect();
        let (id, effect) = ready.get(self.choices.pick(ready.len()))?;
        let (id, effect) = (**id, Effect::clone(effect));
        let iteration = |purpose: &Purpose| matches!(purpose, Purpose::Iteration { .. });
        if let Effect::Run(effect::Run { run, purpose, .. }) = &effect
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
        let outcome = self.world.outcome(&self.state, &effect, &mut self.choices);
        Some((id, outcome))
    }

    /// Most agents say COMPLETE before they end; all do when all goes well.
    fn last_word(&mut self) -> Option<Signal> {
        match self.choices.pick(10) {
            0..6 => Some(Signal::Complete(None)),
            6 | 7 => Some(people::some_signal(&mut self.choices)),
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
        match self.choices.pick(9) {
            5 => {
                return self.see(&Observation::RunStarted {
                    run,
                    pid: 100,
                    adapter: "claude".to_owned(),
                    resumed: false,
                });
            }
            6 | 7 => {
                let said = self
                    .world
                    .programs
                    .hear(&self.state, run, &mut self.choices);
                return self.see(&said);
            }
            8 => return self.ask_of_memory(&run),
            _ => {}
        }
        let offset = u64::try_from(self.choices.pick(50)).unwrap();
        let signal = people::some_signal(&mut self.choices);
        self.see(&Observation::SignalSeen {
            run,
            offset,
            signal,
        });
    }

    /// An agent asks something of the memory, also when it may not.
    fn ask_of_memory(&mut self, run: &RunId) {
        let mut agents = self.state.agents.iter();
        let of_run = agents.find(|(_, attempt)| attempt.run.as_ref() == Some(run));
        let Some((id, attempt)) = of_run else { return };
        let by = Author::Agent {
            id: id.clone(),
            idea_id: Some(attempt.idea.clone()),
            run: run.clone(),
        };
        let command = people::some_memory_command(&self.state, &mut self.choices);
        let request = Request {
            by,
            operation: Some(format!("op-{}", self.choices.pick(1_000)).parse().unwrap()),
            command: Command::Memory(command),
        };
        if let Ok(Decided::Events(events)) = decide::request(&self.state, &request, self.now) {
            self.go_on(events);
        }
    }

    fn wait(&mut self) {
        if self.choices.chance(50) {
            return self.wait_for_deadline();
        }
        let millis = i64::try_from(self.choices.pick(20_000)).unwrap();
        self.now = self.now.plus_millis(millis);
        self.record();
        self.see(&Observation::Tick);
    }

    /// A record that is due gets written, perhaps twice.
    fn record(&mut self) {
        let due = self.state.record_due().map(|(run, _)| run.clone());
        let Some(run) = due.filter(|_| self.choices.chance(70)) else {
            return;
        };
        let recorded = Err("its directory is gone".to_owned());
        let seen = Observation::IterationRecorded { run, recorded };
        self.see(&seen);
        if self.choices.chance(20) {
            self.see(&seen);
        }
    }

    fn wait_for_deadline(&mut self) {
        if let Some(deadline) = decide::next_deadline(&self.state, self.now) {
            assert!(deadline > self.now);
            self.now = deadline;
        }
        self.see(&Observation::Tick);
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
