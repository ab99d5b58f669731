//! The full-screen view of `start`, `attach` and `status --watch`.
//!
//! | file | does |
//! | --- | --- |
//! | `terminal` | takes the terminal and gives it back |
//! | `keys`, `signals`, `mailbox` | what reaches the view from outside |
//! | `feed` | fetches from the daemon, on a thread of its own |
//! | `app` | the state of the view, and what each key does |
//! | `items`, `listing`, `page` | what is shown: the list, and what Enter opens |
//! | `draw`, `text` | drawing, wrapping |
//!
//! Invariant: the view is a client of the daemon's socket. It can be killed, stopped or blocked by
//! its terminal without any effect on the daemon.

mod app;
mod draw;
pub mod feed;
mod items;
mod keys;
mod listing;
pub mod mailbox;
mod page;
pub mod signals;
pub mod terminal;
#[cfg(test)]
mod tests;
mod text;

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::io::Errno;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::clock;
use super::error::CliError;
use super::output::Output;
use super::repo::Repo;
use app::{Action, App, Role};
use feed::{Data, Patience, Request};
use keys::{Key, Keys};
use mailbox::{Inbox, Mailbox};
use terminal::Screen;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(40);
/// Durations are shown, so a frame is drawn at least this often.
const TICK: Duration = Duration::from_secs(1);
/// How long the bytes of a key may take after its first.
const KEY_PATIENCE: u16 = 50;

/// What reaches the view.
pub enum Message {
    /// Keys were typed.
    Keys(Vec<Key>),
    /// The terminal is gone.
    HungUp,
    /// The terminal has another size, or the process continues after it was stopped.
    Retake,
    /// The process is to stop as Ctrl+Z does.
    Suspend,
    /// Views from the daemon.
    Data(Box<Data>),
    /// An idea that was asked for.
    Idea(String, Result<Box<Value>, CliError>),
    /// A line of an agent's output.
    Output(String, String),
    /// An agent's output has ended, or cannot be read.
    OutputEnded(String, Option<CliError>),
    /// The daemon was asked to stop.
    Interrupted,
    /// The daemon's process wrote a line.
    Said(String),
    /// The daemon has ended.
    DaemonEnded,
    /// The connection to the daemon failed.
    Failed(CliError),
}

/// How the view ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// The person left it.
    Left,
    /// The terminal is gone.
    HungUp,
    /// The daemon has ended.
    Daemon,
}

/// What the view needs from whoever shows it.
pub struct View {
    /// The repository.
    pub repo: Repo,
    /// Use colours.
    pub colors: bool,
    /// Passes Ctrl+C on to the daemon below; `None` if the daemon runs elsewhere.
    pub interrupt: Option<Box<dyn Fn() + Send>>,
    /// Messages to the view.
    pub mailbox: Mailbox,
    /// Where they arrive.
    pub inbox: Inbox,
}

/// Shows the view until it ends. The terminal is given back in any case.
///
/// # Errors
/// The terminal cannot be used, or the daemon of an attached view was killed.
pub fn show(view: View) -> Result<Ended, CliError> {
    let (requests, asked) = unbounded_channel();
    let patience = match view.interrupt {
        Some(_) => Patience::Hosted,
        None => Patience::Attached,
    };
    let failed = |error: io::Error| CliError::io("use the terminal", &error);
    let screen = Screen::enter().map_err(failed)?;
    let (repo, mailbox) = (view.repo.clone(), view.mailbox.clone());
    let fetch = move || feed::run(&repo, &mailbox, asked, patience);
    let thread = thread::Builder::new().name("feed".into());
    thread.spawn(fetch).map_err(failed)?;
    let mailbox = view.mailbox.clone();
    let thread = thread::Builder::new().name("keys".into());
    thread.spawn(move || read_keys(&mailbox)).map_err(failed)?;
    Loop::new(view, screen, requests).run()
}

/// Passes keys on until the terminal is gone. The thread ends with the process.
fn read_keys(mailbox: &Mailbox) {
    let mut keys = Keys::default();
    let mut bytes = [0; 256];
    let stdin = io::stdin();
    loop {
        let typed = match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => break,
            Ok(count) => keys.take(&bytes[..count]),
            Err(Errno::INTR) => continue,
            Err(_) => break,
        };
        mailbox.send(Message::Keys(typed));
        if keys.is_pending() {
            let mut more = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
            if poll(&mut more, PollTimeout::from(KEY_PATIENCE)) == Ok(0) {
                mailbox.send(Message::Keys(keys.settle().into_iter().collect()));
            }
        }
    }
    mailbox.send(Message::HungUp);
}

struct Loop {
    app: App,
    screen: Screen,
    interrupt: Option<Box<dyn Fn() + Send>>,
    requests: UnboundedSender<Request>,
    inbox: Inbox,
    _mailbox: Mailbox,
}

impl Loop {
    fn new(view: View, screen: Screen, requests: UnboundedSender<Request>) -> Self {
        let role = match view.interrupt {
            Some(_) => Role::Hosting,
            None => Role::Attached,
        };
        Self {
            app: App::new(Output::for_pages(view.colors), role),
            screen,
            interrupt: view.interrupt,
            requests,
            inbox: view.inbox,
            _mailbox: view.mailbox,
        }
    }

    fn run(mut self) -> Result<Ended, CliError> {
        loop {
            // A terminal that cannot be written to is gone.
            let now = clock::now();
            let drawn = self
                .screen
                .draw(|frame| draw::draw(&mut self.app, frame, now));
            if drawn.is_err() {
                return Ok(Ended::HungUp);
            }
            let frame = Instant::now() + FRAME;
            let mut next = self.inbox.next(frame + TICK);
            if next.is_none() {
                self.app.refresh(clock::now());
            }
            while let Some(message) = next {
                if let Some(ended) = self.take(message)? {
                    return Ok(ended);
                }
                // What comes before the next frame is drawn with it.
                next = self.inbox.waiting().or_else(|| self.inbox.next(frame));
            }
        }
    }

    fn take(&mut self, message: Message) -> Result<Option<Ended>, CliError> {
        let now = clock::now();
        match message {
            Message::Keys(keys) => {
                for key in keys {
                    let action = self.app.key(key, now);
                    if let Some(ended) = self.act(action)? {
                        return Ok(Some(ended));
                    }
                }
            }
            Message::HungUp => return Ok(Some(Ended::HungUp)),
            Message::Retake => self.retake()?,
            Message::Suspend => return self.act(Action::Suspend),
            Message::Data(data) => {
                if let Some(request) = self.app.take(*data, now) {
                    self.ask(request);
                }
            }
            Message::Idea(id, idea) => self.app.take_idea(&id, idea.map(|idea| *idea), now),
            Message::Output(agent, line) => self.app.take_output(&agent, &line),
            Message::OutputEnded(agent, error) => {
                let why = error.map_or_else(|| "(the output ends here)".into(), |it| it.message);
                self.app.take_output(&agent, &why);
            }
            Message::Interrupted => self.app.interrupts += 1,
            Message::Said(line) => {
                if self.app.interrupts > 0 {
                    self.app.notices.push(text::plain(&line));
                }
            }
            Message::DaemonEnded => return Ok(Some(Ended::Daemon)),
            Message::Failed(error) => return Err(error),
        }
        Ok(None)
    }

    fn act(&mut self, action: Action) -> Result<Option<Ended>, CliError> {
        match action {
            Action::Nothing => {}
            Action::Leave => return Ok(Some(Ended::Left)),
            Action::Interrupt => {
                if let Some(interrupt) = &self.interrupt {
                    interrupt();
                }
            }
            Action::Suspend => {
                let stopped = Screen::suspend();
                stopped.map_err(|error| CliError::io("suspend the view", &error))?;
                self.retake()?;
            }
            Action::Repaint => self.retake()?,
            Action::Ask(request) => self.ask(request),
        }
        Ok(None)
    }

    fn ask(&self, request: Request) {
        // A feed that has ended has said so, and the view ends.
        drop(self.requests.send(request));
    }

    fn retake(&mut self) -> Result<(), CliError> {
        let retaken = self.screen.retake();
        retaken.map_err(|error| CliError::io("use the terminal", &error))
    }
}
