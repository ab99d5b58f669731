//! The actor, the only writer: takes inputs, decides, has the events written, and publishes,
//! answers and acts once they are on disk. Started by `lifecycle::daemon`.
//!
//! `handle` gives others access, `drivers` carry out effects, `journal_thread` writes batches,
//! `snapshots` takes snapshots, `clock` never goes back, `timer` says when to wake up. Decisions
//! see `tip` (everything decided).
//! Invariant: only durable events have effects. If a batch cannot be written, `tip` goes back to
//! the published state, commands fail and observations are decided again. If the log is lost, the
//! actor ends.

pub mod clock;
pub(super) mod drivers;
pub mod handle;
pub(super) mod journal_thread;
pub(super) mod snapshots;
mod timer;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::crash;
use crate::daemon::actor::clock::Clock;
use crate::daemon::actor::handle::{Accepted, CommandError, Handle, Journaled, Message};
use crate::daemon::actor::journal_thread::{JournalThread, Written};
use crate::daemon::actor::snapshots::Snapshots;
use crate::domain::decide::{self, Decided};
use crate::domain::effect::Effect;
use crate::domain::event::{EffectRequested, Event, Mark};
use crate::domain::evolve::evolve;
use crate::domain::ids::EffectId;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Observation;
use crate::domain::operation::Command;
use crate::domain::request::Request;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use drivers::Drivers;
use timer::{until, until_deadline};

/// Most inputs decided together.
const INPUTS_AT_ONCE: usize = 128;
/// Most events in one batch; a longer chain of consequences continues in the next.
const EVENTS_AT_ONCE: usize = 2_048;
/// How long after the last batch a mark is written, which proves that the batch is durable.
const MARK_AFTER: Duration = Duration::from_millis(700);
/// How long after the deadline of a graceful shutdown the daemon ends if its end cannot be written,
/// in milliseconds. Not before the rules would end it.
const OVERDUE_MS: i64 = 700;
/// The pause before a failed write is retried.
const RETRY_AFTER: Duration = Duration::from_secs(1);

type Answer = oneshot::Sender<Result<Accepted, CommandError>>;

/// A batch that is being written.
#[derive(Default)]
struct Batch {
    /// The seq of its last event, or of the last one before a batch without events.
    last_seq: u64,
    ts: Timestamp,
    events: Vec<Event>,
    answers: Vec<(Answer, Accepted)>,
    observations: Vec<Observation>,
    /// Records the start of a daemon.
    begins: bool,
}

/// How the actor ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// As requested; the log is complete.
    Cleanly {
        /// The deadline of the graceful shutdown; `None` if there was nothing to wait for.
        by: Option<Timestamp>,
    },
    /// The log can no longer be written.
    DiskFailed(String),
}

/// What a start decides on before anything else.
#[derive(Debug)]
pub(super) struct FirstInputs {
    /// `DaemonStarted`.
    pub(super) started: Observation,
    /// The configuration, and what else must come before anything that depends on it.
    pub(super) commands: Vec<Command>,
    /// Warnings to raise.
    pub(super) troubles: Vec<Observation>,
}

/// The only writer of the state.
pub(super) struct Actor {
    inbox: mpsc::Receiver<Message>,
    handle: Handle,
    seq: watch::Sender<u64>,
    ledger: JournalThread,
    drivers: Box<dyn Drivers>,
    snapshots: Snapshots,
    clock: Clock,
    first: FirstInputs,
    /// The events of the start are decided; nothing may be decided before them.
    begun: bool,
    tip: State,
    writing: VecDeque<Batch>,
    /// Observations to decide again once the disk has space.
    put_off: Vec<Observation>,
    /// The last chain of consequences was cut off and must continue.
    more: bool,
    retry_at: Option<Instant>,
    /// Why the last batch could not be written.
    disk_full: Option<String>,
    mark_at: Option<Instant>,
    ends_by: Option<Timestamp>,
    /// The time by which the rules last decided what follows.
    advanced_at: Timestamp,
}

impl Actor {
    pub(super) fn new(
        inbox: mpsc::Receiver<Message>,
        handle: Handle,
        seq: watch::Sender<u64>,
        ledger: JournalThread,
        drivers: Box<dyn Drivers>,
        snapshots: Snapshots,
        first: FirstInputs,
    ) -> Self {
        let tip = handle.read(State::clone);
        Self {
            inbox,
            handle,
            seq,
            ledger,
            drivers,
            snapshots,
            first,
            begun: false,
            clock: Clock::after(tip.swarm.last_event_at),
            tip,
            writing: VecDeque::new(),
            put_off: Vec::new(),
            more: false,
            retry_at: None,
            disk_full: None,
            mark_at: None,
            ends_by: None,
            advanced_at: Timestamp::default(),
        }
    }

    /// Uses other clocks than the system's.
    #[cfg(test)]
    pub(super) fn with_clock(mut self, after: fn(Timestamp) -> Clock) -> Self {
        self.clock = after(self.tip.swarm.last_event_at);
        self
    }

    /// Works until the swarm has stopped or the disk fails.
    pub(super) async fn run(mut self) -> Ended {
        self.recover();
        let mut messages = Vec::with_capacity(INPUTS_AT_ONCE);
        loop {
            self.ends_by = self.drain_deadline().or(self.ends_by);
            let stopped = self.begun && self.tip.swarm.phase == SwarmPhase::Stopped;
            if stopped && self.writing.is_empty() {
                self.end().await;
                return Ended::Cleanly { by: self.ends_by };
            }
            if let Some(why) = self.cannot_end() {
                return Ended::DiskFailed(why);
            }
            let timer = self.next_timer();
            tokio::select! {
                biased;
                written = self.ledger.written() => {
                    if let Err(ended) = self.settle(written) {
                        return ended;
                    }
                }
                _ = self.inbox.recv_many(&mut messages, INPUTS_AT_ONCE) => {
                    self.take(messages.drain(..));
                }
                () = tokio::time::sleep_until(timer) => self.on_timer(),
            }
        }
    }

    /// Records the start, and dispatches every unfinished effect again.
    fn recover(&mut self) {
        let left: Vec<(EffectId, Effect)> = self
            .tip
            .outbox
            .iter()
            .map(|(id, effect)| (*id, effect.clone()))
            .collect();
        crash::point("actor.recover.begin");
        self.begin();
        for (id, effect) in left {
            self.drivers.dispatch(id, effect);
        }
        crash::point("actor.recover.dispatched");
    }

    /// Decides the events of a start. The configuration comes before anything that depends on it.
    fn begin(&mut self) {
        self.begun = true;
        let started = self.first.started.clone();
        let troubles = self.first.troubles.drain(..).map(Message::Observation);
        let troubles = troubles.collect();
        let first = self.first.commands.clone().into_iter();
        let nobody = |command: Command| Message::Request(command.into(), oneshot::channel().0);
        for messages in [
            vec![Message::Observation(started)],
            first.map(nobody).collect(),
            troubles,
            vec![Message::Observation(Observation::RecoveryDone)],
        ] {
            let batch = Batch {
                begins: true,
                ..Batch::default()
            };
            self.decide(batch, messages);
        }
    }

    fn observe(&mut self, observations: impl IntoIterator<Item = Observation>) {
        self.take(observations.into_iter().map(Message::Observation));
    }

    /// Decides on inputs in order, each on the state after the ones before.
    fn take(&mut self, messages: impl IntoIterator<Item = Message>) {
        if !self.begun {
            self.begin();
        }
        self.decide(Batch::default(), messages);
    }

    fn decide(&mut self, mut batch: Batch, messages: impl IntoIterator<Item = Message>) {
        let (now, seen) = self.clock.now();
        for seen in seen {
            self.judge(&mut batch, seen, now);
        }
        for message in messages {
            match message {
                Message::Request(request, answer) => self.answer(&mut batch, &request, answer, now),
                Message::Observation(observation) => self.judge(&mut batch, observation, now),
                // The caller may have gone.
                Message::Ping(answer) => drop(answer.send(())),
            }
        }
        self.advance(&mut batch, now);
        self.submit(batch, now);
    }

    fn judge(&mut self, batch: &mut Batch, observation: Observation, now: Timestamp) {
        let events = decide::observation(&self.tip, &observation, now);
        if !events.is_empty() {
            self.fold(batch, events, now);
            batch.observations.push(observation);
        }
    }

    fn answer(&mut self, batch: &mut Batch, request: &Request, answer: Answer, now: Timestamp) {
        let accepted = match decide::request(&self.tip, request, now) {
            Ok(Decided::Events(events)) => {
                self.fold(batch, events.clone(), now);
                Accepted::now(self.tip.seq, events)
            }
            // It may be in the batch before this one: it is answered once that is on disk.
            Ok(Decided::DoneBefore(operation)) => Accepted::before(operation),
            Err(rejection) => {
                // The client has gone.
                drop(answer.send(Err(rejection.into())));
                return;
            }
        };
        batch.answers.push((answer, accepted));
    }

    /// Decides what follows by itself.
    fn advance(&mut self, batch: &mut Batch, now: Timestamp) {
        self.advanced_at = now;
        self.more = true;
        while self.more && batch.events.len() < EVENTS_AT_ONCE {
            let events = decide::advance(&self.tip, now);
            self.more = !events.is_empty();
            self.fold(batch, events, now);
        }
    }

    fn fold(&mut self, batch: &mut Batch, events: Vec<Event>, now: Timestamp) {
        for event in events {
            let seq = self.tip.seq + 1;
            evolve(&mut self.tip, seq, now, &event);
            batch.events.push(event);
        }
    }

    /// Passes a batch to the writer. A batch without events only waits for those before it.
    fn submit(&mut self, mut batch: Batch, now: Timestamp) {
        batch.last_seq = self.tip.seq;
        batch.ts = now;
        if !batch.events.is_empty() {
            let expected = batch.last_seq - batch.events.len() as u64;
            self.mark_at = None;
            crash::point("actor.decided");
            self.ledger
                .write(expected, now, std::mem::take(&mut batch.events));
            self.writing.push_back(batch);
        } else if let Some(last) = self.writing.back_mut() {
            last.answers.append(&mut batch.answers);
        } else {
            reply(batch.answers);
        }
    }

    /// Handles the result of a write.
    fn settle(&mut self, written: Written) -> Result<(), Ended> {
        let Some(batch) = self.writing.pop_front() else {
            return match written {
                // The log was lost while nothing was being written.
                Written::Failed(why) => Err(Ended::DiskFailed(why)),
                Written::Durable(_) | Written::Full(_) => Ok(()),
            };
        };
        match written {
            Written::Durable(events) => {
                crash::point("actor.durable");
                self.disk_full = None;
                self.publish(batch, events);
                Ok(())
            }
            Written::Full(why) => {
                self.take_back(batch, &why);
                Ok(())
            }
            Written::Failed(why) => {
                self.give_up(batch, &why);
                Err(Ended::DiskFailed(why))
            }
        }
    }

    fn publish(&mut self, batch: Batch, events: Vec<Event>) {
        let first = batch.last_seq + 1 - events.len() as u64;
        let records: Vec<Arc<Journaled>> = (first..)
            .zip(events)
            .map(|(seq, event)| {
                let ts = batch.ts;
                Arc::new(Journaled { seq, ts, event })
            })
            .collect();
        self.handle.publish(&records);
        crash::point("actor.published");
        reply(batch.answers);
        crash::point("actor.answered");
        for record in &records {
            if let Event::EffectRequested(EffectRequested { id, effect }) = &record.event {
                self.drivers.dispatch(*id, effect.clone());
            }
        }
        let is_mark = |record: &Arc<Journaled>| matches!(record.event, Event::Mark(Mark {}));
        crash::point("actor.dispatched");
        if self.writing.is_empty() && !records.iter().all(is_mark) {
            self.mark_at = Some(Instant::now() + MARK_AFTER);
        }
        self.seq.send_replace(batch.last_seq);
        let position = self.ledger.position();
        self.snapshots.consider(&self.handle, position);
    }

    /// Neither this batch nor the later ones are on disk: goes back to the durable state.
    fn take_back(&mut self, batch: Batch, why: &str) {
        tracing::error!(%why, "the event log cannot be written; waiting for disk space");
        let lost = std::iter::once(batch).chain(self.writing.drain(..));
        for batch in lost {
            self.begun &= !batch.begins;
            let again = batch.observations.into_iter();
            self.put_off.extend(again.filter(|seen| !begins(seen)));
            for (answer, _) in batch.answers {
                // The client has gone.
                drop(answer.send(Err(CommandError::Unavailable(why.to_owned()))));
            }
        }
        self.handle.stall(self.clock.peek(), why);
        self.disk_full = Some(why.to_owned());
        self.ledger.forget_unwritten();
        self.tip = self.handle.read(State::clone);
        self.retry_at = Some(Instant::now() + RETRY_AFTER);
    }

    /// The log is lost. Whether the open batches are in it is for the next start to find out: a
    /// failed write may have left complete lines.
    fn give_up(&mut self, batch: Batch, why: &str) {
        tracing::error!(%why, "the event log is lost");
        self.handle.stall(self.clock.peek(), why);
        let open = std::iter::once(batch).chain(self.writing.drain(..));
        for (answer, _) in open.flat_map(|batch| batch.answers) {
            // The client has gone.
            drop(answer.send(Err(CommandError::Lost(why.to_owned()))));
        }
    }

    /// Why a graceful shutdown past its deadline is abandoned: its end cannot be written.
    fn cannot_end(&self) -> Option<String> {
        let overdue = self.overdue_at().is_some_and(|at| at <= self.clock.peek());
        self.disk_full.clone().filter(|_| overdue)
    }

    /// The deadline of this daemon's shutdown, not of an earlier daemon's.
    fn drain_deadline(&self) -> Option<Timestamp> {
        self.tip.swarm.drain_deadline.filter(|_| self.begun)
    }

    /// When a graceful shutdown that cannot be written is abandoned.
    fn overdue_at(&self) -> Option<Timestamp> {
        Some(self.drain_deadline()?.plus_millis(OVERDUE_MS))
    }

    fn next_timer(&self) -> Instant {
        let (now, wall) = (Instant::now(), self.clock.peek());
        if self.more && self.retry_at.is_none() {
            return now;
        }
        let rules = until_deadline(&self.tip, self.advanced_at, wall);
        // Until the write is retried the rules decide nothing.
        let rules = rules.filter(|_| self.retry_at.is_none());
        let overdue = self.overdue_at().filter(|_| self.disk_full.is_some());
        let overdue = overdue.map(|time| until(time, wall));
        let deadline = rules.into_iter().chain(overdue).min();
        let deadline = deadline.map(|wait| now + wait);
        // Without any, look again in a while: a wall clock that was set changes the deadlines.
        let idle = now + Duration::from_secs(600);
        [deadline, self.retry_at, self.mark_at]
            .into_iter()
            .flatten()
            .fold(idle, Instant::min)
    }

    fn on_timer(&mut self) {
        let now = Instant::now();
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            let again = std::mem::take(&mut self.put_off);
            return self.observe(again);
        }
        if self.retry_at.is_none() {
            self.observe([]);
        }
        if self.mark_at.take_if(|at| *at <= now).is_some() {
            self.mark();
        }
    }

    /// Writes a mark, which proves that everything before it is durable.
    fn mark(&mut self) {
        let (now, _) = self.clock.now();
        crash::point("actor.mark");
        let mut batch = Batch::default();
        self.fold(&mut batch, vec![Event::Mark(Mark {})], now);
        self.submit(batch, now);
    }

    /// Answers late commands: nothing was done.
    fn refuse_the_rest(&mut self) {
        self.inbox.close();
        while let Ok(message) = self.inbox.try_recv() {
            if let Message::Request(_, answer) = message {
                // The client has gone.
                drop(answer.send(Err(CommandError::Ended)));
            }
        }
    }

    /// Ends cleanly: writes a mark, which proves that the last batch is durable, and a snapshot.
    async fn end(&mut self) {
        self.mark();
        while !self.writing.is_empty() {
            let written = self.ledger.written().await;
            if self.settle(written).is_err() {
                return;
            }
        }
        self.refuse_the_rest();
        crash::point("actor.end.marked");
        self.snapshots
            .last(&self.handle, self.ledger.position())
            .await;
        crash::point("actor.end.snapshot-taken");
    }
}

/// Whether [`Actor::begin`] makes this observation itself.
fn begins(seen: &Observation) -> bool {
    matches!(
        seen,
        Observation::DaemonStarted { .. } | Observation::RecoveryDone
    )
}

fn reply(answers: Vec<(Answer, Accepted)>) {
    for (answer, accepted) in answers {
        // The client has gone.
        drop(answer.send(Ok(accepted)));
    }
}
