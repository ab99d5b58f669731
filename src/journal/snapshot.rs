//! Snapshots: the state at a seq in one file, which saves replaying the earlier events. Written by
//! `daemon::actor::snapshots`, read by `load`.
//!
//! Invariant: once a snapshot exists, `snapshot.json` or `snapshot.prev.json` is intact at every
//! instant. A snapshot is used only if its crc matches its bytes, and its `seq` and `logCrc` match
//! a record of the log beside it. It contains durable events only.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::disk::{Disk, SegmentFile, Storage, plain_file};
use super::record;
use super::segments::Position;
use crate::crash;
use crate::domain::time::Timestamp;

/// The name of the newest snapshot in the state directory.
pub const SNAPSHOT_FILE: &str = "snapshot.json";

/// The name of the one before it.
pub const PREVIOUS_FILE: &str = "snapshot.prev.json";

/// The format that is written. Another major version is not read.
pub const SNAPSHOT_VERSION: &str = "1.0.0";

const SNAPSHOT_TYPE: &str = "swarm";
const STATE_KEY: &[u8] = br#","state":"#;

/// The state after the record at a position of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot<S> {
    /// When it was taken.
    pub snapshot_at: Timestamp,
    /// The version of swarm that took it.
    pub swarm_version: String,
    /// The record it was taken after: its seq and crc, and a hint where that is.
    pub position: Position,
    /// The hash of the configuration at that time.
    pub config_hash: String,
    /// The state.
    pub state: S,
}

/// Why a snapshot is not used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFault {
    /// There is none.
    #[error("there is none")]
    Missing,
    /// The operating system refused.
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    /// Its bytes are not whole.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It was written by a version whose snapshots this one does not know.
    #[error("its version is {0}, but this swarm reads {SNAPSHOT_VERSION}")]
    OtherVersion(String),
    /// It is a snapshot of something else.
    #[error("its type is `{0}`, not `{SNAPSHOT_TYPE}`")]
    OtherType(String),
    /// It was taken of another log than the one beside it.
    #[error(
        "it belongs to another log: the crc of event {seq} is {theirs:08x} there and {ours:08x} \
        here"
    )]
    OtherLog {
        /// The record it was taken after.
        seq: u64,
        /// That record's crc, as the snapshot has it.
        theirs: u32,
        /// That record's crc in this log.
        ours: u32,
    },
    /// Its state is not the state of this version.
    #[error("its state cannot be parsed: {0}")]
    State(String),
}

/// Writes the snapshot beside the log, keeps the last whole one as `snapshot.prev.json`, and
/// returns when all of it is durable. A reference will do for the state: `Snapshot<&State>`.
pub fn write_snapshot<S: Serialize>(state_dir: &Path, snapshot: &Snapshot<S>) -> io::Result<()> {
    write_snapshot_with(&mut Disk, state_dir, snapshot)
}

/// As [`write_snapshot`], through a storage of the caller's.
pub fn write_snapshot_with<S: Serialize>(
    storage: &mut dyn Storage,
    state_dir: &Path,
    snapshot: &Snapshot<S>,
) -> io::Result<()> {
    let names = Names::of(state_dir);
    let written = names.write(storage, snapshot);
    if written.is_err() {
        // On a full disk half a snapshot would keep the room that the log needs. What matters is
        // why it failed.
        let _ = storage.remove(&names.next);
        let _ = storage.remove(&names.next_previous);
        return written;
    }
    storage.sync_dir(state_dir)
}

/// Reads a snapshot file (the newest, the one before, or an exported one) and checks that it is
/// whole. Whether it belongs to a log is for who has that log.
pub fn read_snapshot<S: DeserializeOwned>(path: &Path) -> Result<Snapshot<S>, SnapshotFault> {
    parse(&read_whole(path)?)
}

/// As [`read_snapshot`], from the bytes of a file.
pub fn parse_snapshot<S: DeserializeOwned>(bytes: Vec<u8>) -> Result<Snapshot<S>, SnapshotFault> {
    parse(&whole(bytes)?)
}

fn parse<S: DeserializeOwned>(bytes: &[u8]) -> Result<Snapshot<S>, SnapshotFault> {
    let (head, state) = split(bytes)?;
    let state = serde_json::from_slice(state).map_err(|e| SnapshotFault::State(e.to_string()))?;
    Ok(Snapshot {
        position: head.position(),
        snapshot_at: head.snapshot_at,
        swarm_version: head.swarm_version,
        config_hash: head.config_hash,
        state,
    })
}

/// The bytes of a snapshot, as [`write_snapshot`] writes them; for an archive.
pub fn snapshot_bytes<S: Serialize>(snapshot: &Snapshot<S>) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(&Head::of(snapshot))?;
    bytes.pop();
    bytes.extend_from_slice(STATE_KEY);
    serde_json::to_writer(&mut bytes, &snapshot.state)?;
    let crc = record::chain(0, &bytes);
    bytes.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
    Ok(bytes)
}

/// Where a whole snapshot was taken.
pub(super) fn position_in(path: &Path) -> Result<Position, SnapshotFault> {
    let bytes = read_whole(path)?;
    Ok(split(&bytes)?.0.position())
}

/// The highest seq that a whole snapshot of this version in the directory was taken after, and its
/// file: the log must have that record.
pub(super) fn highest_seq(state_dir: &Path) -> Option<(u64, PathBuf)> {
    let seq_of = |path: PathBuf| {
        let bytes = read_whole(&path).ok()?;
        Some((split(&bytes).ok()?.0.seq, path))
    };
    [SNAPSHOT_FILE, PREVIOUS_FILE]
        .into_iter()
        .filter_map(|name| seq_of(state_dir.join(name)))
        .max()
}

/// All that comes before the state, in this order.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    version: String,
    #[serde(rename = "type")]
    kind: String,
    snapshot_at: Timestamp,
    swarm_version: String,
    seq: u64,
    log_crc: String,
    config_hash: String,
    segment: u64,
    offset: u64,
}

impl Head {
    fn of<S>(snapshot: &Snapshot<S>) -> Self {
        Self {
            version: SNAPSHOT_VERSION.into(),
            kind: SNAPSHOT_TYPE.into(),
            snapshot_at: snapshot.snapshot_at,
            swarm_version: snapshot.swarm_version.clone(),
            seq: snapshot.position.seq,
            log_crc: format!("{:08x}", snapshot.position.crc),
            config_hash: snapshot.config_hash.clone(),
            segment: snapshot.position.segment,
            offset: snapshot.position.offset,
        }
    }

    fn position(&self) -> Position {
        Position {
            seq: self.seq,
            crc: record::hex(self.log_crc.as_bytes()).unwrap_or_default(),
            segment: self.segment,
            offset: self.offset,
        }
    }
}

/// What is read before anything else is trusted to have the form it has today.
#[derive(Deserialize)]
struct Kind {
    version: String,
    #[serde(rename = "type")]
    kind: String,
}

struct Names {
    newest: PathBuf,
    previous: PathBuf,
    next: PathBuf,
    next_previous: PathBuf,
}

impl Names {
    fn of(state_dir: &Path) -> Self {
        Self {
            newest: state_dir.join(SNAPSHOT_FILE),
            previous: state_dir.join(PREVIOUS_FILE),
            next: state_dir.join("snapshot.next.json"),
            next_previous: state_dir.join("snapshot.prev.next.json"),
        }
    }

    /// All but that the names are durable.
    fn write<S: Serialize>(
        &self,
        storage: &mut dyn Storage,
        snapshot: &Snapshot<S>,
    ) -> io::Result<()> {
        storage.remove(&self.next)?;
        let mut file = storage.open(&self.next)?;
        crash::point("journal.snapshot.begun");
        write_json(&mut *file, snapshot)?;
        file.sync_all()?;
        crash::point("journal.snapshot.written");
        self.keep_last(storage)?;
        crash::point("journal.snapshot.last-kept");
        storage.rename(&self.next, &self.newest)?;
        crash::point("journal.snapshot.before-sync");
        Ok(())
    }

    /// Gives the newest snapshot the name of the one before, too. A damaged one must not take the
    /// place of a whole one.
    fn keep_last(&self, storage: &mut dyn Storage) -> io::Result<()> {
        if read_whole(&self.newest).is_err() {
            return Ok(());
        }
        storage.remove(&self.next_previous)?;
        storage.link(&self.newest, &self.next_previous)?;
        storage.rename(&self.next_previous, &self.previous)?;
        // A rename between two names of one file does nothing: then the extra name is still there.
        storage.remove(&self.next_previous)
    }
}

fn write_json<S: Serialize>(file: &mut dyn SegmentFile, snapshot: &Snapshot<S>) -> io::Result<()> {
    let mut head = serde_json::to_vec(&Head::of(snapshot))?;
    head.pop();
    let crc_writer = CrcWriter {
        file,
        crc: 0,
        length: 0,
    };
    let mut out = BufWriter::with_capacity(256 * 1024, crc_writer);
    out.write_all(&head)?;
    out.write_all(STATE_KEY)?;
    serde_json::to_writer(&mut out, &snapshot.state)?;
    let mut out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let crc = out.crc;
    out.write_all(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes())
}

/// Sums what passes through.
struct CrcWriter<'a> {
    file: &'a mut dyn SegmentFile,
    crc: u32,
    length: u64,
}

impl Write for CrcWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(bytes, self.length)?;
        self.crc = record::chain(self.crc, &bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes that a snapshot's crc covers, when it fits.
fn read_whole(path: &Path) -> Result<Vec<u8>, SnapshotFault> {
    let mut bytes = Vec::new();
    match plain_file().open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(SnapshotFault::Missing),
        opened => opened.and_then(|mut file| io::Read::read_to_end(&mut file, &mut bytes)),
    }
    .map_err(SnapshotFault::Unreadable)?;
    whole(bytes)
}

/// The bytes that the crc covers, when it fits.
pub(super) fn whole(mut bytes: Vec<u8>) -> Result<Vec<u8>, SnapshotFault> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let damaged = |why: &str| Err(SnapshotFault::Damaged(why.into()));
    let Some((body, crc)) = record::split_crc(text) else {
        return damaged("it does not end with a crc");
    };
    if record::chain(0, body) != crc {
        return damaged("its checksum is wrong");
    }
    let length = body.len();
    bytes.truncate(length);
    Ok(bytes)
}

/// Splits what the crc covers into the head and the bytes of the state.
fn split(bytes: &[u8]) -> Result<(Head, &[u8]), SnapshotFault> {
    let damaged = |why: &str| SnapshotFault::Damaged(why.into());
    // The head has no nested object, and within its texts every quote is escaped.
    let at = bytes
        .windows(STATE_KEY.len())
        .position(|window| window == STATE_KEY)
        .ok_or_else(|| damaged("it has no state"))?;
    let head = [&bytes[..at], b"}"].concat();
    let broken = |e: serde_json::Error| SnapshotFault::Damaged(e.to_string());
    let kind: Kind = serde_json::from_slice(&head).map_err(broken)?;
    if kind.version.split('.').next() != SNAPSHOT_VERSION.split('.').next() {
        return Err(SnapshotFault::OtherVersion(kind.version));
    }
    if kind.kind != SNAPSHOT_TYPE {
        return Err(SnapshotFault::OtherType(kind.kind));
    }
    let head: Head = serde_json::from_slice(&head).map_err(broken)?;
    if record::hex(head.log_crc.as_bytes()).is_none() {
        return Err(damaged("its logCrc is not a crc"));
    }
    Ok((head, &bytes[at + STATE_KEY.len()..]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::journal::testing::TS;

    type Names2Numbers = BTreeMap<String, u64>;

    fn snapshot(seq: u64) -> Snapshot<Names2Numbers> {
        Snapshot {
            snapshot_at: TS,
            swarm_version: r#"0.1.0 ,"state":"#.into(),
            position: Position {
                seq,
                crc: 0x0abc_def0,
                segment: 1,
                offset: 99,
            },
            config_hash: "c0ffee".into(),
            state: BTreeMap::from([("ideas".to_owned(), seq)]),
        }
    }

    fn read(path: &Path) -> Result<Snapshot<Names2Numbers>, SnapshotFault> {
        read_snapshot(path)
    }

    #[test]
    fn what_is_written_has_the_fields_of_the_contract_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        write_snapshot(dir.path(), &snapshot(7)).unwrap();
        let path = dir.path().join(SNAPSHOT_FILE);
        assert_eq!(read(&path).unwrap(), snapshot(7));
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(snapshot_bytes(&snapshot(7)).unwrap(), bytes);
        assert_eq!(parse_snapshot::<Names2Numbers>(bytes).unwrap(), snapshot(7));
        let text = std::fs::read_to_string(&path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["version"], "1.0.0");
        assert_eq!(json["type"], "swarm");
        assert_eq!(json["snapshotAt"], "2026-11-21T02:06:39.999Z");
        assert_eq!(json["seq"], 7);
        assert_eq!(json["logCrc"], "0abcdef0");
        assert_eq!(json["configHash"], "c0ffee");
        assert_eq!(json["state"]["ideas"], 7);
        let crc = crc32c::crc32c(&text.as_bytes()[..text.len() - 19]);
        assert_eq!(json["crc"], format!("{crc:08x}"));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_last_one_is_kept_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        for seq in [1, 2, 3] {
            write_snapshot(dir.path(), &snapshot(seq)).unwrap();
        }
        let seq = |name| read(&dir.path().join(name)).unwrap().position.seq;
        assert_eq!((seq(SNAPSHOT_FILE), seq(PREVIOUS_FILE)), (3, 2));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        let highest = highest_seq(dir.path()).unwrap();
        assert_eq!(highest, (3, dir.path().join(SNAPSHOT_FILE)));
    }

    #[test]
    fn a_damaged_one_never_takes_the_place_of_a_whole_one() {
        let dir = tempfile::tempdir().unwrap();
        write_snapshot(dir.path(), &snapshot(1)).unwrap();
        write_snapshot(dir.path(), &snapshot(2)).unwrap();
        std::fs::write(dir.path().join(SNAPSHOT_FILE), "{}").unwrap();
        write_snapshot(dir.path(), &snapshot(3)).unwrap();
        let seq = |name| read(&dir.path().join(name)).unwrap().position.seq;
        assert_eq!((seq(SNAPSHOT_FILE), seq(PREVIOUS_FILE)), (3, 1));
    }

    #[test]
    fn a_kill_between_any_two_steps_leaves_a_whole_snapshot_and_the_next_one_works() {
        let dir = tempfile::tempdir().unwrap();
        write_snapshot(dir.path(), &snapshot(1)).unwrap();
        write_snapshot(dir.path(), &snapshot(2)).unwrap();
        let names = Names::of(dir.path());
        let seqs = || [&names.newest, &names.previous].map(|p| read(p).unwrap().position.seq);
        std::fs::write(&names.next, "{\"half").unwrap();
        std::fs::hard_link(&names.newest, &names.next_previous).unwrap();
        assert_eq!(seqs(), [2, 1]);
        std::fs::rename(&names.next_previous, &names.previous).unwrap();
        assert_eq!(seqs(), [2, 2]);
        write_snapshot(dir.path(), &snapshot(3)).unwrap();
        assert_eq!(seqs(), [3, 2]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        write_snapshot(dir.path(), &snapshot(1)).unwrap();
        let path = dir.path().join(SNAPSHOT_FILE);
        let bytes = std::fs::read(&path).unwrap();
        assert!(whole(bytes.clone()).is_ok());
        for bit in 0..(bytes.len() - 1) * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(whole(flipped).is_err(), "bit {bit}");
        }
        for cut in 0..bytes.len() - 1 {
            assert!(whole(bytes[..cut].to_vec()).is_err(), "cut at {cut}");
        }
        std::fs::write(&path, &bytes[..99]).unwrap();
        assert!(matches!(read(&path), Err(SnapshotFault::Damaged(_))));
        assert!(highest_seq(dir.path()).is_none());
    }

    fn rewritten(text: &str) -> Vec<u8> {
        let body = &text.as_bytes()[..text.trim_end().len() - 18];
        let crc = crc32c::crc32c(body);
        [body, format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes()].concat()
    }

    #[test]
    fn other_versions_types_and_states_are_named() {
        let dir = tempfile::tempdir().unwrap();
        write_snapshot(dir.path(), &snapshot(1)).unwrap();
        let path = dir.path().join(SNAPSHOT_FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        let fault = |from: &str, to: &str| {
            std::fs::write(&path, rewritten(&text.replacen(from, to, 1))).unwrap();
            read(&path).unwrap_err()
        };
        let newer = fault("1.0.0", "2.0.0");
        assert!(matches!(newer, SnapshotFault::OtherVersion(v) if v == "2.0.0"));
        let other = fault(r#""swarm""#, r#""board""#);
        assert!(matches!(other, SnapshotFault::OtherType(_)));
        let state = fault(r#"{"ideas":1}"#, r#"["ideas"]"#);
        assert!(matches!(state, SnapshotFault::State(_)));
        std::fs::write(&path, rewritten(&text.replacen("1.0.0", "1.4.0", 1))).unwrap();
        assert_eq!(read(&path).unwrap(), snapshot(1));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read(&path), Err(SnapshotFault::Missing)));
    }
}
