//! From the configuration's words to what decisions and drivers need.

use std::collections::BTreeMap;

use crate::agents;
use crate::config::{self, Config};
use crate::domain::ids::{BadId, ProfileName};
use crate::domain::settings::{Mode, Settings};

const MINUTE_MS: i64 = 60_000;

/// What decisions need, but for the hooks: those are files. `head` is the branch checked out, for a configuration that names no target.
///
/// # Errors
/// A profile name that is no id; `config check` finds it before.
pub fn settings(config: &Config, head: &str) -> Result<Settings, BadId> {
    let names: Result<Vec<ProfileName>, BadId> = config
        .agents
        .profiles
        .keys()
        .map(|name| name.parse())
        .collect();
    Ok(Settings {
        mode: match config.mode {
            config::Mode::SemiAuto => Mode::SemiAuto,
            config::Mode::Autopilot => Mode::Autopilot,
        },
        target: config.target.clone().unwrap_or_else(|| head.to_owned()),
        max_parallel: config.agents.max_parallel,
        attempt_timeout_ms: i64::from(config.agents.timeout_minutes) * MINUTE_MS,
        default_profile: config.agents.profile.parse()?,
        profiles: names?,
        failures_to_pause: config.agents.failures_to_pause,
        crash_retries: config.agents.crash_retries,
        max_iterations: config.completion.max_iterations,
        stuck_threshold: config.completion.stuck_threshold,
        auto_commit: config.completion.auto_commit,
        quality_commands: config.quality_commands.clone(),
        quality_timeout_ms: i64::from(config.quality_timeout_minutes) * MINUTE_MS,
        auto_merge: config.merge.auto_merge,
        verify: config.merge.verify,
        conflict_retries: config.merge.conflict_retries,
        cleanup_on_success: config.merge.cleanup_on_success,
        resolver: match &config.merge.resolver {
            Some(name) => Some(name.parse()?),
            None => None,
        },
        grace_ms: i64::from(config.shutdown.grace_seconds) * 1_000,
        checkpoint_every: config.checkpoints.periodic,
        checkpoint_before_autopilot: config.checkpoints.before_autopilot,
        checkpoints_kept: config.checkpoints.keep,
        hooks: BTreeMap::new(),
    })
}

/// The profile of this name, as the adapters know it; none: it is not configured.
pub fn profile(config: &Config, name: &ProfileName) -> Option<agents::Profile> {
    let profile = config.agents.profiles.get(name.as_str())?;
    Some(agents::Profile {
        name: name.to_string(),
        adapter: profile.adapter,
        model: profile.model.clone(),
        account: profile.account.clone(),
        command: profile.command.clone(),
        args: profile.args.clone(),
        env: profile.env.clone(),
    })
}
