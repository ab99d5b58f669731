//! Where worktrees lie and how git knows of them.
//!
//! Invariant: a worktree is a directory under `.swarm/worktrees` and an administrative directory
//! under `.git/worktrees` that point at each other. A directory moves by one rename; the pointer
//! back is set right afterwards, and a kill between the two is healed whenever the worktree is
//! looked up. A worktree disappears by renaming both parts into a trash directory, so that no half
//! of one is ever left to git. Names that begin with a dot are swarm's own:
//!
//! | name | is |
//! | --- | --- |
//! | `<agent>-<idea>` | complete, with an agent's work |
//! | `.new-<name>`, `.take-<name>` | being made, being taken over: see `prepare` |
//! | `.old-<name>`, `.pool-<n>` | nothing of value is in them: see `release`, `pool` |
//! | `.merge` | the one in which merged trees are verified |
//! | `.kept-<name>` | the repositories that an agent made inside its worktree: see `nested_repos` |
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
use crate::git::repo::{Head, Repo, read_head};
use crate::remove;

/// A worktree of ours, its two halves known to point at each other.
#[derive(Debug, Clone)]
pub(crate) struct Worktree {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) git_dir: PathBuf,
}

/// A worktree as git has it registered, anybody's.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    pub(crate) git_dir: PathBuf,
    pub(crate) path: PathBuf,
}

/// What lies at a name under `.swarm/worktrees`.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    /// Ours and complete.
    Ours(Worktree),
    /// A `git worktree add` of ours was killed in the middle of it.
    HalfMade,
    /// Not known to be ours, and why.
    Foreign(String),
}

impl Worktree {
    pub(crate) fn head(&self) -> Result<Head, GitError> {
        read_head(&self.git_dir)
    }

    pub(crate) fn git<'a>(&self, repo: &'a Repo) -> Git<'a> {
        repo.git_at(&self.git_dir, &self.path)
    }

    /// Refuses if something else than its own branch is checked out.
    pub(crate) fn require_branch(&self, branch: &str) -> Result<(), GitError> {
        let found = match self.head()? {
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

    /// Waits, within bounds, until nobody holds a lock of the index, `HEAD` or the like
    /// (`AUTO_MERGE` of a merge); takes away those that a dead git left.
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

    /// The lock files beside the index.
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
    /// Where the worktrees lie; made on first use.
    pub(crate) fn worktrees_dir(&self) -> Result<PathBuf, GitError> {
        let dir = self.root().join(".swarm").join("worktrees");
        let ignore = dir.join(".gitignore");
        if !ignore.exists() {
            fs::create_dir_all(&dir).at("make", &dir)?;
            // So that the person's `git status` and `git add` never see the worktrees.
            fs::write(&ignore, "*\n").at("write", &ignore)?;
        }
        Ok(dir)
    }

    /// The path of the worktree of that name, whether it is there or not.
    pub fn worktree_path(&self, name: &str) -> PathBuf {
        self.root().join(".swarm").join("worktrees").join(name)
    }

    /// Looks a name up, and sets right what a kill between two steps left.
    pub(crate) fn look_up(&self, name: &str) -> Result<Found, GitError> {
        let path = self.worktrees_dir()?.join(name);
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
        if let Some(why) = special_files::trap(&path) {
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

    /// A worktree that has to be there.
    pub(crate) fn worktree(&self, name: &str) -> Result<Worktree, GitError> {
        let path = self.worktree_path(name);
        match self.look_up(name)? {
            Found::Ours(worktree) => Ok(worktree),
            Found::Nothing => Err(GitError::WorktreeMissing {
                name: name.to_owned(),
            }),
            Found::HalfMade => Err(broken(&path, "it was never finished".into())),
            Found::Foreign(why) => Err(broken(&path, why)),
        }
    }

    /// The administrative directory that belongs to `path`, by what either half says.
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

    /// All linked worktrees that git knows, ours and the person's.
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

    /// Renames a worktree. The new name must be free.
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

    /// Takes whatever lies at `name`, and its registration, out of the way and deletes it.
    pub(crate) fn discard_directory(&self, name: &str) -> Result<(), GitError> {
        let path = self.worktrees_dir()?.join(name);
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

    /// Registrations of ours whose directory is gone; for use when no worktree is being moved.
    pub(crate) fn discard_stale_registrations(&self) -> Result<(), GitError> {
        let ours = self.worktrees_dir()?;
        for one in self.registered()? {
            if one.path.parent() == Some(&ours) && fs::symlink_metadata(&one.path).is_err() {
                let trash = self.new_trash()?;
                discard_registration(&one.git_dir, &trash)?;
                remove_tree(&trash)?;
            }
        }
        Ok(())
    }

    /// Registrations that a killed `git worktree add` of ours left half written; other git commands
    /// stumble over them. True if there was one. For use while none is being added.
    pub(crate) fn discard_half_registered(&self) -> Result<bool, GitError> {
        let dir = self.common_dir().join("worktrees");
        let mut any = false;
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            // Git names a registration after its directory: `.new-x` becomes `-new-x`.
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

    /// Names under `.swarm/worktrees` that begin with `prefix`, sorted.
    pub(crate) fn names_with(&self, prefix: &str) -> Result<Vec<String>, GitError> {
        let dir = self.worktrees_dir()?;
        let entries = fs::read_dir(&dir).at("read", &dir)?;
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
        names.sort();
        Ok(names)
    }

    fn new_trash(&self) -> Result<PathBuf, GitError> {
        let dir = self.worktrees_dir()?;
        let made = tempfile::Builder::new()
            .prefix(".trash-")
            .tempdir_in(&dir)
            .at("make a directory in", &dir)?;
        Ok(made.keep())
    }
}

fn unregistered(path: &Path) -> Result<Found, GitError> {
    if fs::read_dir(path).at("read", path)?.next().is_none() {
        return Ok(Found::HalfMade);
    }
    if path.join(".git").is_dir() {
        return Ok(Found::Foreign(
            "its .git is a directory, as if somebody had run `git init` in it".into(),
        ));
    }
    Ok(Found::Foreign(
        "git has no worktree registered there, so its files are not swarm's to touch".into(),
    ))
}

/// Whether the administrative directory points at `path`, or at where it lay before a rename that
/// was cut short.
fn may_belong(git_dir: &Path, path: &Path) -> bool {
    read_pointer(git_dir).is_none_or(|back| back == path || fs::symlink_metadata(back).is_err())
}

fn broken(path: &Path, why: String) -> GitError {
    GitError::WorktreeBroken {
        path: path.to_owned(),
        why,
        next: "Save what you need from it, then move it away".into(),
    }
}

fn is_half_written(git_dir: &Path) -> bool {
    let empty = |name: &str| fs::read(git_dir.join(name)).map_or(true, |text| text.is_empty());
    ["gitdir", "commondir", "HEAD"].into_iter().any(empty)
}

/// The work tree that an administrative directory points at.
fn read_pointer(git_dir: &Path) -> Option<PathBuf> {
    let text = special_files::read(&git_dir.join("gitdir")).ok()?;
    let file = path_of(text.trim_ascii_end());
    let file = if file.is_absolute() {
        file
    } else {
        git_dir.join(file)
    };
    let path = file.parent()?;
    // The part that is there is made comparable; the last name may be gone.
    let parent = fs::canonicalize(path.parent()?).ok();
    Some(parent.map_or_else(
        || path.to_owned(),
        |parent| parent.join(path.file_name().unwrap_or_default()),
    ))
}

/// Makes `file` say `prefix` and `target`, if it does not say so already in its own way. Replaced
/// in one step.
fn point_at(file: &Path, prefix: &[u8], target: &Path) -> Result<(), GitError> {
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

/// Takes a registration away in one step. Where the worktrees lie on a disk of their own that step
/// is the loss of its pointer, by which git and [`Repo::registered`] know it; git prunes what a
/// kill then leaves of it.
fn discard_registration(git_dir: &Path, trash: &Path) -> Result<(), GitError> {
    match rename_new(git_dir, &trash.join("git")) {
        Err(GitError::Io { source, .. }) if source.kind() == ErrorKind::CrossesDevices => {}
        other => return other,
    }
    let pointer = git_dir.join("gitdir");
    remove::file_if_there(&pointer).at("delete", &pointer)?;
    remove_tree(git_dir)
}

/// Renames; refuses to replace anything.
pub(crate) fn rename_new(from: &Path, to: &Path) -> Result<(), GitError> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(GitError::PathTaken {
            path: to.to_owned(),
            why: "a worktree was to be moved there".into(),
        });
    }
    fs::rename(from, to).at("rename", from)
}

/// Deletes a directory, also where programs left directories without write permission (package
/// caches do).
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

/// Best effort: what stays closed shows in the deletion that follows.
fn make_writable(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
