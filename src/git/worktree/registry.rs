//! Where worktrees lie and how git knows them.
//!
//! Invariant: a worktree is a directory in the folder of the worktrees (`worktrees_folder`) and an
//! administrative directory in `.git/worktrees` that point to each other. One rename moves a
//! directory; the pointer back is fixed afterwards, and a lookup repairs it after a kill in
//! between. To delete a worktree, both parts are renamed into a trash directory. Names that start
//! with a dot are swarm's own:
//!
//! | name | is |
//! | --- | --- |
//! | `w01` | a complete worktree with an agent's work |
//! | `.new-<name>`, `.take-<name>` | being created, being taken over: see `prepare` |
//! | `.old-<name>`, `.pool-<name>` | released: see `release`, `pool` |
//! | `verify` | verifies merged trees and the untouched target |
//! | `control` | verifies the untouched target while a failed check is in doubt |
//! | `replay` | for the replay of a record: see `replay_tree` |
//! | `.kept-<attempt>` | repositories created inside a worktree: see `nested_repos` |
//! | `.trash-<n>` | to be deleted |

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::relocated;
use crate::git::error::{At, GitError};
use crate::git::exec::command::Git;
use crate::git::exec::lock_files::{self, Lock};
use crate::git::exec::special_files;
use crate::git::objects::names::path_of;
use crate::git::repo::{Head, Repo};
use crate::git::worktrees_folder::{self, OWNER};
use crate::remove;

/// A worktree of swarm whose two halves point to each other.
#[derive(Debug, Clone)]
pub(crate) struct Worktree {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) git_dir: PathBuf,
}

/// A worktree registered in git, swarm's or not.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    pub(crate) git_dir: PathBuf,
    pub(crate) path: PathBuf,
}

/// What a name in the folder of the worktrees refers to.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    /// A complete worktree of swarm.
    Ours(Worktree),
    /// Left by a killed `git worktree add` of swarm.
    HalfMade,
    /// Not recognised as swarm's, with the reason.
    Foreign(String),
}

impl Worktree {
    pub(crate) fn head(&self, repo: &Repo) -> Result<Head, GitError> {
        repo.head_at(&self.git_dir, &self.path)
    }

    pub(crate) fn git<'a>(&self, repo: &'a Repo) -> Git<'a> {
        repo.git_at(&self.git_dir, &self.path)
    }

    /// Fails unless its own branch is checked out.
    pub(crate) fn require_branch(&self, repo: &Repo, branch: &str) -> Result<(), GitError> {
        let found = match self.head(repo)? {
            Head::Branch(found) if found == branch => return Ok(()),
            Head::Branch(found) => format!("branch {found}"),
            Head::Detached(oid) => format!("commit {oid} without a branch"),
        };
        Err(GitError::OffBranch {
            name: self.name.clone(),
            found,
            branch: branch.to_owned(),
        })
    }

    /// Waits, up to a limit, until nobody holds a lock of the index, `HEAD` or `AUTO_MERGE`;
    /// removes locks left by a dead git.
    pub(crate) fn free_locks(&self, repo: &Repo) -> Result<(), GitError> {
        let end = std::time::Instant::now() + repo.lock_wait();
        for lock in self.locks()? {
            loop {
                match lock_files::inspect_lock(&lock)? {
                    Lock::Absent => break,
                    Lock::Dead => lock_files::remove_if_dead(&lock)?,
                    Lock::Held if std::time::Instant::now() < end => {
                        crate::git::exec::command::pause();
                    }
                    Lock::Held => return Err(lock_files::held(&lock)),
                }
            }
        }
        Ok(())
    }

    /// Lock files beside the index.
    fn locks(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.git_dir).at("list", &self.git_dir)? {
            let path = entry.at("list", &self.git_dir)?.path();
            if path.extension().is_some_and(|ending| ending == "lock") {
                found.push(path);
            }
        }
        Ok(found)
    }
}

impl Repo {
    /// Folder of the worktrees, to make or remove something in it. Made again if it is gone.
    pub(crate) fn worktrees_dir(&self) -> Result<PathBuf, GitError> {
        let dir = self.worktrees_folder();
        if !dir.join(OWNER).exists() {
            if worktrees_folder::read(self.common_dir()).is_none() {
                return Err(GitError::NoPlace {
                    why: "the first `swarm start` chooses it".into(),
                });
            }
            worktrees_folder::make(&dir, self.common_dir())?;
        }
        Ok(dir)
    }

    /// Path of the worktree of this name, whether or not it exists.
    pub fn worktree_path(&self, name: &str) -> PathBuf {
        self.worktrees_folder().join(name)
    }

    /// Looks a name up, and repairs what a kill between two steps left.
    pub(crate) fn look_up(&self, name: &str) -> Result<Found, GitError> {
        let path = self.worktree_path(name);
        let Ok(meta) = fs::symlink_metadata(&path) else {
            return Ok(Found::Nothing);
        };
        if !meta.is_dir() {
            return Ok(Found::Foreign("it is not a directory".into()));
        }
        special_files::clear_pointer(&path)?;
        let Some(git_dir) = self.git_dir_of(&path)? else {
            return unregistered(&path);
        };
        special_files::clear_administrative(&git_dir)?;
        if let Some(why) = special_files::find_special(&path) {
            return Ok(Found::Foreign(why));
        }
        if fs::read(git_dir.join("locked")).is_ok_and(|why| why.starts_with(b"initializing")) {
            return Ok(Found::HalfMade);
        }
        point_at(&path.join(".git"), b"gitdir: ", &git_dir)?;
        point_at(&git_dir.join("gitdir"), b"", &path.join(".git"))?;
        let name = name.to_owned();
        Ok(Found::Ours(Worktree {
            name,
            path,
            git_dir,
        }))
    }

    /// The worktree of this name; an error if it is missing or damaged.
    pub(crate) fn worktree(&self, name: &str) -> Result<Worktree, GitError> {
        let path = self.worktree_path(name);
        match self.look_up(name)? {
            Found::Ours(worktree) => Ok(worktree),
            Found::Nothing => Err(GitError::WorktreeMissing {
                name: name.to_owned(),
            }),
            Found::HalfMade => Err(broken(&path, "its creation was interrupted".into())),
            Found::Foreign(why) => Err(broken(&path, why)),
        }
    }

    /// Administrative directory of `path`, according to either half.
    fn git_dir_of(&self, path: &Path) -> Result<Option<PathBuf>, GitError> {
        if fs::symlink_metadata(path.join(".git")).is_ok_and(|meta| meta.is_dir()) {
            return Ok(None);
        }
        if let Some(git_dir) = self.named_by(path).filter(|dir| may_belong(dir, path)) {
            return Ok(Some(git_dir));
        }
        let all = self.registered()?;
        let here = all.iter().find(|one| one.path == path);
        Ok(here
            .map(|one| one.git_dir.clone())
            .or_else(|| relocated::left_behind(path, &all)))
    }

    fn named_by(&self, path: &Path) -> Option<PathBuf> {
        let here = |named: &PathBuf| named.parent() == Some(&self.common_dir().join("worktrees"));
        relocated::named_by(path)
            .filter(here)
            .filter(|named| named.exists())
    }

    /// All linked worktrees registered in git, swarm's and the person's.
    pub(crate) fn registered(&self) -> Result<Vec<Registered>, GitError> {
        let dir = self.common_dir().join("worktrees");
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(GitError::io("read", &dir, error)),
        };
        let each = entries.flatten().map(|entry| entry.path());
        Ok(each
            .filter_map(|git_dir| read_pointer(&git_dir).map(|path| Registered { git_dir, path }))
            .collect())
    }

    /// Renames a worktree. The new name must not exist.
    pub(crate) fn rename_worktree(
        &self,
        worktree: &Worktree,
        name: &str,
    ) -> Result<Worktree, GitError> {
        let path = self.worktrees_dir()?.join(name);
        rename_new(&worktree.path, &path)?;
        crate::crash::point("git.rename.between");
        point_at(&worktree.git_dir.join("gitdir"), b"", &path.join(".git"))?;
        Ok(Worktree {
            name: name.to_owned(),
            path,
            git_dir: worktree.git_dir.clone(),
        })
    }

    /// Moves whatever is at `name`, with its registration, to the trash and deletes it.
    pub(crate) fn discard_directory(&self, name: &str) -> Result<(), GitError> {
        let path = self.worktree_path(name);
        let git_dir = self.git_dir_of(&path)?;
        let trash = self.new_trash()?;
        if fs::symlink_metadata(&path).is_ok() {
            rename_new(&path, &trash.join("tree"))?;
        }
        crate::crash::point("git.discard.between");
        if let Some(git_dir) = git_dir {
            discard_registration(&git_dir, &trash)?;
        }
        remove_tree(&trash)
    }

    /// Discards swarm's registrations without a directory. Must not run while a worktree is moved.
    pub(crate) fn discard_stale_registrations(&self) -> Result<(), GitError> {
        let ours = self.worktrees_folder();
        for one in self.registered()? {
            if one.path.parent() == Some(&ours) && fs::symlink_metadata(&one.path).is_err() {
                let trash = self.new_trash()?;
                discard_registration(&one.git_dir, &trash)?;
                remove_tree(&trash)?;
            }
        }
        Ok(())
    }

    /// Discards the registrations of a directory that is gone.
    pub(crate) fn discard_registrations_of(&self, path: &Path) -> Result<(), GitError> {
        for one in self.registered()? {
            if one.path == path && fs::symlink_metadata(path).is_err() {
                let trash = self.new_trash()?;
                discard_registration(&one.git_dir, &trash)?;
                remove_tree(&trash)?;
            }
        }
        Ok(())
    }

    /// Discards registrations that a killed `git worktree add` of swarm left half written; other
    /// git commands fail on them. Returns whether there was one. Must not run while one is added.
    pub(crate) fn discard_half_registered(&self) -> Result<bool, GitError> {
        let dir = self.common_dir().join("worktrees");
        let mut any = false;
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            // Git derives the registration's name from the directory: `.new-x` becomes `-new-x`.
            let git_dir = entry.path();
            let ours = entry.file_name().as_bytes().starts_with(b"-");
            if ours && is_half_written(&git_dir) {
                let trash = self.new_trash()?;
                rename_new(&git_dir, &trash.join("git"))?;
                remove_tree(&trash)?;
                any = true;
            }
        }
        Ok(any)
    }

    /// Discards the registrations of another repository's worktrees, which a copy of it has: there,
    /// they would hold branches that nobody has checked out.
    pub(crate) fn discard_copied_registrations(&self) -> Result<(), GitError> {
        for one in self.registered()? {
            let folder = one.path.parent();
            if folder.is_some_and(|it| worktrees_folder::is_of_another(it, self.common_dir())) {
                let trash = self.new_trash()?;
                discard_registration(&one.git_dir, &trash)?;
                remove_tree(&trash)?;
            }
        }
        Ok(())
    }

    /// Names in the folder of the worktrees that start with `prefix`, sorted. A link is none: setup
    /// commands put links to other projects beside the worktrees.
    pub(crate) fn names_with(&self, prefix: &str) -> Result<Vec<String>, GitError> {
        let dir = self.worktrees_folder();
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(GitError::io("read", &dir, error)),
        };
        let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let names = entries
            .flatten()
            .filter(|entry| !is_link(entry))
            .filter_map(|entry| entry.file_name().into_string().ok());
        let names = names.filter(|name| name.starts_with(prefix) && name != OWNER);
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    pub(crate) fn new_trash(&self) -> Result<PathBuf, GitError> {
        let dir = self.worktrees_dir()?;
        let made = tempfile::Builder::new()
            .prefix(".trash-")
            .tempdir_in(&dir)
            .at("make a directory in", &dir)?;
        Ok(made.keep())
    }
}

pub(crate) fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unregistered(path: &Path) -> Result<Found, GitError> {
    if fs::read_dir(path).at("read", path)?.next().is_none() {
        return Ok(Found::HalfMade);
    }
    if path.join(".git").is_dir() {
        return Ok(Found::Foreign(
            "its .git is a directory, as after `git init`".into(),
        ));
    }
    Ok(Found::Foreign(
        "git has no worktree registered there, so swarm does not touch its files".into(),
    ))
}

/// Whether the administrative directory points to `path`, or to where it was before an interrupted
/// rename.
fn may_belong(git_dir: &Path, path: &Path) -> bool {
    read_pointer(git_dir).is_none_or(|back| back == path || fs::symlink_metadata(back).is_err())
}

fn broken(path: &Path, why: String) -> GitError {
    GitError::WorktreeBroken {
        path: path.to_owned(),
        why,
        next: "Save what you need from it, then move it elsewhere".into(),
    }
}

fn is_half_written(git_dir: &Path) -> bool {
    let empty = |name: &str| fs::read(git_dir.join(name)).map_or(true, |text| text.is_empty());
    ["gitdir", "commondir", "HEAD"].into_iter().any(empty)
}

/// Work tree that an administrative directory points to.
fn read_pointer(git_dir: &Path) -> Option<PathBuf> {
    let text = special_files::read(&git_dir.join("gitdir")).ok()?;
    let file = path_of(text.trim_ascii_end());
    let file = if file.is_absolute() {
        file
    } else {
        git_dir.join(file)
    };
    let path = file.parent()?;
    // Canonicalises the parent, which must exist; the directory itself may be gone.
    let parent = fs::canonicalize(path.parent()?).ok();
    Some(parent.map_or_else(
        || path.to_owned(),
        |parent| parent.join(path.file_name().unwrap_or_default()),
    ))
}

/// Writes `prefix` and `target` to `file` in one step, unless it already means the same.
pub(crate) fn point_at(file: &Path, prefix: &[u8], target: &Path) -> Result<(), GitError> {
    let said = fs::read(file).ok().and_then(|text| {
        let path = path_of(text.strip_prefix(prefix)?.trim_ascii_end());
        let path = file.parent()?.join(path);
        Some(fs::canonicalize(&path).unwrap_or(path))
    });
    if said.as_deref() == Some(target) {
        return Ok(());
    }
    let content = [prefix, target.as_os_str().as_bytes(), b"\n"].concat();
    let mut temporary: Vec<u8> = file.as_os_str().as_bytes().to_vec();
    temporary.extend(b".swarm-new");
    let temporary = PathBuf::from(OsString::from_vec(temporary));
    fs::write(&temporary, content).at("write", &temporary)?;
    fs::rename(&temporary, file).at("write", file)
}

/// Removes a registration in one step. If the worktrees are on another file system, that step
/// deletes its pointer, by which git and [`Repo::registered`] find it; git prunes the rest.
fn discard_registration(git_dir: &Path, trash: &Path) -> Result<(), GitError> {
    match rename_new(git_dir, &trash.join("git")) {
        Err(GitError::Io { source, .. }) if source.kind() == ErrorKind::CrossesDevices => {}
        other => return other,
    }
    let pointer = git_dir.join("gitdir");
    remove::file_if_there(&pointer).at("delete", &pointer)?;
    remove_tree(git_dir)
}

/// Renames a path; never replaces anything.
pub(crate) fn rename_new(from: &Path, to: &Path) -> Result<(), GitError> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(GitError::PathTaken {
            path: to.to_owned(),
            why: "swarm needs this path for a worktree".into(),
        });
    }
    fs::rename(from, to).at("rename", from)
}

/// Deletes a directory even if programs left subdirectories without write permission, as package
/// caches do.
pub(crate) fn remove_tree(path: &Path) -> Result<(), GitError> {
    match remove::tree(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_writable(path);
            remove::tree(path).at("delete", path)
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("delete", path),
        _ => Ok(()),
    }
}

/// Best effort: a directory that stays read-only makes the deletion below fail.
fn make_writable(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
