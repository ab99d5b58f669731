//! What holds in every state after every step.

use std::collections::{BTreeMap, BTreeSet};

use std::fmt::Debug;

use statig::blocking::{IntoStateMachine, State as MachineState, Superstate};
use strum::VariantArray as _;

use crate::domain::attention;
use crate::domain::decide;
use crate::domain::effect::{self, Effect};
use crate::domain::event::{AttemptMoved, Event, IterationExcused};
use crate::domain::hook::{HookCall, Passage};
use crate::domain::ids::{IdeaId, attempt_name};
use crate::domain::lifecycle::{
    AttemptInput, AttemptPhase, MergeInput, MergePhase, SwarmInput, SwarmPhase, attempt, merge,
    step, swarm,
};
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, Idea, IdeaStatus, Lending, MergeEntry, State, Task};
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

/// Panics, and says where, when a state that has advanced as far as it can is not sound.
pub(crate) fn check(state: &State, now: Timestamp) {
    the_backlog_adds_up(state);
    one_attempt_an_idea(state);
    usage_adds_up(state);
    statuses_fit(state);
    queue_is_sound(state);
    if is_awake(state) {
        nothing_is_stuck(state, now);
        assert!(state.owed.is_empty(), "not tidied up: {:?}", state.owed);
        assert!(decide::advance(state, now).is_empty());
    }
    if state.settings.is_some() && state.swarm.phase == SwarmPhase::RollingBack {
        rollback_goes_on(state, now);
    }
    saved_work_has_no_worktree(state);
    hooks_are_called(state, now);
    people_are_told(state);
    a_worktree_is_of_one(state);
    lent_worktrees_are_nobodys(state);
    reserved_ideas_can_begin(state);
    the_memory_is_sound(state);
    for run in state.stops.keys() {
        assert!(
            state.run_effect(run).is_some(),
            "{run} has ended and is still remembered"
        );
    }
}

/// Each learning is found by what it says, and the parts of each fact agree.
fn the_memory_is_sound(state: &State) {
    for learning in state.learnings.iter() {
        let profile = learning.profile.as_ref();
        let found = state
            .learnings
            .find(learning.global, profile, &learning.content);
        assert_eq!(found, Some(learning), "said twice");
        assert_eq!(state.learnings.get(&learning.id), Some(learning));
    }
    for (key, fact) in state.facts.iter() {
        assert!(
            fact.value_version >= 1 && fact.value_version <= fact.version,
            "{key}"
        );
        assert!(
            fact.rivals.len() as u64 <= fact.version - fact.value_version,
            "{key}"
        );
        assert!(
            fact.evidence.count >= fact.evidence.kept.len() as u64,
            "{key}"
        );
        let ids: BTreeSet<&str> = fact.rivals.iter().map(|rival| rival.id.as_str()).collect();
        assert_eq!(
            ids.len(),
            fact.rivals.len(),
            "{key}: a claim's id is used twice"
        );
        let says_value = fact
            .rivals
            .iter()
            .filter_map(|rival| rival.value.as_deref());
        assert!(
            !says_value.into_iter().any(|value| fact.says(value)),
            "{key}"
        );
    }
}

/// What is known of all ideas together is what each of them says.
/// Panics when a decided change of a phase is none that its machine knows.
pub(crate) fn follows_the_machines(state: &State, event: &Event) {
    let legal = match event {
        Event::PhaseChanged(changed) => {
            leads::<swarm::Machine>(state.swarm.phase, &SWARM_INPUTS, changed.phase)
        }
        Event::AttemptMoved(AttemptMoved { agent, phase, .. })
        | Event::IterationExcused(IterationExcused { agent, phase, .. }) => {
            leads::<attempt::Machine>(state.agents[agent].phase, AttemptInput::VARIANTS, *phase)
        }
        Event::MergeMoved(moved) => leads::<merge::Machine>(
            state.entry(&moved.id).unwrap().phase,
            MergeInput::VARIANTS,
            moved.phase,
        ),
        _ => true,
    };
    assert!(legal, "no machine leads there: {event:?}");
}

/// Panics when an idea gets one worktree too many although finished work could lend its own.
pub(crate) fn room_is_made_first(state: &State, event: &Event) {
    let is_new = match event {
        Event::IdeaClaimed(claimed) => {
            let kept = state.ideas.get(&claimed.id).and_then(|it| it.kept.as_ref());
            kept.is_none_or(|kept| kept.worktree.saved.is_some())
        }
        Event::EffectRequested(asked) => match &asked.effect {
            Effect::PrepareWorktree(it) => state.agents[&it.agent].lent().is_some(),
            _ => false,
        },
        _ => false,
    };
    let Some(settings) = state.settings.as_ref().filter(|_| is_new) else {
        return;
    };
    let can_lend = |entry: &MergeEntry| {
        let attempt = &state.agents[&entry.agent];
        let rests = attempt.phase == AttemptPhase::ReadyToMerge && attempt.ending.is_none();
        entry.phase == MergePhase::Queued
            && rests
            && attempt.lent().is_none()
            && attempt.lending != Lending::HoldsMore
            && !state.is_under_way(&entry.agent, &entry.idea)
    };
    let is_full = state.worktrees_in_use() >= settings.max_worktrees as usize;
    let lenders = state.queue.iter().filter(|entry| can_lend(entry)).count();
    assert!(
        !is_full || lenders == 0 || !settings.cleanup_on_success,
        "one worktree too many: {event:?}"
    );
}

/// Panics when the calls that were decided with an event are not those that are owed by the state
/// at that moment.
pub(crate) fn hooks_are_owed(state: &State, now: Timestamp, event: &Event) {
    if !matches!(event, Event::HookOwed(_)) {
        let owed = decide::hooks::owed_by(state, now, event);
        assert_eq!(state.hooks_announced, owed, "{event:?}");
    }
}

/// People are told of each thing once, and of everything that stands.
pub(crate) fn people_are_told_once(state: &State, event: &Event) {
    if let Event::NeedArose(arose) = event {
        let told = &state.attention.told;
        assert!(!told.contains(&arose.key), "told twice: {:?}", arose.key);
    }
}

fn people_are_told(state: &State) {
    let settings = state.settings.as_deref();
    let phases = [SwarmPhase::Running, SwarmPhase::Pausing, SwarmPhase::Paused];
    if !settings.is_some_and(Settings::tells_people) || !phases.contains(&state.swarm.phase) {
        return;
    }
    let told = &state.attention.told;
    let needs: BTreeSet<_> = attention::needs(state)
        .iter()
        .map(attention::Need::key)
        .collect();
    assert!(needs.is_subset(told), "not told: {needs:?} {told:?}");
    for key in told.difference(&needs) {
        assert!(attention::is_undecided(state, key), "settled: {key:?}");
    }
}

const SWARM_INPUTS: [SwarmInput; 11] = [
    SwarmInput::Start,
    SwarmInput::Recovered { paused: false },
    SwarmInput::Recovered { paused: true },
    SwarmInput::Pause,
    SwarmInput::Resume,
    SwarmInput::Quiet,
    SwarmInput::RollBack,
    SwarmInput::RolledBack { paused: false },
    SwarmInput::RolledBack { paused: true },
    SwarmInput::Shutdown,
    SwarmInput::Leave,
];

/// Whether one of the inputs leads from one phase to the other.
fn leads<M>(from: M::State, inputs: &[M::Event<'_>], to: M::State) -> bool
where
    M: for<'c> IntoStateMachine<Context<'c> = ()> + Default,
    M::State: MachineState<M> + Copy + Debug + PartialEq + 'static,
    for<'s> M::Superstate<'s>: Superstate<M>,
    for<'e> M::Event<'e>: Debug,
{
    let mut inputs = inputs.iter();
    inputs.any(|input| step::<M>(from, input) == Ok(to))
}

fn the_backlog_adds_up(state: &State) {
    let over = |idea: &Idea| matches!(idea.status, IdeaStatus::Done | IdeaStatus::Cancelled);
    let open = state.ideas.iter().filter(|(_, idea)| !over(idea));
    assert!(state.ideas.open().eq(open), "ideas that are not over");
    for status in IdeaStatus::ALL {
        let of_it = state.ideas.values().filter(|idea| idea.status == status);
        assert_eq!(state.ideas.count(status), of_it.count(), "{status:?}");
    }
}

/// What attempts used is what their ideas used, and with the synthesis and replays what their days
/// used; what does not count was there.
fn usage_adds_up(state: &State) {
    let mut of_ideas: BTreeMap<&IdeaId, Spent> = BTreeMap::new();
    let live = state.agents.values().map(|one| (&one.idea, &one.used));
    let ended = state.ended.values().map(|one| (&one.idea, &one.used));
    for (idea, used) in live.chain(ended) {
        of_ideas.entry(idea).or_default().add_all(used);
    }
    let mut all = Spent::default();
    for (id, idea) in &state.ideas {
        let of_attempts = of_ideas.remove(id).unwrap_or_default();
        assert_eq!(idea.used, of_attempts, "what {id} used");
        all.add_all(&idea.used);
    }
    let mut days = Spent::default();
    for used in state.used.values() {
        days.add_all(used);
    }
    all.add_all(&state.synthesis.used);
    all.add_all(&state.records.replays_used);
    assert_eq!(days, all, "what was used on all days");
    for (agent, attempt) in &state.agents {
        assert!(attempt.excused.iterations <= attempt.iteration, "{agent}");
        assert!(
            attempt.excused.exhausted <= 1,
            "{agent} gets a third conversation"
        );
        assert!(attempt.using.is_none() || attempt.run.is_some(), "{agent}");
    }
}

/// It waits for something outside, and that only.
fn rollback_goes_on(state: &State, now: Timestamp) {
    assert!(!state.outbox.is_empty(), "stuck: {:?}", state.rollback);
    assert!(decide::advance(state, now).is_empty());
}

/// Each call that is owed runs, or waits for its turn.
fn hooks_are_called(state: &State, now: Timestamp) {
    let running = |call: &&HookCall| call.run.is_some();
    for call in state.hooks.iter().filter(running) {
        let run = call.run.as_ref().unwrap();
        assert!(
            !is_awake(state) || state.run_effect(run).is_some(),
            "{call:?} waits for nothing"
        );
    }
    let calls = is_awake(state) && state.swarm.phase != SwarmPhase::Draining;
    let others = state.hooks.iter().filter(running);
    let room = others.filter(|call| !call.hook.can_veto()).count() < 16;
    for (place, call) in state.hooks.iter().enumerate() {
        // What happened to an idea is told in order; who stands before a step waits a moment at
        // most.
        let tells = |call: &HookCall| !call.hook.can_veto() && call.idea.is_some();
        let waits = tells(call)
            && state.hooks[..place]
                .iter()
                .any(|earlier| tells(earlier) && earlier.idea == call.idea);
        assert!(!waits || call.run.is_none(), "{call:?} is made too early");
        let ending = decide::hooks::is_ending(state, call);
        let held = if call.hook.can_veto() {
            call.idea
                .as_ref()
                .is_some_and(|idea| is_being_told(state, idea, now))
        } else {
            !room
        };
        let held = held || ending || is_full(state, now);
        assert!(
            call.run.is_some() || waits || held || !calls,
            "{call:?} is not made"
        );
    }
}

fn saved_work_has_no_worktree(state: &State) {
    let kept = state.ideas.values().filter_map(|idea| idea.kept.as_ref());
    for kept in kept.filter(|kept| kept.worktree.saved.is_some()) {
        assert!(kept.worktree.worktree.is_empty() && kept.worktree.branch.is_empty());
    }
    for unused in &state.owed.worktrees {
        assert!(!unused.worktree.is_empty(), "a worktree without a name");
    }
}

/// No worktree is two attempts', or somebody's and to be given back.
fn a_worktree_is_of_one(state: &State) {
    let mut seen = BTreeSet::new();
    let begun = state
        .agents
        .values()
        .filter(|attempt| attempt.base.is_some());
    let begun = begun.map(|attempt| &attempt.worktree);
    let waiting = state
        .agents
        .values()
        .filter(|attempt| attempt.base.is_none());
    let waiting = waiting.filter_map(|attempt| attempt.kept.as_ref());
    let kept = state.ideas.values().filter_map(|idea| idea.kept.as_ref());
    let kept = kept
        .chain(waiting)
        .filter(|kept| kept.worktree.saved.is_none())
        .map(|kept| &kept.worktree.worktree);
    let owed = &state.owed;
    let owed = owed.worktrees.iter().chain(&owed.worktrees_failed);
    let owed = owed.map(|unused| &unused.worktree);
    let released = state.outbox.values().filter_map(|effect| match effect {
        Effect::ReleaseWorktree(release) => Some(&release.worktree),
        _ => None,
    });
    let released: BTreeSet<&String> = released.collect();
    for worktree in begun.chain(kept).chain(owed) {
        assert!(seen.insert(worktree), "{worktree} is used twice");
        // A release that is repeated after a crash must not meet anybody's work.
        assert!(!released.contains(worktree), "{worktree} is being released");
    }
    for attempt in state.agents.values() {
        let name = &attempt.worktree;
        assert!(!released.contains(name), "{name} is claimed too early");
    }
    assert!(!seen.contains(&state.free_worktree()));
}

/// Only finished work lends its worktree, and nothing runs in what is not there.
fn lent_worktrees_are_nobodys(state: &State) {
    for (agent, attempt) in &state.agents {
        if attempt.lent().is_none() {
            continue;
        }
        assert_eq!(attempt.worktree, attempt_name(&attempt.branch), "{agent}");
        assert!(attempt.run.is_none(), "{agent} runs without a worktree");
        let fits = match attempt.phase {
            AttemptPhase::Preparing
            | AttemptPhase::Backoff
            | AttemptPhase::ReadyToMerge
            | AttemptPhase::Stopping => true,
            AttemptPhase::Queued
            | AttemptPhase::Starting
            | AttemptPhase::Working
            | AttemptPhase::Gating
            | AttemptPhase::WaitingForHuman
            | AttemptPhase::Merged
            | AttemptPhase::Failed
            | AttemptPhase::Released => false,
        };
        assert!(fits, "{agent} is {:?} without a worktree", attempt.phase);
    }
}

/// What an agent was redirected to waits for nothing but that agent's end, a slot, and what was
/// edited since.
fn reserved_ideas_can_begin(state: &State) {
    for (id, idea) in &state.ideas {
        let Some(reserved) = &idea.reserved else {
            continue;
        };
        assert_eq!(idea.status, IdeaStatus::Pending, "{id} is reserved");
        if let Some(taken_from) = idea.kept.as_ref().and_then(|kept| kept.taken_from.as_ref()) {
            assert_ne!(taken_from, id);
        }
        let attempt = state.agents.get(&reserved.from);
        let other = attempt.and_then(|attempt| attempt.redirect.as_ref());
        assert!(other.is_none_or(|redirect| redirect.to == *id));
    }
    for (agent, attempt) in &state.agents {
        let redirected = attempt.ending == Some(crate::domain::state::Ending::Redirected);
        assert!(
            !redirected || attempt.redirect.is_some(),
            "{agent} is redirected to nothing"
        );
    }
}

fn is_awake(state: &State) -> bool {
    use SwarmPhase::{Draining, Paused, Pausing, Running};
    state.settings.is_some() && matches!(state.swarm.phase, Running | Pausing | Paused | Draining)
}

fn one_attempt_an_idea(state: &State) {
    let mut ideas = BTreeSet::new();
    for (agent, attempt) in &state.agents {
        assert!(
            ideas.insert(&attempt.idea),
            "{} has two attempts",
            attempt.idea
        );
        assert!(!attempt.phase.is_over(), "{agent} is over and still there");
        assert!(
            !state.ended.contains_key(agent),
            "{agent} has ended and is still there"
        );
    }
}

fn statuses_fit(state: &State) {
    for (id, idea) in &state.ideas {
        let attempt = state.attempt_at(id).is_some();
        let entry = state.entry(id).is_some();
        let fits = match idea.status {
            IdeaStatus::Active => attempt && !entry,
            IdeaStatus::Merging => attempt && entry,
            // Between its landing and the end of its attempt the log may have been torn.
            IdeaStatus::Done => !entry && (!attempt || is_landing(state, id)),
            _ => !attempt && !entry,
        };
        assert!(
            fits,
            "{id} is {:?}: attempt {attempt}, entry {entry}",
            idea.status
        );
    }
}

fn is_landing(state: &State, id: &IdeaId) -> bool {
    state.is_pending(
        |effect| matches!(effect, Effect::Land(effect::Land { idea, .. }) if idea == id),
    )
}

fn queue_is_sound(state: &State) {
    let busy = state.queue.iter().filter(|entry| entry.phase.is_busy());
    let checking = state.is_target_in_verify();
    let busy = busy.count() + usize::from(checking);
    assert!(busy <= 1, "two hold the merge worktree");
    let mut ideas = BTreeSet::new();
    for entry in &state.queue {
        assert!(ideas.insert(&entry.idea), "{} is queued twice", entry.idea);
        let attempt = state.agents.get(&entry.agent);
        let attempt = attempt.unwrap_or_else(|| panic!("the attempt of {} is gone", entry.idea));
        assert_eq!(attempt.idea, entry.idea);
        assert!(!entry.phase.is_busy() || !entry.held);
    }
}

/// Each attempt and each entry has something under way, or waits for something that will come.
fn nothing_is_stuck(state: &State, now: Timestamp) {
    for (agent, attempt) in &state.agents {
        let under_way = state.is_under_way(agent, &attempt.idea);
        if attempt.ending.is_some() {
            assert!(under_way, "{agent} is to end and nothing is under way");
        }
        let burns = attempt.check.same_failures >= 3;
        assert!(under_way || !burns, "{agent} goes on with the same failure");
        let fine = under_way || rests(state, attempt, now);
        assert!(
            fine,
            "{agent} is stuck in {:?} ({:?})",
            attempt.phase, state.swarm.phase
        );
    }
    for entry in &state.queue {
        let under_way = state.is_under_way(&entry.agent, &entry.idea);
        let fine = under_way || entry_rests(state, entry, now);
        assert!(
            fine,
            "the merge of {} is stuck in {:?}",
            entry.idea, entry.phase
        );
    }
}

fn rests(state: &State, attempt: &Attempt, now: Timestamp) -> bool {
    let running = state.swarm.phase == SwarmPhase::Running;
    let draining = state.swarm.phase == SwarmPhase::Draining;
    match attempt.phase {
        AttemptPhase::WaitingForHuman => true,
        AttemptPhase::Backoff => {
            let later = attempt.not_before.is_some_and(|time| time > now);
            let caught_up = attempt.catch_up.is_none() || draining;
            let held = is_held(state, attempt, now);
            let may_rest = later
                || held
                || state.holds_iterations()
                || is_full(state, now)
                || state.slots_free() == 0;
            let lends = attempt.lent().is_some() && is_lending(state);
            (caught_up && (!running || may_rest)) || lends
        }
        AttemptPhase::Starting => {
            let later = is_full(state, now) || is_being_told(state, &attempt.idea, now);
            // The target may have moved on to a landing that passed.
            let settings = state.settings.as_ref().unwrap();
            let lands = settings.requires_baseline() && state.is_pending(Effect::is_landing);
            lands || (attempt.pre_start == Some(Passage::Asked) && later)
        }
        AttemptPhase::Preparing => {
            let later = attempt.not_before.is_some_and(|time| time > now);
            let lends = attempt.lent().is_some() && is_lending(state);
            (attempt.setup.is_some() && later) || state.waits_for_command(attempt) || lends
        }
        AttemptPhase::Gating => {
            let red = state.red_baseline().is_some();
            let judged =
                state.is_pending(Effect::is_baseline) || state.is_pending(Effect::holds_queue);
            let held = is_full(state, now) || state.holds_worktrees(now);
            let may_wait = !running || red || judged || held;
            let in_doubt = may_wait && state.waits_for_target(attempt);
            let after_others = state.waits_for_checks(attempt);
            let unsealed = held && state.waits_to_be_sealed(attempt);
            let waits = unsealed || state.waits_for_command(attempt);
            draining || in_doubt || after_others || waits
        }
        AttemptPhase::ReadyToMerge => state.entry(&attempt.idea).is_some(),
        _ => false,
    }
}

/// Another attempt is about to make room for it.
fn is_lending(state: &State) -> bool {
    state.is_pending(|effect| matches!(effect, Effect::LendWorktree(_)))
}

/// Its account waits for its time, for a person, or for a run that tries it: that ends in any case.
fn is_held(state: &State, attempt: &Attempt, now: Timestamp) -> bool {
    let settings = state.settings.as_ref().unwrap();
    let resolver = settings.resolver.as_ref();
    let resolver = resolver.filter(|_| attempt.task != Task::Work);
    let profile = resolver.unwrap_or(&attempt.profile);
    let account = settings.accounts.get(profile);
    let hold = state
        .accounts
        .get(account.map_or(profile.as_str(), String::as_str));
    let holds = [hold, state.profiles.get(profile)];
    holds.into_iter().flatten().any(|hold| {
        let tried = hold.tried_by.as_ref();
        hold.until.is_none_or(|until| until > now)
            || tried.is_some_and(|run| state.run_effect(run).is_some())
    })
}

/// What happened to an idea is told by a call that began less than half a second ago: what is asked
/// about it has its turn after that.
fn is_being_told(state: &State, idea: &IdeaId, now: Timestamp) -> bool {
    state.hooks.iter().any(|call| {
        let since = call.begun_at.filter(|_| call.run.is_some());
        let tells = !call.hook.can_veto() && call.idea.as_ref() == Some(idea);
        tells && since.is_some_and(|at| now.since(at) < 500)
    })
}

/// Nothing begins until there is room on the disk.
fn is_full(state: &State, now: Timestamp) -> bool {
    state.swarm.held_until.is_some_and(|until| until > now)
}

fn entry_rests(state: &State, entry: &MergeEntry, now: Timestamp) -> bool {
    let draining = state.swarm.phase == SwarmPhase::Draining;
    match entry.phase {
        MergePhase::Queued => true,
        MergePhase::Person => {
            let lends = state.agents[&entry.agent].lent().is_some() && is_lending(state);
            draining || entry.laid_out || entry.waits.is_some() || lends
        }
        MergePhase::Resolver => {
            let attempt = &state.agents[&entry.agent];
            let lends = attempt.lent().is_some() && is_lending(state);
            let again =
                attempt.lending == Lending::MadeAgain && attempt.phase == AttemptPhase::Preparing;
            draining || attempt.phase == AttemptPhase::Backoff || lends || again
        }
        // Nothing lands while a checkpoint is being made.
        MergePhase::Landing => {
            let asked = entry.pre_merge == Some(Passage::Asked);
            let told = is_being_told(state, &entry.idea, now);
            let later = draining || told || is_full(state, now);
            state.is_pending(Effect::is_checkpoint) || (later && asked)
        }
        _ => false,
    }
}
