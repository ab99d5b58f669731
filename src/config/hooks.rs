//! The hooks' part of the configuration: which moments there are, and how a program for one is written.
//!
//! Invariant: however it was written, a [`Hook`] has its limits; the set of names is closed.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model::NOT_BLANK;

/// The moments at which a program of yours can run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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

    /// Whether this hook stands before a step and can hold it.
    pub const fn can_veto(self) -> bool {
        matches!(self, Self::PreStart | Self::PreMerge)
    }
}

/// The closed set of hooks, each key described by the doc comment of its [`HookName`].
pub(super) fn hooks_schema(generator: &mut SchemaGenerator) -> Schema {
    let hook = generator.subschema_for::<Hook>().to_value();
    let names = HookName::json_schema(generator).to_value();
    let described = names["oneOf"].as_array().into_iter().flatten();
    let keys: Map<String, Value> = described
        .filter_map(|name| {
            let mut key = hook.clone();
            key["description"] = name["description"].clone();
            Some((name["const"].as_str()?.to_owned(), key))
        })
        .collect();
    json_schema!({ "type": "object", "properties": keys, "additionalProperties": false })
}

/// One configured hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", from = "HookForm")]
#[schemars(with = "HookForm")]
pub struct Hook {
    /// Executable, relative to the repository.
    pub run: String,
    /// Seconds after which the hook and all its children are ended.
    pub timeout_seconds: u32,
    /// What a hook that was ended means for the step that waits on it.
    pub on_timeout: OnTimeout,
}

/// What a hook that ran out of time means for the step that waits on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The step goes on; a warning is logged.
    #[default]
    Continue,
    /// As if the hook had failed: the step is held. Only for hooks named `pre-...`.
    Veto,
}

/// A hook as it may be written: the executable alone, or with its limits.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum HookForm {
    /// Executable, relative to the repository.
    Run(#[schemars(regex(pattern = NOT_BLANK))] String),
    /// Executable with its limits.
    Full(HookLimits),
}

/// Executable with its limits.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HookLimits {
    /// Executable, relative to the repository.
    #[schemars(regex(pattern = NOT_BLANK))]
    run: String,
    /// Seconds after which the hook and all its children are ended.
    #[serde(default = "default_hook_seconds")]
    #[schemars(range(min = 1, max = 86_400))]
    timeout_seconds: u32,
    /// What it means for the step that waits on it when the hook was ended.
    #[serde(default)]
    on_timeout: OnTimeout,
}

const fn default_hook_seconds() -> u32 {
    30
}

impl From<HookForm> for Hook {
    fn from(form: HookForm) -> Self {
        let limits = match form {
            HookForm::Full(limits) => limits,
            HookForm::Run(run) => HookLimits {
                run,
                timeout_seconds: default_hook_seconds(),
                on_timeout: OnTimeout::default(),
            },
        };
        Self {
            run: limits.run,
            timeout_seconds: limits.timeout_seconds,
            on_timeout: limits.on_timeout,
        }
    }
}
