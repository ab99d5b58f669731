//! Sections of a comparison, with a row for each thing that came, changed or went.
//!
//! Invariant: bounded, whatever differs: rows of a section, fields of a row, length of a value.

use maud::{Markup, html};
use serde_json::Value;

use super::View;
use crate::domain::ids::Oid;
use crate::view::snapshot::{Changed, Comparison, FieldChange, Fields, Section, SectionDifference};
use crate::web::document::{Drawing, encoded};
use crate::web::parts::{commit, tinted};

/// Rows of a section beside the others.
const FEW: usize = 12;
/// Rows of a section that is shown alone.
const ROWS: usize = 60;
/// Fields of a row.
const FIELDS: usize = 6;
/// Longest value, in characters.
const LONG: usize = 120;
/// The fields that tell a thing from others at a glance.
const TELLING: [&str; 8] = [
    "status", "phase", "end", "text", "content", "value", "title", "commit",
];

/// What became of a thing.
enum Row<'f> {
    Changed(&'f Changed),
    Added(&'f Fields),
    Gone(&'f Fields),
}

/// The differences.
pub(super) fn all(drawing: &Drawing<'_>, view: &View, found: &Comparison) -> Markup {
    html! {
        (sections(drawing, view, found))
        @if found.same {
            div .card.cp-note.sec2 {
                p { "Nothing differs between the two"
                    @if let Some(only) = view.only { " in " (label(only)) } "." }
            }
        }
        @for (section, differs) in &found.sections {
            (one(drawing, view, found, *section, differs))
        }
    }
}

/// Which sections differ; each can be shown alone.
fn sections(drawing: &Drawing<'_>, view: &View, found: &Comparison) -> Markup {
    html! {
        @if let Some(only) = view.only {
            p .sub.sec2 {
                "Only " (label(only)) ". "
                a href=(drawing.link(&view.address(None))) { "Compare everything" }
            }
        } @else if !found.same {
            nav .seg.sec2 aria-label="Sections" { @for (section, differs) in &found.sections {
                a href=(drawing.link(&view.address(Some(*section)))) {
                    (capital_label(*section)) span .dim { (count(differs)) }
                }
            } }
        }
    }
}

fn count(differs: &SectionDifference) -> usize {
    differs.added.len() + differs.removed.len() + differs.changed.len()
}

fn one(
    drawing: &Drawing<'_>,
    view: &View,
    found: &Comparison,
    section: Section,
    differs: &SectionDifference,
) -> Markup {
    let changed = differs.changed.iter();
    let added = differs.added.iter();
    let gone = differs.removed.iter();
    let rows = changed
        .map(|(name, fields)| (name, Row::Changed(fields)))
        .chain(added.map(|(name, fields)| (name, Row::Added(fields))))
        .chain(gone.map(|(name, fields)| (name, Row::Gone(fields))));
    let (skipped, most) = match view.only {
        Some(_) => (view.page.saturating_mul(ROWS), ROWS),
        None => (0, FEW),
    };
    let all = count(differs);
    html! {
        section .sec {
            header { h2 { (capital_label(section)) } span { (summary(differs)) } }
            div .card.clip { table .stackable {
                thead { tr { th { "Name" } th { "What" } th { "How" } } }
                tbody { @for (name, row) in rows.skip(skipped).take(most) {
                    (thing(drawing, view, found, section, name, &row))
                } }
            } }
            (more(drawing, view, section, all))
        }
    }
}

/// The ways to the rows that are not shown.
fn more(drawing: &Drawing<'_>, view: &View, section: Section, all: usize) -> Markup {
    let address = view.address(Some(section));
    let page = |page: usize| drawing.link(&format!("{address}&page={page}"));
    let end = view.page.saturating_add(1).saturating_mul(ROWS);
    html! {
        @if view.only.is_none() {
            @if all > FEW {
                p .sub.sec2 { a href=(drawing.link(&address)) {
                    "And " (all - FEW) " more in " (label(section))
                } }
            }
        } @else {
            nav .row.sec2 aria-label="More rows" {
                @if view.page > 0 { a .b href=(page(view.page - 1)) { "Before" } }
                @if all > end { a .b href=(page(view.page + 1)) { "Next" } }
            }
        }
    }
}

fn summary(differs: &SectionDifference) -> String {
    let counts = [
        (differs.changed.len(), "changed"),
        (differs.added.len(), "added"),
        (differs.removed.len(), "gone"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    words.join(", ")
}

fn thing(
    drawing: &Drawing<'_>,
    view: &View,
    found: &Comparison,
    section: Section,
    name: &str,
    row: &Row<'_>,
) -> Markup {
    let (shape, tone, what) = match row {
        Row::Changed(_) => ("half", "run", "changed"),
        Row::Added(_) => ("plus", "ok", "added"),
        Row::Gone(_) => ("x", "bad", "gone"),
    };
    let at = match row {
        Row::Gone(_) => Some(found.from.seq),
        Row::Changed(_) | Row::Added(_) if view.to.is_moment => None,
        Row::Changed(_) | Row::Added(_) => Some(found.to.seq),
    };
    let address = address(section, name).map(|path| match at {
        None => drawing.link(&path),
        Some(seq) => {
            let sign = if path.contains('?') { '&' } else { '?' };
            drawing.live_link(&format!("{path}{sign}at={seq}"))
        }
    });
    html! {
        tr #{ "changed-" (section.name()) "-" (name) } {
            td .any { @match address {
                Some(address) => a .t href=(address) { (name) },
                None => span { (name) },
            } }
            td { span .st { (tinted(shape, tone)) " " (what) } }
            td .full.any { (fields(row)) }
        }
    }
}

fn fields(row: &Row<'_>) -> Markup {
    let (changed, count) = match row {
        Row::Added(fields) | Row::Gone(fields) => return telling(fields),
        Row::Changed(changed) => (changed.iter().take(FIELDS), changed.len()),
    };
    html! {
        @for (field, change) in changed { div { (field_change(field, change)) } }
        @if count > FIELDS { div .dim { "and " (count - FIELDS) " more fields" } }
    }
}

fn field_change(field: &str, change: &FieldChange) -> Markup {
    html! {
        span .dim { (field) ": " } (value(&change.from)) span .dim { " → " } (value(&change.to))
    }
}

fn telling(fields: &Fields) -> Markup {
    let known = TELLING.iter().filter_map(|field| fields.get(*field));
    html! { @for known in known { div { (value(known)) } } }
}

/// A value on one line, shortened.
fn value(value: &Value) -> Markup {
    let text = match value {
        Value::Null => return html! { span .dim { "none" } },
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => match text.parse::<Oid>() {
            Ok(oid) => return commit(&oid),
            Err(_) => shortened(text),
        },
        Value::Number(_) | Value::Array(_) | Value::Object(_) => shortened(&value.to_string()),
    };
    html! { (text) }
}

fn shortened(text: &str) -> String {
    let mut letters = text.chars();
    let mut short: String = letters.by_ref().take(LONG).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

/// The page of a thing, if it has one.
fn address(section: Section, name: &str) -> Option<String> {
    let name = encoded(name);
    match section {
        Section::Ideas => Some(format!("ideas/{name}")),
        Section::Agents => Some(format!("agents/{name}")),
        Section::Queue => Some("train".to_owned()),
        Section::Learnings => Some("learnings".to_owned()),
        Section::Facts => Some(format!("memory/{name}")),
        Section::Notes => Some(format!("memory?note={name}")),
        Section::Checkpoints => Some(format!("checkpoints/{name}")),
        Section::Settings => Some("settings".to_owned()),
        Section::Swarm => None,
    }
}

/// A section's name within a sentence.
const fn label(section: Section) -> &'static str {
    match section {
        Section::Swarm => "the swarm",
        Section::Ideas => "ideas",
        Section::Agents => "agents",
        Section::Queue => "the merge train",
        Section::Learnings => "learnings",
        Section::Facts => "facts",
        Section::Notes => "notes",
        Section::Checkpoints => "checkpoints",
        Section::Settings => "settings",
    }
}

/// A section's name as a heading.
const fn capital_label(section: Section) -> &'static str {
    match section {
        Section::Swarm => "The swarm",
        Section::Ideas => "Ideas",
        Section::Agents => "Agents",
        Section::Queue => "Merge train",
        Section::Learnings => "Learnings",
        Section::Facts => "Facts",
        Section::Notes => "Notes",
        Section::Checkpoints => "Checkpoints",
        Section::Settings => "Settings",
    }
}
