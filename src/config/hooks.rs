//! The configuration key `hooks`: one key per hook, whose value is a program and its limits.
//!
//! Invariant: a [`Hook`] always has its limits, in whichever form it was written. The set of names
//! is closed.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model::NOT_BLANK;
pub use crate::domain::hook::HookName;

/// Schema of the key `hooks`: one optional key for each hook name.
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
    /// Path of the executable, relative to the repository's root.
    pub run: String,
    /// Time limit in seconds.
    pub timeout_seconds: u32,
    /// What happens to the waiting step when the hook exceeds its time limit.
    pub on_timeout: OnTimeout,
    /// What happens to a call that a crash or a shutdown interrupted.
    pub on_crash: OnCrash,
}

/// What happens to a call that a crash or a shutdown interrupted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnCrash {
    /// swarm calls the hook again with the same `SWARM_EVENT_SEQ`.
    #[default]
    Retry,
    /// swarm does not call it again. It logs a warning, and a `pre-*` hook holds its step.
    Skip,
}

/// What happens to the waiting step when the hook exceeds its time limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The step continues; swarm logs a warning.
    #[default]
    Continue,
    /// The step is held, as if the hook had failed. Allowed for `pre-*` hooks only.
    Veto,
}

/// A hook: the executable alone, or an object with its limits.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum HookForm {
    /// Path of the executable, relative to the repository's root.
    Run(#[schemars(regex(pattern = NOT_BLANK))] String),
    /// The executable and its limits.
    Full(HookLimits),
}

/// The executable and its limits.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HookLimits {
    /// Path of the executable, relative to the repository's root.
    #[schemars(regex(pattern = NOT_BLANK))]
    run: String,
    /// Time limit in seconds. swarm then stops the hook and all its child processes.
    #[serde(default = "default_hook_seconds")]
    #[schemars(range(min = 1, max = 86_400))]
    timeout_seconds: u32,
    /// What happens to the waiting step when the hook exceeds its time limit.
    #[serde(default)]
    on_timeout: OnTimeout,
    /// What happens to a call that a crash or a shutdown interrupted.
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
