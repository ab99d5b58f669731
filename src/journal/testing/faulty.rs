//! A disk that fails when it is told to.
//!
//! Every operation has a number. At a chosen one the disk answers with an error (perhaps after a
//! part of the bytes), or the process is "killed": that operation does a part of its work or none,
//! and all later ones fail.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use crate::journal::disk::{Disk, SegmentFile, Storage};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Errno, after this many bytes of a write were written.
    Error(i32, usize),
    /// A write writes at most this many bytes, and says so.
    Short(usize),
    /// Killed, after this many bytes of a write were written.
    Kill(usize),
}

pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EIO: i32 = 5;
pub(crate) const EROFS: i32 = 30;
pub(crate) const EDQUOT: i32 = 122;
pub(crate) const EINTR: i32 = 4;

#[derive(Debug, Default)]
struct Plan {
    done: Vec<String>,
    faults: BTreeMap<usize, Fault>,
    /// Faults for every operation whose name begins so, from now on.
    standing: Vec<(&'static str, Fault)>,
    killed: bool,
    /// Every operation waits.
    held: bool,
}

/// Decides what fails; shared with the disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Plan>>, Arc<Condvar>);

impl Faults {
    pub(crate) fn at(operation: usize, fault: Fault) -> Self {
        let faults = Self::default();
        faults.0.lock().unwrap().faults.insert(operation, fault);
        faults
    }

    /// From this operation on, all fail.
    pub(crate) fn from_on(operation: usize, fault: Fault) -> Self {
        let faults = Self::default();
        let all = (operation..operation + 1000).map(|at| (at, fault));
        faults.0.lock().unwrap().faults.extend(all);
        faults
    }

    /// Fails where `other` would.
    pub(crate) fn take_over(&self, other: &Self) {
        let planned = other.0.lock().unwrap().faults.clone();
        self.0.lock().unwrap().faults.extend(planned);
    }

    /// As if the first operations had not been.
    pub(crate) fn without_first(self, count: usize) -> Self {
        self.0.lock().unwrap().done.drain(..count);
        self
    }

    /// From now on, operations whose name begins with `name` fail.
    pub(crate) fn stand(&self, name: &'static str, fault: Fault) {
        self.0.lock().unwrap().standing.push((name, fault));
    }

    /// The next operation fails.
    pub(crate) fn next(&self, fault: Fault) {
        self.after(0, fault);
    }

    /// The operation after `skip` others fails.
    pub(crate) fn after(&self, skip: usize, fault: Fault) {
        let mut plan = self.0.lock().unwrap();
        let at = plan.done.len() + skip;
        plan.faults.entry(at).or_insert(fault);
    }

    /// All is well again.
    pub(crate) fn mend(&self) {
        let mut plan = self.0.lock().unwrap();
        plan.faults.clear();
        plan.standing.clear();
    }

    /// From now on every operation waits.
    pub(crate) fn hold(&self) {
        self.0.lock().unwrap().held = true;
    }

    /// What waits goes on.
    pub(crate) fn let_go(&self) {
        self.0.lock().unwrap().held = false;
        self.1.notify_all();
    }

    pub(crate) fn operations(&self) -> Vec<String> {
        self.0.lock().unwrap().done.clone()
    }

    pub(crate) fn killed(&self) -> bool {
        self.0.lock().unwrap().killed
    }

    pub(crate) fn disk(&self) -> Box<dyn Storage> {
        Box::new(FaultyDisk(self.clone()))
    }

    /// Counts an operation; what becomes of it.
    fn enter(&self, name: &str, path: &Path) -> Option<Fault> {
        let plan = self.0.lock().unwrap();
        let mut plan = self.1.wait_while(plan, |plan| plan.held).unwrap();
        if plan.killed {
            return Some(Fault::Kill(0));
        }
        let number = plan.done.len();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        plan.done.push(format!("{name} {file}"));
        let standing = plan.standing.iter().find(|(n, _)| name.starts_with(n));
        let standing = standing.map(|(_, fault)| *fault);
        let fault = plan.faults.get(&number).copied().or(standing);
        plan.killed = matches!(fault, Some(Fault::Kill(_)));
        fault
    }

    fn check_standing(&self, name: &str) -> io::Result<()> {
        let plan = self.0.lock().unwrap();
        match plan.standing.iter().find(|(n, _)| *n == name) {
            Some((_, Fault::Error(errno, _))) => Err(io::Error::from_raw_os_error(*errno)),
            _ => Ok(()),
        }
    }

    fn check(&self, name: &str, path: &Path) -> io::Result<()> {
        match self.enter(name, path) {
            Some(Fault::Error(errno, _)) => Err(io::Error::from_raw_os_error(errno)),
            Some(Fault::Kill(_)) => Err(io::Error::other("killed")),
            Some(Fault::Short(_)) | None => Ok(()),
        }
    }
}

struct FaultyDisk(Faults);

impl Storage for FaultyDisk {
    fn open(&mut self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        self.0.check("open", path)?;
        Ok(Box::new(FaultyFile {
            faults: self.0.clone(),
            path: path.to_owned(),
            file: Disk.open(path)?,
        }))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.check("rename", from)?;
        Disk.rename(from, to)
    }

    fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.check("link", from)?;
        Disk.link(from, to)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.0.check("remove", path)?;
        Disk.remove(path)
    }

    fn sync_dir(&mut self, dir: &Path) -> io::Result<()> {
        self.0.check("syncDir", dir)?;
        Disk.sync_dir(dir)
    }
}

struct FaultyFile {
    faults: Faults,
    path: PathBuf,
    file: Box<dyn SegmentFile>,
}

impl SegmentFile for FaultyFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let part = |n: usize| &bytes[..n.min(bytes.len())];
        match self.faults.enter("write", &self.path) {
            None => self.file.write_at(bytes, offset),
            Some(Fault::Short(n)) => self.file.write_at(part(n), offset),
            Some(Fault::Error(errno, n)) => {
                self.file.write_at(part(n), offset)?;
                Err(io::Error::from_raw_os_error(errno))
            }
            Some(Fault::Kill(n)) => {
                self.file.write_at(part(n), offset)?;
                Err(io::Error::other("killed"))
            }
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.faults.check("truncate", &self.path)?;
        self.file.truncate(length)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.faults.check("syncData", &self.path)?;
        self.file.sync_data()
    }

    fn sync_all(&mut self) -> io::Result<()> {
        self.faults.check("syncAll", &self.path)?;
        self.file.sync_all()
    }

    /// Changes nothing, and has no number: it fails only while that stands.
    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        self.faults.check_standing("length")?;
        self.file.length(path)
    }
}
