//! What the pages of checkpoints show, and what they never show.

use serde_json::json;

use super::preview::button;
use super::testkit::World;
use crate::daemon::checkpoints::list::{Lost, Preview, Reverted};
use crate::domain::ids::IdeaId;
use crate::domain::operation::Command;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::Scenario;
use crate::domain::testkit::{agent, checkpoint_name, idea, oid};

/// One idea landed, then a checkpoint, then another idea landed.
fn story() -> Scenario {
    let mut story = Scenario::running();
    story.add("first").all_goes_well();
    story.wait(1_000).checkpoint("mid").wait(1_000);
    story.add("second").all_goes_well();
    story
}

pub fn a_preview() -> Preview {
    let lost = |number: u64, own| Lost {
        commit: oid(number),
        subject: format!("<b>subject {number}</b>"),
        own,
    };
    Preview {
        checkpoint: checkpoint_name("mid"),
        from: Some(oid(7)),
        commit: oid(1),
        ideas_reverted: vec![Reverted {
            id: idea(2),
            from: IdeaStatus::Done,
            to: IdeaStatus::Pending,
        }],
        commits_lost: vec![lost(7, false), lost(6, true)],
        commits_regained: Vec::new(),
        dirty_files: Vec::new(),
        commands: Vec::new(),
        agents_stopped: Vec::new(),
        ideas_to_start: 1,
        ideas_starting: vec![idea(2)],
        messages_dropped: Vec::new(),
        problem: None,
    }
}

#[tokio::test]
async fn each_checkpoint_says_what_going_back_costs() {
    let world = World::of(&story().state);
    let page = world.page("checkpoints").await;
    assert!(page.contains("1 landed idea"), "{page}");
    assert!(page.contains("do/rollback/mid"), "{page}");
    assert!(page.contains("do/checkpoint-delete/mid"), "{page}");
    assert!(page.contains("none in effect"), "{page}");
}

#[tokio::test]
async fn a_checkpoint_shows_the_live_preview_and_what_it_holds() {
    let world = World::of(&story().state);
    *world.told.preview.lock().unwrap() = Some(a_preview());
    *world.told.checkpoints.lock().unwrap() = vec![json!({
        "name": "mid",
        "ideaStates": { "idea-001": "done" },
        "agentStates": [{ "id": "ed-009", "ideaId": "idea-001", "iteration": 3 }],
    })];
    let page = world.page("checkpoints/mid").await;
    for words in [
        "2 commits leave it",
        "not from swarm",
        "done → pending",
        "ed-009",
        "&lt;b&gt;subject 7&lt;/b&gt;",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("<b>subject"), "{page}");
}

#[test]
fn the_button_says_what_will_happen() {
    let mut preview = a_preview();
    assert_eq!(button(&preview), "Roll back 2 commits, 1 idea");
    std::mem::swap(&mut preview.commits_lost, &mut preview.commits_regained);
    assert_eq!(button(&preview), "Bring back 2 commits, 1 idea");
    preview.commits_lost = preview.commits_regained[..1].to_vec();
    assert_eq!(
        button(&preview),
        "Roll back 1 commit, bring back 2 commits, 1 idea"
    );
}

#[tokio::test]
async fn an_unknown_name_brings_the_nearest_names() {
    let world = World::of(&story().state);
    let error = world
        .site
        .api
        .handle
        .read(|state| super::checkpoint::unknown(state, "midd"));
    let answer = axum::response::IntoResponse::into_response(error);
    assert_eq!(answer.status(), 404);
    let page = super::testkit::body(answer).await;
    assert!(page.contains("did you mean mid?"), "{page}");
}

#[tokio::test]
async fn a_rollback_under_way_shows_its_steps_on_every_page() {
    let mut story = story();
    let world = World::of(&story.state);
    assert!(!world.page("learnings").await.contains("Rolling back to"));
    let name = checkpoint_name("mid");
    let (pause, from) = (true, None);
    story.command(Command::RollBack { name, pause, from });
    assert!(story.state.rollback.is_some());
    let world = World::of(&story.state);
    for address in ["", "learnings", "checkpoints", "report"] {
        let page = world.page(address).await;
        assert!(page.contains("Rolling back to"), "{address}: {page}");
        let step = "aria-current=\"step\"";
        let at = page
            .find(step)
            .unwrap_or_else(|| panic!("{address}: no step"));
        assert!(page[at..].contains("Check the checkpoint"), "{address}");
    }
}

#[tokio::test]
async fn the_past_has_no_form_and_no_action() {
    let world = World::of(&story().state);
    *world.told.preview.lock().unwrap() = Some(a_preview());
    for address in [
        "checkpoints",
        "checkpoints/mid",
        "report",
        "train",
        "learnings",
    ] {
        let now = world.page(address).await;
        let past = world.past(address).await;
        assert!(now.contains("/do/"), "{address}: {now}");
        // The bar of the past offers the way back; nothing else does anything.
        let actions: Vec<&str> = past.split("/do/").skip(1).collect();
        let ways_back = actions.iter().filter(|at| at.starts_with("rollback/"));
        assert_eq!(ways_back.count(), actions.len(), "{address}: {past}");
        assert!(actions.len() <= 1, "{address}: {past}");
        assert!(!past.contains("method=\"post\""), "{address}: {past}");
    }
}

#[tokio::test]
async fn text_of_agents_and_people_is_never_markup() {
    const HOSTILE: &str = "<script>alert(1)</script>";
    let mut story = Scenario::running();
    story.add(HOSTILE).well_until("iteration");
    story.says(&agent(1), Signal::LearningGlobal(HOSTILE.into()));
    story.all_goes_well();
    let world = World::of(&story.state);
    for address in ["report", "train", "learnings", "checkpoints"] {
        let page = world.page(address).await;
        assert!(!page.contains("<script>alert"), "{address}: {page}");
    }
    let page = world.page("learnings").await;
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
}

#[tokio::test]
async fn learnings_name_their_agents_and_ideas() {
    let mut story = Scenario::running();
    story.add("first").well_until("iteration");
    story.says(&agent(1), Signal::LearningLocal("lines are short".into()));
    let page = World::of(&story.state).page("learnings").await;
    let id = IdeaId::numbered(1);
    for words in [
        "lines are short".to_owned(),
        "profile ed".to_owned(),
        format!("agents/{}", agent(1)),
        format!("ideas/{id}"),
    ] {
        assert!(page.contains(&words), "{words}: {page}");
    }
}
