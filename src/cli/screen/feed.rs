//! What the full-screen view shows, fetched from the daemon on a thread of its own.
//!
//! Invariant: views are fetched when events come, at most every [`BREATH`]; without events only the
//! status is, every [`STATUS_EVERY`], because not everything in it is an event. The view never
//! waits for the daemon.

use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use super::Message;
use super::mailbox::Mailbox;
use crate::api::client::{Stream, encode};
use crate::cli::access::remote::Daemon;
use crate::cli::error::{CliError, Kind};
use crate::cli::event_log::{Entry, Filter, Selection, Storyteller};
use crate::cli::json::number;
use crate::cli::repo::Repo;

/// The shortest time between two fetches.
const BREATH: Duration = Duration::from_millis(500);
/// How often the status is fetched while nothing happens.
const STATUS_EVERY: Duration = Duration::from_secs(2);
/// How long to wait for a daemon that does not answer.
const RETRY: Duration = Duration::from_secs(1);
/// The most events that are read for the log when the view opens.
const HISTORY: u64 = 20_000;
/// The most lines of an agent's earlier output.
const OUTPUT_LINES: u32 = 500;

/// The views at one moment.
#[derive(Debug, Default)]
pub struct Data {
    /// `status --json`.
    pub status: Value,
    /// `idea list --json`, open ones first; `None` if they have not changed.
    pub ideas: Option<Vec<Value>>,
    /// What happened since the last time.
    pub entries: Vec<Entry>,
}

/// What the view asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// An idea with its history, now.
    Idea(String),
    /// An agent's output, and what comes.
    Output(String),
    /// No more output.
    NoOutput,
}

/// Whether the daemon may be gone for a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Its end is the view's end.
    Attached,
    /// Somebody else sees its end; it is asked again until then.
    Hosted,
}

/// Fetches until the daemon ends or the view does.
pub fn run(
    repo: &Repo,
    mailbox: &Mailbox,
    mut requests: UnboundedReceiver<Request>,
    patience: Patience,
) {
    loop {
        let over = follow(repo, mailbox, &mut requests);
        match (over, patience) {
            (Ok(Over::View), _) => return,
            (Ok(Over::Daemon), Patience::Attached) => {
                mailbox.send(Message::DaemonEnded);
                return;
            }
            (Err(error), Patience::Attached) => {
                mailbox.send(Message::Failed(error));
                return;
            }
            (Ok(Over::Daemon) | Err(_), Patience::Hosted) => {
                if mailbox.is_closed() {
                    return;
                }
                thread::sleep(RETRY);
            }
        }
    }
}

/// Who ended first.
enum Over {
    View,
    Daemon,
}

fn follow(
    repo: &Repo,
    mailbox: &Mailbox,
    requests: &mut UnboundedReceiver<Request>,
) -> Result<Over, CliError> {
    let daemon = Daemon::connect(repo)?.ok_or_else(CliError::no_daemon)?;
    let mut answered = false;
    let over = daemon.block_on(async {
        let mut feed = Feed::new(&daemon, mailbox);
        feed.fetch().await?;
        answered = true;
        let since = feed.seq.saturating_sub(HISTORY);
        let mut events = daemon
            .stream(&format!("events?since={since}&follow=true"))
            .await?;
        loop {
            let due = feed.due();
            tokio::select! {
                line = daemon.next_line(&mut events) => match line? {
                    Some(line) => feed.event(&line),
                    None => return Ok(Over::Daemon),
                },
                () = sleep_until(due) => feed.fetch_due().await?,
                request = requests.recv() => match request {
                    Some(request) => feed.answer(request).await,
                    None => return Ok(Over::View),
                },
                line = next_output(&daemon, &mut feed.output) => feed.take_output(line),
            }
        }
    });
    over.map_err(|error: CliError| {
        if answered && error.kind == Kind::NoDaemon {
            // It did not end the stream, as a daemon that stops does.
            return CliError::refused("the daemon was killed; its agents keep running")
                .hint("the next start adopts them: swarm start");
        }
        error
    })
}

struct Feed<'d> {
    daemon: &'d Daemon,
    mailbox: &'d Mailbox,
    /// The last event that a fetched status knows.
    seq: u64,
    status: Value,
    entries: Vec<Entry>,
    selection: Selection,
    teller: Storyteller,
    fetched: Instant,
    is_stale: bool,
    output: Option<(String, Stream)>,
}

impl<'d> Feed<'d> {
    fn new(daemon: &'d Daemon, mailbox: &'d Mailbox) -> Self {
        Self {
            daemon,
            mailbox,
            seq: 0,
            status: Value::Null,
            entries: Vec::new(),
            selection: Selection::new(Filter::default()),
            teller: Storyteller::default(),
            fetched: Instant::now(),
            is_stale: false,
            output: None,
        }
    }

    fn due(&self) -> Instant {
        self.fetched + if self.is_stale { BREATH } else { STATUS_EVERY }
    }

    fn event(&mut self, line: &str) {
        // An empty line only keeps the connection alive.
        let Ok(document) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let selected = self.selection.next(&document);
        let entry = selected.and_then(|one| self.teller.tell(&document, &one));
        self.entries.extend(entry);
        self.teller.follow(&document);
        self.is_stale = true;
    }

    async fn fetch_due(&mut self) -> Result<(), CliError> {
        if self.is_stale {
            return self.fetch().await;
        }
        self.fetched = Instant::now();
        let status = self.daemon.ask("status").await?;
        if status != self.status {
            self.status = status.clone();
            self.send(status, None);
        }
        Ok(())
    }

    async fn fetch(&mut self) -> Result<(), CliError> {
        self.fetched = Instant::now();
        self.is_stale = false;
        let status = self.daemon.ask("status").await?;
        let ideas = self.daemon.ask("ideas?openFirst=true").await?;
        self.seq = number(&status, "lastSeq");
        self.status = status.clone();
        let ideas = if let Value::Array(ideas) = ideas {
            ideas
        } else {
            Vec::new()
        };
        self.send(status, Some(ideas));
        Ok(())
    }

    fn send(&mut self, status: Value, ideas: Option<Vec<Value>>) {
        let entries = std::mem::take(&mut self.entries);
        self.mailbox.send(Message::Data(Box::new(Data {
            status,
            ideas,
            entries,
        })));
    }

    async fn answer(&mut self, request: Request) {
        match request {
            Request::Idea(id) => {
                let idea = self.daemon.ask(&format!("ideas/{}", encode(&id))).await;
                self.mailbox.send(Message::Idea(id, idea.map(Box::new)));
            }
            Request::Output(agent) => {
                let path = format!(
                    "agents/{}/logs?lines={OUTPUT_LINES}&follow=true&raw=false",
                    encode(&agent)
                );
                match self.daemon.stream(&path).await {
                    Ok(stream) => self.output = Some((agent, stream)),
                    Err(error) => self.mailbox.send(Message::OutputEnded(agent, Some(error))),
                }
            }
            Request::NoOutput => self.output = None,
        }
    }

    fn take_output(&mut self, line: Result<Option<String>, CliError>) {
        let Some((agent, _)) = &self.output else {
            return;
        };
        let agent = agent.clone();
        let message = match line {
            Ok(Some(line)) => Message::Output(agent, line),
            Ok(None) => Message::OutputEnded(agent, None),
            Err(error) => Message::OutputEnded(agent, Some(error)),
        };
        if matches!(message, Message::OutputEnded(..)) {
            self.output = None;
        }
        self.mailbox.send(message);
    }
}

/// The next line of the followed output; never, if none is followed.
async fn next_output(
    daemon: &Daemon,
    output: &mut Option<(String, Stream)>,
) -> Result<Option<String>, CliError> {
    match output {
        Some((_, stream)) => daemon.next_line(stream).await,
        None => std::future::pending().await,
    }
}
