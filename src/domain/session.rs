//! A conversation between an agent's program and its model, which a later run can resume.
//!
//! Invariant: a [`SessionId`] is safe as an argument: it never starts with `-` and has at most 128
//! letters, digits, `-`, `_` and `.`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::effect::Purpose;
use super::ids::{ProfileName, RunId};
use super::state::{Attempt, State};
use super::usage::Counted;

/// Id of a conversation, chosen or accepted by the agent's program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(Box<str>);

/// The text is not a valid session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid session id")]
pub struct BadSessionId(String);

impl SessionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = BadSessionId;

    fn from_str(text: &str) -> Result<Self, BadSessionId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let first = text.bytes().next();
        let fits = first.is_some_and(|byte| byte.is_ascii_alphanumeric())
            && text.len() <= 128
            && text.bytes().all(allowed);
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(BadSessionId(text.chars().take(200).collect()))
        }
    }
}

impl TryFrom<String> for SessionId {
    type Error = BadSessionId;

    fn try_from(text: String) -> Result<Self, BadSessionId> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0.into()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Conversation of an attempt, bound to its profile and the path of its worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Id of the conversation.
    pub id: SessionId,
    /// Profile whose program it belongs to.
    pub profile: ProfileName,
    /// Its usage so far, as its program counts.
    pub counted: Counted,
    /// Runs in a row that could not resume it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
}

impl Attempt {
    /// Its conversation, if it belongs to this profile: other programs do not know it.
    pub fn session_of(&self, profile: &ProfileName) -> Option<&Session> {
        let session = self.session.as_deref();
        session.filter(|session| session.profile == *profile)
    }

    /// Conversation of its own agent, even while a resolver works for it.
    pub fn own_session(&self) -> Option<&Session> {
        let aside = self.own_session.as_deref();
        aside.or_else(|| self.session_of(&self.profile))
    }
}

impl State {
    /// Profile of an agent's current run.
    pub fn profile_of_run(&self, run: &RunId) -> Option<&ProfileName> {
        let (_, purpose) = self.run_effect(run)?;
        match purpose {
            Purpose::Iteration { profile, .. }
            | Purpose::Synthesis { profile, .. }
            | Purpose::Replay { profile, .. } => Some(profile),
            Purpose::Gate { .. }
            | Purpose::Verify { .. }
            | Purpose::Baseline { .. }
            | Purpose::Canary { .. }
            | Purpose::Setup { .. }
            | Purpose::CommitHooks { .. }
            | Purpose::Hook { .. } => None,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_never_an_option() {
        for good in ["093c7360-d3a1-49db-a92e-09320e901527", "ses_1A.b", "1"] {
            assert_eq!(
                good.parse::<SessionId>().map(String::from).as_deref(),
                Ok(good)
            );
        }
        let long = "a".repeat(129);
        for bad in ["", "-x", "--resume", ".", "a b", "a/b", "a\n", "ä", &long] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }
}
