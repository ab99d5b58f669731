//! The hooks of this repository. Called by `runs::launch`, `offline`, the daemon and `swarm hooks`.
//!
//! `list` shows the hooks and what there is to approve; `permission` decides whether one may run;
//! `try_run` runs one with sample data. This file finds the hooks and specifies a call's process.
//! Invariant: a refused hook is not run, and a refused `pre-` hook holds its step. A file that an
//! agent's landed work changed runs only after a person approved that content.

mod list;
mod permission;
mod try_run;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::actor::handle::Handle;
use super::effects::context::DriverContext;
use super::files::paths::Paths;
use super::runs::prepared::{Prepared, unusable};
use super::runs::script::{self, HOOK_STDIN};
use crate::config::{Config, Hook as Configured, OnCrash, OnTimeout};
use crate::domain::hook::{HookCall, HookName, HookSettings};
use crate::domain::ids::RunId;
use crate::domain::outcome::Failure;
use crate::domain::state::State;
use crate::git::{Changes, GitError, Repo};
use crate::hooks::{self, Entry};

pub(super) use list::list;
pub use list::{Difference, HookView, difference, list_in};
pub use permission::NotRun;
use permission::{approved_in, check_permission, deleted_file, other_folder};
pub use try_run::{Tried, TryError, try_out};

/// Stands for a deleted file in an approval.
const GONE: &str = "gone";

/// The hooks, and how landed work changed their files.
struct Catalogue {
    entries: BTreeMap<HookName, Entry>,
    changes: Changes,
}

/// Finds the hooks. One whose file was deleted by an agent's landed work stays listed, and is
/// refused, until a person approves the deletion.
fn catalogue(repo: &Repo, config: &Config, state: &State) -> Result<Catalogue, GitError> {
    let configured = config.hooks.iter();
    let configured = configured.map(|(name, hook)| (*name, hook.run.as_str()));
    let mut entries = hooks::catalogue(repo.root(), configured);
    let mut files = vec![PathBuf::from(hooks::FOLDER)];
    let in_folder = HookName::ALL.map(|name| hooks::in_folder(name).program);
    let named = entries.values().map(|entry| &entry.program);
    let plain = in_folder.iter().chain(named).filter(|path| is_plain(path));
    files.extend(plain.flat_map(|program| hooks::names(repo.root(), program)));
    let changes = repo.changes_of(&files)?;
    for name in HookName::ALL {
        let entry = hooks::in_folder(name);
        if entries.contains_key(&name) {
            continue;
        }
        let approved = approved_in(state, name);
        let lost_file = deleted_file(repo, &changes, approved, &entry).is_some();
        // It is unknown which hooks a replaced folder held; those known until now count.
        let was_known = || state.settings.as_ref()?.hooks.get(&name);
        let lost_folder = || other_folder(&changes, approved, &entry).is_some();
        if lost_file || was_known().is_some() && lost_folder() {
            entries.insert(name, entry);
        }
    }
    Ok(Catalogue { entries, changes })
}

/// Whether the path is relative without `..`, so that git can look it up. Links are resolved only
/// when the hook is to be run.
fn is_plain(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The settings of all hooks, for the domain's decisions.
pub(super) fn settings(
    repo: &Repo,
    config: &Config,
    state: &State,
) -> Result<BTreeMap<HookName, HookSettings>, GitError> {
    let names = catalogue(repo, config, state)?.entries.into_keys();
    Ok(names
        .map(|name| (name, limits(config.hooks.get(&name))))
        .collect())
}

fn limits(configured: Option<&Configured>) -> HookSettings {
    let seconds = configured.map_or(30, |hook| hook.timeout_seconds);
    HookSettings {
        timeout_ms: i64::from(seconds) * 1_000,
        veto_on_timeout: configured.is_some_and(|hook| hook.on_timeout == OnTimeout::Veto),
        again: configured.is_none_or(|hook| hook.on_crash == OnCrash::Retry),
    }
}

/// The process of this call.
pub(super) fn call(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    hook: HookName,
    seq: u64,
) -> Result<Prepared, Failure> {
    let is_this = |call: &&HookCall| call.hook == hook && call.seq == seq;
    let state = handle.read(State::clone);
    let call = state.hooks.iter().find(is_this);
    let call = call.ok_or_else(|| unusable("its event has been handled already"))?;
    let config = context.config();
    let catalogue = catalogue(&context.repo, &config, &state)?;
    let Some(entry) = catalogue.entries.get(&hook) else {
        return Err(unusable("its program no longer exists"));
    };
    let approved = approved_in(&state, hook);
    let program = check_permission(&context.repo, &catalogue.changes, approved, hook, entry);
    let program = program?;
    let invocation = invocation(&context.paths, call);
    let attempt = call
        .agent
        .as_ref()
        .and_then(|agent| state.agents.get(agent));
    let worktree = attempt.filter(|_| hook == HookName::PreStart);
    let worktree = worktree.map(|attempt| attempt.worktree.as_str());
    let mut spec = script::hook(context, run, &program, worktree)?;
    spec.env.extend(invocation.variables);
    Ok((spec, vec![(HOOK_STDIN, invocation.stdin)]))
}

fn invocation(paths: &Paths, call: &HookCall) -> hooks::Invocation {
    let mut facts = call.facts.clone();
    if let Some(worktree) = facts.get_mut("WORKTREE") {
        *worktree = paths.worktree(worktree).to_string_lossy().into_owned();
    }
    let root = paths.root.to_string_lossy();
    hooks::invocation(call.hook, call.seq, &root, &facts)
}
