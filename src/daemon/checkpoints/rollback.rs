//! Checks a rollback and moves the target. Called by `effects::attempt`.
//!
//! Invariant: the check changes nothing. The move is a compare-and-swap that updates all checkouts
//! of the target or none; uncommitted changes in the way prevent it.

use std::collections::BTreeMap;

use super::{file, file_reference, reference_of, work_refs};
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::{oid, ours};
use crate::daemon::effects::merge::submodules_behind;
use crate::daemon::files::hash::sha256;
use crate::daemon::files::paths::Paths;
use crate::domain::effect;
use crate::domain::ids::{CheckpointName, IdeaId, Oid};
use crate::domain::outcome::{
    CheckRollbackOutcome, CheckoutBlocked, Failure, FailureKind, MoveTargetOutcome,
};
use crate::domain::state::checkpoint::{IdeaThen, SavedWork};
use crate::git::{self, Blocked, GitError, Land, LandOutcome, Repo, read_plain};

/// Without it nothing works any more, not even the way back.
const CONFIG: &str = ".swarm/config.json";

/// What a rollback makes of the ideas, if it can be done. Blocks.
pub(in crate::daemon) fn check(
    context: &DriverContext,
    effect: &effect::CheckRollback,
) -> Result<CheckRollbackOutcome, Failure> {
    let effect::CheckRollback {
        name,
        commit,
        tag,
        sha256,
        target,
        from,
        ..
    } = effect;
    let wanted = Recorded {
        name,
        commit,
        tag,
        sha256,
    };
    let ideas = wanted.ideas(&context.repo, &context.paths, Some(target))?;
    let ideas = ideas.map_err(|why| refused(name, &why))?;
    if let Ok(bytes) = file::bytes(&context.repo, name) {
        file::show(&context.paths, name, &bytes);
    }
    let Some(now) = context.repo.branch_commit(target)? else {
        return Err(Failure::other(format!(
            "the target branch `{target}` is gone; swarm status has the command that brings it back"
        )));
    };
    if let Some(shown) = from.as_ref().filter(|shown| **shown != ours(now)) {
        return Err(Failure {
            kind: FailureKind::Repository,
            message: format!(
                "`{target}` has moved since the preview, from {shown:.10} to {now:.10}; preview \
                again: swarm rollback {name} --dry-run"
            ),
        });
    }
    if let Some(gone) = context.repo.missing_object(now, oid(commit)?)? {
        return Err(refused(name, &format!("the repository is damaged: {gone}")));
    }
    let in_the_way = context.repo.checkouts_blocking(target, now, oid(commit)?)?;
    Ok(match in_the_way.into_iter().next() {
        Some(blocked) => CheckRollbackOutcome::CheckoutBlocked(blocked_by(blocked)),
        None => CheckRollbackOutcome::Ready(ideas),
    })
}

fn blocked_by(blocked: Blocked) -> CheckoutBlocked {
    CheckoutBlocked {
        reason: told(&blocked),
        files: blocked.files,
        passes: false,
    }
}

/// What stops a rollback, and the command that clears the way.
pub(super) fn told(blocked: &Blocked) -> String {
    let place = blocked.worktree.display();
    match &*blocked.command {
        "" => format!("in {place}: {}", blocked.reason),
        command => {
            format!(
                "in {place}: uncommitted files would be overwritten; move them out of the way: \
                {command}"
            )
        }
    }
}

/// Nothing has changed and nothing will by itself.
fn refused(name: &CheckpointName, why: &str) -> Failure {
    Failure {
        kind: FailureKind::Repository,
        message: format!("cannot roll back to checkpoint `{name}`: {why}"),
    }
}

/// A checkpoint as the log has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorded<'a> {
    pub(super) name: &'a CheckpointName,
    pub(super) commit: &'a Oid,
    pub(super) tag: &'a Oid,
    pub(super) sha256: &'a str,
}

impl Recorded<'_> {
    /// The ideas as a rollback of the target to it leaves them, or why it cannot be trusted.
    pub(super) fn ideas(
        &self,
        repo: &Repo,
        paths: &Paths,
        target: Option<&str>,
    ) -> Result<Result<BTreeMap<IdeaId, IdeaThen>, String>, GitError> {
        if let Some(why) = self.tag_trouble(repo)? {
            return Ok(Err(why));
        }
        let (file, found) = match file::read(repo, self.name) {
            Ok(read) => read,
            Err(fault @ file::FileFault::Newer { .. }) => return Ok(Err(fault.to_string())),
            Err(fault) => return Ok(Err(format!("{fault}; {}", self.way_back(paths)))),
        };
        if found != self.sha256 {
            return Ok(Err(format!(
                "its file {} has changed (SHA-256 {found:.12}, not {:.12}); {}",
                file_reference(self.name),
                self.sha256,
                self.way_back(paths)
            )));
        }
        if let Some(target) = target
            && let Some(now) = repo.branch_commit(target)?
            && repo.blob_at(now, CONFIG)?.is_some()
            && repo.blob_at(oid(self.commit)?, CONFIG)?.is_none()
        {
            return Ok(Err(format!(
                "it is older than the commit that added {CONFIG}, so a rollback would delete \
                swarm's own configuration; untrack it first: git rm -r -q --cached .swarm && git \
                commit -m 'Untrack .swarm'"
            )));
        }
        // Where that branch is gone it was renamed, and this is it.
        if let Some(target) = target.filter(|target| **target != *file.target)
            && repo.branch_commit(&file.target)?.is_some()
        {
            let of = &file.target;
            return Ok(Err(format!(
                "it belongs to the branch `{of}`, but the target is now `{target}`; make `{of}` \
                the target again (`target` in .swarm/config.json)"
            )));
        }
        let mut works = file.works();
        if let Some(why) = self.work_trouble(repo, &works)? {
            return Ok(Err(why));
        }
        let ideas = file.state_snapshot.ideas.iter();
        Ok(Ok(ideas
            .map(|(id, idea)| (id.clone(), IdeaThen::of(idea, works.remove(id))))
            .collect()))
    }

    /// Why agents' work in it cannot be used, or not for long.
    fn work_trouble(
        &self,
        repo: &Repo,
        works: &BTreeMap<IdeaId, SavedWork>,
    ) -> Result<Option<String>, GitError> {
        for (id, work) in works {
            if let Some(gone) = missing(repo, oid(self.commit)?, work)? {
                let agent = &work.agent;
                return Ok(Some(format!("the work of {agent} on {id} is gone: {gone}")));
            }
        }
        let missing = work_refs::missing(repo, self.name, works.values())?;
        Ok(work_refs::problem(self.name, &missing))
    }

    /// What brings the file in git back.
    fn way_back(&self, paths: &Paths) -> String {
        let path = file::path_of(paths, self.name);
        let copy = read_plain(&path).is_ok_and(|view| sha256(&view) == self.sha256);
        if !copy {
            return "restore the repository's objects and refs/swarm/ from a backup".to_owned();
        }
        format!(
            "restore it: git update-ref {} $(git hash-object -w --no-filters {})",
            file_reference(self.name),
            git::quoted(&path)
        )
    }

    fn tag_trouble(&self, repo: &Repo) -> Result<Option<String>, GitError> {
        let (full, commit, tag) = (reference_of(self.name), self.commit, self.tag);
        if repo.resolve_commit(commit.as_str())?.is_none() {
            return Ok(Some(format!(
                "its commit {commit:.10} is gone: git has pruned it"
            )));
        }
        let back = format!("restore it: git update-ref {full} {tag}");
        Ok(match repo.tag(&full)? {
            None => Some(format!("its reference {full} was deleted; {back}")),
            Some(found) if found.oid != oid(tag)? => Some(format!(
                "its reference {full} was moved to {:.10}; {back}",
                found.oid
            )),
            Some(_) => None,
        })
    }
}

fn missing(repo: &Repo, base: git::Oid, work: &SavedWork) -> Result<Option<String>, GitError> {
    for commit in std::iter::once(&work.tip).chain(&work.wip) {
        if repo.resolve_commit(commit.as_str())?.is_none() {
            return Ok(Some(format!("git no longer has commit {commit:.10}")));
        }
        if let Some(gone) = repo.missing_object(base, oid(commit)?)? {
            return Ok(Some(gone));
        }
    }
    Ok(None)
}

/// Moves the target. Blocks.
pub(in crate::daemon) fn move_target(
    context: &DriverContext,
    effect: &effect::MoveTarget,
) -> Result<MoveTargetOutcome, Failure> {
    let effect::MoveTarget {
        target,
        expected,
        commit,
        ..
    } = effect;
    let moved = context.repo.move_target(&Land {
        branch: target.clone(),
        expected: oid(expected)?,
        commit: oid(commit)?,
    })?;
    match moved {
        LandOutcome::Landed | LandOutcome::AlreadyLanded => {
            Ok(match submodules_behind(&context.repo, target) {
                None => MoveTargetOutcome::Moved,
                Some(submodules) => MoveTargetOutcome::MovedBehind { submodules },
            })
        }
        LandOutcome::TargetMoved { found: Some(found) } => {
            Ok(MoveTargetOutcome::TargetMoved { found: ours(found) })
        }
        LandOutcome::TargetMoved { found: None } => Err(Failure::other(format!(
            "the target branch `{target}` is gone; bring it back (git branch {target} {expected}), \
            then roll back again"
        ))),
        LandOutcome::CheckoutBlocked(blocked) => {
            Ok(MoveTargetOutcome::CheckoutBlocked(blocked_by(blocked)))
        }
        LandOutcome::NotAFastForward => Err(Failure::other("a rollback moves backwards")),
    }
}
