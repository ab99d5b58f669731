//! Converts the configuration to the settings of decisions and drivers. Called at a start, at each
//! reload and by `offline`.

use std::collections::BTreeMap;

use crate::agents;
use crate::config::{self, Config};
use crate::domain::ids::{BadId, ProfileName};
use crate::domain::settings::{
    BaselineMode, Budget, CanaryMode, Mode, Settings, SynthesisSettings, Webhook,
};
use crate::domain::usage::{MicroUsd, Price};
use crate::git::{self, KeepIgnored};

const MINUTE_MS: i64 = 60_000;

/// Which ignored files a worktree keeps for its next idea.
pub(crate) fn keep_ignored(config: &Config) -> KeepIgnored {
    match &config.worktree.keep_ignored {
        config::KeepIgnored::All(true) => KeepIgnored::All,
        config::KeepIgnored::All(false) => KeepIgnored::Nothing,
        config::KeepIgnored::Matching(patterns) => KeepIgnored::Matching(patterns.clone()),
    }
}

/// Whether a worktree that nobody uses any more stays for the next idea. Names are numbered, and
/// the lowest free one is used first, so the highest are needed least. That of controls stays
/// unless none is to lie idle.
pub(crate) fn stays_idle(config: &Config, worktree: &str) -> bool {
    if worktree == git::CONTROL {
        return config.worktree.keep_idle > 0;
    }
    let number = worktree.strip_prefix('w').and_then(|it| it.parse().ok());
    number.is_none_or(|number: u32| number <= max_worktrees(config))
}

fn max_worktrees(config: &Config) -> u32 {
    let idle = config.worktree.keep_idle;
    config.agents.max_parallel.saturating_add(idle)
}

/// The domain's settings without the hooks, which are files. `head` is the checked-out branch, used
/// if the configuration sets no target.
///
/// # Errors
/// A profile name is not a valid id; `config check` finds that before.
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
        provider_wait_ms: i64::from(config.agents.provider_wait_minutes) * MINUTE_MS,
        max_iterations: config.completion.max_iterations,
        stuck_threshold: config.completion.stuck_threshold,
        same_check_failures: config.completion.same_check_failures,
        auto_commit: config.completion.auto_commit,
        commit_hooks: false,
        setup: config.worktree.setup.clone(),
        quality_commands: config.quality_commands.clone(),
        quality_timeout_ms: i64::from(config.quality_timeout_minutes) * MINUTE_MS,
        baseline: baseline(config.checks.baseline),
        canary: canary(config.checks.canary),
        max_checks: max_checks(config.checks.max_parallel),
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
        checkpoint_tag: config.checkpoints.tag,
        checkpoints_kept: config.checkpoints.keep,
        max_worktrees: max_worktrees(config),
        hooks: BTreeMap::new(),
        webhook: config.notify.webhook.as_ref().map(|webhook| Webhook {
            kinds: webhook.known_kinds(),
        }),
        accounts: accounts(config)?,
        auto_resume: config.limits.auto_resume,
        resume_sessions: config.completion.resume,
        prices: config.pricing.iter().map(price).collect(),
        agents_may_add: config.agents.may_add_ideas,
        memory_window: config.memory.window,
        keep_records: config.provenance.keep,
        synthesis: synthesis(&config.memory.synthesis)?,
        budget: budget(&config.budget),
    })
}

fn baseline(configured: config::Baseline) -> BaselineMode {
    match configured {
        config::Baseline::Require => BaselineMode::Require,
        config::Baseline::Warn => BaselineMode::Warn,
        config::Baseline::Off => BaselineMode::Off,
    }
}

fn max_checks(configured: config::MaxChecks) -> Option<u32> {
    match configured {
        config::MaxChecks::Auto(_) => None,
        config::MaxChecks::Number(most) => Some(most),
    }
}

fn canary(configured: config::Canary) -> CanaryMode {
    match configured {
        config::Canary::Require => CanaryMode::Require,
        config::Canary::Warn => CanaryMode::Warn,
        config::Canary::Off => CanaryMode::Off,
    }
}

fn synthesis(configured: &config::Synthesis) -> Result<SynthesisSettings, BadId> {
    Ok(SynthesisSettings {
        profile: match &configured.profile {
            Some(name) => Some(name.parse()?),
            None => None,
        },
        every: u64::from(configured.every),
    })
}

/// The account whose limits each profile shares. Profiles of unknown programs share limits only by
/// an explicit account.
fn accounts(config: &Config) -> Result<BTreeMap<ProfileName, String>, BadId> {
    let mut accounts = BTreeMap::new();
    for (name, profile) in &config.agents.profiles {
        let own = match profile.adapter {
            config::Adapter::Command | config::Adapter::Demo => None,
            config::Adapter::Acp => Some(name.as_str()),
            config::Adapter::Claude
            | config::Adapter::Codex
            | config::Adapter::Gemini
            | config::Adapter::Opencode => Some(profile.adapter.name()),
        };
        if let Some(account) = profile.account.as_deref().or(own) {
            accounts.insert(name.parse()?, account.to_owned());
        }
    }
    Ok(accounts)
}

fn price((model, pricing): (&String, &config::Pricing)) -> (String, Price) {
    let micros = |dollars: f64| MicroUsd::from_dollars(dollars).unwrap_or_default().0;
    let or_input = |dollars: Option<f64>| micros(dollars.unwrap_or(pricing.input));
    let price = Price {
        input: micros(pricing.input),
        cached: or_input(pricing.cached),
        cache_written: or_input(pricing.cache_written),
        output: micros(pricing.output),
    };
    (model.clone(), price)
}

/// The configured budget, in the domain's units.
pub fn budget(budget: &config::Budget) -> Budget {
    let money = |dollars: Option<f64>| dollars.and_then(MicroUsd::from_dollars);
    Budget {
        usd_per_idea: money(budget.usd_per_idea),
        usd_per_day: money(budget.usd_per_day),
        tokens_per_idea: budget.tokens_per_idea,
        tokens_per_day: budget.tokens_per_day,
        hard_stop: budget.hard_stop,
    }
}

/// The configured profile of this name, for the adapters.
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
