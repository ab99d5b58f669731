//! The standard output of an agent's run as text for people, in place of its bytes.
//!
//! Invariant: the whole text is made, from the first byte on, and what was not asked for is left
//! out at its beginning; so its last lines are those that making all of it gives, and memory does
//! not grow with the output.

use crate::agents::transcript::Transcript;

/// One run's text as it is made.
pub(super) struct Readable {
    transcript: Transcript,
    skip: Skip,
    finished: bool,
}

/// What is left out before the first byte that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skip {
    Lines(u64),
    Bytes(u64),
}

/// How long a text is.
#[derive(Debug, Default)]
pub(super) struct Length {
    bytes: u64,
    line_ends: u64,
    within_line: bool,
}

impl Readable {
    pub(super) fn new(transcript: Transcript) -> Self {
        Self {
            transcript,
            skip: Skip::Bytes(0),
            finished: false,
        }
    }

    /// Shows only the last `lines` of a text so long, and what comes after it; how many lines of it
    /// that are.
    pub(super) fn skip_to_last(&mut self, lines: u64, length: &Length) -> u64 {
        let all = length.lines();
        self.skip = match lines {
            // A line that has begun is not among them, but its rest comes.
            0 => Skip::Bytes(length.bytes),
            _ => Skip::Lines(all.saturating_sub(lines)),
        };
        all.min(lines)
    }

    /// The text of the next bytes, as far as it is to be shown.
    pub(super) fn push(&mut self, raw: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        self.transcript.push(raw, &mut text);
        self.shown(text)
    }

    /// What was held back, once: the output is over.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        if !std::mem::replace(&mut self.finished, true) {
            self.transcript.finish(&mut text);
        }
        self.shown(text)
    }

    fn shown(&mut self, mut text: Vec<u8>) -> Vec<u8> {
        let left_out = match &mut self.skip {
            Skip::Bytes(bytes) => {
                let here = usize::try_from(*bytes).map_or(text.len(), |n| n.min(text.len()));
                *bytes -= here as u64;
                here
            }
            Skip::Lines(lines) => begin_after(&text, lines),
        };
        text.drain(..left_out);
        text
    }
}

/// Where the text begins after `lines` lines; what of them is not there yet is left in `lines`.
fn begin_after(text: &[u8], lines: &mut u64) -> usize {
    if *lines == 0 {
        return 0;
    }
    for (at, _) in text.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        *lines -= 1;
        if *lines == 0 {
            return at + 1;
        }
    }
    text.len()
}

impl Length {
    /// Adds the next piece of the text.
    pub(super) fn add(&mut self, text: &[u8]) {
        self.bytes += text.len() as u64;
        self.line_ends += text.split(|byte| *byte == b'\n').skip(1).count() as u64;
        if let Some(last) = text.last() {
            self.within_line = *last != b'\n';
        }
    }

    /// A last line without its end counts.
    fn lines(&self) -> u64 {
        self.line_ends + u64::from(self.within_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::command::PlainReader;

    /// The text of `raw` in pieces of `size`, the last `lines` of what was there at `known`.
    fn last(raw: &[u8], known: usize, lines: u64, size: usize) -> (u64, Vec<u8>) {
        let new = || Readable::new(Transcript::new(Box::new(PlainReader)));
        let mut length = Length::default();
        let mut first = new();
        for piece in raw[..known].chunks(size) {
            length.add(&first.push(piece));
        }
        length.add(&first.finish());
        let mut readable = new();
        let found = readable.skip_to_last(lines, &length);
        let mut text: Vec<u8> = raw
            .chunks(size)
            .flat_map(|raw| readable.push(raw))
            .collect();
        text.extend(readable.finish());
        text.extend(readable.finish());
        (found, text)
    }

    #[test]
    fn the_last_lines_are_those_that_are_left_when_the_others_are_skipped() {
        let raw = b"one\ntwo\nthree\nfo";
        for size in 1..=raw.len() {
            for (lines, found, expected) in [
                (0, 0, ""),
                (1, 1, "fo"),
                (2, 2, "three\nfo"),
                (4, 4, "one\ntwo\nthree\nfo"),
                (9, 4, "one\ntwo\nthree\nfo"),
            ] {
                let text = last(raw, raw.len(), lines, size);
                assert_eq!(text, (found, expected.into()), "{lines} by {size}");
            }
            // What came later comes, with the rest of the line that had begun.
            assert_eq!(last(raw, 5, 0, size), (0, "wo\nthree\nfo".into()));
            assert_eq!(last(raw, 5, 1, size), (1, "two\nthree\nfo".into()));
            assert_eq!(last(raw, 8, 0, size), (0, "three\nfo".into()));
        }
    }
}
