//! Money is not spent on what cannot succeed: the same failure again and again, iterations that
//! change nothing, quality commands that cannot run.

use insta::assert_snapshot;

use crate::domain::decide;
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::Event;
use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::observation::{Observation, RunEnd};
use crate::domain::operation::Command;
use crate::domain::outcome::{Outcome, SealOutcome};
use crate::domain::settings::Settings;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::outcomes::sealed;
use crate::domain::testkit::scenario::{Scenario, exit, fold, good};
use crate::domain::testkit::{agent, oid};
use crate::domain::verdict::Verdict;
use crate::view::{Rest, needs_you, rest};

/// The tip of the branch in these stories, as the digest of a clean tree.
fn clean() -> String {
    oid(1).to_string()
}

fn failure(fingerprint: &str) -> RunEnd {
    RunEnd {
        stdout_bytes: 100,
        duration_ms: 2_000,
        fingerprint: Some(fingerprint.to_owned()),
        last_words: Some("1 failed in 0.10s".into()),
        ..RunEnd::new(exit(1))
    }
}

/// The first agent works on its idea.
fn working(change: impl FnOnce(&mut Settings)) -> Scenario {
    let mut s = Scenario::with(change);
    s.add("one").well_until("iteration").quietly();
    s
}

/// The agent says COMPLETE, and the check fails like this.
fn sent_back(s: &mut Scenario, end: RunEnd) {
    s.completes(&agent(1)).well_until("gate");
    let gate = s.pending("gate").unwrap();
    s.run_over(gate, end);
}

/// The iteration ends without a signal, and leaves the worktree like this.
fn leaves(s: &mut Scenario, tree: Option<&str>) {
    let iteration = s.pending("iteration").expect("no iteration runs");
    let end = RunEnd {
        stdout_bytes: 100,
        duration_ms: 2_000,
        head: Some(oid(1)),
        tree: tree.map(str::to_owned),
        ..RunEnd::new(exit(0))
    };
    s.run_over(iteration, end);
}

fn is_blocked(s: &Scenario) -> bool {
    s.idea(1).status == IdeaStatus::Blocked
}

#[test]
fn the_same_failure_three_times_in_a_row_blocks_the_idea() {
    let mut s = working(|_| ());
    sent_back(&mut s, failure("a"));
    sent_back(&mut s, failure("a"));
    assert_eq!(
        (is_blocked(&s), s.attempt(1).check.same_failures),
        (false, 2)
    );
    sent_back(&mut s, failure("a"));
    assert!(is_blocked(&s));
    assert_snapshot!(
        s.idea(1).last_error.as_ref().unwrap(),
        @"stuck: `check` failed 3 times in a row with the same output (exit code 1), so its \
        agent was stopped; the output ends with: 1 failed in 0.10s. All output: swarm agent \
        logs ed-001"
    );
    assert_eq!(s.state.slots_used(), 0);
    let kept = s.idea(1).kept.as_ref().unwrap();
    let last = kept.feedback.as_ref().unwrap().run.as_ref().unwrap();
    assert!(last.as_str().ends_with("ed-001-q1"), "{last}");
    // The person may have changed something: the next attempt counts anew.
    s.command(Command::RetryIdea {
        id: IdeaId::numbered(1),
    });
    s.well_until("iteration");
    s.says(&agent(2), Signal::Complete(None));
    s.iteration(&agent(2), exit(0)).well_until("gate");
    let gate = s.pending("gate").unwrap();
    s.run_over(gate, failure("a"));
    assert_eq!(s.attempt(2).check.same_failures, 1);
}

#[test]
fn another_failure_starts_the_count_again() {
    let mut s = working(|settings| settings.same_check_failures = 0);
    let unknown = RunEnd {
        fingerprint: None,
        ..failure("a")
    };
    let other_code = RunEnd {
        how: exit(2),
        ..failure("a")
    };
    for end in [
        failure("a"),
        failure("a"),
        failure("b"),
        failure("a"),
        failure("a"),
    ] {
        sent_back(&mut s, end);
    }
    assert_eq!(s.attempt(1).check.same_failures, 2);
    sent_back(&mut s, other_code);
    assert_eq!(s.attempt(1).check.same_failures, 1);
    for _ in 0..4 {
        sent_back(&mut s, unknown.clone());
    }
    assert_eq!(s.attempt(1).check.same_failures, 0);
}

/// The check fails once more, with an output that it never had, and with so many failed tests.
fn fails_differently(s: &mut Scenario, failed_tests: Option<u32>) {
    let count = s.attempt(1).iteration;
    let end = RunEnd {
        failed_tests,
        ..failure(&format!("output {count}"))
    };
    sent_back(s, end);
}

#[test]
fn the_same_check_failing_with_ever_other_output_blocks_the_idea() {
    let mut s = working(|settings| settings.same_check_failures = 4);
    for _ in 0..3 {
        fails_differently(&mut s, None);
    }
    assert_eq!((is_blocked(&s), s.attempt(1).check.failures), (false, 3));
    fails_differently(&mut s, None);
    assert!(is_blocked(&s));
    assert_snapshot!(
        s.idea(1).last_error.as_ref().unwrap(),
        @"stuck: `check` failed in 4 iterations in a row, and no fewer tests fail than before \
        (exit code 1; completion.sameCheckFailures is 4). All output: swarm agent logs ed-001"
    );
}

#[test]
fn fewer_failed_tests_than_before_start_the_count_of_a_check_again() {
    let mut s = working(|settings| settings.same_check_failures = 4);
    // The last one is as many as before: the row goes on from the fewest.
    for (failed_tests, count) in [
        (Some(9), 1),
        (Some(9), 2),
        (Some(8), 1),
        (Some(9), 2),
        (None, 3),
        (Some(7), 1),
        (Some(8), 2),
        (Some(7), 3),
    ] {
        fails_differently(&mut s, failed_tests);
        assert_eq!(s.attempt(1).check.failures, count, "{failed_tests:?}");
    }
    fails_differently(&mut s, Some(7));
    assert!(is_blocked(&s));
}

#[test]
fn a_limit_of_zero_lets_a_check_fail_for_ever() {
    let mut s = working(|settings| settings.same_check_failures = 0);
    for _ in 0..12 {
        fails_differently(&mut s, None);
    }
    assert!(!is_blocked(&s));
}

#[test]
fn a_persons_message_starts_the_count_again() {
    let mut s = working(|_| ());
    sent_back(&mut s, failure("a"));
    sent_back(&mut s, failure("a"));
    let text = "look at the fixture".to_owned();
    s.command(Command::SayToAgent { id: agent(1), text });
    s.iteration(&agent(1), exit(0));
    sent_back(&mut s, failure("a"));
    assert_eq!(s.attempt(1).check.same_failures, 1);
}

#[test]
fn a_failure_that_is_judged_again_after_a_torn_log_counts_once() {
    let mut s = working(|_| ());
    sent_back(&mut s, failure("a"));
    s.completes(&agent(1)).well_until("gate");
    let gate = s.pending("gate").unwrap();
    let seen = Observation::EffectDone {
        effect: gate,
        outcome: Ok(Outcome::from(failure("a"))),
    };
    let events = decide::observation(&s.state, &seen, s.now);
    let failed = |event: &Event| matches!(event, Event::GateFailed(_));
    let torn = events.iter().position(failed).unwrap() + 1;
    s.given(events.into_iter().take(torn));
    s.restart();
    s.run_over(gate, failure("a"));
    assert_eq!(s.attempt(1).check.same_failures, 2);
    assert!(!is_blocked(&s));
}

#[test]
fn iterations_that_change_nothing_block_the_idea() {
    let mut s = working(|settings| settings.stuck_threshold = 3);
    leaves(&mut s, Some(&clean()));
    leaves(&mut s, Some(&clean()));
    assert_eq!(s.attempt(1).without_change, 2);
    // Uncommitted work is a change, the same uncommitted work is none.
    leaves(&mut s, Some("dirty"));
    leaves(&mut s, Some("dirty"));
    leaves(&mut s, Some("dirty"));
    assert!(!is_blocked(&s));
    leaves(&mut s, Some("dirty"));
    assert!(is_blocked(&s));
    assert_snapshot!(
        s.idea(1).last_error.as_ref().unwrap(),
        @"stuck: 3 iterations in a row changed nothing in the worktree \
        (completion.stuckThreshold is 3); its output: swarm agent logs ed-001"
    );
    assert_eq!(s.state.slots_used(), 0);
    assert!(s.idea(1).kept.is_some());
}

#[test]
fn a_check_that_sends_an_agent_back_which_changes_nothing_blocks_the_idea() {
    let mut s = working(|settings| settings.stuck_threshold = 2);
    // What an earlier attempt had left is committed by the first seal.
    for (tree, output) in [(1, "a"), (2, "b")] {
        assert!(!is_blocked(&s));
        s.says(&agent(1), Signal::Complete(None));
        leaves(&mut s, Some(&oid(tree).to_string()));
        s.answer("seal", sealed(2, false)).well_until("gate");
        let gate = s.pending("gate").unwrap();
        s.run_over(gate, failure(output));
    }
    assert_snapshot!(
        s.idea(1).last_error.as_ref().unwrap(),
        @"stuck: 2 iterations in a row changed nothing in the worktree, and `check` fails: exit \
        code 1 (completion.stuckThreshold is 2); its output: swarm agent logs ed-001"
    );
}

#[test]
fn a_tree_that_cannot_be_read_counts_as_changed() {
    let mut s = working(|settings| settings.stuck_threshold = 2);
    for _ in 0..10 {
        leaves(&mut s, None);
    }
    assert_eq!(s.attempt(1).without_change, 0);
}

#[test]
fn questions_and_interrupted_iterations_do_not_count() {
    let mut s = working(|settings| settings.stuck_threshold = 2);
    leaves(&mut s, Some(&clean()));
    let iteration = s.pending("iteration").unwrap();
    let cut = RunEnd {
        tree: Some(clean()),
        verdict: Some(Verdict::Cut),
        ..RunEnd::new(exit(0))
    };
    s.run_over(iteration, cut).wait_for_deadline();
    assert_eq!(s.attempt(1).without_change, 1);
    s.says(&agent(1), Signal::NeedsHuman(Some("which one?".into())));
    leaves(&mut s, Some(&clean()));
    assert_eq!(s.attempt(1).phase, AttemptPhase::WaitingForHuman);
    assert_eq!(s.attempt(1).without_change, 1);
    assert!(!is_blocked(&s));
}

#[test]
fn a_threshold_of_zero_is_off() {
    let mut s = working(|settings| settings.stuck_threshold = 0);
    for _ in 0..10 {
        leaves(&mut s, Some(&clean()));
    }
    assert!(!is_blocked(&s) && s.state.warnings.is_empty());
}

#[test]
fn an_iteration_that_is_judged_again_after_a_torn_log_counts_once() {
    let mut s = working(|settings| settings.stuck_threshold = 2);
    leaves(&mut s, Some(&clean()));
    s.restart();
    let iteration = s.pending("iteration").unwrap();
    let end = RunEnd {
        stdout_bytes: 100,
        duration_ms: 2_000,
        tree: Some("dirty".into()),
        ..RunEnd::new(exit(0))
    };
    s.run_over(iteration, end.clone());
    let iteration = s.pending("iteration").unwrap();
    let seen = Observation::EffectDone {
        effect: iteration,
        outcome: Ok(Outcome::from(end.clone())),
    };
    let events = decide::observation(&s.state, &seen, s.now);
    s.given(events.into_iter().take(1));
    assert_eq!(s.attempt(1).without_change, 1);
    s.restart();
    s.run_over(iteration, end);
    assert_eq!((is_blocked(&s), s.attempt(1).without_change), (false, 1));
}

#[test]
fn a_command_that_cannot_run_holds_the_swarm_until_a_person_resumes_it() {
    let mut s = working(|settings| {
        settings.quality_commands = vec!["build".into(), "check".into()];
        settings.max_parallel = 1;
    });
    s.add("two");
    s.completes(&agent(1))
        .well_until("gate")
        .check(exit(0))
        .check(exit(127));
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    let attempt = s.attempt(1);
    assert_eq!(
        (attempt.phase, attempt.iteration),
        (AttemptPhase::Gating, 1)
    );
    assert_eq!(rest(&s.state), Rest::NeedsPerson);
    let needs = &needs_you(&s.state)[0];
    assert_snapshot!(
        needs.message,
        @"paused: the quality command `check` fails with exit code 127 in the worktree of \
        idea-001: the shell cannot find its program. No idea is to blame, so nothing starts. \
        Install the program, or change qualityCommands in .swarm/config.json; then: swarm \
        resume. If idea-001 itself broke the command, first tell its agent: swarm agent say \
        ed-001 \"...\""
    );
    assert_eq!(needs.commands, ["swarm resume"]);
    let warning = &s.state.warnings["quality-1"].message;
    assert_eq!(needs.message, format!("paused: {warning}"));
    // The next daemon waits too, and nothing is paid for meanwhile.
    s.restart().wait(3_600_000);
    assert!(s.state.outbox.is_empty());
    s.command(Command::Resume);
    // The gate goes on where it was, and another iteration is not paid for.
    let runs = s.attempt(1).runs.iter().map(ToString::to_string);
    let names: Vec<String> = runs.collect();
    assert_eq!(
        names,
        [
            "r0001-ed-001-i1",
            "r0002-ed-001-q1",
            "r0003-ed-001-q2",
            "r0004-ed-001-q2"
        ]
    );
    s.check(exit(0));
    assert_eq!(s.idea(1).status, IdeaStatus::Merging);
    assert!(s.state.warnings.is_empty());
}

#[test]
fn a_changed_configuration_runs_the_waiting_gate_again() {
    let mut s = working(|_| ());
    s.completes(&agent(1)).well_until("gate").check(exit(126));
    s.load(|settings| settings.quality_commands = vec!["make check".into()]);
    let Some(Effect::Run(effect::Run { purpose, .. })) = s.state.outbox.values().next() else {
        panic!("{:?}", s.state.outbox);
    };
    assert!(matches!(purpose, Purpose::Gate { command, .. } if command == "make check"));
    assert!(s.state.swarm.paused);
    s.check(exit(0)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_waiting_gate_does_not_keep_anyone_from_stopping_its_agent_or_the_swarm() {
    let held = || {
        let mut s = working(|_| ());
        s.completes(&agent(1)).well_until("gate").check(exit(127));
        s
    };
    let mut s = held();
    s.command(Command::StopAgent { id: agent(1) });
    assert_eq!(s.idea(1).status, IdeaStatus::Pending);
    let mut s = held();
    let text = "restore check.sh".to_owned();
    s.command(Command::SayToAgent { id: agent(1), text });
    s.command(Command::Resume);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
    let mut s = held();
    s.command(Command::Shutdown { keep_agents: false });
    assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
}

#[test]
fn a_merge_check_that_cannot_run_holds_the_queue() {
    let mut s = working(|_| ());
    s.completes(&agent(1)).well_until("verify").check(exit(127));
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert_eq!(s.entry(1).phase, MergePhase::Queued);
    assert_eq!(s.attempt(1).returns, 0);
    assert!(s.state.outbox.is_empty());
    assert_eq!(rest(&s.state), Rest::NeedsPerson);
    assert_snapshot!(
        s.state.swarm.pause_reason.as_ref().unwrap(),
        @"the quality command `check` fails with exit code 127 on the merged tree of idea-001: \
        the shell cannot find its program. No idea is to blame, so nothing starts. Install the \
        program, or change qualityCommands in .swarm/config.json; then: swarm resume. If \
        idea-001 itself broke the command, first: swarm idea cancel idea-001"
    );
    s.command(Command::Resume).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

/// A night of four ideas.
struct Night {
    /// The tip of the branch after the run with this number.
    tip: fn(u64) -> u64,
    /// How the check ends the given time.
    check: fn(u32) -> RunEnd,
}

impl Night {
    /// The number of paid iterations until nothing goes on.
    fn iterations(&self, change: impl FnOnce(&mut Settings)) -> usize {
        let mut s = Scenario::with(|settings| {
            settings.failures_to_pause = 0;
            change(settings);
        });
        for idea in ["one", "two", "three", "four"] {
            s.add(idea);
        }
        let mut checks = 0;
        while let Some((id, effect)) = s.state.outbox.iter().next() {
            let (id, effect) = (*id, effect.clone());
            let outcome = match &effect {
                Effect::Run(effect::Run {
                    run,
                    purpose: Purpose::Iteration { .. },
                    ..
                }) => {
                    let agent = s.state.agents.iter();
                    let mut agent = agent.filter(|(_, one)| one.run.as_ref() == Some(run));
                    let agent = agent.next().unwrap().0.clone();
                    s.says(&agent, Signal::Complete(None));
                    self.iteration(id.0)
                }
                Effect::Run(_) => {
                    checks += 1;
                    (self.check)(checks).into()
                }
                Effect::Seal(effect::Seal { agent, .. }) => {
                    let head = s.state.agents[agent].head.clone().unwrap();
                    SealOutcome::Sealed {
                        head,
                        committed: false,
                        setup: None,
                        links: vec![],
                    }
                    .into()
                }
                other => good(other, id.0),
            };
            s.done(id, outcome);
        }
        let started = |event: &Event| matches!(event, Event::IterationStarted(_));
        s.log.iter().filter(|(_, event)| started(event)).count()
    }

    fn iteration(&self, number: u64) -> Outcome {
        let tip = (self.tip)(number);
        RunEnd {
            stdout_bytes: 100,
            duration_ms: 2_000,
            head: Some(oid(tip)),
            tree: Some(oid(tip).to_string()),
            ..RunEnd::new(exit(0))
        }
        .into()
    }
}

#[test]
fn a_night_with_a_check_that_cannot_pass_costs_three_iterations_an_idea() {
    // Before, each of the four ideas used up its maxIterations, which is 50.
    let unlimited = 4 * 50;
    let same = Night {
        tip: |number| 0x5000 + number,
        check: |_| failure("a"),
    };
    let folded = same.iterations(|_| ());
    // Output that differs each time cannot be recognised: completion.sameCheckFailures ends it.
    let different = Night {
        tip: same.tip,
        check: |time| failure(&time.to_string()),
    };
    let unfolded = different.iterations(|_| ());
    println!("the same failure: {folded} iterations for 4 ideas; another each time: {unfolded}");
    assert_eq!((folded, unfolded), (4 * 3, 4 * 8));

    // Each agent changes something in its first iteration only.
    let idle = Night {
        tip: |_| 0x5000,
        ..different
    };
    let on = idle.iterations(|_| ());
    let off = idle.iterations(|settings| {
        settings.stuck_threshold = 0;
        settings.same_check_failures = 0;
    });
    println!("nothing changed: {on} iterations for 4 ideas; with stuckThreshold 0: {off}");
    assert_eq!((on, off), (4 * 6, unlimited));

    let nothing = Night { tip: |_| 1, ..idle };
    assert_eq!(nothing.iterations(|_| ()), 4 * 2);
}

#[test]
fn a_night_whose_check_cannot_run_costs_what_was_running() {
    let missing = Night {
        tip: |number| 0x5000 + number,
        check: |_| RunEnd::new(exit(127)),
    };
    let paid = missing.iterations(|_| ());
    println!("the check cannot run: {paid} iterations, all of them running by then");
    // Two agents were working when the first check ended.
    assert_eq!(paid, 2);
}

#[test]
fn old_logs_without_digests_fold_as_before() {
    let mut s = working(|_| ());
    s.completes(&agent(1)).well_until("gate").check(exit(1));
    let json = serde_json::to_string(&fold(&s.log).agents).unwrap();
    for new in ["tree", "withoutChange", "fingerprint", "sameFailures"] {
        assert!(!json.contains(&format!("\"{new}\"")), "{new} in {json}");
    }
}
