//! What the tests of this room share: an event type, and logs made by hand.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::record::{self, FORMAT, Header, JournalEvent};
use super::scan::ChainStart;
use crate::domain::time::Timestamp;

/// A small event type with each shape that an event may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "camelCase")]
pub(crate) enum Note {
    Mark {},
    Bare,
    Text { text: String },
    Many { items: Vec<(u64, String)> },
}

impl Note {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text { text: text.into() }
    }
}

impl JournalEvent for Note {
    fn mark() -> Self {
        Self::Mark {}
    }

    fn kind(&self) -> &str {
        match self {
            Self::Mark {} => "mark",
            Self::Bare => "bare",
            Self::Text { .. } => "text",
            Self::Many { .. } => "many",
        }
    }
}

pub(crate) const TS: Timestamp = Timestamp::from_millis(1_795_226_799_999);

/// The bytes of a log, and where each of its lines begins and ends.
pub(crate) struct HandMade {
    pub(crate) bytes: Vec<u8>,
    pub(crate) lines: Vec<(usize, usize)>,
    pub(crate) end: ChainStart,
}

/// The log after batches of these sizes, each synced before the next.
pub(crate) fn hand_made(batches: &[u64]) -> HandMade {
    let mut log = HandMade {
        bytes: Vec::new(),
        lines: Vec::new(),
        end: ChainStart::ORIGIN,
    };
    let mut left: VecDeque<u64> = batches.iter().copied().collect();
    while let Some(size) = left.pop_front() {
        let dur = log.end.next_seq - 1;
        for _ in 0..size {
            log.push(dur);
        }
    }
    log
}

impl HandMade {
    fn push(&mut self, dur: u64) {
        let (seq, start) = (self.end.next_seq, self.bytes.len());
        let header = Header {
            v: FORMAT,
            seq,
            dur,
        };
        let note = Note::text(&format!("note {seq}"));
        let crc = record::encode(
            &mut self.bytes,
            header,
            &TS.to_string(),
            self.end.crc,
            &note,
        )
        .unwrap();
        self.end = ChainStart {
            next_seq: seq + 1,
            crc,
        };
        self.lines.push((start, self.bytes.len()));
    }

    /// The first byte of the line of record `seq`.
    pub(crate) fn start(&self, seq: u64) -> usize {
        self.lines[usize::try_from(seq).unwrap() - 1].0
    }

    /// The byte after the line of record `seq`.
    pub(crate) fn end(&self, seq: u64) -> usize {
        self.lines[usize::try_from(seq).unwrap() - 1].1
    }
}
