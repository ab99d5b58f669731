//! Every released format stays readable: a log and a snapshot of each are kept in `tests/golden/`.
//!
//! `cargo test golden_of_the_present_format -- --ignored` writes those of a new format; what is
//! there is never overwritten.

use std::path::PathBuf;

use super::*;

fn golden(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(format)
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
fn format_1_is_read() {
    let dir = golden("v1");
    let records = read_all(&dir);
    let events: Vec<_> = records.iter().map(|r| r.event.clone()).collect();
    assert_eq!(events, golden_events().concat());
    let durs: Vec<_> = records.iter().map(|record| record.dur).collect();
    assert_eq!(durs, [0, 0, 2, 3, 4]);
    let loaded: Loaded<Vec<String>, Note> = load(&dir).unwrap();
    assert!(matches!(loaded.start, StartFrom::Snapshot { seq: 3 }));
    assert_eq!(loaded.snapshot.as_ref().unwrap().state, ["the first"]);
    assert_eq!(verify(&dir).unwrap(), 5);
}

#[test]
fn format_1_is_written_byte_for_byte() {
    let dir = quick_dir();
    write_golden(dir.path());
    assert_eq!(FORMAT, 1, "keep this log, and add one of the new format");
    assert_eq!(files(dir.path()), files(&golden("v1")));
}

#[test]
#[ignore = "writes tests/golden/v<FORMAT>, once for each format"]
fn write_the_golden_of_the_present_format() {
    let folder = golden(&format!("v{FORMAT}"));
    assert!(
        !folder.exists(),
        "{} is there: a released format never changes; raise FORMAT first",
        folder.display()
    );
    std::fs::create_dir(&folder).unwrap();
    write_golden(&folder);
    println!("written: {}", folder.display());
}

#[test]
fn each_format_there_is_has_its_golden_log_and_its_test() {
    let names = std::fs::read_dir(golden("")).unwrap();
    let mut formats: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('v'))
        .collect();
    formats.sort();
    let expected: Vec<String> = (OLDEST..=FORMAT).map(|v| format!("v{v}")).collect();
    assert_eq!(formats, expected);
    for format in formats {
        assert_eq!(verify(&golden(&format)).unwrap(), 5, "{format}");
        let tested = include_str!("golden.rs").contains(&format!("let dir = golden(\"{format}\")"));
        assert!(tested, "{format} has no test that reads it");
    }
}
