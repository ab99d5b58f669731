//! What the pages of ideas and the overview show, and what they never show.

use super::testkit::{World, between};
use super::{address, filter};
use crate::domain::operation::Command;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::state::State;
use crate::domain::testkit::scenario::{Scenario, exit};
use crate::domain::testkit::{agent, idea, oid};
use crate::view::{ChangedFile, IdeaFilter, MergeDiff};
use crate::web::pages::asked::Query;

const HOSTILE: &str = "<script>alert(1)</script> \" onload=x";

/// An idea whose work waits for review.
fn in_review() -> Scenario {
    let mut scenario = Scenario::with(|settings| settings.auto_merge = false);
    scenario.add(HOSTILE).all_goes_well();
    assert!(scenario.entry(1).is_in_review());
    scenario
}

fn changes() -> MergeDiff {
    let file = |path: &str, status| ChangedFile {
        path: path.into(),
        from: None,
        status,
        insertions: Some(1),
        deletions: Some(1),
    };
    MergeDiff {
        idea_id: idea(1),
        branch: "agent/x".into(),
        source_commit: oid(1),
        target_commit: oid(2),
        base: oid(2),
        result: oid(1),
        held: true,
        conflicts: vec![],
        files: vec![file(HOSTILE, "modified"), file("b.png", "added")],
        diff: format!(
            "diff --git a/x b/x\n@@ -1 +1 @@\n-old {HOSTILE}\n+new {HOSTILE}\n\
            diff --git a/b.png b/b.png\nBinary files /dev/null and b/b.png differ\n"
        ),
        truncated: false,
    }
}

/// An idea whose agent asks, and one that a person holds.
fn asking() -> Scenario {
    let mut scenario = Scenario::running();
    scenario.add("Ask").add("Other").well_until("iteration");
    let asker = agent(1);
    scenario.says(&asker, Signal::NeedsHuman(Some(HOSTILE.into())));
    scenario.iteration(&asker, exit(0));
    scenario
}

#[tokio::test]
async fn a_review_is_bound_to_the_commit_that_is_drawn() {
    let scenario = in_review();
    let world = World::with_changes(&scenario.state, Some(changes()));
    let page = world.page("ideas/idea-001").await;
    let source = scenario.entry(1).source.as_str();
    let bar = between(&page, "id=\"review\"", "id=\"comments\"");
    assert!(bar.contains("do/approve/idea-001"), "{bar}");
    assert!(
        bar.contains(&format!("name=\"commit\" value=\"{source}\"")),
        "{bar}"
    );
    assert!(page.contains("do/reject/idea-001"));
    // The bar and the changes are no fragments.
    let drawn = world.drawn("ideas/idea-001", Some("doc")).await;
    for fragment in &drawn.fragments {
        assert!(
            !fragment.markup.contains("name=\"commit\""),
            "{}",
            fragment.id
        );
        assert!(!fragment.markup.contains("textarea"), "{}", fragment.id);
    }
}

#[tokio::test]
async fn a_review_says_above_its_changes_how_to_comment_on_a_line() {
    let hint = "Click the number of a line to comment on it";
    let state = in_review().state;
    let world = World::with_changes(&state, Some(changes()));
    let page = world.page("ideas/idea-001?tab=changes").await;
    let (before, _) = page.split_once("diffgrid").unwrap();
    // Only the script can comment, and shows it.
    let (tag, _) = before.split_once(hint).unwrap();
    assert!(tag.ends_with("hidden>"), "{tag}");
    let past = world.past("ideas/idea-001?tab=changes").await;
    assert!(!past.contains(hint), "{past}");
}

#[tokio::test]
async fn changes_are_shown_escaped_in_both_views_with_binary_files_folded() {
    let world = World::with_changes(&in_review().state, Some(changes()));
    for address in [
        "ideas/idea-001?tab=changes",
        "ideas/idea-001?tab=changes&view=split",
    ] {
        let page = world.page(address).await;
        let sheet = between(&page, "diffgrid", "</section>");
        assert!(sheet.contains("&lt;script&gt;alert(1)"), "{sheet}");
        assert!(
            sheet.contains("<del>old</del>") && sheet.contains("<ins>new</ins>"),
            "{sheet}"
        );
        assert!(sheet.contains("A binary file."), "{sheet}");
        assert!(!page.contains("<script>alert"), "{page}");
    }
    let world = World::of(&in_review().state);
    let page = world.page("ideas/idea-001?tab=changes").await;
    assert!(
        page.contains("cannot be shown: git &lt;cannot&gt; be asked"),
        "{page}"
    );
}

#[tokio::test]
async fn the_past_has_no_form_that_changes_anything() {
    let mut scenario = in_review();
    scenario
        .add("Wait")
        .command(Command::HoldIdea { id: idea(2) });
    for state in [&scenario.state, &asking().state, &State::default()] {
        let world = World::with_changes(state, Some(changes()));
        let count = state.ideas.len();
        let ideas = (1..=count).flat_map(|number| {
            let address = format!("ideas/{}", idea(number as u64));
            [
                "",
                "?tab=changes",
                "?tab=output",
                "?tab=history",
                "?tab=prompt",
            ]
            .map(|query| format!("{address}{query}"))
        });
        let fixed = ["", "ideas", "ideas?status=pending", "ideas/graph"].map(str::to_owned);
        for address in fixed.into_iter().chain(ideas) {
            let page = world.past(&address).await;
            assert!(!page.contains("method=\"post\""), "{address}: {page}");
            assert!(!page.contains("data-dialog"), "{address}: {page}");
        }
    }
}

#[tokio::test]
async fn text_of_people_and_agents_is_escaped_everywhere() {
    let mut scenario = asking();
    scenario.add_after(HOSTILE, &[idea(1)]);
    let world = World::of(&scenario.state);
    let pages = [
        "",
        "ideas",
        "ideas/graph",
        "ideas?q=%3Cscript%3E",
        "ideas/idea-001",
        "ideas/idea-003",
    ];
    for address in pages {
        let page = world.page(address).await;
        assert!(!page.contains("<script>alert"), "{address}");
        assert!(!page.contains("\" onload"), "{address}");
    }
    assert!(world.page("").await.contains("&lt;script&gt;alert(1)"));
}

#[tokio::test]
async fn another_need_leaves_an_answer_form_as_it_is() {
    let mut scenario = asking();
    let form = |document: &str| {
        let item = between(document, "id=\"need-question-", "</li>");
        between(item, "<form", "</form>").to_owned()
    };
    let before = World::of(&scenario.state).drawn("", Some("doc")).await;
    let needs = |drawn: &crate::web::pages::Drawn| {
        let found = drawn.fragments.iter().find(|one| one.id == "f-needs");
        found.unwrap().markup.clone()
    };
    scenario.command(Command::Pause {
        reason: Some("lunch".into()),
    });
    let after = World::of(&scenario.state).drawn("", Some("doc")).await;
    assert_ne!(needs(&before), needs(&after));
    // Each repository has a prefix of its own; the rest must be equal.
    let without_prefix = |form: String| between(&form, "/do/", "</button>").to_owned();
    assert_eq!(
        without_prefix(form(&needs(&before))),
        without_prefix(form(&needs(&after)))
    );
}

#[tokio::test]
async fn the_list_has_a_page_of_rows_and_the_checkboxes_for_all_of_them() {
    let mut scenario = Scenario::with(|settings| settings.max_parallel = 0);
    for number in 0..130 {
        scenario.add(&format!("Idea {number}"));
    }
    let world = World::of(&scenario.state);
    let rows = |page: &str| page.matches("type=\"checkbox\" name=\"id\"").count();
    let first = world.page("ideas").await;
    assert_eq!(rows(&first), 100);
    assert!(first.contains("130 ideas") && first.contains("Page 1 of 2"));
    assert_eq!(rows(&world.page("ideas?page=1").await), 30);
    assert_eq!(rows(&world.page("ideas?q=idea%2012").await), 11);
    assert!(first.contains("action=") && first.contains("/do/bulk"));
}

#[tokio::test]
async fn without_ideas_the_overview_is_one_form() {
    let page = World::of(&Scenario::running().state).page("").await;
    assert!(
        page.contains("Nothing to do yet") && page.contains("/do/add"),
        "{page}"
    );
}

#[test]
fn an_address_and_its_filter_are_the_same() {
    let query = "status=failed&tag=a%20%26b&q=%3Cx%3E&profile=ed&held=1&review=1";
    let found = filter(&Query::of(query));
    assert_eq!(found.status, Some(IdeaStatus::Failed));
    assert_eq!(found.tag.as_deref(), Some("a &b"));
    let text = address(&found, 2);
    let again = Query::of(text.split_once('?').unwrap().1);
    assert_eq!((filter(&again), again.page()), (found, 2));
    assert_eq!(address(&IdeaFilter::default(), 0), "ideas");
}

/// The verbs of the forms and dialogs of the needs on the overview.
async fn verbs(scenario: &Scenario) -> Vec<String> {
    let drawn = World::of(&scenario.state).drawn("", Some("doc")).await;
    let needs = drawn.fragments.iter().find(|one| one.id == "f-needs");
    let markup = &needs.unwrap().markup;
    let ends = |rest: &str| rest.find('"').map(|end| rest[..end].to_owned());
    let actions = markup.split("/do/").skip(1);
    let mut verbs: Vec<String> = actions.filter_map(ends).collect();
    // The operation of a form repeats its address.
    verbs.dedup();
    verbs
}

#[tokio::test]
async fn each_need_offers_its_answers() {
    let mut scenario = Scenario::with(|settings| settings.max_parallel = 1);
    scenario.add("one").well_until("iteration");
    scenario.says(&agent(1), Signal::Blocked(Some("no map".into())));
    scenario.iteration(&agent(1), exit(0)).all_goes_well();
    let blocked = ["cancel/idea-001", "edit/idea-001", "retry/idea-001"];
    assert_eq!(verbs(&scenario).await, blocked);
    scenario.command(Command::Pause { reason: None });
    scenario.add_after("two", &[idea(1)]);
    scenario.command(Command::CancelIdea { id: idea(1) });
    let found = verbs(&scenario).await;
    let in_vain = ["cancel/idea-002", "edit/idea-002", "retry/idea-001"];
    assert!(
        in_vain.iter().all(|verb| found.iter().any(|it| it == verb)),
        "{found:?}"
    );
    assert_eq!(
        verbs(&in_review()).await,
        ["reject/idea-001", "approve/idea-001"]
    );
}
