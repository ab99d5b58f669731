//! Actions on facts of the memory: write, confirm, dispute, pin, retract.
//!
//! Invariant: each form names the version that it was drawn at. If the fact has another one,
//! nothing is done, and a fresh form shows what is there now.

use futures_util::FutureExt as _;
use maud::{Markup, html};

use super::call::Call;
use super::dialog::Dialog;
use super::{Action, Done, Watch};
use crate::api::ApiError;
use crate::domain::memory::{
    Claim, ConfirmFact, CurrentValue, DisputeFact, Fact, FactKey, MemoryCommand, MemoryRefusal,
    Retracted, WriteFact,
};
use crate::domain::operation::Command;
use crate::domain::rejection::Rejection;
use crate::domain::request::{Author, Request};
use crate::web::entry::access::hex;
use crate::web::pages::WebError;
use crate::web::pages::memory::fact::unknown;

/// The field with the version that a form was drawn at.
const VERSION: &str = "version";

/// See the module.
pub(super) const ACTIONS: &[Action] = &[
    Action {
        verb: "fact-settle",
        about: Some("fact"),
        ask: Some(|call| async { ask_write(call) }.boxed()),
        act: |call| write(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "fact-confirm",
        about: Some("fact"),
        ask: Some(|call| async { ask_confirm(call) }.boxed()),
        act: |call| confirm(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "fact-dispute",
        about: Some("fact"),
        ask: Some(|call| async { ask_dispute(call) }.boxed()),
        act: |call| dispute(call).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "fact-pin",
        about: Some("fact"),
        ask: Some(|call| async { ask_pin(call, true) }.boxed()),
        act: |call| pin(call, true).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "fact-unpin",
        about: Some("fact"),
        ask: Some(|call| async { ask_pin(call, false) }.boxed()),
        act: |call| pin(call, false).boxed(),
        watch: |_| Watch::Nothing,
    },
    Action {
        verb: "fact-retract",
        about: Some("fact"),
        ask: Some(|call| async { ask_retract(call) }.boxed()),
        act: |call| retract(call).boxed(),
        watch: |_| Watch::Nothing,
    },
];

/// The fact of a call, as it is now.
fn fact(call: &Call) -> Result<(FactKey, Fact), WebError> {
    let id = call.id.as_deref().unwrap_or_default();
    call.read(|state| {
        let key = id.parse::<FactKey>().ok();
        let found = key.and_then(|key| {
            let fact = state.facts.get(&key)?.clone();
            Some((key, fact))
        });
        found.ok_or_else(|| unknown(state, id))
    })
}

/// The version that the form was drawn at.
fn version(call: &Call) -> Result<u64, WebError> {
    let version = call.text(VERSION).parse();
    version.map_err(|_| WebError::bad("the form does not say which version it was drawn at"))
}

/// Refuses a form that was drawn at another version.
fn require_version(key: &FactKey, fact: &Fact, expected: u64) -> Result<(), WebError> {
    if fact.version == expected {
        return Ok(());
    }
    let refusal = MemoryRefusal::FactConflict {
        key: key.clone(),
        expected,
        current: Box::new(CurrentValue {
            version: fact.version,
            value: Some(fact.value.clone()),
            by: Some(fact.by.clone()),
        }),
    };
    Err(ApiError::from(Rejection::from(refusal)).into())
}

/// Sends a command of a person. The operation outlives a restart of the daemon.
async fn send(call: &Call, command: MemoryCommand) -> Result<Done, WebError> {
    let key = call.id.as_deref().unwrap_or_default();
    let operation = hex(&call.operation()?).parse().ok();
    let request = Request {
        by: Author::Person,
        operation,
        command: Command::Memory(command),
    };
    let sent = call.site.api.handle.request(request).await;
    sent.map_err(|error| WebError::from(ApiError::from(error)))?;
    Ok(Done::at(call.back(&format!("memory/{key}"))))
}

fn why(call: &Call) -> Option<String> {
    Some(call.text("why")).filter(|why| !why.is_empty())
}

fn claim(call: &Call) -> Claim {
    Claim {
        why: why(call),
        ..Claim::default()
    }
}

/// A dialog about a fact; the form names the version that the dialog shows.
fn dialog(call: &Call, title: &str, fields: &Markup, button: &str) -> Result<Dialog, WebError> {
    let (key, fact) = fact(call)?;
    Ok(Dialog {
        title: format!("{title} {key}"),
        back: call.back(&format!("memory/{key}")),
        says: html! {
            input type="hidden" name=(VERSION) value=(fact.version);
            (present(&fact))
        },
        fields: fields.clone(),
        button: Some(button.to_owned()),
        is_grave: false,
    })
}

/// What is there now.
fn present(fact: &Fact) -> Markup {
    html! {
        p {
            "Version " (fact.version) " by " (fact.by)
            @if fact.retracted.is_some() { ", retracted" }
            ":"
        }
        p .any { b { (fact.value) } }
        @for rival in &fact.rivals {
            @let by = rival.evidence.kept.first().map(|first| &first.author);
            p .sub.any {
                "Against it"
                @if let Some(by) = by { ", " (by) }
                ": "
                @match &rival.value {
                    Some(value) => q { (value) },
                    None => "the value is wrong",
                }
            }
        }
    }
}

fn reason(call: &Call) -> Markup {
    html! {
        label for="ask-why" { "Why (optional)" }
        input #ask-why name="why" value=(call.text("why"));
    }
}

fn ask_write(call: &Call) -> Result<Dialog, WebError> {
    let fields = html! {
        label for="ask-value" { "Value, one line" }
        textarea #ask-value name="text" rows="2" required autofocus { "\n" (call.text("text")) }
        (reason(call))
    };
    dialog(call, "Write", &fields, "Write it")
}

async fn write(call: &Call) -> Result<Done, WebError> {
    let (key, _) = fact(call)?;
    let command = WriteFact {
        key,
        value: call.text("text"),
        expected: Some(version(call)?),
        claim: claim(call),
    };
    send(call, MemoryCommand::WriteFact(command)).await
}

fn ask_confirm(call: &Call) -> Result<Dialog, WebError> {
    dialog(call, "Confirm", &reason(call), "Confirm this value")
}

async fn confirm(call: &Call) -> Result<Done, WebError> {
    let (key, _) = fact(call)?;
    let command = ConfirmFact {
        key,
        version: version(call)?,
        claim: claim(call),
    };
    send(call, MemoryCommand::ConfirmFact(command)).await
}

fn ask_dispute(call: &Call) -> Result<Dialog, WebError> {
    let fields = html! {
        label for="ask-value" { "What holds instead (empty: only that the value is wrong)" }
        textarea #ask-value name="text" rows="2" autofocus { "\n" (call.text("text")) }
        (reason(call))
    };
    dialog(call, "Dispute", &fields, "Dispute it")
}

async fn dispute(call: &Call) -> Result<Done, WebError> {
    let (key, _) = fact(call)?;
    let command = DisputeFact {
        key,
        version: version(call)?,
        value: Some(call.text("text")).filter(|value| !value.is_empty()),
        claim: claim(call),
    };
    send(call, MemoryCommand::DisputeFact(command)).await
}

fn ask_pin(call: &Call, on: bool) -> Result<Dialog, WebError> {
    let (title, button) = if on {
        ("Pin", "Pin it")
    } else {
        ("Unpin", "Unpin it")
    };
    dialog(call, title, &html! {}, button)
}

async fn pin(call: &Call, on: bool) -> Result<Done, WebError> {
    let (key, fact) = fact(call)?;
    require_version(&key, &fact, version(call)?)?;
    send(call, MemoryCommand::Pin { key, on }).await
}

fn ask_retract(call: &Call) -> Result<Dialog, WebError> {
    let asked = dialog(call, "Retract", &reason(call), "Retract it")?;
    let present = asked.says;
    Ok(Dialog {
        says: html! {
            (present)
            p { "Agents are shown it no more. It stays in the log, and a new value brings it \
                back." }
        },
        is_grave: true,
        ..asked
    })
}

async fn retract(call: &Call) -> Result<Done, WebError> {
    let (key, fact) = fact(call)?;
    require_version(&key, &fact, version(call)?)?;
    let what = Retracted::Fact(key);
    send(
        call,
        MemoryCommand::Retract {
            what,
            why: why(call),
        },
    )
    .await
}
