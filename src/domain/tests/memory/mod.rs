//! The memory that agents share: who may write what, and what becomes of it.

mod authority;
mod claims;
mod compaction;
mod disputes;
mod model;
mod notes;
mod operations;
mod quotas;
mod reads;
mod retractions;
mod size;
mod snapshots;
mod synthesis;
mod synthesis_runs;

use crate::domain::decide::Decided;
use crate::domain::ids::ProfileName;
use crate::domain::memory::{
    Claim, ConfirmFact, DisputeFact, Fact, FactKey, Learn, MemoryCommand, Reference, Retracted,
    WriteFact,
};
use crate::domain::operation::Command;
use crate::domain::request::{Author, Request};
use crate::domain::testkit::{Scenario, agent};

fn key(text: &str) -> FactKey {
    text.parse().unwrap()
}

fn learn(content: &str) -> MemoryCommand {
    MemoryCommand::Learn(Learn {
        content: content.to_owned(),
        ..Learn::default()
    })
}

fn learn_locally(content: &str, profile: &ProfileName) -> MemoryCommand {
    MemoryCommand::Learn(Learn {
        content: content.to_owned(),
        profile: Some(profile.clone()),
        ..Learn::default()
    })
}

fn write(key_text: &str, expected: Option<u64>, value: &str) -> MemoryCommand {
    MemoryCommand::WriteFact(WriteFact {
        key: key(key_text),
        value: value.to_owned(),
        expected,
        claim: Claim::default(),
    })
}

fn confirm(key_text: &str, version: u64) -> MemoryCommand {
    MemoryCommand::ConfirmFact(ConfirmFact {
        key: key(key_text),
        version,
        claim: Claim::default(),
    })
}

fn dispute(key_text: &str, version: u64, value: Option<&str>) -> MemoryCommand {
    MemoryCommand::DisputeFact(DisputeFact {
        key: key(key_text),
        version,
        value: value.map(str::to_owned),
        claim: Claim::default(),
    })
}

fn pin(key_text: &str, on: bool) -> MemoryCommand {
    let key = key(key_text);
    MemoryCommand::Pin { key, on }
}

fn retract(what: Retracted) -> MemoryCommand {
    MemoryCommand::Retract { what, why: None }
}

fn retract_fact(key_text: &str) -> MemoryCommand {
    retract(Retracted::Fact(key(key_text)))
}

/// The same, with evidence.
fn citing(mut command: MemoryCommand, references: &[&str]) -> MemoryCommand {
    let evidence: Vec<Reference> = references.iter().map(|it| Reference::from(*it)).collect();
    match &mut command {
        MemoryCommand::Learn(it) => it.claim.evidence = evidence,
        MemoryCommand::WriteFact(it) => it.claim.evidence = evidence,
        MemoryCommand::ConfirmFact(it) => it.claim.evidence = evidence,
        MemoryCommand::DisputeFact(it) => it.claim.evidence = evidence,
        MemoryCommand::Pin { .. }
        | MemoryCommand::Retract { .. }
        | MemoryCommand::PutNote(_)
        | MemoryCommand::Compact
        | MemoryCommand::Synthesize { .. } => {}
    }
    command
}

/// The synthesis, in a run that a person asked for. Something new was learned.
fn synthesis(s: &mut Scenario) -> Author {
    if s.state.synthesis_run().is_none() {
        let profile = Some(s.attempt(1).profile.clone());
        by(s, &PERSON, MemoryCommand::Synthesize { profile });
    }
    synthesis_of(s)
}

/// The synthesis, in the run that is under way.
fn synthesis_of(s: &Scenario) -> Author {
    let run = s.state.synthesis_run().unwrap().clone();
    Author::Synthesis { run }
}

const PERSON: Author = Author::Person;

/// This many agents in their first iterations, each at its own idea.
fn at_work(agents: u64) -> Scenario {
    let mut s = Scenario::with(|settings| {
        settings.max_parallel = u32::try_from(agents).unwrap();
    });
    for _ in 0..agents {
        s.add("do it");
    }
    while s.pending("prepareWorktree").is_some() {
        s.goes_well("prepareWorktree");
    }
    s.quietly();
    s
}

/// An agent in its present run.
fn author(s: &Scenario, number: u64) -> Author {
    let attempt = s.attempt(number);
    Author::Agent {
        id: agent(number),
        idea_id: Some(attempt.idea.clone()),
        run: attempt.run.clone().unwrap(),
    }
}

fn ask(s: &mut Scenario, by: &Author, command: MemoryCommand) -> Result<Decided, String> {
    let request = Request {
        by: by.clone(),
        operation: None,
        command: Command::Memory(command),
    };
    let decided = s.request(&request);
    decided.map_err(|rejection| format!("{}: {rejection}", rejection.code()))
}

/// This is asked for, and it is possible.
#[expect(clippy::needless_pass_by_value, reason = "a story is made of values")]
fn by(s: &mut Scenario, author: &Author, command: MemoryCommand) {
    if let Err(why) = ask(s, author, command.clone()) {
        panic!("{command:?} is refused: {why}");
    }
}

/// This is asked for, and it is refused: nothing has changed.
fn refused(s: &mut Scenario, author: &Author, command: MemoryCommand) -> String {
    let before = s.state.clone();
    let why = ask(s, author, command).expect_err("it is accepted");
    assert_eq!(s.state, before);
    why
}

/// A fact on a few lines.
fn shown(s: &Scenario, key_text: &str) -> String {
    let fact = s.state.facts.get(&key(key_text)).expect("no such fact");
    let mut lines = vec![first_line(fact)];
    for rival in &fact.rivals {
        let value = rival.value.as_deref().unwrap_or("it is wrong");
        lines.push(format!("{}: {value} ({})", rival.id, rival.evidence.count));
    }
    for old in &fact.history {
        let lost = if old.rival { " lost" } else { "" };
        lines.push(format!(
            "was v{}{lost}: {} by {}",
            old.version, old.value, old.by
        ));
    }
    lines.join("\n")
}

fn first_line(fact: &Fact) -> String {
    let status: &str = fact.status().into();
    let pinned = if fact.pinned { " pinned" } else { "" };
    let Fact {
        version,
        value,
        by,
        evidence,
        ..
    } = fact;
    format!(
        "v{version} {status}{pinned}: {value} by {by} ({})",
        evidence.count
    )
}
