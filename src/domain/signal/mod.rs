//! The signal protocol: messages of an agent to swarm in its output, `<swarm>TYPE</swarm>` or
//! `<swarm>TYPE:payload</swarm>`.
//!
//! Invariant: the same bytes give the same findings however they are split over calls to
//! [`Scanner::push`]; memory is bounded; a signal quoted from the agent's own prompt is never
//! reported, and one within a sentence is only a mention. A scanner starts at byte 0, so its
//! offsets identify findings: after a restart the whole text is scanned again, and known offsets
//! are skipped.

mod lexer;
mod place;
mod quotes;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::secrets::redact;
use lexer::{Lexeme, Lexer};
use quotes::Quotes;
pub use quotes::shield;

/// Longest payload in bytes; a longer one is malformed.
pub const MAX_PAYLOAD: usize = 4096;

/// A message from an agent to swarm. A payload is one line of plain text of at most [`MAX_PAYLOAD`]
/// bytes, measured before control characters are neutralised and secrets redacted, so it can be
/// shown, logged and put into other prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Signal {
    /// The idea is finished, with an optional remark.
    Complete(Option<String>),
    /// The idea cannot be done, with the reason.
    Blocked(Option<String>),
    /// A person must decide something, with the question.
    NeedsHuman(Option<String>),
    /// Progress in percent (0-100).
    Progress(u8),
    /// A merge conflict is resolved, with an optional remark.
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

/// A finding in the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Offset of its `<swarm>`, in bytes from the start of the message text.
    pub offset: u64,
    /// The finding.
    pub item: Item,
}

/// A signal, or text that looks like one or mentions one, which is logged and otherwise ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Item {
    /// A valid signal.
    Signal(Signal),
    /// Would be a signal, but stands within a sentence, so that it is only spoken of.
    Mentioned(SignalKind),
    /// Well-formed, but of an unknown type.
    Unknown {
        /// The text in the tags, shortened, control characters neutralised, secrets redacted.
        text: String,
    },
    /// Malformed.
    Malformed {
        /// The text after the opening tag, shortened, control characters neutralised, secrets
        /// redacted.
        text: String,
        /// The flaw.
        why: Flaw,
    },
}

/// Why a text in signal tags is not a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum Flaw {
    /// Not closed within the bound, before the next opening tag or before the end.
    #[error("`<swarm>` is not closed by `</swarm>` within {MAX_PAYLOAD} bytes")]
    Unclosed,
    /// The payload is longer than [`MAX_PAYLOAD`].
    #[error("the payload is longer than {MAX_PAYLOAD} bytes; shorten it")]
    TooLong,
    /// No `TYPE` of capital letters and underscores.
    #[error("it does not start with a type in capital letters, as in `COMPLETE` or `PROGRESS:50`")]
    NoType,
    /// This type requires a payload.
    #[error("this type needs a payload, as in `TYPE:payload`")]
    NoPayload,
    /// `PROGRESS` without a whole number from 0 to 100.
    #[error("progress is a whole number from 0 to 100")]
    BadProgress,
}

/// Finds the signals in an agent's message text, piece by piece.
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

    /// Its text, if any.
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

    /// Whether it ends the agent's work for now.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Complete | Self::Blocked | Self::NeedsHuman | Self::Resolved => true,
            Self::Progress | Self::LearningLocal | Self::LearningGlobal => false,
        }
    }

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
    /// Creates a scanner for the output of an agent that was given `prompt`. A signal is a quote,
    /// and not reported, if it occurs in the prompt with the same text around it on its line (16
    /// bytes each way, whitespace at the ends ignored). A signal alone on its line is never a
    /// quote.
    pub fn new(prompt: &str) -> Self {
        Self {
            lexer: Lexer::default(),
            quotes: Quotes::of(prompt),
        }
    }

    /// Scans the next bytes of the output. A signal is reported once it is clear whether it is a
    /// quote or a mention: after 16 more bytes, the end of its line, or [`Scanner::finish`].
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        let quotes = &self.quotes;
        self.lexer
            .push(bytes, |lexeme| found.extend(judge(quotes, lexeme)));
        found
    }

    /// Ends the output and decides pending signals. The scanner must not be used afterwards.
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
        as_placed(parse(lexeme.body), lexeme)
    } else {
        malformed(lexeme.body, Flaw::Unclosed)
    };
    Some(Found {
        offset: lexeme.offset,
        item,
    })
}

/// A signal within a sentence is a mention.
fn as_placed(item: Item, lexeme: &Lexeme<'_>) -> Item {
    match item {
        Item::Signal(signal) if !place::counts(lexeme) => Item::Mentioned(signal.kind()),
        Item::Signal(_) | Item::Mentioned(_) | Item::Unknown { .. } | Item::Malformed { .. } => {
            item
        }
    }
}

/// Parses the text between the tags.
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
    signal(kind, harmless(payload)).map_or_else(|why| malformed(body, why), Item::Signal)
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

/// Enough of an untrusted text to recognise it in a log. Cut last: half a secret has no shape.
fn shortened(body: &[u8]) -> String {
    const SHOWN: usize = 80;
    let mut text = harmless(body);
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// An untrusted text as one harmless line without secrets.
fn harmless(text: &[u8]) -> String {
    redact(&neutral(&String::from_utf8_lossy(text))).text
}

/// Turns text into one harmless line: whitespace controls become spaces; other controls and
/// bidirectional marks become U+FFFD. Otherwise a payload could move the cursor or add a heading to
/// another agent's prompt.
pub fn neutral(text: &str) -> String {
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
