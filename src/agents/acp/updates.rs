//! What an agent reports during its turn (`session/update`), as events.
//!
//! Agents differ in what they report of a tool call: some announce it at once and tell its input
//! later, some only ask whether they may, some report nothing but its end. Each call comes out as
//! one event before its result, with what was known of it by then.
//!
//! Invariant: only the agent's own messages become text. What is held back is bounded: thoughts up
//! to a piece's length, and the last calls.

use std::collections::VecDeque;

use serde_json::Value;

use super::event::Event;
use crate::agents::stream::json::{Object, as_text, decimal, number, object, objects, text};
use crate::agents::text::head;
use crate::domain::usage::{MicroUsd, Scope, Tokens, Usage};

/// Thoughts come in small pieces; so many bytes of them are one event.
const THOUGHT: usize = 4 * 1024;
/// Calls that may still be reported on.
const CALLS: usize = 256;
/// Of a call's input so many bytes are passed on.
const INPUT: usize = 16 * 1024;
/// And of its output.
const OUTPUT: usize = 64 * 1024;

/// What was reported so far and is not passed on yet.
#[derive(Debug, Default)]
pub(super) struct Updates {
    thought: String,
    calls: VecDeque<Call>,
    answered: bool,
    usage: Usage,
}

#[derive(Debug, Default)]
struct Call {
    id: String,
    title: String,
    kind: String,
    name: String,
    command: String,
    output: String,
    told: bool,
    over: bool,
}

impl Updates {
    /// A `session/update`.
    pub(super) fn update(&mut self, update: &Object, events: &mut Vec<Event>) {
        match text(update, "sessionUpdate").unwrap_or_default() {
            "agent_message_chunk" => {
                self.begin(events);
                self.flush(events);
                let text = content_text(update);
                if !text.is_empty() {
                    let message = text_of(update, "messageId");
                    events.push(Event::Text { message, text });
                }
            }
            "agent_thought_chunk" => {
                self.begin(events);
                self.thought.push_str(&content_text(update));
                if self.thought.len() > THOUGHT {
                    self.flush(events);
                }
            }
            "tool_call" | "tool_call_update" => {
                self.begin(events);
                self.call(update, false, events);
            }
            "usage_update" => {
                if let Some(cost) = cost(update) {
                    self.usage.cost = Some(cost);
                    self.usage.cost_of = Scope::Session;
                    events.push(Event::Usage(self.usage.clone()));
                }
            }
            _ => {}
        }
    }

    /// The agent asks whether it may do this: it is about to.
    pub(super) fn permission(&mut self, call: &Object, events: &mut Vec<Event>) {
        self.begin(events);
        self.call(call, true, events);
    }

    /// The answer to the prompt: the turn is over.
    pub(super) fn over(&mut self, answer: &Object, events: &mut Vec<Event>) {
        self.flush(events);
        if let Some(tokens) = object(answer, "usage").map(tokens) {
            self.usage.tokens = Some(tokens);
            // Some tell the whole turn here, some its last request only.
            self.usage.partial = true;
            events.push(Event::Usage(self.usage.clone()));
        }
    }

    /// Passes on the thoughts that are held back.
    pub(super) fn flush(&mut self, events: &mut Vec<Event>) {
        if !self.thought.trim().is_empty() {
            events.push(Event::Thought(std::mem::take(&mut self.thought)));
        }
        self.thought.clear();
    }

    fn begin(&mut self, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.answered, true) {
            events.push(Event::Answered {});
        }
    }

    fn call(&mut self, update: &Object, asked: bool, events: &mut Vec<Event>) {
        self.flush(events);
        let id = text(update, "toolCallId").unwrap_or_default();
        let call = self.known(id);
        call.learn(update);
        if !asked {
            call.learn_output(update);
        }
        let status = text(update, "status").unwrap_or_default();
        let over = matches!(status, "completed" | "failed");
        if (asked || over || status == "in_progress") && !std::mem::replace(&mut call.told, true) {
            events.push(call.event());
        }
        if over && !std::mem::replace(&mut call.over, true) {
            events.push(Event::ToolResult {
                id: call.id.clone(),
                output: std::mem::take(&mut call.output),
                ok: status == "completed",
            });
        }
    }

    fn known(&mut self, id: &str) -> &mut Call {
        let place = self.calls.iter().position(|call| call.id == id);
        let place = place.unwrap_or_else(|| {
            if self.calls.len() == CALLS {
                self.calls.pop_front();
            }
            self.calls.push_back(Call {
                id: id.to_owned(),
                ..Call::default()
            });
            self.calls.len() - 1
        });
        &mut self.calls[place]
    }
}

impl Call {
    /// Takes over what an update tells; what it does not name stays as it was.
    fn learn(&mut self, update: &Object) {
        for (name, field) in [
            ("title", &mut self.title),
            ("kind", &mut self.kind),
            ("name", &mut self.name),
        ] {
            if let Some(text) = text(update, name) {
                head(text, INPUT).clone_into(field);
            }
        }
        if let Some(command) = object(update, "rawInput").and_then(command) {
            self.command = command;
        }
    }

    /// What comes with a question is about the call, not from it.
    fn learn_output(&mut self, update: &Object) {
        let output = output(update);
        if !output.is_empty() {
            self.output = output;
        }
    }

    fn event(&self) -> Event {
        let shell = self.kind == "execute";
        let first = |texts: [&String; 3]| {
            let found = texts.into_iter().find(|text| !text.is_empty());
            found.cloned().unwrap_or_default()
        };
        let (tool, input) = if shell {
            let none = String::new();
            (
                "shell".to_owned(),
                first([&self.command, &self.title, &none]),
            )
        } else {
            let tool = "tool".to_owned();
            (first([&self.name, &self.kind, &tool]), self.title.clone())
        };
        Event::ToolCall {
            id: self.id.clone(),
            tool,
            input,
        }
    }
}

fn text_of(object: &Object, name: &str) -> String {
    text(object, name).unwrap_or_default().to_owned()
}

/// The text of the one block under `content`.
fn content_text(holder: &Object) -> String {
    object(holder, "content").map_or_else(String::new, |block| text_of(block, "text"))
}

/// What a shell is to do, where a call's input says it.
fn command(input: &Object) -> Option<String> {
    let whole = input.get("command")?;
    if let Some(command) = whole.as_str() {
        return Some(head(command, INPUT).to_owned());
    }
    let words = whole.as_array()?.iter().filter_map(Value::as_str);
    Some(head(&words.collect::<Vec<_>>().join(" "), INPUT).to_owned())
}

/// What a call has given so far: its content, else its raw output.
fn output(update: &Object) -> String {
    let pieces = objects(update, "content").map(|piece| match text(piece, "type") {
        Some("diff") => format!("changed {}", text_of(piece, "path")),
        _ => content_text(piece),
    });
    let mut whole = pieces
        .filter(|piece| !piece.is_empty())
        .collect::<Vec<_>>()
        .join("\n");
    if whole.is_empty() {
        whole = match object(update, "rawOutput") {
            Some(raw) if raw.contains_key("output") => as_text(raw, "output"),
            _ => as_text(update, "rawOutput"),
        };
    }
    head(&whole, OUTPUT).to_owned()
}

/// The cost of the conversation, where it is told in dollars.
fn cost(update: &Object) -> Option<MicroUsd> {
    let cost = object(update, "cost")?;
    if text(cost, "currency") != Some("USD") {
        return None;
    }
    MicroUsd::from_dollars(decimal(cost, "amount")?)
}

fn tokens(usage: &Object) -> Tokens {
    let count = |name: &str| number(usage, name).unwrap_or_default();
    Tokens {
        input: count("inputTokens"),
        cached: count("cachedReadTokens"),
        cache_written: count("cachedWriteTokens"),
        output: count("outputTokens").saturating_add(count("thoughtTokens")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn events(updates: &[Value]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut state = Updates::default();
        for update in updates {
            if let Value::Object(update) = update {
                state.update(update, &mut events);
            }
        }
        state.flush(&mut events);
        events
    }

    fn call(id: &str, tool: &str, input: &str) -> Event {
        Event::ToolCall {
            id: id.into(),
            tool: tool.into(),
            input: input.into(),
        }
    }

    fn result(id: &str, output: &str, ok: bool) -> Event {
        Event::ToolResult {
            id: id.into(),
            output: output.into(),
            ok,
        }
    }

    #[test]
    fn a_call_is_told_once_with_what_is_known_of_it_and_once_with_its_result() {
        let told = events(&[
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "bash",
                "kind": "execute", "status": "pending"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress",
                "rawInput": {"command": "ls"}}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress",
                "content": [{"type": "content", "content": {"type": "text", "text": "a"}}]}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed",
                "rawOutput": {"output": "a\nb"}}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "2", "title": "x.rs",
                "kind": "edit", "status": "failed",
                "content": [{"type": "diff", "path": "/x.rs", "newText": "y"}]}),
            json!({"sessionUpdate": "tool_call", "toolCallId": "3",
                "rawInput": {"command": ["a", "b"]}, "kind": "execute", "status": "in_progress"}),
            json!({"sessionUpdate": "of a later version", "toolCallId": 3}),
        ]);
        let expected = [
            Event::Answered {},
            call("1", "shell", "ls"),
            result("1", "a\nb", true),
            call("2", "edit", "x.rs"),
            result("2", "changed /x.rs", false),
            call("3", "shell", "a b"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn only_the_agents_own_messages_are_text() {
        let chunk = |kind: &str, text: &str| {
            json!({"sessionUpdate": kind, "messageId": "m",
                "content": {"type": "text", "text": text}})
        };
        let text = |text: &str| Event::Text {
            message: "m".into(),
            text: text.into(),
        };
        let told = events(&[
            chunk("user_message_chunk", "prompt"),
            chunk("agent_thought_chunk", "I "),
            chunk("agent_thought_chunk", "think"),
            chunk("agent_message_chunk", "so"),
            json!({"sessionUpdate": "agent_message_chunk",
                "content": {"type": "image", "data": "x"}}),
            chunk("agent_message_chunk", "."),
            chunk("agent_thought_chunk", &"x".repeat(THOUGHT + 1)),
            chunk("agent_thought_chunk", "y"),
        ]);
        let expected = [
            Event::Answered {},
            Event::Thought("I think".into()),
            text("so"),
            text("."),
            Event::Thought("x".repeat(THOUGHT + 1)),
            Event::Thought("y".into()),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_was_used_is_told_with_what_was_told_before() {
        let mut told = events(&[
            json!({"sessionUpdate": "usage_update", "used": 5, "size": 9,
                "cost": {"amount": 0.25, "currency": "EUR"}}),
            json!({"sessionUpdate": "usage_update", "used": 5, "size": 9,
                "cost": {"amount": 0.25, "currency": "USD"}}),
        ]);
        let mut usage = Usage {
            cost: Some(MicroUsd(250_000)),
            cost_of: Scope::Session,
            ..Usage::default()
        };
        assert_eq!(told, [Event::Usage(usage.clone())]);
        let mut state = Updates {
            usage: usage.clone(),
            ..Updates::default()
        };
        told.clear();
        let answer = json!({"stopReason": "end_turn",
            "usage": {"inputTokens": 6, "outputTokens": 3, "thoughtTokens": 2,
            "cachedReadTokens": 4}});
        if let Value::Object(answer) = answer {
            state.over(&answer, &mut told);
        }
        usage.tokens = Some(Tokens {
            input: 6,
            cached: 4,
            cache_written: 0,
            output: 5,
        });
        usage.partial = true;
        assert_eq!(told, [Event::Usage(usage)]);
    }

    #[test]
    fn memory_is_bounded() {
        let long = "x".repeat(1_000_000);
        let mut events = Vec::new();
        let mut state = Updates::default();
        for n in 0..1_000 {
            let update = json!({"sessionUpdate": "tool_call", "toolCallId": n.to_string(),
                "title": long.get(..100_000), "rawOutput": "o"});
            if let Value::Object(update) = update {
                state.update(&update, &mut events);
            }
        }
        assert_eq!(state.calls.len(), CALLS);
        assert!(state.calls.iter().all(|call| call.title.len() <= INPUT));
    }
}
