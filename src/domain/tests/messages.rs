//! What people say to an agent that is about to be through: it is read, or people are told that it
//! was not.

use super::provider::over;
use super::usage::used;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::operation::Command;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent};
use crate::domain::usage::{MicroUsd, Scope};
use crate::view::{self, Outside};

const TEXT: &str = "mind the\ntests";

fn say() -> Command {
    Command::SayToAgent {
        id: agent(1),
        text: TEXT.into(),
    }
}

fn warnings(s: &Scenario) -> Vec<String> {
    let warnings = view::status(&s.state, Outside::default()).warnings;
    warnings
        .into_iter()
        .map(|warning| warning.message)
        .collect()
}

/// How far each message to the first agent has come.
fn stages(s: &Scenario) -> Vec<&'static str> {
    let said = view::agent(&s.state, &agent(1)).unwrap().said;
    said.iter().map(|message| message.stage).collect()
}

#[test]
fn a_message_in_the_last_iteration_is_read_before_the_work_is_judged() {
    let mut s = Scenario::with(|settings| settings.quality_commands = vec!["check".into()]);
    s.add("one").well_until("iteration").command(say());
    s.completes(&agent(1));
    assert_eq!(s.attempt(1).phase, AttemptPhase::Gating);
    s.well_until("iteration");
    assert_eq!((s.attempt(1).iteration, s.pending("gate")), (2, None));
    assert_eq!(s.attempt(1).told, [TEXT]);
    // The same while the commands run.
    s.completes(&agent(1)).well_until("gate").command(say());
    s.check(exit(0)).well_until("iteration");
    assert_eq!(s.attempt(1).told, [TEXT]);
    s.completes(&agent(1)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(stages(&s), ["seen", "seen"]);
    assert!(warnings(&s).is_empty());
}

#[test]
fn an_unread_message_is_a_warning_until_it_becomes_an_idea() {
    let mut s = Scenario::with(|settings| settings.max_iterations = 1);
    s.add("one").well_until("iteration").command(say());
    s.completes(&agent(1)).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(stages(&s), ["neverRead"]);
    insta::assert_snapshot!(warnings(&s).join("\n"), @r#"ed-001 never read your message "mind the tests": idea-001 was done before its next prompt. If it still matters, add it as an idea"#);
    s.restart();
    assert_eq!(warnings(&s).len(), 1);
    s.add(&format!("{TEXT}, please"));
    assert!(warnings(&s).is_empty());
    assert_eq!(stages(&s), ["neverRead"]);
}

#[test]
fn a_message_does_not_delay_complete_work_without_budget() {
    let mut s = Scenario::with(|settings| settings.budget.usd_per_idea = Some(MicroUsd(1_000)));
    s.add("one").well_until("iteration").command(say());
    s.says(&agent(1), Signal::Complete(None));
    over(&mut s, 1, used(Scope::Run, 10, 1_000));
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(stages(&s), ["neverRead"]);
    assert_eq!(warnings(&s).len(), 1);
}

#[test]
fn a_message_during_the_landing_is_a_warning_for_some_days() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration").completes(&agent(1));
    s.well_until("buildMerge").command(say()).all_goes_well();
    assert_eq!(stages(&s), ["neverRead"]);
    assert_eq!(warnings(&s).len(), 1);
    s.wait(4 * 86_400_000).add("two");
    assert!(warnings(&s).is_empty());
}

#[test]
fn an_unread_message_passes_to_the_next_attempt() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration").command(say());
    s.iteration(&agent(1), crate::domain::observation::RunEndKind::Lost);
    assert_eq!(stages(&s), ["notDelivered"]);
    s.wait(1_000).well_until("iteration");
    assert_eq!(s.attempt(2).told, [TEXT]);
    assert!(warnings(&s).is_empty());
}
