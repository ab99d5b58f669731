//! Process trees: finds all descendants, and ends them.
//!
//! Invariant: a whole tree is stopped before any of its processes is killed, so that nothing forks
//! away meanwhile. Each signal goes through a pidfd whose identity was compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::time::Instant;

use rustix::process::Signal;

use super::identity::ProcStat;
use super::pidfd::ProcessHandle;

/// Every visible process, by pid.
pub(in crate::process) fn all() -> io::Result<BTreeMap<i32, ProcStat>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(stat) = ProcStat::read(pid)? {
            found.insert(pid, stat);
        }
    }
    Ok(found)
}

/// All descendants of `roots` in `processes`, without the roots themselves.
pub(in crate::process) fn descendants(
    processes: &BTreeMap<i32, ProcStat>,
    roots: &[i32],
) -> Vec<ProcStat> {
    let mut children: BTreeMap<i32, Vec<ProcStat>> = BTreeMap::new();
    for stat in processes.values() {
        children.entry(stat.parent).or_default().push(*stat);
    }
    let mut found = Vec::new();
    let mut seen: BTreeSet<i32> = roots.iter().copied().collect();
    let mut waiting = roots.to_vec();
    while let Some(parent) = waiting.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if seen.insert(child.pid) {
                found.push(*child);
                waiting.push(child.pid);
            }
        }
    }
    found
}

/// Stops every process that `find` returns until it returns no new ones; returns all of them.
///
/// Keeps only one descriptor open at a time: a tree may have more processes than this process may
/// have descriptors.
pub(in crate::process) fn freeze(
    mut find: impl FnMut() -> io::Result<Vec<ProcStat>>,
) -> io::Result<Vec<ProcStat>> {
    let mut frozen = Vec::new();
    let mut seen = BTreeSet::new();
    loop {
        let before = frozen.len();
        for stat in find()? {
            if seen.insert((stat.pid, stat.start_time)) {
                signal(&stat, Signal::STOP)?;
                frozen.push(stat);
            }
        }
        if frozen.len() == before {
            return Ok(frozen);
        }
    }
}

/// Kills every process of `family` and waits for their end; returns `false` if `deadline` came
/// first.
pub(in crate::process) fn kill_all(family: &[ProcStat], deadline: Instant) -> io::Result<bool> {
    for stat in family {
        signal(stat, Signal::KILL)?;
    }
    for stat in family {
        if let Some(handle) = ProcessHandle::open_same(stat)?
            && !handle.wait_until(deadline)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn signal(stat: &ProcStat, signal: Signal) -> io::Result<()> {
    let Some(handle) = ProcessHandle::open_same(stat)? else {
        return Ok(());
    };
    match handle.signal(signal) {
        // A set-user-ID program of another user, which only its owner may end. The caller sees that
        // it survives.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other.map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> (i32, ProcStat) {
        let stat = ProcStat {
            pid,
            parent,
            start_time: 1,
        };
        (pid, stat)
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_in_any_pid_order() {
        let processes = BTreeMap::from([
            process(1, 0),
            process(5, 9),
            process(9, 7),
            process(7, 1),
            process(3, 9),
            process(8, 1),
        ]);
        let pids = |roots: &[i32]| -> BTreeSet<i32> {
            let found = descendants(&processes, roots);
            found.iter().map(|stat| stat.pid).collect()
        };
        assert_eq!(pids(&[7]), BTreeSet::from([3, 5, 9]));
        assert_eq!(pids(&[7, 9]), BTreeSet::from([3, 5]));
        assert_eq!(pids(&[8]), BTreeSet::new());
    }

    #[test]
    fn a_cycle_in_proc_does_not_loop_forever() {
        let processes = BTreeMap::from([process(2, 3), process(3, 2)]);
        assert_eq!(descendants(&processes, &[2]).len(), 1);
    }
}
