//! The part of the configuration that decisions depend on. It is journaled when it changes, so that
//! a decision can be understood, and repeated, from the log alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hook::{HookName, HookSettings};
use super::ids::ProfileName;
use super::usage::{MicroUsd, Price};

/// Who starts ideas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A person assigns each idea.
    SemiAuto,
    /// Free slots are filled from the ready ideas.
    #[default]
    Autopilot,
}

/// What decisions need to know of the configuration. All times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // each is a key of the configuration
pub struct Settings {
    /// Who starts ideas.
    pub mode: Mode,
    /// The branch that finished work lands on.
    pub target: String,
    /// How many attempts may be live at once.
    pub max_parallel: u32,
    /// How long one attempt may take, over all its iterations.
    pub attempt_timeout_ms: i64,
    /// The profile of an idea that names none.
    pub default_profile: ProfileName,
    /// All profiles there are.
    pub profiles: Vec<ProfileName>,
    /// So many failed attempts in a row pause the swarm.
    pub failures_to_pause: u32,
    /// So many crashes of one idea and it is failed.
    pub crash_retries: u32,
    /// So many iterations of one attempt and it is timed out.
    pub max_iterations: u32,
    /// So many iterations without a new commit and there is a warning.
    pub stuck_threshold: u32,
    /// Whether swarm commits what an agent left uncommitted when it said COMPLETE.
    pub auto_commit: bool,
    /// The project's own checks, in order.
    pub quality_commands: Vec<String>,
    /// How long one quality command may take.
    pub quality_timeout_ms: i64,
    /// Whether finished work enters the merge queue by itself.
    pub auto_merge: bool,
    /// Whether the merged tree is checked before the target moves.
    pub verify: bool,
    /// How often a resolver agent may try one conflict.
    pub conflict_retries: u32,
    /// Whether worktree and branch go after a proven landing.
    pub cleanup_on_success: bool,
    /// The profile that resolves conflicts; none: the idea's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<ProfileName>,
    /// How long a graceful end waits for safe boundaries.
    pub grace_ms: i64,
    /// A checkpoint after every so many landings; 0: none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checkpoint_every: u32,
    /// A checkpoint each time autopilot begins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checkpoint_before_autopilot: bool,
    /// So many checkpoints that nobody asked for are kept.
    #[serde(default = "kept", skip_serializing_if = "is_kept")]
    pub checkpoints_kept: u32,
    /// The hooks that there are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<HookName, HookSettings>,
    /// The account of each profile whose program has one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<ProfileName, String>,
    /// Whether what waits for a usage limit goes on by itself.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub auto_resume: bool,
    /// Whether the next iteration takes up the conversation of the last one.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub resume_sessions: bool,
    /// Prices of models, for programs that tell no cost.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// What may be spent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub budget: Budget,
}

/// What may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// By one idea, in money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_idea: Option<MicroUsd>,
    /// On one day (UTC), in money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_day: Option<MicroUsd>,
    /// By one idea, in tokens of all kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_idea: Option<u64>,
    /// On one day (UTC), in tokens of all kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// Also in the middle of an iteration.
    #[serde(skip_serializing_if = "is_default")]
    pub hard_stop: bool,
}

impl Budget {
    /// The limits in dollars, as the configuration calls them.
    pub fn limits_in_dollars(&self) -> Vec<&'static str> {
        let of_idea = self.usd_per_idea.map(|_| "budget.usdPerIdea");
        let of_day = self.usd_per_day.map(|_| "budget.usdPerDay");
        of_idea.into_iter().chain(of_day).collect()
    }

    /// The limits in tokens, as the configuration calls them.
    pub fn limits_in_tokens(&self) -> Vec<&'static str> {
        let of_idea = self.tokens_per_idea.map(|_| "budget.tokensPerIdea");
        let of_day = self.tokens_per_day.map(|_| "budget.tokensPerDay");
        of_idea.into_iter().chain(of_day).collect()
    }
}

/// The limits of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct DayLimits {
    /// In money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<MicroUsd>,
    /// In tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl DayLimits {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Budget {
    /// Those of a day.
    pub const fn of_day(&self) -> DayLimits {
        DayLimits {
            usd: self.usd_per_day,
            tokens: self.tokens_per_day,
        }
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_yes(value: &bool) -> bool {
    *value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// As many as the configuration's default says.
fn kept() -> u32 {
    50
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_kept(value: &u32) -> bool {
    *value == kept()
}
