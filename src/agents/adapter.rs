//! What swarm needs to know about a kind of agent program: how to start it, how to take up a conversation with it, how to read its output.
//!
//! Invariant: an adapter is stateless and only describes; the prompt always goes on standard input. A reader depends on the bytes
//! alone, from the first on, however they are split: reading an output again gives the same text at the same offsets.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Profile;
use super::environment::{Environment, Sources, WorkVariables, set};
use super::stream::{Conclusion, OutputReader};
use crate::config::Adapter as Kind;
use crate::domain::session::SessionId;

/// A kind of agent program.
pub trait Adapter: Send + Sync {
    /// The process to start for one iteration.
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError>;

    /// A reader for one run's standard output, to be fed from its first byte.
    fn reader(&self, started: &StartedAs) -> Box<dyn OutputReader + Send>;

    /// The program that it is for; none: whatever the profile names.
    fn about(&self) -> Option<&'static About> {
        None
    }

    /// Variables of the daemon's own environment that its program gets beside those that every agent gets: settings and logins of this
    /// program, which no other agent sees. One that ends in `*` stands for all that begin so.
    fn passes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether there is a login for this profile, given the environment that its program gets; none: nothing is known of its program.
    fn login(&self, profile: &Profile, environment: &Environment) -> Option<Login> {
        let _ = profile;
        self.about().map(|about| (about.login)(environment))
    }

    /// What it tells of its use while a run goes on.
    fn meanwhile(&self) -> Told {
        Told::Nothing
    }

    /// What it tells of its use at the end of a run.
    fn at_end(&self) -> Told;

    /// Adds to what a run came to by its output what only the program's own records tell.
    ///
    /// # Errors
    /// The records are there and cannot be read.
    fn amend(&self, started: &StartedAs, concluded: &mut Conclusion) -> io::Result<()> {
        let _ = (started, concluded);
        Ok(())
    }
}

/// A program that swarm knows.
#[derive(Debug)]
pub struct About {
    /// What people call it.
    pub title: &'static str,
    /// The name that it is found by.
    pub program: &'static str,
    /// What installs it.
    pub install: &'static str,
    /// The oldest version that writes what the adapter reads.
    pub oldest: (u32, u32, u32),
    /// Arguments that the adapter gives itself, or that would change what it reads: refused in a profile's `args`. Each also stands for
    /// itself with a value (`--model=x`).
    pub owned: &'static [&'static str],
    /// What the arguments that it gets permit, in one plain sentence.
    pub permits: &'static str,
    /// What logs it in.
    pub log_in: &'static str,
    /// Whether there is a login, as far as can be seen without a secret being read: by the environment that it gets.
    pub login: fn(&Environment) -> Login,
    /// Whether a conversation can be taken up.
    pub resumes: bool,
}

/// What a program tells of its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing.
    Nothing,
    /// Tokens.
    Tokens,
    /// What it costs, where it knows that.
    Cost,
    /// Tokens, and what they cost, where it knows that.
    Both,
}

/// Whether a program is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// By this: the name of a variable, the path of a file. Never what it holds.
    By(String),
    /// No trace of one, at these places.
    Missing(String),
    /// It cannot be told from outside.
    Unknown,
}

/// How a run was started, kept with it (`agent.json`), so that whoever reads its output later reads it in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedAs {
    /// The adapter.
    pub adapter: Kind,
    /// The model that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The conversation that was given or taken up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Whether it was taken up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// Where the program keeps its own records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<PathBuf>,
}

impl StartedAs {
    /// A run whose program is read as plain text.
    pub fn plain() -> Self {
        Self::new(Kind::Command)
    }

    /// A run of this adapter, about which nothing else is known.
    pub fn new(adapter: Kind) -> Self {
        Self {
            adapter,
            model: None,
            session: None,
            resumed: false,
            records: None,
        }
    }
}

/// The conversation that a run is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Talk {
    /// A new one; where the program takes a name, this one (a UUID).
    New(SessionId),
    /// This one goes on. The run's prompt is only what is new.
    Resume(SessionId),
}

/// What a launch depends on.
#[derive(Debug)]
pub struct LaunchContext<'a> {
    /// The agent's profile.
    pub profile: &'a Profile,
    /// The work, with its repository and worktree (absolute paths).
    pub work: &'a WorkVariables,
    /// The daemon's environment (`std::env::vars_os`).
    pub inherited: &'a Environment,
    /// `agents.passEnv`.
    pub pass: &'a [String],
    /// For git, where no identity is configured.
    pub identity: Option<&'a super::environment::Identity>,
    /// The path of this very program.
    pub own_program: PathBuf,
    /// The conversation.
    pub talk: Talk,
}

/// A process to start, in the worktree, with the prompt on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// A path, or a plain name to be found by the `PATH` of `env`.
    pub program: PathBuf,
    /// Its arguments, without its own name.
    pub args: Vec<OsString>,
    /// Its complete environment.
    pub env: Environment,
    /// How it was started.
    pub started: StartedAs,
}

/// A profile that no process can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// No program is named.
    #[error(
        "the profile `{profile}` names no program; set `command` in `agents.profiles.{profile}`, for example [\"python3\", \"agent.py\"]"
    )]
    NoCommand {
        /// The profile's name.
        profile: String,
    },
    /// An argument that the adapter gives itself.
    #[error(
        "the profile `{profile}` passes `{arg}` in `args`, which belongs to the adapter `{adapter}`; take it out of `agents.profiles.{profile}.args`"
    )]
    Owned {
        /// The profile's name.
        profile: String,
        /// The argument.
        arg: String,
        /// The adapter's name.
        adapter: String,
    },
    /// A program, argument or variable that no process can have.
    #[error(
        "the profile `{profile}` cannot be started: {what} holds a NUL byte, is empty or has `=` in its name; mend it in `agents.profiles.{profile}`"
    )]
    Unusable {
        /// The profile's name.
        profile: String,
        /// Which part of the launch.
        what: String,
    },
}

impl LaunchContext<'_> {
    /// The environment of the process.
    pub fn environment(&self) -> Environment {
        let sources = Sources {
            inherited: self.inherited.clone(),
            pass: self.pass.to_vec(),
            identity: self.identity.cloned(),
            profile: self.profile.env.clone(),
        };
        let known = super::adapter(self.profile.adapter).passes();
        sources.environment_with(self.work, known)
    }

    /// The program of a known kind, and what goes before all other arguments: what `command` names, else what is found by its usual name.
    pub fn program(&self, about: &About) -> (PathBuf, Vec<OsString>) {
        match self.profile.command.split_first() {
            Some((program, first)) => (
                program_path(program, &self.work.repository),
                first.iter().map(Into::into).collect(),
            ),
            None => (about.program.into(), vec![]),
        }
    }

    /// The profile's own arguments, where none of them is the adapter's.
    pub fn own_args(&self, about: &About) -> Result<Vec<OsString>, AdapterError> {
        let profile = self.profile;
        let owned = profile.args.iter().find(|arg| about.owns(arg));
        match owned {
            Some(arg) => Err(AdapterError::Owned {
                profile: profile.name.clone(),
                arg: arg.clone(),
                adapter: profile.adapter.name().to_owned(),
            }),
            None => Ok(profile.args.iter().map(Into::into).collect()),
        }
    }

    /// Whether one of the profile's own arguments is one of these options.
    pub fn says(&self, options: &[&str]) -> bool {
        let mut args = self.profile.args.iter();
        args.any(|arg| options.iter().any(|option| is_option(arg, option)))
    }

    /// A launch of `program` in this context, if the system can start such a process at all.
    pub fn launch(&self, program: PathBuf, args: Vec<OsString>) -> Result<Launch, AdapterError> {
        let env = self.environment();
        let mut started = StartedAs::new(self.profile.adapter);
        started.model.clone_from(&self.profile.model);
        if let Talk::Resume(session) = &self.talk {
            started.session = Some(session.clone());
            started.resumed = true;
        }
        let launch = Launch {
            program,
            args,
            env,
            started,
        };
        match launch.flaw() {
            None => Ok(launch),
            Some(what) => Err(AdapterError::Unusable {
                profile: self.profile.name.clone(),
                what,
            }),
        }
    }
}

impl About {
    /// Whether an argument is the adapter's: it is one of `owned`, or one of them with its value.
    pub fn owns(&self, arg: &str) -> bool {
        self.owned.iter().any(|owned| is_option(arg, owned))
    }
}

/// Whether an argument is this option, alone or with its value in the same argument (`--model=x`, `-mx`).
pub fn is_option(arg: &str, option: &str) -> bool {
    let name = arg.split_once('=').map_or(arg, |(name, _)| name);
    let short = option.len() == 2 && option.starts_with('-') && option != "--";
    name == option || short && arg.starts_with(option)
}

/// A relative path with a `/` is meant from the repository's root, whatever the worktree holds of it; a plain name is looked up
/// by `PATH`.
pub fn program_path(program: &str, repository: &Path) -> PathBuf {
    if program.contains('/') {
        repository.join(program)
    } else {
        program.into()
    }
}

impl Login {
    /// By the first of these variables that is set.
    pub fn by_variable(environment: &Environment, names: &[&str]) -> Option<Self> {
        let mut names = names.iter();
        let name = names.find(|name| set(environment, name).is_some())?;
        Some(Self::By((*name).to_owned()))
    }
}

impl Launch {
    /// A variable that it gets where nobody said anything else.
    pub fn unless_set(&mut self, name: &str, value: &str) {
        let entry = self.env.entry(name.into());
        entry.or_insert_with(|| value.into());
    }

    fn flaw(&self) -> Option<String> {
        if self.program.as_os_str().is_empty() || has_nul(self.program.as_os_str()) {
            return Some("the program".to_owned());
        }
        if self.args.iter().any(|arg| has_nul(arg)) {
            return Some("an argument".to_owned());
        }
        let unusable = |name: &OsStr| {
            name.is_empty() || has_nul(name) || name.as_encoded_bytes().contains(&b'=')
        };
        let mut variables = self.env.iter();
        variables
            .find(|(name, value)| unusable(name) || has_nul(value))
            .map(|(name, _)| format!("the variable {}", name.display()))
    }
}

fn has_nul(text: &OsStr) -> bool {
    text.as_encoded_bytes().contains(&0)
}
