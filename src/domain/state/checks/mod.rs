//! The quality commands that run side by side: how long the last green ones took, which of them had
//! company, and how many of agents' worktrees may run at once.
//!
//! Invariant: only [`evolve`](crate::domain::evolve) changes it. What runs is counted from effects,
//! never from attempts, so that a restart or a torn log cannot lose or double a check. Checks in
//! the merge worktree never wait for those of agents.

mod canary;
pub mod outage;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::baseline::Uncharged;
use super::{Attempt, MergeEntry, State};
use crate::domain::effect::Purpose;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::settings::Settings;
use crate::domain::warning::WarningKind;

/// Green quality commands that are remembered.
pub const GREEN: usize = 8;
/// Below this median duration, in milliseconds, checks run one at a time: together they would not
/// save the time that one collision costs.
const SHORT_MS: i64 = 10_000;

/// What is known of the quality commands that run side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Checks {
    /// The last quality commands that passed, on whatever tree, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub green: Vec<GreenCheck>,
    /// Running quality commands beside which another one ran.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub in_company: BTreeSet<RunId>,
}

/// A quality command that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GreenCheck {
    /// Wall time in milliseconds.
    pub duration_ms: i64,
    /// Processor time in milliseconds, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<i64>,
}

impl Checks {
    /// How many fit beside each other on so many cores.
    fn fitting(&self, cores: u32) -> usize {
        let mut durations: Vec<i64> = self.green.iter().map(|check| check.duration_ms).collect();
        durations.sort_unstable();
        let median = durations.get(durations.len() / 2);
        if median.is_none_or(|median| *median < SHORT_MS) {
            return 1;
        }
        let measured = self.green.iter();
        let measured = measured.filter_map(|check| Some((check.duration_ms, check.cpu_ms?)));
        let (wall, cpu) = measured.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        // A check that mostly waits still needs a core.
        let fitting = i64::from(cores) * wall / cpu.max(wall).max(1);
        usize::try_from(fitting).unwrap_or(1).max(1)
    }
}

impl Attempt {
    /// Whether its next quality command runs without another one beside it.
    pub fn checks_alone(&self) -> bool {
        self.check.uncharged.as_deref() == Some(&Uncharged::Collided)
    }
}

impl Purpose {
    /// Whether it judges a tree.
    pub fn is_check(&self) -> bool {
        match self {
            Self::Gate { .. }
            | Self::Verify { .. }
            | Self::Baseline { .. }
            | Self::Canary { .. } => true,
            Self::Iteration { .. }
            | Self::CommitHooks { .. }
            | Self::Setup { .. }
            | Self::Hook { .. }
            | Self::Synthesis { .. }
            | Self::Replay { .. } => false,
        }
    }

    /// Whether it probes the quality commands.
    pub fn is_probe(&self) -> bool {
        matches!(self, Self::Canary { .. })
    }

    /// The agent whose tree it judges.
    fn gate_of(&self) -> Option<&AgentId> {
        if let Self::Gate { agent, .. } = self {
            Some(agent)
        } else {
            None
        }
    }
}

impl State {
    /// Quality commands that run now.
    pub fn checks_under_way(&self) -> impl Iterator<Item = (&RunId, &Purpose)> {
        let runs = self.runs_under_way().map(|(_, it)| (&it.run, &it.purpose));
        runs.filter(|(_, purpose)| purpose.is_check())
    }

    /// Whether two checks used the same port, file or database since the configuration changed.
    pub fn have_checks_collided(&self) -> bool {
        let key = WarningKind::Collision.only();
        self.warnings.contains_key(key)
    }

    /// Whether the attempt's next quality command waits until others have ended.
    pub fn waits_for_checks(&self, attempt: &Attempt) -> bool {
        self.is_before_check(attempt) && !self.has_room_for_check(attempt)
    }

    /// Whether a quality command of the attempt may run beside those that run now.
    pub fn has_room_for_check(&self, attempt: &Attempt) -> bool {
        let Some(settings) = self.settings.as_deref() else {
            return false;
        };
        let all = self.checks_under_way().count();
        if attempt.checks_alone() {
            return all == 0;
        }
        let alone = |other: &Attempt| {
            let runs = other.phase == AttemptPhase::Gating && other.run.is_some();
            other.checks_alone() && (runs || self.is_before_check(other))
        };
        if self.agents.values().any(alone) {
            return false;
        }
        let purposes = self.checks_under_way().map(|(_, purpose)| purpose);
        let gates = purposes.filter_map(Purpose::gate_of).count();
        // It would only collide again, with a check in the merge worktree as well.
        if settings.max_checks.is_none() && self.have_checks_collided() {
            return all == 0;
        }
        gates < self.most_checks(settings)
    }

    /// Whether a control may run now. Where only one check may run, those of landings go first.
    pub fn has_room_for_control(&self) -> bool {
        let lands = |entry: &MergeEntry| {
            matches!(entry.phase, MergePhase::Building | MergePhase::Verifying)
        };
        let settings = self.settings.as_deref();
        settings.is_some_and(|settings| self.most_checks(settings) > 1)
            || !self.queue.iter().any(lands)
    }

    /// How many checks may run side by side.
    fn most_checks(&self, settings: &Settings) -> usize {
        match settings.max_checks {
            Some(most) => most as usize,
            None if self.have_checks_collided() => 1,
            None => self.swarm.checks.fitting(self.swarm.host.cores),
        }
    }

    /// Whether a quality command is what the attempt has to do next.
    fn is_before_check(&self, attempt: &Attempt) -> bool {
        let settings = self.settings.as_deref();
        let next = settings.and_then(|all| all.quality_commands.get(attempt.gate_next));
        attempt.phase == AttemptPhase::Gating
            && attempt.is_sealed()
            && attempt.run.is_none()
            && attempt.setup.is_none()
            && attempt.ending.is_none()
            && next.is_some()
            && !self.waits_for_command(attempt)
            && !self.waits_for_target(attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn green(count: usize, duration_ms: i64, cpu_ms: Option<i64>) -> Checks {
        let one = GreenCheck {
            duration_ms,
            cpu_ms,
        };
        Checks {
            green: vec![one; count],
            ..Checks::default()
        }
    }

    #[test]
    fn short_checks_and_unknown_ones_run_one_at_a_time() {
        assert_eq!(Checks::default().fitting(64), 1);
        assert_eq!(green(8, 9_999, Some(100)).fitting(64), 1);
        assert_eq!(green(1, 10_000, Some(100)).fitting(64), 64);
    }

    #[test]
    fn long_checks_share_the_cores_by_the_processor_time_that_they_need() {
        let minute = 60_000;
        for (cores, cpu, fits) in [
            (16, Some(4 * minute), 4),
            (16, Some(5 * minute), 3),
            (8, Some(100), 8),
            (8, Some(80 * minute), 1),
            (0, Some(minute), 1),
        ] {
            let checks = green(GREEN, minute, cpu);
            assert_eq!(checks.fitting(cores), fits, "{cores} cores, {cpu:?}");
        }
        assert_eq!(green(GREEN, minute, None).fitting(8), 1, "never measured");
    }
}
