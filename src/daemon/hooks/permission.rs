//! Decides whether a hook's file may run. Called by the other files of this folder.
//!
//! Invariant: a file that an agent's landed work changed runs only after a person approved that
//! landing.

use std::path::{Path, PathBuf};

use crate::daemon::effects::failure::kind_of;
use crate::domain::hook::HookName;
use crate::domain::outcome::{Failure, FailureKind};
use crate::domain::state::State;
use crate::git::{Changes, GitError, Oid, Repo, UnapprovedChange, shown};
use crate::hooks::{self, Entry, Way};

/// Why a hook may not run.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// Its file is missing, not executable or not safe.
    #[error("it is not run: {0}")]
    Refused(#[from] hooks::Refused),
    /// Nobody has approved an agent's change of it.
    #[error(
        "it is not run: {program} was {} by the landed work of {} ({:.10}), which nobody has \
        approved; review and approve it: {}",
        if brought.after.is_none() { "deleted" } else { "changed" },
        brought.ideas.join(", "),
        brought.commit,
        hook.approval()
    )]
    Unapproved {
        /// The hook's name.
        hook: HookName,
        /// Its program.
        program: String,
        /// The change.
        brought: Box<UnapprovedChange>,
    },
    /// Git cannot tell which landing changed it.
    #[error("it is not run, because git cannot tell who changed it: {0}")]
    Git(#[from] GitError),
    /// The file cannot be read.
    #[error("it is not run: {path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl From<NotRun> for Failure {
    /// A refusal stands until a person acts. A git that was killed, or a disk error, may pass.
    fn from(error: NotRun) -> Self {
        let kind = match &error {
            NotRun::Refused(_) | NotRun::Unapproved { .. } => FailureKind::AgentUnusable,
            NotRun::Git(error) => kind_of(error),
            NotRun::Unreadable { source, .. } => kind_of(source),
        };
        Self {
            kind,
            message: error.to_string(),
        }
    }
}

/// Checks that a hook may run; returns the path of its program.
pub(super) fn check_permission(
    repo: &Repo,
    changes: &Changes,
    approved: &[String],
    hook: HookName,
    entry: &Entry,
) -> Result<PathBuf, NotRun> {
    let unapproved = |brought: UnapprovedChange| NotRun::Unapproved {
        hook,
        program: entry.program.clone(),
        brought: Box::new(brought),
    };
    let way = match hooks::inspect_program(repo.root(), &entry.program) {
        Ok(way) => way,
        Err(missing @ hooks::Refused::Missing(_)) => {
            return Err(match deleted(repo, changes, approved, entry) {
                Some(brought) => unapproved(brought),
                None => missing.into(),
            });
        }
        Err(refused) => return Err(refused.into()),
    };
    match brought(repo, changes, approved, entry, &way)?
        .into_iter()
        .next()
    {
        None => Ok(way.file),
        Some(brought) => Err(unapproved(brought)),
    }
}

/// The landing that removed its file or the hooks' folder.
pub(super) fn deleted(
    repo: &Repo,
    changes: &Changes,
    approved: &[String],
    entry: &Entry,
) -> Option<UnapprovedChange> {
    let file = deleted_file(repo, changes, approved, entry);
    file.or_else(|| other_folder(changes, approved, entry))
}

/// The landing that deleted its file.
pub(super) fn deleted_file(
    repo: &Repo,
    changes: &Changes,
    approved: &[String],
    entry: &Entry,
) -> Option<UnapprovedChange> {
    let known = |landing| is_approved(approved, landing);
    let names = hooks::names(repo.root(), &entry.program);
    let brought = names.iter().filter_map(|at| changes.brought(at, known));
    { brought }.find(|brought| brought.after.is_none())
}

/// The landing that replaced the hooks' folder (a link) by another folder or link.
pub(super) fn other_folder(
    changes: &Changes,
    approved: &[String],
    entry: &Entry,
) -> Option<UnapprovedChange> {
    if entry.from != hooks::From::Folder {
        return None;
    }
    let known = |landing| is_approved(approved, landing);
    changes.brought(Path::new(hooks::FOLDER), known)
}

/// Unapproved changes of the file that is run, and of each link that leads to it.
pub(super) fn brought(
    repo: &Repo,
    changes: &Changes,
    approved: &[String],
    entry: &Entry,
    way: &Way,
) -> Result<Vec<UnapprovedChange>, NotRun> {
    let known = |landing| is_approved(approved, landing);
    let program = Path::new(&entry.program);
    let mut all: Vec<UnapprovedChange> = changes.brought(program, known).into_iter().collect();
    let others: Vec<&Path> = way.within().filter(|at| *at != program).collect();
    if !others.is_empty() {
        let changes = repo.changes_of(&others)?;
        all.extend(others.iter().filter_map(|at| changes.brought(at, known)));
    }
    Ok(all)
}

/// Separates the approved content from the landings.
const BY: char = '@';
/// Separates landings.
const AND: char = ',';

/// The text of an approval: the content, and the last landing of each of these changes. A later
/// landing with the same content is not approved by it: it undoes what a person did since.
pub(super) fn approval(content: &str, all: &[UnapprovedChange]) -> String {
    let landings: Vec<String> = all.iter().map(|one| one.commit.to_string()).collect();
    format!("{content}{BY}{}", landings.join(&AND.to_string()))
}

pub(super) fn is_approved(approved: &[String], landing: Oid) -> bool {
    let landing = landing.to_string();
    let of = |approval: &String| {
        let landings = approval.split_once(BY).map(|(_, landings)| landings);
        landings.is_some_and(|all| all.split(AND).any(|one| one == landing))
    };
    approved.iter().any(of)
}

pub(super) fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> NotRun + use<> {
    let path = shown(path);
    move |source| NotRun::Unreadable { path, source }
}

pub(super) fn approved_in(state: &State, hook: HookName) -> &[String] {
    state.hooks_approved.get(&hook).map_or(&[], Vec::as_slice)
}
