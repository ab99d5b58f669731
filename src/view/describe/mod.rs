//! Describes an event in one short line for people.
//!
//! Invariant: every event has a line and a tone, and is news or not; exhaustive matches make sure
//! that no new event is forgotten. A line is safe for a terminal: it goes through [`safe`] as a
//! whole.

mod attempt;
mod event_parts;
mod kinds;
mod memory;
mod paused;
mod point;
mod previous_daemon;
mod records;
mod subject;
mod text;
mod tone;
mod transfer;
mod usage;
mod waiting;

pub use kinds::{Interest, KINDS, interest, is_news};
pub use paused::{pause_reason, paused, paused_for};
pub use point::{POINTS, Point, outage, point, read, read_span, slept, span, until};
pub use previous_daemon::from_before;
pub use subject::{Subject, Subjects};
pub use text::{Tone, is_unsafe, safe, safe_block, shorten, title};
pub use tone::tone;
pub use usage::spent;

use crate::domain::event::{
    AccountFreed, AccountHeld, AccountTried, ApprovalWithdrawn, AttemptEnded, AttemptMoved,
    BaselineDoubted, BaselineReady, BudgetReached, CancelUndone, CheckpointDeleted, CheckpointMade,
    CommandTaken, ConflictLaidOut, ConflictSettled, EffectFinished, EffectRequested, EndingAsked,
    Event, GateDoubted, GateFailed, GatePassed, GateStarted, HookApproved, HookAsked, HookCutOff,
    HookFinished, HookOwed, HookStarted, HookTimedOut, IdeaAdded, IdeaAssigned, IdeaCancelled,
    IdeaClaimed, IdeaEdited, IdeaHeld, IdeaLanded, IdeaRetried, IdeaUnheld, IterationStarted,
    LandingFound, Mark, MergeApproved, MergeBuilt, MergeConflicted, MergeMoved, MergeQueued,
    MergeRejected, MergeReleased, MergeReturned, MessageQueued, ModeSet, NeedArose, NeedSettled,
    NightBegan, NightEnded, NoticeDelivered, PauseLifted, PauseSet, PhaseChanged, ProfileFreed,
    ProfileHeld, ProfileTried, RedirectUndone, ResolverFailed, RollbackAbandoned, RollbackBegun,
    RollbackPlanned, RollbackStepped, RolledBack, RunEnded, RunStarted, SessionBegan,
    SessionDropped, SettingsLoaded, SignalSeen, StateRepaired, StateRestored, TargetSettled,
    TaskSet, UndoRecorded, UsageSeen, VerifyDoubted, VerifyPassed, VerifyReady, VerifyStarted,
    WarningCleared, WarningRaised, WorkRescued, WorktreeReady,
};
use crate::domain::state::Task;
use crate::view::names;

pub use event_parts::{
    AWAITING_APPROVAL, attempt_phase, merge_phase, mode, short, status_tone, swarm_phase,
};
use event_parts::{
    baseline_cleared, baseline_failed, baseline_passed, baseline_started, because, checks_probed,
    conflict_level, daemon_started, effect_words, ending_words, failed_command, in_doubt,
    need_words, notice_failed, numbers_raised, phase_reason, rollback_step, run_end,
    settings_loaded, setup_passed, setup_started, signal_words, target_choice, target_rewritten,
    veto_words,
};
pub use waiting::waiting;

/// The longest line, in characters.
const MAX_LINE: usize = 300;
/// The longest title of an idea within a line.
const MAX_TITLE: usize = 60;

/// Describes an event in one safe line.
pub fn describe(event: &Event) -> String {
    shorten(&safe(&describe_event(event)), MAX_LINE, false)
}

fn describe_event(event: &Event) -> String {
    match event {
        Event::Mark(Mark {}) => "everything before this is on disk".into(),
        Event::DaemonStarted(started) => daemon_started(started),
        Event::NumbersRaised(raised) => numbers_raised(raised),
        Event::PhaseChanged(PhaseChanged { phase, reason, .. }) => {
            format!(
                "the swarm is {}{}",
                swarm_phase(*phase),
                phase_reason(*phase, reason.as_deref())
            )
        }
        Event::PauseSet(PauseSet { reason, .. }) => pause_reason(reason),
        Event::PauseLifted(PauseLifted {}) => "resumed".into(),
        Event::SettingsLoaded(SettingsLoaded { settings, .. }) => settings_loaded(settings),
        Event::ModeSet(ModeSet { mode: Some(to) }) => format!("mode set to {}", mode(*to)),
        Event::ModeSet(ModeSet { mode: None }) => "mode follows the configuration again".into(),
        Event::MachineSlept(slept) => point::slept(slept.seconds),
        Event::ClockWentBack(back) => format!("the clock went back by {} ms", back.by_ms),
        Event::RoomAwaited(_) => point::room_awaited(),
        Event::WorktreesHeld(_) | Event::WorktreesFreed(_) => point::worktrees(event),
        Event::TargetSeen(seen) => format!("{} is at {}", seen.branch, short(&seen.commit)),
        Event::TargetRewritten(rewritten) => target_rewritten(rewritten),
        Event::LandingFound(LandingFound { id, commit, .. }) => {
            format!("{id} is on the rewritten target as {}", short(commit))
        }
        Event::TargetSettled(TargetSettled { choice, .. }) => {
            format!("ideas whose work was missing {}", target_choice(*choice))
        }

        Event::BaselineReady(BaselineReady { commit, .. }) => {
            format!("the target at {} is checked out", short(commit))
        }
        Event::BaselineStarted(started) => baseline_started(started),
        Event::BaselinePassed(passed) => baseline_passed(passed),
        Event::SetupStarted(started) => setup_started(started),
        Event::SetupPassed(passed) => setup_passed(passed),
        Event::BaselineFailed(failed) => baseline_failed(failed),
        Event::BaselineCleared(cleared) => baseline_cleared(cleared),
        Event::ChecksProbed(probed) => checks_probed(probed),
        Event::BaselineDoubted(BaselineDoubted {}) => {
            "the untouched target is checked again, to tell whether the work or something outside \
            it is at fault"
                .into()
        }

        Event::IdeaAdded(IdeaAdded { id, idea }) => {
            format!("{id} added: {}", title(&idea.text, MAX_TITLE))
        }
        Event::IdeaEdited(IdeaEdited { id, edit }) => {
            let parts = [
                ("text", edit.text.is_some()),
                ("after", edit.after.is_some()),
                ("tags", edit.tags.is_some()),
                ("priority", edit.priority.is_some()),
            ];
            let changed = parts.iter().filter(|(_, changed)| *changed);
            let changed: Vec<&str> = changed.map(|(name, _)| *name).collect();
            format!("{id} changed: {}", changed.join(", "))
        }
        Event::IdeaRetried(IdeaRetried { id }) => format!("{id} is pending again"),
        Event::IdeaCancelled(IdeaCancelled { id }) => format!("{id} cancelled"),
        Event::IdeaAssigned(IdeaAssigned { id, profile }) => match profile {
            Some(profile) => format!("{id} assigned to profile {profile}"),
            None => format!("{id} assigned"),
        },
        Event::UndoRecorded(UndoRecorded { action }) => {
            format!("can be undone: {action}")
        }
        Event::CancelUndone(CancelUndone { id, .. }) => {
            format!("the cancellation of {id} was undone")
        }
        Event::RedirectUndone(RedirectUndone { agent, .. }) => {
            format!("the redirect of {agent} was undone")
        }
        Event::WorkRescued(WorkRescued { worktree, saved }) => match saved {
            Some(saved) => format!("the work in {worktree} is kept as {}", short(&saved.tip)),
            None => format!("{worktree} had no work to keep"),
        },
        Event::IdeaHeld(IdeaHeld { id }) => format!("{id} held: it does not start"),
        Event::IdeaUnheld(IdeaUnheld { id }) => format!("{id} may start again"),
        Event::IdeaClaimed(IdeaClaimed {
            id, agent, attempt, ..
        }) => format!("{agent} takes {id}, attempt {attempt}"),
        Event::IdeaLanded(IdeaLanded { id, commit, .. }) => {
            format!("{id} landed as {}", short(commit))
        }
        Event::CheckpointMade(CheckpointMade { name, checkpoint }) => {
            format!("checkpoint {name} made at {}", short(&checkpoint.commit))
        }
        Event::CheckpointDeleted(CheckpointDeleted { name }) => {
            format!("checkpoint {name} deleted")
        }
        Event::RollbackBegun(RollbackBegun { rollback }) => {
            format!(
                "rolling back to {} ({})",
                rollback.to,
                short(&rollback.commit)
            )
        }
        Event::RollbackPlanned(RollbackPlanned { id, idea }) => {
            format!("{id} will be {}", idea.status.as_str())
        }
        Event::RollbackStepped(RollbackStepped { step }) => {
            format!("rollback: {}", rollback_step(*step))
        }
        Event::RolledBack(RolledBack { to, commit, safety }) => format!(
            "rolled back to {to}, target at {}; to undo: swarm rollback {safety}",
            short(commit)
        ),
        Event::RollbackAbandoned(RollbackAbandoned { to, why, files }) => {
            let files = match files.as_slice() {
                [] => String::new(),
                some => format!(" ({})", names(some)),
            };
            format!("rollback to {to} abandoned, nothing was changed: {why}{files}")
        }
        Event::StateRepaired(StateRepaired { lost, copy, .. }) => match lost {
            Some(lost) => format!(
                "damaged log cut: events {} to {} are lost; original files: {copy}",
                lost.from, lost.to
            ),
            None => format!("damaged log repaired; original files: {copy}"),
        },
        Event::StateRestored(StateRestored { copy, .. }) => {
            format!("the repaired log starts here, with the whole state; original files: {copy}")
        }
        Event::SwarmImported(it) => transfer::imported(it),
        Event::WorkImported(it) => transfer::work_imported(it),
        Event::AgentImported(it) => transfer::agent_imported(it),
        Event::SwarmMoved(it) => transfer::moved(it),
        Event::SwarmReclaimed(_) => "reclaimed: the swarm works here again".to_owned(),

        Event::AttemptMoved(AttemptMoved { agent, phase, .. }) => {
            format!("{agent} is {}", attempt_phase(*phase))
        }
        Event::WorktreeReady(WorktreeReady { agent, head, .. }) => {
            format!("worktree of {agent} ready at {}", short(head))
        }
        Event::WorktreeLent(it) => {
            format!(
                "{}: its work waits on its branch, and its worktree is lent",
                it.agent
            )
        }
        Event::WorktreeStays(it) => {
            format!("worktree of {} is not lent; it holds {}", it.agent, it.why)
        }
        Event::IterationStarted(IterationStarted {
            agent, iteration, ..
        }) => format!("{agent} starts iteration {iteration}"),
        Event::GateStarted(GateStarted { agent, index, .. }) => {
            format!("{agent}: quality command {} started", index + 1)
        }
        Event::CommitHooksStarted(it) => {
            format!("{}: the commit hooks started on uncommitted work", it.agent)
        }
        Event::CommitHooksPassed(it) => format!("{}: the commit hooks passed", it.agent),
        Event::SignalSeen(SignalSeen { agent, signal, .. }) => {
            format!("{agent} says {}", signal_words(signal))
        }
        Event::IterationJudged(it) => attempt::judged(it),
        Event::IterationExcused(excused) => usage::excused(excused),
        Event::SessionBegan(SessionBegan { agent, session, .. }) => {
            format!("{agent} started conversation {session}")
        }
        Event::SessionDropped(SessionDropped { agent, why }) => {
            format!("{agent} drops its conversation: {why}")
        }
        Event::ProviderAwaited(awaited) => usage::provider_awaited(awaited),
        Event::UsageSeen(UsageSeen { agent, bill, .. }) => {
            format!("{agent} has used {} up to now", usage::bill(bill))
        }
        Event::AccountHeld(AccountHeld { account, hold }) => {
            format!("account {account} {}", usage::hold(hold))
        }
        Event::AccountTried(AccountTried { account, run }) => {
            format!("run {run} tries account {account} again")
        }
        Event::AccountFreed(AccountFreed { account }) => {
            format!("account {account} is in use again")
        }
        Event::ProfileHeld(ProfileHeld { profile, hold }) => {
            format!("the program of profile {profile} {}", usage::hold(hold))
        }
        Event::ProfileTried(ProfileTried { profile, run }) => {
            format!("run {run} tries profile {profile} again")
        }
        Event::ProfileFreed(ProfileFreed { profile }) => {
            format!("profile {profile} is in use again")
        }
        Event::BudgetReached(BudgetReached { day, .. }) => {
            format!("daily budget of {day} used up")
        }
        Event::AttemptSealed(it) => attempt::sealed(it),
        Event::GatePassed(GatePassed { agent, index }) => {
            format!("{agent}: quality command {} passed", index + 1)
        }
        Event::GateFailed(GateFailed {
            agent, feedback, ..
        }) => {
            format!("{agent}: {}", failed_command(feedback))
        }
        Event::GateDoubted(GateDoubted { agent, doubt }) => {
            format!("{agent}: {}", in_doubt(doubt))
        }
        Event::GateExcused(it) => attempt::excused(it),
        Event::TaskSet(TaskSet { agent, task }) => match task {
            Task::Work => format!("{agent} works on its idea"),
            Task::Resolve { files, .. } => {
                format!("{agent} resolves a conflict in {}", names(files))
            }
        },
        Event::MessageQueued(MessageQueued { agent, text }) => {
            format!("message for {agent}: {}", title(text, MAX_TITLE))
        }
        Event::EndingAsked(EndingAsked { agent, ending }) => {
            format!("stopping {agent}: {}", ending_words(*ending))
        }
        Event::AgentRedirected(it) => attempt::redirected(it),
        Event::WorkSaved(it) => attempt::work_saved(it),
        Event::AttemptEnded(AttemptEnded {
            agent,
            end,
            status,
            message,
            ..
        }) => format!(
            "{agent} {}; its idea is now {}{}",
            end,
            status.as_str(),
            because(message.as_deref())
        ),

        Event::HookOwed(HookOwed { hook, of, .. }) => {
            format!("hook {hook} will be called for {of}")
        }
        Event::HookAsked(HookAsked { hook, id, .. }) => format!("{id} waits for hook {hook}"),
        Event::HookStarted(HookStarted { hook, about, .. }) => {
            format!("hook {hook} called for event {about}")
        }
        Event::HookCutOff(HookCutOff { hook, about, .. }) => {
            format!("hook {hook} was interrupted; it will be called for event {about} again")
        }
        Event::HookFinished(HookFinished {
            hook, how, veto, ..
        }) => format!("hook {hook} finished{}: {how}", veto_words(*veto)),
        Event::HookTimedOut(HookTimedOut { hook, veto, .. }) => {
            format!("hook {hook} timed out{}", veto_words(*veto))
        }
        Event::HookApproved(HookApproved { hook, .. }) => {
            format!("hook {hook} approved in its current form")
        }
        Event::NeedArose(NeedArose { message, .. }) => format!("needs you: {message}"),
        Event::NeedSettled(NeedSettled { key }) => {
            format!("no longer needs you: {}", need_words(key))
        }
        Event::NightBegan(NightBegan {}) => "work began".to_owned(),
        Event::NightEnded(NightEnded { message, .. }) => message.clone(),
        Event::NoticeDelivered(NoticeDelivered { about }) => {
            format!("webhook told of event {about}")
        }
        Event::NoticeFailed(failed) => notice_failed(failed),
        Event::MergeQueued(MergeQueued {
            id, source, held, ..
        }) => {
            let held = match held {
                true => format!(", {AWAITING_APPROVAL}"),
                false => String::new(),
            };
            format!("{id} queued for merge (commit {}{held})", short(source))
        }
        Event::MergeMoved(MergeMoved {
            id, phase, waits, ..
        }) => {
            let why = waits.as_ref().map(|waits| waits.reason.as_str());
            format!("merge of {id}: {}{}", merge_phase(*phase), because(why))
        }
        Event::MergeReleased(MergeReleased { id }) => format!("merge of {id} continues"),
        Event::MergeApproved(MergeApproved { id, source }) => {
            format!("{id} approved to land (commit {})", short(source))
        }
        Event::MergeRejected(MergeRejected { id, agent, why, .. }) => {
            format!("{id} returned to {agent} by a reviewer: {why}")
        }
        Event::ApprovalWithdrawn(ApprovalWithdrawn { id, undoes }) => match undoes {
            Some(_) => format!("the approval of {id} was undone: its work waits for review again"),
            None => format!("the work of {id} is rebased, so it waits for review again"),
        },
        Event::MergeBuilt(MergeBuilt {
            id,
            commit,
            resolved,
            ..
        }) => {
            let also = match resolved.as_slice() {
                [] => String::new(),
                files => format!(", simple conflicts resolved in {}", names(files)),
            };
            format!("merge of {id} built as {}{also}", short(commit))
        }
        Event::MergeConflicted(MergeConflicted {
            id, level, files, ..
        }) => format!(
            "merge of {id} has a {} conflict in {}",
            conflict_level(*level),
            names(files)
        ),
        Event::ConflictLaidOut(ConflictLaidOut { id, files, saved }) => {
            let saved = saved.as_ref().map_or_else(String::new, |commit| {
                format!("; the earlier resolution is saved as {}", short(commit))
            });
            format!(
                "conflict of {id} set up in its worktree: {}{saved}",
                names(files)
            )
        }
        Event::ConflictSettled(ConflictSettled { id, head }) => {
            format!("conflict of {id} resolved at {}", short(head))
        }
        Event::ResolverFailed(ResolverFailed { id, why }) => {
            format!("conflict of {id} not resolved: {why}")
        }
        Event::VerifyReady(VerifyReady { id, .. }) => format!("merged tree of {id} checked out"),
        Event::VerifyStarted(VerifyStarted { id, index, .. }) => {
            format!(
                "quality command {} started on the merged tree of {id}",
                index + 1
            )
        }
        Event::VerifyPassed(VerifyPassed { id, index }) => {
            format!(
                "quality command {} passed on the merged tree of {id}",
                index + 1
            )
        }
        Event::VerifyDoubted(VerifyDoubted { id, doubt }) => {
            format!("{id}, merged with the target: {}", in_doubt(doubt))
        }
        Event::MergeReturned(MergeReturned { id, feedback }) => {
            format!("{id} goes back to its agent: {}", failed_command(feedback))
        }

        Event::RunStarted(RunStarted {
            run, pid, resumed, ..
        }) => {
            let talk = if *resumed {
                "; it resumes its conversation"
            } else {
                ""
            };
            format!("run {run} has process {pid}{talk}")
        }
        Event::RunEnded(RunEnded { run, end }) => format!("run {run} {}", run_end(end)),
        Event::Learned(learned) => memory::learned(learned),
        Event::FactWritten(written) => memory::fact_written(written),
        Event::FactConfirmed(confirmed) => memory::fact_confirmed(confirmed),
        Event::FactDisputed(disputed) => memory::fact_disputed(disputed),
        Event::FactPinned(pinned) => memory::fact_pinned(pinned),
        Event::MemoryRetracted(retracted) => memory::retracted(retracted),
        Event::NotePut(put) => memory::note_put(put),
        Event::NotesDropped(dropped) => memory::notes_dropped(dropped),
        Event::MemoryShown(shown) => memory::shown(shown),
        Event::MemoryRead(read) => memory::read(read),
        Event::MemoryCompacted(compacted) => memory::compacted(compacted),
        Event::Synthesised(synthesised) => memory::synthesised(synthesised),
        Event::IterationRecorded(recorded) => records::recorded(recorded),
        Event::RecordsExpired(expired) => records::expired(expired),
        Event::ReplayAsked(asked) => records::replay_asked(asked),
        Event::ReplayJudged(judged) => records::replay_judged(judged),
        Event::CommandTaken(CommandTaken { op, by, of, .. }) => {
            format!("operation {op} of {by}: {of}")
        }
        Event::WarningRaised(WarningRaised { message, .. }) => format!("warning: {message}"),
        Event::WarningCleared(WarningCleared { key }) => format!("warning {key} cleared"),
        Event::EffectRequested(EffectRequested { id, effect }) => {
            format!("{id} requested: {}", effect_words(effect))
        }
        Event::EffectFinished(EffectFinished { id, error: None }) => format!("{id} done"),
        Event::EffectFinished(EffectFinished {
            id,
            error: Some(error),
        }) => format!("{id} failed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::testkit as samples;

    #[test]
    fn every_kind_of_event_has_a_distinct_line() {
        let events = samples::events();
        let kinds: BTreeSet<&str> = events.iter().map(Event::kind).collect();
        assert_eq!(
            kinds,
            KINDS.iter().copied().collect(),
            "samples lack a kind"
        );
        for event in &events {
            let line = describe(event);
            assert!(line.len() > 5 && !line.contains('\n'), "{line:?}");
            assert_ne!(line, event.kind());
        }
        let lines: BTreeSet<String> = events.iter().map(describe).collect();
        assert_eq!(lines.len(), events.len(), "two events read the same");
    }

    #[test]
    fn hostile_text_is_harmless_in_a_line() {
        let message = "\u{1b}]0;owned\u{7}\u{202e}".to_owned() + &"x".repeat(1_000);
        let line = describe(&Event::WarningRaised(WarningRaised {
            key: "k".into(),
            message,
            commands: Vec::new(),
        }));
        assert!(line.starts_with("warning: ␛]0;owned␇\\u{202e}x"), "{line}");
        assert_eq!(line.chars().count(), MAX_LINE);
    }

    #[test]
    fn news_leaves_out_internal_steps() {
        let news: Vec<&str> = samples::events()
            .iter()
            .filter(|event| is_news(event))
            .map(Event::kind)
            .collect();
        assert!(news.contains(&"ideaLanded") && news.contains(&"effectFinished"));
        assert!(!news.contains(&"mark") && !news.contains(&"effectRequested"));
    }

    #[test]
    fn bad_ends_are_red_and_landings_green() {
        let tones: Vec<Tone> = samples::events().iter().map(tone).collect();
        for expected in [Tone::Good, Tone::Bad, Tone::Warn, Tone::Live, Tone::Dim] {
            assert!(tones.contains(&expected), "{expected:?}");
        }
    }
}
