//! Helpers for the API description: names of enums, times, and two shapes that come from the
//! domain.
//!
//! Invariant: names come from the domain's own enums, so that none is missing.

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use crate::domain::event::Event;

/// The variant names of a domain enum, taken from serde's error about an unknown name.
#[derive(Debug, Default)]
struct Names(&'static [&'static str]);

impl std::fmt::Display for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl std::error::Error for Names {}

impl Error for Names {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self::default()
    }

    fn unknown_variant(_: &str, names: &'static [&'static str]) -> Self {
        Self(names)
    }
}

/// The variant names of a plain enum.
fn words_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let unknown: StrDeserializer<'_, Names> = "".into_deserializer();
    T::deserialize(unknown).err().unwrap_or_default().0
}

/// The kinds of events.
pub fn event_kinds() -> &'static [&'static str] {
    tags::<Event>("kind")
}

/// The names of the variants of an enum whose field `tag` names them.
pub fn tags<T: DeserializeOwned>(tag: &'static str) -> &'static [&'static str] {
    let unknown: MapDeserializer<'_, _, Names> = MapDeserializer::new(std::iter::once((tag, "")));
    T::deserialize(unknown).err().unwrap_or_default().0
}

/// The schema for one of the variant names of `T`.
pub(crate) fn words<T: DeserializeOwned>() -> Object {
    one_of(words_of::<T>())
}

pub(crate) fn kinds() -> Object {
    one_of(event_kinds())
}

fn one_of(words: &'static [&'static str]) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words.iter().copied()))
        .build()
}

/// A point in time.
pub(crate) fn time() -> Object {
    let example = Value::from("2026-01-31T23:59:59.123Z");
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("RFC 3339 UTC with milliseconds"))
        .examples([example])
        .build()
}

/// The scopes of a learning.
pub(crate) fn scopes() -> Object {
    one_of(&["global", "local"])
}

/// A message from a person to an agent.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Message {
    /// `accepted`: the next prompt delivers it; `delivered`: the current run has it; `seen`: that
    /// run has ended; `notDelivered`: the agent ended first, and the next attempt at its idea gets
    /// it; `neverRead`: the idea was done first.
    pub stage: String,
    /// The text; only the start of a long one.
    pub text: String,
    /// When it was accepted.
    #[schema(schema_with = time, required)]
    pub accepted_at: String,
    /// The run whose prompt delivered it.
    #[schema(required = false)]
    pub run: Option<String>,
    /// When that run started.
    #[schema(schema_with = time, required = false)]
    pub delivered_at: Option<String>,
    /// When that run ended.
    #[schema(schema_with = time, required = false)]
    pub seen_at: Option<String>,
}

/// One line of an idea's history.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct HistoryLine {
    /// When it happened.
    #[schema(schema_with = time, required)]
    pub at: String,
    /// What happened: `claimed`, `crash_recovery`, `failed`, ...
    pub what: String,
    /// Details, such as the agent's id or an error.
    #[schema(required = false)]
    pub detail: String,
}
