//! Validates a JSON value against the configuration schema: keys, types, ranges, names.
//!
//! Invariant: a value that passes deserialises, because schema and types have one source
//! ([`super::model`]). A value that fails is pruned, so that the rest can still be checked and all
//! problems are reported at once.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::errors::{ProblemKind, nearest};
use super::json_positions::child;
use super::model::{NO_NUL, NOT_BLANK, PROFILE_NAME, VARIABLE_NAME};
use super::schema::schema;

/// Whether required keys must be present. A single layer may leave them to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// The merged configuration.
    Yes,
    /// One layer of it.
    No,
}

/// Removes invalid parts from `value` and returns a problem for each, with its key.
pub(super) fn prune(value: &mut Value, whole: Whole) -> Vec<(String, ProblemKind)> {
    let mut check = Check {
        whole,
        found: Vec::new(),
    };
    if !check.fits(&SCHEMA, value, "") {
        *value = Value::Object(Map::new());
    }
    check.found
}

static SCHEMA: LazyLock<Value> = LazyLock::new(schema);

/// A pattern of the schema, as code and in words.
struct Pattern {
    source: &'static str,
    holds: fn(&str) -> bool,
    words: &'static str,
}

/// Every pattern of the schema; a test checks that none is missing.
const PATTERNS: [Pattern; 4] = [
    Pattern {
        source: PROFILE_NAME,
        holds: is_profile_name,
        words: "1 to 32 characters from `a-z`, `0-9` and `-`, not starting with `-`",
    },
    Pattern {
        source: VARIABLE_NAME,
        holds: is_variable_name,
        words: "letters, digits and `_`, not starting with a digit",
    },
    Pattern {
        source: NOT_BLANK,
        holds: |text| !text.contains('\0') && text.chars().any(|c| !c.is_whitespace()),
        words: "a non-empty string",
    },
    Pattern {
        source: NO_NUL,
        holds: |text| !text.contains('\0'),
        words: "a string without NUL characters",
    },
];

/// Whether `text` is a valid profile name.
pub(crate) fn is_profile_name(text: &str) -> bool {
    let ok = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= 32
        && bytes.first().is_some_and(|first| ok(*first))
        && bytes.iter().all(|byte| ok(*byte) || *byte == b'-')
}

fn is_variable_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

struct Check {
    whole: Whole,
    found: Vec<(String, ProblemKind)>,
}

impl Check {
    /// Whether `value` may stay. Removes invalid parts inside it.
    fn fits(&mut self, schema: &Value, value: &mut Value, key: &str) -> bool {
        let schema = resolve(schema);
        if let Some(branches) = branches(schema) {
            return match branches.iter().find(|branch| has_type(branch, value)) {
                Some(branch) => self.fits(branch, value, key),
                None => self.refuse(schema, value, key),
            };
        }
        if !has_type(schema, value) || !in_bounds(schema, value) {
            return self.refuse(schema, value, key);
        }
        match value {
            Value::Object(object) => self.object(schema, object, key),
            Value::Array(items) => self.array(schema, items, key),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }

    fn object(&mut self, schema: &Value, object: &mut Map<String, Value>, key: &str) -> bool {
        object.retain(|name, value| self.entry(schema, name, value, &child(key, name)));
        let required = schema["required"].as_array().into_iter().flatten();
        let missing = required
            .filter_map(Value::as_str)
            .filter(|name| !object.contains_key(*name));
        for name in missing.filter(|_| self.whole == Whole::Yes) {
            let allowed = describe(&schema["properties"][name]);
            self.found
                .push((child(key, name), ProblemKind::Missing { allowed }));
        }
        true
    }

    fn entry(&mut self, schema: &Value, name: &str, value: &mut Value, key: &str) -> bool {
        if let Some(property) = schema["properties"].get(name) {
            return self.fits(property, value, key);
        }
        let Some(any) = schema.get("additionalProperties").filter(|s| s.is_object()) else {
            self.found
                .push((key.to_owned(), unknown(name, &schema["properties"])));
            return false;
        };
        if let Some(pattern) = broken_pattern(&schema["propertyNames"], name) {
            let allowed = pattern.words.to_owned();
            self.found
                .push((key.to_owned(), ProblemKind::BadName { allowed }));
            return false;
        }
        self.fits(any, value, key)
    }

    /// Refuses a list with an invalid item as a whole: without the item it would mean something
    /// else.
    fn array(&mut self, schema: &Value, items: &mut [Value], key: &str) -> bool {
        let mut fit = true;
        for (index, item) in items.iter_mut().enumerate() {
            fit &= self.fits(&schema["items"], item, &format!("{key}[{index}]"));
        }
        fit
    }

    fn refuse(&mut self, schema: &Value, value: &Value, key: &str) -> bool {
        let problem = ProblemKind::BadValue {
            found: shown(value, key),
            allowed: describe(schema),
        };
        self.found.push((key.to_owned(), problem));
        false
    }
}

fn unknown(name: &str, properties: &Value) -> ProblemKind {
    let keys = properties.as_object().into_iter().flat_map(Map::keys);
    let known: Vec<String> = keys.filter(|k| !k.starts_with('$')).cloned().collect();
    ProblemKind::UnknownKey {
        nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
        known,
    }
}

fn resolve(schema: &Value) -> &Value {
    let reference = schema["$ref"].as_str();
    match reference.and_then(|r| SCHEMA.pointer(r.trim_start_matches('#'))) {
        Some(target) => resolve(target),
        None => schema,
    }
}

fn branches(schema: &Value) -> Option<&Vec<Value>> {
    schema["oneOf"].as_array().or(schema["anyOf"].as_array())
}

/// Whether `value` has a type, or is a constant, that `schema` allows.
fn has_type(schema: &Value, value: &Value) -> bool {
    let schema = resolve(schema);
    if let Some(constant) = schema.get("const") {
        return constant == value;
    }
    if let Some(branches) = branches(schema) {
        return branches.iter().any(|branch| has_type(branch, value));
    }
    type_names(schema).any(|name| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => false,
    })
}

fn type_names(schema: &Value) -> impl Iterator<Item = &str> {
    let types = &schema["type"];
    let several = types.as_array().into_iter().flatten();
    types
        .as_str()
        .into_iter()
        .chain(several.filter_map(Value::as_str))
}

fn in_bounds(schema: &Value, value: &Value) -> bool {
    let bound = |name: &str| schema[name].as_f64();
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|n| {
            bound("minimum").is_none_or(|min| n >= min)
                && bound("maximum").is_none_or(|max| n <= max)
        }),
        Value::String(text) => broken_pattern(schema, text).is_none(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

fn pattern_of(schema: &Value) -> Option<&'static Pattern> {
    let source = schema["pattern"].as_str()?;
    PATTERNS.iter().find(|pattern| pattern.source == source)
}

fn broken_pattern(schema: &Value, text: &str) -> Option<&'static Pattern> {
    pattern_of(schema).filter(|pattern| !(pattern.holds)(text))
}

/// Describes in words what `schema` allows.
fn describe(schema: &Value) -> String {
    let schema = resolve(schema);
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(branches) = branches(schema) {
        return or(branches.iter().map(describe).collect());
    }
    or(type_names(schema)
        .map(|name| describe_type(name, schema))
        .collect())
}

fn describe_type(name: &str, schema: &Value) -> String {
    let number = |key: &str| schema.get(key).map(Value::to_string);
    let bounds = match (number("minimum"), number("maximum")) {
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
        (Some(min), None) => format!(" of at least {min}"),
        (None, Some(max)) => format!(" of at most {max}"),
        (None, None) => String::new(),
    };
    match name {
        "integer" => format!("a whole number{bounds}"),
        "number" => format!("a number{bounds}"),
        "boolean" => "true or false".to_owned(),
        "string" => pattern_of(schema)
            .map_or("a string", |p| p.words)
            .to_owned(),
        "array" => format!(
            "a list in which each item is {}",
            describe(&schema["items"])
        ),
        "object" => "an object".to_owned(),
        other => other.to_owned(),
    }
}

fn or(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() {
        return last;
    }
    format!("{} or {last}", words.join(", "))
}

const MAX_SHOWN: usize = 60;

/// Formats `value` for a message: shortened, and only its type if an `env` key holds it.
fn shown(value: &Value, key: &str) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let secret = key
        .split('.')
        .any(|name| name == "env" || name == "webhook");
    if secret || value.is_array() || value.is_object() {
        return kind.to_owned();
    }
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use serde_json::json;

    use super::*;

    fn said(mut value: Value, whole: Whole) -> Vec<String> {
        let problems = prune(&mut value, whole);
        let line = |(key, kind): &(String, ProblemKind)| format!("{key}: {kind}");
        problems.iter().map(line).collect()
    }

    fn patterns(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(object) => {
                found.extend(
                    object
                        .get("pattern")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
                object.values().for_each(|value| patterns(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| patterns(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_pattern_of_the_schema_is_checked() {
        let mut found = Vec::new();
        patterns(&SCHEMA, &mut found);
        assert!(!found.is_empty());
        for pattern in found {
            assert!(PATTERNS.iter().any(|p| p.source == pattern), "{pattern}");
        }
    }

    #[test]
    fn every_problem_says_what_was_found_and_what_is_allowed() {
        let mut value = json!({
            "mode": "auto", "target": 7, "qualityTimeoutMinutes": 1.5,
            "agents": { "maxParallel": 0, "maxParalel": 3, "passEnv": ["1A"],
                "profiles": { "Ed": {}, "ed": { "adapter": "clod", "env": { "KEY": 12345 } } } },
            "qualityCommands": ["cargo test", "  "], "completion": [],
                "merge": { "autoMerge": "yes" },
            "hooks": { "post-merg": "x", "on-pause": 3, "pre-merge": { "run": "" } },
                "budget": { "usdPerDay": -1 },
        });
        value.sort_all_objects();
        insta::assert_snapshot!(said(value, Whole::No).join("\n"));
    }

    #[test]
    fn a_single_layer_may_omit_required_keys() {
        let value = json!({ "agents": { "profiles": { "ed": { "model": null } } },
            "hooks": { "on-pause": { "timeoutSeconds": 5 } } });
        assert_eq!(said(value.clone(), Whole::No), [""; 0]);
        let missing = said(value, Whole::Yes);
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing[0].starts_with("agents.profiles.ed.adapter: missing"));
        assert!(missing[1].starts_with("hooks.on-pause.run: missing"));
    }

    #[test]
    fn invalid_parts_are_removed_and_the_rest_stays() {
        let mut value = json!({ "mode": 1, "agents": { "maxParallel": 4, "x": 1 },
            "qualityCommands": ["a", 1] });
        prune(&mut value, Whole::No);
        assert_eq!(value, json!({ "agents": { "maxParallel": 4 } }));
    }

    #[test]
    fn a_value_other_than_an_object_is_refused() {
        assert_eq!(
            said(json!([1]), Whole::No),
            [": found a list; allowed: an object"]
        );
    }

    #[test]
    fn malformed_names_are_refused() {
        assert!(is_profile_name("a") && is_profile_name("0-b") && is_profile_name(&"x".repeat(32)));
        for bad in [
            "",
            "-a",
            "A",
            "a_b",
            "\u{e9}",
            "a b",
            "a/b",
            &"x".repeat(33),
        ] {
            assert!(!is_profile_name(bad), "{bad}");
        }
        assert!(is_variable_name("_A9") && !is_variable_name("9A") && !is_variable_name(""));
    }
}
