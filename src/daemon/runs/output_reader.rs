//! Listening to an agent: its output file, read as it grows, turned into events; its messages are
//! searched for signals.
//!
//! Invariant: always read from the beginning of the file, so that a signal's place is the same
//! whoever listens; what was heard before is recognised by its place. However much an agent says,
//! only a bounded number of things is passed on: of each reading the last word, the last progress
//! and the last usage, and at most [`LEARNINGS`] learnings a run.

use std::io;
use std::path::PathBuf;

use crate::agents::stream::{Conclusion, OutputReader, Said, text_of};
use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;
use crate::domain::signal::{Found, Item, Scanner, Signal};
use crate::domain::usage::Usage;
use crate::process::{OutputFollower, PIECE};

/// Learnings of one run that are passed on.
const LEARNINGS: usize = 200;

/// One run's listener.
pub(crate) struct AgentOutputReader {
    follower: OutputFollower,
    reader: Box<dyn OutputReader + Send>,
    scanner: Scanner,
    learnings: usize,
    run: String,
}

/// What was heard.
pub(crate) enum OutputEvent {
    /// A signal, at its place in the messages.
    Signal(u64, Signal),
    /// The conversation's name.
    Session(SessionId),
    /// The model has begun to answer.
    Answered,
    /// What was used up to here.
    Usage(Usage),
}

impl AgentOutputReader {
    /// Listens to the output in `path`; `prompt` is what the agent may quote.
    pub(crate) fn new(
        path: PathBuf,
        reader: Box<dyn OutputReader + Send>,
        prompt: &str,
        run: &str,
    ) -> Self {
        Self {
            follower: OutputFollower::new(path, 0),
            reader,
            scanner: Scanner::new(prompt),
            learnings: 0,
            run: run.to_owned(),
        }
    }

    /// Reads all that is new. Blocks for as long as that takes.
    pub(crate) fn read_new(&mut self) -> io::Result<Vec<OutputEvent>> {
        let mut heard = Gist::default();
        let mut piece = vec![0; PIECE];
        let mut said = Vec::new();
        loop {
            let read = self.follower.read_new(&mut piece)?;
            if read == 0 {
                return Ok(heard.in_order());
            }
            said.clear();
            self.reader.push(&piece[..read], &mut said);
            let found = self.scanner.push(&text_of(&said));
            heard.take_in(&mut said);
            self.note(found, &mut heard);
        }
    }

    /// The output has ended: reads the rest.
    pub(crate) fn finish(&mut self) -> io::Result<Vec<OutputEvent>> {
        let mut all = self.read_new()?;
        let mut said = Vec::new();
        self.reader.finish(&mut said);
        let mut found = self.scanner.push(&text_of(&said));
        found.extend(self.scanner.finish());
        let mut heard = Gist::default();
        heard.take_in(&mut said);
        self.note(found, &mut heard);
        all.extend(heard.in_order());
        Ok(all)
    }

    /// What the run came to, once all is heard.
    pub(crate) fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion {
        self.reader.conclude(end, stderr)
    }

    fn note(&mut self, found: Vec<Found>, heard: &mut Gist) {
        for Found { offset, item } in found {
            match item {
                Item::Signal(Signal::Progress(percent)) => {
                    heard.progress = Some((offset, Signal::Progress(percent)));
                }
                Item::Signal(signal @ (Signal::LearningLocal(_) | Signal::LearningGlobal(_))) => {
                    self.learnings += 1;
                    if self.learnings <= LEARNINGS {
                        heard.learnings.push((offset, signal));
                    }
                }
                Item::Signal(word) => heard.word = Some((offset, word)),
                Item::Unknown { text } => {
                    tracing::info!(run = %self.run, offset, %text, "unknown signal ignored");
                }
                Item::Malformed { text, why } => {
                    tracing::info!(run = %self.run, offset, %text, %why, "malformed signal \
                        ignored");
                }
            }
        }
    }
}

/// What one reading comes to.
#[derive(Default)]
struct Gist {
    session: Option<SessionId>,
    answered: bool,
    usage: Option<Usage>,
    learnings: Vec<(u64, Signal)>,
    progress: Option<(u64, Signal)>,
    word: Option<(u64, Signal)>,
}

impl Gist {
    /// What is no message.
    fn take_in(&mut self, said: &mut Vec<Said>) {
        for said in said.drain(..) {
            match said {
                Said::Session(session) => self.session = Some(session),
                Said::Answered => self.answered = true,
                Said::Usage(usage) => self.usage = Some(usage),
                // Text is searched for signals elsewhere; the rest is for the transcript only.
                Said::Text(_)
                | Said::Thought(_)
                | Said::ToolCall { .. }
                | Said::ToolResult { .. }
                | Said::Retry { .. }
                | Said::Note(_)
                | Said::End { .. } => {}
            }
        }
    }

    fn in_order(self) -> Vec<OutputEvent> {
        let mut signals = self.learnings;
        signals.extend(self.progress);
        signals.extend(self.word);
        signals.sort_by_key(|(offset, _)| *offset);
        let mut all: Vec<OutputEvent> =
            self.session.into_iter().map(OutputEvent::Session).collect();
        all.extend(self.answered.then_some(OutputEvent::Answered));
        all.extend(self.usage.map(OutputEvent::Usage));
        all.extend(
            signals
                .into_iter()
                .map(|(at, signal)| OutputEvent::Signal(at, signal)),
        );
        all
    }
}
