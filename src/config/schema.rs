//! The JSON Schema of `config.json`, made from the types of `super::model`.
//!
//! Invariant: one source. What the schema says is what the checker checks and what the types read.

use serde_json::Value;

use super::model::Config;

/// The schema as a document.
pub fn schema() -> Value {
    schemars::schema_for!(Config).to_value()
}

/// The schema as the text of `config.schema.json`.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;
    use crate::config::HookName;

    /// Calls `each` for every object of properties, with its schema.
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
    fn every_key_is_described_and_no_object_with_fixed_keys_takes_others() {
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
    fn defaults_are_stated() {
        let agents = &schema()["$defs"]["Agents"]["properties"];
        assert_eq!(agents["maxParallel"]["default"], 3);
        assert_eq!(agents["maxParallel"]["maximum"], 64);
    }
}
