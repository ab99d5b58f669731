//! Specifies the process of an agent's iteration: program, arguments, environment, conversation and
//! prompt. Called by `launch`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::launch_record::{CONVERSATION, PROMPT, STARTED_AS};
use super::prepared::{Prepared, ended, other, unusable};
use super::prompt_inputs::{self, PromptInputs, RECOVERY};
use super::script::{GRACE_MS, MIB, attempt_variables, lease, missing_identity, text_only};
use super::shown_memory::{SHOWN_MEMORY, ShownMemory};
use crate::agents::adapter::{Conversation, Launch, LaunchContext, StartedAs};
use crate::agents::environment::WorkVariables;
use crate::agents::memory_server::MemoryServer;
use crate::agents::{self, AdapterKind, Profile};
use crate::config::Config;
use crate::daemon::actor::handle::Handle;
use crate::daemon::effects::context::DriverContext;
use crate::domain::ids::{AgentId, ProfileName, RunId};
use crate::domain::outcome::Failure;
use crate::domain::session::SessionId;
use crate::domain::state::Attempt;
use crate::process::{self, RunSpec};

/// The process of this iteration, and the files in its run's directory.
pub(super) fn agent_run(
    context: &DriverContext,
    handle: &Handle,
    run: &RunId,
    agent: &AgentId,
    iteration: u32,
    profile: &ProfileName,
) -> Result<Prepared, Failure> {
    let config = context.config();
    let profile = context.profile(profile).ok_or_else(|| {
        unusable(format!(
            "the agent profile `{profile}` is not in the configuration; check it: swarm \
            config check"
        ))
    })?;
    let attempt = handle
        .read(|state| state.agents.get(agent).cloned())
        .ok_or_else(|| ended(agent))?;
    let work = WorkVariables {
        prompt_file: context.paths.runs.join(run.as_str()).join(PROMPT),
        iteration,
        ..attempt_variables(context, run, agent, &attempt)
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
        memory: memory_server(context, run, agent, &profile, &config),
    };
    let resumes = matches!(launch_context.talk, Conversation::Resume(_));
    let adapter = agents::adapter(profile.adapter);
    let launch = adapter.launch(&launch_context).map_err(unusable)?;
    let inputs = prompt_inputs::gather(context, handle, agent, &attempt).map_err(other)?;
    let mut files = run_files(inputs, resumes, &launch.started).map_err(other)?;
    files.extend(launch.files.iter().cloned());
    let spec = RunSpec {
        idle_ms: idle(profile.adapter, &config),
        max_output_bytes: Some(u64::from(config.agents.max_output_mib) * MIB),
        lease: Some(lease(context, &config)),
        ..program_spec(run, launch, work.worktree)?
    };
    Ok((spec, files))
}

/// The server of the memory's tools for this run; `None` if the configuration wants none.
fn memory_server(
    context: &DriverContext,
    run: &RunId,
    agent: &AgentId,
    profile: &Profile,
    config: &Config,
) -> Option<MemoryServer> {
    if !config.agents.mcp {
        return None;
    }
    let folder = context.paths.runs.join(run.as_str());
    let root = &context.paths.root;
    let who = (agent.as_str(), profile.name.as_str());
    let server = MemoryServer::new(&context.exe, root, who, run.as_str(), folder);
    if server.is_none() {
        tracing::warn!(%run, "the agent gets no tools for the memory: a path is not UTF-8");
    }
    server
}

/// The prompt, what it would be without the conversation that is resumed, what the attempt before
/// left, and how the agent is started.
fn run_files(
    inputs: PromptInputs,
    resumes: bool,
    started: &StartedAs,
) -> serde_json::Result<Vec<(&'static str, Vec<u8>)>> {
    let next = inputs.next.filter(|_| resumes);
    let shown = match &next {
        Some(_) => ShownMemory::of(&inputs.recalled.next, false),
        None => ShownMemory::of(&inputs.recalled.whole, true),
    };
    let shown = shown.held(inputs.held);
    let whole = inputs.prompt.into_bytes();
    let mut files = match next {
        Some(next) => vec![(PROMPT, next.into_bytes()), (CONVERSATION, whole)],
        None => vec![(PROMPT, whole)],
    };
    files.push((SHOWN_MEMORY, serde_json::to_vec(&shown)?));
    if let Some(recovery) = inputs.recovery {
        files.push((RECOVERY, serde_json::to_vec_pretty(&recovery)?));
    }
    files.push((STARTED_AS, serde_json::to_vec_pretty(started)?));
    Ok(files)
}

/// The agent's program in its worktree, without the limits of the configuration.
fn program_spec(run: &RunId, launch: Launch, worktree: PathBuf) -> Result<RunSpec, Failure> {
    let not_text = |arg: OsString| unusable(format!("an argument is not UTF-8: {}", arg.display()));
    let args = launch.args.into_iter().map(OsString::into_string);
    let args: Result<Vec<String>, _> = args.collect();
    let args = args.map_err(not_text)?;
    let env = text_only(&launch.env);
    let program = process::resolve_program(&launch.program.to_string_lossy(), &env, &worktree)
        .map_err(unusable)?;
    Ok(RunSpec {
        id: run.to_string(),
        program: program.to_string_lossy().into_owned(),
        args,
        cwd: worktree,
        env,
        stdin: Some(PROMPT.to_owned()),
        timeout_ms: None,
        idle_ms: None,
        grace_ms: GRACE_MS,
        max_output_bytes: None,
        lease: None,
    })
}

/// The conversation of an attempt's next run: resumes its own if this profile started it.
fn talk(
    attempt: &Attempt,
    profile: &agents::Profile,
    config: &Config,
) -> Result<Conversation, Failure> {
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

/// An id that no conversation has had.
fn fresh_session() -> Result<SessionId, Failure> {
    uuid::Uuid::new_v4().to_string().parse().map_err(other)
}

/// How long an agent may be silent, in milliseconds; `None` if its program need not write while it
/// works.
fn idle(adapter: AdapterKind, config: &Config) -> Option<u64> {
    let may_be_silent = matches!(adapter, AdapterKind::Command | AdapterKind::Demo);
    (!may_be_silent).then(|| u64::from(config.agents.idle_minutes) * 60_000)
}
