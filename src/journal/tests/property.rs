//! Whatever was written, and whatever a crash made of what was not synced: no acknowledged record
//! is lost.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn event() -> impl Strategy<Value = Note> {
    prop_oneof![
        Just(Note::Mark {}),
        Just(Note::Bare),
        ".{0,40}".prop_map(|text| Note::Text { text }),
        vec((any::<u64>(), "[a-z\"{}:,\\\\]{0,9}"), 0..4).prop_map(|items| Note::Many { items }),
    ]
}

fn batches() -> impl Strategy<Value = Vec<Vec<Note>>> {
    vec(vec(event(), 1..5), 1..10)
}

/// Writes the batches; returns the length of the live segment before the last one, and its first
/// seq.
fn write(dir: &Path, segment_bytes: u64, batches: &[Vec<Note>]) -> (usize, u64) {
    let (mut journal, _) = Journal::open_with(dir, segment_bytes, Box::new(Disk)).unwrap();
    let mut before = journal.position();
    for batch in batches {
        before = journal.position();
        journal.append(before.seq, TS, batch).unwrap();
    }
    let rotated = journal.position().segment != before.segment;
    let synced = if rotated { 0 } else { before.offset };
    (usize::try_from(synced).unwrap(), before.seq)
}

proptest! {
    #[test]
    fn what_is_written_is_what_is_read(batches in batches(), segment_bytes in 200_u64..2000) {
        let dir = quick_dir();
        write(dir.path(), segment_bytes, &batches);
        let read: Vec<_> = read_all(dir.path()).into_iter().map(|r| r.event).collect();
        prop_assert_eq!(read, batches.concat());
    }

    /// The last batch was written and not synced, and a power cut did to it what it liked.
    #[test]
    fn no_acknowledged_record_is_ever_lost(
        batches in batches(),
        segment_bytes in 200_u64..2000,
        cut in any::<prop::sample::Index>(),
        flips in vec(any::<prop::sample::Index>(), 0..4),
        zeros in proptest::option::of((any::<prop::sample::Index>(), 1_usize..600)),
    ) {
        let dir = quick_dir();
        let (synced, acknowledged) = write(dir.path(), segment_bytes, &batches);
        let live = dir.path().join(LIVE_FILE);
        let mut bytes = std::fs::read(&live).unwrap();
        bytes.truncate(synced + cut.index(bytes.len() - synced + 1));
        let tail = &mut bytes[synced..];
        if let (Some((at, length)), false) = (zeros, tail.is_empty()) {
            let at = at.index(tail.len());
            let end = (at + length).min(tail.len());
            tail[at..end].fill(0);
        }
        if !tail.is_empty() {
            for flip in &flips {
                let bit = flip.index(tail.len() * 8);
                tail[bit / 8] ^= 1 << (bit % 8);
            }
        }
        std::fs::write(&live, &bytes).unwrap();
        let before = files(dir.path());
        match Journal::open_with(dir.path(), segment_bytes, Box::new(Disk)) {
            Ok((mut journal, opened)) => {
                let found = opened.position.seq;
                prop_assert!(found >= acknowledged);
                journal.append(found, TS, &[Note::Bare]).unwrap();
                let read: Vec<_> = read_all(dir.path()).into_iter().map(|r| r.event).collect();
                let kept = usize::try_from(found).unwrap();
                prop_assert_eq!(&read[..kept], &batches.concat()[..kept]);
            }
            // Several flips may make a line that says too much, or a newer format: then nothing is
            // touched.
            Err(error) => {
                prop_assert!(error.is_damage() && flips.len() > usize::from(zeros.is_none())
                    || matches!(error, JournalError::Newer { .. }), "{}", error);
                prop_assert_eq!(files(dir.path()), before);
            }
        }
    }
}
