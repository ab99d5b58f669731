//! What is known of the untouched target: which of its commits passed the quality commands, how the
//! last check failed, and which failed checks of ideas wait for it.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes it. `green` means that the last commit
//! at which the target was seen is in `passed`, `doubted` that this is in doubt. A change of the
//! quality commands or of the target branch resets everything. Runs are compared by their numbers,
//! which no clock can change: one with a larger number began later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::setup::SetupDue;
use super::{Attempt, MergeEntry, State, is_false, is_zero};
use crate::domain::effect::TargetTree;
use crate::domain::event::{BaselineFailed, ChecksProbed};
use crate::domain::ids::{Oid, RunId};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::settings::Settings;
use crate::domain::time::Timestamp;

/// Failures in a row of the untouched target in the worktree of controls.
const CONTROLS: u32 = 2;

/// What the runs of the check are named after, as other runs are after their agent or idea.
pub const RUN_OWNER: &str = "baseline";

/// The check of the untouched target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct Baseline {
    /// Commits of the target that passed the present setup and quality commands in the present
    /// environment, newest last; at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<Oid>,
    /// The same for other environments, the last used one last; at most 7.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<PassedElsewhere>,
    /// Whether the target, as last seen, passed.
    #[serde(skip_serializing_if = "is_false")]
    pub green: bool,
    /// How the last check failed; `None` if it passed, or if its result no longer holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<BaselineFailure>,
    /// The check in progress. While it is set, the check's worktree holds its commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checking: Option<BaselineCheck>,
    /// Quality commands in a row whose runner was killed.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_runs: u32,
    /// Number of the newest run of each setup and quality command that passed, on whatever tree.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, u64>,
    /// Whether commits that have passed must pass once more: a check failed, and nobody knows yet
    /// whether the work or something outside it is at fault.
    #[serde(skip_serializing_if = "is_false")]
    pub doubted: bool,
    /// Commit of the target that passed before and fails now, so that the cause lies outside the
    /// repository; until the target passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Oid>,
    /// Whether the target passed in the merge worktree after it had failed in that of controls, so
    /// that controls run in the former. Ends when the target fails there, too.
    #[serde(skip_serializing_if = "is_false")]
    pub control_unfit: bool,
    /// Whether the target failed its last check.
    #[serde(skip_serializing_if = "is_false")]
    pub down: bool,
    /// What the last probe of the present setup and quality commands in the present environment
    /// found out; `None` if the next one is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probed: Option<Box<ChecksProbed>>,
    /// Number of the last run that began before the target passed again after a failure. Failures
    /// of runs up to it are nobody's.
    #[serde(skip_serializing_if = "is_zero")]
    pub restored: u64,
}

impl Baseline {
    /// How the check failed.
    pub fn failure(&self, failed: &BaselineFailed) -> BaselineFailure {
        let before = self.failed.as_ref().map_or(0, |before| before.tries);
        let passed =
            |commit: &Oid| self.outage.as_ref() == Some(commit) || self.passed.contains(commit);
        BaselineFailure {
            commit: failed.commit.clone(),
            command: failed.command.clone(),
            how: failed.how.clone(),
            output: failed.output.clone(),
            run: failed.run.clone(),
            not_before: failed.not_before,
            tries: before + 1,
            environment: failed.commit.as_ref().is_some_and(passed),
        }
    }
}

/// What passed in another environment of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassedElsewhere {
    /// Digest of that environment.
    pub digest: String,
    /// As [`Baseline::passed`].
    pub passed: Vec<Oid>,
    /// As [`Baseline::probed`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<Box<ChecksProbed>>,
}

/// A check of the untouched target in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineCheck {
    /// Commit of the target.
    pub commit: Oid,
    /// Where it is checked out.
    #[serde(default, skip_serializing_if = "TargetTree::is_verify")]
    pub tree: TargetTree,
    /// Setup that the worktree needs before the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Box<SetupDue>>,
    /// Index of the next quality command, from 0; after the last one comes their probe.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub next: usize,
    /// Digest of what the probe depends on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// Run of the current quality or setup command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When its present step began.
    pub since: Timestamp,
}

/// How the check of the untouched target failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineFailure {
    /// Commit of the target; `None` if it could not be checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// Quality or setup command that failed; `None` if the target could not be checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How it failed, for people.
    pub how: String,
    /// End of its output, as one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Its run, which has all of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When swarm checks again by itself.
    pub not_before: Timestamp,
    /// Failed checks in a row.
    pub tries: u32,
    /// Whether the same commit passed before, so that the cause lies outside the repository.
    #[serde(default, skip_serializing_if = "is_false")]
    pub environment: bool,
}

/// A failed setup or quality command that nobody is charged for yet.
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
    /// Number of failed tests in its output, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_tests: Option<u32>,
    /// End of its output, as one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether the command runs once more on the work after it has passed elsewhere; if it fails in
    /// another way then, it must pass elsewhere again. A merged tree is always checked once more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub repeat: bool,
    /// Number of the last run that had begun when this one ended: only what passes in a later run
    /// can show that nothing outside the work is at fault.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: u64,
}

/// A failed check in an agent's worktree that the work is not charged for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Uncharged {
    /// Nobody knows yet whether the work is to blame.
    InDoubt(Doubt),
    /// The untouched target failed, too: the command runs again when the target passes.
    Excused,
    /// Another quality command used the same port, file or database: the command runs again alone.
    Collided,
}

impl Attempt {
    /// The failed check that it is not charged for yet.
    pub fn doubt(&self) -> Option<&Doubt> {
        match self.check.uncharged.as_deref()? {
            Uncharged::InDoubt(doubt) => Some(doubt),
            Uncharged::Excused | Uncharged::Collided => None,
        }
    }

    fn is_excused(&self) -> bool {
        self.check.uncharged.as_deref() == Some(&Uncharged::Excused)
    }
}

impl State {
    /// Whether the target, as last seen, passed, and no failed check puts that in doubt.
    pub fn is_target_green(&self) -> bool {
        let baseline = &self.swarm.baseline;
        baseline.green && !baseline.doubted
    }

    /// Whether the merge worktree is needed to check the target, so that no merge can begin.
    pub fn is_target_in_verify(&self) -> bool {
        let checking = self.swarm.baseline.checking.as_ref();
        checking.is_some_and(|check| check.tree == TargetTree::Verify)
    }

    /// Where the next check of the untouched target runs. What judges failed checks, or finds out
    /// whether a cause outside the work is over, stops no landing. After [`CONTROLS`] failures the
    /// fault may be the worktree's (a broken cache), and another one is tried.
    pub fn next_target_tree(&self) -> TargetTree {
        let baseline = &self.swarm.baseline;
        let failures = baseline.failed.as_ref().map_or(0, |failed| failed.tries);
        let wanted = baseline.doubted || baseline.outage.is_some() || self.is_check_in_doubt();
        if wanted && failures < CONTROLS && !baseline.control_unfit {
            TargetTree::Control
        } else {
            TargetTree::Verify
        }
    }

    /// Whether passed commits are in doubt for no failed check any more.
    pub fn is_doubt_over(&self) -> bool {
        self.swarm.baseline.doubted && !self.is_check_in_doubt()
    }

    /// Whether no idea may begin before the target has passed its check.
    pub fn awaits_baseline(&self) -> bool {
        let settings = self.settings.as_deref();
        settings.is_some_and(Settings::requires_baseline) && !self.is_target_green()
    }

    /// Whether an entry waits until the target has passed its check.
    pub fn is_held_by_target(&self, entry: &MergeEntry) -> bool {
        let checks = |settings: &Settings| settings.verify && settings.checks_baseline();
        entry.phase == MergePhase::Queued
            && entry.waits.as_ref().is_some_and(|waits| waits.target)
            && self.settings.as_deref().is_some_and(checks)
            && !self.is_target_green()
    }

    /// Entries that wait until the target has passed its check.
    pub fn held_by_target(&self) -> impl Iterator<Item = &MergeEntry> {
        let held = |entry: &&MergeEntry| self.is_held_by_target(entry);
        self.queue.iter().filter(held)
    }

    /// Whether no iteration may begin: finished work cannot land on a target that has not passed
    /// its check, and neither could what the iteration would do.
    pub fn holds_iterations(&self) -> bool {
        self.awaits_baseline() && self.held_by_target().next().is_some()
    }

    /// Why ideas or merges wait: the failed check of the target.
    pub fn red_baseline(&self) -> Option<&BaselineFailure> {
        let failed = self.swarm.baseline.failed.as_ref();
        failed.filter(|_| self.is_baseline_awaited())
    }

    /// Whether ideas or merges wait until the target has passed its check.
    pub fn is_baseline_awaited(&self) -> bool {
        self.awaits_baseline() || self.held_by_target().next().is_some()
    }

    /// Quality or setup command that the check of the target runs now.
    pub fn baseline_command(&self) -> Option<&str> {
        let settings = self.settings.as_deref()?;
        let check = self.swarm.baseline.checking.as_ref()?;
        check.run.as_ref()?;
        let command = match &check.setup {
            Some(due) => settings.setup.get(due.next),
            None => settings.quality_commands.get(check.next),
        };
        command.map(String::as_str)
    }

    /// Whether the command in doubt has passed on some tree in a run that began after it failed.
    pub fn has_passed_since(&self, doubt: &Doubt) -> bool {
        let passed = self.swarm.baseline.commands.get(&doubt.command);
        passed.is_some_and(|passed| *passed > doubt.after)
    }

    /// Whether the untouched target fails commands that it passed before: something outside the
    /// work is at fault.
    pub fn is_target_down(&self) -> bool {
        let baseline = &self.swarm.baseline;
        self.requires_baseline() && baseline.down && !self.is_target_green()
    }

    /// Whether failed checks are charged only after the untouched target has passed.
    pub fn requires_baseline(&self) -> bool {
        let settings = self.settings.as_deref();
        settings.is_some_and(Settings::requires_baseline)
    }

    /// The doubt about the next setup or quality command of an attempt.
    pub fn doubt_of<'a>(&self, attempt: &'a Attempt) -> Option<&'a Doubt> {
        let doubt = attempt.doubt()?;
        let settings = self.settings.as_deref()?;
        let next = match &attempt.setup {
            Some(due) => settings.setup.get(due.next),
            None => settings.quality_commands.get(attempt.gate_next),
        };
        (next == Some(&doubt.command)).then_some(doubt)
    }

    /// Whether a setup command that failed in a worktree is judged only after it has passed on the
    /// untouched target.
    pub fn is_setup_in_doubt(&self) -> bool {
        let mut attempts = self.agents.values();
        attempts.any(|attempt| attempt.setup.is_some() && self.waits_for_target(attempt))
    }

    /// Whether the work of an attempt is judged only after the untouched target has been checked.
    pub fn waits_for_target(&self, attempt: &Attempt) -> bool {
        let at_check = attempt.phase == AttemptPhase::Gating
            && attempt.is_sealed()
            && attempt.run.is_none()
            && attempt.ending.is_none();
        let in_doubt = || {
            let doubt = self.doubt_of(attempt);
            doubt.is_some_and(|doubt| !self.has_passed_since(doubt))
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
            settings.quality_commands.contains(&doubt.command) && !self.has_passed_since(doubt)
        };
        let mut attempts = self.agents.values();
        let mut entries = self.queue.iter().filter_map(|entry| entry.doubt.as_deref());
        attempts.any(|attempt| self.waits_for_target(attempt))
            || (settings.requires_baseline() && entries.any(is_open))
    }
}
