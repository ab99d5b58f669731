//! States and their differences as lines for people.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli::json::text;
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, title};
use crate::view::snapshot::{Changed, Difference, Fields, Outline, Section};

/// Names that the overview lists of each section.
const NAMES: usize = 5;
/// Longest value of a field, in characters.
const VALUE: usize = 100;

/// A line for each section: how many things there are, and some of their names.
pub(super) fn overview(output: &Output, outline: &Outline) -> Vec<String> {
    let of_section = |(section, things): (&Section, &BTreeMap<String, Fields>)| match section {
        Section::Swarm => {
            let swarm = things.get("swarm").map_or(String::new(), fields);
            format!("{} {swarm}", label(output, *section))
        }
        // Their names say nothing about a state.
        Section::Settings => format!("{} {}", label(output, *section), things.len()),
        Section::Ideas
        | Section::Agents
        | Section::Queue
        | Section::Learnings
        | Section::Facts
        | Section::Notes
        | Section::Checkpoints => {
            let names: Vec<String> = things.keys().rev().take(NAMES).map(|it| safe(it)).collect();
            let more = if things.len() > NAMES { ", ..." } else { "" };
            let names = names.join(", ");
            let line = format!(
                "{} {:<4} {names}{more}",
                label(output, *section),
                things.len()
            );
            line.trim_end().to_owned()
        }
    };
    outline.iter().map(of_section).collect()
}

fn label(output: &Output, section: Section) -> String {
    let name = format!("{:<12}", section.name());
    output.paint(Tone::Strong, &name).into_owned()
}

/// Each thing with its fields.
pub(super) fn things(output: &Output, things: &BTreeMap<String, Fields>) -> Vec<String> {
    if things.is_empty() {
        return vec!["nothing".to_owned()];
    }
    let mut lines = Vec::new();
    for (name, fields) in things {
        lines.push(output.paint(Tone::Strong, &safe(name)).into_owned());
        for (field, value) in fields {
            lines.push(format!("  {:<15} {}", safe(field), shown(value)));
        }
    }
    lines
}

/// The sections that differ, each with what came, went and changed.
pub(super) fn difference(output: &Output, difference: &Difference) -> Vec<String> {
    let mut lines = Vec::new();
    for (section, found) in difference {
        let counts = [
            (found.added.len(), "added"),
            (found.removed.len(), "removed"),
            (found.changed.len(), "changed"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(count, how)| format!("{count} {how}"))
            .collect();
        lines.push(String::new());
        lines.push(format!("{} {}", label(output, *section), counts.join(", ")));
        let line = |sign: &str, tone, name: &str, rest: String| {
            let line = format!("  {sign} {}  {rest}", safe(name));
            output.paint(tone, line.trim_end()).into_owned()
        };
        for (name, fields) in &found.added {
            lines.push(line("+", Tone::Good, name, gist(fields)));
        }
        for (name, fields) in &found.removed {
            lines.push(line("-", Tone::Bad, name, gist(fields)));
        }
        for (name, changed) in &found.changed {
            lines.push(line("~", Tone::Plain, name, String::new()));
            lines.extend(changes(changed));
        }
    }
    lines
}

fn changes(changed: &Changed) -> impl Iterator<Item = String> {
    changed.iter().map(|(field, change)| {
        let (from, to) = (shown(&change.from), shown(&change.to));
        format!("      {}: {from} -> {to}", safe(field))
    })
}

/// What tells a thing from others at a glance.
fn gist(fields: &Fields) -> String {
    let fields = Value::Object(fields.clone());
    let known = [
        "status", "phase", "end", "text", "content", "value", "title", "commit",
    ];
    let parts = known.map(|field| match text(&fields, field) {
        "" => String::new(),
        found => title(found, VALUE / 2),
    });
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

fn fields(fields: &Fields) -> String {
    let each = fields.iter();
    let each: Vec<String> = each
        .map(|(field, value)| format!("{} {}", safe(field), shown(value)))
        .collect();
    each.join(", ")
}

/// A value as one line.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => title(text, VALUE),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => title(&value.to_string(), VALUE),
    }
}
