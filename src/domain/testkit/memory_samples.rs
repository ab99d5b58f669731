//! Events about the memory that agents share, for whoever needs an example.

use crate::domain::event::{
    ClaimEffect, Claimed, CommandTaken, Event, FactConfirmed, FactDisputed, FactPinned,
    FactWritten, IterationRecorded, Learned, MemoryCompacted, MemoryRead, MemoryRetracted,
    MemoryShown, NotePut, NotesDropped, ReadCounts, RecordsExpired, ReplayAsked, ReplayJudged,
    RivalClaim, ShownItem, Synthesised,
};
use crate::domain::likeness::{By, MatchStatus, Measures, Verdict};
use crate::domain::memory::{Evidence, LearningRange, OldHistory};
use crate::domain::request::Author;
use crate::domain::testkit::{START, agent, idea, oid, profile};

fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

pub(crate) fn of_agent() -> Author {
    Author::Agent {
        id: agent(1),
        idea_id: Some(idea(1)),
        run: id("r1-ed-001-i1"),
    }
}

fn evidence() -> Box<Evidence> {
    Box::new(Evidence {
        author: of_agent(),
        quote: Some("it said 8080".into()),
        paths: vec!["src/api.rs".into()],
        target: Some(oid(1)),
        refs: vec![3, 5],
        ..Evidence::default()
    })
}

fn learned() -> Learned {
    Learned {
        id: "learning-002".into(),
        agent: Some(agent(1)),
        profile: Some(id("ed")),
        global: true,
        content: "The API listens on 8080".into(),
        evidence: evidence(),
        claim: None,
        restored: false,
    }
}

fn claimed(effect: ClaimEffect) -> Event {
    Event::Learned(Learned {
        claim: Some(Claimed {
            key: id("api.port"),
            version: 2,
            effect,
        }),
        ..learned()
    })
}

fn retracted() -> MemoryRetracted {
    MemoryRetracted {
        learnings: vec!["learning-002".into()],
        facts: vec![id("api.port")],
        claims: vec![RivalClaim {
            key: id("db.url"),
            claim: "c1".into(),
        }],
        by: Author::Person,
        why: Some("it was a guess".into()),
    }
}

fn note() -> NotePut {
    NotePut {
        key: id("tasks/auth.md"),
        title: "What is left".into(),
        content: "- tokens\n- sessions\n".into(),
        by: of_agent(),
        expires_at: Some(START),
    }
}

fn shown() -> MemoryShown {
    MemoryShown {
        agent: agent(1),
        run: id("r1-ed-001-i1"),
        items: vec![ShownItem {
            reference: "api.port".into(),
            version: 2,
        }],
        fresh: false,
        held: false,
    }
}

fn read() -> MemoryRead {
    MemoryRead {
        agent: agent(1),
        run: id("r1-ed-001-i1"),
        items: shown().items,
        by_tool: ReadCounts {
            fact: 1,
            log: 2,
            ..ReadCounts::default()
        },
    }
}

fn recorded() -> IterationRecorded {
    IterationRecorded {
        agent: agent(1),
        idea: idea(1),
        iteration: 1,
        run: id("r1-ed-001-i1"),
        sha256: Some("5".repeat(64)),
        tree: Some(oid(4)),
        model: Some("claude-sonnet-4-5".into()),
        why: None,
    }
}

fn compacted() -> MemoryCompacted {
    MemoryCompacted {
        up_to: 7,
        learnings: vec![LearningRange { first: 1, last: 2 }],
        history: vec![OldHistory {
            key: id("api.port"),
            entries: 3,
        }],
        by: Some(Author::Person),
    }
}

fn taken() -> CommandTaken {
    CommandTaken {
        op: id("7c4a"),
        by: Author::Person,
        of: "factWritten".into(),
        answer: Some("2".into()),
    }
}

fn disputed() -> FactDisputed {
    FactDisputed {
        key: id("api.port"),
        version: 3,
        claim: "c1".into(),
        value: Some("The API listens on 9090".into()),
        evidence: evidence(),
    }
}

fn written() -> FactWritten {
    FactWritten {
        key: id("api.port"),
        version: 2,
        value: "The API listens on 8080".into(),
        evidence: evidence(),
        why: Some("read in the configuration".into()),
    }
}

fn replay_asked() -> ReplayAsked {
    ReplayAsked {
        by: Author::Person,
        of: id("r7-ed-001-i1"),
        sha256: "00".repeat(32),
        profile: profile("ed"),
        run: id("r8-replay-run"),
    }
}

fn replay_judged() -> ReplayJudged {
    ReplayJudged {
        of: id("r7-ed-001-i1"),
        run: id("r8-replay-run"),
        verdict: Some(Verdict {
            match_status: MatchStatus::SemanticMatch,
            by: Some(By::Trees),
        }),
        measures: Some(Measures {
            trees: true,
            responses: false,
            signals: true,
            gate: None,
            unchanged: false,
            files: 1.0.into(),
            shape: 1.0.into(),
            text: 0.9523.into(),
        }),
        why: None,
    }
}

/// One of every kind.
pub(crate) fn of_every_kind() -> Vec<Event> {
    vec![
        Event::FactWritten(written()),
        Event::FactConfirmed(FactConfirmed {
            key: id("api.port"),
            version: 2,
            evidence: evidence(),
        }),
        Event::FactDisputed(disputed()),
        Event::FactPinned(FactPinned {
            key: id("api.port"),
            on: true,
        }),
        Event::MemoryRetracted(retracted()),
        Event::NotePut(note()),
        Event::NotesDropped(NotesDropped {
            keys: vec![id("tasks/auth.md"), id("todo")],
            by: None,
        }),
        Event::MemoryShown(shown()),
        Event::MemoryRead(read()),
        Event::MemoryCompacted(compacted()),
        Event::Synthesised(Synthesised {
            run: id("r7-synthesis"),
            up_to: 2,
            failed: false,
        }),
        Event::IterationRecorded(recorded()),
        Event::RecordsExpired(RecordsExpired { before: START }),
        Event::ReplayAsked(replay_asked()),
        Event::ReplayJudged(replay_judged()),
        Event::CommandTaken(taken()),
    ]
}

/// Those, and all their forms.
pub(crate) fn all() -> Vec<Event> {
    let authors = [
        Author::Person,
        Author::Mcp {
            client: "claude".into(),
        },
        Author::Hook { run: id("h7") },
        Author::Agent {
            id: agent(1),
            idea_id: None,
            run: id("r1-ed-001-i1"),
        },
        Author::Synthesis { run: id("s7") },
        Author::Check {
            run: id("r1-ed-001-q1"),
        },
    ];
    let by = authors.map(|author| {
        Event::FactWritten(FactWritten {
            evidence: Box::new(Evidence {
                author,
                ..Evidence::default()
            }),
            why: None,
            ..written()
        })
    });
    let effects = [
        ClaimEffect::Wrote,
        ClaimEffect::Confirmed,
        ClaimEffect::Disputed("c1".into()),
    ];
    let mut all = of_every_kind();
    all.extend(by);
    all.extend(effects.map(claimed));
    all.push(Event::Learned(Learned {
        agent: None,
        restored: true,
        ..learned()
    }));
    all.push(Event::FactDisputed(FactDisputed {
        value: None,
        ..disputed()
    }));
    all.push(Event::MemoryRetracted(MemoryRetracted {
        learnings: Vec::new(),
        facts: Vec::new(),
        claims: Vec::new(),
        why: None,
        ..retracted()
    }));
    all.push(Event::NotePut(NotePut {
        expires_at: None,
        ..note()
    }));
    all.push(Event::NotesDropped(NotesDropped {
        keys: vec![id("todo")],
        by: Some(of_agent()),
    }));
    all.push(Event::MemoryShown(MemoryShown {
        items: Vec::new(),
        held: true,
        ..shown()
    }));
    all.push(Event::IterationRecorded(IterationRecorded {
        sha256: None,
        tree: None,
        model: None,
        why: Some("its directory is gone".into()),
        ..recorded()
    }));
    all.push(Event::MemoryRead(MemoryRead {
        items: Vec::new(),
        ..read()
    }));
    all.push(Event::MemoryCompacted(MemoryCompacted {
        history: Vec::new(),
        by: None,
        ..compacted()
    }));
    all.push(Event::FactConfirmed(FactConfirmed {
        key: id("api.port"),
        version: 2,
        evidence: Box::new(Evidence {
            author: Author::Synthesis { run: id("s7") },
            cited: vec![of_agent(), Author::Person],
            ..*evidence()
        }),
    }));
    all.push(Event::CommandTaken(CommandTaken {
        answer: None,
        ..taken()
    }));
    all
}
