//! What the events of a demo mean to someone who watches it, and how often each thing happened.
//!
//! Invariant: everything follows from the events. The story is told from them as they come, and the
//! recap is counted from the log.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::output::terminal::Tone;
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::observation::RunEndKind;
use crate::domain::state::{AttemptEnd, Feedback};
use crate::view::describe::{self, describe};

/// SIGKILL, which no program can handle.
const KILL: i32 = 9;

/// Something worth telling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Moment {
    /// The checks pass before any work.
    Ready,
    Started {
        agent: AgentId,
        idea: IdeaId,
    },
    CheckFailed {
        idea: IdeaId,
        feedback: Feedback,
    },
    Mended {
        idea: IdeaId,
        command: String,
    },
    Killed {
        agent: AgentId,
        idea: IdeaId,
    },
    Recovered {
        agent: AgentId,
        idea: IdeaId,
        killed: AgentId,
    },
    Conflict {
        idea: IdeaId,
        files: Vec<String>,
    },
    Resolved {
        idea: IdeaId,
    },
    Landed {
        idea: IdeaId,
    },
    /// Something that a demo usually has not.
    Unusual(String),
}

/// The idea whose story is the least straight, if there is any idea to look at.
pub(super) fn worth_a_look(moments: &[Moment]) -> Option<&IdeaId> {
    let ranked = moments.iter().filter_map(|moment| match moment {
        Moment::Recovered { idea, .. } => Some((0, idea)),
        Moment::CheckFailed { idea, .. } => Some((1, idea)),
        Moment::Conflict { idea, .. } => Some((2, idea)),
        Moment::Started { idea, .. } => Some((3, idea)),
        Moment::Ready
        | Moment::Mended { .. }
        | Moment::Killed { .. }
        | Moment::Resolved { .. }
        | Moment::Landed { .. }
        | Moment::Unusual(_) => None,
    });
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, idea)| idea)
}

/// What is known up to some event.
#[derive(Debug, Default)]
pub(super) struct Facts {
    ideas: BTreeMap<AgentId, IdeaId>,
    runs: BTreeMap<RunId, AgentId>,
    /// The command that each idea fails.
    failing: BTreeMap<IdeaId, String>,
    /// The agent that was lost, by idea.
    lost: BTreeMap<IdeaId, AgentId>,
    landed: BTreeSet<IdeaId>,
    mended: usize,
    resolved: usize,
    recovered: usize,
}

impl Facts {
    /// The ideas that have landed.
    pub(super) fn landed(&self) -> usize {
        self.landed.len()
    }

    /// `8 landed, 1 check mended, 1 conflict resolved, 1 crash recovered`: what happened, and
    /// nothing else.
    pub(super) fn recap(&self) -> String {
        let several = |count: usize, one: &str, many: &str, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {one} {what}")),
            count => Some(format!("{count} {many} {what}")),
        };
        let counts = [
            Some(format!("{} landed", self.landed.len())),
            several(self.mended, "check", "checks", "mended"),
            several(self.resolved, "conflict", "conflicts", "resolved"),
            several(self.recovered, "crash", "crashes", "recovered"),
        ];
        counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Takes an event in; returns what there is to tell about it.
    pub(super) fn apply(&mut self, event: &Event) -> Option<Moment> {
        self.of_attempt(event).or_else(|| self.of_merge(event))
    }

    fn of_attempt(&mut self, event: &Event) -> Option<Moment> {
        if let Event::BaselinePassed(passed) = event {
            return passed.last.then_some(Moment::Ready);
        }
        if let Event::IdeaClaimed(claimed) = event {
            let (agent, idea) = (claimed.agent.clone(), claimed.id.clone());
            self.ideas.insert(agent.clone(), idea.clone());
            let killed = self.lost.get(&idea).cloned();
            return Some(match killed {
                Some(killed) => Moment::Recovered {
                    agent,
                    idea,
                    killed,
                },
                None => Moment::Started { agent, idea },
            });
        }
        if let Event::IterationStarted(started) = event {
            self.runs.insert(started.run.clone(), started.agent.clone());
        }
        if let Event::RunEnded(ended) = event {
            let killed = ended.end.how == RunEndKind::Signalled { signal: KILL };
            let agent = self.runs.get(&ended.run).filter(|_| killed)?.clone();
            let idea = self.ideas.get(&agent)?.clone();
            return Some(Moment::Killed { agent, idea });
        }
        if let Event::AttemptEnded(ended) = event {
            let idea = self.ideas.get(&ended.agent)?.clone();
            if ended.end == AttemptEnd::Crashed {
                self.lost.insert(idea, ended.agent.clone());
                return None;
            }
            let usual = [AttemptEnd::Merged, AttemptEnd::Interrupted];
            return (!usual.contains(&ended.end)).then(|| Moment::Unusual(describe(event)));
        }
        if let Event::GateFailed(failed) = event {
            let idea = self.ideas.get(&failed.agent)?.clone();
            return Some(self.check_failed(idea, &failed.feedback));
        }
        if let Event::GatePassed(passed) = event {
            let idea = self.ideas.get(&passed.agent)?.clone();
            let command = self.failing.remove(&idea)?;
            self.mended += 1;
            return Some(Moment::Mended { idea, command });
        }
        None
    }

    fn of_merge(&mut self, event: &Event) -> Option<Moment> {
        if let Event::MergeReturned(returned) = event {
            return Some(self.check_failed(returned.id.clone(), &returned.feedback));
        }
        if let Event::MergeConflicted(conflict) = event {
            return Some(Moment::Conflict {
                idea: conflict.id.clone(),
                files: conflict.files.clone(),
            });
        }
        if let Event::ConflictSettled(settled) = event {
            self.resolved += 1;
            return Some(Moment::Resolved {
                idea: settled.id.clone(),
            });
        }
        if let Event::IdeaLanded(landed) = event {
            self.landed.insert(landed.id.clone());
            self.recovered += usize::from(self.lost.remove(&landed.id).is_some());
            return Some(Moment::Landed {
                idea: landed.id.clone(),
            });
        }
        let is_bad = matches!(describe::tone(event), Tone::Bad | Tone::Warn);
        let is_told = describe::is_news(event) && is_bad;
        is_told.then(|| Moment::Unusual(describe(event)))
    }

    fn check_failed(&mut self, idea: IdeaId, feedback: &Feedback) -> Moment {
        self.failing.insert(idea.clone(), feedback.command.clone());
        Moment::CheckFailed {
            idea,
            feedback: feedback.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_counted_that_did_not_happen() {
        let mut facts = Facts::default();
        assert_eq!(facts.recap(), "0 landed");
        facts.landed.insert(IdeaId::numbered(1));
        facts.mended = 2;
        facts.recovered = 1;
        assert_eq!(
            facts.recap(),
            "1 landed, 2 checks mended, 1 crash recovered"
        );
    }

    #[test]
    fn the_least_straight_story_is_worth_a_look() {
        let started = |number| Moment::Started {
            agent: "ed-001".parse().unwrap(),
            idea: IdeaId::numbered(number),
        };
        let conflict = Moment::Conflict {
            idea: IdeaId::numbered(2),
            files: vec![],
        };
        let all = [started(1), conflict, started(3)];
        assert_eq!(worth_a_look(&all), Some(&IdeaId::numbered(2)));
        assert_eq!(worth_a_look(&all[..1]), Some(&IdeaId::numbered(1)));
        assert_eq!(worth_a_look(&[]), None);
    }
}
