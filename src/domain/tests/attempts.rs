//! Attempts: iterations, the gate, limits, crashes, and what people say to them.

use insta::assert_snapshot;

use crate::domain::effect::{self, Effect};
use crate::domain::event::{Event, WarningRaised};
use crate::domain::ids::EffectId;
use crate::domain::lifecycle::{AttemptPhase, SwarmPhase};
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::outcome::{FailureKind, LandOutcome, SealOutcome, WorktreeReleased};
use crate::domain::signal::Signal;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::testkit::outcomes::{prepared, sealed};
use crate::domain::testkit::scenario::{exit, fold};
use crate::domain::testkit::{Scenario, agent, idea, oid};
use crate::view::{self, Rest};

fn working() -> Scenario {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration").quietly();
    s
}

/// The iteration of the first agent ends well: so many bytes, so many milliseconds, with a new
/// commit or without.
fn silent(s: &mut Scenario, bytes: u64, millis: i64, head: Option<u64>) {
    let run = s.attempt(1).run.clone().unwrap();
    let (effect, _) = s.state.run_effect(&run).unwrap();
    let end = RunEnd {
        stdout_bytes: bytes,
        duration_ms: millis,
        head: head.map(oid),
        ..RunEnd::new(exit(0))
    };
    s.run_over(effect, end);
}

#[test]
fn an_idea_goes_from_the_backlog_to_the_target() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    assert_snapshot!(s.then(), @r"
    ideaAdded {id: idea-001, idea: {after: [], content: one, priority: 0, tags: []}}
    ideaClaimed {agent: ed-001, attempt: 1, branch: agent/ed-001/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #1 prepareWorktree ed-001
    worktreeReady {agent: ed-001, base: 0001, head: 0001}
    targetSeen {branch: main, commit: 0001}
    ed-001 -> Starting
    end #1
    iterationStarted {agent: ed-001, iteration: 1, run: r0001-ed-001-i1}
    ed-001 -> Working
    ask #2 run r0001-ed-001-i1 as ed
    signalSeen {agent: ed-001, offset: 1000, run: r0001-ed-001-i1, signal: complete}
    run r0001-ed-001-i1 Exited { code: 0 }
    ed-001 -> Gating
    end #2
    ask #3 seal ed-001
    attemptSealed {agent: ed-001, committed: true, head: 1003}
    end #3
    gateStarted {agent: ed-001, index: 0, run: r0002-ed-001-q1}
    ask #4 run r0002-ed-001-q1: check
    run r0002-ed-001-q1 Exited { code: 0 }
    gatePassed {agent: ed-001, index: 0}
    end #4
    mergeQueued {agent: ed-001, branch: agent/ed-001/idea-001, held: false, id: idea-001, source: 1003}
    ed-001 -> ReadyToMerge
    merge idea-001 -> Building
    ask #5 buildMerge idea-001 1003
    mergeBuilt {commit: 1005, id: idea-001, target: 0001}
    merge idea-001 -> Verifying
    end #5
    ask #6 prepareVerify idea-001 1005
    verifyReady {id: idea-001, warm: true}
    end #6
    verifyStarted {id: idea-001, index: 0, run: r0003-idea-001-v1}
    ask #7 run r0003-idea-001-v1: check
    run r0003-idea-001-v1 Exited { code: 0 }
    verifyPassed {id: idea-001, index: 0}
    end #7
    merge idea-001 -> Landing
    ask #8 land idea-001 0001 -> 1005
    ideaLanded {commit: 1005, id: idea-001}
    attemptEnded {agent: ed-001, end: merged, keepWorktree: false, status: done}
    end #8
    ask #9 releaseWorktree w01
    end #9
    ");
    assert_eq!(view::rest(&s.state), Rest::Idle);
}

#[test]
fn no_signal_means_another_iteration() {
    let mut s = working();
    s.iteration(&agent(1), exit(0));
    assert_snapshot!(s.then(), @r"
    run r0001-ed-001-i1 Exited { code: 0 }
    ed-001 -> Backoff
    iterationJudged {agent: ed-001, atOnce: false, empty: false}
    end #2
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0002-ed-001-i2}
    ed-001 -> Working
    ask #3 run r0002-ed-001-i2 as ed
    ");
}

#[test]
fn a_failed_gate_means_another_iteration_that_knows_why() {
    let mut s = working();
    s.completes(&agent(1)).well_until("gate").quietly();
    s.check(exit(3));
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-q1 Exited { code: 3 }
    gateFailed {agent: ed-001, feedback: {command: check, how: exit code 3, run: r0002-ed-001-q1}}
    ed-001 -> Backoff
    end #4
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0003-ed-001-i2}
    ed-001 -> Working
    ask #5 run r0003-ed-001-i2 as ed
    ");
    let feedback = s.attempt(1).feedback.clone().unwrap();
    assert_eq!(feedback.run.unwrap().as_str(), "r0002-ed-001-q1");
}

#[test]
fn what_cannot_be_committed_goes_back_to_the_agent() {
    let mut s = working();
    s.completes(&agent(1)).quietly();
    let message = "a rebase is in progress in the worktree; finish it or abort it".into();
    s.answer("seal", SealOutcome::Unsealable { message });
    assert_snapshot!(s.then(), @r"
    gateFailed {agent: ed-001, feedback: {command: committing what was left in the worktree, how: a rebase is in progress in the worktree; finish it or abort it}}
    ed-001 -> Backoff
    end #3
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0002-ed-001-i2}
    ed-001 -> Working
    ask #4 run r0002-ed-001-i2 as ed
    ");
}

#[test]
fn complete_counts_with_any_exit_code() {
    for how in [
        exit(1),
        RunEndKind::Signalled { signal: 9 },
        RunEndKind::TimedOut,
    ] {
        let mut s = working();
        s.says(&agent(1), Signal::Complete(None));
        s.iteration(&agent(1), how);
        assert_eq!(s.attempt(1).phase, AttemptPhase::Gating);
    }
}

#[test]
fn the_number_of_iterations_is_limited() {
    let mut s = Scenario::with(|settings| settings.max_iterations = 2);
    s.add("one").well_until("iteration");
    s.iteration(&agent(1), exit(0)).quietly();
    s.iteration(&agent(1), exit(0));
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-i2 Exited { code: 0 }
    ed-001 -> Backoff
    iterationJudged {agent: ed-001, atOnce: false, empty: false}
    end #3
    ed-001 -> Starting
    attemptEnded {agent: ed-001, end: timedOut, keepWorktree: true, message: used all 2 iterations (completion.maxIterations) without COMPLETE, status: timeout}
    ");
    assert!(s.idea(1).kept.is_some());
}

#[test]
fn the_time_of_all_iterations_is_limited() {
    let mut s = working();
    silent(&mut s, 100, 1_700_000, None);
    let Effect::Run(effect::Run { timeout_ms, .. }) =
        &s.state.outbox[&s.pending("iteration").unwrap()]
    else {
        panic!("no run");
    };
    assert_eq!(*timeout_ms, 100_000);
    s.quietly().iteration(&agent(1), RunEndKind::TimedOut);
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-i2 TimedOut
    attemptEnded {agent: ed-001, end: timedOut, keepWorktree: true, message: took longer than 30 min (agents.timeoutMinutes), status: timeout}
    end #3
    ");
}

#[test]
fn three_empty_outputs_in_a_row_are_a_failure() {
    let mut s = working();
    silent(&mut s, 0, 2_000, None);
    silent(&mut s, 0, 2_000, None);
    s.quietly();
    silent(&mut s, 0, 2_000, None);
    assert_snapshot!(s.then(), @r"
    run r0003-ed-001-i3 Exited { code: 0 }
    attemptEnded {agent: ed-001, end: failed, keepWorktree: true, message: the agent wrote nothing 3 times in a row, status: failed}
    end #4
    ");
}

#[test]
fn a_non_empty_output_resets_the_count_of_empty_ones() {
    let mut s = working();
    silent(&mut s, 0, 2_000, None);
    silent(&mut s, 0, 2_000, None);
    // COMPLETE is something written, even when the gate refuses it.
    s.completes(&agent(1)).well_until("gate").check(exit(1));
    silent(&mut s, 0, 2_000, None);
    assert_eq!(s.attempt(1).empty_outputs, 1);
}

#[test]
fn iterations_that_end_at_once_wait_longer_each_time() {
    let mut s = working();
    silent(&mut s, 100, 10, None);
    s.quietly();
    silent(&mut s, 100, 10, None);
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-i2 Exited { code: 0 }
    ed-001 -> Backoff until 2026-01-01T00:00:00.250Z
    iterationJudged {agent: ed-001, atOnce: true, empty: false}
    end #3
    ");
    let mut waits = Vec::new();
    for _ in 0..9 {
        let before = s.now;
        s.wait_for_deadline();
        waits.push(s.now.since(before));
        silent(&mut s, 100, 10, None);
    }
    assert_eq!(
        waits,
        [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]
    );
    // A new commit ends that.
    s.wait_for_deadline();
    silent(&mut s, 100, 10, Some(77));
    assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
}

#[test]
fn a_waiting_attempt_keeps_its_slot() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").add("two").well_until("iteration");
    silent(&mut s, 100, 10, None);
    silent(&mut s, 100, 10, None);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
    assert_eq!(s.state.agents.len(), 1);
}

#[test]
fn an_agent_that_a_check_sends_back_without_a_new_commit_is_stuck_too() {
    let mut s = Scenario::with(|settings| settings.stuck_threshold = 2);
    s.add("one").well_until("iteration");
    let stuck = |s: &Scenario| s.state.warnings.get("stuck-ed-001").cloned();
    silent(&mut s, 100, 2_000, Some(2));
    for iteration in 2..4 {
        assert_eq!((s.attempt(1).iteration, stuck(&s)), (iteration, None));
        s.says(&agent(1), Signal::Complete(None));
        silent(&mut s, 100, 2_000, Some(2));
        s.answer("seal", sealed(2, false));
        s.well_until("gate").check(exit(1));
        s.well_until("iteration");
    }
    assert_snapshot!(
        stuck(&s).unwrap().message,
        @"ed-001 has made no commit on idea-001 for 2 or more iterations, and `check` fails each \
            time: exit code 1"
    );
}

#[test]
fn a_warning_about_missing_commits_is_cleared_by_a_commit() {
    let mut s = Scenario::with(|settings| settings.stuck_threshold = 2);
    s.add("one").well_until("iteration");
    silent(&mut s, 100, 2_000, Some(1));
    s.quietly();
    silent(&mut s, 100, 2_000, Some(1));
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-i2 Exited { code: 0 }
    warningRaised {commands: [swarm agent logs ed-001], key: stuck-ed-001, message: ed-001 has made no commit on idea-001 for 2 or more iterations}
    ed-001 -> Backoff
    iterationJudged {agent: ed-001, atOnce: false, empty: false}
    end #3
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 3, run: r0003-ed-001-i3}
    ed-001 -> Working
    ask #4 run r0003-ed-001-i3 as ed
    ");
    silent(&mut s, 100, 2_000, Some(2));
    assert_snapshot!(s.then(), @r"
    run r0003-ed-001-i3 Exited { code: 0 }
    warningCleared {key: stuck-ed-001}
    ed-001 -> Backoff
    iterationJudged {agent: ed-001, atOnce: false, empty: false}
    end #4
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 4, run: r0004-ed-001-i4}
    ed-001 -> Working
    ask #5 run r0004-ed-001-i4 as ed
    ");
}

#[test]
fn blocked_frees_the_slot_and_keeps_the_worktree() {
    let mut s = working();
    s.says(
        &agent(1),
        Signal::Blocked(Some("no access to the registry".into())),
    );
    s.iteration(&agent(1), exit(0));
    assert_snapshot!(s.then(), @r"
    signalSeen {agent: ed-001, offset: 10, run: r0001-ed-001-i1, signal: {blocked: no access to the registry}}
    run r0001-ed-001-i1 Exited { code: 0 }
    attemptEnded {agent: ed-001, end: blocked, keepWorktree: true, message: no access to the registry, status: blocked}
    end #2
    ");
    assert_snapshot!(view::needs_you(&s.state)[0].message, @r"idea-001 is blocked: no access to the registry");
    s.command(Command::RetryIdea { id: idea(1) });
    assert_snapshot!(s.then(), @r"
    ideaRetried {id: idea-001}
    ideaClaimed {agent: ed-002, attempt: 2, branch: agent/ed-002/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #3 prepareWorktree ed-002 from w01
    ");
}

#[test]
fn a_question_waits_for_an_answer_while_others_go_on() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").add("two").well_until("iteration").quietly();
    s.says(
        &agent(1),
        Signal::NeedsHuman(Some("which database?".into())),
    );
    s.iteration(&agent(1), exit(0));
    assert_snapshot!(s.then(), @r"
    signalSeen {agent: ed-001, offset: 10, run: r0001-ed-001-i1, signal: {needsHuman: which database?}}
    run r0001-ed-001-i1 Exited { code: 0 }
    ed-001 -> WaitingForHuman
    end #2
    ideaClaimed {agent: ed-002, attempt: 1, branch: agent/ed-002/idea-002, id: idea-002, profile: ed, worktree: w02}
    ask #3 prepareWorktree ed-002
    ");
    assert_snapshot!(view::needs_you(&s.state)[0].commands.join("\n"), @r#"
    swarm agent say ed-001 "..."
    swarm idea retry idea-001
    "#);
    let (id, text) = (agent(1), "the small one".into());
    s.command(Command::SayToAgent { id, text });
    assert_snapshot!(s.then(), @r"
    messageQueued {agent: ed-001, text: the small one}
    ed-001 -> Backoff
    ");
    s.well_until("iteration")
        .iteration(&agent(2), RunEndKind::Lost);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
    assert_eq!(s.attempt(1).told, ["the small one"]);
}

#[test]
fn a_message_is_delivered_again_when_the_iteration_that_carried_it_was_killed() {
    let mut s = working();
    let (id, text) = (agent(1), "mind the tests".into());
    s.command(Command::SayToAgent { id, text });
    s.iteration(&agent(1), exit(0));
    assert_eq!(s.attempt(1).told, ["mind the tests"]);
    s.iteration(&agent(1), RunEndKind::Lost).wait(1_000);
    s.well_until("iteration");
    assert_eq!(s.attempt(2).told, ["mind the tests"]);
    s.iteration(&agent(2), exit(0));
    assert!(s.attempt(2).told.is_empty() && s.attempt(2).messages.is_empty());
}

#[test]
fn attempts_take_turns_where_slots_are_few() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").add("two").well_until("iteration");
    s.says(&agent(1), Signal::NeedsHuman(None))
        .iteration(&agent(1), exit(0));
    s.well_until("iteration").wait(1_000);
    s.command(Command::RetryIdea { id: idea(1) });
    for _ in 0..3 {
        s.wait(1_000).iteration(&agent(2), exit(0));
        assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
        s.wait(1_000).iteration(&agent(1), exit(0));
        assert_eq!(s.attempt(2).phase, AttemptPhase::Working);
    }
}

#[test]
fn a_crash_is_tried_again_in_the_same_worktree_a_limited_number_of_times() {
    let mut s = working();
    s.iteration(&agent(1), RunEndKind::Lost);
    assert_snapshot!(s.then(), @r"
    run r0001-ed-001-i1 Lost
    attemptEnded {agent: ed-001, end: crashed, keepWorktree: true, message: its runner was killed from outside, notBefore: 2026-01-01T00:00:00.500Z, status: pending}
    end #2
    ");
    assert_eq!(s.idea(1).retry_count, 1);
    s.wait_for_deadline();
    assert_snapshot!(s.then(), @r"
    ideaClaimed {agent: ed-002, attempt: 2, branch: agent/ed-002/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #3 prepareWorktree ed-002 from w01
    ");
    s.well_until("iteration");
    s.iteration(&agent(2), RunEndKind::Signalled { signal: 11 });
    let wait = s.idea(1).not_before.unwrap().since(s.now);
    assert_eq!(wait, 1_000);
    s.wait_for_deadline().well_until("iteration").quietly();
    s.iteration(&agent(3), RunEndKind::Lost);
    assert_snapshot!(s.then(), @r"
    run r0003-ed-003-i1 Lost
    attemptEnded {agent: ed-003, end: crashed, keepWorktree: true, message: its runner was killed from outside; that was crash 3 of this idea, and agents.crashRetries is 2, status: failed}
    end #6
    ");
    assert_eq!(s.idea(1).status, IdeaStatus::Failed);
}

#[test]
fn a_run_that_stops_its_own_runner_counts_as_a_crash() {
    let mut s = working();
    s.iteration(&agent(1), RunEndKind::Stopped);
    assert_eq!(s.idea(1).retry_count, 1);
    s.wait_for_deadline().well_until("gate");
    for _ in 0..3 {
        s.check(RunEndKind::Stopped);
    }
    assert_eq!(s.idea(1).status, IdeaStatus::Failed);
    let why = s.idea(1).last_error.as_deref().unwrap();
    assert!(why.contains("was killed 3 times in a row"), "{why}");
}

#[test]
fn a_run_that_ended_because_no_daemon_lived_is_not_a_crash() {
    let mut s = working();
    s.iteration(&agent(1), RunEndKind::LeaseExpired);
    let ended = &s.state.ended[&agent(1)];
    assert_eq!(
        (ended.end, s.idea(1).retry_count),
        (AttemptEnd::Interrupted, 0)
    );
}

#[test]
fn repeated_crashes_pause_the_autopilot() {
    let mut s = Scenario::with(|settings| {
        settings.crash_retries = 0;
        settings.failures_to_pause = 2;
    });
    s.add("one").add("two").add("three").well_until("iteration");
    s.iteration(&agent(1), RunEndKind::Lost);
    s.all_goes_well().quietly();
    assert_eq!(
        s.state.swarm.phase,
        SwarmPhase::Running,
        "a landing between them"
    );
    s.add("four").add("five").well_until("iteration");
    s.iteration(&agent(4), RunEndKind::Lost)
        .well_until("iteration");
    s.iteration(&agent(5), RunEndKind::Lost);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
}

/// Agents give up one after the other, with these reasons.
fn give_up(reasons: &[&str]) -> Scenario {
    let mut s = Scenario::with(|settings| {
        settings.max_parallel = 1;
        settings.failures_to_pause = 10;
    });
    for _ in 0..=reasons.len() {
        s.add("one");
    }
    for (reason, number) in reasons.iter().zip(1..) {
        s.well_until("iteration");
        s.says(&agent(number), Signal::Blocked(Some((*reason).into())));
        s.iteration(&agent(number), exit(0));
    }
    s
}

#[test]
fn the_same_reason_of_three_agents_pauses_the_autopilot_and_is_named() {
    let s = give_up(&[
        "no answer from 10.0.0.1 in 30 s",
        "no answer from 10.0.0.17  in 4 s ",
        "no answer from 10.0.0.2 in 31 s",
    ]);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert_snapshot!(
        s.state.swarm.pause_reason.as_ref().unwrap(),
        @"3 agents in a row gave up with the same reason: no answer from 10.0.0.2 in 31 s; remove \
        the cause, then: swarm resume"
    );
}

#[test]
fn different_reasons_do_not_pause_the_autopilot() {
    let mut s = give_up(&["no key", "no key", "no network", "no key", "no key"]);
    assert_eq!(s.state.swarm.phase, SwarmPhase::Running);
    // A landing shows that others do not meet the cause.
    s.all_goes_well();
    assert_eq!(s.state.swarm.gave_up, None);
}

#[test]
fn blocked_and_stuck_attempts_count_as_failures_in_a_row() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    for _ in 0..6 {
        s.add("one");
    }
    for number in 1..=3 {
        s.well_until("iteration");
        s.says(&agent(number), Signal::Blocked(Some("no network".into())));
        s.iteration(&agent(number), exit(0));
    }
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert_eq!(s.state.ideas.count(IdeaStatus::Pending), 3);
    // A landing ends the row.
    s.command(Command::Resume);
    s.well_until("iteration").all_goes_well();
    assert_eq!(s.state.swarm.failures_in_a_row, 0);
}

#[test]
fn three_failures_in_a_row_pause_the_autopilot_and_say_so() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    for _ in 0..4 {
        s.add("one");
    }
    for number in 1..=3 {
        s.well_until("iteration").quietly();
        s.iteration(&agent(number), exit(1));
    }
    assert_snapshot!(s.then(), @r"
    run r0003-ed-003-i1 Exited { code: 1 }
    attemptEnded {agent: ed-003, end: failed, keepWorktree: true, message: the agent exited with code 1; its output: swarm agent logs ed-003 (run r0003-ed-003-i1), status: failed}
    end #6
    pauseSet {reason: 3 attempts in a row failed or were blocked; inspect them (swarm report), then: swarm resume}
    phaseChanged {phase: pausing, reason: 3 attempts in a row failed or were blocked; inspect them (swarm report), then: swarm resume}
    phaseChanged {phase: paused, reason: 3 attempts in a row failed or were blocked; inspect them (swarm report), then: swarm resume}
    ");
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.command(Command::Resume);
    assert_snapshot!(s.then(), @r"
    phaseChanged {phase: running}
    pauseLifted {}
    ideaClaimed {agent: ed-004, attempt: 1, branch: agent/ed-004/idea-004, id: idea-004, profile: ed, worktree: w04}
    ask #7 prepareWorktree ed-004
    ");
}

#[test]
fn a_program_that_cannot_be_started_holds_its_profile_with_the_reason() {
    let mut s = working();
    let message = "the agent's program `claude` is not on PATH";
    s.fails_as("iteration", FailureKind::AgentUnusable, message);
    assert_snapshot!(s.then(), @r#"
    run r0001-ed-001-i1 NotStarted { message: "the agent's program `claude` is not on PATH" }
    profileHeld {hold: {kind: profile, message: the agent's program `claude` is not on PATH, since: 2026-01-01T00:00:00.000Z, times: 1, until: 2026-01-01T00:00:02.000Z}, profile: ed}
    iterationExcused {agent: ed-001, excuse: profile, phase: backoff}
    end #2: the agent's program `claude` is not on PATH
    "#);
}

#[test]
fn a_full_disk_counts_against_no_attempt() {
    let mut s = Scenario::running();
    s.add("one").quietly();
    s.fails_as(
        "prepareWorktree",
        FailureKind::NoSpace,
        "no room for a worktree",
    );
    assert_snapshot!(s.then(), @r"
    warningRaised {key: disk-full, message: no room for a worktree}
    roomAwaited {until: 2026-01-01T00:00:10.000Z}
    attemptEnded {agent: ed-001, end: released, keepWorktree: true, message: no room for a worktree, status: pending}
    end #1: no room for a worktree
    ask #2 releaseWorktree w01
    ");
    assert_eq!(s.idea(1).failed_attempts, 0);
    s.answer("releaseWorktree", WorktreeReleased::default())
        .quietly();
    assert!(s.state.agents.is_empty(), "nothing starts while it waits");
    s.wait(10_000).well_until("iteration");
    assert!(s.state.warnings.is_empty());
}

#[test]
fn a_quality_command_whose_runner_is_killed_runs_again_but_not_for_ever() {
    let mut s = working();
    s.completes(&agent(1)).well_until("gate").quietly();
    s.check(RunEndKind::Lost);
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-q1 Lost
    end #4
    gateStarted {agent: ed-001, index: 0, run: r0003-ed-001-q1}
    ask #5 run r0003-ed-001-q1: check
    ");
    s.check(RunEndKind::Lost).quietly();
    s.check(RunEndKind::Lost);
    assert_snapshot!(s.then(), @r"
    run r0004-ed-001-q1 Lost
    attemptEnded {agent: ed-001, end: failed, keepWorktree: true, message: the runner of `check` was killed 3 times in a row, status: failed}
    end #6
    ");
}

#[test]
fn a_command_whose_runner_is_killed_runs_again_as_often_as_crash_retries_allows() {
    let with_retries = |retries| Scenario::with(|settings| settings.crash_retries = retries);
    let mut s = with_retries(5);
    s.add("one").well_until("gate");
    for _ in 0..5 {
        s.check(RunEndKind::Lost);
    }
    s.well_until("verify");
    for _ in 0..5 {
        s.check(RunEndKind::Lost).well_until("verify");
    }
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);

    let mut s = with_retries(0);
    s.add("one").well_until("gate").check(RunEndKind::Lost);
    let why = s.idea(1).last_error.as_deref();
    assert_eq!(why, Some("the runner of `check` was killed"));
}

#[test]
fn changed_quality_commands_restart_the_gate() {
    let mut s = Scenario::with(|settings| {
        settings.quality_commands = vec!["build".into(), "check".into()];
    });
    s.add("one").well_until("gate").check(exit(0)).quietly();
    s.load(|settings| settings.quality_commands = vec!["lint".into(), "check".into()]);
    // The one that runs is still a part of the gate, but not the part that comes next.
    s.check(exit(0));
    assert_snapshot!(s.then(), @r"
    settingsLoaded {hash: hash, settings: {attemptTimeoutMs: 1800000, autoCommit: true, autoMerge: true, baseline: off, canary: off, cleanupOnSuccess: true, conflictRetries: 2, crashRetries: 2, defaultProfile: ed, failuresToPause: 3, graceMs: 5000, maxChecks: 64, maxIterations: 50, maxParallel: 2, maxWorktrees: 64, mode: autopilot, profiles: [ed, finn], providerWaitMs: 300000, qualityCommands: [lint, check], qualityTimeoutMs: 600000, sameCheckFailures: 8, stuckThreshold: 5, target: main, verify: true}}
    run r0003-ed-001-q2 Exited { code: 0 }
    end #5
    gateStarted {agent: ed-001, index: 0, run: r0004-ed-001-q1}
    ask #6 run r0004-ed-001-q1: lint
    ");
    s.check(exit(0)).check(exit(0));
    assert_snapshot!(s.then(), @r"
    run r0004-ed-001-q1 Exited { code: 0 }
    gatePassed {agent: ed-001, index: 0}
    end #6
    gateStarted {agent: ed-001, index: 1, run: r0005-ed-001-q2}
    ask #7 run r0005-ed-001-q2: check
    run r0005-ed-001-q2 Exited { code: 0 }
    gatePassed {agent: ed-001, index: 1}
    end #7
    mergeQueued {agent: ed-001, branch: agent/ed-001/idea-001, held: false, id: idea-001, source: 1003}
    ed-001 -> ReadyToMerge
    merge idea-001 -> Building
    ask #8 buildMerge idea-001 1003
    ");
}

#[test]
fn lowering_the_number_of_slots_stops_no_attempt() {
    let mut s = Scenario::running();
    s.add("one").add("two").add("three").well_until("iteration");
    s.well_until("iteration")
        .load(|settings| settings.max_parallel = 1);
    s.answer("prepareWorktree", prepared());
    assert_eq!(s.state.slots_used(), 2);
    s.iteration(&agent(1), RunEndKind::Lost).quietly().wait(500);
    assert_snapshot!(s.then(), @"");
    assert_eq!(s.state.slots_used(), 1);
}

#[test]
fn signals_count_once_and_only_from_agents() {
    let mut s = working();
    let run = s.attempt(1).run.clone().unwrap();
    let learned = |offset| Observation::SignalSeen {
        run: run.clone(),
        offset,
        signal: Signal::LearningGlobal("Use  the wrapper".into()),
    };
    s.when(learned(10)).when(learned(10)).when(learned(20));
    assert_snapshot!(s.then(), @r"
    signalSeen {agent: ed-001, offset: 10, run: r0001-ed-001-i1, signal: {learningGlobal: Use  the wrapper}}
    learned {agent: ed-001, content: Use the wrapper, evidence: {author: {id: ed-001, ideaId: idea-001, kind: agent, run: r0001-ed-001-i1}, target: 0001}, global: true, id: learning-001, profile: ed}
    signalSeen {agent: ed-001, offset: 20, run: r0001-ed-001-i1, signal: {learningGlobal: Use  the wrapper}}
    ");
    s.completes(&agent(1)).well_until("gate").quietly();
    let run = s.attempt(1).run.clone().unwrap();
    let signal = Signal::Blocked(None);
    s.when(Observation::SignalSeen {
        run,
        offset: 5,
        signal,
    });
    assert_snapshot!(s.then(), @"");
}

#[test]
fn an_impossible_outcome_is_a_failure() {
    let mut s = Scenario::running();
    s.add("one").quietly();
    s.answer("prepareWorktree", LandOutcome::Landed);
    assert_snapshot!(s.then(), @r"
    attemptEnded {agent: ed-001, end: failed, keepWorktree: true, message: this cannot be the outcome of op-000001: Land(Landed), status: failed}
    end #1: this cannot be the outcome of op-000001: Land(Landed)
    ask #2 releaseWorktree w01
    ");
}

#[test]
fn observations_about_finished_work_are_ignored() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well().quietly();
    for id in 1..=s.state.counters.effects {
        s.done(EffectId(id), LandOutcome::Landed);
    }
    assert_snapshot!(s.then(), @"");
}

#[test]
fn a_warning_stays_until_the_quality_command_can_run() {
    let mut s = working();
    let mut held = false;
    for (code, standing) in [
        (1, false),
        (127, true),
        (127, true),
        (1, false),
        (126, true),
        (0, false),
    ] {
        if held {
            s.command(Command::Resume);
        } else {
            s.completes(&agent(1));
        }
        s.well_until("gate").check(exit(code));
        held = standing;
        let warning = s.state.warnings.get("quality-0");
        assert_eq!(warning.is_some(), standing, "{code}");
        if let Some(warning) = warning {
            assert!(
                warning.message.contains(&format!("exit code {code}")),
                "{}",
                warning.message
            );
        }
    }
    let raised = |event: &Event| {
        matches!(event, Event::WarningRaised(WarningRaised { key, .. })
            if key == "quality-0")
    };
    assert_eq!(s.log.iter().filter(|(_, event)| raised(event)).count(), 2);
}

#[test]
fn a_warning_stays_until_the_quality_command_finishes() {
    let mut s = working();
    let mut gate = |how: RunEndKind| {
        s.completes(&agent(1)).well_until("gate").check(how);
        let warning = s.state.warnings.get("quality-0");
        warning.map(|warning| warning.message.clone())
    };
    let hangs = gate(RunEndKind::TimedOut).unwrap();
    assert!(hangs.contains("did not finish within 10 min"), "{hangs}");
    assert_eq!(gate(RunEndKind::TimedOut), Some(hangs));
    assert_eq!(gate(exit(1)), None);
}

#[test]
fn a_new_configuration_clears_the_warning_about_a_quality_command() {
    let mut s = working();
    s.completes(&agent(1)).well_until("gate").check(exit(127));
    assert!(s.state.warnings.contains_key("quality-0"));
    s.load(|settings| settings.quality_commands = vec!["another".into()]);
    assert!(!s.state.warnings.contains_key("quality-0"));
}

/// The agent says COMPLETE, and its branch is sealed at this commit.
fn finishes_at(s: &mut Scenario, number: u64, head: u64) {
    s.well_until("iteration").completes(&agent(number));
    s.answer("seal", sealed(head, false));
}

#[test]
fn complete_without_a_change_is_sent_back_once_and_then_blocked() {
    let mut s = Scenario::running();
    s.add("one");
    finishes_at(&mut s, 1, 1);
    assert_eq!(s.attempt(1).prompt_cause(), PromptCause::ChangedNothing);
    finishes_at(&mut s, 1, 1);
    let one = s.idea(1);
    assert_eq!(one.status, IdeaStatus::Blocked);
    let why = one.last_error.as_deref().unwrap();
    assert!(
        why.contains("said it was done and changed nothing"),
        "{why}"
    );
    assert!(s.pending("gate").is_none(), "nothing was checked");
    // A person may try again, and the new attempt is sent back once, too.
    s.command(Command::RetryIdea { id: idea(1) });
    finishes_at(&mut s, 2, 1);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_change_after_the_work_was_sent_back_lands() {
    let mut s = Scenario::running();
    s.add("one");
    finishes_at(&mut s, 1, 1);
    finishes_at(&mut s, 1, 2);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_branch_that_only_followed_the_target_has_no_work() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    let landed = s.state.swarm.target.clone().unwrap().commit;
    s.add("two").well_until("iteration");
    assert_ne!(s.attempt(2).base.as_ref(), Some(&landed));
    for _ in 0..2 {
        s.well_until("iteration").completes(&agent(2));
        let head = landed.clone();
        s.answer(
            "seal",
            SealOutcome::Sealed {
                head,
                committed: false,
                setup: None,
                links: vec![],
            },
        );
    }
    assert_eq!(s.idea(2).status, IdeaStatus::Blocked);
}

#[test]
fn without_another_iteration_complete_without_a_change_blocks_at_once() {
    let mut s = Scenario::with(|settings| settings.max_iterations = 1);
    s.add("one");
    finishes_at(&mut s, 1, 1);
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked);
}

#[test]
fn a_torn_log_of_complete_without_a_change_still_sends_it_back() {
    let mut s = Scenario::running();
    s.add("one");
    finishes_at(&mut s, 1, 1);
    let known = |(_, event): &(_, Event)| matches!(event, Event::AttemptSealed(_));
    let sealed_at = s.log.iter().position(known).unwrap();
    for length in sealed_at..=s.log.len() {
        let mut torn = Scenario::empty();
        torn.now = s.now;
        torn.log = s.log[..length].to_vec();
        torn.state = fold(&torn.log);
        torn.restart();
        if torn.pending("seal").is_some() {
            torn.answer("seal", sealed(1, false));
        }
        assert_eq!(torn.idea(1).status, IdeaStatus::Active, "{length}");
        torn.all_goes_well();
        assert_eq!(torn.idea(1).status, IdeaStatus::Done, "{length}");
    }
}
