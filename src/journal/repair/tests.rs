//! Damage of every kind at every place: the diagnosis says what a full read says, and each way out
//! gives a whole log.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::*;
use crate::journal::testing::{Random, TS};
use crate::journal::{
    Disk, Journal, JournalError, JournalEvent, Record, SNAPSHOT_FILE, Snapshot, Survey, replay,
    verify, write_snapshot,
};

const SEGMENT: u64 = 500;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "camelCase")]
enum Fact {
    Mark {},
    Text { text: String },
    StateRestored { sha256: String },
    StateRepaired { copy: String },
}

impl JournalEvent for Fact {
    fn mark() -> Self {
        Self::Mark {}
    }

    fn kind(&self) -> &str {
        match self {
            Self::Mark {} => "mark",
            Self::Text { .. } => "text",
            Self::StateRestored { .. } => "stateRestored",
            Self::StateRepaired { .. } => "stateRepaired",
        }
    }
}

/// Batches of one to three records in several segments, a snapshot after record `snapshot`, and a
/// clean end.
fn log(dir: &Path, random: &mut Random, snapshot: u64) -> u64 {
    let (mut journal, _) = Journal::open_with(dir, SEGMENT, Box::new(Disk)).unwrap();
    let mut last = 0;
    while last < 14 {
        let batch = 1 + random.below(3);
        let facts: Vec<Fact> = (0..batch)
            .map(|_| Fact::Text {
                text: random.text(20),
            })
            .collect();
        journal.append(last, TS, &facts).unwrap();
        let before = last;
        last = journal.position().seq;
        if (before + 1..=last).contains(&snapshot) {
            take_snapshot(dir, snapshot);
        }
    }
    journal.mark::<Fact>(TS).unwrap()
}

/// The state is the numbers of the records.
fn take_snapshot(dir: &Path, seq: u64) {
    let position = crate::journal::position_of(dir, seq).unwrap().unwrap();
    let snapshot = Snapshot {
        snapshot_at: TS,
        swarm_version: "1".into(),
        position,
        config_hash: String::new(),
        state: (1..=seq).collect::<Vec<u64>>(),
    };
    write_snapshot(dir, &snapshot).unwrap();
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_log = |path: &PathBuf| path.to_str().unwrap().contains("/events");
    let mut found: Vec<_> = entries
        .filter(is_log)
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    found.sort();
    found
}

/// The numbers of the records that the log tells of, with those that a state it begins with stands
/// for.
fn numbers(dir: &Path) -> Result<Vec<u64>, JournalError> {
    let mut found = Vec::new();
    replay(dir, 1, None, |record: Record<Fact>| match record.event {
        Fact::StateRestored { sha256 } => found = read_base_state(dir, &sha256).unwrap(),
        Fact::StateRepaired { .. } => {}
        _ => found.push(record.seq),
    })?;
    Ok(found)
}

fn finished(dir: &Path) {
    let copy = finish(dir, || Survey::in_repair(dir)?.verify().map(|_| ())).unwrap();
    assert!(dir.join(copy.unwrap()).join("old").is_dir());
    assert!(!is_unfinished(dir));
    verify(dir).unwrap();
    let after = diagnose(dir).unwrap();
    assert_eq!((after.damage, after.newer), (None, None));
}

fn cut(dir: &Path, found: &Diagnosis) {
    let repaired = |copy: &str| vec![Fact::StateRepaired { copy: copy.into() }];
    found.cut(dir, TS, b"", repaired).unwrap();
    finished(dir);
}

fn restore(dir: &Path, found: &Diagnosis, from: &Restorable) {
    let snapshot: Snapshot<Vec<u64>> =
        crate::journal::read_snapshot(&dir.join(&from.file)).unwrap();
    let begin = Begin {
        way: "snapshot",
        state: &serde_json::to_vec(&snapshot.state).unwrap(),
        at: TS,
        first: &|sha256, _| Fact::StateRestored {
            sha256: sha256.into(),
        },
        last: &|copy| vec![Fact::StateRepaired { copy: copy.into() }],
    };
    found.restore(dir, TS, b"", from, &begin).unwrap();
    finished(dir);
}

/// A copy of the log, so that it may be repaired.
fn copy(from: &Path) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    dir
}

/// Says what a full read says, and each way that is open works; whether there is damage, and
/// whether the snapshot helps.
fn check(dir: &Path, last: u64, snapshot: u64, what: &str) -> (bool, bool) {
    if let Ok(found) = diagnose(dir)
        && found.damage.is_some()
    {
        let rest = found.read_on::<Fact>().unwrap();
        // A flipped bit may make two lines of one.
        assert!(rest.highest <= last + 1, "{what}: {}", rest.highest);
    }
    check_ways(dir, last, snapshot, what)
}

/// The same, where it is not known how much is lost: what cannot be read under a wrong name may be
/// there twice.
fn check_ways(dir: &Path, last: u64, snapshot: u64, what: &str) -> (bool, bool) {
    let found = diagnose(dir).unwrap();
    let read = verify(dir);
    let healthy = found.damage.is_none() && found.newer.is_none();
    assert_eq!(read.is_ok(), healthy, "{what}: {read:?}, {found:?}");
    let Some(damage) = found.damage.clone() else {
        return (false, false);
    };
    assert_eq!(damage.seq, found.last_good() + 1, "{what}");
    let mut good = Vec::new();
    found
        .read_good(|record: Record<Fact>| good.push(record.seq))
        .unwrap();
    let expected: Vec<u64> = (1..=found.last_good()).collect();
    assert_eq!(good, expected, "{what}");
    let rest = found.read_on::<Fact>().unwrap();
    let mut seqs = rest.records.iter().map(|record| record.seq);
    assert!(seqs.all(|seq| (damage.seq..=last).contains(&seq)), "{what}");
    let from = found.restorable(dir).into_iter().next();
    if let Some(from) = &from {
        assert!(from.seq >= damage.seq, "{what}");
        let repaired = copy(dir);
        restore(repaired.path(), &diagnose(repaired.path()).unwrap(), from);
        let all: Vec<u64> = (1..=last.max(snapshot)).collect();
        let told = numbers(repaired.path()).unwrap();
        assert!(
            all.starts_with(&told) && told.len() as u64 >= from.seq,
            "{what}: {told:?}"
        );
    }
    assert_cut_leaves(dir, &expected, what);
    (true, from.is_some())
}

/// Cuts a copy of the log: exactly these events stay.
fn assert_cut_leaves(dir: &Path, expected: &[u64], what: &str) {
    let repaired = copy(dir);
    cut(repaired.path(), &found_in(repaired.path()));
    assert_eq!(numbers(repaired.path()).unwrap(), expected, "{what}");
}

fn found_in(dir: &Path) -> Diagnosis {
    diagnose(dir).unwrap()
}

#[test]
fn any_flipped_bit_is_judged_as_by_a_full_read_and_each_way_gives_a_whole_log() {
    let mut random = Random::from_environment();
    let mut counts = (0, 0);
    let snapshot = 9;
    let dir = tempfile::tempdir().unwrap();
    let last = log(dir.path(), &mut random, snapshot);
    let whole = files(dir.path());
    assert!(whole.len() > 2, "{}", whole.len());
    for (path, bytes) in &whole {
        for at in 0..bytes.len() {
            if random.below(20) > 0 {
                continue;
            }
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << random.below(8);
            fs::write(path, flipped).unwrap();
            let what = format!("{} at {at}", path.display());
            let (damaged, helped) = check(dir.path(), last, snapshot, &what);
            counts.0 += u32::from(damaged);
            counts.1 += u32::from(helped);
            fs::write(path, bytes).unwrap();
        }
    }
    println!("{counts:?}");
    assert!(counts.1 > 10 && counts.0 > counts.1, "{counts:?}");
}

/// The live segment's first line is what names its first record. Where that number is damaged, no
/// earlier file is cut short by it, and a line that nothing proves to have been acknowledged stays
/// a torn tail.
#[test]
fn any_flipped_bit_of_the_live_segments_first_number_costs_no_good_record() {
    let mut random = Random::from_environment();
    let mut seen = (false, false);
    while seen != (true, true) {
        let dir = tempfile::tempdir().unwrap();
        let last = log(dir.path(), &mut random, 9);
        let path = dir.path().join("events.jsonl");
        let bytes = fs::read(&path).unwrap();
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').count();
        seen = (seen.0 || lines == 1, seen.1 || lines > 1);
        let digits = br#"{"v":1,"seq":"#.len()..br#"{"v":1,"seq":12"#.len();
        for (at, bit) in digits.flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            fs::write(&path, flipped).unwrap();
            let what = format!("bit {bit} of byte {at}");
            let (damaged, _) = check(dir.path(), last, 9, &what);
            assert_eq!(damaged, lines > 1, "{what}");
        }
    }
}

#[test]
fn a_live_segment_that_is_a_copy_of_an_earlier_one_is_damage_and_is_put_aside() {
    let mut random = Random::from_environment();
    let dir = tempfile::tempdir().unwrap();
    let last = log(dir.path(), &mut random, 9);
    let whole = files(dir.path());
    let live = dir.path().join("events.jsonl");
    for (path, bytes) in whole.iter().filter(|(path, _)| *path != live) {
        fs::write(&live, bytes).unwrap();
        let what = format!("a copy of {}", path.display());
        assert!(check(dir.path(), last, 9, &what).0, "{what}");
    }
}

#[test]
fn copies_under_other_names_are_no_part_of_the_log_and_go_without_a_loss() {
    let mut random = Random::from_environment();
    let dir = tempfile::tempdir().unwrap();
    let last = log(dir.path(), &mut random, 9);
    let all: Vec<u64> = (1..=last).collect();
    for (path, bytes) in files(dir.path()) {
        for number in 1..=last {
            let name = dir.path().join(format!("events.{number}.jsonl"));
            if name.exists() {
                continue;
            }
            fs::write(&name, &bytes).unwrap();
            let what = format!("{} as {}", path.display(), name.display());
            check(dir.path(), last, 9, &what);
            let found = diagnose(dir.path()).unwrap();
            assert_eq!(found.last_good(), last, "{what}");
            let repaired = copy(dir.path());
            cut(repaired.path(), &found_in(repaired.path()));
            assert_eq!(numbers(repaired.path()).unwrap(), all, "{what}");
            fs::remove_file(name).unwrap();
        }
    }
}

/// Cuts the file off or flips a bit of it; what was done.
fn damage_somewhere(path: &Path, random: &mut Random) -> String {
    let mut bytes = fs::read(path).unwrap();
    let at = random.below(bytes.len());
    match random.below(2) {
        0 => bytes.truncate(at),
        _ => bytes[at] ^= 1 << random.below(8),
    }
    fs::write(path, bytes).unwrap();
    format!("{} damaged at {at}", path.display())
}

/// Renames, swaps and copies: whatever the files are called, what they have is put together again.
#[test]
fn files_under_any_names_are_put_together_without_a_loss() {
    let mut random = Random::from_environment();
    let mut damaged = 0;
    for round in 0..80 {
        let dir = tempfile::tempdir().unwrap();
        let last = log(dir.path(), &mut random, 9);
        let all: Vec<u64> = (1..=last).collect();
        let files = files(dir.path());
        for (path, _) in &files {
            fs::remove_file(path).unwrap();
        }
        let mut what = vec![format!("round {round}")];
        let free = |random: &mut Random| loop {
            let name = match random.below(usize::try_from(last).unwrap() + 4) as u64 {
                0 => "events.jsonl".to_owned(),
                number => format!("events.{number}.jsonl"),
            };
            let own = files.iter().any(|(path, _)| path.ends_with(&name));
            let path = dir.path().join(&name);
            if !path.exists() && (!own || random.below(2) > 0) {
                break path;
            }
        };
        let copies = random.below(3);
        let twice: Vec<_> = (0..copies).map(|_| random.below(files.len())).collect();
        for index in (0..files.len()).chain(twice) {
            let (path, bytes) = &files[index];
            let keeps = random.below(2) > 0 && !path.exists();
            let to = if keeps {
                path.clone()
            } else {
                free(&mut random)
            };
            what.push(format!("{} as {}", path.display(), to.display()));
            fs::write(to, bytes).unwrap();
        }
        let with_damage = random.below(3) == 0;
        if with_damage {
            let (path, _) = &self::files(dir.path())[random.below(files.len())];
            what.push(damage_somewhere(path, &mut random));
        }
        let what = what.join("; ");
        if with_damage {
            check_ways(dir.path(), last, 9, &what);
            continue;
        }
        damaged += u32::from(check(dir.path(), last, 9, &what).0);
        let found = found_in(dir.path());
        assert_eq!(found.last_good(), last, "{what}: {found:?}");
        if found.damage.is_some() {
            assert_cut_leaves(dir.path(), &all, &what);
        }
    }
    assert!(damaged > 30, "{damaged}");
}

/// Lines of another file behind a file's own, also where names were swapped: a cut takes them away,
/// and nothing else.
#[test]
fn what_was_appended_to_a_file_goes_without_a_loss() {
    let mut random = Random::from_environment();
    for round in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let last = log(dir.path(), &mut random, 9);
        let all: Vec<u64> = (1..=last).collect();
        let files = files(dir.path());
        let (to, from) = (random.below(files.len()), random.below(files.len()));
        let more = match random.below(3) {
            0 => b"half a line".to_vec(),
            _ => files[from].1.clone(),
        };
        let path = &files[to].0;
        fs::write(path, [files[to].1.clone(), more].concat()).unwrap();
        let mut what = format!("round {round}: {from} behind {}", path.display());
        if random.below(2) > 0 {
            let (one, other) = (&files[random.below(files.len())].0, &files[to].0);
            let swap = dir.path().join("swap");
            for (from, to) in [(one, &swap), (other, one), (&swap, other)] {
                if from.exists() {
                    fs::rename(from, to).unwrap();
                }
            }
            what = format!("{what}, swapped with {}", one.display());
        }
        check_ways(dir.path(), last, 9, &what);
        let found = found_in(dir.path());
        assert_eq!(found.last_good(), last, "{what}: {found:?}");
        if found.damage.is_some() {
            assert_cut_leaves(dir.path(), &all, &what);
        }
    }
}

#[test]
fn anything_missing_is_judged_as_by_a_full_read_and_each_way_gives_a_whole_log() {
    let mut random = Random::from_environment();
    let mut damaged = 0;
    let snapshot = 9;
    let dir = tempfile::tempdir().unwrap();
    let last = log(dir.path(), &mut random, snapshot);
    let whole = files(dir.path());
    for (path, bytes) in &whole {
        fs::remove_file(path).unwrap();
        let gone = format!("{} is gone", path.display());
        damaged += u32::from(check(dir.path(), last, snapshot, &gone).0);
        for _ in 0..6 {
            let from = random.below(bytes.len());
            fs::write(path, &bytes[..from]).unwrap();
            let what = format!("{} ends at {from}", path.display());
            damaged += u32::from(check(dir.path(), last, snapshot, &what).0);
            let mut zeroed = bytes.clone();
            let upto = (from + 1 + random.below(300)).min(bytes.len());
            zeroed[from..upto].fill(0);
            fs::write(path, zeroed).unwrap();
            let what = format!("{} has zeros from {from} to {upto}", path.display());
            damaged += u32::from(check(dir.path(), last, snapshot, &what).0);
        }
        fs::write(path, bytes).unwrap();
    }
    assert!(damaged > 12, "{damaged}");
    verify(dir.path()).unwrap();
}

#[test]
fn a_folder_of_a_repair_that_never_began_goes_and_one_of_a_finished_repair_stays() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random::from(7);
    log(dir.path(), &mut random, 9);
    let first = &files(dir.path())[0].0;
    let mut bytes = fs::read(first).unwrap();
    bytes[30] ^= 1;
    fs::write(first, bytes).unwrap();
    let never = dir.path().join("doctor-2020");
    fs::create_dir_all(never.join("new")).unwrap();
    let done = dir.path().join("doctor-2021");
    fs::create_dir_all(done.join("old")).unwrap();
    cut(dir.path(), &found_in(dir.path()));
    assert!(!never.exists() && done.exists());
    assert!(
        !dir.path().join(SNAPSHOT_FILE).exists(),
        "it is of events that are gone"
    );
}
