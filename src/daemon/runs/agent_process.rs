//! Specifies the process of an agent's program: arguments, environment, conversation, and for an
//! iteration its prompt. Called by `launch` and `lone`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::launch::files_of;
use super::launch_record::{CONVERSATION, PROMPT, STARTED_AS};
use super::prepared::{Prepared, ended, other, unusable};
use super::prompt_inputs::{self, PromptInputs, RECOVERY};
use super::script::{GRACE_MS, MIB, attempt_variables, lease, missing_identity, text_only};
use super::shown_memory::{SHOWN_MEMORY, ShownMemory};
use crate::agents::adapter::{Conversation, Launch, LaunchContext, StartedAs};
use crate::agents::environment::WorkVariables;
use crate::agents::memory_server::MemoryServer;
use crate::agents::read_guard::GuardHook;
use crate::agents::{self, AdapterKind, Profile};
use crate::config::{Config, ReadGuard};
use crate::daemon::actor::handle::Handle;
use crate::daemon::agent_import::conversation;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::provenance::inputs::{INPUTS, RunInputs};
use crate::daemon::transfer::{self, Destination};
use crate::domain::ids::{AgentId, ProfileName, RunId};
use crate::domain::outcome::Failure;
use crate::domain::session::SessionId;
use crate::domain::state::Attempt;
use crate::domain::state::transfer::agent::ImportedConversation;
use crate::git::{self, TreeAt};
use crate::process::{self, RunSpec};
use crate::view::provenance::record::TreeState;

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
    let profile = self::profile(context, profile)?;
    let attempt = handle
        .read(|state| state.agents.get(agent).cloned())
        .ok_or_else(|| ended(agent))?;
    let work = WorkVariables {
        prompt_file: context.paths.runs.join(run.as_str()).join(PROMPT),
        iteration,
        ..attempt_variables(context, run, agent, &attempt)
    };
    let talk = talk(&attempt, &profile, &config)?;
    let resumes = matches!(talk, Conversation::Resume(_));
    let before = files_before(context, &attempt, &config);
    let inputs = prompt_inputs::gather(context, handle, (agent, &attempt), before.as_ref());
    let inputs = inputs.map_err(other)?;
    let program = Program {
        profile: &profile,
        work: &work,
        talk,
        agent: agent.as_str(),
        // Without the conversation, the agent has read nothing yet.
        told: if resumes { &inputs.changed } else { &[] },
    };
    let (spec, launched) = program.specify(context, run, &config)?;
    if let (true, Some(records)) = (resumes, &launched.started.records) {
        place_imported(context, &attempt, &profile, &work.worktree, records);
    }
    let given = inputs.given.clone();
    let mut files = run_files(inputs, resumes, &launched.started).map_err(other)?;
    let before = before.map(TreeState::from);
    let inputs = RunInputs::new(given, &profile.name, &config, &spec.env, before);
    files.push((INPUTS, serde_json::to_vec(&inputs).map_err(other)?));
    files.extend(launched.files);
    Ok((spec, files))
}

/// The worktree as the iteration finds it. A new one of which nobody has used a file is its commit.
fn files_before(context: &DriverContext, attempt: &Attempt, config: &Config) -> Option<TreeAt> {
    let is_new = attempt.iteration == 1 && attempt.kept.is_none();
    let head = attempt
        .head
        .as_ref()
        .filter(|_| is_new && config.worktree.setup.is_empty());
    match head.and_then(|head| git::Oid::from_str(head.as_str()).ok()) {
        Some(commit) => Some(TreeAt {
            commit,
            tree: commit,
        }),
        None => files_of(context, &attempt.worktree),
    }
}

/// Gives the program a conversation that came with an imported archive or agent.
fn place_imported(
    context: &DriverContext,
    attempt: &Attempt,
    profile: &Profile,
    worktree: &Path,
    records: &Path,
) {
    let Some(session) = &attempt.session else {
        return;
    };
    let to = Destination {
        adapter: profile.adapter,
        records,
        worktree,
        session: &session.id,
    };
    conversation::place(&context.paths, attempt, &to);
    if let Some(kept) = &attempt.kept {
        transfer::place_imported(&context.paths, &kept.worktree.agent, &to);
    }
}

/// The configured profile of this name.
pub(super) fn profile(context: &DriverContext, profile: &ProfileName) -> Result<Profile, Failure> {
    context.profile(profile).ok_or_else(|| {
        unusable(format!(
            "the agent profile `{profile}` is not in the configuration; check it: swarm \
            config check"
        ))
    })
}

/// An agent's program and what it is started for.
pub(super) struct Program<'a> {
    pub(super) profile: &'a Profile,
    pub(super) work: &'a WorkVariables,
    pub(super) talk: Conversation,
    /// Name of the agent for the memory's tools.
    pub(super) agent: &'a str,
    /// Files that changed since it read them, as its prompt says.
    pub(super) told: &'a [String],
}

/// What must be kept of how a program is started.
pub(super) struct Launched {
    pub(super) started: StartedAs,
    /// Further files of the run's directory.
    pub(super) files: Vec<(&'static str, Vec<u8>)>,
}

impl Program<'_> {
    /// Its process, with the limits of the configuration.
    pub(super) fn specify(
        self,
        context: &DriverContext,
        run: &RunId,
        config: &Config,
    ) -> Result<(RunSpec, Launched), Failure> {
        let profile = self.profile;
        let identity = missing_identity(context)?;
        let inherited = context.for_worktrees();
        let launch_context = LaunchContext {
            profile,
            work: self.work,
            inherited: &inherited,
            pass: &config.agents.pass_env,
            identity: identity.as_ref(),
            own_program: context.exe.clone(),
            talk: self.talk,
            memory: memory_server(context, run, self.agent, profile, config),
            guard: guard_hook(context, run, self.work, self.told, config),
        };
        let adapter = agents::adapter(profile.adapter);
        let mut launch = adapter.launch(&launch_context).map_err(unusable)?;
        let launched = Launched {
            started: StartedAs {
                profile: Some(profile.name.clone()),
                ..launch.started.clone()
            },
            files: std::mem::take(&mut launch.files),
        };
        let spec = RunSpec {
            idle_ms: idle(profile.adapter, config),
            max_output_bytes: Some(u64::from(config.agents.max_output_mib) * MIB),
            lease: Some(lease(context, config)),
            ..program_spec(run, launch, self.work.worktree.clone())?
        };
        Ok((spec, launched))
    }
}

/// The server of the memory's tools for this run; `None` if the configuration wants none.
fn memory_server(
    context: &DriverContext,
    run: &RunId,
    agent: &str,
    profile: &Profile,
    config: &Config,
) -> Option<MemoryServer> {
    if !config.agents.mcp {
        return None;
    }
    let folder = context.paths.runs.join(run.as_str());
    let root = &context.paths.root;
    let who = (agent, profile.name.as_str());
    let server = MemoryServer::new(&context.exe, root, who, run.as_str(), folder);
    if server.is_none() {
        tracing::warn!(%run, "the agent gets no tools for the memory: a path is not UTF-8");
    }
    server
}

/// The hook that has told files read again; `None` if there are none, or the configuration wants
/// none.
fn guard_hook(
    context: &DriverContext,
    run: &RunId,
    work: &WorkVariables,
    told: &[String],
    config: &Config,
) -> Option<GuardHook> {
    match config.agents.read_guard {
        ReadGuard::Tell => return None,
        ReadGuard::Block if told.is_empty() => return None,
        ReadGuard::Block => {}
    }
    let folder = context.paths.runs.join(run.as_str());
    let hook = GuardHook::new(&context.exe, &folder, &work.worktree, told.to_vec());
    if hook.is_none() {
        tracing::warn!(%run, "the agent may change files that it has not read again: a path is \
            not UTF-8");
    }
    hook
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
    // A profile's program may have changed since the import.
    let is_of_other = |it: &ImportedConversation| it.adapter != profile.adapter.name();
    let own = own.filter(|_| !conversation::of_attempt(attempt).is_some_and(is_of_other));
    match own {
        Some(session) => Ok(Conversation::Resume(session.id.clone())),
        None => Ok(Conversation::New(fresh_session()?)),
    }
}

/// An id that no conversation has had.
pub(super) fn fresh_session() -> Result<SessionId, Failure> {
    uuid::Uuid::new_v4().to_string().parse().map_err(other)
}

/// How long an agent may be silent, in milliseconds; `None` if its program need not write while it
/// works.
fn idle(adapter: AdapterKind, config: &Config) -> Option<u64> {
    let may_be_silent = matches!(adapter, AdapterKind::Command | AdapterKind::Demo);
    (!may_be_silent).then(|| u64::from(config.agents.idle_minutes) * 60_000)
}
