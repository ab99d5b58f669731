//! A disk that is full, or fails, while the daemon lives on.

use std::sync::mpsc::channel;

use super::faulty::{EIO, ENOSPC, Fault, Faults};
use super::*;

fn faulty(dir: &Path, batches: &[u64]) -> (Journal, Faults) {
    let faults = Faults::default();
    let (mut journal, _) = Journal::open_with(dir, SMALL, faults.disk()).unwrap();
    append_all(&mut journal, batches);
    (journal, faults)
}

/// The bytes of all segments, one after the other.
fn log_bytes(dir: &Path) -> Vec<Vec<u8>> {
    let is_log = |name: &str| name.starts_with("events");
    files(dir)
        .into_iter()
        .filter(|(name, _)| is_log(name))
        .map(|(_, bytes)| bytes)
        .collect()
}

#[test]
fn a_full_disk_leaves_the_log_as_it_was_and_usable() {
    for part in [0, 1, 40, 1000] {
        let dir = quick_dir();
        let (mut journal, faults) = faulty(dir.path(), &[1]);
        let before = log_bytes(dir.path());
        faults.stand("write", Fault::Error(ENOSPC, part));
        for _ in 0..2 {
            let full = journal.append(1, TS, &notes(2, 2)).unwrap_err();
            assert!(matches!(full, AppendError::Full { .. }), "{full}");
            assert!(!full.is_final());
            assert_eq!(log_bytes(dir.path()), before);
        }
        faults.mend();
        append_all(&mut journal, &[2, 1]);
        assert_notes(dir.path(), 4);
    }
}

#[test]
fn a_full_disk_at_a_rotation_leaves_the_log_as_it_was_and_usable() {
    let dir = quick_dir();
    let (mut journal, faults) = faulty(dir.path(), &[4]);
    let before = log_bytes(dir.path());
    faults.stand("open", Fault::Error(ENOSPC, 0));
    let full = journal.append(4, TS, &notes(5, 2)).unwrap_err();
    assert!(matches!(full, AppendError::Full { .. }), "{full}");
    assert_eq!(log_bytes(dir.path()), before);
    faults.mend();
    append_all(&mut journal, &[2, 1]);
    assert_eq!(segment_names(dir.path()).len(), 2);
    assert_notes(dir.path(), 7);
}

#[test]
fn the_ballast_can_be_freed_to_log_that_the_disk_is_full() {
    let dir = quick_dir();
    let (journal, opened) = Journal::open(dir.path()).unwrap();
    assert!(opened.ballast);
    let ballast = journal.ballast();
    assert!(ballast.free().unwrap());
    let (_, opened) = Journal::open(dir.path()).unwrap();
    assert!(opened.ballast && ballast.is_there());
}

#[test]
fn a_full_disk_that_cannot_be_cut_back_is_unknown_and_closes_the_log() {
    let dir = quick_dir();
    let (mut journal, faults) = faulty(dir.path(), &[1]);
    faults.stand("write", Fault::Error(ENOSPC, 60));
    faults.stand("truncate", Fault::Error(EIO, 0));
    let unknown = journal.append(1, TS, &notes(2, 2)).unwrap_err();
    assert!(matches!(unknown, AppendError::Unknown { .. }), "{unknown}");
    faults.mend();
    let later = journal.append(1, TS, &notes(2, 2)).unwrap_err();
    assert!(matches!(later, AppendError::Unavailable { .. }), "{later}");
    drop(journal);
    let (mut journal, opened) = open_small(dir.path());
    assert_eq!(opened.position.seq, 1);
    assert!(opened.torn.is_some());
    append_all(&mut journal, &[1]);
    assert_notes(dir.path(), 2);
}

#[test]
fn short_writes_are_completed() {
    let dir = quick_dir();
    let (mut journal, faults) = faulty(dir.path(), &[]);
    faults.stand("write", Fault::Short(7));
    append_all(&mut journal, &[1, 3, 2]);
    faults.mend();
    assert_notes(dir.path(), 6);
}

#[test]
fn after_a_failed_sync_the_batch_goes_to_a_new_segment_and_the_file_is_never_synced_again() {
    let dir = quick_dir();
    let (mut journal, faults) = faulty(dir.path(), &[1, 1]);
    faults.after(1, Fault::Error(EIO, 0));
    append_all(&mut journal, &[2, 1]);
    let operations = faults.operations();
    let failed = operations
        .iter()
        .rposition(|o| o == "syncData events.jsonl");
    let after = &operations[failed.unwrap() + 1..];
    assert!(after.iter().any(|o| o == "syncAll events.next.jsonl"));
    assert!(
        after
            .iter()
            .all(|o| !(o.starts_with("sync") && o.ends_with(" events.jsonl")))
    );
    assert_eq!(
        segment_names(dir.path()),
        ["events.1.jsonl", "events.jsonl"]
    );
    assert_notes(dir.path(), 5);
    drop(journal);
    let (mut journal, opened) = open_small(dir.path());
    assert_eq!((opened.position.seq, opened.torn), (5, None));
    append_all(&mut journal, &[5]);
    assert_notes(dir.path(), 10);
}

#[test]
fn what_a_failed_sync_left_in_the_old_segment_is_void() {
    let dir = quick_dir();
    let (mut journal, faults) = faulty(dir.path(), &[1, 1]);
    faults.after(1, Fault::Error(EIO, 0));
    faults.stand("truncate", Fault::Error(EIO, 0));
    append_all(&mut journal, &[2]);
    faults.mend();
    let old = std::fs::read(dir.path().join("events.1.jsonl")).unwrap();
    assert_eq!(line_ends(&old), 4);
    assert_notes(dir.path(), 4);
    let position = journal.position();
    assert_eq!(position_of(dir.path(), 4).unwrap(), Some(position));
    // However much of it is still there, and in whatever shape.
    let end = old.len();
    let first = &old[..end / 2];
    for garbage in [first, &old[..end - 3], &[first, &[0; 99]].concat()] {
        std::fs::write(dir.path().join("events.1.jsonl"), garbage).unwrap();
        assert_notes(dir.path(), 4);
        assert_eq!(open_small(dir.path()).1.position.seq, 4);
    }
    append_all(&mut journal, &[1; 9]);
    assert_notes(dir.path(), 13);
    assert_eq!(verify(dir.path()).unwrap(), 13);
}

#[test]
fn a_failed_sync_of_a_segments_first_batch_replaces_that_segment() {
    let dir = quick_dir();
    let (mut journal, faults) = faulty(dir.path(), &[]);
    faults.after(1, Fault::Error(EIO, 0));
    append_all(&mut journal, &[2, 1]);
    assert_eq!(segment_names(dir.path()), ["events.jsonl"]);
    assert_notes(dir.path(), 3);
}

#[test]
fn a_disk_that_fails_for_good_closes_the_log_and_keeps_what_was_acknowledged() {
    for operation in ["sync", "write", "open", "rename", "syncDir"] {
        let dir = quick_dir();
        let (mut journal, faults) = faulty(dir.path(), &[1, 2]);
        faults.next(Fault::Error(EIO, 30));
        faults.stand(operation, Fault::Error(EIO, 30));
        let failed = journal.append(3, TS, &notes(4, 2)).unwrap_err();
        assert!(
            matches!(failed, AppendError::Unavailable { .. }),
            "{failed}"
        );
        assert!(failed.is_final());
        let later = journal.append(3, TS, &notes(4, 2)).unwrap_err();
        assert_eq!(later.to_string(), failed.to_string(), "{operation}");
        assert!(later.is_final());
        drop(journal);
        let (mut journal, opened) = open_small(dir.path());
        let found = opened.position.seq;
        assert!([3, 5].contains(&found), "{operation}: {found}");
        append_all(&mut journal, &[1]);
        assert_notes(dir.path(), found + 1);
    }
}

#[test]
fn the_writer_goes_on_after_a_full_disk_when_its_owner_decides_again() {
    let dir = quick_dir();
    let (journal, faults) = faulty(dir.path(), &[1]);
    let (answers, answered) = channel();
    let sink = move |appended: Appended<Note>| answers.send(appended.result).unwrap();
    let writer = spawn_writer(journal, sink).unwrap();
    let submit = |expected| {
        let events = notes(expected + 1, 1);
        let batch = Batch {
            expected,
            ts: TS,
            events,
        };
        writer.submit(batch).unwrap();
    };
    faults.stand("write", Fault::Error(ENOSPC, 9));
    submit(1);
    submit(2);
    assert!(matches!(
        answered.recv().unwrap(),
        Err(AppendError::Full { .. })
    ));
    assert!(answered.recv().unwrap().is_err());
    faults.mend();
    submit(1);
    assert_eq!(answered.recv().unwrap().unwrap().seq, 2);
    assert_notes(dir.path(), 2);
}

#[test]
fn a_start_on_a_full_disk_makes_do_with_the_ballast() {
    for operation in 0.. {
        let dir = quick_dir();
        let (mut journal, _) = open_small(dir.path());
        append_all(&mut journal, &[1, 2]);
        let live = dir.path().join(LIVE_FILE);
        let mut bytes = std::fs::read(&live).unwrap();
        bytes.extend_from_slice(b"torn");
        std::fs::write(&live, bytes).unwrap();
        let faults = Faults::at(operation, Fault::Error(ENOSPC, 2));
        let opened = Journal::open_with(dir.path(), SMALL, faults.disk()).unwrap();
        assert_eq!(opened.1.position.seq, 3);
        assert!(opened.1.torn.is_some());
        assert_notes(dir.path(), 3);
        if faults.operations().len() <= operation {
            assert!(operation > 5, "there are that many operations");
            break;
        }
    }
}
