//! Reads what the event log says of provenance records.
//!
//! Invariant: the log has no index, so nothing can disagree with it. Lines of other kinds are
//! verified and not parsed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::daemon::Paths;
use crate::domain::event::{IterationRecorded, RecordsExpired, ReplayJudged};
use crate::domain::ids::RunId;
use crate::domain::time::Timestamp;
use crate::journal::{self, JournalError, Record, Segments};
use crate::view::provenance::list::RECORDED;
use crate::view::provenance::replay::JUDGED;
use crate::view::provenance::{LastReplay, RecordFilter, RecordView};

/// Kind of the event that says which records have expired.
const EXPIRED: &str = "recordsExpired";
/// Kind of the event that says how a run ended.
const ENDED: &str = "runEnded";

/// An event as it is written: this reader needs only some of its fields.
#[derive(Deserialize)]
struct Raw {
    kind: String,
    data: Value,
}

#[derive(Deserialize)]
struct Ended {
    run: RunId,
    end: End,
}

#[derive(Deserialize)]
struct End {
    #[serde(default)]
    head: Option<String>,
}

/// The end of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationEnd {
    /// When it ended.
    pub at: Timestamp,
    /// The tip of its branch then.
    pub head: Option<String>,
}

/// What the log says of records.
#[derive(Debug, Default)]
pub struct RecordLog {
    /// The records, oldest first.
    pub lines: Vec<RecordView>,
    /// Records of iterations that ended before this time may be deleted.
    pub expired_before: Option<Timestamp>,
}

impl RecordLog {
    /// The lines that a filter wants, newest first, at most `limit`.
    pub fn wanted(self, filter: &RecordFilter, limit: usize) -> Vec<RecordView> {
        let lines = self.lines.into_iter().rev();
        lines
            .filter(|line| filter.wants(line))
            .take(limit)
            .collect()
    }
}

/// Reads all records up to event `last`. It blocks.
///
/// # Errors
/// The log is damaged.
pub fn records(paths: &Paths, last: u64) -> Result<RecordLog, JournalError> {
    let mut log = RecordLog::default();
    let mut places: BTreeMap<RunId, usize> = BTreeMap::new();
    select(paths, last, &[RECORDED, EXPIRED, JUDGED], &mut |record| {
        let Record { seq, ts, event, .. } = record;
        if event.kind == EXPIRED {
            let before = data::<RecordsExpired>(event).map(|expired| expired.before);
            log.expired_before = log.expired_before.max(before);
        } else if event.kind == JUDGED {
            let judged = data::<ReplayJudged>(event);
            let verdict = judged.and_then(|it| Some((it.of, it.verdict?.match_status)));
            if let Some((of, verdict)) = verdict
                && let Some(line) = places.get(&of).and_then(|at| log.lines.get_mut(*at))
            {
                line.replayed(verdict);
            }
        } else if let Some(listed) = data::<IterationRecorded>(event) {
            places.insert(listed.run.clone(), log.lines.len());
            log.lines.push(RecordView::new(seq, ts, listed));
        }
    })?;
    Ok(log)
}

/// Reads the last judged replay of a recorded run up to event `last`. It blocks.
///
/// # Errors
/// The log is damaged.
pub fn last_replay(
    paths: &Paths,
    last: u64,
    of: &RunId,
) -> Result<Option<LastReplay>, JournalError> {
    let mut found = None;
    select(paths, last, &[JUDGED], &mut |record| {
        let Record { seq, ts, event, .. } = record;
        if let Some(judged) = data::<ReplayJudged>(event).filter(|it| it.of == *of) {
            found = Some(LastReplay::new(seq, ts, judged));
        }
    })?;
    Ok(found)
}

/// Reads when each run ended up to event `last`, and where its branch was then. It blocks.
///
/// # Errors
/// The log is damaged.
pub fn ends(paths: &Paths, last: u64) -> Result<BTreeMap<RunId, IterationEnd>, JournalError> {
    let mut ends = BTreeMap::new();
    select(paths, last, &[ENDED], &mut |record| {
        let at = record.ts;
        if let Some(Ended { run, end }) = data(record.event) {
            let head = end.head;
            ends.insert(run, IterationEnd { at, head });
        }
    })?;
    Ok(ends)
}

/// The data of an event; `None` if a later version wrote it in another way.
fn data<T: DeserializeOwned>(event: Raw) -> Option<T> {
    serde_json::from_value(event.data).ok()
}

fn select(
    paths: &Paths,
    last: u64,
    kinds: &[&str],
    each: &mut dyn FnMut(Record<Raw>),
) -> Result<(), JournalError> {
    let segments = Segments::open(&paths.state)?;
    let from = segments.iter().next().map_or(1, |segment| segment.first);
    journal::select(
        &segments,
        (from, last),
        &|line| kinds.contains(&line.kind),
        &mut |record: Record<Raw>| {
            each(record);
            ControlFlow::Continue(())
        },
    )
}
