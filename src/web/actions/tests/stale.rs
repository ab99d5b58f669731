//! A form acts on what it was drawn for; if that is something else now, a fresh dialog comes.

use super::kit::{Answer, World};
use super::working;
use crate::domain::effect::ConflictLevel;
use crate::domain::event::{Event, TargetRewritten};
use crate::domain::ids::AgentId;
use crate::domain::operation::Command;
use crate::domain::signal::Signal;
use crate::domain::testkit::outcomes::{conflicted, resolution_started};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea, oid};

/// `ed-001` asks.
fn asking(question: &str) -> Scenario {
    let mut story = Scenario::with(|settings| settings.max_parallel = 1);
    story.add("one").well_until("iteration");
    asks(&mut story, question);
    story
}

fn asks(story: &mut Scenario, question: &str) {
    story.says(&agent(1), Signal::NeedsHuman(Some(question.into())));
    story.iteration(&agent(1), exit(0));
}

fn say(id: &AgentId, text: &str) -> Command {
    Command::SayToAgent {
        id: id.clone(),
        text: text.into(),
    }
}

/// The answer to the question that this page shows.
fn answer_to(page: &Answer, text: &str) -> String {
    let (op, shown) = (page.hidden("op"), page.hidden("shown"));
    format!("op={op}&shown={shown}&text={text}")
}

/// Two questions in turn; the page of the first one, and the world of the second one.
async fn two_questions(first_answer: &str) -> (World, Answer) {
    let mut story = asking("Which colour?");
    let first = World::of(&story).get("agents/ed-001").await;
    let drawn = story.state.clone();
    story.command(say(&agent(1), first_answer));
    story.well_until("iteration");
    asks(&mut story, "Delete the data?");
    (World::after(&drawn, &story), first)
}

#[tokio::test]
async fn an_answer_reaches_the_question_that_its_form_showed_and_no_other() {
    let (world, first) = two_questions("blue").await;
    let path = "do/say/ed-001";
    let form = answer_to(&first, "yes");
    let refused = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!((refused.status, world.commands()), (409, vec![]));
    let says = refused.says();
    assert!(says.contains("is no longer open"), "{says}");
    assert!(says.contains("Delete the data?"), "{says}");
    assert!(refused.text.contains("yes</textarea>"), "{}", refused.text);
    // What came is a fresh form for the open question.
    let sheet = Answer::of_sheet(&refused);
    let form = answer_to(&sheet, "yes");
    let done = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!(done.status, 303);
    assert_eq!(world.commands(), [say(&agent(1), "yes")]);
}

#[tokio::test]
async fn the_same_word_answers_the_next_question_too() {
    let (world, first) = two_questions("yes").await;
    let path = "do/say/ed-001";
    // The first question was answered so: that answer is not sent once more.
    let form = answer_to(&first, "yes");
    let done = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!((done.status, world.commands()), (303, vec![]));
    // A page that is kept up to date has the name of the time when it was opened.
    let page = world.get("agents/ed-001").await;
    let form = format!(
        "op={}&shown={}&text=yes",
        first.hidden("op"),
        page.hidden_last("shown")
    );
    let done = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!(done.status, 303);
    assert_eq!(world.commands(), [say(&agent(1), "yes")]);
}

#[tokio::test]
async fn after_a_restart_a_repeated_answer_is_not_sent_again() {
    let mut world = World::of(&asking("Which colour?"));
    let form = answer_to(&world.get("agents/ed-001").await, "blue");
    for sent in [1, 0] {
        let done = world.send("POST", "do/say/ed-001", Some(&form), &[]).await;
        assert_eq!((done.status, world.commands().len()), (303, sent));
        world.restart();
    }
}

/// The resolver of a conflict asks.
fn conflict_asked(question: &str) -> Scenario {
    let mut story = Scenario::running();
    story.add("one").well_until("buildMerge");
    resolver_asks(&mut story, question);
    story
}

fn resolver_asks(story: &mut Scenario, question: &str) {
    story.answer("buildMerge", conflicted(ConflictLevel::Medium, &["a.rs"]));
    story.answer("startResolution", resolution_started(0x2001, &["a.rs"]));
    asks(story, question);
}

fn retry() -> Command {
    Command::RetryMerge { id: idea(1) }
}

#[tokio::test]
async fn an_answer_to_a_resolver_is_said_and_lets_it_try_again() {
    let mut world = World::of(&conflict_asked("polite or <b>loud</b>?"));
    let page = world.get("").await;
    let (_, need) = page
        .text
        .split_once("id=\"need-conflict-idea-001\"")
        .unwrap();
    let (need, _) = need.split_once("</ul>").unwrap();
    for words in [
        "asks you about a conflict",
        "polite or &lt;b&gt;loud&lt;/b&gt;?",
        "do/answer/idea-001",
        "Answer to the resolver",
        "do/resolve/idea-001",
    ] {
        assert!(need.contains(words), "{words}: {need}");
    }
    let need = Answer {
        status: 200,
        to: None,
        text: need.to_owned(),
    };
    let form = answer_to(&need, "loud");
    let expected = [vec![say(&agent(1), "loud"), retry()], vec![]];
    for sent in expected {
        let done = world
            .send("POST", "do/answer/idea-001", Some(&form), &[])
            .await;
        assert_eq!(done.status, 303, "{}", done.says());
        assert_eq!(world.commands(), sent);
        world.restart();
    }
}

#[tokio::test]
async fn an_answer_to_a_resolver_reaches_no_later_question() {
    let mut story = conflict_asked("polite or loud?");
    let first = World::of(&story).get("ideas/idea-001").await;
    let drawn = story.state.clone();
    story.command(say(&agent(1), "loud")).command(retry());
    resolver_asks(&mut story, "delete it?");
    let world = World::after(&drawn, &story);
    let (_, need) = first.text.split_once("do/answer/idea-001").unwrap();
    let need = Answer {
        status: 200,
        to: None,
        text: format!("name=\"op\" {need}"),
    };
    let shown = need.hidden("shown");
    let form = format!("op={}&shown={shown}&text=yes", first.hidden("op"));
    let refused = world
        .send("POST", "do/answer/idea-001", Some(&form), &[])
        .await;
    assert_eq!((refused.status, world.commands()), (409, vec![]));
    assert!(
        refused.says().contains("no longer open"),
        "{}",
        refused.says()
    );
}

#[tokio::test]
async fn a_retry_is_of_the_idea_as_it_was_shown() {
    let world = World::of(&working());
    world.elsewhere(Command::CancelIdea { id: idea(2) }).await;
    let page = world.get("ideas/idea-002").await;
    world.elsewhere(Command::RetryIdea { id: idea(2) }).await;
    world.elsewhere(Command::CancelIdea { id: idea(2) }).await;
    world.commands();
    let form = format!("op={}&shown={}", page.hidden("op"), page.hidden("shown"));
    let path = "do/retry/idea-002";
    let refused = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!((refused.status, world.commands()), (409, vec![]));
    assert!(refused.says().contains("It is cancelled now"));
    let fresh = Answer::of_sheet(&refused);
    let form = format!("op={}&shown={}", fresh.hidden("op"), fresh.hidden("shown"));
    let done = world.send("POST", path, Some(&form), &[]).await;
    assert_eq!(done.status, 303);
    assert_eq!(world.commands(), [Command::RetryIdea { id: idea(2) }]);
}

#[tokio::test]
async fn a_later_pause_is_not_lifted() {
    let pause = |reason: &str| Command::Pause {
        reason: Some(reason.into()),
    };
    for later in ["lunch", "the disk burns"] {
        let world = World::of(&working());
        world.elsewhere(pause("lunch")).await;
        let page = world.get("").await;
        world.elsewhere(Command::Resume).await;
        world.elsewhere(pause(later)).await;
        world.commands();
        let form = format!("op={}&shown={}", page.hidden("op"), page.hidden("shown"));
        let refused = world.send("POST", "do/resume", Some(&form), &[]).await;
        assert_eq!((refused.status, world.commands()), (409, vec![]), "{later}");
        assert!(refused.says().contains(later), "{}", refused.says());
        let fresh = Answer::of_sheet(&refused);
        let (op, seq, shown) = (
            fresh.hidden("op"),
            fresh.hidden("seq"),
            fresh.hidden("shown"),
        );
        let form = format!("op={op}&seq={seq}&shown={shown}");
        let done = world.send("POST", "do/resume", Some(&form), &[]).await;
        assert_eq!(
            (done.status, world.commands()),
            (303, vec![Command::Resume])
        );
    }
}

#[tokio::test]
async fn a_stop_does_not_end_an_iteration_that_its_dialog_did_not_name() {
    let mut story = Scenario::with(|settings| settings.max_parallel = 1);
    let dialog = World::of(&story).get("do/stop").await;
    story.add("one").well_until("iteration");
    let world = World::of(&story);
    let form = |dialog: &Answer| {
        let seq = dialog.hidden("seq");
        format!("op={}&seq={seq}&how=now", dialog.hidden("op"))
    };
    let refused = world
        .send("POST", "do/stop", Some(&form(&dialog)), &[])
        .await;
    assert_eq!((refused.status, world.commands()), (409, vec![]));
    let says = refused.says();
    assert!(
        says.contains("New: ed-001 (iteration 1, idea-001)"),
        "{says}"
    );
    let busy = refused.hidden("busy").replace(' ', "+");
    let form = format!("{}&busy={busy}", form(&refused));
    world.send("POST", "do/stop", Some(&form), &[]).await;
    assert_eq!(world.commands(), [Command::ShutdownNow]);
}

#[tokio::test]
async fn work_that_is_missing_since_the_question_is_not_settled_unseen() {
    let rewritten = |dropped| {
        Event::TargetRewritten(TargetRewritten {
            from: oid(1),
            to: oid(2),
            dropped,
        })
    };
    let mut early = working();
    early.given([rewritten(vec![idea(8)])]);
    let dialog = World::of(&early).get("do/settle-target").await;
    let mut late = working();
    late.given([rewritten(vec![idea(8), idea(9)])]);
    let world = World::of(&late);
    let form = |dialog: &Answer| format!("op={}&choice=cancel", dialog.hidden("op"));
    let path = "do/settle-target";
    // Drawn now, but without the work that is missing since.
    let seq = world.read(|state| state.seq);
    let stale = format!("{}&missing=idea-008&seq={seq}", form(&dialog));
    let refused = world.send("POST", path, Some(&stale), &[]).await;
    assert_eq!((refused.status, world.commands()), (409, vec![]));
    assert!(
        refused.says().contains("New: idea-009"),
        "{}",
        refused.says()
    );
    let fresh = format!("{}&missing=idea-008&missing=idea-009", form(&refused));
    world.send("POST", path, Some(&fresh), &[]).await;
    assert_eq!(world.commands().len(), 1);
}

#[tokio::test]
async fn several_ideas_are_cancelled_only_after_a_dialog_that_lists_them_as_they_are() {
    let world = World::of(&working());
    let both = "id=idea-001&id=idea-002";
    let at_once = world.post("do/bulk", &format!("verb=cancel&{both}")).await;
    assert_eq!((at_once.status, world.commands()), (400, vec![]));
    let path = "do/cancel-chosen";
    let dialog = world.get(&format!("{path}?{both}")).await;
    let says = dialog.says();
    for words in [
        "Cancel 2 ideas?",
        "ed-001 is stopped",
        "idea-002",
        "Pending",
    ] {
        assert!(says.contains(words), "{words}: {says}");
    }
    let form = |dialog: &Answer| {
        let (op, seq) = (dialog.hidden("op"), dialog.hidden("seq"));
        format!("op={op}&seq={seq}&{both}")
    };
    world.elsewhere(Command::HoldIdea { id: idea(2) }).await;
    world.commands();
    let stale = world.send("POST", path, Some(&form(&dialog)), &[]).await;
    assert_eq!((stale.status, world.commands()), (409, vec![]));
    assert!(
        stale.says().contains("idea-002 was held"),
        "{}",
        stale.says()
    );
    let done = world.send("POST", path, Some(&form(&stale)), &[]).await;
    assert_eq!(done.status, 303);
    let cancel = |number| Command::CancelIdea { id: idea(number) };
    assert_eq!(world.commands(), [cancel(1), cancel(2)]);
}
