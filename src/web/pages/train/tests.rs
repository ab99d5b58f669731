//! What the train shows of each entry, and which forms it has.

use crate::domain::effect::ConflictLevel;
use crate::domain::testkit::outcomes::conflicted;
use crate::domain::testkit::scenario::Scenario;
use crate::view::{MergeStep, StepState, train};
use crate::web::pages::checkpoints::testkit::World;

fn now(story: &Scenario) -> (MergeStep, StepState) {
    let entry = train(&story.state).remove(0);
    let mut steps = entry.steps.into_iter();
    let at = steps.find(|(_, state)| !matches!(state, StepState::Done | StepState::Later));
    at.unwrap()
}

#[test]
fn the_steps_follow_the_merge() {
    let mut story = Scenario::running();
    story.add("first").well_until("buildMerge");
    assert_eq!(now(&story), (MergeStep::Build, StepState::Now));
    story.well_until("verify");
    assert_eq!(now(&story), (MergeStep::Check, StepState::Now));
    story.well_until("land");
    assert_eq!(now(&story), (MergeStep::Land, StepState::Now));
}

#[tokio::test]
async fn work_in_review_is_approved_for_the_commit_that_is_shown() {
    let mut story = Scenario::with(|settings| settings.auto_merge = false);
    story.add("first").all_goes_well();
    let source = story.entry(1).source.clone();
    assert_eq!(now(&story), (MergeStep::Review, StepState::Waits));
    let page = World::of(&story.state).page("train").await;
    for words in [
        "do/approve/idea-001".to_owned(),
        format!("name=\"commit\" value=\"{source}\""),
        "do/reject/idea-001".to_owned(),
    ] {
        assert!(page.contains(&words), "{words}: {page}");
    }
}

#[tokio::test]
async fn a_conflict_for_a_person_stands_at_the_side() {
    let mut story = Scenario::running();
    story.add("first").well_until("buildMerge");
    story.answer("buildMerge", conflicted(ConflictLevel::Complex, &["a.txt"]));
    story.all_goes_well();
    assert_eq!(now(&story), (MergeStep::Conflicts, StepState::Waits));
    let page = World::of(&story.state).page("train").await;
    for words in ["Siding", "do/resolve/idea-001", "do/merge-retry/idea-001"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("id=\"train-idea-001\""), "{page}");
}

#[tokio::test]
async fn what_landed_and_the_rules_are_shown() {
    let mut story = Scenario::running();
    story.add("first").all_goes_well();
    let commit = story.idea(1).commit.clone().unwrap();
    let page = World::of(&story.state).page("train").await;
    for words in [
        "id=\"landed-idea-001\"",
        commit.as_str(),
        "on, 1 quality command",
        "One idea has landed",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}
