//! Folding events into the state. Total, simple, deterministic: it assigns what the event says and decides nothing.
//!
//! An event about something that the state does not know (a newer log read by older rules) changes nothing but `seq`.

pub(crate) mod hooks;
mod provider;
mod redirect;

use super::checkpoint::{Checkpoint, IdeaThen, Reason};
use super::command::{IdeaEdit, InboxFile, NewIdea, TargetChoice};
use super::effect::{Effect, KeptWorktree, Landing};
use super::event::{
    AgentRedirected, AttemptEnded, AttemptMoved, AttemptSealed, CheckpointDeleted, CheckpointMade,
    ConflictLaidOut, ConflictSettled, EffectFinished, EffectRequested, EndingAsked, Event,
    GateFailed, GatePassed, GateStarted, IdeaAdded, IdeaAssigned, IdeaCancelled, IdeaClaimed,
    IdeaEdited, IdeaLanded, IdeaRetried, IterationJudged, IterationStarted, Learned, Mark,
    MergeBuilt, MergeConflicted, MergeMoved, MergeQueued, MergeReleased, MergeReturned,
    MessageQueued, ModeSet, PauseLifted, PauseSet, PhaseChanged, ResolverFailed, RollbackBegun,
    RollbackPlanned, RollbackStepped, RolledBack, RoomAwaited, RunEnded, RunStarted,
    SettingsLoaded, SignalSeen, StateRepaired, TargetSettled, TaskSet, VerifyPassed, VerifyReady,
    VerifyStarted, WarningCleared, WarningRaised, WorkSaved, WorktreeReady,
};
use super::hook::Passage;
use super::ids::{AgentId, CheckpointName, IdeaId, Oid, RunId};
use super::lifecycle::{AttemptPhase, MergePhase};
use super::message::{self, Message};
use super::observation::{RunEnd, RunEndKind};
use super::settings::{Mode, Settings};
use super::state::{
    Attempt, AttemptEnd, Audit, Conflict, EndedAttempt, Ending, Feedback, Idea, IdeaStatus, Kept,
    Learning, MergeEntry, Owed, Said, State, Task, UnusedWorktree, Verified, Waits, Warning,
};
use super::time::Timestamp;
use super::usage::Spent;
use super::verdict::Verdict;
use crate::domain::signal::Signal;

/// Audit lines that an idea keeps.
const AUDIT_KEPT: usize = 20;
/// Runs that an attempt remembers.
const RUNS_KEPT: usize = 100;

/// Folds the event with sequence number `seq`, journaled at `at`, into the state.
pub fn evolve(state: &mut State, seq: u64, at: Timestamp, event: &Event) {
    let calls = hooks::owed_by(state, seq, at, event);
    state.seq = seq;
    state.swarm.last_event_at = at;
    if !swarm_event(state, at, event)
        && !idea_event(state, at, event)
        && !attempt_event(state, at, event)
        && !checkpoint_event(state, at, event)
        && !hooks::hook_event(state, at, event)
        && !provider::service_event(state, event)
    {
        merge_event(state, at, event);
    }
    state.hooks.extend(calls);
    if !state.hooks.is_empty() {
        hooks::forget(state);
    }
}

/// Events about the swarm as a whole; false when it is another's.
fn swarm_event(state: &mut State, at: Timestamp, event: &Event) -> bool {
    match event {
        // The state that a log begins with is put in place by whoever reads the log.
        Event::Mark(Mark {}) | Event::ClockWentBack(_) | Event::StateRestored(_) => {}
        Event::DaemonStarted(_) => owe_again(&mut state.owed),
        Event::PhaseChanged(PhaseChanged {
            phase, deadline, ..
        }) => {
            state.swarm.phase = *phase;
            state.swarm.drain_deadline = *deadline;
        }
        Event::PauseSet(PauseSet { reason }) => {
            state.swarm.paused = true;
            state.swarm.pause_reason = Some(reason.clone());
        }
        Event::PauseLifted(PauseLifted {}) => {
            state.swarm.paused = false;
            state.swarm.pause_reason = None;
            state.swarm.failures_in_a_row = 0;
            state.swarm.held_until = None;
        }
        Event::SettingsLoaded(SettingsLoaded { hash, settings }) => {
            load_settings(state, hash, settings)
        }
        Event::ModeSet(ModeSet { mode }) => {
            state.swarm.mode_override = *mode;
            autopilot_off(state);
        }
        Event::RoomAwaited(RoomAwaited { until }) => state.swarm.held_until = Some(*until),
        Event::TargetSeen(seen) => state.swarm.target = Some(seen.clone()),
        Event::TargetRewritten(rewritten) => {
            state.swarm.rewritten = Some(rewritten.clone());
            for id in &rewritten.dropped {
                with_idea(state, id, at, |idea| {
                    audit(idea, at, "dropped_by_force_push", rewritten.to.as_str());
                });
            }
        }
        Event::TargetSettled(TargetSettled { choice, to }) => {
            state.swarm.rewritten = None;
            state.swarm.rebase = *choice == TargetChoice::Rebase;
            if let Some(target) = &mut state.swarm.target {
                target.commit = to.clone();
            }
        }
        Event::WarningRaised(WarningRaised { key, message }) => {
            let warning = Warning {
                message: message.clone(),
                since: at,
            };
            state.warnings.insert(key.clone(), warning);
        }
        Event::WarningCleared(WarningCleared { key }) => {
            state.warnings.remove(key);
        }
        Event::EffectRequested(EffectRequested { id, effect }) => {
            state.counters.effects = state.counters.effects.max(id.0);
            request(state, effect);
            state.outbox.insert(*id, effect.clone());
        }
        Event::EffectFinished(EffectFinished { id, error }) => {
            if let (Some(effect), Some(_)) = (state.outbox.remove(id), error) {
                tidying_failed(&mut state.owed, effect);
            }
        }
        Event::StateRepaired(StateRepaired { floors, landed, .. }) => {
            state.counters = state.counters.at_least(*floors);
            for found in landed {
                landing_found(state, at, &found.idea, &found.commit);
            }
        }
        _ => return false,
    }
    true
}

/// When autopilot begins again, so does what comes before it.
fn autopilot_off(state: &mut State) {
    state.swarm.autopilot_checkpoint &= state.mode() == Mode::Autopilot;
}

/// What the log knew of the work on an idea is over: the target has it. Its worktree goes as one that is given up does, with everything in
/// it kept: the commit that landed may be later than the last one that the log knows.
fn landing_found(state: &mut State, at: Timestamp, id: &IdeaId, commit: &Oid) {
    let Some(kept) = state.ideas.change(id, |idea| idea.kept.take()) else {
        return;
    };
    state.queue.retain(|entry| entry.idea != *id);
    if let Some(agent) = state.attempt_at(id).map(|(agent, _)| agent.clone()) {
        state
            .outbox
            .retain(|_, effect| !effect.works_for(&agent, id));
        end_attempt(
            state,
            at,
            &agent,
            &Event::AttemptEnded(AttemptEnded {
                agent: agent.clone(),
                end: AttemptEnd::Merged,
                status: IdeaStatus::Done,
                message: None,
                not_before: None,
                keep_worktree: false,
            }),
        );
        for unused in &mut state.owed.worktrees {
            if state
                .ended
                .get(&agent)
                .is_some_and(|ended| ended.worktree == unused.worktree)
            {
                unused.landed = None;
            }
        }
    }
    state
        .owed
        .worktrees
        .extend(kept.and_then(|kept| unused(*kept)));
    let of_run = |effects: &std::collections::BTreeMap<_, Effect>, run: &RunId| {
        effects
            .values()
            .any(|effect| matches!(effect, Effect::Run { run: this, .. } if this == run))
    };
    let outbox = &state.outbox;
    state.stops.retain(|run, _| of_run(outbox, run));
    with_idea(state, id, at, |idea| {
        idea.status = IdeaStatus::Done;
        idea.commit = Some(commit.clone());
        idea.last_error = None;
        audit(idea, at, "landed", commit.as_str());
    });
}

/// A gate that has begun begins again when it changes: what passed was another gate.
fn load_settings(state: &mut State, hash: &str, settings: &Settings) {
    hash.clone_into(&mut state.config_hash);
    let before = state.settings.replace(Box::new(settings.clone()));
    autopilot_off(state);
    let Some(before) = before else {
        return;
    };
    let same = before.quality_commands == settings.quality_commands;
    if same && before.verify == settings.verify {
        return;
    }
    for attempt in state.agents.values_mut().filter(|_| !same) {
        attempt.gate_next = 0;
    }
    for entry in &mut state.queue {
        entry.verify_next = 0;
        entry.verified = None;
    }
}

/// What was to be tidied up is requested now; a run that was asked to end is remembered.
fn request(state: &mut State, effect: &Effect) {
    match effect {
        Effect::StopRun { run, now } => {
            let asked = state.stops.entry(run.clone()).or_default();
            *asked |= *now;
        }
        Effect::ReleaseWorktree { worktree, .. } => {
            let other = |unused: &UnusedWorktree| unused.worktree != *worktree;
            state.owed.worktrees.retain(other);
        }
        Effect::ArchiveInbox { name, sha256 } => {
            let other = |file: &InboxFile| file.name != *name || file.sha256 != *sha256;
            state.owed.inbox.retain(other);
        }
        // Asking is enough: one that cannot be made is a warning, not a reason to ask again and again.
        Effect::MakeCheckpoint { reason, .. } => match reason {
            Reason::Periodic => state.swarm.landed_since_checkpoint = 0,
            Reason::BeforeAutopilot => state.swarm.autopilot_checkpoint = true,
            Reason::Manual | Reason::BeforeRollback => {}
        },
        _ => {}
    }
}

fn tidying_failed(owed: &mut Owed, effect: Effect) {
    match effect {
        Effect::ReleaseWorktree {
            worktree,
            branch,
            landed,
            ..
        } => owed.worktrees_failed.push(UnusedWorktree {
            worktree,
            branch,
            landed,
        }),
        Effect::ArchiveInbox { name, sha256 } => {
            owed.inbox_failed.push(InboxFile { name, sha256 });
        }
        _ => {}
    }
}

/// A new daemon tries again what the one before could not tidy up.
fn owe_again(owed: &mut Owed) {
    owed.worktrees.append(&mut owed.worktrees_failed);
    owed.inbox.append(&mut owed.inbox_failed);
}

/// Events about ideas; false when it is another's.
fn idea_event(state: &mut State, at: Timestamp, event: &Event) -> bool {
    match event {
        Event::IdeaAdded(IdeaAdded { id, idea }) => add_idea(state, at, id, idea),
        Event::IdeaEdited(IdeaEdited { id, edit }) => {
            keep_text(state, id, edit);
            with_idea(state, id, at, |idea| edit_idea(idea, edit));
        }
        Event::IdeaRetried(IdeaRetried { id }) => with_idea(state, id, at, |idea| {
            idea.status = IdeaStatus::Pending;
            idea.used_before = idea.used;
            idea.retry_count = 0;
            idea.not_before = None;
            audit(idea, at, "retried", "");
        }),
        Event::IdeaCancelled(IdeaCancelled { id }) => {
            let kept = state.ideas.change(id, |idea| {
                idea.reserved = None;
                idea.kept.take()
            });
            state
                .owed
                .worktrees
                .extend(kept.flatten().and_then(|kept| unused(*kept)));
            with_idea(state, id, at, |idea| {
                idea.status = IdeaStatus::Cancelled;
                idea.assigned = false;
                audit(idea, at, "cancelled", "");
            });
        }
        Event::IdeaAssigned(IdeaAssigned { id, profile }) => with_idea(state, id, at, |idea| {
            idea.assigned = true;
            if profile.is_some() {
                idea.profile.clone_from(profile);
            }
        }),
        Event::IdeaClaimed(IdeaClaimed { id, agent, .. }) => {
            claim(state, at, id, agent, event);
        }
        Event::IdeaLanded(IdeaLanded { id, commit }) => {
            state.queue.retain(|entry| entry.idea != *id);
            state.swarm.failures_in_a_row = 0;
            state.swarm.landed_since_checkpoint += 1;
            state.swarm.last_landed = Some(id.clone());
            if let Some(target) = &mut state.swarm.target {
                target.commit = commit.clone();
            }
            with_idea(state, id, at, |idea| {
                idea.status = IdeaStatus::Done;
                idea.commit = Some(commit.clone());
                idea.last_error = None;
                audit(idea, at, "landed", commit.as_str());
            });
        }
        _ => return false,
    }
    true
}

fn with_idea(state: &mut State, id: &IdeaId, at: Timestamp, change: impl FnOnce(&mut Idea)) {
    state.ideas.change(id, |idea| {
        idea.updated_at = at;
        change(idea);
    });
}

fn audit(idea: &mut Idea, at: Timestamp, what: &str, detail: &str) {
    if idea.audit.len() >= AUDIT_KEPT {
        idea.audit.remove(0);
    }
    idea.audit.push(Audit {
        at,
        what: what.to_owned(),
        detail: detail.chars().take(300).collect(),
    });
}

fn add_idea(state: &mut State, at: Timestamp, id: &IdeaId, new: &NewIdea) {
    state.counters.ideas += 1;
    state.owed.inbox.extend(new.inbox.clone());
    let idea = Idea {
        status: IdeaStatus::Pending,
        text: new.text.as_str().into(),
        after: new.after.clone(),
        tags: new.tags.clone(),
        priority: new.priority,
        profile: new.profile.clone(),
        assigned: false,
        retry_count: 0,
        failed_attempts: 0,
        attempts: 0,
        not_before: None,
        kept: None,
        reserved: None,
        commit: None,
        last_error: None,
        used: Spent::default(),
        used_before: Spent::default(),
        audit: Vec::new(),
        created_at: at,
        updated_at: at,
    };
    state.ideas.insert(id.clone(), idea);
}

/// An attempt whose first prompt is written goes on with the text that it began with.
fn keep_text(state: &mut State, id: &IdeaId, edit: &IdeaEdit) {
    let before = state.ideas.get(id).map(|idea| idea.text.clone());
    let changes = edit.text.is_some() && edit.text.as_deref() != before.as_deref();
    let mut attempts = state.agents.values_mut();
    if let Some(attempt) = attempts.find(|attempt| changes && attempt.idea == *id)
        && attempt.iteration > 0
        && attempt.text.is_none()
    {
        attempt.text = before;
    }
}

fn edit_idea(idea: &mut Idea, edit: &IdeaEdit) {
    if let Some(text) = &edit.text {
        idea.text = text.as_str().into();
    }
    if let Some(after) = &edit.after {
        idea.after.clone_from(after);
    }
    if let Some(tags) = &edit.tags {
        idea.tags.clone_from(tags);
    }
    if let Some(priority) = edit.priority {
        idea.priority = priority;
    }
}

fn claim(state: &mut State, at: Timestamp, id: &IdeaId, agent: &AgentId, event: &Event) {
    let Event::IdeaClaimed(IdeaClaimed {
        attempt,
        profile,
        branch,
        worktree,
        ..
    }) = event
    else {
        return;
    };
    state.counters.agents += 1;
    let claimed = state.ideas.change(id, |idea| {
        idea.updated_at = at;
        idea.status = IdeaStatus::Active;
        idea.attempts = *attempt;
        idea.not_before = None;
        audit(idea, at, "claimed", agent.as_str());
        // Where ideas must be assigned, it is: it goes on by itself when it is interrupted.
        idea.assigned |= idea.reserved.take().is_some();
        idea.kept.take()
    });
    let Some(kept) = claimed else {
        return;
    };
    let session = provider::taken_up(kept.as_deref(), profile);
    let attempt = Attempt {
        idea: id.clone(),
        number: *attempt,
        profile: profile.clone(),
        branch: branch.clone(),
        worktree: worktree.clone(),
        phase: AttemptPhase::Preparing,
        task: Task::Work,
        iteration: 0,
        base: None,
        head: None,
        run: None,
        runs: Vec::new(),
        pid: None,
        adapter: None,
        resumed: false,
        signal_offset: None,
        said: None,
        gate_next: 0,
        sealed: false,
        progress: None,
        empty_outputs: 0,
        without_commit: 0,
        pre_start: None,
        returns: 0,
        catch_up: None,
        lost_runs: 0,
        at_once: 0,
        feedback: kept.as_ref().and_then(|kept| kept.feedback.clone()),
        messages: kept
            .as_ref()
            .map_or_else(Vec::new, |kept| kept.messages.clone()),
        heard: kept
            .as_deref()
            .map_or_else(Vec::new, |kept| heard_before(kept, at)),
        text: None,
        kept,
        told: Vec::new(),
        ending: None,
        redirect: None,
        not_before: None,
        claimed_at: at,
        iteration_at: None,
        spent_ms: 0,
        session,
        own_session: None,
        used: Spent::default(),
        using: None,
        excused: 0,
        cut: 0,
    };
    state.agents.insert(agent.clone(), attempt);
}

/// What waits for the first prompt. A checkpoint keeps the texts alone.
fn heard_before(kept: &Kept, at: Timestamp) -> Vec<Message> {
    if kept.said.len() == kept.messages.len() {
        return kept.said.clone();
    }
    let messages = kept.messages.iter();
    messages.map(|text| Message::new(text, at)).collect()
}

/// Events about attempts; false when it is another's.
fn attempt_event(state: &mut State, at: Timestamp, event: &Event) -> bool {
    match event {
        Event::AttemptMoved(AttemptMoved {
            agent,
            phase,
            not_before,
        }) => with_attempt(state, agent, |attempt| {
            attempt.phase = *phase;
            attempt.not_before = *not_before;
        }),
        Event::WorktreeReady(WorktreeReady { agent, base, head }) => {
            with_attempt(state, agent, |attempt| {
                attempt.base = Some(base.clone());
                attempt.head = Some(head.clone());
                attempt.catch_up = None;
            })
        }
        Event::IterationStarted(IterationStarted {
            agent,
            iteration,
            run,
        }) => {
            state.counters.runs += 1;
            with_attempt(state, agent, |attempt| {
                begin_iteration(attempt, at, *iteration, run);
            });
        }
        Event::GateStarted(GateStarted { agent, run, .. }) => {
            state.counters.runs += 1;
            with_attempt(state, agent, |attempt| begin_run(attempt, run));
        }
        Event::RunStarted(RunStarted {
            run,
            pid,
            adapter,
            resumed,
        }) => with_run(state, run, |attempt| {
            attempt.pid = Some(*pid);
            attempt.adapter.clone_from(adapter);
            attempt.resumed = *resumed;
        }),
        Event::RunEnded(RunEnded { run, end }) => end_run(state, at, run, end),
        Event::SignalSeen(SignalSeen {
            agent,
            offset,
            signal,
            ..
        }) => with_attempt(state, agent, |attempt| hear(attempt, *offset, signal)),
        Event::IterationJudged(IterationJudged {
            agent,
            empty,
            at_once,
        }) => with_attempt(state, agent, |attempt| {
            attempt.empty_outputs = if *empty { attempt.empty_outputs + 1 } else { 0 };
            attempt.at_once = if *at_once { attempt.at_once + 1 } else { 0 };
        }),
        Event::AttemptSealed(AttemptSealed { agent, head, .. }) => {
            with_attempt(state, agent, |attempt| seal(attempt, head));
        }
        Event::GatePassed(GatePassed { agent, index }) => {
            with_attempt(state, agent, |attempt| attempt.gate_next = index + 1);
        }
        Event::GateFailed(GateFailed { agent, feedback }) => {
            with_attempt(state, agent, |attempt| {
                attempt.feedback = Some(feedback.clone());
            })
        }
        Event::TaskSet(TaskSet { agent, task }) => {
            with_attempt(state, agent, |attempt| {
                attempt.task = task.clone();
                // It begins something else: nothing is in a row any more.
                attempt.cut = 0;
                if *task == Task::Work {
                    provider::back_to_own(attempt);
                }
            });
        }
        Event::MessageQueued(MessageQueued { agent, text }) => {
            with_attempt(state, agent, |attempt| {
                attempt.messages.push(text.clone());
                message::accept(&mut attempt.heard, Message::new(text, at));
            });
        }
        Event::EndingAsked(EndingAsked { agent, ending }) => {
            with_attempt(state, agent, |attempt| attempt.ending = Some(*ending));
            if *ending == Ending::Stopped {
                redirect::take_back(state, agent);
            }
        }
        Event::AgentRedirected(AgentRedirected {
            agent,
            to,
            new_worktree,
        }) => redirect::begin(state, at, agent, to, *new_worktree),
        Event::WorkSaved(WorkSaved { agent, saved, .. }) => redirect::save(state, agent, saved),
        Event::AttemptEnded(AttemptEnded { agent, .. }) => end_attempt(state, at, agent, event),
        Event::Learned(Learned {
            id,
            agent,
            profile,
            global,
            content,
        }) => {
            if let Some(known) = state
                .learnings
                .iter_mut()
                .find(|learning| learning.id == *id)
            {
                known.sources.push(agent.clone());
                return true;
            }
            state.counters.learnings += 1;
            state.learnings.push(Learning {
                id: id.clone(),
                global: *global,
                profile: profile.clone(),
                content: content.clone(),
                sources: vec![agent.clone()],
                at,
            });
        }
        _ => return false,
    }
    true
}

fn with_attempt(state: &mut State, agent: &AgentId, change: impl FnOnce(&mut Attempt)) {
    if let Some(attempt) = state.agents.get_mut(agent) {
        change(attempt);
    }
}

fn with_run(state: &mut State, run: &RunId, change: impl FnOnce(&mut Attempt)) {
    let of_run = |attempt: &&mut Attempt| attempt.run.as_ref() == Some(run);
    if let Some(attempt) = state.agents.values_mut().find(of_run) {
        change(attempt);
    }
}

fn begin_run(attempt: &mut Attempt, run: &RunId) {
    attempt.run = Some(run.clone());
    attempt.pid = None;
    attempt.adapter = None;
    attempt.resumed = false;
    if attempt.runs.len() >= RUNS_KEPT {
        attempt.runs.remove(0);
    }
    attempt.runs.push(run.clone());
}

fn begin_iteration(attempt: &mut Attempt, at: Timestamp, iteration: u32, run: &RunId) {
    begin_run(attempt, run);
    attempt.iteration = iteration;
    attempt.iteration_at = Some(at);
    attempt.said = None;
    attempt.signal_offset = None;
    attempt.sealed = false;
    attempt.gate_next = 0;
    attempt.lost_runs = 0;
    // Kept, so that a prompt built again after a restart carries them too.
    attempt.told = std::mem::take(&mut attempt.messages);
    message::deliver(&mut attempt.heard, run, at);
}

fn end_run(state: &mut State, at: Timestamp, run: &RunId, end: &RunEnd) {
    state.stops.remove(run);
    provider::run_over(state, at, run, end);
    with_run(state, run, |attempt| {
        attempt.run = None;
        attempt.pid = None;
        if attempt.phase == AttemptPhase::Gating {
            count_lost(&mut attempt.lost_runs, end);
        } else {
            end_iteration(attempt, at, end);
        }
    });
    let of_run = |entry: &&mut MergeEntry| entry.run.as_ref() == Some(run);
    if let Some(entry) = state.queue.iter_mut().find(of_run) {
        entry.run = None;
        count_lost(&mut entry.lost_runs, end);
    }
}

/// Quality commands in a row whose runner was killed.
fn count_lost(lost: &mut u32, end: &RunEnd) {
    match end.how {
        RunEndKind::Lost => *lost += 1,
        RunEndKind::Stopped | RunEndKind::LeaseExpired => {}
        _ => *lost = 0,
    }
}

fn end_iteration(attempt: &mut Attempt, at: Timestamp, end: &RunEnd) {
    // A resolver's time is not the idea's, and neither is that in which a program tried and waited for its service.
    let waited = end.verdict.as_ref().is_some_and(Verdict::is_of_account);
    if attempt.task == Task::Work && !waited {
        attempt.spent_ms = attempt.spent_ms.saturating_add(end.duration_ms);
    }
    let through = !matches!(end.verdict, Some(Verdict::Cut | Verdict::Failed { .. }));
    if let Some(head) = &end.head {
        see_head(attempt, head, through);
    }
    let well = end.verdict.is_none() || end.verdict == Some(Verdict::Complete);
    if well && matches!(end.how, RunEndKind::Exited { .. }) {
        provider::went_well(attempt);
    }
    let told = std::mem::take(&mut attempt.told);
    // What a service refused to hear was not said.
    let refused = matches!(end.verdict, Some(Verdict::Failed { .. }));
    let delivered = !refused
        && matches!(
            end.how,
            RunEndKind::Exited { .. }
                | RunEndKind::TimedOut
                | RunEndKind::Idle
                | RunEndKind::OutputLimit
        );
    if !delivered {
        attempt.messages.splice(0..0, told);
    }
    message::settle(&mut attempt.heard, delivered, at);
}

fn told(why: Option<&String>) -> String {
    why.cloned().unwrap_or_else(|| "no reason given".to_owned())
}

fn hear(attempt: &mut Attempt, offset: u64, signal: &Signal) {
    attempt.signal_offset = Some(offset);
    match signal {
        Signal::Complete(_) => attempt.said = Some(Said::Complete),
        Signal::Resolved(_) => attempt.said = Some(Said::Resolved),
        Signal::Blocked(why) => attempt.said = Some(Said::Blocked(told(why.as_ref()))),
        Signal::NeedsHuman(why) => attempt.said = Some(Said::NeedsHuman(told(why.as_ref()))),
        Signal::Progress(percent) => attempt.progress = Some(*percent),
        Signal::LearningLocal(_) | Signal::LearningGlobal(_) => {}
    }
    // It wrote something, so iterations without output are no longer in a row.
    attempt.empty_outputs = 0;
    if attempt.said.is_some() {
        attempt.at_once = 0;
    }
}

fn seal(attempt: &mut Attempt, head: &Oid) {
    if attempt.head.as_ref() != Some(head) {
        attempt.without_commit = 0;
    }
    attempt.head = Some(head.clone());
    attempt.sealed = true;
}

/// One that was not `through` could not have made a commit.
fn see_head(attempt: &mut Attempt, head: &Oid, through: bool) {
    let moved = attempt.head.as_ref() != Some(head);
    attempt.without_commit = if moved {
        0
    } else {
        attempt.without_commit + u32::from(through)
    };
    attempt.head = Some(head.clone());
}

fn end_attempt(state: &mut State, at: Timestamp, agent: &AgentId, event: &Event) {
    let Event::AttemptEnded(AttemptEnded {
        end,
        status,
        message,
        not_before,
        keep_worktree,
        ..
    }) = event
    else {
        return;
    };
    let Some(attempt) = state.agents.remove(agent) else {
        return;
    };
    state.queue.retain(|entry| entry.agent != *agent);
    let failed = matches!(status, IdeaStatus::Failed | IdeaStatus::Timeout);
    if failed {
        state.swarm.failures_in_a_row += 1;
    } else if *status == IdeaStatus::Done {
        state.swarm.failures_in_a_row = 0;
    }
    if let Some(run) = &attempt.run {
        state.stops.remove(run);
    }
    // One that never had its worktree leaves half of a new one at most.
    let takes_over = attempt
        .kept
        .as_ref()
        .is_some_and(|kept| kept.worktree.saved.is_none());
    let half_made = attempt.base.is_none() && !takes_over;
    if !*keep_worktree || half_made {
        let landed = landing(state, &attempt, *end);
        give_up(&mut state.owed, &attempt, landed);
    }
    let ended = EndedAttempt {
        idea: attempt.idea.clone(),
        number: attempt.number,
        profile: attempt.profile.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.worktree.clone(),
        end: *end,
        iteration: attempt.iteration,
        runs: attempt.runs.clone(),
        claimed_at: attempt.claimed_at,
        ended_at: at,
        heard: attempt.heard.clone(),
        used: attempt.used,
        session: attempt.own_session().map(|session| session.id.clone()),
    };
    state.ended.insert(agent.clone(), ended);
    if *end == AttemptEnd::Stopped {
        redirect::unreserve(state, agent, &attempt);
    }
    let handed_over = redirect::hand_over(state, at, agent, &attempt, *end);
    let to = attempt
        .redirect
        .as_ref()
        .map(|redirect| redirect.to.clone());
    with_idea(state, &attempt.idea.clone(), at, |idea| {
        idea.status = *status;
        idea.not_before = *not_before;
        // Nobody decided against it: it goes on by itself, also where ideas must be assigned.
        let interrupted = matches!(
            end,
            AttemptEnd::Crashed | AttemptEnd::Interrupted | AttemptEnd::Released
        );
        idea.assigned &= interrupted && *status == IdeaStatus::Pending;
        if message.is_some() {
            idea.last_error = message.as_deref().map(Into::into);
        }
        idea.failed_attempts += u32::from(failed);
        idea.retry_count += u32::from(*end == AttemptEnd::Crashed);
        audit(
            idea,
            at,
            audit_word(*end),
            match (message, &to) {
                (None, Some(to)) => to.as_str(),
                _ => message.as_deref().unwrap_or_default(),
            },
        );
        if handed_over.is_some() {
            idea.kept = handed_over.map(Box::new);
        } else if *keep_worktree {
            idea.kept = keep(agent, attempt, *end == AttemptEnd::Crashed);
        }
    });
}

/// What proves that its branch may go.
fn landing(state: &State, attempt: &Attempt, end: AttemptEnd) -> Option<Landing> {
    let merged = matches!(end, AttemptEnd::Merged | AttemptEnd::NothingToMerge);
    let tip = attempt.head.clone().filter(|_| merged)?;
    let target = state.settings.as_ref()?.target.clone();
    Some(Landing { tip, target })
}

/// Its worktree is not needed any more, nor the one that it was to take over and never did. That may be the same one, under the branch that
/// its work is on.
fn give_up(owed: &mut Owed, attempt: &Attempt, landed: Option<Landing>) {
    let kept = attempt.kept.as_deref().filter(|_| attempt.base.is_none());
    let kept = kept.cloned().and_then(unused);
    let same = |kept: &UnusedWorktree| kept.worktree == attempt.worktree;
    if !kept.as_ref().is_some_and(same) {
        owed.worktrees.push(UnusedWorktree {
            worktree: attempt.worktree.clone(),
            branch: attempt.branch.clone(),
            landed,
        });
    }
    owed.worktrees.extend(kept);
}

/// Work that a checkpoint kept has no worktree that could go.
fn unused(kept: Kept) -> Option<UnusedWorktree> {
    let worktree = kept.worktree;
    worktree.saved.is_none().then_some(UnusedWorktree {
        worktree: worktree.worktree,
        branch: worktree.branch,
        landed: None,
    })
}

fn audit_word(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Merged => "merged",
        AttemptEnd::NothingToMerge => "nothing_to_merge",
        AttemptEnd::Blocked => "blocked",
        AttemptEnd::Failed => "failed",
        AttemptEnd::TimedOut => "timeout",
        AttemptEnd::Crashed => "crash_recovery",
        AttemptEnd::Stopped => "stopped",
        AttemptEnd::Interrupted => "interrupted",
        AttemptEnd::Cancelled => "cancelled",
        AttemptEnd::Released => "released",
        AttemptEnd::Redirected => "redirected",
    }
}

/// What the attempt leaves. An attempt that never had its worktree hands on what it was to take over.
fn keep(agent: &AgentId, attempt: Attempt, crashed: bool) -> Option<Box<Kept>> {
    let last_run = attempt.last_iteration().cloned();
    let session = attempt.own_session().cloned().map(Box::new);
    let Some(base) = attempt.base else {
        return attempt.kept;
    };
    Some(Box::new(Kept {
        last_run,
        worktree: KeptWorktree {
            worktree: attempt.worktree,
            branch: attempt.branch,
            base,
            agent: agent.clone(),
            crashed,
            saved: None,
        },
        feedback: attempt.feedback,
        said: message::waiting(&attempt.heard),
        messages: attempt.messages,
        iterations: attempt.iteration,
        taken_from: None,
        session,
    }))
}

/// Events about checkpoints and rollbacks; false when it is another's.
fn checkpoint_event(state: &mut State, at: Timestamp, event: &Event) -> bool {
    match event {
        Event::CheckpointMade(CheckpointMade { name, checkpoint }) => {
            state
                .checkpoints
                .insert(name.clone(), Checkpoint::clone(checkpoint));
        }
        Event::CheckpointDeleted(CheckpointDeleted { name }) => {
            state.checkpoints.remove(name);
        }
        Event::RollbackBegun(RollbackBegun { rollback }) => state.rollback = Some(rollback.clone()),
        Event::RollbackPlanned(RollbackPlanned { id, idea }) => {
            if let Some(rollback) = &mut state.rollback {
                rollback.ideas.insert(id.clone(), IdeaThen::clone(idea));
            }
        }
        Event::RollbackStepped(RollbackStepped { step }) => {
            if let Some(rollback) = &mut state.rollback {
                rollback.step = *step;
            }
        }
        Event::RolledBack(RolledBack { commit, .. }) => roll_back(state, at, commit),
        Event::RollbackAbandoned(_) => {
            state.rollback = None;
            // Of no use to the next one, also where the log was torn before they were finished.
            let its = |effect: &Effect| {
                matches!(
                    effect,
                    Effect::CheckRollback { .. } | Effect::MoveTarget { .. }
                )
            };
            state.outbox.retain(|_, effect| !its(effect));
        }
        _ => return false,
    }
    true
}

/// Ideas become what they were. One that came later and has landed since is to be done again; everything else of it stays.
fn roll_back(state: &mut State, at: Timestamp, commit: &Oid) {
    let Some(rollback) = state.rollback.take() else {
        return;
    };
    if let Some(target) = &mut state.swarm.target {
        target.commit = commit.clone();
    }
    state.swarm.rewritten = None;
    // Work that began on what the target no longer has must not bring that back.
    state.swarm.rebase = true;
    state.swarm.failures_in_a_row = 0;
    state.swarm.landed_since_checkpoint = 0;
    let ids: Vec<IdeaId> = state.ideas.keys().cloned().collect();
    for id in ids {
        state.ideas.change(&id, |idea| idea.reserved = None);
        match rollback.ideas.get(&id) {
            Some(then) => restore_idea(state, at, &id, then, &rollback.to),
            None => with_idea(state, &id, at, |idea| {
                if idea.status == IdeaStatus::Done {
                    idea.status = IdeaStatus::Pending;
                    idea.commit = None;
                    audit(idea, at, "rolled_back", rollback.to.as_str());
                }
            }),
        }
    }
}

fn restore_idea(
    state: &mut State,
    at: Timestamp,
    id: &IdeaId,
    then: &IdeaThen,
    to: &CheckpointName,
) {
    let left = state.ideas.change(id, |idea| {
        let now = IdeaThen::of(idea, None);
        let same = idea.kept.is_none() && now == *then && idea.status == then.status;
        if same {
            return None;
        }
        let left = idea.kept.take();
        idea.kept = then.saved.as_ref().map(|saved| Box::new(saved.kept()));
        idea.status = then.status;
        idea.retry_count = then.retry_count;
        idea.failed_attempts = then.failed_attempts;
        idea.commit.clone_from(&then.commit);
        idea.last_error.clone_from(&then.last_error);
        idea.assigned = false;
        idea.not_before = None;
        idea.updated_at = at;
        audit(idea, at, "rolled_back", to.as_str());
        left
    });
    // Its work is in the safety checkpoint.
    let left = left.flatten().and_then(|left| unused(*left));
    state.owed.worktrees.extend(left);
}

/// Events about the merge queue.
fn merge_event(state: &mut State, at: Timestamp, event: &Event) {
    match event {
        Event::MergeQueued(MergeQueued { id, .. }) => queue_merge(state, at, id, event),
        Event::MergeMoved(MergeMoved {
            id,
            phase,
            not_before,
            waits,
        }) => with_entry(state, id, |entry| {
            move_entry(entry, *phase, *not_before, waits.as_ref());
        }),
        Event::MergeReleased(MergeReleased { id }) => with_entry(state, id, |entry| {
            entry.held = false;
            entry.not_before = None;
            entry.waits = None;
        }),
        Event::MergeBuilt(MergeBuilt {
            id, commit, target, ..
        }) => with_entry(state, id, |entry| {
            if !entry.is_verified_on(target) {
                entry.pre_merge = None;
            }
            entry.commit = Some(commit.clone());
            entry.target = Some(target.clone());
            entry.conflict = None;
            entry.laid_out = false;
        }),
        Event::MergeConflicted(MergeConflicted {
            id,
            level,
            files,
            target,
        }) => with_entry(state, id, |entry| {
            entry.laid_out = false;
            entry.conflict = Some(Conflict {
                level: *level,
                files: files.clone(),
                target: target.clone(),
            });
        }),
        Event::ConflictLaidOut(ConflictLaidOut { id, files }) => with_entry(state, id, |entry| {
            entry.laid_out = true;
            if let Some(conflict) = &mut entry.conflict {
                conflict.files.clone_from(files);
            }
        }),
        Event::ConflictSettled(ConflictSettled { id, head }) => settle_conflict(state, id, head),
        Event::ResolverFailed(ResolverFailed { id, .. }) => {
            with_entry(state, id, |entry| entry.resolver_tries += 1);
        }
        Event::VerifyReady(VerifyReady { id }) => {
            with_entry(state, id, |entry| entry.checked_out = true)
        }
        Event::VerifyStarted(VerifyStarted { id, run, .. }) => {
            state.counters.runs += 1;
            with_entry(state, id, |entry| entry.run = Some(run.clone()));
        }
        Event::VerifyPassed(VerifyPassed { id, index }) => {
            with_entry(state, id, |entry| entry.verify_next = index + 1);
        }
        Event::MergeReturned(MergeReturned { id, feedback }) => {
            return_merge(state, at, id, feedback)
        }
        _ => {}
    }
}

fn with_entry(state: &mut State, id: &IdeaId, change: impl FnOnce(&mut MergeEntry)) {
    if let Some(entry) = state.queue.iter_mut().find(|entry| entry.idea == *id) {
        change(entry);
    }
}

fn queue_merge(state: &mut State, at: Timestamp, id: &IdeaId, event: &Event) {
    let Event::MergeQueued(MergeQueued {
        agent,
        branch,
        source,
        held,
        ..
    }) = event
    else {
        return;
    };
    with_idea(state, id, at, |idea| idea.status = IdeaStatus::Merging);
    state.queue.retain(|entry| entry.idea != *id);
    state.queue.push(MergeEntry {
        idea: id.clone(),
        agent: agent.clone(),
        branch: branch.clone(),
        source: source.clone(),
        phase: MergePhase::Queued,
        held: *held,
        commit: None,
        target: None,
        checked_out: false,
        verify_next: 0,
        run: None,
        verified: None,
        pre_merge: None,
        lost_runs: 0,
        conflict: None,
        laid_out: false,
        resolver_tries: 0,
        not_before: None,
        waits: None,
        queued_at: at,
    });
}

fn move_entry(
    entry: &mut MergeEntry,
    phase: MergePhase,
    not_before: Option<Timestamp>,
    waits: Option<&Waits>,
) {
    entry.phase = phase;
    entry.not_before = not_before;
    entry.waits = waits.cloned();
    if let (MergePhase::Landing, Some(target)) = (phase, &entry.target) {
        entry.verified = Some(Verified {
            source: entry.source.clone(),
            target: target.clone(),
        });
    }
    if phase == MergePhase::Queued {
        entry.commit = None;
        entry.target = None;
        entry.checked_out = false;
        entry.verify_next = 0;
        entry.run = None;
        // Who had nothing against it need not be asked again about the same work on the same target.
        entry.pre_merge = entry.pre_merge.filter(|passed| *passed == Passage::Free);
    }
}

/// The branch holds the target: its agent's worktree stands there too.
fn settle_conflict(state: &mut State, id: &IdeaId, head: &Oid) {
    let mut agent = None;
    with_entry(state, id, |entry| {
        entry.conflict = None;
        entry.laid_out = false;
        entry.resolver_tries = 0;
        entry.source = head.clone();
        agent = Some(entry.agent.clone());
    });
    if let Some(agent) = agent {
        with_attempt(state, &agent, |attempt| {
            attempt.head = Some(head.clone());
        });
    }
}

fn return_merge(state: &mut State, at: Timestamp, id: &IdeaId, feedback: &Feedback) {
    let Some(entry) = state.entry(id) else {
        return;
    };
    let (agent, target) = (entry.agent.clone(), entry.target.clone());
    state.queue.retain(|entry| entry.idea != *id);
    with_idea(state, id, at, |idea| {
        idea.status = IdeaStatus::Active;
        audit(idea, at, "returned", &feedback.command);
    });
    with_attempt(state, &agent, |attempt| {
        attempt.returns += 1;
        attempt.feedback = Some(feedback.clone());
        attempt.task = Task::Work;
        attempt.catch_up = target;
    });
}
