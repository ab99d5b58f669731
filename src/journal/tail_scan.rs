//! Distinguishes a torn tail from damage. Pure; called by `reader`, `segments` and `repair`.
//!
//! Invariant: a record that may have been acknowledged never counts as a torn tail while anything
//! on disk proves that it was written. A crash tears only the last, unsynced batch, whose lines all
//! have a `dur` before the batch. So at a first bad line with expected seq *s*: if a later line or
//! a snapshot proves that records up to some `dur >= s` were on disk, the line is damage, else
//! torn.

// Which later lines count as proof? A line that verifies against its predecessor's crc. If the same
// damage took the predecessor, its crc or the line break between them, the line cannot verify
// through no fault of its own, so it counts if it has the form of a record. It does not count if
// its predecessor is intact and has the preceding seq, but the crc differs: then the line itself is
// garbled.

use std::io::BufRead as _;

use super::record::{self, FORMAT, Header, MAX_LINE};

/// The fewest bytes that a disk writes at once.
const SECTOR: usize = 512;

/// What the next line of the log must follow on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainStart {
    /// The seq of the next line.
    pub next_seq: u64,
    /// The crc of the line before it.
    pub crc: u32,
}

impl ChainStart {
    /// Before the first record of a log.
    pub const ORIGIN: Self = Self {
        next_seq: 1,
        crc: 0,
    };
}

/// What [`scan`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Bytes from the beginning that are good lines.
    pub end: usize,
    /// The seq of the last good line, or the one before the scan's beginning.
    pub last_seq: u64,
    /// Its crc.
    pub last_crc: u32,
    /// The highest seq that is known to be on disk.
    pub durable: u64,
    /// Bytes from the beginning that are known to be on disk: lines up to [`Self::end`] were
    /// perhaps never synced.
    pub proven: usize,
    /// What comes after the good lines.
    pub tail: Tail,
}

/// What comes after the last good line. Offsets count from the beginning of what was scanned, in
/// bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    Clean,
    /// The rest of a batch that was never acknowledged.
    Torn {
        /// Where it begins.
        offset: u64,
        /// The seq expected there.
        seq: u64,
        /// What is wrong with the line there.
        why: String,
    },
    /// Acknowledged records that are damaged or missing.
    Damaged {
        /// Where the first bad line begins.
        offset: u64,
        /// The seq expected there.
        seq: u64,
        /// What is wrong, and what proves that it was acknowledged.
        why: String,
    },
    /// Lines of a format that is newer than this version.
    Newer {
        /// Where they begin.
        offset: u64,
        /// Their format.
        found: u64,
    },
}

/// Checks `bytes`, the lines that follow on `start`, up to the end or the first bad line. Records
/// up to `known_durable` are known, from elsewhere (a snapshot), to have been acknowledged.
pub fn scan(bytes: &[u8], start: ChainStart, known_durable: u64) -> Scan {
    let mut at = Progress::new(start, 0);
    let Ok(stop) = walk_lines(bytes, true, u64::MAX, &mut at, |_| {
        Ok::<(), std::convert::Infallible>(())
    });
    let end = usize::try_from(at.offset).unwrap_or(bytes.len());
    Scan {
        end,
        last_seq: at.last_seq(),
        last_crc: at.chain.crc,
        durable: at.durable,
        proven: usize::try_from(at.proven).unwrap_or(end),
        tail: judge(&bytes[end..], &at, known_durable, &stop),
    }
}

/// How far a walk over lines has come. Offsets count from the beginning of the segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub(super) chain: ChainStart,
    pub(super) offset: u64,
    pub(super) durable: u64,
    pub(super) proven: u64,
}

impl Progress {
    pub(super) fn new(chain: ChainStart, offset: u64) -> Self {
        Self {
            chain,
            offset,
            durable: 0,
            proven: offset,
        }
    }

    pub(super) fn last_seq(&self) -> u64 {
        self.chain.next_seq - 1
    }

    fn pass(&mut self, line: &Line<'_>) {
        let Header { seq, dur, .. } = line.header;
        // A batch's first line says that all lines before it are on disk.
        if dur + 1 == seq {
            self.proven = self.offset;
        }
        self.durable = self.durable.max(dur);
        self.offset += line.bytes.len() as u64 + 1;
        self.chain = ChainStart {
            next_seq: seq + 1,
            crc: line.crc,
        };
    }
}

/// A line that follows on the one before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) header: Header,
    pub(super) crc: u32,
    /// Without its line end.
    pub(super) bytes: &'a [u8],
}

/// Why a walk over lines ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// No whole line is left.
    Spent,
    /// The line with the last seq asked for was passed.
    Enough,
    /// This is no line that may come next.
    Bad(String),
    /// The line is intact, and no writer has ever written one like it.
    Impossible(String),
    /// The line is of this newer format.
    Newer(u64),
}

/// Passes `each` line of `bytes` that follows on, up to the line `upto`. `last` says that nothing
/// comes after `bytes`. At a line that is wrong, `at` stays before it.
pub(super) fn walk_lines<X>(
    bytes: &[u8],
    last: bool,
    upto: u64,
    at: &mut Progress,
    mut each: impl FnMut(&Line<'_>) -> Result<(), X>,
) -> Result<Stop, X> {
    let mut rest = bytes;
    while at.chain.next_seq <= upto {
        let Some(length) = line_length(rest) else {
            return Ok(unfinished(rest, last));
        };
        let line = match check(&rest[..length], at.chain) {
            Ok(line) => line,
            Err(stop) => return Ok(stop),
        };
        each(&line)?;
        at.pass(&line);
        rest = &rest[length + 1..];
    }
    Ok(Stop::Enough)
}

fn line_length(bytes: &[u8]) -> Option<usize> {
    // `skip_until` finds the line end with the C library's `memchr`.
    let length = (&mut &*bytes).skip_until(b'\n').ok()?.checked_sub(1)?;
    (bytes[length] == b'\n').then_some(length)
}

fn unfinished(rest: &[u8], last: bool) -> Stop {
    if rest.len() >= MAX_LINE {
        Stop::Bad("there is no line break within the longest possible line".into())
    } else if last && !rest.is_empty() {
        Stop::Bad("the line is cut short".into())
    } else {
        Stop::Spent
    }
}

/// Checks that `bytes` is the line that follows on `chain`.
fn check(bytes: &[u8], chain: ChainStart) -> Result<Line<'_>, Stop> {
    let bad = |why: &str| Err(Stop::Bad(why.to_owned()));
    if bytes.len() >= MAX_LINE {
        return bad("the line is too long");
    }
    let Some((body, written)) = record::split_crc(bytes) else {
        return bad("the line does not end with a crc");
    };
    let crc = record::chain(chain.crc, body);
    if crc != written {
        return bad("its checksum is wrong: this event or the one before it was changed");
    }
    if let Some((found, _)) = record::version(bytes).filter(|(v, _)| *v > FORMAT) {
        return Err(Stop::Newer(found));
    }
    match record::header(bytes) {
        Some(header) if header.seq != chain.next_seq => {
            Err(Stop::Impossible(format!("its seq is {}", header.seq)))
        }
        Some(header) if header.dur >= header.seq => Err(Stop::Impossible(format!(
            "it says that the events up to {} were on disk before it",
            header.dur
        ))),
        Some(header) if header.v < FORMAT => {
            Err(Stop::Impossible(format!("there is no format {}", header.v)))
        }
        Some(header) => Ok(Line { header, crc, bytes }),
        None => Err(Stop::Impossible("it does not begin like an event".into())),
    }
}

/// What `rest`, everything from where a walk stopped, means.
pub(super) fn judge(rest: &[u8], at: &Progress, known_durable: u64, stop: &Stop) -> Tail {
    let (offset, seq) = (at.offset, at.chain.next_seq);
    let damaged = |why: String| Tail::Damaged { offset, seq, why };
    let why = match stop {
        Stop::Spent | Stop::Enough => return Tail::Clean,
        Stop::Newer(found) => {
            return Tail::Newer {
                offset,
                found: *found,
            };
        }
        Stop::Impossible(why) => return damaged(why.clone()),
        Stop::Bad(why) => why,
    };
    if known_durable >= seq {
        return damaged(format!(
            "{why}. It is not just an unfinished write: a snapshot has the events up to \
            {known_durable}"
        ));
    }
    if let Some(claim) = first_claim(rest, seq) {
        return damaged(format!(
            "{why}. It is not just an unfinished write: event {} at byte {} says that the events \
            up to {} were on disk",
            claim.header.seq,
            offset + claim.at as u64,
            claim.header.dur
        ));
    }
    match newer_lines(rest, seq) {
        Some((at, found)) => Tail::Newer {
            offset: offset + at as u64,
            found,
        },
        None => Tail::Torn {
            offset,
            seq,
            why: why.clone(),
        },
    }
}

/// Where in `rest` lines of a newer format begin, and which. Their crc may be another than ours, so
/// their word must do: of the first line if it goes on with the expected seq, of later ones if two
/// in a row say the same and are not the same. One such line alone may be two halves, of which a
/// power cut has lost the other halves: `{"v":1` and `208,"dur":`; or that twice over.
fn newer_lines(rest: &[u8], seq: u64) -> Option<(usize, u64)> {
    let version = |line: &[u8]| Some(record::version(line)?.0).filter(|v| *v > FORMAT);
    if let Some((found, more)) = record::version(rest)
        && found > FORMAT
        && more.starts_with(format!(",\"seq\":{seq},").as_bytes())
    {
        return Some((0, found));
    }
    let mut at = 0;
    let mut before = None;
    for line in rest.split(|byte| *byte == b'\n') {
        let found = version(line).map(|found| (found, &line[..line.len().min(SECTOR)]));
        match (before, found) {
            (Some((start, v, other)), Some((found, head)))
                if v == found && !is_beginning(other, head) =>
            {
                return Some((start, found));
            }
            _ => before = found.map(|(found, head)| (at, found, head)),
        }
        at += line.len() + 1;
    }
    None
}

/// Whether one of them is the beginning of the other: the log's end may cut the second of two equal
/// lines short.
fn is_beginning(one: &[u8], other: &[u8]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Something that has the form of a record's line, somewhere in bytes that as a whole do not hold
/// together.
struct Candidate<'a> {
    at: usize,
    header: Header,
    body: &'a [u8],
    crc: u32,
    /// Where the next line should begin.
    end: usize,
}

/// The first line in `rest` that counts as proof (see the top of this file) that record `seq` was
/// on disk. `rest` begins where the record `seq` should be, after an intact record.
fn first_claim(rest: &[u8], seq: u64) -> Option<Candidate<'_>> {
    let mut starts = starts(rest).peekable();
    // The seq and the end of the line before, if that line is intact.
    let mut before = Some((seq - 1, 0));
    while let Some(start) = starts.next() {
        let limit = starts.peek().copied().unwrap_or(rest.len());
        let Some(found) = candidate(rest, start, limit) else {
            before = None;
            continue;
        };
        let verified = verifies(rest, &found);
        let follows = before.is_some_and(|(seq, end)| (seq + 1, end) == (found.header.seq, start));
        let claims = (seq..found.header.seq).contains(&found.header.dur);
        if claims && (verified || !follows && found.header.v <= FORMAT) {
            return Some(found);
        }
        before = verified.then_some((found.header.seq, found.end));
    }
    None
}

/// Where something begins as a record does, whether or not a line end precedes it. Text inside an
/// event cannot: its quotes are escaped.
fn starts(rest: &[u8]) -> impl Iterator<Item = usize> {
    (0..rest.len())
        .filter(|at| rest[*at] == b'{')
        .filter(|at| record::header(&rest[*at..]).is_some())
}

/// The record's line that begins at `start`, and ends at its line end or, if that is gone, before
/// `limit`.
fn candidate(rest: &[u8], start: usize, limit: usize) -> Option<Candidate<'_>> {
    let piece = &rest[start..limit];
    let without_line_end = piece.len() - usize::from(limit < rest.len());
    let length = line_length(piece).unwrap_or(without_line_end);
    let (body, crc) = record::split_crc(&piece[..length])?;
    Some(Candidate {
        at: start,
        header: record::header(piece)?,
        body,
        crc,
        end: start + length + 1,
    })
}

/// Whether the crc fits the bytes and the crc that is written right before, whatever else became of
/// that line.
fn verifies(rest: &[u8], candidate: &Candidate<'_>) -> bool {
    const DIGITS_BEFORE_NEXT_LINE: usize = 11;
    let previous = candidate
        .at
        .checked_sub(DIGITS_BEFORE_NEXT_LINE)
        .and_then(|from| record::hex(&rest[from..from + 8]));
    previous.is_some_and(|crc| record::chain(crc, candidate.body) == candidate.crc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::testing::{HandMade, hand_made};

    fn verdict(bytes: &[u8]) -> Scan {
        scan(bytes, ChainStart::ORIGIN, 0)
    }

    fn torn_at(bytes: &[u8]) -> Option<u64> {
        match verdict(bytes).tail {
            Tail::Torn { seq, .. } => Some(seq),
            _ => None,
        }
    }

    fn damaged_at(bytes: &[u8]) -> Option<u64> {
        match verdict(bytes).tail {
            Tail::Damaged { seq, .. } => Some(seq),
            _ => None,
        }
    }

    /// The log without the bytes of records `from` to `to`.
    fn without(log: &HandMade, from: u64, to: u64) -> Vec<u8> {
        let mut bytes = log.bytes.clone();
        bytes.drain(log.start(from)..log.end(to));
        bytes
    }

    fn zeroed(bytes: &[u8], from: usize, to: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes[from..to].fill(0);
        bytes
    }

    #[test]
    fn an_intact_log_is_clean_and_knows_what_was_synced() {
        let log = hand_made(&[1, 3, 2]);
        let scan = verdict(&log.bytes);
        assert_eq!(scan.tail, Tail::Clean);
        assert_eq!((scan.end, scan.last_seq), (log.bytes.len(), 6));
        assert_eq!(scan.last_crc, log.end.crc);
        assert_eq!((scan.durable, scan.proven), (4, log.start(5)));
        assert_eq!(verdict(b"").last_seq, 0);
    }

    #[test]
    fn a_cut_at_every_byte_keeps_every_whole_line_and_is_torn_or_clean() {
        let log = hand_made(&[1, 2, 3, 1]);
        for cut in 0..=log.bytes.len() {
            let scan = verdict(&log.bytes[..cut]);
            let whole = log.lines.iter().filter(|line| line.1 <= cut).count() as u64;
            assert_eq!(scan.last_seq, whole, "cut at {cut}");
            let clean = cut == scan.end;
            assert_eq!(scan.tail == Tail::Clean, clean, "cut at {cut}");
            assert_eq!(torn_at(&log.bytes[..cut]).is_some(), !clean, "cut at {cut}");
        }
    }

    #[test]
    fn a_flip_of_any_bit_of_the_acknowledged_part_is_damage() {
        for batches in [&[1, 2, 3, 1][..], &[1, 1], &[3, 1, 1], &[2, 4]] {
            let log = hand_made(batches);
            let acknowledged = verdict(&log.bytes).durable;
            for bit in 0..log.end(acknowledged) * 8 {
                let mut bytes = log.bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let seq = damaged_at(&bytes);
                let hit = log.lines.iter().filter(|line| line.1 <= bit / 8).count() as u64 + 1;
                assert_eq!(seq, Some(hit), "{batches:?} bit {bit}");
            }
        }
    }

    #[test]
    fn a_flip_in_the_unacknowledged_tail_never_costs_an_acknowledged_record() {
        let log = hand_made(&[1, 2, 4]);
        for bit in log.end(3) * 8..log.bytes.len() * 8 {
            let mut bytes = log.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let scan = verdict(&bytes);
            assert!(scan.last_seq >= 3, "bit {bit}");
            let newer = matches!(scan.tail, Tail::Newer { .. });
            assert!(newer || torn_at(&bytes).is_some(), "bit {bit}: {scan:?}");
        }
    }

    #[test]
    fn a_lost_acknowledged_line_is_damage_even_with_only_one_line_after_it() {
        let log = hand_made(&[1, 1, 1, 1, 1]);
        for seq in 1..=4 {
            assert_eq!(damaged_at(&without(&log, seq, seq)), Some(seq));
            assert_eq!(damaged_at(&without(&log, seq, 4)), Some(seq));
        }
        assert_eq!(verdict(&without(&log, 5, 5)).tail, Tail::Clean);
    }

    #[test]
    fn zeroed_sectors_over_acknowledged_lines_are_damage_wherever_they_begin_and_end() {
        let log = hand_made(&[1, 2, 1, 1]);
        for from in 0..log.end(4) {
            for to in (from + 1..=log.start(5)).step_by(7) {
                let bytes = zeroed(&log.bytes, from, to);
                assert!(damaged_at(&bytes).is_some(), "{from}..{to}");
            }
        }
    }

    #[test]
    fn zeroed_or_reordered_sectors_of_the_last_batch_are_a_torn_tail() {
        let log = hand_made(&[1, 2, 6]);
        for from in log.start(4)..log.bytes.len() {
            for to in (from + 1..=log.bytes.len()).step_by(13) {
                let bytes = zeroed(&log.bytes, from, to);
                assert!(torn_at(&bytes).is_some_and(|seq| seq > 3), "{from}..{to}");
            }
        }
        let mut swapped = log.bytes[..log.start(5)].to_vec();
        swapped.extend_from_slice(&log.bytes[log.start(6)..log.end(6)]);
        swapped.extend_from_slice(&log.bytes[log.start(5)..log.end(5)]);
        assert_eq!(torn_at(&swapped), Some(5));
    }

    #[test]
    fn several_bad_lines_among_acknowledged_ones_are_damage() {
        let log = hand_made(&[1, 1, 1, 1, 1, 1]);
        let mut bytes = log.bytes.clone();
        for seq in [2, 3, 4] {
            bytes[log.start(seq) + 60] ^= 1;
        }
        assert_eq!(damaged_at(&bytes), Some(2));
    }

    #[test]
    fn a_garbled_dur_after_an_intact_line_of_the_same_batch_does_not_count() {
        let log = hand_made(&[41, 6]);
        let mut bytes = log.bytes.clone();
        bytes[log.start(42) + 60] ^= 1;
        let dur = log.start(46) + r#"{"v":1,"seq":46,"dur":4"#.len();
        assert_eq!(bytes[dur], b'1');
        bytes[dur] = b'4';
        assert_eq!(torn_at(&bytes), Some(42));
    }

    #[test]
    fn a_record_quoted_inside_an_event_proves_nothing() {
        let mut bytes = hand_made(&[1]).bytes;
        let quoted = r#"{"v":1,"seq":2,"dur":0,"ts":"x","kind":"text","data":{"text":"{\"v\":1,\"seq\":9,\"dur\":8,\"ts\":\"\"#;
        bytes.extend_from_slice(quoted.as_bytes());
        assert_eq!(torn_at(&bytes), Some(2));
    }

    #[test]
    fn a_snapshot_proves_that_a_torn_record_was_acknowledged() {
        let log = hand_made(&[1, 1]);
        let cut = &log.bytes[..log.end(2) - 1];
        let tail = |known| scan(cut, ChainStart::ORIGIN, known).tail;
        assert!(matches!(tail(1), Tail::Torn { seq: 2, .. }));
        assert!(matches!(tail(2), Tail::Damaged { seq: 2, .. }));
    }

    #[test]
    fn an_intact_line_that_knows_too_much_is_damage() {
        let mut log = hand_made(&[1]);
        let body =
            r#"{"v":1,"seq":2,"dur":5,"ts":"2026-01-01T00:00:00.000Z","kind":"mark","data":{}"#;
        let crc = record::chain(log.end.crc, body.as_bytes());
        log.bytes
            .extend_from_slice(format!("{body},\"crc\":\"{crc:08x}\"}}\n").as_bytes());
        assert_eq!(damaged_at(&log.bytes), Some(2));
    }

    #[test]
    fn a_newer_format_is_recognised_whether_or_not_its_crc_is_ours() {
        let log = hand_made(&[2]);
        let body =
            r#"{"v":2,"seq":3,"dur":2,"ts":"2026-01-01T00:00:00.000Z","kind":"mark","data":{}"#;
        for crc in [record::chain(log.end.crc, body.as_bytes()), 0] {
            let mut bytes = log.bytes.clone();
            bytes.extend_from_slice(format!("{body},\"crc\":\"{crc:08x}\"}}\n").as_bytes());
            let tail = verdict(&bytes).tail;
            assert!(matches!(tail, Tail::Newer { found: 2, .. }), "{tail:?}");
        }
        let other = b"{\"v\":3,\"sequence\":1,\"sum\":\"abc\"}\n{\"v\":3,\"sequence\":2}\n";
        assert!(matches!(
            verdict(other).tail,
            Tail::Newer {
                offset: 0,
                found: 3
            }
        ));
    }

    #[test]
    fn one_line_glued_together_from_two_is_no_newer_format() {
        let log = hand_made(&[2, 3]);
        let whole = &log.bytes[..log.end(2)];
        for glued in [
            &br#"{"v":1208,"dur":2,"ts":"2026-01-01T00:00:00.000Z"}"#[..],
            br#"{"v":12,"ts":"2026-01-01T00:00:00.000Z"}"#,
            br#"{"v":11,"seq":4,"dur":2,"ts":"2026-01-01T00:00:00.000Z"}"#,
        ] {
            let rest = [b"\n", &log.bytes[log.start(4)..]].concat();
            assert_eq!(torn_at(&[whole, glued, &rest].concat()), Some(3));
        }
    }

    #[test]
    fn the_same_two_halves_twice_over_are_no_newer_format() {
        let log = hand_made(&[2]);
        let half = format!(
            "{{\"v\":8,\"dur\":2,\"text\":\"{}\"}}\n",
            "x".repeat(SECTOR)
        );
        for second in [half.as_bytes(), &half.as_bytes()[..40]] {
            let bytes = [&log.bytes, half.as_bytes(), second].concat();
            assert_eq!(torn_at(&bytes), Some(3));
        }
    }

    #[test]
    fn damage_before_lines_of_a_newer_format_is_not_cut_off_with_them() {
        let log = hand_made(&[1, 1]);
        let mut bytes = log.bytes.clone();
        bytes[log.start(2) + 60] ^= 1;
        // Its form is another.
        let other = [&bytes[..], b"{\"v\":2,\"n\":3}\n{\"v\":2,\"n\":4}\n"].concat();
        let tail = verdict(&other).tail;
        let lines = bytes.len() as u64;
        assert!(
            matches!(tail, Tail::Newer { found: 2, offset } if offset == lines),
            "{tail:?}"
        );
        // Its form is the same, and its crc too.
        let body =
            r#"{"v":2,"seq":3,"dur":2,"ts":"2026-01-01T00:00:00.000Z","kind":"mark","data":{}"#;
        let crc = record::chain(log.end.crc, body.as_bytes());
        bytes.extend_from_slice(format!("{body},\"crc\":\"{crc:08x}\"}}\n").as_bytes());
        assert_eq!(damaged_at(&bytes), Some(2));
    }

    #[test]
    fn a_later_segment_is_scanned_from_where_the_earlier_one_ended() {
        let log = hand_made(&[3, 2, 1]);
        let head = verdict(&log.bytes[..log.end(4)]);
        let start = ChainStart {
            next_seq: head.last_seq + 1,
            crc: head.last_crc,
        };
        let rest = scan(&log.bytes[log.end(4)..], start, 0);
        assert_eq!((rest.last_seq, rest.tail), (6, Tail::Clean));
        let wrong = ChainStart { crc: 1, ..start };
        assert_eq!(scan(&log.bytes[log.end(4)..], wrong, 0).end, 0);
    }
}
