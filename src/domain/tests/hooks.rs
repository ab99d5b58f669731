//! Hooks: when they are called, what they are told, what they can hold, and what a crash leaves of
//! a call.

use insta::assert_snapshot;

use crate::domain::effect::ConflictLevel;
use crate::domain::event::{Event, HookCutOff, HookFinished, HookStarted};
use crate::domain::hook::{HookName, HookSettings, Passage};
use crate::domain::lifecycle::{MergePhase, SwarmPhase};
use crate::domain::observation::RunEndKind;
use crate::domain::operation::Command;
use crate::domain::outcome::FailureKind;
use crate::domain::settings::Settings;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::outcomes::{
    built, conflicted, land_blocked, prepared, sealed, target_moved,
};
use crate::domain::testkit::scenario::{exit, good};
use crate::domain::testkit::{Scenario, agent, idea};
use crate::view::{self, Rest};

const HOOK: HookSettings = HookSettings {
    timeout_ms: 30_000,
    veto_on_timeout: false,
    again: true,
};

fn hooks(settings: &mut Settings, names: &[HookName]) {
    settings.hooks = names.iter().map(|name| (*name, HOOK)).collect();
}

/// A swarm with these hooks and an idea.
fn with(names: &[HookName]) -> Scenario {
    let mut s = Scenario::with(|settings| hooks(settings, names));
    s.add("one").quietly();
    s
}

/// Which hooks were called, in order.
fn called(s: &Scenario) -> Vec<&'static str> {
    let names = s.log.iter().filter_map(|(_, event)| match event {
        Event::HookStarted(HookStarted { hook, .. }) => Some(hook.as_str()),
        _ => None,
    });
    names.collect()
}

/// What the calls that are owed or run are told.
fn told(s: &Scenario) -> String {
    let calls = s.state.hooks.iter().map(|call| {
        let facts = call
            .facts
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        format!("{} {}", call.hook, facts.collect::<Vec<_>>().join(" "))
    });
    calls.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_idea_on_its_way_calls_each_hook_once_and_in_order() {
    let mut s = with(&HookName::ALL);
    s.all_goes_well();
    assert_eq!(
        called(&s),
        [
            "pre-start",
            "post-complete",
            "pre-merge",
            "post-merge",
            "on-needs-you"
        ]
    );
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(view::rest(&s.state), Rest::Idle);
    let about: Vec<u64> = s
        .log
        .iter()
        .filter_map(|(_, event)| match event {
            Event::HookFinished(HookFinished { about, well, .. }) => well.then_some(*about),
            _ => None,
        })
        .collect();
    assert!(about.is_sorted_by(|one, other| one < other), "{about:?}");
}

/// The attempt's end is being told, and its merge is built.
fn told_and_built() -> Scenario {
    let mut s = Scenario::with(|settings| {
        hooks(settings, &[HookName::PostComplete, HookName::PreMerge]);
        settings.verify = false;
    });
    s.add("one").well_until("post-complete");
    s.well_until("buildMerge");
    let id = s.pending("buildMerge").unwrap();
    let built = good(&s.state.outbox[&id], 1);
    s.answer("buildMerge", built);
    assert_eq!(called(&s), ["post-complete"]);
    s
}

#[test]
fn an_informing_hook_delays_a_guarding_one_only_briefly() {
    let mut s = told_and_built();
    s.hook("post-complete", exit(0));
    assert_eq!(called(&s), ["post-complete", "pre-merge"]);
    let mut s = told_and_built();
    s.wait(499);
    assert_eq!(called(&s), ["post-complete"]);
    s.wait_for_deadline();
    assert_eq!(called(&s), ["post-complete", "pre-merge"]);
    s.hook("pre-merge", exit(0)).well_until("land");
}

#[test]
fn without_hooks_no_call_is_made() {
    let mut s = with(&[]);
    s.all_goes_well();
    assert!(called(&s).is_empty() && s.state.hooks.is_empty());
}

#[test]
fn an_attempt_waits_for_pre_start_before_its_first_iteration() {
    let mut s = with(&[HookName::PreStart]);
    s.answer("prepareWorktree", prepared());
    assert_snapshot!(s.then(), @r"
    worktreeReady {agent: ed-001, base: 0001, head: 0001}
    targetSeen {branch: main, commit: 0001}
    ed-001 -> Starting
    end #1
    hookAsked {agent: ed-001, hook: pre-start, id: idea-001}
    hookStarted {about: 13, hook: pre-start, run: r0001-pre-start-13}
    ask #2 run r0001-pre-start-13
    ");
    assert_snapshot!(told(&s), @"pre-start AGENT=ed-001 BRANCH=agent/ed-001/idea-001 \
        IDEA_ID=idea-001 WORKTREE=w01");
    s.hook("pre-start", exit(0));
    assert_snapshot!(s.then(), @r"
    run r0001-pre-start-13 Exited { code: 0 }
    hookFinished {about: 13, hook: pre-start, how: exit code 0, well: true}
    end #2
    iterationStarted {agent: ed-001, iteration: 1, run: r0002-ed-001-i1}
    ed-001 -> Working
    ask #3 run r0002-ed-001-i1 as ed
    ");
    // The second iteration is not asked about.
    s.iteration(&agent(1), exit(0));
    assert_eq!(called(&s).len(), 1);
}

#[test]
fn pre_start_blocks_the_idea_and_a_retry_asks_again() {
    let mut s = with(&[HookName::PreStart]);
    s.answer("prepareWorktree", prepared())
        .hook("pre-start", exit(3));
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked);
    assert_snapshot!(s.idea(1).last_error.as_deref().unwrap(), @"held by the hook pre-start: \
        exit code 3; its output: .git/swarm/runs/r0001-pre-start-13");
    assert!(s.state.warnings.is_empty(), "the idea says it");
    assert_eq!(view::rest(&s.state), Rest::Idle);
    s.command(Command::RetryIdea { id: idea(1) });
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(called(&s).len(), 2);
}

#[test]
fn pre_merge_holds_the_landing_until_a_person_approves() {
    let mut s = with(&[HookName::PreMerge]);
    s.well_until("pre-merge");
    assert_eq!(s.entry(1).phase, MergePhase::Landing);
    assert!(told(&s).starts_with("pre-merge BRANCH=agent/ed-001/idea-001 COMMIT_HASH="));
    s.hook("pre-merge", exit(1)).all_goes_well();
    let entry = s.entry(1);
    assert_eq!(entry.phase, MergePhase::Queued);
    assert!(entry.waits.as_ref().unwrap().person);
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    let needs = view::needs_you(&s.state);
    assert!(
        needs[0]
            .message
            .contains("held by the hook pre-merge: exit code 1")
    );
    s.command(Command::RetryMerge { id: idea(1) });
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(called(&s).len(), 2);
}

#[test]
fn while_pre_merge_runs_the_queue_waits_and_other_agents_work() {
    let mut s = with(&[HookName::PreMerge]);
    s.add("two").well_until("pre-merge");
    while s.state.queue.len() < 2 {
        let other = s.state.outbox.values().find(|effect| !effect.holds_queue());
        let name = crate::domain::testkit::scenario::name_of(other.expect("two is on its way"));
        match name {
            "iteration" => drop(s.completes(&agent(2))),
            "gate" => drop(s.check(exit(0))),
            "seal" => {
                s.answer("seal", sealed(7, false));
            }
            other => panic!("{other}"),
        }
    }
    assert!(s.pending("buildMerge").is_none());
    s.hook("pre-merge", exit(0)).all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}

#[test]
fn the_same_work_on_the_same_target_is_asked_about_once() {
    let mut s = with(&[HookName::PreMerge]);
    s.well_until("pre-merge").hook("pre-merge", exit(0));
    s.answer("land", land_blocked("local changes", &["a.rs"]))
        .wait_for_deadline();
    s.answer("buildMerge", built(0x51, 1));
    assert!(s.pending("land").is_some(), "it is not asked again");
    s.answer("land", target_moved(9));
    s.answer("buildMerge", built(0x59, 9))
        .well_until("pre-merge");
    assert_eq!(called(&s).len(), 2);
}

#[test]
fn a_hook_that_takes_too_long_holds_its_step_only_where_that_is_configured() {
    for (veto, status) in [(false, IdeaStatus::Active), (true, IdeaStatus::Blocked)] {
        let mut s = Scenario::with(|settings| {
            let hook = HookSettings {
                veto_on_timeout: veto,
                ..HOOK
            };
            settings.hooks.insert(HookName::PreStart, hook);
        });
        s.add("one").answer("prepareWorktree", prepared());
        s.hook("pre-start", RunEndKind::TimedOut);
        assert_eq!(s.idea(1).status, status);
        let warning = &s.state.warnings["hook-pre-start"].message;
        assert!(warning.contains("took too long"), "{warning}");
        assert_eq!(warning.contains("continues without it"), !veto);
    }
}

#[test]
fn a_failing_informing_hook_only_warns_and_once() {
    let mut s = with(&[HookName::PostComplete, HookName::PostMerge]);
    s.add("two").well_until("post-complete");
    s.hook("post-complete", exit(2));
    let warning = s.state.warnings["hook-post-complete"].message.clone();
    assert_snapshot!(warning, @"the hook post-complete for idea-001 failed (exit code 2); its \
        output: .git/swarm/runs/r0005-post-complete-46");
    s.all_goes_well();
    assert!(s.state.warnings.is_empty(), "the next one did well");
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn owed_calls_survive_a_restart_with_the_same_number() {
    let mut s = with(&[HookName::PostMerge]);
    s.well_until("post-merge");
    let seq = s.state.hooks[0].seq;
    s.restart();
    assert_eq!(called(&s).len(), 1, "its run is adopted");
    s.hook("post-merge", RunEndKind::Lost);
    assert_eq!(s.state.hooks[0].seq, seq);
    s.hook("post-merge", RunEndKind::Lost);
    s.hook("post-merge", RunEndKind::Lost);
    assert_eq!(called(&s).len(), 3);
    assert!(s.state.hooks.is_empty(), "three times are enough");
    let warning = &s.state.warnings["hook-post-merge"].message;
    assert!(
        warning.contains("its runner was killed 3 times"),
        "{warning}"
    );
}

#[test]
fn a_hook_that_must_not_repeat_is_skipped_after_a_crash() {
    let mut s = once(HookName::PostMerge);
    s.well_until("post-merge")
        .hook("post-merge", RunEndKind::Lost)
        .all_goes_well();
    assert_eq!(called(&s), ["post-merge"]);
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert!(
        s.state.warnings["hook-post-merge"]
            .message
            .contains("onCrash")
    );
}

#[test]
fn an_interrupted_guard_that_must_not_repeat_holds_its_step() {
    let mut s = once(HookName::PreMerge);
    s.well_until("pre-merge")
        .hook("pre-merge", RunEndKind::Lost)
        .all_goes_well();
    let waits = s.entry(1).waits.as_ref().unwrap();
    assert!(
        waits.person && waits.reason.contains("was interrupted"),
        "{waits:?}"
    );
    s.command(Command::RetryMerge { id: idea(1) });
    s.all_goes_well();
    assert_eq!(called(&s).len(), 2);
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_call_that_finished_before_it_was_stopped_counts() {
    let mut s = once(HookName::PreStart);
    s.well_until("pre-start");
    s.command(Command::Shutdown { keep_agents: false });
    s.wait_for_deadline().wait_for_deadline();
    assert!(s.pending("stopRun").is_some());
    // The daemon goes before it hears of the end; the next one reads how it was.
    s.wait_for_deadline();
    assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
    s.restart().quietly();
    s.hook("pre-start", exit(0));
    assert_eq!(s.attempt(1).pre_start, Some(Passage::Free));
    s.all_goes_well();
    assert_eq!(called(&s), ["pre-start"]);
    assert!(s.state.warnings.is_empty());
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

/// A swarm with this hook, which is not called again after a crash, and an idea.
fn once(hook: HookName) -> Scenario {
    let mut s = Scenario::with(|settings| {
        let again = false;
        settings.hooks.insert(hook, HookSettings { again, ..HOOK });
    });
    s.add("one");
    s
}

#[test]
fn a_hook_that_kills_its_runner_is_called_a_limited_number_of_times() {
    let mut s = with(&[HookName::PreMerge]);
    s.well_until("pre-merge");
    for _ in 0..3 {
        s.hook("pre-merge", RunEndKind::Stopped);
    }
    assert_eq!(called(&s).len(), 3);
    assert!(s.state.hooks.is_empty());
    assert_ne!(s.idea(1).status, IdeaStatus::Done, "it said nothing");
}

#[test]
fn a_shutdown_interrupts_calls_and_the_next_daemon_repeats_them() {
    let mut s = with(&[HookName::PostMerge, HookName::OnPause]);
    s.well_until("post-merge");
    s.command(Command::Shutdown { keep_agents: false });
    assert_eq!(s.state.swarm.phase, SwarmPhase::Draining);
    s.wait(5_000);
    s.stop_delivered();
    s.hook("post-merge", RunEndKind::Stopped).all_goes_well();
    assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
    assert_eq!(s.state.hooks.len(), 1);
    s.restart().hook("post-merge", exit(0));
    assert_eq!(called(&s), ["post-merge", "post-merge"]);
    assert!(s.state.hooks.is_empty());
}

#[test]
fn a_step_that_a_hook_guards_can_be_abandoned() {
    let mut s = with(&[HookName::PreStart]);
    s.answer("prepareWorktree", prepared());
    s.command(Command::CancelIdea { id: idea(1) });
    s.stop_delivered();
    s.hook("pre-start", RunEndKind::Stopped).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
    assert!(s.state.hooks.is_empty());
}

#[test]
fn an_unapproved_hook_holds_its_step() {
    let mut s = with(&[HookName::PreMerge, HookName::PostComplete]);
    s.well_until("pre-merge");
    let refused = "x.sh can be written by others";
    s.fails_as("pre-merge", FailureKind::AgentUnusable, refused);
    let waits = s.entry(1).waits.as_ref().unwrap();
    assert!(
        waits.reason.contains("can be written by others"),
        "{}",
        waits.reason
    );
}

#[test]
fn a_full_disk_does_not_count_as_the_hooks_answer() {
    let mut s = with(&[HookName::PreMerge]);
    s.well_until("pre-merge");
    s.fails_as("pre-merge", FailureKind::NoSpace, "the disk is full");
    assert!(s.pending("pre-merge").is_none() && s.entry(1).waits.is_none());
    assert!(s.state.warnings.contains_key("disk-full"));
    s.wait_for_deadline();
    s.hook("pre-merge", exit(0)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

/// The log has that the call is made again, and not that its run is over: that is told once more.
#[test]
fn the_end_of_an_earlier_run_is_ignored() {
    let mut s = with(&[HookName::PostMerge]);
    s.well_until("post-merge");
    let call = s.state.hooks[0].clone();
    s.given([Event::HookCutOff(HookCutOff {
        hook: call.hook,
        about: call.seq,
        lost: false,
    })]);
    s.restart();
    let now = s.state.hooks[0].run.clone();
    assert_ne!(now, call.run);
    s.run_ends(&call.run.unwrap(), RunEndKind::Stopped);
    assert_eq!(s.state.hooks[0].run, now, "it is not made a third time");
    s.run_ends(&now.unwrap(), exit(0));
    assert!(s.state.hooks.is_empty());
}

#[test]
fn removed_hooks_are_not_waited_for() {
    let mut s = with(&[HookName::PreMerge, HookName::PostMerge]);
    s.well_until("pre-merge");
    s.hook("pre-merge", RunEndKind::Lost);
    s.load(|settings| settings.hooks.clear());
    s.hook("pre-merge", RunEndKind::Lost);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert!(s.state.hooks.is_empty());
}

#[test]
fn learnings_pauses_conflicts_and_errors_call_their_hooks() {
    let mut s = with(&[
        HookName::OnLearning,
        HookName::OnPause,
        HookName::OnConflict,
        HookName::OnError,
        HookName::PostComplete,
    ]);
    s.well_until("iteration");
    let learning = Signal::LearningGlobal("The tests need a database.".into());
    s.says(&agent(1), learning.clone())
        .says(&agent(1), learning);
    assert_snapshot!(told(&s), @"on-learning CONTENT=The tests need a database. \
        LEARNING_ID=learning-001 SCOPE=global");
    let reason = Some("release".into());
    s.command(Command::Pause { reason });
    assert_snapshot!(told(&s).lines().last().unwrap(), @"on-pause REASON=release \
        RUNNING_IDEAS=idea-001");
    s.command(Command::Resume).all_hooks();
    s.well_until("buildMerge").all_hooks();
    s.answer(
        "buildMerge",
        conflicted(ConflictLevel::Medium, &["src/a.rs", "b"]),
    );
    assert_snapshot!(told(&s).replace('\n', "|"), @"on-conflict FILES=src/a.rs|b IDEA_ID=idea-001 \
        LEVEL=MEDIUM");
    s.all_hooks();
    s.add("two").answer("prepareWorktree", prepared());
    s.iteration(&agent(2), exit(9));
    assert_snapshot!(told(&s), @r"
    post-complete AGENT=ed-002 BRANCH=agent/ed-002/idea-002 DURATION=0 IDEA_ID=idea-002 STATUS=failed
    on-error ERROR_TYPE=failed IDEA_ID=idea-002 MESSAGE=the agent exited with code 9; its output: swarm agent logs ed-002 (run r0007-ed-002-i1)
    ");
    // Both are about one idea: one after the other.
    assert!(s.pending("on-error").is_none());
    s.hook("post-complete", exit(0)).hook("on-error", exit(0));
}

#[test]
fn at_most_sixteen_informing_calls_run_at_a_time() {
    let mut s = Scenario::with(|settings| {
        hooks(settings, &[HookName::PreStart, HookName::OnError]);
        settings.max_parallel = 40;
        settings.failures_to_pause = 0;
    });
    for _ in 0..40 {
        s.add("one");
    }
    while s.pending("prepareWorktree").is_some() {
        s.answer("prepareWorktree", prepared());
    }
    let running = |s: &Scenario| {
        s.state
            .hooks
            .iter()
            .filter(|call| call.run.is_some())
            .count()
    };
    assert_eq!(running(&s), 40);
    for _ in 0..20 {
        s.hook("pre-start", exit(1));
    }
    assert_eq!(running(&s), 20 + 16);
    s.hook("on-error", exit(0));
    assert_eq!(running(&s), 20 + 16, "the next one begins");
    assert_eq!(s.state.hooks.len(), 39);
}

#[test]
fn an_approval_is_remembered_once() {
    let mut s = with(&[]);
    let (hook, content) = (HookName::PreMerge, "12ab".to_owned());
    let approve = Command::ApproveHook { hook, content };
    s.command(approve.clone()).command(approve);
    assert_eq!(s.state.hooks_approved[&hook], ["12ab"]);
    let approvals = |(_, event): &&(_, Event)| matches!(event, Event::HookApproved(_));
    assert_eq!(s.log.iter().filter(approvals).count(), 1);
}

fn unapproved(hook: HookName) -> RunEndKind {
    let message = format!(
        "it is not run: x.sh was changed by the landed work of idea-009, and nobody has approved \
        that; look at it and approve it: swarm hooks approve {hook}"
    );
    RunEndKind::NotStarted { message }
}

#[test]
fn a_hook_that_was_not_run_names_the_command_that_approves_it() {
    let mut s = with(&[HookName::PreStart, HookName::PreMerge, HookName::PostMerge]);
    s.answer("prepareWorktree", prepared());
    s.hook("pre-start", unapproved(HookName::PreStart));
    let needs = view::needs_you(&s.state).remove(0);
    assert!(!needs.message.contains("its output"), "{}", needs.message);
    assert_eq!(
        needs.commands,
        [
            "swarm hooks approve pre-start",
            "swarm idea retry idea-001",
            "swarm idea cancel idea-001"
        ]
    );
    s.command(Command::RetryIdea { id: idea(1) });
    s.well_until("pre-merge");
    s.hook("pre-merge", unapproved(HookName::PreMerge));
    s.all_goes_well();
    let needs = view::needs_you(&s.state).remove(0);
    assert!(!needs.message.contains("its output"), "{}", needs.message);
    assert_eq!(
        needs.commands,
        [
            "swarm hooks approve pre-merge",
            "swarm merge retry idea-001",
            "swarm idea cancel idea-001"
        ]
    );
    assert_eq!(s.state.hooks_last[&HookName::PreMerge].run, None);
    s.command(Command::RetryMerge { id: idea(1) });
    s.well_until("post-merge");
    s.hook("post-merge", unapproved(HookName::PostMerge));
    let warning = &s.state.warnings["hook-post-merge"].message;
    assert!(!warning.contains("its output"), "{warning}");
}

#[test]
fn what_a_hook_says_is_no_command_to_type() {
    let mut s = with(&[HookName::PreMerge]);
    s.well_until("pre-merge");
    s.hook("pre-merge", exit(1)).all_goes_well();
    let needs = view::needs_you(&s.state).remove(0);
    assert_eq!(
        needs.commands,
        ["swarm merge retry idea-001", "swarm idea cancel idea-001"]
    );
}

#[test]
fn repeating_a_pause_without_a_reason_changes_nothing() {
    let mut s = with(&[HookName::OnPause]);
    let reason = Some("lunch".into());
    s.command(Command::Pause { reason }).all_hooks();
    let seq = s.state.seq;
    s.command(Command::Pause { reason: None });
    assert_eq!(s.state.seq, seq, "nothing is told again");
    assert_eq!(s.state.swarm.pause_reason.as_deref(), Some("lunch"));
}
