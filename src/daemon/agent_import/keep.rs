//! Keeps the files of imported agents in `.swarm/state/imports/`, named by the state's content.
//!
//! Invariant: under its name a file is whole and on disk. Its commits are under a reference, so
//! that git does not collect them; the reference goes with the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::crash;
use crate::daemon::effects::failure::oid;
use crate::daemon::error::DaemonError;
use crate::daemon::files::hash::sha256;
use crate::daemon::files::paths::Paths;
use crate::domain::state::transfer::agent::{ImportedAgent, ImportedCommits};
use crate::git::{GitError, IMPORTS, Oid, Repo};
use crate::plain_file;
use crate::remove;

use super::file::MAX_BYTES;
use super::parts::Parts;
use crate::archive::names::is_sha256;

/// Ends the names of kept states.
const ENDING: &str = ".json";
/// Ends the names of their conversations.
const CONVERSATION: &str = ".conversation";

/// SHA-256 of the state that a kept file is or belongs to.
pub(in crate::daemon) fn sha256_in(name: &str) -> Option<&str> {
    name.strip_suffix(ENDING)
        .or_else(|| name.strip_suffix(CONVERSATION))
}

/// The kept conversation of the state with this SHA-256.
pub(super) fn conversation(paths: &Paths, sha256: &str) -> PathBuf {
    paths.imports().join(format!("{sha256}{CONVERSATION}"))
}

/// The kept file, relative to `.swarm/`.
pub(super) fn name(sha256: &str) -> String {
    format!("state/imports/{sha256}{ENDING}")
}

/// Puts a state, by its SHA-256, with its conversation and its commits on disk.
pub(super) fn all(
    paths: &Paths,
    repo: &Repo,
    (sha256, bytes, parts): (&str, &[u8], Option<&Parts>),
    work: Option<&ImportedCommits>,
) -> Result<(), DaemonError> {
    let keeping = || DaemonError::io("keep the file below .swarm/state/imports");
    file(paths, sha256, bytes).map_err(keeping())?;
    if let Some(file) = parts.and_then(Parts::conversation) {
        keep_conversation(paths, sha256, file).map_err(keeping())?;
    }
    let bundle = parts.and_then(Parts::fitting_bundle);
    if let Some(bundle) = bundle.filter(|_| work.is_some()) {
        repo.import_bundle(bundle, sha256)?;
        crash::point("import.agent-fetched");
    }
    if let Some(work) = work {
        commits(repo, sha256, work)?;
    }
    crash::point("import.agent-kept");
    Ok(())
}

/// Writes the file, durably. Done already: it is written again.
pub(super) fn file(paths: &Paths, sha256: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = paths.imports();
    plain_file::make_folder(&paths.state)?;
    if plain_file::make_folder(&folder)? {
        File::open(&paths.state)?.sync_all()?;
    }
    let part = folder.join(format!("{sha256}.part"));
    remove::file_if_there(&part)?;
    let mut options = OpenOptions::new();
    let mut out = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)?;
    out.write_all(bytes)?;
    out.sync_all()?;
    crash::point("import.agent-written");
    fs::rename(&part, folder.join(format!("{sha256}{ENDING}")))?;
    File::open(&folder)?.sync_all()
}

/// Gives the unpacked conversation its place. Done already: it is replaced by the same.
fn keep_conversation(paths: &Paths, sha256: &str, file: &Path) -> io::Result<()> {
    File::open(file)?.sync_all()?;
    let folder = paths.imports();
    let part = folder.join(format!("{sha256}.part"));
    remove::file_if_there(&part)?;
    fs::hard_link(file, &part)?;
    fs::rename(&part, conversation(paths, sha256))?;
    // A rename onto the same file does nothing, and leaves both names.
    remove::file_if_there(&part)?;
    File::open(&folder)?.sync_all()
}

/// The references to commits of imported agents, but those of states that stay.
pub(in crate::daemon) fn references_but(
    repo: &Repo,
    stays: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Oid)>, GitError> {
    let mut found = repo.list_refs(IMPORTS)?;
    found.retain(|(name, _)| {
        let import = name
            .strip_prefix(IMPORTS)
            .and_then(|rest| rest.split('/').next());
        // Imports of whole swarms have shorter names.
        import.is_some_and(|sha256| is_sha256(sha256) && !stays(sha256))
    });
    Ok(found)
}

/// Keeps the commits.
fn commits(repo: &Repo, sha256: &str, work: &ImportedCommits) -> Result<(), GitError> {
    let name = format!("{IMPORTS}{sha256}/tip");
    repo.create_ref(&name, oid(&work.tip)?, "import")
}

/// Reads a kept file.
///
/// # Errors
/// It is gone, or no longer what was imported.
pub(super) fn read(paths: &Paths, imported: &ImportedAgent) -> io::Result<Vec<u8>> {
    let file = paths.imports().join(format!("{}{ENDING}", imported.sha256));
    let mut bytes = Vec::new();
    plain_file::open(&file)?
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    if sha256(&bytes) != imported.sha256 {
        let what = "it is no longer the file that was imported";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}
