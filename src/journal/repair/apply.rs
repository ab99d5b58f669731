//! Replaces files of the log so that a kill leaves the old state or a repair that can be finished.
//! Called by `rewrite` and `daemon::repair`.
//!
//! Order: link the old files to `doctor-<time>/old/`; write the new ones to `doctor-<time>/new/`;
//! sync; write `repair.json`, after which nothing reads the log; move; load everything; remove
//! `repair.json`.
//! Invariant: each step after `repair.json` may be repeated. A folder with `new/` but without
//! `repair.json` belongs to a repair that never started, and is removed.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::crash;
use crate::domain::time::Timestamp;
use crate::journal::disk::{Disk, Storage as _, plain_file, remove_if_there};
use crate::journal::error::JournalError;
use crate::remove;

/// The name of the file that says that a repair is under way.
pub const REPAIR_FILE: &str = "repair.json";

const NEXT_INTENTION: &str = "repair.next.json";
const PREFIX: &str = "doctor-";

/// What is going to be moved, as `repair.json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Intention {
    version: u32,
    way: String,
    folder: String,
    /// Names that go; each has a copy.
    drop: Vec<String>,
    /// Names that are moved here from `new/`.
    put: Vec<String>,
}

/// New files, prepared and not yet in place.
#[derive(Debug)]
pub struct Repair {
    state_dir: PathBuf,
    intention: Intention,
}

/// Whether a repair was begun and not finished.
pub fn is_unfinished(state_dir: &Path) -> bool {
    fs::symlink_metadata(state_dir.join(REPAIR_FILE)).is_ok()
}

/// Finishes the repair whose intention is on disk, if there is one: the moves, `verify`, and the
/// intention goes. Returns the folder with the old files.
pub fn finish<X: From<JournalError>>(
    state_dir: &Path,
    verify: impl FnOnce() -> Result<(), X>,
) -> Result<Option<String>, X> {
    let Some(intention) = read_intention(state_dir)? else {
        return Ok(None);
    };
    carry_out(state_dir, &intention)?;
    verify()?;
    crash::point("doctor.verified");
    conclude(state_dir, &intention).map_err(JournalError::io("finish the repair in", state_dir))?;
    Ok(Some(intention.folder))
}

impl Repair {
    /// A new folder for it.
    pub(super) fn begin(state_dir: &Path, way: &str, now: Timestamp) -> Result<Self, JournalError> {
        remove_abandoned(state_dir).map_err(JournalError::io(
            "clean up after a killed repair in",
            state_dir,
        ))?;
        let folder = free_folder(state_dir, now);
        let path = state_dir.join(&folder);
        let made = private_dir(&path)
            .and_then(|()| private_dir(&path.join("new")))
            .and_then(|()| private_dir(&path.join("old")));
        made.map_err(JournalError::io("make", &path))?;
        crash::point("doctor.folder-made");
        Ok(Self {
            state_dir: state_dir.to_owned(),
            intention: Intention {
                version: 1,
                way: way.to_owned(),
                folder,
                drop: Vec::new(),
                put: Vec::new(),
            },
        })
    }

    /// The name of the folder with the files as they were.
    pub fn folder(&self) -> &str {
        &self.intention.folder
    }

    /// This file goes.
    pub(super) fn drop(&mut self, name: &str) {
        if !self.intention.drop.iter().any(|dropped| dropped == name) {
            self.intention.drop.push(name.to_owned());
        }
    }

    /// A file with this content comes.
    pub(super) fn put(&mut self, name: &str, content: &[u8]) -> Result<(), JournalError> {
        write_new(&self.path("new").join(name), content)?;
        self.intention.put.push(name.to_owned());
        Ok(())
    }

    /// This content is kept with the old files.
    pub(super) fn keep(&mut self, name: &str, content: &[u8]) -> Result<(), JournalError> {
        write_new(&self.path("old").join(name), content)
    }

    /// Keeps the old files and makes the intention durable; from here on the repair is finished
    /// sooner or later, by [`finish`].
    pub(super) fn intend(mut self) -> Result<(), JournalError> {
        let dir = self.state_dir.clone();
        self.intention
            .drop
            .retain(|name| !self.intention.put.contains(name));
        self.keep_old()
            .and_then(|()| self.write_intention())
            .map_err(JournalError::io("prepare the repair in", &dir))
    }

    fn path(&self, part: &str) -> PathBuf {
        self.state_dir.join(&self.intention.folder).join(part)
    }

    /// No file is ever changed in place by a repair: a second name keeps all of it.
    fn keep_old(&self) -> io::Result<()> {
        let names = self.intention.drop.iter().chain(&self.intention.put);
        for name in names {
            match Disk.link(&self.state_dir.join(name), &self.path("old").join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                linked => linked?,
            }
        }
        crash::point("doctor.old-kept");
        for part in ["old", "new", ""] {
            Disk.sync_dir(&self.path(part))?;
        }
        Disk.sync_dir(&self.state_dir)?;
        crash::point("doctor.prepared");
        Ok(())
    }

    fn write_intention(&self) -> io::Result<()> {
        let next = self.state_dir.join(NEXT_INTENTION);
        remove_if_there(&next)?;
        let mut file = plain_file().write(true).create_new(true).open(&next)?;
        file.write_all(&serde_json::to_vec(&self.intention)?)?;
        file.sync_all()?;
        crash::point("doctor.before-intention");
        Disk.rename(&next, &self.state_dir.join(REPAIR_FILE))?;
        Disk.sync_dir(&self.state_dir)?;
        crash::point("doctor.intended");
        Ok(())
    }
}

fn read_intention(state_dir: &Path) -> Result<Option<Intention>, JournalError> {
    let path = state_dir.join(REPAIR_FILE);
    let mut bytes = Vec::new();
    match plain_file().open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.and_then(|mut file| io::Read::read_to_end(&mut file, &mut bytes)),
    }
    .map_err(JournalError::io("read", &path))?;
    let broken = |why: String| JournalError::RepairUnreadable {
        file: path.clone(),
        why,
    };
    let intention: Intention =
        serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
    if intention.version != 1 {
        return Err(broken(format!("its version is {}", intention.version)));
    }
    let names = intention.drop.iter().chain(&intention.put);
    let plain = |name: &String| !name.contains('/') && !name.starts_with('.') && !name.is_empty();
    if !names.chain([&intention.folder]).all(plain) {
        return Err(broken(
            "it names files outside the state directory".to_owned(),
        ));
    }
    Ok(Some(intention))
}

/// What is done already is seen and left.
fn carry_out(state_dir: &Path, intention: &Intention) -> Result<(), JournalError> {
    for name in &intention.drop {
        let path = state_dir.join(name);
        remove_if_there(&path).map_err(JournalError::io("remove", &path))?;
        crash::point("doctor.dropped");
    }
    let new = state_dir.join(&intention.folder).join("new");
    for name in &intention.put {
        let (from, to) = (new.join(name), state_dir.join(name));
        match Disk.rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && to.exists() => {}
            moved => moved.map_err(JournalError::io("put in place", &to))?,
        }
        crash::point("doctor.put");
    }
    Disk.sync_dir(state_dir)
        .map_err(JournalError::io("sync", state_dir))?;
    crash::point("doctor.moved");
    Ok(())
}

fn conclude(state_dir: &Path, intention: &Intention) -> io::Result<()> {
    let new = state_dir.join(&intention.folder).join("new");
    match remove::empty_dir(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Disk.sync_dir(&state_dir.join(&intention.folder))?;
    crash::point("doctor.before-end");
    remove_if_there(&state_dir.join(REPAIR_FILE))?;
    Disk.sync_dir(state_dir)?;
    crash::point("doctor.ended");
    Ok(())
}

/// Removes the folders of repairs that never began.
fn remove_abandoned(state_dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(state_dir)? {
        let entry = entry?;
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let path = entry.path();
        if ours && entry.file_type()?.is_dir() && fs::symlink_metadata(path.join("new")).is_ok() {
            remove::tree(&path)?;
        }
    }
    Ok(())
}

fn write_new(path: &Path, content: &[u8]) -> Result<(), JournalError> {
    let written = plain_file()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        });
    written.map_err(JournalError::io("write", path))
}

fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// `doctor-<time>`, or that with a number behind it when there is one of that name.
fn free_folder(state_dir: &Path, now: Timestamp) -> String {
    let name = format!("{PREFIX}{}", now.to_string().replace(':', "-"));
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone())
        .chain(numbered)
        .find(|name| fs::symlink_metadata(state_dir.join(name)).is_err())
        .unwrap_or(name)
}
