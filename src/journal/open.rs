//! Opens the log for writing, and recovers from however the last writer ended. Called by
//! `daemon::files::store`.
//!
//! Invariant: the survey precedes the first change, so damage is refused with every byte unchanged.
//! Every later step may be repeated after a kill: a torn tail is copied before it is cut, and
//! records that may be unsynced are rewritten in place and synced. Afterwards every record is on
//! disk.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::append::{Journal, Live};
use super::ballast::Ballast;
use super::disk::{Disk, Storage, is_full, make_private_dir, write_all};
use super::error::JournalError;
use super::load::Survey;
use super::reader::read_from;
use super::segments::{LIVE_FILE, NEXT_FILE, Position, Torn};
use crate::crash;
use crate::domain::time::Timestamp;

/// Bytes at which a segment is rotated.
pub const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// Lets a test rotate the log after fewer bytes.
const SEGMENT_BYTES_VARIABLE: &str = "SWARM_SEGMENT_BYTES";

/// What [`Journal::open`] found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The end of the log.
    pub position: Position,
    /// The torn tail that was cut off, if there was one.
    pub torn: Option<KeptAside>,
    /// Bytes of records that may have been unsynced and now are synced.
    pub resynced: u64,
    /// Whether the ballast exists; `false` if the disk is full.
    pub ballast: bool,
}

/// A torn tail and the copy of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAside {
    /// Where it was, and what was wrong.
    pub torn: Torn,
    /// The copy.
    pub copy: PathBuf,
    /// Its bytes.
    pub bytes: u64,
}

impl Journal {
    /// Opens the log of a state directory for writing; the caller holds its
    /// [`StateLock`](super::StateLock). A missing log is begun. Damage, a newer format, or a
    /// snapshot of missing records: an error, and nothing is touched.
    pub fn open(state_dir: &Path) -> Result<(Self, Opened), JournalError> {
        Self::open_with(state_dir, segment_bytes(), Box::new(Disk))
    }

    /// As [`Self::open`], rotating after `segment_bytes`, through a storage of the caller's.
    pub fn open_with(
        state_dir: &Path,
        segment_bytes: u64,
        mut storage: Box<dyn Storage>,
    ) -> Result<(Self, Opened), JournalError> {
        refuse_link(state_dir)?;
        make_private_dir(state_dir).map_err(JournalError::io("make private", state_dir))?;
        let ballast = Ballast::of(state_dir);
        let mut torn = None;
        let recovered = match recover(&mut *storage, state_dir, &mut torn) {
            // Each step may be done again; with the ballast's room there may be enough for all of
            // them.
            Err(JournalError::Io { source, .. }) if is_full(&source) && ballast.is_there() => {
                let freed = ballast.free();
                freed.map_err(JournalError::io("free", ballast.path()))?;
                recover(&mut *storage, state_dir, &mut torn)?
            }
            recovered => recovered?,
        };
        let opened = Opened {
            position: recovered.live.position(recovered.end),
            torn,
            resynced: recovered.resynced,
            ballast: made_if_room(&ballast)?,
        };
        let journal = Self::new(
            state_dir,
            segment_bytes,
            storage,
            recovered.live,
            opened.position,
            recovered.last_kind,
        );
        Ok((journal, opened))
    }
}

/// The log after recovery.
struct Recovered {
    end: Position,
    last_kind: String,
    resynced: u64,
    live: Live,
}

/// Tries to recover, perhaps repeatedly; `kept` is the torn tail that one of the tries copied.
fn recover(
    storage: &mut dyn Storage,
    state_dir: &Path,
    kept: &mut Option<KeptAside>,
) -> Result<Recovered, JournalError> {
    let survey = Survey::of(state_dir)?;
    if let Some(torn) = &survey.torn {
        *kept = Some(keep_aside(storage, state_dir, &survey, torn)?);
        crash::point("journal.recover.kept-aside");
        cut(storage, torn)?;
        crash::point("journal.recover.cut");
    }
    let resynced = resync_tail(storage, &survey)?;
    let live = open_live(storage, state_dir, &survey)?;
    Ok(Recovered {
        end: survey.position(),
        last_kind: survey.last_kind()?,
        resynced,
        live,
    })
}

fn segment_bytes() -> u64 {
    let wanted = std::env::var(SEGMENT_BYTES_VARIABLE).ok();
    let wanted = wanted.and_then(|bytes| bytes.parse().ok());
    wanted.unwrap_or(SEGMENT_BYTES)
}

fn refuse_link(state_dir: &Path) -> Result<(), JournalError> {
    match std::fs::symlink_metadata(state_dir) {
        Ok(meta) if !meta.is_dir() => Err(JournalError::UnsafePath {
            path: state_dir.to_owned(),
            why: "is not a plain directory",
        }),
        _ => Ok(()),
    }
}

/// Copies the torn tail to a file of its own, durably.
fn keep_aside(
    storage: &mut dyn Storage,
    state_dir: &Path,
    survey: &Survey,
    torn: &Torn,
) -> Result<KeptAside, JournalError> {
    let segment = survey.segments.list.last();
    let tail = segment.map_or(Ok(Vec::new()), |segment| read_from(segment, torn.offset))?;
    let copy = free_name(state_dir);
    let copied = copy_out(storage, state_dir, &copy, &tail);
    copied.map_err(JournalError::io("copy the torn tail of the log to", &copy))?;
    Ok(KeptAside {
        torn: torn.clone(),
        copy,
        bytes: tail.len() as u64,
    })
}

/// Cuts off the torn tail, of which there is a copy.
fn cut(storage: &mut dyn Storage, torn: &Torn) -> Result<(), JournalError> {
    let cut = storage.open(&torn.path).and_then(|mut file| {
        file.truncate(torn.offset)?;
        file.sync_all()
    });
    cut.map_err(JournalError::io("cut the torn tail of", &torn.path))
}

fn copy_out(
    storage: &mut dyn Storage,
    state_dir: &Path,
    copy: &Path,
    tail: &[u8],
) -> io::Result<()> {
    let mut file = storage.open(copy)?;
    write_all(&mut *file, tail, 0)?;
    file.sync_all()?;
    storage.sync_dir(state_dir)
}

/// `torn-<time>`, or that with a number behind it when there is one of that name.
fn free_name(state_dir: &Path) -> PathBuf {
    let millis = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    let now = Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX));
    let name = format!("torn-{}", now.to_string().replace(':', "-"));
    let numbered = (2..).map(|n| state_dir.join(format!("{name}-{n}")));
    std::iter::once(state_dir.join(&name))
        .chain(numbered)
        .find(|path| std::fs::symlink_metadata(path).is_err())
        .unwrap_or_else(|| state_dir.join(&name))
}

/// Makes sure of the records that were perhaps never synced. After a failed sync the system takes
/// their pages for clean and a mere sync would do nothing: they are written again, where they are.
fn resync_tail(storage: &mut dyn Storage, survey: &Survey) -> Result<u64, JournalError> {
    let Some(segment) = survey.segments.list.last() else {
        return Ok(0);
    };
    let end = survey.end;
    let mut tail = read_from(segment, end.proven)?;
    tail.truncate(usize::try_from(end.offset - end.proven).unwrap_or(tail.len()));
    let synced = storage.open(&segment.path).and_then(|mut file| {
        write_all(&mut *file, &tail, end.proven)?;
        file.sync_all()
    });
    synced.map_err(JournalError::io("sync", &segment.path))?;
    Ok(tail.len() as u64)
}

/// Opens the live segment, or begins one; and makes the names durable.
fn open_live(
    storage: &mut dyn Storage,
    state_dir: &Path,
    survey: &Survey,
) -> Result<Live, JournalError> {
    let next = state_dir.join(NEXT_FILE);
    let removed = storage.remove(&next);
    removed.map_err(JournalError::io("remove", &next))?;
    let path = state_dir.join(LIVE_FILE);
    let opened = storage.open(&path);
    let mut file = opened.map_err(JournalError::io("open", &path))?;
    file.sync_all().map_err(JournalError::io("sync", &path))?;
    let named = storage.sync_dir(state_dir);
    named.map_err(JournalError::io("sync", state_dir))?;
    let end = survey.position();
    let goes_on = survey.segments.has_live;
    Ok(Live {
        file,
        first: if goes_on { end.segment } else { end.seq + 1 },
        length: if goes_on { end.offset } else { 0 },
    })
}

fn made_if_room(ballast: &Ballast) -> Result<bool, JournalError> {
    match ballast.make() {
        Err(e) if is_full(&e) => Ok(false),
        made => made
            .map(|()| true)
            .map_err(JournalError::io("allocate", ballast.path())),
    }
}
