//! Messages from people to agents, and their progress: accepted -> delivered with a prompt -> seen.
//!
//! Invariant: this list is for people; the attempt's `messages` go into the next prompt, and `told`
//! were in the current one. A message is delivered when the iteration with it in its prompt is in
//! the log, and seen when that iteration ended without being interrupted; otherwise it is
//! undelivered again and goes into the next prompt.

use serde::{Deserialize, Serialize};

use crate::domain::ids::RunId;
use crate::domain::time::Timestamp;

/// Number of messages that an attempt remembers.
const KEPT: usize = 50;
/// Characters kept of each.
const CHARS: usize = 300;

/// A message from a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Text; of a long one, the beginning.
    pub text: String,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// Run whose prompt contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When that run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// When that run ended, having read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
}

impl Message {
    /// A message that was just accepted.
    pub fn new(text: &str, at: Timestamp) -> Self {
        let mut short: String = text.chars().take(CHARS).collect();
        if short.len() < text.len() {
            short.push_str("...");
        }
        Self {
            text: short,
            accepted_at: at,
            run: None,
            delivered_at: None,
            seen_at: None,
        }
    }

    /// Whether no prompt contains it, or that prompt's run was interrupted.
    pub fn waits(&self) -> bool {
        self.delivered_at.is_none()
    }
}

/// Adds a message; if there are too many, the oldest seen one is removed.
pub fn accept(list: &mut Vec<Message>, message: Message) {
    if list.len() >= KEPT
        && let Some(at) = list.iter().position(|message| message.seen_at.is_some())
    {
        list.remove(at);
    }
    list.push(message);
}

/// Marks all waiting messages as delivered with this run.
pub fn deliver(list: &mut [Message], run: &RunId, at: Timestamp) {
    for message in list.iter_mut().filter(|message| message.waits()) {
        message.run = Some(run.clone());
        message.delivered_at = Some(at);
    }
}

/// Settles the delivered messages when their iteration ends; `seen`: it was not interrupted.
pub fn settle(list: &mut [Message], seen: bool, at: Timestamp) {
    for message in list.iter_mut().filter(|message| message.seen_at.is_none()) {
        if !seen {
            message.run = None;
            message.delivered_at = None;
        } else if !message.waits() {
            message.seen_at = Some(at);
        }
    }
}

/// Waiting messages, for the next attempt.
pub fn waiting(list: &[Message]) -> Vec<Message> {
    list.iter()
        .filter(|message| message.waits())
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testkit::START;

    fn run() -> RunId {
        RunId::numbered(1, "ed-001-i1")
    }

    #[test]
    fn an_interrupted_iteration_leaves_its_messages_undelivered() {
        let mut list = vec![];
        accept(&mut list, Message::new("one", START));
        deliver(&mut list, &run(), START);
        assert!(!list[0].waits());
        accept(&mut list, Message::new("two", START));
        settle(&mut list, false, START);
        assert_eq!(waiting(&list).len(), 2);
        deliver(&mut list, &run(), START);
        settle(&mut list, true, START);
        assert!(list.iter().all(|message| message.seen_at == Some(START)));
    }

    #[test]
    fn seen_messages_are_dropped_before_waiting_ones() {
        let mut list = vec![];
        accept(&mut list, Message::new("waits", START));
        let seen = |number: usize| Message {
            seen_at: Some(START),
            delivered_at: Some(START),
            ..Message::new(&number.to_string(), START)
        };
        for number in 0..2 * KEPT {
            accept(&mut list, seen(number));
        }
        assert_eq!(list.len(), KEPT);
        assert_eq!(list[0].text, "waits");
        let long = Message::new(&"ä".repeat(2 * CHARS), START);
        assert_eq!(long.text.chars().count(), CHARS + 3);
    }
}
