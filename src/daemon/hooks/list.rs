//! Lists the hooks, and shows what there is to approve. Called by the daemon, `swarm hooks` and
//! `swarm doctor`.

use std::fs;

use serde::Serialize;

use super::permission::{approval, approved_in, brought, check_permission, deleted, unreadable};
use super::try_run::TryError;
use super::{GONE, NotRun, catalogue, limits};
use crate::config::Config;
use crate::daemon::error::DaemonError;
use crate::daemon::files::config_loader::Loader;
use crate::daemon::files::paths::Paths;
use crate::domain::hook::{HookName, LastCall};
use crate::domain::state::State;
use crate::git::{GitError, Repo};
use crate::hooks::{self, Entry};

/// A hook in `swarm hooks list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookView {
    /// The hook's name.
    pub hook: HookName,
    /// `configuration` or `folder`.
    pub from: &'static str,
    /// Its program, relative to the repository.
    pub program: String,
    /// Whether it may run.
    pub approved: bool,
    /// Why it may not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// How long a call may take, in seconds.
    pub timeout_seconds: i64,
    /// The last call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastCall>,
    /// Calls that are pending or running.
    pub waiting: usize,
}

/// The hooks, without a daemon.
///
/// # Errors
/// The configuration is invalid; git failed.
pub fn list_in(paths: &Paths, state: &State) -> Result<Vec<HookView>, DaemonError> {
    let config = Loader::new(paths).load()?;
    Ok(list(&Repo::open(&paths.root)?, &config, state)?)
}

/// The hooks, in the order in which an idea meets them.
///
/// # Errors
/// Git failed.
pub(in crate::daemon) fn list(
    repo: &Repo,
    config: &Config,
    state: &State,
) -> Result<Vec<HookView>, GitError> {
    let catalogue = catalogue(repo, config, state)?;
    let view = |(hook, entry): (&HookName, &Entry)| {
        let refused = check_permission(
            repo,
            &catalogue.changes,
            approved_in(state, *hook),
            *hook,
            entry,
        );
        let refused = refused.err().map(|why| why.to_string());
        HookView {
            hook: *hook,
            from: entry.from.as_str(),
            program: entry.program.clone(),
            approved: refused.is_none(),
            refused,
            timeout_seconds: limits(config.hooks.get(hook)).timeout_ms / 1_000,
            last: state.hooks_last.get(hook).cloned(),
            waiting: state.hooks.iter().filter(|call| call.hook == *hook).count(),
        }
    };
    Ok(catalogue.entries.iter().map(view).collect())
}

/// A change of a hook that needs approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its program.
    pub program: String,
    /// The ideas whose landed work changed it, the latest first; empty if there is nothing to
    /// approve.
    pub ideas: Vec<String>,
    /// The file before these changes; empty if it did not exist.
    pub before: Vec<u8>,
    /// The file now; empty if it was deleted.
    pub now: Vec<u8>,
    /// Identifies that content and these landings, for the approval.
    pub content: String,
}

/// What there is to approve of this hook.
///
/// # Errors
/// There is no such hook; its file is refused for another reason; git failed.
pub fn difference(paths: &Paths, state: &State, hook: HookName) -> Result<Difference, TryError> {
    let config = Loader::new(paths).load().map_err(TryError::daemon)?;
    let repo = &Repo::open(&paths.root)?;
    let catalogue = catalogue(repo, &config, state)?;
    let entry = catalogue
        .entries
        .get(&hook)
        .ok_or(TryError::Unknown(hook))?;
    let approved = approved_in(state, hook);
    let (all, now, content) = match deleted(repo, &catalogue.changes, approved, entry) {
        Some(brought) if entry.path(repo.root()).symlink_metadata().is_err() => {
            (vec![brought], Vec::new(), GONE.to_owned())
        }
        _ => {
            let way = hooks::inspect_program(repo.root(), &entry.program).map_err(NotRun::from)?;
            let now = fs::read(&way.file).map_err(unreadable(&way.file))?;
            let content = repo.content_id(&now)?.to_string();
            let all = brought(repo, &catalogue.changes, approved, entry, &way)?;
            (all, now, content)
        }
    };
    let before = match all.first().map(|brought| brought.before) {
        None => now.clone(),
        Some(None) => Vec::new(),
        Some(Some(id)) => repo.content(id)?.unwrap_or_default(),
    };
    Ok(Difference {
        program: entry.program.clone(),
        content: approval(&content, &all),
        ideas: all.into_iter().flat_map(|brought| brought.ideas).collect(),
        before,
        now,
    })
}

impl Difference {
    /// The change as a patch; empty if there is nothing to approve.
    pub fn patch(&self) -> String {
        Repo::patch(&self.program, &self.before, &self.now)
    }
}
