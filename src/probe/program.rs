//! The hidden program `swarm __probe FOLDER`, which the daemon runs as it runs a check: probes the
//! quality commands of the task in the folder, and leaves the report there.
//!
//! Invariant: the report appears whole, by one rename. Commands get this process's environment.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::namespace;
use super::probe::{Site, Step, run};
use super::report::Report;

/// The program's name.
pub const PROBE: &str = "__probe";
/// The task's file in the folder of the run.
pub const TASK: &str = "probe.json";
/// The report's file there.
const REPORT: &str = "report.json";

/// Commands and where they run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Where they run.
    pub site: Site,
    /// The quality commands.
    pub commands: Vec<String>,
}

/// Runs a hidden subcommand; `None` for any other command line. Call it first in `main`, before
/// anything starts a thread.
pub fn hidden_program(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let args: Vec<OsString> = args.into_iter().collect();
    match args.as_slice() {
        [_, name, folder] if name == PROBE => Some(probe(&PathBuf::from(folder))),
        _ => namespace::hidden_program(args),
    }
}

/// The report that a probe left in the folder of its run.
pub fn read_report(folder: &Path) -> Option<Report> {
    serde_json::from_slice(&fs::read(folder.join(REPORT)).ok()?).ok()
}

fn probe(folder: &Path) -> ExitCode {
    match probe_in(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn probe_in(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut task: Task = serde_json::from_slice(&fs::read(folder.join(TASK))?)?;
    let env = std::env::vars_os();
    let env =
        env.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    task.site.env = env.collect();
    // The daemon ends this process to stop it.
    let stop = AtomicBool::new(false);
    let mut tell = |step: Step<'_>| println!("{}: {}", step.command, step.how);
    let report = run(&task.site, &task.commands, &stop, &mut tell)?;
    write(&folder.join(REPORT), &report)?;
    Ok(())
}

fn write(file: &Path, report: &Report) -> io::Result<()> {
    let folder = file.parent().unwrap_or(file);
    let new = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&new, report)?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}
