//! Tells the story of a demo while it happens: who works on what, what landed, and the moments that
//! the demo is about.
//!
//! Invariant: it tells only what is in the log, and the daemon never waits for it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::facts::{Facts, Moment};
use crate::cli::output::terminal::{Tone, paint, safe};
use crate::daemon::actor::handle::Handle;
use crate::domain::ids::{IdeaId, RunId};
use crate::domain::state::{Feedback, State};
use crate::domain::time::Timestamp;
use crate::process::{RunDir, tail_lines};

/// How long it waits between two looks at the events.
const PAUSE: Duration = Duration::from_millis(50);
/// The most events read at once.
const PAGE: usize = 4_096;
/// The columns of the time.
const MARGIN: usize = 7;

/// How the story is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) colors: bool,
    /// The columns that a line may have.
    pub(super) width: usize,
}

/// A story that is being told. Dropping it ends it without the last events.
pub(super) struct Telling {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Telling {
    /// Tells what happens after the event `after`, on a thread of its own. `None` if the system has
    /// no thread for it: the demo goes on without a story.
    pub(super) fn begin(handle: Handle, runs: PathBuf, after: u64, style: Style) -> Option<Self> {
        let (stop, stopped) = mpsc::channel();
        let mut narrator = Narrator {
            style,
            runs,
            after,
            begun: None,
            facts: Facts::default(),
            apart: true,
        };
        let thread = thread::Builder::new().name("story".into());
        let thread = thread.spawn(move || {
            while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                narrator.tell(&handle);
            }
            narrator.tell(&handle);
        });
        Some(Self {
            stop,
            thread: thread.ok()?,
        })
    }

    /// Tells the rest.
    pub(super) fn finish(self) {
        drop(self.stop);
        // A panic there means only that nothing more was told.
        drop(self.thread.join());
    }
}

struct Narrator {
    style: Style,
    runs: PathBuf,
    after: u64,
    /// The time of the first event.
    begun: Option<Timestamp>,
    facts: Facts,
    /// Whether the last line was empty.
    apart: bool,
}

impl Narrator {
    fn tell(&mut self, handle: &Handle) {
        let mut text = String::new();
        while let Some(events) = handle.recent_after(self.after, PAGE)
            && !events.is_empty()
        {
            for event in &events {
                self.after = event.seq;
                let begun = *self.begun.get_or_insert(event.ts);
                if let Some(moment) = self.facts.apply(&event.event) {
                    let seconds = event.ts.since(begun).max(0) / 1_000;
                    let words = handle.read(|state| self.text(&moment, state));
                    text += &self.lines(seconds, &moment, &words);
                }
            }
        }
        // The demo continues even if the terminal is closed.
        drop(std::io::stderr().lock().write_all(text.as_bytes()));
    }

    fn text(&self, moment: &Moment, state: &State) -> String {
        let title = |idea: &IdeaId| title(state, idea);
        match moment {
            Moment::Ready => "main passes its check, so work begins".to_owned(),
            Moment::Started { agent, idea } => format!("{agent} starts {idea}: {}", title(idea)),
            Moment::Landed { idea } => {
                let (landed, all) = (self.facts.landed(), state.ideas.len());
                format!("{idea} landed ({landed} of {all}): {}", title(idea))
            }
            Moment::CheckFailed { idea, feedback } => format!(
                "{idea} does not pass {}: {}. It cannot land like this; its agent gets the output.",
                feedback.command,
                self.output(feedback)
            ),
            Moment::Mended { idea, command } => format!("{idea} passes {command} now."),
            Moment::Killed { agent, idea } => format!(
                "{agent} is killed in the middle of {idea}: {}. What it wrote stays in its \
                worktree.",
                title(idea)
            ),
            Moment::Recovered {
                agent,
                idea,
                killed,
            } => format!("{agent} continues {idea} from the work of {killed}."),
            Moment::Conflict { idea, files } => format!(
                "{idea} and main changed the same place in {}. An agent gets both versions.",
                files.join(", ")
            ),
            Moment::Resolved { idea } => {
                format!("{idea} fits main again. The result is checked before it lands.")
            }
            Moment::Unusual(text) => text.clone(),
        }
    }

    /// The first line that a failed command wrote, or else how it ended.
    fn output(&self, feedback: &Feedback) -> String {
        let read = |run: &RunId| {
            let dir = RunDir::open(&self.runs, run.as_str()).ok()?;
            let lines = tail_lines(&dir.stdout(), 20).ok()?;
            lines.into_iter().find(|line| !line.trim().is_empty())
        };
        let line = feedback.run.as_ref().and_then(read);
        line.unwrap_or_else(|| feedback.how.clone())
    }

    fn lines(&mut self, seconds: i64, moment: &Moment, text: &str) -> String {
        let (mark, tone) = (mark(moment), tone(moment));
        let text = match mark {
            Some(mark) => format!("{mark}: {}", safe(text)),
            None => safe(text),
        };
        let lines = wrap(&text, self.style.width.saturating_sub(MARGIN));
        let mut out = String::new();
        if mark.is_some() && !self.apart {
            out.push('\n');
        }
        let mut time = format!("{seconds:>3} s  ");
        for line in lines {
            out += &time;
            out += &paint(self.style.colors, tone, &line);
            out.push('\n');
            time = " ".repeat(MARGIN);
        }
        self.apart = mark.is_some();
        if self.apart {
            out.push('\n');
        }
        out
    }
}

/// The name of a moment that the demo is about; it stands apart.
fn mark(moment: &Moment) -> Option<&'static str> {
    match moment {
        Moment::CheckFailed { .. } => Some("CHECK FAILED"),
        Moment::Mended { .. } => Some("MENDED"),
        Moment::Killed { .. } => Some("KILL -9"),
        Moment::Recovered { .. } => Some("RECOVERED"),
        Moment::Conflict { .. } => Some("CONFLICT"),
        Moment::Resolved { .. } => Some("RESOLVED"),
        Moment::Ready | Moment::Started { .. } | Moment::Landed { .. } | Moment::Unusual(_) => None,
    }
}

fn tone(moment: &Moment) -> Tone {
    match moment {
        Moment::Ready => Tone::Dim,
        Moment::Started { .. } => Tone::Plain,
        Moment::CheckFailed { .. }
        | Moment::Killed { .. }
        | Moment::Conflict { .. }
        | Moment::Unusual(_) => Tone::Warn,
        Moment::Mended { .. }
        | Moment::Recovered { .. }
        | Moment::Resolved { .. }
        | Moment::Landed { .. } => Tone::Good,
    }
}

fn title(state: &State, idea: &IdeaId) -> String {
    let idea = state.ideas.get(idea);
    idea.map_or_else(String::new, |idea| first_line(&idea.text).to_owned())
}

/// The title of an idea.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Breaks a text into lines at spaces. A word that is longer than a line, such as a path, stays
/// whole.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_words_stay_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(
            wrap("a /a/very/long/path b", 7),
            ["a", "/a/very/long/path", "b"]
        );
        assert_eq!(wrap("", 7), [""]);
    }
}
