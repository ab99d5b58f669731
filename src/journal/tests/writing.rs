//! Appending, rotating, and the writer's thread, while all is well.

use std::sync::mpsc::{Receiver, channel};

use super::*;
use crate::journal::repair::diagnose;
use crate::journal::testing::TS;

#[test]
fn what_was_appended_is_read_back_with_its_header() {
    let dir = quick_dir();
    let (mut journal, opened) = Journal::open(dir.path()).unwrap();
    assert_eq!(opened.position.seq, 0);
    append_all(&mut journal, &[1, 3]);
    let records = read_all(dir.path());
    let headers: Vec<_> = records.iter().map(|r| (r.seq, r.dur, r.ts)).collect();
    assert_eq!(headers, [(1, 0, TS), (2, 1, TS), (3, 1, TS), (4, 1, TS)]);
    assert_notes(dir.path(), 4);
}

#[test]
fn a_batch_decided_on_another_state_is_refused() {
    let dir = quick_dir();
    let (mut journal, _) = open_small(dir.path());
    append_all(&mut journal, &[2]);
    for expected in [0, 1, 3] {
        let refused = journal.append(expected, TS, &notes(3, 1));
        assert_eq!(refused, Err(AppendError::Conflict { expected, found: 2 }));
    }
    append_all(&mut journal, &[1]);
    assert_eq!(journal.append::<Note>(3, TS, &[]), Ok(3));
    assert_notes(dir.path(), 3);
}

#[test]
fn a_batch_with_one_event_too_large_is_refused_whole() {
    let dir = quick_dir();
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    let batch = [
        Note::text("small"),
        Note::text(&"x".repeat(MAX_LINE)),
        Note::Bare,
    ];
    let refused = journal.append(0, TS, &batch).unwrap_err();
    assert!(
        matches!(&refused, AppendError::TooLarge { kind, .. } if kind == "text"),
        "{refused}"
    );
    append_all(&mut journal, &[2]);
    assert_notes(dir.path(), 2);
}

#[test]
fn segments_rotate_and_join() {
    let dir = quick_dir();
    let (mut journal, _) = open_small(dir.path());
    append_all(&mut journal, &[1; 12]);
    let names = ["events.1.jsonl", "events.5.jsonl", "events.jsonl"];
    assert_eq!(segment_names(dir.path()), names);
    assert_notes(dir.path(), 12);
    drop(journal);
    let (mut journal, opened) = open_small(dir.path());
    assert_eq!(opened.position.seq, 12);
    append_all(&mut journal, &[2, 30, 1, 1]);
    assert_notes(dir.path(), 46);
    assert_eq!(verify(dir.path()).unwrap(), 46);
}

#[test]
fn any_range_is_replayed_and_any_record_found() {
    let dir = quick_dir();
    let (mut journal, _) = open_small(dir.path());
    let mut ends = vec![journal.position()];
    for _ in 0..12 {
        append_all(&mut journal, &[1]);
        ends.push(journal.position());
    }
    for from in 1..=13 {
        for upto in from - 1..=12 {
            let mut seqs = Vec::new();
            let each = |record: Record<Note>| seqs.push(record.seq);
            assert_eq!(replay(dir.path(), from, Some(upto), each).unwrap(), upto);
            assert_eq!(seqs, (from..=upto).collect::<Vec<_>>());
        }
    }
    for end in &ends[1..] {
        assert_eq!(position_of(dir.path(), end.seq).unwrap(), Some(*end));
    }
    assert_eq!(position_of(dir.path(), 13).unwrap(), None);
    let nowhere = dir.path().join("nowhere");
    assert!(read_all(&nowhere).is_empty());
    assert_eq!(position_of(&nowhere, 0).unwrap().unwrap().seq, 0);
}

#[test]
fn one_mark_covers_the_last_batch_and_an_idle_log_does_not_grow() {
    let dir = quick_dir();
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    assert_eq!(journal.mark::<Note>(TS), Ok(0));
    append_all(&mut journal, &[2]);
    assert_eq!(journal.mark::<Note>(TS), Ok(3));
    assert_eq!(journal.mark::<Note>(TS), Ok(3));
    drop(journal);
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    assert_eq!(journal.mark::<Note>(TS), Ok(3));
    assert_eq!(read_all(dir.path())[2].dur, 2);
}

#[test]
fn whoever_else_touches_the_live_segment_fences_this_writer() {
    let dir = quick_dir();
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    append_all(&mut journal, &[1]);
    let (mut other, _) = Journal::open(dir.path()).unwrap();
    append_all(&mut other, &[1]);
    let fenced = journal.append(1, TS, &notes(2, 1));
    assert!(matches!(fenced, Err(AppendError::Fenced { .. })));
}

#[test]
fn a_live_segment_that_lost_its_name_takes_nothing_more() {
    let takeaways: [fn(&Path); 3] = [
        |live| std::fs::remove_file(live).unwrap(),
        |live| std::fs::rename(live, live.with_extension("away")).unwrap(),
        |live| {
            let copy = live.with_extension("copy");
            std::fs::copy(live, &copy).unwrap();
            std::fs::rename(copy, live).unwrap();
        },
    ];
    for take_away in takeaways {
        let dir = quick_dir();
        let (mut journal, _) = Journal::open(dir.path()).unwrap();
        append_all(&mut journal, &[2]);
        assert_eq!(journal.check(), Ok(()));
        take_away(&dir.path().join(LIVE_FILE));
        for _ in 0..2 {
            let removed = journal.append(2, TS, &notes(3, 1)).unwrap_err();
            assert!(matches!(&removed, AppendError::Removed { .. }), "{removed}");
            assert!(removed.is_final());
        }
    }
}

#[test]
fn a_live_segment_that_lost_its_name_is_noticed_once_while_nothing_is_written() {
    let dir = quick_dir();
    let (journal, _) = open_small(dir.path());
    let (writer, answered) = writer(journal);
    writer.submit(batch(0, 1)).unwrap();
    assert!(answered.recv().unwrap().result.is_ok());
    std::fs::remove_file(dir.path().join(LIVE_FILE)).unwrap();
    let lost = answered.recv().unwrap();
    assert!(matches!(lost.result, Err(AppendError::Removed { .. })));
    assert_eq!(lost.batch.events, []);
    writer.submit(batch(1, 1)).unwrap();
    drop(writer);
    let rest: Vec<_> = answered.iter().collect();
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(matches!(rest[0].result, Err(AppendError::Removed { .. })));
}

#[test]
fn reading_goes_on_while_the_log_is_written_and_rotated() {
    let dir = quick_dir();
    let (mut journal, _) = open_small(dir.path());
    append_all(&mut journal, &[1]);
    let path = dir.path().to_owned();
    let reader = std::thread::spawn(move || {
        let mut last = 0;
        while last < 300 {
            let mut next = 1;
            let each = |record: Record<Note>| {
                assert_eq!(record.seq, next);
                next += 1;
            };
            last = replay(&path, 1, None, each).unwrap();
            assert_eq!(last + 1, next);
        }
    });
    while journal.position().seq < 300 {
        let count = 1 + journal.position().seq % 3;
        append_all(&mut journal, &[count]);
    }
    reader.join().unwrap();
}

#[test]
fn a_look_at_the_log_finds_no_damage_while_it_is_written_and_rotated() {
    let dir = quick_dir();
    let (mut journal, _) = open_small(dir.path());
    append_all(&mut journal, &[1]);
    let path = dir.path().to_owned();
    let reader = std::thread::spawn(move || {
        let mut last = 0;
        while last < 300 {
            verify(&path).unwrap();
            let found = diagnose(&path).unwrap();
            assert_eq!((&found.damage, &found.newer), (&None, &None), "{found:?}");
            last = found.last_good();
            let loaded = load::<u64, Note>(&path).unwrap();
            let upto = loaded.last_seq;
            let (seq, _) = loaded.fold(|| 0, |seq, record| *seq = record.seq).unwrap();
            assert_eq!(seq, upto, "the two ways to one state");
        }
    });
    while journal.position().seq < 300 {
        let count = 1 + journal.position().seq % 3;
        append_all(&mut journal, &[count]);
        let snapshot = Snapshot {
            snapshot_at: TS,
            swarm_version: "1".to_owned(),
            position: journal.position(),
            config_hash: String::new(),
            state: journal.position().seq,
        };
        write_snapshot(dir.path(), &snapshot).unwrap();
    }
    reader.join().unwrap();
}

fn batch(expected: u64, count: u64) -> Batch<Note> {
    Batch {
        expected,
        ts: TS,
        events: notes(expected + 1, count),
    }
}

fn writer(journal: Journal) -> (Writer<Note>, Receiver<Appended<Note>>) {
    let (answers, answered) = channel();
    let sink = move |appended| answers.send(appended).unwrap();
    (spawn_writer(journal, sink).unwrap(), answered)
}

#[test]
fn the_writer_answers_every_batch_in_order_with_its_own_position() {
    let dir = quick_dir();
    let (journal, _) = open_small(dir.path());
    let (writer, answered) = writer(journal);
    for expected in 0..50 {
        writer.submit(batch(expected, 1)).unwrap();
    }
    let journal = writer.close().unwrap();
    let answers: Vec<_> = answered.iter().collect();
    assert_eq!(answers.len(), 50);
    for (expected, answer) in (0..).zip(&answers) {
        assert_eq!(answer.batch, batch(expected, 1));
        let position = *answer.result.as_ref().unwrap();
        assert_eq!(
            position_of(dir.path(), expected + 1).unwrap(),
            Some(position)
        );
    }
    assert_eq!(journal.position(), *answers[49].result.as_ref().unwrap());
    assert_notes(dir.path(), 50);
}

#[test]
fn batches_on_top_of_a_refused_one_are_refused_until_the_owner_decides_again() {
    let dir = quick_dir();
    let (journal, _) = Journal::open(dir.path()).unwrap();
    let (writer, answered) = writer(journal);
    let large = Batch {
        events: vec![Note::text(&"x".repeat(MAX_LINE))],
        ..batch(1, 0)
    };
    for batch in [batch(0, 1), large, batch(2, 1), batch(3, 1), batch(1, 2)] {
        writer.submit(batch).unwrap();
    }
    drop(writer);
    let results: Vec<_> = answered
        .iter()
        .map(|answer| answer.result.map(|position| position.seq))
        .collect();
    assert_eq!(results[0], Ok(1));
    assert!(matches!(results[1], Err(AppendError::TooLarge { .. })));
    for (result, expected) in results[2..4].iter().zip(2..) {
        assert_eq!(*result, Err(AppendError::Conflict { expected, found: 1 }));
    }
    assert_eq!(results[4], Ok(3));
    assert_notes(dir.path(), 3);
}

#[test]
fn a_sink_that_panics_ends_the_writer_and_the_owner_learns_of_it() {
    let dir = quick_dir();
    let (journal, _) = Journal::open(dir.path()).unwrap();
    let writer = spawn_writer(journal, |_: Appended<Note>| panic!("as the test wants")).unwrap();
    writer.submit(batch(0, 1)).unwrap();
    assert_eq!(writer.close().unwrap_err(), WriterDied);
    assert_notes(dir.path(), 1);
}
