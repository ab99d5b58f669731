//! Reading the configuration as the daemon needs it: complete, right, and able to run.

use super::error::DaemonError;
use super::paths::Paths;
use crate::config::{self, Config};

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
        let layered = config::load(&self.paths.swarm, config::environment(), vec![])?;
        Ok(layered.config)
    }

    /// The same, and agents can run with it.
    ///
    /// # Errors
    /// It is wrong, or what it names cannot run here.
    pub fn load_ready(&self) -> Result<Config, DaemonError> {
        let config = self.load()?;
        let problems: Vec<String> = config::readiness(&config)
            .iter()
            .map(ToString::to_string)
            .collect();
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(DaemonError::AgentUnusable(problems.join("\n")))
        }
    }
}
