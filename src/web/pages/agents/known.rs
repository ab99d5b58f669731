//! What the state knows of an agent and its runs, at the moment that is shown.

use crate::domain::ids::{AgentId, RunId};
use crate::domain::state::{Audit, State};
use crate::view::{self, AgentView, NeedsYou};
use crate::web::actions::shown;
use crate::web::parts::title;

/// How many names are suggested for one that nobody has.
const NEAREST: usize = 3;

/// See the module.
pub struct Known {
    pub agent: AgentView,
    /// The idea's title.
    pub title: String,
    /// The run that ran at that moment.
    pub live: Option<RunId>,
    /// What it needs from a person.
    pub needs: Vec<NeedsYou>,
    /// The run that ended with its open question.
    pub question: Option<RunId>,
    /// What happened to its idea while it worked.
    pub steps: Vec<Audit>,
    pub limits: Option<(i64, u32)>,
    /// In the past: where the last signal of the live run stood in its output.
    signal: Option<u64>,
    is_past: bool,
}

/// What was known of an output that grew at an earlier moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// At least up to the line at this byte, where a signal was seen.
    UpTo(u64),
    /// Nothing.
    Unknown,
}

impl Known {
    /// What is known of an agent; `None` if there is none of this name.
    pub fn of(state: &State, id: &AgentId, is_past: bool) -> Option<Self> {
        let agent = view::agent(state, id)?;
        let attempt = state.agents.get(id);
        let idea = state.ideas.get(&agent.idea_id);
        let detail = view::idea_detail(state, &agent.idea_id);
        let (needs, mut steps) = detail.map_or_else(Default::default, |detail| {
            (detail.needs_you, detail.history)
        });
        let until = agent.ended_at;
        steps.retain(|step| {
            step.at >= agent.started_at && until.is_none_or(|until| step.at <= until)
        });
        let settings = state.settings.as_deref();
        Some(Self {
            title: idea.map_or_else(
                || agent.idea_id.to_string(),
                |idea| title(&idea.text).to_owned(),
            ),
            live: attempt.and_then(|attempt| attempt.run.clone()),
            signal: attempt.and_then(|attempt| attempt.signal_offset),
            needs: if attempt.is_some() { needs } else { vec![] },
            question: shown::question(state, id).map(|(run, _)| run.clone()),
            steps,
            limits: settings.map(|one| (one.attempt_timeout_ms, one.max_iterations)),
            agent,
            is_past,
        })
    }

    /// The run that is shown first: the one that runs, else the last in which the agent worked.
    pub fn first_run(&self) -> Option<&RunId> {
        let runs = &self.agent.runs;
        let live = self.live.as_ref().filter(|run| runs.contains(run));
        let worked = || runs.iter().rev().find(|run| is_iteration(run));
        live.or_else(worked).or_else(|| runs.last())
    }

    /// How much of a run's output was known at the moment; `None` if all of it.
    pub fn then(&self, run: &RunId) -> Option<Then> {
        let grew = self.is_past && self.live.as_ref() == Some(run);
        grew.then(|| self.signal.map_or(Then::Unknown, Then::UpTo))
    }
}

/// The names of agents that are most like this one.
pub fn nearest(state: &State, name: &str) -> Vec<String> {
    let all = state.agents.keys().chain(state.ended.keys());
    let mut likely: Vec<(f64, &AgentId)> = all
        .map(|id| (strsim::jaro_winkler(id.as_str(), name), id))
        .filter(|(likeness, _)| *likeness > 0.7)
        .collect();
    likely.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    likely
        .iter()
        .take(NEAREST)
        .map(|(_, id)| id.to_string())
        .collect()
}

/// Whether the agent worked in this run.
pub fn is_iteration(run: &RunId) -> bool {
    label(run).starts_with("Iteration")
}

/// A run by its name: `Iteration 2`, `Check 1`.
pub fn label(run: &RunId) -> String {
    let part = run.as_str().rsplit('-').next().unwrap_or_default();
    let number = part
        .get(1..)
        .filter(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    match (part.get(..1), number) {
        (Some("i"), Some(number)) => format!("Iteration {number}"),
        (Some("q"), Some(number)) => format!("Check {number}"),
        _ => run.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_called_by_what_it_is() {
        let names = ["r0003-ed-001-i2", "r0004-ed-001-q1", "r0005-other"].map(|id| {
            let id: Result<RunId, _> = id.parse();
            id.map(|id| label(&id)).unwrap_or_default()
        });
        assert_eq!(names, ["Iteration 2", "Check 1", "r0005-other"]);
    }
}
