//! Every operation of the disk, failing in every way: once, or from then on. At a start, at work
//! and at rotations, and while a snapshot is written. What was acknowledged is there afterwards,
//! what was refused without doubt has left no byte, and no failed sync is tried again.

use super::faulty::{EDQUOT, EINTR, EIO, ENOSPC, EROFS, Fault, Faults};
use super::*;

const TORN: &[u8] = br#"{"v":1,"seq":4,"dur":3,"ts":"20"#;

/// What fails, how, and whether it goes on failing.
#[derive(Debug, Clone, Copy)]
struct Trouble {
    operation: usize,
    fault: Fault,
    for_good: bool,
}

impl Trouble {
    fn faults(self) -> Faults {
        if self.for_good {
            Faults::from_on(self.operation, self.fault)
        } else {
            Faults::at(self.operation, self.fault)
        }
    }
}

/// Runs with each trouble at each operation, until a run is over before its operation comes.
/// Returns how many runs there were.
fn at_every_operation(run: impl Fn(Trouble) -> Faults) -> usize {
    let mut runs = 0;
    let errors = [EIO, ENOSPC, EDQUOT, EROFS, EINTR];
    let parts = [0, 60, usize::MAX];
    let once = errors.map(|errno| parts.map(|part| (Fault::Error(errno, part), false)));
    // A call that is interrupted for ever never ends, by right.
    let for_good = [EIO, ENOSPC, EDQUOT, EROFS];
    let for_good = for_good.map(|errno| parts.map(|part| (Fault::Error(errno, part), true)));
    let faults = once.into_iter().chain(for_good).flatten();
    for (fault, for_good) in faults {
        for operation in 0.. {
            let trouble = Trouble {
                operation,
                fault,
                for_good,
            };
            runs += 1;
            if run(trouble).operations().len() <= operation {
                assert!(operation > 5, "the run has operations");
                break;
            }
        }
    }
    runs
}

/// The bytes of the log, however they are spread over segments.
fn log_bytes(dir: &Path) -> Vec<u8> {
    let segments = Segments::open(dir).unwrap();
    let bytes = segments.iter().map(|s| std::fs::read(&s.path).unwrap());
    bytes.collect::<Vec<_>>().concat()
}

/// Appends, through a rotation or more. Returns the last seq that was acknowledged, and the last
/// that may be there.
fn work(dir: &Path, journal: &mut Journal, context: &str) -> (u64, u64) {
    let mut acknowledged = journal.position().seq;
    for count in [2, 1, 3, 1, 1, 2] {
        let events = notes(acknowledged + 1, count);
        let before = log_bytes(dir);
        let mut tried = journal.append(acknowledged, TS, &events);
        if let Err(AppendError::Full { .. }) = &tried {
            assert_eq!(log_bytes(dir), before, "{context}");
            assert_eq!(journal.position().seq, acknowledged, "{context}");
            tried = journal.append(acknowledged, TS, &events);
        }
        match tried {
            Ok(last) => acknowledged = last,
            Err(AppendError::Full { .. }) => return (acknowledged, acknowledged),
            Err(error) => {
                assert!(error.is_final(), "{context}: {error}");
                let again = journal.append(acknowledged, TS, &events).unwrap_err();
                assert!(again.is_final(), "{context}: {again}");
                assert_eq!(journal.position().seq, acknowledged, "{context}");
                return (acknowledged, acknowledged + count);
            }
        }
    }
    (acknowledged, acknowledged)
}

/// A file whose sync has failed is not synced again, but where it was opened anew and what is in
/// doubt written again, or is another file by now.
fn assert_no_sync_is_tried_again(faults: &Faults, trouble: Trouble) {
    let operations = faults.operations();
    let Some((failed, later)) = operations
        .get(trouble.operation..)
        .and_then(<[String]>::split_first)
    else {
        return;
    };
    let Some((_, file)) = failed
        .split_once(' ')
        .filter(|(name, _)| name.starts_with("sync") && *name != "syncDir")
    else {
        return;
    };
    let until_anew = later.iter().take_while(|operation| {
        let (name, on) = operation.split_once(' ').unwrap();
        on != file || !matches!(name, "open" | "remove" | "rename")
    });
    for operation in until_anew {
        let (name, on) = operation.split_once(' ').unwrap();
        assert!(
            !(name.starts_with("sync") && on == file),
            "{trouble:?}: {operations:?}"
        );
    }
}

/// A disk that works again: all that was acknowledged is there, at most what was under way besides,
/// and the log goes on.
fn assert_recovers(dir: &Path, (least, most): (u64, u64), context: &str) {
    let (mut journal, opened) = open_small(dir);
    let found = opened.position.seq;
    assert!(
        (least..=most).contains(&found),
        "{context}: {found} is not within {least}..={most}"
    );
    append_all(&mut journal, &[1, 3]);
    assert_notes(dir, found + 4);
    assert_eq!(verify(dir).unwrap(), found + 4, "{context}");
}

#[test]
fn at_work_and_at_rotations() {
    let runs = at_every_operation(|trouble| {
        let context = format!("{trouble:?}");
        let dir = quick_dir();
        drop(open_small(dir.path()));
        let faults = Faults::default();
        let opened = Journal::open_with(dir.path(), SMALL, faults.disk());
        let (mut journal, _) = opened.unwrap();
        let first = faults.operations().len();
        let trouble = Trouble {
            operation: first + trouble.operation,
            ..trouble
        };
        faults.take_over(&trouble.faults());
        let bounds = work(dir.path(), &mut journal, &context);
        assert_no_sync_is_tried_again(&faults, trouble);
        drop(journal);
        assert_recovers(dir.path(), bounds, &context);
        faults.without_first(first)
    });
    println!("{runs} runs");
}

#[test]
fn at_a_start_with_a_torn_tail() {
    let runs = at_every_operation(|trouble| {
        let context = format!("{trouble:?}");
        let dir = quick_dir();
        let (mut journal, _) = open_small(dir.path());
        append_all(&mut journal, &[1, 2]);
        drop(journal);
        let live = dir.path().join(LIVE_FILE);
        let bytes = [&std::fs::read(&live).unwrap(), TORN].concat();
        std::fs::write(&live, &bytes).unwrap();
        let faults = trouble.faults();
        let bounds = match Journal::open_with(dir.path(), SMALL, faults.disk()) {
            Ok((journal, opened)) => {
                assert_eq!((opened.position.seq, journal.position().seq), (3, 3));
                (3, 3)
            }
            Err(error) => {
                assert!(!error.is_damage(), "{context}: {error}");
                (3, 3)
            }
        };
        assert_no_sync_is_tried_again(&faults, trouble);
        assert_recovers(dir.path(), bounds, &context);
        let kept = files(dir.path())
            .into_iter()
            .any(|(name, bytes)| name.starts_with("torn-") && bytes == TORN);
        assert!(kept, "{context}: the torn bytes are kept");
        faults
    });
    println!("{runs} runs");
}

#[test]
fn short_writes_are_completed_whatever_is_written() {
    for most in [1, 13, 130] {
        let dir = quick_dir();
        let faults = Faults::default();
        faults.stand("write", Fault::Short(most));
        let (mut journal, _) = Journal::open_with(dir.path(), SMALL, faults.disk()).unwrap();
        assert_eq!(work(dir.path(), &mut journal, "short"), (10, 10));
        write_snapshot_with(&mut *faults.disk(), dir.path(), &snapshot(&journal)).unwrap();
        drop(journal);
        let loaded: Loaded<u64, Note> = load(dir.path()).unwrap();
        assert!(matches!(loaded.start, StartFrom::Snapshot { seq: 10 }));
        assert_recovers(dir.path(), (10, 10), "short");
    }
}

#[test]
fn a_log_that_cannot_even_be_looked_at_is_closed() {
    let dir = quick_dir();
    let faults = Faults::default();
    let (mut journal, _) = Journal::open_with(dir.path(), SMALL, faults.disk()).unwrap();
    append_all(&mut journal, &[2]);
    faults.stand("length", Fault::Error(EIO, 0));
    let before = log_bytes(dir.path());
    let failed = journal.append(2, TS, &notes(3, 1)).unwrap_err();
    assert!(
        matches!(failed, AppendError::Unavailable { .. }),
        "{failed}"
    );
    assert_eq!(log_bytes(dir.path()), before);
    faults.mend();
    assert!(journal.append(2, TS, &notes(3, 1)).unwrap_err().is_final());
}

#[test]
fn what_is_unknown_may_turn_up_and_is_then_found_by_its_place() {
    for (part, turns_up) in [(0, 0), (60, 0), (usize::MAX, 2)] {
        let dir = quick_dir();
        let faults = Faults::default();
        let (mut journal, _) = Journal::open_with(dir.path(), SMALL, faults.disk()).unwrap();
        append_all(&mut journal, &[1]);
        faults.next(Fault::Error(ENOSPC, part));
        faults.stand("truncate", Fault::Error(EIO, 0));
        let unknown = journal.append(1, TS, &notes(2, 2)).unwrap_err();
        assert!(matches!(unknown, AppendError::Unknown { .. }), "{unknown}");
        let later = journal.append(1, TS, &notes(2, 2)).unwrap_err();
        assert!(matches!(later, AppendError::Unavailable { .. }), "{later}");
        drop(journal);
        let (mut journal, opened) = open_small(dir.path());
        let found = opened.position.seq;
        assert_eq!(found, 1 + turns_up);
        // Whoever tries again on what he knew is told, and nothing is there twice.
        let again = journal.append(1, TS, &notes(2, 2));
        if turns_up > 0 {
            assert_eq!(again, Err(AppendError::Conflict { expected: 1, found }));
        }
        assert_notes(dir.path(), 3);
    }
}

fn snapshot(journal: &Journal) -> Snapshot<u64> {
    Snapshot {
        snapshot_at: TS,
        swarm_version: "0.1.0".into(),
        position: journal.position(),
        config_hash: "c0ffee".into(),
        state: journal.position().seq,
    }
}

/// The seqs of the whole snapshots there are.
fn snapshots(dir: &Path) -> [Option<u64>; 2] {
    [SNAPSHOT_FILE, PREVIOUS_FILE].map(|name| {
        let read = read_snapshot::<u64>(&dir.join(name));
        read.ok().map(|snapshot| snapshot.state)
    })
}

#[test]
fn while_a_snapshot_is_written() {
    let runs = at_every_operation(|trouble| {
        let context = format!("{trouble:?}");
        let dir = quick_dir();
        let (mut journal, _) = open_small(dir.path());
        for _ in 0..2 {
            append_all(&mut journal, &[3]);
            write_snapshot(dir.path(), &snapshot(&journal)).unwrap();
        }
        append_all(&mut journal, &[3]);
        let log = log_bytes(dir.path());
        let faults = trouble.faults();
        let written = write_snapshot_with(&mut *faults.disk(), dir.path(), &snapshot(&journal));
        let there = snapshots(dir.path());
        assert!(
            [[6, 3], [6, 6], [9, 6]]
                .map(|two| two.map(Some))
                .contains(&there),
            "{context}: {there:?}"
        );
        assert!(written.is_err() || there == [Some(9), Some(6)], "{context}");
        assert_eq!(log_bytes(dir.path()), log, "{context}");
        let mends =
            !trouble.for_good || faults.operations().iter().all(|o| !o.starts_with("remove"));
        let left = files(dir.path())
            .into_keys()
            .any(|name| name.contains("next"));
        assert!(!(mends && left), "{context}: half a snapshot takes room");
        let loaded: Loaded<u64, Note> = load(dir.path()).unwrap();
        assert!(
            matches!(loaded.start, StartFrom::Snapshot { .. }),
            "{context}"
        );
        assert_eq!(loaded.last_seq, 9);
        append_all(&mut journal, &[1]);
        write_snapshot(dir.path(), &snapshot(&journal)).unwrap();
        assert_eq!(snapshots(dir.path())[0], Some(10), "{context}");
        assert!(
            !files(dir.path())
                .into_keys()
                .any(|name| name.contains("next"))
        );
        faults
    });
    println!("{runs} runs");
}

/// A name that is not on disk when its record is acknowledged may be the old one's after a power
/// failure.
#[test]
fn each_name_that_was_given_is_synced_before_anything_counts_on_it() {
    let dir = quick_dir();
    let faults = Faults::default();
    let (mut journal, _) = Journal::open_with(dir.path(), SMALL, faults.disk()).unwrap();
    for batch in [3, 3, 1, 3] {
        append_all(&mut journal, &[batch]);
        assert_names_are_synced(&faults);
        write_snapshot_with(&mut *faults.disk(), dir.path(), &snapshot(&journal)).unwrap();
        assert_names_are_synced(&faults);
    }
    let done = faults.operations();
    let rotations = done.iter().filter(|name| *name == "rename events.jsonl");
    assert!(rotations.count() > 1, "{done:?}");
}

fn assert_names_are_synced(faults: &Faults) {
    let done = faults.operations();
    let last = |names: &[&str]| {
        done.iter()
            .rposition(|one| names.iter().any(|name| one.starts_with(name)))
    };
    let (given, synced) = (last(&["rename", "link"]), last(&["syncDir"]));
    assert!(given <= synced, "{done:?}");
}
