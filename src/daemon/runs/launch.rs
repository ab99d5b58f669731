//! Specifies the process of a run: program, environment and prompt, in a directory of its own.
//! Called by `run`.
//!
//! Invariant: starts nothing. Preparing a run again returns the existing directory.

use std::path::Path;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::agent_process::agent_run;
use super::launch_record::LaunchRecord;
use super::lone::{probe, replay, synthesis};
use super::prepared::{Prepared, ended, other};
use super::script::{attempt_variables, check};
use super::slot::add_slot;
use crate::agents::environment::WorkVariables;
use crate::crash;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::attempt::{leftovers, restore_worktree};
use crate::daemon::effects::context::DriverContext;
use crate::daemon::hooks;
use crate::domain::effect::{Purpose, SetupTree, TargetTree};
use crate::domain::ids::{AgentId, IdeaId, Oid, RunId};
use crate::domain::outcome::Failure;
use crate::domain::state::State;
use crate::git::{self, TreeAt};
use crate::process::{self, RunDir, RunSpec};

/// Writes the run's directory. Returns the launch record too, for an agent's run in a new
/// directory.
pub(crate) async fn prepare(
    context: &Arc<DriverContext>,
    handle: &Handle,
    run: &RunId,
    purpose: &Purpose,
    timeout_ms: i64,
) -> Result<(RunDir, Option<LaunchRecord>), Failure> {
    let (context, handle) = (Arc::clone(context), handle.clone());
    let (run, purpose) = (run.clone(), purpose.clone());
    let work = move || {
        if let Purpose::Replay { of, sha256, .. } = &purpose {
            replay::make_tree(&context, (of, sha256))?;
        }
        let (mut spec, files) = specify(&context, &handle, &run, &purpose)?;
        spec.timeout_ms = u64::try_from(timeout_ms).ok();
        let is_new = !context.paths.runs.join(run.as_str()).exists();
        let record = is_new.then(|| LaunchRecord::from_files(&files)).flatten();
        let files: Vec<(&str, &[u8])> = files
            .iter()
            .map(|(name, content)| (*name, content.as_slice()))
            .collect();
        restore_if_gone(&context, &handle, &spec.cwd);
        note_use(&context, &spec.cwd);
        let dir = process::prepare(&context.paths.runs, &spec, &files).map_err(other)?;
        if let Purpose::Synthesis { .. } = &purpose {
            crash::point("synthesis.prepared");
            synthesis::make_folder(&dir).map_err(other)?;
        }
        if let Purpose::Replay { .. } = &purpose {
            crash::point("replay.prepared");
        }
        Ok((dir, record))
    };
    spawn_blocking(work).await.map_err(other)?
}

/// Makes the worktree of an attempt again that somebody removed or moved away.
fn restore_if_gone(context: &DriverContext, handle: &Handle, cwd: &Path) {
    let name = context.paths.worktree_name(cwd);
    let Some(name) = name.filter(|_| !cwd.is_dir()) else {
        return;
    };
    let branch = handle.read(|state| {
        let mut attempts = state.agents.values();
        let attempt = attempts.find(|attempt| attempt.worktree == name);
        attempt.map(|attempt| attempt.branch.clone())
    });
    if let Some(branch) = branch {
        restore_worktree(context, name, &branch);
    }
}

/// Notes that a run uses the worktree, if it is in one. If that fails, the worktree counts as cold
/// for longer than it is, and a setup is repeated.
fn note_use(context: &DriverContext, cwd: &Path) {
    if let Some(name) = context.paths.worktree_name(cwd)
        && let Err(error) = context.repo.note_use(name)
    {
        tracing::warn!(%error, name, "the use of this worktree could not be noted");
    }
}

/// The process and files of a run if it were launched now.
pub(crate) fn specify(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    purpose: &Purpose,
) -> Result<Prepared, Failure> {
    match purpose {
        Purpose::Iteration {
            agent,
            iteration,
            profile,
        } => agent_run(context, handle, run, agent, *iteration, profile),
        Purpose::Gate { agent, command, .. } => gate(context, handle, run, agent, command),
        Purpose::CommitHooks { agent } => commit_hooks(context, handle, run, agent),
        Purpose::Verify { idea, command, .. } => verify(context, run, idea, command),
        Purpose::Baseline { command, tree, .. } => baseline(context, run, command, *tree),
        Purpose::Canary { .. } => probe::prepare(context, run),
        Purpose::Setup { tree, command, .. } => match tree {
            SetupTree::Worktree { agent } => gate(context, handle, run, agent, command),
            SetupTree::Merged { idea } => verify(context, run, idea, command),
            SetupTree::Target => baseline(context, run, command, TargetTree::Verify),
            SetupTree::Control => baseline(context, run, command, TargetTree::Control),
        },
        Purpose::Hook { hook, seq, .. } => hooks::call(context, handle, run, *hook, *seq),
        Purpose::Synthesis { profile, up_to } => {
            synthesis::prepare(context, handle, run, profile, *up_to)
        }
        Purpose::Replay {
            profile,
            of,
            sha256,
        } => replay::prepare(context, run, profile, (of, sha256)),
    }
}

fn gate(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    agent: &AgentId,
    command: &str,
) -> Result<Prepared, Failure> {
    let attempt = handle
        .read(|state| state.agents.get(agent).cloned())
        .ok_or_else(|| ended(agent))?;
    let work = attempt_variables(context, run, agent, &attempt);
    let cwd = context.paths.worktree(&attempt.worktree);
    Ok((check(context, run, command, cwd, &work)?, vec![]))
}

/// Runs the hooks as `git commit --all` would, on an index of their own. A hook that mends files
/// and fails, as formatters do, gets one more try.
const COMMIT_HOOKS: &str = r#"set -eu
index=$(git rev-parse --path-format=absolute --git-path index)
GIT_INDEX_FILE=$(git rev-parse --path-format=absolute --git-path swarm-hooks-index)
message=$(git rev-parse --path-format=absolute --git-path SWARM_COMMIT_MSG)
cp "$index" "$GIT_INDEX_FILE"
export GIT_INDEX_FILE
git add --all
if ! git hook run --ignore-missing pre-commit; then
  ! git diff --quiet || exit 1
  git add --all
  git hook run --ignore-missing pre-commit
fi
printf '%s\n' "$SWARM_COMMIT_MESSAGE" >"$message"
git hook run --ignore-missing commit-msg -- "$message"
"#;

fn commit_hooks(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    agent: &AgentId,
) -> Result<Prepared, Failure> {
    let (mut spec, files) = gate(context, handle, run, agent, COMMIT_HOOKS)?;
    let idea = handle.read(|state| state.agents.get(agent).map(|attempt| attempt.idea.clone()));
    let message = leftovers(&idea.ok_or_else(|| ended(agent))?);
    let message = message.trim_end().to_owned();
    spec.env.insert("SWARM_COMMIT_MESSAGE".to_owned(), message);
    Ok((spec, files))
}

fn verify(
    context: &DriverContext,
    run: &RunId,
    idea: &IdeaId,
    command: &str,
) -> Result<Prepared, Failure> {
    let cwd = context.paths.worktree(git::VERIFY);
    let work = WorkVariables {
        idea_id: idea.to_string(),
        run_id: run.to_string(),
        worktree: cwd.clone(),
        repository: context.paths.root.clone(),
        own_program: context.exe.clone(),
        ..WorkVariables::default()
    };
    let work = add_slot(context, git::VERIFY, work);
    let spec = check(context, run, command, cwd, &work)?;
    Ok((without_bytecode(spec), vec![]))
}

fn baseline(
    context: &DriverContext,
    run: &RunId,
    command: &str,
    tree: TargetTree,
) -> Result<Prepared, Failure> {
    Ok((target_check(context, run, command, tree)?, vec![]))
}

/// A quality command on the untouched target.
pub(in crate::daemon) fn target_check(
    context: &DriverContext,
    run: &RunId,
    command: &str,
    tree: TargetTree,
) -> Result<RunSpec, Failure> {
    let cwd = context.paths.worktree(tree.name());
    let work = WorkVariables {
        run_id: run.to_string(),
        worktree: cwd.clone(),
        repository: context.paths.root.clone(),
        own_program: context.exe.clone(),
        ..WorkVariables::default()
    };
    let work = add_slot(context, tree.name(), work);
    check(context, run, command, cwd, &work).map(without_bytecode)
}

/// Python tells whether its bytecode fits a source by whole seconds and the size. In a tree that
/// verifies one merge after another that is too coarse: a change would be checked with the bytecode
/// of the one before.
fn without_bytecode(mut spec: RunSpec) -> RunSpec {
    let name = "PYTHONDONTWRITEBYTECODE".to_owned();
    spec.env.entry(name).or_insert_with(|| "1".to_owned());
    spec
}

/// What an iteration left behind.
#[derive(Default)]
pub(crate) struct LeftBehind {
    /// The commit of its branch.
    pub(crate) head: Option<Oid>,
    /// The files of its worktree, if `completion.stuckThreshold` or a provenance record needs them.
    pub(crate) tree: Option<String>,
}

/// What an iteration left behind, as far as it can be read.
pub(crate) async fn after_iteration(
    context: &Arc<DriverContext>,
    handle: &Handle,
    purpose: &Purpose,
) -> LeftBehind {
    let Purpose::Iteration { agent, .. } = purpose else {
        return LeftBehind::default();
    };
    let of = |state: &State| {
        let attempt = state.agents.get(agent)?;
        Some((attempt.branch.clone(), attempt.worktree.clone()))
    };
    let Some((branch, worktree)) = handle.read(of) else {
        return LeftBehind::default();
    };
    let context = Arc::clone(context);
    let left = spawn_blocking(move || {
        let head = context.repo.branch_commit(&branch).ok().flatten();
        LeftBehind {
            head: head.and_then(|head| head.to_string().parse().ok()),
            tree: files_of(&context, &worktree).map(|at| at.tree.to_string()),
        }
    });
    left.await.unwrap_or_default()
}

/// The files of a worktree, if anybody needs them and they can be read.
pub(crate) fn files_of(context: &DriverContext, worktree: &str) -> Option<TreeAt> {
    let config = context.config();
    if config.completion.stuck_threshold == 0 && !config.provenance.keep {
        return None;
    }
    match context.repo.worktree_tree(worktree) {
        Ok(files) => Some(files),
        Err(error) => {
            tracing::warn!(%worktree, %error,
                "a worktree could not be read; it counts as changed");
            None
        }
    }
}
