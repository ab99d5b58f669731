//! Carries out a call.
//!
//! Invariant: a change carries a fresh operation id and is sent again only under the same id, so it
//! happens once even if the daemon dies before it answers.

use serde_json::Value;

use super::arguments::{self, Call};
use crate::cli::access::with_access;
use crate::cli::error::CliError;
use crate::cli::repo::Repo;
use crate::domain::command::Command;
use crate::domain::ids::ProfileName;
use crate::domain::memory::{
    BadKey, Claim, ConfirmFact, DisputeFact, FactKey, Learn, MemoryCommand, NoteKey, PutNote,
    Reference, WriteFact,
};

/// Who calls.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// Profile that local learnings are for.
    pub(super) profile: Option<ProfileName>,
    /// The client's name, as it gave it.
    pub(super) client: Option<String>,
}

/// The answer to a call, as the client's model reads it.
pub(super) fn carry_out(repo: &Repo, caller: &Caller, call: Call) -> Result<Value, CliError> {
    match call {
        Call::Search(_) | Call::GetFact(_) | Call::Log(_) | Call::GetNotes(_) => {
            Err(CliError::refused("later"))
        }
        Call::Learn(call) => change(repo, caller, learn(caller, call)?),
        Call::WriteFact(call) => change(repo, caller, write_fact(call)?),
        Call::ConfirmFact(call) => change(repo, caller, confirm_fact(call)?),
        Call::DisputeFact(call) => change(repo, caller, dispute_fact(call)?),
        Call::PutNote(call) => change(repo, caller, put_note(call)?),
    }
}

fn change(repo: &Repo, caller: &Caller, command: MemoryCommand) -> Result<Value, CliError> {
    let command = Command::Memory(command);
    let _ = &caller.client;
    with_access(repo, |access| access.execute(&command))
}

fn learn(caller: &Caller, call: arguments::Learn) -> Result<MemoryCommand, CliError> {
    let profile = match (&caller.profile, call.local) {
        (_, false) => None,
        (Some(profile), true) => Some(profile.clone()),
        (None, true) => return Err(no_profile()),
    };
    Ok(MemoryCommand::Learn(Learn {
        content: call.content,
        key: call.key.map(fact_key).transpose()?,
        profile,
        same_as: call.same_as,
        claim: Claim {
            paths: call.paths,
            ..Claim::default()
        },
    }))
}

fn write_fact(call: arguments::WriteFact) -> Result<MemoryCommand, CliError> {
    Ok(MemoryCommand::WriteFact(WriteFact {
        key: fact_key(call.key)?,
        value: call.value,
        expected: Some(call.expected_version),
        claim: Claim {
            paths: call.paths,
            ..claim(&call.evidence)
        },
    }))
}

fn confirm_fact(call: arguments::ConfirmFact) -> Result<MemoryCommand, CliError> {
    Ok(MemoryCommand::ConfirmFact(ConfirmFact {
        key: fact_key(call.key)?,
        version: call.version,
        claim: claim(&call.evidence),
    }))
}

fn dispute_fact(call: arguments::DisputeFact) -> Result<MemoryCommand, CliError> {
    Ok(MemoryCommand::DisputeFact(DisputeFact {
        key: fact_key(call.key)?,
        version: call.version,
        value: call.value,
        claim: claim(&call.evidence),
    }))
}

fn put_note(call: arguments::PutNote) -> Result<MemoryCommand, CliError> {
    Ok(MemoryCommand::PutNote(PutNote {
        key: note_key(call.key)?,
        title: None,
        content: call.content,
        expected: call.expected_version,
        keep: call.keep,
    }))
}

fn claim(evidence: &[String]) -> Claim {
    let evidence = evidence.iter().map(|text| Reference::from(text.as_str()));
    Claim {
        evidence: evidence.collect(),
        ..Claim::default()
    }
}

fn fact_key(text: String) -> Result<FactKey, CliError> {
    text.try_into().map_err(|error| bad_key(&error))
}

fn note_key(text: String) -> Result<NoteKey, CliError> {
    text.try_into().map_err(|error| bad_key(&error))
}

fn bad_key(error: &BadKey) -> CliError {
    CliError::refused(error.to_string()).code("KEY_INVALID")
}

fn no_profile() -> CliError {
    CliError::refused("a local learning is for one profile, and this server was given none")
        .hint("leave out `local`, or start the server with a profile: swarm mcp --profile NAME")
}
