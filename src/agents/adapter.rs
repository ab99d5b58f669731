//! The interface to one kind of agent program: how to start it, resume a conversation with it, and
//! read its output.
//!
//! Invariant: an adapter is stateless and only describes. The prompt always goes to standard input.
//! A reader depends on the bytes alone, however they are split: reading an output again yields the
//! same text at the same offsets.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Profile;
use super::conversation::{PlaceError, Placement};
use super::environment::{Environment, Sources, WorkVariables, set};
use super::memory_server::MemoryServer;
use super::read_guard::GuardHook;
use super::stream::{Conclusion, OutputReader};
use crate::config::Adapter as Kind;
use crate::domain::session::SessionId;
use crate::domain::usage::Usage;

/// A kind of agent program.
pub trait Adapter: Send + Sync {
    /// The process to start for one iteration.
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError>;

    /// A reader for one run's standard output, fed from its first byte.
    fn reader(&self, started: &StartedAs) -> Box<dyn OutputReader + Send>;

    /// The program it is for; `None` means whatever the profile names.
    fn program_info(&self) -> Option<&'static ProgramInfo> {
        None
    }

    /// Variables of the daemon's environment that only this program inherits: its settings and
    /// logins. A name that ends in `*` is a prefix.
    fn passes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the program is logged in, given the environment it will get; `None` if the program
    /// is unknown.
    fn login(&self, profile: &Profile, environment: &Environment) -> Option<Login> {
        let _ = profile;
        self.program_info().map(|about| (about.login)(environment))
    }

    /// What the program reports about its usage during a run.
    fn meanwhile(&self) -> UsageReporting {
        UsageReporting::Nothing
    }

    /// What the program reports about its usage at the end of a run.
    fn at_end(&self) -> UsageReporting;

    /// Completes the conclusion from a run's output with what only the program's own records say.
    ///
    /// # Errors
    /// The records exist but cannot be read.
    fn amend(&self, started: &StartedAs, concluded: &mut Conclusion) -> io::Result<()> {
        let _ = (started, concluded);
        Ok(())
    }

    /// Directory of the program's own records under this environment; `None` if swarm knows none.
    fn records(&self, environment: &Environment) -> Option<PathBuf> {
        let _ = environment;
        None
    }

    /// The file in which the program keeps a conversation, below its records; `None` if it is not
    /// there or swarm cannot read it.
    ///
    /// # Errors
    /// The records exist but cannot be read.
    fn conversation_file(
        &self,
        records: &Path,
        session: &SessionId,
        worktree: &Path,
    ) -> io::Result<Option<PathBuf>> {
        let _ = (records, session, worktree);
        Ok(None)
    }

    /// Whether the program gives the file of this conversation this name, without folders.
    fn names_conversation(&self, _name: &str, _session: &SessionId) -> bool {
        false
    }

    /// What the conversation in this file has used, if the program counts that there and goes on
    /// counting from it.
    ///
    /// # Errors
    /// The file cannot be read.
    fn usage_in(&self, _conversation: &Path) -> io::Result<Option<Usage>> {
        Ok(None)
    }

    /// Copies a conversation's file to where the program looks for it in another worktree; returns
    /// the path of the copy. To call it again is no error.
    ///
    /// # Errors
    /// See [`PlaceError`].
    fn place_conversation(
        &self,
        records: &Path,
        conversation: &mut Placement<'_>,
    ) -> Result<PathBuf, PlaceError> {
        let _ = (records, conversation);
        Err(PlaceError::NotPortable)
    }
}

/// Facts about a program that swarm knows.
#[derive(Debug)]
pub struct ProgramInfo {
    /// Name for people.
    pub title: &'static str,
    /// Name of the executable.
    pub program: &'static str,
    /// Command that installs it.
    pub install: &'static str,
    /// Oldest version whose output the adapter can read.
    pub oldest: (u32, u32, u32),
    /// Arguments refused in a profile's `args`, because the adapter passes them itself or they
    /// would change the output. Each also covers its form with a value (`--model=x`).
    pub owned: &'static [&'static str],
    /// What the adapter's arguments permit the agent to do, for people.
    pub permits: &'static str,
    /// How to log in, for people.
    pub log_in: &'static str,
    /// Checks for a login in the given environment, without reading a secret.
    pub login: fn(&Environment) -> Login,
    /// Whether a conversation can be resumed.
    pub resumes: bool,
}

/// What a program reports about its usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageReporting {
    /// Nothing.
    Nothing,
    /// Tokens.
    Tokens,
    /// The cost, if the program knows it.
    Cost,
    /// Tokens, and the cost if the program knows it.
    Both,
}

/// Whether a program is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// Logged in by this variable name or file path. Never contains the secret itself.
    By(String),
    /// No trace of a login in these places.
    Missing(String),
    /// Cannot be determined from outside.
    Unknown,
}

/// Launch record of a run (`agent.json`): what a later reader must know to parse its output the
/// same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedAs {
    /// The adapter that parses the output.
    pub adapter: Kind,
    /// The profile, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The conversation that was named or resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Whether the conversation was resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// Directory of the program's own records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<PathBuf>,
}

impl StartedAs {
    /// A run whose output is plain text.
    pub fn plain() -> Self {
        Self::new(Kind::Command)
    }

    /// A run of `adapter` about which nothing else is known.
    pub fn new(adapter: Kind) -> Self {
        Self {
            adapter,
            profile: None,
            model: None,
            session: None,
            resumed: false,
            records: None,
        }
    }
}

/// The conversation of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversation {
    /// A new conversation, with this name (a UUID) if the program accepts one.
    New(SessionId),
    /// Resume this one. The run's prompt contains only what is new.
    Resume(SessionId),
}

/// Everything a launch depends on.
#[derive(Debug)]
pub struct LaunchContext<'a> {
    /// The agent's profile.
    pub profile: &'a Profile,
    /// The work; its paths are absolute.
    pub work: &'a WorkVariables,
    /// The daemon's environment (`std::env::vars_os`).
    pub inherited: &'a Environment,
    /// `agents.passEnv`.
    pub pass: &'a [String],
    /// Identity for git if none is configured.
    pub identity: Option<&'a super::environment::Identity>,
    /// Path of this program.
    pub own_program: PathBuf,
    /// The conversation to start or resume.
    pub talk: Conversation,
    /// Server of the memory's tools; `None` if agents get none.
    pub memory: Option<MemoryServer>,
    /// The hook that has told files read again; `None` if there are none or nobody wants it.
    pub guard: Option<GuardHook>,
}

/// A process to start in the worktree, with the prompt on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// A path, or a bare name to look up in the `PATH` of `env`.
    pub program: PathBuf,
    /// Arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Complete environment.
    pub env: Environment,
    /// The launch record.
    pub started: StartedAs,
    /// Further files of the run's directory, by name.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// Whether the program is told of the server of the memory's tools.
    pub has_memory_tools: bool,
    /// Whether the program is told of the hook that has told files read again.
    pub has_read_guard: bool,
}

/// Why a profile cannot be launched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum AdapterError {
    /// The profile names no program.
    #[error(
        "the profile `{profile}` names no program; set `agents.profiles.{profile}.command`, \
         for example [\"python3\", \"agent.py\"]"
    )]
    NoCommand { profile: String },
    /// The adapter passes this argument itself, or could not read the output with it.
    #[error(
        "the profile `{profile}` passes `{arg}`, which the adapter `{adapter}` does not allow; \
         remove it from `agents.profiles.{profile}.args`"
    )]
    Owned {
        profile: String,
        arg: String,
        adapter: String,
    },
    /// The system cannot start a process with this program, argument or variable.
    #[error(
        "the profile `{profile}` cannot start: {what} contains a NUL byte, is empty or has `=` \
         in its name; fix it in `agents.profiles.{profile}`"
    )]
    Unusable { profile: String, what: String },
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

    /// The program and its leading arguments: those in `command`, else the program's usual name.
    pub fn program(&self, about: &ProgramInfo) -> (PathBuf, Vec<OsString>) {
        match self.profile.command.split_first() {
            Some((program, first)) => (
                program_path(program, &self.work.repository),
                first.iter().map(Into::into).collect(),
            ),
            None => (about.program.into(), vec![]),
        }
    }

    /// The profile's own arguments.
    ///
    /// # Errors
    /// One of them belongs to the adapter.
    pub fn own_args(&self, about: &ProgramInfo) -> Result<Vec<OsString>, AdapterError> {
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

    /// Whether the profile's arguments contain one of these options.
    pub fn says(&self, options: &[&str]) -> bool {
        let mut args = self.profile.args.iter();
        args.any(|arg| options.iter().any(|option| is_option(arg, option)))
    }

    /// A launch of `program` in this context.
    ///
    /// # Errors
    /// The system cannot start such a process.
    pub fn launch(&self, program: PathBuf, args: Vec<OsString>) -> Result<Launch, AdapterError> {
        let env = self.environment();
        let mut started = StartedAs::new(self.profile.adapter);
        started.model.clone_from(&self.profile.model);
        if let Conversation::Resume(session) = &self.talk {
            started.session = Some(session.clone());
            started.resumed = true;
        }
        let launch = Launch {
            program,
            args,
            env,
            started,
            files: vec![],
            has_memory_tools: false,
            has_read_guard: false,
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

impl ProgramInfo {
    /// Whether an argument is one of `owned`, alone or with its value.
    pub fn owns(&self, arg: &str) -> bool {
        self.owned.iter().any(|owned| is_option(arg, owned))
    }
}

/// Whether an argument is this option, alone or with its value attached (`--model=x`, `-mx`).
pub fn is_option(arg: &str, option: &str) -> bool {
    let name = arg.split_once('=').map_or(arg, |(name, _)| name);
    let short = option.len() == 2 && option.starts_with('-') && option != "--";
    name == option || short && arg.starts_with(option)
}

/// Resolves a relative path with a `/` from the repository's root, not the worktree. A bare name is
/// left to `PATH`.
pub fn program_path(program: &str, repository: &Path) -> PathBuf {
    if program.contains('/') {
        repository.join(program)
    } else {
        program.into()
    }
}

impl Login {
    /// A login by the first of these variables that is set.
    pub fn by_variable(environment: &Environment, names: &[&str]) -> Option<Self> {
        let mut names = names.iter();
        let name = names.find(|name| set(environment, name).is_some())?;
        Some(Self::By((*name).to_owned()))
    }
}

impl Launch {
    /// Sets a variable unless it is set already.
    pub fn unless_set(&mut self, name: &str, value: &str) {
        let entry = self.env.entry(name.into());
        entry.or_insert_with(|| value.into());
    }

    /// Adds the file that names the server of the memory's tools.
    pub fn add_memory_file(&mut self, name: &'static str, content: &serde_json::Value) {
        self.files.push((name, content.to_string().into_bytes()));
        self.has_memory_tools = true;
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
