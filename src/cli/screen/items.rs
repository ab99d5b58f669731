//! The list of the full-screen view: what needs a person, warnings, agents, merge queue, backlog.
//!
//! Invariant: everything that must be typed (ids, commands, messages with a command in them) is
//! wrapped and never cut; only titles and long prose are.

use ratatui::text::Line;
use serde_json::Value;

use super::text::{cut, plain, styled, width, wrap};
use crate::cli::clock;
use crate::cli::json::{list, number, text, texts, time};
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, title};
use crate::cli::render;
use crate::cli::render::usage;
use crate::domain::state::IdeaStatus;
use crate::domain::time::Timestamp;

/// A title narrower than this goes on a row of its own.
const LEAST_TITLE: usize = 16;
/// The longest title, in characters.
const MAX_TITLE: usize = 200;
/// A longer message without a command is cut to this many rows; its page has all of it.
const MESSAGE_ROWS: usize = 4;

/// What Enter opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opens {
    /// The message and the commands of what needs a person, by its place in the status.
    Need(usize),
    /// An idea.
    Idea(String),
    /// An agent.
    Agent(String),
    /// Its own text in full.
    Text,
}

/// A heading and what is listed under it.
#[derive(Debug)]
pub struct Section {
    /// What they are.
    pub heading: String,
    /// At least one.
    pub items: Vec<Item>,
}

/// Something that can be selected.
#[derive(Debug)]
pub struct Item {
    /// The same for the same thing later.
    pub key: String,
    /// What Enter opens.
    pub opens: Opens,
    parts: Vec<Part>,
}

/// A part of an item, begun on a new row. The texts are safe, and may be painted.
#[derive(Debug)]
enum Part {
    /// Wrapped.
    Whole { text: String, indent: usize },
    /// Wrapped, and after it as much of the title as fits.
    Titled { text: String, title: String },
    /// Prose of which only the first rows are shown.
    Prose { text: String },
}

impl Item {
    /// The item in rows of at most `columns`.
    pub fn rows(&self, columns: usize) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        for part in &self.parts {
            match part {
                Part::Whole { text, indent } => {
                    let text = format!("{:indent$}{text}", "");
                    rows.extend(wrap(&styled(&text), columns, indent + 2));
                }
                Part::Titled { text, title } => rows.extend(titled(text, title, columns)),
                Part::Prose { text } => rows.extend(prose(text, columns)),
            }
        }
        rows
    }

    /// Whether its text contains `needle`, which is in lower case.
    pub fn contains(&self, needle: &str) -> bool {
        self.text().to_lowercase().contains(needle)
    }

    /// Its whole text, a line for each part.
    pub fn text(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Whole { text, .. } | Part::Prose { text } => plain(text),
            Part::Titled { text, title } => format!("{}  {title}", plain(text)),
        });
        parts.collect::<Vec<_>>().join("\n")
    }
}

fn titled(text: &str, title: &str, columns: usize) -> Vec<Line<'static>> {
    let mut rows = wrap(&styled(text), columns, 4);
    if title.is_empty() {
        return rows;
    }
    let room = rows
        .last()
        .map_or(0, |row| columns - row.width().min(columns));
    if room >= LEAST_TITLE.min(width(title)) + 2 {
        if let Some(last) = rows.last_mut() {
            last.push_span(format!("  {}", cut(title, room - 2)));
        }
    } else {
        rows.push(Line::from(format!(
            "    {}",
            cut(title, columns.saturating_sub(4))
        )));
    }
    rows
}

fn prose(text: &str, columns: usize) -> Vec<Line<'static>> {
    let mut rows = wrap(&styled(text), columns, 2);
    let lost: String = rows
        .iter()
        .skip(MESSAGE_ROWS)
        .map(Line::to_string)
        .collect();
    if !lost.is_empty() && !names_a_command(text) {
        rows.truncate(MESSAGE_ROWS - 1);
        rows.push(Line::from("  … Enter shows all of it"));
    }
    rows
}

/// Whether a message may hold something to type.
fn names_a_command(text: &str) -> bool {
    ["swarm ", "git ", "`"]
        .iter()
        .any(|word| text.contains(word))
}

/// The sections of a moment; those without anything are left out.
pub fn sections(output: &Output, status: &Value, ideas: &[Value], now: Timestamp) -> Vec<Section> {
    let all = [
        ("Needs you", needs(output, status)),
        ("Agents", agents(output, status, ideas, now)),
        ("Merge queue", queue(output, status, ideas, now)),
        ("Backlog, in the order of its start", backlog(output, ideas)),
        ("Warnings", warnings(output, status, now)),
        ("Over, newest first", over(output, ideas)),
    ];
    let used = all.into_iter().filter(|(_, items)| !items.is_empty());
    used.map(|(heading, items)| Section {
        heading: heading.to_owned(),
        items,
    })
    .collect()
}

fn needs(output: &Output, status: &Value) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for (place, need) in list(status, "needsYou").iter().enumerate() {
        let name = format!("need {} {}", text(need, "kind"), text(need, "ideaId"));
        let same = items.iter().filter(|item| item.key.starts_with(&name));
        let key = format!("{name} {}", same.count());
        let mark = output.paint(Tone::Warn, "!");
        let mut parts = vec![Part::Prose {
            text: format!("{mark} {}", safe(text(need, "message"))),
        }];
        parts.extend(texts(need, "commands").iter().map(|command| Part::Whole {
            text: output.paint(Tone::Live, &safe(command)).into_owned(),
            indent: 4,
        }));
        items.push(Item {
            key,
            opens: Opens::Need(place),
            parts,
        });
    }
    items
}

fn agents(output: &Output, status: &Value, ideas: &[Value], now: Timestamp) -> Vec<Item> {
    let item = |agent: &Value| {
        let id = text(agent, "id");
        let mut words = vec![render::agent_words(agent, now)];
        words.push(format!("iteration {}", number(agent, "iteration")));
        words.push(render::progress(agent));
        if let Some(since) = time(agent, "startedAt") {
            words.push(format!("for {}", clock::span(now.since(since))));
        }
        words.retain(|word| !word.is_empty());
        let words = safe(&words.join(", "));
        let idea = text(agent, "ideaId");
        Item {
            key: format!("agent {id}"),
            opens: Opens::Agent(id.to_owned()),
            parts: vec![Part::Titled {
                text: format!(
                    "{}  {}  {}",
                    safe(id),
                    safe(idea),
                    output.paint(Tone::Live, &words)
                ),
                title: title_of(idea, ideas),
            }],
        }
    };
    list(status, "agents").iter().map(item).collect()
}

fn queue(output: &Output, status: &Value, ideas: &[Value], now: Timestamp) -> Vec<Item> {
    let item = |merge: &Value| {
        let id = text(merge, "ideaId");
        let state = safe(&render::merge_words(merge));
        let mut parts = vec![Part::Titled {
            text: format!(
                "{}  {}  {}",
                safe(id),
                output.paint(Tone::Live, &state),
                output.paint(Tone::Dim, &render::when(merge, "queuedAt", now))
            ),
            title: title_of(id, ideas),
        }];
        let reason = text(merge, "reason");
        if !reason.is_empty() {
            parts.push(Part::Prose { text: safe(reason) });
        }
        Item {
            key: format!("merge {id}"),
            opens: Opens::Idea(id.to_owned()),
            parts,
        }
    };
    list(status, "mergeQueue").iter().map(item).collect()
}

fn backlog(output: &Output, ideas: &[Value]) -> Vec<Item> {
    let waits = [IdeaStatus::Pending.as_str()];
    let pending = ideas
        .iter()
        .filter(|idea| waits.contains(&text(idea, "status")));
    pending
        .map(|idea| {
            let after = texts(idea, "after").join(", ");
            let mut line = safe(text(idea, "id"));
            if !after.is_empty() {
                let after = format!("after {}", safe(&after));
                line = format!("{line}  {}", output.paint(Tone::Dim, &after));
            }
            idea_item(idea, line)
        })
        .collect()
}

fn over(output: &Output, ideas: &[Value]) -> Vec<Item> {
    let is_over = [IdeaStatus::Done.as_str(), IdeaStatus::Cancelled.as_str()];
    let over = ideas
        .iter()
        .filter(|idea| is_over.contains(&text(idea, "status")));
    over.map(|idea| {
        let status = text(idea, "status");
        let words = output.paint(render::tone_of_status(status), status);
        let cost = idea.get("used").map_or_else(String::new, usage::cost);
        let line = format!("{}  {words}  {}", safe(text(idea, "id")), safe(&cost));
        idea_item(idea, line.trim_end().to_owned())
    })
    .collect()
}

fn idea_item(idea: &Value, line: String) -> Item {
    let id = text(idea, "id");
    Item {
        key: format!("idea {id}"),
        opens: Opens::Idea(id.to_owned()),
        parts: vec![Part::Titled {
            text: line,
            title: title(text(idea, "content"), MAX_TITLE),
        }],
    }
}

fn warnings(output: &Output, status: &Value, now: Timestamp) -> Vec<Item> {
    let held = usage::accounts(status, now);
    let own = texts(status, "warnings").into_iter().map(safe);
    let item = |(place, words): (usize, String)| Item {
        key: format!("warning {place}"),
        opens: Opens::Text,
        parts: vec![Part::Prose {
            text: output.paint(Tone::Warn, &words).into_owned(),
        }],
    };
    held.into_iter().chain(own).enumerate().map(item).collect()
}

fn title_of(id: &str, ideas: &[Value]) -> String {
    let idea = ideas.iter().find(|idea| text(idea, "id") == id);
    idea.map_or_else(String::new, |idea| title(text(idea, "content"), MAX_TITLE))
}
