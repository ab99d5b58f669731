//! The file of a checkpoint, `.swarm/checkpoints/<name>.json`.
//!
//! Invariant: it is written under another name, synced, renamed, and its directory synced, so that
//! it is there whole or not at all. A file of a newer version, or one that is not what was written,
//! is never acted upon: the event of its making has its SHA-256.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::tag_of;
use crate::crash;
use crate::daemon::files::hash::sha256;
use crate::daemon::files::paths::Paths;
use crate::domain::ids::{AgentId, CheckpointName, EffectId, IdeaId, Oid};
use crate::domain::state::checkpoint::{Checkpoint, Reason, SavedWork};
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::git::read_plain;
use crate::remove;
use serde::{Deserialize, Serialize};

/// The version that this program writes.
pub const VERSION: u32 = 1;

/// A checkpoint's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointFile {
    /// Of this format.
    pub version: u32,
    /// Its name.
    pub name: CheckpointName,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Why.
    pub reason: Reason,
    /// The target's commit.
    pub git_commit: Oid,
    /// The tag on it.
    pub git_tag: String,
    /// That tag's object.
    pub tag_object: Oid,
    /// The effect that made it.
    pub op: EffectId,
    /// The branch that the commit is of.
    pub target: String,
    /// The last event that the state has.
    pub seq: u64,
    /// How each idea stood.
    pub idea_states: BTreeMap<IdeaId, IdeaStatus>,
    /// Attempts that were going on.
    pub agent_states: Vec<AgentState>,
    /// What attempts that were over had left for the next.
    #[serde(default)]
    pub kept_work: Vec<AgentState>,
    /// Everything.
    pub state_snapshot: State,
}

/// Work on an idea, as far as it had come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentState {
    /// The agent.
    pub id: AgentId,
    /// On what.
    pub idea_id: IdeaId,
    /// Iterations so far.
    pub iteration: u32,
    /// What was not committed, as a commit.
    pub wip_commit: Option<Oid>,
    /// What the next attempt needs to go on from it.
    pub work: SavedWork,
    /// Why what was not committed is not in it; none: it is, if there was anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// There is none.
    #[error("its file {} is gone", .0.display())]
    Missing(PathBuf),
    /// It cannot be read.
    #[error("its file {} cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what was written.
    #[error("its file {} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// In which way.
        why: String,
    },
    /// A newer swarm wrote it.
    #[error("its file {} has format {found}, but this swarm reads formats up to {VERSION}; use \
        the newer swarm", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
}

impl CheckpointFile {
    /// What the state keeps of it.
    pub fn checkpoint(&self, sha256: String) -> Checkpoint {
        Checkpoint {
            created_at: self.created_at,
            reason: self.reason,
            commit: self.git_commit.clone(),
            tag: self.tag_object.clone(),
            seq: self.seq,
            sha256,
            number: None,
        }
    }

    /// All work that had not landed, by its idea.
    pub fn works(&self) -> BTreeMap<IdeaId, SavedWork> {
        let all = self.agent_states.iter().chain(&self.kept_work);
        all.map(|one| (one.idea_id.clone(), one.work.clone()))
            .collect()
    }
}

/// Where the file of a checkpoint lies.
pub fn path_of(paths: &Paths, name: &CheckpointName) -> PathBuf {
    paths.checkpoints.join(format!("{name}.json"))
}

/// Reads a checkpoint's file; with its SHA-256.
///
/// # Errors
/// See [`FileFault`].
pub fn read(paths: &Paths, name: &CheckpointName) -> Result<(CheckpointFile, String), FileFault> {
    let path = path_of(paths, name);
    let bytes = match read_plain(&path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(FileFault::Missing(path));
        }
        Err(source) => return Err(FileFault::Io { path, source }),
        Ok(bytes) => bytes,
    };
    let damaged = |why: String| FileFault::Damaged {
        path: path.clone(),
        why,
    };
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let found = value.get("version").and_then(serde_json::Value::as_u64);
    if let Some(found) = found.filter(|found| *found > u64::from(VERSION)) {
        return Err(FileFault::Newer { path, found });
    }
    let file: CheckpointFile =
        serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
    if file.name != *name || file.git_tag != tag_of(name) {
        return Err(damaged(format!(
            "it belongs to the checkpoint `{}`",
            file.name
        )));
    }
    Ok((file, sha256(&bytes)))
}

/// The names that the files have.
pub(in crate::daemon) fn names(paths: &Paths) -> Vec<CheckpointName> {
    let entries = fs::read_dir(&paths.checkpoints).into_iter().flatten();
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name();
        name.to_str()?.strip_suffix(".json")?.parse().ok()
    };
    entries.flatten().filter_map(name).collect()
}

/// The files of all checkpoints that can be read, with the SHA-256 of each: for who has no log to
/// ask.
pub(in crate::daemon) fn all(paths: &Paths) -> Vec<(CheckpointFile, String)> {
    let names = names(paths).into_iter();
    names.filter_map(|name| read(paths, &name).ok()).collect()
}

/// Writes it durably; its SHA-256.
pub(super) fn write(paths: &Paths, file: &CheckpointFile) -> io::Result<String> {
    let bytes = serde_json::to_vec(file)?;
    fs::create_dir_all(&paths.checkpoints)?;
    let path = path_of(paths, &file.name);
    // One name for each: what a kill left is overwritten by the same call made again.
    let next = paths.checkpoints.join(format!(".{}.json.tmp", file.name));
    remove::file_if_there(&next)?;
    // What somebody else has put there is not written through.
    let mut out = File::create_new(&next)?;
    out.write_all(&bytes)?;
    out.sync_all()?;
    crash::point("checkpoint.written");
    fs::rename(&next, &path)?;
    sync_dir(&paths.checkpoints)?;
    sync_dir(&paths.swarm)?;
    Ok(sha256(&bytes))
}

/// Removes it, and what a killed write left. Already gone: fine.
pub(super) fn remove(paths: &Paths, name: &CheckpointName) -> io::Result<()> {
    let next = paths.checkpoints.join(format!(".{name}.json.tmp"));
    for path in [path_of(paths, name), next] {
        remove::file_if_there(&path)?;
    }
    match sync_dir(&paths.checkpoints) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced,
    }
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
