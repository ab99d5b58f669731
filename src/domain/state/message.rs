//! What people say to agents, and how far it has come: accepted -> delivered with a prompt -> seen.
//!
//! Invariant: this is for people to look at; what the next prompt carries is in the attempt's
//! `messages`, and what the present one carries in `told`. A message is delivered when the
//! iteration with it in its prompt is in the log, and seen when that iteration was over without
//! having been cut short; one that was cut short is undelivered again, and the next prompt carries
//! it.

use serde::{Deserialize, Serialize};

use crate::domain::ids::RunId;
use crate::domain::time::Timestamp;

/// So many messages of an attempt are remembered.
const KEPT: usize = 50;
/// So many characters of each.
const CHARS: usize = 300;

/// Something that a person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// What; of a long one the beginning.
    pub text: String,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// The run whose prompt carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When that run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// When that run was over, having read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
}

impl Message {
    /// One that has just been accepted.
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

    /// Whether no prompt carries it, or the one that did was cut short.
    pub fn waits(&self) -> bool {
        self.delivered_at.is_none()
    }
}

/// One more; the oldest that was seen goes where there are too many.
pub fn accept(list: &mut Vec<Message>, message: Message) {
    if list.len() >= KEPT
        && let Some(at) = list.iter().position(|message| message.seen_at.is_some())
    {
        list.remove(at);
    }
    list.push(message);
}

/// A prompt carries all that wait.
pub fn deliver(list: &mut [Message], run: &RunId, at: Timestamp) {
    for message in list.iter_mut().filter(|message| message.waits()) {
        message.run = Some(run.clone());
        message.delivered_at = Some(at);
    }
}

/// The iteration whose prompt carried them is over; `seen`: it was not cut short.
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

/// Those that wait, for the next attempt.
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
    fn a_prompt_that_was_cut_short_delivers_nothing() {
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
    fn what_was_seen_makes_room_and_what_waits_stays() {
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
