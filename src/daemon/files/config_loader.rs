//! Loads the configuration and checks that it can run. Called at a start, at each reload and by
//! commands without a daemon.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::Paths;
use crate::agents;
use crate::config::{self, Config, ConfigError, Layered, Problem, ProblemKind};
use crate::daemon::error::{DaemonError, Unfit};
use crate::daemon::preflight::{self, Preflight, TargetTree};
use crate::git::Repo;
use crate::process;

/// Loads the configuration of one repository.
#[derive(Debug, Clone)]
pub struct Loader {
    paths: Paths,
}

impl Loader {
    /// A loader for this repository.
    pub fn new(paths: &Paths) -> Self {
        Self {
            paths: paths.clone(),
        }
    }

    /// Loads the configuration.
    ///
    /// # Errors
    /// It is invalid.
    pub fn load(&self) -> Result<Config, DaemonError> {
        Ok(self.layered()?.config)
    }

    fn layered(&self) -> Result<Layered, DaemonError> {
        let layered = config::load(&self.paths.swarm, config::environment(), vec![])?;
        Ok(layered)
    }

    /// As [`Self::load_named`]; also checks that the programs of the default profiles exist and
    /// that no profile has a forbidden argument.
    ///
    /// # Errors
    /// It is invalid, or a default profile cannot run here.
    pub fn load_ready(&self) -> Result<Config, DaemonError> {
        let layered = self.layered()?;
        let problems = owned_arguments(&layered);
        if !problems.is_empty() {
            return Err(ConfigError { problems }.into());
        }
        let config = named(layered.config)?;
        self.check_programs(&config)?;
        Ok(config)
    }

    /// As [`Self::load`]; also checks that the default profiles exist.
    ///
    /// # Errors
    /// It is invalid, or a default profile is missing.
    pub fn load_named(&self) -> Result<Config, DaemonError> {
        named(self.load()?)
    }

    /// Checks these profiles, if they are configured, before an idea is spent on one: their
    /// programs, and their scripts in the target's tree. Returns the doubts.
    ///
    /// # Errors
    /// One of them certainly cannot run.
    pub fn check_profiles<'a>(
        &self,
        config: &Config,
        repo: &Repo,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<String>, DaemonError> {
        let profiles: Vec<_> = names
            .into_iter()
            .filter_map(|name| preflight::profile(config, name))
            .collect();
        let inherited = std::env::vars_os().collect();
        // A start without a target, or without an answer from git, is refused for that reason.
        // Until then no script is judged.
        let target = TargetTree::of(config, repo).ok();
        let preflight = Preflight {
            root: &self.paths.root,
            inherited: &inherited,
            pass: &config.agents.pass_env,
            target: target.as_ref(),
        };
        let mut unfit = Vec::new();
        let mut doubts = Vec::new();
        for seen in preflight.inspect_all(&profiles) {
            let name = seen.profile;
            let faults = seen.faults.into_iter();
            unfit.extend(faults.map(|fault| Unfit {
                profile: name.clone(),
                fault,
            }));
            let of_profile = seen.doubts.into_iter();
            doubts.extend(of_profile.map(|doubt| format!("the agent profile `{name}`: {doubt}")));
        }
        if unfit.is_empty() {
            Ok(doubts)
        } else {
            Err(DaemonError::AgentsUnfit(unfit))
        }
    }

    /// Checks that the programs of the default profiles exist, without starting them.
    fn check_programs(&self, config: &Config) -> Result<(), DaemonError> {
        for name in unasked(config) {
            let Some(profile) = config.agents.profiles.get(name) else {
                continue;
            };
            let Some(program) = profile.command.first() else {
                continue;
            };
            let path = profile.env.get("PATH").cloned();
            let path = path
                .or_else(|| std::env::var("PATH").ok())
                .unwrap_or_default();
            let env = BTreeMap::from([("PATH".to_owned(), path)]);
            process::resolve_program(program, &env, &self.paths.root).map_err(|error| {
                DaemonError::AgentUnusable(format!(
                    "the agent profile `{name}` cannot run: {error} \
                    (`agents.profiles.{name}.command` in .swarm/config.json)"
                ))
            })?;
        }
        Ok(())
    }
}

/// Arguments in profiles that only their adapter may set. Checked here because the configuration
/// does not know the adapters' arguments.
pub fn owned_arguments(layered: &Layered) -> Vec<Problem> {
    let mut found = Vec::new();
    for (name, profile) in &layered.config.agents.profiles {
        let Some(about) = agents::adapter(profile.adapter).program_info() else {
            continue;
        };
        let args = profile.args.iter().enumerate();
        for (index, arg) in args.filter(|(_, arg)| about.owns(arg)) {
            let option = arg.split_once('=').map_or(arg.as_str(), |(name, _)| name);
            let kind = ProblemKind::OwnedArgument {
                option: option.to_owned(),
                adapter: profile.adapter,
            };
            let key = format!("agents.profiles.{name}.args[{index}]");
            found.push(layered.problem(&key, kind));
        }
    }
    found
}

fn named(config: Config) -> Result<Config, DaemonError> {
    for name in unasked(&config) {
        if let Some(problem) = config::profile_problem(&config, name) {
            return Err(DaemonError::AgentUnusable(format!(
                "the agent profile `{name}` cannot run: {problem}"
            )));
        }
    }
    Ok(config)
}

/// The profiles used without being requested: the default one, the resolver's and the synthesis's.
pub fn unasked(config: &Config) -> BTreeSet<&str> {
    let names = std::iter::once(&config.agents.profile).chain(&config.merge.resolver);
    let names = names.chain(&config.memory.synthesis.profile);
    names.map(String::as_str).collect()
}
