//! From what a run is for to the process that does it: program, environment, prompt, in a directory
//! of its own.
//!
//! Invariant: nothing is started here. Preparing again gives the directory that is there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::launch_record::{CONVERSATION, LaunchRecord, PROMPT, STARTED_AS};
use super::prompt_inputs;
use crate::agents::adapter::{Conversation, LaunchContext};
use crate::agents::environment::{Environment, Identity, Sources, WorkVariables};
use crate::agents::{self, AdapterKind};
use crate::config::Config;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::attempt::kind_of;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::hooks;
use crate::domain::effect::Purpose;
use crate::domain::ids::{AgentId, IdeaId, Oid, ProfileName, RunId};
use crate::domain::observation::{FailureKind, Outcome};
use crate::domain::session::SessionId;
use crate::domain::state::{Attempt, State};
use crate::git;
use crate::process::{self, Lease, RunDir, RunSpec};

/// The recovery context's file in the run's directory.
pub(crate) const RECOVERY: &str = "recovery.json";
/// Between TERM and KILL, when a run is stopped or takes too long.
const GRACE_MS: u64 = 3_000;
const MIB: u64 = 1024 * 1024;

/// A run that no process can be made of.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Unusable {
    kind: FailureKind,
    message: String,
}

impl From<Unusable> for Outcome {
    fn from(unusable: Unusable) -> Self {
        Self::Failed {
            kind: unusable.kind,
            message: unusable.message,
        }
    }
}

impl Unusable {
    /// A person has to put something right first.
    pub(crate) fn because(why: impl std::fmt::Display) -> Self {
        Self {
            kind: FailureKind::AgentUnusable,
            message: why.to_string(),
        }
    }
}

fn unusable(error: impl std::fmt::Display) -> Unusable {
    Unusable::because(error)
}

fn other(error: impl std::error::Error + 'static) -> Unusable {
    Unusable {
        kind: kind_of(&error),
        message: error.to_string(),
    }
}

fn ended(agent: &AgentId) -> Unusable {
    Unusable {
        kind: FailureKind::Other,
        message: format!("agent {agent} has ended"),
    }
}

/// Writes the run's directory. Also gives how an agent's run begins, unless the directory was there
/// already.
pub(crate) async fn prepare(
    context: &Arc<DriverContext>,
    handle: &Handle,
    run: &RunId,
    purpose: &Purpose,
    timeout_ms: i64,
) -> Result<(RunDir, Option<LaunchRecord>), Unusable> {
    let (context, handle) = (Arc::clone(context), handle.clone());
    let (run, purpose) = (run.clone(), purpose.clone());
    let work = move || {
        let (mut spec, files) = begin(&context, &handle, &run, &purpose)?;
        spec.timeout_ms = u64::try_from(timeout_ms).ok();
        let is_new = !context.paths.runs.join(run.as_str()).exists();
        let began = is_new.then(|| LaunchRecord::with(&files)).flatten();
        let files: Vec<(&str, &[u8])> = files
            .iter()
            .map(|(name, content)| (*name, content.as_slice()))
            .collect();
        let dir = process::prepare(&context.paths.runs, &spec, &files).map_err(other)?;
        Ok((dir, began))
    };
    spawn_blocking(work).await.map_err(other)?
}

/// The process that a run for this would be, and the files that it would have, if it began now.
pub(crate) fn begin(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    purpose: &Purpose,
) -> Result<Prepared, Unusable> {
    match purpose {
        Purpose::Iteration {
            agent,
            iteration,
            profile,
        } => agent_run(context, handle, run, agent, *iteration, profile),
        Purpose::Gate { agent, command, .. } => gate(context, handle, run, agent, command),
        Purpose::Verify { idea, command, .. } => verify(context, run, idea, command),
        Purpose::Hook { hook, seq, .. } => hooks::call(context, handle, run, *hook, *seq),
    }
}

/// A process and the files in its run's directory.
pub(crate) type Prepared = (RunSpec, Vec<(&'static str, Vec<u8>)>);

fn agent_run(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    agent: &AgentId,
    iteration: u32,
    profile: &ProfileName,
) -> Result<Prepared, Unusable> {
    let config = context.config();
    let profile = context.profile(profile).ok_or_else(|| {
        unusable(format!(
            "the agent profile `{profile}` is not in the configuration; see: swarm config check"
        ))
    })?;
    let attempt = handle
        .read(|state| state.agents.get(agent).cloned())
        .ok_or_else(|| ended(agent))?;
    let worktree = context.paths.worktree(&attempt.worktree);
    let work = WorkVariables {
        prompt_file: context.paths.runs.join(run.as_str()).join(PROMPT),
        idea_id: attempt.idea.to_string(),
        agent: agent.to_string(),
        run_id: run.to_string(),
        attempt: attempt.number,
        iteration,
        worktree: worktree.clone(),
        branch: attempt.branch.clone(),
        repository: context.paths.root.clone(),
    };
    let identity = missing_identity(context)?;
    let launch_context = LaunchContext {
        profile: &profile,
        work: &work,
        inherited: &context.inherited,
        pass: &config.agents.pass_env,
        identity: identity.as_ref(),
        own_program: context.exe.clone(),
        talk: talk(&attempt, &profile, &config)?,
    };
    let resumes = matches!(launch_context.talk, Conversation::Resume(_));
    let adapter = agents::adapter(profile.adapter);
    let launch = adapter.launch(&launch_context).map_err(unusable)?;
    let brief = prompt_inputs::write(context, handle, agent, &attempt).map_err(other)?;
    let mut files = match (resumes, brief.next) {
        (true, Some(next)) => vec![
            (PROMPT, next.into_bytes()),
            (CONVERSATION, brief.prompt.into_bytes()),
        ],
        _ => vec![(PROMPT, brief.prompt.into_bytes())],
    };
    if let Some(recovery) = brief.recovery {
        files.push((
            RECOVERY,
            serde_json::to_vec_pretty(&recovery).map_err(other)?,
        ));
    }
    files.push((
        STARTED_AS,
        serde_json::to_vec_pretty(&launch.started).map_err(other)?,
    ));
    let args: Result<Vec<String>, _> = launch
        .args
        .into_iter()
        .map(std::ffi::OsString::into_string)
        .collect();
    let args =
        args.map_err(|arg| unusable(format!("an argument is not UTF-8: {}", arg.display())))?;
    let env = text_only(&launch.env);
    let program = process::resolve_program(&launch.program.to_string_lossy(), &env, &worktree)
        .map_err(unusable)?;
    let spec = RunSpec {
        id: run.to_string(),
        program: program.to_string_lossy().into_owned(),
        args,
        cwd: worktree,
        env,
        stdin: Some(PROMPT.to_owned()),
        timeout_ms: None,
        idle_ms: idle(profile.adapter, &config),
        grace_ms: GRACE_MS,
        max_output_bytes: Some(u64::from(config.agents.max_output_mib) * MIB),
        lease: Some(lease(context, &config)),
    };
    Ok((spec, files))
}

/// The conversation of an attempt's next run: its own goes on where it has one that is this
/// profile's.
fn talk(
    attempt: &Attempt,
    profile: &agents::Profile,
    config: &Config,
) -> Result<Conversation, Unusable> {
    let about = agents::adapter(profile.adapter).program_info();
    let resumes = config.completion.resume && about.is_none_or(|about| about.resumes);
    let own = attempt
        .session
        .as_deref()
        .filter(|session| resumes && session.profile.as_str() == profile.name);
    match own {
        Some(session) => Ok(Conversation::Resume(session.id.clone())),
        None => Ok(Conversation::New(fresh_session()?)),
    }
}

/// A name that no conversation has had.
fn fresh_session() -> Result<SessionId, Unusable> {
    uuid::Uuid::new_v4().to_string().parse().map_err(other)
}

/// How long a run may go on without a daemon.
fn lease(context: &DriverContext, config: &Config) -> Lease {
    Lease {
        file: context.paths.lease(),
        ms: u64::from(config.agents.lease_minutes) * 60_000,
    }
}

/// How long an agent may be silent. Programs that swarm knows write while they work.
fn idle(adapter: AdapterKind, config: &Config) -> Option<u64> {
    let may_be_silent = matches!(adapter, AdapterKind::Command | AdapterKind::Demo);
    (!may_be_silent).then(|| u64::from(config.agents.idle_minutes) * 60_000)
}

/// The identity that git children get when none is configured.
fn missing_identity(context: &DriverContext) -> Result<Option<Identity>, Unusable> {
    let identity = context.repo.identity().map_err(other)?;
    Ok((!identity.configured).then_some(Identity {
        name: identity.name,
        email: identity.email,
    }))
}

/// Variables that are no UTF-8 cannot be written to the specification; they are left out.
pub(crate) fn text_only(env: &Environment) -> std::collections::BTreeMap<String, String> {
    env.iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect()
}

fn gate(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    agent: &AgentId,
    command: &str,
) -> Result<Prepared, Unusable> {
    let attempt = handle
        .read(|state| state.agents.get(agent).cloned())
        .ok_or_else(|| ended(agent))?;
    let work = work_of(context, run, agent, &attempt);
    let cwd = context.paths.worktree(&attempt.worktree);
    Ok((check(context, run, command, cwd, &work)?, vec![]))
}

fn work_of(
    context: &DriverContext,
    run: &RunId,
    agent: &AgentId,
    attempt: &Attempt,
) -> WorkVariables {
    WorkVariables {
        prompt_file: PathBuf::new(),
        idea_id: attempt.idea.to_string(),
        agent: agent.to_string(),
        run_id: run.to_string(),
        attempt: attempt.number,
        iteration: attempt.iteration,
        worktree: context.paths.worktree(&attempt.worktree),
        branch: attempt.branch.clone(),
        repository: context.paths.root.clone(),
    }
}

fn verify(
    context: &DriverContext,
    run: &RunId,
    idea: &IdeaId,
    command: &str,
) -> Result<Prepared, Unusable> {
    let cwd = context.paths.worktree(git::MERGE);
    let work = WorkVariables {
        idea_id: idea.to_string(),
        run_id: run.to_string(),
        worktree: cwd.clone(),
        repository: context.paths.root.clone(),
        ..WorkVariables::default()
    };
    Ok((check(context, run, command, cwd, &work)?, vec![]))
}

/// A quality command: `sh -c` in the tree that it checks.
fn check(
    context: &DriverContext,
    run: &RunId,
    command: &str,
    cwd: PathBuf,
    work: &WorkVariables,
) -> Result<RunSpec, Unusable> {
    let args = vec!["-c".to_owned(), command.to_owned()];
    script(context, run, "/bin/sh".to_owned(), args, cwd, work)
}

/// Where a person can be told something; agents have no use for it.
const DESKTOP: &[&str] = &[
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// A hook's program, in the repository.
pub(crate) fn hook(
    context: &DriverContext,
    run: &RunId,
    program: &Path,
) -> Result<RunSpec, Unusable> {
    let work = WorkVariables {
        run_id: run.to_string(),
        repository: context.paths.root.clone(),
        ..WorkVariables::default()
    };
    let program = program.to_str().map(str::to_owned).ok_or_else(|| {
        unusable(format!(
            "its path is not UTF-8: {}",
            program.to_string_lossy()
        ))
    })?;
    let mut spec = script(
        context,
        run,
        program,
        vec![],
        context.paths.root.clone(),
        &work,
    )?;
    let desktop = DESKTOP
        .iter()
        .filter_map(|name| Some((*name, context.inherited.get(OsStr::new(name))?.to_str()?)));
    let desktop = desktop.map(|(name, value)| (name.to_owned(), value.to_owned()));
    spec.env.extend(desktop);
    spec.stdin = Some(hooks::STDIN.to_owned());
    spec.max_output_bytes = Some(hooks::OUTPUT_BYTES);
    Ok(spec)
}

/// A program of the project's own, or of a person's.
fn script(
    context: &DriverContext,
    run: &RunId,
    program: String,
    args: Vec<String>,
    cwd: PathBuf,
    work: &WorkVariables,
) -> Result<RunSpec, Unusable> {
    let config = context.config();
    let sources = Sources {
        inherited: context.inherited.clone(),
        pass: config.agents.pass_env.clone(),
        identity: missing_identity(context)?,
        profile: std::collections::BTreeMap::new(),
    };
    let mut env = text_only(&sources.environment(work));
    // What it has no use for is not there, rather than empty.
    env.retain(|name, value| !(name.starts_with("SWARM_") && (value.is_empty() || value == "0")));
    Ok(RunSpec {
        id: run.to_string(),
        program,
        args,
        cwd,
        env,
        stdin: None,
        timeout_ms: None,
        idle_ms: None,
        grace_ms: GRACE_MS,
        max_output_bytes: Some(u64::from(config.agents.max_output_mib) * MIB),
        lease: Some(lease(context, &config)),
    })
}

/// After an iteration: where its branch stands, if that can be told.
pub(crate) async fn head_after(
    context: &Arc<DriverContext>,
    handle: &Handle,
    purpose: &Purpose,
) -> Option<Oid> {
    let Purpose::Iteration { agent, .. } = purpose else {
        return None;
    };
    let of = |state: &State| Some(state.agents.get(agent)?.branch.clone());
    let branch = handle.read(of)?;
    let context = Arc::clone(context);
    let head = spawn_blocking(move || context.repo.branch_commit(&branch)).await;
    head.ok()?.ok()??.to_string().parse().ok()
}

/// Reads a text that may be absent.
pub(crate) fn optional(path: &Path) -> std::io::Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        other => other,
    }
}
