//! Looks in a rewritten target for the work that had landed on it.
//!
//! Invariant: only reads, but for the reference that keeps what was dropped. Called when a merge is
//! built, by the watch of the target, and before a person decides about missing work.

use std::collections::{BTreeSet, HashSet};

use super::failure::{oid, ours};
use crate::crash;
use crate::domain::event::LandingFound;
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::observation::Observation;
use crate::domain::outcome::Rewrite;
use crate::domain::state::{Idea, IdeaStatus, State};
use crate::git::{self, GitError, Landing, Repo, TargetState};

/// So many ideas whose work a rewrite dropped are named at most: a record has its limit.
const DROPPED: usize = 500;

/// What the target has of the landed work that was on it, if it no longer contains the commit
/// `known`. Blocks.
pub(in crate::daemon) fn rewritten(
    repo: &Repo,
    (target, known): (&str, &Oid),
    landed: impl FnOnce() -> Vec<LandingFound>,
) -> Result<Option<Rewrite>, GitError> {
    let before = oid(known)?;
    let TargetState::Rewritten { to: now } = repo.target_state(target, before)? else {
        return Ok(None);
    };
    // Work that had landed may be reachable from nowhere else.
    repo.keep_dropped(target, before)?;
    crash::point("target.dropped-kept");
    let mut landed = landed();
    let commits: Result<HashSet<git::Oid>, _> = landed.iter().map(|it| oid(&it.commit)).collect();
    let gone = repo.commits_gone(&commits?, (before, now))?;
    let gone: BTreeSet<Oid> = gone.into_iter().map(ours).collect();
    landed.retain(|it| gone.contains(&it.commit));
    let (kept, dropped) = look_for(repo, (before, now), landed)?;
    Ok(Some(Rewrite {
        found: ours(now),
        kept,
        dropped: dropped.into_iter().take(DROPPED).collect(),
    }))
}

/// What has come back, at the commit `now` of the target, of the work that a rewrite dropped, if
/// anything. Blocks.
pub(in crate::daemon) fn brought_back(
    repo: &Repo,
    missing: Option<Missing>,
    now: &Oid,
) -> Result<Option<Observation>, GitError> {
    let Some(Missing { before, landed }) = missing else {
        return Ok(None);
    };
    let (found, _) = look_for(repo, (oid(&before)?, oid(now)?), landed)?;
    Ok((!found.is_empty()).then(|| Observation::LandingsFound {
        at: now.clone(),
        found,
    }))
}

/// Landed work that a rewrite dropped.
pub(in crate::daemon) struct Missing {
    /// The target before.
    before: Oid,
    /// Where it was then.
    landed: Vec<LandingFound>,
}

impl Missing {
    /// What the log says is missing, without what people have decided about since.
    pub(in crate::daemon) fn of(state: &State) -> Option<Self> {
        let rewritten = state.swarm.rewritten.as_ref()?;
        let dropped = rewritten.dropped.iter();
        let done = dropped.filter_map(|id| {
            let idea = state.ideas.get(id)?;
            (idea.status == IdeaStatus::Done).then_some((id, idea))
        });
        let landed = done.filter_map(|(id, idea)| landing(id, idea));
        Some(Self {
            before: rewritten.from.clone(),
            landed: landed.collect(),
        })
    }
}

/// Where `now` has this work, which `before` had, and the ideas whose work it lacks. Blocks.
fn look_for(
    repo: &Repo,
    (before, now): (git::Oid, git::Oid),
    landed: Vec<LandingFound>,
) -> Result<(Vec<LandingFound>, Vec<IdeaId>), GitError> {
    let places: Result<Vec<Landing>, GitError> = landed.iter().map(place).collect();
    let found = repo.find_landings((before, now), &places?)?;
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for (LandingFound { id, .. }, found) in landed.into_iter().zip(found) {
        match found {
            Some(Landing { commit, since }) => kept.push(LandingFound {
                id,
                commit: ours(commit),
                since: since.map(ours),
            }),
            None => dropped.push(id),
        }
    }
    Ok((kept, dropped))
}

fn place(landed: &LandingFound) -> Result<Landing, GitError> {
    Ok(Landing {
        commit: oid(&landed.commit)?,
        since: landed.since.as_ref().map(oid).transpose()?,
    })
}

/// What has landed, as the log knows it.
pub(in crate::daemon) fn landed(state: &State) -> Vec<LandingFound> {
    let ideas = state.ideas.iter();
    let landed = ideas.filter_map(|(id, idea)| landing(id, idea));
    landed.collect()
}

/// The landing of this idea, as the log knows it.
fn landing(id: &IdeaId, idea: &Idea) -> Option<LandingFound> {
    Some(LandingFound {
        id: id.clone(),
        commit: idea.commit.clone()?,
        since: idea.landed_since.clone(),
    })
}
