//! People and agents use the memory: facts that are written, confirmed, contradicted, settled,
//! pinned and taken back, learnings with keys, and notes.

use crate::domain::decide::{self, Decided};
use crate::domain::event::{Event, MemoryCompacted, MemoryShown, ShownItem};
use crate::domain::evolve::evolve;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::memory::{
    Claim, ConfirmFact, DisputeFact, FactKey, Learn, LearningRange, MemoryCommand, PutNote,
    Retracted, WriteFact,
};
use crate::domain::operation::Command;
use crate::domain::request::{Author, Request};
use crate::domain::state::{Attempt, State};
use crate::domain::time::Timestamp;

/// What happens after this state: at its end `api.port` is pinned and contradicted, `db.url` is
/// taken back, and the note `tasks/auth.md` is there.
pub(crate) fn remember(state: &State) -> Vec<(Timestamp, Event)> {
    let (person, agent) = (Author::Person, an_agent(state));
    let own = Author::Mcp {
        client: "claude".into(),
    };
    let mut story = Story {
        state: state.clone(),
        log: Vec::new(),
    };
    story.ask(&person, write("api.port", None, "The API listens on 8080"));
    story.ask(&own, confirm("api.port", story.version("api.port")));
    let other = "The API listens on 9090";
    story.ask(
        &agent,
        dispute("api.port", story.version("api.port"), Some(other)),
    );
    story.ask(
        &person,
        write("api.port", Some(story.version("api.port")), other),
    );
    story.ask(&person, pin("api.port"));
    story.ask(&own, dispute("api.port", story.version("api.port"), None));
    story.ask(&person, learn("[db.url] DB_URL is required"));
    story.ask(&own, learn("[db.url] DB_URL has a default"));
    story.shown(&agent);
    story.ask(&person, learn("Tests run for an hour"));
    story.compacted();
    story.ask(&person, retract("db.url"));
    story.ask(&person, write("tests.db", None, "Tests need a database"));
    story.ask(
        &agent,
        note("tasks/auth.md", Some("1. tokens\n2. sessions")),
    );
    story.ask(&person, note("plan.md", Some("Tests first")));
    story.ask(&person, note("plan.md", None));
    story.log
}

/// The first agent that may write now, else a person's own program.
fn an_agent(state: &State) -> Author {
    let may_write = |it: &&Attempt| it.phase == AttemptPhase::Working && it.memory.writes < 90;
    let found = state.agents.iter().find_map(|(id, attempt)| {
        let attempt = Some(attempt).filter(may_write)?;
        Some(Author::Agent {
            id: id.clone(),
            idea_id: Some(attempt.idea.clone()),
            run: attempt.run.clone()?,
        })
    });
    found.unwrap_or_else(|| Author::Mcp {
        client: "codex".into(),
    })
}

struct Story {
    state: State,
    log: Vec<(Timestamp, Event)>,
}

impl Story {
    fn ask(&mut self, by: &Author, command: MemoryCommand) {
        let request = Request {
            by: by.clone(),
            operation: None,
            command: Command::Memory(command),
        };
        let now = self.state.swarm.last_event_at;
        match decide::request(&self.state, &request, now).unwrap() {
            Decided::Events(events) => events.into_iter().for_each(|it| self.happens(now, it)),
            Decided::DoneBefore(_) => panic!("no operation was named"),
        }
    }

    /// The version of a fact that is there.
    fn version(&self, fact: &str) -> u64 {
        self.state.facts.get(&key(fact)).unwrap().version
    }

    fn happens(&mut self, now: Timestamp, event: Event) {
        let seq = self.state.seq + 1;
        evolve(&mut self.state, seq, now, &event);
        self.log.push((now, event));
    }

    /// The newest learning is dropped from the state.
    fn compacted(&mut self) {
        let last = self.state.counters.learnings;
        let compacted = MemoryCompacted {
            up_to: self.state.seq,
            learnings: vec![LearningRange { first: last, last }],
            history: Vec::new(),
            by: None,
        };
        let now = self.state.swarm.last_event_at;
        self.happens(now, compacted.into());
    }

    /// The prompt of an agent shows a fact.
    fn shown(&mut self, by: &Author) {
        let (Some(agent), Some(run)) = (by.agent(), by.run()) else {
            return;
        };
        let shown = MemoryShown {
            agent: agent.clone(),
            run: run.clone(),
            items: vec![ShownItem {
                reference: "api.port".into(),
                version: self.version("api.port"),
            }],
            fresh: false,
            held: false,
        };
        let now = self.state.swarm.last_event_at;
        self.happens(now, shown.into());
    }
}

fn key(text: &str) -> FactKey {
    text.parse().unwrap()
}

/// Where a claim comes from: a file, in words of the writer.
pub(crate) fn because(why: &str) -> Claim {
    Claim {
        paths: vec!["src/api.rs".into()],
        why: Some(why.into()),
        ..Claim::default()
    }
}

pub(crate) fn write(fact: &str, expected: Option<u64>, value: &str) -> MemoryCommand {
    MemoryCommand::WriteFact(WriteFact {
        key: key(fact),
        value: value.into(),
        expected,
        claim: because("it is in the code"),
    })
}

pub(crate) fn confirm(fact: &str, version: u64) -> MemoryCommand {
    MemoryCommand::ConfirmFact(ConfirmFact {
        key: key(fact),
        version,
        claim: because("I saw it too"),
    })
}

pub(crate) fn dispute(fact: &str, version: u64, value: Option<&str>) -> MemoryCommand {
    MemoryCommand::DisputeFact(DisputeFact {
        key: key(fact),
        version,
        value: value.map(str::to_owned),
        claim: because("it failed"),
    })
}

pub(crate) fn pin(fact: &str) -> MemoryCommand {
    let on = true;
    MemoryCommand::Pin { key: key(fact), on }
}

pub(crate) fn retract(fact: &str) -> MemoryCommand {
    MemoryCommand::Retract {
        what: Retracted::Fact(key(fact)),
        why: Some("it moved".into()),
    }
}

pub(crate) fn learn(content: &str) -> MemoryCommand {
    MemoryCommand::Learn(Learn {
        content: content.into(),
        ..Learn::default()
    })
}

pub(crate) fn note(name: &str, content: Option<&str>) -> MemoryCommand {
    MemoryCommand::PutNote(PutNote {
        key: name.parse().unwrap(),
        title: None,
        content: content.map(str::to_owned),
        expected: None,
        keep: false,
    })
}
