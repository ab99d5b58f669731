//! Whether the quality commands are known to see the tree that they check.
//!
//! Invariant: a probe is due while nothing is known, and what is known is forgotten as soon as
//! anything changes that it depends on. What needs a verdict waits only where one can be had.

use crate::domain::event::ChecksProbed;
use crate::domain::lifecycle::MergePhase;
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::domain::state::baseline::BaselineCheck;

impl State {
    /// Whether nobody knows if the present quality commands see their tree.
    pub fn is_probe_due(&self) -> bool {
        let settings = self.settings.as_deref();
        settings.is_some_and(Settings::probes_checks) && self.swarm.baseline.probed.is_none()
    }

    /// Whether all that is left of the check of the target is the probe.
    pub fn is_at_probe(&self, check: &BaselineCheck) -> bool {
        let settings = self.settings.as_deref();
        settings.is_some_and(|settings| check.next >= settings.quality_commands.len())
    }

    /// The alarms that stand, whatever they hold up.
    pub fn probe_alarms(&self) -> Option<&ChecksProbed> {
        let settings = self.settings.as_deref();
        let probed = self.swarm.baseline.probed.as_deref();
        probed.filter(|probed| {
            settings.is_some_and(Settings::probes_checks) && !probed.found.alarms.is_empty()
        })
    }

    /// The alarms that let no idea begin and nothing land.
    pub fn blind_checks(&self) -> Option<&ChecksProbed> {
        let settings = self.settings.as_deref();
        self.probe_alarms()
            .filter(|_| settings.is_some_and(Settings::requires_canary))
    }

    /// Whether nothing may land before a probe has found out that the checks see their tree. A
    /// target that fails its own checks cannot be probed, and what mends it must land.
    pub fn awaits_probe(&self) -> bool {
        let settings = self.settings.as_deref();
        settings.is_some_and(Settings::requires_canary)
            && self.is_probe_due()
            && self.swarm.baseline.failed.is_none()
    }

    /// Whether an entry of the merge queue is about to land, as far as it can be told now.
    pub fn lands_soon(&self) -> bool {
        let mut queue = self.queue.iter();
        queue.any(|entry| {
            let waits = entry.held || entry.waits.is_some();
            entry.phase.is_busy() || (entry.phase == MergePhase::Queued && !waits)
        })
    }

    /// Whether nothing may land, because the checks are blind or may be.
    pub fn holds_landings(&self) -> bool {
        self.awaits_probe() || self.blind_checks().is_some()
    }
}
