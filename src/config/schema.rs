//! The JSON Schema of `config.json`, generated from the types in `super::model`.
//!
//! Invariant: one source. The schema, the validator and the types always agree.

use std::sync::LazyLock;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use super::json_layout;
use super::model::Config;

/// The schema as JSON.
pub fn schema() -> Value {
    SchemaSettings::default()
        .with_transform(RecursiveTransform(unwrap_description))
        .into_generator()
        .into_root_schema_for::<Config>()
        .to_value()
}

/// Joins the lines of a description. A doc comment wraps, but editors show each line break.
fn unwrap_description(schema: &mut Schema) {
    let text = schema.get("description").and_then(Value::as_str);
    if let Some(joined) = text.map(|text| text.replace('\n', " ")) {
        schema.insert("description".to_owned(), joined.into());
    }
}

/// What a key such as `agents.maxParallel` means; the innermost description on its way. `None` for
/// a key that the schema does not have.
pub fn meaning(key: &str) -> Option<String> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(schema);
    let mut at = &*SCHEMA;
    let mut found = None;
    for name in key.split('.') {
        at = resolved(&SCHEMA, at);
        let property = at.get("properties").and_then(|all| all.get(name));
        // A name that the person chose, such as a profile's, has no description.
        let Some(next) = property.or_else(|| at.get("additionalProperties")) else {
            break;
        };
        let said = next.get("description").and_then(Value::as_str);
        found = said.or(found);
        at = next;
    }
    found.map(str::to_owned)
}

/// The schema that a reference leads to, also one among alternatives such as `null`.
fn resolved<'s>(root: &'s Value, mut at: &'s Value) -> &'s Value {
    loop {
        let reference =
            |one: &Value| Some(one.get("$ref")?.as_str()?.strip_prefix('#')?.to_owned());
        let alternatives = at.get("anyOf").and_then(Value::as_array);
        let place = reference(at).or_else(|| alternatives?.iter().find_map(reference));
        match place.and_then(|place| root.pointer(&place)) {
            Some(next) => at = next,
            None => return at,
        }
    }
}

/// The schema as the text of `config.schema.json`.
pub fn schema_text() -> String {
    json_layout::file(&schema())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;
    use crate::config::HookName;

    /// Calls `each` with the schema of every object that has properties.
    fn closed_objects(schema: &Value, each: &mut impl FnMut(&Value)) {
        match schema {
            Value::Object(object) => {
                if object.contains_key("properties") {
                    each(schema);
                }
                object
                    .values()
                    .for_each(|value| closed_objects(value, each));
            }
            Value::Array(items) => items.iter().for_each(|item| closed_objects(item, each)),
            _ => {}
        }
    }

    #[test]
    fn every_key_is_described_and_unknown_keys_are_refused() {
        let mut objects = 0;
        closed_objects(&schema(), &mut |object| {
            objects += 1;
            assert_eq!(object["additionalProperties"], false, "{object}");
            for (name, property) in object["properties"].as_object().unwrap() {
                assert!(
                    property["description"].is_string(),
                    "{name} is not described"
                );
            }
        });
        assert!(objects >= 9, "{objects}");
    }

    #[test]
    fn every_value_that_is_shown_has_a_meaning() {
        let text = r#"{"agents":{"profile":"ed","profiles":{"ed":{"adapter":"demo"}}},
            "hooks":{"on-pause":"a.sh"}}"#;
        let sources = crate::config::Sources {
            shared: Some(text.to_owned()),
            ..crate::config::Sources::default()
        };
        let shown = crate::config::layer(&sources).unwrap().show();
        for row in &shown {
            assert!(meaning(&row.key).is_some(), "{}", row.key);
        }
        let timeout = meaning("hooks.on-pause.timeoutSeconds").unwrap();
        assert_ne!(Some(timeout), meaning("hooks"));
        assert_eq!(meaning("colour"), None);
    }

    #[test]
    fn every_hook_is_a_key() {
        let schema = schema();
        let hooks = schema["properties"]["hooks"]["properties"]
            .as_object()
            .unwrap();
        assert_eq!(hooks.len(), HookName::ALL.len());
        for name in HookName::ALL {
            assert!(hooks.contains_key(name.as_str()));
            assert_eq!(serde_json::to_value(name).unwrap(), name.as_str());
        }
    }

    #[test]
    fn defaults_and_ranges_are_stated() {
        let agents = &schema()["$defs"]["Agents"]["properties"];
        assert_eq!(agents["maxParallel"]["default"], 3);
        assert_eq!(agents["maxParallel"]["maximum"], 64);
    }

    #[test]
    fn descriptions_are_one_line() {
        closed_objects(&schema(), &mut |object| {
            for (name, property) in object["properties"].as_object().unwrap() {
                let text = property["description"].as_str().unwrap();
                assert!(!text.contains('\n'), "{name}: {text}");
            }
        });
    }
}
