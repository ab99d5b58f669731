//! The problems a configuration can have, as data.
//!
//! Invariant: a problem names its place (source, line, key), what was found, and what is allowed or
//! what to do. Problems are collected, so that one run reports all of them. A problem never
//! contains the value of an `env` key, or of a
//! webhook.

use std::fmt;

use serde::{Serialize, Serializer};

use super::model::Adapter;

/// Source of a value or a problem. A later variant overrides an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Built-in default.
    Default,
    /// The person's own file for all repositories; its path, with `~` for the home directory.
    User(String),
    /// `.swarm/config.json`, shared through git.
    Shared,
    /// `.swarm/config.local.json`, for this machine only.
    Local,
    /// The environment variable with this name.
    Environment(String),
    /// The command-line flag with this name.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Shared => f.write_str("config.json"),
            Self::Local => f.write_str("config.local.json"),
            Self::User(name) | Self::Environment(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A position in a text. Both numbers count from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[allow(missing_docs)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// One problem of a configuration, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The source that contains it.
    pub origin: Origin,
    /// The position in that source, if the source is a file.
    pub position: Option<Position>,
    /// The key, such as `agents.profiles.ed.command[0]`. Empty means the source as a whole.
    pub key: String,
    #[allow(missing_docs)]
    pub kind: ProblemKind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", visible(&self.key))?;
        }
        write!(f, ": {}", visible(&self.kind.to_string()))
    }
}

/// Escapes control characters: those in a file must not reach the reader's terminal.
pub(crate) fn visible(text: &str) -> String {
    let spell = |c: char| {
        if c.is_control() {
            c.escape_unicode().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(spell).collect()
}

/// Suggests the most similar name or, if none is similar, lists all known names.
fn hint(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "none are defined".to_owned(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// What is wrong. `nearest` is the known name with the most similar spelling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[allow(missing_docs)] // the messages say what the fields are
pub enum ProblemKind {
    /// The file does not exist.
    #[error("file not found; run `swarm init` to create it")]
    NoFile,
    /// The file is a link, a directory, a pipe or a device.
    #[error(
        "found {what}, but swarm reads its configuration only from regular files; put the file \
             itself here"
    )]
    NotRegular {
        /// The kind of file, with its article.
        what: String,
    },
    /// The file is larger than [`super::MAX_FILE_BYTES`].
    #[error("the file is larger than {limit} bytes; shorten it")]
    TooLarge { limit: u64 },
    /// The file cannot be read.
    #[error("cannot read the file: {why}")]
    Unreadable { why: String },
    /// The text is not JSON.
    #[error("not valid JSON: {why}")]
    Syntax { why: String },
    /// One object has the same key twice, so one of the values would be lost.
    #[error("duplicate key in the same object; remove one of the two")]
    DuplicateKey,
    /// The key is not defined at this place.
    #[error("unknown key; {}", hint(nearest.as_deref(), known))]
    UnknownKey {
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// A name that a person chooses is malformed.
    #[error("invalid name; allowed: {allowed}")]
    BadName { allowed: String },
    /// The value has the wrong type or is out of range.
    #[error("found {found}; allowed: {allowed}")]
    BadValue {
        /// The value, shortened; only its type if it may be secret.
        found: String,
        allowed: String,
    },
    /// A required key is missing.
    #[error("missing; set it to {allowed}")]
    Missing { allowed: String },
    /// A key names a profile that is not configured.
    #[error("no profile is named `{name}`; {}", hint(nearest.as_deref(), known))]
    NoSuchProfile {
        name: String,
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// The adapter runs any program, but the profile names none.
    #[error(
            "adapter `{}` requires a program; set a list such as [\"python3\", \"tools/agent.py\"]",
            adapter.name()
        )]
    EmptyCommand { adapter: Adapter },
    /// The adapter passes this option itself, or could not read the output with it.
    #[error(
            "adapter `{}` does not allow `{option}`, so swarm would not start the agent; remove it",
            adapter.name()
        )]
    OwnedArgument {
        /// The option without its value.
        option: String,
        adapter: Adapter,
    },
    /// No step waits for this hook, so it cannot hold one.
    #[error("only `pre-*` hooks can hold a step; use \"continue\" or remove the key")]
    NothingToVeto,
    /// swarm or git sets the variable.
    #[error("`{name}` is reserved for swarm and git; remove it")]
    ReservedVariable { name: String },
    /// A value has a placeholder that swarm does not know.
    #[error("unknown placeholder `{name}`; {}", hint(nearest.as_deref(), known))]
    UnknownPlaceholder {
        name: String,
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// The path does not name a file of the repository.
    #[error(
        "`{path}` does not stay inside the repository; use a relative path of a file in it, \
         without `..`, and not below `.git` or `.swarm`"
    )]
    BadPath { path: String },
    /// The name is no plain one, or git's or swarm's own in a git directory.
    #[error(
        "`{name}` cannot be linked: git or swarm keeps something of its own there, or it is no \
         plain file name; name a folder such as `lfs`"
    )]
    BadGitDirLink { name: String },
    /// git refuses this branch name.
    #[error("`{name}` is not a valid git branch name; use a name such as `main`")]
    BadBranch { name: String },
    /// swarm cannot send anything to this webhook.
    #[error("{why}")]
    BadWebhook {
        /// Reason, without the value, which may be secret.
        why: String,
    },
    /// There is no profile at all, so nothing can run.
    #[error(
        "no agent profile is configured, so swarm cannot work on ideas; add one, such as \
            {example}"
    )]
    NoProfile { example: String },
}

/// All problems of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the configuration has {}:{}", counted(problems), listed(problems))]
pub struct ConfigError {
    /// The problems by source and position; never empty.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|a, b| (&a.origin, a.position).cmp(&(&b.origin, b.position)));
        Self { problems }
    }
}

fn counted(problems: &[Problem]) -> String {
    match problems.len() {
        1 => "1 problem".to_owned(),
        count => format!("{count} problems"),
    }
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().fold(String::new(), |mut list, problem| {
        list.push_str("\n  ");
        list.push_str(&problem.to_string());
        list
    })
}

/// The known name with the most similar spelling, if one is similar enough to be meant.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |candidate: &str| {
        strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase())
            .max(strsim::jaro_winkler(name, candidate) - 0.25)
    };
    known
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
