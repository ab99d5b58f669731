//! The context of a command: global options and streams.

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
    /// Limits how long the last messages may take.
    pub last_words: Option<FinalFlush>,
}

impl Context {
    /// The folder to start searching from.
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

    /// Does `work` through the daemon or, without one, through the files.
    pub fn with_access<T>(
        &self,
        work: impl FnMut(&mut Access) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        with_access(&self.repo()?, work)
    }

    /// The daemon.
    ///
    /// # Errors
    /// No daemon is running (exit code 3).
    pub fn daemon(&self) -> Result<Daemon, CliError> {
        Daemon::connect(&self.repo()?)?.ok_or_else(CliError::no_daemon)
    }
}
