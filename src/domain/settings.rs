//! The part of the configuration that decisions depend on.
//!
//! Invariant: journaled when it changes, so that decisions can be understood and repeated from the
//! log alone. `daemon` loads it from the configuration.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::attention::NoticeKind;
use super::hook::{HookName, HookSettings};
use super::ids::ProfileName;
use super::usage::{MicroUsd, Price};

/// Default of `memory.window`.
pub const MEMORY_WINDOW: u32 = 4096;

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

/// What happens if the untouched target does not pass the quality commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BaselineMode {
    /// No idea begins until it passes.
    Require,
    /// People are warned.
    Warn,
    /// It is not checked.
    Off,
}

/// What happens if the quality commands do not see the tree that they check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CanaryMode {
    /// No idea begins, and nothing lands.
    Require,
    /// People are warned.
    Warn,
    /// Nobody finds out.
    Off,
}

/// Settings that decisions depend on. All times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // each is a key of the configuration
pub struct Settings {
    /// Who starts ideas.
    pub mode: Mode,
    /// Branch on which finished work lands.
    pub target: String,
    /// Most live attempts at once.
    pub max_parallel: u32,
    /// Time limit of an attempt, over all its iterations.
    pub attempt_timeout_ms: i64,
    /// Profile of ideas that name none.
    pub default_profile: ProfileName,
    /// All configured profiles.
    pub profiles: Vec<ProfileName>,
    /// Attempts in a row that failed, timed out or were blocked that pause the swarm.
    pub failures_to_pause: u32,
    /// Crashes after which an idea fails.
    pub crash_retries: u32,
    /// How long an agent may wait for its provider; 0 for ever.
    #[serde(default, skip_serializing_if = "is_default")]
    pub provider_wait_ms: i64,
    /// Iterations after which an attempt times out.
    pub max_iterations: u32,
    /// Iterations without a change of the worktree after which an idea is blocked, and without a
    /// new commit after which a warning is raised; 0 for never.
    pub stuck_threshold: u32,
    /// Iterations in a row that fail the same quality command after which an idea is blocked; 0 for
    /// never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub same_check_failures: u32,
    /// Whether swarm commits what an agent left uncommitted at COMPLETE.
    pub auto_commit: bool,
    /// Whether the repository has hooks that must pass before leftovers are committed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub commit_hooks: bool,
    /// Commands that set up a worktree before it is used, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// The project's quality commands, in order.
    pub quality_commands: Vec<String>,
    /// Time limit of a quality or setup command.
    pub quality_timeout_ms: i64,
    /// Most quality commands of agents' worktrees at once; `None`: as many as fit on the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_checks: Option<u32>,
    /// Whether the untouched target must pass them before work begins.
    pub baseline: BaselineMode,
    /// Whether swarm probes if they see the tree that they check.
    pub canary: CanaryMode,
    /// Whether finished work enters the merge queue without approval.
    pub auto_merge: bool,
    /// Whether the merged tree is checked before the target moves.
    pub verify: bool,
    /// Most tries of a resolver agent per conflict.
    pub conflict_retries: u32,
    /// Whether worktree and branch are deleted after a proven landing.
    pub cleanup_on_success: bool,
    /// Profile that resolves conflicts; `None` for the idea's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<ProfileName>,
    /// How long a shutdown waits for iterations to end.
    pub grace_ms: i64,
    /// Landings between automatic checkpoints; 0 for none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checkpoint_every: u32,
    /// Whether a checkpoint is made when autopilot begins: first of all, and after semi-auto mode.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checkpoint_before_autopilot: bool,
    /// Whether each checkpoint also gets a tag in `refs/tags/`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checkpoint_tag: bool,
    /// Number of automatic checkpoints that are kept.
    #[serde(default = "kept", skip_serializing_if = "is_kept")]
    pub checkpoints_kept: u32,
    /// How many worktrees of attempts there may be before finished work lends its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub max_worktrees: u32,
    /// Configured hooks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<HookName, HookSettings>,
    /// What the webhook is told; `None` if there is none. Its address and headers may be secret and
    /// are not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// Account of each profile whose program has one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<ProfileName, String>,
    /// Whether work waiting for a usage limit continues by itself.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub auto_resume: bool,
    /// Whether the next iteration resumes the last one's conversation.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub resume_sessions: bool,
    /// Prices of models, for programs that report no cost.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Budget limits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub budget: Budget,
    /// Whether agents may add ideas.
    #[serde(default, skip_serializing_if = "is_default")]
    pub agents_may_add: bool,
    /// Learnings that support no fact and stay in the state.
    #[serde(default = "window", skip_serializing_if = "is_window")]
    pub memory_window: u32,
    /// Whether each iteration gets a provenance record.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep_records: bool,
    /// When a model makes facts of learnings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub synthesis: SynthesisSettings,
}

/// When a model makes facts of learnings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SynthesisSettings {
    /// Profile that it runs under; `None`: only when a person asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// New learnings after which it runs, at least 1.
    pub every: u64,
}

impl Settings {
    /// Whether the untouched target is checked at all.
    pub fn checks_baseline(&self) -> bool {
        self.baseline != BaselineMode::Off && !self.quality_commands.is_empty()
    }

    /// Whether swarm finds out if the quality commands see the tree that they check.
    pub fn probes_checks(&self) -> bool {
        self.canary != CanaryMode::Off && !self.quality_commands.is_empty()
    }

    /// Whether nothing lands before the quality commands are known to see their tree.
    pub fn requires_canary(&self) -> bool {
        self.canary == CanaryMode::Require && !self.quality_commands.is_empty()
    }

    /// Whether anybody is told what needs a person.
    pub fn tells_people(&self) -> bool {
        self.webhook.is_some() || self.hooks.contains_key(&HookName::OnNeedsYou)
    }

    /// Whether the webhook is told things of this kind.
    pub fn tells_webhook(&self, kind: NoticeKind) -> bool {
        let webhook = self.webhook.as_ref();
        webhook.is_some_and(|webhook| {
            let kinds = webhook.kinds.as_ref();
            kinds.is_none_or(|kinds| kinds.contains(&kind))
        })
    }

    /// Whether work begins only on a target that passed.
    pub fn requires_baseline(&self) -> bool {
        self.baseline == BaselineMode::Require && !self.quality_commands.is_empty()
    }
}

/// What the webhook is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Webhook {
    /// Kinds of things; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<BTreeSet<NoticeKind>>,
}

/// Budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Per idea, in money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_idea: Option<MicroUsd>,
    /// Per day (UTC), in money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_day: Option<MicroUsd>,
    /// Per idea, in tokens of all kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_idea: Option<u64>,
    /// Per day (UTC), in tokens of all kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// Whether a used-up budget also stops running iterations.
    #[serde(skip_serializing_if = "is_default")]
    pub hard_stop: bool,
}

impl Budget {
    /// Configuration keys of the limits in dollars.
    pub fn limits_in_dollars(&self) -> Vec<&'static str> {
        let of_idea = self.usd_per_idea.map(|_| "budget.usdPerIdea");
        let of_day = self.usd_per_day.map(|_| "budget.usdPerDay");
        of_idea.into_iter().chain(of_day).collect()
    }

    /// Configuration keys of the limits in tokens.
    pub fn limits_in_tokens(&self) -> Vec<&'static str> {
        let of_idea = self.tokens_per_idea.map(|_| "budget.tokensPerIdea");
        let of_day = self.tokens_per_day.map(|_| "budget.tokensPerDay");
        of_idea.into_iter().chain(of_day).collect()
    }
}

/// Daily limits.
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
    /// Whether there is no daily limit.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Budget {
    /// The daily limits.
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

/// The configuration's default.
fn kept() -> u32 {
    50
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_kept(value: &u32) -> bool {
    *value == kept()
}

fn window() -> u32 {
    MEMORY_WINDOW
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_window(value: &u32) -> bool {
    *value == window()
}
