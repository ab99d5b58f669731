//! The hooks' part of the configuration: which moments there are, and how a program for one is written.
//!
//! Invariant: however it was written, a [`Hook`] has its limits; the set of names is closed.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model::NOT_BLANK;
pub use crate::domain::hook::HookName;

/// The closed set of hooks, each with its description.
pub(super) fn hooks_schema(generator: &mut SchemaGenerator) -> Schema {
    let hook = generator.subschema_for::<Hook>().to_value();
    let keys: Map<String, Value> = HookName::ALL
        .into_iter()
        .map(|name| {
            let mut key = hook.clone();
            key["description"] = name.description().into();
            (name.as_str().to_owned(), key)
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
    /// What becomes of a call that a crash, or the daemon's end, cut off.
    pub on_crash: OnCrash,
}

/// What becomes of a call that was cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnCrash {
    /// It is made again, with the same `SWARM_EVENT_SEQ`.
    #[default]
    Retry,
    /// It is not made again; a warning is logged, and a hook named `pre-...` holds its step.
    Skip,
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
    /// What becomes of a call that a crash, or the daemon's end, cut off.
    #[serde(default)]
    on_crash: OnCrash,
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
                on_crash: OnCrash::default(),
            },
        };
        Self {
            run: limits.run,
            timeout_seconds: limits.timeout_seconds,
            on_timeout: limits.on_timeout,
            on_crash: limits.on_crash,
        }
    }
}
