//! Reading the configuration as the daemon needs it: complete, right, and able to run.

use std::collections::BTreeMap;

use super::error::DaemonError;
use super::paths::Paths;
use crate::config::{self, Config, Layered};
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

    /// The same, and agents can run with it.
    ///
    /// # Errors
    /// It is wrong, or the profiles that ideas get without asking cannot run here.
    pub fn load_ready(&self) -> Result<Config, DaemonError> {
        let config = self.layered()?.config;
        let used = std::iter::once(&config.agents.profile).chain(&config.merge.resolver);
        for name in used {
            if let Some(problem) = config::profile_problem(&config, name) {
                return Err(DaemonError::AgentUnusable(format!(
                    "the agent profile `{name}` cannot run: {problem}"
                )));
            }
        }
        self.check_programs(&config)?;
        Ok(config)
    }

    /// The programs of the profiles that ideas get without asking: better said now than after an idea is spent on it.
    fn check_programs(&self, config: &Config) -> Result<(), DaemonError> {
        let used = std::iter::once(&config.agents.profile).chain(&config.merge.resolver);
        for name in used {
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
                    "the agent profile `{name}` cannot run: {error} (`agents.profiles.{name}.command` in .swarm/config.json)"
                ))
            })?;
        }
        Ok(())
    }
}
