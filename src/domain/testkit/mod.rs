//! For the tests of the domain: a [`Scenario`] reads like a story, a [`Sim`](sim::Sim) is a whole
//! shell that answers, crashes and restarts.
//!
//! Invariant: nothing here looks at a clock or rolls dice of its own; the same story gives the same
//! events.

pub(crate) mod choices;
pub(crate) mod invariants;
pub(crate) mod memories;
pub(crate) mod memory_samples;
pub(crate) mod outcomes;
pub(crate) mod people;
pub(crate) mod programs;
pub(crate) mod render;
pub(crate) mod samples;
pub(crate) mod scenario;
pub(crate) mod sim;
pub(crate) mod transfer_samples;
pub(crate) mod world;

pub(crate) use scenario::Scenario;

use super::ids::{AgentId, CheckpointName, IdeaId, Oid, ProfileName};
use super::operation::NewIdea;
use super::settings::{BaselineMode, CanaryMode, Mode, Settings};
use super::time::Timestamp;

/// When every story begins.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A made-up object id.
pub(crate) fn oid(number: u64) -> Oid {
    format!("{number:04x}{}", "0".repeat(36)).parse().unwrap()
}

pub(crate) fn idea(number: u64) -> IdeaId {
    IdeaId::numbered(number)
}

pub(crate) fn profile(name: &str) -> ProfileName {
    name.parse().unwrap()
}

pub(crate) fn agent(number: u64) -> AgentId {
    AgentId::numbered(&profile("ed"), number)
}

pub(crate) fn checkpoint_name(text: &str) -> CheckpointName {
    text.parse().unwrap()
}

pub(crate) fn new_idea(text: &str) -> NewIdea {
    NewIdea {
        text: text.to_owned(),
        ..NewIdea::default()
    }
}

/// Two slots, one quality command, small limits.
pub(crate) fn settings() -> Settings {
    Settings {
        mode: Mode::Autopilot,
        target: "main".into(),
        max_parallel: 2,
        attempt_timeout_ms: 1_800_000,
        default_profile: profile("ed"),
        profiles: vec![profile("ed"), profile("finn")],
        failures_to_pause: 3,
        crash_retries: 2,
        provider_wait_ms: 300_000,
        max_iterations: 50,
        stuck_threshold: 5,
        same_check_failures: 8,
        auto_commit: true,
        commit_hooks: false,
        setup: vec![],
        quality_commands: vec!["check".into()],
        quality_timeout_ms: 600_000,
        // Most stories are not about checks that wait for each other.
        max_checks: Some(64),
        baseline: BaselineMode::Off,
        canary: CanaryMode::Off,
        auto_merge: true,
        verify: true,
        conflict_retries: 2,
        cleanup_on_success: true,
        resolver: None,
        grace_ms: 5_000,
        checkpoint_every: 0,
        checkpoint_before_autopilot: false,
        checkpoint_tag: false,
        checkpoints_kept: 50,
        max_worktrees: 64,
        hooks: std::collections::BTreeMap::new(),
        webhook: None,
        accounts: std::collections::BTreeMap::new(),
        auto_resume: true,
        resume_sessions: true,
        prices: std::collections::BTreeMap::new(),
        budget: crate::domain::settings::Budget::default(),
        agents_may_add: false,
        memory_window: 4096,
        keep_records: false,
        synthesis: crate::domain::settings::SynthesisSettings::default(),
    }
}
