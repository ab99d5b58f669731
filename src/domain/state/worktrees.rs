//! Which worktrees are in use. Names are used again: `w01` is whoever's has it now.
//!
//! Invariant: a name is in use from the claim until its release has succeeded, so no release, even
//! a repeated one, meets the next attempt's work. Called when an idea is claimed.

use std::collections::BTreeSet;

use super::State;
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

    /// Worktrees of attempts, those kept for the next one, and those that are still to be released.
    pub fn used_worktrees(&self) -> BTreeSet<&str> {
        let attempts = self.agents.values();
        let at_work = attempts.clone().map(|attempt| attempt.worktree.as_str());
        let kept = self.ideas.values().filter_map(|idea| idea.kept.as_deref());
        let kept = kept.chain(attempts.filter_map(|attempt| attempt.kept.as_deref()));
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
