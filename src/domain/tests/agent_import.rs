//! An idea that goes on from an imported agent: on which ideas it may, what its attempts begin
//! with, and for how long the file is needed.

use crate::domain::decide::{self, Decided};
use crate::domain::effect::Effect;
use crate::domain::event::{Event, IdeaAdded};
use crate::domain::evolve::evolve;
use crate::domain::observation::RunEndKind;
use crate::domain::operation::{Command, ImportAgent};
use crate::domain::request::{Author, Request};
use crate::domain::retention::Needs;
use crate::domain::settings::Mode;
use crate::domain::signal::Signal;
use crate::domain::state::transfer::agent::{ImportedAgent, ImportedConversation};
use crate::domain::state::{IdeaStatus, State};
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::transfer_samples::{
    imported_agent, imported_tip, imported_with_conversation,
};
use crate::domain::testkit::{Scenario, agent, idea, oid, profile};

fn import(on: Option<u64>, imported: ImportedAgent) -> Command {
    Command::ImportAgent(Box::new(ImportAgent {
        idea: on.map(idea),
        text: "go on".into(),
        profile: None,
        imported,
    }))
}

fn other_file() -> ImportedAgent {
    let mut other = imported_agent(false);
    other.sha256 = "0".repeat(64);
    other
}

fn semi_auto() -> Scenario {
    Scenario::with(|settings| settings.mode = Mode::SemiAuto)
}

fn is_needed(state: &State, imported: &ImportedAgent) -> bool {
    Needs::of(state).import(&imported.sha256)
}

#[test]
fn a_new_idea_starts_with_the_commits_and_each_attempt_knows_the_agent() {
    let mut s = Scenario::running();
    s.command(import(None, imported_agent(true)));
    assert_eq!(&*s.idea(1).text, "go on");
    let effect = s.pending("prepareWorktree").unwrap();
    let Effect::PrepareWorktree(prepare) = &s.state.outbox[&effect] else {
        panic!("{:?}", s.state.outbox[&effect]);
    };
    let from = prepare.from.clone().unwrap();
    assert_eq!(from.base, oid(0xfff1));
    assert_eq!(from.saved.unwrap().tip, imported_tip());
    assert!(!from.crashed);
    let first = s.attempt(1).imported.clone().unwrap();
    assert_eq!(*first, imported_agent(true));
    // After an attempt that fails, the next one has it too.
    s.well_until("iteration");
    s.iteration(&agent(1), RunEndKind::Lost);
    s.restart().wait_for_deadline();
    assert_eq!(s.attempt(2).imported, Some(first));
    assert!(is_needed(&s.state, &imported_agent(true)));
    let kept = s.attempt(2).kept.clone().unwrap();
    assert!(kept.worktree.saved.is_none(), "its own work counts");
    s.all_goes_well();
    assert_eq!(s.idea(1).status, IdeaStatus::Done);
    assert!(!is_needed(&s.state, &imported_agent(true)));
    assert!(s.state.ended[&agent(2)].imported.is_some());
}

#[test]
fn an_idea_that_nobody_works_on_goes_on_from_it() {
    let mut s = semi_auto();
    s.add("one").command(import(Some(1), imported_agent(true)));
    assert_eq!(s.idea(1).status, IdeaStatus::Pending);
    assert_eq!(s.idea(1).imported.as_deref(), Some(&imported_agent(true)));
    assert_eq!(
        s.idea(1).audit.last().unwrap().what,
        "agent_imported",
        "its history says so"
    );
    // The same again changes nothing; another file takes its place, and its commits go too.
    let before = s.log.len();
    s.command(import(Some(1), imported_agent(true)));
    assert_eq!(s.log.len(), before);
    s.command(import(Some(1), other_file()));
    assert_eq!(s.idea(1).imported.as_deref(), Some(&other_file()));
    assert_eq!(s.idea(1).kept, None);
    assert!(!is_needed(&s.state, &imported_agent(true)));
    assert!(is_needed(&s.state, &other_file()));
}

#[test]
fn its_own_work_is_never_replaced() {
    let mut s = Scenario::running();
    s.add("one").well_until("iteration");
    s.says(&agent(1), Signal::Blocked(None));
    s.iteration(&agent(1), exit(0));
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked);
    let kept = s.idea(1).kept.clone().unwrap();
    s.command(import(Some(1), imported_with_conversation(true)));
    assert_eq!(s.idea(1).kept, Some(kept));
    let imported = s.idea(1).imported.clone().unwrap();
    assert_eq!((imported.work, imported.conversation), (None, None));
    assert_eq!(imported.agent, agent(7));
    assert_eq!(s.idea(1).status, IdeaStatus::Blocked, "a person retries it");
}

#[test]
fn only_the_first_attempt_begins_with_the_conversation() {
    let mut s = Scenario::running();
    let imported = imported_with_conversation(true);
    let conversation = imported.conversation.clone().unwrap();
    s.command(import(None, imported.clone()));
    let session = s.attempt(1).session.clone().unwrap();
    assert_eq!(session.id, conversation.session);
    assert_eq!(session.profile, s.attempt(1).profile);
    assert_eq!(session.counted, conversation.counted);
    assert_eq!(s.attempt(1).imported.as_deref(), Some(&imported));
    s.well_until("iteration");
    s.iteration(&agent(1), RunEndKind::Lost);
    s.restart().wait_for_deadline();
    let later = s.attempt(2).imported.clone().unwrap();
    assert!(later.conversation.as_ref().unwrap().taken);
    assert_eq!(later.session(&s.attempt(2).profile), None);
    // What the first attempt left is its own.
    let kept = s.attempt(2).kept.clone().unwrap();
    assert_eq!(s.attempt(2).session, kept.session);
}

#[test]
fn the_same_conversation_again_changes_nothing_until_an_attempt_has_it() {
    let mut s = semi_auto();
    s.add("one");
    let first = imported_with_conversation(false);
    let mut again = first.clone();
    let new_id = "0b9f3c52-8a0e-4a55-8a1d-6f6f2d1c7e90";
    again.conversation.as_mut().unwrap().session = new_id.parse().unwrap();
    s.command(import(Some(1), first.clone()));
    let before = s.log.len();
    s.command(import(Some(1), again.clone()));
    assert_eq!(s.log.len(), before);
    s.command(import(Some(1), imported_agent(false)));
    assert_eq!(s.idea(1).imported.as_ref().unwrap().conversation, None);
    let taken = ImportedAgent {
        conversation: first
            .conversation
            .clone()
            .map(|it| ImportedConversation { taken: true, ..it }),
        ..first.clone()
    };
    assert!(first.is_as_good_as(&again) && !taken.is_as_good_as(&again));
}

#[test]
fn an_idea_in_work_or_over_is_refused_with_a_way_out() {
    let mut s = Scenario::running();
    s.add("one");
    let refused = s.refused(&import(Some(1), imported_agent(false)));
    assert!(refused.contains("it is active"), "{refused}");
    assert!(refused.contains("swarm agent list"), "{refused}");
    s.all_goes_well();
    let refused = s.refused(&import(Some(1), imported_agent(false)));
    assert!(refused.contains("it is done"), "{refused}");
    let refused = s.refused(&import(Some(9), imported_agent(false)));
    assert!(refused.contains("IDEA_UNKNOWN"), "{refused}");
    let unknown = Command::ImportAgent(Box::new(ImportAgent {
        idea: None,
        text: "go on".into(),
        profile: Some(profile("nobody")),
        imported: imported_agent(false),
    }));
    let refused = s.refused(&unknown);
    assert!(refused.contains("nobody"), "{refused}");
}

#[test]
fn a_cancelled_idea_needs_the_file_until_it_starts_over() {
    let mut s = semi_auto();
    s.command(import(None, imported_agent(true)))
        .command(Command::CancelIdea { id: idea(1) });
    assert!(
        is_needed(&s.state, &imported_agent(true)),
        "it can be undone"
    );
    let seq = s.state.last_undoable().unwrap().seq;
    let undo = Command::Undo { seq, from: None };
    s.command(undo);
    assert_eq!(
        s.idea(1).kept.as_deref(),
        imported_agent(true).kept().as_ref()
    );
    s.command(Command::CancelIdea { id: idea(1) })
        .command(Command::RetryIdea { id: idea(1) });
    assert_eq!(s.idea(1).imported, None);
    assert!(!is_needed(&s.state, &imported_agent(true)));
}

#[test]
fn an_operation_is_done_once_and_agents_may_not_ask() {
    let mut s = semi_auto();
    let mut request = Request {
        by: Author::Person,
        operation: Some("import-1".parse().unwrap()),
        command: import(None, imported_agent(false)),
    };
    s.request(&request).unwrap();
    let again = s.request(&request).unwrap();
    let Decided::DoneBefore(done) = again else {
        panic!("{again:?}");
    };
    assert_eq!(done.answer.as_deref(), Some("idea-001"));
    assert_eq!(s.state.ideas.len(), 1);
    request.by = Author::Agent {
        id: agent(1),
        idea_id: None,
        run: "r1".parse().unwrap(),
    };
    let refused = s.request(&request).unwrap_err();
    assert_eq!(refused.code(), "NOT_FOR_AGENTS");
}

#[test]
fn a_torn_log_has_no_new_idea_without_its_agent() {
    let mut s = semi_auto();
    let command = import(None, imported_agent(true));
    let events = decide::command(&s.state, &command, s.now).unwrap();
    let added = |event: &Event| matches!(event, Event::IdeaAdded(IdeaAdded { .. }));
    let at = events.iter().position(added).unwrap();
    let mut state = s.state.clone();
    for event in &events[..=at] {
        let seq = state.seq + 1;
        evolve(&mut state, seq, s.now, event);
    }
    let torn = state.ideas[&idea(1)].clone();
    s.command(command);
    assert_eq!(torn.imported, s.idea(1).imported);
    assert_eq!(torn.kept, s.idea(1).kept);
}
