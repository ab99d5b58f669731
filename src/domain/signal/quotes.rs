//! The signals in a prompt, which an agent may quote without meaning them.
//!
//! Invariant: every signal in a text that went through [`shield`] is recognised as a quote when the
//! text is repeated.

use std::collections::HashSet;

use super::lexer::{Lexeme, Lexer};

/// Prefix for a signal alone on its line, so that a prompt never contains one that counts as sent.
const MARK: &str = "> ";

/// A signal and the text around it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Quote {
    before: Vec<u8>,
    body: Vec<u8>,
    after: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Quotes(HashSet<Quote>);

impl Quotes {
    pub(super) fn of(prompt: &str) -> Self {
        let mut quotes = HashSet::new();
        each_closed(prompt, |lexeme| {
            if !alone(lexeme) {
                quotes.insert(quote(lexeme));
            }
        });
        Self(quotes)
    }

    pub(super) fn contains(&self, lexeme: &Lexeme<'_>) -> bool {
        lexeme.closed && !self.0.is_empty() && self.0.contains(&quote(lexeme))
    }
}

/// Puts `> ` before each signal that is alone on its line in a prompt (as far as a scanner looks):
/// alone, it would count as sent by an agent that merely repeats the line.
pub fn shield(prompt: &str) -> String {
    let mut starts = Vec::new();
    each_closed(prompt, |lexeme| {
        if alone(lexeme) {
            // Always fits: it is an index into `prompt`.
            starts.extend(usize::try_from(lexeme.offset));
        }
    });
    let mut shielded = String::with_capacity(prompt.len() + starts.len() * MARK.len());
    let mut copied = 0;
    for start in starts {
        shielded.push_str(&prompt[copied..start]);
        shielded.push_str(MARK);
        copied = start;
    }
    shielded.push_str(&prompt[copied..]);
    shielded
}

fn each_closed(text: &str, mut use_it: impl FnMut(&Lexeme<'_>)) {
    let mut lexer = Lexer::default();
    let mut closed = |lexeme: &Lexeme<'_>| {
        if lexeme.closed {
            use_it(lexeme);
        }
    };
    lexer.push(text.as_bytes(), &mut closed);
    lexer.finish(&mut closed);
}

fn alone(lexeme: &Lexeme<'_>) -> bool {
    lexeme.before.is_empty() && lexeme.after.is_empty()
}

fn quote(lexeme: &Lexeme<'_>) -> Quote {
    Quote {
        before: lexeme.before.to_vec(),
        body: lexeme.body.to_vec(),
        after: lexeme.after.to_vec(),
    }
}
