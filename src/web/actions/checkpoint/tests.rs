//! What is done is what was shown, or nothing.

use std::future::Future;

use axum::extract::{Path, Query, RawForm, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::FutureExt as _;

use super::rollback::digests;
use super::{Typed, check};
use crate::daemon::checkpoints::list::{Dropped, Preview, Stopped};
use crate::domain::operation::Command;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::{Scenario, held};
use crate::domain::testkit::{agent, checkpoint_name, idea, oid};
use crate::web::actions::{act_about, act_plain, ask_about, ask_plain};
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

/// Opens a dialog: `rollback/mid`.
async fn ask(world: &World, address: &str) -> Response {
    let (site, query) = (State(world.site.clone()), RawQuery(None));
    match address.split_once('/') {
        Some((verb, id)) => {
            let path = Path((verb.to_owned(), id.to_owned()));
            ask_about(site, path, query, HeaderMap::new()).await
        }
        None => ask_plain(site, Path(address.to_owned()), query, HeaderMap::new()).await,
    }
}

/// Sends a form.
fn act(
    world: &World,
    address: &str,
    form: &str,
) -> impl Future<Output = Response> + Send + 'static {
    let (site, query) = (State(world.site.clone()), RawQuery(None));
    let form = RawForm(format!("op=1-test&{form}").into());
    let address = address.to_owned();
    async move {
        match address.split_once('/') {
            Some((verb, id)) => {
                let path = Path((verb.to_owned(), id.to_owned()));
                act_about(site, path, query, HeaderMap::new(), form).await
            }
            None => act_plain(site, Path(address), query, HeaderMap::new(), form).await,
        }
    }
}

fn confirmed(from: u64, to: u64) -> String {
    let digests = digests(&a_preview());
    format!("from={}&to={}&shown={digests}", oid(from), oid(to))
}

#[tokio::test]
async fn the_dialog_carries_what_it_shows() {
    let world = world();
    let answer = ask(&world, "rollback/mid").await;
    assert_eq!(answer.status(), 200);
    let page = body(answer).await;
    let from = format!("name=\"from\" value=\"{}\"", oid(7));
    let starts = "Once it goes on, 1 idea starts:</p><ul><li><span class=\"id\">idea-002</span>";
    for words in [
        &*from,
        "Roll back 2 commits, 1 idea",
        "name=\"resume\"",
        starts,
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let ticked = page.contains("name=\"resume\" value=\"yes\" checked");
    assert!(!ticked, "{page}");
}

#[tokio::test]
async fn if_the_target_has_moved_nothing_happens_and_a_fresh_preview_comes() {
    for (from, to) in [(5, 1), (7, 2)] {
        let mut world = world();
        let answer = act(&world, "rollback/mid", &confirmed(from, to)).await;
        assert_eq!(answer.status(), 409);
        let page = body(answer).await;
        assert!(page.contains("has moved since this was shown"), "{page}");
        assert!(page.contains("Roll back 2 commits, 1 idea"), "{page}");
        assert!(world.seat.next().now_or_never().is_none());
    }
}

#[tokio::test]
async fn a_rollback_that_would_do_more_than_its_dialog_said_is_not_begun() {
    type Change = fn(&mut Preview);
    let changes: [(Change, &str); 4] = [
        (|now| now.commits_lost.truncate(1), "the commits"),
        (
            |now| now.ideas_reverted[0].to = IdeaStatus::Failed,
            "the ideas",
        ),
        (
            |now| {
                now.agents_stopped.push(Stopped {
                    id: agent(9),
                    idea_id: idea(2),
                    iteration: 1,
                });
            },
            "the agents that are stopped",
        ),
        (
            |now| {
                now.messages_dropped.push(Dropped {
                    idea_id: idea(2),
                    message: "mind the gap".into(),
                });
            },
            "the messages that are lost",
        ),
    ];
    for (change, part) in changes {
        let mut world = world();
        change(world.told.preview.lock().unwrap().as_mut().unwrap());
        let answer = act(&world, "rollback/mid", &confirmed(7, 1)).await;
        assert_eq!(answer.status(), 409, "{part}");
        let page = body(answer).await;
        let words = format!("Changed since this was shown: {part}.");
        assert!(page.contains(&words), "{part}: {page}");
        assert!(world.seat.next().now_or_never().is_none());
    }
}

#[tokio::test]
async fn what_was_shown_becomes_the_command() {
    for (resume, pause) in [("", true), ("&resume=yes", false)] {
        let mut world = world();
        let form = confirmed(7, 1) + resume;
        let asked = tokio::spawn(act(&world, "rollback/mid", &form));
        let (command, answer) = world.seat.next().await.unwrap();
        let expected = Command::RollBack {
            name: checkpoint_name("mid"),
            pause,
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
    let page = body(ask(&world, "rollback/mid").await).await;
    let command = "git stash push -- 'pages/&lt;hours&gt;.txt'";
    assert!(page.contains(command), "{page}");
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
        let typed = Query(Typed { name: name.into() });
        let answer = check(State(world.site.clone()), typed).await.0;
        assert_eq!(answer["free"], free, "{name}: {answer}");
        let told = answer["words"].as_str().unwrap();
        assert!(told.contains(words), "{answer}");
    }
}

#[tokio::test]
async fn a_new_checkpoint_says_what_it_will_hold() {
    let page = body(ask(&world(), "checkpoint").await).await;
    for words in ["the status of 1 idea", "no unfinished work", "data-check="] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn another_checkpoint_of_the_same_name_is_not_deleted() {
    let mut world = world();
    let answer = act(&world, "checkpoint-delete/mid", "made=1").await;
    assert_eq!(answer.status(), 409);
    assert!(world.seat.next().now_or_never().is_none());
}

#[tokio::test]
async fn an_unknown_checkpoint_has_no_dialog() {
    let answer = ask(&world(), "rollback/midd").await;
    assert_eq!(answer.status(), 404);
    assert!(body(answer).await.contains("id you mean mid?"));
}

#[tokio::test]
async fn the_undo_of_a_rollback_names_the_ideas_that_go_back_to_work() {
    let mut story = story();
    story.command(Command::RollBack {
        name: checkpoint_name("mid"),
        pause: true,
        from: None,
    });
    story
        .rollback_ready(held(&story.state, |_| None))
        .all_goes_well();
    let world = World::of(&story.state);
    let mut preview = a_preview();
    // One does not change its status, but goes back to work.
    preview.ideas_starting = vec![idea(2), idea(3)];
    *world.told.preview.lock().unwrap() = Some(preview);
    let page = body(ask(&world, "undo").await).await;
    let (_, starts) = page.split_once("Then 2 ideas start:").unwrap();
    let (starts, _) = starts.split_once("</ul>").unwrap();
    assert!(
        starts.contains("idea-002") && starts.contains("idea-003"),
        "{page}"
    );
}

#[tokio::test]
async fn another_set_of_ideas_that_start_is_shown_before_a_rollback() {
    let mut world = world();
    world
        .told
        .preview
        .lock()
        .unwrap()
        .as_mut()
        .unwrap()
        .ideas_starting = vec![idea(3)];
    let answer = act(&world, "rollback/mid", &confirmed(7, 1)).await;
    assert_eq!(answer.status(), 409);
    let page = body(answer).await;
    assert!(
        page.contains("Changed since this was shown: what follows."),
        "{page}"
    );
    assert!(world.seat.next().now_or_never().is_none());
}

#[tokio::test]
async fn only_what_was_shown_is_taken_back() {
    let mut story = story();
    story.add("second");
    story.command(Command::CancelIdea { id: idea(2) });
    let seq = story.state.last_undoable().unwrap().seq;
    let mut world = World::of(&story.state);
    let page = body(ask(&world, "undo").await).await;
    for words in [
        "Take back the cancellation of idea-002?".to_owned(),
        format!("name=\"action\" value=\"{seq}\""),
    ] {
        assert!(page.contains(&words), "{words}: {page}");
    }
    let answer = act(&world, "undo", &format!("action={}", seq + 1)).await;
    assert_eq!(answer.status(), 409);
    assert!(world.seat.next().now_or_never().is_none());
    let asked = tokio::spawn(act(&world, "undo", &format!("action={seq}")));
    let (command, _) = world.seat.next().await.unwrap();
    assert_eq!(command, Command::Undo { seq, from: None });
    asked.abort();
}
