//! The events of a decision so far, with the numbers that it has used.
//!
//! Invariant: a power cut can leave any first part of a decision in the log, before anything was
//! acknowledged or done. Every such part must be a state that continues by itself. So a request is
//! either the last event of its decision or follows from the state in
//! [`advance`](mod@super::advance), and `effectFinished` comes last, so that the observation is
//! judged again. All of `decide` uses it.

use super::hooks;
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::{
    AttemptEnded, AttemptMoved, EffectRequested, Event, IterationExcused, MergeMoved, PhaseChanged,
    WarningCleared, WarningRaised,
};
use crate::domain::ids::{AgentId, EffectId, IdeaId, RunId};
use crate::domain::lifecycle::{
    AttemptInput, AttemptPhase, MergeInput, MergePhase, SwarmInput, SwarmPhase, attempt, merge,
    step, swarm,
};
use crate::domain::rejection::Rejection;
use crate::domain::state::provider::Excuse;
use crate::domain::state::{Attempt, AttemptEnd, IdeaStatus, MergeEntry, State, Waits};
use crate::domain::time::Timestamp;
use crate::domain::warning::WarningKind;

/// Longest message in an event, in bytes.
const MESSAGE_BYTES: usize = 4 * 1024;

/// Shortens a message to 4 KiB, at a character boundary.
pub(super) fn shorten(text: &str) -> String {
    if text.len() <= MESSAGE_BYTES {
        return text.to_owned();
    }
    let cut = (0..=MESSAGE_BYTES)
        .rev()
        .find(|at| text.is_char_boundary(*at));
    format!("{}...", &text[..cut.unwrap_or(0)])
}

/// Most files named in an event, and most bytes they take.
const FILES: usize = 100;
const FILES_BYTES: usize = 32 * 1024;

/// As many files as an event can hold; if some are left out, the last entry says how many.
pub(super) fn few(files: &[String]) -> Vec<String> {
    let mut bytes = 0;
    let fits = |file: &&String| {
        // Room for every escape that JSON may need.
        bytes += file.len() * 6 + 3;
        bytes <= FILES_BYTES
    };
    let mut few: Vec<String> = files.iter().take(FILES).take_while(fits).cloned().collect();
    let left = files.len() - few.len();
    if left > 0 {
        few.push(format!("... and {left} more"));
    }
    few
}

/// Collects the events of one decision.
pub(super) struct Plan<'a> {
    pub(super) state: &'a State,
    pub(super) now: Timestamp,
    pub(super) events: Vec<Event>,
    effects: u64,
    runs: u64,
}

impl<'a> Plan<'a> {
    pub(super) fn new(state: &'a State, now: Timestamp) -> Self {
        Self {
            state,
            now,
            events: Vec::new(),
            effects: state.counters.effects,
            runs: state.counters.runs,
        }
    }

    /// Adds an event, preceded by the `hookOwed` events that it causes.
    pub(super) fn emit(&mut self, event: impl Into<Event>) {
        let event = event.into();
        if let Event::DaemonStarted(started) = &event
            && let Some(counters) = started.counters
        {
            self.effects = counters.effects;
            self.runs = counters.runs;
        }
        let calls = hooks::owed_by(self.state, self.now, &event);
        self.events.extend(calls.into_iter().map(Event::HookOwed));
        self.events.push(event);
    }

    /// Requests an effect with a new number.
    pub(super) fn request(&mut self, effect: impl Into<Effect>) {
        self.effects += 1;
        self.emit(EffectRequested {
            id: EffectId(self.effects),
            effect: effect.into(),
        });
    }

    /// A new run id.
    pub(super) fn run_id(&mut self, what: &str) -> RunId {
        self.runs += 1;
        RunId::numbered(self.runs, what)
    }

    pub(super) fn request_run(&mut self, run: RunId, purpose: Purpose, timeout_ms: i64) {
        self.request(effect::Run {
            run,
            purpose,
            timeout_ms,
        });
    }

    /// Requests that a run stops; repeating it changes nothing.
    pub(super) fn stop_run(&mut self, run: &RunId, now: bool) {
        let asked = self.state.stops.get(run);
        if asked.is_none_or(|at_once| now && !at_once) {
            let run = run.clone();
            self.request(effect::StopRun { run, now });
        }
    }

    /// Raises a warning, unless the same one is already raised.
    pub(super) fn warn(&mut self, key: &str, message: &str) {
        self.warn_with(key, message, Vec::new());
    }

    /// As [`warn`](Self::warn), with the commands to type.
    pub(super) fn warn_with(&mut self, key: &str, message: &str, commands: Vec<String>) {
        let message = shorten(message);
        let known = self.state.warnings.get(key);
        if known.is_none_or(|warning| warning.message != message) {
            self.emit(WarningRaised {
                key: key.to_owned(),
                message,
                commands,
            });
        }
    }

    pub(super) fn clear_warning(&mut self, key: &str) {
        if self.state.warnings.contains_key(key) {
            let key = key.to_owned();
            self.emit(WarningCleared { key });
        }
    }

    /// Changes the swarm's phase, if that is legal.
    pub(super) fn move_swarm(
        &mut self,
        input: SwarmInput,
        reason: Option<&str>,
        deadline: Option<Timestamp>,
    ) -> Result<(), Rejection> {
        let phase = self.next_phase(input)?;
        if phase != self.state.swarm.phase {
            self.change_phase(phase, reason, deadline);
        }
        Ok(())
    }

    /// Starts or shortens the shutdown, with this deadline.
    pub(super) fn end_swarm_by(&mut self, deadline: Timestamp) -> Result<(), Rejection> {
        let phase = self.next_phase(SwarmInput::Shutdown)?;
        let again = phase == self.state.swarm.phase;
        self.change_phase(
            phase,
            again.then_some("no longer waiting for agents"),
            Some(deadline),
        );
        Ok(())
    }

    /// The swarm's next phase, or why there is none.
    pub(super) fn next_phase(&self, input: SwarmInput) -> Result<SwarmPhase, Rejection> {
        Ok(step::<swarm::Machine>(self.state.swarm.phase, &input)?)
    }

    fn change_phase(
        &mut self,
        phase: SwarmPhase,
        reason: Option<&str>,
        deadline: Option<Timestamp>,
    ) {
        self.emit(PhaseChanged {
            phase,
            reason: reason.map(str::to_owned),
            deadline,
        });
    }

    /// Changes an attempt's phase; returns false if that is not legal.
    pub(super) fn move_attempt(&mut self, agent: &AgentId, input: AttemptInput) -> bool {
        self.move_attempt_until(agent, input, None)
    }

    /// [`Plan::move_attempt`], with the time before which it must not continue.
    pub(super) fn move_attempt_until(
        &mut self,
        agent: &AgentId,
        input: AttemptInput,
        not_before: Option<Timestamp>,
    ) -> bool {
        let Some(phase) = self.phase_of(agent) else {
            return false;
        };
        let Ok(next) = step::<attempt::Machine>(phase, &input) else {
            return false;
        };
        self.emit(AttemptMoved {
            agent: agent.clone(),
            phase: next,
            not_before,
        });
        true
    }

    /// Holds an attempt after an iteration that does not count.
    pub(super) fn excuse(
        &mut self,
        agent: &AgentId,
        excuse: Excuse,
        not_before: Option<Timestamp>,
    ) {
        let held = |phase| step::<attempt::Machine>(phase, &AttemptInput::Hold).ok();
        if let Some(phase) = self.phase_of(agent).and_then(held) {
            self.emit(IterationExcused {
                agent: agent.clone(),
                excuse,
                phase,
                not_before,
            });
        }
    }

    /// Phase of an attempt, including changes in this plan.
    fn phase_of(&self, agent: &AgentId) -> Option<AttemptPhase> {
        let moved = self.events.iter().rev().find_map(|event| {
            let (this, phase) = event.attempt_phase()?;
            (this == agent).then_some(phase)
        });
        moved.or_else(|| self.state.agents.get(agent).map(|attempt| attempt.phase))
    }

    /// Changes the phase of a merge queue entry; returns false if that is not legal.
    pub(super) fn move_merge(&mut self, id: &IdeaId, input: MergeInput) -> bool {
        self.move_merge_waiting(id, input, None, None)
    }

    /// [`Plan::move_merge`], with the reason why it waits and until when.
    pub(super) fn move_merge_waiting(
        &mut self,
        id: &IdeaId,
        input: MergeInput,
        not_before: Option<Timestamp>,
        waits: Option<Waits>,
    ) -> bool {
        let Some(phase) = self.merge_phase_of(id) else {
            return false;
        };
        let Ok(phase) = step::<merge::Machine>(phase, &input) else {
            return false;
        };
        self.emit(MergeMoved {
            id: id.clone(),
            phase,
            not_before,
            waits,
        });
        true
    }

    fn merge_phase_of(&self, id: &IdeaId) -> Option<MergePhase> {
        let moved = self.events.iter().rev().find_map(|event| {
            let (this, phase) = event.merge_phase()?;
            (this == id).then_some(phase)
        });
        moved.or_else(|| self.entry(id).map(|entry| entry.phase))
    }

    pub(super) fn attempt(&self, agent: &AgentId) -> Option<&'a Attempt> {
        self.state.agents.get(agent)
    }

    pub(super) fn entry(&self, id: &IdeaId) -> Option<&'a MergeEntry> {
        self.state.entry(id)
    }

    /// Ends an attempt.
    #[allow(clippy::needless_pass_by_value)] // an end is made for one attempt
    pub(super) fn end(&mut self, agent: &AgentId, end: End) {
        let Some(phase) = self.phase_of(agent) else {
            return;
        };
        let input = match end.end {
            AttemptEnd::Merged => AttemptInput::Landed,
            AttemptEnd::Failed | AttemptEnd::TimedOut | AttemptEnd::Blocked => AttemptInput::Fail,
            AttemptEnd::NothingToMerge
            | AttemptEnd::Crashed
            | AttemptEnd::Stopped
            | AttemptEnd::Interrupted
            | AttemptEnd::Cancelled
            | AttemptEnd::Released
            | AttemptEnd::Redirected => AttemptInput::Release,
        };
        // The end is one event, so that a torn log cannot contain half of it.
        debug_assert!(step::<attempt::Machine>(phase, &input).is_ok());
        self.clear_warning(&WarningKind::Stuck.about(agent));
        self.clear_warning(&WarningKind::Conversation.about(agent));
        if let Some(attempt) = self.attempt(agent) {
            self.clear_warning(&super::budget::warning(&attempt.idea));
        }
        self.emit(AttemptEnded {
            agent: agent.clone(),
            end: end.end,
            status: end.status,
            message: end.message.as_deref().map(shorten),
            not_before: end.not_before,
            keep_worktree: end.keep_worktree,
        });
    }
}

/// How an attempt ends.
#[allow(clippy::struct_field_names)] // `end` is what it is called everywhere
pub(super) struct End {
    pub(super) end: AttemptEnd,
    pub(super) status: IdeaStatus,
    pub(super) message: Option<String>,
    pub(super) not_before: Option<Timestamp>,
    pub(super) keep_worktree: bool,
}

impl End {
    /// An end that gives the idea this status and keeps the worktree.
    pub(super) fn keeping(end: AttemptEnd, status: IdeaStatus, message: Option<String>) -> Self {
        Self {
            end,
            status,
            message,
            not_before: None,
            keep_worktree: true,
        }
    }
}
