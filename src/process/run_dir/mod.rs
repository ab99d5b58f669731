//! The directory of a run: its files, and how it is created.
//!
//! Invariant: `runs/<id>` appears whole, by one rename, and what [`prepare`] wrote is never
//! changed.

pub mod age;
pub mod lease;
pub mod lock;
pub mod output;
pub mod record;
pub mod spec;
pub mod status;

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::{Context as _, ProcessError, Result};
use super::os::identity::boot_id;
use crate::crash;
use crate::remove;
use spec::RunSpec;

/// Name prefix of directories that are still being written.
const UNFINISHED: &str = ".new-";
/// File that records the boot and the place in which the directory was written.
const WRITTEN: &str = "written-at";

/// Reserved names that callers may not use for their files.
const OWN_NAMES: [&str; 12] = [
    "written-at",
    "spec.json",
    "env.json",
    "lock",
    "stop",
    "stop-now",
    "started.json",
    "exit.json",
    "exit.json.new",
    "stdout.log",
    "stderr.log",
    "runner.log",
];

/// A run's directory, with an absolute path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunDir {
    path: PathBuf,
    id: String,
}

impl RunDir {
    /// Opens the run `id`, which must have been prepared.
    pub fn open(runs_dir: &Path, id: &str) -> Result<Self> {
        check_id(id)?;
        let runs = plain_dir(runs_dir)?;
        let path = runs.join(id);
        let there = fs::symlink_metadata(&path).on("find", &path)?;
        if !there.is_dir() {
            let error = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(error).on("use", &path);
        }
        Ok(Self {
            path,
            id: id.to_owned(),
        })
    }

    /// Like [`RunDir::open`], but takes the whole path.
    pub(in crate::process) fn open_path(path: &Path) -> Result<Self> {
        let id = path.file_name().and_then(|name| name.to_str());
        let (Some(runs), Some(id)) = (path.parent(), id) else {
            return Err(ProcessError::BadId(path.display().to_string()));
        };
        Self::open(runs, id)
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it lies directly in `runs_dir`.
    pub fn is_in(&self, runs_dir: &Path) -> bool {
        let runs = fs::canonicalize(runs_dir);
        runs.is_ok_and(|runs| self.path.parent() == Some(&*runs))
    }

    /// Path of a file of the run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Path of the child's standard output. The file exists from the start.
    pub fn stdout(&self) -> PathBuf {
        self.file("stdout.log")
    }

    /// Path of the child's standard error. The file exists from the start.
    pub fn stderr(&self) -> PathBuf {
        self.file("stderr.log")
    }

    /// The specification without the environment.
    pub fn spec(&self) -> Result<RunSpec> {
        let path = self.file("spec.json");
        match record::read(&path)? {
            Some(spec) => Ok(spec),
            None => Err(io::Error::from(io::ErrorKind::NotFound)).on("read", &path),
        }
    }

    pub(in crate::process) fn started(&self) -> PathBuf {
        self.file("started.json")
    }

    pub(in crate::process) fn exit(&self) -> PathBuf {
        self.file("exit.json")
    }

    pub(in crate::process) fn exit_reserve(&self) -> PathBuf {
        self.file("exit.json.new")
    }

    pub(in crate::process) fn env(&self) -> PathBuf {
        self.file("env.json")
    }

    pub(in crate::process) fn lock(&self) -> PathBuf {
        self.file("lock")
    }
}

/// Writes the directory of a run, with `files` beside the specification. Leaves an existing run as
/// it is.
///
/// Syncs nothing. A power failure may lose or tear the directory until the child's claim syncs it,
/// but then nothing was executed, and this function writes an unclaimed run again after a reboot.
pub fn prepare(runs_dir: &Path, spec: &RunSpec, files: &[(&str, &[u8])]) -> Result<RunDir> {
    check_id(&spec.id)?;
    for (name, _) in files {
        check_file_name(name)?;
    }
    if let Some(name) = &spec.stdin {
        check_file_name(name)?;
    }
    private_dir(runs_dir)?;
    let runs = plain_dir(runs_dir)?;
    if let Some(existing) = existing(&runs, &spec.id)? {
        return Ok(existing);
    }
    let unfinished = runs.join(format!("{UNFINISHED}{}", spec.id));
    let written = write_all(&unfinished, spec, files).and_then(|()| {
        crash::point("prepare.before-rename");
        fs::rename(&unfinished, runs.join(&spec.id)).on("rename", &unfinished)
    });
    if let Err(error) = written {
        // The first error is the one to report; this one is ignored because the next `prepare`
        // removes what is left.
        let _ = remove_ours(&unfinished);
        return Err(error);
    }
    RunDir::open(&runs, &spec.id)
}

/// The existing run, if any. Removes a run in which nothing ran if it is from an earlier boot or
/// another place.
fn existing(runs: &Path, id: &str) -> Result<Option<RunDir>> {
    let path = runs.join(id);
    if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let dir = RunDir::open(runs, id)?;
    let began = dir.started().exists() || dir.exit().exists();
    let held = lock::holder(&dir.lock()).on("read", &dir.lock())?.is_some();
    if began || held || is_of_here_and_now(&dir)? {
        return Ok(Some(dir));
    }
    remove_ours(&path)?;
    Ok(None)
}

/// Removes a run's directory, whole or half written, and nothing else: every run has [`WRITTEN`]
/// from its first moment on. Without that file, only an empty directory is removed.
fn remove_ours(path: &Path) -> Result<()> {
    let marker = path.join(WRITTEN);
    let removed = match fs::symlink_metadata(&marker) {
        Ok(_) => remove::tree_if_there(path),
        Err(_) => match remove::empty_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                return Err(ProcessError::NotARun(path.to_owned()));
            }
            removed => removed,
        },
    };
    removed.on("remove the run that never started", path)
}

/// Whether the directory was written in this place and this boot. Only a reboot can tear it, and in
/// a copied or renamed repository its paths lead elsewhere. Nothing ran, so discarding it loses
/// nothing.
fn is_of_here_and_now(dir: &RunDir) -> Result<bool> {
    let path = dir.file(WRITTEN);
    let runs = dir.path().parent().unwrap_or(dir.path());
    let current = here_and_now(runs)?;
    Ok(fs::read(&path).is_ok_and(|written| written == current))
}

/// Content of [`WRITTEN`]: the boot id, and the path of the directory of all runs.
fn here_and_now(runs: &Path) -> Result<Vec<u8>> {
    let boot = boot_id().on("read the boot id for", runs)?;
    let runs = fs::canonicalize(runs).on("find", runs)?;
    let place = runs.as_os_str().as_bytes();
    Ok([boot.trim_end().as_bytes(), b"\n", place, b"\n"].concat())
}

fn write_all(dir: &Path, spec: &RunSpec, files: &[(&str, &[u8])]) -> Result<()> {
    remove_ours(dir)?;
    DirBuilder::new()
        .mode(0o700)
        .create(dir)
        .on("create", dir)?;
    let written = here_and_now(dir.parent().unwrap_or(dir))?;
    write_file(&dir.join(WRITTEN), &written)?;
    for name in ["lock", "stdout.log", "stderr.log"] {
        write_file(&dir.join(name), b"")?;
    }
    write_file(&dir.join("exit.json.new"), &[b' '; record::RESERVE])?;
    for (name, content) in files {
        write_file(&dir.join(name), content)?;
    }
    write_file(&dir.join("spec.json"), &json(spec, &spec.id)?)?;
    write_file(&dir.join("env.json"), &json(&spec.env, &spec.id)?)
}

fn json<T: serde::Serialize>(value: &T, id: &str) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|source| ProcessError::Unwritable {
        id: id.to_owned(),
        source,
    })
}

fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content))
        .on("write", path)
}

/// The canonical path of a directory. Refuses a link, because it leads to somebody else's files.
fn plain_dir(path: &Path) -> Result<PathBuf> {
    let meta = fs::symlink_metadata(path).on("find", path)?;
    if !meta.is_dir() {
        return Err(ProcessError::LinkRefused(path.to_owned()));
    }
    fs::canonicalize(path).on("find", path)
}

fn private_dir(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(path)
        .on("create", path)?;
    plain_dir(path)?;
    let mode = fs::metadata(path).on("find", path)?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o700)).on("set the mode of", path)?;
    }
    Ok(())
}

fn check_id(id: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let good = id.len() <= 64
        && id.bytes().next().is_some_and(plain)
        && id.bytes().all(|byte| plain(byte) || byte == b'-');
    good.then_some(())
        .ok_or_else(|| ProcessError::BadId(id.to_owned()))
}

fn check_file_name(name: &str) -> Result<()> {
    let taken = OWN_NAMES.contains(&name) || name.starts_with("started.");
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    (plain && !taken)
        .then_some(())
        .ok_or_else(|| ProcessError::BadFileName(name.to_owned()))
}
