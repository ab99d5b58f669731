//! Accessors for JSON objects written by other programs.
//!
//! Invariant: a missing value and a value of another type are the same, and no failure.

use serde_json::{Map, Value};

/// An object.
pub type Object = Map<String, Value>;

/// The text under this name.
pub fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

/// The object under this name.
pub fn object<'a>(object: &'a Object, name: &str) -> Option<&'a Object> {
    object.get(name)?.as_object()
}

/// The whole number under this name, not negative.
pub fn number(object: &Object, name: &str) -> Option<u64> {
    object.get(name)?.as_u64()
}

/// The number under this name.
pub fn decimal(object: &Object, name: &str) -> Option<f64> {
    object.get(name)?.as_f64()
}

/// Whether it is said to be so under this name.
pub fn is_true(object: &Object, name: &str) -> bool {
    object.get(name).and_then(Value::as_bool) == Some(true)
}

/// The objects of the list under this name.
pub fn objects<'a>(object: &'a Object, name: &str) -> impl Iterator<Item = &'a Object> {
    let list = object.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_object)
}

/// The texts of the list under this name.
pub fn texts<'a>(object: &'a Object, name: &str) -> impl Iterator<Item = &'a str> {
    let list = object.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// What is under this name as text: itself where it is one, the `text` of its blocks where it is a
/// list of those, else its JSON.
pub fn as_text(object: &Object, name: &str) -> String {
    match object.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) if blocks.iter().any(|block| block.get("text").is_some()) => {
            let texts = blocks
                .iter()
                .filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_type_is_as_good_as_missing() {
        let Value::Object(it) = serde_json::json!({
            "t": "x", "n": 3, "neg": -1, "l": [{"a": 1}, 2, "y"],
                "b": [{"text": "p"}, {"type": "image"}, {"text": "q"}]
        }) else {
            panic!("an object");
        };
        assert_eq!(
            (text(&it, "t"), text(&it, "n"), text(&it, "no")),
            (Some("x"), None, None)
        );
        assert_eq!(
            (number(&it, "n"), number(&it, "neg"), number(&it, "t")),
            (Some(3), None, None)
        );
        assert_eq!((objects(&it, "l").count(), texts(&it, "l").count()), (1, 1));
        assert_eq!((objects(&it, "t").count(), object(&it, "l")), (0, None));
        assert_eq!(as_text(&it, "b"), "p\nq");
        assert_eq!(
            (as_text(&it, "n"), as_text(&it, "no")),
            ("3".into(), String::new())
        );
        assert!(!is_true(&it, "n"));
    }
}
