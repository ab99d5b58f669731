//! Joins the pieces of an agent's messages.
//!
//! Invariant: pieces of one message are joined unchanged, so a signal may span two of them. A line
//! end separates two messages, so halves from different messages never form a signal.

use super::Said;
use crate::agents::text;

/// The longest name of a message that is told apart, in bytes.
const NAME: usize = 128;

/// Joins pieces of messages.
#[derive(Debug, Default)]
pub struct Words {
    /// The message that goes on; none: the next piece begins a new one.
    message: Option<String>,
    spoken: bool,
}

impl Words {
    /// The agent says this, in this message.
    pub fn say(&mut self, message: &str, words: &str, said: &mut Vec<Said>) {
        if words.is_empty() {
            return;
        }
        let message = text::head(message, NAME);
        let goes_on = self.message.as_deref() == Some(message);
        let mut piece = Vec::with_capacity(words.len() + 1);
        if self.spoken && !goes_on {
            piece.push(b'\n');
        }
        piece.extend_from_slice(words.as_bytes());
        said.push(Said::Text(piece));
        self.spoken = true;
        if !goes_on {
            self.message = Some(message.to_owned());
        }
    }

    /// It did something else: what it says next is another message.
    pub fn pause(&mut self) {
        self.message = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::stream::text_of;

    #[test]
    fn messages_are_apart_and_their_pieces_are_not() {
        let mut said = Vec::new();
        let mut words = Words::default();
        words.say("m1", "<swarm>COMP", &mut said);
        words.say("m1", "LETE</swarm>", &mut said);
        words.say("m2", "<swarm>", &mut said);
        words.pause();
        words.say("m2", "COMPLETE</swarm>", &mut said);
        let text = text_of(&said);
        assert_eq!(text, b"<swarm>COMPLETE</swarm>\n<swarm>\nCOMPLETE</swarm>");
    }
}
