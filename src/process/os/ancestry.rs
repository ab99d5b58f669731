//! The processes above a process, from `/proc`.
//!
//! Invariant: each pid on the way up belonged to the parent, not to a process that got the pid
//! later: after a look at the parent, its child still had this parent. A process cannot leave a run
//! by `setsid` or a double fork, because the kernel gives orphans to the runner, their sub-reaper.

use std::io;
use std::path::Path;

use super::identity::ProcStat;

/// Walks that are begun anew because a process on the way ended.
const MAX_WALKS: u32 = 64;
/// Most processes on the way up; a walk that is longer fails.
const MAX_DEPTH: usize = 4_096;

/// How a walk ended.
enum Walk<T> {
    Top(Vec<T>),
    /// A process on the way ended, so its child has another parent now.
    Changed,
    /// The process where the walk begins has ended.
    Gone,
}

/// Asks `find` about `pid` and every process above it, and returns what it finds, nearest first.
/// `None` if the process has ended. Without `/proc`, as on macOS, nothing is found.
///
/// # Errors
/// `/proc` cannot be read, there are too many processes, or they change all the time.
pub(in crate::process) fn above<T>(
    pid: i32,
    mut find: impl FnMut(i32) -> io::Result<Option<T>>,
) -> io::Result<Option<Vec<T>>> {
    if !Path::new("/proc/self/stat").exists() {
        return Ok(Some(Vec::new()));
    }
    for _ in 0..MAX_WALKS {
        match walk(pid, &mut find)? {
            Walk::Top(found) => return Ok(Some(found)),
            Walk::Gone => return Ok(None),
            Walk::Changed => {}
        }
    }
    Err(io::Error::other(
        "the processes above it end faster than they can be read",
    ))
}

fn walk<T>(pid: i32, find: &mut impl FnMut(i32) -> io::Result<Option<T>>) -> io::Result<Walk<T>> {
    let mut found = Vec::new();
    let Some(mut process) = ProcStat::read(pid)? else {
        return Ok(Walk::Gone);
    };
    for _ in 0..MAX_DEPTH {
        found.extend(find(process.pid)?);
        let parent = match process.parent {
            0 => None,
            parent => ProcStat::read(parent)?,
        };
        if ProcStat::read(process.pid)? != Some(process) {
            return Ok(Walk::Changed);
        }
        match parent {
            Some(parent) => process = parent,
            // The first process, or one of another user under `hidepid`.
            None => return Ok(Walk::Top(found)),
        }
    }
    Err(io::Error::other("too many processes are above it"))
}
