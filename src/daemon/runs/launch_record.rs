//! Launch record of an agent run: the adapter that parses its output, and prompt text that it may
//! echo. Called by `run` and by `swarm agent logs`.
//!
//! Invariant: the daemon that launched a run keeps the record in memory. A later daemon reads it
//! from the run's directory, where agents can write, so it does not depend on that: the adapter
//! comes from the log, or else from the profile, and an unusable directory fails no run.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use super::output_reader::AgentOutputReader;
use crate::agents::adapter::StartedAs;
use crate::agents::stream::{Conclusion, OutputReader, Said};
use crate::agents::transcript::Transcript;
use crate::agents::{self, AdapterKind};
use crate::domain::ids::RunId;
use crate::plain_file;
use crate::process::{PIECE, RunDir};

/// The prompt's file in the run's directory.
pub(crate) const PROMPT: &str = "prompt.md";
/// If a conversation is resumed: the prompt without the conversation. The agent knows that text in
/// other words and may echo it.
pub(crate) const CONVERSATION: &str = "conversation.md";
/// How the agent was started, as JSON.
pub(crate) const STARTED_AS: &str = "agent.json";
/// Most bytes read of it.
const STARTED_AS_MAX: u64 = 64 * 1024;
/// Most bytes read of a prompt.
pub(crate) const PROMPT_MAX: u64 = 64 * 1024 * 1024;
/// How an agent's run was launched.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LaunchRecord {
    pub(super) started: StartedAs,
    pub(super) quoted: String,
}

impl LaunchRecord {
    /// From the files written for the run.
    pub(crate) fn from_files(files: &[(&'static str, Vec<u8>)]) -> Option<Self> {
        let file = |name| files.iter().find(|file| file.0 == name);
        let text = |name| file(name).map(|file| String::from_utf8_lossy(&file.1));
        let started = serde_json::from_slice(&file(STARTED_AS)?.1).ok()?;
        let before = text(CONVERSATION).unwrap_or_default();
        Some(Self {
            started,
            quoted: quoted(&before, &text(PROMPT)?),
        })
    }

    /// The adapter that parses its output.
    pub(crate) fn adapter(&self) -> AdapterKind {
        self.started.adapter
    }

    /// Whether it resumes a conversation.
    pub(crate) fn resumes(&self) -> bool {
        self.started.resumed
    }

    /// A reader for the run's output.
    pub(crate) fn output_reader(&self, dir: &RunDir, run: &RunId) -> AgentOutputReader {
        let reader = reader_of(&self.started);
        AgentOutputReader::new(dir.stdout(), reader, &self.quoted, run.as_str())
    }

    /// Adds what the program's own records say.
    pub(crate) fn amend(&self, conclusion: &mut Conclusion) {
        let adapter = agents::adapter(self.started.adapter);
        if let Err(error) = adapter.amend(&self.started, conclusion) {
            let session = conclusion.session.as_ref().map(ToString::to_string);
            tracing::warn!(%error, session, "the session records of an agent cannot be read; only \
                its output is known");
        }
    }
}

fn quoted(before: &str, prompt: &str) -> String {
    format!("{before}\n{prompt}")
}

/// A reader for the output of a run that was started like this.
pub(crate) fn reader_of(started: &StartedAs) -> Box<dyn OutputReader + Send> {
    agents::adapter(started.adapter).reader(started)
}

/// Passes on what an output says, in order, a piece at a time.
pub(crate) fn read_output(
    mut output: impl io::Read,
    mut reader: Box<dyn OutputReader + Send>,
    mut each: impl FnMut(Vec<Said>),
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut said = Vec::new();
    loop {
        let count = match output.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        reader.push(&piece[..count], &mut said);
        each(std::mem::take(&mut said));
    }
    reader.finish(&mut said);
    each(said);
    Ok(())
}

/// Whether a run has written any output: without, its program may have been killed before it read
/// its prompt. What cannot be looked up counts as output.
pub(crate) fn has_output(runs: &Path, run: &RunId) -> bool {
    let output = RunDir::open(runs, run.as_str())
        .map_err(io::Error::other)
        .and_then(|dir| fs::symlink_metadata(dir.stdout()));
    match output {
        Ok(output) => output.len() > 0,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// What a run's directory says about its launch.
pub(super) struct RecordFiles {
    pub(super) started: io::Result<StartedAs>,
    pub(super) quoted: io::Result<String>,
}

pub(super) fn read_directory(dir: &Path) -> RecordFiles {
    let prompt = text(&dir.join(PROMPT), PROMPT_MAX);
    let before = match text(&dir.join(CONVERSATION), PROMPT_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        before => before,
    };
    RecordFiles {
        started: started_as(dir),
        quoted: before.and_then(|before| Ok(quoted(&before, &prompt?))),
    }
}

/// The whole prompt of a run, including what its conversation had before.
pub(crate) fn whole_prompt(dir: &Path) -> io::Result<String> {
    match text(&dir.join(CONVERSATION), PROMPT_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            text(&dir.join(PROMPT), PROMPT_MAX)
        }
        text => text,
    }
}

/// Whether an error says nothing about what a file holds.
pub(crate) fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    !matches!(
        error.kind(),
        InvalidData | IsADirectory | NotADirectory | NotFound | PermissionDenied
    )
}

/// Converts the output of the run in this directory to text for people; `None` if it is text
/// already or the adapter is unknown.
pub(crate) fn transcript(dir: &Path) -> io::Result<Option<Transcript>> {
    let started = match started_as(dir) {
        Err(error) if is_transient(&error) => return Err(error),
        Err(_) => return Ok(None),
        Ok(started) => started,
    };
    match started.adapter {
        AdapterKind::Command | AdapterKind::Demo => Ok(None),
        AdapterKind::Claude
        | AdapterKind::Codex
        | AdapterKind::Gemini
        | AdapterKind::Opencode
        | AdapterKind::Acp => Ok(Some(Transcript::new(reader_of(&started)))),
    }
}

/// How the run in this directory was started, by its file.
pub(crate) fn started_as(dir: &Path) -> io::Result<StartedAs> {
    let text = text(&dir.join(STARTED_AS), STARTED_AS_MAX)?;
    serde_json::from_str(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a regular file of at most `max` bytes.
pub(crate) fn text(path: &Path, max: u64) -> io::Result<String> {
    let mut text = Vec::new();
    plain_file::open(path)?
        .take(max + 1)
        .read_to_end(&mut text)?;
    if text.len() as u64 > max {
        let message = format!("`{}` is larger than {max} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
