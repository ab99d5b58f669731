//! What swarm needs to know about a kind of agent program: how to start it, and where in its output its messages are.
//!
//! Invariant: an adapter is stateless and only describes; the prompt always goes on standard input. A reader depends on the bytes
//! alone, from the first on, however they are split: reading an output again gives the same text at the same offsets.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::Profile;
use super::environment::{Environment, Sources, WorkVariables};

/// A kind of agent program.
pub trait Adapter: Send + Sync {
    /// The process to start for one iteration.
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError>;

    /// A reader for one run's standard output, to be fed from its first byte.
    fn reader(&self) -> Box<dyn OutputReader + Send>;
}

/// Turns the raw standard output of one run into the text of the agent's messages, for the signal scanner.
pub trait OutputReader {
    /// Takes the next raw bytes and appends to `text` what they add to the messages.
    fn push(&mut self, raw: &[u8], text: &mut Vec<u8>);

    /// The output has ended; appends what was held back.
    fn finish(&mut self, text: &mut Vec<u8>);
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
        sources.environment(self.work)
    }

    /// A launch of `program` in this context, if the system can start such a process at all.
    pub fn launch(&self, program: PathBuf, args: Vec<OsString>) -> Result<Launch, AdapterError> {
        let env = self.environment();
        let launch = Launch { program, args, env };
        match launch.flaw() {
            None => Ok(launch),
            Some(what) => Err(AdapterError::Unusable {
                profile: self.profile.name.clone(),
                what,
            }),
        }
    }
}

impl Launch {
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
