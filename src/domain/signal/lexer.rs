//! Cuts a byte stream in any encoding into the texts between `<swarm>` and `</swarm>`, each with
//! the text around it.
//!
//! Invariant: the lexemes do not depend on how the stream was split; little more than [`PIECE`] +
//! [`MAX_BODY`] bytes are held; each byte is searched once. An opening tag ends an unclosed one
//! before it, so that prose that mentions `<swarm>` never swallows the next signal.

use memchr::memchr;

use super::MAX_PAYLOAD;

pub(super) const OPEN: &[u8] = b"<swarm>";
pub(super) const CLOSE: &[u8] = b"</swarm>";

/// Bytes before and after a signal, on its line, that are compared to detect a quote, and that tell
/// whether it stands within a sentence.
const CONTEXT: usize = 16;

/// Longest text between tags: a payload and its type.
const MAX_BODY: usize = MAX_PAYLOAD + 64;

/// Size of the pieces in which a long `push` is processed.
const PIECE: usize = 64 * 1024;

/// Text between tags, or after an opening tag that is never closed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lexeme<'a> {
    /// Offset of its `<swarm>` in the stream.
    pub(super) offset: u64,
    /// Text after `<swarm>`, up to `</swarm>` or to the search limit.
    pub(super) body: &'a [u8],
    /// Whether `</swarm>` was found.
    pub(super) closed: bool,
    /// Text before it on its line: at most [`CONTEXT`] bytes, without leading whitespace.
    pub(super) before: &'a [u8],
    /// Text after it on its line: at most [`CONTEXT`] bytes, without trailing whitespace.
    pub(super) after: &'a [u8],
}

/// Lexer state; all positions are indices into `held`.
#[derive(Debug, Default)]
pub(super) struct Lexer {
    /// Last part of the stream so far.
    held: Vec<u8>,
    /// Offset of `held[0]` in the stream.
    base: u64,
    /// Everything before this has been searched.
    searched: usize,
    /// Opening tag without its closing tag yet.
    open: Option<usize>,
    /// Closed signal that waits for the text after it; `searched` is its end.
    closed: Option<usize>,
}

enum Next {
    Open(usize),
    Close(usize),
    /// A tag may start here: more bytes are needed.
    Perhaps(usize),
    Nothing,
}

impl Lexer {
    /// Processes more of the stream; calls `found` for each complete lexeme.
    pub(super) fn push(&mut self, bytes: &[u8], mut found: impl FnMut(&Lexeme<'_>)) {
        for piece in bytes.chunks(PIECE) {
            self.held.extend_from_slice(piece);
            self.advance(false, &mut found);
            self.forget();
        }
    }

    /// Ends the stream.
    pub(super) fn finish(&mut self, mut found: impl FnMut(&Lexeme<'_>)) {
        self.advance(true, &mut found);
        if let Some(open) = self.open.take() {
            found(&self.unclosed(open, self.held.len()));
        }
    }

    fn advance(&mut self, ended: bool, found: &mut impl FnMut(&Lexeme<'_>)) {
        loop {
            if let Some(start) = self.closed {
                if !ended && !self.context_is_there() {
                    return;
                }
                found(&self.lexeme(start));
                self.closed = None;
            }
            let next = self.next(ended);
            let reached = match next {
                Next::Open(at) | Next::Close(at) | Next::Perhaps(at) => at,
                Next::Nothing => self.held.len(),
            };
            self.drop_overlong(reached, found);
            match next {
                Next::Open(at) => {
                    if let Some(open) = self.open.replace(at) {
                        found(&self.unclosed(open, at));
                    }
                    self.searched = at + OPEN.len();
                }
                Next::Close(at) => {
                    self.closed = self.open.take();
                    self.searched = at + CLOSE.len();
                }
                Next::Perhaps(_) | Next::Nothing => {
                    self.searched = reached;
                    return;
                }
            }
        }
    }

    /// Finds the next tag at or after `searched`.
    fn next(&self, ended: bool) -> Next {
        let mut from = self.searched;
        while let Some(step) = memchr(b'<', &self.held[from..]) {
            let at = from + step;
            let rest = &self.held[at..];
            if rest.starts_with(OPEN) {
                return Next::Open(at);
            }
            if rest.starts_with(CLOSE) {
                return Next::Close(at);
            }
            if !ended && (OPEN.starts_with(rest) || CLOSE.starts_with(rest)) {
                return Next::Perhaps(at);
            }
            from = at + 1;
        }
        Next::Nothing
    }

    /// Drops the open tag if no end was found within the limit.
    fn drop_overlong(&mut self, reached: usize, found: &mut impl FnMut(&Lexeme<'_>)) {
        if let Some(open) = self.open
            && reached - open - OPEN.len() > MAX_BODY
        {
            found(&self.unclosed(open, reached));
            self.open = None;
        }
    }

    fn context_is_there(&self) -> bool {
        let rest = &self.held[self.searched..];
        rest.len() >= CONTEXT || rest.contains(&b'\n')
    }

    /// The closed signal that starts at `start` and ends at `searched`.
    fn lexeme(&self, start: usize) -> Lexeme<'_> {
        let end = self.searched;
        Lexeme {
            offset: self.base + start as u64,
            body: &self.held[start + OPEN.len()..end - CLOSE.len()],
            closed: true,
            before: self.before(start),
            after: self.after(end),
        }
    }

    /// The length of the cut body does not depend on how much of the stream is held.
    fn unclosed(&self, start: usize, end: usize) -> Lexeme<'_> {
        let body = &self.held[start + OPEN.len()..end];
        Lexeme {
            offset: self.base + start as u64,
            body: &body[..body.len().min(MAX_BODY)],
            closed: false,
            before: self.before(start),
            after: &[],
        }
    }

    fn before(&self, start: usize) -> &[u8] {
        let window = &self.held[start.saturating_sub(CONTEXT)..start];
        let line = window.iter().rposition(|byte| *byte == b'\n');
        window[line.map_or(0, |at| at + 1)..].trim_ascii_start()
    }

    fn after(&self, end: usize) -> &[u8] {
        let rest = &self.held[end..];
        let window = &rest[..rest.len().min(CONTEXT)];
        let line = window.iter().position(|byte| *byte == b'\n');
        window[..line.unwrap_or(window.len())].trim_ascii_end()
    }

    /// Discards bytes that no lexeme needs, but not on every call, so that single bytes need no
    /// copying.
    fn forget(&mut self) {
        let needed = self.closed.or(self.open).unwrap_or(self.searched);
        let gone = needed.saturating_sub(CONTEXT);
        if gone < MAX_BODY {
            return;
        }
        self.held.drain(..gone);
        self.base += gone as u64;
        self.searched -= gone;
        self.open = self.open.map(|at| at - gone);
        self.closed = self.closed.map(|at| at - gone);
    }
    /// Capacity of the buffer, in bytes.
    #[cfg(test)]
    pub(super) fn held_capacity(&self) -> usize {
        self.held.capacity()
    }
}
