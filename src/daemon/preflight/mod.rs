//! Checks of the agents' programs before any idea is given to them.
//!
//! `version` probes a program's version, `commits` tries the identity and the signature of swarm's
//! own commits, `agent_script` finds scripts that worktrees lack,
//! `quality_commands` finds missing check programs, `budget` finds budgets without effect,
//! `kept_variables` finds variables that point into the checkout, and `webhook` variables that are
//! not set. Called by `swarm start`, `doctor` and `init`.
//! Invariant: nothing is started but `PROGRAM --version`. No secret is read: of a login, only its
//! place is shown. What is uncertain becomes a doubt, and a doubt never prevents a start.

mod agent_script;
mod budget;
mod commits;
mod kept_variables;
mod quality_commands;
mod version;
mod webhook;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;

use super::error::DaemonError;
use super::files::paths::Paths;
use super::files::settings;
use super::runs::script::text_only;
use crate::agents::adapter::{
    Adapter, AdapterError, Conversation, Launch, LaunchContext, Login, ProgramInfo, program_path,
};
use crate::agents::checkout_variables::{ForWorktrees, for_worktrees};
use crate::agents::environment::{Environment, WorkVariables};
use crate::agents::memory_server::MemoryServer;
use crate::agents::read_guard::GuardHook;
use crate::agents::{self, AdapterKind, Profile};
use crate::config::Config;
use crate::git::Repo;
use crate::plain_file::{self, ScriptFault};
use crate::process::{self, ProcessError};

pub use agent_script::TargetTree;
pub use budget::{UncountedProfile, uncounted};
pub(in crate::daemon) use commits::leftovers_pass_hooks;
pub use commits::{CommitNote, commit_notes};
pub use kept_variables::KeptFromWorktrees;
pub use quality_commands::UnusableCommand;
pub use webhook::{WEBHOOK_ADVICE, webhook_problem};

/// The branch that work lands on: the configured one, or else the one that is checked out.
///
/// # Errors
/// There is none, or the configured one does not exist.
pub(in crate::daemon) fn existing_target(
    config: &Config,
    repo: &Repo,
) -> Result<String, DaemonError> {
    let head = repo.head_branch()?;
    let target = config.target.clone().or(head);
    let target = target.ok_or(DaemonError::NoTarget)?;
    if repo.target_exists(&target)? {
        Ok(target)
    } else {
        Err(DaemonError::TargetMissing(target))
    }
}

/// The branch that work lands on, once it is certain that swarm can commit there.
///
/// # Errors
/// As for [`existing_target`], and what keeps a commit from being made.
pub(in crate::daemon) fn landing_target(
    config: &Config,
    repo: &Repo,
) -> Result<String, DaemonError> {
    let target = existing_target(config, repo)?;
    commits::check_commits(config, repo)?;
    Ok(target)
}

/// Checks that there is a branch to land work on.
///
/// # Errors
/// As for [`existing_target`].
pub fn check_target(config: &Config, paths: &Paths) -> Result<(), DaemonError> {
    existing_target(config, &Repo::open(&paths.root)?).map(drop)
}

/// The directory and environment in which agents would be started.
#[derive(Debug)]
pub struct Preflight<'a> {
    /// The repository's main work tree.
    pub root: &'a Path,
    /// The daemon's environment, or the one that a daemon would have.
    pub inherited: &'a Environment,
    /// `agents.passEnv`.
    pub pass: &'a [String],
    /// What a worktree contains; `None` where that is unknown or does not matter.
    pub target: Option<&'a TargetTree<'a>>,
}

/// What is known of a profile after checking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The profile's name.
    pub profile: String,
    /// Its adapter.
    pub adapter: AdapterKind,
    /// General facts about its program; `None` for a program that swarm does not know.
    pub about: Option<Known>,
    /// The path of its program, if it was found.
    pub program: Option<PathBuf>,
    /// Its version, if swarm knows the program and it reports one.
    pub version: Option<String>,
    /// Whether its agents get the tools of the memory, if the configuration allows it.
    pub has_memory_tools: bool,
    /// Whether its agents get the hook of `agents.readGuard`, if the configuration wants it.
    pub has_read_guard: bool,
    /// Whether it is logged in; `None` if swarm cannot tell for this program.
    pub login: Option<Login>,
    /// What prevents it from running.
    pub faults: Vec<Fault>,
    /// What could not be determined.
    pub doubts: Vec<String>,
}

/// Facts about a program that need no check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name, for people.
    pub title: &'static str,
    /// What its standard arguments permit it to do.
    pub permits: &'static str,
}

/// Something that prevents a profile from running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// A profile that sets nothing but its adapter.
pub fn plain(adapter: AdapterKind) -> Profile {
    Profile {
        name: adapter.name().to_owned(),
        adapter,
        model: None,
        account: None,
        command: vec![],
        args: vec![],
        env: BTreeMap::new(),
    }
}

/// The configured profile of this name, for the adapters.
pub fn profile(config: &Config, name: &str) -> Option<Profile> {
    settings::profile(config, &name.parse().ok()?)
}

impl Preflight<'_> {
    /// Checks several profiles in parallel; returns them in the same order.
    pub fn inspect_all(&self, profiles: &[Profile]) -> Vec<Seen> {
        thread::scope(|scope| {
            let spawn = |profile| scope.spawn(move || self.inspect(profile));
            let threads: Vec<_> = profiles.iter().map(spawn).collect();
            let inspected = threads.into_iter().zip(profiles);
            inspected
                .map(|(thread, profile)| thread.join().unwrap_or_else(|_| not_inspected(profile)))
                .collect()
        })
    }

    /// Checks one profile.
    pub fn inspect(&self, profile: &Profile) -> Seen {
        let mut seen = Seen::unknown(profile);
        let adapter = agents::adapter(profile.adapter);
        seen.about = adapter.program_info().map(Known::of);
        if let Some(launch) = self.launch(adapter, profile, &mut seen) {
            seen.has_memory_tools = launch.has_memory_tools;
            seen.has_read_guard = launch.has_read_guard;
            self.inspect_program(adapter, profile, &launch, &mut seen);
            inspect_login(adapter, profile, &launch.env, &mut seen);
            self.inspect_script(profile, &mut seen);
        }
        seen
    }

    /// Whether the profile's program is logged in; `None` if it has no logins or cannot be started.
    pub fn login(&self, profile: &Profile) -> Option<Login> {
        let adapter = agents::adapter(profile.adapter);
        let launch = self.try_launch(adapter, profile).ok()?;
        adapter.login(profile, &launch.env)
    }

    /// The process of an iteration. If only a forbidden argument prevents it, the process without
    /// the profile's arguments.
    fn launch(&self, adapter: &dyn Adapter, profile: &Profile, seen: &mut Seen) -> Option<Launch> {
        let launched = self.try_launch(adapter, profile);
        let Err(error) = launched else {
            return launched.ok();
        };
        let without = matches!(error, AdapterError::Owned { .. }).then(|| Profile {
            args: vec![],
            ..profile.clone()
        });
        seen.fault(
            error.to_string(),
            "correct .swarm/config.json, then check again: swarm doctor",
        );
        self.try_launch(adapter, &without?).ok()
    }

    /// What agents and checks inherit, and what is kept from them.
    pub fn for_worktrees(&self) -> ForWorktrees {
        for_worktrees(self.inherited, self.pass, self.root)
    }

    fn try_launch(&self, adapter: &dyn Adapter, profile: &Profile) -> Result<Launch, AdapterError> {
        let work = WorkVariables {
            worktree: self.root.to_owned(),
            repository: self.root.to_owned(),
            ..WorkVariables::default()
        };
        let own_program = Path::new("/proc/self/exe");
        // The id of a conversation that does not exist.
        let conversation = uuid::Uuid::nil().to_string().parse().map(Conversation::New);
        adapter.launch(&LaunchContext {
            profile,
            work: &work,
            inherited: &self.for_worktrees().environment,
            pass: self.pass,
            identity: None,
            own_program: own_program.to_owned(),
            memory: MemoryServer::new(
                own_program,
                self.root,
                ("", &profile.name),
                "",
                self.root.to_owned(),
            ),
            guard: GuardHook::new(own_program, self.root, self.root, vec![]),
            talk: conversation.map_err(|_| AdapterError::Unusable {
                profile: profile.name.clone(),
                what: "the id of its conversation".to_owned(),
            })?,
        })
    }

    fn inspect_program(
        &self,
        adapter: &dyn Adapter,
        profile: &Profile,
        launch: &Launch,
        seen: &mut Seen,
    ) {
        let Some(program) = program_of(adapter, profile, self.root) else {
            // The scripted agent is part of this program.
            return;
        };
        let env = text_only(&launch.env);
        match process::resolve_program(&program.to_string_lossy(), &env, self.root) {
            Err(error) => seen
                .faults
                .push(missing(&error, adapter.program_info(), profile)),
            Ok(path) => {
                if let Some(ScriptFault { what, way_out }) =
                    plain_file::script_fault(&path, &path.to_string_lossy())
                {
                    seen.fault(what, way_out);
                } else if let Some(about) = adapter.program_info() {
                    let first = profile.command.get(1..).unwrap_or_default();
                    version::probe_version(about, &path, first, env, self.root, seen);
                }
                seen.program = Some(path);
            }
        }
    }
}

/// The agent's program; `None` if it is this program.
fn program_of(adapter: &dyn Adapter, profile: &Profile, root: &Path) -> Option<PathBuf> {
    if profile.adapter == AdapterKind::Demo {
        return None;
    }
    let named = profile.command.first();
    let usual = || adapter.program_info().map(|about| about.program.into());
    named
        .map(|program| program_path(program, root))
        .or_else(usual)
}

fn missing(error: &ProcessError, about: Option<&ProgramInfo>, profile: &Profile) -> Fault {
    let key = format!(
        "agents.profiles.{}.command in .swarm/config.json",
        profile.name
    );
    let what = if let ProcessError::ProgramMissing { program, searched } = error {
        if program.contains('/') {
            format!("program `{program}` does not exist")
        } else {
            format!("program `{program}` not found in {searched}")
        }
    } else if let ProcessError::NotExecutable(path) = error {
        format!("program `{}` is not an executable file", path.display())
    } else {
        error.to_string()
    };
    let advice = match about {
        Some(about) => format!("install it: {}; or set its path in {key}", about.install),
        None => format!("install it, or set another program in {key}"),
    };
    Fault { what, advice }
}

fn inspect_login(
    adapter: &dyn Adapter,
    profile: &Profile,
    environment: &Environment,
    seen: &mut Seen,
) {
    seen.login = adapter.login(profile, environment);
    let (Some(Login::Missing(places)), Some(about)) = (&seen.login, adapter.program_info()) else {
        return;
    };
    let what = format!(
        "{} is not logged in: found no login in {places}",
        about.title
    );
    let advice = format!(
        "{}; a variable must be set where you run `swarm start`, or in agents.profiles.{}.env",
        about.log_in, profile.name
    );
    seen.fault(what, advice);
}

fn not_inspected(profile: &Profile) -> Seen {
    let mut seen = Seen::unknown(profile);
    seen.doubts.push("the check itself failed".to_owned());
    seen
}

impl Known {
    fn of(about: &'static ProgramInfo) -> Self {
        Self {
            title: about.title,
            permits: about.permits,
        }
    }
}

impl Seen {
    fn unknown(profile: &Profile) -> Self {
        Self {
            profile: profile.name.clone(),
            adapter: profile.adapter,
            about: None,
            program: None,
            version: None,
            has_memory_tools: false,
            has_read_guard: false,
            login: None,
            faults: vec![],
            doubts: vec![],
        }
    }

    fn fault(&mut self, what: impl Into<String>, advice: impl Into<String>) {
        self.faults.push(Fault {
            what: what.into(),
            advice: advice.into(),
        });
    }

    /// Whether its program was found and nothing prevents it from running.
    pub fn is_fit(&self) -> bool {
        self.faults.is_empty()
    }

    /// Program, version and login as far as they are known: `/usr/bin/claude, version 2.1.4, logged
    /// in by ANTHROPIC_API_KEY`.
    pub fn summary(&self) -> String {
        let program = match &self.program {
            Some(path) => path.display().to_string(),
            None if self.adapter == AdapterKind::Demo => "swarm's scripted agent".to_owned(),
            None => "no program".to_owned(),
        };
        let version = self.version.iter().map(|it| format!("version {it}"));
        let login = self.login.iter().map(|login| match login {
            Login::By(place) => format!("logged in by {place}"),
            Login::Missing(_) => "not logged in".to_owned(),
            Login::Unknown => "login unknown".to_owned(),
        });
        let all: Vec<String> = std::iter::once(program)
            .chain(version)
            .chain(login)
            .collect();
        all.join(", ")
    }
}

#[cfg(test)]
mod tests;
