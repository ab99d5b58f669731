//! Reads Gemini CLI's own records of a conversation: `<project>/chats/session-<time>-<start of the
//! id>.jsonl`.
//!
//! Invariant: only reads, and skips torn or unknown lines. The answers since the last prompt bound
//! memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::agents::stream::json::{self, Object};
use crate::agents::stream::records;
use crate::agents::text;
use crate::domain::session::SessionId;
use crate::domain::usage::Tokens;

/// Answers that are told apart; what more there are is not counted.
const ANSWERS: usize = 64 * 1024;
/// Longest name to keep, in bytes.
const NAME: usize = 128;
/// So many letters of a conversation's name are in that of its file.
const IN_NAME: usize = 8;

/// What the records tell of a conversation's last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastRun {
    /// What its answers used, as far as they were counted.
    pub(super) tokens: Option<Tokens>,
    /// Its last answer was not counted, which the service does at an answer's end, though others
    /// were.
    pub(super) broken_off: bool,
}

/// The conversation's last run: each has one prompt, and what was answered since that is its own.
/// Of a conversation that was taken up there may be several files, of which one goes on.
pub(super) fn last_run(folder: &Path, session: &SessionId) -> io::Result<LastRun> {
    let mut run = Run::default();
    for path in files(folder, session)? {
        let mut is_its_own = None;
        records::each(&path, |line| {
            let named = || json::text(line, "sessionId") == Some(session.as_str());
            if *is_its_own.get_or_insert_with(named) {
                run.read_line(line);
            }
        })?;
    }
    Ok(run.told())
}

#[derive(Default)]
struct Run {
    /// By the name of the answer: each is written again when its tools have run.
    answers: BTreeMap<String, Option<Tokens>>,
    last: String,
}

impl Run {
    fn read_line(&mut self, line: &Object) -> Option<()> {
        let id = text::head(json::text(line, "id")?, NAME);
        match json::text(line, "type")? {
            // What tools gave is told to the model in the user's name.
            "user" if is_prompt(line) => *self = Self::default(),
            "gemini" if self.answers.len() < ANSWERS || self.answers.contains_key(id) => {
                let tokens = json::object(line, "tokens").map(tokens);
                self.answers.insert(id.to_owned(), tokens);
                id.clone_into(&mut self.last);
            }
            _ => {}
        }
        Some(())
    }

    fn told(&self) -> LastRun {
        let tokens = self.answers.values().flatten().copied();
        let tokens = tokens.reduce(Tokens::plus);
        LastRun {
            tokens,
            broken_off: tokens.is_some() && self.answers.get(&self.last) == Some(&None),
        }
    }
}

fn is_prompt(line: &Object) -> bool {
    let mut parts = json::objects(line, "content");
    parts.all(|part| !part.contains_key("functionResponse"))
}

/// A count of the records: its input includes what was cached, its output not what was thought.
fn tokens(told: &Object) -> Tokens {
    let number = |name| json::number(told, name).unwrap_or(0);
    let cached = number("cached");
    Tokens {
        input: number("input")
            .saturating_add(number("tool"))
            .saturating_sub(cached),
        cached,
        cache_written: 0,
        output: number("output").saturating_add(number("thoughts")),
    }
}

/// The files whose names may be the conversation's, in any project's folder, the oldest first.
fn files(folder: &Path, session: &SessionId) -> io::Result<Vec<PathBuf>> {
    let ending = format!("-{}.jsonl", text::head(session.as_str(), IN_NAME));
    let mut found = Vec::new();
    for project in records::last_first(folder)? {
        found.extend(records::last_first(&project.join("chats"))?);
    }
    found.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("session-") && name.ends_with(&ending)
    });
    found.sort_unstable_by(|one, other| one.file_name().cmp(&other.file_name()));
    Ok(found)
}
