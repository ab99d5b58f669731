//! Describes the parts of an event.
//!
//! Invariant: a part reads the same wherever it is shown. Foreign text in it is not made safe here;
//! the caller makes the whole line safe.

use super::text::Tone;
use super::usage;
use crate::domain::attention::NeedKey;
use crate::domain::effect::{self, ConflictLevel, Effect, Purpose, SetupTree, TargetTree};
use crate::domain::event::{
    BaselineCleared, BaselineFailed, BaselinePassed, BaselineStarted, ChecksProbed, DaemonStarted,
    NoticeFailed, NumbersRaised, SetupPassed, SetupStarted, TargetRewritten,
};
use crate::domain::ids::Oid;
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::operation::TargetChoice;
use crate::domain::settings::{Mode, Settings};
use crate::domain::signal::Signal;
use crate::domain::state::baseline::Doubt;
use crate::domain::state::checkpoint::RollbackStep;
use crate::domain::state::{Counters, Ending, Feedback, IdeaStatus};
use crate::view::names;

/// The first digits of a commit.
pub fn short(oid: &Oid) -> &str {
    oid.as_str().get(..10).unwrap_or(oid.as_str())
}

pub(super) fn because(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

pub(super) fn failed_command(feedback: &Feedback) -> String {
    let merged = if feedback.merged {
        " on the merged tree"
    } else {
        ""
    };
    format!("`{}` failed{merged}: {}", feedback.command, feedback.how)
}

pub(super) fn in_doubt(doubt: &Doubt) -> String {
    format!(
        "`{}` failed: {}; it is charged only once the command has passed elsewhere",
        doubt.command, doubt.how
    )
}

pub(super) fn settings_loaded(settings: &Settings) -> String {
    format!(
        "configuration loaded: {}, up to {} agents, work lands on {}",
        mode(settings.mode),
        settings.max_parallel,
        settings.target
    )
}

pub(super) fn target_rewritten(rewritten: &TargetRewritten) -> String {
    let TargetRewritten { from, to, dropped } = rewritten;
    let lost = match dropped.as_slice() {
        [] => String::new(),
        some => format!("; the work of {} is missing there", names(some)),
    };
    let (from, to) = (short(from), short(to));
    format!("the history of the target was rewritten from {from} to {to}{lost}")
}

pub(super) fn baseline_failed(failed: &BaselineFailed) -> String {
    let output = failed.output.as_deref();
    let output = output.map_or_else(String::new, |output| format!(": {output}"));
    match (&failed.command, &failed.commit) {
        (Some(command), Some(commit)) => format!(
            "`{command}` failed on the target at {} ({}), before any work{output}",
            short(commit),
            failed.how
        ),
        (None, _) | (_, None) => format!("the target could not be checked: {}", failed.how),
    }
}

/// A mode's name, as in the configuration.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::SemiAuto => "semi-auto",
        Mode::Autopilot => "autopilot",
    }
}

/// Describes the phase of the swarm.
pub fn swarm_phase(phase: SwarmPhase) -> &'static str {
    match phase {
        SwarmPhase::Stopped => "stopped",
        SwarmPhase::Recovering => "recovering",
        SwarmPhase::Running => "running",
        SwarmPhase::Pausing => "pausing",
        SwarmPhase::Paused => "paused",
        SwarmPhase::RollingBack => "rolling back",
        SwarmPhase::Draining => "stopping",
    }
}

/// Describes the phase of an attempt.
pub fn attempt_phase(phase: AttemptPhase) -> &'static str {
    match phase {
        AttemptPhase::Queued => "queued",
        AttemptPhase::Preparing => "preparing its worktree",
        AttemptPhase::Starting => "starting",
        AttemptPhase::Working => "working",
        AttemptPhase::Gating => "being checked",
        AttemptPhase::Stopping => "stopping",
        AttemptPhase::WaitingForHuman => "waiting for you",
        AttemptPhase::Backoff => "waiting for its next iteration",
        AttemptPhase::ReadyToMerge => "ready to merge",
        AttemptPhase::Merged => "merged",
        AttemptPhase::Failed => "failed",
        AttemptPhase::Released => "released",
    }
}

/// What a queued merge that a person must approve is called.
pub const AWAITING_APPROVAL: &str = "waiting for your review";

/// Describes the phase of a merge.
pub fn merge_phase(phase: MergePhase) -> &'static str {
    match phase {
        MergePhase::Queued => "queued",
        MergePhase::Building => "building",
        MergePhase::Resolver => "an agent is resolving the conflict",
        MergePhase::Person => "waiting for you to resolve the conflict",
        MergePhase::Verifying => "verifying",
        MergePhase::Landing => "landing",
    }
}

pub(super) fn ending_words(ending: Ending) -> &'static str {
    match ending {
        Ending::Stopped => "you stopped it",
        Ending::Interrupted => "the swarm is stopping its agents",
        Ending::Cancelled => "its idea was cancelled",
        Ending::Redirected => "redirected to another idea",
    }
}

pub(super) fn target_choice(choice: TargetChoice) -> &'static str {
    match choice {
        TargetChoice::Redo => "are done again",
        TargetChoice::Ignore => "stay done",
        TargetChoice::Cancel => "are cancelled",
    }
}

pub(super) fn conflict_level(level: ConflictLevel) -> &'static str {
    match level {
        ConflictLevel::Simple => "SIMPLE",
        ConflictLevel::Medium => "MEDIUM",
        ConflictLevel::Complex => "COMPLEX",
    }
}

pub(super) fn signal_words(signal: &Signal) -> String {
    let with = |word: &str, more: &Option<String>| match more {
        Some(more) => format!("{word}: {more}"),
        None => word.to_owned(),
    };
    match signal {
        Signal::Complete(more) => with("COMPLETE", more),
        Signal::Blocked(more) => with("BLOCKED", more),
        Signal::NeedsHuman(more) => with("NEEDS_HUMAN", more),
        Signal::Progress(percent) => format!("{percent} % done"),
        Signal::Resolved(more) => with("RESOLVED", more),
        Signal::LearningLocal(text) | Signal::LearningGlobal(text) => format!("LEARNING: {text}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds for people")]
pub(super) fn run_end(end: &RunEnd) -> String {
    let seconds = end.duration_ms as f64 / 1_000.0;
    let how = match &end.how {
        RunEndKind::Exited { code } => format!("exited with code {code}"),
        RunEndKind::Signalled { signal } => format!("was killed by signal {signal}"),
        RunEndKind::TimedOut => "timed out and was stopped".into(),
        RunEndKind::Idle => "wrote nothing for too long and was stopped".into(),
        RunEndKind::Stopped => "was stopped".into(),
        RunEndKind::LeaseExpired => "was stopped: there was no daemon for too long".into(),
        RunEndKind::OutputLimit => "wrote too much and was stopped".into(),
        RunEndKind::NotStarted { message } => return format!("could not be started: {message}"),
        RunEndKind::Lost => return "was lost: its runner was killed".into(),
    };
    let used = end.bill.as_ref().map(usage::bill);
    let used = used.map_or_else(String::new, |used| format!("; used {used}"));
    format!("{how} after {seconds:.1} s{used}")
}

pub(super) fn rollback_step(step: RollbackStep) -> &'static str {
    match step {
        RollbackStep::Checking => "checking the checkpoint",
        RollbackStep::Stopping => "stopping the agents",
        RollbackStep::Saving => "saving the current state as a checkpoint",
        RollbackStep::Moving => "moving the target back",
        RollbackStep::Restoring => "restoring the ideas",
    }
}

pub(super) fn effect_words(effect: &Effect) -> String {
    match effect {
        Effect::PrepareWorktree(effect::PrepareWorktree { worktree, .. }) => {
            format!("prepare worktree {worktree}")
        }
        Effect::Run(effect::Run { run, purpose, .. }) => {
            format!("run {run}: {}", purpose_words(purpose))
        }
        Effect::StopRun(effect::StopRun { run, .. }) => format!("stop run {run}"),
        Effect::Seal(effect::Seal { agent, .. }) => format!("inspect the branch of {agent}"),
        Effect::SaveWork(effect::SaveWork { agent, .. }) => {
            format!("commit the work in progress of {agent}")
        }
        Effect::BuildMerge(effect::BuildMerge { idea, .. }) => format!("build the merge of {idea}"),
        Effect::PrepareVerify(effect::PrepareVerify { idea, .. }) => {
            format!("check out the merged tree of {idea}")
        }
        Effect::PrepareBaseline(effect::PrepareBaseline { target, tree }) => {
            format!("check out {target} to check it {}", why_checked(*tree))
        }
        Effect::Land(effect::Land { idea, target, .. }) => format!("land {idea} on {target}"),
        Effect::StartResolution(effect::StartResolution { idea, .. }) => {
            format!("set up the conflict of {idea} in its worktree")
        }
        Effect::FinishResolution(effect::FinishResolution { idea, .. }) => {
            format!("finish the merge of {idea}")
        }
        Effect::LendWorktree(effect::LendWorktree { worktree, .. }) => {
            format!("lend worktree {worktree}")
        }
        Effect::ReleaseWorktree(effect::ReleaseWorktree { worktree, .. }) => {
            format!("release worktree {worktree}")
        }
        Effect::MakeCheckpoint(effect::MakeCheckpoint { name, .. }) => {
            format!("make checkpoint {name}")
        }
        Effect::DeleteCheckpoint(effect::DeleteCheckpoint { name, .. }) => {
            format!("delete checkpoint {name}")
        }
        Effect::CheckRollback(effect::CheckRollback { name, .. }) => {
            format!("check whether a rollback to {name} is possible")
        }
        Effect::MoveTarget(effect::MoveTarget { target, commit, .. }) => {
            format!("move {target} back to {}", short(commit))
        }
        Effect::ArchiveInbox(effect::ArchiveInbox { name, .. }) => {
            format!("move inbox file {name} to accepted")
        }
        Effect::Notify(effect::Notify { about }) => {
            format!("tell the webhook of event {about}")
        }
        Effect::JudgeReplay(effect::JudgeReplay { of, .. }) => {
            format!("compare the replay of {of} with its record")
        }
    }
}

/// Names a need that is over.
pub(super) fn need_words(key: &NeedKey) -> String {
    match key {
        NeedKey::Rewritten { to } => format!("work missing at {}", short(to)),
        NeedKey::Baseline {
            command: Some(command),
        } => format!("`{command}` on the target"),
        NeedKey::Baseline { command: None } => "check of the target".to_owned(),
        NeedKey::Blind {
            command: Some(command),
        } => format!("blind check `{command}`"),
        NeedKey::Blind { command: None } => "blind checks".to_owned(),
        NeedKey::Paused => "pause".to_owned(),
        NeedKey::Account { account } => format!("account {account}"),
        NeedKey::Worktrees => "worktrees that cannot be made".to_owned(),
        NeedKey::Profile { profile } => format!("program of profile {profile}"),
        NeedKey::Conflict { idea } => format!("conflict of {idea}"),
        NeedKey::Review { idea } => format!("approval of {idea}"),
        NeedKey::Merge { idea, .. } => format!("merge of {idea}"),
        NeedKey::Checkout { idea, .. } => format!("files in the way of {idea}"),
        NeedKey::Question { agent } => format!("question of {agent}"),
        NeedKey::Failed { idea } => format!("failure of {idea}"),
        NeedKey::Blocked { idea } | NeedKey::WaitsInVain { idea, .. } => {
            format!("what blocks {idea}")
        }
    }
}

fn purpose_words(purpose: &Purpose) -> String {
    match purpose {
        Purpose::Iteration {
            agent, iteration, ..
        } => format!("iteration {iteration} of {agent}"),
        Purpose::Gate { command, .. } => format!("`{command}`"),
        Purpose::CommitHooks { agent } => {
            format!("commit hooks on what {agent} left uncommitted")
        }
        Purpose::Verify { idea, command, .. } => {
            format!("`{command}` on the merged tree of {idea}")
        }
        Purpose::Baseline { command, tree, .. } => {
            format!("`{command}` on the target, {}", why_checked(*tree))
        }
        Purpose::Canary { commit, .. } => {
            format!("probe of the checks on the target at {}", short(commit))
        }
        Purpose::Setup { tree, command, .. } => {
            format!("`{command}` to set up {}", setup_tree(tree))
        }
        Purpose::Hook { hook, seq, .. } => format!("hook {hook} for event {seq}"),
        Purpose::Synthesis { profile, .. } => format!("synthesis of learnings by {profile}"),
        Purpose::Replay { profile, of, .. } => format!("replay of {of} by {profile}"),
    }
}

fn why_checked(tree: TargetTree) -> &'static str {
    match tree {
        TargetTree::Verify => "before work begins",
        TargetTree::Control => "to judge a failed check",
    }
}

/// A tree that is set up.
pub(super) fn setup_tree(tree: &SetupTree) -> String {
    match tree {
        SetupTree::Worktree { agent } => format!("the worktree of {agent}"),
        SetupTree::Merged { idea } => format!("the merged tree of {idea}"),
        SetupTree::Target => "the checkout of the target".to_owned(),
        SetupTree::Control => "the checkout of the target for controls".to_owned(),
    }
}

/// The colour of an idea's status.
pub fn status_tone(status: IdeaStatus) -> Tone {
    match status {
        IdeaStatus::Pending => Tone::Plain,
        IdeaStatus::Active | IdeaStatus::Merging => Tone::Live,
        IdeaStatus::Done => Tone::Good,
        IdeaStatus::Blocked | IdeaStatus::Failed | IdeaStatus::Timeout => Tone::Bad,
        IdeaStatus::Cancelled => Tone::Dim,
    }
}

pub(super) fn veto_words(veto: bool) -> &'static str {
    if veto { " and blocks its step" } else { "" }
}

/// The usual reason of a stop, which "stopped" says already.
const ENDED_CLEANLY: &str = "ended cleanly";

/// Pausing and paused do not repeat the reason of the pause.
pub(super) fn phase_reason(phase: SwarmPhase, reason: Option<&str>) -> String {
    match phase {
        SwarmPhase::Pausing | SwarmPhase::Paused => String::new(),
        SwarmPhase::Stopped if reason == Some(ENDED_CLEANLY) => String::new(),
        SwarmPhase::Stopped
        | SwarmPhase::Recovering
        | SwarmPhase::Running
        | SwarmPhase::RollingBack
        | SwarmPhase::Draining => because(reason),
    }
}

pub(super) fn numbers_raised(raised: &NumbersRaised) -> String {
    let Counters { ideas, agents, .. } = raised.counters;
    format!(
        "numbers go on after those of the swarm that was here ({ideas} ideas and {agents} agents)"
    )
}

pub(super) fn daemon_started(started: &DaemonStarted) -> String {
    let mut words = format!("daemon started (version {})", started.version);
    let host = started.host.as_ref();
    if host.is_some_and(|host| host.port_block.is_none()) {
        words.push_str(
            "; other daemons have every block of ports, so SWARM_SLOT and SWARM_PORT_BASE are not \
            set here until you stop one of them and start this one again",
        );
    }
    if started.counters.is_none() {
        return words;
    }
    format!(
        "{words}; the log is older than the runs, worktrees or branches that were found, so new \
        numbers begin after theirs"
    )
}

pub(super) fn baseline_started(started: &BaselineStarted) -> String {
    match &started.command {
        Some(command) => format!("checking the target: `{command}`"),
        None => "finding out whether the checks see the tree that they check".into(),
    }
}

pub(super) fn baseline_cleared(cleared: &BaselineCleared) -> String {
    if cleared.probe {
        "the checks are probed again, because somebody may have mended them".into()
    } else {
        "the target is checked again when that is needed".into()
    }
}

pub(super) fn checks_probed(probed: &ChecksProbed) -> String {
    let found = &probed.found;
    let all = found.alarms.iter().map(|alarm| &alarm.message);
    let all: Vec<&str> = all.chain(&found.notes).map(String::as_str).collect();
    match (found.alarms.len(), all.as_slice()) {
        (0, []) => "the checks see the tree that they check".into(),
        (0, notes) => format!("the checks were probed; {}", notes.join("; ")),
        (_, words) => format!("the checks cannot be trusted: {}", words.join("; ")),
    }
}

pub(super) fn baseline_passed(passed: &BaselinePassed) -> String {
    if passed.last {
        return format!("the target at {} passed its checks", short(&passed.commit));
    }
    format!("quality command {} passed on the target", passed.index + 1)
}

pub(super) fn setup_started(started: &SetupStarted) -> String {
    let tree = setup_tree(&started.tree);
    format!("setup command {} started in {tree}", started.index + 1)
}

pub(super) fn setup_passed(passed: &SetupPassed) -> String {
    let tree = setup_tree(&passed.tree);
    if passed.last {
        return format!("{tree} is set up");
    }
    format!("setup command {} passed in {tree}", passed.index + 1)
}

pub(super) fn notice_failed(failed: &NoticeFailed) -> String {
    let NoticeFailed {
        about,
        why,
        again_at,
    } = failed;
    let again = match again_at {
        Some(_) => "it is sent again",
        None => "it is not sent again",
    };
    format!("webhook not told of event {about}: {why}; {again}")
}
