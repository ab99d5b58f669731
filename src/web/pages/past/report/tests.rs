//! The page tells what `swarm report --json` tells.

use super::read;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::operation::Command;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::Scenario;
use crate::domain::testkit::{START, idea};
use crate::domain::usage::{Bill, MicroUsd};
use crate::view;
use crate::web::pages::checkpoints::testkit::World;

/// One idea that landed after a crash that cost a quarter of a dollar.
fn story() -> Scenario {
    let mut story = Scenario::running();
    story.add("first").well_until("iteration");
    let run = story.attempt(1).run.clone().unwrap();
    let (effect, _) = story.state.run_effect(&run).unwrap();
    let bill = Bill {
        cost: Some(MicroUsd(250_000)),
        ..Bill::default()
    };
    let killed = RunEndKind::Signalled { signal: 9 };
    let end = RunEnd {
        bill: Some(bill),
        ..RunEnd::new(killed)
    };
    story.run_over(effect, end).all_goes_well();
    for _ in 0..5 {
        if story.idea(1).status == IdeaStatus::Done {
            return story;
        }
        story.wait_for_deadline().all_goes_well();
    }
    panic!("it never lands");
}

#[tokio::test]
async fn its_figures_are_those_of_the_view() {
    let story = landed_and_waiting();
    let report = view::report(&story.state, None);
    let page = World::of(&story.state).page("report").await;
    let rows = page.matches("id=\"report-idea-").count();
    let all = [
        &report.landed,
        &report.failed,
        &report.nothing_to_land,
        &report.waiting,
    ];
    assert_eq!(rows, all.into_iter().map(Vec::len).sum::<usize>());
    assert!(
        report.landed.len() == 1 && !report.waiting.is_empty(),
        "{report:?}"
    );
    assert!(page.contains("One idea landed"), "{page}");
    assert!(page.contains("id=\"report-markdown\""), "{page}");
}

/// One idea landed, another waits for it to be released.
fn landed_and_waiting() -> Scenario {
    let mut story = Scenario::running();
    story.add("*first* [link](x) `code`").all_goes_well();
    story.wait(60_000).add("second");
    story.command(Command::HoldIdea { id: idea(2) });
    story
}

/// One idea landed for a quarter of a dollar; another failed for half of one.
fn landed_and_failed() -> Scenario {
    let mut story = story();
    story.wait(60_000).add("second").well_until("iteration");
    let (agent, attempt) = story.state.agents.iter().next().unwrap();
    let (agent, run) = (agent.clone(), attempt.run.clone().unwrap());
    story.says(&agent, Signal::Blocked(Some("no map".into())));
    let (effect, _) = story.state.run_effect(&run).unwrap();
    let bill = Bill {
        cost: Some(MicroUsd(500_000)),
        ..Bill::default()
    };
    let end = RunEnd {
        bill: Some(bill),
        ..RunEnd::new(RunEndKind::Exited { code: 0 })
    };
    story.run_over(effect, end).all_goes_well();
    assert_eq!(story.idea(2).status, IdeaStatus::Blocked);
    story
}

#[tokio::test]
async fn its_first_sentence_is_all_that_was_spent_and_what_went_into_what_landed() {
    let story = landed_and_failed();
    let world = World::of(&story.state);
    let until = story.state.swarm.last_event_at;
    let between = until.plus_millis(-30_000);
    for (since, address, sentence) in [
        (
            None,
            "report".to_owned(),
            "$0.75 was spent, $0.25 of it on what landed.",
        ),
        (
            Some(between),
            format!("report?since={between}"),
            "$0.50 was spent.",
        ),
    ] {
        let used = view::report(&story.state, since).used;
        let all = format!("${:.2} was spent", used.usd + used.estimated_usd);
        assert!(sentence.starts_with(&all), "{sentence}: {used:?}");
        let page = world.page(&address).await;
        assert!(page.contains(sentence), "{sentence}: {page}");
    }
}

#[tokio::test]
async fn what_came_before_the_period_is_left_out() {
    let mut story = landed_and_waiting();
    story.wait(3 * 3_600_000).add("third");
    let world = World::of(&story.state);
    let until = story.state.swarm.last_event_at;
    let (old, new) = (
        until.plus_millis(-4 * 3_600_000),
        until.plus_millis(-3_600_000),
    );
    let since = |at: crate::domain::time::Timestamp| format!("report?since={at}");
    assert!(world.page(&since(old)).await.contains("One idea landed"));
    assert!(world.page(&since(new)).await.contains("No ideas landed"));
}

#[tokio::test]
async fn markdown_has_no_markup_of_others() {
    let story = landed_and_waiting();
    let page = World::of(&story.state).page("report").await;
    assert!(page.contains(r"\*first\* \[link\](x) \`code\`"), "{page}");
}

#[test]
fn what_an_idea_met_on_its_way_is_counted() {
    let story = story();
    let bumps = view::bumps(&story.state, None);
    assert_eq!(bumps.len(), 1, "{bumps:?}");
    let way = view::on_the_way(&bumps);
    assert_eq!(way[&idea(1)], "crashed once");
    let later = story.now.plus_millis(1);
    assert!(view::bumps(&story.state, Some(later)).is_empty());
}

#[test]
fn the_profiles_share_what_the_report_says() {
    let story = story();
    let all = view::report(&story.state, None).used;
    assert_eq!(format!("{:.2}", all.usd), "0.25");
    let shares = view::used_by_profile(&story.state, None);
    assert_eq!(shares.len(), 1);
    assert_eq!(shares.values().next(), Some(&all));
}

#[test]
fn a_period_is_a_span_or_a_time() {
    assert_eq!(read("12h", START), Some(START.plus_millis(-12 * 3_600_000)));
    assert_eq!(read("7d", START), Some(START.plus_millis(-7 * 86_400_000)));
    let time = read("2026-01-31T22:00:00Z", START).unwrap();
    assert_eq!(time.to_string(), "2026-01-31T22:00:00.000Z");
    for wrong in [
        "",
        "h",
        "0h",
        "-3h",
        "12x",
        "99999999999999999999d",
        "9223372036854775807w",
    ] {
        assert_eq!(read(wrong, START), None, "{wrong}");
    }
}
