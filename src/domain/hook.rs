//! Hooks: a person's programs that run at certain moments. Two of them guard a step and can hold
//! it.
//!
//! Invariant: a call is recorded as owed together with the event it is about, so a crash cannot
//! lose it. It carries that event's number, so that a hook can detect a repeated call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ids::{AgentId, IdeaId, RunId};
use super::time::Timestamp;

/// The moments at which a hook can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookName {
    /// Before an attempt's first iteration; a failure blocks the idea.
    PreStart,
    /// An attempt ended.
    PostComplete,
    /// The merged tree passed its checks and the target has not moved yet; a failure holds the
    /// merge.
    PreMerge,
    /// The target moved.
    PostMerge,
    /// A merge met a conflict.
    OnConflict,
    /// An agent recorded a learning.
    OnLearning,
    /// swarm was paused.
    OnPause,
    /// Something failed.
    OnError,
    /// Something needs a person, or a night ended.
    OnNeedsYou,
}

impl HookName {
    /// All hooks, in the order in which an idea meets them.
    pub const ALL: [Self; 9] = [
        Self::PreStart,
        Self::PostComplete,
        Self::PreMerge,
        Self::PostMerge,
        Self::OnConflict,
        Self::OnLearning,
        Self::OnPause,
        Self::OnError,
        Self::OnNeedsYou,
    ];

    /// Command that approves a hook changed by an agent's landed work.
    pub fn approval(self) -> String {
        format!("swarm hooks approve {self}")
    }

    /// Prefix of the reason why this hook holds its step.
    pub fn against(self) -> String {
        format!("held by the hook {self}: ")
    }

    /// Name in the configuration and in `.swarm/hooks/<name>.sh`.
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
            Self::OnNeedsYou => "on-needs-you",
        }
    }

    /// When it is called, as a sentence for people.
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
            Self::OnNeedsYou => {
                "Once for each thing that needs a person, and when nothing can continue by itself \
                 any more."
            }
        }
    }

    /// Whether it guards a step and can hold it.
    pub const fn can_veto(self) -> bool {
        matches!(self, Self::PreStart | Self::PreMerge)
    }
}

/// Prefix of the reason why a hook's program was not started.
const NOT_RUN: &str = "it is not run";

/// Command that approves the hook, if `reason` says that it holds its step because nobody approved
/// it. Text from the hook or an agent is ignored.
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
    "there is no hook `{0}`; the hooks are pre-start, post-complete, pre-merge, post-merge, \
    on-conflict, on-learning, on-pause, on-error and on-needs-you"
)]
pub struct UnknownHook(String);

/// Settings of a configured hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookSettings {
    /// Time limit of a call, in milliseconds.
    pub timeout_ms: i64,
    /// Whether a call that timed out holds its step.
    pub veto_on_timeout: bool,
    /// Whether an interrupted call is repeated.
    pub again: bool,
}

/// A call that is owed or running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCall {
    /// Sequence number of the event that it is about.
    pub seq: u64,
    /// The hook.
    pub hook: HookName,
    /// Idea that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idea: Option<IdeaId>,
    /// Agent of the attempt that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Variables passed to it, without the prefix `SWARM_`.
    pub facts: BTreeMap<String, String>,
    /// Run that makes the call; `None` before it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When that run was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Timestamp>,
    /// How often it was interrupted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_off: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// State of a step that a hook guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Passage {
    /// The hook has been called.
    Asked,
    /// The hook allows the step.
    Free,
    /// The hook holds the step.
    Held,
}

/// Result of a hook's last call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastCall {
    /// When it ended.
    pub at: Timestamp,
    /// Run whose directory has the output; `None` if the program was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// How it ended, for people.
    pub how: String,
    /// Whether it succeeded.
    pub well: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_hook_is_never_taken_as_a_command() {
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
