//! Folds events into the state. Total, simple and deterministic: it assigns what the event says and
//! decides nothing.
//!
//! Invariant: one exhaustive match, so that a new kind of event does not compile until someone has
//! decided what it changes. An event about something that the state does not have changes only
//! `seq`. The actor and every replay call it.

mod attempt;
mod attention;
mod baseline;
mod blame;
mod checkpoint;
mod checks;
pub(crate) mod hooks;
mod idea;
mod memory;
mod merge;
mod provider;
mod records;
mod redirect;
mod setup;
mod swarm;
mod transfer;
mod undo;

use super::event::Event;
use super::state::State;
use super::time::Timestamp;

/// Folds the event with sequence number `seq`, journaled at `at`, into the state.
pub fn evolve(state: &mut State, seq: u64, at: Timestamp, event: &Event) {
    let calls = hooks::owed_by(state, seq, event);
    state.seq = seq;
    state.swarm.last_event_at = at;
    if !matches!(event, Event::HookOwed(_)) {
        state.operations.see(event.kind(), seq, at);
    }
    attention::count(state, event);
    fold(state, at, event);
    state.hooks.extend(calls);
    if !state.hooks.is_empty() {
        hooks::forget(state);
    }
}

fn fold(state: &mut State, at: Timestamp, event: &Event) {
    match event {
        // The reader of the log installs the state that a log starts with.
        Event::Mark(_) | Event::ClockWentBack(_) | Event::StateRestored(_) => {}
        Event::MachineSlept(slept) => swarm::sleep(state, at, slept),
        Event::DaemonStarted(started) => swarm::start(state, at, started),
        Event::NumbersRaised(raised) => {
            state.counters = state.counters.at_least(raised.counters);
        }
        Event::PhaseChanged(changed) => swarm::change_phase(state, changed),
        Event::PauseSet(pause) => swarm::pause(state, pause),
        Event::PauseLifted(_) => swarm::lift_pause(state),
        Event::SettingsLoaded(loaded) => swarm::load_settings(state, at, loaded),
        Event::ModeSet(set) => swarm::set_mode(state, set),
        Event::RoomAwaited(awaited) => state.swarm.held_until = Some(awaited.until),
        Event::WorktreesHeld(held) => state.swarm.worktrees_held = Some(held.hold.clone()),
        Event::WorktreesFreed(_) => state.swarm.worktrees_held = None,
        Event::TargetSeen(seen) => swarm::see_target(state, seen),
        Event::TargetRewritten(rewritten) => swarm::rewrite_target(state, at, rewritten),
        Event::LandingFound(found) => idea::find_landing(state, at, found),
        Event::TargetSettled(_) => state.swarm.rewritten = None,
        Event::BaselineReady(ready) => baseline::check_out(state, at, ready),
        Event::BaselineStarted(started) => baseline::start(state, at, started),
        Event::BaselinePassed(passed) => baseline::pass_command(state, at, passed),
        Event::BaselineFailed(failed) => baseline::fail(state, at, failed),
        Event::BaselineCleared(cleared) => baseline::clear(state, cleared),
        Event::ChecksProbed(probed) => baseline::probe(state, probed),
        Event::BaselineDoubted(_) => blame::doubt_target(state),
        Event::GateDoubted(doubted) => blame::doubt_gate(state, doubted),
        Event::GateExcused(excused) => blame::excuse_gate(state, excused),
        Event::VerifyDoubted(doubted) => blame::doubt_verify(state, doubted),
        Event::WarningRaised(raised) => swarm::raise_warning(state, at, raised),
        Event::WarningCleared(cleared) => {
            state.warnings.remove(&cleared.key);
        }
        Event::EffectRequested(requested) => swarm::request(state, requested),
        Event::EffectFinished(finished) => swarm::finish(state, finished),
        Event::StateRepaired(repaired) => swarm::repair(state, at, repaired),
        Event::SwarmImported(imported) => transfer::import(state, at, imported),
        Event::WorkImported(work) => transfer::import_work(state, at, work),
        Event::SwarmMoved(moved) => transfer::move_away(state, moved),
        Event::SwarmReclaimed(_) => state.swarm.moved = None,
        Event::AgentImported(imported) => transfer::import_agent(state, at, imported),

        Event::SetupStarted(started) => setup::start(state, at, started),
        Event::SetupPassed(passed) => setup::pass(state, passed),

        Event::IdeaAdded(added) => idea::add(state, at, added),
        Event::IdeaEdited(edited) => idea::edit(state, at, edited),
        Event::IdeaRetried(retried) => idea::retry(state, at, retried),
        Event::IdeaCancelled(cancelled) => idea::cancel(state, at, cancelled),
        Event::IdeaAssigned(assigned) => idea::assign(state, at, assigned),
        Event::IdeaHeld(held) => idea::hold(state, at, held),
        Event::IdeaUnheld(unheld) => idea::unhold(state, at, unheld),
        Event::IdeaLanded(landed) => idea::land(state, at, landed),

        Event::IdeaClaimed(claimed) => attempt::claim(state, at, claimed),
        Event::AttemptMoved(moved) => attempt::change_phase(state, moved),
        Event::WorktreeReady(ready) => attempt::worktree::take(state, ready),
        Event::WorktreeLent(lent) => attempt::worktree::lend(state, lent),
        Event::WorktreeStays(stays) => attempt::worktree::keep(state, stays),
        Event::IterationStarted(started) => attempt::start_iteration(state, at, started),
        Event::GateStarted(started) => attempt::start_gate(state, started),
        Event::CommitHooksStarted(started) => attempt::start_commit_hooks(state, started),
        Event::CommitHooksPassed(passed) => attempt::pass_commit_hooks(state, passed),
        Event::RunStarted(started) => attempt::start_run(state, started),
        Event::RunEnded(ended) => attempt::end_run(state, at, ended),
        Event::SignalSeen(seen) => attempt::hear(state, seen),
        Event::IterationJudged(judged) => attempt::judge_iteration(state, judged),
        Event::AttemptSealed(sealed) => attempt::seal(state, sealed),
        Event::GatePassed(passed) => attempt::pass_gate(state, passed),
        Event::GateFailed(failed) => attempt::fail_gate(state, failed),
        Event::TaskSet(set) => attempt::set_task(state, set),
        Event::MessageQueued(queued) => attempt::queue_message(state, at, queued),
        Event::EndingAsked(asked) => attempt::ask_end(state, asked),
        Event::AttemptEnded(ended) => attempt::end::end(state, at, ended),
        Event::AgentRedirected(redirected) => redirect::begin(state, at, redirected),
        Event::WorkSaved(saved) => redirect::save(state, saved),

        Event::IterationExcused(excused) => provider::excuse(state, excused),
        Event::SessionBegan(began) => provider::begin_session(state, began),
        Event::SessionDropped(dropped) => provider::drop_session(state, dropped),
        Event::UsageSeen(seen) => provider::see_usage(state, seen),
        Event::ProviderAwaited(it) => provider::await_provider(state, at, it),
        Event::AccountHeld(held) => provider::hold_account(state, held),
        Event::AccountTried(tried) => provider::try_account(state, tried),
        Event::AccountFreed(freed) => {
            state.accounts.remove(&freed.account);
        }
        Event::ProfileHeld(held) => {
            let profile = held.profile.clone();
            state.profiles.insert(profile, held.hold.clone());
        }
        Event::ProfileTried(tried) => provider::try_profile(state, tried),
        Event::ProfileFreed(freed) => {
            state.profiles.remove(&freed.profile);
        }
        Event::BudgetReached(reached) => provider::reach_budget(state, reached),

        Event::MergeQueued(queued) => merge::queue(state, at, queued),
        Event::MergeMoved(moved) => merge::change_phase(state, moved),
        Event::MergeReleased(released) => merge::release(state, released),
        Event::MergeApproved(approved) => merge::approve(state, at, approved),
        Event::MergeRejected(rejected) => merge::reject(state, at, rejected),
        Event::ApprovalWithdrawn(withdrawn) => merge::withdraw(state, at, withdrawn),
        Event::MergeBuilt(built) => merge::build(state, built),
        Event::MergeConflicted(conflicted) => merge::meet_conflict(state, conflicted),
        Event::ConflictLaidOut(laid_out) => merge::lay_out(state, laid_out),
        Event::ConflictSettled(settled) => merge::settle_conflict(state, settled),
        Event::ResolverFailed(failed) => merge::fail_resolver(state, failed),
        Event::VerifyReady(ready) => merge::check_out(state, ready),
        Event::VerifyStarted(started) => merge::start_verify(state, started),
        Event::VerifyPassed(passed) => merge::pass_verify(state, passed),
        Event::MergeReturned(returned) => merge::give_back(state, at, returned),

        Event::CheckpointMade(made) => checkpoint::keep(state, made),
        Event::CheckpointDeleted(deleted) => {
            state.checkpoints.remove(&deleted.name);
        }
        Event::RollbackBegun(begun) => state.rollback = Some(begun.rollback.clone()),
        Event::RollbackPlanned(planned) => checkpoint::plan_idea(state, planned),
        Event::RollbackStepped(stepped) => checkpoint::step(state, stepped),
        Event::RolledBack(rolled_back) => checkpoint::roll_back(state, at, rolled_back),
        Event::RollbackAbandoned(_) => checkpoint::abandon(state),

        Event::UndoRecorded(recorded) => undo::record(state, at, recorded),
        Event::CancelUndone(undone) => undo::undo_cancel(state, at, undone),
        Event::RedirectUndone(undone) => undo::undo_redirect(state, at, undone),
        Event::WorkRescued(rescued) => undo::rescue(state, rescued),

        Event::HookOwed(owed) => hooks::announce(state, owed),
        Event::HookAsked(asked) => hooks::ask(state, asked),
        Event::HookStarted(started) => hooks::start(state, at, started),
        Event::HookCutOff(cut_off) => hooks::cut_off(state, cut_off),
        Event::HookFinished(finished) => hooks::finish(state, at, finished),
        Event::HookTimedOut(timed_out) => hooks::time_out(state, at, timed_out),
        Event::HookApproved(approved) => hooks::approve(state, approved),

        Event::Learned(learned) => memory::learn(state, at, learned),
        Event::FactWritten(written) => memory::write(state, at, written),
        Event::FactConfirmed(confirmed) => memory::confirm(state, at, confirmed),
        Event::FactDisputed(disputed) => memory::dispute(state, at, disputed),
        Event::FactPinned(pinned) => memory::pin(state, pinned),
        Event::MemoryRetracted(retracted) => memory::retract(state, at, retracted),
        Event::NotePut(put) => memory::put_note(state, at, put),
        Event::NotesDropped(dropped) => memory::drop_notes(state, dropped),
        Event::MemoryShown(shown) => memory::show(state, at, shown),
        Event::MemoryRead(read) => memory::read(state, read),
        Event::MemoryCompacted(compacted) => memory::compact(state, compacted),
        Event::Synthesised(synthesised) => memory::synthesise(state, synthesised),
        Event::IterationRecorded(recorded) => records::record(state, recorded),
        Event::RecordsExpired(expired) => records::expire(state, expired),
        Event::ReplayAsked(asked) => records::ask_replay(state, at, asked),
        Event::ReplayJudged(_) => state.records.replay = None,
        Event::CommandTaken(taken) => state.operations.announce(taken, at),

        Event::NeedArose(arose) => attention::arise(state, at, arose),
        Event::NeedSettled(settled) => attention::settle(state, settled),
        Event::NightBegan(_) => attention::begin_night(state, at),
        Event::NightEnded(ended) => attention::end_night(state, at, ended),
        Event::NoticeDelivered(delivered) => attention::deliver(state, delivered),
        Event::NoticeFailed(failed) => attention::fail(state, failed),
    }
}
