//! Rollbacks: the steps and their order, from every situation, given up at every step, and over the
//! end of a daemon.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use super::table::{SITUATIONS, about_an_idea, about_the_swarm};
use crate::domain::effect::{self, Effect, Saved};
use crate::domain::event::{CheckpointMade, EffectRequested, Event};
use crate::domain::ids::CheckpointName;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Observation;
use crate::domain::operation::Command;
use crate::domain::outcome::{CheckRollbackOutcome, Failure, MoveTargetOutcome, Outcome};
use crate::domain::settings::Mode;
use crate::domain::state::checkpoint::{RollbackStep, Unfinished};
use crate::domain::state::{IdeaStatus, State};
use crate::domain::testkit::outcomes::checkout_blocked;
use crate::domain::testkit::scenario::{checkpoint, exit, fold, good, held};
use crate::domain::testkit::{Scenario, agent, checkpoint_name, idea, oid};
use crate::view::{self, Rest};

fn to(name: &str, pause: bool) -> Command {
    Command::RollBack {
        name: checkpoint_name(name),
        pause,
        from: None,
    }
}

/// Rolls back to what this state is, and stays paused.
pub(super) fn all_the_way(
    s: &mut Scenario,
    name: &str,
    keep: impl FnOnce(&Unfinished) -> Option<Saved>,
) {
    let mut keep = Some(keep);
    let ideas = held(&s.state, |work| keep.take().and_then(|keep| keep(work)));
    s.command(to(name, true));
    s.rollback_ready(ideas);
    s.all_goes_well();
    assert_eq!(rolled_back(s), 1, "{name}");
}

fn count(s: &Scenario, of: impl Fn(&Event) -> bool) -> usize {
    s.log.iter().filter(|(_, event)| of(event)).count()
}

fn rolled_back(s: &Scenario) -> usize {
    count(s, |event| matches!(event, Event::RolledBack(_)))
}

fn abandoned(s: &Scenario) -> usize {
    count(s, |event| matches!(event, Event::RollbackAbandoned(_)))
}

/// A way to a step of a rollback.
type Way = fn(&mut Scenario);

const STEPS: &[(&str, Way)] = &[
    ("look", |_| ()),
    ("agents", |s| {
        s.looked();
    }),
    ("safety", |s| {
        s.looked().well_until("makeCheckpoint");
    }),
    ("target", |s| {
        s.looked().well_until("moveTarget");
    }),
];

/// An idea has an agent that works, a checkpoint is there, and a rollback to it has come to this
/// step.
fn at(step: Way) -> Scenario {
    let mut s = Scenario::running();
    s.checkpoint("first").add("one").well_until("iteration");
    s.command(to("first", false));
    step(&mut s);
    s.quietly();
    s
}

#[test]
fn a_rollback_is_checked_after_the_landing_that_is_under_way() {
    let mut s = Scenario::running();
    s.checkpoint("first").add("one").well_until("land");
    s.command(to("first", true));
    assert!(s.pending("checkRollback").is_none());
    s.goes_well("land");
    assert!(s.pending("checkRollback").is_some());
}

#[test]
fn a_rollback_goes_step_by_step() {
    let mut s = Scenario::running();
    s.checkpoint("first").add("one").well_until("iteration");
    s.quietly().command(to("first", true));
    assert_snapshot!(s.then(), @r"
    rollbackBegun {rollback: {at: 2026-01-01T00:00:00.000Z, commit: 0001, pause: true, safety: before-rollback-20260101t000000000z, step: checking, to: first}}
    phaseChanged {phase: rolling-back, reason: rolling back to first}
    ask #4 checkRollback first
    ");
    s.looked();
    assert_snapshot!(s.then(), @r"
    rollbackStepped {step: stopping}
    end #4
    ask #5 stopRun r0001-ed-001-i1
    endingAsked {agent: ed-001, ending: interrupted}
    ed-001 -> Stopping
    ");
    s.well_until("makeCheckpoint");
    assert_snapshot!(s.then(), @r"
    signalSeen {agent: ed-001, offset: 1000, run: r0001-ed-001-i1, signal: complete}
    run r0001-ed-001-i1 Exited { code: 0 }
    end #3
    attemptEnded {agent: ed-001, end: interrupted, keepWorktree: true, status: pending}
    end #5
    rollbackStepped {step: saving}
    ask #6 makeCheckpoint before-rollback-20260101t000000000z
    ");
    s.well_until("moveTarget");
    assert_snapshot!(s.then(), @r"
    checkpointMade {checkpoint: {commit: 0001, createdAt: 2026-01-01T00:00:00.000Z, number: 2, reason: before-rollback, seq: 6, sha256: 0000000000000000000000000000000000000000000000000000000000000000, tag: 8006}, name: before-rollback-20260101t000000000z}
    end #6
    rollbackStepped {step: moving}
    ask #7 moveTarget main 0001 -> 0001
    ");
    s.all_goes_well();
    assert_snapshot!(s.then(), @r"
    targetSeen {branch: main, commit: 0001}
    rollbackStepped {step: restoring}
    end #7
    pauseSet {reason: rolled back to first; to go on from there: swarm resume}
    rolledBack {commit: 0001, safety: before-rollback-20260101t000000000z, to: first}
    undoRecorded {action: {rollback: {safety: before-rollback-20260101t000000000z, to: first}}}
    phaseChanged {phase: pausing, reason: rolled back to first; to go on from there: swarm resume}
    phaseChanged {phase: paused, reason: rolled back to first; to go on from there: swarm resume}
    ");
}

#[test]
fn a_rollback_from_every_situation_leaves_no_agent_and_no_entry() {
    for (name, way) in SITUATIONS {
        let mut s = Scenario::running();
        s.checkpoint("first");
        way(&mut s);
        let (counters, status) = (s.state.counters, s.idea(1).status);
        s.command(to("first", true)).all_goes_well();
        assert_eq!(rolled_back(&s), 1, "{name}");
        assert_eq!(s.state.swarm.phase, SwarmPhase::Paused, "{name}");
        assert!(s.state.rollback.is_none() && s.state.outbox.is_empty());
        assert!(s.state.agents.is_empty(), "{name}: {:?}", s.state.agents);
        assert!(s.state.queue.is_empty(), "{name}: {:?}", s.state.queue);
        assert!(s.state.swarm.rewritten.is_none(), "{name}");
        assert_eq!(s.state.counters.at_least(counters), s.state.counters);
        let expected = match status {
            status if status.is_bad() || status == IdeaStatus::Cancelled => status,
            _ => IdeaStatus::Pending,
        };
        assert_eq!(s.idea(1).status, expected, "{name}");
        // Nobody is to blame, and all goes on.
        assert_eq!(s.idea(1).commit, None, "{name}");
        s.command(Command::Resume);
        let mode = Mode::Autopilot;
        s.command(Command::SetMode { mode });
        s.load(|settings| settings.auto_merge = true)
            .all_goes_well();
        if expected == IdeaStatus::Pending {
            s.wait(120_000).all_goes_well();
            assert_eq!(s.idea(1).status, IdeaStatus::Done, "{name}");
        }
        assert_eq!(view::rest(&s.state), Rest::Idle, "{name}");
    }
}

#[test]
fn a_rollback_from_every_situation_survives_a_restart_at_every_step() {
    for (name, way) in SITUATIONS {
        for keep_agents in [false, true] {
            for (step, go) in STEPS {
                let mut s = Scenario::running();
                s.checkpoint("first");
                way(&mut s);
                s.command(to("first", true));
                go(&mut s);
                s.command(Command::Shutdown { keep_agents });
                if !keep_agents {
                    s.all_goes_well();
                }
                assert_eq!(s.state.swarm.phase, SwarmPhase::Stopped, "{name}, {step}");
                s.restart().all_goes_well();
                assert_eq!(rolled_back(&s), 1, "{name}, {step}");
                assert_eq!(s.state.swarm.phase, SwarmPhase::Paused, "{name}, {step}");
                assert!(s.state.agents.is_empty() && s.state.queue.is_empty());
            }
        }
    }
}

#[test]
fn a_log_that_ends_anywhere_in_it_goes_on_with_it() {
    let mut whole = at(|_| ());
    whole.all_goes_well();
    let begun = whole
        .log
        .iter()
        .position(|(_, event)| matches!(event, Event::RollbackBegun(_)));
    for length in begun.unwrap() + 1..=whole.log.len() {
        let mut s = Scenario::empty();
        s.now = whole.now;
        s.log = whole.log[..length].to_vec();
        s.state = fold(&s.log);
        s.restart().all_goes_well();
        let last = &whole.log[length - 1].1;
        assert_eq!(rolled_back(&s), 1, "after {last:?}");
        assert_eq!(abandoned(&s), 0, "after {last:?}");
        assert_eq!(s.idea(1).status, IdeaStatus::Done, "after {last:?}");
        assert_eq!(view::rest(&s.state), Rest::Idle, "after {last:?}");
    }
}

fn cannot() -> Result<Outcome, Failure> {
    Err(Failure::other("it cannot be done"))
}

#[test]
fn a_rollback_abandoned_at_any_step_changes_nothing() {
    let blocked = checkout_blocked("local changes", &["a.rs"]);
    let blocked_check = CheckRollbackOutcome::CheckoutBlocked(blocked.clone());
    let blocked_move = MoveTargetOutcome::CheckoutBlocked(blocked);
    let moved = MoveTargetOutcome::TargetMoved { found: oid(0x66) };
    let ways: [(&str, Result<Outcome, Failure>); 6] = [
        ("checkRollback", Ok(blocked_check.into())),
        ("checkRollback", cannot()),
        ("makeCheckpoint", cannot()),
        ("moveTarget", Ok(moved.into())),
        ("moveTarget", Ok(blocked_move.into())),
        ("moveTarget", cannot()),
    ];
    for (effect, outcome) in ways {
        let mut s = Scenario::with(|settings| settings.mode = Mode::SemiAuto);
        s.checkpoint("first").add("one").all_goes_well();
        let (id, profile) = (idea(1), None);
        s.command(Command::AssignIdea { id, profile })
            .all_goes_well();
        s.add("two");
        let (id, profile) = (idea(2), None);
        s.command(Command::AssignIdea { id, profile })
            .well_until("iteration");
        s.command(to("first", true)).well_until(effect);
        s.ends(effect, outcome);
        assert_eq!(abandoned(&s), 1, "{effect}");
        assert!(s.state.rollback.is_none());
        assert_eq!(s.state.swarm.phase, SwarmPhase::Running, "{effect}");
        assert_eq!(s.idea(1).status, IdeaStatus::Done);
        s.all_goes_well();
        assert_eq!(s.idea(2).status, IdeaStatus::Done, "{effect}");
        assert_eq!(s.idea(2).failed_attempts, 0);
        assert_eq!(rolled_back(&s), 0);
        let stopped = u32::from(effect != "checkRollback");
        assert_eq!(s.idea(2).attempts, 1 + stopped, "{effect}");
    }
}

#[test]
fn an_agent_stopped_by_a_rollback_is_not_blamed() {
    let mut s = Scenario::with(|settings| settings.mode = Mode::SemiAuto);
    s.checkpoint("first").add("one");
    let (id, profile) = (idea(1), None);
    s.command(Command::AssignIdea { id, profile })
        .well_until("iteration");
    s.command(to("first", false)).looked();
    s.command(Command::Shutdown { keep_agents: false })
        .all_goes_well();
    assert!(s.idea(1).assigned, "{:?}", s.idea(1));
    s.restart().well_until("makeCheckpoint");
    s.fails("makeCheckpoint", "no room").all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_safety_checkpoint_in_the_log_exists_whatever_a_repeated_effect_reports() {
    let mut s = at(|s| {
        s.well_until("makeCheckpoint");
    });
    let name = s.state.rollback.as_ref().unwrap().safety.clone();
    let reason = crate::domain::state::checkpoint::Reason::BeforeRollback;
    let made = Box::new(checkpoint(reason, s.now, 1));
    s.given([Event::CheckpointMade(CheckpointMade {
        name,
        checkpoint: made,
    })]);
    s.restart();
    assert!(s.pending("moveTarget").is_some());
    s.fails("makeCheckpoint", "its file cannot be read");
    assert_eq!(abandoned(&s), 0);
    s.all_goes_well();
    assert_eq!(rolled_back(&s), 1);
}

#[test]
fn a_second_rollback_is_refused() {
    let mut s = at(|_| ());
    assert_snapshot!(s.refused(&to("first", false)), @r"
    NOT_NOW: cannot start another rollback: a rollback is in progress
    wait until it is finished; if no daemon runs, start one to finish it: swarm start
    ");
    let name = checkpoint_name("another");
    assert_snapshot!(s.refused(&Command::CreateCheckpoint { name, tag: false }), @r"
    NOT_NOW: cannot create a checkpoint: a rollback is in progress
    wait until it is finished; if no daemon runs, start one to finish it: swarm start
    ");
    let name = checkpoint_name("first");
    assert_snapshot!(s.refused(&Command::Pause { reason: None }), @r"
    NOT_NOW: cannot pause: a rollback is in progress
    wait until it is finished; if no daemon runs, start one to finish it: swarm start
    ");
    assert_snapshot!(s.refused(&Command::Resume), @r"
    NOT_NOW: cannot resume: a rollback is in progress
    wait until it is finished; if no daemon runs, start one to finish it: swarm start
    ");
    assert_snapshot!(s.refused(&Command::DeleteCheckpoint { name }), @r"
    NOT_NOW: cannot delete the checkpoint: a rollback is in progress
    wait until it is finished; if no daemon runs, start one to finish it: swarm start
    ");
}

#[test]
fn a_missing_or_vanishing_checkpoint_is_refused() {
    let mut s = Scenario::running();
    assert_snapshot!(s.refused(&to("first", false)), @r"
    CHECKPOINT_UNKNOWN: there is no checkpoint `first`; there are none yet
    create one: swarm checkpoint create NAME
    ");
    s.checkpoint("first");
    let name = checkpoint_name("first");
    s.command(Command::DeleteCheckpoint { name });
    assert_snapshot!(s.refused(&to("first", false)), @r"
    NOT_NOW: cannot roll back to first: the checkpoint is being deleted
    list the others: swarm checkpoint list
    ");
    // One whose deletion failed can be used.
    s.fails("deleteCheckpoint", "locked");
    s.command(to("first", false)).all_goes_well();
    assert_eq!(rolled_back(&s), 1);
}

#[test]
fn no_command_at_any_step_blocks_a_rollback() {
    let settings = Scenario::running().state.settings.unwrap();
    let mut commands = about_the_swarm(&settings);
    commands.extend(about_an_idea());
    for (step, way) in STEPS {
        for (name, command) in &commands {
            let mut s = at(*way);
            if let Err(rejection) = s.ask(command) {
                assert!(!rejection.suggestions().is_empty(), "{step}, {name}");
            }
            s.all_goes_well();
            if s.state.swarm.phase == SwarmPhase::Draining {
                s.wait_for_deadline().all_goes_well();
            }
            if s.state.swarm.phase == SwarmPhase::Stopped {
                s.restart().all_goes_well();
            }
            assert_eq!(rolled_back(&s), 1, "{step}, {name}");
            assert!(s.state.rollback.is_none(), "{step}, {name}");
            assert_ne!(view::rest(&s.state), Rest::Busy, "{step}, {name}");
        }
    }
}

#[test]
fn a_rollback_ends_paused_or_lifts_every_pause() {
    let phase_after = |paused: bool, pause: bool| {
        let mut s = Scenario::running();
        s.checkpoint("first").add("one").well_until("iteration");
        if paused {
            s.command(Command::Pause { reason: None });
        }
        s.command(to("first", pause));
        while s.state.rollback.is_some() {
            let (effect, asked) = s.state.outbox.first_key_value().unwrap();
            let (effect, asked) = (*effect, asked.clone());
            s.done(effect, good(&asked, effect.0));
        }
        let reason = s.state.swarm.pause_reason.clone();
        (s.state.swarm.phase, reason)
    };
    assert_eq!(phase_after(false, false), (SwarmPhase::Running, None));
    assert_eq!(phase_after(true, false), (SwarmPhase::Running, None));
    let back = "rolled back to first; to go on from there: swarm resume";
    let back = Some(back.to_owned());
    assert_eq!(phase_after(false, true), (SwarmPhase::Paused, back.clone()));
    assert_eq!(phase_after(true, true), (SwarmPhase::Paused, back));
}

/// One is done and two is being worked on at the checkpoint; afterwards two and three are done,
/// four is pending.
fn with_history() -> (
    Scenario,
    BTreeMap<crate::domain::ids::IdeaId, crate::domain::state::checkpoint::IdeaThen>,
) {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    s.add("two").well_until("iteration");
    let (id, text) = (agent(2), "look at the docs".to_owned());
    s.command(Command::SayToAgent { id, text });
    let (tip, wip) = (oid(0x77), Some(oid(0x78)));
    let ideas = held(&s.state, |_| {
        Some(Saved {
            tip: tip.clone(),
            wip: wip.clone(),
        })
    });
    s.checkpoint("first").add("three").all_goes_well();
    s.command(Command::Pause { reason: None }).add("four");
    (s, ideas)
}

fn statuses(state: &State) -> Vec<IdeaStatus> {
    state.ideas.values().map(|idea| idea.status).collect()
}

#[test]
fn ideas_are_restored_and_later_ones_stay() {
    use IdeaStatus::{Done, Pending};
    let (mut s, ideas) = with_history();
    assert_eq!(statuses(&s.state), [Done, Done, Done, Pending]);
    let first = s.idea(1).clone();
    s.command(to("first", true));
    s.rollback_ready(ideas).all_goes_well();
    assert_eq!(statuses(&s.state), [Done, Pending, Pending, Pending]);
    assert_eq!(*s.idea(1), first, "it is as it was");
    assert!(first.commit.is_some());
    assert!(s.idea(2).commit.is_none() && s.idea(3).commit.is_none());
    let target = s.state.swarm.target.as_ref().unwrap();
    let checkpoint = &s.state.checkpoints[&checkpoint_name("first")];
    assert_eq!(target.commit, checkpoint.commit);
    let kept = s.idea(2).kept.clone().unwrap();
    let saved = kept.worktree.saved.clone().unwrap();
    assert_eq!((saved.tip, saved.wip), (oid(0x77), Some(oid(0x78))));
    assert_eq!(kept.messages, ["look at the docs"]);
    assert_eq!((kept.iterations, kept.worktree.agent), (1, agent(2)));
    assert!(s.idea(3).kept.is_none());
    // The next attempt goes on from there, under a number that nobody has had.
    s.command(Command::Resume);
    let (next, attempt) = s.state.attempt_at(&idea(2)).unwrap();
    assert_eq!(attempt.messages, ["look at the docs"]);
    assert_eq!(*next, agent(4));
    let from = s.state.outbox.values().find_map(|effect| match effect {
        Effect::PrepareWorktree(effect::PrepareWorktree { idea: of, from, .. })
            if *of == idea(2) =>
        {
            from.clone()
        }
        _ => None,
    });
    assert_eq!(from.unwrap().saved, kept.worktree.saved);
    s.all_goes_well();
    assert_eq!(statuses(&s.state), [Done; 4]);
}

#[test]
fn the_report_dates_a_landing_by_the_landing_also_after_an_undone_rollback() {
    let landings = |s: &Scenario, since| {
        let report = view::report(&s.state, since);
        let landed = report.landed.into_iter();
        landed.map(|idea| (idea.id, idea.at)).collect::<Vec<_>>()
    };
    let (mut s, ideas) = with_history();
    let before = landings(&s, None);
    let after_all = held(&s.state, |_| None);
    s.wait(60_000).command(to("first", true));
    s.rollback_ready(ideas).all_goes_well();
    let rolled_back = s.now;
    let safety = newest(&s);
    s.wait(60_000).command(to(safety.as_str(), true));
    s.rollback_ready(after_all).all_goes_well();
    assert_eq!(landings(&s, None), before);
    assert_eq!(landings(&s, Some(rolled_back)), [], "nothing landed since");
}

#[test]
fn a_rollback_to_the_safety_checkpoint_undoes_a_rollback() {
    let (mut s, ideas) = with_history();
    let before = s.state.clone();
    let after_all = held(&before, |_| None);
    s.command(to("first", true));
    s.rollback_ready(ideas.clone()).all_goes_well();
    let safety = newest(&s);
    assert!(safety.as_str().starts_with("before-rollback-"));
    let rolled = s.state.clone();
    s.command(to(safety.as_str(), true));
    s.rollback_ready(after_all).all_goes_well();
    assert_eq!(statuses(&s.state), statuses(&before));
    for (id, idea) in &before.ideas {
        assert_eq!(s.state.ideas[id].commit, idea.commit, "{id}");
        assert_eq!(s.state.ideas[id].kept, idea.kept, "{id}");
    }
    s.command(to("first", true));
    s.rollback_ready(ideas).all_goes_well();
    assert_eq!(statuses(&s.state), statuses(&rolled));
    assert_eq!(rolled_back(&s), 3);
    assert_eq!(s.state.counters.at_least(before.counters), s.state.counters);
    s.command(Command::Resume).all_goes_well();
    assert_eq!(statuses(&s.state), [IdeaStatus::Done; 4]);
}

fn newest(s: &Scenario) -> CheckpointName {
    let all = s.state.checkpoints.iter();
    let newest = all.max_by_key(|(_, checkpoint)| checkpoint.seq);
    newest.unwrap().0.clone()
}

#[test]
fn ideas_that_failed_before_the_checkpoint_are_failed_again() {
    let mut s = Scenario::running();
    s.add("one")
        .well_until("iteration")
        .iteration(&agent(1), exit(1));
    let then = s.idea(1).clone();
    assert_eq!(then.status, IdeaStatus::Failed);
    let saved = Saved {
        tip: oid(0x77),
        wip: None,
    };
    let ideas = held(&s.state, |_| Some(saved.clone()));
    s.checkpoint("first");
    s.command(Command::RetryIdea { id: idea(1) })
        .all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    s.command(to("first", false));
    s.rollback_ready(ideas).all_goes_well();
    let now = s.idea(1);
    assert_eq!(
        (now.status, &now.last_error),
        (then.status, &then.last_error)
    );
    assert_eq!(now.failed_attempts, 1);
    assert_eq!(now.attempts, 2, "numbers do not repeat");
    s.command(Command::RetryIdea { id: idea(1) })
        .all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_rollback_releases_the_current_worktrees() {
    let mut s = Scenario::running();
    s.checkpoint("first").add("one").well_until("iteration");
    let ideas = held(&s.state, |_| None);
    s.command(to("first", true));
    s.rollback_ready(ideas).quietly().all_goes_well();
    assert!(s.then().contains("releaseWorktree w01"));
    assert!(s.idea(1).kept.is_none());
}

/// What was journaled after that is lost.
fn torn_where_given_up(s: &mut Scenario) {
    let given_up = s
        .log
        .iter()
        .position(|(_, event)| matches!(event, Event::RollbackAbandoned(_)));
    s.log.truncate(given_up.unwrap() + 1);
    s.state = fold(&s.log);
    s.restart();
}

#[test]
fn the_check_of_an_abandoned_rollback_is_not_used_by_the_next() {
    let mut s = at(|_| {});
    s.fails("checkRollback", "it cannot be done");
    torn_where_given_up(&mut s);
    assert_eq!(s.pending("checkRollback"), None);
    s.checkpoint("second").command(to("second", false));
    assert!(s.pending("checkRollback").is_some());
}

#[test]
fn an_abandoned_rollback_never_moves_the_target_later() {
    let mut s = at(|s| {
        s.looked().well_until("moveTarget");
    });
    s.fails("moveTarget", "it cannot be done");
    torn_where_given_up(&mut s);
    assert_eq!(s.pending("moveTarget"), None);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(rolled_back(&s), 0);
}

#[test]
fn what_a_rollback_removed_outlives_the_checkpoint_that_undoes_it() {
    let mut s = Scenario::running();
    s.checkpoint("base");
    s.add("one").all_goes_well();
    s.command(to("base", false)).looked().all_goes_well();
    let safety = newest(&s);
    let commit = s.state.checkpoints[&safety].commit.clone();
    s.command(Command::DeleteCheckpoint { name: safety });
    let effect = s.state.outbox.values().next();
    assert!(
        matches!(effect, Some(Effect::DeleteCheckpoint(it)) if it.keep.as_ref() == Some(&commit)),
        "{effect:?}"
    );
}

#[test]
fn the_checkpoint_of_a_rollback_is_kept_until_it_is_over() {
    let mut s = Scenario::with(|settings| {
        settings.checkpoint_every = 1;
        settings.checkpoints_kept = 1;
    });
    s.add("one").all_goes_well();
    let old = newest(&s);
    s.add("two").well_until("iteration");
    s.command(to(old.as_str(), true)).looked();
    s.well_until("moveTarget");
    assert_eq!(s.state.checkpoints.len(), 2);
    s.command(Command::Shutdown { keep_agents: false });
    assert_eq!(s.pending("deleteCheckpoint"), None);
    s.all_goes_well();
    assert!(s.state.checkpoints.contains_key(&old));
    s.restart().all_goes_well();
    assert_eq!(rolled_back(&s), 1);
    assert!(!s.state.checkpoints.contains_key(&old), "only now");
}

/// An idea that was being worked on is pending again, with its work in the checkpoint.
fn with_saved_work() -> Scenario {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration").checkpoint("first");
    let (tip, wip) = (oid(7), None);
    all_the_way(&mut s, "first", |_| Some(Saved { tip, wip }));
    assert!(s.idea(1).kept.as_ref().unwrap().worktree.saved.is_some());
    s.quietly();
    s
}

#[test]
fn saved_work_has_no_worktree_to_release() {
    let mut s = with_saved_work();
    s.command(Command::CancelIdea { id: idea(1) });
    assert_snapshot!(s.then(), @r"
    undoRecorded {action: {cancel: {idea: idea-001}}}
    ideaCancelled {id: idea-001}
    ");
    let mut s = with_saved_work();
    s.command(Command::Resume).quietly();
    s.command(Command::CancelIdea { id: idea(1) });
    s.fails("prepareWorktree", "it cannot be done");
    assert_snapshot!(s.then(), @r"
    undoRecorded {action: {cancel: {idea: idea-001}}}
    endingAsked {agent: ed-002, ending: cancelled}
    ed-002 -> Stopping
    end #9: it cannot be done
    attemptEnded {agent: ed-002, end: cancelled, keepWorktree: false, status: cancelled}
    ask #10 releaseWorktree w01
    ");
}

#[test]
fn a_half_made_worktree_is_released_and_the_saved_work_stays() {
    let mut s = with_saved_work();
    s.command(Command::Resume).quietly();
    s.fails("prepareWorktree", "no such commit");
    assert_snapshot!(s.then(), @r"
    attemptEnded {agent: ed-002, end: failed, keepWorktree: true, message: no such commit, status: failed}
    end #9: no such commit
    ask #10 releaseWorktree w01
    ");
    assert_eq!(s.idea(1).status, IdeaStatus::Failed);
    let kept = s.idea(1).kept.as_ref().unwrap();
    assert_eq!(kept.worktree.saved.as_ref().unwrap().tip, oid(7));
}

#[test]
fn outcomes_of_an_earlier_step_change_nothing() {
    let mut s = at(|s| {
        s.well_until("moveTarget");
    });
    assert_eq!(
        s.state.rollback.as_ref().unwrap().step,
        RollbackStep::Moving
    );
    let move_target = s.pending("moveTarget").unwrap();
    let earlier = s.log.iter().filter_map(|(_, event)| match event {
        Event::EffectRequested(EffectRequested { id, effect }) if *id != move_target => {
            Some((*id, effect.clone()))
        }
        _ => None,
    });
    for (effect, asked) in earlier.collect::<Vec<_>>() {
        s.done(effect, good(&asked, effect.0));
        s.when(Observation::EffectDone {
            effect,
            outcome: cannot(),
        });
    }
    assert_eq!(s.then(), "");
}
