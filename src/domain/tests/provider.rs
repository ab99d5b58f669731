//! What agents share: limits, overloads and logins of an account, and iterations that do not count.

use insta::assert_snapshot;

use crate::domain::effect::{self, Effect};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::{Observation, RunEnd, RunEndKind};
use crate::domain::operation::{Command, NewIdea};
use crate::domain::settings::Settings;
use crate::domain::signal::Signal;
use crate::domain::state::provider::HoldKind;
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::testkit::outcomes::prepared;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea, new_idea, profile};
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Cause, Verdict};

/// Two profiles, each with an account.
pub(super) fn accounts(settings: &mut Settings) {
    settings.max_parallel = 3;
    let accounts = [("ed", "claude"), ("finn", "codex")];
    settings.accounts = accounts
        .map(|(name, account)| (profile(name), account.to_owned()))
        .into();
}

/// An end by itself with this verdict.
pub(super) fn end(code: i32, verdict: Verdict) -> RunEnd {
    RunEnd {
        stdout_bytes: 100,
        duration_ms: 2_000,
        verdict: Some(verdict),
        ..RunEnd::new(exit(code))
    }
}

pub(super) fn blamed(cause: Cause) -> RunEnd {
    let message = "try again later".into();
    end(1, Verdict::Failed { cause, message })
}

fn limit(until: Option<Timestamp>) -> RunEnd {
    blamed(Cause::Limit { until })
}

/// Who works on an idea, and in which run.
pub(super) fn run_of(s: &Scenario, number: u64) -> (AgentId, RunId) {
    let (agent, attempt) = s.state.attempt_at(&idea(number)).expect("nobody is on it");
    (agent.clone(), attempt.run.clone().expect("nothing runs"))
}

/// The iteration at an idea ends like this.
pub(super) fn over(s: &mut Scenario, number: u64, end: RunEnd) {
    let (_, run) = run_of(s, number);
    let (effect, _) = s.state.run_effect(&run).unwrap();
    s.run_over(effect, end);
}

pub(super) fn answers(s: &mut Scenario, number: u64) {
    let (_, run) = run_of(s, number);
    s.when(Observation::ModelAnswered { run });
}

pub(super) fn add_for(s: &mut Scenario, text: &str, name: &str) {
    s.command(Command::AddIdea(NewIdea {
        profile: Some(profile(name)),
        ..new_idea(text)
    }));
}

/// So many agents at work.
pub(super) fn working(count: usize) -> Scenario {
    let mut s = Scenario::with(accounts);
    for _ in 0..count {
        s.add("do it").well_until("iteration");
        while s.pending("prepareWorktree").is_some() {
            s.answer("prepareWorktree", prepared());
        }
    }
    s.quietly();
    s
}

/// The wait that is in force, in milliseconds.
fn wait_of(s: &Scenario, account: &str) -> Option<i64> {
    s.state.accounts[account]
        .until
        .map(|until| until.since(s.now))
}

fn at_work(s: &Scenario) -> usize {
    let running = |phase: AttemptPhase| phase == AttemptPhase::Working;
    let phases = s.state.agents.values().map(|attempt| attempt.phase);
    phases.filter(|phase| running(*phase)).count()
}

#[test]
fn a_limit_with_a_reset_holds_the_account_until_then_and_a_little_longer() {
    let mut s = working(1);
    let reset = s.now.plus_millis(60_000);
    over(&mut s, 1, limit(Some(reset)));
    assert_snapshot!(s.then(), @r"
    run r0001-ed-001-i1 Exited { code: 1 }
    accountHeld {account: claude, hold: {kind: limit, message: try again later, since: 2026-01-01T00:00:00.000Z, times: 1, until: 2026-01-01T00:01:02.000Z}}
    iterationExcused {agent: ed-001, excuse: account, phase: backoff}
    end #2
    ");
    assert_eq!(s.attempt(1).excused.iterations, 1);
    s.wait(61_999);
    assert_snapshot!(s.then(), @"");
    s.wait(1);
    assert_snapshot!(s.then(), @r"
    ed-001 -> Starting
    accountTried {account: claude, run: r0002-ed-001-i2}
    iterationStarted {agent: ed-001, iteration: 2, run: r0002-ed-001-i2}
    ed-001 -> Working
    ask #3 run r0002-ed-001-i2 as ed
    ");
    answers(&mut s, 1);
    assert_snapshot!(s.then(), @r"accountFreed {account: claude}");
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(s.state.swarm.failures_in_a_row, 0);
}

#[test]
fn a_limit_without_a_reset_is_tried_later_each_time() {
    let mut s = working(1);
    let mut waits = Vec::new();
    for _ in 0..7 {
        over(&mut s, 1, limit(None));
        waits.push(wait_of(&s, "claude").unwrap());
        s.wait_for_deadline();
    }
    assert_snapshot!(format!("{waits:?}"), @r"[59760, 140400, 198720, 440640, 863040, 2115000, 1909800]");
    // A reset that is further away than any limit runs tells nothing.
    let never = crate::domain::time::Timestamp::from_millis(i64::MAX);
    over(&mut s, 1, limit(Some(never)));
    assert!(wait_of(&s, "claude").unwrap() < 3_000_000);
    s.wait_for_deadline();
    // A reset that was told and is over tells nothing.
    let past = s.now.plus_millis(-1);
    over(&mut s, 1, limit(Some(past)));
    assert!(wait_of(&s, "claude").unwrap() > 1_000_000);
    s.wait_for_deadline();
    // It works again: then the first wait is short again.
    answers(&mut s, 1);
    over(&mut s, 1, limit(None));
    assert_eq!(s.state.accounts["claude"].times, 1);
    assert_eq!(s.attempt(1).excused.iterations, s.attempt(1).iteration);
}

#[test]
fn several_agents_that_meet_the_same_limit_make_one_hold() {
    for reset in [None, Some(90_000)] {
        let mut s = working(3);
        let until = reset.map(|later| s.now.plus_millis(later));
        over(&mut s, 1, limit(until));
        let first = wait_of(&s, "claude").unwrap();
        over(&mut s, 2, limit(until));
        over(&mut s, 3, limit(until));
        let hold = &s.state.accounts["claude"];
        assert_eq!((hold.times, s.state.accounts.len()), (1, 1));
        assert_eq!(wait_of(&s, "claude"), Some(first));
        assert_eq!(at_work(&s), 0);
    }
}

#[test]
fn one_run_tries_while_the_others_wait_and_its_answer_frees_all() {
    let mut s = working(3);
    for number in 1..=3 {
        over(&mut s, number, limit(None));
    }
    s.wait_for_deadline();
    assert_eq!(at_work(&s), 1);
    // It fails: held again, longer, and again only one tries.
    over(&mut s, 1, limit(None));
    assert_eq!(s.state.accounts["claude"].times, 2);
    assert_eq!(at_work(&s), 0);
    s.wait_for_deadline();
    assert_eq!(at_work(&s), 1);
    let hold = &s.state.accounts["claude"];
    let trying = s
        .state
        .agents
        .values()
        .find(|attempt| attempt.run == hold.tried_by);
    let number = trying.map(|attempt| attempt.idea.clone()).unwrap();
    // Whose last iteration began first has waited longest.
    assert_eq!(number, idea(2));
    answers(&mut s, 2);
    assert_eq!(at_work(&s), 3);
    assert!(s.state.accounts.is_empty());
}

#[test]
fn a_run_that_tried_and_ended_well_frees_its_account_although_nobody_heard_the_answer() {
    let mut s = working(2);
    over(&mut s, 1, limit(None));
    over(&mut s, 2, limit(None));
    s.wait_for_deadline();
    over(&mut s, 1, end(0, Verdict::Complete));
    assert!(s.state.accounts.is_empty());
    assert_eq!(at_work(&s), 2);
}

#[test]
fn if_the_trying_run_is_stopped_lost_or_cut_another_tries() {
    let ends = [
        RunEnd::new(RunEndKind::Lost),
        RunEnd::new(RunEndKind::Signalled { signal: 9 }),
        end(1, Verdict::Cut),
        blamed(Cause::Other),
    ];
    for ending in ends {
        let mut s = working(2);
        over(&mut s, 1, limit(None));
        over(&mut s, 2, limit(None));
        s.wait_for_deadline();
        over(&mut s, 1, ending);
        let (_, run) = run_of(&s, 2);
        assert_eq!(s.state.accounts["claude"].tried_by, Some(run));
        assert_eq!(s.state.accounts["claude"].times, 1);
    }
    let mut s = working(2);
    over(&mut s, 1, limit(None));
    over(&mut s, 2, limit(None));
    s.wait_for_deadline();
    s.command(Command::StopAgent { id: agent(1) });
    s.stop_delivered();
    over(&mut s, 1, RunEnd::new(RunEndKind::Stopped));
    assert_eq!(
        s.state.accounts["claude"].tried_by,
        Some(run_of(&s, 2).1),
        "the next one tries"
    );
}

#[test]
fn an_overload_backs_off_up_to_its_maximum_and_never_fails_anything() {
    let mut s = working(1);
    let mut waits = Vec::new();
    for _ in 0..12 {
        over(&mut s, 1, blamed(Cause::Overloaded));
        waits.push(wait_of(&s, "claude").unwrap());
        s.wait_for_deadline();
    }
    assert_snapshot!(format!("{waits:?}"), @r"[4980, 11700, 16560, 36720, 71920, 188000, 339520, 531000, 589200, 483000, 565800, 528000]");
    assert_eq!(s.idea(1).status, IdeaStatus::Active);
    assert_eq!(
        (s.attempt(1).excused.iterations, s.attempt(1).iteration),
        (12, 13)
    );
}

#[test]
fn a_person_or_a_new_start_ends_the_wait_for_a_login_at_once() {
    let mut s = working(2);
    over(&mut s, 1, blamed(Cause::Login));
    over(&mut s, 2, blamed(Cause::Login));
    assert_eq!(at_work(&s), 0);
    s.command(Command::Resume);
    assert_eq!(at_work(&s), 2);
    over(&mut s, 1, blamed(Cause::Login));
    over(&mut s, 2, blamed(Cause::Login));
    s.restart();
    assert_eq!(at_work(&s), 2);
    assert!(s.state.accounts.is_empty());
}

#[test]
fn a_login_overtakes_a_shorter_limit() {
    let mut s = working(2);
    over(&mut s, 1, limit(None));
    over(&mut s, 2, blamed(Cause::Login));
    let hold = &s.state.accounts["claude"];
    assert_eq!((hold.kind, hold.times), (HoldKind::Login, 1));
    assert_eq!(wait_of(&s, "claude"), Some(60_000));
}

#[test]
fn an_overload_does_not_shorten_a_limit() {
    let mut s = working(2);
    let reset = Some(s.now.plus_millis(3_600_000));
    over(&mut s, 1, limit(reset));
    over(&mut s, 2, blamed(Cause::Overloaded));
    assert_eq!(s.state.accounts["claude"].kind, HoldKind::Limit);
    assert_eq!(wait_of(&s, "claude"), Some(3_602_000));
}

#[test]
fn without_auto_resume_a_limit_waits_for_a_person() {
    let mut s = Scenario::with(|settings| {
        accounts(settings);
        settings.auto_resume = false;
    });
    s.add("one").well_until("iteration");
    let reset = Some(s.now.plus_millis(1_000));
    over(&mut s, 1, limit(reset));
    assert_eq!(wait_of(&s, "claude"), None);
    s.wait(86_400_000).restart();
    assert_eq!(at_work(&s), 0);
    s.command(Command::Resume);
    assert_eq!(at_work(&s), 1);
}

#[test]
fn other_accounts_continue_while_one_is_held() {
    let mut s = working(2);
    over(&mut s, 1, limit(None));
    s.command(Command::AddIdea(NewIdea {
        priority: 9,
        ..new_idea("important")
    }));
    add_for(&mut s, "other", "finn");
    s.well_until("iteration");
    assert_eq!(s.idea(3).status, IdeaStatus::Pending);
    assert_eq!(s.idea(4).status, IdeaStatus::Active);
    // The agent that ran already goes on, too.
    over(&mut s, 2, end(0, Verdict::Complete));
    assert_eq!(s.attempt(2).phase, AttemptPhase::Backoff);
    s.well_until("iteration");
    assert_eq!(run_of(&s, 4).0.as_str(), "finn-003");
    s.wait_for_deadline();
    assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
    answers(&mut s, 1);
    s.all_goes_well();
    let done = |number| s.idea(number).status == IdeaStatus::Done;
    assert!((1..=4).all(done));
}

#[test]
fn a_profile_without_an_account_waits_for_itself() {
    let mut s = Scenario::running();
    s.add("one");
    add_for(&mut s, "two", "finn");
    s.well_until("iteration").quietly();
    while s.pending("prepareWorktree").is_some() {
        s.answer("prepareWorktree", prepared());
    }
    over(&mut s, 1, blamed(Cause::Overloaded));
    assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
    assert!(s.state.accounts.contains_key("ed"));
    assert_eq!(at_work(&s), 1);
    s.wait_for_deadline();
    answers(&mut s, 1);
    assert!(s.state.accounts.is_empty());
    assert_eq!(at_work(&s), 2);
}

#[test]
fn an_iteration_that_the_provider_refused_does_not_count() {
    let mut s = Scenario::with(|settings| {
        accounts(settings);
        settings.max_iterations = 2;
        settings.stuck_threshold = 2;
    });
    s.add("one").well_until("iteration");
    for _ in 0..5 {
        let head = s.attempt(1).head.clone();
        over(
            &mut s,
            1,
            RunEnd {
                head,
                ..blamed(Cause::Overloaded)
            },
        );
        s.wait_for_deadline();
    }
    assert_eq!(s.attempt(1).without_commit, 0);
    s.iteration(&agent(1), exit(0));
    assert_eq!(s.attempt(1).phase, AttemptPhase::Working);
    s.iteration(&agent(1), exit(0));
    assert_eq!(s.idea(1).status, IdeaStatus::Timeout);
    let why = s.idea(1).last_error.clone().unwrap();
    assert_snapshot!(why, @r"used all 2 iterations (completion.maxIterations) without COMPLETE");
}

#[test]
fn waiting_for_the_provider_is_not_charged_to_the_attempt() {
    const ALL: i64 = 30 * 60_000;
    let taking = |end: RunEnd| RunEnd {
        duration_ms: ALL - 1,
        ..end
    };
    let timeout = |s: &Scenario| {
        let asked = s.state.outbox.values().next_back();
        match asked {
            Some(Effect::Run(effect::Run { timeout_ms, .. })) => *timeout_ms,
            _ => panic!("nothing runs"),
        }
    };
    let mut s = working(1);
    assert_eq!(timeout(&s), ALL);
    for cause in [Cause::Limit { until: None }, Cause::Overloaded] {
        over(&mut s, 1, taking(blamed(cause)));
        // However long it sleeps.
        s.wait(86_400_000);
        assert_eq!(s.attempt(1).spent_ms, 0);
        assert_eq!(timeout(&s), ALL);
        answers(&mut s, 1);
    }
    // What it did not wait for is its own, also where that does not count as an iteration.
    over(&mut s, 1, taking(end(0, Verdict::Cut)));
    s.wait_for_deadline();
    assert_eq!(timeout(&s), 1);
    over(&mut s, 1, taking(end(0, Verdict::Complete)));
    assert_eq!(s.idea(1).status, IdeaStatus::Timeout);
}

#[test]
fn five_cut_off_iterations_in_a_row_are_a_failure() {
    let mut s = working(1);
    let mut waits = Vec::new();
    for _ in 0..4 {
        over(&mut s, 1, end(0, Verdict::Cut));
        let until = s.attempt(1).not_before.unwrap();
        waits.push(until.since(s.now));
        s.wait_for_deadline();
    }
    assert_eq!(waits, [1_000, 2_000, 4_000, 8_000]);
    s.quietly();
    over(&mut s, 1, end(0, Verdict::Cut));
    assert_snapshot!(s.then(), @r"
    run r0005-ed-001-i5 Exited { code: 0 }
    attemptEnded {agent: ed-001, end: failed, keepWorktree: true, message: the agent ended before it was finished, 5 times in a row; its output: swarm agent logs ed-001, status: failed}
    end #6
    ");
    // One that is complete in between begins the count again.
    let mut s = working(1);
    for _ in 0..4 {
        over(&mut s, 1, end(0, Verdict::Cut));
        s.wait_for_deadline();
    }
    over(&mut s, 1, end(0, Verdict::Complete));
    over(&mut s, 1, end(0, Verdict::Cut));
    assert_eq!(s.attempt(1).excused.cut, 1);
}

#[test]
fn five_silent_iterations_in_a_row_are_a_timeout() {
    let mut s = working(1);
    for _ in 0..4 {
        over(&mut s, 1, RunEnd::new(RunEndKind::Idle));
        assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
        s.wait_for_deadline();
    }
    over(&mut s, 1, RunEnd::new(RunEndKind::Idle));
    assert_eq!(s.state.ended[&agent(1)].end, AttemptEnd::TimedOut);
    assert_eq!(s.idea(1).status, IdeaStatus::Timeout);
    assert_snapshot!(s.idea(1).last_error.clone().unwrap(), @r"the agent wrote nothing for agents.idleMinutes, 5 times in a row; its output: swarm agent logs ed-001");
}

#[test]
fn silence_while_waiting_is_charged_to_the_account() {
    let mut s = working(1);
    let how = RunEndKind::Idle;
    over(&mut s, 1, RunEnd { how, ..limit(None) });
    assert_eq!(s.attempt(1).phase, AttemptPhase::Backoff);
    assert_eq!(s.attempt(1).excused.cut, 0);
    let account = s.state.accounts.values().next().unwrap();
    assert_eq!(account.kind, HoldKind::Limit);
}

#[test]
fn complete_counts_only_if_the_program_completed_or_was_stopped() {
    let ended = |how| RunEnd {
        how,
        ..end(0, Verdict::Cut)
    };
    for (ending, counts) in [
        (end(0, Verdict::Cut), false),
        (blamed(Cause::Overloaded), false),
        (end(1, Verdict::Complete), true),
        (ended(RunEndKind::TimedOut), true),
        (ended(RunEndKind::Idle), true),
        (ended(RunEndKind::Lost), true),
    ] {
        let mut s = working(1);
        s.says(&agent(1), Signal::Complete(None));
        over(&mut s, 1, ending.clone());
        let gating = s.attempt(1).phase == AttemptPhase::Gating;
        assert_eq!(gating, counts, "{ending:?}");
    }
}

#[test]
fn an_invalid_request_fails_at_once() {
    let mut s = working(1);
    over(&mut s, 1, blamed(Cause::Other));
    assert_eq!(s.idea(1).status, IdeaStatus::Failed);
    assert_snapshot!(s.idea(1).last_error.clone().unwrap(), @r"the agent failed: try again later; its output: swarm agent logs ed-001");
}

#[test]
fn a_message_that_the_provider_refused_is_sent_again() {
    let mut s = working(1);
    over(&mut s, 1, limit(None));
    let (id, text) = (agent(1), "look at the tests".into());
    s.command(Command::SayToAgent { id, text });
    s.wait_for_deadline();
    over(&mut s, 1, limit(None));
    assert_eq!(s.attempt(1).messages, ["look at the tests"]);
}

#[test]
fn a_held_account_holds_across_a_restart_and_the_trying_run_is_adopted() {
    let mut s = working(2);
    over(&mut s, 1, limit(None));
    over(&mut s, 2, limit(None));
    s.restart();
    assert_eq!(at_work(&s), 0);
    s.wait_for_deadline().restart();
    assert_eq!(at_work(&s), 1);
    answers(&mut s, 1);
    assert_eq!(at_work(&s), 2);
}
