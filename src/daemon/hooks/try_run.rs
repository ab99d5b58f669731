//! Runs a hook with sample data as a daemon would, for `swarm hooks run`.
//!
//! Invariant: the run's directory is temporary, and the hook ends soon after this process does.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc;

use super::permission::{approved_in, check_permission};
use super::{NotRun, catalogue, limits};
use crate::config::Config;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::error::DaemonError;
use crate::daemon::files::config_loader::Loader;
use crate::daemon::files::paths::Paths;
use crate::daemon::lifecycle::signals::{self, Request};
use crate::daemon::runs::run;
use crate::daemon::runs::script::{self, HOOK_STDIN};
use crate::domain::hook::HookName;
use crate::domain::ids::RunId;
use crate::domain::outcome::Failure;
use crate::domain::state::State;
use crate::git::{GitError, Repo};
use crate::process::{Launched, RunDir, Stop};
use crate::{hooks, process};

/// Bytes shown of the end of each output.
const SHOWN: usize = 64 * 1024;
/// How long the hook may go on if this process is killed.
const ALONE: Duration = Duration::from_secs(1);

/// The result of a trial run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// The hook's name.
    pub hook: HookName,
    /// Its program.
    pub program: String,
    /// How it ended, in words.
    pub how: String,
    /// Whether it succeeded.
    pub well: bool,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}

/// Calls a hook with sample data, as a daemon would, in a directory of its own that goes
/// afterwards. `variables` come on top; a `SWARM_*` of the sample is replaced in both its forms.
///
/// # Errors
/// There is no such hook, or it may not run; or it cannot be run.
pub fn try_out(
    paths: &Paths,
    state: &State,
    hook: HookName,
    variables: &[(String, String)],
) -> Result<Tried, TryError> {
    let config = Loader::new(paths).load().map_err(TryError::daemon)?;
    let repo = Repo::open(&paths.root)?;
    let there = catalogue(&repo, &config, state)?;
    let entry = there.entries.get(&hook).ok_or(TryError::Unknown(hook))?;
    let approved = approved_in(state, hook);
    let program = check_permission(&repo, &there.changes, approved, hook, entry)?;
    let facts = sample_facts(hook, &repo, &config, variables)?;
    let invocation = hooks::invocation(hook, state.seq, &paths.root.to_string_lossy(), &facts);
    let exe = std::env::current_exe()?;
    let timeout_ms = limits(config.hooks.get(&hook)).timeout_ms;
    let context = DriverContext::new(paths.clone(), repo, exe, config);
    let run = RunId::numbered(0, hook.as_str());
    let mut spec = script::hook(&context, &run, &program, None)?;
    spec.env.extend(invocation.variables);
    spec.env.extend(variables.iter().cloned());
    spec.timeout_ms = u64::try_from(timeout_ms).ok();
    let place = tempfile::tempdir()?;
    // If this process is killed, the hook must not run on unattended.
    let file = place.path().join("lease");
    let _here = process::hold(&file)?;
    spec.lease = Some(process::Lease {
        file,
        ms: ALONE.as_millis().try_into().unwrap_or(u64::MAX),
    });
    let asked = signals::receive_signals()?;
    let dir = process::prepare(place.path(), &spec, &[(HOOK_STDIN, &invocation.stdin)])?;
    let launched = process::launch(&dir, &context.exe)?;
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build()?;
    let (end, interrupted) = runtime.block_on(waited(&dir, launched, asked))?;
    if interrupted {
        return Err(TryError::Interrupted(hook));
    }
    let (how, well) = match end {
        process::RunEnd::Lost => ("its runner was killed".to_owned(), false),
        process::RunEnd::Exited(record) => run::describe_exit(record),
    };
    let end_of = |file: &Path| process::tail(file, SHOWN).unwrap_or_default();
    Ok(Tried {
        hook,
        program: entry.program.clone(),
        how,
        well,
        stdout: end_of(&dir.stdout()),
        stderr: end_of(&dir.stderr()),
    })
}

/// What a call would be told here, with `variables` in the place of the sample's.
fn sample_facts(
    hook: HookName,
    repo: &Repo,
    config: &Config,
    variables: &[(String, String)],
) -> Result<BTreeMap<String, String>, GitError> {
    let mut facts = hooks::sample(hook);
    let target = match &config.target {
        Some(target) => Some(target.clone()),
        None => repo.head_branch()?,
    };
    as_here(&mut facts, repo, target.as_deref())?;
    for (name, value) in variables {
        let fact = name.strip_prefix("SWARM_");
        if let Some(known) = fact.and_then(|fact| facts.get_mut(fact)) {
            known.clone_from(value);
        }
    }
    Ok(facts)
}

/// The sample names the target and a commit of this repository, so that a hook that looks at them,
/// as it will, finds something.
fn as_here(
    facts: &mut BTreeMap<String, String>,
    repo: &Repo,
    target: Option<&str>,
) -> Result<(), GitError> {
    let Some(target) = target else {
        return Ok(());
    };
    if let Some(fact) = facts.get_mut("TARGET") {
        target.clone_into(fact);
    }
    if let (Some(fact), Some(commit)) = (facts.get_mut("COMMIT_HASH"), repo.branch_commit(target)?)
    {
        *fact = commit.to_string();
    }
    Ok(())
}

/// Its end, and whether somebody did not want to wait for it: a signal ends it, a second one at
/// once.
async fn waited(
    dir: &RunDir,
    launched: Launched,
    mut asked: mpsc::UnboundedReceiver<Request>,
) -> Result<(process::RunEnd, bool), process::ProcessError> {
    let mut end = pin!(process::wait(dir, Some(launched)));
    let mut how = None;
    loop {
        tokio::select! {
            end = &mut end => return Ok((end?, how.is_some())),
            Some(asked) = asked.recv() => {
                let next = match (asked, how) {
                    (Request::Reload, _) => continue,
                    (_, None) => Stop::Graceful,
                    (_, Some(_)) => Stop::Now,
                };
                process::stop(dir, next)?;
                how = Some(next);
            }
        }
    }
}

/// Why a hook could not be run with sample data.
#[derive(Debug, thiserror::Error)]
pub enum TryError {
    /// No program is configured for it.
    #[error(
        "there is no hook {0}: neither `hooks.{0}` in .swarm/config.json nor the file \
        .swarm/hooks/{0}.sh exists"
    )]
    Unknown(HookName),
    /// It may not run.
    #[error(transparent)]
    NotRun(#[from] NotRun),
    /// The configuration is invalid.
    #[error("{0}")]
    Daemon(Box<DaemonError>),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Interrupted by a signal.
    #[error("the hook {0} was interrupted")]
    Interrupted(HookName),
    /// No process can be specified for it.
    #[error("{0}")]
    Unusable(String),
    /// It cannot be started or followed.
    #[error(transparent)]
    Process(#[from] process::ProcessError),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl TryError {
    pub(super) fn daemon(error: DaemonError) -> Self {
        Self::Daemon(Box::new(error))
    }
}

impl From<Failure> for TryError {
    fn from(error: Failure) -> Self {
        Self::Unusable(error.to_string())
    }
}
