//! Shows progress during `swarm start`, while the daemon works in the same process.
//!
//! Invariant: the daemon never waits for it. A thread of its own shows durable events, at most ten
//! times a second. A slow terminal, or one stopped with Ctrl+S, blocks only this thread.

use std::io::Write;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use tokio::sync::watch;

use crate::cli::clock;
use crate::cli::event_json;
use crate::cli::output::terminal::{Tone, paint};
use crate::daemon::actor::handle::{Handle, Journaled};
use crate::view::describe;

/// The shortest time between two updates.
const BREATH: Duration = Duration::from_millis(100);
/// How long the last output may delay the end; the terminal may be stopped, or its reader gone.
const LAST: Duration = Duration::from_millis(300);
/// The most events read at once.
const PAGE: usize = 4_096;

/// How to show progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line for each event that is news.
    Lines {
        /// Show every event.
        all: bool,
    },
    /// Only how to stop the daemon and what its end waits for; a full-screen view shows the rest.
    Messages,
    /// Each event as a line of JSON.
    Json,
    /// Nothing.
    Silent,
}

/// The settings of the display, before a daemon runs.
pub struct Progress {
    /// How to show progress.
    pub style: Style,
    /// Use colours.
    pub colors: bool,
    /// The local time zone.
    pub zone: TimeZone,
    /// Put in brackets before each line: `demo`.
    pub label: Option<&'static str>,
    /// Where lines go.
    pub lines: Box<dyn Write + Send>,
    /// The agents that the daemon takes over from its predecessor, for people.
    pub from_before: Vec<String>,
}

/// The display while the daemon runs.
pub struct Shown {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows events from now on, on a thread of its own. When `end_asked` becomes true, says at
    /// once what the daemon still waits for.
    pub fn begin(self, handle: Handle, end_asked: watch::Receiver<bool>) -> std::io::Result<Shown> {
        let (stop, stopped) = watch::channel(false);
        let after = handle.read(|state| state.seq);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let thread = thread::Builder::new()
            .name("progress".into())
            .spawn(move || {
                let mut screen = Screen::new(self, after);
                screen.greet(&handle);
                runtime.block_on(screen.follow(&handle, stopped, end_asked));
            })?;
        Ok(Shown {
            stop,
            thread: Some(thread),
        })
    }
}

impl Shown {
    /// Shows the last events.
    pub fn finish(mut self) {
        self.stop.send_replace(true);
        let Some(thread) = self.thread.take() else {
            return;
        };
        let until = Instant::now() + LAST;
        while !thread.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
        // A thread blocked in a write ends with the process. A failed display is not worth an
        // error.
        if thread.is_finished() {
            drop(thread.join());
        }
    }
}

struct Screen {
    progress: Progress,
    after: u64,
}

impl Screen {
    fn new(progress: Progress, after: u64) -> Self {
        Self { progress, after }
    }

    /// Says how to stop the daemon, if a person is there to read it.
    fn greet(&mut self, handle: &Handle) {
        let for_people = match self.progress.style {
            Style::Lines { .. } | Style::Messages => true,
            Style::Json | Style::Silent => false,
        };
        if for_people && self.progress.label.is_none() {
            let pid = std::process::id();
            self.line(&format!(
                "daemon running (pid {pid}); press Ctrl+C to stop it"
            ));
            if let Some(paused) = handle.read(describe::paused) {
                paused.lines().for_each(|line| self.line(line));
            }
            for line in std::mem::take(&mut self.progress.from_before) {
                self.line(&line);
            }
        }
    }

    async fn follow(
        &mut self,
        handle: &Handle,
        mut stopped: watch::Receiver<bool>,
        mut end_asked: watch::Receiver<bool>,
    ) {
        let mut seq = handle.seq();
        let mut told = false;
        loop {
            self.show(handle);
            let over = tokio::select! {
                biased;
                () = became_true(&mut end_asked), if !told => {
                    told = true;
                    self.say_what_the_end_waits_for(handle);
                    continue;
                }
                changed = seq.changed() => changed.is_err(),
                _ = stopped.wait_for(|stopped| *stopped) => true,
            };
            if over {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(BREATH) => {}
                () = became_true(&mut end_asked), if !told => {}
            }
        }
        self.show(handle);
    }

    fn say_what_the_end_waits_for(&mut self, handle: &Handle) {
        if self.progress.style == Style::Silent {
            return;
        }
        for line in handle.read(describe::waiting) {
            if self.progress.style == Style::Json {
                // Standard output carries the events; this is a message.
                drop(writeln!(std::io::stderr(), "{line}"));
            } else {
                self.line(&line);
            }
        }
        drop(self.progress.lines.flush());
    }

    fn show(&mut self, handle: &Handle) {
        while let Some(events) = self.take(handle) {
            for event in &events {
                self.after = event.seq;
                self.event(event);
            }
        }
        // The daemon continues even if the reader closed the output.
        drop(self.progress.lines.flush());
    }

    /// The next events; `None` when there are no more. Skips events that are no longer in memory.
    fn take(&mut self, handle: &Handle) -> Option<Vec<Arc<Journaled>>> {
        if let Some(events) = handle.recent_after(self.after, PAGE) {
            return (!events.is_empty()).then_some(events);
        }
        let from = self.after;
        self.after = handle.read(|state| state.seq);
        if self.progress.style == Style::Messages {
            return None;
        }
        self.line(&format!(
            "some events after event {from} are not shown here; see all: swarm events --since \
            {from}"
        ));
        None
    }

    fn event(&mut self, event: &Journaled) {
        let all = match self.progress.style {
            Style::Silent | Style::Messages => return,
            Style::Json => return self.json(event),
            Style::Lines { all } => all,
        };
        if !all && !describe::is_news(&event.event) {
            return;
        }
        let at = clock::local(event.ts, &self.progress.zone);
        let time = at.get(11..).unwrap_or(&at);
        let colors = self.progress.colors;
        let words = describe::describe(&event.event);
        let words = paint(colors, describe::tone(&event.event), &words);
        self.line(&format!("{} {words}", paint(colors, Tone::Dim, time)));
    }

    fn json(&mut self, event: &Journaled) {
        if let Ok(document) = event_json::to_json(event) {
            drop(writeln!(self.progress.lines, "{document}"));
        }
    }

    fn line(&mut self, line: &str) {
        let label = self
            .progress
            .label
            .map_or_else(String::new, |label| format!("[{label}] "));
        // The daemon continues even if the reader closed the output.
        drop(writeln!(self.progress.lines, "{label}{line}"));
    }
}

/// Waits until the value is true; forever if the sender is gone.
async fn became_true(value: &mut watch::Receiver<bool>) {
    if value.wait_for(|is_so| *is_so).await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::live::testkit::Lines;
    use crate::cli::testkit;
    use crate::daemon::testkit::Seat;
    use crate::domain::state::State;
    use crate::domain::time::Timestamp;

    fn journaled() -> Vec<Arc<Journaled>> {
        let ts = Timestamp::from_millis(1_000);
        let numbered = (1..).zip(testkit::story());
        numbered
            .map(|(seq, event)| Arc::new(Journaled { seq, ts, event }))
            .collect()
    }

    /// Waits for the last event, however busy the machine is; `finish` gives up after a while.
    fn all_shown(mut shown: Shown) {
        shown.stop.send_replace(true);
        shown.thread.take().unwrap().join().unwrap();
    }

    fn shown(style: Style, keep: usize) -> Vec<String> {
        let (handle, seat) = Seat::new(State::default(), keep);
        let lines = Lines::default();
        let progress = Progress {
            style,
            colors: false,
            zone: TimeZone::UTC,
            label: Some("demo"),
            from_before: vec![],
            lines: Box::new(lines.clone()),
        };
        let shown = progress.begin(handle, watch::channel(false).1).unwrap();
        seat.publish(&journaled());
        all_shown(shown);
        let text = lines.text();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn news_are_shown_as_lines_with_their_label() {
        let lines = shown(Style::Lines { all: false }, 100);
        assert_eq!(
            lines[0],
            "[demo] 00:00:01 idea-001 added: add a --version flag"
        );
        assert!(!lines.iter().any(|line| line.contains("on disk")));
        let all = shown(Style::Lines { all: true }, 100);
        assert_eq!(all.len(), testkit::story().len());
        assert!(shown(Style::Silent, 100).is_empty());
    }

    #[test]
    fn json_lines_are_the_events() {
        let lines = shown(Style::Json, 100);
        let first: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(
            (first["seq"].as_u64(), first["kind"].as_str()),
            (Some(1), Some("ideaAdded"))
        );
        assert_eq!(lines.len(), testkit::story().len());
    }

    #[test]
    fn skipped_events_are_announced() {
        let lines = shown(Style::Lines { all: true }, 1);
        assert!(lines[0].contains("swarm events --since 0"), "{lines:?}");
    }

    #[test]
    fn a_stop_request_shows_at_once_what_the_end_waits_for() {
        let (handle, _seat) = Seat::new(State::default(), 1);
        let lines = Lines::default();
        let progress = Progress {
            style: Style::Lines { all: false },
            colors: false,
            zone: TimeZone::UTC,
            label: None,
            from_before: vec![],
            lines: Box::new(lines.clone()),
        };
        let (asked, end_asked) = watch::channel(false);
        let shown = progress.begin(handle, end_asked).unwrap();
        asked.send_replace(true);
        let told = || lines.text();
        while !told().contains("Ctrl+C again") {
            thread::yield_now();
        }
        assert_eq!(told().matches("stopping: nothing is running").count(), 1);
        shown.finish();
        assert_eq!(told().matches("stopping:").count(), 1, "{}", told());
    }

    #[test]
    fn it_ends_when_the_daemon_does() {
        let (handle, seat) = Seat::new(State::default(), 1);
        let progress = Progress {
            style: Style::Silent,
            colors: false,
            zone: TimeZone::UTC,
            label: None,
            from_before: vec![],
            lines: Box::new(Lines::default()),
        };
        let mut shown = progress.begin(handle, watch::channel(false).1).unwrap();
        drop(seat);
        shown.thread.take().unwrap().join().unwrap();
    }
}
