//! Identity of a process: its pid, its start time, and the boot of the machine.
//!
//! Invariant: equal identities mean the same process. A pid alone proves nothing once its process
//! may have ended.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// Identifies a process uniquely, even after its pid is reused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The kernel's random id of the boot.
    pub boot_id: String,
    /// Process id.
    pub pid: i32,
    /// Start of the process, in clock ticks since boot.
    pub start_time: u64,
}

impl Identity {
    /// The identity of the process that has `pid` now, if any.
    pub fn of(pid: i32) -> io::Result<Option<Self>> {
        let Some(stat) = ProcStat::read(pid)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            boot_id: boot_id()?,
            pid,
            start_time: stat.start_time,
        }))
    }

    /// Whether this process still exists. A zombie does.
    pub fn exists(&self) -> io::Result<bool> {
        Ok(Self::of(self.pid)?.as_ref() == Some(self))
    }
}

/// Whether a signal (SIGSTOP, Ctrl+Z) has stopped the process; `false` if that is unknown.
pub fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

/// The kernel's random id of the current boot.
pub(in crate::process) fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

/// The fields of `/proc/<pid>/stat` that this room needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::process) struct ProcStat {
    pub pid: i32,
    pub parent: i32,
    pub start_time: u64,
}

impl ProcStat {
    /// `None` if the process does not exist, or this user may not see it.
    pub(in crate::process) fn read(pid: i32) -> io::Result<Option<Self>> {
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(bytes) => parse(&bytes).map(Some).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("/proc/{pid}/stat has an unknown format"),
                )
            }),
            Err(error) if is_invisible(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// ESRCH: the process ended between `open` and `read`. ENOENT: it ended before. EACCES or EPERM: it
/// belongs to another user and `/proc` is mounted with `hidepid`.
fn is_invisible(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    ) || error.raw_os_error() == Some(nix::errno::Errno::ESRCH as i32)
}

/// Counts fields from the *last* `)`: the process chooses the name before it, which may contain
/// spaces and parentheses.
fn parse(stat: &[u8]) -> Option<ProcStat> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&stat[..open]).ok()?.trim();
    let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    Some(ProcStat {
        pid: pid.parse().ok()?,
        parent: fields.nth(1)?.parse().ok()?,
        start_time: fields.nth(17)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_may_contain_anything() {
        let tail = "S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 2 3";
        for name in ["sh", "a b", ") R 1 2 (", "(((", ")))", "\u{fffd}"] {
            let stat = parse(format!("42 ({name}) {tail}").as_bytes());
            let expected = ProcStat {
                pid: 42,
                parent: 7,
                start_time: 98_765,
            };
            assert_eq!(stat, Some(expected), "{name}");
        }
        assert_eq!(parse(b"42 (\xff\xfe) S 7").map(|stat| stat.pid), None);
    }

    #[test]
    fn an_identity_differs_by_start_time_and_boot() {
        let me = i32::try_from(std::process::id()).unwrap();
        let identity = Identity::of(me).unwrap().unwrap();
        assert!(identity.exists().unwrap());
        let earlier = Identity {
            start_time: identity.start_time - 1,
            ..identity.clone()
        };
        assert!(!earlier.exists().unwrap());
        let other_boot = Identity {
            boot_id: "x".into(),
            ..identity
        };
        assert!(!other_boot.exists().unwrap());
    }

    #[test]
    fn an_unused_pid_has_no_identity() {
        assert_eq!(Identity::of(i32::MAX).unwrap(), None);
    }
}
