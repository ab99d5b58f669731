//! Gemini. What was read from the cache is a part of what was read.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::dialect::{Answer, Frame, Tool, Written, list};
use super::script::Item;

/// The conversation. In one that is taken up the program says twice what a tool gave.
pub fn items(body: &Value) -> Vec<Item> {
    let mut items = vec![];
    let mut given = HashSet::new();
    for content in list(&body["contents"]) {
        let model = content["role"] == "model";
        for part in list(&content["parts"]) {
            let text = part["text"].as_str();
            if part.get("functionCall").is_some() {
                items.push(Item::Call);
            } else if let Some(answer) = part.get("functionResponse") {
                if answer["id"].is_string() && !given.insert(answer["id"].to_string()) {
                    continue;
                }
                items.push(Item::Result(answer["response"].to_string()));
            } else if let Some(text) = text {
                let text = text.to_owned();
                items.push(if model {
                    Item::Said(text)
                } else {
                    Item::User(text)
                });
            }
        }
    }
    items
}

/// The tools.
pub fn tools(body: &Value) -> Vec<Tool> {
    let declared = list(&body["tools"]).flat_map(|tool| list(&tool["functionDeclarations"]));
    let named = declared.filter_map(|function| {
        let schema = function.get("parametersJsonSchema");
        Some(Tool {
            name: function["name"].as_str()?.to_owned(),
            namespace: None,
            schema: schema.unwrap_or(&function["parameters"]).clone(),
        })
    });
    named.collect()
}

fn content(id: &str, parts: &Value, last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if last {
        candidate["finishReason"] = "STOP".into();
    }
    json!({"candidates": [candidate], "modelVersion": "stub", "responseId": id})
}

/// A piece of the text.
pub fn piece(id: &str, piece: &str) -> Frame {
    (None, content(id, &json!([{"text": piece}]), false))
}

/// An answer.
pub fn write(answer: &Answer<'_>) -> Written {
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached + tokens.cache_written;
    let usage = json!({
        "promptTokenCount": input, "cachedContentTokenCount": tokens.cached,
        "candidatesTokenCount": tokens.output, "totalTokenCount": input + tokens.output,
    });
    let mut parts = vec![];
    let mut tail = vec![];
    if !answer.text.is_empty() {
        parts.push(json!({"text": answer.text}));
    }
    if let Some(call) = answer.call {
        let part = json!({"functionCall": {"name": call.name, "args": call.input}});
        tail.push((None, content(answer.id, &json!([part]), false)));
        parts.push(part);
    }
    let mut last = content(answer.id, &json!([{"text": ""}]), true);
    last["usageMetadata"] = usage.clone();
    tail.push((None, last));
    let mut whole = content(answer.id, &parts.into(), true);
    whole["usageMetadata"] = usage;
    Written {
        whole,
        head: vec![],
        tail,
        end: "",
    }
}
