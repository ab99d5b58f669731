//! Lists the effective configuration, each value with its source.
//!
//! Invariant: never shows the values of `env`, nor the address and headers of the webhook.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::cross_checks::readiness;
use super::errors::{Origin, Problem};
use super::json_positions::parent;
use super::layers::{Layered, leaves};

/// One value of the effective configuration.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// The key, such as `agents.maxParallel`.
    pub key: String,
    /// The value; hidden if it may be secret.
    pub value: Value,
    /// The source that set it.
    pub origin: Origin,
}

impl Layered {
    /// Every value with its source, sorted by key.
    pub fn show(&self) -> Vec<Shown> {
        let mut rows = Vec::new();
        leaves(&self.config.redacted(), "", &mut |key, value| {
            rows.push(Shown {
                key: key.to_owned(),
                value: value.clone(),
                origin: self.origin(key),
            });
        });
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        rows
    }

    /// The effective configuration as `{"config", "origins", "hash"}`, with the values of `env`
    /// hidden.
    pub fn document(&self) -> Value {
        let origins: BTreeMap<String, Origin> = self
            .show()
            .into_iter()
            .map(|row| (row.key, row.origin))
            .collect();
        json!({ "config": self.config.redacted(), "origins": origins, "hash": self.config.hash() })
    }

    /// The source that set `key`, or an enclosing key.
    pub fn origin(&self, key: &str) -> Origin {
        let mut around = std::iter::successors(Some(key), |key| parent(key));
        let given = around.find_map(|key| self.origins.get(key));
        given.cloned().unwrap_or(Origin::Default)
    }

    /// The sources of everything within `key`, for people; if nothing within it has one, the source
    /// of an enclosing key.
    pub fn sources_within(&self, key: &str) -> BTreeSet<String> {
        let below = format!("{key}.");
        let within = self.origins.iter();
        let within = within.filter(|(other, _)| *other == key || other.starts_with(&below));
        let found: BTreeSet<String> = within.map(|(_, origin)| origin.to_string()).collect();
        if found.is_empty() {
            return [self.origin(key).to_string()].into();
        }
        found
    }

    /// The keys of `value`, set as `key` in `file`, that another source overrides, each with those
    /// sources.
    pub fn overridden(&self, key: &str, value: &Value, file: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        leaves(value, key, &mut |key, _| {
            let sources = self.sources_within(key);
            if !sources.contains(file) {
                let others: Vec<String> = sources.into_iter().collect();
                found.push((key.to_owned(), others.join(", ")));
            }
        });
        found
    }

    /// Problems that stop agents from running although the configuration is valid: see
    /// [`readiness`].
    pub fn readiness(&self) -> Vec<Problem> {
        let mut problems = readiness(&self.config);
        for problem in &mut problems {
            problem.origin = self
                .origins
                .get(&problem.key)
                .cloned()
                .unwrap_or(Origin::Shared);
            problem.position = self.places.get(&problem.key).copied();
        }
        problems
    }
}
