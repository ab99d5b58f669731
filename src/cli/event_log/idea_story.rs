//! What happened to an idea, attempt by attempt, for `idea show`: from the log and from its agents.
//!
//! Invariant: an entry belongs to the attempt of its agent, or else to the attempt that was under
//! way. Only output that is still on disk is named.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{Entry, Filter, Selected, Selection, Storyteller};
use crate::cli::access::{Access, Past, with_access_then};
use crate::cli::error::CliError;
use crate::cli::json::{number, text, time};
use crate::cli::repo::Repo;
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::event::{EffectRequested, Event, IdeaClaimed, RunEnded};
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::observation::RunEndKind;

/// The files that a run leaves, relative to its directory.
const OUTPUT: [&str; 2] = ["stdout.log", "stderr.log"];

/// What happened to an idea.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    /// What happened before the first attempt.
    pub before: Vec<Entry>,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

/// One attempt, with its landing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The agent, as in `agent show`.
    pub agent: Value,
    /// How long it took, in milliseconds; none: it has not ended.
    pub duration_ms: Option<i64>,
    /// What happened.
    pub happened: Vec<Entry>,
    /// Its runs, and those that checked its merge.
    pub runs: Vec<Run>,
}

/// A run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub run: RunId,
    /// `iteration`, `check`, `merge check` or `hook`.
    pub purpose: &'static str,
    /// Which iteration, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The quality command, or the hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How it ended; none: it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<RunEndKind>,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The files with its output, relative to the repository; empty ones are left out.
    pub output: Vec<String>,
}

/// Reads the log and the agents, up to an earlier point if one is given.
///
/// # Errors
/// The log or the agents cannot be read.
pub fn read(repo: &Repo, past: Option<&Past>, id: &IdeaId) -> Result<Story, CliError> {
    let agents = with_access_then(repo, past, Access::agents)?;
    let mut selection = Selection::new(Filter {
        idea: Some(id.clone()),
        ..Filter::default()
    });
    let mut teller = Storyteller::default();
    let mut gathered = Gathered::new(id, &agents);
    // From the start: an agent's events do not name its idea.
    super::read_in(repo, past, 0, |document| {
        if let Some(selected) = selection.next(&document) {
            gathered.note(&selected);
            if let Some(entry) = teller.tell(&document, &selected) {
                gathered.add(entry);
            }
        }
        teller.follow(&document);
        Ok(true)
    })?;
    let mut story = gathered.story;
    let runs = repo.runs();
    for run in story.attempts.iter_mut().flat_map(|one| &mut one.runs) {
        run.output = output(&runs, &run.run);
    }
    Ok(story)
}

/// The files with output, relative to the repository.
fn output(runs: &Path, run: &RunId) -> Vec<String> {
    let written = |name: &&str| {
        let file = runs.join(run.as_str()).join(name);
        std::fs::symlink_metadata(file).is_ok_and(|file| file.is_file() && file.len() > 0)
    };
    let written = OUTPUT.into_iter().filter(written);
    written
        .map(|name| format!(".git/swarm/runs/{run}/{name}"))
        .collect()
}

struct Gathered<'a> {
    id: &'a IdeaId,
    agents: BTreeMap<&'a str, &'a Value>,
    /// The attempt under way, by its place in the story.
    now: Option<usize>,
    story: Story,
}

impl<'a> Gathered<'a> {
    fn new(id: &'a IdeaId, agents: &'a Value) -> Self {
        let agents = agents.as_array().into_iter().flatten();
        let its = agents.filter(|agent| text(agent, "ideaId") == id.as_str());
        Self {
            id,
            agents: its.map(|agent| (text(agent, "id"), agent)).collect(),
            now: None,
            story: Story::default(),
        }
    }

    /// Notes an attempt or a run.
    fn note(&mut self, selected: &Selected) {
        let Some(event) = &selected.event else {
            return;
        };
        if let Event::IdeaClaimed(IdeaClaimed { id, agent, .. }) = event
            && id == self.id
        {
            let view = self.agents.get(agent.as_str());
            let view = view.map_or_else(
                || serde_json::json!({ "id": agent }),
                |view| (*view).clone(),
            );
            self.now = Some(self.story.attempts.len());
            self.story.attempts.push(Attempt {
                duration_ms: duration(&view),
                agent: view,
                happened: Vec::new(),
                runs: Vec::new(),
            });
        }
        if let Event::EffectRequested(EffectRequested {
            effect: Effect::Run(asked),
            ..
        }) = event
            && let Some(attempt) =
                self.attempt_of(selected.subject.agent.as_ref().map(AgentId::as_str))
        {
            attempt.runs.push(requested(asked));
        }
        if let Event::RunEnded(RunEnded { run, end }) = event {
            let mut runs = self.story.attempts.iter_mut().flat_map(|one| &mut one.runs);
            if let Some(ended) = runs.find(|one| one.run == *run) {
                ended.how = Some(end.how.clone());
                ended.duration_ms = Some(end.duration_ms);
            }
        }
    }

    fn add(&mut self, entry: Entry) {
        let agent = entry.agent().cloned();
        match self.attempt_of(agent.as_ref().map(AgentId::as_str)) {
            Some(attempt) => attempt.happened.push(entry),
            None => self.story.before.push(entry),
        }
    }

    /// The attempt of this agent, or else the one under way.
    fn attempt_of(&mut self, agent: Option<&str>) -> Option<&mut Attempt> {
        let attempts = &mut self.story.attempts;
        let its = attempts
            .iter()
            .position(|one| Some(text(&one.agent, "id")) == agent);
        attempts.get_mut(its.or(self.now)?)
    }
}

fn duration(agent: &Value) -> Option<i64> {
    let start = time(agent, "startedAt")?;
    Some(time(agent, "endedAt")?.since(start))
}

fn requested(asked: &effect::Run) -> Run {
    let (purpose, iteration, command) = match &asked.purpose {
        Purpose::Iteration { iteration, .. } => ("iteration", Some(*iteration), None),
        Purpose::Gate { command, .. } => ("check", None, Some(command.clone())),
        Purpose::CommitHooks { .. } => ("commit hooks", None, None),
        Purpose::Verify { command, .. } => ("merge check", None, Some(command.clone())),
        Purpose::Baseline { command, .. } => ("target check", None, Some(command.clone())),
        Purpose::Canary { .. } => ("probe of the checks", None, None),
        Purpose::Setup { command, .. } => ("setup", None, Some(command.clone())),
        Purpose::Hook { hook, .. } => ("hook", None, Some(hook.to_string())),
        Purpose::Synthesis { .. } => ("synthesis", None, None),
        Purpose::Replay { .. } => ("replay", None, None),
    };
    Run {
        run: asked.run.clone(),
        purpose,
        iteration,
        command,
        how: None,
        duration_ms: None,
        output: Vec::new(),
    }
}

impl Attempt {
    /// Its number, from 1.
    pub fn number(&self) -> u64 {
        number(&self.agent, "attempt")
    }
}
