//! Rebuilds a state when no event is intact and no snapshot is usable: from `ideas.jsonl`, readable
//! lines of the log, the kept worktrees and the checkpoint files. Called by `repair`.
//!
//! Invariant: it claims no more than these sources say. Unfinished ideas become pending again with
//! their worktrees, and swarm is paused until a person has checked.

use std::collections::BTreeMap;

use super::evidence::Evidence;
use super::idea_list::{Listed, idea, in_list};
use super::numbers::names_in;
use crate::daemon::checkpoints::file;
use crate::daemon::files::paths::Paths;
use crate::domain::effect::KeptWorktree;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, RunId};
use crate::domain::state::checkpoint::Checkpoint;
use crate::domain::state::prompt_cause::PromptCause;
use crate::domain::state::{IdeaStatus, Kept, State, Swarm};
use crate::domain::time::Timestamp;
use crate::git::Repo;
use crate::view;

/// The reason of the pause.
const REASON: &str = "the state was rebuilt from ideas.jsonl, git and the worktrees after damage; \
    check the ideas, then run: swarm resume";

/// The state at `seq`; `None` if no idea is known.
pub(super) fn state(
    paths: &Paths,
    cut: &Evidence,
    target: Option<&str>,
    seq: u64,
    now: Timestamp,
) -> Option<State> {
    let mut state = State {
        seq,
        learnings: cut.seen.learnings.clone(),
        counters: cut.floors,
        swarm: Swarm {
            paused: true,
            pause_reason: Some(REASON.to_owned()),
            last_event_at: now,
            ..Swarm::default()
        },
        ..State::default()
    };
    state.checkpoints = checkpoints(paths);
    let numbers = state.checkpoints.values().filter_map(|one| one.number);
    let highest = numbers.max().unwrap_or_default();
    state.counters.checkpoints = state.counters.checkpoints.max(highest);
    for listed in listed(paths, cut) {
        let mut idea = idea(&listed, now);
        if !matches!(idea.status, IdeaStatus::Done | IdeaStatus::Cancelled) {
            idea.kept = target.and_then(|target| kept(paths, &listed.id, target));
        }
        state.ideas.insert(listed.id, idea);
    }
    (!state.ideas.is_empty()).then_some(state)
}

/// The checkpoints with a readable file; a rollback checks the tag object and the commits itself.
/// Each gets the number that it had, as far as the state in its file shows it.
fn checkpoints(paths: &Paths) -> BTreeMap<CheckpointName, Checkpoint> {
    let mut files = file::all(paths);
    files.sort_by_key(|(file, _)| file.seq);
    let mut last = 0;
    let numbered = files.into_iter().map(|(file, sha256)| {
        last = last.max(file.state_snapshot.counters.checkpoints) + 1;
        let mut checkpoint = file.checkpoint(sha256);
        checkpoint.number = Some(last);
        (file.name.clone(), checkpoint)
    });
    numbered.collect()
}

/// The ideas in `ideas.jsonl`, which people saw, and those that only readable events have.
fn listed(paths: &Paths, cut: &Evidence) -> Vec<Listed> {
    let mut found = in_list(paths);
    for seen in view::ideas(&cut.seen, None) {
        if found.iter().any(|listed| listed.id == seen.id) {
            continue;
        }
        found.push(Listed {
            id: seen.id,
            status: seen.status,
            content: seen.content,
            tags: seen.tags,
            priority: seen.priority,
            after: seen.after,
            held: seen.held,
            retry_count: seen.retry_count,
            attempts: seen.attempts,
            commit: seen.commit,
            last_error: seen.last_error,
            profile: seen.profile,
            review: seen.review,
            created_at: seen.created_at,
            updated_at: seen.updated_at,
        });
    }
    found
}

/// The worktree of the last agent that worked on the idea, if its branch exists too.
fn kept(paths: &Paths, idea: &IdeaId, target: &str) -> Option<Box<Kept>> {
    let repo = Repo::open(&paths.root).ok()?;
    let tip = repo.branch_commit(target).ok()??;
    let found = repo.attempts_in_worktrees().ok()?;
    let attempt = |(worktree, branch): (String, String)| {
        let agent = branch
            .strip_prefix("agent/")?
            .strip_suffix(&format!("/{idea}"))?;
        let agent: AgentId = agent.parse().ok()?;
        let (_, number) = agent.as_str().rsplit_once('-')?;
        Some((number.parse::<u64>().ok()?, agent.clone(), worktree, branch))
    };
    let (_, agent, worktree, branch) = found.into_iter().filter_map(attempt).max()?;
    let head = repo.branch_commit(&branch).ok()??;
    let base = repo.merge_base(tip, head).ok()??;
    let last = last_iteration(paths, &agent);
    Some(Box::new(Kept {
        worktree: KeptWorktree {
            worktree,
            branch,
            base: base.to_string().parse().ok()?,
            agent,
            crashed: true,
            saved: None,
        },
        feedback: None,
        review: None,
        messages: Vec::new(),
        iterations: last.as_ref().map_or(0, |(iterations, _)| *iterations),
        last_run: last.map(|(_, run)| run),
        said: Vec::new(),
        taken_from: None,
        cause: PromptCause::Crashed,
        session: None,
        prompt: None,
    }))
}

/// The last iteration of an agent, by the names of its runs.
fn last_iteration(paths: &Paths, agent: &AgentId) -> Option<(u32, RunId)> {
    let iteration = |name: String| {
        let (_, rest) = name.split_once('-')?;
        let number = rest.strip_prefix(agent.as_str())?.strip_prefix("-i")?;
        Some((number.parse().ok()?, name.parse().ok()?))
    };
    names_in(&paths.runs)
        .into_iter()
        .filter_map(iteration)
        .max()
}
