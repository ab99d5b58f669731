//! `OpenAI` Chat Completions. What was read from the cache is a part of what was read.

use serde_json::{Value, json};

use super::dialect::{Answer, Frame, Tool, Written, list, text_of};
use super::script::Item;

/// The conversation.
pub fn items(body: &Value) -> Vec<Item> {
    let mut items = vec![];
    for message in list(&body["messages"]) {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("user") => items.push(Item::User(text)),
            Some("tool") => items.push(Item::Result(text)),
            Some("assistant") => {
                if !text.is_empty() {
                    items.push(Item::Said(text));
                }
                items.extend(list(&message["tool_calls"]).map(|_| Item::Call));
            }
            _ => {}
        }
    }
    items
}

/// The tools.
pub fn tools(body: &Value) -> Vec<Tool> {
    let functions = list(&body["tools"]).map(|tool| &tool["function"]);
    let named = functions.filter_map(|function| {
        Some(Tool {
            name: function["name"].as_str()?.to_owned(),
            namespace: None,
            schema: function["parameters"].clone(),
        })
    });
    named.collect()
}

fn chunk(id: &str, delta: &Value, reason: Option<&str>) -> Frame {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
    let data = json!({
        "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": 0,
            "model": "stub",
        "choices": [choice],
    });
    (None, data)
}

/// A piece of the text.
pub fn piece(id: &str, piece: &str) -> Frame {
    chunk(id, &json!({"content": piece}), None)
}

/// An answer.
pub fn write(answer: &Answer<'_>) -> Written {
    let id = answer.id;
    let calls = answer.call.map(|call| {
        json!([{
            "index": 0, "id": format!("call_{id}"), "type": "function",
            "function": {"name": call.name, "arguments": call.input.to_string()},
        }])
    });
    let reason = if calls.is_some() {
        "tool_calls"
    } else {
        "stop"
    };
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached + tokens.cache_written;
    let usage = json!({
        "prompt_tokens": input, "completion_tokens": tokens.output,
            "total_tokens": input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    });
    let head = vec![chunk(
        id,
        &json!({"role": "assistant", "content": ""}),
        None,
    )];
    let mut tail = vec![];
    let mut message = json!({"role": "assistant", "content": answer.text});
    if let Some(calls) = calls {
        tail.push(chunk(id, &json!({"tool_calls": calls}), None));
        message["tool_calls"] = calls;
    }
    tail.push(chunk(id, &json!({}), Some(reason)));
    let (_, mut last) = chunk(id, &json!({}), None);
    last["choices"] = json!([]);
    last["usage"] = usage.clone();
    tail.push((None, last));
    let whole = json!({
        "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": 0,
            "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage,
    });
    Written {
        whole,
        head,
        tail,
        end: "data: [DONE]\n\n",
    }
}
