//! Which worktrees are in use. Names are used again: `w01` is whoever's has it now.
//!
//! Invariant: a name is in use from the claim until its release has succeeded, so no release, even
//! a repeated one, meets the next attempt's work. Called when an idea is claimed.

use std::collections::BTreeSet;

use super::{Attempt, Lending, State};
use crate::domain::effect::Effect;

impl State {
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
