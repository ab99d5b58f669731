//! Making a checkpoint: the work of each attempt, the file, and last the tag object's reference.
//!
//! Invariant: while this effect is in the outbox nothing begins to land, and it waits for what was
//! landing: so the target's commit and the state belong together. Of a call made again the file
//! that is in git counts, if it is this effect's.

use std::iter::Peekable;
use std::panic::resume_unwind;
use std::thread;

use super::file::{self, AgentState, CheckpointFile};
use super::{reference_of, tag_reference, work_reference};
use crate::crash;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::{oid, ours};
use crate::daemon::files::hash::sha256;
use crate::domain::effect;
use crate::domain::ids::{AgentId, CheckpointName, EffectId};
use crate::domain::outcome::Failure;
use crate::domain::state::checkpoint::{Checkpoint, Reason, SavedWork, Unfinished, unfinished};
use crate::domain::state::{IdeaStatus, State};
use crate::git::{self, GitError, KeptWork, Snapshot};

/// Worktrees that are read side by side.
const AT_ONCE: usize = 4;

/// What is asked for.
struct Wanted<'a> {
    id: EffectId,
    effect: &'a effect::MakeCheckpoint,
}

/// The state to keep: as soon as nothing is landing any more.
pub(in crate::daemon) async fn settled(handle: &Handle) -> State {
    handle.landing_over().await;
    handle.read(State::clone)
}

/// Makes it. Blocks.
pub(in crate::daemon) fn create(
    context: &DriverContext,
    state: &State,
    id: EffectId,
    effect: &effect::MakeCheckpoint,
) -> Result<Box<Checkpoint>, Failure> {
    let wanted = Wanted { id, effect };
    let file = match wanted.begun(context)? {
        Some(begun) => begun,
        None => wanted.make(context, state)?,
    };
    let bytes = file::keep(&context.repo, &file)?;
    crash::point("checkpoint.file-kept");
    file::show(&context.paths, &file.name, &bytes);
    wanted.name(context, oid(&file.tag_object)?)?;
    Ok(Box::new(file.checkpoint(sha256(&bytes))))
}

impl Wanted<'_> {
    /// The file that an earlier call of this effect has put into git.
    fn begun(&self, context: &DriverContext) -> Result<Option<CheckpointFile>, Failure> {
        let name = &self.effect.name;
        let found = file::read(&context.repo, name).ok().map(|(file, _)| file);
        let found = found.filter(|file| (file.op, file.created_at) == (self.id, self.effect.at));
        if found.is_none() {
            self.refuse_taken(context)?;
        }
        Ok(found)
    }

    fn refuse_taken(&self, context: &DriverContext) -> Result<(), Failure> {
        let name = &self.effect.name;
        let reference = reference_of(name);
        if context.repo.read_ref(&reference)?.is_some() {
            return Err(Failure::other(format!(
                "{reference} already exists and belongs to another checkpoint; choose another \
                name, or delete it: git update-ref -d {reference}"
            )));
        }
        if self.effect.tag && context.repo.read_ref(&tag_reference(name))?.is_some() {
            let tag = tag_name(name);
            return Err(Failure::other(format!(
                "the tag `{tag}` already exists; choose another name, or delete the tag: git tag \
                -d {tag}"
            )));
        }
        Ok(())
    }

    fn make(&self, context: &DriverContext, state: &State) -> Result<CheckpointFile, Failure> {
        let effect::MakeCheckpoint {
            name,
            reason,
            target,
            at,
            ..
        } = self.effect;
        let commit = context.repo.branch_commit(target)?.ok_or_else(|| {
            Failure::other(format!(
                "the target branch `{target}` is gone; swarm status has the command that brings it \
                back"
            ))
        })?;
        let works = unfinished(state);
        let goes_on = |work: &Unfinished| state.agents.contains_key(&work.agent);
        let live: Vec<bool> = works.iter().map(goes_on).collect();
        let (mut agents, mut kept) = (Vec::new(), Vec::new());
        for (goes_on, saved) in live.into_iter().zip(self.save_all(context, works)?) {
            (if goes_on { &mut agents } else { &mut kept }).extend(saved);
        }
        crash::point("checkpoint.work-kept");
        let message = format!("Checkpoint {name} of {target}\n\nSwarm-Op: {}\n", self.id);
        let identity = context.repo.identity()?;
        let tag = context
            .repo
            .write_tag(&tag_name(name), commit, &message, &identity, *at)?;
        let statuses =
            |(id, idea): (&_, &crate::domain::state::Idea)| (Clone::clone(id), idea.status);
        Ok(CheckpointFile {
            version: file::VERSION,
            name: name.clone(),
            created_at: *at,
            reason: *reason,
            git_commit: ours(commit),
            git_ref: reference_of(name),
            tag_object: ours(tag),
            op: self.id,
            target: target.clone(),
            seq: state.seq,
            idea_states: state
                .ideas
                .iter()
                .map(statuses)
                .collect::<std::collections::BTreeMap<_, IdeaStatus>>(),
            agent_states: agents,
            kept_work: kept,
            state_snapshot: state.clone(),
        })
    }

    /// Names the tag object: where a person asked for it with a tag, and last with our reference.
    fn name(&self, context: &DriverContext, tag: git::Oid) -> Result<(), GitError> {
        let name = &self.effect.name;
        if self.effect.tag {
            context
                .repo
                .create_ref(&tag_reference(name), tag, "checkpoint")?;
        }
        crash::point("checkpoint.tagged");
        context
            .repo
            .create_ref(&reference_of(name), tag, "checkpoint")
    }

    /// Keeps the work of all, a few at a time.
    fn save_all(
        &self,
        context: &DriverContext,
        works: Vec<Unfinished>,
    ) -> Result<Vec<Option<AgentState>>, GitError> {
        let mut saved = Vec::new();
        let mut works = works.into_iter().peekable();
        while works.peek().is_some() {
            let some = next_batch(&mut works, |work| &work.agent);
            thread::scope(|scope| {
                let save = |work| scope.spawn(|| self.save(context, work));
                let threads: Vec<_> = some.into_iter().map(save).collect();
                for thread in threads {
                    // A panic of one is one of this thread, too.
                    saved.push(thread.join().unwrap_or_else(|panic| resume_unwind(panic))?);
                }
                Ok(())
            })?;
        }
        Ok(saved)
    }

    /// Keeps the work of an attempt; none: there is nothing of it.
    fn save(
        &self,
        context: &DriverContext,
        work: Unfinished,
    ) -> Result<Option<AgentState>, GitError> {
        let reference = work_reference(&self.effect.name, &work.agent);
        let mut problem = None;
        let (tip, wip) = if let Some(saved) = &work.saved {
            for commit in std::iter::once(&saved.tip).chain(&saved.wip) {
                context.repo.keep_commit(&reference, oid(commit)?)?;
            }
            (saved.tip.clone(), saved.wip.clone())
        } else {
            let want = Snapshot {
                name: work.worktree.clone(),
                reference,
                message: format!(
                    "Uncommitted work of {} on {} at checkpoint {}\n",
                    work.agent, work.idea, self.effect.name
                ),
                identity: context.repo.identity()?,
                time: self.effect.at,
            };
            let kept = match context.repo.keep_attempt(&want, &work.branch) {
                Ok(kept) => kept,
                Err(error) => {
                    problem = Some(
                        self.goes_without(&work, &error)
                            .ok_or_else(|| blamed(context, &work, error))?,
                    );
                    Some(committed(context, &work, &want.reference)?)
                }
            };
            let Some(kept) = kept else {
                return Ok(None);
            };
            (ours(kept.tip), kept.wip.map(ours))
        };
        crash::point("checkpoint.one-work-kept");
        Ok(Some(AgentState {
            id: work.agent.clone(),
            idea_id: work.idea,
            iteration: work.iterations,
            wip_commit: wip.clone(),
            work: SavedWork {
                agent: work.agent,
                base: work.base,
                tip,
                wip,
                iterations: work.iterations,
                last_run: work.last_run,
                feedback: work.feedback,
                review: work.review,
                messages: work.messages,
            },
            problem,
        }))
    }

    /// No agent may make a rollback impossible by what it has done to its worktree: then the
    /// checkpoint before it has what is committed, and why. The files stay where they are, for a
    /// worktree goes only when what is in it is kept.
    fn goes_without(&self, work: &Unfinished, error: &GitError) -> Option<String> {
        let possible = self.effect.reason == Reason::BeforeRollback && is_of_the_worktree(error);
        possible.then(|| {
            tracing::warn!(agent = %work.agent, %error, "uncommitted work cannot be saved");
            format!("uncommitted work could not be saved: {error}")
        })
    }
}

/// The name of the tag, as the tag object has it.
fn tag_name(name: &CheckpointName) -> String {
    format!("swarm/checkpoint/{name}")
}

/// The next works that can be kept side by side. Each has its own worktree, but two agents of one
/// name, of which one is imported, share a reference: they come one after the other.
fn next_batch<T>(
    works: &mut Peekable<impl Iterator<Item = T>>,
    agent: impl Fn(&T) -> &AgentId,
) -> Vec<T> {
    let mut batch: Vec<T> = Vec::new();
    let fits = |batch: &[T], work: &T| {
        batch.len() < AT_ONCE && batch.iter().all(|other| agent(other) != agent(work))
    };
    while let Some(work) = works.next_if(|work| fits(&batch, work)) {
        batch.push(work);
    }
    batch
}

/// The error, with the name of whose work it is about.
fn blamed(context: &DriverContext, work: &Unfinished, error: GitError) -> GitError {
    if !is_of_the_worktree(&error) {
        return error;
    }
    GitError::WorktreeBroken {
        path: context.repo.worktree_path(&work.worktree),
        why: format!(
            "the work of {} on {} cannot be saved ({error})",
            work.agent, work.idea
        ),
        next: format!(
            "Inspect the worktree, or stop that agent: swarm agent stop {}",
            work.agent
        ),
    }
}

/// Whether the worktree is the cause, not the disk or the repository, which would affect
/// everything.
fn is_of_the_worktree(error: &GitError) -> bool {
    matches!(
        error,
        GitError::WorktreeBroken { .. }
            | GitError::BranchMissing { .. }
            | GitError::IndexCorrupt { .. }
            | GitError::TimedOut { .. }
    ) || matches!(error, GitError::Failed { .. }) && !error.was_killed()
}

/// The committed work: the tip of its branch, or its base.
fn committed(
    context: &DriverContext,
    work: &Unfinished,
    reference: &str,
) -> Result<KeptWork, GitError> {
    let tip = match context.repo.branch_commit(&work.branch)? {
        Some(tip) => tip,
        None => oid(&work.base)?,
    };
    context.repo.keep_commit(reference, tip)?;
    Ok(KeptWork { tip, wip: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testkit::agent;

    #[test]
    fn no_two_agents_of_one_name_are_kept_side_by_side() {
        let mut works = [1, 2, 1, 3, 4, 5, 6, 6].map(agent).into_iter().peekable();
        let mut batches = Vec::new();
        while works.peek().is_some() {
            batches.push(next_batch(&mut works, |agent| agent));
        }
        let expected = [&[1, 2][..], &[1, 3, 4, 5], &[6], &[6]];
        assert_eq!(
            batches,
            expected.map(|batch| batch.iter().copied().map(agent).collect::<Vec<_>>())
        );
    }
}
