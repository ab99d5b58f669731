//! A target whose history was rewritten: what is there is adopted, and only missing work is asked
//! about.

use insta::assert_snapshot;

use crate::domain::event::{Event, LandingFound};
use crate::domain::observation::Observation;
use crate::domain::operation::{Command, TargetChoice};
use crate::domain::outcome::{BuildMergeOutcome, Rewrite};
use crate::domain::state::IdeaStatus;
use crate::domain::testkit::outcomes::{rewrite, target_rewritten};
use crate::domain::testkit::{Scenario, idea, oid};
use crate::view::{self, Rest};

fn settle(choice: TargetChoice) -> Command {
    Command::SettleTarget { choice }
}

fn found(number: u64, commit: u64, since: Option<u64>) -> LandingFound {
    LandingFound {
        id: idea(number),
        commit: oid(commit),
        since: since.map(oid),
    }
}

/// One has landed, and the merge of two is being built.
fn building_the_second() -> Scenario {
    let mut s = Scenario::running();
    s.add("one").all_goes_well();
    s.add("two").well_until("buildMerge").quietly();
    s
}

/// The work of one is missing on the rewritten target.
fn missing_the_first() -> Scenario {
    let mut s = building_the_second();
    s.answer("buildMerge", target_rewritten(0x99, &[1]));
    s
}

#[test]
fn a_target_that_has_all_landed_work_is_adopted_without_asking() {
    let mut s = building_the_second();
    let outcome = BuildMergeOutcome::TargetRewritten(Rewrite {
        kept: vec![found(1, 0x98, Some(0x97))],
        ..rewrite(0x99, &[])
    });
    s.answer("buildMerge", outcome);
    assert_snapshot!(s.then(), @r"
    landingFound {commit: 0098, id: idea-001, since: 0097}
    targetRewritten {from: 1005, to: 0099}
    merge idea-002 -> Queued
    end #14
    merge idea-002 -> Building
    ask #15 buildMerge idea-002 100c rebased
    ");
    assert_eq!(s.idea(1).commit, Some(oid(0x98)));
    assert_eq!(s.idea(1).landed_since, Some(oid(0x97)));
    assert!(view::needs_you(&s.state).is_empty());
    s.all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
    assert_eq!(view::rest(&s.state), Rest::Idle);
}

#[test]
fn missing_work_is_asked_about_and_stops_nobody_else() {
    let mut s = missing_the_first();
    assert_snapshot!(s.then(), @r"
    targetRewritten {dropped: [idea-001], from: 1005, to: 0099}
    merge idea-002 -> Queued
    end #14
    merge idea-002 -> Building
    ask #15 buildMerge idea-002 100c rebased
    ");
    let needs = view::needs_you(&s.state);
    let message = needs[0].message.replace(", ", ",\n");
    let message = message.replace("; ", ";\n").replace(". ", ".\n");
    assert_snapshot!(message, @r"
    the history of main was rewritten from 1005000000 to 0099000000,
    and the work of idea-001 is missing there.
    Its commits are kept as refs/swarm/rescue/dropped-main-1005000000;
    everything else continues.
    Bring the work back,
    which swarm notices,
    or choose: redo the ideas,
    ignore it (they stay done),
    or cancel them
    ");
    assert_snapshot!(needs[0].commands.join("\n"), @r"
    git cherry-pick -m 1 1005000000   # idea-001, where the target is checked out
    swarm merge target redo
    swarm merge target ignore
    swarm merge target cancel
    ");
    s.add("three").all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
    assert_eq!(s.idea(3).status, IdeaStatus::Done);
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    assert_eq!(view::needs_you(&s.state).len(), 1);
}

#[test]
fn missing_ideas_can_be_done_again_left_done_or_cancelled() {
    let mut s = missing_the_first();
    s.quietly().command(settle(TargetChoice::Redo));
    assert_snapshot!(s.then(), @r"
    ideaRetried {id: idea-001}
    targetSettled {choice: redo, to: 0099}
    ideaClaimed {agent: ed-003, attempt: 2, branch: agent/ed-003/idea-001, id: idea-001, profile: ed, worktree: w02}
    ask #16 prepareWorktree ed-003
    ");
    assert_eq!(s.idea(1).commit, None);
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(view::rest(&s.state), Rest::Idle);
    let mut s = missing_the_first();
    s.all_goes_well().quietly();
    s.command(settle(TargetChoice::Ignore));
    assert_snapshot!(s.then(), @"targetSettled {choice: ignore, to: 0099}");
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert_eq!(view::rest(&s.state), Rest::Idle);
    let mut s = missing_the_first();
    s.all_goes_well().quietly();
    s.command(settle(TargetChoice::Cancel));
    assert_snapshot!(s.then(), @r"
    ideaCancelled {id: idea-001}
    targetSettled {choice: cancel, to: 0099}
    ");
    assert_eq!(s.idea(1).status, IdeaStatus::Cancelled);
    assert_snapshot!(s.refused(&settle(TargetChoice::Cancel)), @r"
    NOT_NOW: cannot choose what happens to missing work: the target has all the work that has landed
    swarm status
    ");
}

#[test]
fn missing_work_that_somebody_brought_back_is_no_longer_asked_about() {
    let mut s = missing_the_first();
    s.all_goes_well().quietly();
    let seen = |number| Observation::LandingsFound {
        at: oid(0x77),
        found: vec![found(number, 0x77, Some(0x99))],
    };
    s.when(seen(2));
    assert_snapshot!(s.then(), @"");
    s.when(seen(1));
    assert_snapshot!(s.then(), @r"
    targetSeen {branch: main, commit: 0077}
    landingFound {commit: 0077, id: idea-001, since: 0099}
    ");
    assert!(view::needs_you(&s.state).is_empty());
    assert_eq!(s.idea(1).commit, Some(oid(0x77)));
    s.when(seen(1));
    assert_snapshot!(s.then(), @"");
}

#[test]
fn what_an_earlier_rewrite_lost_stays_asked_about_after_the_next() {
    let mut s = missing_the_first();
    s.all_goes_well();
    s.add("three").well_until("buildMerge");
    s.answer("buildMerge", target_rewritten(0xaa, &[]));
    let dropped = |s: &Scenario| s.state.swarm.rewritten.clone().unwrap().dropped;
    assert_eq!(dropped(&s), [idea(1)]);
    s.all_goes_well();
    s.add("four").well_until("buildMerge");
    s.answer("buildMerge", target_rewritten(0xbb, &[3]));
    assert_eq!(dropped(&s), [idea(3), idea(1)]);
    s.all_goes_well();
    assert_eq!(s.idea(4).status, IdeaStatus::Done);
}

#[test]
fn a_rewrite_of_the_target_is_noticed_while_nothing_is_merged() {
    let mut s = Scenario::running();
    s.add("one").all_goes_well().quietly();
    let seen = |from, dropped: &[u64]| Observation::TargetRewritten {
        from: oid(from),
        rewrite: rewrite(0x99, dropped),
    };
    s.when(seen(0x42, &[1]));
    assert_snapshot!(s.then(), @"");
    s.when(seen(0x1005, &[1]));
    assert_snapshot!(s.then(), @"targetRewritten {dropped: [idea-001], from: 1005, to: 0099}");
    assert_eq!(view::rest(&s.state), Rest::NeedsPerson);
    s.when(seen(0x1005, &[1]));
    assert_snapshot!(s.then(), @"");
}

#[test]
fn a_rewrite_that_the_watch_and_a_merge_find_counts_once() {
    let mut s = building_the_second();
    s.when(Observation::TargetRewritten {
        from: oid(0x1005),
        rewrite: rewrite(0x99, &[1]),
    });
    s.answer("buildMerge", target_rewritten(0x99, &[1]));
    let rewrites = |it: &&(_, Event)| matches!(it.1, Event::TargetRewritten(_));
    assert_eq!(s.log.iter().filter(rewrites).count(), 1);
    let rewritten = s.state.swarm.rewritten.clone().unwrap();
    assert_eq!(
        (rewritten.from, rewritten.dropped),
        (oid(0x1005), vec![idea(1)])
    );
    s.all_goes_well();
    assert_eq!(s.idea(2).status, IdeaStatus::Done);
}
