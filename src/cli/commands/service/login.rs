//! Finds logins that the person's shell has and the service will not have: a service manager passes
//! on `PATH` and a few variables about the user, but nothing from a shell.
//!
//! Invariant: only the place of a login is shown, never its content.

use std::ffi::OsStr;

use crate::agents::adapter::Login;
use crate::agents::environment::Environment;
use crate::cli::commands::config::load;
use crate::cli::repo::Repo;
use crate::daemon::preflight::{self, Preflight};

/// The variables that service managers set, and `PATH` from the service file.
const GIVEN: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "USER"];

/// A warning for each used profile that is logged in here but would not be in the service.
pub(super) fn left_behind(repo: &Repo) -> Vec<String> {
    // The daemon itself reports a wrong configuration.
    let Ok(layered) = load(repo) else {
        return Vec::new();
    };
    let here: Environment = std::env::vars_os().collect();
    let mut there = here.clone();
    there.retain(|name, _| GIVEN.iter().any(|given| name == OsStr::new(given)));
    let agents = &layered.config.agents;
    let muster = |inherited| Preflight {
        root: repo.root(),
        inherited,
        pass: &agents.pass_env,
        target: None,
    };
    let (here, there) = (muster(&here), muster(&there));
    let mut used = vec![&agents.profile];
    used.extend(&layered.config.merge.resolver);
    used.dedup();
    used.into_iter()
        .filter_map(|name| {
            let profile = preflight::profile(&layered.config, name)?;
            match (here.login(&profile)?, there.login(&profile)?) {
                (Login::By(place), Login::Missing(_)) => Some(format!(
                    "the agent profile `{name}` is logged in through {place}, which the service \
                    will not have"
                )),
                _ => None,
            }
        })
        .collect()
}
