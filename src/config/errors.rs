//! What can be wrong with a configuration, as data.
//!
//! Invariant: a problem says where it stands (source, line, key), what was found and what is allowed or to be done; problems
//! are collected, so that one look shows them all. The value of an `env` key is never part of a problem.

use std::fmt;

use serde::{Serialize, Serializer};

use super::model::Adapter;

/// Where a value, or a problem, comes from; later ones win over earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Built in.
    Default,
    /// `.swarm/config.json`, shared through git.
    Shared,
    /// `.swarm/config.local.json`, this machine's own.
    Local,
    /// The environment variable of this name.
    Environment(String),
    /// The flag of this name on the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Shared => f.write_str("config.json"),
            Self::Local => f.write_str("config.local.json"),
            Self::Environment(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A place in a text; both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Which source it stands in.
    pub origin: Origin,
    /// Where in that source, if it is a text.
    pub position: Option<Position>,
    /// The key, as in `agents.profiles.ed.command[0]`; empty: the source as a whole.
    pub key: String,
    /// What is wrong.
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

/// `text` with its control characters spelled out: a file may hold some that would steer the reader's terminal.
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

/// Says `did you mean` where there is a near name, else what there is.
fn hint(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ProblemKind {
    /// The file is not there.
    #[error("there is no such file; run `swarm init` to write it")]
    NoFile,
    /// The file is a link, a directory, a pipe or a device.
    #[error(
        "is {what}, and swarm reads its configuration from regular files only; put the file itself there"
    )]
    NotRegular {
        /// What it is, with its article.
        what: String,
    },
    /// The file is larger than [`super::MAX_FILE_BYTES`].
    #[error("is larger than {limit} bytes; make it smaller")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The file cannot be read.
    #[error("cannot be read: {why}")]
    Unreadable {
        /// The system's reason.
        why: String,
    },
    /// The text is not JSON.
    #[error("not valid JSON: {why}")]
    Syntax {
        /// The parser's reason.
        why: String,
    },
    /// The same key stands twice in one object, so that one of them would be lost.
    #[error("the key stands twice in the same object; remove one of the two")]
    DuplicateKey,
    /// No such key exists here.
    #[error("unknown key; {}", hint(nearest.as_deref(), known))]
    UnknownKey {
        /// The known key that is spelled most like it.
        nearest: Option<String>,
        /// All keys known here.
        known: Vec<String>,
    },
    /// A name that a person may choose is not well formed.
    #[error("this name is not allowed here; allowed: {allowed}")]
    BadName {
        /// What a name looks like.
        allowed: String,
    },
    /// The value is of the wrong type or out of bounds.
    #[error("found {found}; allowed: {allowed}")]
    BadValue {
        /// The value, shortened.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A key that must be there is not.
    #[error("missing; give {allowed}")]
    Missing {
        /// What is allowed.
        allowed: String,
    },
    /// A profile is named that is not configured.
    #[error("no profile is called `{name}`; {}", hint(nearest.as_deref(), known))]
    NoSuchProfile {
        /// The name.
        name: String,
        /// The configured name that is spelled most like it.
        nearest: Option<String>,
        /// All configured names.
        known: Vec<String>,
    },
    /// An adapter for any program, without a program.
    #[error(
        "adapter `{}` needs the program to run; give a list such as [\"python3\", \"tools/agent.py\"]", adapter.name()
    )]
    EmptyCommand {
        /// Which adapter.
        adapter: Adapter,
    },
    /// An argument that the profile's adapter gives itself, or that would change what it reads.
    #[error("`{option}` belongs to the adapter `{}`, and no agent would be started with it; take it out", adapter.name())]
    OwnedArgument {
        /// The option, without a value.
        option: String,
        /// Which adapter.
        adapter: Adapter,
    },
    /// A hook that comes after the fact cannot hold anything.
    #[error("only hooks named `pre-...` can hold a step; use \"continue\" or remove the key")]
    NothingToVeto,
    /// The variable belongs to swarm or git.
    #[error("`{name}` is set by swarm itself and cannot be given; remove it")]
    ReservedVariable {
        /// The variable's name.
        name: String,
    },
    /// git would not take this as a branch name.
    #[error("`{name}` cannot be the name of a git branch; give a name such as `main`")]
    BadBranch {
        /// The name.
        name: String,
    },
    /// There is no profile at all, so nothing can run.
    #[error("no agent is configured, so no idea can be worked on; add one, such as {example}")]
    NoProfile {
        /// What to write.
        example: String,
    },
}

/// Everything that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the configuration has {} problem(s):{}", problems.len(), listed(problems))]
pub struct ConfigError {
    /// The problems, ordered by source and place; never empty.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|a, b| (&a.origin, a.position).cmp(&(&b.origin, b.position)));
        Self { problems }
    }
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().fold(String::new(), |mut list, problem| {
        list.push_str("\n  ");
        list.push_str(&problem.to_string());
        list
    })
}

/// The known name that is spelled most like `name`, if one is near enough to be meant.
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
