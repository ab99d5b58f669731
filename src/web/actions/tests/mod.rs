//! The actions, through the routes of the pages.

mod dialogs;
mod kit;
mod memory;
mod once;
mod stale;

use std::slice::from_ref;

use self::kit::World;
use crate::domain::event::{Event, TargetRewritten};
use crate::domain::operation::{Command, IdeaEdit, NewIdea, TargetChoice};
use crate::domain::settings::Mode;
use crate::domain::testkit::{Scenario, agent, idea, oid, profile};

/// `ed-001` is in its first iteration on `idea-001`; `idea-002` waits for a slot, `idea-003` for
/// `idea-001`.
fn working() -> Scenario {
    let mut story = Scenario::with(|settings| settings.max_parallel = 1);
    story.add("one").add("two").add_after("three", &[idea(1)]);
    story.well_until("iteration");
    story
}

/// `idea-001` is finished and waits for a review.
fn in_review() -> Scenario {
    let mut story = Scenario::with(|settings| settings.auto_merge = false);
    story.add("one").all_goes_well();
    assert!(story.entry(1).is_in_review());
    story
}

/// Sends each form, and compares the command that it becomes.
async fn all_become(world: &World, cases: &[(&str, &str, Command)]) {
    for (path, form, expected) in cases {
        world.post(path, form).await;
        assert_eq!(&world.commands(), from_ref(expected), "{path} {form}");
    }
}

#[tokio::test]
async fn actions_on_the_swarm_are_the_commands_of_the_command_line() {
    let mut story = working();
    story.given([Event::TargetRewritten(TargetRewritten {
        from: oid(1),
        to: oid(2),
        dropped: vec![idea(9)],
    })]);
    let world = World::of(&story);
    let pause = |reason: Option<&str>| Command::Pause {
        reason: reason.map(str::to_owned),
    };
    let cases = [
        ("do/pause", "why=lunch", pause(Some("lunch"))),
        ("do/pause", "why=", pause(None)),
        ("do/resume", "", Command::Resume),
        (
            "do/mode",
            "mode=semi-auto",
            Command::SetMode {
                mode: Mode::SemiAuto,
            },
        ),
        (
            "do/settle-target",
            "choice=ignore&missing=idea-009",
            Command::SettleTarget {
                choice: TargetChoice::Ignore,
            },
        ),
        (
            "do/stop",
            "how=keep-agents&busy=ed-001+(iteration+1,+idea-001)",
            Command::Shutdown { keep_agents: true },
        ),
        (
            "do/stop",
            "how=now&busy=ed-001+(iteration+1,+idea-001)",
            Command::ShutdownNow,
        ),
    ];
    all_become(&world, &cases).await;
    world.post("do/reload", "").await;
    assert_eq!(*world.levers.reloads.lock().unwrap(), 1);
}

#[tokio::test]
async fn actions_on_ideas_are_the_commands_of_the_command_line() {
    let world = World::of(&working());
    let id = || idea(2);
    let edit = IdeaEdit {
        text: Some("two\n\nmore".into()),
        after: Some(vec![idea(1)]),
        tags: Some(vec!["docs".into()]),
        priority: Some(-5),
    };
    let new = NewIdea {
        text: "new".into(),
        after: vec![idea(2)],
        tags: vec!["docs".into(), "quick-win".into()],
        priority: 7,
        profile: Some(profile("finn")),
        inbox: None,
        review: true,
        imported: None,
    };
    let cases = [
        ("do/hold/idea-002", "", Command::HoldIdea { id: id() }),
        ("do/unhold/idea-002", "", Command::UnholdIdea { id: id() }),
        (
            "do/assign/idea-002",
            "profile=finn",
            Command::AssignIdea {
                id: id(),
                profile: Some(profile("finn")),
            },
        ),
        (
            "do/edit/idea-002",
            "text=two%0D%0A%0D%0Amore&after=idea-001&tags=docs&priority=-5",
            Command::EditIdea { id: id(), edit },
        ),
        (
            "do/add",
            "text=new&after=2&tags=docs,quick-win&priority=7&profile=finn&review=yes",
            Command::AddIdea(new),
        ),
        ("do/cancel/idea-002", "", Command::CancelIdea { id: id() }),
        ("do/retry/idea-002", "", Command::RetryIdea { id: id() }),
    ];
    all_become(&world, &cases).await;
}

#[tokio::test]
async fn actions_on_agents_are_the_commands_of_the_command_line() {
    let world = World::of(&working());
    let redirect = |new_worktree| Command::RedirectAgent {
        id: agent(1),
        idea: idea(2),
        new_worktree,
    };
    let cases = [
        (
            "do/say/ed-001",
            "text=use+the+second+one",
            Command::SayToAgent {
                id: agent(1),
                text: "use the second one".into(),
            },
        ),
        (
            "do/redirect/ed-001",
            "idea=idea-002&worktree=same",
            redirect(false),
        ),
        (
            "do/redirect/ed-001",
            "idea=idea-002&worktree=new",
            redirect(true),
        ),
        (
            "do/stop-agent/ed-001",
            "",
            Command::StopAgent { id: agent(1) },
        ),
    ];
    all_become(&world, &cases).await;
}

#[tokio::test]
async fn actions_on_finished_work_are_the_commands_of_the_command_line() {
    let story = in_review();
    let source = story.entry(1).source.clone();
    let world = World::of(&story);
    let id = || idea(1);
    let approve = |commit| Command::ApproveMerge {
        id: id(),
        commit: Some(commit),
    };
    let other = oid(0xabc);
    let comment = "keep the flag\n\na.txt:3: why?\nb.txt:9: drop it";
    let cases = [
        (
            "do/approve/idea-001",
            format!("commit={other}"),
            approve(other),
        ),
        (
            "do/reject/idea-001",
            "why=keep+the+flag&line=a.txt:3:+why?&line=&line=b.txt:9:+drop+it".into(),
            Command::RejectMerge {
                id: id(),
                why: comment.into(),
            },
        ),
        (
            "do/land/idea-001",
            format!("commit={source}"),
            approve(source),
        ),
        (
            "do/merge-retry/idea-001",
            String::new(),
            Command::RetryMerge { id: id() },
        ),
    ];
    for (path, form, expected) in &cases {
        all_become(&world, &[(path, form, expected.clone())]).await;
    }
    world.post("do/resolve/idea-001", "").await;
    assert_eq!(world.commands(), [Command::ResolveMerge { id: id() }]);
}

#[tokio::test]
async fn several_ideas_are_done_in_turn_and_refusals_are_told() {
    let world = World::of(&working());
    let both = "verb=hold&id=idea-002&id=idea-003";
    let answer = world.post("do/bulk", both).await;
    assert_eq!((answer.status, answer.to.as_deref()), (303, Some("ideas")));
    world.commands();
    let answer = world
        .post("do/cancel-chosen", "id=idea-999&id=idea-002")
        .await;
    assert_eq!(answer.status, 200);
    let says = answer.says();
    assert!(says.contains("1 of 2 were refused"), "{says}");
    assert!(says.contains("there is no idea `idea-999`"), "{says}");
    assert!(
        world
            .commands()
            .contains(&Command::CancelIdea { id: idea(2) })
    );
    assert_eq!(world.post("do/bulk", "verb=cancel").await.status, 400);
}

#[tokio::test]
async fn an_action_leads_back_to_the_page_that_it_came_from() {
    let world = World::of(&working());
    for (page, expected) in [
        ("ideas?status=pending", "ideas?status=pending"),
        ("agents?at=3", "agents"),
        ("do/intervene/idea-002", "ideas/idea-002"),
    ] {
        let from = world.address(page);
        let form = format!("op=1-{page}");
        let headers = [("referer", from.as_str())];
        let answer = world
            .send("POST", "do/hold/idea-002", Some(&form), &headers)
            .await;
        assert_eq!(answer.to.as_deref(), Some(expected), "{page}");
    }
    for from in [
        "https://example.com/s/x/ideas",
        "http://127.0.0.1:7420/other",
    ] {
        let form = format!("op=1-{from}&back=//example.com");
        let headers = [("referer", from)];
        let answer = world
            .send("POST", "do/hold/idea-002", Some(&form), &headers)
            .await;
        assert_eq!(answer.to.as_deref(), Some("ideas/idea-002"), "{from}");
    }
}

#[tokio::test]
async fn nothing_happens_for_a_foreign_page_without_a_session_or_in_the_past() {
    let world = World::of(&working());
    let form = Some("op=1-a");
    let path = "do/hold/idea-002";
    let cases = [
        (("origin", "https://example.com"), 403),
        (("origin", "http://127.0.0.1:7421"), 403),
        (("sec-fetch-site", "same-site"), 403),
        (("cookie", "a=b"), 401),
        (("host", "localhost:7420"), 421),
    ];
    for (header, status) in cases {
        let answer = world.send("POST", path, form, &[header]).await;
        assert_eq!(answer.status, status, "{header:?}");
    }
    let past = "do/hold/idea-002?at=3";
    assert_eq!(world.send("POST", past, form, &[]).await.status, 409);
    let answer = world.send("POST", path, Some("op=1-a&at=3"), &[]).await;
    assert_eq!(answer.status, 409);
    assert!(answer.says().contains("the past cannot be changed"));
    assert_eq!(world.get("do/cancel/idea-002?at=3").await.status, 409);
    assert_eq!(world.commands(), []);
}

#[tokio::test]
async fn unknown_actions_and_objects_are_not_found() {
    let world = World::of(&working());
    for path in [
        "do/explode",
        "do/explode/idea-001",
        "do/hold",
        "do/pause/idea-001",
        "do/hold/idea-999",
        "do/say/ed-999",
    ] {
        let answer = world.post(path, "text=x").await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.says());
    }
}
