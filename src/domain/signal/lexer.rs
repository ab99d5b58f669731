//! Cuts a stream of bytes, in any encoding, into the texts between `<swarm>` and `</swarm>`, each
//! with its surroundings.
//!
//! Invariants: the lexemes do not depend on how the stream was split; at most [`PIECE`] +
//! [`MAX_BODY`] bytes and a little are held; each byte is searched once. An opening tag ends an
//! unclosed one before it, so that prose that mentions `<swarm>` never swallows the signal that
//! follows.

use super::MAX_PAYLOAD;

const OPEN: &[u8] = b"<swarm>";
const CLOSE: &[u8] = b"</swarm>";

/// How many bytes before and after a signal, on its line, are compared to tell a quote.
const CONTEXT: usize = 16;

/// The longest text between the tags that is looked at: a payload and room for its type.
const MAX_BODY: usize = MAX_PAYLOAD + 64;

/// A long `push` is taken in pieces of this size.
const PIECE: usize = 64 * 1024;

/// A text between tags, or after an opening tag that nothing closes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lexeme<'a> {
    /// Where its `<swarm>` begins in the stream.
    pub(super) offset: u64,
    /// What stands after `<swarm>`, up to `</swarm>` or as far as it was looked at.
    pub(super) body: &'a [u8],
    /// Whether `</swarm>` was found.
    pub(super) closed: bool,
    /// What stands before it on its line: at most [`CONTEXT`] bytes, then without leading white
    /// space.
    pub(super) before: &'a [u8],
    /// What stands after it on its line: at most [`CONTEXT`] bytes, then without trailing white
    /// space.
    pub(super) after: &'a [u8],
}

/// All positions are indices into `held`.
#[derive(Debug, Default)]
pub(super) struct Lexer {
    /// The end of the stream so far.
    held: Vec<u8>,
    /// The offset in the stream of `held[0]`.
    base: u64,
    /// What lies before is searched.
    searched: usize,
    /// The opening tag that waits for its end.
    open: Option<usize>,
    /// A closed signal that waits for what follows it; `searched` is its end.
    closed: Option<usize>,
}

enum Next {
    Open(usize),
    Close(usize),
    /// A tag may begin here: more bytes are needed.
    Perhaps(usize),
    Nothing,
}

impl Lexer {
    /// Takes more of the stream; `found` is called for each lexeme that is decided by now.
    pub(super) fn push(&mut self, bytes: &[u8], mut found: impl FnMut(&Lexeme<'_>)) {
        for piece in bytes.chunks(PIECE) {
            self.held.extend_from_slice(piece);
            self.advance(false, &mut found);
            self.forget();
        }
    }

    /// The stream has ended.
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
            self.drop_what_is_too_long(reached, found);
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

    /// The next tag at or after `searched`.
    fn next(&self, ended: bool) -> Next {
        let mut from = self.searched;
        while let Some(step) = self.held[from..].iter().position(|byte| *byte == b'<') {
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

    /// No end of the open tag lies before `reached`: past the bound it is given up.
    fn drop_what_is_too_long(&mut self, reached: usize, found: &mut impl FnMut(&Lexeme<'_>)) {
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

    /// The closed signal that starts at `start` and ends where the search stands.
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

    /// The body is cut to a length that does not depend on how much of the stream is held.
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

    /// Lets go of what no lexeme can need any more; not at every call, so that single bytes cost no
    /// moving.
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
    /// How much memory the stream takes.
    #[cfg(test)]
    pub(super) fn held_capacity(&self) -> usize {
        self.held.capacity()
    }
}
