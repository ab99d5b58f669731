//! Configuration: merges the person's own file, `config.json`, `config.local.json`, environment and
//! flags into one checked [`Config`]. Also plans and writes the files of `swarm init`.
//!
//! Invariant: a [`Config`] that [`load`] or [`layer`] returns has passed every check. Nothing is
//! guessed, and all problems are reported at once. This room depends on `domain` alone.
//!
//! `read` reads the files and `layers` merges them; `validate` applies the schema of `model`, and
//! `cross_checks` the rest. `json_positions` locates `errors`. `hooks` and `notify` are parts of
//! the model, `placeholders` fills in `worktree.env`, `schema` is the published schema, `show`
//! lists the result, `set` changes a value in a file with `json_edit`, and `init` writes the first
//! files. `json_layout` prints JSON so that formatters leave it as it is.

mod cross_checks;
mod errors;
mod hooks;
pub mod init;
mod json_edit;
pub mod json_layout;
mod json_positions;
mod layers;
mod model;
mod notify;
mod placeholders;
mod read;
pub mod schema;
mod set;
mod show;
mod validate;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub use cross_checks::{profile_problem, readiness};
pub use errors::{ConfigError, Origin, Position, Problem, ProblemKind};
pub(crate) use errors::{nearest, visible};
pub use hooks::{Hook, HookName, OnCrash, OnTimeout};
pub use layers::{Flag, Layered, Sources, UserFile, VARIABLES, layer};
pub use model::{
    Adapter, Agents, Auto, Baseline, Budget, Canary, Checkpoints, Checks, Completion, Config,
    KeepIgnored, Limits, MaxChecks, Merge, MergeSign, Mode, Pricing, Profile, ReadGuard, Shutdown,
    Synthesis, Worktree,
};
pub use notify::{Address, Notify, Webhook, address, expand};
pub use placeholders::Placeholders;
pub use read::{MAX_FILE_BYTES, environment, load};
pub use set::{Change, Place, SetError, path_of, set};
pub use show::Shown;
pub(crate) use validate::is_profile_name;

/// Replaces a hidden value.
const HIDDEN: &str = "<hidden>";

fn hide_values(object: &mut Value) {
    let values = object.as_object_mut().into_iter().flat_map(Map::values_mut);
    values.for_each(|value| *value = HIDDEN.into());
}

impl Config {
    /// SHA-256 of the effective configuration with sorted keys, as 64 hex digits. It leaves out
    /// `$schema` and includes the values of `env`, which are stored nowhere.
    pub fn hash(&self) -> String {
        let mut canonical = String::new();
        write_canonical(&self.value(), &mut canonical);
        let digest = Sha256::digest(canonical.as_bytes());
        digest.iter().fold(String::new(), |mut hex, byte| {
            hex.extend(
                [byte >> 4, byte & 15]
                    .map(|half| char::from(b"0123456789abcdef"[usize::from(half)])),
            );
            hex
        })
    }

    /// The effective configuration as JSON, safe to show and store: the values of `env` are hidden,
    /// and so are the address and the headers of the webhook.
    pub fn redacted(&self) -> Value {
        let mut value = self.value();
        let profiles = value["agents"]["profiles"].as_object_mut();
        for profile in profiles.into_iter().flat_map(Map::values_mut) {
            hide_values(&mut profile["env"]);
        }
        hide_values(&mut value["worktree"]["env"]);
        if let Some(webhook) = value["notify"]["webhook"].as_object_mut() {
            webhook["url"] = HIDDEN.into();
            hide_values(&mut webhook["headers"]);
        }
        value
    }

    fn value(&self) -> Value {
        let mut value = serde_json::to_value(self)
            .expect("a Config has text keys only and finite numbers, which JSON can hold");
        if let Some(object) = value.as_object_mut() {
            object.remove("$schema");
        }
        value
    }
}

/// Writes `value` without whitespace and with sorted keys, whatever order its maps keep.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(name, _)| *name);
            write_list(out, '{', '}', entries, |(name, value), out| {
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            });
        }
        Value::Array(items) => write_list(out, '[', ']', items, write_canonical),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

fn write_list<T>(
    out: &mut String,
    open: char,
    close: char,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(close);
}
