//! What a start finds: torn tails, damage, segments that do not join, newer formats.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Asserts that opening refuses, reading refuses, and not a byte has changed.
fn refused(dir: &Path) -> JournalError {
    let before = files(dir);
    assert!(verify(dir).is_err());
    let error = Journal::open(dir).unwrap_err();
    assert_eq!(files(dir), before, "{error}");
    assert!(error.is_damage(), "{error}");
    error
}

/// A log in several segments, closed cleanly.
fn log_of(dir: &Path, batches: &[u64]) {
    let (mut journal, _) = open_small(dir);
    append_all(&mut journal, batches);
}

fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_new_directory_is_private_and_so_are_its_files() {
    let dir = quick_dir();
    let state = dir.path().join("state");
    drop(Journal::open(&state).unwrap());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    for name in files(&state).keys() {
        assert_eq!(mode(&state.join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_state_directory_that_is_a_link_is_refused() {
    let dir = quick_dir();
    let link = dir.path().join("state");
    std::os::unix::fs::symlink(dir.path(), &link).unwrap();
    let error = Journal::open(&link).unwrap_err();
    assert!(matches!(error, JournalError::UnsafePath { .. }), "{error}");
}

#[test]
fn a_torn_tail_is_kept_aside_and_cut() {
    let dir = quick_dir();
    log_of(dir.path(), &[1, 1]);
    edit(&dir.path().join(LIVE_FILE), |bytes| {
        bytes.extend_from_slice(b"{\"v\":1,\"se");
    });
    let (_, opened) = open_small(dir.path());
    let kept = opened.torn.unwrap();
    assert_eq!((kept.torn.seq, kept.bytes), (3, 10));
    assert_eq!(std::fs::read(&kept.copy).unwrap(), b"{\"v\":1,\"se");
    assert_notes(dir.path(), 2);
    assert_eq!(open_small(dir.path()).1.torn, None);
}

#[test]
fn records_that_may_be_unsynced_are_synced_at_the_start() {
    let dir = quick_dir();
    log_of(dir.path(), &[2, 1]);
    let before = files(dir.path());
    let (_, opened) = open_small(dir.path());
    let last = before[LIVE_FILE]
        .split_inclusive(|b| *b == b'\n')
        .next_back();
    assert_eq!(opened.resynced, last.unwrap().len() as u64);
    assert_eq!(files(dir.path()), before);
}

#[test]
fn damage_is_refused_with_file_offset_seq_and_the_next_command() {
    let dir = quick_dir();
    log_of(dir.path(), &[1, 1, 1]);
    edit(&dir.path().join(LIVE_FILE), |bytes| bytes[200] ^= 1);
    let error = refused(dir.path());
    let message = error.to_string();
    for part in ["events.jsonl", "at byte 11", "event 2"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(error.suggestions(), ["see your options: swarm doctor"]);
}

#[test]
fn damage_in_an_older_segment_is_found_when_it_is_read() {
    let dir = quick_dir();
    log_of(dir.path(), &[1; 9]);
    edit(&dir.path().join("events.1.jsonl"), |bytes| bytes[200] ^= 1);
    assert!(matches!(
        verify(dir.path()),
        Err(JournalError::Damaged { seq: 2, .. })
    ));
    let read = replay(dir.path(), 1, None, |_: Record<Note>| {});
    assert!(matches!(read, Err(JournalError::Damaged { seq: 2, .. })));
}

#[test]
fn a_damaged_end_of_the_segment_before_a_torn_first_line_is_damage() {
    let dir = quick_dir();
    log_of(dir.path(), &[4, 1]);
    assert_eq!(segment_names(dir.path()).len(), 2);
    edit(&dir.path().join("events.1.jsonl"), |bytes| {
        let at = bytes.len() - 5;
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
    });
    let error = refused(dir.path());
    assert!(
        matches!(error, JournalError::Damaged { seq: 4, .. }),
        "{error}"
    );
}

#[test]
fn a_missing_or_renamed_segment_is_damage() {
    for name in ["events.1.jsonl", "events.5.jsonl"] {
        let dir = quick_dir();
        log_of(dir.path(), &[1; 13]);
        let path = dir.path().join(name);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        refused(dir.path());
        std::fs::write(dir.path().join("events.3.jsonl"), bytes).unwrap();
        refused(dir.path());
    }
}

#[test]
fn a_segment_cut_short_before_another_is_damage() {
    let dir = quick_dir();
    log_of(dir.path(), &[1; 13]);
    let path = dir.path().join("events.5.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        refused(dir.path());
    }
    let path = dir.path().join("events.9.jsonl");
    std::fs::copy(dir.path().join("events.1.jsonl"), path).unwrap();
    refused(dir.path());
}

#[test]
fn a_second_copy_of_a_segment_is_refused() {
    let dir = quick_dir();
    log_of(dir.path(), &[1, 1]);
    let live = dir.path().join(LIVE_FILE);
    std::fs::copy(live, dir.path().join("events.1.jsonl")).unwrap();
    refused(dir.path());
}

#[test]
fn a_kill_between_the_two_renames_of_a_rotation_is_mended() {
    for torn in [&b""[..], b"{\"v\":1,"] {
        let dir = quick_dir();
        log_of(dir.path(), &[1, 2]);
        let live = dir.path().join(LIVE_FILE);
        let rotated = dir.path().join("events.1.jsonl");
        edit(&live, |bytes| bytes.extend_from_slice(torn));
        std::fs::rename(&live, &rotated).unwrap();
        std::fs::write(dir.path().join("events.next.jsonl"), "half").unwrap();
        let (mut journal, opened) = open_small(dir.path());
        assert_eq!(opened.position.seq, 3);
        assert_eq!((opened.position.segment, opened.position.offset), (4, 0));
        assert_eq!(opened.torn.is_some(), !torn.is_empty());
        append_all(&mut journal, &[1, 1]);
        assert_notes(dir.path(), 5);
        assert_eq!(
            segment_names(dir.path()),
            ["events.1.jsonl", "events.jsonl"]
        );
    }
}

#[test]
fn a_newer_format_is_refused_and_not_mangled() {
    let dir = quick_dir();
    log_of(dir.path(), &[1, 1]);
    edit(&dir.path().join(LIVE_FILE), |bytes| {
        bytes.extend_from_slice(b"{\"v\":2,\"seq\":3,\"dur\":2,\"anything\":true}\n");
    });
    let error = refused(dir.path());
    assert!(
        matches!(
            error,
            JournalError::Newer {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn an_intact_record_of_an_unknown_kind_is_named() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(tag = "kind", content = "data", rename_all = "camelCase")]
    enum Other {
        Mark {},
    }
    let dir = quick_dir();
    log_of(dir.path(), &[1]);
    let read = replay(dir.path(), 1, None, |record: Record<Other>| {
        assert!(matches!(record.event, Other::Mark {}));
    });
    let message = read.unwrap_err().to_string();
    assert!(
        message.contains("event 1") && message.contains("text"),
        "{message}"
    );
}
