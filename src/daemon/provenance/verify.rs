//! Checks records against the digests in the event log, and their trees against git.
//!
//! Invariant: only reads. A record that has expired is no fault, whether its file is there or not.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::log::{self, IterationEnd, RecordLog};
use super::store::{self, Verdict};
use crate::daemon::{DaemonError, Paths};
use crate::domain::ids::RunId;
use crate::domain::time::Timestamp;
use crate::git::{Oid, Repo};
use crate::view::provenance::{Record, RecordView};

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// File and trees are there and as they were.
    Intact,
    /// There never was one.
    NotRecorded,
    /// It was deleted because it is old.
    Expired,
    /// Its file is gone.
    Missing,
    /// Its file has another content, or is no file.
    Damaged,
    /// Its file is as it was, but git no longer has a tree of it.
    TreeMissing,
}

impl Condition {
    /// Whether something is missing or damaged.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::Missing | Self::Damaged | Self::TreeMissing => true,
            Self::Intact | Self::NotRecorded | Self::Expired => false,
        }
    }

    /// Its name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::NotRecorded => "not recorded",
            Self::Expired => "expired",
            Self::Missing => "missing",
            Self::Damaged => "damaged",
            Self::TreeMissing => "tree missing",
        }
    }
}

/// A record that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// Its run.
    pub run: RunId,
    /// What became of it.
    pub condition: Condition,
    /// Why, if it is not intact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Why a record is not shown.
#[derive(Debug, thiserror::Error)]
pub enum Unserved {
    /// There is no intact file.
    #[error("{}", describe(run, *condition, why.as_deref()))]
    Record {
        /// Its run.
        run: RunId,
        /// What became of it; never [`Condition::Intact`].
        condition: Condition,
        /// Why.
        why: Option<String>,
    },
    /// It cannot be read now.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
}

impl Unserved {
    /// A stable code for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Daemon(_) => "DISK",
            Self::Record { condition, .. } => match condition {
                Condition::NotRecorded => "RECORD_NONE",
                Condition::Expired => "RECORD_EXPIRED",
                Condition::Missing => "RECORD_MISSING",
                Condition::Intact | Condition::Damaged | Condition::TreeMissing => "RECORD_DAMAGED",
            },
        }
    }
}

fn describe(run: &RunId, condition: Condition, why: Option<&str>) -> String {
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    match condition {
        Condition::NotRecorded => format!("there is no record of {run}{why}"),
        Condition::Expired => format!("the record of {run} was deleted because it is old"),
        Condition::Missing => format!("the record of {run} is missing{why}"),
        Condition::Intact | Condition::Damaged | Condition::TreeMissing => {
            format!("the record of {run} is damaged, so it is not shown{why}")
        }
    }
}

/// The content of a record's file if it is intact.
///
/// # Errors
/// It is not, or it cannot be read now.
pub fn load(paths: &Paths, log: &RecordLog, line: &RecordView) -> Result<Vec<u8>, Unserved> {
    Loader::new(paths, log).load(line)
}

/// Loads records of a log one by one; what it needs of the log is read once for all of them.
pub struct Loader<'p>(FileCheck<'p>);

impl<'p> Loader<'p> {
    /// For the records of this log.
    pub const fn new(paths: &'p Paths, log: &RecordLog) -> Self {
        Self(FileCheck::new(paths, log))
    }

    /// The content of a record's file if it is intact.
    ///
    /// # Errors
    /// It is not, or it cannot be read now.
    pub fn load(&mut self, line: &RecordView) -> Result<Vec<u8>, Unserved> {
        self.0
            .read(line)?
            .map_err(|(condition, why)| Unserved::Record {
                run: line.run.clone(),
                condition,
                why,
            })
    }
}

/// Checks these records of a log.
///
/// # Errors
/// The log is damaged; git failed; a file cannot be read now.
pub fn check<'l>(
    paths: &Paths,
    log: &RecordLog,
    lines: impl Iterator<Item = &'l RecordView>,
) -> Result<Vec<Checked>, DaemonError> {
    let repo = Repo::open(&paths.root)?;
    let mut file = FileCheck::new(paths, log);
    let check = |line: &RecordView| {
        let (condition, why) = match file.read(line)? {
            Ok(content) => trees(&repo, line, &content)?,
            Err(fault) => fault,
        };
        let run = line.run.clone();
        Ok(Checked {
            run,
            condition,
            why,
        })
    };
    lines.map(check).collect()
}

/// What became of a record, and why.
type Finding = (Condition, Option<String>);

/// Reads files, and judges those that are not intact.
struct FileCheck<'p> {
    paths: &'p Paths,
    expired_before: Option<Timestamp>,
    /// Read when the first file is missing.
    ends: Option<BTreeMap<RunId, IterationEnd>>,
}

impl<'p> FileCheck<'p> {
    const fn new(paths: &'p Paths, log: &RecordLog) -> Self {
        Self {
            paths,
            expired_before: log.expired_before,
            ends: None,
        }
    }

    fn read(&mut self, line: &RecordView) -> Result<Result<Vec<u8>, Finding>, DaemonError> {
        let Some(expected) = &line.sha256 else {
            return Ok(Err((Condition::NotRecorded, line.why.clone())));
        };
        let read = store::read_intact(self.paths, &line.run, expected);
        let found = read.map_err(DaemonError::io("read a provenance record"))?;
        let verdict = match found {
            Ok(content) => return Ok(Ok(content)),
            Err(verdict) => verdict,
        };
        Ok(Err(match verdict {
            Verdict::Missing if self.has_expired(line)? => (Condition::Expired, None),
            Verdict::Intact | Verdict::Missing => {
                (Condition::Missing, Some("its file is gone".to_owned()))
            }
            Verdict::Damaged => {
                let why = "its file differs from the digest in the event log";
                (Condition::Damaged, Some(why.to_owned()))
            }
            Verdict::NotAFile(kind) => {
                let why = format!("its file is {kind}, not a regular file");
                (Condition::Damaged, Some(why))
            }
        }))
    }

    fn has_expired(&mut self, line: &RecordView) -> Result<bool, DaemonError> {
        let Some(before) = self.expired_before else {
            return Ok(false);
        };
        let ends = match self.ends.take() {
            Some(ends) => ends,
            None => log::ends(self.paths, u64::MAX)?,
        };
        let ended = ends.get(&line.run).map_or(line.recorded_at, |end| end.at);
        self.ends = Some(ends);
        Ok(ended < before)
    }
}

/// Whether the trees of an intact record are in git.
fn trees(repo: &Repo, line: &RecordView, content: &[u8]) -> Result<Finding, DaemonError> {
    let record: Record = match serde_json::from_slice(content) {
        Ok(record) => record,
        // A later version may write records that this one cannot read.
        Err(error) => {
            let error = io::Error::other(error);
            return Err(DaemonError::io("read a provenance record")(error));
        }
    };
    let after = line.tree.as_ref().map(ToString::to_string);
    let before = record.inputs.before.tree;
    for (when, tree) in [("before", before), ("after", after)] {
        let id = tree.as_deref().and_then(|tree| Oid::from_str(tree).ok());
        if let Some(id) = id
            && !repo.has_object(id)?
        {
            let why = format!("git no longer has the files {when} the iteration ({id:.10})");
            return Ok((Condition::TreeMissing, Some(why)));
        }
    }
    Ok((Condition::Intact, None))
}
