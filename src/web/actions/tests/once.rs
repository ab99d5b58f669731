//! An action is done once or refused: sent twice, after a restart, and after its object changed.

use super::kit::World;
use super::working;
use crate::domain::operation::{Command, NewIdea};
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::idea;

const ADD: &str = "op=1-a&text=new";

#[tokio::test]
async fn a_form_that_is_sent_twice_acts_once() {
    let world = World::of(&working());
    let (first, second) = tokio::join!(
        world.send("POST", "do/add", Some(ADD), &[]),
        world.send("POST", "do/add", Some(ADD), &[]),
    );
    let third = world.send("POST", "do/add", Some(ADD), &[]).await;
    for answer in [first, second, third] {
        assert_eq!(answer.to.as_deref(), Some("ideas/idea-004"));
    }
    assert_eq!(world.commands().len(), 1);
}

#[tokio::test]
async fn another_text_or_another_page_is_another_operation() {
    let world = World::of(&working());
    world.post("do/add", "text=new").await;
    world.post("do/add", "text=new").await;
    assert_eq!(world.read(|state| state.ideas.iter().count()), 5);
    let form = "op=9999-b&text=again";
    world.send("POST", "do/add", Some(form), &[]).await;
    let form = "op=9999-b&text=and+again";
    world.send("POST", "do/add", Some(form), &[]).await;
    assert_eq!(world.read(|state| state.ideas.iter().count()), 7);
}

#[tokio::test]
async fn a_form_without_an_operation_is_refused() {
    let world = World::of(&working());
    let answer = world.send("POST", "do/add", Some("text=new"), &[]).await;
    assert_eq!(answer.status, 400);
    assert_eq!(world.commands(), []);
}

#[tokio::test]
async fn a_refused_form_may_be_sent_again() {
    let world = World::of(&working());
    let form = Some("op=9-a");
    let refused = world.send("POST", "do/assign/idea-004", form, &[]).await;
    assert_eq!(refused.status, 404);
    let new = NewIdea {
        text: "four".into(),
        ..NewIdea::default()
    };
    world.elsewhere(Command::AddIdea(new)).await;
    let accepted = world.send("POST", "do/assign/idea-004", form, &[]).await;
    assert_eq!(accepted.status, 303);
}

#[tokio::test]
async fn after_a_restart_a_repeated_idea_is_not_added_again() {
    let mut world = World::of(&working());
    let page = world.get("ideas/add").await;
    let form = format!("op={}&text=new&priority=3", page.hidden("op"));
    let first = world.send("POST", "do/add", Some(&form), &[]).await;
    assert_eq!(first.to.as_deref(), Some("ideas/idea-004"));
    world.restart();
    let again = world.send("POST", "do/add", Some(&form), &[]).await;
    assert_eq!(again.to.as_deref(), Some("ideas/idea-004"));
    assert_eq!(world.read(|state| state.ideas.iter().count()), 4);
    // A new page adds the same text again, as it was asked to.
    let page = world.get("ideas/add").await;
    let form = format!("op={}&text=new&priority=3", page.hidden("op"));
    let other = world.send("POST", "do/add", Some(&form), &[]).await;
    assert_eq!(other.to.as_deref(), Some("ideas/idea-005"));
}

#[tokio::test]
async fn several_ideas_of_which_one_was_added_before_a_kill_are_completed() {
    let mut world = World::of(&working());
    let page = world.get("ideas/add").await;
    let one = NewIdea {
        text: "one of two".into(),
        ..NewIdea::default()
    };
    world.elsewhere(Command::AddIdea(one)).await;
    world.restart();
    let form = format!(
        "op={}&several=yes&text=one+of+two%0A---%0Atwo+of+two",
        page.hidden("op")
    );
    world.send("POST", "do/add", Some(&form), &[]).await;
    let texts = world.read(|state| {
        let ideas = state.ideas.iter().skip(3);
        ideas
            .map(|(_, idea)| idea.text.to_string())
            .collect::<Vec<_>>()
    });
    assert_eq!(texts, ["one of two", "two of two"]);
}

#[tokio::test]
async fn after_a_restart_a_repeated_message_is_not_sent_again() {
    let mut world = World::of(&working());
    let form = format!("op={}-a&text=hello", world.read(|state| state.seq));
    world.send("POST", "do/say/ed-001", Some(&form), &[]).await;
    world.restart();
    world.commands();
    let again = world.send("POST", "do/say/ed-001", Some(&form), &[]).await;
    assert_eq!(again.to.as_deref(), Some("agents/ed-001"));
    assert_eq!(world.commands(), []);
}

#[tokio::test]
async fn what_changed_since_the_dialog_was_drawn_is_shown_before_anything_is_done() {
    let world = World::of(&working());
    let path = "do/cancel/idea-002";
    let dialog = world.get(path).await;
    let form = |dialog: &super::kit::Answer| {
        format!("op={}&seq={}", dialog.hidden("op"), dialog.hidden("seq"))
    };
    world.elsewhere(Command::HoldIdea { id: idea(2) }).await;
    let stale = world.send("POST", path, Some(&form(&dialog)), &[]).await;
    assert_eq!(stale.status, 409);
    let says = stale.says();
    assert!(
        says.contains("idea-002 has changed since you saw it"),
        "{says}"
    );
    assert!(says.contains("idea-002 was held"), "{says}");
    let status = || world.read(|state| state.ideas.get(&idea(2)).unwrap().status);
    assert_eq!(status(), IdeaStatus::Pending);
    // What came is a fresh dialog.
    let done = world.send("POST", path, Some(&form(&stale)), &[]).await;
    assert_eq!(done.status, 303);
    assert_eq!(status(), IdeaStatus::Cancelled);
}

#[tokio::test]
async fn what_happens_to_others_does_not_matter() {
    let world = World::of(&working());
    let path = "do/cancel/idea-002";
    let dialog = world.get(path).await;
    world.elsewhere(Command::HoldIdea { id: idea(3) }).await;
    let form = format!("op={}&seq={}", dialog.hidden("op"), dialog.hidden("seq"));
    let done = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!(done.status, 303);
}

#[tokio::test]
async fn after_a_restart_a_repeated_dialog_is_refused() {
    let mut world = World::of(&working());
    let path = "do/stop-agent/ed-001";
    let dialog = world.get(path).await;
    let form = format!("op={}&seq={}", dialog.hidden("op"), dialog.hidden("seq"));
    let done = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!(done.status, 303);
    world.restart();
    world.commands();
    let again = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!(again.status, 409);
    assert_eq!(world.commands(), []);
}
