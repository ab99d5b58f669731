//! Whose name swarm's own commits carry, whether they are signed, and which hooks they skip.
//!
//! Invariant: `check_commits` refuses a start whose first landing could not be committed.

use crate::config::{Config, MergeSign};
use crate::daemon::error::DaemonError;
use crate::git::{GitError, Repo};

/// Something that a person should know of swarm's commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitNote {
    /// What is so.
    pub what: String,
    /// The command that changes it; `None` if nothing is wrong.
    pub way_out: Option<&'static str>,
}

/// Checks that a commit can be made: somebody's name is known, and a signature works.
///
/// # Errors
/// [`GitError::NoIdentity`], [`GitError::CannotSign`], or git cannot be asked.
pub(super) fn check_commits(config: &Config, repo: &Repo) -> Result<(), DaemonError> {
    repo.never_sign(config.merge.sign == MergeSign::Never);
    repo.identity()?;
    Ok(repo.try_signing()?)
}

/// Whether the repository has hooks that leftovers must pass.
///
/// # Errors
/// Git cannot be asked.
pub(in crate::daemon) fn leftovers_pass_hooks(
    config: &Config,
    repo: &Repo,
) -> Result<bool, GitError> {
    Ok(config.merge.commit_hooks && !repo.commit_hooks()?.is_empty())
}

/// What swarm's commits will look like, as far as it is not what everybody expects.
///
/// # Errors
/// As for a start.
pub fn commit_notes(sign: MergeSign, repo: &Repo) -> Result<Vec<CommitNote>, GitError> {
    let mut notes = Vec::new();
    if !repo.identity()?.configured {
        notes.push(CommitNote {
            what: "git knows no name and e-mail address here, so swarm commits as swarm \
                <swarm@localhost>"
                .to_owned(),
            way_out: Some("git config user.name NAME && git config user.email ADDRESS"),
        });
    }
    let signing = repo.signing()?;
    if signing.commits {
        let (what, way_out) = match sign {
            MergeSign::Auto => {
                repo.try_signing()?;
                (
                    "git signs commits here; swarm signs its own with the same key",
                    None,
                )
            }
            MergeSign::Never => (
                "git signs commits here; swarm's own are unsigned, because `merge.sign` is `never`",
                Some("swarm config set merge.sign auto"),
            ),
        };
        let what = what.to_owned();
        notes.push(CommitNote { what, way_out });
    }
    let hooks = repo.commit_hooks()?;
    if !hooks.is_empty() {
        let what = format!(
            "what an agent leaves uncommitted must pass the hooks of this repository ({}); swarm's \
            merge commits run none, so put what must hold into `qualityCommands`",
            hooks.join(", ")
        );
        let what = match repo.ignored_hooks()? {
            None => what,
            Some(folder) => format!(
                "{what}. Git ignores their folder {}, so a worktree has them only where a command \
                in `worktree.setup` makes them, as `npx husky` does",
                folder.display()
            ),
        };
        notes.push(CommitNote {
            what,
            way_out: None,
        });
    }
    Ok(notes)
}
