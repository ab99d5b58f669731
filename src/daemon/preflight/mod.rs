//! A look at the agents' programs, and at those of the quality commands, as they would be started,
//! before any idea is given to them: for `swarm start`, `doctor` and `init` alike.
//!
//! Invariant: only looks, but for `PROGRAM --version`, of which nothing is left. No secret is read:
//! of a login only its place is told. What cannot be told for certain is a doubt, and a doubt keeps
//! nothing from starting.

mod budget;
mod quality_commands;
mod version;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;

use super::files::settings;
use super::runs::script::text_only;
use crate::agents::adapter::{
    Adapter, AdapterError, Conversation, Launch, LaunchContext, Login, ProgramInfo, program_path,
};
use crate::agents::environment::{Environment, WorkVariables};
use crate::agents::{self, AdapterKind, Profile};
use crate::config::Config;
use crate::process::{self, ProcessError};

pub use budget::{UncountedProfile, unseen};
pub use quality_commands::MissingProgram;

/// Where agents are started, and with what of whose environment.
#[derive(Debug)]
pub struct Preflight<'a> {
    /// The repository's main work tree.
    pub root: &'a Path,
    /// The daemon's environment, or what would be it.
    pub inherited: &'a Environment,
    /// `agents.passEnv`.
    pub pass: &'a [String],
}

/// What was seen of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The profile's name.
    pub profile: String,
    /// How its program is talked to.
    pub adapter: AdapterKind,
    /// What is known of its program.
    pub about: Option<Known>,
    /// Where its program is.
    pub program: Option<PathBuf>,
    /// Its version, where it is one that swarm knows and says it.
    pub version: Option<String>,
    /// Whether it is logged in, where that is known of its program.
    pub login: Option<Login>,
    /// What keeps it from working.
    pub faults: Vec<Fault>,
    /// What could not be told.
    pub doubts: Vec<String>,
}

/// What is known of a program before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// What people call it.
    pub title: &'static str,
    /// What the arguments that it gets permit.
    pub permits: &'static str,
}

/// Something that keeps a profile from working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What it is and why.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// A profile of this adapter that says nothing else.
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

/// The profile of this name, as the adapters know it; none: it is not configured.
pub fn profile(config: &Config, name: &str) -> Option<Profile> {
    settings::profile(config, &name.parse().ok()?)
}

impl Preflight<'_> {
    /// Looks at several at the same time, in their order.
    pub fn look_at_all(&self, profiles: &[Profile]) -> Vec<Seen> {
        thread::scope(|scope| {
            let look = |profile| scope.spawn(move || self.look_at(profile));
            let looks: Vec<_> = profiles.iter().map(look).collect();
            let seen = looks.into_iter().zip(profiles);
            seen.map(|(look, profile)| look.join().unwrap_or_else(|_| not_looked_at(profile)))
                .collect()
        })
    }

    /// Looks at one.
    pub fn look_at(&self, profile: &Profile) -> Seen {
        let mut seen = Seen::nothing_of(profile);
        let adapter = agents::adapter(profile.adapter);
        seen.about = adapter.program_info().map(Known::of);
        if let Some(launch) = self.launch(adapter, profile, &mut seen) {
            self.look_at_program(adapter, profile, &launch, &mut seen);
            look_at_login(adapter, profile, &launch.env, &mut seen);
        }
        seen
    }

    /// Whether the profile's program is logged in; none: it has no logins, or cannot be started.
    pub fn login(&self, profile: &Profile) -> Option<Login> {
        let adapter = agents::adapter(profile.adapter);
        let launch = self.try_launch(adapter, profile).ok()?;
        adapter.login(profile, &launch.env)
    }

    /// The process that an iteration would be, or where only an argument is wrong one without the
    /// profile's own.
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
            "mend it in .swarm/config.json, then look again: swarm doctor",
        );
        self.try_launch(adapter, &without?).ok()
    }

    fn try_launch(&self, adapter: &dyn Adapter, profile: &Profile) -> Result<Launch, AdapterError> {
        let work = WorkVariables {
            worktree: self.root.to_owned(),
            repository: self.root.to_owned(),
            ..WorkVariables::default()
        };
        // The name of a conversation that nobody has.
        let talk = uuid::Uuid::nil().to_string().parse().map(Conversation::New);
        adapter.launch(&LaunchContext {
            profile,
            work: &work,
            inherited: self.inherited,
            pass: self.pass,
            identity: None,
            own_program: PathBuf::from("/proc/self/exe"),
            talk: talk.map_err(|_| AdapterError::Unusable {
                profile: profile.name.clone(),
                what: "the name of its conversation".to_owned(),
            })?,
        })
    }

    fn look_at_program(
        &self,
        adapter: &dyn Adapter,
        profile: &Profile,
        launch: &Launch,
        seen: &mut Seen,
    ) {
        let Some(program) = wanted(adapter, profile, self.root) else {
            // The scripted agent is this very program.
            return;
        };
        let env = text_only(&launch.env);
        match process::resolve_program(&program.to_string_lossy(), &env, self.root) {
            Err(error) => seen
                .faults
                .push(missing(&error, adapter.program_info(), profile)),
            Ok(path) => {
                if let Some(about) = adapter.program_info() {
                    let first = profile.command.get(1..).unwrap_or_default();
                    version::probe_version(about, &path, first, env, self.root, seen);
                }
                seen.program = Some(path);
            }
        }
    }
}

/// The program that does the work; none: this very program.
fn wanted(adapter: &dyn Adapter, profile: &Profile, root: &Path) -> Option<PathBuf> {
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
        format!("program `{program}` not found in {searched}")
    } else if let ProcessError::NotExecutable(path) = error {
        format!("program `{}` is not an executable file", path.display())
    } else {
        error.to_string()
    };
    let advice = match about {
        Some(about) => format!("install it: {}; or name its program: {key}", about.install),
        None => format!("install it, or name another program: {key}"),
    };
    Fault { what, advice }
}

fn look_at_login(
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
        "{} is not logged in: there is no trace of a login in {places}",
        about.title
    );
    let advice = format!(
        "{}; a variable is seen where `swarm start` itself has it, or in agents.profiles.{}.env",
        about.log_in, profile.name
    );
    seen.fault(what, advice);
}

fn not_looked_at(profile: &Profile) -> Seen {
    let mut seen = Seen::nothing_of(profile);
    seen.doubts
        .push("it could not be looked at: the look failed".to_owned());
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
    fn nothing_of(profile: &Profile) -> Self {
        Self {
            profile: profile.name.clone(),
            adapter: profile.adapter,
            about: None,
            program: None,
            version: None,
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

    /// Whether its program is there and nothing keeps it from working.
    pub fn is_fit(&self) -> bool {
        self.faults.is_empty()
    }

    /// Program, version and login, as far as they are known: `/usr/bin/claude, version 2.1.4,
    /// logged in by ANTHROPIC_API_KEY`.
    pub fn summary(&self) -> String {
        let program = match &self.program {
            Some(path) => path.display().to_string(),
            None if self.adapter == AdapterKind::Demo => "the scripted agent of swarm".to_owned(),
            None => "no program".to_owned(),
        };
        let version = self.version.iter().map(|it| format!("version {it}"));
        let login = self.login.iter().map(|login| match login {
            Login::By(place) => format!("logged in by {place}"),
            Login::Missing(_) => "not logged in".to_owned(),
            Login::Unknown => "whether it is logged in cannot be seen".to_owned(),
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
