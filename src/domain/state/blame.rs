//! Failed checks whose cause is not known yet: the work itself, or something outside it.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes these. Runs are compared by their
//! numbers, which no clock can change: one with a larger number began later.

use serde::{Deserialize, Serialize};

use super::{Attempt, State};
use crate::domain::ids::RunId;
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::settings::Settings;

/// A failed quality command that nobody is charged for yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Doubt {
    /// The command.
    pub command: String,
    /// Its run that failed.
    pub run: RunId,
    /// How it failed, for people.
    pub how: String,
    /// Digest of its output, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// End of its output, as one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether the command must fail once more, after it has passed elsewhere, before the work is
    /// charged for it.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub repeat: bool,
}

/// A failed check in an agent's worktree that the work is not charged for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Uncharged {
    /// Nobody knows yet whether the work is to blame.
    InDoubt(Doubt),
    /// The untouched target failed, too: the command runs again when the target passes.
    Excused,
}

impl Attempt {
    /// The failed check that it is not charged for yet.
    pub fn doubt(&self) -> Option<&Doubt> {
        match self.uncharged.as_deref()? {
            Uncharged::InDoubt(doubt) => Some(doubt),
            Uncharged::Excused => None,
        }
    }

    fn is_excused(&self) -> bool {
        self.uncharged.as_deref() == Some(&Uncharged::Excused)
    }
}

impl State {
    /// Whether the command has passed on some tree in a run that began after this one.
    pub fn has_passed_since(&self, command: &str, run: &RunId) -> bool {
        let passed = self.swarm.baseline.commands.get(command);
        passed.is_some_and(|passed| *passed > run.number())
    }

    /// Whether the untouched target fails commands that it passed before: something outside the
    /// work is at fault.
    pub fn is_target_down(&self) -> bool {
        let baseline = &self.swarm.baseline;
        self.requires_baseline() && baseline.down && !baseline.green
    }

    /// Whether failed checks are charged only after the untouched target has passed.
    pub fn requires_baseline(&self) -> bool {
        let settings = self.settings.as_deref();
        settings.is_some_and(Settings::requires_baseline)
    }

    /// The doubt about the next quality command of an attempt.
    pub fn doubt_of<'a>(&self, attempt: &'a Attempt) -> Option<&'a Doubt> {
        let doubt = attempt.doubt()?;
        let next = self
            .settings
            .as_deref()?
            .quality_commands
            .get(attempt.gate_next);
        (next == Some(&doubt.command)).then_some(doubt)
    }

    /// Whether the work of an attempt is judged only after the untouched target has been checked.
    pub fn waits_for_target(&self, attempt: &Attempt) -> bool {
        let at_check = attempt.phase == AttemptPhase::Gating
            && attempt.sealed
            && attempt.run.is_none()
            && attempt.setup.is_none()
            && attempt.ending.is_none();
        let in_doubt = || {
            let doubt = self.doubt_of(attempt);
            doubt.is_some_and(|doubt| !self.has_passed_since(&doubt.command, &doubt.run))
        };
        at_check
            && self.requires_baseline()
            && ((attempt.is_excused() && self.is_target_down()) || in_doubt())
    }

    /// Whether a failed check is judged only after the untouched target has been checked.
    pub fn is_check_in_doubt(&self) -> bool {
        let Some(settings) = self.settings.as_deref() else {
            return false;
        };
        let is_open = |doubt: &Doubt| {
            settings.quality_commands.contains(&doubt.command)
                && !self.has_passed_since(&doubt.command, &doubt.run)
        };
        let mut attempts = self.agents.values();
        let mut entries = self.queue.iter().filter_map(|entry| entry.doubt.as_deref());
        attempts.any(|attempt| self.waits_for_target(attempt))
            || (settings.requires_baseline() && entries.any(is_open))
    }
}
