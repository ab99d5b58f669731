//! An agent is redirected to another idea, step by step.

use insta::assert_snapshot;

use super::table::SITUATIONS;
use crate::domain::effect::{self, Effect};
use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::{Observation, RunEndKind};
use crate::domain::operation::{Command, IdeaEdit};
use crate::domain::outcome::FailureKind;
use crate::domain::settings::Mode;
use crate::domain::signal::Signal;
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::domain::testkit::outcomes::work_saved;
use crate::domain::testkit::scenario::{exit, fold};
use crate::domain::testkit::{Scenario, agent, checkpoint_name, idea, oid, profile};
use crate::view::idea_detail;

fn redirect(to: u64) -> Command {
    Command::RedirectAgent {
        id: agent(1),
        idea: idea(to),
        new_worktree: false,
    }
}

fn in_a_new_one(to: u64) -> Command {
    Command::RedirectAgent {
        id: agent(1),
        idea: idea(to),
        new_worktree: true,
    }
}

/// An agent works on the first idea; the second waits for a slot.
fn working() -> Scenario {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").add("two").well_until("iteration").quietly();
    s
}

/// What the agents that are not over work on.
fn at_work(s: &Scenario) -> Vec<IdeaId> {
    let attempts = s.state.agents.values();
    attempts.map(|attempt| attempt.idea.clone()).collect()
}

#[test]
fn a_redirect_commits_the_work_and_hands_over_the_worktree() {
    let mut s = working();
    s.command(redirect(2));
    assert_eq!(s.attempt(1).phase, AttemptPhase::Stopping);
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    assert_snapshot!(s.then(), @r"
    agentRedirected {agent: ed-001, to: idea-002}
    undoRecorded {action: {redirect: {agent: ed-001, idea: idea-001, to: idea-002}}}
    ed-001 -> Stopping
    ask #3 stopRun r0001-ed-001-i1
    end #3
    run r0001-ed-001-i1 Stopped
    end #2
    ask #4 saveWork ed-001
    ");
    s.answer("saveWork", work_saved(7, None));
    assert_snapshot!(s.then(), @r"
    workSaved {agent: ed-001, committed: true, saved: {tip: 0007}}
    end #4
    attemptEnded {agent: ed-001, end: redirected, keepWorktree: true, status: pending}
    ideaClaimed {agent: ed-002, attempt: 1, branch: agent/ed-002/idea-002, id: idea-002, profile: ed, worktree: w01}
    ask #5 prepareWorktree ed-002 from w01
    ");
    let from = match &s.state.outbox[&s.pending("prepareWorktree").unwrap()] {
        Effect::PrepareWorktree(effect::PrepareWorktree { from, .. }) => from.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(from.worktree, "w01");
    assert_eq!(at_work(&s), [idea(2)]);
    let own = s.idea(1).kept.clone().unwrap().worktree;
    assert_eq!(own.saved.unwrap().tip, oid(7));
    assert!(own.worktree.is_empty());
    let first = s.idea(1);
    assert_eq!((first.status, first.retry_count), (IdeaStatus::Pending, 0));
    assert_eq!(first.failed_attempts, 0);
    assert_eq!(s.state.ended[&agent(1)].end, AttemptEnd::Redirected);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}

#[test]
fn with_a_new_worktree_the_old_one_stays_with_its_idea() {
    let mut s = working();
    s.command(in_a_new_one(2));
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    s.well_until("prepareWorktree");
    let Effect::PrepareWorktree(effect::PrepareWorktree { idea: to, from, .. }) =
        &s.state.outbox[&s.pending("prepareWorktree").unwrap()]
    else {
        panic!("no worktree is made")
    };
    assert_eq!((to, from), (&idea(2), &None));
    let kept = s.idea(1).kept.clone().unwrap().worktree;
    assert_eq!((kept.worktree.as_str(), kept.saved), ("w01", None));
}

#[test]
fn a_repeated_redirect_changes_nothing_and_a_different_one_is_refused() {
    let mut s = working();
    s.add("three").command(redirect(2)).quietly();
    s.command(redirect(2));
    assert_snapshot!(s.then(), @"");
    assert_snapshot!(s.refused(&redirect(3)), @r"
    NOT_NOW: cannot redirect ed-001 to idea-003: it is already being redirected to idea-002
    undo that first: swarm agent stop ed-001; then: swarm idea assign idea-003
    ");
    assert_snapshot!(s.refused(&in_a_new_one(2)), @r"
    NOT_NOW: cannot redirect ed-001 to idea-002: it is already being redirected to idea-002
    undo that first: swarm agent stop ed-001; then: swarm idea assign idea-002
    ");
    let other = Command::AssignIdea {
        id: idea(2),
        profile: Some(profile("finn")),
    };
    assert_snapshot!(s.refused(&other), @r"
    NOT_NOW: cannot assign idea-002: ed-001 was redirected to it, so profile ed takes it next
    undo that first: swarm agent stop ed-001
    ");
}

#[test]
fn an_impossible_redirect_is_refused_with_a_suggestion() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 2);
    s.add("one").add("two").well_until("iteration");
    s.add("three").add_after("four", &[idea(3)]);
    s.command(Command::CancelIdea { id: idea(3) }).quietly();
    assert_snapshot!(s.refused(&redirect(9)), @r"
    IDEA_UNKNOWN: there is no idea `idea-009`
    see the ideas: swarm idea list
    ");
    assert_snapshot!(s.refused(&redirect(1)), @r#"
    NOT_NOW: cannot redirect ed-001 to idea-001: it already works on this idea
    send it a message: swarm agent say ed-001 "..."
    "#);
    assert_snapshot!(s.refused(&redirect(2)), @r#"
    NOT_NOW: cannot redirect ed-001 to idea-002: ed-002 already works on it
    swarm agent say ed-002 "..."
    "#);
    assert_snapshot!(s.refused(&redirect(3)), @r"
    NOT_NOW: cannot redirect ed-001 to idea-003: it is cancelled
    retry it first: swarm idea retry idea-003
    ");
    assert_snapshot!(s.refused(&redirect(4)), @r"
    NOT_NOW: cannot redirect ed-001 to idea-004: it waits for idea-003
    remove the dependency first: swarm idea edit idea-004 --no-after
    ");
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    s.add("two").well_until("iteration");
    let back = Command::RedirectAgent {
        id: agent(2),
        idea: idea(1),
        new_worktree: false,
    };
    assert_snapshot!(s.refused(&back), @r#"
    NOT_NOW: cannot redirect ed-002 to idea-001: it is done
    swarm idea add "..."
    "#);
    assert_snapshot!(s.refused(&redirect(2)), @r"
    AGENT_ENDED: agent `ed-001` has ended: it landed its work
    see its idea: swarm idea show idea-001
    ");
    s.add("three").well_until("buildMerge");
    let late = Command::RedirectAgent {
        id: agent(3),
        idea: idea(2),
        new_worktree: false,
    };
    assert_snapshot!(s.refused(&late), @r"
    NOT_NOW: cannot redirect ed-003 to idea-002: its work is complete and in the merge queue
    swarm merge list
    ");
}

#[test]
fn an_idea_with_earlier_work_continues_from_that() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    });
    s.add("one").add("two");
    s.command(Command::AssignIdea {
        id: idea(1),
        profile: None,
    });
    s.well_until("iteration");
    s.command(Command::StopAgent { id: agent(1) });
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    s.command(Command::AssignIdea {
        id: idea(2),
        profile: None,
    });
    s.well_until("iteration");
    let ask = |new_worktree| Command::RedirectAgent {
        id: agent(2),
        idea: idea(1),
        new_worktree,
    };
    assert_snapshot!(s.refused(&ask(false)), @r"
    NOT_NOW: cannot redirect ed-002 to idea-001: idea-001 has work from an earlier attempt and continues from that
    swarm agent redirect ed-002 idea-001 --new-worktree
    ");
    s.command(ask(true));
    s.stop_delivered();
    s.iteration(&agent(2), RunEndKind::Stopped);
    s.well_until("prepareWorktree");
    let Effect::PrepareWorktree(effect::PrepareWorktree { from, .. }) =
        &s.state.outbox[&s.pending("prepareWorktree").unwrap()]
    else {
        panic!("no worktree is made")
    };
    assert_eq!(from.as_ref().unwrap().worktree, "w01");
    // Nobody has decided for the other one: where ideas are assigned it waits.
    s.all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Pending);
}

#[test]
fn the_profile_stays_and_what_waits_for_a_slot_waits_on() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").well_until("iteration");
    s.says(&agent(1), Signal::NeedsHuman(None));
    s.iteration(&agent(1), exit(0));
    s.command(Command::AddIdea(crate::domain::operation::NewIdea {
        profile: Some(profile("finn")),
        ..crate::domain::testkit::new_idea("two")
    }));
    s.well_until("iteration");
    // The first waits for the slot of the second, and gives its place away meanwhile.
    s.command(Command::SayToAgent {
        id: agent(1),
        text: "go on".into(),
    });
    s.add("three");
    s.command(redirect(3)).well_until("saveWork");
    s.answer("saveWork", work_saved(7, Some(8)));
    assert_eq!(at_work(&s), [idea(2)]);
    assert!(s.idea(3).reserved.is_some());
    s.well_until("prepareWorktree");
    let (_, next) = s.state.attempt_at(&idea(3)).unwrap();
    assert_eq!(next.profile, profile("ed"));
}

#[test]
fn work_that_cannot_be_committed_stays_in_its_worktree() {
    for kind in [
        FailureKind::Other,
        FailureKind::NoSpace,
        FailureKind::Repository,
    ] {
        let mut s = working();
        s.command(redirect(2));
        s.iteration(&agent(1), RunEndKind::Stopped);
        s.fails_as("saveWork", kind, "the index is locked");
        let kept = s.idea(1).kept.clone().unwrap().worktree;
        assert_eq!((kept.worktree.as_str(), kept.saved), ("w01", None));
        let why = s.idea(1).last_error.clone().unwrap();
        assert!(why.contains("keeps its worktree"), "{why}");
        if s.state.swarm.paused {
            s.command(Command::Resume);
        }
        s.wait(60_000);
        assert_eq!(at_work(&s), [idea(2)], "{kind:?}");
        s.all_goes_well();
        assert_eq!(s.idea(1).status, IdeaStatus::Done);
    }
}

#[test]
fn the_other_idea_waits_for_the_end_of_the_agent_although_a_slot_is_free() {
    let mut s = Scenario::running();
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    });
    s.add("one").add("two");
    s.command(Command::AssignIdea {
        id: idea(1),
        profile: None,
    });
    s.well_until("iteration").command(redirect(2));
    s.stop_delivered();
    assert_eq!(at_work(&s), [idea(1)]);
    s.iteration(&agent(1), RunEndKind::Stopped);
    assert_eq!(at_work(&s), [idea(1)], "its work is not committed yet");
    s.well_until("prepareWorktree");
    assert_eq!(at_work(&s), [idea(2)]);
    let kept = s.attempt(2).kept.clone().unwrap();
    assert_eq!(kept.worktree.worktree, "w01");
}

#[test]
fn a_stop_cancels_the_redirect() {
    let mut s = working();
    s.command(redirect(2));
    s.command(Command::StopAgent { id: agent(1) });
    assert!(s.idea(2).reserved.is_none());
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    assert_eq!(s.state.ended[&agent(1)].end, AttemptEnd::Stopped);
    let kept = s.idea(1).kept.clone().map(|kept| kept.worktree.worktree);
    // Or its next attempt has it already.
    let taken = s.state.agents.values().find(|next| next.idea == idea(1));
    let taken = taken.and_then(|next| Some(next.kept.clone()?.worktree.worktree));
    assert_eq!(kept.or(taken).as_deref(), Some("w01"));
}

#[test]
fn cancelling_the_own_idea_frees_the_slot_but_not_the_worktree() {
    let mut s = working();
    s.command(redirect(2));
    s.command(Command::CancelIdea { id: idea(1) });
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
    assert_eq!(at_work(&s), [idea(2)]);
    assert_eq!(s.attempt(2).kept, None);
    assert!(s.pending("releaseWorktree").is_some());
}

#[test]
fn if_the_other_idea_is_cancelled_the_worktree_stays() {
    let mut s = working();
    s.command(redirect(2));
    s.command(Command::CancelIdea { id: idea(2) });
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    s.well_until("prepareWorktree");
    let Effect::PrepareWorktree(effect::PrepareWorktree { idea: of, from, .. }) =
        &s.state.outbox[&s.pending("prepareWorktree").unwrap()]
    else {
        panic!("no worktree is made")
    };
    assert_eq!(of, &idea(1));
    assert_eq!(from.as_ref().unwrap().worktree, "w01");
}

#[test]
fn while_paused_the_other_idea_waits_and_has_the_worktree() {
    let mut s = working();
    s.command(Command::Pause { reason: None });
    s.command(redirect(2));
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    s.all_goes_well();
    assert_eq!(at_work(&s), [] as [IdeaId; 0]);
    let kept = s.idea(2).kept.clone().unwrap();
    assert_eq!(kept.worktree.worktree, "w01");
    assert_eq!(kept.taken_from, Some(idea(1)));
    // A checkpoint keeps the work once, with the idea that it was done for.
    let works = crate::domain::state::checkpoint::unfinished(&s.state);
    let ideas: Vec<_> = works.iter().map(|work| work.idea.clone()).collect();
    assert_eq!(ideas, [idea(1)]);
    // Given up, the worktree goes.
    s.command(Command::CancelIdea { id: idea(2) });
    assert!(s.pending("releaseWorktree").is_some());
    s.command(Command::Resume).all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn an_attempt_without_a_worktree_hands_none_over() {
    let mut s = Scenario::with(|settings| settings.max_parallel = 1);
    s.add("one").add("two").quietly();
    s.command(redirect(2));
    s.fails("prepareWorktree", "no");
    assert_eq!(at_work(&s), [idea(2)]);
    assert_eq!(s.attempt(2).kept, None);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
}

#[test]
fn a_rollback_overrides_a_redirect() {
    for steps in 0..3 {
        let mut s = Scenario::with(|settings| settings.max_parallel = 1);
        s.add("one").add("two").checkpoint("first");
        s.well_until("iteration");
        s.command(redirect(2));
        if steps > 0 {
            s.stop_delivered();
            s.iteration(&agent(1), RunEndKind::Stopped);
        }
        if steps > 1 {
            s.well_until("prepareWorktree");
        }
        s.command(Command::RollBack {
            name: checkpoint_name("first"),
            pause: true,
            from: None,
        });
        if steps < 2 {
            let refused = s.refused(&in_a_new_one(2));
            assert!(refused.starts_with("NOT_NOW"), "{refused}");
        }
        s.all_goes_well();
        assert!(s.state.agents.is_empty() && s.state.rollback.is_none());
        assert!(s.state.ideas.values().all(|idea| idea.reserved.is_none()));
        s.command(Command::Resume).all_goes_well();
        assert!(
            s.state
                .ideas
                .values()
                .all(|idea| idea.status == IdeaStatus::Done)
        );
    }
}

#[test]
fn a_log_that_ends_anywhere_in_it_goes_on_with_it() {
    for new_worktree in [false, true] {
        let mut s = working();
        let from = s.log.len();
        s.command(if new_worktree {
            in_a_new_one(2)
        } else {
            redirect(2)
        });
        s.stop_delivered();
        s.iteration(&agent(1), RunEndKind::Stopped);
        s.well_until("iteration").all_goes_well();
        for end in from + 1..s.log.len() {
            let mut torn = Scenario::empty();
            torn.given(s.log[..end].iter().map(|(_, event)| event.clone()));
            assert_eq!(torn.state, fold(&torn.log));
            torn.now = s.now;
            torn.restart().all_goes_well();
            let done = |idea: &crate::domain::state::Idea| idea.status == IdeaStatus::Done;
            assert!(torn.state.ideas.values().all(done), "torn at {end}");
            assert!(torn.state.agents.is_empty());
            let ended = &torn.state.ended[&agent(1)];
            assert_eq!(ended.end, AttemptEnd::Redirected, "torn at {end}");
            // Once: one attempt at the other idea, taken next.
            assert_eq!(torn.state.ended[&agent(2)].idea, idea(2), "torn at {end}");
            assert_eq!(torn.idea(2).attempts, 1);
        }
    }
}

#[test]
fn a_redirect_in_every_situation_ends_with_both_ideas_done() {
    for (name, way) in SITUATIONS {
        let mut s = Scenario::running();
        way(&mut s);
        // What is done again after a review lands.
        s.load(|settings| settings.auto_merge = true);
        s.command(Command::SetMode {
            mode: Mode::SemiAuto,
        });
        let Some(id) = s.state.agents.keys().next().cloned() else {
            continue;
        };
        s.add("another");
        let to = s.state.ideas.keys().next_back().unwrap().clone();
        let command = Command::RedirectAgent {
            id: id.clone(),
            idea: to.clone(),
            new_worktree: false,
        };
        let in_queue = !s.state.queue.is_empty();
        let asked = s.ask(&command);
        assert_eq!(asked.is_err(), in_queue, "{name}");
        if in_queue {
            continue;
        }
        s.all_goes_well();
        assert_eq!(s.state.ideas[&to].status, IdeaStatus::Done, "{name}");
        assert_eq!(s.idea(1).status, IdeaStatus::Pending, "{name}");
        s.command(Command::SetMode {
            mode: Mode::Autopilot,
        });
        s.all_goes_well();
        assert_eq!(s.idea(1).status, IdeaStatus::Done, "{name}");
    }
}

#[test]
fn an_attempt_keeps_the_text_that_it_started_with() {
    let mut early = Scenario::running();
    early.add("one").command(Command::EditIdea {
        id: idea(1),
        edit: IdeaEdit {
            text: Some("new".into()),
            ..IdeaEdit::default()
        },
    });
    assert_eq!(early.attempt(1).phase, AttemptPhase::Preparing);
    assert_eq!(early.attempt(1).text, None, "nobody has read the old one");
    let mut s = working();
    let edit = |text: &str| Command::EditIdea {
        id: idea(1),
        edit: IdeaEdit {
            text: Some(text.into()),
            ..IdeaEdit::default()
        },
    };
    s.command(edit("new")).command(edit("newer"));
    assert_eq!(s.attempt(1).text.as_deref(), Some("one"));
    assert_eq!(&*s.idea(1).text, "newer");
    s.iteration(&agent(1), exit(1));
    s.command(Command::RetryIdea { id: idea(1) });
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    let next = s.log.iter().rev().find_map(|(_, event)| match event {
        crate::domain::event::Event::EffectRequested(crate::domain::event::EffectRequested {
            effect:
                Effect::BuildMerge(effect::BuildMerge {
                    idea: of, title, ..
                }),
            ..
        }) if *of == idea(1) => Some(title.clone()),
        _ => None,
    });
    assert_eq!(next.as_deref(), Some("newer"));
    s.when(Observation::Tick);
}

#[test]
fn an_idea_whose_worktree_went_to_another_is_shown_without_one() {
    let mut s = working();
    s.command(redirect(2));
    s.stop_delivered();
    s.iteration(&agent(1), RunEndKind::Stopped);
    s.well_until("prepareWorktree");
    let shown = idea_detail(&s.state, &idea(1)).unwrap();
    assert_eq!(shown.kept_worktree, None);
}
