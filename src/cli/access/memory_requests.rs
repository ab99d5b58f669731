//! The HTTP requests for commands about the memory.

use serde_json::{Value, json};

use super::remote::Request;
use crate::domain::memory::{Claim, Learn, MemoryCommand, PutNote, Retracted};

/// The request for a command.
pub(super) fn request(command: &MemoryCommand) -> Request {
    match command {
        MemoryCommand::Learn(learn) => Request::Post("learnings".into(), learning(learn)),
        MemoryCommand::WriteFact(write) => Request::Put(
            format!("memory/facts/{}", write.key),
            with_claim(
                json!({ "value": write.value, "expectedVersion": write.expected }),
                &write.claim,
            ),
        ),
        MemoryCommand::ConfirmFact(confirm) => Request::Post(
            format!("memory/facts/{}/confirm", confirm.key),
            with_claim(json!({ "version": confirm.version }), &confirm.claim),
        ),
        MemoryCommand::DisputeFact(dispute) => Request::Post(
            format!("memory/facts/{}/dispute", dispute.key),
            with_claim(
                json!({ "version": dispute.version, "value": dispute.value }),
                &dispute.claim,
            ),
        ),
        MemoryCommand::Pin { key, on } => {
            Request::Post(format!("memory/facts/{key}/pin"), json!({ "on": on }))
        }
        MemoryCommand::Retract { what, why } => {
            let body = match what {
                Retracted::Learning(id) => json!({ "learning": id, "why": why }),
                Retracted::Fact(key) => json!({ "key": key, "why": why }),
                Retracted::Agent(id) => json!({ "agentId": id, "why": why }),
            };
            Request::Post("memory/retract".into(), body)
        }
        MemoryCommand::PutNote(put) => note(put),
        MemoryCommand::Compact => Request::Post("memory/compact".into(), json!({})),
        MemoryCommand::Synthesize { profile } => {
            Request::Post("memory/synthesize".into(), json!({ "profile": profile }))
        }
    }
}

fn learning(learn: &Learn) -> Value {
    let body = json!({
        "content": learn.content,
        "key": learn.key,
        "profile": learn.profile,
        "sameAs": learn.same_as,
    });
    with_claim(body, &learn.claim)
}

fn note(put: &PutNote) -> Request {
    let path = format!("scratch/{}", put.key);
    if put.content.is_none() {
        let expected = put.expected;
        let expected = expected.map_or_else(String::new, |it| format!("?expectedVersion={it}"));
        return Request::Delete(format!("{path}{expected}"));
    }
    Request::Put(
        path,
        json!({
            "title": put.title,
            "content": put.content,
            "expectedVersion": put.expected,
            "keep": put.keep,
        }),
    )
}

fn with_claim(mut body: Value, claim: &Claim) -> Value {
    let evidence = claim.evidence.iter().map(ToString::to_string);
    body["evidence"] = evidence.collect::<Vec<_>>().into();
    body["paths"] = claim.paths.clone().into();
    body["why"] = claim.why.clone().into();
    body
}
