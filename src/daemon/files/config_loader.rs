//! Reading the configuration as the daemon needs it: complete, right, and able to run.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::Paths;
use crate::agents;
use crate::config::{self, Config, ConfigError, Layered, Problem, ProblemKind};
use crate::daemon::error::{DaemonError, Unfit};
use crate::daemon::preflight::{self, Preflight};
use crate::process;

/// Knows where the configuration lies.
#[derive(Debug, Clone)]
pub struct Loader {
    paths: Paths,
}

impl Loader {
    /// Of this repository.
    pub fn new(paths: &Paths) -> Self {
        Self {
            paths: paths.clone(),
        }
    }

    /// The configuration as it is now.
    ///
    /// # Errors
    /// It is wrong.
    pub fn load(&self) -> Result<Config, DaemonError> {
        Ok(self.layered()?.config)
    }

    fn layered(&self) -> Result<Layered, DaemonError> {
        let layered = config::load(&self.paths.swarm, config::environment(), vec![])?;
        Ok(layered)
    }

    /// The same, and the profiles that ideas get without asking are there, and their programs; and
    /// no profile has an argument with which its agents could not start.
    ///
    /// # Errors
    /// It is wrong, or one of them cannot run here.
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

    /// The same, and the profiles that ideas get without asking are there.
    ///
    /// # Errors
    /// It is wrong, or names none.
    pub fn load_named(&self) -> Result<Config, DaemonError> {
        named(self.load()?)
    }

    /// A whole look at these profiles, as far as they are configured: better said now than after an
    /// idea is spent on one. Gives what could not be told.
    ///
    /// # Errors
    /// One of them cannot work, for certain.
    pub fn muster<'a>(
        &self,
        config: &Config,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<String>, DaemonError> {
        let profiles: Vec<_> = names
            .into_iter()
            .filter_map(|name| preflight::profile(config, name))
            .collect();
        let inherited = std::env::vars_os().collect();
        let preflight = Preflight {
            root: &self.paths.root,
            inherited: &inherited,
            pass: &config.agents.pass_env,
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
            let told = seen.doubts.into_iter();
            doubts.extend(told.map(|doubt| format!("the agent profile `{name}`: {doubt}")));
        }
        if unfit.is_empty() {
            Ok(doubts)
        } else {
            Err(DaemonError::AgentsUnfit(unfit))
        }
    }

    /// The programs of the profiles that ideas get without asking are where they are looked for.
    /// Asks them nothing.
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

/// The arguments in profiles that belong to their adapters. The configuration knows no adapter's
/// arguments, so this is found here.
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

/// The profiles that ideas get without asking, each once.
pub fn unasked(config: &Config) -> BTreeSet<&str> {
    let names = std::iter::once(&config.agents.profile).chain(&config.merge.resolver);
    names.map(String::as_str).collect()
}
