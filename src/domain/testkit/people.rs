//! What people and agents of a simulation do, taken from [`Choices`]: commands that may or may not
//! fit the state, and the help that a person gives when asked.

use std::collections::BTreeMap;

use super::choices::Choices;
use super::transfer_samples::imported_agent;
use super::{agent, checkpoint_name, new_idea, profile, settings};
use crate::domain::hook::{HookName, HookSettings};
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, ProfileName};
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::memory::{
    Claim, ConfirmFact, DisputeFact, FactKey, Learn, MemoryCommand, PutNote, Retracted, WriteFact,
};
use crate::domain::operation::{Command, IdeaEdit, ImportAgent, InboxFile, NewIdea, TargetChoice};
use crate::domain::scheduling;
use crate::domain::settings::{BaselineMode, Budget, CanaryMode, Mode, Settings, Webhook};
use crate::domain::signal::Signal;
use crate::domain::state::provider::Hold;
use crate::domain::state::{Attempt, Idea, IdeaStatus, State};
use crate::domain::usage::MicroUsd;

/// Ideas that one simulation has at most.
const IDEAS: usize = 12;

/// What a person would do now.
pub(crate) fn help(state: &State) -> Vec<Command> {
    let mut help = Vec::new();
    let mut holds = state.accounts.values().chain(state.profiles.values());
    let waits = holds.any(Hold::waits_for_person)
        || state.red_baseline().is_some()
        || state.blind_checks().is_some();
    if state.swarm.phase != SwarmPhase::Running || waits {
        help.push(Command::Resume);
    }
    if state.swarm.rewritten.is_some() {
        let choice = TargetChoice::Redo;
        help.push(Command::SettleTarget { choice });
    }
    for entry in &state.queue {
        let id = entry.idea.clone();
        if entry.phase == MergePhase::Person {
            help.push(Command::ResolveMerge { id });
        } else if entry.held {
            let commit = Some(entry.source.clone());
            help.push(Command::ApproveMerge { id, commit });
        } else if entry.waits.is_some() {
            help.push(Command::RetryMerge { id });
        }
    }
    for (id, attempt) in &state.agents {
        if attempt.phase == AttemptPhase::WaitingForHuman {
            let (id, text) = (id.clone(), "yes".into());
            help.push(Command::SayToAgent { id, text });
        }
    }
    let on_hold = state.ideas.iter().filter(|(_, idea)| idea.held);
    help.extend(on_hold.map(|(id, _)| Command::UnholdIdea { id: id.clone() }));
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

fn some_idea(state: &State, choices: &mut Choices) -> IdeaId {
    let ideas = state.ideas.len();
    IdeaId::numbered(choices.pick(ideas + 1) as u64 + 1)
}

fn some_agent(state: &State, choices: &mut Choices) -> AgentId {
    let agents = state.agents.len();
    let at = choices.pick(agents + 1);
    let found = state.agents.keys().nth(at).cloned();
    found.unwrap_or_else(|| agent(1))
}

pub(crate) fn some_command(state: &State, choices: &mut Choices) -> Command {
    match choices.pick(55) {
        0..6 => some_new_idea(state, choices),
        6 => some_edit(state, choices),
        7 | 8 => Command::RetryIdea {
            id: some_idea(state, choices),
        },
        9 => Command::CancelIdea {
            id: some_idea(state, choices),
        },
        10 => {
            let (id, profile) = (some_idea(state, choices), None);
            Command::AssignIdea { id, profile }
        }
        11 => Command::StopAgent {
            id: some_agent(state, choices),
        },
        12 => {
            let (id, text) = (some_agent(state, choices), "look at the tests".into());
            Command::SayToAgent { id, text }
        }
        13 => Command::Pause { reason: None },
        14 => Command::Resume,
        15 => Command::RetryMerge {
            id: some_idea(state, choices),
        },
        16 => Command::ResolveMerge {
            id: some_idea(state, choices),
        },
        17 => {
            use TargetChoice::{Cancel, Ignore, Redo};
            let choice = [Redo, Ignore, Cancel][choices.pick(3)];
            Command::SettleTarget { choice }
        }
        18 => {
            let settings = Box::new(some_settings(choices));
            let hash = "hash".into();
            Command::LoadSettings { hash, settings }
        }
        19..26 => some_help(state, choices),
        26..30 => Command::CreateCheckpoint {
            tag: false,
            name: checkpoint_name(["one", "two", "three"][choices.pick(3)]),
        },
        30 | 31 => Command::DeleteCheckpoint {
            name: some_checkpoint(state, choices),
        },
        32..39 => Command::RollBack {
            name: some_checkpoint(state, choices),
            pause: choices.chance(20),
            from: None,
        },
        39 => {
            let mode = [Mode::Autopilot, Mode::SemiAuto][choices.pick(2)];
            Command::SetMode { mode }
        }
        40 => {
            let (id, commit) = (some_review(state, choices), None);
            Command::ApproveMerge { id, commit }
        }
        41 | 42 => {
            let id = some_review(state, choices);
            let why = ["add a test", "rename it"][choices.pick(2)].into();
            Command::RejectMerge { id, why }
        }
        43 => Command::HoldIdea {
            id: some_idea(state, choices),
        },
        44 => Command::UnholdIdea {
            id: some_idea(state, choices),
        },
        45 => Command::Undo {
            seq: state.last_undoable().map_or(0, |last| last.seq),
            from: None,
        },
        46..50 => some_redirect(state, choices),
        50 if choices.chance(50) => some_import(state, choices),
        50 => Command::ReplayRecord {
            of: "r0001-ed-001-i1".parse().unwrap(),
            sha256: "00".repeat(32),
            profile: profile("ed"),
        },
        _ => Command::Memory(some_memory_command(state, choices)),
    }
}

/// Mostly one whose work waits for review.
fn some_review(state: &State, choices: &mut Choices) -> IdeaId {
    let waiting = state.queue.iter().filter(|entry| entry.is_in_review());
    let waiting: Vec<_> = waiting.map(|entry| &entry.idea).collect();
    let some = waiting.get(choices.pick(waiting.len() + 1));
    some.map_or_else(|| some_idea(state, choices), |id| (*id).clone())
}

/// Mostly to an idea that waits.
fn some_redirect(state: &State, choices: &mut Choices) -> Command {
    let waits = |(_, idea): &(&IdeaId, &Idea)| {
        idea.status == IdeaStatus::Pending && scheduling::is_unlocked(state, idea)
    };
    let waiting: Vec<_> = state.ideas.iter().filter(waits).map(|(id, _)| id).collect();
    let some = waiting.get(choices.pick(waiting.len() + 1));
    let works = |(_, attempt): &(&AgentId, &Attempt)| state.entry(&attempt.idea).is_none();
    let at_work: Vec<_> = state
        .agents
        .iter()
        .filter(works)
        .map(|(id, _)| id)
        .collect();
    let agent = at_work.get(choices.pick(at_work.len() + 1));
    Command::RedirectAgent {
        id: agent.map_or_else(|| some_agent(state, choices), |id| (*id).clone()),
        idea: some.map_or_else(|| some_idea(state, choices), |id| (*id).clone()),
        new_worktree: choices.chance(30),
    }
}

/// An agent's state, mostly with commits, on a new idea or on one that may be there.
fn some_import(state: &State, choices: &mut Choices) -> Command {
    let on_old = state.ideas.len() >= IDEAS || choices.chance(60);
    let mut imported = imported_agent(choices.chance(60));
    imported.sha256 = format!("{:064x}", choices.pick(3));
    Command::ImportAgent(Box::new(ImportAgent {
        idea: on_old.then(|| some_idea(state, choices)),
        text: "go on".into(),
        profile: choices.chance(20).then(|| profile("finn")),
        imported,
    }))
}

/// One that there is, mostly.
fn some_checkpoint(state: &State, choices: &mut Choices) -> CheckpointName {
    let at = choices.pick(state.checkpoints.len() + 1);
    let found = state.checkpoints.keys().nth(at).cloned();
    found.unwrap_or_else(|| checkpoint_name("one"))
}

/// About few facts, so that they meet.
pub(crate) fn some_memory_command(state: &State, choices: &mut Choices) -> MemoryCommand {
    let key: FactKey = ["api.port", "db.url"][choices.pick(2)].parse().unwrap();
    let value = ["8080", "9090", "none"][choices.pick(3)].to_owned();
    let version = state.facts.get(&key).map_or(0, |fact| fact.version);
    let claim = Claim::default();
    match choices.pick(10) {
        0 | 1 => MemoryCommand::Learn(Learn {
            content: format!("[{key}] {value}"),
            ..Learn::default()
        }),
        2 => MemoryCommand::WriteFact(WriteFact {
            key,
            value,
            expected: Some(version),
            claim,
        }),
        3 => MemoryCommand::DisputeFact(DisputeFact {
            key,
            version,
            value: Some(value),
            claim,
        }),
        4 => MemoryCommand::ConfirmFact(ConfirmFact {
            key,
            version,
            claim,
        }),
        5 => MemoryCommand::Retract {
            what: Retracted::Fact(key),
            why: None,
        },
        6 => MemoryCommand::Pin {
            key,
            on: choices.chance(50),
        },
        7 => MemoryCommand::Compact,
        8 => MemoryCommand::Learn(Learn {
            content: format!("it takes {} minutes", choices.pick(20)),
            ..Learn::default()
        }),
        _ => MemoryCommand::PutNote(PutNote {
            key: "todo".parse().unwrap(),
            title: None,
            content: choices.chance(70).then_some(value),
            expected: None,
            keep: choices.chance(50),
        }),
    }
}

/// Something that a person is asked for.
fn some_help(state: &State, choices: &mut Choices) -> Command {
    let mut help = help(state);
    let at = choices.pick(help.len());
    if help.is_empty() {
        Command::Resume
    } else {
        help.swap_remove(at)
    }
}

/// What somebody does who steps in all the time: agents are redirected, stopped, told things; ideas
/// come, change and go.
pub(crate) fn some_intervention(state: &State, choices: &mut Choices) -> Command {
    match choices.pick(24) {
        0..8 => some_redirect(state, choices),
        8..14 => new_one_of(3 * IDEAS, state, choices),
        14 => Command::StopAgent {
            id: some_agent(state, choices),
        },
        15 => {
            let text = ["one", "two"][choices.pick(2)].into();
            let id = some_agent(state, choices);
            Command::SayToAgent { id, text }
        }
        16 => Command::CancelIdea {
            id: some_idea(state, choices),
        },
        17 => Command::RetryIdea {
            id: some_idea(state, choices),
        },
        18 => some_text(state, choices),
        19 => Command::Pause { reason: None },
        _ => some_command(state, choices),
    }
}

fn some_text(state: &State, choices: &mut Choices) -> Command {
    let edit = IdeaEdit {
        text: Some(["this", "that"][choices.pick(2)].into()),
        ..IdeaEdit::default()
    };
    let id = some_idea(state, choices);
    Command::EditIdea { id, edit }
}

pub(crate) fn some_new_idea(state: &State, choices: &mut Choices) -> Command {
    new_one_of(IDEAS, state, choices)
}

fn new_one_of(most: usize, state: &State, choices: &mut Choices) -> Command {
    if state.ideas.len() >= most {
        return Command::Resume;
    }
    let mut new = NewIdea {
        after: some_after(state, choices),
        priority: i64::try_from(choices.pick(50)).unwrap(),
        ..new_idea("do it")
    };
    if choices.chance(20) {
        let name = format!("{}.md", choices.pick(3));
        let sha256 = "00".into();
        new.inbox = Some(InboxFile { name, sha256 });
    }
    if choices.chance(20) {
        new.profile = Some(profile("finn"));
    }
    new.review = choices.chance(10);
    if choices.chance(20) {
        new.tags.push("critical".into());
    }
    Command::AddIdea(new)
}

fn some_after(state: &State, choices: &mut Choices) -> Vec<IdeaId> {
    if choices.chance(30) {
        vec![some_idea(state, choices)]
    } else {
        vec![]
    }
}

fn some_edit(state: &State, choices: &mut Choices) -> Command {
    let id = some_idea(state, choices);
    let edit = IdeaEdit {
        after: Some(some_after(state, choices)),
        priority: Some(3),
        ..IdeaEdit::default()
    };
    Command::EditIdea { id, edit }
}

pub(crate) fn some_signal(choices: &mut Choices) -> Signal {
    match choices.pick(12) {
        0..5 => Signal::Complete(None),
        5 => Signal::Blocked(Some("no access".into())),
        6 | 7 => Signal::NeedsHuman(Some("which way?".into())),
        8 => Signal::Resolved(None),
        9 => Signal::Progress(50),
        10 => Signal::LearningGlobal("tests need a database".into()),
        _ => Signal::LearningLocal("Tests  need a database".into()),
    }
}

/// Half of the swarms have no hooks.
fn some_hooks(choices: &mut Choices) -> BTreeMap<HookName, HookSettings> {
    let there = if choices.chance(50) { 40 } else { 0 };
    let mut hooks = BTreeMap::new();
    for name in HookName::ALL {
        if choices.chance(there) {
            let hook = HookSettings {
                timeout_ms: 1_000,
                veto_on_timeout: name.can_veto() && choices.chance(50),
                again: !choices.chance(30),
            };
            hooks.insert(name, hook);
        }
    }
    hooks
}

/// Profiles that share an account, have one each, or none.
fn some_accounts(choices: &mut Choices) -> BTreeMap<ProfileName, String> {
    let accounts: [&[(&str, &str)]; 4] = [
        &[],
        &[("ed", "claude")],
        &[("ed", "claude"), ("finn", "codex")],
        &[("ed", "claude"), ("finn", "claude")],
    ];
    let some = accounts[choices.pick(accounts.len())].iter();
    some.map(|(name, account)| (profile(name), (*account).to_owned()))
        .collect()
}

/// Most swarms may spend what they like.
fn some_budget(choices: &mut Choices) -> Budget {
    let mut budget = Budget::default();
    if choices.chance(20) {
        budget.usd_per_idea = Some(MicroUsd(5_000));
    }
    if choices.chance(20) {
        budget.tokens_per_idea = Some(800);
    }
    if choices.chance(20) {
        budget.usd_per_day = Some(MicroUsd(8_000));
    }
    budget.hard_stop = choices.chance(40);
    budget
}

/// Setups, also none.
fn some_setup(choices: &mut Choices) -> Vec<String> {
    let setups: [&[&str]; 4] = [&[], &[], &["install"], &["install", "generate"]];
    let setup = setups[choices.pick(setups.len())];
    setup.iter().map(ToString::to_string).collect()
}

/// Settings, mostly small limits.
pub(crate) fn some_settings(choices: &mut Choices) -> Settings {
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
        same_check_failures: 4,
        setup: some_setup(choices),
        quality_commands: commands.iter().map(ToString::to_string).collect(),
        max_checks: [None, Some(1), Some(64)][choices.pick(3)],
        baseline: [BaselineMode::Require, BaselineMode::Warn, BaselineMode::Off][choices.pick(3)],
        canary: [CanaryMode::Require, CanaryMode::Warn, CanaryMode::Off][choices.pick(3)],
        auto_commit: !choices.chance(20),
        commit_hooks: choices.chance(8),
        auto_merge: !choices.chance(20),
        verify: !choices.chance(20),
        cleanup_on_success: !choices.chance(20),
        grace_ms: 1_000,
        checkpoint_every: number(choices, 4),
        checkpoint_before_autopilot: choices.chance(40),
        checkpoint_tag: false,
        checkpoints_kept: 1 + number(choices, 4),
        max_worktrees: number(choices, 4),
        hooks: some_hooks(choices),
        webhook: choices.chance(40).then_some(Webhook { kinds: None }),
        accounts: some_accounts(choices),
        resolver: choices.chance(20).then(|| profile("finn")),
        auto_resume: !choices.chance(20),
        resume_sessions: !choices.chance(20),
        budget: some_budget(choices),
        // Small, so that the memory is compacted again and again.
        memory_window: 4,
        keep_records: choices.chance(60),
        ..settings()
    }
}
