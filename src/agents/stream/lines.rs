//! Splits bytes into lines of JSON.
//!
//! Invariant: each line comes out once, whole, however the bytes are split. A line that is no JSON
//! object comes out as text. Memory is bounded: only the start of a line that is too long or has
//! too many values is kept, as text.

use serde_json::{Map, Value};

/// The longest line that is read as JSON, in bytes.
const LONGEST: usize = 64 * 1024 * 1024;
/// The most values in a line that is read as JSON: an object with one value takes about half a
/// kilobyte.
const VALUES: usize = 250_000;
/// How much of a line that is no JSON is passed on, in bytes.
const FOREIGN: usize = 4 * 1024;

/// One line of a program's output.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// An object.
    Json(Map<String, Value>),
    /// Anything else that is not empty, at most its first 4 KiB.
    Foreign(String),
}

/// Splits what comes into lines.
#[derive(Debug, Default)]
pub struct Lines {
    held: Vec<u8>,
    /// The line is longer than what is read as JSON; its rest is dropped.
    too_long: bool,
}

impl Lines {
    /// Takes the next bytes; gives the lines that they end.
    pub fn push(&mut self, raw: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut rest = raw;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.hold(&rest[..end]);
            lines.extend(self.take());
            rest = &rest[end + 1..];
        }
        self.hold(rest);
        lines
    }

    /// The output has ended; gives the last line where it had no end.
    pub fn finish(&mut self) -> Option<Line> {
        self.take()
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.too_long {
            return;
        }
        if self.held.len() + bytes.len() > LONGEST {
            self.too_long = true;
            let room = FOREIGN.saturating_sub(self.held.len());
            self.held.extend_from_slice(&bytes[..room.min(bytes.len())]);
            self.held.truncate(FOREIGN);
            self.held.shrink_to_fit();
            return;
        }
        self.held.extend_from_slice(bytes);
    }

    fn take(&mut self) -> Option<Line> {
        let too_long = std::mem::take(&mut self.too_long);
        let bytes = std::mem::take(&mut self.held);
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            return None;
        }
        let fits = !too_long && (bytes.len() <= VALUES || values(bytes) <= VALUES);
        if fits && let Ok(object) = serde_json::from_slice(bytes) {
            return Some(Line::Json(object));
        }
        let first = &bytes[..bytes.len().min(FOREIGN)];
        Some(Line::Foreign(String::from_utf8_lossy(first).into_owned()))
    }
}

/// How many values this text has at most, if it is JSON: one behind each mark that is not in a
/// text.
fn values(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_are_split() {
        let output = b"{\"a\":1}\n\nnot json\r\n{\"b\":\n[1]\n{\"c\":\"\xc3\xa4\"}";
        let mut whole = Lines::default();
        let mut expected = whole.push(output);
        expected.extend(whole.finish());
        assert_eq!(expected.len(), 5, "{expected:?}");
        assert_eq!(expected[1], Line::Foreign("not json".into()));
        for size in 1..output.len() {
            let mut lines = Lines::default();
            let mut found: Vec<Line> = output
                .chunks(size)
                .flat_map(|piece| lines.push(piece))
                .collect();
            found.extend(lines.finish());
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_without_end_is_not_kept_whole() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 1024 * 1024];
        for _ in 0..65 {
            assert!(lines.push(&piece).is_empty());
        }
        assert!(lines.held.capacity() <= FOREIGN);
        let found = lines.push(b"x\n{\"a\":1}\n");
        let [Line::Foreign(first), Line::Json(_)] = found.as_slice() else {
            panic!("{} lines", found.len());
        };
        assert_eq!(first.len(), FOREIGN);
    }

    #[test]
    fn a_line_of_too_many_values_is_text_and_one_with_a_long_text_is_not() {
        let line = |value: &str| format!("{{\"a\":[{value}0]}}\n").into_bytes();
        let read = |line: &[u8]| Lines::default().push(line).remove(0);
        let many = line(&"{\"\":0},".repeat(VALUES));
        assert!(matches!(read(&many), Line::Foreign(first) if first.len() == FOREIGN));
        assert!(matches!(read(&line(&"7,".repeat(1_000))), Line::Json(_)));
        let long = format!("\"{}\",", "{[,\\\",".repeat(VALUES));
        assert!(matches!(read(&line(&long)), Line::Json(_)));
        assert_eq!(values(br#"{"a":[1,2,"x,\",["]}"#), 4);
    }
}
