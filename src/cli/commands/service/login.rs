//! Logins that the person has and the service will not: a service manager hands on `PATH` and what
//! it knows of the user, and nothing of a shell.
//!
//! Invariant: of a login only its place is told.

use std::ffi::OsStr;

use crate::agents::adapter::Login;
use crate::agents::environment::Environment;
use crate::cli::commands::config::load;
use crate::cli::repo::Repo;
use crate::daemon::preflight::{self, Preflight};

/// What service managers set, besides what the service's own file does.
const GIVEN: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "USER"];

/// A line for each profile in use that is logged in here and would not be in the service.
pub(super) fn left_behind(repo: &Repo) -> Vec<String> {
    // What is wrong with the configuration the daemon says itself.
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
                    "the agent profile `{name}` is logged in by {place} here, and the service will \
                    not have it"
                )),
                _ => None,
            }
        })
        .collect()
}
