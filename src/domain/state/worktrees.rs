//! Which worktrees are in use. Names are used again: `w01` is whoever's has it now.
//!
//! Invariant: a name is in use from the claim until its release has succeeded, so no release, even
//! a repeated one, meets the next attempt's work. Called when an idea is claimed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Attempt, Lending, State, is_false};
use crate::domain::effect::Effect;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::time::Timestamp;

/// Tries in vain after which people hear of it: a network may be away for a moment.
const TOLD: u32 = 2;
/// Tries in vain after which swarm rests although it goes on trying.
const PATIENCE: u32 = 3;

/// Why no new worktree is made: git cannot write its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreesHold {
    /// When it first happened.
    pub since: Timestamp,
    /// When another one is tried.
    pub until: Timestamp,
    /// Tries in vain in a row, from 1.
    pub times: u32,
    /// What git says, and what to do.
    pub message: String,
    /// Whether finished work could not be committed either: it waits to be sealed, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub seals: bool,
}

impl WorktreesHold {
    /// Whether a person should look at it. It is tried again all the same.
    pub fn needs_person(&self) -> bool {
        self.times >= TOLD
    }

    /// Whether it hardly ends without a person: `start --until-idle` does not wait for it.
    pub fn waits_for_person(&self) -> bool {
        self.times >= PATIENCE
    }
}

impl State {
    /// Whether it is too early to make another worktree.
    pub fn holds_worktrees(&self, now: Timestamp) -> bool {
        let held = self.swarm.worktrees_held.as_ref();
        held.is_some_and(|held| held.until > now)
    }

    /// Whether an attempt that is done waits to be sealed until git can write files again.
    pub fn waits_to_be_sealed(&self, attempt: &Attempt) -> bool {
        let held = self.swarm.worktrees_held.as_ref();
        held.is_some_and(|held| held.seals)
            && attempt.phase == AttemptPhase::Gating
            && !attempt.is_sealed()
    }

    /// Whether no idea may get a worktree now: it is too early, or another idea is trying whether
    /// one can be made.
    pub fn holds_claims(&self, now: Timestamp) -> bool {
        let mut attempts = self.agents.values();
        let tries =
            |attempt: &Attempt| attempt.phase == AttemptPhase::Preparing && attempt.base.is_none();
        self.swarm.worktrees_held.is_some() && (self.holds_worktrees(now) || attempts.any(tries))
    }

    /// The first worktree that nobody uses: `w01`, `w02`, ...
    pub fn free_worktree(&self) -> String {
        let used = self.used_worktrees();
        let mut names = (1_u32..).map(|number| format!("w{number:02}"));
        // Unlike this range, the set is finite.
        names
            .find(|name| !used.contains(name.as_str()))
            .unwrap_or_default()
    }

    /// Number of worktrees that exist for somebody, without those that cannot be lent because of
    /// what they hold.
    pub fn worktrees_in_use(&self) -> usize {
        let mut names = self.used_worktrees();
        let exempt =
            |attempt: &&Attempt| attempt.lending == Lending::HoldsMore || attempt.lent().is_some();
        for attempt in self.agents.values().filter(exempt) {
            names.remove(attempt.worktree.as_str());
        }
        // What an ended attempt had lent has no worktree to release.
        names.iter().filter(|name| is_numbered(name)).count()
    }

    /// Name of the worktree for an attempt that has lent its own: the same, if it is free.
    pub fn worktree_to_take_back(&self, lent: &str) -> String {
        if self.used_worktrees().contains(lent) {
            self.free_worktree()
        } else {
            lent.to_owned()
        }
    }

    /// Worktrees of attempts, those kept for the next one, and those that are still to be released.
    pub fn used_worktrees(&self) -> BTreeSet<&str> {
        let attempts = self.agents.values();
        let at_work = attempts.clone().map(|attempt| attempt.worktree.as_str());
        let kept = self.ideas.values().filter_map(|idea| idea.kept.as_deref());
        // Whoever has its own worktree has taken over what was kept.
        let waiting = attempts.filter(|attempt| attempt.base.is_none());
        let kept = kept.chain(waiting.filter_map(|attempt| attempt.kept.as_deref()));
        let kept = kept.map(|kept| kept.worktree.worktree.as_str());
        let owed = self
            .owed
            .worktrees
            .iter()
            .chain(&self.owed.worktrees_failed);
        let owed = owed.map(|unused| unused.worktree.as_str());
        let outbox = self.outbox.values().filter_map(Effect::worktree);
        at_work.chain(kept).chain(owed).chain(outbox).collect()
    }
}

fn is_numbered(name: &str) -> bool {
    let number = name.strip_prefix('w').unwrap_or_default();
    number.parse::<u32>().is_ok()
}
