//! What a JSON Schema allows, in words.

use serde_json::Value;

/// The schema that a reference leads to.
pub fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => resolved(
            document,
            document.pointer(reference.trim_start_matches('#')).unwrap(),
        ),
        None => schema,
    }
}

/// The last part of a reference: a type's name.
pub fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// What is allowed; `link` makes a link of a type's name, or gives none where the type is to be
/// described in place.
pub fn allowed(document: &Value, schema: &Value, link: &dyn Fn(&str) -> Option<String>) -> String {
    if let Some(link) = name_of(schema).and_then(link) {
        return link;
    }
    let schema = resolved(document, schema);
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        return or(values);
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        if let Some(branches) = schema[key].as_array() {
            let mut words: Vec<String> = branches
                .iter()
                .map(|branch| allowed(document, branch, link))
                .collect();
            words.dedup();
            return or(words);
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    or(types
        .into_iter()
        .map(|name| of_type(document, name, schema, link))
        .collect())
}

fn of_type(
    document: &Value,
    name: &str,
    schema: &Value,
    link: &dyn Fn(&str) -> Option<String>,
) -> String {
    let number = |key: &str| schema.get(key).filter(|bound| !bound.is_null()).map(plain);
    let bounds = match (number("minimum"), number("maximum")) {
        (Some(min), Some(max)) => format!(", {min} to {max}"),
        (Some(min), None) if min != "0" => format!(", at least {min}"),
        (None, Some(max)) => format!(", at most {max}"),
        _ => String::new(),
    };
    match name {
        "integer" => format!("integer{bounds}"),
        "number" => format!("number{bounds}"),
        "boolean" => "boolean".to_owned(),
        "array" => format!("array of {}", allowed(document, &schema["items"], link)),
        "object" => match schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            Some(values) => format!("object of {}", allowed(document, values, link)),
            None => "object".to_owned(),
        },
        "string" if schema["format"] == "date-time" => "time".to_owned(),
        other => other.to_owned(),
    }
}

/// A bound, without the `.0` of a whole number.
fn plain(bound: &Value) -> String {
    let text = bound.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn or(mut words: Vec<String>) -> String {
    words.retain(|word| !word.is_empty());
    let last = words.pop().unwrap_or_else(|| "any value".to_owned());
    if words.is_empty() {
        return last;
    }
    format!("{} or {last}", words.join(", "))
}
