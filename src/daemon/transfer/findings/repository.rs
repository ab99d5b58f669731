//! Compares the commits of an archive with the repository: its target, names and checkpoints.

use super::{Findings, Here};
use crate::archive::names;
use crate::daemon::checkpoints::{file, file_reference, reference_of};
use crate::daemon::error::DaemonError;
use crate::daemon::transfer::place::is_own;
use crate::daemon::transfer::staged::StagedSwarm;
use crate::domain::ids::CheckpointName;
use crate::domain::state::checkpoint::Checkpoint;
use crate::domain::state::transfer::ImportIssue;
use crate::git::Oid;

impl Findings {
    pub(super) fn compare_repository(
        &mut self,
        here: &Here<'_>,
        staged: &StagedSwarm,
    ) -> Result<(), DaemonError> {
        self.compare_names(here, staged)?;
        self.compare_checkpoints(here, staged)?;
        self.compare_target(here, staged)
    }

    /// The names of swarm's own references must be free here, or mean the same.
    fn compare_names(&mut self, here: &Here<'_>, staged: &StagedSwarm) -> Result<(), DaemonError> {
        for (name, oid) in staged.commits()?.references()? {
            if !is_own(&name) || here.repo.is_free_or(&name, oid)? {
                continue;
            }
            let kept = format!("refs/swarm/import/{}/", staged.name());
            let instead = name.replacen("refs/", &kept, 1);
            self.warn(
                ImportIssue::RefTaken,
                &name,
                format!("{name} means another commit in this repository"),
                format!("it stays as it is; the archive's commit is {instead}"),
            );
        }
        Ok(())
    }

    fn compare_checkpoints(
        &mut self,
        here: &Here<'_>,
        staged: &StagedSwarm,
    ) -> Result<(), DaemonError> {
        for (name, checkpoint) in &staged.state.checkpoints {
            let Some(why) = checkpoint_fault(here, staged, name, checkpoint)? else {
                continue;
            };
            self.unusable.insert(name.clone());
            self.warn(
                ImportIssue::CheckpointUnusable,
                name.as_str(),
                format!("checkpoint {name} cannot be used here: {why}"),
                "it is not in the list of checkpoints".to_owned(),
            );
        }
        Ok(())
    }

    /// The target never moves: a person moves it.
    fn compare_target(&mut self, here: &Here<'_>, staged: &StagedSwarm) -> Result<(), DaemonError> {
        let Some(git) = &staged.manifest.git else {
            return Ok(());
        };
        let commits = staged.commits()?;
        let Some(theirs) = commits.reference(&format!("refs/heads/{}", git.target)) else {
            self.warn(
                ImportIssue::CommitMissing,
                &git.target,
                format!(
                    "the archive lacks the commit of its target `{}`",
                    git.target
                ),
                "the target stays as it is".to_owned(),
            );
            return Ok(());
        };
        let target = here.settings.target.as_str();
        let Some(ours) = here.repo.branch_commit(target)? else {
            self.warn_with(
                ImportIssue::TargetDiffers,
                target,
                format!("the target branch `{target}` does not exist here"),
                "swarm does not start without it".to_owned(),
                vec![format!("git branch {target} {theirs}")],
            );
            return Ok(());
        };
        if commits.contains(ours, theirs)? {
            return Ok(());
        }
        let behind = commits.contains(theirs, ours)?;
        let checked_out = here.repo.head_branch()?.as_deref() == Some(target);
        let command = match (behind, checked_out) {
            (true, true) => format!("git merge --ff-only {theirs}"),
            (true, false) => format!("git fetch . {theirs}:{target}"),
            (false, _) => format!("git merge {theirs}"),
        };
        let how = if behind { "is behind" } else { "differs from" };
        self.warn_with(
            ImportIssue::TargetDiffers,
            target,
            format!("`{target}` here {how} the archive's, at {theirs:.10}"),
            "nothing is merged into it: what had landed is missing until you do that".to_owned(),
            vec![command],
        );
        Ok(())
    }
}

/// Why a checkpoint cannot be used here, if so.
fn checkpoint_fault(
    here: &Here<'_>,
    staged: &StagedSwarm,
    name: &CheckpointName,
    checkpoint: &Checkpoint,
) -> Result<Option<String>, DaemonError> {
    let there = staged.dir.join(names::CHECKPOINTS);
    let found = match file::read_unpacked(&there, name) {
        Err(file::FileFault::Missing(_)) => {
            return Ok(Some("its file is not in the archive".to_owned()));
        }
        Err(fault) => return Ok(Some(fault.to_string())),
        Ok((_, found)) => found,
    };
    if found != checkpoint.sha256 {
        return Ok(Some("its file is not the one in the log".to_owned()));
    }
    let commits = staged.commits()?;
    let there = Oid::from_str(checkpoint.commit.as_str());
    if !there.is_ok_and(|oid| commits.has_commit(oid)) {
        return Ok(Some("its commit is not in the archive".to_owned()));
    }
    let tag = reference_of(name);
    let expected = Oid::from_str(checkpoint.tag.as_str());
    let Some(expected) = expected
        .ok()
        .filter(|oid| commits.reference(&tag) == Some(*oid))
    else {
        return Ok(Some("its tag object is not in the archive".to_owned()));
    };
    let file = file_reference(name);
    let Some(blob) = commits.reference(&file) else {
        return Ok(Some(format!("{file} is not in the archive")));
    };
    for (reference, oid) in [(tag, expected), (file, blob)] {
        if !here.repo.is_free_or(&reference, oid)? {
            return Ok(Some(format!("{reference} means something else here")));
        }
    }
    Ok(None)
}
