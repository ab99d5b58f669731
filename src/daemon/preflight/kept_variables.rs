//! Variables that point into the checkout, which agents and checks do not get. Called by
//! `preflight`'s users.

use super::Preflight;

/// What agents and checks do not get, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFromWorktrees {
    /// What it is, and why.
    pub what: String,
    /// What to do about it.
    pub advice: &'static str,
}

const ADVICE: &str = "give each worktree its own environment (`worktree.setup`, for example \
    `python3 -m venv .venv && .venv/bin/pip install -e . pytest`) and name its programs in \
    `qualityCommands` (`.venv/bin/python -m pytest`), or pass the variables with \
    `agents.passEnv`";

impl Preflight<'_> {
    /// What points into the checkout; `None` if nothing does.
    pub fn kept_from_worktrees(&self) -> Option<KeptFromWorktrees> {
        let kept_back = self.for_worktrees().kept_back;
        if kept_back.is_empty() {
            return None;
        }
        let all: Vec<String> = kept_back.iter().map(ToString::to_string).collect();
        Some(KeptFromWorktrees {
            what: format!(
                "agents and checks do not get {}: with it, a check would test your checkout, not \
                the work",
                all.join(", ")
            ),
            advice: ADVICE,
        })
    }
}
