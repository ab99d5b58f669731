//! Who may send what.

use insta::assert_snapshot;

use super::{
    PERSON, ask, at_work, author, citing, learn, pin, refused, retract_fact, synthesis, write,
};
use crate::domain::memory::MemoryCommand;
use crate::domain::operation::Command;
use crate::domain::request::{Author, Request};
use crate::domain::testkit::{Scenario, agent, checkpoint_name, idea, new_idea};

fn request(s: &mut Scenario, by: &Author, command: Command) -> Result<(), String> {
    let request = Request {
        by: by.clone(),
        operation: None,
        command,
    };
    let before = s.state.clone();
    let refusal = s.request(&request).err();
    refusal.map_or(Ok(()), |why| {
        assert_eq!(s.state, before);
        let suggestions = why.suggestions().join(" | ");
        Err(format!("{}: {why}\n{suggestions}", why.code()))
    })
}

fn check(s: &Scenario) -> Author {
    let run = s.attempt(1).run.clone().unwrap();
    Author::Check { run }
}

#[test]
fn agents_cannot_pin_or_change_anything_but_the_memory() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    let name = || checkpoint_name("one");
    let (id, from) = (idea(1), None);
    let commands = [
        Command::Memory(pin("a", true)),
        Command::Memory(MemoryCommand::Synthesize { profile: None }),
        Command::Pause { reason: None },
        Command::StopAgent { id: agent(1) },
        Command::CancelIdea { id },
        Command::CreateCheckpoint {
            name: name(),
            tag: false,
        },
        Command::RollBack {
            name: name(),
            pause: false,
            from,
        },
        Command::ShutdownNow,
    ];
    ask(&mut s, &PERSON, learn("something")).unwrap();
    for by in [one, synthesis(&mut s), check(&s)] {
        for command in &commands {
            let why = request(&mut s, &by, command.clone()).unwrap_err();
            assert!(why.starts_with("NOT_FOR_AGENTS: "), "{command:?}: {why}");
        }
    }
}

#[test]
fn agents_add_ideas_only_if_the_configuration_says_so() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    let add = || Command::AddIdea(new_idea("more"));
    let why = request(&mut s, &one, add()).unwrap_err();
    assert_snapshot!(why, @r"
    NOT_FOR_AGENTS: this needs a person: ed-001 (idea-001) may not do it
    a person can allow it: swarm config set agents.mayAddIdeas true | ask a person: `<swarm>NEEDS_HUMAN:question</swarm>`
    ");
    s.load(|settings| settings.agents_may_add = true);
    request(&mut s, &one, add()).unwrap();
    ask(&mut s, &PERSON, learn("something")).unwrap();
    for other in [synthesis(&mut s), check(&s)] {
        let why = request(&mut s, &other, add()).unwrap_err();
        assert!(why.starts_with("NOT_FOR_AGENTS: "), "{why}");
    }
}

#[test]
fn checks_only_read() {
    let mut s = at_work(1);
    let check = check(&s);
    for command in [learn("x"), write("a", Some(0), "x"), retract_fact("a")] {
        let why = refused(&mut s, &check, command);
        assert!(why.starts_with("NOT_FOR_AGENTS: "), "{why}");
    }
}

#[test]
fn the_synthesis_writes_by_version_and_people_and_their_programs_as_they_like() {
    let mut s = at_work(1);
    ask(&mut s, &PERSON, learn("something")).unwrap();
    let synthesis = synthesis(&mut s);
    let cited = |command| citing(command, &["learning-001"]);
    ask(&mut s, &synthesis, cited(write("a", Some(0), "x"))).unwrap();
    let why = refused(&mut s, &synthesis, cited(write("a", None, "y")));
    assert!(why.starts_with("VERSION_MISSING: "), "{why}");
    let client = "claude".into();
    let run = "h0001-on-learning".parse().unwrap();
    for by in [PERSON, Author::Mcp { client }, Author::Hook { run }] {
        ask(&mut s, &by, write("a", None, &format!("by {by}"))).unwrap();
        ask(&mut s, &by, pin("a", true)).unwrap();
    }
    let why = refused(&mut s, &synthesis, cited(write("a", Some(4), "y")));
    assert!(why.starts_with("FACT_PINNED: "), "{why}");
}
