//! Checkpoints: asked for, and by themselves; what they hold up, and what they never do.

use insta::assert_snapshot;

use crate::domain::event::Event;
use crate::domain::ids::CheckpointName;
use crate::domain::operation::Command;
use crate::domain::settings::Mode;
use crate::domain::state::IdeaStatus;
use crate::domain::state::checkpoint::Reason;
use crate::domain::testkit::scenario::{exit, fold};
use crate::domain::testkit::{Scenario, agent, checkpoint_name, idea};
use crate::view::{self, Rest};

fn create(name: &str) -> Command {
    Command::CreateCheckpoint {
        tag: false,
        name: checkpoint_name(name),
    }
}

fn delete(name: &str) -> Command {
    Command::DeleteCheckpoint {
        name: checkpoint_name(name),
    }
}

fn names(s: &Scenario) -> Vec<&str> {
    let names = s.state.checkpoints.keys();
    names.map(CheckpointName::as_str).collect()
}

fn of(s: &Scenario, reason: Reason) -> usize {
    let all = s.state.checkpoints.values();
    all.filter(|checkpoint| checkpoint.reason == reason).count()
}

#[test]
fn a_person_creates_a_checkpoint() {
    let mut s = Scenario::running();
    s.checkpoint("release");
    assert_snapshot!(s.then(), @r"
    ask #1 makeCheckpoint release
    checkpointMade {checkpoint: {commit: 0001, createdAt: 2026-01-01T00:00:00.000Z, number: 1, reason: manual, seq: 1, sha256: 0000000000000000000000000000000000000000000000000000000000000000, tag: 8001}, name: release}
    end #1
    ");
    assert_eq!(names(&s), ["release"]);
}

#[test]
fn a_name_is_taken_as_soon_as_it_is_requested() {
    let mut s = Scenario::running();
    s.command(create("release"));
    assert_snapshot!(s.refused(&create("release")), @r"
    NOT_NOW: cannot create checkpoint `release`: a checkpoint with this name is already being created
    wait until it is finished; if no daemon runs, start one to finish it: swarm start
    ");
    s.all_goes_well();
    let refusal = s.refused(&create("release"));
    assert_snapshot!(refusal, @r"
    CHECKPOINT_TAKEN: checkpoint `release` already exists
    choose another name, or delete this one: swarm checkpoint delete release
    ");
    s.command(delete("release"));
    assert_eq!(s.refused(&create("release")), refusal, "it is not gone yet");
    s.all_goes_well().checkpoint("release");
    assert_eq!(names(&s), ["release"]);
}

#[test]
fn a_failed_manual_checkpoint_leaves_no_warning() {
    let mut s = Scenario::running();
    s.command(create("release"))
        .fails("makeCheckpoint", "there is a tag of that name");
    assert!(s.state.checkpoints.is_empty() && s.state.warnings.is_empty());
    s.checkpoint("release");
    assert_eq!(names(&s), ["release"]);
}

#[test]
fn without_a_configuration_a_checkpoint_is_refused() {
    let mut s = Scenario::empty();
    assert_snapshot!(s.refused(&create("release")), @r"
    NOT_NOW: cannot do this yet: no daemon has read the configuration
    start a daemon: swarm start
    ");
    assert_snapshot!(s.refused(&delete("release")), @r"
    CHECKPOINT_UNKNOWN: there is no checkpoint `release`; there are none yet
    create one: swarm checkpoint create NAME
    ");
}

#[test]
fn deleting_an_unknown_checkpoint_names_the_newest() {
    let mut s = Scenario::running();
    s.checkpoint("first").checkpoint("second");
    assert_snapshot!(s.refused(&delete("third")), @r"
    CHECKPOINT_UNKNOWN: there is no checkpoint `third`; the newest is `second`
    list the checkpoints: swarm checkpoint list
    ");
}

#[test]
fn a_deletion_is_requested_once_and_again_only_if_it_failed() {
    let mut s = Scenario::running();
    s.checkpoint("release").quietly();
    s.command(delete("release")).command(delete("release"));
    s.fails("deleteCheckpoint", "the tag is locked");
    assert_snapshot!(s.then(), @r"
    ask #2 deleteCheckpoint release
    warningRaised {key: delete-release, message: the tag is locked}
    end #2: the tag is locked
    ");
    assert_eq!(names(&s), ["release"]);
    s.command(delete("release")).all_goes_well();
    assert!(names(&s).is_empty() && s.state.warnings.is_empty());
}

#[test]
fn a_periodic_checkpoint_follows_the_configured_number_of_landings() {
    let mut s = Scenario::with(|settings| settings.checkpoint_every = 2);
    s.add("one").all_goes_well();
    assert!(names(&s).is_empty());
    s.add("two").add("three").all_goes_well();
    assert_eq!(names(&s), ["after-idea-002-20260101t000000000z"]);
    s.add("four").all_goes_well();
    assert_eq!(of(&s, Reason::Periodic), 2);
    assert_eq!(view::rest(&s.state), Rest::Idle);
}

#[test]
fn a_failed_periodic_checkpoint_is_a_warning_and_the_next_comes_in_time() {
    let mut s = Scenario::with(|settings| settings.checkpoint_every = 1);
    s.add("one")
        .add("two")
        .well_until("makeCheckpoint")
        .quietly();
    s.fails("makeCheckpoint", "no room");
    assert_eq!(s.state.warnings.len(), 1);
    assert!(s.pending("makeCheckpoint").is_none(), "asked for again");
    s.all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
    assert_eq!(of(&s, Reason::Periodic), 1);
    assert!(s.state.warnings.is_empty(), "{:?}", s.state.warnings);
}

#[test]
fn nothing_is_claimed_before_the_autopilot_checkpoint() {
    let mut s = Scenario::with(|settings| settings.checkpoint_before_autopilot = true);
    s.add("one");
    assert!(s.state.agents.is_empty());
    s.wait(60_000);
    assert!(s.state.agents.is_empty());
    s.well_until("prepareWorktree");
    assert_eq!(of(&s, Reason::BeforeAutopilot), 1);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    // Once for each time that autopilot begins.
    s.restart().all_goes_well();
    assert_eq!(of(&s, Reason::BeforeAutopilot), 1);
    let semi = Mode::SemiAuto;
    s.command(Command::SetMode { mode: semi }).all_goes_well();
    let auto = Mode::Autopilot;
    s.command(Command::SetMode { mode: auto }).all_goes_well();
    assert_eq!(of(&s, Reason::BeforeAutopilot), 2);
}

#[test]
fn autopilot_begins_without_a_checkpoint_that_cannot_be_made() {
    let mut s = Scenario::with(|settings| settings.checkpoint_before_autopilot = true);
    s.add("one").fails("makeCheckpoint", "no room");
    assert!(s.pending("prepareWorktree").is_some());
    assert_eq!(s.state.warnings.len(), 1);
}

#[test]
fn no_autopilot_checkpoint_in_semi_auto_or_a_pause() {
    let mut s = Scenario::with(|settings| {
        settings.checkpoint_before_autopilot = true;
        settings.mode = Mode::SemiAuto;
    });
    assert!(s.pending("makeCheckpoint").is_none());
    s.command(Command::Pause { reason: None });
    let mode = Mode::Autopilot;
    s.command(Command::SetMode { mode });
    assert!(s.pending("makeCheckpoint").is_none());
    s.command(Command::Resume);
    assert!(s.pending("makeCheckpoint").is_some());
}

#[test]
fn only_the_newest_automatic_checkpoints_are_kept() {
    let mut s = Scenario::with(|settings| {
        settings.checkpoint_every = 1;
        settings.checkpoints_kept = 2;
    });
    s.checkpoint("mine");
    for text in ["one", "two", "three", "four"] {
        s.add(text).all_goes_well();
    }
    assert_eq!(
        names(&s),
        [
            "after-idea-003-20260101t000000000z",
            "after-idea-004-20260101t000000000z",
            "mine"
        ]
    );
    // One that cannot be deleted is not tried for ever.
    s.add("five").well_until("deleteCheckpoint");
    s.fails("deleteCheckpoint", "locked").all_goes_well();
    assert_eq!(s.state.checkpoints.len(), 4);
    assert_eq!(view::rest(&s.state), Rest::Idle);
}

#[test]
fn no_merge_lands_during_a_checkpoint() {
    let mut s = Scenario::running();
    s.add("one").well_until("verify");
    s.command(create("release")).check(exit(0));
    assert!(s.pending("land").is_none(), "it lands meanwhile");
    s.command(create("another"));
    s.fails("makeCheckpoint", "no room");
    assert!(s.pending("land").is_none(), "another is being made");
    s.well_until("land").all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(names(&s), ["another"]);
}

#[test]
fn no_merge_is_built_during_a_checkpoint_but_agents_continue() {
    let mut s = Scenario::running();
    s.add("one").add("two").well_until("gate");
    s.command(create("release"));
    s.check(exit(0));
    assert!(s.pending("buildMerge").is_none());
    assert!(!s.state.agents.is_empty());
    s.all_goes_well();
    assert_eq!(view::rest(&s.state), Rest::Idle);
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}

#[test]
fn a_landing_in_progress_finishes_before_a_checkpoint() {
    let mut s = Scenario::running();
    s.add("one").well_until("land");
    s.command(create("release")).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(names(&s), ["release"]);
}

#[test]
fn a_shutdown_waits_for_a_checkpoint_and_a_killed_daemon_leaves_it_to_the_next() {
    let mut s = Scenario::running();
    s.command(create("release"));
    s.command(Command::Shutdown { keep_agents: false });
    assert_eq!(
        s.state.swarm.phase,
        crate::domain::lifecycle::SwarmPhase::Draining
    );
    s.restart();
    assert!(s.pending("makeCheckpoint").is_some());
    s.command(Command::Shutdown { keep_agents: false })
        .all_goes_well();
    assert_eq!(names(&s), ["release"]);
    assert_eq!(
        s.state.swarm.phase,
        crate::domain::lifecycle::SwarmPhase::Stopped
    );
}

#[test]
fn a_deletion_keeps_work_that_an_idea_continues_from() {
    use crate::domain::effect::{self, Effect, Saved};
    use crate::domain::testkit::oid;
    let mut s = Scenario::running();
    s.add("one").well_until("iteration").checkpoint("first");
    let (tip, wip) = (oid(7), None);
    super::rollback::all_the_way(&mut s, "first", |_| Some(Saved { tip, wip }));
    s.command(delete("first"));
    let asked = s.state.outbox.values().find_map(|effect| match effect {
        Effect::DeleteCheckpoint(effect::DeleteCheckpoint { in_use, .. }) => Some(in_use.clone()),
        _ => None,
    });
    assert_eq!(asked, Some(vec![agent(1)]));
    assert!(s.idea(1).kept.as_ref().unwrap().worktree.saved.is_some());
    s.all_goes_well().command(Command::Resume);
    let from = s.attempt(2).kept.clone().unwrap().worktree.saved;
    assert_eq!(from.map(|saved| saved.tip), Some(oid(7)));
    assert_eq!(s.attempt(2).idea, idea(1));
}

#[test]
fn a_checkpoint_in_a_torn_log_is_not_made_twice() {
    let mut s = Scenario::running();
    s.checkpoint("first");
    let made = |(_, event): &(_, Event)| matches!(event, Event::CheckpointMade(_));
    let at = s.log.iter().position(made).unwrap();
    s.log.truncate(at + 1);
    s.state = fold(&s.log);
    s.restart();
    s.all_goes_well();
    assert_eq!(s.log.iter().filter(|entry| made(entry)).count(), 1);
}
