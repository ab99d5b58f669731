//! The two records of a run: that its child was started, and how it ended.
//!
//! Invariants: a record exists whole or not at all. Exactly one process ever creates
//! `started.json`. Both are synced to disk before anything relies on them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::RunDir;
use crate::crash;
use crate::domain::time::Timestamp;
use crate::process::error::{ProcessError, Result};
use crate::process::os::identity::Identity;
use crate::{plain_file, remove};

/// Format version of these records and of `spec.json`. A change that this version would misread
/// raises `v`; format 1 has no `v`.
pub const RECORD_FORMAT: u64 = 1;

/// `started.json`: the child was, or is about to be, executed. This run never starts another child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// Process id of the runner.
    pub runner_pid: i32,
    /// Start of the runner, in clock ticks since boot.
    pub runner_start_time: u64,
    /// Process id of the child, and of its process group.
    pub pid: i32,
    /// Start of the child, in clock ticks since boot.
    pub start_time: u64,
    /// The boot to which these numbers belong.
    pub boot_id: String,
    /// Time of the claim.
    pub started_at: Timestamp,
}

impl Started {
    /// Identity of the child.
    pub fn child(&self) -> Identity {
        self.identity(self.pid, self.start_time)
    }

    /// Identity of the runner.
    pub fn runner(&self) -> Identity {
        self.identity(self.runner_pid, self.runner_start_time)
    }

    fn identity(&self, pid: i32, start_time: u64) -> Identity {
        Identity {
            boot_id: self.boot_id.clone(),
            pid,
            start_time,
        }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndReason {
    /// The child ended on its own, or by a signal that the runner did not send, such as one from
    /// the kernel's out-of-memory killer.
    Exited,
    /// The child ran longer than `timeoutMs`.
    TimedOut,
    /// The child wrote nothing for longer than `idleMs`.
    Idle,
    /// Somebody asked the run to stop, and it had its grace period.
    Stopped,
    /// Somebody asked the run to end at once.
    Killed,
    /// The child wrote more than `maxOutputBytes`.
    OutputLimit,
    /// No daemon was alive for longer than the lease.
    LeaseExpired,
    /// The program was never executed; see `spawnError`.
    SpawnError,
}

/// Resources used by the child and all its reaped descendants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// CPU time in user mode, in milliseconds.
    pub user_ms: u64,
    /// CPU time in the kernel, in milliseconds.
    pub system_ms: u64,
    /// Largest resident set of a single process, in KiB.
    pub max_rss_kb: u64,
}

/// `exit.json`: how the run ended. Never changes once written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitRecord {
    /// Why the run ended.
    pub reason: EndReason,
    /// Exit code of the child; `None` if a signal ended it or it never ran.
    pub code: Option<i32>,
    /// Number of the signal that ended the child.
    pub signal: Option<i32>,
    /// Why the program could not be executed, for [`EndReason::SpawnError`].
    pub spawn_error: Option<String>,
    /// Start of the child, or of the attempt to start it.
    pub started_at: Timestamp,
    /// Time when the whole process tree had ended.
    pub ended_at: Timestamp,
    /// How long it ran, in milliseconds, without the time in which the machine slept and whatever
    /// the wall clock was set to.
    pub ran_ms: i64,
    /// Resources used.
    pub rusage: Usage,
    /// Length of `stdout.log`, in bytes.
    pub stdout_bytes: u64,
    /// Length of `stderr.log`, in bytes.
    pub stderr_bytes: u64,
    /// Descendants that survived SIGKILL for seconds because they are stuck in the kernel. 0 on a
    /// healthy machine.
    pub left_behind: u64,
}

impl ExitRecord {
    /// Whether the program ended on its own with code 0.
    pub fn is_success(&self) -> bool {
        self.reason == EndReason::Exited && self.code == Some(0)
    }
}

/// Current wall-clock time.
pub(in crate::process) fn now() -> Timestamp {
    let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    };
    Timestamp::from_millis(millis)
}

/// Reads a JSON file of a run; `None` if no regular file exists at `path`.
pub(in crate::process) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let bytes = match whole(path) {
        Ok(bytes) => bytes,
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || plain_file::other_kind(&error).is_some() =>
        {
            return Ok(None);
        }
        Err(source) => {
            return Err(ProcessError::Io {
                action: "read",
                path: path.to_owned(),
                source,
            });
        }
    };
    let damaged = |source| ProcessError::Damaged {
        path: path.to_owned(),
        source,
    };
    match serde_json::from_slice(&bytes).map_err(damaged)? {
        Version { v: Some(found) } if found > RECORD_FORMAT => Err(ProcessError::Newer {
            path: path.to_owned(),
            found,
        }),
        _ => serde_json::from_slice(&bytes).map(Some).map_err(damaged),
    }
}

fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain_file::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Read first, because the rest may have another form in a newer format.
#[derive(Deserialize)]
struct Version {
    v: Option<u64>,
}

/// Creates `started.json` whole and synced, unless it exists. Returns whether this call created it.
///
/// A hard link makes it exclusive: two children can never both win, not even when the lock of a
/// dying runner is already free and its child not yet killed. The file and both directories are
/// synced, because "was it ever executed?" must have the same answer after a power failure.
pub(in crate::process) fn claim(dir: &RunDir, started: &Started) -> io::Result<bool> {
    let temporary = dir.file(&format!("started.{}.new", started.pid));
    let won = write_synced(&temporary, &serde_json::to_vec(started)?)
        .and_then(|()| link_unless_there(&temporary, &dir.started()));
    // An error is ignored: a leftover only takes space, and the link is what counts.
    let _ = remove::file(&temporary);
    let won = won?;
    sync_dir(dir.path())?;
    if let Some(runs) = dir.path().parent() {
        sync_dir(runs)?;
    }
    Ok(won)
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn link_unless_there(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Bytes reserved for the exit record when the run is prepared, so that a full disk cannot cost the
/// record.
pub(in crate::process) const RESERVE: usize = 4096;

/// Writes `exit.json` durably, into the space reserved for it.
pub(in crate::process) fn write_exit(dir: &RunDir, record: &ExitRecord) -> io::Result<()> {
    let bytes = serde_json::to_vec(record)?;
    let temporary = dir.exit_reserve();
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(&bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()?;
    crash::point("runner.before-exit-record");
    fs::rename(&temporary, dir.exit())?;
    sync_dir(dir.path())
}

/// Makes created, renamed and removed names in `path` durable.
pub(in crate::process) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::super::prepare;
    use super::super::spec::RunSpec;
    use super::super::status::inspect;
    use super::*;

    fn run_dir() -> (tempfile::TempDir, RunDir) {
        let temporary = tempfile::tempdir().unwrap();
        let dir = prepare(temporary.path(), &RunSpec::of_true("run-1"), &[]).unwrap();
        (temporary, dir)
    }

    fn started(pid: i32) -> Started {
        Started {
            runner_pid: 7,
            runner_start_time: 70,
            pid,
            start_time: 80,
            boot_id: "boot".into(),
            started_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn of_many_claims_one_wins_and_is_the_one_that_is_read() {
        for _ in 0..20 {
            let (_temporary, dir) = run_dir();
            let barrier = Barrier::new(4);
            let won: Vec<i32> = std::thread::scope(|scope| {
                let claims: Vec<_> = (1..=4)
                    .map(|pid| {
                        let (dir, barrier) = (&dir, &barrier);
                        scope.spawn(move || {
                            barrier.wait();
                            claim(dir, &started(pid)).unwrap().then_some(pid)
                        })
                    })
                    .collect();
                claims
                    .into_iter()
                    .filter_map(|claim| claim.join().unwrap())
                    .collect()
            });
            let read: Started = read(&dir.started()).unwrap().unwrap();
            assert_eq!(won, [read.pid]);
        }
    }

    #[test]
    fn the_exit_record_fits_the_room_kept_for_it_and_replaces_it() {
        let (_temporary, dir) = run_dir();
        let reserved = fs::metadata(dir.exit_reserve()).unwrap().len();
        let record = ExitRecord {
            reason: EndReason::SpawnError,
            code: Some(i32::MIN),
            signal: Some(i32::MIN),
            // The longest text that the runner writes, with every character escaped.
            spawn_error: Some("\u{1}".repeat(RESERVE / 8)),
            started_at: Timestamp::from_millis(0),
            ended_at: Timestamp::from_millis(0),
            ran_ms: i64::MAX,
            rusage: Usage {
                user_ms: u64::MAX,
                system_ms: u64::MAX,
                max_rss_kb: u64::MAX,
            },
            stdout_bytes: u64::MAX,
            stderr_bytes: u64::MAX,
            left_behind: u64::MAX,
        };
        write_exit(&dir, &record).unwrap();
        assert!(fs::metadata(dir.exit()).unwrap().len() <= reserved);
        assert!(!dir.exit_reserve().exists());
        assert_eq!(read(&dir.exit()).unwrap(), Some(record));
    }

    fn golden(name: &str) -> std::path::PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/runs-v1");
        folder.join(name)
    }

    #[test]
    fn format_1_records_survive_a_round_trip_byte_for_byte() {
        fn same<T: DeserializeOwned + Serialize>(name: &str) -> T {
            let record: T = read(&golden(name)).unwrap().unwrap();
            let text = fs::read_to_string(golden(name)).unwrap();
            assert_eq!(serde_json::to_string(&record).unwrap(), text.trim_end());
            record
        }
        assert_eq!(
            RECORD_FORMAT, 1,
            "keep these, and add some of the new format"
        );
        assert_eq!(same::<Started>("started.json").pid, 4251);
        assert_eq!(same::<ExitRecord>("exit.json").signal, Some(15));
        assert!(same::<ExitRecord>("exit-clean.json").is_success());
        assert_eq!(same::<RunSpec>("spec.json").grace_ms, 5_000);
    }

    #[test]
    fn a_record_of_a_newer_format_is_refused_and_named() {
        let (_temporary, dir) = run_dir();
        let text = fs::read_to_string(golden("exit-clean.json")).unwrap();
        for newer in [
            text.replacen('{', "{\"v\":2,", 1),
            r#"{"v":3,"how":"unheard of"}"#.into(),
        ] {
            fs::write(dir.exit(), &newer).unwrap();
            let error = inspect(&dir).unwrap_err();
            assert!(matches!(error, ProcessError::Newer { .. }), "{error}");
            assert!(error.to_string().contains("exit.json"), "{error}");
            assert_eq!(fs::read_to_string(dir.exit()).unwrap(), newer);
        }
        fs::write(dir.exit(), text.replacen('{', "{\"v\":1,\"later\":[],", 1)).unwrap();
        assert!(
            read::<ExitRecord>(&dir.exit())
                .unwrap()
                .unwrap()
                .is_success()
        );
    }

    #[test]
    fn a_damaged_record_is_named() {
        let (_temporary, dir) = run_dir();
        fs::write(dir.exit(), "{").unwrap();
        let error = read::<ExitRecord>(&dir.exit()).unwrap_err();
        assert!(error.to_string().contains("exit.json"), "{error}");
        assert_eq!(read::<ExitRecord>(&dir.started()).unwrap(), None);
    }
}
