//! The name of an object: its hash, of 20 bytes (SHA-1) or of 32 (SHA-256).
//!
//! Invariant: a value is a whole hash, never a beginning of one.

use std::fmt;
use std::str::FromStr;

/// Bytes of the longest hash.
const LONGEST: usize = 32;
/// Hexadecimal digits of the hashes that git knows.
const LENGTHS: [usize; 2] = [40, 64];

/// Name of an object. It is shown as lower-case hexadecimal digits; `{oid:.10}` shows the first
/// ten.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid {
    bytes: [u8; LONGEST],
    length: u8,
}

/// The text is no whole hash in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of an object: 40 or 64 hexadecimal digits")]
pub struct NotAnOid(String);

impl Oid {
    /// Reads 40 or 64 hexadecimal digits.
    #[allow(clippy::should_implement_trait)] // It is implemented; callers need no import this way.
    pub fn from_str(text: &str) -> Result<Self, NotAnOid> {
        Self::from_hex(text.as_bytes()).ok_or_else(|| {
            let begin: String = text.chars().take(80).collect();
            NotAnOid(begin)
        })
    }

    /// Reads 40 or 64 hexadecimal digits.
    pub(crate) fn from_hex(text: &[u8]) -> Option<Self> {
        if !LENGTHS.contains(&text.len()) {
            return None;
        }
        let mut bytes = [0; LONGEST];
        for (byte, digits) in bytes.iter_mut().zip(text.chunks(2)) {
            let digits = std::str::from_utf8(digits).ok()?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Self::new(bytes, text.len() / 2)
    }

    /// A hash as its bytes.
    pub(crate) fn from_bytes(hash: &[u8]) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..hash.len())?.copy_from_slice(hash);
        Self::new(bytes, hash.len())
    }

    fn new(bytes: [u8; LONGEST], length: usize) -> Option<Self> {
        if !LENGTHS.contains(&(length * 2)) {
            return None;
        }
        let length = u8::try_from(length).ok()?;
        Some(Self { bytes, length })
    }

    /// The hash.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The name that stands for no object, as long as this one.
    pub(crate) fn zero(self) -> Self {
        Self {
            bytes: [0; LONGEST],
            length: self.length,
        }
    }

    /// Whether it stands for no object.
    pub(crate) fn is_zero(&self) -> bool {
        self.bytes == [0; LONGEST]
    }
}

impl FromStr for Oid {
    type Err = NotAnOid;

    fn from_str(text: &str) -> Result<Self, NotAnOid> {
        Self::from_str(text)
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(2 * LONGEST);
        for byte in self.as_bytes() {
            for digit in [byte >> 4, byte & 0xf] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        to.pad(&text)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, to)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn both_hashes_are_read_and_shown_and_nothing_else_is() {
        for length in LENGTHS {
            let text: String = "0123456789abcdef".chars().cycle().take(length).collect();
            let oid = Oid::from_str(&text).unwrap();
            assert_eq!(oid.to_string(), text);
            assert_eq!(format!("{oid:.10}"), text[..10]);
            assert_eq!(Oid::from_bytes(oid.as_bytes()), Some(oid));
            assert_eq!(Oid::from_str(&text.to_uppercase()).unwrap(), oid);
            assert!(oid.zero().is_zero() && !oid.is_zero());
            for broken in [&text[1..], &format!("{text}0"), &text.replace('1', "g")] {
                assert!(Oid::from_str(broken).is_err(), "{broken}");
            }
        }
        assert!(Oid::from_str("").is_err() && Oid::from_bytes(b"short").is_none());
    }
}
