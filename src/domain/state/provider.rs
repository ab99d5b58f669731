//! What agents share: an account at a model provider, with its limits.
//!
//! Invariant: a [`Hold`] applies to the whole account, whichever agent met the limit, and says how
//! it ends: at a time, or by a person.

use serde::{Deserialize, Serialize};

use super::{Attempt, Idea, State, Task};
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::settings::Settings;
use crate::domain::time::Timestamp;

/// Why runs of an account must wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// Kind of the problem.
    pub kind: HoldKind,
    /// When it is tried again; `None`: when a person says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// When it first occurred.
    pub since: Timestamp,
    /// How often in a row it occurred, from 1.
    pub times: u32,
    /// Message of the provider, and what to do.
    pub message: String,
    /// Run that is trying whether the account works again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried_by: Option<RunId>,
}

/// What can block an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HoldKind {
    /// The provider is overloaded, failing or unreachable.
    Overloaded,
    /// A usage or rate limit was reached.
    Limit,
    /// The login is missing or refused.
    Login,
}

impl HoldKind {
    /// Its name in JSON and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::Limit => "limit",
            Self::Login => "login",
        }
    }
}

impl Hold {
    /// Whether it is too early to try again.
    pub fn lasts(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

impl Settings {
    /// Account of a profile. A profile without one counts as its own account.
    pub fn account_of<'a>(&'a self, profile: &'a ProfileName) -> &'a str {
        let account = self.accounts.get(profile);
        account.map_or(profile.as_str(), String::as_str)
    }

    /// Profile of an attempt's next iteration.
    pub fn profile_of<'a>(&'a self, attempt: &'a Attempt) -> &'a ProfileName {
        let resolving = attempt.task != Task::Work;
        let resolver = self.resolver.as_ref().filter(|_| resolving);
        resolver.unwrap_or(&attempt.profile)
    }

    /// Profile for an idea's next attempt.
    pub fn profile_for<'a>(&'a self, idea: &'a Idea) -> &'a ProfileName {
        let reserved = idea.reserved.as_ref().map(|reserved| &reserved.profile);
        reserved
            .filter(|profile| self.profiles.contains(profile))
            .or(idea.profile.as_ref())
            .unwrap_or(&self.default_profile)
    }
}

impl State {
    /// Whether this account waits for a person.
    pub fn is_held_for_person(&self, account: &str) -> bool {
        let hold = self.accounts.get(account);
        hold.is_some_and(|hold| hold.until.is_none())
    }

    /// Whether runs of this account must wait. When the time is over, one run at a time may try; a
    /// trying run that no longer exists (torn log, ended attempt) blocks nobody.
    pub fn is_held(&self, account: &str, now: Timestamp) -> bool {
        let runs = |run: &RunId| {
            let mut attempts = self.agents.values();
            let of_attempt = attempts.any(|attempt| attempt.run.as_ref() == Some(run));
            of_attempt || self.synthesis_run() == Some(run) || self.replay_run() == Some(run)
        };
        self.accounts
            .get(account)
            .is_some_and(|hold| hold.lasts(now) || hold.tried_by.as_ref().is_some_and(runs))
    }
}

/// Why an iteration does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Excuse {
    /// Its account was blocked.
    Account,
    /// Its output was cut off.
    Cut,
    /// It was silent for too long.
    Idle,
    /// Its conversation could not be resumed.
    Session,
}
