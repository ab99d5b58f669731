//! People are told of each thing once, again when it comes up again, and once when a night ends.

use insta::assert_snapshot;

use crate::domain::attention::NoticeKind;
use crate::domain::attention::rest::{Rest, rest};
use crate::domain::event::{Event, NeedArose, NightEnded};
use crate::domain::hook::{HookName, HookSettings};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::operation::Command;
use crate::domain::outcome::{
    BaselineReady, LandOutcome, NotifyOutcome, TreeSetup, WorktreeReleased,
};
use crate::domain::settings::{BaselineMode, Settings, Webhook};
use crate::domain::state::IdeaStatus;
use crate::domain::state::attention::Attention;
use crate::domain::testkit::outcomes::{self, land_blocked};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea, oid};

const HOOK: HookSettings = HookSettings {
    timeout_ms: 30_000,
    veto_on_timeout: false,
    again: true,
};

fn hook(settings: &mut Settings) {
    settings.hooks = [(HookName::OnNeedsYou, HOOK)].into();
    settings.crash_retries = 0;
}

fn webhook(settings: &mut Settings) {
    settings.webhook = Some(Webhook { kinds: None });
    settings.crash_retries = 0;
}

/// What people were told, each with the number of its event.
fn told(s: &Scenario) -> Vec<(u64, &str)> {
    let told = (1..)
        .zip(&s.log)
        .filter_map(|(seq, (_, event))| match event {
            Event::NeedArose(NeedArose { kind, .. }) => Some((seq, kind.as_str())),
            Event::NightEnded(_) => Some((seq, NoticeKind::Ended.as_str())),
            _ => None,
        });
    told.collect()
}

fn kinds(s: &Scenario) -> Vec<&str> {
    told(s).into_iter().map(|(_, kind)| kind).collect()
}

fn recap(s: &Scenario) -> &str {
    let mut ends = s.log.iter().rev();
    let found = ends.find_map(|(_, event)| match event {
        Event::NightEnded(NightEnded { message, .. }) => Some(message.as_str()),
        _ => None,
    });
    found.expect("no night ended")
}

/// Its agent's program crashes, and the idea fails.
fn crashes(s: &mut Scenario, number: u64) {
    s.well_until("iteration")
        .iteration(&agent(number), exit(1))
        .all_hooks();
}

#[test]
fn a_failed_idea_is_announced_once_whatever_else_happens() {
    let mut s = Scenario::with(hook);
    s.add("one");
    crashes(&mut s, 1);
    assert_eq!(s.idea(1).status, IdeaStatus::Failed);
    assert_eq!(kinds(&s), ["failed", "ended"]);
    s.wait(600_000).restart().all_hooks().wait(1_000);
    s.command(Command::Shutdown { keep_agents: false });
    s.restart()
        .restart()
        .load(|settings| settings.max_iterations += 1);
    assert_eq!(kinds(&s), ["failed", "ended"], "told again");
}

#[test]
fn a_thing_that_comes_up_again_is_new() {
    let mut s = Scenario::with(hook);
    s.add("one");
    crashes(&mut s, 1);
    s.command(Command::RetryIdea { id: idea(1) });
    assert!(s.state.attention.told.is_empty(), "it is settled");
    crashes(&mut s, 2);
    assert_eq!(kinds(&s), ["failed", "ended", "failed", "ended"]);
}

#[test]
fn the_hook_gets_kind_idea_message_and_commands() {
    let mut s = Scenario::with(hook);
    s.add("one")
        .well_until("iteration")
        .iteration(&agent(1), exit(1));
    let call = &s.state.hooks[0];
    assert_eq!((call.hook, call.seq), (HookName::OnNeedsYou, told(&s)[0].0));
    let facts: Vec<String> = call.facts.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_snapshot!(facts.join("\n"), @r"
    COMMANDS=swarm idea retry idea-001
    swarm idea cancel idea-001
    IDEA_ID=idea-001
    KIND=failed
    MESSAGE=idea-001 failed: the agent exited with code 1; its output: swarm agent logs ed-001 (run r0001-ed-001-i1)
    ");
}

#[test]
fn what_stands_already_is_announced_once_when_somebody_is_to_be_told() {
    let mut s = Scenario::with(|settings| settings.crash_retries = 0);
    s.add("one");
    crashes(&mut s, 1);
    assert_eq!(kinds(&s), Vec::<&str>::new(), "nobody is to be told");
    assert_eq!(s.state.attention, Attention::default());
    s.restart().load(hook).all_hooks();
    assert_eq!(kinds(&s), ["failed"], "and no night: nothing was done");
    s.restart().all_hooks();
    assert_eq!(kinds(&s), ["failed"]);
}

#[test]
fn a_hundred_failures_are_a_hundred_announcements_and_one_end() {
    let mut s = Scenario::with(|settings| {
        hook(settings);
        settings.failures_to_pause = 0;
        settings.max_parallel = 100;
    });
    for _ in 0..100 {
        s.add("one");
    }
    while s.pending("prepareWorktree").is_some() {
        s.answer("prepareWorktree", outcomes::prepared());
    }
    for number in 1..=100 {
        s.iteration(&agent(number), exit(1));
    }
    s.all_hooks();
    let all = kinds(&s);
    assert_eq!(all.iter().filter(|kind| **kind == "failed").count(), 100);
    assert_eq!(all.iter().filter(|kind| **kind == "ended").count(), 1);
}

#[test]
fn a_checkout_that_swarm_tries_again_by_itself_is_announced_once() {
    let mut s = Scenario::with(hook);
    s.add("one").well_until("land");
    s.answer(
        "land",
        land_blocked("local changes are in the way", &["a.rs"]),
    );
    s.all_hooks();
    assert_eq!(kinds(&s), ["checkout", "ended"]);
    for _ in 0..3 {
        s.wait_for_deadline().well_until("land");
        s.answer(
            "land",
            land_blocked("local changes are in the way", &["a.rs"]),
        );
        s.all_hooks();
    }
    s.restart().well_until("land");
    s.answer(
        "land",
        land_blocked("local changes are in the way", &["a.rs"]),
    );
    s.all_hooks();
    let checkouts = kinds(&s).into_iter().filter(|kind| *kind == "checkout");
    assert_eq!(checkouts.count(), 1, "{:?}", kinds(&s));
    s.wait_for_deadline().all_goes_well();
    assert!(s.state.attention.told.is_empty());
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_red_target_is_announced_once_until_it_is_green_or_another_command_fails() {
    let mut s = Scenario::with(|settings| {
        hook(settings);
        settings.baseline = BaselineMode::Require;
        settings.quality_commands = vec!["build".into(), "check".into()];
    });
    let at = |number| BaselineReady {
        commit: oid(number),
        warm: false,
        setup: TreeSetup::default(),
        probe: None,
    };
    s.add("one")
        .answer("prepareBaseline", at(1))
        .check(exit(1))
        .all_hooks();
    assert_eq!(kinds(&s), ["target"]);
    s.wait_for_deadline()
        .answer("prepareBaseline", at(1))
        .check(exit(1));
    s.restart().answer("prepareBaseline", at(1)).check(exit(1));
    s.restart().restart().all_hooks();
    assert_eq!(kinds(&s), ["target"], "told again");
    s.answer("prepareBaseline", at(2))
        .check(exit(0))
        .check(exit(1))
        .all_hooks();
    assert_eq!(kinds(&s), ["target", "target"], "another command fails");
    s.wait_for_deadline().answer("prepareBaseline", at(3));
    s.check(exit(0)).check(exit(0)).all_hooks();
    assert!(s.state.attention.told.is_empty(), "it is green");
}

#[test]
fn a_night_ends_once_and_says_what_it_led_to() {
    let mut s = Scenario::with(hook);
    s.add("one").add("two").add("three");
    crashes(&mut s, 1);
    s.all_goes_well();
    assert_eq!(kinds(&s), ["failed", "ended"]);
    assert_snapshot!(recap(&s), @r"nothing can continue by itself: 2 landed, 1 failed, 0 waiting, cost unknown");
    s.restart().all_hooks().wait(3_600_000);
    assert_eq!(kinds(&s), ["failed", "ended"], "a restart is no night");
    s.add("four").all_goes_well();
    assert_eq!(kinds(&s), ["failed", "ended", "ended"]);
    assert_snapshot!(recap(&s), @r"nothing can continue by itself: 1 landed, 0 failed, 0 waiting, cost unknown");
}

#[test]
fn a_night_goes_on_over_a_restart_and_ends_with_all_that_landed() {
    let mut s = Scenario::with(|settings| {
        hook(settings);
        settings.max_parallel = 1;
    });
    s.add("one").add("two").well_until("land").one_goes_well();
    while s.state.attention.night.as_ref().unwrap().landed.is_empty() {
        s.one_goes_well();
    }
    s.restart().all_goes_well();
    assert_eq!(kinds(&s), ["ended"]);
    assert!(recap(&s).contains("2 landed"), "{}", recap(&s));
}

#[test]
fn nothing_is_announced_at_a_daemon_that_has_nothing_to_do() {
    let mut s = Scenario::with(hook);
    s.wait(60_000).restart().wait(60_000);
    s.command(Command::Shutdown { keep_agents: false });
    assert_eq!(kinds(&s), Vec::<&str>::new());
}

#[test]
fn a_pause_in_the_night_ends_it_and_says_why() {
    let mut s = Scenario::with(hook);
    s.add("one").add("two").add("three").well_until("iteration");
    s.command(Command::Pause {
        reason: Some("the budget of the day is used up".into()),
    });
    s.all_goes_well();
    assert_eq!(s.state.swarm.phase, SwarmPhase::Paused);
    assert_eq!(kinds(&s), ["paused", "ended"]);
    let expected =
        "1 landed, 0 failed, 2 waiting, cost unknown; paused: the budget of the day is used up";
    assert!(recap(&s).ends_with(expected), "{}", recap(&s));
}

#[test]
fn telling_that_a_night_ended_begins_no_other_one() {
    let mut s = Scenario::with(hook);
    s.add("one").well_until("gate").check(exit(127)).all_hooks();
    s.all_goes_well();
    assert!(s.state.waits_for_command(s.attempt(1)), "its agent waits");
    assert_eq!(kinds(&s), ["paused", "ended"]);
}

#[test]
fn the_webhook_gets_one_notice_at_a_time_in_order_and_each_once() {
    let mut s = Scenario::with(webhook);
    s.add("one");
    crashes(&mut s, 1);
    let seqs: Vec<u64> = told(&s).iter().map(|(seq, _)| *seq).collect();
    assert_eq!(s.state.attention.outgoing.len(), 2);
    assert_eq!(rest(&s.state), Rest::Busy, "the first try counts");
    s.quietly().answer("notify", NotifyOutcome::Delivered);
    s.answer("notify", NotifyOutcome::Delivered);
    let (first, second) = (seqs[0], seqs[1]);
    assert_eq!(
        s.then(),
        format!(
            "noticeDelivered {{about: {first}}}\nend #3\nask #4 notify {second}\n\
            noticeDelivered {{about: {second}}}\nend #4"
        )
    );
    assert_eq!(rest(&s.state), Rest::Idle);
    s.restart().wait(3_600_000);
    assert!(s.pending("notify").is_none(), "told again");
}

#[test]
fn kinds_that_are_not_wanted_are_not_sent() {
    let mut s = Scenario::with(|settings| {
        webhook(settings);
        settings.webhook = Some(Webhook {
            kinds: Some([NoticeKind::Ended].into()),
        });
    });
    s.add("one");
    crashes(&mut s, 1);
    let outgoing = s.state.attention.outgoing.iter();
    let sent: Vec<NoticeKind> = outgoing.map(|notice| notice.kind).collect();
    assert_eq!(sent, [NoticeKind::Ended]);
}

/// A swarm whose webhook is being told for the first time that an idea failed.
fn telling() -> Scenario {
    let mut s = Scenario::with(|settings| {
        webhook(settings);
        settings.webhook = Some(Webhook {
            kinds: Some([NoticeKind::Failed].into()),
        });
    });
    s.add("one");
    crashes(&mut s, 1);
    s
}

fn later(after_ms: Option<i64>, jitter: u16) -> NotifyOutcome {
    let why = "example.com answered with HTTP 503".into();
    NotifyOutcome::Later {
        why,
        after_ms,
        jitter,
    }
}

#[test]
fn a_failed_delivery_is_repeated_after_growing_waits_for_about_an_hour() {
    let mut s = telling();
    let begun = s.now;
    let mut waits = Vec::new();
    while !s.state.attention.outgoing.is_empty() {
        s.answer("notify", later(None, 0));
        assert_ne!(rest(&s.state), Rest::Busy, "nobody waits for a repetition");
        let before = s.now;
        if !s.state.attention.outgoing.is_empty() {
            s.wait_for_deadline();
            waits.push(s.now.since(before) / 1_000);
        }
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
    assert!(s.now.since(begun) < 3_600_000);
    let warning = &s.state.warnings["webhook"].message;
    assert!(
        warning.contains("about idea-001") && warning.contains("HTTP 503"),
        "{warning}"
    );
}

#[test]
fn the_receiver_and_chance_decide_how_long_to_wait() {
    let wait = |outcome| {
        let mut s = telling();
        s.answer("notify", outcome);
        let before = s.now;
        s.wait_for_deadline();
        assert!(s.pending("notify").is_some());
        s.now.since(before)
    };
    assert_eq!(wait(later(Some(60_000), 0)), 60_000);
    assert_eq!(wait(later(Some(1), 0)), 5_000);
    assert_eq!(wait(later(None, 1_000)), 6_250);
}

#[test]
fn a_refused_notice_is_a_warning_at_once_and_success_clears_it() {
    let mut s = telling();
    let why = "example.com answered with HTTP 404".to_owned();
    s.answer("notify", NotifyOutcome::Refused { why });
    assert!(s.state.attention.outgoing.is_empty());
    assert!(s.state.warnings["webhook"].message.contains("HTTP 404"));
    s.add("two");
    crashes(&mut s, 2);
    s.answer("notify", NotifyOutcome::Delivered);
    assert!(!s.state.warnings.contains_key("webhook"));
}

#[test]
fn a_receiver_that_hangs_delays_neither_work_nor_the_end_of_the_daemon() {
    let mut s = telling();
    s.add("two").answer("prepareWorktree", outcomes::prepared());
    s.completes(&agent(2));
    s.answer("seal", outcomes::sealed(2, false)).check(exit(0));
    s.answer("buildMerge", outcomes::built(3, 1));
    s.answer("prepareVerify", outcomes::verify_ready())
        .check(exit(0));
    s.answer("land", LandOutcome::Landed);
    s.answer("releaseWorktree", WorktreeReleased::default());
    assert!(s.pending("notify").is_some(), "it hangs");
    s.command(Command::Shutdown { keep_agents: false });
    assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped);
    let left = s.state.outbox.len();
    assert_eq!(left, 1, "the next start sends it again");
    s.restart().answer("notify", NotifyOutcome::Delivered);
    assert!(s.state.attention.outgoing.is_empty());
}

#[test]
fn without_a_webhook_its_notices_are_dropped() {
    let mut s = telling();
    s.answer("notify", later(None, 0));
    s.load(|settings| settings.webhook = None);
    assert!(s.state.attention.outgoing.is_empty());
    assert!(!s.state.warnings.contains_key("webhook"));
}
