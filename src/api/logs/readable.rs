//! Turns the structured standard output of a run into text for people.
//!
//! Invariant: it converts all output from the first byte and drops the unwanted start of the text,
//! so that the last lines are always the same. Memory does not grow with the output.

use crate::agents::transcript::Transcript;

/// The conversion of one run's output.
pub(super) struct Readable {
    transcript: Transcript,
    skip: Skip,
    finished: bool,
}

/// How much of the text to drop before the first shown byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skip {
    Lines(u64),
    Bytes(u64),
}

/// The length of a text.
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

    /// Shows only the last `lines` lines of a text of this length, and what follows it. Returns the
    /// number of lines shown.
    pub(super) fn skip_to_last(&mut self, lines: u64, length: &Length) -> u64 {
        let all = length.lines();
        self.skip = match lines {
            // The rest of an unfinished line is still shown.
            0 => Skip::Bytes(length.bytes),
            _ => Skip::Lines(all.saturating_sub(lines)),
        };
        all.min(lines)
    }

    /// The text of the next bytes, without the dropped start.
    pub(super) fn push(&mut self, raw: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        self.transcript.push(raw, &mut text);
        self.shown(text)
    }

    /// The remaining text at the end of the output; only once.
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

/// The position after `lines` lines; `lines` becomes the number of lines still to skip.
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

    /// An unfinished last line counts.
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
    fn the_last_lines_are_independent_of_chunk_sizes() {
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
            // Later output follows, with the rest of the unfinished line.
            assert_eq!(last(raw, 5, 0, size), (0, "wo\nthree\nfo".into()));
            assert_eq!(last(raw, 5, 1, size), (1, "two\nthree\nfo".into()));
            assert_eq!(last(raw, 8, 0, size), (0, "three\nfo".into()));
        }
    }
}
