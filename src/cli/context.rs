//! What every command is given.

use std::path::PathBuf;

use jiff::tz::TimeZone;

use super::access::remote::Daemon;
use super::access::{Access, with_access};
use super::args::global::Global;
use super::error::CliError;
use super::output::Output;
use super::output::final_flush::FinalFlush;
use super::repo::Repo;

/// The global options and the streams.
pub struct Context {
    /// The global options.
    pub global: Global,
    /// Where to write.
    pub output: Output,
    /// The local time zone.
    pub zone: TimeZone,
    /// How long what is left to be said may take, when all else is done.
    pub last_words: Option<FinalFlush>,
}

impl Context {
    /// The folder to begin at.
    pub fn start_folder(&self) -> Result<PathBuf, CliError> {
        match &self.global.repo {
            Some(folder) => Ok(folder.clone()),
            None => std::env::current_dir()
                .map_err(|error| CliError::io("find the current folder", &error)),
        }
    }

    /// The repository.
    pub fn repo(&self) -> Result<Repo, CliError> {
        Repo::find(&self.start_folder()?)
    }

    /// Does `work` by the daemon or, without one, by the files.
    pub fn with_access<T>(
        &self,
        work: impl FnMut(&mut Access) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        with_access(&self.repo()?, work)
    }

    /// The daemon; without one the command cannot do its work.
    pub fn daemon(&self) -> Result<Daemon, CliError> {
        Daemon::connect(&self.repo()?)?.ok_or_else(CliError::no_daemon)
    }
}
