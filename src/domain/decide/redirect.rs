//! Redirects an agent to another idea: stop it, commit its work in progress, hand over.
//!
//! Invariant: once accepted, [`advance`](mod@super::advance) carries it out from the state alone.
//! The attempt stops, then its work is committed, then it ends and the other idea is claimed before
//! anything else starts. Work that cannot be committed stays in the worktree, which then stays with
//! its own idea.

use super::agents::known;
use super::checkpoints::rolling_back;
use super::decision::{End, Plan};
use super::environment_faults::{hold_for, nobodys_fault};
use super::ideas;
use super::undo;
use crate::domain::effect;
use crate::domain::event::{AgentRedirected, WorkSaved};
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::lifecycle::{AttemptInput, AttemptPhase};
use crate::domain::outcome::{Failure, SaveWorkOutcome};
use crate::domain::rejection::Rejection;
use crate::domain::scheduling;
use crate::domain::state::undo::Action;
use crate::domain::state::{Attempt, AttemptEnd, Ending, Idea, IdeaStatus, State};

/// Accepts or refuses a redirect.
pub(super) fn request(
    plan: &mut Plan<'_>,
    id: &AgentId,
    to: &IdeaId,
    new_worktree: bool,
    undoes: Option<u64>,
) -> Result<(), Rejection> {
    let attempt = known(plan.state, id)?;
    let idea = ideas::known(plan.state, to)?;
    if is_asked(attempt, to, new_worktree) {
        return Ok(());
    }
    let refuse = |(why, instead): (String, String)| Rejection::NotNow {
        what: format!("redirect {id} to {to}"),
        why,
        instead: Some(instead),
    };
    if plan.state.rollback.is_some() {
        return Err(rolling_back("redirect the agent"));
    }
    agent_can_go(plan.state, id, attempt, to).map_err(refuse)?;
    idea_can_come(plan.state, to, idea).map_err(refuse)?;
    let has_work = idea.kept.is_some() && attempt.base.is_some();
    if has_work && !new_worktree {
        return Err(refuse((
            format!("{to} has work from an earlier attempt and continues from that"),
            format!("swarm agent redirect {id} {to} --new-worktree"),
        )));
    }
    plan.emit(AgentRedirected {
        agent: id.clone(),
        to: to.clone(),
        new_worktree,
        undoes,
    });
    if undoes.is_none() {
        let action = Action::Redirect {
            agent: id.clone(),
            idea: attempt.idea.clone(),
            to: to.clone(),
        };
        undo::record(plan, action);
    }
    if attempt.phase.is_live() {
        plan.move_attempt(id, AttemptInput::Stop);
    }
    Ok(())
}

/// Why a redirect is impossible, and what to do instead.
type Obstacle = (String, String);

fn is_asked(attempt: &Attempt, to: &IdeaId, new_worktree: bool) -> bool {
    let same = attempt
        .redirect
        .as_ref()
        .is_some_and(|redirect| redirect.to == *to && redirect.new_worktree == new_worktree);
    same && attempt.ending == Some(Ending::Redirected)
}

fn agent_can_go(
    state: &State,
    id: &AgentId,
    attempt: &Attempt,
    to: &IdeaId,
) -> Result<(), Obstacle> {
    if attempt.idea == *to {
        let why = "it already works on this idea".to_owned();
        return Err((
            why,
            format!("send it a message: swarm agent say {id} \"...\""),
        ));
    }
    let assign = format!("swarm idea assign {to}");
    let in_queue = attempt.phase == AttemptPhase::ReadyToMerge;
    if in_queue || state.entry(&attempt.idea).is_some() {
        return Err(("its work is complete and in the merge queue".into(), assign));
    }
    let why = match attempt.ending {
        None | Some(Ending::Stopped) => return Ok(()),
        Some(Ending::Interrupted) => "the swarm is stopping its agents".to_owned(),
        Some(Ending::Cancelled) => "its idea is being cancelled".to_owned(),
        Some(Ending::Redirected) => {
            let other = attempt.redirect.as_ref();
            let other = other.map_or_else(String::new, |other| {
                let place = if other.new_worktree {
                    ", in a new worktree"
                } else {
                    ""
                };
                format!(" to {}{place}", other.to)
            });
            let instead = format!("undo that first: swarm agent stop {id}; then: {assign}");
            return Err((format!("it is already being redirected{other}"), instead));
        }
    };
    Err((why, assign))
}

fn idea_can_come(state: &State, to: &IdeaId, idea: &Idea) -> Result<(), Obstacle> {
    match idea.status {
        IdeaStatus::Pending => {}
        IdeaStatus::Active => {
            let agent = state.attempt_at(to).map(|(agent, _)| agent.to_string());
            let agent = agent.unwrap_or_else(|| "an agent".into());
            let instead = format!("swarm agent say {agent} \"...\"");
            return Err((format!("{agent} already works on it"), instead));
        }
        IdeaStatus::Merging => {
            let why = "its work is complete and in the merge queue".to_owned();
            return Err((why, "swarm merge list".into()));
        }
        IdeaStatus::Done => {
            let why = "it is done".to_owned();
            return Err((why, "swarm idea add \"...\"".into()));
        }
        IdeaStatus::Blocked | IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Cancelled => {
            let why = format!("it {}", idea.status.predicate());
            return Err((why, format!("retry it first: swarm idea retry {to}")));
        }
    }
    if idea.held {
        return Err(("it is held".into(), format!("swarm idea unhold {to}")));
    }
    if let Some(reserved) = &idea.reserved {
        let from = &reserved.from;
        let why = format!("{from} was redirected to it");
        return Err((why, take_back(state, to, from)));
    }
    if !scheduling::is_unlocked(state, idea) {
        let done = |id: &&IdeaId| {
            let before = state.ideas.get(*id);
            before.is_none_or(|before| before.status != IdeaStatus::Done)
        };
        let open: Vec<&str> = idea.after.iter().filter(done).map(IdeaId::as_str).collect();
        let why = format!("it waits for {}", open.join(", "));
        return Err((
            why,
            format!("remove the dependency first: swarm idea edit {to} --no-after"),
        ));
    }
    Ok(())
}

/// How to undo the reservation of an idea.
pub(super) fn take_back(state: &State, id: &IdeaId, from: &AgentId) -> String {
    if state.handing_over_to(id).is_some() {
        format!("undo that first: swarm agent stop {from}")
    } else {
        "it starts when a slot is free: swarm status".into()
    }
}

/// Requests a commit of the attempt's work once nothing is in progress. Returns false if there is
/// nothing to commit, or it is committed.
pub(super) fn save_work(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt) -> bool {
    let saved = attempt
        .redirect
        .as_ref()
        .is_none_or(|redirect| redirect.saved.is_some());
    // Without a worktree there is nothing to hand over.
    let done = saved || attempt.lent().is_some();
    let Some(base) = attempt.base.clone().filter(|_| !done) else {
        return false;
    };
    plan.request(effect::SaveWork {
        agent: agent.clone(),
        idea: attempt.idea.clone(),
        branch: attempt.branch.clone(),
        worktree: attempt.worktree.clone(),
        base,
        at: plan.now,
    });
    true
}

/// Handles the outcome of that commit.
pub(super) fn saved(
    plan: &mut Plan<'_>,
    effect: &effect::SaveWork,
    outcome: Result<SaveWorkOutcome, Failure>,
) {
    let agent = &effect.agent;
    let attempt = plan.attempt(agent);
    let Some((attempt, redirect)) =
        attempt.and_then(|attempt| Some((attempt, attempt.redirect.as_deref()?)))
    else {
        return;
    };
    if attempt.ending != Some(Ending::Redirected) {
        return;
    }
    let message = match outcome {
        Ok(SaveWorkOutcome::Saved { saved, committed }) => {
            return plan.emit(WorkSaved {
                agent: agent.clone(),
                saved,
                committed,
            });
        }
        Ok(SaveWorkOutcome::Unsealable { message }) => message,
        Err(failure) => {
            if let Some(trouble) = nobodys_fault(&failure) {
                hold_for(plan, trouble);
            }
            failure.message
        }
    };
    let why = format!(
        "its work could not be committed, so it keeps its worktree, and {} starts in a new \
        one: {message}",
        redirect.to
    );
    let end = End::keeping(AttemptEnd::Redirected, IdeaStatus::Pending, Some(why));
    plan.end(agent, end);
}
