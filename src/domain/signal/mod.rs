//! The signal protocol: what an agent says to swarm in the middle of its ordinary output,
//! `<swarm>TYPE</swarm>` or `<swarm>TYPE:payload</swarm>`.
//!
//! Invariants: the same bytes give the same findings however they are split over calls to
//! [`Scanner::push`]; memory stays bounded whatever the agent writes; a signal that only quotes the
//! agent's own prompt is never reported.
//!
//! A scanner always begins at byte 0 of the message text. Its offsets are therefore stable
//! identities of the findings: after a restart the whole text is scanned again, and what was acted
//! on already is known by its offset.

mod lexer;
mod quotes;

use std::fmt;

use serde::{Deserialize, Serialize};

use lexer::{Lexeme, Lexer};
use quotes::Quotes;
pub use quotes::shield;

/// The longest payload, in bytes; a longer one is malformed.
pub const MAX_PAYLOAD: usize = 4096;

/// Something an agent said to swarm. A payload is a single line of plain text of at most
/// [`MAX_PAYLOAD`] bytes, before control characters are neutralised: it can be shown, logged and
/// put into other prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Signal {
    /// The idea is finished; perhaps with a remark.
    Complete(Option<String>),
    /// The idea cannot be done, and why.
    Blocked(Option<String>),
    /// A person must decide something, and what.
    NeedsHuman(Option<String>),
    /// How much is done, in percent (0-100).
    Progress(u8),
    /// A merge conflict is settled; perhaps with a remark.
    Resolved(Option<String>),
    /// A learning for later iterations of this agent.
    LearningLocal(String),
    /// A learning for all agents.
    LearningGlobal(String),
}

/// The types of signal, without their payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SignalKind {
    /// `COMPLETE`
    Complete,
    /// `BLOCKED`
    Blocked,
    /// `NEEDS_HUMAN`
    NeedsHuman,
    /// `PROGRESS`
    Progress,
    /// `RESOLVED`
    Resolved,
    /// `LEARNING_LOCAL`
    LearningLocal,
    /// `LEARNING_GLOBAL`
    LearningGlobal,
}

/// One thing found in the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Where its `<swarm>` begins, in bytes from the start of the message text.
    pub offset: u64,
    /// What it is.
    pub item: Item,
}

/// A signal, or what looked like one: the latter is to be logged and otherwise ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Item {
    /// A proper signal.
    Signal(Signal),
    /// Of the right form, but of a type that is none of ours.
    Unknown {
        /// The text in the tags, shortened, control characters neutralised.
        text: String,
    },
    /// Not of the right form.
    Malformed {
        /// The text after the opening tag, shortened, control characters neutralised.
        text: String,
        /// What is wrong with it.
        why: Flaw,
    },
}

/// Why a text in signal tags is no signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum Flaw {
    /// Not closed within the bound, before the next opening tag or before the end.
    #[error("`<swarm>` is not closed by `</swarm>` within {MAX_PAYLOAD} bytes")]
    Unclosed,
    /// The payload is longer than [`MAX_PAYLOAD`].
    #[error("the payload is longer than {MAX_PAYLOAD} bytes; say it shorter")]
    TooLong,
    /// No `TYPE` of capital letters and underscores.
    #[error("it does not begin with a type in capital letters, as in `COMPLETE` or `PROGRESS:50`")]
    NoType,
    /// This type says nothing without a payload.
    #[error("this type needs a payload, as in `TYPE:payload`")]
    NoPayload,
    /// `PROGRESS` with something else than a whole number from 0 to 100.
    #[error("progress is a whole number from 0 to 100")]
    BadProgress,
}

/// Finds the signals in one agent's message text, piece by piece.
#[derive(Debug)]
pub struct Scanner {
    lexer: Lexer,
    quotes: Quotes,
}

impl Signal {
    /// Its type.
    pub const fn kind(&self) -> SignalKind {
        match self {
            Self::Complete(_) => SignalKind::Complete,
            Self::Blocked(_) => SignalKind::Blocked,
            Self::NeedsHuman(_) => SignalKind::NeedsHuman,
            Self::Progress(_) => SignalKind::Progress,
            Self::Resolved(_) => SignalKind::Resolved,
            Self::LearningLocal(_) => SignalKind::LearningLocal,
            Self::LearningGlobal(_) => SignalKind::LearningGlobal,
        }
    }

    /// The words that came with it, if any.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Complete(words)
            | Self::Blocked(words)
            | Self::NeedsHuman(words)
            | Self::Resolved(words) => words.as_deref(),
            Self::LearningLocal(words) | Self::LearningGlobal(words) => Some(words),
            Self::Progress(_) => None,
        }
    }
}

impl SignalKind {
    /// Every type.
    pub const ALL: [Self; 7] = [
        Self::Complete,
        Self::Blocked,
        Self::NeedsHuman,
        Self::Progress,
        Self::Resolved,
        Self::LearningLocal,
        Self::LearningGlobal,
    ];

    /// Its name in the protocol, such as `NEEDS_HUMAN`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "COMPLETE",
            Self::Blocked => "BLOCKED",
            Self::NeedsHuman => "NEEDS_HUMAN",
            Self::Progress => "PROGRESS",
            Self::Resolved => "RESOLVED",
            Self::LearningLocal => "LEARNING_LOCAL",
            Self::LearningGlobal => "LEARNING_GLOBAL",
        }
    }
}

impl fmt::Display for SignalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Scanner {
    /// A scanner for the output of an agent that was given `prompt`. A signal in the output is a
    /// quote, and not reported, if the same signal stands in the prompt with the same surroundings
    /// on its line (16 bytes each way, white space at the ends aside). A signal alone on its line
    /// is never a quote.
    pub fn new(prompt: &str) -> Self {
        Self {
            lexer: Lexer::default(),
            quotes: Quotes::of(prompt),
        }
    }

    /// Takes the next bytes of the output. A signal is reported once the bytes that decide whether
    /// it is a quote are there: the next 16, the rest of its line, or [`Scanner::finish`].
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        let quotes = &self.quotes;
        self.lexer
            .push(bytes, |lexeme| found.extend(judge(quotes, lexeme)));
        found
    }

    /// The output has ended: what was waiting for more is decided. The scanner is used up.
    pub fn finish(&mut self) -> Vec<Found> {
        let mut found = Vec::new();
        let quotes = &self.quotes;
        self.lexer
            .finish(|lexeme| found.extend(judge(quotes, lexeme)));
        found
    }
}

fn judge(quotes: &Quotes, lexeme: &Lexeme<'_>) -> Option<Found> {
    if quotes.contains(lexeme) {
        return None;
    }
    let item = if lexeme.closed {
        parse(lexeme.body)
    } else {
        malformed(lexeme.body, Flaw::Unclosed)
    };
    Some(Found {
        offset: lexeme.offset,
        item,
    })
}

/// What stands between the tags, as a signal.
fn parse(body: &[u8]) -> Item {
    let colon = body.iter().position(|byte| *byte == b':');
    let (name, payload) = match colon {
        Some(at) => (&body[..at], &body[at + 1..]),
        None => (body, &body[..0]),
    };
    let of_letters = name
        .iter()
        .all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    if name.is_empty() || !of_letters {
        return malformed(body, Flaw::NoType);
    }
    let kind = SignalKind::ALL
        .into_iter()
        .find(|kind| kind.name().as_bytes() == name);
    let Some(kind) = kind else {
        return Item::Unknown {
            text: shortened(body),
        };
    };
    if payload.len() > MAX_PAYLOAD {
        return malformed(body, Flaw::TooLong);
    }
    signal(kind, neutral(&String::from_utf8_lossy(payload)))
        .map_or_else(|why| malformed(body, why), Item::Signal)
}

fn signal(kind: SignalKind, payload: String) -> Result<Signal, Flaw> {
    let words = (!payload.is_empty()).then_some(payload);
    Ok(match kind {
        SignalKind::Complete => Signal::Complete(words),
        SignalKind::Blocked => Signal::Blocked(words),
        SignalKind::NeedsHuman => Signal::NeedsHuman(words),
        SignalKind::Resolved => Signal::Resolved(words),
        SignalKind::Progress => Signal::Progress(percent(&words.ok_or(Flaw::NoPayload)?)?),
        SignalKind::LearningLocal => Signal::LearningLocal(words.ok_or(Flaw::NoPayload)?),
        SignalKind::LearningGlobal => Signal::LearningGlobal(words.ok_or(Flaw::NoPayload)?),
    })
}

fn percent(text: &str) -> Result<u8, Flaw> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Flaw::BadProgress);
    }
    match text.parse() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err(Flaw::BadProgress),
    }
}

fn malformed(body: &[u8], why: Flaw) -> Item {
    Item::Malformed {
        text: shortened(body),
        why,
    }
}

/// Enough of a hostile text to recognise it in a log.
fn shortened(body: &[u8]) -> String {
    const SHOWN: usize = 80;
    let mut text = neutral(&String::from_utf8_lossy(&body[..body.len().min(SHOWN)]));
    if body.len() > SHOWN {
        text.push('…');
    }
    text
}

/// One line of plain text: white space controls become a space; other controls, and what changes
/// the direction of text, become U+FFFD. Otherwise a payload could move a cursor, or put a heading
/// of its own into another agent's prompt.
fn neutral(text: &str) -> String {
    let one_line = text.trim().chars().map(|c| match c {
        '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    });
    one_line.collect()
}

#[cfg(test)]
mod tests;
