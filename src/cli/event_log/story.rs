//! The entries of `swarm log`: what happened, one line each.
//!
//! Invariant: a line is cut only in free text, never where an id or a command stands.

use serde::Serialize;
use serde_json::Value;

use super::select::Selected;
use crate::cli::clock;
use crate::cli::json;
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, paint, shorten};
use crate::domain::event::Event;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::signal::Signal;
use crate::domain::time::Timestamp;
use crate::view::describe::{self, Interest};

/// A text keeps at least this many characters beside the time.
const LEAST_WIDTH: usize = 24;

/// One thing that happened.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    ts: Timestamp,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    idea_id: Option<IdeaId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentId>,
    text: String,
    #[serde(skip)]
    tone: Tone,
}

/// Turns events into entries. It must see every event, to recognise a daemon that was killed.
#[derive(Debug, Default)]
pub struct Storyteller {
    phase: Option<SwarmPhase>,
}

impl Entry {
    /// The agent that it is about.
    pub fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }
}

impl Storyteller {
    /// Notes an event of the log, whether it is selected or not.
    pub fn follow(&mut self, document: &Value) {
        if json::text(document, "kind") == "phaseChanged" {
            let phase = document["data"].get("phase").cloned().unwrap_or_default();
            self.phase = serde_json::from_value(phase).ok();
        }
    }

    /// The entry of a selected event; `None` if people do not care about it.
    pub fn tell(&self, document: &Value, selected: &Selected) -> Option<Entry> {
        let event = selected.event.as_ref()?;
        if describe::interest(event) > Interest::Story {
            return None;
        }
        let subject = &selected.subject;
        Some(Entry {
            ts: json::time(document, "ts")?,
            seq: json::number(document, "seq"),
            idea_id: subject.ideas.first().cloned(),
            agent: subject.agent.clone(),
            text: subject.named_in(self.words(event)),
            tone: describe::tone(event),
        })
    }

    fn words(&self, event: &Event) -> String {
        let words = describe::describe(event);
        if matches!(event, Event::DaemonStarted(_)) && self.was_killed() {
            return format!("{words} after a crash, and continues what was under way");
        }
        if let Event::SignalSeen(seen) = event
            && matches!(seen.signal, Signal::NeedsHuman(_))
        {
            return words.replacen("says NEEDS_HUMAN", "asks", 1);
        }
        words
    }

    /// Whether the daemon before this one ended without stopping.
    fn was_killed(&self) -> bool {
        self.phase.is_some_and(|phase| phase != SwarmPhase::Stopped)
    }
}

/// The entries as lines, with the time in front.
pub fn lines(output: &Output, entries: &[Entry], now: Timestamp) -> Vec<String> {
    lines_within(output, entries, now, 0)
}

/// [`lines`] that leave room for an indentation.
pub fn lines_within(
    output: &Output,
    entries: &[Entry],
    now: Timestamp,
    indent: usize,
) -> Vec<String> {
    let ages: Vec<String> = entries.iter().map(|one| clock::ago(one.ts, now)).collect();
    let column = ages.iter().map(String::len).max().unwrap_or(0);
    let width = output.width.map(|width| {
        let rest = usize::from(width).saturating_sub(column + 2 + indent);
        rest.max(LEAST_WIDTH)
    });
    let mut lines = Vec::new();
    for (entry, age) in entries.iter().zip(&ages) {
        let mut age = format!("{age:<column$}");
        for part in fit(&entry.text, width) {
            let text = output.paint(entry.tone, &part);
            lines.push(format!("{}  {text}", paint(output.colors, Tone::Dim, &age)));
            age = " ".repeat(column);
        }
    }
    lines
}

/// The text in lines of at most `width` characters: cut where only prose is lost, otherwise
/// wrapped.
fn fit(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width.filter(|width| text.chars().count() > *width) else {
        return vec![text.to_owned()];
    };
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    let lost = text.get(kept.len()..).unwrap_or_default();
    let is_prose = kept.contains(": ") && !lost.contains("swarm ") && !lost.contains('`');
    // A command may begin before the cut.
    let ends_in_command = kept.matches('`').count() % 2 == 1 || kept.contains("swarm ");
    if is_prose && !ends_in_command {
        vec![shorten(text, width, false)]
    } else {
        wrap(text, width)
    }
}

/// Breaks a text at spaces; a longer word has a line of its own.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let fits = lines.last().is_none_or(|line| {
            line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width
        });
        if !fits {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::tests::Shared;

    #[test]
    fn lines_fit_a_narrow_terminal_and_keep_what_must_be_typed() {
        let (data, messages) = (Box::new(Shared::default()), Box::new(Shared::default()));
        let mut output = Output::plain(data, messages, false);
        output.width = Some(60);
        let now = Timestamp::from_millis(90_000_000);
        let entry = |ago: i64, text: &str| Entry {
            ts: Timestamp::from_millis(90_000_000 - ago),
            seq: 1,
            idea_id: None,
            agent: None,
            text: text.to_owned(),
            tone: Tone::Plain,
        };
        let undo = "rolled back to before-the-change, target at 0123456789; to undo: swarm \
            rollback before-rollback-3";
        let title = "idea-001 added: a title of sixty characters, which is the longest one";
        let entries = [entry(80_000_000, undo), entry(180_000, title)];
        let lines = lines(&output, &entries, now);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 60),
            "{lines:#?}"
        );
        let words = lines
            .join(" ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            words.contains("to undo: swarm rollback before-rollback-3"),
            "{words}"
        );
        let last = lines.last().unwrap();
        assert!(
            last.starts_with("3 min ago ") && last.ends_with('…'),
            "{last}"
        );
    }

    #[test]
    fn only_prose_is_cut() {
        let title = "idea-001 added: a title that goes on and on and on";
        assert_eq!(fit(title, Some(30)), ["idea-001 added: a title that …"]);
        assert_eq!(fit(title, None), [title]);
        assert_eq!(fit(title, Some(50)), [title]);
        let command = "rolled back to one, target at 0123456789; to undo: swarm rollback before-1";
        let lines = fit(command, Some(30));
        assert_eq!(lines.join(" "), command);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 30),
            "{lines:?}"
        );
        let id = "checkpoint a-name-of-some-length made at 0123456789";
        assert_eq!(fit(id, Some(30)).join(" "), id);
        let quoted = "idea-001: `cargo test --workspace --all` failed";
        assert_eq!(fit(quoted, Some(30)).join(" "), quoted);
    }
}
