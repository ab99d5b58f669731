//! Listening to an agent: its output file, read as it grows, turned into message text and searched for signals.
//!
//! Invariant: always read from the beginning of the file, so that a signal's place is the same whoever listens; what was heard before is
//! recognised by its place. However much an agent says, only a bounded number of signals is passed on: of each reading the last word and
//! the last progress, and at most [`LEARNINGS`] learnings a run.

use std::io;
use std::path::PathBuf;

use crate::agents::stream::{OutputReader, text_of};
use crate::domain::signal::{Found, Item, Scanner, Signal};
use crate::process::{OutputFollower, PIECE};

/// Learnings of one run that are passed on.
const LEARNINGS: usize = 200;

/// One run's listener.
pub(super) struct Ear {
    follower: OutputFollower,
    reader: Box<dyn OutputReader + Send>,
    scanner: Scanner,
    learnings: usize,
    run: String,
}

/// A signal and its place.
pub(super) type Heard = (u64, Signal);

impl Ear {
    /// Listens to the output in `path`; `prompt` is what the agent may quote.
    pub(super) fn new(
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
    pub(super) fn listen(&mut self) -> io::Result<Vec<Heard>> {
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
            self.note(found, &mut heard);
        }
    }

    /// The output has ended: reads the rest.
    pub(super) fn finish(&mut self) -> io::Result<Vec<Heard>> {
        let mut all = self.listen()?;
        let mut said = Vec::new();
        self.reader.finish(&mut said);
        let mut found = self.scanner.push(&text_of(&said));
        found.extend(self.scanner.finish());
        let mut heard = Gist::default();
        self.note(found, &mut heard);
        all.extend(heard.in_order());
        Ok(all)
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
                    tracing::info!(run = %self.run, offset, %text, %why, "malformed signal ignored");
                }
            }
        }
    }
}

/// What one reading comes to.
#[derive(Default)]
struct Gist {
    learnings: Vec<Heard>,
    progress: Option<Heard>,
    word: Option<Heard>,
}

impl Gist {
    fn in_order(self) -> Vec<Heard> {
        let mut all = self.learnings;
        all.extend(self.progress);
        all.extend(self.word);
        all.sort_by_key(|(offset, _)| *offset);
        all
    }
}
