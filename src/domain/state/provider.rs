//! What agents share: an account at a model provider, and a profile with its program.
//!
//! Invariant: a [`Hold`] applies to the whole account or profile, whichever agent met the problem,
//! and says how it ends: at a time, or by a person.

use serde::{Deserialize, Serialize};

use super::{Attempt, Idea, State, Task};
use crate::domain::ids::{ProfileName, RunId};
use crate::domain::settings::Settings;
use crate::domain::time::Timestamp;

/// Tries in vain after which swarm rests on a hold that a person can end.
const PATIENCE: u32 = 4;
/// Tries in vain after which people hear of a program that cannot begin: an update takes seconds.
const UPDATE: u32 = 3;

/// Why runs of an account or a profile must wait.
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

/// What can block an account or a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HoldKind {
    /// The provider is overloaded, failing or unreachable.
    Overloaded,
    /// A usage or rate limit was reached.
    Limit,
    /// The login is missing or refused.
    Login,
    /// The account has no credit left, or its spending cap is reached.
    Credit,
    /// The profile's program cannot begin: it is missing, or refuses its arguments or model.
    Profile,
}

impl HoldKind {
    /// Its name in JSON and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::Limit => "limit",
            Self::Login => "login",
            Self::Credit => "credit",
            Self::Profile => "profile",
        }
    }
}

/// A program waits for its provider and retries by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderWait {
    /// Why, in its own words.
    pub why: String,
    /// When that was first seen.
    pub since: Timestamp,
}

impl Hold {
    /// Whether it is too early to try again.
    pub fn lasts(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until > now)
    }

    /// Whether a person should look at it. It may be tried again all the same.
    pub fn needs_person(&self) -> bool {
        let soon = match self.kind {
            HoldKind::Login | HoldKind::Credit => true,
            HoldKind::Profile => self.times >= UPDATE,
            HoldKind::Overloaded | HoldKind::Limit => false,
        };
        soon || self.until.is_none()
    }

    /// Whether it hardly ends without a person: `start --until-idle` does not wait for it.
    pub fn waits_for_person(&self) -> bool {
        self.until.is_none() || (self.needs_person() && self.times >= PATIENCE)
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
    /// Whether this profile, or its account, waits for a person.
    pub fn is_held_for_person(&self, settings: &Settings, profile: &ProfileName) -> bool {
        let account = self.accounts.get(settings.account_of(profile));
        let mut holds = account.into_iter().chain(self.profiles.get(profile));
        holds.any(Hold::waits_for_person)
    }

    /// Whether runs under this hold must wait. When the time is over, one run at a time may try; a
    /// trying run that no longer exists (torn log, ended attempt) blocks nobody.
    pub fn is_in_force(&self, hold: &Hold, now: Timestamp) -> bool {
        let runs = |run: &RunId| {
            let mut attempts = self.agents.values();
            let of_attempt = attempts.any(|attempt| attempt.run.as_ref() == Some(run));
            of_attempt || self.synthesis_run() == Some(run) || self.replay_run() == Some(run)
        };
        hold.lasts(now) || hold.tried_by.as_ref().is_some_and(runs)
    }
}

/// Why an iteration does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Excuse {
    /// Its account was blocked.
    Account,
    /// Its program could not begin.
    Profile,
    /// Its output was cut off.
    Cut,
    /// It was silent for too long.
    Idle,
    /// Its conversation could not be resumed.
    Session,
    /// Its conversation cannot go on.
    Exhausted,
}
