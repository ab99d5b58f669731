//! The file of a checkpoint: a blob in git, and its view `.swarm/checkpoints/<name>.json`.
//!
//! Invariant: only the blob is read, and the view is written again when it differs. A file of a
//! newer version, or one that is not what was written, is never acted upon: the event of its making
//! has its SHA-256.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{REFERENCES, file_reference, reference_of};
use crate::config::json_layout;
use crate::crash;
use crate::daemon::files::hash::sha256;
use crate::daemon::files::paths::Paths;
use crate::domain::ids::{AgentId, CheckpointName, EffectId, IdeaId, Oid};
use crate::domain::state::checkpoint::{Checkpoint, Reason, SavedWork};
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::git::{GitError, Repo, read_plain};
use crate::plain_file;
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
    /// The reference to the tag object on it.
    pub git_ref: String,
    /// That tag object.
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
    #[error("its file {0} is gone")]
    Missing(String),
    /// It cannot be read.
    #[error("its file {place} cannot be read: {why}")]
    Unreadable {
        /// The file, or its reference.
        place: String,
        /// The cause.
        why: String,
    },
    /// It is not what was written.
    #[error("its file {place} is damaged: {why}")]
    Damaged {
        /// The file, or its reference.
        place: String,
        /// In which way.
        why: String,
    },
    /// A newer swarm wrote it.
    #[error(
        "its file {place} has format {found}, but this swarm reads formats up to {VERSION}; \
        use the newer swarm"
    )]
    Newer {
        /// The file, or its reference.
        place: String,
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

/// Where the view of a checkpoint's file lies.
pub fn path_of(paths: &Paths, name: &CheckpointName) -> PathBuf {
    paths.checkpoints.join(format!("{name}.json"))
}

/// The content of a checkpoint's file in git.
///
/// # Errors
/// See [`FileFault`].
pub(in crate::daemon) fn bytes(repo: &Repo, name: &CheckpointName) -> Result<Vec<u8>, FileFault> {
    let place = file_reference(name);
    match repo.file_at(&place) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(FileFault::Missing(place)),
        Err(error) => Err(FileFault::Unreadable {
            place,
            why: error.to_string(),
        }),
    }
}

/// Reads a checkpoint's file in git; with its SHA-256.
///
/// # Errors
/// See [`FileFault`].
pub fn read(repo: &Repo, name: &CheckpointName) -> Result<(CheckpointFile, String), FileFault> {
    parse(name, &bytes(repo, name)?, file_reference(name))
}

/// Reads a checkpoint's file in an unpacked archive; with its SHA-256.
///
/// # Errors
/// See [`FileFault`].
pub(in crate::daemon) fn read_unpacked(
    folder: &Path,
    name: &CheckpointName,
) -> Result<(CheckpointFile, String), FileFault> {
    let path = folder.join(format!("{name}.json"));
    let place = path.display().to_string();
    match read_plain(&path) {
        Ok(bytes) => parse(name, &bytes, place),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FileFault::Missing(place)),
        Err(error) => Err(FileFault::Unreadable {
            place,
            why: error.to_string(),
        }),
    }
}

fn parse(
    name: &CheckpointName,
    bytes: &[u8],
    place: String,
) -> Result<(CheckpointFile, String), FileFault> {
    let damaged = |why: String| FileFault::Damaged {
        place: place.clone(),
        why,
    };
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
    let found = value.get("version").and_then(serde_json::Value::as_u64);
    if let Some(found) = found.filter(|found| *found > u64::from(VERSION)) {
        return Err(FileFault::Newer { place, found });
    }
    let file: CheckpointFile =
        serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
    if file.name != *name || file.git_ref != reference_of(name) {
        return Err(damaged(format!(
            "it belongs to the checkpoint `{}`",
            file.name
        )));
    }
    Ok((file, sha256(bytes)))
}

/// The names of the checkpoints in git. A reference with another name was not made by swarm, and is
/// left alone.
pub(in crate::daemon) fn names(repo: &Repo) -> Vec<CheckpointName> {
    let found = repo.list_refs(REFERENCES).unwrap_or_default().into_iter();
    let name = |(reference, _): (String, _)| reference[REFERENCES.len()..].parse().ok();
    found.filter_map(name).collect()
}

/// The files of all checkpoints that can be read, with the SHA-256 of each: for who has no log to
/// ask.
pub(in crate::daemon) fn all(paths: &Paths) -> Vec<(CheckpointFile, String)> {
    let Ok(repo) = Repo::open(&paths.root) else {
        return Vec::new();
    };
    let names = names(&repo).into_iter();
    names.filter_map(|name| read(&repo, &name).ok()).collect()
}

/// Writes the file into git, durably, instead of what a failed call left; its content.
pub(super) fn keep(repo: &Repo, file: &CheckpointFile) -> Result<Vec<u8>, GitError> {
    let reference = file_reference(&file.name);
    let value = serde_json::to_value(file)
        .map_err(|error| GitError::io("write", Path::new(&reference), error.into()))?;
    let bytes = json_layout::file(&value).into_bytes();
    let blob = repo.write_blob(&bytes)?;
    match repo.read_ref(&reference)? {
        None => repo.create_ref(&reference, blob, "checkpoint")?,
        Some(before) => repo.move_ref(&reference, before, blob, "checkpoint")?,
    }
    Ok(bytes)
}

/// Writes the view of a file in git if it is missing or differs. Nothing depends on it.
pub(super) fn show(paths: &Paths, name: &CheckpointName, bytes: &[u8]) {
    let path = path_of(paths, name);
    if read_plain(&path).is_ok_and(|there| there == bytes) {
        return;
    }
    if let Err(error) = write(paths, name, bytes) {
        tracing::warn!(path = %path.display(), %error, "a checkpoint's file cannot be shown");
    }
}

/// Writes the views that are missing or have another size than the files in git. A file that is not
/// what was written replaces no view, which may be the last good copy.
pub(in crate::daemon) fn show_all(paths: &Paths, state: &State) {
    if state.checkpoints.is_empty() {
        return;
    }
    let Ok(repo) = Repo::open(&paths.root) else {
        return;
    };
    for (name, checkpoint) in &state.checkpoints {
        let there = fs::symlink_metadata(path_of(paths, name));
        let size = repo.file_size(&file_reference(name)).ok().flatten();
        let same = there.is_ok_and(|there| {
            there.is_file() && size.is_none_or(|size| size as u64 == there.len())
        });
        if !same
            && let Ok(bytes) = bytes(&repo, name)
            && sha256(&bytes) == checkpoint.sha256
        {
            show(paths, name, &bytes);
        }
    }
}

fn write(paths: &Paths, name: &CheckpointName, bytes: &[u8]) -> io::Result<()> {
    plain_file::make_folder(&paths.checkpoints)?;
    let next = paths.checkpoints.join(format!(".{name}.json.tmp"));
    // One name for each: what a kill left is replaced. What somebody else has put there is not
    // written through.
    remove::file_if_there(&next)?;
    File::create_new(&next)?.write_all(bytes)?;
    crash::point("checkpoint.written");
    fs::rename(&next, path_of(paths, name))
}

/// Removes the view, and what a killed write left. Already gone: fine.
pub(super) fn remove(paths: &Paths, name: &CheckpointName) -> io::Result<()> {
    let next = paths.checkpoints.join(format!(".{name}.json.tmp"));
    for path in [path_of(paths, name), next] {
        remove::file_if_there(&path)?;
    }
    Ok(())
}
