//! What is done is what was shown, or nothing.

use axum::extract::{Form, Path, Query, State};
use futures_util::FutureExt as _;

use super::rollback::{Confirmed, ask_rollback, roll_back};
use super::undo;
use super::{Named, Shown, check, create, delete};
use crate::domain::command::Command;
use crate::domain::testkit::scenario::Scenario;
use crate::domain::testkit::{checkpoint_name, idea, oid};
use crate::web::pages::checkpoints::testkit::{World, body};
use crate::web::pages::checkpoints::tests::a_preview;

fn story() -> Scenario {
    let mut story = Scenario::running();
    story.add("first").all_goes_well();
    story.wait(1_000).checkpoint("mid");
    story
}

fn world() -> World {
    let world = World::of(&story().state);
    *world.told.preview.lock().unwrap() = Some(a_preview());
    world
}

fn confirmed(from: u64, to: u64, resume: bool) -> Form<Confirmed> {
    Form(Confirmed {
        from: oid(from).to_string(),
        to: oid(to).to_string(),
        resume: resume.then(|| "yes".to_owned()),
    })
}

fn mid() -> Path<String> {
    Path("mid".to_owned())
}

#[tokio::test]
async fn the_dialog_carries_what_it_shows() {
    let world = world();
    let answer = ask_rollback(State(world.site.clone()), mid()).await;
    assert_eq!(answer.status(), 200);
    let page = body(answer).await;
    let from = format!("name=\"from\" value=\"{}\"", oid(7));
    for words in [&*from, "Roll back 2 commits, 1 idea", "name=\"resume\""] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let unticked = !page.contains("name=\"resume\" value=\"yes\" checked");
    assert!(unticked, "{page}");
}

#[tokio::test]
async fn if_the_target_has_moved_nothing_happens_and_a_fresh_preview_comes() {
    for (from, to) in [(5, 1), (7, 2)] {
        let mut world = world();
        let answer = roll_back(State(world.site.clone()), mid(), confirmed(from, to, false)).await;
        assert_eq!(answer.status(), 409);
        let page = body(answer).await;
        assert!(page.contains("has moved since this was shown"), "{page}");
        assert!(page.contains("Roll back 2 commits, 1 idea"), "{page}");
        assert!(world.seat.next().now_or_never().is_none());
    }
}

#[tokio::test]
async fn what_was_shown_becomes_the_command() {
    for resume in [false, true] {
        let mut world = world();
        let asked = roll_back(State(world.site.clone()), mid(), confirmed(7, 1, resume));
        let asked = tokio::spawn(asked);
        let (command, answer) = world.seat.next().await.unwrap();
        let expected = Command::RollBack {
            name: checkpoint_name("mid"),
            pause: !resume,
            from: Some(oid(7)),
        };
        assert_eq!(command, expected);
        // The daemon ends before it answers: the person is told.
        drop(answer);
        drop(world.seat);
        let answer = asked.await.unwrap();
        assert!(answer.status().is_server_error(), "{}", answer.status());
    }
}

#[tokio::test]
async fn files_in_the_way_leave_no_button_but_the_command() {
    let world = world();
    let mut preview = a_preview();
    preview.dirty_files = vec!["pages/<hours>.txt".into()];
    preview.commands = vec!["git stash push -- 'pages/<hours>.txt'".into()];
    *world.told.preview.lock().unwrap() = Some(preview);
    let page = body(ask_rollback(State(world.site.clone()), mid()).await).await;
    assert!(
        page.contains("git stash push -- 'pages/&lt;hours&gt;.txt'"),
        "{page}"
    );
    assert!(page.contains("Look again"), "{page}");
    assert!(!page.contains("Roll back 2 commits, 1 idea"), "{page}");
}

#[tokio::test]
async fn a_name_is_checked_against_those_taken() {
    let world = world();
    for (name, free, words) in [
        ("mid", false, "exists already"),
        ("No Name", false, "lower-case"),
        ("new", true, "new is free"),
    ] {
        let named = Query(Named {
            name: name.into(),
            seq: None,
        });
        let answer = check(State(world.site.clone()), named).await.0;
        assert_eq!(answer["free"], free, "{name}: {answer}");
        assert!(
            answer["words"].as_str().unwrap().contains(words),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_form_sent_twice_makes_one_checkpoint() {
    let mut world = world();
    let named = Form(Named {
        name: "mid".into(),
        seq: Some(0),
    });
    let answer = create(State(world.site.clone()), named).await;
    assert_eq!(answer.status(), 303);
    assert!(world.seat.next().now_or_never().is_none());
}

#[tokio::test]
async fn another_checkpoint_of_the_same_name_is_not_deleted() {
    let mut world = world();
    let shown = Form(Shown { seq: Some(1) });
    let answer = delete(State(world.site.clone()), mid(), shown).await;
    assert_eq!(answer.status(), 409);
    assert!(world.seat.next().now_or_never().is_none());
}

fn undo_form(seq: u64) -> Form<undo::Asked> {
    let text = format!("seq={seq}");
    let uri = format!("/?{text}").parse().unwrap();
    let Query(asked) = Query::try_from_uri(&uri).unwrap();
    Form(asked)
}

#[tokio::test]
async fn only_what_was_shown_is_taken_back() {
    let mut story = story();
    story
        .add("second")
        .command(Command::CancelIdea { id: idea(2) });
    let last = story.state.last_undoable().unwrap().seq;
    let mut world = World::of(&story.state);
    let page = undo::ask(State(world.site.clone()), Query(undo_form(0).0)).await;
    let page = body(page).await;
    assert!(
        page.contains("Take back the cancellation of idea-002?"),
        "{page}"
    );
    assert!(
        page.contains(&format!("name=\"seq\" value=\"{last}\"")),
        "{page}"
    );
    let answer = undo::take_back(State(world.site.clone()), undo_form(last + 1)).await;
    assert_eq!(answer.status(), 409);
    assert!(world.seat.next().now_or_never().is_none());
    let asked = tokio::spawn(undo::take_back(State(world.site.clone()), undo_form(last)));
    let (command, _) = world.seat.next().await.unwrap();
    let expected = Command::Undo {
        seq: last,
        from: None,
    };
    assert_eq!(command, expected);
    asked.abort();
}
