//! Reads an agent's output file as it grows, turns it into events and finds signals in its
//! messages. Called by `follow`.
//!
//! Invariant: always reads from the beginning of the file, so that a signal has the same offset for
//! every reader, and repeated signals are recognised by it. The number of events is bounded: of
//! each reading the last status word, progress and usage, and at most [`LEARNINGS`] learnings a
//! run. So is the log of what was not followed.

use std::io;
use std::path::PathBuf;

use crate::agents::stream::{Conclusion, OutputReader, Said, text_of};
use crate::domain::observation::RunEndKind;
use crate::domain::session::SessionId;
use crate::domain::signal::{Found, Item, Scanner, Signal, SignalKind};
use crate::domain::usage::Usage;
use crate::process::{OutputFollower, PIECE};

/// Most learnings reported of one run.
const LEARNINGS: usize = 200;

/// Most signals of one run that are logged because they are not followed.
const IGNORED: usize = 50;

/// Reads the output of one run.
pub(crate) struct AgentOutputReader {
    follower: OutputFollower,
    reader: Box<dyn OutputReader + Send>,
    scanner: Scanner,
    learnings: usize,
    ignored: usize,
    mentioned: Option<SignalKind>,
    run: String,
}

/// Something found in the output.
pub(crate) enum OutputEvent {
    /// A signal, and its offset in the messages.
    Signal(u64, Signal),
    /// The conversation's id.
    Session(SessionId),
    /// The model has started to answer.
    Answered,
    /// The program waits for its provider, for this reason.
    ProviderAwaited(String),
    /// The usage up to here.
    Usage(Usage),
}

impl AgentOutputReader {
    /// Reads the output in `path`; `prompt` is text that the agent may echo.
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
            ignored: 0,
            mentioned: None,
            run: run.to_owned(),
        }
    }

    /// Reads all that is new. Blocks for as long as that takes.
    pub(crate) fn read_new(&mut self) -> io::Result<Vec<OutputEvent>> {
        let mut batch = Batch::default();
        let mut piece = vec![0; PIECE];
        let mut said = Vec::new();
        loop {
            let read = self.follower.read_new(&mut piece)?;
            if read == 0 {
                return Ok(batch.in_order());
            }
            said.clear();
            self.reader.push(&piece[..read], &mut said);
            let found = self.scanner.push(&text_of(&said));
            batch.add(&mut said);
            self.collect(found, &mut batch);
        }
    }

    /// Reads the rest, after the output has ended.
    pub(crate) fn finish(&mut self) -> io::Result<Vec<OutputEvent>> {
        let mut all = self.read_new()?;
        let mut said = Vec::new();
        self.reader.finish(&mut said);
        let mut found = self.scanner.push(&text_of(&said));
        found.extend(self.scanner.finish());
        let mut batch = Batch::default();
        batch.add(&mut said);
        self.collect(found, &mut batch);
        all.extend(batch.in_order());
        Ok(all)
    }

    /// The result of the run, once all output is read.
    pub(crate) fn conclude(&self, end: &RunEndKind, stderr: &str) -> Conclusion {
        self.reader.conclude(end, stderr)
    }

    /// The last final signal that was only mentioned, once all output is read.
    pub(crate) fn mentioned(&self) -> Option<SignalKind> {
        self.mentioned
    }

    fn collect(&mut self, found: Vec<Found>, batch: &mut Batch) {
        for Found { offset, item } in found {
            match item {
                Item::Signal(Signal::Progress(percent)) => {
                    batch.progress = Some((offset, Signal::Progress(percent)));
                }
                Item::Signal(signal @ (Signal::LearningLocal(_) | Signal::LearningGlobal(_))) => {
                    self.learnings += 1;
                    if self.learnings <= LEARNINGS {
                        batch.learnings.push((offset, signal));
                    }
                }
                Item::Signal(word) => batch.word = Some((offset, word)),
                Item::Mentioned(kind) => {
                    if kind.is_final() {
                        self.mentioned = Some(kind);
                    }
                    self.ignore(|run| {
                        tracing::info!(run, offset, %kind, "signal within a sentence ignored");
                    });
                }
                Item::Unknown { text } => self.ignore(|run| {
                    tracing::info!(run, offset, %text, "unknown signal ignored");
                }),
                Item::Malformed { text, why } => self.ignore(|run| {
                    tracing::info!(run, offset, %text, %why, "malformed signal ignored");
                }),
            }
        }
    }

    /// Logs one that is not followed, unless this run had too many.
    fn ignore(&mut self, log: impl FnOnce(&str)) {
        self.ignored += 1;
        if self.ignored <= IGNORED {
            log(&self.run);
        }
    }
}

/// The events of one reading.
#[derive(Default)]
struct Batch {
    session: Option<SessionId>,
    answered: bool,
    /// Why the program waits for its provider, unless it answered since.
    wait: Option<String>,
    usage: Option<Usage>,
    learnings: Vec<(u64, Signal)>,
    progress: Option<(u64, Signal)>,
    word: Option<(u64, Signal)>,
}

impl Batch {
    /// Adds everything that is not a message.
    fn add(&mut self, said: &mut Vec<Said>) {
        for said in said.drain(..) {
            match said {
                Said::Session(session) => self.session = Some(session),
                // Text is searched for signals elsewhere. Some programs write nothing else: one
                // that speaks has begun.
                Said::Answered | Said::Text(_) | Said::Thought(_) | Said::ToolCall { .. } => {
                    self.answered = true;
                    self.wait = None;
                }
                Said::Retry { why } => self.wait = Some(why),
                Said::Usage(usage) => self.usage = Some(usage),
                // The rest is for the transcript only.
                Said::ToolResult { .. } | Said::Note(_) | Said::End { .. } => {}
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
        // An answer before the wait is old: after a restart it is read once more, and must not end
        // a wait that is known already.
        let answered = self.answered && self.wait.is_none();
        all.extend(answered.then_some(OutputEvent::Answered));
        all.extend(self.wait.map(OutputEvent::ProviderAwaited));
        all.extend(self.usage.map(OutputEvent::Usage));
        all.extend(
            signals
                .into_iter()
                .map(|(at, signal)| OutputEvent::Signal(at, signal)),
        );
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::adapter::StartedAs;
    use crate::agents::{self, AdapterKind as Kind};

    /// What the lines of a Claude Code run report, one piece at a time.
    fn events_of(pieces: &[&str]) -> Vec<Vec<&'static str>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout.log");
        std::fs::write(&path, "").unwrap();
        let started = StartedAs::new(Kind::Claude);
        let output = agents::adapter(Kind::Claude).reader(&started);
        let mut reader = AgentOutputReader::new(path.clone(), output, "", "r1");
        let mut whole = String::new();
        let mut all = Vec::new();
        for piece in pieces {
            whole.push_str(piece);
            std::fs::write(&path, &whole).unwrap();
            let names = reader
                .read_new()
                .unwrap()
                .into_iter()
                .map(|event| match event {
                    OutputEvent::Signal(..) => "signal",
                    OutputEvent::Session(_) => "session",
                    OutputEvent::Answered => "answered",
                    OutputEvent::ProviderAwaited(_) => "waits",
                    OutputEvent::Usage(_) => "usage",
                });
            all.push(names.collect());
        }
        all
    }

    #[test]
    fn a_wait_for_the_provider_is_over_with_the_next_thought_tool_or_message() {
        let retry = concat!(
            r#"{"type":"system","subtype":"api_retry","attempt":1,"error_status":429,"#,
            r#""error":"rate_limit"}"#,
            "\n"
        );
        let call = concat!(
            r#"{"type":"assistant","message":{"id":"m1","role":"assistant","content":"#,
            r#"[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}"#,
            "\n"
        );
        let seen = events_of(&[
            retry,
            call,
            &format!("{retry}{call}"),
            &format!("{call}{retry}"),
        ]);
        assert_eq!(seen[0], ["waits"]);
        assert!(
            seen[1].contains(&"answered") && !seen[1].contains(&"waits"),
            "{seen:?}"
        );
        assert!(
            seen[2].contains(&"answered") && !seen[2].contains(&"waits"),
            "{seen:?}"
        );
        assert!(seen[3].ends_with(&["waits"]), "{seen:?}");
    }
}
