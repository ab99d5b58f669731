//! The languages that agents speak with models.
//!
//! Invariant: what a dialect writes carries exactly the usage that it was given, in that dialect's
//! own way of counting.

use serde_json::{Map, Value, json};
use swarm::domain::usage::Tokens;

use super::script::{Failure, Item};
use super::{anthropic, chat, gemini, responses};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions.
    Chat,
    /// Gemini.
    Gemini,
}

/// A tool that the model may call.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Group that it belongs to, in the dialect that has groups.
    pub namespace: Option<String>,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its group.
    pub namespace: Option<String>,
    /// Its input.
    pub input: Value,
}

/// What is to be written.
#[derive(Debug)]
pub struct Answer<'a> {
    /// A name that no other answer has.
    pub id: &'a str,
    /// The model that was asked.
    pub model: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The tool that it calls.
    pub call: Option<&'a Call>,
    /// What it used.
    pub tokens: Tokens,
}

/// A server-sent event: its name, where the dialect has any, and its data.
pub type Frame = (Option<String>, Value);

/// An answer, ready to be sent: all at once, or as events with the text's pieces between `head` and
/// `tail`.
#[derive(Debug)]
pub struct Written {
    /// In one piece.
    pub whole: Value,
    /// Before the text.
    pub head: Vec<Frame>,
    /// After it.
    pub tail: Vec<Frame>,
    /// What ends the stream, beside its end.
    pub end: &'static str,
}

/// The names that agents give the tool that runs shell code, the one that is tried first in front.
const SHELLS: &[&str] = &[
    "Bash",
    "bash",
    "shell_command",
    "exec_command",
    "shell",
    "run_shell_command",
    "terminal",
    "execute_bash",
    "run_command",
    "execute_command",
    "Shell",
];

impl Dialect {
    /// By the path of a request.
    pub fn of(path: &str) -> Option<Self> {
        if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else {
            path.ends_with("enerateContent").then_some(Self::Gemini)
        }
    }

    /// The conversation of a request.
    pub fn items(self, body: &Value) -> Vec<Item> {
        match self {
            Self::Anthropic => anthropic::items(body),
            Self::Responses => responses::items(body),
            Self::Chat => chat::items(body),
            Self::Gemini => gemini::items(body),
        }
    }

    /// The tools of a request.
    pub fn tools(self, body: &Value) -> Vec<Tool> {
        match self {
            Self::Anthropic => anthropic::tools(body),
            Self::Responses => responses::tools(body),
            Self::Chat => chat::tools(body),
            Self::Gemini => gemini::tools(body),
        }
    }

    /// Writes an answer.
    pub fn write(self, answer: &Answer<'_>) -> Written {
        match self {
            Self::Anthropic => anthropic::write(answer),
            Self::Responses => responses::write(answer),
            Self::Chat => chat::write(answer),
            Self::Gemini => gemini::write(answer),
        }
    }

    /// A piece of the text.
    pub fn piece(self, id: &str, piece: &str) -> Frame {
        match self {
            Self::Anthropic => anthropic::piece(piece),
            Self::Responses => responses::piece(id, piece),
            Self::Chat => chat::piece(id, piece),
            Self::Gemini => gemini::piece(id, piece),
        }
    }

    /// A failure, as the service words it.
    pub fn failure(self, failure: &Failure) -> Value {
        let status = failure.status;
        let (kind, usual) = match status {
            400 => ("invalid_request_error", "The request is not valid."),
            401 => ("authentication_error", "The key is not valid."),
            429 => ("rate_limit_error", "This would exceed the rate limit."),
            529 | 503 => ("overloaded_error", "Overloaded"),
            _ => ("api_error", "Internal server error"),
        };
        let message = failure.message.as_deref().unwrap_or(usual);
        match (self, failure.reset) {
            (Self::Anthropic, _) => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            // The account's limit, not that of a minute: codex waits for no such.
            (Self::Responses, Some(reset)) => json!({"error": {
                "type": "usage_limit_reached", "message": message, "plan_type": "plus",
                    "resets_at": reset,
            }}),
            (Self::Responses | Self::Chat, _) => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
            }
            (Self::Gemini, _) => {
                let state = if status == 429 {
                    "RESOURCE_EXHAUSTED"
                } else {
                    "UNAVAILABLE"
                };
                json!({"error": {"code": status, "message": message, "status": state}})
            }
        }
    }
}

/// The call that has the agent run this shell code, if it offers any tool for that.
pub fn shell_call(tools: &[Tool], code: &str) -> Option<Call> {
    let tool = SHELLS
        .iter()
        .find_map(|name| tools.iter().find(|tool| tool.name == *name))?;
    let none = Map::new();
    let properties = tool.schema["properties"].as_object().unwrap_or(&none);
    let key = ["command", "cmd", "script"]
        .into_iter()
        .find(|key| properties.contains_key(*key))
        .unwrap_or("command");
    let as_list = type_of(properties.get(key)) == "array";
    let code = if as_list {
        json!(["bash", "-lc", code])
    } else {
        json!(code)
    };
    let mut input = Map::from_iter([(key.to_owned(), code)]);
    // Codex goes on without a tool that takes longer than this; the usual is a third of it.
    if properties.contains_key("yield_time_ms") {
        input.insert("yield_time_ms".to_owned(), json!(30_000));
    }
    for name in tool.schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        let plain = || of_type(properties.get(name));
        input.entry(name).or_insert_with(plain);
    }
    Some(Call {
        name: tool.name.clone(),
        namespace: None,
        input: Value::Object(input),
    })
}

/// The call of the tool whose name ends so.
pub fn named_call(tools: &[Tool], name: &str, args: &Value) -> Option<Call> {
    let tool = tools.iter().find(|tool| tool.name.ends_with(name))?;
    Some(Call {
        name: tool.name.clone(),
        namespace: tool.namespace.clone(),
        input: args.clone(),
    })
}

fn type_of(property: Option<&Value>) -> String {
    let named = property.and_then(|property| property["type"].as_str());
    named.unwrap_or("string").to_lowercase()
}

/// Something that a property can hold, where the agent insists on it.
fn of_type(property: Option<&Value>) -> Value {
    if let Some(first) = property.and_then(|property| property["enum"].get(0)) {
        return first.clone();
    }
    match type_of(property).as_str() {
        "boolean" => json!(false),
        "integer" | "number" => json!(0),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("stub"),
    }
}

/// The text of a content that is a text or a list of parts.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The elements of a list; none where there is no list.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
