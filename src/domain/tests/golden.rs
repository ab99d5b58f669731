//! The form of events: `tests/golden/events-v1.jsonl` has each sample as it is written, and each
//! line is read, and written again byte for byte.
//!
//! A changed form is blessed: `UPDATE_GOLDEN=1 cargo test --lib golden` writes the file anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use strum::VariantNames as _;

use crate::domain::attention::{NeedKey, NoticeKind};
use crate::domain::effect::{
    self, ConflictLevel, Effect, KeptWorktree, Landing, Purpose, Saved, SetupTree, TargetTree,
};
use crate::domain::event::{
    AgentRedirected, ApprovalWithdrawn, AttemptEnded, AttemptMoved, AttemptSealed, BaselineCleared,
    BaselineDoubted, BaselineFailed, BaselinePassed, BaselineReady, BaselineStarted, CancelUndone,
    CheckpointDeleted, CheckpointMade, ChecksProbed, ClockWentBack, CommitHooksPassed,
    CommitHooksStarted, ConflictLaidOut, ConflictSettled, DaemonStarted, EffectFinished,
    EffectRequested, EndingAsked, Event, Findings, FoundLanding, GateDoubted, GateExcused,
    GateFailed, GatePassed, GateStarted, HookApproved, HookAsked, HookCutOff, HookFinished,
    HookOwed, HookStarted, HookTimedOut, IdeaAdded, IdeaAssigned, IdeaCancelled, IdeaClaimed,
    IdeaEdited, IdeaHeld, IdeaLanded, IdeaRetried, IdeaUnheld, IterationJudged, IterationStarted,
    LandingFound, Learned, LostEvents, MachineSlept, Mark, MergeApproved, MergeBuilt,
    MergeConflicted, MergeMoved, MergeQueued, MergeRejected, MergeReleased, MergeReturned,
    MessageQueued, ModeSet, NeedArose, NeedSettled, NightBegan, NightEnded, NoticeDelivered,
    NoticeFailed, NumbersRaised, PauseLifted, PauseSet, PhaseChanged, ProbeAlarm, RedirectUndone,
    RepairWay, ResolverFailed, RollbackAbandoned, RollbackBegun, RollbackPlanned, RollbackStepped,
    RolledBack, RoomAwaited, RunEnded, RunStarted, SettingsLoaded, SetupPassed, SetupStarted,
    SignalSeen, StateRepaired, StateRestored, TargetRewritten, TargetSeen, TargetSettled, TaskSet,
    UndoRecorded, VerifyDoubted, VerifyPassed, VerifyReady, VerifyStarted, WarningCleared,
    WarningRaised, WorkRescued, WorkSaved, WorktreeLent, WorktreeReady, WorktreeStays,
    WorktreesFreed, WorktreesHeld,
};
use crate::domain::hook::{HookName, HookSettings};
use crate::domain::ids::{AgentId, CheckpointName, EffectId, IdeaId, RunId};
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::memory::Evidence;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::operation::{IdeaEdit, InboxFile, NewIdea, TargetChoice};
use crate::domain::settings::{BaselineMode, CanaryMode, Mode, Settings, Webhook};
use crate::domain::signal::Signal;
use crate::domain::state::baseline::Doubt;
use crate::domain::state::checkpoint::{
    Checkpoint, IdeaThen, Reason, Rollback, RollbackStep, SavedWork,
};
use crate::domain::state::undo::Action;
use crate::domain::state::worktrees::WorktreesHold;
use crate::domain::state::{AttemptEnd, Counters, Ending, Feedback, IdeaStatus, Task, Waits};
use crate::domain::testkit::{START, agent, checkpoint_name, idea, oid, profile, settings};
use crate::domain::testkit::{memory_samples, samples, transfer_samples};
use crate::domain::usage::Spent;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/events-v1.jsonl")
}

fn run(what: &str) -> RunId {
    RunId::numbered(7, what)
}

fn feedback() -> Feedback {
    Feedback {
        command: "cargo test".into(),
        how: "exit code 101".into(),
        run: Some(run("ed-001-q1")),
        merged: true,
    }
}

fn swarm_samples() -> Vec<Event> {
    vec![
        Event::Mark(Mark {}),
        Event::DaemonStarted(DaemonStarted {
            version: "1.0.0".into(),
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
            deadline: None,
        }),
        Event::PhaseChanged(PhaseChanged {
            phase: SwarmPhase::Draining,
            reason: Some("ends".into()),
            deadline: Some(START),
        }),
        Event::PauseSet(PauseSet {
            reason: "by hand".into(),
            command: None,
        }),
        Event::PauseLifted(PauseLifted {}),
        Event::SettingsLoaded(SettingsLoaded {
            hash: "00ff".into(),
            settings: Box::new(settings()),
        }),
        Event::ModeSet(ModeSet {
            mode: Some(Mode::SemiAuto),
        }),
        Event::ModeSet(ModeSet { mode: None }),
        Event::ClockWentBack(ClockWentBack { by_ms: 1_500 }),
        Event::MachineSlept(MachineSlept { seconds: 28_800 }),
        Event::TargetSeen(TargetSeen {
            branch: "main".into(),
            commit: oid(1),
        }),
        Event::TargetRewritten(TargetRewritten {
            from: oid(1),
            to: oid(2),
            dropped: vec![],
        }),
        Event::TargetRewritten(TargetRewritten {
            from: oid(1),
            to: oid(2),
            dropped: vec![idea(3), idea(4)],
        }),
        Event::LandingFound(LandingFound {
            id: idea(3),
            commit: oid(2),
            since: None,
        }),
        Event::LandingFound(LandingFound {
            id: idea(4),
            commit: oid(2),
            since: Some(oid(1)),
        }),
        Event::TargetSettled(TargetSettled {
            choice: TargetChoice::Redo,
            to: oid(2),
        }),
        Event::RoomAwaited(RoomAwaited { until: START }),
        Event::WorktreesHeld(WorktreesHeld {
            hold: WorktreesHold {
                since: START,
                until: START.plus_millis(2_000),
                times: 1,
                message: "the filter `crypt` failed".into(),
                seals: true,
            },
        }),
        Event::WorktreesFreed(WorktreesFreed {}),
        Event::WarningRaised(WarningRaised {
            key: "disk-full".into(),
            message: "no room".into(),
            commands: Vec::new(),
        }),
        Event::WarningCleared(WarningCleared {
            key: "disk-full".into(),
        }),
    ]
}

fn idea_samples() -> Vec<Event> {
    let full = NewIdea {
        text: "say \"hello\"\nto the world \u{1f980}".into(),
        after: vec![idea(1), idea(2)],
        tags: vec!["critical".into()],
        priority: -5,
        profile: Some(profile("finn")),
        inbox: Some(InboxFile {
            name: "hello.md".into(),
            sha256: "00".into(),
        }),
        review: false,
        imported: None,
    };
    let id: IdeaId = idea(3);
    vec![
        Event::IdeaAdded(IdeaAdded {
            id: id.clone(),
            idea: NewIdea {
                text: "one".into(),
                ..NewIdea::default()
            },
        }),
        Event::IdeaAdded(IdeaAdded {
            id: id.clone(),
            idea: full,
        }),
        Event::IdeaEdited(IdeaEdited {
            id: id.clone(),
            edit: IdeaEdit {
                text: Some("two".into()),
                after: Some(vec![]),
                tags: Some(vec!["quick-win".into()]),
                priority: Some(9),
            },
        }),
        Event::IdeaRetried(IdeaRetried { id: id.clone() }),
        Event::IdeaCancelled(IdeaCancelled { id: id.clone() }),
        Event::IdeaAssigned(IdeaAssigned {
            id: id.clone(),
            profile: Some(profile("finn")),
        }),
        Event::IdeaAssigned(IdeaAssigned {
            id: id.clone(),
            profile: None,
        }),
        Event::UndoRecorded(UndoRecorded {
            action: Action::Rollback {
                to: "first".parse().unwrap(),
                safety: "before-rollback-1".parse().unwrap(),
            },
        }),
        Event::UndoRecorded(UndoRecorded {
            action: Action::Cancel { idea: id.clone() },
        }),
        Event::UndoRecorded(UndoRecorded {
            action: Action::Redirect {
                agent: agent(1),
                idea: id.clone(),
                to: idea(4),
            },
        }),
        Event::UndoRecorded(UndoRecorded {
            action: Action::Approval {
                idea: id.clone(),
                source: oid(2),
            },
        }),
        Event::CancelUndone(CancelUndone {
            id: id.clone(),
            undoes: 7,
        }),
        Event::RedirectUndone(RedirectUndone {
            agent: agent(1),
            undoes: 7,
        }),
        Event::WorkRescued(WorkRescued {
            worktree: "ed-001-idea-003".into(),
            saved: Some(Saved {
                tip: oid(1),
                wip: None,
            }),
        }),
        Event::IdeaHeld(IdeaHeld { id: id.clone() }),
        Event::IdeaUnheld(IdeaUnheld { id: id.clone() }),
        Event::IdeaClaimed(IdeaClaimed {
            id: id.clone(),
            agent: agent(1),
            attempt: 2,
            profile: profile("ed"),
            branch: "agent/ed-001/idea-003".into(),
            worktree: "ed-001-idea-003".into(),
        }),
        Event::IdeaLanded(IdeaLanded {
            id: id.clone(),
            commit: oid(3),
            checked: false,
        }),
        Event::IdeaLanded(IdeaLanded {
            id,
            commit: oid(3),
            checked: true,
        }),
    ]
}

fn attempt_samples() -> Vec<Event> {
    let agent: AgentId = agent(1);
    let of = || agent.clone();
    vec![
        Event::AttemptMoved(AttemptMoved {
            agent: of(),
            phase: AttemptPhase::WaitingForHuman,
            not_before: None,
        }),
        Event::AttemptMoved(AttemptMoved {
            agent: of(),
            phase: AttemptPhase::Backoff,
            not_before: Some(START),
        }),
        Event::WorktreeReady(WorktreeReady {
            agent: of(),
            base: oid(1),
            head: oid(2),
            warm: false,
            setup: None,
            worktree: Some("w02".into()),
        }),
        Event::WorktreeLent(WorktreeLent { agent: of() }),
        Event::WorktreeStays(WorktreeStays {
            agent: of(),
            why: "uncommitted files (a.txt)".into(),
        }),
        Event::IterationStarted(IterationStarted {
            agent: of(),
            iteration: 2,
            run: run("ed-001-i2"),
        }),
        Event::GateStarted(GateStarted {
            agent: of(),
            index: 0,
            run: run("ed-001-q1"),
        }),
        Event::CommitHooksStarted(CommitHooksStarted {
            agent: of(),
            run: run("ed-001-hooks"),
        }),
        Event::CommitHooksPassed(CommitHooksPassed { agent: of() }),
        Event::RunStarted(RunStarted {
            run: run("ed-001-i2"),
            pid: 4_242,
            adapter: None,
            resumed: false,
        }),
        Event::RunStarted(RunStarted {
            run: run("ed-001-i3"),
            pid: 4_243,
            adapter: Some("claude".into()),
            resumed: true,
        }),
        Event::IterationJudged(IterationJudged {
            agent: of(),
            empty: true,
            at_once: false,
        }),
        Event::AttemptSealed(AttemptSealed {
            agent: of(),
            head: oid(2),
            committed: true,
            setup: None,
            links: vec![],
            empty: false,
        }),
        Event::GatePassed(GatePassed {
            agent: of(),
            index: 1,
        }),
        Event::GateFailed(GateFailed {
            agent: of(),
            feedback: feedback(),
            fingerprint: None,
            failed_tests: Some(2),
        }),
        Event::TaskSet(TaskSet {
            agent: of(),
            task: Task::Work,
        }),
        Event::TaskSet(TaskSet {
            agent: of(),
            task: Task::Resolve {
                target: oid(1),
                files: vec!["a b.rs".into()],
                saved: Some(oid(7)),
            },
        }),
        Event::MessageQueued(MessageQueued {
            agent: of(),
            text: "mind the tests".into(),
        }),
        Event::EndingAsked(EndingAsked {
            agent: of(),
            ending: Ending::Stopped,
        }),
        Event::EndingAsked(EndingAsked {
            agent: of(),
            ending: Ending::Interrupted,
        }),
        Event::EndingAsked(EndingAsked {
            agent: of(),
            ending: Ending::Cancelled,
        }),
        Event::EndingAsked(EndingAsked {
            agent: of(),
            ending: Ending::Redirected,
        }),
        Event::AgentRedirected(AgentRedirected {
            agent: of(),
            to: idea(4),
            new_worktree: false,
            undoes: None,
        }),
        Event::AgentRedirected(AgentRedirected {
            agent: of(),
            to: idea(4),
            new_worktree: true,
            undoes: None,
        }),
        Event::AgentRedirected(AgentRedirected {
            agent: of(),
            to: idea(4),
            new_worktree: true,
            undoes: Some(7),
        }),
        Event::WorkSaved(WorkSaved {
            agent: of(),
            saved: Saved {
                tip: oid(2),
                wip: Some(oid(3)),
            },
            committed: true,
        }),
        Event::Learned(Learned {
            id: "learning-001".into(),
            agent: Some(of()),
            profile: None,
            global: true,
            content: "tests need a database".into(),
            evidence: Box::new(Evidence {
                author: memory_samples::of_agent(),
                ..Evidence::default()
            }),
            claim: None,
            restored: false,
        }),
    ]
}

fn end_samples() -> Vec<Event> {
    use AttemptEnd as E;
    use IdeaStatus as S;
    let ends = [
        (E::Merged, S::Done),
        (E::NothingToMerge, S::Done),
        (E::Blocked, S::Blocked),
        (E::Failed, S::Failed),
        (E::TimedOut, S::Timeout),
        (E::Crashed, S::Pending),
        (E::Stopped, S::Pending),
        (E::Interrupted, S::Pending),
        (E::Cancelled, S::Cancelled),
        (E::Released, S::Pending),
    ];
    let ends = ends.map(|(end, status)| {
        Event::AttemptEnded(AttemptEnded {
            agent: agent(1),
            end,
            status,
            message: (end == E::Crashed).then(|| "its runner was killed from outside".into()),
            not_before: (end == E::Crashed).then_some(START),
            keep_worktree: end != E::Merged,
        })
    });
    ends.into()
}

fn run_samples() -> Vec<Event> {
    use RunEndKind as K;
    use Signal as G;
    let kinds = [
        K::Exited { code: 101 },
        K::Signalled { signal: 9 },
        K::TimedOut,
        K::Stopped,
        K::OutputLimit,
        K::NotStarted {
            message: "no such file".into(),
        },
        K::Lost,
    ];
    let ends = kinds.into_iter().map(|how| {
        Event::RunEnded(RunEnded {
            run: run("ed-001-i2"),
            end: RunEnd {
                head: (how == K::Lost).then(|| oid(2)),
                stdout_bytes: 4_096,
                duration_ms: 1_234,
                ..RunEnd::new(how)
            },
        })
    });
    let signals = [
        G::Complete(None),
        G::Complete(Some("with a remark".into())),
        G::Blocked(Some("no access".into())),
        G::NeedsHuman(None),
        G::Progress(50),
        G::Resolved(None),
        G::LearningLocal("here".into()),
        G::LearningGlobal("everywhere".into()),
    ];
    let said = signals.into_iter().map(|signal| {
        Event::SignalSeen(SignalSeen {
            agent: agent(1),
            run: run("ed-001-i2"),
            offset: 12,
            signal,
        })
    });
    let shared = samples::all().into_iter().chain(memory_samples::all());
    let shared = shared.chain(transfer_samples::all());
    ends.chain(said).chain(shared).collect()
}

fn merge_samples() -> Vec<Event> {
    let id = || idea(3);
    let files = || vec!["src/a.rs".to_owned()];
    vec![
        Event::MergeQueued(MergeQueued {
            id: id(),
            agent: agent(1),
            branch: "agent/ed-001/idea-003".into(),
            source: oid(2),
            held: true,
        }),
        Event::MergeMoved(MergeMoved {
            id: id(),
            phase: MergePhase::Building,
            not_before: None,
            waits: None,
        }),
        Event::MergeMoved(MergeMoved {
            id: id(),
            phase: MergePhase::Queued,
            not_before: Some(START),
            waits: Some(Waits {
                reason: "local changes".into(),
                files: files(),
                person: true,
                target: false,
            }),
        }),
        Event::MergeReleased(MergeReleased { id: id() }),
        Event::MergeApproved(MergeApproved {
            id: id(),
            source: oid(2),
        }),
        Event::MergeRejected(MergeRejected {
            id: id(),
            agent: agent(1),
            source: oid(2),
            why: "add a test".into(),
            edited: true,
            renewed: false,
        }),
        Event::MergeRejected(MergeRejected {
            id: id(),
            agent: agent(1),
            source: oid(2),
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
            commit: oid(3),
            target: oid(1),
            resolved: files(),
        }),
        Event::MergeConflicted(MergeConflicted {
            id: id(),
            level: ConflictLevel::Medium,
            files: files(),
            target: oid(1),
        }),
        Event::ConflictLaidOut(ConflictLaidOut {
            id: id(),
            files: files(),
            saved: Some(oid(7)),
        }),
        Event::ConflictSettled(ConflictSettled {
            id: id(),
            head: oid(4),
        }),
        Event::ResolverFailed(ResolverFailed {
            id: id(),
            why: "exit code 1".into(),
        }),
        Event::VerifyReady(VerifyReady {
            id: id(),
            warm: false,
            setup: None,
            probe: None,
        }),
        Event::VerifyStarted(VerifyStarted {
            id: id(),
            index: 0,
            run: run("idea-003-v1"),
        }),
        Event::VerifyPassed(VerifyPassed { id: id(), index: 0 }),
        Event::MergeReturned(MergeReturned {
            id: id(),
            feedback: feedback(),
        }),
    ]
}

fn effect_samples() -> Vec<Event> {
    let (branch, worktree) = ("agent/ed-001/idea-003", "ed-001-idea-003");
    let kept = KeptWorktree {
        worktree: "ed-000-idea-003".into(),
        branch: "agent/ed-000/idea-003".into(),
        base: oid(1),
        agent: agent(1),
        crashed: true,
        saved: None,
    };
    let run_of = |purpose| {
        Effect::Run(effect::Run {
            run: run("x"),
            purpose,
            timeout_ms: 1_800_000,
        })
    };
    let effects = vec![
        Effect::PrepareWorktree(effect::PrepareWorktree {
            agent: agent(1),
            idea: idea(3),
            branch: branch.into(),
            worktree: worktree.into(),
            target: "main".into(),
            from: Some(kept),
        }),
        run_of(Purpose::Iteration {
            agent: agent(1),
            iteration: 2,
            profile: profile("ed"),
        }),
        run_of(Purpose::Gate {
            agent: agent(1),
            index: 0,
            command: "cargo test".into(),
        }),
        run_of(Purpose::Verify {
            idea: idea(3),
            index: 0,
            command: "cargo test".into(),
        }),
        Effect::StopRun(effect::StopRun {
            run: run("x"),
            now: true,
        }),
        Effect::Seal(effect::Seal {
            hooks: false,
            agent: agent(1),
            idea: idea(3),
            branch: branch.into(),
            worktree: worktree.into(),
            base: oid(1),
            commit: true,
            at: START,
        }),
        Effect::BuildMerge(effect::BuildMerge {
            idea: idea(3),
            branch: branch.into(),
            source: oid(2),
            base: oid(1),
            rolled_back: vec![],
            target: "main".into(),
            known_target: Some(oid(1)),
            rebase: false,
            title: "say hello".into(),
            at: START,
        }),
        Effect::PrepareVerify(effect::PrepareVerify {
            idea: idea(3),
            commit: oid(3),
        }),
        Effect::Land(effect::Land {
            idea: idea(3),
            target: "main".into(),
            expected: oid(1),
            commit: oid(3),
        }),
        Effect::StartResolution(effect::StartResolution {
            idea: idea(3),
            branch: branch.into(),
            worktree: worktree.into(),
            target: oid(1),
            source: None,
            at: START,
        }),
        Effect::FinishResolution(effect::FinishResolution {
            idea: idea(3),
            branch: branch.into(),
            worktree: worktree.into(),
            // As the first logs have it.
            target: None,
            source: None,
            at: START,
        }),
        Effect::LendWorktree(effect::LendWorktree {
            agent: agent(1),
            branch: branch.into(),
            worktree: worktree.into(),
            head: oid(2),
            at: START,
        }),
        Effect::ReleaseWorktree(effect::ReleaseWorktree {
            worktree: worktree.into(),
            branch: branch.into(),
            landed: Some(Landing {
                tip: oid(2),
                target: "main".into(),
            }),
            at: START,
        }),
        Effect::PrepareWorktree(effect::PrepareWorktree {
            agent: agent(3),
            idea: idea(2),
            branch: "agent/ed-003/idea-002".into(),
            worktree: "ed-003-idea-002".into(),
            target: "main".into(),
            from: Some(KeptWorktree {
                worktree: String::new(),
                branch: String::new(),
                base: oid(2),
                agent: agent(1),
                crashed: true,
                saved: Some(Saved {
                    tip: oid(3),
                    wip: Some(oid(4)),
                }),
            }),
        }),
        Effect::MakeCheckpoint(effect::MakeCheckpoint {
            name: checkpoint_name("before-release"),
            reason: Reason::Manual,
            target: "main".into(),
            at: START,
            tag: false,
        }),
        Effect::DeleteCheckpoint(effect::DeleteCheckpoint {
            name: checkpoint_name("before-release"),
            in_use: vec![agent(1)],
            keep: None,
        }),
        Effect::CheckRollback(effect::CheckRollback {
            name: checkpoint_name("before-release"),
            commit: oid(2),
            tag: oid(3),
            sha256: "00".repeat(32),
            target: "main".into(),
            from: None,
        }),
        Effect::MoveTarget(effect::MoveTarget {
            target: "main".into(),
            expected: oid(3),
            commit: oid(2),
            at: START,
        }),
        Effect::ArchiveInbox(effect::ArchiveInbox {
            name: "hello.md".into(),
            sha256: "00".into(),
        }),
        run_of(Purpose::Replay {
            profile: profile("ed"),
            of: run("r7-ed-001-i1"),
            sha256: "00".repeat(32),
        }),
        Effect::JudgeReplay(effect::JudgeReplay {
            of: run("r7-ed-001-i1"),
            sha256: "00".repeat(32),
            run: run("r8-replay-run"),
            why: Some("exit code 1".into()),
        }),
        Effect::SaveWork(effect::SaveWork {
            agent: agent(1),
            idea: idea(3),
            branch: branch.into(),
            worktree: worktree.into(),
            base: oid(1),
            at: START,
        }),
        Effect::StartResolution(effect::StartResolution {
            idea: idea(3),
            branch: branch.into(),
            worktree: worktree.into(),
            target: oid(1),
            source: Some(oid(2)),
            at: START,
        }),
        Effect::FinishResolution(effect::FinishResolution {
            idea: idea(3),
            branch: branch.into(),
            worktree: worktree.into(),
            target: Some(oid(1)),
            source: Some(oid(2)),
            at: START,
        }),
    ];
    let asked = (1..).zip(effects).map(|(id, effect)| {
        Event::EffectRequested(EffectRequested {
            id: EffectId(id),
            effect,
        })
    });
    let ended = [None, Some("no room".to_owned())].map(|error| {
        Event::EffectFinished(EffectFinished {
            id: EffectId(1),
            error,
        })
    });
    asked.chain(ended).collect()
}

fn repair_samples() -> Vec<Event> {
    vec![
        Event::StateRepaired(StateRepaired {
            way: RepairWay::Cut,
            lost: Some(LostEvents { from: 7, to: 9 }),
            copy: "doctor-2026-01-01T00-00-00.000Z".into(),
            floors: Counters {
                ideas: 3,
                agents: 2,
                runs: 5,
                effects: 8,
                learnings: 1,
                checkpoints: 0,
            },
            landed: vec![FoundLanding {
                idea: idea(3),
                commit: oid(3),
                target: "main".into(),
            }],
        }),
        Event::StateRepaired(StateRepaired {
            way: RepairWay::Cut,
            lost: None,
            copy: "doctor-2026-01-01T00-00-00.000Z".into(),
            floors: Counters::default(),
            landed: vec![],
        }),
        restored(RepairWay::Snapshot),
        restored(RepairWay::Rebuild),
    ]
}

fn checkpoint_samples() -> Vec<Event> {
    let name = |text: &str| text.parse::<CheckpointName>().unwrap();
    let checkpoint = Checkpoint {
        created_at: START,
        reason: Reason::BeforeAutopilot,
        commit: oid(2),
        tag: oid(2),
        seq: 7,
        sha256: "00".repeat(32),
        number: None,
    };
    let rollback = Rollback {
        to: name("before-release"),
        commit: oid(2),
        safety: name("before-rollback-1"),
        pause: false,
        resume: false,
        from: None,
        undoes: None,
        step: RollbackStep::Checking,
        at: START,
        ideas: BTreeMap::new(),
    };
    let saved = SavedWork {
        agent: agent(1),
        base: oid(2),
        tip: oid(2),
        wip: Some(oid(2)),
        iterations: 3,
        last_run: None,
        feedback: None,
        review: None,
        messages: vec!["look again".into()],
    };
    let then = IdeaThen {
        status: IdeaStatus::Pending,
        retry_count: 1,
        failed_attempts: 0,
        commit: None,
        landed_since: None,
        last_error: Some("why".into()),
        saved: Some(Box::new(saved)),
    };
    vec![
        Event::CheckpointMade(CheckpointMade {
            name: name("before-release"),
            checkpoint: Box::new(checkpoint),
        }),
        Event::CheckpointDeleted(CheckpointDeleted {
            name: name("before-release"),
        }),
        Event::RollbackBegun(RollbackBegun {
            rollback: Box::new(rollback),
        }),
        Event::RollbackPlanned(RollbackPlanned {
            id: idea(3),
            idea: Box::new(then),
        }),
        Event::RollbackStepped(RollbackStepped {
            step: RollbackStep::Stopping,
        }),
        Event::RolledBack(RolledBack {
            to: name("before-release"),
            commit: oid(2),
            safety: name("before-rollback-1"),
        }),
        Event::RollbackAbandoned(RollbackAbandoned {
            to: name("before-release"),
            why: "files are in the way".into(),
            files: vec!["a.rs".into()],
        }),
    ]
}

fn restored(way: RepairWay) -> Event {
    Event::StateRestored(StateRestored {
        way,
        sha256: "00".repeat(32),
        copy: "doctor-2026-01-01T00-00-00.000Z".into(),
    })
}

/// At least one of each kind, and of each kind of what they hold.
fn samples() -> Vec<Event> {
    let mut all = swarm_samples();
    all.extend(idea_samples());
    all.extend(attempt_samples());
    all.extend(end_samples());
    all.extend(run_samples());
    all.extend(merge_samples());
    all.extend(effect_samples());
    all.extend(checkpoint_samples());
    all.extend(repair_samples());
    all.extend(hook_samples());
    all.extend(baseline_samples());
    all.extend(probe_samples());
    all.extend(attention_samples());
    all.extend(setup_samples());
    all
}

fn hook_samples() -> Vec<Event> {
    let hook = HookName::PreMerge;
    let settings = Settings {
        hooks: HookName::ALL.map(|name| (name, hook_settings(name))).into(),
        ..settings()
    };
    vec![
        Event::SettingsLoaded(SettingsLoaded {
            hash: "ab".into(),
            settings: Box::new(settings),
        }),
        Event::HookOwed(HookOwed {
            hook: HookName::PostMerge,
            of: "ideaLanded".into(),
            idea: Some(idea(3)),
            agent: None,
            facts: [("IDEA_ID".to_owned(), "idea-003".to_owned())].into(),
        }),
        Event::HookOwed(HookOwed {
            hook: HookName::PostComplete,
            of: "attemptEnded".into(),
            idea: Some(idea(3)),
            agent: Some(agent(2)),
            facts: BTreeMap::new(),
        }),
        Event::HookAsked(HookAsked {
            hook,
            id: idea(3),
            agent: agent(2),
        }),
        Event::HookStarted(HookStarted {
            hook,
            about: 40,
            run: run("pre-merge-40"),
        }),
        Event::HookCutOff(HookCutOff {
            hook,
            about: 40,
            lost: true,
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
            hook: HookName::OnPause,
            about: 41,
            veto: false,
        }),
        Event::HookApproved(HookApproved {
            hook,
            content: "12ab".into(),
        }),
        Event::EffectRequested(EffectRequested {
            id: EffectId(9),
            effect: call_of(Purpose::Hook {
                hook,
                seq: 40,
                agent: Some(agent(2)),
                idea: Some(idea(3)),
            }),
        }),
        Event::EffectRequested(EffectRequested {
            id: EffectId(10),
            effect: call_of(Purpose::Hook {
                hook: HookName::OnError,
                seq: 41,
                agent: None,
                idea: None,
            }),
        }),
    ]
}

fn setup_samples() -> Vec<Event> {
    let trees = [
        SetupTree::Worktree { agent: agent(1) },
        SetupTree::Merged { idea: idea(1) },
        SetupTree::Target,
        SetupTree::Control,
    ];
    let mut samples = vec![
        Event::SettingsLoaded(SettingsLoaded {
            hash: "00".into(),
            settings: Box::new(Settings {
                setup: vec!["npm ci".into()],
                ..settings()
            }),
        }),
        Event::WorktreeReady(WorktreeReady {
            agent: agent(1),
            base: oid(1),
            head: oid(2),
            warm: true,
            setup: Some("0123".into()),
            worktree: None,
        }),
        Event::AttemptSealed(AttemptSealed {
            agent: agent(1),
            head: oid(2),
            committed: false,
            setup: Some("0123".into()),
            links: vec!["node_modules".into()],
            empty: false,
        }),
        Event::AttemptSealed(AttemptSealed {
            agent: agent(1),
            head: oid(1),
            committed: false,
            setup: None,
            links: vec![],
            empty: true,
        }),
        Event::BaselineReady(BaselineReady {
            commit: oid(3),
            warm: true,
            setup: Some("0123".into()),
            tree: TargetTree::Verify,
            probe: None,
        }),
        Event::VerifyReady(VerifyReady {
            id: idea(1),
            warm: true,
            setup: Some("0123".into()),
            probe: Some("4567".into()),
        }),
    ];
    for (id, tree) in (13..).zip(trees) {
        samples.push(Event::SetupStarted(SetupStarted {
            tree: tree.clone(),
            index: 0,
            run: run("ed-001-s1"),
        }));
        samples.push(Event::SetupPassed(SetupPassed {
            tree: tree.clone(),
            index: 0,
            last: id == 13,
        }));
        samples.push(Event::EffectRequested(EffectRequested {
            id: EffectId(id),
            effect: call_of(Purpose::Setup {
                tree,
                index: 0,
                command: "npm ci".into(),
            }),
        }));
    }
    samples
}

fn doubt(repeat: bool) -> Doubt {
    Doubt {
        command: "cargo test".into(),
        run: run("ed-001-q1"),
        how: "exit code 101".into(),
        fingerprint: repeat.then(|| "0123".into()),
        failed_tests: repeat.then_some(2),
        output: repeat.then(|| "connection refused".into()),
        repeat,
        after: u64::from(repeat),
    }
}

fn probe_samples() -> Vec<Event> {
    let canary = |canary| {
        Event::SettingsLoaded(SettingsLoaded {
            hash: "00".into(),
            settings: Box::new(Settings {
                canary,
                ..settings()
            }),
        })
    };
    vec![
        canary(CanaryMode::Require),
        canary(CanaryMode::Warn),
        Event::BaselineCleared(BaselineCleared { probe: true }),
        Event::BaselineStarted(BaselineStarted {
            index: 1,
            run: run("baseline-probe"),
            command: None,
            probe: true,
        }),
        Event::EffectRequested(EffectRequested {
            id: EffectId(11),
            effect: call_of(Purpose::Canary {
                commit: oid(3),
                digest: "4567".into(),
            }),
        }),
        Event::ChecksProbed(ChecksProbed {
            digest: "4567".into(),
            commit: Some(oid(3)),
            found: Findings {
                source_files: 2,
                alarms: vec![ProbeAlarm {
                    command: Some("true".into()),
                    message: "`true` tests nothing".into(),
                    remedies: vec!["add a test: swarm config set qualityCommands".into()],
                }],
                notes: vec!["`lint` only reads".into()],
            },
        }),
        Event::ChecksProbed(ChecksProbed {
            digest: String::new(),
            commit: None,
            found: Findings::no_verdict("it took too long".into()),
        }),
    ]
}

fn baseline_samples() -> Vec<Event> {
    let failed = BaselineFailed {
        commit: Some(oid(3)),
        command: Some("cargo test".into()),
        how: "exit code 101".into(),
        output: Some("no such module".into()),
        run: Some(run("baseline-1")),
        not_before: START,
    };
    let checked = |baseline| {
        Event::SettingsLoaded(SettingsLoaded {
            hash: "00".into(),
            settings: Box::new(Settings {
                baseline,
                ..settings()
            }),
        })
    };
    vec![
        checked(BaselineMode::Require),
        checked(BaselineMode::Warn),
        Event::BaselineReady(BaselineReady {
            commit: oid(3),
            warm: false,
            setup: None,
            tree: TargetTree::Control,
            probe: Some("4567".into()),
        }),
        Event::BaselineStarted(BaselineStarted {
            index: 0,
            run: run("baseline-1"),
            command: None,
            probe: false,
        }),
        Event::BaselinePassed(BaselinePassed {
            commit: oid(3),
            index: 0,
            last: false,
        }),
        Event::BaselinePassed(BaselinePassed {
            commit: oid(3),
            index: 1,
            last: true,
        }),
        Event::BaselineFailed(BaselineFailed {
            commit: None,
            command: None,
            output: None,
            run: None,
            ..failed.clone()
        }),
        Event::BaselineFailed(failed),
        Event::BaselineCleared(BaselineCleared::default()),
        Event::BaselineDoubted(BaselineDoubted {}),
        Event::GateDoubted(GateDoubted {
            agent: agent(1),
            doubt: doubt(true),
        }),
        Event::GateExcused(GateExcused {
            agent: agent(1),
            command: "cargo test".into(),
            run: run("ed-001-q1"),
            alone: false,
            port: None,
        }),
        Event::GateExcused(GateExcused {
            agent: agent(1),
            command: "cargo test".into(),
            run: run("ed-001-q1"),
            alone: false,
            port: Some(20_043),
        }),
        Event::VerifyDoubted(VerifyDoubted {
            id: idea(1),
            doubt: doubt(false),
        }),
        Event::EffectRequested(EffectRequested {
            id: EffectId(11),
            effect: call_of(Purpose::Baseline {
                index: 0,
                command: "cargo test".into(),
                tree: TargetTree::Control,
            }),
        }),
        Event::EffectRequested(EffectRequested {
            id: EffectId(12),
            effect: Effect::PrepareBaseline(effect::PrepareBaseline {
                target: "main".into(),
                tree: TargetTree::Control,
            }),
        }),
    ]
}

fn attention_samples() -> Vec<Event> {
    let keys = [
        NeedKey::Rewritten { to: oid(3) },
        NeedKey::Baseline {
            command: Some("cargo test".into()),
        },
        NeedKey::Baseline { command: None },
        NeedKey::Blind {
            command: Some("true".into()),
        },
        NeedKey::Blind { command: None },
        NeedKey::Paused,
        NeedKey::Worktrees,
        NeedKey::Account {
            account: "claude".into(),
        },
        NeedKey::Conflict { idea: idea(3) },
        NeedKey::Review { idea: idea(3) },
        NeedKey::Merge {
            idea: idea(3),
            retried: false,
        },
        NeedKey::Checkout {
            idea: idea(3),
            retried: true,
        },
        NeedKey::Question { agent: agent(2) },
        NeedKey::Failed { idea: idea(3) },
        NeedKey::Blocked { idea: idea(3) },
        NeedKey::WaitsInVain {
            idea: idea(3),
            after: idea(1),
        },
    ];
    let settled = keys.map(|key| Event::NeedSettled(NeedSettled { key }));
    let arose = |webhook: bool, kind| {
        Event::NeedArose(NeedArose {
            key: NeedKey::Paused,
            kind,
            idea: webhook.then(|| idea(3)),
            message: "paused: by hand".into(),
            commands: vec!["swarm resume".into()],
            webhook,
        })
    };
    let ended = |webhook| {
        Event::NightEnded(NightEnded {
            landed: 2,
            failed: 1,
            waiting: 0,
            spent: Spent::default(),
            message: "nothing can continue by itself".into(),
            commands: vec!["swarm report --since last".into()],
            webhook,
        })
    };
    let failed = |again_at| {
        Event::NoticeFailed(NoticeFailed {
            about: 41,
            why: "example.com answered with HTTP 500".into(),
            again_at,
        })
    };
    let told = |kinds: Option<&[NoticeKind]>| {
        Event::SettingsLoaded(SettingsLoaded {
            hash: "00".into(),
            settings: Box::new(Settings {
                webhook: Some(Webhook {
                    kinds: kinds.map(|kinds| kinds.iter().copied().collect()),
                }),
                ..settings()
            }),
        })
    };
    let mut all = settled.to_vec();
    all.extend(NoticeKind::ALL.map(|kind| arose(kind == NoticeKind::Failed, kind)));
    all.extend([
        told(None),
        told(Some(&[NoticeKind::Question, NoticeKind::Ended])),
        Event::NightBegan(NightBegan {}),
        ended(false),
        ended(true),
        Event::NoticeDelivered(NoticeDelivered { about: 41 }),
        failed(None),
        failed(Some(START)),
        Event::EffectRequested(EffectRequested {
            id: EffectId(13),
            effect: Effect::Notify(effect::Notify { about: 41 }),
        }),
    ]);
    all
}

fn call_of(purpose: Purpose) -> Effect {
    Effect::Run(effect::Run {
        run: run("call"),
        purpose,
        timeout_ms: 30_000,
    })
}

fn hook_settings(name: HookName) -> HookSettings {
    HookSettings {
        timeout_ms: 30_000,
        veto_on_timeout: name.can_veto(),
        again: true,
    }
}

fn kinds() -> BTreeSet<String> {
    Event::VARIANTS.iter().map(ToString::to_string).collect()
}

/// The lines of the file; blessed before the first test looks, if that is asked for.
fn golden() -> &'static [String] {
    static GOLDEN: LazyLock<Vec<String>> = LazyLock::new(|| {
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(file(), sampled().join("\n") + "\n").unwrap();
        }
        let text = fs::read_to_string(file()).unwrap();
        text.lines().map(str::to_owned).collect()
    });
    &GOLDEN
}

/// Each sample once, as it is written.
fn sampled() -> Vec<String> {
    let mut lines = Vec::new();
    for event in samples() {
        let line = serde_json::to_string(&event).unwrap();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

#[test]
fn golden_events_are_read_and_written_byte_for_byte() {
    for line in golden() {
        let event: Event = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        assert_eq!(serde_json::to_string(&event).unwrap(), *line);
        assert!(
            line.starts_with(&format!("{{\"kind\":\"{}\"", event.kind())),
            "{line}"
        );
    }
}

#[test]
fn golden_events_are_the_samples_and_of_every_kind() {
    let golden = golden();
    for line in sampled() {
        assert!(
            golden.contains(&line),
            "the form of an event has changed, or a sample is new; if that is meant: \
            UPDATE_GOLDEN=1 cargo test --lib golden\n{line}"
        );
    }
    assert_eq!(golden, sampled(), "lines that no sample writes");
    let found: BTreeSet<String> = samples().iter().map(|it| it.kind().to_owned()).collect();
    assert_eq!(found, kinds(), "add a sample");
}
