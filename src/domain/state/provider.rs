//! What agents share with each other: an account at a service, with its limits.
//!
//! Invariant: a [`Hold`] is one for all of an account, whoever met the limit; it says how it ends:
//! by itself at a time, or by a person.

use serde::{Deserialize, Serialize};

use super::{Attempt, Idea, State, Task};
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::settings::Settings;
use crate::domain::time::Timestamp;

/// Why nothing of an account is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// What was met.
    pub kind: HoldKind,
    /// When it is tried again; none: when a person says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// When it was met first.
    pub since: Timestamp,
    /// How often in a row, from 1.
    pub times: u32,
    /// What the service said, and what can be done.
    pub message: String,
    /// The run that tries whether it works again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried_by: Option<RunId>,
}

/// What can hold an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HoldKind {
    /// The service is overloaded, fails or cannot be reached.
    Overloaded,
    /// A usage or rate limit.
    Limit,
    /// There is no login, or it is refused.
    Login,
}

impl HoldKind {
    /// The word for it.
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
    /// What a profile waits for. One whose program has no account waits for itself.
    pub fn account_of<'a>(&'a self, profile: &'a ProfileName) -> &'a str {
        let account = self.accounts.get(profile);
        account.map_or(profile.as_str(), String::as_str)
    }

    /// The profile that an attempt's next iteration runs under.
    pub fn profile_of<'a>(&'a self, attempt: &'a Attempt) -> &'a ProfileName {
        let resolving = attempt.task != Task::Work;
        let resolver = self.resolver.as_ref().filter(|_| resolving);
        resolver.unwrap_or(&attempt.profile)
    }

    /// The profile that works on an idea next.
    pub fn profile_for<'a>(&'a self, idea: &'a Idea) -> &'a ProfileName {
        let reserved = idea.reserved.as_ref().map(|reserved| &reserved.profile);
        reserved
            .filter(|profile| self.profiles.contains(profile))
            .or(idea.profile.as_ref())
            .unwrap_or(&self.default_profile)
    }
}

impl State {
    /// Whether this account waits until a person says so.
    pub fn is_held_for_person(&self, account: &str) -> bool {
        let hold = self.accounts.get(account);
        hold.is_some_and(|hold| hold.until.is_none())
    }

    /// Whether nothing of this account may be started now. Once the time is over one run at a time
    /// may try; one that is not there, because the log was torn before it began or its attempt is
    /// gone, keeps nobody waiting.
    pub fn is_held(&self, account: &str, now: Timestamp) -> bool {
        let runs = |run: &RunId| {
            let mut attempts = self.agents.values();
            attempts.any(|attempt| attempt.run.as_ref() == Some(run))
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
    /// Its account must wait.
    Account,
    /// Its output was cut off.
    Cut,
    /// It was silent for too long.
    Idle,
    /// Its conversation could not be taken up.
    Session,
}
