//! Ideas: what is refused, and which comes next.

use insta::assert_snapshot;

use crate::domain::event::{Event, IdeaClaimed};
use crate::domain::ids::IdeaId;
use crate::domain::operation::{Command, IdeaEdit, InboxFile, NewIdea};
use crate::domain::outcome::FailureKind;
use crate::domain::settings::Mode;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent, idea, new_idea, profile};
use crate::view;

/// The ideas in the order in which they were given to agents.
fn claimed(s: &Scenario) -> String {
    let ids = s.log.iter().filter_map(|(_, event)| match event {
        Event::IdeaClaimed(IdeaClaimed { id, .. }) => Some(id.to_string()),
        _ => None,
    });
    ids.collect::<Vec<_>>().join(" ")
}

fn one_slot() -> Scenario {
    Scenario::with(|settings| {
        settings.max_parallel = 1;
        settings.mode = Mode::SemiAuto;
    })
}

fn tagged(text: &str, tags: &[&str], priority: i64) -> Command {
    Command::AddIdea(NewIdea {
        tags: tags.iter().map(ToString::to_string).collect(),
        priority,
        ..new_idea(text)
    })
}

#[test]
fn the_best_score_comes_first_and_then_the_oldest() {
    let mut s = one_slot();
    s.add("one: nothing special");
    s.command(tagged("two: quick win", &["quick-win"], 0));
    s.command(tagged("three: critical", &["critical"], 0));
    s.command(tagged("four: priority", &[], 35));
    s.add("five: two wait on it");
    s.add_after("six", &[idea(5)]);
    s.add_after("seven", &[idea(5)]);
    s.add("eight: nothing special, but younger");
    s.command(Command::SetMode {
        mode: Mode::Autopilot,
    });
    s.all_goes_well();
    assert_snapshot!(claimed(&s), @r"idea-003 idea-004 idea-002 idea-005 idea-001 idea-006 idea-007 idea-008");
}

#[test]
fn an_idea_that_failed_goes_behind_the_others() {
    let mut s = one_slot();
    s.add("one").add("two").add("three");
    s.command(Command::SetMode {
        mode: Mode::Autopilot,
    });
    s.well_until("iteration").iteration(&agent(1), exit(1));
    s.command(Command::RetryIdea { id: idea(1) });
    s.all_goes_well();
    assert_snapshot!(claimed(&s), @r"idea-001 idea-002 idea-003 idea-001");
}

#[test]
fn an_assigned_idea_comes_first() {
    let mut s = one_slot();
    s.command(tagged("one", &["critical"], 0)).add("two");
    let (id, profile) = (idea(2), Some(profile("finn")));
    s.command(Command::AssignIdea { id, profile });
    s.command(Command::SetMode {
        mode: Mode::Autopilot,
    });
    s.all_goes_well();
    assert_snapshot!(claimed(&s), @r"idea-002 idea-001");
    assert_eq!(s.state.ended.keys().next().unwrap().as_str(), "ed-002");
    assert_eq!(s.state.ended.keys().nth(1).unwrap().as_str(), "finn-001");
}

#[test]
fn in_semi_auto_mode_nothing_begins_by_itself() {
    let mut s = one_slot();
    s.add("one").quietly();
    assert_snapshot!(s.then(), @"");
    let (id, profile) = (idea(1), None);
    s.command(Command::AssignIdea { id, profile });
    assert_snapshot!(s.then(), @r"
    ideaAssigned {id: idea-001}
    ideaClaimed {agent: ed-001, attempt: 1, branch: agent/ed-001/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #1 prepareWorktree ed-001
    ");
}

#[test]
fn an_assigned_idea_that_was_interrupted_goes_on_by_itself() {
    let mut s = one_slot();
    s.add("one");
    s.command(Command::AssignIdea {
        id: idea(1),
        profile: None,
    });
    s.well_until("iteration");
    s.command(Command::Shutdown { keep_agents: false });
    s.wait(5_000);
    s.iteration(&agent(1), crate::domain::observation::RunEndKind::Stopped);
    s.all_goes_well().quietly();
    s.restart();
    assert_snapshot!(s.then(), @r"
    daemonStarted {version: 1.0.0}
    phaseChanged {phase: recovering}
    phaseChanged {phase: running}
    ideaClaimed {agent: ed-002, attempt: 2, branch: agent/ed-002/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #4 prepareWorktree ed-002 from w01
    ");
}

#[test]
fn an_idea_waits_for_those_that_it_comes_after() {
    let mut s = Scenario::running();
    s.add("one").quietly();
    s.add_after("two", &[idea(1)]);
    assert_snapshot!(s.then(), @r"ideaAdded {id: idea-002, idea: {after: [idea-001], content: two, priority: 0, tags: []}}");
    s.well_until("releaseWorktree").quietly();
    assert!(s.state.attempt_at(&idea(2)).is_some());
}

#[test]
fn a_cycle_is_refused_and_shown() {
    let mut s = one_slot();
    s.add("one").add_after("two", &[idea(1)]);
    s.add_after("three", &[idea(2)]);
    let edit = IdeaEdit {
        after: Some(vec![idea(3)]),
        ..IdeaEdit::default()
    };
    let edit_first = Command::EditIdea { id: idea(1), edit };
    assert_snapshot!(s.refused(&edit_first), @r"
    DEPENDENCY_CYCLE: these ideas would wait for each other: idea-001 -> idea-003 -> idea-002 -> idea-001
    remove one of these dependencies
    ");
    let edit = IdeaEdit {
        after: Some(vec![idea(1)]),
        ..IdeaEdit::default()
    };
    let itself = Command::EditIdea { id: idea(1), edit };
    assert_snapshot!(s.refused(&itself), @r"
    DEPENDENCY_CYCLE: these ideas would wait for each other: idea-001 -> idea-001
    remove one of these dependencies
    ");
}

#[test]
fn an_empty_message_is_not_reported_as_an_empty_idea() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    let nothing = Command::SayToAgent {
        id: agent(1),
        text: " ".into(),
    };
    assert_snapshot!(s.refused(&nothing), @r#"
    TEXT_EMPTY: the message is empty
    say what it needs to know: swarm agent say ID "use the second one"
    "#);
}

#[test]
fn invalid_ideas_are_refused_with_a_suggestion() {
    let mut s = one_slot();
    assert_snapshot!(s.refused(&Command::AddIdea(new_idea(" \n"))), @r#"
    TEXT_EMPTY: the text of the idea is empty
    describe the work: swarm idea add "add a --version flag"
    "#);
    let long = new_idea(&"x".repeat(60_000));
    assert_snapshot!(s.refused(&Command::AddIdea(long)), @r"
    TEXT_TOO_LONG: the text takes 60000 bytes as JSON; at most 49152 are allowed
    put the long part into a file of the repository and name it in the idea
    ");
    let lonely = NewIdea {
        after: vec![idea(7)],
        ..new_idea("one")
    };
    assert_snapshot!(s.refused(&Command::AddIdea(lonely)), @r"
    IDEA_UNKNOWN: there is no idea `idea-007`
    see the ideas: swarm idea list
    ");
    let foreign = NewIdea {
        profile: Some(profile("nobody")),
        ..new_idea("one")
    };
    assert_snapshot!(s.refused(&Command::AddIdea(foreign)), @r"
    PROFILE_UNKNOWN: there is no agent profile `nobody` in the configuration
    configured profiles: ed, finn
    ");
    let loud = NewIdea {
        tags: vec!["a\u{1b}[31m".into()],
        ..new_idea("one")
    };
    assert_snapshot!(s.refused(&Command::AddIdea(loud)), @r"
    TOO_MUCH: `a\u{1b}[31m` is not a tag: use 1 to 64 characters, none of them a control character
    use fewer, or put it in the text
    ");
}

#[test]
fn an_inbox_file_is_one_idea_however_often_it_is_seen() {
    let mut s = one_slot();
    let file = InboxFile {
        name: "a.md".into(),
        sha256: "00".into(),
    };
    let dropped = Command::AddIdea(NewIdea {
        inbox: Some(file),
        ..new_idea("one")
    });
    s.command(dropped.clone());
    assert_snapshot!(s.then(), @r"
    ideaAdded {id: idea-001, idea: {after: [], content: one, inbox: {name: a.md, sha256: 00}, priority: 0, tags: []}}
    ask #1 archiveInbox a.md
    ");
    s.command(dropped.clone());
    // Also when it cannot be moved away, and until the next daemon has tried again.
    s.fails("archiveInbox", "read-only file system");
    s.command(dropped.clone());
    assert_snapshot!(s.then(), @r"
    warningRaised {key: inbox-a.md, message: read-only file system}
    end #1: read-only file system
    ");
    s.restart();
    s.command(dropped.clone());
    s.all_goes_well();
    assert_snapshot!(s.then(), @r"
    daemonStarted {version: 1.0.0}
    phaseChanged {phase: recovering}
    phaseChanged {phase: running}
    ask #2 archiveInbox a.md
    warningCleared {key: inbox-a.md}
    end #2
    ");
    // Moved away, the same file dropped again is meant.
    s.command(dropped);
    assert_eq!(s.state.ideas.len(), 2);
}

#[test]
fn an_idea_behind_a_cancelled_one_asks_for_a_person() {
    let mut s = one_slot();
    s.add("one")
        .add("two")
        .add_after("three", &[idea(1), idea(2)]);
    s.command(Command::CancelIdea { id: idea(1) });
    let needs = view::needs_you(&s.state);
    assert_eq!(needs.len(), 1);
    assert_snapshot!(needs[0].message, @r"idea-003 waits for idea-001, which is cancelled");
    assert_snapshot!(needs[0].commands.join("\n"), @r"
    swarm idea edit idea-003 --after idea-002
    swarm idea retry idea-001
    swarm idea cancel idea-003
    ");
}

#[test]
fn retry_ends_the_wait_after_a_crash() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    s.iteration(&agent(1), crate::domain::observation::RunEndKind::Lost)
        .quietly();
    s.command(Command::RetryIdea { id: idea(1) });
    assert_snapshot!(s.then(), @r"
    ideaRetried {id: idea-001}
    ideaClaimed {agent: ed-002, attempt: 2, branch: agent/ed-002/idea-001, id: idea-001, profile: ed, worktree: w01}
    ask #3 prepareWorktree ed-002 from w01
    ");
}

#[test]
fn a_worktree_that_was_never_made_is_released() {
    let mut s = Scenario::running();
    s.add("one").quietly();
    s.fails_as("prepareWorktree", FailureKind::Other, "no such branch");
    assert_snapshot!(s.then(), @r"
    attemptEnded {agent: ed-001, end: failed, keepWorktree: true, message: no such branch, status: failed}
    end #1: no such branch
    ask #2 releaseWorktree w01
    ");
}

#[test]
fn ideas_are_listed_by_number() {
    let mut s = one_slot();
    for _ in 0..3 {
        s.add("one");
    }
    let ids: Vec<IdeaId> = view::ideas(&s.state, None)
        .into_iter()
        .map(|idea| idea.id)
        .collect();
    assert_eq!(ids, [idea(1), idea(2), idea(3)]);
}

#[test]
fn a_held_idea_starts_only_when_it_is_released() {
    let mut s = Scenario::running();
    s.command(Command::Pause { reason: None });
    s.add("one").add_after("two", &[idea(1)]).add("three");
    s.command(Command::HoldIdea { id: idea(1) });
    s.command(Command::Resume).all_goes_well();
    assert_snapshot!(claimed(&s), @"idea-003");
    assert_eq!(view::rest(&s.state), view::Rest::Idle);
    let (id, profile) = (idea(1), None);
    assert!(s.ask(&Command::AssignIdea { id, profile }).is_err());
    s.command(Command::UnholdIdea { id: idea(1) })
        .all_goes_well();
    assert_snapshot!(claimed(&s), @"idea-003 idea-001 idea-002");
}

#[test]
fn a_hold_stops_no_agent_and_ends_with_the_landing() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    s.command(Command::HoldIdea { id: idea(1) });
    s.command(Command::StopAgent { id: agent(1) })
        .all_goes_well();
    assert_snapshot!(claimed(&s), @"idea-001");
    assert!(s.idea(1).held);
    s.command(Command::UnholdIdea { id: idea(1) })
        .all_goes_well();
    assert_snapshot!(claimed(&s), @"idea-001 idea-001");
    s.add("two").well_until("iteration");
    s.command(Command::HoldIdea { id: idea(2) }).all_goes_well();
    assert!(
        !s.idea(1).held && !s.idea(2).held,
        "what has landed is not held"
    );
}
