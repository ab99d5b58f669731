//! Whether a hook's file may be run.
//!
//! Invariant: what an agent's landed work made of it is run only after a person has approved that very content.

use std::fs;
use std::path::{Path, PathBuf};

use super::GONE;
use crate::domain::hook::HookName;
use crate::domain::state::State;
use crate::git::{Brought, Changes, GitError, Oid, Repo, shown};
use crate::hooks::{self, Entry};

/// Why a hook is not run.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// Its file is not in order.
    #[error("it is not run: {0}")]
    Refused(#[from] hooks::Refused),
    /// Nobody has looked at what an agent made of it.
    #[error(
        "it is not run: {program} was {} by the landed work of {} ({:.10}), and nobody has approved that; look at it and approve it: {}",
        if brought.after.is_none() { "deleted" } else { "changed" },
        brought.ideas.join(", "),
        brought.commit,
        hook.approval()
    )]
    Unapproved {
        /// Which hook.
        hook: HookName,
        /// Its program.
        program: String,
        /// What came in.
        brought: Brought,
    },
    /// Git cannot say who brought it in.
    #[error("it is not run, for git cannot say who changed it: {0}")]
    Git(#[from] GitError),
    /// The file cannot be read.
    #[error("it is not run: {path} cannot be read: {source}")]
    Unreadable {
        /// Which.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Whether a hook may run; where its program lies.
pub(super) fn judge(
    repo: &Repo,
    changes: &Changes,
    approved: &[String],
    hook: HookName,
    entry: &Entry,
) -> Result<PathBuf, NotRun> {
    let unapproved = |brought| NotRun::Unapproved {
        hook,
        program: entry.program.clone(),
        brought,
    };
    let path = match hooks::look(repo.root(), &entry.program) {
        Ok(path) => path,
        Err(missing @ hooks::Refused::Missing(_)) => {
            return Err(match deleted(changes, approved, entry) {
                Some(brought) => unapproved(brought),
                None => missing.into(),
            });
        }
        Err(refused) => return Err(refused.into()),
    };
    match brought(repo, changes, approved, entry, &path)? {
        None => Ok(path),
        Some(brought) => Err(unapproved(brought)),
    }
}

/// The landing that deleted its file.
pub(super) fn deleted(changes: &Changes, approved: &[String], entry: &Entry) -> Option<Brought> {
    let known = |content| is_approved(approved, content);
    let brought = changes.brought(Path::new(&entry.program), known)?;
    brought.after.is_none().then_some(brought)
}

/// What landings brought into the file that is run, and into the link that leads to it, that nobody has approved.
pub(super) fn brought(
    repo: &Repo,
    changes: &Changes,
    approved: &[String],
    entry: &Entry,
    path: &Path,
) -> Result<Option<Brought>, NotRun> {
    if is_approved(approved, Some(content_of(path)?)) {
        return Ok(None);
    }
    let known = |content: Option<Oid>| is_approved(approved, content);
    if let Some(brought) = changes.brought(Path::new(&entry.program), known) {
        return Ok(Some(brought));
    }
    let root = fs::canonicalize(repo.root()).map_err(unreadable(repo.root()))?;
    let within = path.strip_prefix(&root).unwrap_or(path);
    if within == Path::new(&entry.program) {
        return Ok(None);
    }
    Ok(repo.changes_of(&[within])?.brought(within, known))
}

pub(super) fn is_approved(approved: &[String], content: Option<Oid>) -> bool {
    let name = content.map_or_else(|| GONE.to_owned(), |id| id.to_string());
    approved.contains(&name)
}

fn content_of(path: &Path) -> Result<Oid, NotRun> {
    let content = fs::read(path).map_err(unreadable(path))?;
    Ok(Repo::content_id(&content)?)
}

pub(super) fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> NotRun + use<> {
    let path = shown(path);
    move |source| NotRun::Unreadable { path, source }
}

pub(super) fn approved_in(state: &State, hook: HookName) -> &[String] {
    state.hooks_approved.get(&hook).map_or(&[], Vec::as_slice)
}
