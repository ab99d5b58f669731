//! What happens to the daemons of one directory: commands, outcomes, a disk that fails, kills at
//! any byte, and starts.
//!
//! Everything is drawn from one seed; where the list of choices ends, all goes well, and everything
//! must come to rest.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::model::Model;
use super::site::{Alive, Site, Still, pass, wall};
use crate::daemon::actor::Ended;
use crate::domain::decide;
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::{Event, Mark};
use crate::domain::ids::{EffectId, RunId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Observation;
use crate::domain::operation::Command;
use crate::domain::outcome::{Failure, LandOutcome, Outcome};
use crate::domain::settings::Settings;
use crate::domain::signal::Signal;
use crate::domain::testkit::choices::Choices;
use crate::domain::testkit::people;
use crate::domain::testkit::world::World;
use crate::journal::StartFrom;
use crate::journal::testing::faulty::{EIO, ENOSPC, Fault, Faults};
use crate::journal::testing::{Random, number};
use crate::view::{self, Rest};

/// More rounds than anything may take.
const ROUNDS: usize = 1_000;
/// How long one life may take, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a number of lives was made of.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    operations: u64,
    commands: u64,
    outcomes: u64,
    kills: u64,
    cuts: u64,
    failed_starts: u64,
    killed_starts: u64,
    starts: u64,
    from_snapshot: u64,
    clean_ends: u64,
    full_disks: u64,
    broken_disks: u64,
    rollbacks: u64,
    compared: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.commands += other.commands;
        self.outcomes += other.outcomes;
        self.kills += other.kills;
        self.cuts += other.cuts;
        self.failed_starts += other.failed_starts;
        self.killed_starts += other.killed_starts;
        self.starts += other.starts;
        self.from_snapshot += other.from_snapshot;
        self.clean_ends += other.clean_ends;
        self.full_disks += other.full_disks;
        self.broken_disks += other.broken_disks;
        self.rollbacks += other.rollbacks;
        self.compared += other.compared;
    }
}

/// See the module.
struct Life {
    site: Site,
    model: Model,
    alive: Option<Alive>,
    /// The last event before those of that daemon.
    from: u64,
    choices: Choices,
    settings: Settings,
    /// Effects that this daemon has sent out and that nothing has become of.
    out: BTreeMap<EffectId, Effect>,
    /// Done in the world, and not told yet.
    late: Vec<(EffectId, Result<Outcome, Failure>)>,
    /// The last words of runs, as they stand at the end of their output.
    words: BTreeMap<EffectId, (RunId, Signal)>,
    /// Told, to be told again.
    over: Vec<(EffectId, Result<Outcome, Failure>)>,
    ideas: u64,
    /// Everything died with the daemon, not only the daemon.
    lost: bool,
    counts: Counts,
}

impl Life {
    async fn new(list: Vec<u16>) -> Self {
        let mut choices = Choices::new(list);
        let settings = people::some_settings(&mut choices);
        let segment_bytes = [4_096, 16_384, 1 << 20][choices.pick(3)];
        let mut this = Self {
            site: Site::new(segment_bytes),
            model: Model::default(),
            alive: None,
            from: 0,
            choices,
            settings,
            out: BTreeMap::new(),
            late: Vec::new(),
            words: BTreeMap::new(),
            over: Vec::new(),
            ideas: 0,
            lost: false,
            counts: Counts::default(),
        };
        this.start().await;
        for _ in 0..this.choices.pick(5) {
            let command = people::some_new_idea(&this.model.state, &mut this.choices);
            this.ask(command);
        }
        this.moment().await;
        this
    }

    fn alive(&mut self) -> &mut Alive {
        self.alive.as_mut().expect("a daemon runs")
    }

    async fn live(&mut self) {
        while !self.choices.is_over() {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        self.counts.operations += 1;
        match self.choices.pick(100) {
            0..44 => self.answer_one(),
            44..49 => self.answer_later(),
            49..54 => self.tell_late(),
            54..57 => return self.answer_again().await,
            57 => self.answer_twice(),
            58..63 => self.hear(),
            63..68 => self.time_passes().await,
            68..82 => self.ask_something(),
            82..87 => return self.burst().await,
            87..91 => return self.crash().await,
            91..93 => return self.disk_is_full().await,
            93 | 94 => return self.disk_fails_once().await,
            95 => return self.disk_breaks().await,
            96 => return self.die_at_the_disk().await,
            97 => return self.leave_agents().await,
            _ => {
                self.end_gracefully().await;
                return self.start().await;
            }
        }
        self.moment().await;
    }

    /// Something small, of which nothing is awaited.
    fn small_step(&mut self) {
        match self.choices.pick(8) {
            0..4 => self.answer_one(),
            4 | 5 => self.ask_something(),
            6 => self.hear(),
            _ => self.answer_later(),
        }
    }

    // ---- the daemon ----

    /// All that follows now is on disk, and all that must hold does.
    async fn moment(&mut self) {
        self.pause().await;
        self.model.at_rest();
        self.start_if_ended().await;
    }

    /// The same while the disk may be failing.
    async fn pause(&mut self) {
        self.alive().rest().await;
        self.follow();
        let state = &self.model.state;
        let stopped = state.swarm.phase == SwarmPhase::Stopped && state.seq > self.from;
        if stopped || self.alive().handle.inbox.is_closed() {
            self.alive().finish().await;
            self.follow();
        }
    }

    fn follow(&mut self) {
        let alive = self.alive.as_mut().expect("a daemon runs");
        let sent = self.model.follow(&self.site, alive);
        self.out.extend(sent);
    }

    async fn start_if_ended(&mut self) {
        if self.alive().ended.is_some() {
            self.bury().await;
            self.start().await;
        }
    }

    /// Puts away a daemon that has ended.
    async fn bury(&mut self) {
        let ended = self.alive().ended.clone();
        self.gone().await;
        if !matches!(ended, Some(Ended::Cleanly { .. })) {
            return;
        }
        self.counts.clean_ends += 1;
        let (state, from) = self.model.start(&self.site);
        let last = self.model.last();
        assert!(
            matches!(last, Some(Event::Mark(Mark {}))),
            "it ends with {last:?}"
        );
        let seq = state.seq;
        assert!(
            matches!(from, StartFrom::Snapshot { seq: at } if at == seq),
            "{from:?} after a clean end at {seq}"
        );
    }

    /// The daemon is no more, and what it had handed to the writer is written.
    async fn gone(&mut self) {
        self.follow();
        let alive = self.alive.take().expect("a daemon runs");
        for command in alive.kill() {
            self.model.unanswered(&command);
        }
        self.site.quiet().await;
        self.out.clear();
        // What the world remembers the next driver is told at once.
        self.late.retain(|(_, outcome)| {
            matches!(
                outcome,
                Ok(Outcome::Run(_) | Outcome::Land(LandOutcome::Landed))
            )
        });
    }

    /// Killed: of what was not acknowledged all, a part or nothing is on disk.
    async fn kill(&mut self) {
        self.counts.kills += 1;
        self.gone().await;
        let choices = &mut self.choices;
        let cut = self.site.cut(self.model.state.seq, |bytes| {
            let bytes = usize::try_from(bytes).unwrap();
            let left = match choices.pick(3) {
                0 => bytes,
                1 => 0,
                _ => choices.pick(bytes + 1),
            };
            left as u64
        });
        self.counts.cuts += u64::from(cut);
        self.lost = self.choices.chance(20);
    }

    async fn crash(&mut self) {
        self.kill().await;
        self.start().await;
    }

    async fn start(&mut self) {
        while self.choices.chance(8) {
            self.start_in_vain();
        }
        while self.choices.chance(8) {
            self.begin();
            self.site.faults.hold();
            self.alive().think().await;
            if self.choices.chance(50) {
                self.site.faults.let_go();
                self.alive().rest().await;
            }
            self.counts.killed_starts += 1;
            self.kill().await;
        }
        self.begin();
        if self.choices.chance(8) {
            self.room_comes_later().await;
        }
        self.pause().await;
        self.model.at_rest();
        let state = &self.model.state;
        assert!(state.settings.is_some(), "nothing is configured");
    }

    /// Killed while it puts the log in order.
    fn start_in_vain(&mut self) {
        self.site.faults = Faults::default();
        let (at, part) = (self.choices.pick(10), self.choices.pick(200));
        self.site.faults.after(at, Fault::Kill(part));
        let failed = self.site.open().is_err();
        self.counts.failed_starts += u64::from(failed);
    }

    fn begin(&mut self) {
        self.counts.starts += 1;
        self.site.faults = Faults::default();
        let journal = self.site.open().unwrap();
        let (state, from) = self.model.start(&self.site);
        self.counts.from_snapshot += u64::from(matches!(from, StartFrom::Snapshot { .. }));
        if std::mem::take(&mut self.lost) {
            for effect in state.outbox.values() {
                if let Effect::Run(effect::Run { run, .. }) = effect {
                    self.model.world.lose(run);
                    self.model.hurt(effect);
                }
            }
        }
        if let Some(settings) = &state.settings {
            self.settings = Settings::clone(settings);
        }
        self.from = state.seq;
        let mode = self.settings.mode;
        let load = Command::LoadSettings {
            hash: "hash".into(),
            settings: Box::new(self.settings.clone()),
        };
        let first = vec![load, Command::SetMode { mode }];
        self.alive = Some(Alive::new(&self.site, journal, state, first));
    }

    // ---- people ----

    fn ask(&mut self, mut command: Command) {
        self.counts.commands += 1;
        if let Command::AddIdea(new) = &mut command {
            self.ideas += 1;
            new.text = format!("idea {}", self.ideas);
        }
        self.alive().ask(command);
    }

    fn ask_something(&mut self) {
        let command = people::some_command(&self.model.state, &mut self.choices);
        self.ask(command);
    }

    /// The daemon goes, its agents stay.
    async fn leave_agents(&mut self) {
        self.ask(Command::Shutdown { keep_agents: true });
        self.moment().await;
    }

    async fn end_gracefully(&mut self) {
        self.ask(Command::Shutdown { keep_agents: false });
        if self.choices.chance(20) {
            self.ask(Command::ShutdownNow);
        }
        for _ in 0..ROUNDS {
            self.pause().await;
            self.model.at_rest();
            if let Some(ended) = &self.alive().ended {
                assert!(matches!(ended, Ended::Cleanly { .. }), "{ended:?}");
                return self.bury().await;
            }
            let Model { world, state, .. } = &self.model;
            let ends = |(id, effect): (&EffectId, &Effect)| {
                let ends = world.may_end(effect) && !World::waits(state, effect);
                ends.then_some(*id)
            };
            // What agents do, they go on doing until they are stopped.
            match self.out.iter().find_map(ends) {
                Some(id) if !self.choices.chance(30) => self.answer(id),
                _ if !self.late.is_empty() => self.tell_late(),
                _ => self.wait_for_deadline().await,
            }
        }
        panic!("it never stops: {:#?}", self.model.state);
    }

    // ---- the world ----

    fn some_effect(&mut self) -> Option<EffectId> {
        let ready = self.ready();
        let at = self.choices.pick(ready.len());
        ready.get(at).copied()
    }

    /// Effects that have nothing to wait for.
    fn ready(&self) -> Vec<EffectId> {
        let ready = |(_, effect): &(&EffectId, &Effect)| !World::waits(&self.model.state, effect);
        self.out.iter().filter(ready).map(|(id, _)| *id).collect()
    }

    /// An effect comes to something.
    fn answer_one(&mut self) {
        if let Some(id) = self.some_effect() {
            self.answer(id);
        }
    }

    fn answer(&mut self, id: EffectId) {
        let outcome = self.outcome(id);
        self.tell(id, outcome);
    }

    /// An effect comes to something, and the driver is slow to say so.
    fn answer_later(&mut self) {
        if let Some(id) = self.some_effect() {
            let outcome = self.outcome(id);
            self.late.push((id, outcome));
        }
    }

    fn tell_late(&mut self) {
        if !self.late.is_empty() {
            let at = self.choices.pick(self.late.len());
            let (id, outcome) = self.late.swap_remove(at);
            self.tell(id, outcome);
        }
    }

    /// The same outcome twice at once.
    fn answer_twice(&mut self) {
        if let Some(id) = self.some_effect() {
            let outcome = self.outcome(id);
            self.tell(id, outcome.clone());
            self.tell(id, outcome);
        }
    }

    /// What was told is told again: nothing follows.
    async fn answer_again(&mut self) {
        let outbox = &self.model.state.outbox;
        self.over.retain(|(id, _)| !outbox.contains_key(id));
        if self.over.is_empty() {
            return;
        }
        let at = self.choices.pick(self.over.len());
        let (effect, outcome) = self.over[at].clone();
        let before = self.model.state.seq;
        self.alive()
            .see(Observation::EffectDone { effect, outcome });
        self.moment().await;
        let new = self.model.state.seq - before;
        assert_eq!(new, 0, "a second answer to {effect} has consequences");
    }

    fn tell(&mut self, effect: EffectId, outcome: Result<Outcome, Failure>) {
        self.counts.outcomes += 1;
        self.over.push((effect, outcome.clone()));
        self.say_last_word(effect);
        self.alive()
            .see(Observation::EffectDone { effect, outcome });
    }

    /// What becomes of an effect; before a run of an agent ends it may say a last word.
    fn outcome(&mut self, id: EffectId) -> Result<Outcome, Failure> {
        let effect = self.out.remove(&id).expect("it was sent out");
        if let Effect::Run(effect::Run {
            run,
            purpose: Purpose::Iteration { .. },
            ..
        }) = &effect
        {
            let word = self.last_word();
            if !matches!(word, Some(Signal::Complete(_))) {
                self.model.hurt(&effect);
            }
            if let Some(signal) = word {
                self.words.insert(id, (run.clone(), signal));
                self.say_last_word(id);
            }
        }
        let Model { world, state, .. } = &mut self.model;
        let outcome = world.outcome(state, &effect, &mut self.choices);
        self.model.hurt_by(&effect, &outcome);
        outcome
    }

    /// A driver reads a run's output again from the last signal that is in the log.
    fn say_last_word(&mut self, effect: EffectId) {
        if let Some((run, signal)) = self.words.get(&effect).cloned() {
            let offset = u64::MAX;
            self.alive().see(Observation::SignalSeen {
                run,
                offset,
                signal,
            });
        }
    }

    fn last_word(&mut self) -> Option<Signal> {
        match self.choices.pick(10) {
            0..6 => Some(Signal::Complete(None)),
            6 | 7 => Some(people::some_signal(&mut self.choices)),
            _ => None,
        }
    }

    /// An agent starts or says something.
    fn hear(&mut self) {
        let runs = |effect: &Effect| match effect {
            Effect::Run(effect::Run { run, .. }) => Some((run.clone(), effect.clone())),
            _ => None,
        };
        let running: Vec<_> = self.out.values().filter_map(runs).collect();
        if running.is_empty() {
            return;
        }
        let (run, effect) = running[self.choices.pick(running.len())].clone();
        if self.choices.pick(6) == 5 {
            return self.alive().see(Observation::RunStarted {
                run,
                pid: 100,
                adapter: "command".to_owned(),
                resumed: false,
            });
        }
        let offset = self.choices.pick(50) as u64;
        let signal = people::some_signal(&mut self.choices);
        if !matches!(signal, Signal::Complete(_)) {
            self.model.hurt(&effect);
        }
        self.alive().see(Observation::SignalSeen {
            run,
            offset,
            signal,
        });
    }

    async fn time_passes(&mut self) {
        match self.choices.pick(3) {
            0 => self.wait_for_deadline().await,
            1 => pass(i64::try_from(self.choices.pick(20_000)).unwrap()).await,
            // Long enough for a snapshot.
            _ => pass(31_000).await,
        }
    }

    async fn wait_for_deadline(&mut self) {
        let now = wall();
        let deadline = decide::next_deadline(&self.model.state, now);
        pass(deadline.map_or(1_000, |deadline| deadline.since(now))).await;
    }

    // ---- the disk ----

    /// Several things happen while a batch is being written.
    async fn burst(&mut self) {
        self.site.faults.hold();
        for _ in 0..=self.choices.pick(6) {
            self.small_step();
            self.alive().think().await;
            self.follow();
        }
        match self.choices.pick(4) {
            0 | 1 => {}
            2 => return self.crash().await,
            _ => {
                self.site.faults.let_go();
                self.alive().next_answer().await;
                return self.crash().await;
            }
        }
        self.site.faults.let_go();
        self.moment().await;
    }

    async fn disk_is_full(&mut self) {
        self.counts.full_disks += 1;
        self.nothing_is_written().await;
        if self.choices.chance(20) {
            return self.crash().await;
        }
        self.site.faults.mend();
        pass(1_001).await;
        self.moment().await;
    }

    async fn nothing_is_written(&mut self) {
        let part = self.choices.pick(400);
        self.site.faults.stand("write", Fault::Error(ENOSPC, part));
        for _ in 0..=self.choices.pick(4) {
            self.small_step();
            self.pause().await;
            if self.choices.chance(30) {
                pass(i64::try_from(self.choices.pick(3_000)).unwrap()).await;
            }
        }
    }

    /// The disk is full when a daemon starts. Sometimes the first word after that is somebody's,
    /// not that of the next try.
    async fn room_comes_later(&mut self) {
        self.counts.full_disks += 1;
        self.nothing_is_written().await;
        self.site.faults.mend();
        if self.choices.chance(50) {
            self.ask_something();
        } else {
            pass(1_001).await;
        }
    }

    /// One operation fails: the batch is written elsewhere.
    async fn disk_fails_once(&mut self) {
        let (at, part) = (self.choices.pick(4), self.choices.pick(300));
        self.site.faults.after(at, Fault::Error(EIO, part));
        for _ in 0..=self.choices.pick(3) {
            self.small_step();
            self.pause().await;
        }
        self.site.faults.mend();
        self.model.at_rest();
        self.start_if_ended().await;
    }

    /// What fails goes on failing: the daemon ends, and what it said of its last batch holds.
    async fn disk_breaks(&mut self) {
        self.counts.broken_disks += 1;
        let part = self.choices.pick(400);
        let fails: &[(&'static str, i32)] = [
            &[("", EIO)][..],
            &[("write", EIO)],
            &[("sync", EIO)],
            &[("syncData", EIO), ("syncDir", EIO)],
            &[("syncData", EIO), ("rename", EIO)],
            &[("write", ENOSPC), ("truncate", EIO)],
        ][self.choices.pick(6)];
        for (name, errno) in fails {
            self.site.faults.stand(name, Fault::Error(*errno, part));
        }
        for _ in 0..=self.choices.pick(3) {
            self.small_step();
            self.alive().think().await;
        }
        let command = people::some_new_idea(&self.model.state, &mut self.choices);
        self.ask(command);
        self.pause().await;
        self.site.faults.mend();
        match self.alive().ended.clone() {
            Some(ended) => assert!(matches!(ended, Ended::DiskFailed(_)), "{ended:?}"),
            None => self.model.at_rest(),
        }
        self.start_if_ended().await;
    }

    /// Killed in the middle of an operation of the disk; then all later ones fail.
    async fn die_at_the_disk(&mut self) {
        let (at, part) = (self.choices.pick(8), self.choices.pick(400));
        self.site.faults.after(at, Fault::Kill(part));
        for _ in 0..=self.choices.pick(4) {
            self.small_step();
            self.alive().think().await;
        }
        if self.choices.chance(50) {
            self.alive().rest().await;
        }
        self.crash().await;
    }

    // ---- the end ----

    /// From now on all goes well, and nobody interferes: things come to rest.
    async fn settle(&mut self) {
        self.choices.end();
        for _ in 0..ROUNDS {
            let told = self.out.is_empty() && self.late.is_empty();
            if told && view::rest(&self.model.state) != Rest::Busy {
                return;
            }
            if told {
                self.wait_for_deadline().await;
            }
            while !self.late.is_empty() {
                self.tell_late();
            }
            while !self.ready().is_empty() {
                self.answer_one();
            }
            self.moment().await;
        }
        panic!("it never comes to rest: {:#?}", self.model.state);
    }

    /// A person does what is asked, until nothing is left to ask.
    async fn attend_to(&mut self) {
        for _ in 0..ROUNDS {
            self.settle().await;
            if view::rest(&self.model.state) == Rest::Idle {
                return;
            }
            let help = people::help(&self.model.state);
            assert!(!help.is_empty(), "nobody can help: {:#?}", self.model.state);
            for command in help {
                self.ask(command);
            }
            self.moment().await;
        }
        panic!("no help is enough: {:#?}", self.model.state);
    }

    async fn whole(list: Vec<u16>) -> Counts {
        let mut this = Self::new(list).await;
        this.live().await;
        this.attend_to().await;
        this.model.final_states();
        this.end_gracefully().await;
        let state = &this.model.state;
        assert_eq!(state.swarm.phase, SwarmPhase::Stopped);
        assert!(state.outbox.is_empty(), "{:?}", state.outbox);
        this.counts.compared = this.model.compared;
        this.counts.rollbacks = this.model.rollbacks;
        this.counts
    }
}

/// Says how to repeat a life that fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            eprintln!("to repeat: SWARM_TEST_SEED={seed} SWARM_ACTOR_SEQUENCES=1");
        }
    }
}

/// Long lives and short ones; a short one is easier to understand when it fails.
fn choices(seed: u64) -> Vec<u16> {
    let mut random = Random::from(seed);
    let longest = 30 + random.below(280);
    let length = 10 + random.below(longest);
    let mut list = || u16::try_from(random.next() & 0xffff).unwrap();
    (0..length).map(|_| list()).collect()
}

/// Lives of the seeds that nobody has taken yet.
fn work(seeds: &AtomicU64, end: u64, done: &std::sync::mpsc::Sender<Counts>) {
    let still = Still::new();
    loop {
        let seed = seeds.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            break;
        }
        let _named = Named(seed);
        let counts = still.block_on(Life::whole(choices(seed)));
        if done.send(counts).is_err() {
            break; // the test has given up
        }
    }
}

#[test]
fn whatever_happens_the_actor_keeps_what_it_said_and_all_comes_to_rest() {
    let first = number("SWARM_TEST_SEED", 1);
    let sequences = number("SWARM_ACTOR_SEQUENCES", 1_000);
    let seeds = Arc::new(AtomicU64::new(first));
    let (sender, done) = channel();
    let worker = || {
        let (seeds, sender) = (Arc::clone(&seeds), sender.clone());
        std::thread::spawn(move || work(&seeds, first + sequences, &sender))
    };
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(4));
    let workers: Vec<_> = (0..threads).map(|_| worker()).collect();
    drop(sender);
    let mut counts = Counts::default();
    loop {
        match done.recv_timeout(PATIENCE) {
            Ok(one) => counts.add(&one),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let next = seeds.load(Ordering::Relaxed);
                panic!("a life hangs; its seed is one of the {threads} before {next}");
            }
        }
    }
    println!("{sequences} lives from SWARM_TEST_SEED={first}: {counts:#?}");
    for worker in workers {
        if let Err(panic) = worker.join() {
            resume_unwind(panic);
        }
    }
}
