//! Who a process is: its number, when it started, and in which boot of the machine.
//!
//! Invariant: two equal identities are the same process; a number alone says nothing once its process may have ended.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// A process, told apart from every other that ever bears its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The kernel's random id of this boot.
    pub boot_id: String,
    /// Process number.
    pub pid: i32,
    /// Clock ticks from boot to the start of the process.
    pub start_time: u64,
}

impl Identity {
    /// The identity of the process that has the number `pid` now; `None` when there is none.
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

    /// Whether this very process still exists (a zombie still does).
    pub fn exists(&self) -> io::Result<bool> {
        Ok(Self::of(self.pid)?.as_ref() == Some(self))
    }
}

/// Whether a signal has stopped the process of that number (SIGSTOP, Ctrl+Z). Where the system does not tell: no.
pub fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

/// The random id that the kernel gave to this boot of the machine.
pub(super) fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

/// What this room needs of `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcStat {
    pub pid: i32,
    pub parent: i32,
    pub start_time: u64,
}

impl ProcStat {
    /// `None` when there is no such process (any more), or none that this user may see.
    pub(super) fn read(pid: i32) -> io::Result<Option<Self>> {
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(bytes) => parse(&bytes).map(Some).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("/proc/{pid}/stat has an unknown form"),
                )
            }),
            Err(error) if is_invisible(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A process that ends between `open` and `read` gives ESRCH, one that had ended before ENOENT, and one of another user
/// EACCES or EPERM where `/proc` is mounted with `hidepid`.
fn is_invisible(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    ) || error.raw_os_error() == Some(nix::errno::Errno::ESRCH as i32)
}

/// Fields are counted from the *last* `)`: the name before it is chosen by the process and may hold spaces and parentheses.
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
    fn the_name_of_a_process_may_hold_anything() {
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
    fn this_process_is_itself_and_no_other() {
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
    fn a_number_without_a_process_has_no_identity() {
        assert_eq!(Identity::of(i32::MAX).unwrap(), None);
    }
}
