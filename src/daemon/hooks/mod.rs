//! The hooks of this repository: which there are, whether each may run, and the process that makes
//! a call.
//!
//! Invariant: a hook whose file may not be run is not run, and one that stands before a step holds
//! it then. What an agent's landed work made of a file is run only after a person has approved that
//! very content.

mod list;
mod permission;
mod try_run;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::actor::handle::Handle;
use super::effects::context::DriverContext;
use super::files::paths::Paths;
use super::runs::prepared::{Prepared, Unusable};
use super::runs::script::{self, HOOK_STDIN};
use crate::config::{Config, Hook as Configured, OnCrash, OnTimeout};
use crate::domain::hook::{HookCall, HookName, HookSettings};
use crate::domain::ids::RunId;
use crate::domain::state::State;
use crate::git::{Changes, GitError, Repo};
use crate::hooks::{self, Entry};

pub(super) use list::list;
pub use list::{Difference, HookView, difference, list_in};
pub use permission::NotRun;
use permission::{approved_in, check_permission, deleted_file, other_folder};
pub use try_run::{Tried, TryError, try_out};

/// A content that is gone, in an approval.
const GONE: &str = "gone";

/// The hooks that there are, and what became of their files.
struct Catalogue {
    entries: BTreeMap<HookName, Entry>,
    changes: Changes,
}

/// Which hooks there are. One whose file an agent's landed work has deleted is there, and is not
/// run, until a person approves that.
fn catalogue(repo: &Repo, config: &Config, state: &State) -> Result<Catalogue, GitError> {
    let configured = config.hooks.iter();
    let configured = configured.map(|(name, hook)| (*name, hook.run.as_str()));
    let mut entries = hooks::catalogue(repo.root(), configured);
    let mut looked_at = vec![PathBuf::from(hooks::FOLDER)];
    let in_folder = HookName::ALL.map(|name| hooks::in_folder(name).program);
    let named = entries.values().map(|entry| &entry.program);
    let plain = in_folder.iter().chain(named).filter(|path| is_plain(path));
    looked_at.extend(plain.flat_map(|program| hooks::names(repo.root(), program)));
    let changes = repo.changes_of(&looked_at)?;
    for name in HookName::ALL {
        let entry = hooks::in_folder(name);
        if entries.contains_key(&name) {
            continue;
        }
        let approved = approved_in(state, name);
        let lost_file = deleted_file(repo, &changes, approved, &entry).is_some();
        // Which hooks another folder held nobody can tell; those that there were until now were
        // there.
        let was_there = || state.settings.as_ref()?.hooks.get(&name);
        let lost_folder = || other_folder(&changes, approved, &entry).is_some();
        if lost_file || was_there().is_some() && lost_folder() {
            entries.insert(name, entry);
        }
    }
    Ok(Catalogue { entries, changes })
}

/// Whether git can be asked about it as it is named; where it really lies is looked at when it is
/// to be run.
fn is_plain(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

/// What decisions need to know of them.
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

/// The process that makes this call.
pub(super) fn call(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    hook: HookName,
    seq: u64,
) -> Result<Prepared, Unusable> {
    let this = |call: &&HookCall| call.hook == hook && call.seq == seq;
    let state = handle.read(State::clone);
    let call = state.hooks.iter().find(this);
    let call = call.ok_or_else(|| Unusable::because("what the hook was to be told is over"))?;
    let config = context.config();
    let there = catalogue(&context.repo, &config, &state).map_err(Unusable::because)?;
    let Some(entry) = there.entries.get(&hook) else {
        return Err(Unusable::because("its program is gone"));
    };
    let approved = approved_in(&state, hook);
    let program = check_permission(&context.repo, &there.changes, approved, hook, entry);
    let program = program.map_err(Unusable::because)?;
    let told = told(&context.paths, call);
    let mut spec = script::hook(context, run, &program)?;
    spec.env.extend(told.variables);
    Ok((spec, vec![(HOOK_STDIN, told.stdin)]))
}

fn told(paths: &Paths, call: &HookCall) -> hooks::Invocation {
    let mut facts = call.facts.clone();
    if let Some(worktree) = facts.get_mut("WORKTREE") {
        *worktree = paths.worktree(worktree).to_string_lossy().into_owned();
    }
    let root = paths.root.to_string_lossy();
    hooks::invocation(call.hook, call.seq, &root, &facts)
}
