//! `OpenAI` Responses. What was read from the cache is a part of what was read.

use serde_json::{Value, json};

use super::dialect::{Answer, Frame, Tool, Written, list, text_of};
use super::script::Item;

/// The conversation.
pub fn items(body: &Value) -> Vec<Item> {
    if let Some(text) = body["input"].as_str() {
        return vec![Item::User(text.to_owned())];
    }
    let items = list(&body["input"]).filter_map(|item| {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("assistant")) => Some(Item::Said(text_of(&item["content"]))),
            ("message", Some("user")) => Some(Item::User(text_of(&item["content"]))),
            _ if kind.ends_with("_call") => Some(Item::Call),
            _ if kind.ends_with("_output") => Some(Item::Result(output(&item["output"]))),
            _ => None,
        }
    });
    items.collect()
}

fn output(output: &Value) -> String {
    match output {
        Value::Object(fields) => fields.get("content").map(text_of).unwrap_or_default(),
        other => text_of(other),
    }
}

/// The tools.
pub fn tools(body: &Value) -> Vec<Tool> {
    let own = functions(&body["tools"], None);
    let groups = list(&body["tools"]).filter(|tool| tool["type"] == "namespace");
    let grouped = groups.flat_map(|group| functions(&group["tools"], group["name"].as_str()));
    own.into_iter().chain(grouped).collect()
}

fn functions(tools: &Value, namespace: Option<&str>) -> Vec<Tool> {
    let functions = list(tools).filter(|tool| tool["type"] == "function");
    let named = functions.filter_map(|tool| {
        Some(Tool {
            name: tool["name"].as_str()?.to_owned(),
            namespace: namespace.map(str::to_owned),
            schema: tool["parameters"].clone(),
        })
    });
    named.collect()
}

fn frame(data: Value) -> Frame {
    (data["type"].as_str().map(str::to_owned), data)
}

fn message_id(id: &str) -> String {
    format!("msg_{id}")
}

/// A piece of the text.
pub fn piece(id: &str, piece: &str) -> Frame {
    frame(json!({
        "type": "response.output_text.delta", "item_id": message_id(id), "output_index": 0,
            "content_index": 0,
        "delta": piece,
    }))
}

/// An answer. Its text, if any, is item 0.
pub fn write(answer: &Answer<'_>) -> Written {
    let mut response = json!({
        "id": format!("resp_{}", answer.id), "object": "response", "created_at": 0,
            "model": answer.model,
        "status": "in_progress", "output": [],
    });
    let mut head = vec![frame(
        json!({"type": "response.created", "response": response}),
    )];
    let mut tail = vec![];
    let mut output = vec![];
    if !answer.text.is_empty() {
        let (before, after, item) = message(answer);
        head.extend(before);
        tail.extend(after);
        output.push(item);
    }
    if let Some(call) = answer.call {
        let index = output.len();
        let mut item = json!({
            "type": "function_call", "id": format!("fc_{}", answer.id),
                "call_id": format!("call_{}", answer.id),
            "name": call.name, "arguments": call.input.to_string(), "status": "completed",
        });
        if let Some(namespace) = &call.namespace {
            item["namespace"] = namespace.as_str().into();
        }
        tail.push(frame(
            json!({"type": "response.output_item.added", "output_index": index, "item": item}),
        ));
        tail.push(frame(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        ));
        output.push(item);
    }
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached + tokens.cache_written;
    response["status"] = "completed".into();
    response["output"] = output.into();
    response["usage"] = json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + tokens.output,
    });
    tail.push(frame(
        json!({"type": "response.completed", "response": response}),
    ));
    Written {
        whole: response,
        head,
        tail,
        end: "",
    }
}

/// The text as an item: what goes before its pieces, what after, itself.
fn message(answer: &Answer<'_>) -> (Vec<Frame>, Vec<Frame>, Value) {
    let id = message_id(answer.id);
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let item = |status: &str, content: Value| {
        json!({"type": "message", "id": id, "role": "assistant", "status": status,
        "content": content})
    };
    let done = item("completed", json!([part(answer.text)]));
    let before = vec![
        frame(json!({
            "type": "response.output_item.added", "output_index": 0,
                "item": item("in_progress", json!([])),
        })),
        frame(json!({
            "type": "response.content_part.added", "item_id": id, "output_index": 0,
                "content_index": 0,
            "part": part(""),
        })),
    ];
    let after = vec![
        frame(json!({
            "type": "response.output_text.done", "item_id": id, "output_index": 0,
                "content_index": 0,
            "text": answer.text,
        })),
        frame(json!({"type": "response.output_item.done", "output_index": 0, "item": done})),
    ];
    (before, after, done)
}
