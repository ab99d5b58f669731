//! A segment of 64 KiB and its snapshot, cut at every byte and with every bit flipped: all of it is
//! seen, and of what was acknowledged nothing is ever taken for a torn tail.
//!
//! The verdict on each is worked out from what was appended, not from the bytes. Each of the half
//! million scans begins at the line it concerns, as a scan of a later segment would; that this
//! makes no difference, and what a start does with it, is tried at places that the seed chooses.
//! `SWARM_EXHAUSTIVE=1` tries that at many more (minutes).

use std::ops::Range;

use super::*;
use crate::journal::snapshot::whole;
use crate::journal::testing::number;

/// Bytes of the segment, at least.
const SEGMENT: usize = 64 * 1024;

/// A log that was appended, and what is known of it without reading it.
struct Log {
    dir: tempfile::TempDir,
    bytes: Vec<u8>,
    /// Of each record, from 1.
    records: Vec<Known>,
    /// The seq at which the snapshot was taken.
    snapshot: u64,
}

struct Known {
    bytes: Range<usize>,
    dur: u64,
    text: String,
    /// What the record follows on.
    chain: ChainStart,
}

impl Log {
    fn of_size(random: &mut Random, size: usize) -> Self {
        let dir = quick_dir();
        let (mut journal, _) = Journal::open(dir.path()).unwrap();
        let mut log = Self {
            dir,
            bytes: Vec::new(),
            records: Vec::new(),
            snapshot: 0,
        };
        let mut end = 0;
        while end < size {
            let texts = (0..=random.below(5)).map(|_| random.text(200));
            log.append(&mut journal, texts.collect());
            end = usize::try_from(journal.position().offset).unwrap();
            if log.snapshot == 0 && end > size / 8 {
                log.snapshot = journal.position().seq;
                log.write_snapshot(&journal);
            }
        }
        journal.ballast().free().unwrap();
        log.bytes = std::fs::read(log.dir.path().join(LIVE_FILE)).unwrap();
        log.place_lines();
        log
    }

    fn append(&mut self, journal: &mut Journal, texts: Vec<String>) {
        let dur = journal.position().seq;
        let notes: Vec<_> = texts.iter().map(|text| Note::text(text)).collect();
        journal.append(dur, TS, &notes).unwrap();
        self.records.extend(texts.into_iter().map(|text| Known {
            bytes: 0..0,
            dur,
            text,
            chain: ChainStart::ORIGIN,
        }));
    }

    fn write_snapshot(&self, journal: &Journal) {
        let snapshot = Snapshot {
            snapshot_at: TS,
            swarm_version: "0.1.0".into(),
            position: journal.position(),
            config_hash: "c0ffee".into(),
            state: self.texts(self.snapshot),
        };
        write_snapshot(self.dir.path(), &snapshot).unwrap();
    }

    fn place_lines(&mut self) {
        let mut start = 0;
        let mut chain = ChainStart::ORIGIN;
        for (line, known) in self
            .bytes
            .split_inclusive(|b| *b == b'\n')
            .zip(&mut self.records)
        {
            known.bytes = start..start + line.len();
            known.chain = chain;
            start += line.len();
            let crc = std::str::from_utf8(&line[line.len() - 11..line.len() - 3]).unwrap();
            chain = ChainStart {
                next_seq: chain.next_seq + 1,
                crc: u32::from_str_radix(crc, 16).unwrap(),
            };
        }
        assert_eq!(start, self.bytes.len());
        assert_eq!(chain.next_seq, self.records.len() as u64 + 1);
    }

    fn texts(&self, upto: u64) -> Vec<String> {
        let upto = usize::try_from(upto).unwrap();
        self.records[..upto]
            .iter()
            .map(|r| r.text.clone())
            .collect()
    }

    /// The last seq that a later record says was on disk.
    fn proven(&self) -> u64 {
        self.records.last().unwrap().dur
    }

    fn known(&self, seq: u64) -> &Known {
        &self.records[usize::try_from(seq).unwrap() - 1]
    }

    /// The record whose line has this byte.
    fn seq_at(&self, byte: usize) -> u64 {
        self.records.partition_point(|r| r.bytes.end <= byte) as u64 + 1
    }

    /// Scans `bytes`, a changed copy, from the line of record `seq`. The offsets are the whole
    /// segment's.
    fn scan_from(&self, seq: u64, bytes: &[u8], known_durable: u64) -> (usize, u64, Tail) {
        let known = self.known(seq);
        let start = known.bytes.start;
        let scan = scan(&bytes[start..], known.chain, known_durable);
        let tail = match scan.tail {
            Tail::Torn { offset, seq, why } => Tail::Torn {
                offset: offset + start as u64,
                seq,
                why,
            },
            Tail::Damaged { offset, seq, why } => Tail::Damaged {
                offset: offset + start as u64,
                seq,
                why,
            },
            Tail::Newer { offset, found } => Tail::Newer {
                offset: offset + start as u64,
                found,
            },
            Tail::Clean => Tail::Clean,
        };
        (start + scan.end, scan.last_seq, tail)
    }

    /// The same bytes, scanned from the beginning, give the same verdict (the texts have other
    /// offsets in them).
    fn assert_same_from_the_beginning(&self, seq: u64, bytes: &[u8], known_durable: u64) {
        let (end, last_seq, tail) = self.scan_from(seq, bytes, known_durable);
        let full = scan(bytes, ChainStart::ORIGIN, known_durable);
        assert_eq!((full.end, full.last_seq), (end, last_seq));
        assert_eq!(summary(&full.tail), summary(&tail));
    }
}

fn summary(tail: &Tail) -> (&'static str, u64, u64) {
    match tail {
        Tail::Clean => ("clean", 0, 0),
        Tail::Torn { offset, seq, .. } => ("torn", *offset, *seq),
        Tail::Damaged { offset, seq, .. } => ("damaged", *offset, *seq),
        Tail::Newer { offset, found } => ("newer", *offset, *found),
    }
}

fn everything() -> bool {
    number("SWARM_EXHAUSTIVE", 0) > 0
}

/// About `count` places below `limit`, or a hundred times as many.
fn places(random: &mut Random, limit: usize, count: usize) -> Vec<usize> {
    let count = if everything() { count * 100 } else { count };
    let step = (limit / count).max(1);
    let first = random.below(step);
    (first..limit).step_by(step).collect()
}

/// Does `each` with every number below `limit`, half of them on each of two threads; sums what it
/// counts.
fn on_two_threads<const N: usize>(
    limit: usize,
    each: impl Fn(Range<usize>) -> [u64; N] + Sync,
) -> [u64; N] {
    let halves = [0..limit / 2, limit / 2..limit];
    std::thread::scope(|scope| {
        let both = halves.map(|half| scope.spawn(|| each(half)));
        let [one, other] = both.map(|half| half.join().unwrap());
        std::array::from_fn(|at| one[at] + other[at])
    })
}

#[test]
fn every_flipped_bit_of_a_segment_is_seen() {
    let mut random = Random::from_environment();
    let log = Log::of_size(&mut random, SEGMENT);
    let [damaged, torn, newer] = on_two_threads(log.bytes.len(), |half| {
        let mut bytes = log.bytes.clone();
        let mut counts = [0; 3];
        for (byte, bit) in half.flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            bytes[byte] ^= 1 << bit;
            counts[flipped(&log, &bytes, byte)] += 1;
            bytes[byte] ^= 1 << bit;
        }
        counts
    });
    println!(
        "{} flips: {damaged} refused as damage, {torn} of records that nothing proves cut off, \
        {newer} refused as newer",
        damaged + torn + newer
    );
    assert_eq!(damaged + torn + newer, log.bytes.len() as u64 * 8);
    let unproven = log.bytes.len() - log.known(log.proven()).bytes.end;
    assert_eq!(torn + newer, unproven as u64 * 8);
    for byte in places(&mut random, log.bytes.len(), 100) {
        let mut bytes = log.bytes.clone();
        bytes[byte] ^= 1 << random.below(8);
        log.assert_same_from_the_beginning(log.seq_at(byte), &bytes, 0);
    }
}

/// The verdict on a segment with one bit of `byte` flipped, as an index: damaged, torn, newer.
fn flipped(log: &Log, bytes: &[u8], byte: usize) -> usize {
    let seq = log.seq_at(byte);
    let start = log.known(seq).bytes.start;
    let (end, last_seq, tail) = log.scan_from(seq, bytes, 0);
    assert_eq!((end, last_seq), (start, seq - 1), "byte {byte}: {tail:?}");
    match summary(&tail) {
        ("damaged", offset, found) if (offset, found) == (start as u64, seq) => {
            assert!(seq <= log.proven(), "byte {byte}: {tail:?}");
            0
        }
        ("torn", offset, found) if (offset, found) == (start as u64, seq) => {
            assert!(seq > log.proven(), "byte {byte}: {tail:?}");
            1
        }
        // A bit of the version's digit: refused, with nothing touched.
        ("newer", offset, _) if (offset, byte) == (start as u64, start + 5) => 2,
        _ => panic!("byte {byte} of record {seq}: {tail:?}"),
    }
}

#[test]
fn a_segment_cut_at_every_byte_keeps_each_whole_record_and_no_snapshot_is_forgotten() {
    let mut random = Random::from_environment();
    let log = Log::of_size(&mut random, SEGMENT);
    let [clean, torn, damaged] = on_two_threads(log.bytes.len(), |half| {
        let mut counts = [0; 3];
        for cut in half {
            let seq = log.seq_at(cut);
            let start = log.known(seq).bytes.start;
            let boundary = cut == start;
            for known_durable in [0, log.snapshot] {
                let (end, last_seq, tail) = log.scan_from(seq, &log.bytes[..cut], known_durable);
                assert_eq!((end, last_seq), (start, seq - 1), "cut at {cut}: {tail:?}");
                let (expected, index) = match boundary {
                    true => (("clean", 0, 0), 0),
                    false if seq > known_durable => (("torn", start as u64, seq), 1),
                    false => (("damaged", start as u64, seq), 2),
                };
                assert_eq!(summary(&tail), expected, "cut at {cut}: {tail:?}");
                counts[index] += 1;
            }
        }
        counts
    });
    println!("cuts, without and with a snapshot: {clean} clean, {torn} torn, {damaged} damaged");
    assert_eq!(clean + torn + damaged, log.bytes.len() as u64 * 2);
    assert!(damaged > 0);
    for cut in places(&mut random, log.bytes.len(), 100) {
        log.assert_same_from_the_beginning(log.seq_at(cut), &log.bytes[..cut], log.snapshot);
    }
}

/// Starts on a copy of the log whose segment is `bytes`: the state, if it is not refused, and how
/// many of the bytes are good. What is refused is left as it was.
fn open_copy(log: &Log, bytes: &[u8]) -> Result<(Vec<String>, u64), JournalError> {
    let dir = quick_dir();
    let snapshot = dir.path().join(SNAPSHOT_FILE);
    std::fs::copy(log.dir.path().join(SNAPSHOT_FILE), snapshot).unwrap();
    std::fs::write(dir.path().join(LIVE_FILE), bytes).unwrap();
    let before = files(dir.path());
    let opened = Journal::open(dir.path());
    if let Err(error) = opened {
        assert_eq!(files(dir.path()), before);
        return Err(error);
    }
    let (_, opened) = opened?;
    let kept = opened.torn.map_or(0, |kept| kept.bytes);
    assert_eq!(opened.position.offset + kept, bytes.len() as u64);
    Ok((state(dir.path()).0, opened.position.offset))
}

fn state(dir: &Path) -> (Vec<String>, StartFrom) {
    let loaded: Loaded<Vec<String>, Note> = load(dir).unwrap();
    let push = |state: &mut Vec<String>, record: Record<Note>| match record.event {
        Note::Text { text } => state.push(text),
        other => panic!("{other:?}"),
    };
    loaded.fold(Vec::new, push).unwrap()
}

#[test]
fn a_start_does_with_a_cut_or_a_flip_what_the_scan_says() {
    let mut random = Random::from_environment();
    let log = Log::of_size(&mut random, SEGMENT);
    let mut counts = [0; 2];
    for cut in places(&mut random, log.bytes.len(), 300) {
        let whole = log.seq_at(cut) - 1;
        let opened = open_copy(&log, &log.bytes[..cut]);
        if whole < log.snapshot {
            assert!(opened.unwrap_err().is_damage());
        } else {
            assert_eq!(opened.unwrap().0, log.texts(whole), "cut at {cut}");
        }
        counts[usize::from(whole < log.snapshot)] += 1;
    }
    for byte in places(&mut random, log.bytes.len(), 300) {
        let mut bytes = log.bytes.clone();
        bytes[byte] ^= 1 << random.below(8);
        let seq = log.seq_at(byte);
        let opened = open_copy(&log, &bytes);
        if seq <= log.proven() {
            assert!(matches!(opened, Err(JournalError::Damaged { .. })));
            counts[1] += 1;
        } else if let Ok((state, end)) = opened {
            assert_eq!(state, log.texts(seq - 1));
            assert_eq!(end, log.known(seq).bytes.start as u64);
            counts[0] += 1;
        }
    }
    println!("starts: {} went on, {} refused", counts[0], counts[1]);
    assert!(counts.iter().all(|count| *count > 0));
}

#[test]
fn a_snapshot_cut_at_every_byte_or_with_any_bit_flipped_is_not_used_and_nothing_is_missed() {
    let mut random = Random::from_environment();
    let log = Log::of_size(&mut random, SEGMENT);
    let path = log.dir.path().join(SNAPSHOT_FILE);
    let bytes = std::fs::read(&path).unwrap();
    // Without its line end it is still whole.
    let last = bytes.len() - 1;
    let [cuts, flips] = on_two_threads(bytes.len(), |half| {
        let mut counts = [0; 2];
        let mut changed = bytes.clone();
        for at in half {
            assert_eq!(
                whole(bytes[..at].to_vec()).is_ok(),
                at == last,
                "cut at {at}"
            );
            counts[0] += 1;
            for bit in 0..8 {
                changed[at] ^= 1 << bit;
                assert!(whole(changed.clone()).is_err(), "bit {bit} of byte {at}");
                changed[at] ^= 1 << bit;
                counts[1] += 1;
            }
        }
        counts
    });
    println!("snapshot: {cuts} cuts and {flips} flips seen");
    let all = log.texts(log.records.len() as u64);
    assert!(matches!(state(log.dir.path()), (state, StartFrom::Snapshot { .. }) if state == all));
    for at in places(&mut random, last, 60) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << random.below(8);
        for changed in [&bytes[..at], &flipped] {
            std::fs::write(&path, changed).unwrap();
            let (state, start) = state(log.dir.path());
            assert!(matches!(start, StartFrom::FullReplay { .. }));
            assert_eq!(state, all);
        }
    }
}
