//! Reads what an agent and its model said from the files of its runs.
//!
//! Invariant: only regular files are read, each to its present end, in bounded memory. A run whose
//! files are gone or torn makes a repair, never an error.

use std::io::{self, Read};
use std::path::Path;

use crate::agents;
use crate::agents::adapter::StartedAs;
use crate::agents::stream::Said;
use crate::daemon::Paths;
use crate::daemon::runs::launch_record::{self, PROMPT};
use crate::domain::ids::RunId;
use crate::plain_file;
use crate::process::PIECE;
use crate::view::agent_state::message_log::MessageLog;
use crate::view::{self, RunPurpose};

/// Most bytes read of a prompt.
const PROMPT_MAX: u64 = 64 * 1024 * 1024;
/// File of a run's directory with the standard output.
const STDOUT: &str = "stdout.log";

/// What the runs of an agent say.
#[derive(Default)]
pub(super) struct Heard {
    /// Its messages.
    pub(super) log: MessageLog,
    /// Models that answered.
    pub(super) models: Vec<String>,
    /// How its last run was started, if that is known.
    pub(super) started: Option<StartedAs>,
    /// Begin of a character whose end comes with the next piece.
    held: Vec<u8>,
}

/// Reads the iterations among these runs. `live` is a run that may still write.
pub(super) fn read(paths: &Paths, runs: &[RunId], live: bool) -> io::Result<Heard> {
    let mut heard = Heard::default();
    let iterations = runs.iter().filter(|run| is_iteration(run));
    let last = iterations.clone().next_back();
    for run in iterations {
        let may_write = live && Some(run) == last;
        heard.read_run(&paths.runs.join(run.as_str()), run, may_write)?;
    }
    Ok(heard)
}

fn is_iteration(run: &RunId) -> bool {
    match view::run(run).purpose {
        RunPurpose::Iteration(_) => true,
        RunPurpose::Check(_)
        | RunPurpose::MergeCheck(_)
        | RunPurpose::Setup(_)
        | RunPurpose::Other => false,
    }
}

impl Heard {
    fn read_run(&mut self, dir: &Path, run: &RunId, may_write: bool) -> io::Result<()> {
        // What cannot be read is named among the repairs.
        let prompt = launch_record::text(&dir.join(PROMPT), PROMPT_MAX).ok();
        self.log.begin_run(run, prompt.as_deref());
        // Without it the output counts as plain text.
        let started = launch_record::started_as(dir).ok();
        if let Ok(output) = plain_file::open(&dir.join(STDOUT)) {
            let plain = StartedAs::plain();
            self.read_output(run, started.as_ref().unwrap_or(&plain), output, may_write)?;
        }
        if started.is_some() {
            self.started = started;
        }
        Ok(())
    }

    /// Reads a run's standard output. What is being written is no torn line: it comes with the next
    /// export.
    pub(super) fn read_output(
        &mut self,
        run: &RunId,
        started: &StartedAs,
        mut output: impl Read,
        may_write: bool,
    ) -> io::Result<()> {
        let mut reader = agents::adapter(started.adapter).reader(started);
        let mut piece = vec![0; PIECE];
        let mut said = Vec::new();
        loop {
            let read = output.read(&mut piece)?;
            if read == 0 {
                break;
            }
            reader.push(&piece[..read], &mut said);
            self.add(run, &mut said);
        }
        if !may_write {
            reader.finish(&mut said);
            self.add(run, &mut said);
        }
        let rest = std::mem::take(&mut self.held);
        self.log.text(run, &String::from_utf8_lossy(&rest));
        Ok(())
    }

    /// Adds a piece of a message, up to its last whole character.
    fn text(&mut self, run: &RunId, piece: &[u8]) {
        self.held.extend_from_slice(piece);
        let whole = match std::str::from_utf8(&self.held) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.held.len(),
        };
        let text = String::from_utf8_lossy(&self.held[..whole]).into_owned();
        self.held.drain(..whole);
        self.log.text(run, &text);
    }

    fn add(&mut self, run: &RunId, said: &mut Vec<Said>) {
        for said in said.drain(..) {
            match said {
                Said::Text(text) => self.text(run, &text),
                Said::ToolCall { id, tool, input } => self.log.call(run, &id, &tool, &input),
                Said::ToolResult { id, output, ok } => self.log.result(run, &id, &output, ok),
                Said::Usage(usage) => {
                    let model = usage.model.filter(|model| !self.models.contains(model));
                    self.models.extend(model);
                }
                // Programs with a stream write one object a line.
                Said::Note(note) if note.starts_with('{') => self.log.torn_line(run),
                Said::Note(_)
                | Said::Thought(_)
                | Said::Session(_)
                | Said::Answered
                | Said::Retry { .. }
                | Said::End { .. } => {}
            }
        }
    }
}
