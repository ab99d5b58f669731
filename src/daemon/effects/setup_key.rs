//! Computes the key of a tree's setup: it changes when the setup must run again.
//!
//! Invariant: equal configuration and equal files give the same key after any restart, and without
//! `worktree.env` in any worktree. It has nothing of files that git ignores.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::context::DriverContext;
use crate::daemon::files::hash::sha256;
use crate::daemon::runs::slot;
use crate::domain::outcome::Failure;
use crate::plain_file;

/// Key of the setup in a worktree; `None` if no setup is configured. Blocks.
pub(super) fn setup_key(context: &DriverContext, name: &str) -> Result<Option<String>, Failure> {
    let config = context.config();
    let worktree = &config.worktree;
    if worktree.setup.is_empty() {
        return Ok(None);
    }
    let tree = context.paths.worktree(name);
    let mut key = Vec::new();
    for list in [&worktree.setup, &worktree.setup_inputs] {
        for entry in list {
            add(&mut key, entry.as_bytes());
        }
        add(&mut key, b"");
    }
    // What a setup writes into a worktree may name its ports and its database.
    for (variable, value) in slot::configured(context, name) {
        add(&mut key, variable.as_bytes());
        add(&mut key, value.as_bytes());
    }
    if let Some(base) = slot::moved_to(context, name) {
        add(&mut key, &base.to_le_bytes());
    }
    for path in context.repo.matching_files(name, &worktree.setup_inputs)? {
        add(&mut key, path.as_os_str().as_bytes());
        let found = content(&tree.join(&path))
            .map_err(|error| Failure::other(format!("cannot read {}: {error}", path.display())))?;
        add(&mut key, &found);
    }
    for (path, commit) in context.repo.submodules(name)? {
        add(&mut key, path.as_os_str().as_bytes());
        add(&mut key, commit.as_bytes());
    }
    Ok(Some(sha256(&key)))
}

fn add(key: &mut Vec<u8>, part: &[u8]) {
    key.extend(part.len().to_le_bytes());
    key.extend(part);
}

/// What stands for the content of a file: its digest, or what is there instead.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = match plain_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(b"missing".to_vec()),
        Err(error) if plain_file::other_kind(&error).is_some() => {
            let link = fs::read_link(path).unwrap_or_default();
            return Ok([b"other ".as_slice(), link.as_os_str().as_bytes()].concat());
        }
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(sha256(&bytes).into_bytes())
}
