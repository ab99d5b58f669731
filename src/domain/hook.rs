//! Hooks: programs of a person's that are told of certain moments; two of them can hold the step
//! that they stand before.
//!
//! Invariant: a call is owed from the very event on that it is about, so that no crash forgets it,
//! and carries that event's number, so that a hook that is told again can see it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ids::{AgentId, IdeaId, RunId};
use super::time::Timestamp;

/// The moments at which a program of a person's can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookName {
    /// Before an attempt's first iteration; its failure blocks the idea.
    PreStart,
    /// An attempt ended.
    PostComplete,
    /// The merged tree passed, the target has not moved yet; its failure holds the merge.
    PreMerge,
    /// The target moved.
    PostMerge,
    /// A merge met a conflict.
    OnConflict,
    /// An agent found something out.
    OnLearning,
    /// swarm was paused.
    OnPause,
    /// Something failed.
    OnError,
}

impl HookName {
    /// Every hook, in the order of an idea's way.
    pub const ALL: [Self; 8] = [
        Self::PreStart,
        Self::PostComplete,
        Self::PreMerge,
        Self::PostMerge,
        Self::OnConflict,
        Self::OnLearning,
        Self::OnPause,
        Self::OnError,
    ];

    /// What a person types to have run what an agent's landed work made of it.
    pub fn approval(self) -> String {
        format!("swarm hooks approve {self}")
    }

    /// How the words begin that say why it holds its step.
    pub fn against(self) -> String {
        format!("the hook {self} is against it: ")
    }

    /// The name as it stands in the configuration and in `.swarm/hooks/<name>.sh`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreStart => "pre-start",
            Self::PostComplete => "post-complete",
            Self::PreMerge => "pre-merge",
            Self::PostMerge => "post-merge",
            Self::OnConflict => "on-conflict",
            Self::OnLearning => "on-learning",
            Self::OnPause => "on-pause",
            Self::OnError => "on-error",
        }
    }

    /// When it is called, for people.
    pub const fn description(self) -> &'static str {
        match self {
            Self::PreStart => "Before an attempt's first iteration. A failure blocks the idea.",
            Self::PostComplete => "After an attempt ends.",
            Self::PreMerge => {
                "After the merged tree passes its checks and before the target branch moves. A \
                 failure holds the merge."
            }
            Self::PostMerge => "After the target branch moves.",
            Self::OnConflict => "When a merge meets a conflict.",
            Self::OnLearning => "When an agent records a learning.",
            Self::OnPause => "When swarm pauses.",
            Self::OnError => "When something fails.",
        }
    }

    /// Whether it stands before a step and can hold it.
    pub const fn can_veto(self) -> bool {
        matches!(self, Self::PreStart | Self::PreMerge)
    }
}

/// How the words begin that say why a hook's program is not started.
const NOT_RUN: &str = "it is not run";

/// How the keys of warnings about hooks begin.
pub(crate) const WARNING: &str = "hook-";

/// What lets a hook run, when `reason` is that it holds its step for want of a person's approval.
/// What the hook or an agent said is not heeded.
pub fn approval_wanted(reason: &str) -> Option<String> {
    let wanted = |hook: HookName| {
        let how = reason.strip_prefix(&hook.against())?;
        let approval = hook.approval();
        (how.starts_with(NOT_RUN) && how.contains(&approval)).then_some(approval)
    };
    HookName::ALL.into_iter().find_map(wanted)
}

impl std::fmt::Display for HookName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for HookName {
    type Err = UnknownHook;

    fn from_str(text: &str) -> Result<Self, UnknownHook> {
        let found = Self::ALL.into_iter().find(|name| name.as_str() == text);
        found.ok_or_else(|| UnknownHook(text.to_owned()))
    }
}

/// No hook has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no hook `{0}`; there are pre-start, post-complete, pre-merge, post-merge, \
    on-conflict, on-learning, on-pause and on-error"
)]
pub struct UnknownHook(String);

/// What decisions need to know of a hook that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookSettings {
    /// How long a call may take, milliseconds.
    pub timeout_ms: i64,
    /// Whether one that took too long holds its step.
    pub veto_on_timeout: bool,
    /// Whether a call that was cut off is made again.
    pub again: bool,
}

/// A call that is owed, or under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCall {
    /// The event that it is about.
    pub seq: u64,
    /// Which hook.
    pub hook: HookName,
    /// The idea that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idea: Option<IdeaId>,
    /// The attempt that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What it is told: `SWARM_<name>` and what that is.
    pub facts: BTreeMap<String, String>,
    /// The run that makes the call; none: it has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Timestamp>,
    /// How often it was cut off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_off: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Where a step stands that a hook can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Passage {
    /// The hook is asked.
    Asked,
    /// It has nothing against it.
    Free,
    /// It is against it.
    Held,
}

/// How the last call of a hook ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastCall {
    /// When.
    pub at: Timestamp,
    /// Its run, whose directory has the output; none: it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// How, in words.
    pub how: String,
    /// Whether it did what it was there for.
    pub well: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hook_says_is_no_command_to_type() {
        let held = |how: &str| format!("{}{how}", HookName::PreMerge.against());
        let approve = "swarm hooks approve pre-merge";
        let not_run = held(&format!("it is not run: x: {approve}"));
        assert_eq!(approval_wanted(&not_run).as_deref(), Some(approve));
        for reason in [
            held(&format!("exit code 1: it is not run: {approve}")),
            held("it is not run: x is not executable"),
            format!("the agent exited with code 1: {not_run}"),
        ] {
            assert_eq!(approval_wanted(&reason), None, "{reason}");
        }
    }
}
