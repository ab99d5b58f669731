//! Journaled facts. An event says what is now so; it never asks for a decision.
//!
//! Invariant: an event is small (a log line is at most 64 KiB) and holds no path of the machine, no secret and no process identity.
//! Variants and fields are only ever added; what is gone stays readable.

use serde::{Deserialize, Serialize};

use super::checkpoint::{Checkpoint, IdeaThen, Rollback, RollbackStep};
use super::command::{IdeaEdit, NewIdea, TargetChoice};
use super::effect::{ConflictLevel, Effect, Saved};
use super::hook::HookName;
use super::ids::{AgentId, CheckpointName, EffectId, IdeaId, Oid, ProfileName, RunId};
use super::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use super::observation::RunEnd;
use super::service::{Excuse, Hold};
use super::session::SessionId;
use super::settings::{DayLimits, Mode, Settings};
use super::signal::Signal;
use super::state::{AttemptEnd, Counters, Feedback, IdeaStatus, Task, Waits};
use super::time::Timestamp;
use super::usage::Bill;

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "data",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    /// Everything before this line is on disk.
    Mark {},
    /// A daemon took over.
    DaemonStarted {
        /// Its version.
        version: String,
    },
    /// The swarm's phase changed.
    PhaseChanged {
        /// To what.
        phase: SwarmPhase,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// While draining: until when it waits for boundaries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// A pause is in force.
    PauseSet {
        /// Why.
        reason: String,
    },
    /// The pause is over.
    PauseLifted {},
    /// The configuration that decisions use from now on.
    SettingsLoaded {
        /// SHA-256 of the effective configuration.
        hash: String,
        /// What decisions need of it.
        settings: Box<Settings>,
    },
    /// Another mode than the configuration's is in force; none: the configuration's.
    ModeSet {
        /// The mode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
    },
    /// The wall clock went back.
    ClockWentBack {
        /// By how many milliseconds.
        by_ms: i64,
    },
    /// The disk is full; nothing is started for a while, then it is tried again.
    RoomAwaited {
        /// Until when.
        until: Timestamp,
    },
    /// Where the target was seen.
    TargetSeen {
        /// The branch.
        branch: String,
        /// Its commit.
        commit: Oid,
    },
    /// The target no longer contains the commit where it was last seen.
    TargetRewritten {
        /// Where it stood.
        from: Oid,
        /// Where it is.
        to: Oid,
        /// Ideas that had landed on it and that it has no longer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<IdeaId>,
    },
    /// Somebody said what to do about it.
    TargetSettled {
        /// What.
        choice: TargetChoice,
        /// Where the target is.
        to: Oid,
    },

    /// An idea was added.
    IdeaAdded {
        /// Its id.
        id: IdeaId,
        /// What it is.
        idea: NewIdea,
    },
    /// An idea was changed.
    IdeaEdited {
        /// Which.
        id: IdeaId,
        /// What changed.
        edit: IdeaEdit,
    },
    /// An idea that ended badly is pending again, its crashes forgotten; its failures still lower its score.
    IdeaRetried {
        /// Which.
        id: IdeaId,
    },
    /// An idea is not wanted any more.
    IdeaCancelled {
        /// Which.
        id: IdeaId,
    },
    /// A person wants it done.
    IdeaAssigned {
        /// Which.
        id: IdeaId,
        /// By which profile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<ProfileName>,
    },

    /// An agent was given an idea.
    IdeaClaimed {
        /// Which.
        id: IdeaId,
        /// To whom.
        agent: AgentId,
        /// Which try.
        attempt: u32,
        /// Under which profile.
        profile: ProfileName,
        /// On which branch.
        branch: String,
        /// In which worktree.
        worktree: String,
    },
    /// An attempt's phase changed.
    AttemptMoved {
        /// Whose.
        agent: AgentId,
        /// To what.
        phase: AttemptPhase,
        /// Not to go on before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// The worktree is there.
    WorktreeReady {
        /// Whose.
        agent: AgentId,
        /// Where its branch left the target.
        base: Oid,
        /// Where its branch stands.
        head: Oid,
    },
    /// An iteration begins.
    IterationStarted {
        /// Whose.
        agent: AgentId,
        /// Which, from 1.
        iteration: u32,
        /// Its run.
        run: RunId,
    },
    /// A quality command begins in the attempt's worktree.
    GateStarted {
        /// Whose.
        agent: AgentId,
        /// Which command, from 0.
        index: usize,
        /// Its run.
        run: RunId,
    },
    /// The child of a run is running.
    RunStarted {
        /// Which.
        run: RunId,
        /// The child's process id, for people.
        pid: u32,
        /// How its output is to be read, as the configuration names it; none: by what the profile says now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adapter: Option<String>,
        /// It goes on with a conversation.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
    },
    /// A run is over.
    RunEnded {
        /// Which.
        run: RunId,
        /// How.
        end: RunEnd,
    },
    /// An agent said something in the signal protocol.
    SignalSeen {
        /// Who.
        agent: AgentId,
        /// In which run.
        run: RunId,
        /// Where in its output.
        offset: u64,
        /// What.
        signal: Signal,
    },
    /// How an iteration without a result counts against the limits.
    IterationJudged {
        /// Whose.
        agent: AgentId,
        /// It wrote nothing.
        empty: bool,
        /// It was over at once.
        at_once: bool,
    },
    /// An iteration does not count: its service was to blame, or its conversation. With it the attempt comes to its boundary: one event, so
    /// that no torn log can hold half of it.
    IterationExcused {
        /// Whose.
        agent: AgentId,
        /// What was to blame.
        excuse: Excuse,
        /// Where the attempt stands then; none, in older logs: an `attemptMoved` before it says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<AttemptPhase>,
        /// Not to go on before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// An attempt has a conversation.
    SessionBegan {
        /// Whose.
        agent: AgentId,
        /// In which run.
        run: RunId,
        /// Under which profile.
        profile: ProfileName,
        /// Its name.
        session: SessionId,
    },
    /// An attempt's conversation is given up; the next iteration begins a new one.
    SessionDropped {
        /// Whose.
        agent: AgentId,
        /// Why.
        why: String,
    },
    /// What the present iteration of an attempt has used up to now.
    UsageSeen {
        /// Whose.
        agent: AgentId,
        /// In which run.
        run: RunId,
        /// The run's own part.
        bill: Bill,
    },
    /// Nothing of this account is started for a while.
    AccountHeld {
        /// Which.
        account: String,
        /// Why and how long.
        hold: Hold,
    },
    /// The time is over, and one run tries whether the account works again.
    AccountTried {
        /// Which.
        account: String,
        /// By which run.
        run: RunId,
    },
    /// The account works again, or somebody said so.
    AccountFreed {
        /// Which.
        account: String,
    },
    /// The budget of a day paused the swarm.
    BudgetReached {
        /// Which day (UTC).
        day: String,
        /// Its limits then.
        #[serde(default, skip_serializing_if = "DayLimits::is_none")]
        limits: DayLimits,
    },
    /// Where the branch stands after an iteration.
    AttemptSealed {
        /// Whose.
        agent: AgentId,
        /// The branch's commit.
        head: Oid,
        /// Whether leftovers were committed.
        committed: bool,
    },
    /// A quality command passed in the attempt's worktree.
    GatePassed {
        /// Whose.
        agent: AgentId,
        /// Which command, from 0.
        index: usize,
    },
    /// A quality command failed; the next prompt carries it.
    GateFailed {
        /// Whose.
        agent: AgentId,
        /// What the next prompt says.
        feedback: Feedback,
    },
    /// The attempt has another task.
    TaskSet {
        /// Whose.
        agent: AgentId,
        /// What.
        task: Task,
    },
    /// A person said something to an agent.
    MessageQueued {
        /// To whom.
        agent: AgentId,
        /// What.
        text: String,
    },
    /// An attempt is to end.
    EndingAsked {
        /// Whose.
        agent: AgentId,
        /// Why.
        ending: super::state::Ending,
    },
    /// An attempt is to end, and another idea takes its place.
    AgentRedirected {
        /// Whose.
        agent: AgentId,
        /// The other idea.
        to: IdeaId,
        /// In a worktree of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new_worktree: bool,
    },
    /// The work in progress of a redirected attempt is committed.
    WorkSaved {
        /// Whose.
        agent: AgentId,
        /// Where it is.
        saved: Saved,
        /// Whether something was uncommitted.
        committed: bool,
    },
    /// An attempt is over.
    AttemptEnded {
        /// Whose.
        agent: AgentId,
        /// How.
        end: AttemptEnd,
        /// How its idea stands now.
        status: IdeaStatus,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Its idea is not to be claimed before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
        /// Whether its worktree stays for the next attempt.
        keep_worktree: bool,
    },

    /// Finished work entered the merge queue.
    MergeQueued {
        /// Of which idea.
        id: IdeaId,
        /// Whose work.
        agent: AgentId,
        /// The branch.
        branch: String,
        /// The commit to merge.
        source: Oid,
        /// A person must say go.
        #[serde(default)]
        held: bool,
    },
    /// An entry's phase changed.
    MergeMoved {
        /// Whose.
        id: IdeaId,
        /// To what.
        phase: MergePhase,
        /// Not to be tried before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
        /// Why it waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits: Option<Waits>,
    },
    /// A held entry may go on.
    MergeReleased {
        /// Whose.
        id: IdeaId,
    },
    /// The merged commit exists.
    MergeBuilt {
        /// Whose.
        id: IdeaId,
        /// The merge commit.
        commit: Oid,
        /// The target's commit that it was built on.
        target: Oid,
        /// Files whose SIMPLE conflict was resolved.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        resolved: Vec<String>,
    },
    /// The merge has a conflict.
    MergeConflicted {
        /// Whose.
        id: IdeaId,
        /// Who can resolve it.
        level: ConflictLevel,
        /// Where.
        files: Vec<String>,
        /// The target's commit.
        target: Oid,
    },
    /// The conflict lies in the worktree.
    ConflictLaidOut {
        /// Whose.
        id: IdeaId,
        /// Where.
        files: Vec<String>,
    },
    /// The conflict is settled; the branch holds the target.
    ConflictSettled {
        /// Whose.
        id: IdeaId,
        /// The branch's commit.
        head: Oid,
    },
    /// A resolver's try did not settle it.
    ResolverFailed {
        /// Whose.
        id: IdeaId,
        /// Why.
        why: String,
    },
    /// The merged tree is checked out.
    VerifyReady {
        /// Whose.
        id: IdeaId,
    },
    /// A quality command begins on the merged tree.
    VerifyStarted {
        /// Whose.
        id: IdeaId,
        /// Which command, from 0.
        index: usize,
        /// Its run.
        run: RunId,
    },
    /// A quality command passed on the merged tree.
    VerifyPassed {
        /// Whose.
        id: IdeaId,
        /// Which command, from 0.
        index: usize,
    },
    /// The work goes back to its agent for another iteration.
    MergeReturned {
        /// Whose.
        id: IdeaId,
        /// What the next prompt says.
        feedback: Feedback,
    },
    /// The target contains the work.
    IdeaLanded {
        /// Which.
        id: IdeaId,
        /// The merge commit.
        commit: Oid,
    },

    /// A checkpoint was made.
    CheckpointMade {
        /// Its name.
        name: CheckpointName,
        /// What is known of it.
        checkpoint: Box<Checkpoint>,
    },
    /// A checkpoint is gone.
    CheckpointDeleted {
        /// Its name.
        name: CheckpointName,
    },
    /// A rollback is under way.
    RollbackBegun {
        /// To what, and how.
        rollback: Box<Rollback>,
    },
    /// What the rollback will make of an idea.
    RollbackPlanned {
        /// Which.
        id: IdeaId,
        /// What it becomes.
        idea: Box<IdeaThen>,
    },
    /// The rollback has come to its next step.
    RollbackStepped {
        /// Which.
        step: RollbackStep,
    },
    /// The target and the ideas are what they were at the checkpoint.
    RolledBack {
        /// Which checkpoint.
        to: CheckpointName,
        /// Where the target is.
        commit: Oid,
        /// The checkpoint that undoes it.
        safety: CheckpointName,
    },
    /// The rollback was given up; the target and the ideas are as they were.
    RollbackAbandoned {
        /// To which checkpoint.
        to: CheckpointName,
        /// What, why and what to do.
        why: String,
        /// The files in the way, if it was files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },

    /// A hook that can hold a step is to be asked.
    HookAsked {
        /// Which.
        hook: HookName,
        /// About which idea.
        id: IdeaId,
        /// About whose attempt.
        agent: AgentId,
    },
    /// A hook is called.
    HookStarted {
        /// Which.
        hook: HookName,
        /// About which event.
        about: u64,
        /// The run that calls it.
        run: RunId,
    },
    /// A call was cut off by a crash or by the daemon's end; it is made again.
    HookCutOff {
        /// Which.
        hook: HookName,
        /// About which event.
        about: u64,
        /// Its runner was killed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lost: bool,
    },
    /// A call is over.
    HookFinished {
        /// Which.
        hook: HookName,
        /// About which event.
        about: u64,
        /// How, in words.
        how: String,
        /// Whether the hook did what it was there for.
        well: bool,
        /// Whether it holds its step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        veto: bool,
        /// Whether its program was not even started, so that it has written nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_run: bool,
    },
    /// A call took too long and was ended.
    HookTimedOut {
        /// Which.
        hook: HookName,
        /// About which event.
        about: u64,
        /// Whether that holds its step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        veto: bool,
    },
    /// A person has approved what an agent's landed work made of a hook.
    HookApproved {
        /// Which.
        hook: HookName,
        /// What was looked at: git's object id of its content, or `gone`; `@`; the landings that brought it, with commas.
        content: String,
    },
    /// An agent found something out.
    Learned {
        /// `learning-001`; of one known already: its id.
        id: String,
        /// Who.
        agent: AgentId,
        /// Under which profile.
        profile: ProfileName,
        /// For all agents.
        global: bool,
        /// What.
        content: String,
    },
    /// Something that people should know.
    WarningRaised {
        /// A stable name.
        key: String,
        /// What, why and what to do.
        message: String,
    },
    /// It is over.
    WarningCleared {
        /// The same name.
        key: String,
    },

    /// The shell must do this.
    EffectRequested {
        /// Its id.
        id: EffectId,
        /// What.
        effect: Effect,
    },
    /// It is done, or could not be.
    EffectFinished {
        /// Which.
        id: EffectId,
        /// Why it could not be done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },

    /// Damaged state was repaired: events are gone, their numbers never come back.
    StateRepaired {
        /// How.
        way: RepairWay,
        /// The events that are gone, where their numbers are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<LostEvents>,
        /// The folder in the state directory that has the files as they were.
        copy: String,
        /// What the counters are at least.
        floors: Counters,
        /// Ideas of which the target says that they landed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        landed: Vec<FoundLanding>,
    },
    /// After damage the log begins here: the whole state after this record lies in a file beside it.
    StateRestored {
        /// Where it was found.
        way: RepairWay,
        /// The SHA-256 of the file `restored-<sha256>.json`.
        sha256: String,
        /// The folder in the state directory that has the files as they were.
        copy: String,
    },
}

/// How damaged state was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RepairWay {
    /// The good beginning of the log stays.
    Cut,
    /// A snapshot and the good events after it stay.
    Snapshot,
    /// The state was put together from what lies beside the log.
    Rebuild,
}

impl RepairWay {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Snapshot => "snapshot",
            Self::Rebuild => "rebuild",
        }
    }
}

/// Events that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostEvents {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
}

/// A landing that git knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundLanding {
    /// The idea.
    pub idea: IdeaId,
    /// The merge commit.
    pub commit: Oid,
    /// The branch that has it.
    pub target: String,
}

impl Event {
    /// Its kind, as the log names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mark {} => "mark",
            Self::DaemonStarted { .. } => "daemonStarted",
            Self::PhaseChanged { .. } => "phaseChanged",
            Self::PauseSet { .. } => "pauseSet",
            Self::PauseLifted { .. } => "pauseLifted",
            Self::SettingsLoaded { .. } => "settingsLoaded",
            Self::ModeSet { .. } => "modeSet",
            Self::ClockWentBack { .. } => "clockWentBack",
            Self::RoomAwaited { .. } => "roomAwaited",
            Self::TargetSeen { .. } => "targetSeen",
            Self::TargetRewritten { .. } => "targetRewritten",
            Self::TargetSettled { .. } => "targetSettled",
            Self::IdeaAdded { .. } => "ideaAdded",
            Self::IdeaEdited { .. } => "ideaEdited",
            Self::IdeaRetried { .. } => "ideaRetried",
            Self::IdeaCancelled { .. } => "ideaCancelled",
            Self::IdeaAssigned { .. } => "ideaAssigned",
            Self::IdeaClaimed { .. } => "ideaClaimed",
            Self::AttemptMoved { .. } => "attemptMoved",
            Self::WorktreeReady { .. } => "worktreeReady",
            Self::IterationStarted { .. } => "iterationStarted",
            Self::GateStarted { .. } => "gateStarted",
            Self::RunStarted { .. } => "runStarted",
            Self::RunEnded { .. } => "runEnded",
            Self::SignalSeen { .. } => "signalSeen",
            Self::IterationJudged { .. } => "iterationJudged",
            Self::IterationExcused { .. } => "iterationExcused",
            Self::SessionBegan { .. } => "sessionBegan",
            Self::SessionDropped { .. } => "sessionDropped",
            Self::UsageSeen { .. } => "usageSeen",
            Self::AccountHeld { .. } => "accountHeld",
            Self::AccountTried { .. } => "accountTried",
            Self::AccountFreed { .. } => "accountFreed",
            Self::BudgetReached { .. } => "budgetReached",
            Self::AttemptSealed { .. } => "attemptSealed",
            Self::GatePassed { .. } => "gatePassed",
            Self::GateFailed { .. } => "gateFailed",
            Self::TaskSet { .. } => "taskSet",
            Self::MessageQueued { .. } => "messageQueued",
            Self::EndingAsked { .. } => "endingAsked",
            Self::AgentRedirected { .. } => "agentRedirected",
            Self::WorkSaved { .. } => "workSaved",
            Self::AttemptEnded { .. } => "attemptEnded",
            Self::MergeQueued { .. } => "mergeQueued",
            Self::MergeMoved { .. } => "mergeMoved",
            Self::MergeReleased { .. } => "mergeReleased",
            Self::MergeBuilt { .. } => "mergeBuilt",
            Self::MergeConflicted { .. } => "mergeConflicted",
            Self::ConflictLaidOut { .. } => "conflictLaidOut",
            Self::ConflictSettled { .. } => "conflictSettled",
            Self::ResolverFailed { .. } => "resolverFailed",
            Self::VerifyReady { .. } => "verifyReady",
            Self::VerifyStarted { .. } => "verifyStarted",
            Self::VerifyPassed { .. } => "verifyPassed",
            Self::MergeReturned { .. } => "mergeReturned",
            Self::IdeaLanded { .. } => "ideaLanded",
            Self::CheckpointMade { .. } => "checkpointMade",
            Self::CheckpointDeleted { .. } => "checkpointDeleted",
            Self::RollbackBegun { .. } => "rollbackBegun",
            Self::RollbackPlanned { .. } => "rollbackPlanned",
            Self::RollbackStepped { .. } => "rollbackStepped",
            Self::RolledBack { .. } => "rolledBack",
            Self::RollbackAbandoned { .. } => "rollbackAbandoned",
            Self::HookAsked { .. } => "hookAsked",
            Self::HookStarted { .. } => "hookStarted",
            Self::HookCutOff { .. } => "hookCutOff",
            Self::HookFinished { .. } => "hookFinished",
            Self::HookTimedOut { .. } => "hookTimedOut",
            Self::HookApproved { .. } => "hookApproved",
            Self::Learned { .. } => "learned",
            Self::WarningRaised { .. } => "warningRaised",
            Self::WarningCleared { .. } => "warningCleared",
            Self::EffectRequested { .. } => "effectRequested",
            Self::EffectFinished { .. } => "effectFinished",
            Self::StateRepaired { .. } => "stateRepaired",
            Self::StateRestored { .. } => "stateRestored",
        }
    }
}
