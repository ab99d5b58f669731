//! The log and the snapshot in `tests/golden/v1` are read, and written again byte for byte.
//!
//! A changed form is blessed: `UPDATE_GOLDEN=1 cargo test --lib golden` writes them anew.

use std::path::PathBuf;
use std::sync::LazyLock;

use super::*;

/// Where they are; blessed before the first test looks, if that is asked for.
fn golden() -> &'static Path {
    static GOLDEN: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::remove_dir_all(&folder).unwrap();
            std::fs::create_dir(&folder).unwrap();
            write_golden(&folder);
        }
        folder
    });
    &GOLDEN
}

fn golden_events() -> Vec<Vec<Note>> {
    vec![
        vec![Note::text("the first"), Note::Bare],
        vec![Note::text("quotes \" and \\ and \n and é and {\"v\":1}")],
        vec![Note::Many {
            items: vec![(1, "one".into()), (u64::MAX, String::new())],
        }],
        vec![Note::Mark {}],
    ]
}

fn write_golden(dir: &Path) {
    let (mut journal, _) = Journal::open_with(dir, SMALL, Box::new(Disk)).unwrap();
    for events in golden_events() {
        let position = journal.position();
        journal.append(position.seq, TS, &events).unwrap();
        if position.seq == 2 {
            let snapshot = Snapshot {
                snapshot_at: TS,
                swarm_version: "0.1.0".into(),
                position: journal.position(),
                config_hash: "c0ffee".into(),
                state: vec!["the first".to_owned()],
            };
            write_snapshot(dir, &snapshot).unwrap();
        }
    }
    journal.ballast().free().unwrap();
}

#[test]
fn golden_log_is_read() {
    let dir = golden();
    let records = read_all(dir);
    let events: Vec<_> = records.iter().map(|r| r.event.clone()).collect();
    assert_eq!(events, golden_events().concat());
    let durs: Vec<_> = records.iter().map(|record| record.dur).collect();
    assert_eq!(durs, [0, 0, 2, 3, 4]);
    let loaded: Loaded<Vec<String>, Note> = load(dir).unwrap();
    assert!(matches!(loaded.start, StartFrom::Snapshot { seq: 3 }));
    assert_eq!(loaded.snapshot.as_ref().unwrap().state, ["the first"]);
    assert_eq!(verify(dir).unwrap(), 5);
}

#[test]
fn golden_log_is_written_byte_for_byte() {
    let dir = quick_dir();
    write_golden(dir.path());
    assert_eq!(files(dir.path()), files(golden()));
}
