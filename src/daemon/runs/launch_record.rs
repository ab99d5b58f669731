//! How an agent's run was begun: how its output is read, and what it may quote.
//!
//! Invariant: the daemon that began a run knows it and does not look into the run's folder again.
//! One that comes later reads the folder, where agents can write, but does not depend on it: the
//! adapter is the one that the log tells of, else that of the run's profile, whatever is written
//! there, and a folder that tells nothing ends no run.

use std::io::{self, Read as _};
use std::path::Path;

use super::output_reader::AgentOutputReader;
use crate::agents::adapter::StartedAs;
use crate::agents::stream::{Conclusion, OutputReader};
use crate::agents::transcript::Transcript;
use crate::agents::{self, AdapterKind};
use crate::domain::ids::RunId;
use crate::plain_file;
use crate::process::RunDir;

/// The prompt's file in the run's directory.
pub(crate) const PROMPT: &str = "prompt.md";
/// There, where a conversation is taken up: what the prompt would be without it. The agent has been
/// told so, in other words, and may quote it.
pub(crate) const CONVERSATION: &str = "conversation.md";
/// How the agent was started, there.
pub(crate) const STARTED_AS: &str = "agent.json";
/// A larger one is not read.
const STARTED_AS_MAX: u64 = 64 * 1024;
/// Nor is a larger prompt.
const PROMPT_MAX: u64 = 64 * 1024 * 1024;
/// How an agent's run was begun.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LaunchRecord {
    pub(super) started: StartedAs,
    pub(super) quoted: String,
}

impl LaunchRecord {
    /// By the files that were made for it.
    pub(crate) fn with(files: &[(&'static str, Vec<u8>)]) -> Option<Self> {
        let file = |name| files.iter().find(|file| file.0 == name);
        let text = |name| file(name).map(|file| String::from_utf8_lossy(&file.1));
        let started = serde_json::from_slice(&file(STARTED_AS)?.1).ok()?;
        let before = text(CONVERSATION).unwrap_or_default();
        Some(Self {
            started,
            quoted: quoted(&before, &text(PROMPT)?),
        })
    }

    /// How its output is read.
    pub(crate) fn adapter(&self) -> AdapterKind {
        self.started.adapter
    }

    /// Whether it goes on with a conversation.
    pub(crate) fn resumes(&self) -> bool {
        self.started.resumed
    }

    /// What listens to the run.
    pub(crate) fn output_reader(&self, dir: &RunDir, run: &RunId) -> AgentOutputReader {
        let reader = reader_of(&self.started);
        AgentOutputReader::new(dir.stdout(), reader, &self.quoted, run.as_str())
    }

    /// Adds what the program's own records say.
    pub(crate) fn amend(&self, concluded: &mut Conclusion) {
        let adapter = agents::adapter(self.started.adapter);
        if let Err(error) = adapter.amend(&self.started, concluded) {
            let session = concluded.session.as_ref().map(ToString::to_string);
            tracing::warn!(%error, session, "the records of an agent's program cannot be read; of \
                its run only what it wrote is known");
        }
    }
}

fn quoted(before: &str, prompt: &str) -> String {
    format!("{before}\n{prompt}")
}

fn reader_of(started: &StartedAs) -> Box<dyn OutputReader + Send> {
    agents::adapter(started.adapter).reader(started)
}

/// What a folder tells of how its run was begun.
pub(super) struct FolderRecord {
    pub(super) started: io::Result<StartedAs>,
    pub(super) quoted: io::Result<String>,
}

pub(super) fn read_folder(dir: &Path) -> FolderRecord {
    let prompt = text(&dir.join(PROMPT), PROMPT_MAX);
    let before = match text(&dir.join(CONVERSATION), PROMPT_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        before => before,
    };
    FolderRecord {
        started: started_as(dir),
        quoted: before.and_then(|before| Ok(quoted(&before, &prompt?))),
    }
}

/// All that an agent was told, with what its conversation had before.
pub(crate) fn all_told(dir: &Path) -> io::Result<String> {
    match text(&dir.join(CONVERSATION), PROMPT_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            text(&dir.join(PROMPT), PROMPT_MAX)
        }
        told => told,
    }
}

pub(super) fn passes(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    !matches!(
        error.kind(),
        InvalidData | IsADirectory | NotADirectory | NotFound | PermissionDenied
    )
}

/// What makes the output of the run in this folder text for people; none: it is that already, or
/// nobody can tell.
pub(crate) fn transcript(dir: &Path) -> io::Result<Option<Transcript>> {
    let started = match started_as(dir) {
        Err(error) if passes(&error) => return Err(error),
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

/// How the run in this folder was started, by the file there.
fn started_as(dir: &Path) -> io::Result<StartedAs> {
    let text = text(&dir.join(STARTED_AS), STARTED_AS_MAX)?;
    serde_json::from_str(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A whole file, where it is a regular one of this size at most.
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
