//! Which worktree an idea gets, and that nobody gets one that is in use.

use crate::domain::observation::RunEndKind;
use crate::domain::operation::Command;
use crate::domain::signal::Signal;
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea};

fn worktree(s: &Scenario, number: u64) -> &str {
    let (_, attempt) = s.state.attempt_at(&idea(number)).unwrap();
    &attempt.worktree
}

fn crowd() -> Scenario {
    let mut s = Scenario::with(|settings| settings.max_parallel = 3);
    s.add("one").add("two").add("three");
    s
}

#[test]
fn ideas_at_work_have_the_first_free_names() {
    let s = crowd();
    let names: Vec<&str> = (1..=3).map(|number| worktree(&s, number)).collect();
    assert_eq!(names, ["w01", "w02", "w03"]);
    assert_eq!(s.state.free_worktree(), "w04");
}

#[test]
fn a_name_is_free_once_its_release_is_over() {
    let mut s = Scenario::running();
    s.add("one").well_until("releaseWorktree");
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    s.add("two");
    assert_eq!(worktree(&s, 2), "w02");
    s.restart();
    assert_eq!(s.state.free_worktree(), "w03", "it is released again");
    s.all_goes_well().add("three");
    assert_eq!(worktree(&s, 3), "w01");
}

#[test]
fn a_name_whose_release_failed_waits_for_the_next_daemon() {
    let mut s = Scenario::running();
    s.add("one").well_until("releaseWorktree");
    s.fails("releaseWorktree", "a person's files are in the way");
    s.add("two");
    assert_eq!(worktree(&s, 2), "w02");
    s.all_goes_well().restart().all_goes_well().add("three");
    assert_eq!(worktree(&s, 3), "w01");
}

#[test]
fn an_idea_keeps_its_worktree_whatever_ended_its_attempt() {
    type Ends = fn(&mut Scenario);
    let ends: [(&str, Ends); 4] = [
        ("crash", |s| {
            s.iteration(&agent(1), RunEndKind::Lost).wait_for_deadline();
        }),
        ("blocked", |s| {
            let why = Signal::Blocked(Some("no key".into()));
            s.says(&agent(1), why).iteration(&agent(1), exit(0));
            s.command(Command::RetryIdea { id: idea(1) });
        }),
        ("stop", |s| {
            s.command(Command::Pause { reason: None });
            s.command(Command::StopAgent { id: agent(1) });
            s.stop_delivered();
            s.iteration(&agent(1), RunEndKind::Stopped);
            let (id, profile) = (idea(1), None);
            s.command(Command::AssignIdea { id, profile });
            s.command(Command::Resume);
        }),
        ("shutdown", |s| {
            s.command(Command::Shutdown { keep_agents: false });
            s.wait_for_deadline().stop_delivered();
            s.iteration(&agent(1), RunEndKind::Stopped);
            s.restart();
        }),
    ];
    for (name, end) in ends {
        let mut s = Scenario::running();
        s.add("one").well_until("iteration");
        end(&mut s);
        s.well_until("prepareWorktree");
        let attempt = s.attempt(2);
        assert_eq!(attempt.worktree, "w01", "{name}");
        let kept = attempt.kept.as_deref().unwrap();
        assert_eq!(kept.worktree.worktree, "w01", "{name}");
        assert_eq!(s.state.free_worktree(), "w02", "{name}");
    }
}
