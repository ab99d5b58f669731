//! Who worked on what, from when to when: runs as bars.
//!
//! Invariant: at most [`MOST`] bars, in order of their beginnings; the oldest go first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::domain::effect::{Effect, Purpose, SetupTree};
use crate::domain::event::{AttemptEnded, EffectRequested, Event, IdeaClaimed, RunEnded};
use crate::domain::ids::{AgentId, IdeaId, ProfileName, RunId};
use crate::domain::observation::RunEndKind;
use crate::domain::time::Timestamp;

/// The most bars that are kept.
pub const MOST: usize = 65_536;
/// The most runs without an end that are remembered; a swarm has far fewer at a time.
const MOST_RUNS: usize = 4_096;

/// What a bar stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// From claim to end; what no other bar covers was waiting.
    Attempt,
    /// An iteration of an agent.
    Iteration,
    /// An iteration that resolves a conflict.
    Conflict,
    /// A quality command in the worktree.
    Check,
    /// A quality command on the merged tree.
    MergeCheck,
    /// A quality command on the untouched target.
    TargetCheck,
    /// A setup command.
    Setup,
    /// A hook.
    Hook,
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is.
    pub work: Work,
    /// For which idea; `None`: for the target.
    pub idea: Option<IdeaId>,
    /// By or for which agent.
    pub agent: Option<AgentId>,
    /// When it began.
    pub from: Timestamp,
    /// With which event.
    pub from_seq: u64,
    /// When it ended, and with which event; `None`: it goes on.
    pub to: Option<(Timestamp, u64)>,
    /// Whether it ended well.
    pub well: bool,
}

/// What a lane stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneBy {
    /// An idea.
    Idea,
    /// An agent.
    Agent,
}

/// The bars of one idea or agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane<'a> {
    /// The idea's or agent's id; `None`: the target.
    pub id: Option<&'a str>,
    /// Oldest first.
    pub bars: Vec<&'a Bar>,
}

/// All bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spans {
    bars: VecDeque<Bar>,
    /// How many bars went: the number of the first one.
    gone: u64,
    attempts: BTreeMap<AgentId, Attempt>,
    runs: BTreeMap<RunId, Run>,
    conflicts: BTreeSet<IdeaId>,
}

#[derive(Debug, Clone, PartialEq)]
struct Attempt {
    idea: IdeaId,
    bar: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Run {
    profile: Option<ProfileName>,
    /// The number of its bar.
    bar: u64,
}

impl Spans {
    pub(super) fn fold(&mut self, seq: u64, at: Timestamp, event: &Event) {
        if let Event::EffectRequested(EffectRequested {
            effect: Effect::Run(asked),
            ..
        }) = event
        {
            self.begin((seq, at), &asked.run, &asked.purpose);
        } else if let Event::RunEnded(ended) = event {
            self.end(seq, at, ended);
        } else if let Event::IdeaClaimed(claimed) = event {
            self.claim(seq, at, claimed);
        } else if let Event::AttemptEnded(ended) = event {
            self.end_attempt(seq, at, ended);
        } else if let Event::MergeConflicted(conflicted) = event {
            self.conflicts.insert(conflicted.id.clone());
        } else if let Some(idea) = over(event) {
            self.conflicts.remove(idea);
        }
    }

    /// A run begins when it is asked for: a short one may end before anybody saw it start.
    fn begin(&mut self, (seq, at): (u64, Timestamp), run: &RunId, purpose: &Purpose) {
        let (work, agent, idea, profile) = match purpose {
            Purpose::Iteration { agent, profile, .. } => {
                (Work::Iteration, Some(agent), None, Some(profile.clone()))
            }
            Purpose::Gate { agent, .. } | Purpose::CommitHooks { agent } => {
                (Work::Check, Some(agent), None, None)
            }
            Purpose::Verify { idea, .. } => (Work::MergeCheck, None, Some(idea), None),
            Purpose::Baseline { .. } | Purpose::Canary { .. } => {
                (Work::TargetCheck, None, None, None)
            }
            Purpose::Setup { tree, .. } => match tree {
                SetupTree::Worktree { agent } => (Work::Setup, Some(agent), None, None),
                SetupTree::Merged { idea } => (Work::Setup, None, Some(idea), None),
                SetupTree::Target | SetupTree::Control => (Work::Setup, None, None, None),
            },
            Purpose::Hook { agent, idea, .. } => (Work::Hook, agent.as_ref(), idea.as_ref(), None),
            // It is for no idea and not for the target.
            Purpose::Synthesis { .. } | Purpose::Replay { .. } => return,
        };
        let known = self.attempts.iter().find(|(its, attempt)| {
            agent.map_or_else(|| Some(&attempt.idea) == idea, |agent| agent == *its)
        });
        let (agent, idea) = match known {
            Some((agent, attempt)) => (Some(agent.clone()), Some(attempt.idea.clone())),
            None => (agent.cloned(), idea.cloned()),
        };
        let is_conflict = idea.as_ref().is_some_and(|id| self.conflicts.contains(id));
        if self.runs.len() >= MOST_RUNS {
            self.runs.pop_first();
        }
        let work = if work == Work::Iteration && is_conflict {
            Work::Conflict
        } else {
            work
        };
        let bar = self.push(seq, at, work, (idea, agent));
        self.runs.insert(run.clone(), Run { profile, bar });
    }

    fn end(&mut self, seq: u64, at: Timestamp, ended: &RunEnded) {
        let bar = self.runs.remove(&ended.run).map(|run| run.bar);
        let well = matches!(ended.end.how, RunEndKind::Exited { code: 0 });
        self.close(bar, (at, seq), well);
    }

    fn claim(&mut self, seq: u64, at: Timestamp, claimed: &IdeaClaimed) {
        let (idea, agent) = (claimed.id.clone(), claimed.agent.clone());
        let whose = (Some(idea.clone()), Some(agent.clone()));
        let bar = self.push(seq, at, Work::Attempt, whose);
        self.attempts.insert(agent, Attempt { idea, bar });
    }

    fn end_attempt(&mut self, seq: u64, at: Timestamp, ended: &AttemptEnded) {
        let bar = self.attempts.remove(&ended.agent);
        self.close(
            bar.map(|attempt| attempt.bar),
            (at, seq),
            !ended.status.is_bad(),
        );
    }

    fn push(
        &mut self,
        seq: u64,
        at: Timestamp,
        work: Work,
        (idea, agent): (Option<IdeaId>, Option<AgentId>),
    ) -> u64 {
        if self.bars.len() >= MOST {
            self.bars.drain(..MOST / 4);
            self.gone += (MOST / 4) as u64;
        }
        self.bars.push_back(Bar {
            work,
            idea,
            agent,
            from: at,
            from_seq: seq,
            to: None,
            well: true,
        });
        self.gone + self.bars.len() as u64 - 1
    }

    fn close(&mut self, bar: Option<u64>, to: (Timestamp, u64), well: bool) {
        let index = bar.and_then(|bar| usize::try_from(bar.checked_sub(self.gone)?).ok());
        if let Some(bar) = index.and_then(|index| self.bars.get_mut(index)) {
            bar.to = Some(to);
            bar.well = well;
        }
    }

    /// The idea that an agent works on.
    pub fn idea_of(&self, agent: &AgentId) -> Option<IdeaId> {
        self.attempts.get(agent).map(|attempt| attempt.idea.clone())
    }

    /// The profile that a run without an end runs under.
    pub(super) fn profile_of(&self, run: &RunId) -> Option<&ProfileName> {
        self.runs.get(run)?.profile.as_ref()
    }

    /// All bars, in order of their beginnings.
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.bars.iter()
    }

    /// Whether old bars are no longer kept.
    pub fn is_cut(&self) -> bool {
        self.gone > 0
    }

    /// The lanes with a bar between two times. First those with a bar without an end at the event
    /// `seq`, then the others; in each part, the newest first.
    pub fn lanes(&self, by: LaneBy, (from, to): (Timestamp, Timestamp), seq: u64) -> Vec<Lane<'_>> {
        let mut lanes: BTreeMap<Option<&str>, Vec<&Bar>> = BTreeMap::new();
        for bar in &self.bars {
            if bar.from <= to && bar.to.is_none_or(|(end, _)| end >= from) {
                let id = match by {
                    LaneBy::Idea => bar.idea.as_ref().map(IdeaId::as_str),
                    LaneBy::Agent => bar.agent.as_ref().map(AgentId::as_str),
                };
                lanes.entry(id).or_default().push(bar);
            }
        }
        let mut lanes: Vec<Lane<'_>> = lanes
            .into_iter()
            .map(|(id, bars)| Lane { id, bars })
            .collect();
        lanes.sort_by_key(|lane| {
            let began = lane.bars.first().map_or(0, |bar| bar.from_seq);
            (!lane.is_open(seq), std::cmp::Reverse(began))
        });
        lanes
    }
}

impl Bar {
    /// Whether it was going on after this event.
    pub fn is_open(&self, seq: u64) -> bool {
        self.from_seq <= seq && self.to.is_none_or(|(_, end)| end > seq)
    }
}

impl Lane<'_> {
    /// Whether any bar was going on after this event.
    pub fn is_open(&self, seq: u64) -> bool {
        self.bars.iter().any(|bar| bar.is_open(seq))
    }
}

/// The idea whose conflict is over.
fn over(event: &Event) -> Option<&IdeaId> {
    if let Event::ConflictSettled(it) = event {
        return Some(&it.id);
    }
    if let Event::ResolverFailed(it) = event {
        return Some(&it.id);
    }
    if let Event::MergeReturned(it) = event {
        return Some(&it.id);
    }
    if let Event::IdeaLanded(it) = event {
        return Some(&it.id);
    }
    if let Event::IdeaCancelled(it) = event {
        return Some(&it.id);
    }
    None
}
