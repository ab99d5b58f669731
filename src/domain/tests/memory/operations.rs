//! Requests with an operation id are carried out once.

use super::{PERSON, at_work, author, learn, retract, write};
use crate::domain::decide::Decided;
use crate::domain::event::{Event, FactWritten, Mark};
use crate::domain::hook::{HookName, HookSettings};
use crate::domain::memory::{Evidence, MemoryCommand, Retracted};
use crate::domain::operation::Command;
use crate::domain::request::{Author, Operation, Request};
use crate::domain::testkit::scenario::fold;
use crate::domain::testkit::{Scenario, agent, new_idea};

fn request(op: &str, by: &Author, command: Command) -> Request {
    Request {
        by: by.clone(),
        operation: Some(op.parse().unwrap()),
        command,
    }
}

fn of_memory(op: &str, by: &Author, command: MemoryCommand) -> Request {
    request(op, by, Command::Memory(command))
}

/// It was done before: this was the answer.
fn done_before(s: &mut Scenario, request: &Request) -> Operation {
    let before = s.log.len();
    let Ok(Decided::DoneBefore(operation)) = s.request(request) else {
        panic!("{request:?} is carried out");
    };
    assert_eq!(s.log.len(), before);
    operation
}

fn carried_out(s: &mut Scenario, request: &Request) {
    let Decided::Events(events) = s.request(request).unwrap() else {
        panic!("{request:?} was done before");
    };
    assert!(events.len() > 1, "nothing is done");
}

/// The log ends after its first events.
fn torn(s: &Scenario, length: usize) -> Scenario {
    let mut torn = Scenario::empty();
    torn.now = s.now;
    torn.log = s.log[..length].to_vec();
    torn.state = fold(&torn.log);
    torn
}

#[test]
fn an_operation_sent_again_gets_its_first_answer_over_a_restart_too() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    let requests = [
        of_memory("a", &PERSON, write("api.port", None, "8080")),
        of_memory("b", &one, learn("tests need a database")),
        request("c", &PERSON, Command::AddIdea(new_idea("more"))),
        request("d", &PERSON, Command::Pause { reason: None }),
    ];
    let answers = [Some("1"), Some("learning-001"), Some("idea-002"), None];
    let mut seqs = Vec::new();
    for request in &requests {
        let first = s.state.seq + 2;
        carried_out(&mut s, request);
        seqs.push(first);
    }
    for _ in 0..2 {
        let all = requests.iter().zip(answers).zip(&seqs);
        for ((request, answer), seq) in all {
            let before = done_before(&mut s, request);
            assert_eq!(before.answer.as_deref(), answer);
            assert_eq!(before.seq, *seq);
        }
        s.restart();
    }
}

#[test]
fn an_operation_is_done_again_under_another_id_or_for_another_sender() {
    let mut s = at_work(2);
    let add = |op, by: &Author| request(op, by, Command::AddIdea(new_idea("more")));
    s.load(|settings| settings.agents_may_add = true);
    let (one, two) = (author(&s, 1), author(&s, 2));
    for request in [
        add("a", &PERSON),
        add("b", &PERSON),
        add("a", &one),
        add("a", &two),
    ] {
        carried_out(&mut s, &request);
    }
    assert_eq!(s.state.ideas.len(), 6);
    for request in [
        add("a", &PERSON),
        add("b", &PERSON),
        add("a", &one),
        add("a", &two),
    ] {
        done_before(&mut s, &request);
    }
}

#[test]
fn a_refused_operation_is_not_done() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    let write = of_memory("a", &one, write("a", Some(1), "y"));
    s.request(&write).unwrap_err();
    super::by(&mut s, &PERSON, super::write("a", None, "x"));
    carried_out(&mut s, &write);
    done_before(&mut s, &write);
}

#[test]
fn an_operation_counts_from_its_event_and_not_from_its_announcement() {
    let mut s = at_work(0);
    s.load(|settings| {
        let hook = HookSettings {
            timeout_ms: 1_000,
            veto_on_timeout: false,
            again: true,
        };
        settings.hooks.insert(HookName::OnLearning, hook);
    });
    let before = s.log.len();
    let learn = of_memory("a", &PERSON, learn("tests need a database"));
    carried_out(&mut s, &learn);
    let kinds: Vec<&str> = s.log[before..before + 3]
        .iter()
        .map(|(_, it)| it.kind())
        .collect();
    assert_eq!(kinds, ["commandTaken", "hookOwed", "learned"]);
    for length in before..=before + 2 {
        let mut torn = torn(&s, length);
        // The announced call ends with the next event.
        torn.log.push((torn.now, Event::Mark(Mark {})));
        torn.state = fold(&torn.log);
        torn.restart();
        carried_out(&mut torn, &learn);
        assert_eq!(torn.state.learnings.len(), 1);
    }
    let mut whole = torn(&s, before + 3);
    whole.restart();
    done_before(&mut whole, &learn);
}

#[test]
fn a_later_event_of_the_same_kind_does_not_count_for_an_operation_that_was_torn_off() {
    let mut s = at_work(0);
    let before = s.log.len();
    let first = of_memory("a", &PERSON, write("a", None, "x"));
    carried_out(&mut s, &first);
    let mut torn = torn(&s, before + 1);
    // Without a daemon, another command writes right behind it.
    torn.now = torn.now.plus_millis(1);
    super::by(&mut torn, &PERSON, write("b", None, "y"));
    let kinds: Vec<&str> = torn.log[before..].iter().map(|(_, it)| it.kind()).collect();
    assert_eq!(kinds, ["commandTaken", "factWritten"]);
    carried_out(&mut torn, &first);
    assert_eq!(torn.state.facts.len(), 2);
}

#[test]
fn a_torn_retraction_of_everything_is_finished_by_the_same_operation() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    s.given((1..=900).map(|number| {
        let evidence = Evidence {
            author: one.clone(),
            ..Evidence::default()
        };
        Event::FactWritten(FactWritten {
            key: super::key(&format!("key-{number}")),
            version: 1,
            value: "x".into(),
            evidence: Box::new(evidence),
            why: None,
        })
    }));
    let before = s.log.len();
    let all = of_memory("a", &PERSON, retract(Retracted::Agent(agent(1))));
    carried_out(&mut s, &all);
    for length in before..s.log.len() {
        let mut torn = torn(&s, length);
        carried_out(&mut torn, &all);
        assert!(
            torn.state
                .facts
                .iter()
                .all(|(_, fact)| fact.retracted.is_some())
        );
        done_before(&mut torn, &all);
    }
}

#[test]
fn the_last_1024_operations_are_remembered() {
    let mut s = at_work(0);
    let put = |number: u64| {
        let value = format!("x{number}");
        of_memory(
            &format!("op-{number}"),
            &PERSON,
            write("a", Some(number), &value),
        )
    };
    for number in 0..1_025 {
        carried_out(&mut s, &put(number));
    }
    done_before(&mut s, &put(1));
    done_before(&mut s, &put(1_024));
    assert!(s.request(&put(0)).is_err(), "it is still remembered");
}
