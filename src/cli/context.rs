//! The context of a command: global options and streams.

use std::path::PathBuf;

use jiff::tz::TimeZone;

use super::access::remote::Daemon;
use super::access::{Access, Past, with_access_then};
use super::args::at::At;
use super::args::global::Global;
use super::clock;
use super::error::CliError;
use super::event_log::read_point;
use super::output::Output;
use super::output::final_flush::FinalFlush;
use super::repo::Repo;
use crate::domain::time::Timestamp;

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
    /// The earlier point that the command shows (`--at`).
    pub past: Option<Past>,
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

    /// Does `work` through the daemon or, without one, through the files. An earlier point is read
    /// from the files, with and without a daemon.
    pub fn with_access<T>(
        &self,
        work: impl FnMut(&mut Access) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        with_access_then(&self.repo()?, self.past.as_ref(), work)
    }

    /// Has the command show the point that was typed, if one was.
    ///
    /// # Errors
    /// The text is no point, or the log has no such point.
    pub fn look_back(&mut self, at: &At) -> Result<(), CliError> {
        if let Some(text) = &at.at {
            let point = read_point(text, &self.zone, clock::now())?;
            let past = Past::read(&self.repo()?.paths(), point)?;
            if !self.output.json {
                let then = past.describe(&self.zone);
                self.output.note(format!("as of {then}"));
            }
            self.past = Some(past);
        }
        Ok(())
    }

    /// The time that ages count to: now, or the time of the point that is shown.
    pub fn now(&self) -> Timestamp {
        self.past.as_ref().map_or_else(clock::now, Past::time)
    }

    /// The daemon.
    ///
    /// # Errors
    /// No daemon is running (exit code 3).
    pub fn daemon(&self) -> Result<Daemon, CliError> {
        Daemon::connect(&self.repo()?)?.ok_or_else(CliError::no_daemon)
    }
}
