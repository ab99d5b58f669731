//! Ends of all kinds: stop, cancel, pause, drain, crash and restart.

use insta::assert_snapshot;

use crate::domain::effect::ConflictLevel;
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::observation::RunEndKind;
use crate::domain::operation::Command;
use crate::domain::outcome::FailureKind;
use crate::domain::settings::Mode;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::outcomes::{conflicted, failed, prepared, resolution_started, sealed};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea};
use crate::view::{self, Rest};

const SHUTDOWN: Command = Command::Shutdown { keep_agents: false };

fn working() -> Scenario {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").well_until("iteration").quietly();
    s
}

fn cancel(number: u64) -> Command {
    Command::CancelIdea { id: idea(number) }
}

#[test]
fn a_stopped_agent_leaves_its_idea_pending_and_its_worktree_kept() {
    let mut s = working();
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    })
    .quietly();
    s.command(Command::StopAgent { id: agent(1) });
    assert_snapshot!(s.then(), @r"
    endingAsked {agent: ed-001, ending: stopped}
    ed-001 -> Stopping
    ask #3 stopRun r0001-ed-001-i1
    ");
    // Asking twice asks once.
    s.command(Command::StopAgent { id: agent(1) });
    s.stop_delivered().wait(100);
    assert_snapshot!(s.then(), @r"end #3");
    s.iteration(&agent(1), RunEndKind::Stopped);
    assert_snapshot!(s.then(), @r"
    run r0001-ed-001-i1 Stopped
    end #2
    attemptEnded {agent: ed-001, end: stopped, keepWorktree: true, status: pending}
    ");
    assert!(s.idea(1).kept.is_some());
    // Nor does asking after it was done.
    s.command(Command::StopAgent { id: agent(1) });
    assert_snapshot!(s.then(), @"");
    let late = Command::SayToAgent {
        id: agent(1),
        text: "wait".into(),
    };
    assert_snapshot!(s.refused(&late), @r"
    AGENT_ENDED: agent `ed-001` has ended: it was stopped
    see its idea: swarm idea show idea-001
    ");
}

#[test]
fn an_agent_is_stopped_whatever_it_does() {
    // Before its worktree is there: when it is, and also when it never will be.
    for outcome in [
        Ok(prepared().into()),
        Err(failed(FailureKind::Other, "no")),
        Err(failed(FailureKind::NoSpace, "no room")),
    ] {
        let mut s = Scenario::with(|settings| settings.mode = Mode::SemiAuto);
        s.add("one").command(Command::AssignIdea {
            id: idea(1),
            profile: None,
        });
        s.command(Command::StopAgent { id: agent(1) });
        s.ends("prepareWorktree", outcome);
        assert_eq!(s.idea(1).status, IdeaStatus::Pending);
        assert_eq!(s.state.swarm.phase, SwarmPhase::Running);
    }
    // In its gate.
    let mut s = working();
    s.completes(&agent(1)).well_until("gate").quietly();
    s.command(Command::StopAgent { id: agent(1) });
    s.check(RunEndKind::Stopped);
    assert_snapshot!(s.then(), @r"
    endingAsked {agent: ed-001, ending: stopped}
    ed-001 -> Stopping
    ask #5 stopRun r0002-ed-001-q1
    run r0002-ed-001-q1 Stopped
    end #4
    attemptEnded {agent: ed-001, end: stopped, keepWorktree: true, status: pending}
    ideaClaimed {agent: ed-002, attempt: 2, branch: agent/ed-002/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #6 prepareWorktree ed-002 from w01
    ");
    // While it is sealed: the effect comes to its end first.
    let mut s = working();
    s.completes(&agent(1)).quietly();
    s.command(Command::StopAgent { id: agent(1) });
    s.answer("seal", sealed(5, true));
    assert_snapshot!(s.then(), @r"
    endingAsked {agent: ed-001, ending: stopped}
    ed-001 -> Stopping
    end #3
    attemptEnded {agent: ed-001, end: stopped, keepWorktree: true, status: pending}
    ideaClaimed {agent: ed-002, attempt: 2, branch: agent/ed-002/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #4 prepareWorktree ed-002 from w01
    ");
    // In the merge queue it is not an agent any more.
    let mut s = working();
    s.well_until("buildMerge");
    assert_snapshot!(s.refused(&Command::StopAgent { id: agent(1) }), @r"
    NOT_NOW: cannot stop ed-001: its work is complete and in the merge queue
    swarm idea cancel idea-001
    ");
}

#[test]
fn a_run_that_cannot_be_asked_to_stop_is_killed() {
    let mut s = working();
    s.command(Command::StopAgent { id: agent(1) }).quietly();
    s.fails("stopRun", "its control pipe is gone");
    s.fails("stopRun", "no permission");
    assert_snapshot!(s.then(), @r"
    ask #4 stopRun r0001-ed-001-i1 now
    end #3: its control pipe is gone
    warningRaised {key: stop-r0001-ed-001-i1, message: no permission}
    end #4: no permission
    ");
    s.iteration(&agent(1), exit(0));
    assert!(s.state.warnings.is_empty() && s.state.stops.is_empty());
}

#[test]
fn a_cancelled_idea_leaves_nothing() {
    // Pending, with a worktree kept.
    let mut s = working();
    s.iteration(&agent(1), RunEndKind::Lost).quietly();
    s.command(cancel(1));
    assert_snapshot!(s.then(), @r"
    undoRecorded {action: {cancel: {idea: idea-001}}}
    ideaCancelled {id: idea-001}
    ask #3 releaseWorktree w01
    ");
    s.all_goes_well();
    // Active.
    let mut s = working();
    s.command(cancel(1))
        .iteration(&agent(1), RunEndKind::Stopped);
    assert_snapshot!(s.then(), @r"
    undoRecorded {action: {cancel: {idea: idea-001}}}
    endingAsked {agent: ed-001, ending: cancelled}
    ed-001 -> Stopping
    ask #3 stopRun r0001-ed-001-i1
    run r0001-ed-001-i1 Stopped
    end #2
    attemptEnded {agent: ed-001, end: cancelled, keepWorktree: false, status: cancelled}
    ask #4 releaseWorktree w01
    ");
    // Waiting for a person.
    let mut s = working();
    s.says(&agent(1), Signal::NeedsHuman(None))
        .iteration(&agent(1), exit(0))
        .quietly();
    s.command(cancel(1));
    assert_snapshot!(s.then(), @r"
    undoRecorded {action: {cancel: {idea: idea-001}}}
    attemptEnded {agent: ed-001, end: cancelled, keepWorktree: false, status: cancelled}
    ask #3 releaseWorktree w01
    ");
    // Its conflict is being laid out: that comes to its end first.
    let mut s = working();
    s.well_until("buildMerge");
    s.answer("buildMerge", conflicted(ConflictLevel::Complex, &["a.rs"]))
        .quietly();
    s.command(cancel(1));
    s.answer("startResolution", resolution_started(5, &["a.rs"]));
    assert_snapshot!(s.then(), @r"
    undoRecorded {action: {cancel: {idea: idea-001}}}
    endingAsked {agent: ed-001, ending: cancelled}
    conflictLaidOut {files: [a.rs], id: idea-001}
    end #6
    attemptEnded {agent: ed-001, end: cancelled, keepWorktree: false, status: cancelled}
    ask #7 releaseWorktree w01
    ");
    // Being merged it is too late.
    let mut s = working();
    s.well_until("land");
    assert_snapshot!(s.refused(&cancel(1)), @r"
    NOT_NOW: cannot cancel idea-001: it is merging
    wait for the merge: swarm merge list
    ");
    s.all_goes_well();
    assert_snapshot!(s.refused(&cancel(1)), @r"
    NOT_NOW: cannot cancel idea-001: it is done
    to undo it, revert its merge commit: swarm idea show idea-001
    ");
}

#[test]
fn cancelled_stays_cancelled_when_the_agent_is_stopped_too() {
    let mut s = working();
    s.command(cancel(1))
        .command(Command::StopAgent { id: agent(1) });
    s.iteration(&agent(1), RunEndKind::Stopped);
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
}

#[test]
fn a_stop_waits_until_the_target_is_merged_into_the_worktree() {
    let mut s = working();
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    });
    s.well_until("verify").check(exit(1)).quietly();
    s.command(Command::StopAgent { id: agent(1) });
    assert_snapshot!(s.then(), @r"endingAsked {agent: ed-001, ending: stopped}");
    s.fails("startResolution", "the worktree is gone");
    assert_snapshot!(s.then(), @r"
    end #8: the worktree is gone
    attemptEnded {agent: ed-001, end: stopped, keepWorktree: true, status: pending}
    ");
}

#[test]
fn a_pause_lets_iterations_finish_and_starts_nothing() {
    let mut s = working();
    s.add("two").command(Command::Pause {
        reason: Some("lunch".into()),
    });
    assert_snapshot!(s.then(), @r"
    ideaAdded {id: idea-002, idea: {after: [], content: two, priority: 0, tags: []}}
    phaseChanged {phase: pausing, reason: lunch}
    pauseSet {reason: lunch}
    ");
    s.iteration(&agent(1), exit(0));
    assert_snapshot!(s.then(), @r"
    run r0001-ed-001-i1 Exited { code: 0 }
    ed-001 -> Backoff
    iterationJudged {agent: ed-001, atOnce: false, empty: false}
    end #2
    phaseChanged {phase: paused, reason: lunch}
    ");
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.restart();
    assert_snapshot!(s.then(), @r"
    daemonStarted {version: 1.0.0}
    phaseChanged {phase: recovering}
    phaseChanged {phase: pausing, reason: lunch}
    phaseChanged {phase: paused, reason: lunch}
    ");
    s.command(Command::Resume);
    assert_snapshot!(s.then(), @r"
    phaseChanged {phase: running}
    pauseLifted {}
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0002-ed-001-i2}
    ed-001 -> Working
    ask #3 run r0002-ed-001-i2 as ed
    ");
}

#[test]
fn a_pause_merges_what_is_complete() {
    let mut s = working();
    s.command(Command::Pause { reason: None });
    s.completes(&agent(1)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
}

#[test]
fn after_a_restart_a_paused_swarm_waits_for_what_still_runs() {
    let mut s = working();
    s.command(Command::Pause { reason: None }).restart();
    assert_eq!(s.state.swarm.phase, SwarmPhase::Pausing);
    s.iteration(&agent(1), exit(0));
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
}

#[test]
fn a_drain_waits_for_iterations_to_end() {
    let mut s = working();
    s.command(SHUTDOWN);
    s.wait(1_000).iteration(&agent(1), exit(0));
    assert_snapshot!(s.then(), @r"
    phaseChanged {deadline: 2026-01-01T00:00:05.000Z, phase: draining}
    run r0001-ed-001-i1 Exited { code: 0 }
    ed-001 -> Backoff
    iterationJudged {agent: ed-001, atOnce: false, empty: false}
    end #2
    attemptEnded {agent: ed-001, end: interrupted, keepWorktree: true, status: pending}
    phaseChanged {phase: stopped, reason: ended cleanly}
    ");
    assert_eq!((s.idea(1).retry_count, s.idea(1).failed_attempts), (0, 0));
    s.restart();
    assert_snapshot!(s.then(), @r"
    daemonStarted {version: 1.0.0}
    phaseChanged {phase: recovering}
    phaseChanged {phase: running}
    ideaClaimed {agent: ed-002, attempt: 2, branch: agent/ed-002/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #3 prepareWorktree ed-002 from w01
    ");
}

#[test]
fn a_drain_stops_what_still_runs_at_the_deadline_and_kills_what_does_not_stop() {
    let mut s = working();
    s.command(SHUTDOWN).quietly();
    s.wait_for_deadline().stop_delivered();
    assert_snapshot!(s.then(), @r"
    ask #3 stopRun r0001-ed-001-i1
    end #3
    ");
    s.wait_for_deadline().stop_delivered().wait(50);
    assert_snapshot!(s.then(), @r"
    ask #4 stopRun r0001-ed-001-i1 now
    end #4
    ");
    // How it ended says nothing: it was asked to.
    s.iteration(&agent(1), exit(143));
    assert_snapshot!(s.then(), @r"
    run r0001-ed-001-i1 Exited { code: 143 }
    attemptEnded {agent: ed-001, end: interrupted, keepWorktree: true, status: pending}
    end #2
    phaseChanged {phase: stopped, reason: ended cleanly}
    ");
}

/// A machine that goes down sends its signals to everything: to the daemon, and to what runs under
/// it.
#[test]
fn runs_killed_by_a_system_shutdown_are_interrupted_and_not_penalised() {
    let ends = [
        RunEndKind::Signalled { signal: 15 },
        RunEndKind::Signalled { signal: 9 },
        RunEndKind::Lost,
        exit(143),
        exit(1),
    ];
    for how in ends {
        let mut s = working();
        s.command(SHUTDOWN).iteration(&agent(1), how.clone());
        let one = s.idea(1);
        assert_eq!(
            (one.status, one.retry_count, one.failed_attempts),
            (IdeaStatus::Pending, 0, 0),
            "{how:?}"
        );
        assert_eq!(s.state.swarm.failures_in_a_row, 0, "{how:?}");
        assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
    }
    for how in [
        RunEndKind::Signalled { signal: 15 },
        RunEndKind::Lost,
        exit(143),
    ] {
        // Its gate has not failed.
        let mut s = working();
        s.completes(&agent(1)).well_until("gate").command(SHUTDOWN);
        s.check(how.clone());
        assert_eq!(s.attempt(1).phase, AttemptPhase::Gating, "{how:?}");
        assert!(s.attempt(1).feedback.is_none(), "{how:?}");
        // Nor has the merged tree.
        let mut s = working();
        s.well_until("verify").command(SHUTDOWN).check(how.clone());
        s.all_goes_well();
        assert_eq!(s.entry(1).phase, MergePhase::Queued, "{how:?}");
        s.restart().all_goes_well();
        assert_eq!(
            (s.idea(1).status, s.idea(1).attempts),
            (IdeaStatus::Done, 1)
        );
    }
    // What a gate finds while the daemon ends counts.
    let mut s = working();
    s.completes(&agent(1)).well_until("gate").command(SHUTDOWN);
    s.check(exit(1));
    let told = s.then();
    assert!(told.contains("gateFailed"), "{told}");
}

#[test]
fn a_drain_keeps_complete_work_complete() {
    let mut s = working();
    s.command(SHUTDOWN).completes(&agent(1)).all_goes_well();
    assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Gating);
    s.restart().all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(s.idea(1).attempts, 1);
}

#[test]
fn a_drain_keeps_merges_in_progress() {
    // The gate on the merged tree is stopped and runs again.
    let mut s = working();
    s.well_until("verify").command(SHUTDOWN).wait_for_deadline();
    s.check(RunEndKind::Stopped).all_goes_well();
    assert_eq!(s.entry(1).phase, MergePhase::Queued);
    s.restart().all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    // A resolver goes on, and does not begin from the beginning.
    let mut s = working();
    s.well_until("buildMerge");
    s.answer("buildMerge", conflicted(ConflictLevel::Medium, &["a.rs"]));
    s.well_until("iteration")
        .command(SHUTDOWN)
        .wait_for_deadline();
    s.iteration(&agent(1), RunEndKind::Stopped).all_goes_well();
    assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
    assert_eq!(s.entry(1).phase, MergePhase::Resolver);
    s.restart().all_goes_well();
    assert_eq!(
        (s.idea(1).status, s.idea(1).attempts),
        (IdeaStatus::Done, 1)
    );
    // Checked work still lands.
    let mut s = working();
    s.well_until("land").command(SHUTDOWN).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
}

#[test]
fn a_shutdown_at_once_does_not_wait() {
    let mut s = working();
    s.command(SHUTDOWN).quietly();
    s.command(Command::ShutdownNow);
    assert_snapshot!(s.then(), @r"
    phaseChanged {deadline: 2026-01-01T00:00:00.000Z, phase: draining, reason: no longer waiting for agents}
    ask #3 stopRun r0001-ed-001-i1
    ");
}

#[test]
fn kept_agents_continue_under_the_next_daemon() {
    let mut s = working();
    s.command(Command::Shutdown { keep_agents: true });
    assert_snapshot!(s.then(), @r"phaseChanged {phase: stopped, reason: stopped; agents keep running}");
    assert!(s.pending("iteration").is_some());
    s.restart().quietly();
    s.completes(&agent(1)).all_goes_well();
    assert_eq!(
        (s.idea(1).status, s.idea(1).attempts),
        (IdeaStatus::Done, 1)
    );
}

#[test]
fn a_new_daemon_continues_from_every_phase() {
    for name in [
        "prepareWorktree",
        "iteration",
        "seal",
        "gate",
        "buildMerge",
        "prepareVerify",
        "verify",
        "land",
        "releaseWorktree",
    ] {
        let mut s = Scenario::running();
        s.add("one").well_until(name).restart();
        assert!(s.pending(name).is_some(), "{name} is still to be done");
        s.all_goes_well();
        let one = s.idea(1);
        assert_eq!(
            (one.status, one.attempts, one.retry_count),
            (IdeaStatus::Done, 1, 0),
            "{name}"
        );
        assert_eq!(view::rest(&s.state), Rest::Idle);
    }
}

#[test]
fn a_mode_override_wins_over_the_configuration() {
    let mut s = Scenario::running();
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    });
    assert_snapshot!(s.then(), @r"modeSet {mode: semi-auto}");
    s.add("one").quietly();
    assert!(s.state.agents.is_empty());
    s.command(Command::SetMode {
        mode: Mode::Autopilot,
    });
    assert_snapshot!(s.then(), @r"
    modeSet {}
    ideaClaimed {agent: ed-001, attempt: 1, branch: agent/ed-001/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #1 prepareWorktree ed-001
    ");
}
