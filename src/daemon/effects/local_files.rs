//! Copies ignored files of the person's checkout (`worktree.copy`) into a worktree.
//!
//! Invariant: a copy is a regular file inside the worktree that git ignores there, with the content
//! and the mode of the person's. It appears by one rename. No content, and no digest of it, leaves
//! this file: it may be a secret.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use super::context::DriverContext;
use super::failure::kind_of;
use crate::crash;
use crate::domain::outcome::{Failure, FailureKind};
use crate::git::PathStatus;
use crate::{plain_file, remove};

/// Permission bits of a mode.
const MODE: u32 = 0o777;

/// Why a file is not copied.
enum Refusal {
    /// The configuration or the person's checkout must change: every worktree meets it.
    Everywhere(String),
    /// It is missing, or this worktree has no place for it.
    Here(String),
    Failed(Failure),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed(Failure {
            kind: kind_of(&error),
            message: format!("cannot copy a file of worktree.copy: {error}"),
        })
    }
}

/// Brings the copies in a worktree up to date. Returns why some files could not be copied, for
/// people. Blocks.
pub(super) fn copy(context: &DriverContext, name: &str) -> Result<Vec<String>, Failure> {
    let config = context.config();
    let paths = &config.worktree.copy;
    let mut not_copied = Vec::new();
    if paths.is_empty() {
        return Ok(not_copied);
    }
    context.repo.note_copies(name, paths)?;
    for path in paths {
        match copy_one(context, name, path) {
            Ok(()) => {}
            Err(Refusal::Here(why)) => not_copied.push(why),
            Err(Refusal::Everywhere(why)) => {
                return Err(Failure {
                    kind: FailureKind::Repository,
                    message: why,
                });
            }
            Err(Refusal::Failed(failure)) => return Err(failure),
        }
    }
    Ok(not_copied)
}

fn copy_one(context: &DriverContext, name: &str, path: &str) -> Result<(), Refusal> {
    let Some(source) = source(context, path)? else {
        return Err(Refusal::Here(format!(
            "`{path}` of worktree.copy does not exist in your checkout, so worktrees do not get \
            it; create it, or remove it from worktree.copy in .swarm/config.json"
        )));
    };
    let tree = context.paths.worktree(name);
    // Git fails on a path behind a link.
    parents(&tree, path, false).map_err(|error| refuse_parents(error, name, path))?;
    let status = context.repo.path_status_in(name, path);
    match status.map_err(|error| Refusal::Failed(error.into()))? {
        PathStatus::Ignored => {}
        PathStatus::Tracked | PathStatus::Untracked => {
            return Err(Refusal::Here(format!(
                "`{path}` is not copied into the worktree {name}: the branch there does not \
                ignore it"
            )));
        }
    }
    parents(&tree, path, true).map_err(|error| refuse_parents(error, name, path))?;
    let place = tree.join(path);
    if is_current(&source, &place)? {
        return Ok(());
    }
    if fs::symlink_metadata(&place).is_ok_and(|there| there.is_dir()) {
        return Err(Refusal::Here(format!(
            "`{path}` is not copied into the worktree {name}: there is a folder in its place"
        )));
    }
    let draft = context.paths.state.join(format!("copy-{name}"));
    remove::file_if_there(&draft)?;
    write(source, &draft)?;
    crash::point("setup.copy.written");
    Ok(fs::rename(&draft, &place)?)
}

/// The person's file; `None` if there is none.
fn source(context: &DriverContext, path: &str) -> Result<Option<File>, Refusal> {
    let advice = "remove it from worktree.copy in .swarm/config.json; then: swarm resume";
    let refuse =
        |why: &str| Refusal::Everywhere(format!("cannot copy `{path}`: {why}, or {advice}"));
    let root = &context.paths.root;
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    let mut folder = root.clone();
    for part in &parts[..parts.len().saturating_sub(1)] {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(there) if there.is_symlink() => {
                return Err(refuse(
                    "a folder on its path is a symbolic link, which may lead out of the \
                    repository. Use a real folder",
                ));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    let file = match plain_file::open(&root.join(path)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(match plain_file::other_kind(&error) {
                Some(what) => refuse(&format!(
                    "it is {what}, and swarm copies only regular files. Put the file itself there"
                )),
                None => error.into(),
            });
        }
    };
    let status = context.repo.path_status(path);
    match status.map_err(|error| Refusal::Failed(error.into()))? {
        PathStatus::Ignored => Ok(Some(file)),
        PathStatus::Tracked => Err(refuse(
            "git tracks it, so every worktree has its own version. Untrack it (git rm --cached) \
            and ignore it",
        )),
        PathStatus::Untracked => Err(refuse(
            "git does not ignore it, so an agent could commit it. Add it to .gitignore",
        )),
    }
}

fn refuse_parents(error: io::Error, name: &str, path: &str) -> Refusal {
    if error.kind() == io::ErrorKind::NotADirectory {
        return Refusal::Here(format!(
            "`{path}` is not copied into the worktree {name}: a part of its path there is not \
            a folder"
        ));
    }
    error.into()
}

/// Checks that the folders of a path below `tree` are no links; with `make`, makes missing ones.
fn parents(tree: &Path, path: &str, make: bool) -> io::Result<()> {
    let mut folder = tree.to_owned();
    let parents = Path::new(path).parent().into_iter();
    for part in parents.flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(there) if there.is_dir() => {}
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && make => {
                fs::DirBuilder::new().mode(0o755).create(&folder)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the copy has the content and the mode of the person's file.
fn is_current(mut source: &File, place: &Path) -> io::Result<bool> {
    use std::io::Seek as _;
    let mut copy = match plain_file::open(place) {
        Ok(copy) => copy,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if plain_file::other_kind(&error).is_some() => return Ok(false),
        Err(error) => return Err(error),
    };
    let (ours, theirs) = (copy.metadata()?, source.metadata()?);
    let mode = |file: &fs::Metadata| file.permissions().mode() & MODE;
    if ours.len() != theirs.len() || mode(&ours) != mode(&theirs) {
        return Ok(false);
    }
    let (mut one, mut other) = (Vec::new(), Vec::new());
    copy.read_to_end(&mut one)?;
    source.read_to_end(&mut other)?;
    source.rewind()?;
    Ok(one == other)
}

fn write(mut source: File, draft: &Path) -> io::Result<()> {
    let mode = source.metadata()?.permissions().mode() & MODE;
    let mut options = fs::OpenOptions::new();
    let mut copy = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_permissions(Permissions::from_mode(mode))
}
