//! Notes of the scratchpad.

use insta::assert_snapshot;

use super::{PERSON, at_work, author, by, refused};
use crate::domain::decide;
use crate::domain::event::{Event, NotePut};
use crate::domain::memory::{MemoryCommand, NoteKey, PutNote};
use crate::domain::testkit::Scenario;

const DAY_MS: i64 = 86_400_000;

fn key(text: &str) -> NoteKey {
    text.parse().unwrap()
}

fn note(key_text: &str, content: Option<&str>) -> PutNote {
    PutNote {
        key: key(key_text),
        title: None,
        content: content.map(str::to_owned),
        expected: None,
        keep: false,
    }
}

fn put(key_text: &str, content: &str) -> MemoryCommand {
    MemoryCommand::PutNote(note(key_text, Some(content)))
}

fn drop_note(key_text: &str) -> MemoryCommand {
    MemoryCommand::PutNote(note(key_text, None))
}

fn expecting(expected: u64, content: Option<&str>) -> MemoryCommand {
    MemoryCommand::PutNote(PutNote {
        expected: Some(expected),
        ..note("todo", content)
    })
}

fn version(s: &Scenario, key_text: &str) -> u64 {
    let note = s.state.notes.get(&key(key_text));
    note.map_or(0, |note| note.version)
}

#[test]
fn a_notes_version_is_the_event_that_wrote_it_so_it_never_comes_back() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    by(&mut s, &one, expecting(0, Some("one\r\ntwo\u{7}")));
    let first = version(&s, "todo");
    assert_eq!(first, s.state.seq);
    let written = s.state.notes.get(&key("todo")).unwrap();
    assert_eq!(written.content, "one\ntwo\u{fffd}");
    assert_eq!(written.title, "todo");
    by(&mut s, &one, expecting(first, None));
    assert_eq!(version(&s, "todo"), 0);
    by(&mut s, &PERSON, put("todo", "one"));
    assert!(version(&s, "todo") > first);
    let why = refused(&mut s, &one, expecting(first, Some("x")));
    let now = version(&s, "todo");
    assert_eq!(
        why,
        format!("NOTE_CONFLICT: the note `todo` is at version {now}, not {first}")
    );
}

#[test]
fn a_note_expires_a_day_after_its_last_write_unless_it_is_kept() {
    let mut s = at_work(0);
    by(&mut s, &PERSON, put("a", "x"));
    by(&mut s, &PERSON, put("b", "x"));
    let keep = PutNote {
        keep: true,
        title: Some("For later".into()),
        ..note("c", Some("x"))
    };
    by(&mut s, &PERSON, MemoryCommand::PutNote(keep));
    let began = s.now;
    assert_eq!(
        decide::next_deadline(&s.state, s.now),
        Some(began.plus_millis(DAY_MS))
    );
    s.wait(DAY_MS - 1);
    by(&mut s, &PERSON, put("b", "y"));
    assert_eq!(s.state.notes.len(), 3);
    s.quietly().wait(1);
    assert_snapshot!(s.then(), @"notesDropped {keys: [a]}");
    s.wait_for_deadline();
    assert_snapshot!(s.then(), @"notesDropped {keys: [b]}");
    assert_eq!(decide::next_deadline(&s.state, s.now), None);
    assert_eq!(s.state.notes.get(&key("c")).unwrap().title, "For later");
}

#[test]
fn notes_that_expired_while_nothing_ran_are_dropped_at_the_start() {
    let mut s = at_work(0);
    s.given((0..250).map(|number| {
        Event::NotePut(NotePut {
            key: key(&format!("n{number}")),
            title: "n".into(),
            content: "x".into(),
            by: PERSON,
            expires_at: Some(s_now()),
        })
    }));
    s.now = s_now().plus_millis(2 * DAY_MS);
    s.restart();
    assert!(s.state.notes.is_empty());
}

fn s_now() -> crate::domain::time::Timestamp {
    crate::domain::testkit::START
}

#[test]
fn what_is_no_note_is_refused() {
    let mut s = at_work(1);
    let one = author(&s, 1);
    let why = refused(&mut s, &one, drop_note("todo"));
    assert_snapshot!(why, @"NOTE_UNKNOWN: there is no note `todo`");
    let why = refused(&mut s, &one, put("todo", " \n "));
    assert_snapshot!(why, @"TEXT_EMPTY: the note is empty");
    let why = refused(&mut s, &one, put("todo", &"x".repeat(24 * 1024 + 1)));
    assert_snapshot!(why, @"TOO_LARGE: the note takes 24577 bytes; at most 24576 are allowed");
    // Each control character takes three bytes once it is neutralised.
    let why = refused(&mut s, &one, put("todo", &"\u{7}".repeat(24 * 1024)));
    assert_snapshot!(why, @"TOO_LARGE: the note takes 73728 bytes; at most 24576 are allowed");
}

#[test]
fn the_largest_note_fits_into_a_line_of_the_log() {
    let mut s = at_work(0);
    by(&mut s, &PERSON, put("todo", &"\"".repeat(24 * 1024)));
    let (_, event) = s.log.last().unwrap();
    assert!(serde_json::to_string(event).unwrap().len() < 60 * 1024);
}

#[test]
fn there_are_at_most_a_thousand_notes_of_eight_mebibytes() {
    let some = |count: u64, content: &str| {
        let content = content.to_owned();
        let mut s = at_work(0);
        s.given((0..count).map(|number| {
            Event::NotePut(NotePut {
                key: key(&format!("n{number}")),
                title: "n".into(),
                content: content.clone(),
                by: PERSON,
                expires_at: None,
            })
        }));
        s
    };
    let mut s = some(1_000, "x");
    let why = refused(&mut s, &PERSON, put("more", "x"));
    assert_snapshot!(why, @"QUOTA: there are 1000 notes; no more fit");
    by(&mut s, &PERSON, put("n1", "y"));
    let mut s = some(341, &"x".repeat(24 * 1024));
    let why = refused(&mut s, &PERSON, put("more", &"x".repeat(24 * 1024)));
    assert_snapshot!(why, @"QUOTA: the notes take 8192 KiB; no more fit");
    by(&mut s, &PERSON, drop_note("n1"));
    by(&mut s, &PERSON, put("more", &"x".repeat(24 * 1024)));
}
