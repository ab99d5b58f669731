//! The unfinished work in an archive: which commits each idea continues from.
//!
//! Invariant: a commit is named only if the archive, or the repository, has it. Newer work comes
//! first: a branch that went on after the last checkpoint counts, without uncommitted files.

use std::collections::BTreeMap;

use super::staged::StagedSwarm;
use crate::archive::names;
use crate::daemon::checkpoints::file;
use crate::daemon::error::DaemonError;
use crate::domain::effect::Saved;
use crate::domain::ids::{AgentId, IdeaId, Oid, ProfileName, RunId};
use crate::domain::session::Session;
use crate::domain::state::checkpoint::{SavedWork, Unfinished, unfinished};
use crate::domain::state::{Kept, State};
use crate::git::{self, Quarantine};

/// An unfinished work, and what the archive has of it.
pub(super) struct Work {
    pub(super) unfinished: Unfinished,
    /// The commits; `None` if the archive has none of them.
    pub(super) saved: Option<SavedWork>,
    /// Whether uncommitted files should be there and are not.
    pub(super) lacks_files: bool,
    pub(super) profile: Option<ProfileName>,
    pub(super) session: Option<Session>,
    /// Runs of its attempt, oldest first.
    pub(super) runs: Vec<RunId>,
}

/// All unfinished works of the archive.
pub(super) fn of(staged: &StagedSwarm) -> Result<Vec<Work>, DaemonError> {
    let commits = staged.commits()?;
    let state = &staged.state;
    let known = saved_by_checkpoints(staged);
    let work = |unfinished: Unfinished| {
        let at_checkpoint = known.get(&(unfinished.idea.clone(), unfinished.agent.clone()));
        let (found, lacks_files) = newest(commits, &unfinished, at_checkpoint);
        Work {
            saved: found.map(|found| saved_work(&unfinished, found)),
            lacks_files,
            profile: profile_of(state, &unfinished.agent),
            session: session_of(state, &unfinished),
            runs: runs_of(state, &unfinished.agent),
            unfinished,
        }
    };
    Ok(unfinished(state).into_iter().map(work).collect())
}

/// The work of each idea and agent in the newest checkpoint that has it.
fn saved_by_checkpoints(staged: &StagedSwarm) -> BTreeMap<(IdeaId, AgentId), Saved> {
    let there = staged.dir.join(names::CHECKPOINTS);
    let names = staged.files_in(names::CHECKPOINTS).into_keys();
    let names = names.filter_map(|name| name.strip_suffix(".json")?.parse().ok());
    let mut files: Vec<_> = names
        .filter_map(|name| Some(file::read_unpacked(&there, &name).ok()?.0))
        .collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.seq));
    let mut found = BTreeMap::new();
    for (idea, work) in files.iter().flat_map(file::CheckpointFile::works) {
        let saved = Saved {
            tip: work.tip,
            wip: work.wip,
        };
        found.entry((idea, work.agent)).or_insert(saved);
    }
    found
}

/// The newest commits of a work, and whether its uncommitted files are missing.
fn newest(
    commits: &Quarantine,
    work: &Unfinished,
    at_checkpoint: Option<&Saved>,
) -> (Option<Saved>, bool) {
    let there = |oid: &Oid| git_oid(oid).filter(|oid| commits.has_commit(*oid));
    let usable = |saved: &Saved| {
        there(&saved.tip)?;
        let wip = saved.wip.clone().filter(|wip| there(wip).is_some());
        let lacks_files = wip.is_none() && saved.wip.is_some();
        let tip = saved.tip.clone();
        Some((Saved { tip, wip }, lacks_files))
    };
    if let Some(saved) = &work.saved {
        return usable(saved).map_or((None, false), |(saved, lacks)| (Some(saved), lacks));
    }
    let branch = commits.reference(&format!("refs/heads/{}", work.branch));
    let branch = branch.filter(|tip| commits.has_commit(*tip));
    let checkpoint = at_checkpoint.and_then(usable);
    match (checkpoint, branch) {
        (Some((saved, lacks)), Some(tip)) => {
            let same = git_oid(&saved.tip);
            let went_on =
                same.is_some_and(|old| old != tip && commits.contains(tip, old).unwrap_or(false));
            if went_on {
                (Some(committed(tip)), false)
            } else {
                (Some(saved), lacks)
            }
        }
        (Some((saved, lacks)), None) => (Some(saved), lacks),
        (None, Some(tip)) => (Some(committed(tip)), at_checkpoint.is_some()),
        (None, None) => (None, false),
    }
}

fn committed(tip: git::Oid) -> Saved {
    Saved {
        tip: crate::daemon::effects::failure::ours(tip),
        wip: None,
    }
}

fn git_oid(oid: &Oid) -> Option<git::Oid> {
    git::Oid::from_str(oid.as_str()).ok()
}

fn saved_work(work: &Unfinished, saved: Saved) -> SavedWork {
    SavedWork {
        agent: work.agent.clone(),
        base: work.base.clone(),
        tip: saved.tip,
        wip: saved.wip,
        iterations: work.iterations,
        last_run: work.last_run.clone(),
        feedback: work.feedback.clone(),
        review: work.review.clone(),
        messages: work.messages.clone(),
    }
}

fn profile_of(state: &State, agent: &AgentId) -> Option<ProfileName> {
    let live = state.agents.get(agent).map(|attempt| &attempt.profile);
    let ended = state.ended.get(agent).map(|attempt| &attempt.profile);
    live.or(ended).cloned()
}

/// The conversation that the next attempt would resume.
pub(super) fn session_of(state: &State, work: &Unfinished) -> Option<Session> {
    if let Some(attempt) = state.agents.get(&work.agent) {
        return attempt.own_session().cloned();
    }
    let kept = |id: &IdeaId| -> Option<&Kept> { state.ideas.get(id)?.kept.as_deref() };
    let mut attempts = state.agents.values().filter(|it| it.idea == work.idea);
    let claimed = attempts.find_map(|attempt| attempt.kept.as_deref());
    let kept = kept(&work.idea).or(claimed)?;
    kept.session.as_deref().cloned()
}

fn runs_of(state: &State, agent: &AgentId) -> Vec<RunId> {
    let live = state.agents.get(agent).map(|attempt| &attempt.runs);
    let ended = state.ended.get(agent).map(|attempt| &attempt.runs);
    live.or(ended).cloned().unwrap_or_default()
}
