//! Specifies the process of a quality command or hook. Called by `launch` and `hooks`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::prepared::{other, unusable};
use super::slot::add_slot;
use crate::agents::environment::{Environment, Identity, Sources, WorkVariables};
use crate::config::Config;
use crate::daemon::effects::context::DriverContext;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::outcome::Failure;
use crate::domain::state::Attempt;
use crate::process::{Lease, RunSpec};

/// Milliseconds between TERM and KILL when a run is stopped or times out.
pub(super) const GRACE_MS: u64 = 3_000;

pub(super) const MIB: u64 = 1024 * 1024;
/// Most bytes that one call of a hook may write.
pub(crate) const HOOK_OUTPUT_BYTES: u64 = 16 * MIB;
/// The standard input's file in the directory of a hook's run.
pub(crate) const HOOK_STDIN: &str = "stdin.json";
/// Variables that a hook needs for desktop notifications; agents do not get them.
const DESKTOP: &[&str] = &[
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// What the programs of an attempt find in their environment.
pub(super) fn attempt_variables(
    context: &DriverContext,
    run: &RunId,
    agent: &AgentId,
    attempt: &Attempt,
) -> WorkVariables {
    let work = WorkVariables {
        idea_id: attempt.idea.to_string(),
        agent: agent.to_string(),
        run_id: run.to_string(),
        attempt: attempt.number,
        iteration: attempt.iteration,
        worktree: context.paths.worktree(&attempt.worktree),
        branch: attempt.branch.clone(),
        repository: context.paths.root.clone(),
        own_program: context.exe.clone(),
        ..WorkVariables::default()
    };
    add_slot(context, &attempt.worktree, work)
}

/// A quality command: `sh -c` in the tree that it checks.
pub(super) fn check(
    context: &DriverContext,
    run: &RunId,
    command: &str,
    cwd: PathBuf,
    work: &WorkVariables,
) -> Result<RunSpec, Failure> {
    let args = vec!["-c".to_owned(), command.to_owned()];
    let shell = ProgramCall {
        program: "/bin/sh".to_owned(),
        args,
        cwd,
        inherited: context.for_worktrees(),
    };
    script(context, run, shell, work)
}

/// A hook's program, in the repository. It gets the slot of `worktree`, if it is about one.
pub(crate) fn hook(
    context: &DriverContext,
    run: &RunId,
    program: &Path,
    worktree: Option<&str>,
) -> Result<RunSpec, Failure> {
    let work = WorkVariables {
        run_id: run.to_string(),
        repository: context.paths.root.clone(),
        own_program: context.exe.clone(),
        ..WorkVariables::default()
    };
    let work = match worktree {
        Some(worktree) => add_slot(context, worktree, work),
        None => work,
    };
    let program = program.to_str().map(str::to_owned).ok_or_else(|| {
        unusable(format!(
            "its path is not UTF-8: {}",
            program.to_string_lossy()
        ))
    })?;
    // It runs in the checkout, where the checkout's own environment is right.
    let call = ProgramCall {
        program,
        args: vec![],
        cwd: context.paths.root.clone(),
        inherited: context.inherited.clone(),
    };
    let mut spec = script(context, run, call, &work)?;
    let desktop = DESKTOP
        .iter()
        .filter_map(|name| Some((*name, context.inherited.get(OsStr::new(name))?.to_str()?)));
    let desktop = desktop.map(|(name, value)| (name.to_owned(), value.to_owned()));
    spec.env.extend(desktop);
    spec.stdin = Some(HOOK_STDIN.to_owned());
    spec.max_output_bytes = Some(HOOK_OUTPUT_BYTES);
    Ok(spec)
}

/// A program of the project or its owner, not an agent.
struct ProgramCall {
    program: String,
    args: Vec<String>,
    cwd: PathBuf,
    inherited: Environment,
}

fn script(
    context: &DriverContext,
    run: &RunId,
    call: ProgramCall,
    work: &WorkVariables,
) -> Result<RunSpec, Failure> {
    let config = context.config();
    let sources = Sources {
        inherited: call.inherited,
        pass: config.agents.pass_env.clone(),
        identity: missing_identity(context)?,
        profile: BTreeMap::new(),
    };
    let mut env = text_only(&sources.environment(work));
    // Variables without a meaning here are absent rather than empty.
    env.retain(|name, value| !(name.starts_with("SWARM_") && (value.is_empty() || value == "0")));
    Ok(RunSpec {
        id: run.to_string(),
        program: call.program,
        args: call.args,
        cwd: call.cwd,
        env,
        stdin: None,
        timeout_ms: None,
        idle_ms: None,
        grace_ms: GRACE_MS,
        max_output_bytes: Some(u64::from(config.agents.max_output_mib) * MIB),
        lease: Some(lease(context, &config)),
    })
}

/// How long a run may go on without a daemon.
pub(super) fn lease(context: &DriverContext, config: &Config) -> Lease {
    Lease {
        file: context.paths.lease(),
        ms: u64::from(config.agents.lease_minutes) * 60_000,
    }
}

/// The identity that git children get when none is configured.
pub(super) fn missing_identity(context: &DriverContext) -> Result<Option<Identity>, Failure> {
    let identity = context.repo.identity().map_err(other)?;
    Ok((!identity.configured).then_some(Identity {
        name: identity.name,
        email: identity.email,
    }))
}

/// Drops variables that are not UTF-8, because the specification is JSON.
pub(crate) fn text_only(env: &Environment) -> BTreeMap<String, String> {
    env.iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect()
}
