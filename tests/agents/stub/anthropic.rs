//! Anthropic Messages. What was read fresh, from the cache and into the cache are told apart, so
//! the sum is what was read.

use serde_json::{Value, json};
use swarm::domain::usage::Tokens;

use super::dialect::{Answer, Frame, Tool, Written, list, text_of};
use super::script::Item;

/// The conversation.
pub fn items(body: &Value) -> Vec<Item> {
    let mut items = vec![];
    for message in list(&body["messages"]) {
        let content = &message["content"];
        let parts = match content {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            _ => list(content).cloned().collect(),
        };
        let assistant = message["role"] == "assistant";
        for part in parts {
            items.extend(match part["type"].as_str() {
                Some("text") if assistant => Some(Item::Said(part_text(&part))),
                Some("text") => Some(Item::User(part_text(&part))),
                Some("tool_use") => Some(Item::Call),
                Some("tool_result") => Some(Item::Result(text_of(&part["content"]))),
                _ => None,
            });
        }
    }
    items
}

fn part_text(part: &Value) -> String {
    part["text"].as_str().unwrap_or_default().to_owned()
}

/// The tools.
pub fn tools(body: &Value) -> Vec<Tool> {
    let named = list(&body["tools"]).filter_map(|tool| {
        Some(Tool {
            name: tool["name"].as_str()?.to_owned(),
            namespace: None,
            schema: tool["input_schema"].clone(),
        })
    });
    named.collect()
}

fn usage(tokens: Tokens, output: u64) -> Value {
    json!({
        "input_tokens": tokens.input,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": tokens.cache_written,
        "output_tokens": output,
    })
}

fn frame(data: Value) -> Frame {
    (data["type"].as_str().map(str::to_owned), data)
}

/// A piece of the text.
pub fn piece(piece: &str) -> Frame {
    frame(json!({
        "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece},
    }))
}

/// An answer. Its text, if any, is block 0.
pub fn write(answer: &Answer<'_>) -> Written {
    let mut message = json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant",
            "model": answer.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(answer.tokens, 1),
    });
    let mut head = vec![frame(json!({"type": "message_start", "message": message}))];
    let mut tail = vec![];
    let mut content = vec![];
    let stop = |index: usize| frame(json!({"type": "content_block_stop", "index": index}));
    if !answer.text.is_empty() {
        let empty = json!({"type": "text", "text": ""});
        head.push(frame(
            json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        ));
        tail.push(stop(0));
        content.push(json!({"type": "text", "text": answer.text}));
    }
    if let Some(call) = answer.call {
        let index = content.len();
        let mut block = json!({
            "type": "tool_use", "id": format!("toolu_{}", answer.id), "name": call.name,
                "input": {},
        });
        tail.push(frame(
            json!({"type": "content_block_start", "index": index, "content_block": block}),
        ));
        let delta = json!({"type": "input_json_delta", "partial_json": call.input.to_string()});
        tail.push(frame(
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
        tail.push(stop(index));
        block["input"] = call.input.clone();
        content.push(block);
    }
    let reason = if answer.call.is_some() {
        "tool_use"
    } else {
        "end_turn"
    };
    let total = usage(answer.tokens, answer.tokens.output);
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    tail.push(frame(
        json!({"type": "message_delta", "delta": delta, "usage": total}),
    ));
    tail.push(frame(json!({"type": "message_stop"})));
    message["content"] = content.into();
    message["stop_reason"] = reason.into();
    message["usage"] = total;
    Written {
        whole: message,
        head,
        tail,
        end: "",
    }
}
