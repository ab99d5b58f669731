//! Killed at every operation, at a start as well as at work: nothing acknowledged is lost, and the
//! log goes on.

use super::faulty::{EIO, Fault, Faults};
use super::*;

/// Opens and works until it is killed. Returns the seq of the last record that was acknowledged.
fn work_until_killed(dir: &Path, faults: &Faults) -> u64 {
    let Ok((mut journal, _)) = Journal::open_with(dir, SMALL, faults.disk()) else {
        return 0;
    };
    let mut acknowledged = journal.position().seq;
    for count in [1, 2, 1, 3, 1, 1, 2] {
        let events = notes(acknowledged + 1, count);
        match journal.append(acknowledged, TS, &events) {
            Ok(last) => acknowledged = last,
            Err(_) => break,
        }
    }
    acknowledged
}

/// Starts again with a disk that works.
fn assert_goes_on(dir: &Path, acknowledged: u64, context: &str) {
    let (mut journal, opened) = open_small(dir);
    let found = opened.position.seq;
    assert!(found >= acknowledged, "{context}: {acknowledged}, {found}");
    append_all(&mut journal, &[1, 1]);
    assert_notes(dir, found + 2);
    assert_eq!(verify(dir).unwrap(), found + 2);
    let leftover = files(dir).into_keys().find(|name| name.contains("next"));
    assert_eq!(leftover, None, "{context}");
}

/// Does `run` with a kill at each operation in turn, until one run comes to its end.
fn at_every_operation(parts: &[usize], run: impl Fn(&Faults, &str)) {
    for part in parts {
        for operation in 0.. {
            let faults = Faults::at(operation, Fault::Kill(*part));
            run(&faults, &format!("operation {operation}, {part} bytes"));
            if !faults.killed() {
                assert!(operation > 2, "the run has operations");
                break;
            }
        }
    }
}

#[test]
fn at_work() {
    at_every_operation(&[0, 1, 130, 200, 9999], |faults, context| {
        let dir = quick_dir();
        let acknowledged = work_until_killed(dir.path(), faults);
        assert_goes_on(dir.path(), acknowledged, context);
    });
}

#[test]
fn while_a_failed_sync_is_made_good() {
    for failing in (8..32).step_by(4) {
        at_every_operation(&[77], |faults, context| {
            let dir = quick_dir();
            faults.after(failing, Fault::Error(EIO, 50));
            let acknowledged = work_until_killed(dir.path(), faults);
            faults.mend();
            assert_goes_on(
                dir.path(),
                acknowledged,
                &format!("{failing} and {context}"),
            );
        });
    }
}

#[test]
fn while_a_torn_tail_is_kept_aside() {
    at_every_operation(&[0, 5], |faults, context| {
        let dir = quick_dir();
        let (mut journal, _) = open_small(dir.path());
        append_all(&mut journal, &[1, 1, 1]);
        let live = dir.path().join(LIVE_FILE);
        let mut bytes = std::fs::read(&live).unwrap();
        bytes.extend_from_slice(br#"{"v":1,"seq":4,"dur"#);
        std::fs::write(&live, &bytes).unwrap();
        // It fails wherever the fault strikes; what it leaves is looked at.
        let _ = Journal::open_with(dir.path(), SMALL, faults.disk());
        assert_goes_on(dir.path(), 3, context);
        let mut torn = files(dir.path())
            .into_iter()
            .filter(|(name, _)| name.starts_with("torn-"));
        let last = torn.next_back().expect("the torn bytes are kept").1;
        assert_eq!(last, br#"{"v":1,"seq":4,"dur"#, "{context}");
    });
}

#[test]
fn at_every_byte_of_a_write() {
    let dir = quick_dir();
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    append_all(&mut journal, &[2, 3]);
    let bytes = std::fs::read(dir.path().join(LIVE_FILE)).unwrap();
    let whole = |cut: usize| line_ends(&bytes[..cut]);
    for cut in 0..=bytes.len() {
        let dir = quick_dir();
        std::fs::write(dir.path().join(LIVE_FILE), &bytes[..cut]).unwrap();
        let (_, opened) = Journal::open(dir.path()).unwrap();
        assert_eq!(opened.position.seq, whole(cut));
        let kept = opened.torn.map_or(0, |kept| kept.bytes);
        assert_eq!(opened.position.offset + kept, cut as u64);
        assert_notes(dir.path(), whole(cut));
    }
}
