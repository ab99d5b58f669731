//! Reads the arguments of a call of the memory's tools.
//!
//! Invariant: an argument that the schema does not have is an error that names those it has. What
//! the text of an argument means is left to the call.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::tools::{MAX_HITS, ToolName};

/// A call with its arguments.
#[derive(Debug, PartialEq)]
pub(super) enum Call {
    Search(Search),
    GetFact(GetFact),
    Log(Log),
    GetNotes(GetNotes),
    Learn(Learn),
    WriteFact(WriteFact),
    ConfirmFact(ConfirmFact),
    DisputeFact(DisputeFact),
    PutNote(PutNote),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    pub(super) query: String,
    pub(super) limit: Option<usize>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GetFact {
    pub(super) key: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    pub(super) since: Option<u64>,
    pub(super) agent: Option<String>,
    pub(super) kind: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GetNotes {
    pub(super) key: Option<String>,
    pub(super) prefix: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Learn {
    pub(super) content: String,
    pub(super) key: Option<String>,
    #[serde(default)]
    pub(super) local: bool,
    #[serde(default)]
    pub(super) paths: Vec<String>,
    pub(super) same_as: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct WriteFact {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) expected_version: u64,
    pub(super) evidence: Vec<String>,
    #[serde(default)]
    pub(super) paths: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfirmFact {
    pub(super) key: String,
    pub(super) version: u64,
    pub(super) evidence: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DisputeFact {
    pub(super) key: String,
    pub(super) version: u64,
    pub(super) value: Option<String>,
    pub(super) evidence: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PutNote {
    pub(super) key: String,
    #[serde(deserialize_with = "present")]
    pub(super) content: Option<String>,
    pub(super) expected_version: Option<u64>,
    #[serde(default)]
    pub(super) keep: bool,
}

/// A value that may be null but not missing.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}

impl Call {
    /// The call of `tool` with these arguments, or what is wrong with them.
    pub(super) fn parse(tool: ToolName, arguments: Map<String, Value>) -> Result<Self, String> {
        let name = tool.name();
        match tool {
            ToolName::MemorySearch => parse(name, arguments).and_then(Search::checked),
            ToolName::FactGet => parse(name, arguments).map(Self::GetFact),
            ToolName::MemoryLog => parse(name, arguments).map(Self::Log),
            ToolName::ScratchGet => parse(name, arguments).and_then(GetNotes::checked),
            ToolName::Learn => parse(name, arguments).map(Self::Learn),
            ToolName::FactWrite => parse(name, arguments).map(Self::WriteFact),
            ToolName::FactConfirm => parse(name, arguments).map(Self::ConfirmFact),
            ToolName::FactDispute => parse(name, arguments).map(Self::DisputeFact),
            ToolName::ScratchPut => parse(name, arguments).map(Self::PutNote),
        }
    }
}

impl Search {
    fn checked(self) -> Result<Call, String> {
        match self.limit {
            Some(limit) if !(1..=MAX_HITS).contains(&limit) => Err(bad(
                ToolName::MemorySearch.name(),
                format!("`limit` is {limit}; 1 to {MAX_HITS} are allowed"),
            )),
            _ => Ok(Call::Search(self)),
        }
    }
}

impl GetNotes {
    fn checked(self) -> Result<Call, String> {
        if self.key.is_some() == self.prefix.is_some() {
            let why = "name one of `key` and `prefix`";
            return Err(bad(ToolName::ScratchGet.name(), why));
        }
        Ok(Call::GetNotes(self))
    }
}

/// What is wrong with the arguments of this tool.
pub(super) fn bad(tool: &str, why: impl std::fmt::Display) -> String {
    format!("bad arguments for `{tool}`: {why}")
}

/// The arguments of this tool.
pub(super) fn parse<T: DeserializeOwned>(
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| bad(tool, error))
}

#[cfg(test)]
pub(super) mod testkit {
    use rmcp::model::Tool;
    use serde_json::json;

    use super::*;

    /// A value that a schema allows.
    fn example(schema: &Value) -> Value {
        if let Some(first) = schema["enum"].get(0) {
            return first.clone();
        }
        match schema["type"].as_str() {
            Some("integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!(["x"]),
            _ => json!("x"),
        }
    }

    /// Checks that what a tool's schema allows can be read, and nothing else. With `either`, only
    /// one of the arguments may be there.
    pub(in crate::cli::mcp) fn check_schema(
        tool: &Tool,
        either: bool,
        read: &dyn Fn(Map<String, Value>) -> Result<(), String>,
    ) {
        let schema = Value::Object(tool.input_schema.as_ref().clone());
        let properties = schema["properties"].as_object().unwrap();
        let examples = properties
            .iter()
            .map(|(name, schema)| (name.clone(), example(schema)));
        let most = if either { 1 } else { usize::MAX };
        let all: Map<String, Value> = examples.take(most).collect();
        assert_eq!(read(all.clone()), Ok(()), "{}", tool.name);
        let required = schema["required"].as_array().unwrap().iter();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        for name in all.keys().filter(|_| !either) {
            let mut fewer = all.clone();
            fewer.remove(name);
            let is_required = required.contains(&name.as_str());
            let what = format!("{} without {name}", tool.name);
            assert_eq!(read(fewer).is_err(), is_required, "{what}");
        }
        let mut more = all;
        more.insert("more".into(), json!(1));
        let error = read(more).unwrap_err();
        assert!(error.contains("unknown field `more`"), "{error}");
        assert!(error.contains(&*tool.name), "{error}");
        assert!(properties.keys().all(|name| error.contains(name.as_str())));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn what_the_schemas_allow_can_be_read_and_nothing_else() {
        for tool in ToolName::VARIANTS {
            let either = *tool == ToolName::ScratchGet;
            testkit::check_schema(&tool.describe(), either, &|arguments| {
                Call::parse(*tool, arguments).map(drop)
            });
        }
    }

    #[test]
    fn values_out_of_range_are_errors() {
        let read = |tool, arguments: Value| {
            let arguments = arguments.as_object().unwrap().clone();
            Call::parse(tool, arguments).map(drop)
        };
        for limit in [0, 21] {
            let error = read(
                ToolName::MemorySearch,
                json!({"query": "x", "limit": limit}),
            );
            assert!(error.unwrap_err().contains("1 to 20"));
        }
        for arguments in [json!({}), json!({"key": "a", "prefix": "b"})] {
            let error = read(ToolName::ScratchGet, arguments).unwrap_err();
            assert!(error.contains("one of `key` and `prefix`"), "{error}");
        }
    }

    #[test]
    fn null_drops_a_note_and_a_missing_content_does_not() {
        let read = |arguments: Value| {
            let Value::Object(arguments) = arguments else {
                panic!("{arguments}");
            };
            Call::parse(ToolName::ScratchPut, arguments)
        };
        let Ok(Call::PutNote(put)) = read(json!({"key": "a", "content": null})) else {
            panic!("null is a content");
        };
        assert_eq!(put.content, None);
        let error = read(json!({"key": "a"})).unwrap_err();
        assert!(error.contains("missing field `content`"), "{error}");
    }
}
