//! One event of each kind, for the tests of what shows events.

use std::collections::BTreeMap;

use crate::domain::attention::{NeedKey, NoticeKind};
use crate::domain::effect::{self, ConflictLevel, Effect, Purpose, Saved, SetupTree, TargetTree};
use crate::domain::event::{
    AgentRedirected, ApprovalWithdrawn, AttemptEnded, AttemptMoved, AttemptSealed, BaselineCleared,
    BaselineDoubted, BaselineFailed, BaselinePassed, BaselineReady, BaselineStarted, CancelUndone,
    CheckpointDeleted, CheckpointMade, ChecksProbed, ClockWentBack, CommitHooksPassed,
    CommitHooksStarted, ConflictLaidOut, ConflictSettled, DaemonStarted, EffectFinished,
    EffectRequested, EndingAsked, Event, Findings, GateDoubted, GateExcused, GateFailed,
    GatePassed, GateStarted, HookApproved, HookAsked, HookCutOff, HookFinished, HookOwed,
    HookStarted, HookTimedOut, IdeaAdded, IdeaAssigned, IdeaCancelled, IdeaClaimed, IdeaEdited,
    IdeaHeld, IdeaLanded, IdeaRetried, IdeaUnheld, IterationJudged, IterationStarted, LandingFound,
    Learned, LostEvents, MachineSlept, Mark, MergeApproved, MergeBuilt, MergeConflicted,
    MergeMoved, MergeQueued, MergeRejected, MergeReleased, MergeReturned, MessageQueued, ModeSet,
    NeedArose, NeedSettled, NightBegan, NightEnded, NoticeDelivered, NoticeFailed, NumbersRaised,
    PauseLifted, PauseSet, PhaseChanged, ProbeAlarm, RedirectUndone, RepairWay, ResolverFailed,
    RollbackAbandoned, RollbackBegun, RollbackPlanned, RollbackStepped, RolledBack, RoomAwaited,
    RunEnded, RunStarted, SettingsLoaded, SetupPassed, SetupStarted, SignalSeen, StateRepaired,
    StateRestored, TargetRewritten, TargetSeen, TargetSettled, TaskSet, UndoRecorded,
    VerifyDoubted, VerifyPassed, VerifyReady, VerifyStarted, WarningCleared, WarningRaised,
    WorkRescued, WorkSaved, WorktreeLent, WorktreeReady, WorktreeStays, WorktreesFreed,
    WorktreesHeld,
};
use crate::domain::evolve::evolve;
use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, CheckpointName, EffectId, IdeaId, Oid, ProfileName, RunId};
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::memory::Evidence;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::operation::{IdeaEdit, NewIdea, TargetChoice};
use crate::domain::request::Author;
use crate::domain::settings::{BaselineMode, CanaryMode, Mode, Settings};
use crate::domain::signal::Signal;
use crate::domain::state::baseline::Doubt;
use crate::domain::state::checkpoint::{
    Checkpoint, IdeaThen, Reason, Rollback, RollbackStep, SavedWork,
};
use crate::domain::state::undo::Action;
use crate::domain::state::worktrees::WorktreesHold;
use crate::domain::state::{
    AttemptEnd, Counters, Ending, Feedback, IdeaStatus, State, Task, Waits,
};
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

pub(crate) fn oid() -> Oid {
    "0123456789abcdef0123456789abcdef01234567".parse().unwrap()
}

pub(crate) fn idea_id() -> IdeaId {
    IdeaId::numbered(1)
}

fn probed(blind: bool) -> ChecksProbed {
    let alarm = ProbeAlarm {
        command: Some("true".into()),
        message: "`true` passes although all 2 source files of this tree are garbage".into(),
        remedies: vec!["if this is meant: swarm checks accept-blind 'true' --why '...'".into()],
    };
    ChecksProbed {
        digest: "0123".into(),
        commit: Some(oid()),
        found: Findings {
            source_files: 2,
            alarms: blind.then_some(alarm).into_iter().collect(),
            notes: vec![],
        },
    }
}

fn profile() -> ProfileName {
    "ed".parse().unwrap()
}

pub(crate) fn agent() -> AgentId {
    AgentId::numbered(&profile(), 1)
}

fn run() -> RunId {
    RunId::numbered(7, "ed-001-i2")
}

/// A usable configuration.
pub(crate) fn settings() -> Settings {
    Settings {
        mode: Mode::Autopilot,
        target: "main".into(),
        max_parallel: 2,
        attempt_timeout_ms: 60_000,
        default_profile: profile(),
        profiles: vec![profile()],
        failures_to_pause: 3,
        crash_retries: 3,
        provider_wait_ms: 300_000,
        max_iterations: 50,
        stuck_threshold: 5,
        same_check_failures: 8,
        auto_commit: true,
        commit_hooks: false,
        setup: vec![],
        quality_commands: vec!["true".into()],
        quality_timeout_ms: 60_000,
        max_checks: None,
        baseline: BaselineMode::Off,
        canary: CanaryMode::Off,
        auto_merge: true,
        verify: true,
        conflict_retries: 3,
        cleanup_on_success: true,
        resolver: None,
        grace_ms: 5_000,
        checkpoint_every: 0,
        checkpoint_before_autopilot: false,
        checkpoint_tag: false,
        checkpoints_kept: 50,
        max_worktrees: 4,
        hooks: std::collections::BTreeMap::new(),
        webhook: None,
        accounts: std::collections::BTreeMap::new(),
        auto_resume: true,
        resume_sessions: true,
        prices: std::collections::BTreeMap::new(),
        budget: crate::domain::settings::Budget::default(),
        agents_may_add: false,
        memory_window: 4096,
        keep_records: false,
        synthesis: crate::domain::settings::SynthesisSettings::default(),
    }
}

fn feedback(merged: bool) -> Feedback {
    Feedback {
        command: "cargo test".into(),
        how: "exited with 101".into(),
        run: None,
        merged,
    }
}

/// One event of each kind.
pub(crate) fn events() -> Vec<Event> {
    let mut events = swarm_events();
    events.extend(baseline_events());
    events.extend(idea_events());
    events.extend(attempt_events());
    events.extend(merge_events());
    events.extend(checkpoint_events());
    events.extend(hook_events());
    events.extend(attention_events());
    events.extend(other_events());
    events
}

fn attention_events() -> Vec<Event> {
    let key = NeedKey::Failed { idea: idea_id() };
    vec![
        Event::NeedArose(NeedArose {
            key: key.clone(),
            kind: NoticeKind::Failed,
            idea: Some(idea_id()),
            message: "idea-003 failed: no".into(),
            commands: vec!["swarm idea retry idea-003".into()],
            webhook: true,
        }),
        Event::NeedSettled(NeedSettled { key }),
        Event::NightBegan(NightBegan {}),
        Event::NightEnded(NightEnded {
            landed: 2,
            failed: 1,
            waiting: 0,
            spent: Spent::default(),
            message: "nothing can continue by itself: 2 landed, 1 failed, 0 waiting".into(),
            commands: vec!["swarm report --since last".into()],
            webhook: false,
        }),
        Event::NoticeDelivered(NoticeDelivered { about: 40 }),
        Event::NoticeFailed(NoticeFailed {
            about: 41,
            why: "example.com answered with HTTP 500".into(),
            again_at: None,
        }),
    ]
}

fn hook_events() -> Vec<Event> {
    let hook = HookName::PreMerge;
    vec![
        Event::HookOwed(HookOwed {
            hook: HookName::OnPause,
            of: "pauseSet".into(),
            idea: None,
            agent: None,
            facts: std::collections::BTreeMap::new(),
        }),
        Event::HookAsked(HookAsked {
            hook,
            id: idea_id(),
            agent: agent(),
        }),
        Event::HookStarted(HookStarted {
            hook,
            about: 40,
            run: run(),
        }),
        Event::HookCutOff(HookCutOff {
            hook,
            about: 40,
            lost: false,
        }),
        Event::HookFinished(HookFinished {
            hook,
            about: 40,
            how: "exit code 1: no database".into(),
            well: false,
            veto: true,
            not_run: false,
        }),
        Event::HookTimedOut(HookTimedOut {
            hook,
            about: 41,
            veto: false,
        }),
        Event::HookApproved(HookApproved {
            hook,
            content: "12ab".into(),
        }),
    ]
}

fn swarm_events() -> Vec<Event> {
    vec![
        Event::Mark(Mark {}),
        Event::DaemonStarted(DaemonStarted {
            version: "0.1.0".into(),
            counters: None,
            host: None,
        }),
        Event::NumbersRaised(NumbersRaised {
            counters: Counters {
                ideas: 2,
                agents: 3,
                runs: 4,
                effects: 5,
                ..Counters::default()
            },
        }),
        Event::PhaseChanged(PhaseChanged {
            phase: SwarmPhase::Running,
            reason: None,
            deadline: Some(Timestamp::from_millis(5)),
        }),
        Event::PauseSet(PauseSet {
            reason: "lunch".into(),
            command: None,
        }),
        Event::PauseLifted(PauseLifted {}),
        Event::SettingsLoaded(SettingsLoaded {
            hash: "00".into(),
            settings: Box::new(settings()),
        }),
        Event::ModeSet(ModeSet {
            mode: Some(Mode::SemiAuto),
        }),
        Event::ModeSet(ModeSet { mode: None }),
        Event::ClockWentBack(ClockWentBack { by_ms: 1_500 }),
        Event::MachineSlept(MachineSlept { seconds: 28_800 }),
        Event::RoomAwaited(RoomAwaited {
            until: Timestamp::from_millis(1_000),
        }),
        Event::WorktreesHeld(WorktreesHeld {
            hold: WorktreesHold {
                since: Timestamp::from_millis(1_000),
                until: Timestamp::from_millis(3_000),
                times: 1,
                message: "the filter `crypt` failed".into(),
                seals: true,
            },
        }),
        Event::WorktreesFreed(WorktreesFreed {}),
        Event::TargetSeen(TargetSeen {
            branch: "main".into(),
            commit: oid(),
        }),
        Event::TargetRewritten(TargetRewritten {
            from: oid(),
            to: oid(),
            dropped: vec![idea_id()],
        }),
        Event::LandingFound(LandingFound {
            id: idea_id(),
            commit: oid(),
            since: Some(oid()),
        }),
        Event::TargetSettled(TargetSettled {
            choice: TargetChoice::Redo,
            to: oid(),
        }),
    ]
}

fn idea_events() -> Vec<Event> {
    let id = idea_id;
    vec![
        Event::IdeaAdded(IdeaAdded {
            id: id(),
            idea: NewIdea {
                text: "add a --version flag".into(),
                ..NewIdea::default()
            },
        }),
        Event::IdeaEdited(IdeaEdited {
            id: id(),
            edit: IdeaEdit {
                text: Some("x".into()),
                priority: Some(3),
                ..IdeaEdit::default()
            },
        }),
        Event::IdeaRetried(IdeaRetried { id: id() }),
        Event::IdeaCancelled(IdeaCancelled { id: id() }),
        Event::IdeaAssigned(IdeaAssigned {
            id: id(),
            profile: None,
        }),
        Event::IdeaAssigned(IdeaAssigned {
            id: id(),
            profile: Some(profile()),
        }),
        Event::UndoRecorded(UndoRecorded {
            action: Action::Cancel { idea: id() },
        }),
        Event::CancelUndone(CancelUndone {
            id: id(),
            undoes: 7,
        }),
        Event::RedirectUndone(RedirectUndone {
            agent: agent(),
            undoes: 7,
        }),
        Event::WorkRescued(WorkRescued {
            worktree: "ed-001-idea-001".into(),
            saved: None,
        }),
        Event::IdeaHeld(IdeaHeld { id: id() }),
        Event::IdeaUnheld(IdeaUnheld { id: id() }),
        Event::IdeaClaimed(IdeaClaimed {
            id: id(),
            agent: agent(),
            attempt: 2,
            profile: profile(),
            branch: "agent/ed-001/idea-001".into(),
            worktree: "ed-001-idea-001".into(),
        }),
        Event::IdeaLanded(IdeaLanded {
            id: id(),
            commit: oid(),
            checked: false,
        }),
    ]
}

fn doubt() -> Doubt {
    Doubt {
        command: "true".into(),
        run: run(),
        how: "exit code 1".into(),
        fingerprint: None,
        failed_tests: None,
        output: Some("connection refused".into()),
        repeat: true,
        after: 1,
    }
}

fn baseline_events() -> Vec<Event> {
    vec![
        Event::BaselineReady(BaselineReady {
            commit: oid(),
            warm: true,
            setup: None,
            tree: TargetTree::Verify,
            probe: None,
        }),
        Event::BaselineStarted(BaselineStarted {
            index: 0,
            run: run(),
            command: Some("true".into()),
            probe: false,
        }),
        Event::BaselinePassed(BaselinePassed {
            commit: oid(),
            index: 0,
            last: false,
        }),
        Event::BaselinePassed(BaselinePassed {
            commit: oid(),
            index: 1,
            last: true,
        }),
        Event::BaselineFailed(BaselineFailed {
            commit: Some(oid()),
            command: Some("true".into()),
            how: "exit code 1".into(),
            output: Some("no such module".into()),
            run: Some(run()),
            not_before: Timestamp::from_millis(0),
        }),
        Event::BaselineCleared(BaselineCleared::default()),
        Event::BaselineCleared(BaselineCleared { probe: true }),
        Event::BaselineStarted(BaselineStarted {
            index: 1,
            run: run(),
            command: None,
            probe: true,
        }),
        Event::ChecksProbed(probed(true)),
        Event::ChecksProbed(probed(false)),
        Event::ChecksProbed(ChecksProbed {
            digest: String::new(),
            commit: None,
            found: Findings::no_verdict("namespaces are refused".into()),
        }),
        Event::BaselineDoubted(BaselineDoubted {}),
        Event::SetupStarted(SetupStarted {
            tree: SetupTree::Target,
            index: 0,
            run: run(),
        }),
        Event::SetupPassed(SetupPassed {
            tree: SetupTree::Worktree { agent: agent() },
            index: 0,
            last: false,
        }),
        Event::SetupPassed(SetupPassed {
            tree: SetupTree::Merged {
                idea: IdeaId::numbered(1),
            },
            index: 1,
            last: true,
        }),
    ]
}

fn attempt_events() -> Vec<Event> {
    [working_events(), judged_events(), ending_events()].concat()
}

fn working_events() -> Vec<Event> {
    vec![
        Event::AttemptMoved(AttemptMoved {
            agent: agent(),
            phase: AttemptPhase::Gating,
            not_before: None,
        }),
        Event::WorktreeReady(WorktreeReady {
            agent: agent(),
            base: oid(),
            head: oid(),
            warm: true,
            setup: None,
            worktree: None,
        }),
        Event::WorktreeLent(WorktreeLent { agent: agent() }),
        Event::WorktreeStays(WorktreeStays {
            agent: agent(),
            why: "uncommitted files (a.txt)".into(),
        }),
        Event::IterationStarted(IterationStarted {
            agent: agent(),
            iteration: 2,
            run: run(),
        }),
        Event::GateStarted(GateStarted {
            agent: agent(),
            index: 0,
            run: run(),
        }),
        Event::CommitHooksStarted(CommitHooksStarted {
            agent: agent(),
            run: run(),
        }),
        Event::CommitHooksPassed(CommitHooksPassed { agent: agent() }),
        Event::SignalSeen(SignalSeen {
            agent: agent(),
            run: run(),
            offset: 12,
            signal: Signal::NeedsHuman(Some("which port?".into())),
        }),
        Event::SignalSeen(SignalSeen {
            agent: agent(),
            run: run(),
            offset: 99,
            signal: Signal::Progress(50),
        }),
    ]
}

fn judged_events() -> Vec<Event> {
    vec![
        Event::IterationJudged(IterationJudged {
            agent: agent(),
            empty: true,
            at_once: false,
        }),
        Event::AttemptSealed(AttemptSealed {
            agent: agent(),
            head: oid(),
            committed: true,
            setup: None,
            links: vec!["node_modules".into()],
            empty: false,
        }),
        Event::GatePassed(GatePassed {
            agent: agent(),
            index: 0,
        }),
        Event::GateFailed(GateFailed {
            agent: agent(),
            feedback: feedback(false),
            fingerprint: None,
            failed_tests: None,
        }),
        Event::GateDoubted(GateDoubted {
            agent: agent(),
            doubt: doubt(),
        }),
        Event::GateExcused(GateExcused {
            agent: agent(),
            command: "true".into(),
            run: run(),
            alone: false,
            port: None,
        }),
        Event::TaskSet(TaskSet {
            agent: agent(),
            task: Task::Work,
        }),
    ]
}

fn ending_events() -> Vec<Event> {
    vec![
        Event::MessageQueued(MessageQueued {
            agent: agent(),
            text: "use port 8080".into(),
        }),
        Event::AgentRedirected(AgentRedirected {
            agent: agent(),
            to: IdeaId::numbered(7),
            new_worktree: true,
            undoes: None,
        }),
        Event::WorkSaved(WorkSaved {
            agent: agent(),
            saved: Saved {
                tip: oid(),
                wip: None,
            },
            committed: true,
        }),
        Event::EndingAsked(EndingAsked {
            agent: agent(),
            ending: Ending::Stopped,
        }),
        Event::AttemptEnded(AttemptEnded {
            agent: agent(),
            end: AttemptEnd::TimedOut,
            status: IdeaStatus::Timeout,
            message: Some("50 iterations".into()),
            not_before: None,
            keep_worktree: true,
        }),
    ]
}

fn name(text: &str) -> CheckpointName {
    text.parse().unwrap()
}

fn checkpoint() -> Checkpoint {
    Checkpoint {
        created_at: Timestamp::from_millis(0),
        reason: Reason::BeforeAutopilot,
        commit: oid(),
        tag: oid(),
        seq: 7,
        sha256: "00".repeat(32),
        number: None,
    }
}

fn rollback() -> Rollback {
    Rollback {
        to: name("before-release"),
        commit: oid(),
        safety: name("before-rollback-1"),
        pause: false,
        resume: false,
        from: None,
        undoes: None,
        step: RollbackStep::Checking,
        at: Timestamp::from_millis(0),
        ideas: BTreeMap::new(),
    }
}

/// An idea as a rollback puts it back, with the work that was saved of it.
fn idea_then() -> IdeaThen {
    let saved = SavedWork {
        agent: agent(),
        base: oid(),
        tip: oid(),
        wip: Some(oid()),
        iterations: 3,
        last_run: None,
        feedback: None,
        review: None,
        messages: vec!["look again".into()],
    };
    IdeaThen {
        status: IdeaStatus::Pending,
        retry_count: 1,
        failed_attempts: 0,
        commit: None,
        landed_since: None,
        last_error: Some("why".into()),
        saved: Some(Box::new(saved)),
    }
}

fn checkpoint_events() -> Vec<Event> {
    vec![
        Event::CheckpointMade(CheckpointMade {
            name: name("before-release"),
            checkpoint: Box::new(checkpoint()),
        }),
        Event::CheckpointDeleted(CheckpointDeleted {
            name: name("before-release"),
        }),
        Event::RollbackBegun(RollbackBegun {
            rollback: Box::new(rollback()),
        }),
        Event::RollbackPlanned(RollbackPlanned {
            id: idea_id(),
            idea: Box::new(idea_then()),
        }),
        Event::RollbackStepped(RollbackStepped {
            step: RollbackStep::Stopping,
        }),
        Event::RolledBack(RolledBack {
            to: name("before-release"),
            commit: oid(),
            safety: name("before-rollback-1"),
        }),
        Event::RollbackAbandoned(RollbackAbandoned {
            to: name("before-release"),
            why: "files are in the way".into(),
            files: vec!["a.rs".into()],
        }),
    ]
}

fn merge_events() -> Vec<Event> {
    let id = idea_id;
    let files = || vec!["a.rs".to_owned(), "b.rs".to_owned()];
    vec![
        Event::MergeQueued(MergeQueued {
            id: id(),
            agent: agent(),
            branch: "agent/ed-001/idea-001".into(),
            source: oid(),
            held: true,
        }),
        Event::MergeMoved(MergeMoved {
            id: id(),
            phase: MergePhase::Queued,
            not_before: None,
            waits: Some(Waits {
                reason: "local changes are in the way".into(),
                files: files(),
                person: true,
                target: false,
            }),
        }),
        Event::MergeReleased(MergeReleased { id: id() }),
        Event::MergeApproved(MergeApproved {
            id: id(),
            source: oid(),
        }),
        Event::MergeRejected(MergeRejected {
            id: id(),
            agent: agent(),
            source: oid(),
            why: "add a test".into(),
            edited: false,
            renewed: true,
        }),
        Event::ApprovalWithdrawn(ApprovalWithdrawn {
            id: id(),
            undoes: Some(7),
        }),
        Event::ApprovalWithdrawn(ApprovalWithdrawn {
            id: id(),
            undoes: None,
        }),
        Event::MergeBuilt(MergeBuilt {
            id: id(),
            commit: oid(),
            target: oid(),
            resolved: files(),
        }),
        Event::MergeConflicted(MergeConflicted {
            id: id(),
            level: ConflictLevel::Medium,
            files: (0..9).map(|n| format!("{n}.rs")).collect(),
            target: oid(),
        }),
        Event::ConflictLaidOut(ConflictLaidOut {
            id: id(),
            files: files(),
            saved: Some(oid()),
        }),
        Event::ConflictSettled(ConflictSettled {
            id: id(),
            head: oid(),
        }),
        Event::ResolverFailed(ResolverFailed {
            id: id(),
            why: "markers are left".into(),
        }),
        Event::VerifyReady(VerifyReady {
            id: id(),
            warm: true,
            setup: None,
            probe: None,
        }),
        Event::VerifyStarted(VerifyStarted {
            id: id(),
            index: 0,
            run: run(),
        }),
        Event::VerifyPassed(VerifyPassed { id: id(), index: 0 }),
        Event::VerifyDoubted(VerifyDoubted {
            id: id(),
            doubt: doubt(),
        }),
        Event::MergeReturned(MergeReturned {
            id: id(),
            feedback: feedback(true),
        }),
    ]
}

fn other_events() -> Vec<Event> {
    let mut events = crate::domain::testkit::samples::of_every_kind();
    events.extend(crate::domain::testkit::memory_samples::of_every_kind());
    events.extend(crate::domain::testkit::transfer_samples::of_every_kind());
    events.extend(run_events());
    events.extend(repair_events());
    events.extend(effect_events());
    events
}

fn run_events() -> Vec<Event> {
    vec![
        Event::RunStarted(RunStarted {
            run: run(),
            pid: 4_242,
            adapter: Some("claude".into()),
            resumed: true,
        }),
        Event::RunEnded(RunEnded {
            run: run(),
            end: RunEnd {
                stdout_bytes: 10,
                duration_ms: 1_250,
                ..RunEnd::new(RunEndKind::Exited { code: 0 })
            },
        }),
        Event::Learned(Learned {
            id: "learning-001".into(),
            agent: Some(agent()),
            profile: Some(profile()),
            global: true,
            content: "the tests need a database".into(),
            evidence: Box::new(Evidence {
                author: Author::Agent {
                    id: agent(),
                    idea_id: Some(idea_id()),
                    run: run(),
                },
                ..Evidence::default()
            }),
            claim: None,
            restored: false,
        }),
    ]
}

fn repair_events() -> Vec<Event> {
    vec![
        Event::WarningRaised(WarningRaised {
            key: "disk".into(),
            message: "the disk is full".into(),
            commands: vec!["df -h".into()],
        }),
        Event::WarningCleared(WarningCleared { key: "disk".into() }),
        Event::StateRepaired(StateRepaired {
            way: RepairWay::Cut,
            lost: Some(LostEvents { from: 7, to: 9 }),
            copy: "doctor-2026-01-01T00-00-00.000Z".into(),
            floors: Counters::default(),
            landed: vec![],
        }),
        Event::StateRestored(StateRestored {
            way: RepairWay::Snapshot,
            sha256: "00".repeat(32),
            copy: "doctor-2026-01-01T00-00-00.000Z".into(),
        }),
    ]
}

fn effect_events() -> Vec<Event> {
    vec![
        Event::EffectRequested(EffectRequested {
            id: EffectId(3),
            effect: Effect::Run(effect::Run {
                run: run(),
                purpose: Purpose::Iteration {
                    agent: agent(),
                    iteration: 2,
                    profile: profile(),
                },
                timeout_ms: 60_000,
            }),
        }),
        Event::EffectFinished(EffectFinished {
            id: EffectId(3),
            error: None,
        }),
        Event::EffectFinished(EffectFinished {
            id: EffectId(3),
            error: Some("no room on the disk".into()),
        }),
    ]
}

fn add(number: u64, text: &str) -> Event {
    Event::IdeaAdded(IdeaAdded {
        id: IdeaId::numbered(number),
        idea: NewIdea {
            text: text.into(),
            ..NewIdea::default()
        },
    })
}

fn claim(number: u64) -> Event {
    Event::IdeaClaimed(IdeaClaimed {
        id: IdeaId::numbered(number),
        agent: AgentId::numbered(&profile(), number),
        attempt: 1,
        profile: profile(),
        branch: format!("agent/ed-00{number}/idea-00{number}"),
        worktree: format!("ed-00{number}-idea-00{number}"),
    })
}

fn moved(number: u64, phase: AttemptPhase) -> Event {
    Event::AttemptMoved(AttemptMoved {
        agent: AgentId::numbered(&profile(), number),
        phase,
        not_before: None,
    })
}

/// What happens at the beginning of a day: one idea is being worked on, another one has failed with
/// a hostile message.
pub(crate) fn story() -> Vec<Event> {
    vec![
        add(1, "add a --version flag"),
        add(2, "a second idea"),
        Event::SettingsLoaded(SettingsLoaded {
            hash: "00".into(),
            settings: Box::new(settings()),
        }),
        Event::PhaseChanged(PhaseChanged {
            phase: SwarmPhase::Running,
            reason: None,
            deadline: None,
        }),
        claim(1),
        moved(1, AttemptPhase::Preparing),
        moved(1, AttemptPhase::Starting),
        Event::IterationStarted(IterationStarted {
            agent: agent(),
            iteration: 1,
            run: run(),
        }),
        moved(1, AttemptPhase::Working),
        Event::SignalSeen(SignalSeen {
            agent: agent(),
            run: run(),
            offset: 12,
            signal: Signal::Progress(50),
        }),
        claim(2),
        Event::AttemptEnded(AttemptEnded {
            agent: AgentId::numbered(&profile(), 2),
            end: AttemptEnd::Failed,
            status: IdeaStatus::Failed,
            message: Some("\u{1b}[2J it broke".into()),
            not_before: None,
            keep_worktree: false,
        }),
        Event::Mark(Mark {}),
    ]
}

/// The state after [`story`], each event one second after the epoch.
pub(crate) fn state() -> State {
    let mut state = State::default();
    for (seq, event) in (1..).zip(story()) {
        evolve(&mut state, seq, Timestamp::from_millis(1_000), &event);
    }
    state
}
