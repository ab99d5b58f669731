//! What happened to an idea, attempt by attempt, as far as the state has it.

use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::state::State;
use crate::view::agent::{AgentView, agent};

/// What a run was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPurpose {
    /// The agent worked: this iteration, from 1.
    Iteration(u32),
    /// This quality command, from 1, checked the agent's worktree.
    Check(u32),
    /// This quality command, from 1, checked the merged tree.
    MergeCheck(u32),
    /// This setup command, from 1.
    Setup(u32),
    /// Something else, for example a hook.
    Other,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunView {
    /// Its id.
    pub id: RunId,
    /// What it was for.
    pub purpose: RunPurpose,
}

/// An attempt at an idea.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptStory {
    /// Its agent.
    pub agent: AgentView,
    /// Its last runs, oldest first.
    pub runs: Vec<RunView>,
}

/// The attempts at an idea, oldest first.
pub fn idea_story(state: &State, id: &IdeaId) -> Vec<AttemptStory> {
    let live = state.agents.iter().filter(|(_, it)| it.idea == *id);
    let ended = state.ended.iter().filter(|(_, it)| it.idea == *id);
    let ids: Vec<&AgentId> = ended
        .map(|(agent, _)| agent)
        .chain(live.map(|(agent, _)| agent))
        .collect();
    let attempts = ids.into_iter().filter_map(|id| agent(state, id));
    let mut attempts: Vec<AttemptStory> = attempts
        .map(|agent| AttemptStory {
            runs: agent.runs.iter().map(run).collect(),
            agent,
        })
        .collect();
    attempts.sort_by_key(|one| (one.agent.started_at, one.agent.attempt));
    attempts
}

/// What a run was for, by its name: `r0007-ed-001-i2`.
pub fn run(id: &RunId) -> RunView {
    let last = id.as_str().rsplit('-').next().unwrap_or_default();
    let number = |letter: char| last.strip_prefix(letter)?.parse::<u32>().ok();
    let purposes = [
        number('i').map(RunPurpose::Iteration),
        number('q').map(RunPurpose::Check),
        number('v').map(RunPurpose::MergeCheck),
        number('s').map(RunPurpose::Setup),
    ];
    let purpose = purposes.into_iter().flatten().next();
    RunView {
        id: id.clone(),
        purpose: purpose.unwrap_or(RunPurpose::Other),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use super::*;

    #[test]
    fn a_runs_name_says_what_it_was_for() {
        let cases = [
            ("r0007-ed-001-i2", RunPurpose::Iteration(2)),
            ("r0008-ed-001-q1", RunPurpose::Check(1)),
            ("r0009-idea-003-v1", RunPurpose::MergeCheck(1)),
            ("r0010-ed-001-s1", RunPurpose::Setup(1)),
            ("r0011-pre-merge-20", RunPurpose::Other),
        ];
        for (name, purpose) in cases {
            assert_eq!(run(&name.parse().unwrap()).purpose, purpose);
        }
    }
}
