//! Snapshot and tail, or full replay: the same state, and which way it was is said.

use super::*;

type Texts = Vec<String>;

fn evolve(state: &mut Texts, record: Record<Note>) {
    if let Note::Text { text } = record.event {
        state.push(format!("{} {text}", record.seq));
    }
}

fn start(dir: &Path) -> (Texts, StartFrom) {
    load(dir).unwrap().fold(Vec::new, evolve).unwrap()
}

fn full(dir: &Path) -> Texts {
    let mut state = Vec::new();
    replay(dir, 1, None, |record| evolve(&mut state, record)).unwrap();
    state
}

fn take_snapshot(dir: &Path, position: Position) {
    let mut state = Vec::new();
    let each = |record| evolve(&mut state, record);
    replay(dir, 1, Some(position.seq), each).unwrap();
    let snapshot = Snapshot {
        snapshot_at: TS,
        swarm_version: "0.1.0".into(),
        position,
        config_hash: "c0ffee".into(),
        state: &state,
    };
    write_snapshot(dir, &snapshot).unwrap();
}

/// A log of 14 records in several segments, with snapshots at these seqs.
fn with_snapshots(dir: &Path, seqs: &[u64]) -> Journal {
    let (mut journal, _) = open_small(dir);
    while journal.position().seq < 14 {
        append_all(&mut journal, &[1]);
        if seqs.contains(&journal.position().seq) {
            take_snapshot(dir, journal.position());
        }
    }
    journal
}

#[test]
fn a_snapshot_at_any_seq_and_the_events_after_it_give_the_state_of_a_full_replay() {
    for seq in 1..=14 {
        let dir = quick_dir();
        drop(with_snapshots(dir.path(), &[seq]));
        let loaded: Loaded<Texts, Note> = load(dir.path()).unwrap();
        assert_eq!(loaded.last_seq, 14);
        let mut seqs = Vec::new();
        loaded.replay(|record| seqs.push(record.seq)).unwrap();
        assert_eq!(seqs, (seq + 1..=14).collect::<Vec<_>>());
        let (state, from) = loaded.fold(Vec::new, evolve).unwrap();
        assert!(matches!(from, StartFrom::Snapshot { seq: s } if s == seq));
        assert_eq!(state, full(dir.path()));
    }
}

#[test]
fn a_wrong_hint_costs_time_only() {
    let dir = quick_dir();
    let journal = with_snapshots(dir.path(), &[]);
    let right = position_of(dir.path(), 7).unwrap().unwrap();
    for (segment, offset) in [(0, 0), (1, 7), (right.segment, 1), (99, 9), (5, u64::MAX)] {
        take_snapshot(
            dir.path(),
            Position {
                segment,
                offset,
                ..right
            },
        );
        let (state, from) = start(dir.path());
        assert!(matches!(from, StartFrom::Snapshot { seq: 7 }), "{from:?}");
        assert_eq!(state, full(dir.path()));
    }
    drop(journal);
}

#[test]
fn an_empty_log_and_a_snapshot_of_nothing_start() {
    let dir = quick_dir();
    let (state, from) = start(dir.path());
    assert!(state.is_empty());
    assert!(matches!(
        from,
        StartFrom::FullReplay {
            why: SnapshotFault::Missing,
            why_not_previous: SnapshotFault::Missing
        }
    ));
    let (mut journal, opened) = open_small(dir.path());
    take_snapshot(dir.path(), opened.position);
    append_all(&mut journal, &[2]);
    let (state, from) = start(dir.path());
    assert!(matches!(from, StartFrom::Snapshot { seq: 0 }));
    assert_eq!(state.len(), 2);
}

#[test]
fn without_the_newest_the_one_before_and_without_that_all_events() {
    let dir = quick_dir();
    drop(with_snapshots(dir.path(), &[6, 11]));
    let expected = full(dir.path());
    let path = |name| dir.path().join(name);
    std::fs::write(path(SNAPSHOT_FILE), "{").unwrap();
    let (state, from) = start(dir.path());
    assert!(matches!(
        from,
        StartFrom::PreviousSnapshot {
            seq: 6,
            why: SnapshotFault::Damaged(_)
        }
    ));
    assert_eq!(state, expected);
    std::fs::remove_file(path(PREVIOUS_FILE)).unwrap();
    let (state, from) = start(dir.path());
    assert!(matches!(
        from,
        StartFrom::FullReplay {
            why: SnapshotFault::Damaged(_),
            why_not_previous: SnapshotFault::Missing
        }
    ));
    assert_eq!(state, expected);
}

#[test]
fn a_snapshot_of_another_log_is_not_used() {
    let dir = quick_dir();
    drop(with_snapshots(dir.path(), &[9]));
    let other = quick_dir();
    let (mut journal, _) = open_small(other.path());
    for seq in 0..12 {
        journal.append(seq, TS, &[Note::Bare]).unwrap();
    }
    let taken = dir.path().join(SNAPSHOT_FILE);
    std::fs::copy(taken, other.path().join(SNAPSHOT_FILE)).unwrap();
    let (state, from) = start(other.path());
    let why = match from {
        StartFrom::FullReplay { why, .. } => why.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(why.contains("another log"), "{why}");
    assert!(state.is_empty());
}

#[test]
fn a_newer_or_unreadable_snapshot_is_ignored_while_the_log_is_readable() {
    let dir = quick_dir();
    drop(with_snapshots(dir.path(), &[9]));
    let path = dir.path().join(SNAPSHOT_FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [("1.0.0", "2.0.0"), ("state\":[", "state\":[7,")] {
        let text = text.replacen(from, to, 1);
        let body = &text[..text.len() - 19];
        let crc = crc32c::crc32c(body.as_bytes());
        std::fs::write(&path, format!("{body},\"crc\":\"{crc:08x}\"}}\n")).unwrap();
        let (state, from) = start(dir.path());
        assert!(matches!(from, StartFrom::FullReplay { .. }), "{from:?}");
        assert_eq!(state, full(dir.path()));
    }
}

#[test]
fn a_log_that_ends_before_a_snapshot_is_refused_untouched() {
    let dir = quick_dir();
    drop(with_snapshots(dir.path(), &[14]));
    let live = dir.path().join(LIVE_FILE);
    let bytes = std::fs::read(&live).unwrap();
    let last = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n');
    for (cut, torn) in [
        (last.map_or(0, |at| at + 1), false),
        (bytes.len() - 1, true),
    ] {
        std::fs::write(&live, &bytes[..cut]).unwrap();
        let before = files(dir.path());
        let error = Journal::open(dir.path()).unwrap_err();
        let damaged = matches!(error, JournalError::Damaged { seq: 14, .. });
        let behind = matches!(
            error,
            JournalError::BehindSnapshot {
                snapshot: 14,
                log_end: 13,
                ..
            }
        );
        assert_eq!((damaged, behind), (torn, !torn), "{error}");
        assert!(load::<Texts, Note>(dir.path()).is_err());
        assert_eq!(files(dir.path()), before);
    }
    for name in files(dir.path()).into_keys() {
        if name.starts_with("events") {
            std::fs::remove_file(dir.path().join(name)).unwrap();
        }
    }
    let error = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(
        error,
        JournalError::BehindSnapshot { log_end: 0, .. }
    ));
}

#[test]
fn reading_a_log_with_a_torn_tail_stops_before_it_and_changes_nothing() {
    let dir = quick_dir();
    drop(with_snapshots(dir.path(), &[13]));
    let live = dir.path().join(LIVE_FILE);
    let mut bytes = std::fs::read(&live).unwrap();
    bytes.extend_from_slice(b"{\"v\":1,\"seq\":15");
    std::fs::write(&live, bytes).unwrap();
    let before = files(dir.path());
    assert_eq!(start(dir.path()).0.len(), 14);
    assert_eq!(files(dir.path()), before);
}
