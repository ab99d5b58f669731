//! Reads outputs with one JSON object per line.
//!
//! Invariant: the reader gets each object once, whole and in order. Any other line becomes a note.

use super::json::Object;
use super::{Conclusion, Line, Lines, OutputReader, Said};
use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;

/// Knows what the objects of one kind of program mean.
pub trait ObjectReader {
    /// Takes the next one and appends what it says to `said`.
    fn object(&mut self, object: Object, said: &mut Vec<Said>);

    /// What the run came to; see [`OutputReader::conclude`].
    fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion;
}

/// Gives a reader the objects of an output.
#[derive(Debug)]
pub struct ByLine<R> {
    lines: Lines,
    reader: R,
}

impl<R: ObjectReader> ByLine<R> {
    /// For an output from its first byte.
    pub fn new(reader: R) -> Self {
        Self {
            lines: Lines::default(),
            reader,
        }
    }

    fn line(&mut self, line: Line, said: &mut Vec<Said>) {
        match line {
            Line::Json(object) => self.reader.object(object, said),
            Line::Foreign(text) => said.push(Said::Note(text)),
        }
    }
}

impl<R: ObjectReader> OutputReader for ByLine<R> {
    fn push(&mut self, raw: &[u8], said: &mut Vec<Said>) {
        for line in self.lines.push(raw) {
            self.line(line, said);
        }
    }

    fn finish(&mut self, said: &mut Vec<Said>) {
        if let Some(line) = self.lines.finish() {
            self.line(line, said);
        }
    }

    fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion {
        self.reader.conclude(end, stderr)
    }
}

/// Keeps the conversation's name, and says it where it is another one than before; what is no name
/// changes nothing.
pub fn hear_session(kept: &mut Option<SessionId>, name: Option<&str>, said: &mut Vec<Said>) {
    let session = name.and_then(|name| name.parse().ok());
    if let Some(session) = session.filter(|session| kept.as_ref() != Some(session)) {
        *kept = Some(session.clone());
        said.push(Said::Session(session));
    }
}
