//! What the tests of this room share: an event type, and logs made by hand.

pub(crate) mod faulty;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::record::{self, FORMAT, Header, JournalEvent};
use super::tail_scan::ChainStart;
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

/// A small generator (splitmix64). Its seed is printed; `SWARM_TEST_SEED` repeats it.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn from_environment() -> Self {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap();
        let fresh = u64::try_from(since.as_nanos() % (1 << 48)).unwrap();
        let seed = number("SWARM_TEST_SEED", fresh);
        println!("SWARM_TEST_SEED={seed}");
        Self(seed)
    }

    /// What this seed gives.
    pub(crate) fn from(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `limit`, which is at least 1.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Text that looks as much like a record as text in a record can.
    pub(crate) fn text(&mut self, longest: usize) -> String {
        const PIECES: &[&str] = &[
            "plain words ",
            "{\"v\":1,\"seq\":9,\"dur\":8,\"ts\":\"",
            "\n",
            "\\",
            "\",\"crc\":\"00000000\"}\n",
            "{",
            "\u{1f980}",
            "0123456789",
        ];
        let length = self.below(longest + 1);
        let mut text = String::new();
        while text.len() < length {
            text.push_str(PIECES[self.below(PIECES.len())]);
        }
        text
    }
}

/// A number from the environment, to make a test larger.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}
