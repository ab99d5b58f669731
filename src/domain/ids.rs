//! Names that become paths, branches and arguments, so each is checked when it is created.
//!
//! Invariant: an id matches `[a-z0-9][a-z0-9-]{0,63}`; an [`Oid`] is 40 or 64 lower-case hex
//! digits. Both are also checked when read from disk.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The text is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a valid {what}: use 1 to 64 lower-case letters, digits and `-`, \
    starting with a letter or digit",
    shown(text)
)]
pub struct BadId {
    what: &'static str,
    text: String,
}

/// First characters of an untrusted text for a message, with control characters escaped.
fn shown(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(64)
        .flat_map(char::escape_default)
        .collect();
    if text.chars().nth(64).is_some() {
        short.push_str("...");
    }
    short
}

fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 64 && !text.starts_with('-') && text.bytes().all(allowed)
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                if is_id(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(BadId { what: $what, text: text.to_owned() })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// An idea: `idea-001`.
    IdeaId,
    "idea id"
);
text_id!(
    /// One agent that works on one idea: `ed-001`. The number is never reused in a repository.
    AgentId,
    "agent id"
);
text_id!(
    /// One supervised child process and its directory: `r0042-ed-001-i2`.
    RunId,
    "run id"
);
text_id!(
    /// An agent profile in the configuration: `ed`.
    ProfileName,
    "profile name"
);
text_id!(
    /// A checkpoint: `before-release`. Also the name of a file, and part of references.
    CheckpointName,
    "checkpoint name"
);

impl IdeaId {
    /// Id of the `number`-th idea.
    pub fn numbered(number: u64) -> Self {
        Self(format!("idea-{number:03}").into())
    }
}

impl AgentId {
    /// Id of the `number`-th agent, working under `profile`.
    pub fn numbered(profile: &ProfileName, number: u64) -> Self {
        let name: String = profile.as_str().chars().take(32).collect();
        Self(format!("{}-{number:03}", name.trim_end_matches('-')).into())
    }
}

impl RunId {
    /// Id of the `number`-th run; `what` describes its purpose.
    pub fn numbered(number: u64, what: &str) -> Self {
        let text: String = format!("r{number:04}-{what}").chars().take(64).collect();
        Self(text.trim_end_matches('-').into())
    }

    /// Its number: runs are numbered in the order in which they are requested. 0 if the id has
    /// none.
    pub fn number(&self) -> u64 {
        let digits = self.as_str().strip_prefix('r').unwrap_or_default();
        let digits = digits.split('-').next().unwrap_or_default();
        digits.parse().unwrap_or(0)
    }
}

/// Name of an attempt, unique for ever, from its branch: `agent/ed-001/idea-003` gives
/// `ed-001-idea-003`. It names what outlives the attempt; worktrees are used again.
pub fn attempt_name(branch: &str) -> String {
    let name = branch.strip_prefix("agent/").unwrap_or(branch);
    name.replace('/', "-")
}

/// Names that mean something else in a worktree's git directory than in the repository's.
const OF_GIT: [&str; 27] = [
    "branches",
    "commondir",
    "common",
    "config",
    "description",
    "fsmonitor--daemon",
    "gitdir",
    "hooks",
    "index",
    "info",
    "locked",
    "logs",
    "modules",
    "objects",
    "packed-refs",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "remotes",
    "rr-cache",
    "sequencer",
    "shallow",
    "sharedindex",
    "svn",
    "swarm",
    "worktrees",
];

/// Whether a name of `worktree.gitDirLinks` is a plain name that is neither git's nor swarm's.
pub fn is_linkable(name: &str) -> bool {
    let start = name.split(['.', '-']).next().unwrap_or_default();
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    let lower = name.to_ascii_lowercase();
    // `HEAD`, `MERGE_MSG`: git's state of one worktree.
    let state = name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let of_git = OF_GIT.contains(&lower.as_str()) || matches!(start, "config" | "index" | "swarm");
    let is_lock = lower.strip_suffix(".lock").is_some();
    plain && !state && !of_git && !is_lock
}

/// A requested effect, numbered in order of requests. As the operation id of a landing it is
/// written `op-000017`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u64);

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op-{:06}", self.0)
    }
}

/// A git object id: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(Arc<str>);

impl Oid {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Oid {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if matches!(text.len(), 40 | 64) && text.bytes().all(hex) {
            Ok(Self(text.into()))
        } else {
            Err(BadId {
                what: "git object id",
                text: text.to_owned(),
            })
        }
    }
}

impl TryFrom<String> for Oid {
    type Error = BadId;
    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0.as_ref().to_owned()
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_escape_a_path_or_look_like_an_option_are_refused() {
        for bad in [
            "",
            "-a",
            "A",
            "a/b",
            "..",
            "a b",
            "é",
            "a\n",
            &"x".repeat(65),
        ] {
            assert!(bad.parse::<IdeaId>().is_err(), "{bad:?}");
            assert!(serde_json::from_value::<IdeaId>(bad.into()).is_err());
        }
        assert_eq!(IdeaId::numbered(7).as_str(), "idea-007");
        assert_eq!(IdeaId::numbered(12_345).as_str(), "idea-12345");
    }

    #[test]
    fn generated_ids_are_valid_for_every_profile() {
        let long: ProfileName = format!("{}-", "p".repeat(63)).parse().unwrap();
        let agent = AgentId::numbered(&long, 1);
        assert!(agent.as_str().parse::<AgentId>().is_ok());
        let run = RunId::numbered(3, &format!("{agent}-i1-and-something-that-is-far-too-long"));
        assert!(run.as_str().parse::<RunId>().is_ok());
        assert_eq!(run.number(), 3);
        assert_eq!("other".parse::<RunId>().unwrap().number(), 0);
    }

    #[test]
    fn what_git_keeps_for_each_worktree_is_never_linked() {
        for name in ["git-crypt", "lfs", "toy", "annex", "sops.d"] {
            assert!(is_linkable(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "HEAD",
            "MERGE_MSG",
            "objects",
            "Refs",
            "index",
            "index.lock",
            "config.worktree",
            "swarm-owner",
            "logs",
        ] {
            assert!(!is_linkable(name), "{name}");
        }
    }
}
