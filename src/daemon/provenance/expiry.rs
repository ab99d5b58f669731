//! Deletes records older than `provenance.days`, or `provenance.failedReplayDays` where the last
//! replay does not match, with their verdicts, and the references of months without records.
//!
//! Invariant: the log says that records have expired before one is deleted, so a missing file is
//! never taken for a lost one. A kill in between only delays the deletion.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use tokio::task::spawn_blocking;

use super::log;
use super::recorder::REFERENCES;
use crate::daemon::Paths;
use crate::daemon::actor::clock;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::domain::observation::Observation;
use crate::domain::time::Timestamp;
use crate::git::GitError;
use crate::remove;
use crate::view::provenance::MatchStatus;

const DAY_MS: i64 = 86_400_000;
/// A file is written a moment before the log says so, and must not go before that time is over.
const SLACK_MS: i64 = 60_000;
/// How long after its iteration a record may be written and still keep the reference of its tree.
const LATE_MS: i64 = 31 * DAY_MS;

/// What is known of old records in this daemon.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    /// Records up to this time are deleted.
    done: Option<Timestamp>,
}

impl Expiry {
    /// Has the log say which records have expired, if there are any.
    pub(super) async fn announce(context: &Arc<DriverContext>, handle: &Handle) {
        let limits = Limits::of(context);
        let before = limits.before;
        let paths = context.paths.clone();
        let old = spawn_blocking(move || limits.due(&paths)).await;
        match old.map_err(io::Error::other).flatten() {
            Ok(old) if old.is_empty() => {}
            Ok(_) => handle.observe(Observation::RecordsOld { before }).await,
            Err(error) => tracing::warn!(%error, "the provenance records cannot be listed"),
        }
    }

    /// Deletes what the log says has expired.
    pub(super) async fn carry_out(&mut self, context: &Arc<DriverContext>, handle: &Handle) {
        let expired = handle.read(|state| state.records.expired_before);
        let Some(before) = expired.filter(|before| self.done < Some(*before)) else {
            return;
        };
        self.done = Some(before);
        let limits = Limits {
            before,
            ..Limits::of(context)
        };
        let context = Arc::clone(context);
        let deleted = spawn_blocking(move || {
            for record in limits.due(&context.paths)? {
                let verdict = record
                    .file_name()
                    .map(|name| context.paths.replay_verdicts().join(name));
                verdict
                    .iter()
                    .try_for_each(|it| remove::file_if_there(it))?;
                remove::file_if_there(&record)?;
            }
            let left = oldest_month(&context.paths.records())?;
            drop_references(&context, before, left.as_deref()).map_err(io::Error::other)
        });
        if let Err(error) = deleted.await.map_err(io::Error::other).flatten() {
            tracing::warn!(%error, "expired provenance records cannot be deleted; the next start \
                tries again");
        }
    }
}

/// Files in this folder that were written before this time.
fn older(folder: &Path, before: Timestamp) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let until = u64::try_from(before.millis() - SLACK_MS).unwrap_or(0);
    let until = UNIX_EPOCH + Duration::from_millis(until);
    let mut old = Vec::new();
    for entry in entries {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() && about.modified()? < until {
            old.push(entry.path());
        }
    }
    Ok(old)
}

/// Until when records are old.
struct Limits {
    /// The end of `provenance.days`.
    before: Timestamp,
    /// The end of `provenance.failedReplayDays`, for records whose last replay does not match.
    failed_before: Timestamp,
}

impl Limits {
    fn of(context: &DriverContext) -> Self {
        let provenance = &context.config().provenance;
        let ago = |days: u32| clock::wall().plus_millis(-i64::from(days) * DAY_MS);
        Self {
            before: ago(provenance.days),
            failed_before: ago(provenance.days.max(provenance.failed_replay_days)),
        }
    }

    /// The files of old records.
    fn due(&self, paths: &Paths) -> io::Result<Vec<PathBuf>> {
        let folder = paths.records();
        let old = older(&folder, self.before)?;
        if old.is_empty() {
            return Ok(old);
        }
        let log = log::records(paths, u64::MAX).map_err(io::Error::other)?;
        let failed = log.lines.iter();
        let failed = failed.filter(|line| line.match_status == MatchStatus::NoMatch);
        let failed: BTreeSet<PathBuf> = failed.map(|line| paths.record(&line.run)).collect();
        let very_old: BTreeSet<PathBuf> = older(&folder, self.failed_before)?.into_iter().collect();
        let is_due = |file: &PathBuf| !failed.contains(file) || very_old.contains(file);
        Ok(old.into_iter().filter(is_due).collect())
    }
}

/// Month in which the iteration of the oldest record that is left may have ended. A record is
/// written later than that where the disk was full or no daemon ran.
fn oldest_month(folder: &Path) -> io::Result<Option<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut oldest: Option<Timestamp> = None;
    for entry in entries {
        let about = entry?.metadata()?;
        let since = about.modified()?.duration_since(UNIX_EPOCH);
        let millis = since.ok().and_then(|it| i64::try_from(it.as_millis()).ok());
        let at = Timestamp::from_millis(millis.unwrap_or(0));
        if about.is_file() && oldest.is_none_or(|oldest| at < oldest) {
            oldest = Some(at);
        }
    }
    Ok(oldest.map(|oldest| month(oldest.plus_millis(-LATE_MS))))
}

fn month(at: Timestamp) -> String {
    at.day().chars().take(7).collect()
}

/// The references of months that were over at this time, and before the month of the oldest record
/// that is left. Each is named after the month in which its iterations ended.
fn drop_references(
    context: &DriverContext,
    before: Timestamp,
    left: Option<&str>,
) -> Result<(), GitError> {
    let mut month = month(before);
    if let Some(left) = left.filter(|left| *left < month.as_str()) {
        month = left.to_owned();
    }
    for (name, commit) in context.repo.list_refs(REFERENCES)? {
        let of = name.strip_prefix(REFERENCES);
        if of.is_some_and(|of| of < month.as_str()) {
            context.repo.delete_ref(&name, commit)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_records_older_than_the_limit_and_a_minute_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let now = clock::wall();
        let write = |name: &str, seconds: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            let modified = SystemTime::now() - Duration::from_secs(seconds);
            file.set_modified(modified).unwrap();
        };
        write("old.json", 200);
        write("within-the-minute.json", 100);
        write("new.json", 0);
        fs::create_dir(folder.path().join("a-folder")).unwrap();
        let due = |before| older(folder.path(), before).unwrap();
        assert_eq!(
            due(now.plus_millis(-70_000)),
            [folder.path().join("old.json")]
        );
        let missing = folder.path().join("missing");
        assert!(older(&missing, now).unwrap().is_empty());
        assert_eq!(oldest_month(&missing).unwrap(), None);
        let two_months = 62 * 24 * 60 * 60;
        write("older.json", two_months);
        let then = now.plus_millis(-i64::try_from(two_months).unwrap() * 1_000);
        assert_eq!(
            oldest_month(folder.path()).unwrap(),
            Some(month(then.plus_millis(-LATE_MS)))
        );
    }
}
