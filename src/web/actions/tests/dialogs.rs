//! What dialogs say before an action, and what comes after a refused one.

use super::kit::World;
use super::{in_review, working};
use crate::domain::operation::Command;
use crate::domain::testkit::{idea, oid};
use crate::view::{ChangedFile, MergeDiff};

async fn says(world: &World, path: &str, parts: &[&str]) {
    let answer = world.get(path).await;
    let says = answer.says();
    assert_eq!(answer.status, 200, "{path}: {says}");
    for part in parts {
        assert!(says.contains(part), "{path} does not say `{part}`: {says}");
    }
}

#[tokio::test]
async fn dialogs_say_first_what_is_lost() {
    let world = World::of(&working());
    let cancel = [
        "1 idea would wait for it in vain",
        "idea-003",
        "refs/swarm/rescue/",
    ];
    says(&world, "do/cancel/idea-001", &cancel).await;
    let stop = [
        "the rest of iteration 1",
        "idea-001 becomes pending again",
        "Autopilot",
    ];
    says(&world, "do/stop-agent/ed-001", &stop).await;
    let redirect = ["idea-002: two", "In a new worktree", "In the same worktree"];
    says(&world, "do/redirect/ed-001", &redirect).await;
    says(
        &world,
        "do/stop",
        &["ed-001 (iteration 1, idea-001)", "keep the agents"],
    )
    .await;
    says(
        &world,
        "do/pause",
        &["agents stop after their current iteration"],
    )
    .await;
}

#[tokio::test]
async fn a_redirect_offers_only_ideas_that_may_come() {
    let world = World::of(&working());
    let offered = world.get("do/redirect/ed-001").await;
    assert!(!offered.text.contains("value=\"idea-003\""));
    world.elsewhere(Command::HoldIdea { id: idea(2) }).await;
    let none = world.get("do/redirect/ed-001").await;
    let says = none.says();
    assert!(says.contains("No idea can take its place now"), "{says}");
    assert!(
        !none.text.contains("name=\"op\""),
        "there is nothing to send"
    );
}

#[tokio::test]
async fn a_landing_without_a_review_shows_its_files() {
    let story = in_review();
    let source = story.entry(1).source.clone();
    let world = World::of(&story);
    let file = |path: &str, plus, minus| ChangedFile {
        path: path.into(),
        from: None,
        status: "modified",
        insertions: plus,
        deletions: minus,
    };
    *world.levers.diff.lock().unwrap() = Some(MergeDiff {
        idea_id: idea(1),
        branch: "b".into(),
        source_commit: source.clone(),
        target_commit: oid(1),
        base: oid(1),
        result: oid(2),
        held: true,
        conflicts: vec![],
        files: vec![file("a.txt", Some(12), Some(3)), file("b.png", None, None)],
        diff: String::new(),
        truncated: false,
    });
    let parts = [
        "2 files with +12 −3 lines",
        "a.txt",
        "binary",
        "Land 2 files",
    ];
    says(&world, "do/land/idea-001", &parts).await;
    let dialog = world.get("do/land/idea-001").await;
    assert_eq!(dialog.hidden("commit"), source.as_str());
}

#[tokio::test]
async fn a_review_says_what_is_left_for_the_agent() {
    let world = World::of(&in_review());
    let parts = [
        "goes to ed-001 as its next prompt",
        "50 iterations",
        "No budget",
    ];
    says(&world, "do/reject/idea-001", &parts).await;
    let typed = world
        .get("do/reject/idea-001?why=so&line=a.txt:3:+why")
        .await;
    assert!(typed.text.contains("a.txt:3: why</textarea>"));
}

#[tokio::test]
async fn the_sheet_offers_what_is_possible_and_says_why_the_rest_is_not() {
    let world = World::of(&working());
    for id in ["ed-001", "idea-001"] {
        let sheet = world.get(&format!("do/intervene/{id}")).await;
        let says = sheet.says();
        assert_eq!(sheet.status, 200, "{says}");
        assert!(says.contains("Not now: cannot assign idea-001"), "{says}");
        for path in [
            "do/stop-agent/ed-001",
            "do/redirect/ed-001",
            "do/hold/idea-001",
        ] {
            assert!(sheet.text.contains(path), "{id}: {path}");
        }
        assert!(!sheet.text.contains("do/assign/"), "{id}");
    }
    assert_eq!(world.get("do/intervene/idea-999").await.status, 404);
    assert_eq!(world.get("do/intervene/ed-999").await.status, 404);
}

#[tokio::test]
async fn a_refused_form_comes_back_with_what_was_typed() {
    let world = World::of(&working());
    let typed = "text=A+%3Cb%3Etext&priority=4&tags=docs&after=nothing";
    let answer = world.post("do/add", typed).await;
    assert_eq!(answer.status, 404);
    assert!(answer.says().contains("There is no idea `nothing`"));
    assert!(answer.text.contains("A &lt;b&gt;text</textarea>"));
    assert!(answer.text.contains("name=\"after\" value=\"nothing\""));
    assert!(
        answer.text.contains("aria-label=\"Pages\""),
        "it is a page in the frame"
    );
    let answer = world.post("do/say/ed-009", "text=Never+lost").await;
    assert_eq!(answer.status, 404);
    assert!(answer.text.contains("Never lost</textarea>"));
}

#[tokio::test]
async fn a_refused_cycle_is_shown() {
    let world = World::of(&working());
    let form = "text=one&after=idea-003";
    let answer = world.post("do/edit/idea-001", form).await;
    assert_eq!(answer.status, 409);
    let says = answer.says();
    assert!(
        says.contains("These ideas would wait for each other"),
        "{says}"
    );
    assert!(answer.text.contains("value=\"idea-003\""));
}

#[tokio::test]
async fn what_cannot_be_done_has_no_dialog() {
    let world = World::of(&working());
    for path in ["do/land/idea-001", "do/reject/idea-001", "do/settle-target"] {
        let answer = world.get(path).await;
        assert_eq!(answer.status, 409, "{path}");
        assert!(
            !answer.text.contains("name=\"op\" value"),
            "{path}: nothing to send"
        );
    }
}

#[tokio::test]
async fn the_script_is_told_where_to_go_and_gets_refusals_as_markup() {
    let world = World::of(&working());
    let script = [("swarm-script", "1")];
    let form = Some("op=1-a");
    let done = world.send("POST", "do/hold/idea-002", form, &script).await;
    assert_eq!(
        (done.status, done.to.as_deref()),
        (204, Some("ideas/idea-002"))
    );
    // The agent goes on, which the person should know.
    let noted = world.send("POST", "do/hold/idea-001", form, &script).await;
    assert_eq!(
        (noted.status, noted.to.as_deref()),
        (200, Some("ideas/idea-001"))
    );
    assert!(noted.says().contains("ed-001 goes on"), "{}", noted.says());
    let refused = world
        .send("POST", "do/assign/idea-002", form, &script)
        .await;
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("role=\"alert\""));
}
