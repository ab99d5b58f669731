//! Events about swarms that move, for whoever needs an example.

use crate::domain::event::{
    AgentImported, Event, IdeaAdded, SwarmImported, SwarmMoved, SwarmReclaimed, WorkImported,
};
use crate::domain::ids::Oid;
use crate::domain::operation::NewIdea;
use crate::domain::request::Author;
use crate::domain::session::Session;
use crate::domain::state::Kept;
use crate::domain::state::checkpoint::SavedWork;
use crate::domain::state::transfer::agent::{ImportedAgent, ImportedCommits, ImportedConversation};
use crate::domain::state::transfer::{ImportIssue, ImportPurpose};
use crate::domain::usage::{Counted, Tokens};

use super::{agent, idea, new_idea, oid, profile};

const SHA256: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn kept() -> Kept {
    let saved = SavedWork {
        agent: agent(2),
        base: oid(1),
        tip: oid(2),
        wip: Some(oid(3)),
        iterations: 2,
        last_run: None,
        feedback: None,
        review: None,
        messages: Vec::new(),
    };
    Kept {
        session: Some(Box::new(Session {
            id: "093c7360-d3a1-49db-a92e-09320e901527".parse().unwrap(),
            profile: profile("ed"),
            counted: Counted::default(),
            failures: 0,
        })),
        prompt: Some("r1-ed-002-i1".parse().unwrap()),
        ..saved.kept()
    }
}

/// An agent of another swarm, with commits or without.
pub(crate) fn imported_agent(work: bool) -> ImportedAgent {
    ImportedAgent {
        agent: agent(7),
        swarm_id: Some(SHA256.into()),
        sha256: SHA256.into(),
        file: format!("state/imports/{SHA256}.json"),
        work: work.then(|| ImportedCommits {
            base: oid(0xfff1),
            tip: imported_tip(),
        }),
        conversation: None,
    }
}

/// The same agent with the conversation of its program.
pub(crate) fn imported_with_conversation(work: bool) -> ImportedAgent {
    ImportedAgent {
        conversation: Some(ImportedConversation {
            adapter: "claude".into(),
            session: "5d0f6b0e-3c61-4f0e-9d3b-1f2e3d4c5b6a".parse().unwrap(),
            counted: Counted {
                tokens: Tokens {
                    input: 100,
                    ..Tokens::default()
                },
                ..Counted::default()
            },
            taken: false,
        }),
        ..imported_agent(work)
    }
}

/// Last commit of an imported agent.
pub(crate) fn imported_tip() -> Oid {
    oid(0xfff2)
}

/// One event of every kind.
pub(crate) fn of_every_kind() -> Vec<Event> {
    vec![
        Event::SwarmImported(SwarmImported {
            manifest_sha256: SHA256.into(),
            swarm_id: SHA256.into(),
            seq: 40,
            purpose: ImportPurpose::Move,
            issues: ImportIssue::ALL.map(|issue| (issue, 1)).into(),
            unknown_profiles: vec![profile("ed")],
            by: Author::Person,
        }),
        Event::WorkImported(WorkImported {
            id: idea(3),
            kept: Box::new(kept()),
        }),
        Event::SwarmMoved(SwarmMoved {
            manifest_sha256: SHA256.into(),
            by: Author::Person,
        }),
        Event::SwarmReclaimed(SwarmReclaimed { by: Author::Person }),
        Event::AgentImported(AgentImported {
            id: idea(3),
            imported: Box::new(imported_agent(true)),
            profile: Some(profile("finn")),
        }),
    ]
}

/// Those, and all their forms.
pub(crate) fn all() -> Vec<Event> {
    let mut all = of_every_kind();
    all.push(Event::SwarmImported(SwarmImported {
        manifest_sha256: SHA256.into(),
        swarm_id: SHA256.into(),
        seq: 40,
        purpose: ImportPurpose::Copy,
        issues: [].into(),
        unknown_profiles: Vec::new(),
        by: Author::Person,
    }));
    let mut alone = imported_agent(false);
    alone.swarm_id = None;
    all.push(Event::IdeaAdded(IdeaAdded {
        id: idea(3),
        idea: NewIdea {
            imported: Some(Box::new(alone.clone())),
            ..new_idea("go on")
        },
    }));
    all.push(Event::AgentImported(AgentImported {
        id: idea(3),
        imported: Box::new(imported_with_conversation(true)),
        profile: None,
    }));
    all.push(Event::AgentImported(AgentImported {
        id: idea(3),
        imported: Box::new(alone),
        profile: None,
    }));
    all
}
