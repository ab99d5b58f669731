//! Keys, parsed from the bytes that a terminal sends.
//!
//! Invariant: a sequence that is not known has no effect, and never counts as its parts.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Ctrl and a letter, as the letter.
    Ctrl(char),
    /// Enter or Return.
    Enter,
    /// Esc.
    Esc,
    /// Backspace.
    Backspace,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
}

/// Parses keys from bytes that arrive in pieces.
#[derive(Debug, Default)]
pub struct Keys {
    pending: Vec<u8>,
}

impl Keys {
    /// The keys that are complete with these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((length, key)) = first(&self.pending) {
            self.pending.drain(..length);
            keys.extend(key);
        }
        keys
    }

    /// Whether a sequence has begun; if no more bytes follow soon, it is [`Self::settle`]d.
    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// No more bytes follow: a lone ESC byte was the key.
    pub fn settle(&mut self) -> Option<Key> {
        let is_escape = self.pending == [0x1b];
        self.pending.clear();
        is_escape.then_some(Key::Esc)
    }
}

/// The length of the first key and its meaning; `None` while it is incomplete.
fn first(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let key = match *bytes.first()? {
        0x1b => return escape(bytes),
        b'\r' | b'\n' => Key::Enter,
        0x08 | 0x7f => Key::Backspace,
        b'\t' | 0x00 | 0x1c..=0x1f => return Some((1, None)),
        byte @ 0x01..=0x1a => Key::Ctrl(char::from(byte + 0x60)),
        _ => return character(bytes),
    };
    Some((1, Some(key)))
}

fn escape(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    match bytes.get(1)? {
        // An ESC before another sequence was the key.
        0x1b => Some((1, Some(Key::Esc))),
        b'O' => Some((3, arrow(*bytes.get(2)?))),
        b'[' => {
            let body = bytes.get(2..)?;
            let end = body.iter().position(|byte| matches!(byte, 0x40..=0x7e))?;
            let key = match &body[..=end] {
                b"5~" => Some(Key::PageUp),
                b"6~" => Some(Key::PageDown),
                b"1~" | b"7~" => Some(Key::Home),
                b"4~" | b"8~" => Some(Key::End),
                [letter] => arrow(*letter),
                _ => None,
            };
            Some((2 + end + 1, key))
        }
        _ => Some((2, None)),
    }
}

fn arrow(letter: u8) -> Option<Key> {
    match letter {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'H' => Some(Key::Home),
        b'F' => Some(Key::End),
        b'M' => Some(Key::Enter),
        _ => None,
    }
}

/// A character in UTF-8; a byte that cannot begin one is dropped.
fn character(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let length = match bytes.first()? {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((1, None)),
    };
    let text = std::str::from_utf8(bytes.get(..length)?);
    match text.ok().and_then(|text| text.chars().next()) {
        Some(c) => Some((length, Some(Key::Char(c)))),
        None => Some((1, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Key> {
        Keys::default().take(bytes)
    }

    #[test]
    fn characters_and_sequences_are_keys() {
        assert_eq!(all("jé漢".as_bytes()), ['j', 'é', '漢'].map(Key::Char));
        assert_eq!(all(b"\r\n\x7f"), [Key::Enter, Key::Enter, Key::Backspace]);
        assert_eq!(all(b"\x03\x1a"), [Key::Ctrl('c'), Key::Ctrl('z')]);
        assert_eq!(
            all(b"\x1b[A\x1bOB\x1b[5~"),
            [Key::Up, Key::Down, Key::PageUp]
        );
        assert_eq!(all(b"\x1b[1;5C\x1b[200~\xffq"), [Key::Char('q')]);
    }

    #[test]
    fn a_sequence_may_arrive_in_pieces() {
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"\x1b"), []);
        assert!(keys.is_pending());
        assert_eq!(keys.take(b"["), []);
        assert_eq!(keys.take(b"6~k"), [Key::PageDown, Key::Char('k')]);
        assert!(!keys.is_pending());
    }

    #[test]
    fn a_lone_escape_is_the_key() {
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"\x1b"), []);
        assert_eq!(keys.settle(), Some(Key::Esc));
        assert_eq!(keys.take(b"\x1b[1"), []);
        assert_eq!(keys.settle(), None);
        assert_eq!(keys.take(b"\x1b\x1b[A"), [Key::Esc, Key::Up]);
    }
}
