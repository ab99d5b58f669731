//! The state of the full-screen view, and what each key does.
//!
//! Invariant: nothing here touches the terminal, the daemon or a clock, so that tests can drive it.

use std::collections::VecDeque;

use serde_json::Value;

use super::feed::{Data, Request};
use super::items::{Opens, Section, sections};
use super::keys::Key;
use super::listing::Listing;
use super::page::{Page, Shows};
use crate::cli::error::CliError;
use crate::cli::event_log::idea_story::Story;
use crate::cli::event_log::{self, Entry};
use crate::cli::json::{list, text, texts};
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, safe_block};
use crate::cli::render;
use crate::domain::time::Timestamp;

/// The most entries of the log that are kept.
const MAX_ENTRIES: usize = 500;

/// Whose view it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Of a daemon that runs elsewhere: `attach`, `status --watch`.
    Attached,
    /// Of the daemon that `start` runs below it: Ctrl+C and `q` stop the daemon.
    Hosting,
}

/// What a key asks the view's loop to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Only draw.
    Nothing,
    /// End the view.
    Leave,
    /// Pass one Ctrl+C on to the daemon.
    Interrupt,
    /// Stop the process as Ctrl+Z does.
    Suspend,
    /// Draw every cell again.
    Repaint,
    /// Fetch something.
    Ask(Request),
}

/// What the keys are for at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Selecting and scrolling.
    Browse,
    /// Typing a filter.
    Filter,
    /// Answering whether to stop the daemon.
    ConfirmStop,
}

/// The view.
pub struct App {
    /// How to paint.
    pub output: Output,
    /// Whose view it is.
    pub role: Role,
    /// What the keys are for.
    pub mode: Mode,
    /// The daemon's status; null until it is known.
    pub status: Value,
    ideas: Vec<Value>,
    /// What happened, oldest first.
    pub entries: VecDeque<Entry>,
    /// What the list shows.
    pub sections: Vec<Section>,
    /// The list.
    pub listing: Listing,
    /// The list's width in columns.
    pub columns: usize,
    /// Only items with this text.
    pub filter: String,
    /// What was opened over the list.
    pub page: Option<Page>,
    /// What the daemon said since it was asked to stop.
    pub notices: Vec<String>,
    /// How often it was asked to stop.
    pub interrupts: u32,
}

impl App {
    /// A view that knows nothing yet.
    pub fn new(output: Output, role: Role) -> Self {
        Self {
            output,
            role,
            mode: Mode::Browse,
            status: Value::Null,
            ideas: Vec::new(),
            entries: VecDeque::new(),
            sections: Vec::new(),
            listing: Listing::default(),
            columns: 0,
            filter: String::new(),
            page: None,
            notices: Vec::new(),
            interrupts: 0,
        }
    }

    /// Takes what the feed has fetched. The answer fetches again what is open.
    pub fn take(&mut self, data: Data, now: Timestamp) -> Option<Request> {
        self.status = data.status;
        let changed = data.ideas.is_some();
        if let Some(ideas) = data.ideas {
            self.ideas = ideas;
        }
        self.entries.extend(data.entries);
        let too_many = self.entries.len().saturating_sub(MAX_ENTRIES);
        self.entries.drain(..too_many);
        self.refresh(now);
        match self.page.as_ref().map(|page| &page.shows) {
            Some(Shows::Idea(id)) if changed => Some(Request::Idea(id.clone())),
            Some(Shows::Log) => {
                let lines = self.log_lines(now);
                if let Some(page) = &mut self.page {
                    page.set(lines);
                }
                None
            }
            Some(Shows::Idea(_) | Shows::Need | Shows::Output(_) | Shows::Text) | None => None,
        }
    }

    /// Makes the list anew: durations in it have changed.
    pub fn refresh(&mut self, now: Timestamp) {
        if !self.status.is_null() {
            self.sections = sections(&self.output, &self.status, &self.ideas, now);
        }
    }

    /// Makes the list's rows anew.
    pub fn lay_out(&mut self) {
        self.listing
            .lay_out(&self.sections, &self.filter, self.columns);
    }

    /// Shows an idea that was fetched, if its page is still open.
    pub fn take_idea(&mut self, id: &str, idea: Result<Value, CliError>, now: Timestamp) {
        let lines = match idea {
            // With its history alone: the whole log would be read again with each event.
            Ok(idea) => render::idea::page(&self.output, &idea, &Story::default(), now),
            Err(error) => vec![safe(&error.message)],
        };
        if let Some(page) = &mut self.page
            && page.shows == Shows::Idea(id.to_owned())
        {
            page.set(lines);
        }
    }

    /// Adds a line to an agent's output, if that is still open.
    pub fn take_output(&mut self, agent: &str, lines: &str) {
        if let Some(page) = &mut self.page
            && page.shows == Shows::Output(agent.to_owned())
        {
            for line in safe_block(lines).lines() {
                page.push(line.to_owned());
            }
        }
    }

    /// What a key does.
    pub fn key(&mut self, key: Key, now: Timestamp) -> Action {
        if let Key::Ctrl(letter) = key {
            return match letter {
                'c' => self.interrupt(),
                'z' => Action::Suspend,
                'l' => Action::Repaint,
                _ => Action::Nothing,
            };
        }
        match self.mode {
            Mode::Filter => {
                let action = self.filter_key(key);
                // The next key may come before the next frame.
                self.lay_out();
                action
            }
            Mode::ConfirmStop => {
                self.mode = Mode::Browse;
                if key == Key::Char('y') {
                    return Action::Interrupt;
                }
                Action::Nothing
            }
            Mode::Browse if self.page.is_some() => self.page_key(key),
            Mode::Browse => self.list_key(key, now),
        }
    }

    fn interrupt(&mut self) -> Action {
        self.mode = Mode::Browse;
        match self.role {
            Role::Attached => Action::Leave,
            Role::Hosting => Action::Interrupt,
        }
    }

    fn filter_key(&mut self, key: Key) -> Action {
        let filter = match &mut self.page {
            Some(page) => &mut page.filter,
            None => &mut self.filter,
        };
        match key {
            Key::Char(c) => filter.extend(c.to_lowercase()),
            Key::Backspace => drop(filter.pop()),
            Key::Enter => self.mode = Mode::Browse,
            Key::Esc => {
                filter.clear();
                self.mode = Mode::Browse;
            }
            Key::Ctrl(_)
            | Key::Up
            | Key::Down
            | Key::PageUp
            | Key::PageDown
            | Key::Home
            | Key::End => {}
        }
        Action::Nothing
    }

    fn page_key(&mut self, key: Key) -> Action {
        let Some(page) = &mut self.page else {
            return Action::Nothing;
        };
        match key {
            Key::Esc if !page.filter.is_empty() => page.filter.clear(),
            Key::Esc | Key::Char('q') => {
                let followed = matches!(page.shows, Shows::Output(_));
                self.page = None;
                if followed {
                    return Action::Ask(Request::NoOutput);
                }
            }
            Key::Char('j') | Key::Down | Key::Enter => page.scroll(1),
            Key::Char('k') | Key::Up => page.scroll(-1),
            Key::PageDown | Key::Char(' ') => page.turn(1),
            Key::PageUp => page.turn(-1),
            Key::Home | Key::Char('g') => page.scroll(isize::MIN + 1),
            Key::End | Key::Char('G') => page.scroll(isize::MAX),
            Key::Char('/') => self.mode = Mode::Filter,
            Key::Char(_) | Key::Ctrl(_) | Key::Backspace => {}
        }
        Action::Nothing
    }

    fn list_key(&mut self, key: Key, now: Timestamp) -> Action {
        match key {
            Key::Char('j') | Key::Down => self.listing.down(),
            Key::Char('k') | Key::Up => self.listing.up(),
            Key::PageDown | Key::Char(' ') => self.listing.turn(true),
            Key::PageUp => self.listing.turn(false),
            Key::Home | Key::Char('g') => self.listing.jump(false),
            Key::End | Key::Char('G') => self.listing.jump(true),
            Key::Char('/') => self.mode = Mode::Filter,
            Key::Esc => {
                self.filter.clear();
                self.lay_out();
            }
            Key::Enter => return self.open(),
            Key::Char('l') => {
                let lines = self.log_lines(now);
                self.page = Some(Page::new(Shows::Log, "Log: what happened", lines));
            }
            Key::Char('?') => self.page = Some(self.help()),
            Key::Char('q') => match self.role {
                Role::Attached => return Action::Leave,
                Role::Hosting => self.mode = Mode::ConfirmStop,
            },
            Key::Char(_) | Key::Ctrl(_) | Key::Backspace => {}
        }
        Action::Nothing
    }

    /// Opens the selected item.
    fn open(&mut self) -> Action {
        let key = self.listing.selected();
        let mut items = self.sections.iter().flat_map(|section| &section.items);
        let Some(item) = items.find(|item| Some(item.key.as_str()) == key) else {
            return Action::Nothing;
        };
        let (page, action) = match &item.opens {
            Opens::Need(place) => (self.need_page(*place), Action::Nothing),
            Opens::Text => {
                let lines = item.text().lines().map(str::to_owned).collect();
                (Page::new(Shows::Text, "Warning", lines), Action::Nothing)
            }
            Opens::Idea(id) => {
                let reading = vec!["reading ...".to_owned()];
                let page = Page::new(
                    Shows::Idea(id.clone()),
                    format!("Idea {}", safe(id)),
                    reading,
                );
                (page, Action::Ask(Request::Idea(id.clone())))
            }
            Opens::Agent(id) => {
                let title = format!("Output of {}", safe(id));
                let page = Page::new(Shows::Output(id.clone()), title, vec![]);
                (page, Action::Ask(Request::Output(id.clone())))
            }
        };
        self.page = Some(page);
        action
    }

    fn need_page(&self, place: usize) -> Page {
        let mut lines = Vec::new();
        if let Some(need) = list(&self.status, "needsYou").get(place) {
            let message = safe_block(text(need, "message"));
            lines.extend(message.lines().map(str::to_owned));
            lines.push(String::new());
            lines.push("Type in the root of the repository:".to_owned());
            lines.extend(
                texts(need, "commands")
                    .into_iter()
                    .map(|command| format!("  {}", self.output.paint(Tone::Live, &safe(command)))),
            );
        }
        Page::new(Shows::Need, "Needs you", lines)
    }

    fn log_lines(&mut self, now: Timestamp) -> Vec<String> {
        let width = self.output.width.take();
        let lines = event_log::lines(&self.output, self.entries.make_contiguous(), now);
        self.output.width = width;
        lines
    }

    fn help(&self) -> Page {
        let leave = match self.role {
            Role::Attached => "q          leave the view; the daemon goes on",
            Role::Hosting => "q, Ctrl+C  stop the daemon gracefully; Ctrl+C again: at once",
        };
        let lines = [
            "j k ↓ ↑    select the next or previous thing",
            "PgDn PgUp  scroll by a page; g G: to the first or last thing",
            "Enter      open it: an idea's story, an agent's output as it",
            "           comes, the full text and commands of what needs you",
            "/          show only what contains a text; Esc: all again",
            "l          the log: what happened",
            "Esc, q     back to the list",
            "Ctrl+Z     suspend the view; the daemon goes on; back: fg",
            "Ctrl+L     draw everything again",
            leave,
        ];
        Page::new(Shows::Text, "Keys", lines.map(str::to_owned).to_vec())
    }
}
