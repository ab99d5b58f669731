//! `swarm service`: has the system's service manager run the daemon.
//!
//! Invariant: it overwrites and removes only service files that swarm wrote, and edited ones only
//! with `--force`. Nothing is started or stopped without `--now`.

mod file;
mod launchd;
mod login;
mod manager;
mod systemd;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::stop;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::host::own_program;
use crate::cli::output::Output;
use file::{Found, Removed};

/// The longest part of a repository's name in the name of its service.
const MAX_NAME: usize = 40;

/// The commands about the service.
#[derive(Debug, Subcommand)]
pub enum Service {
    /// Write the service file that runs the daemon: a systemd user unit, or a launchd agent on
    /// macOS.
    Install(Install),
    /// Remove the service file.
    Uninstall(Uninstall),
    /// What the service manager runs to end the daemon.
    #[command(hide = true)]
    End(End),
}

/// `service install`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm service install
  $ swarm service install --dry-run
  $ swarm service install --now")]
pub struct Install {
    /// Print the file and write nothing.
    #[arg(long, conflicts_with_all = ["now", "force"])]
    pub dry_run: bool,
    /// Also enable and start the service.
    #[arg(long)]
    pub now: bool,
    /// Overwrite the file even if it was edited.
    #[arg(long)]
    pub force: bool,
    /// For which service manager.
    #[arg(long, hide = true, value_name = "MANAGER")]
    pub format: Option<Format>,
}

/// `service uninstall`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm service uninstall
  $ swarm service uninstall --now")]
pub struct Uninstall {
    /// Stop the service first; the daemon stops gracefully.
    #[arg(long)]
    pub now: bool,
    /// Remove the file even if it was edited.
    #[arg(long)]
    pub force: bool,
    /// For which service manager.
    #[arg(long, hide = true, value_name = "MANAGER")]
    pub format: Option<Format>,
}

/// `service end`. On a restart it stops only the daemon, and the next one adopts its agents.
#[derive(Debug, Args)]
pub struct End {
    /// The service manager's name for the service.
    #[arg(value_name = "UNIT")]
    pub unit: String,
}

/// A service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// systemd, as a user unit.
    Systemd,
    /// launchd, as a user agent.
    Launchd,
}

impl Format {
    const fn of_this_system() -> Self {
        if cfg!(target_os = "macos") {
            Self::Launchd
        } else {
            Self::Systemd
        }
    }
}

/// The daemon of one repository as a service.
struct Plan {
    format: Format,
    /// The repository's folder name, with only characters that are safe in file names.
    name: String,
    /// A hash of the repository's path.
    hash: String,
    root: PathBuf,
    program: PathBuf,
    /// The user's `PATH`; without it neither the agents nor git are found.
    search_path: OsString,
    file: PathBuf,
}

/// Runs the command.
pub fn run(verb: &Service, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Service::Install(args) => install(args, context),
        Service::Uninstall(args) => uninstall(args, context),
        Service::End(End { unit }) => end(unit, context),
    }
}

fn install(args: &Install, context: &mut Context) -> Result<(), CliError> {
    let plan = Plan::new(args.format, context)?;
    let body = plan.body()?;
    let whole = file::sealed(plan.format, &body);
    if args.dry_run {
        return show(&plan, &whole, &mut context.output);
    }
    let found = file::inspect_file(plan.format, &plan.file)?;
    match found {
        Found::Foreign => return Err(foreign(&plan.file)),
        Found::Edited if !args.force => return Err(edited(&plan, "install")),
        Found::Nothing | Found::Same(_) | Found::Edited => {}
    }
    let is_new = found != Found::Same(whole.clone());
    if is_new {
        file::write(&plan.file, &whole)?;
    }
    let commands = plan.commands_to_start();
    if args.now {
        manager::run(&commands).map_err(|error| {
            error
                .details(format!("{} was written anyway", plan.file.display()))
                .hint("or undo the installation: swarm service uninstall")
        })?;
    }
    let warnings = login::left_behind(&context.repo()?);
    let told = Installed {
        plan: &plan,
        is_new,
        now: args.now,
        commands: &commands,
        warnings: &warnings,
    };
    told.tell(&mut context.output)
}

fn uninstall(args: &Uninstall, context: &mut Context) -> Result<(), CliError> {
    let plan = Plan::new(args.format, context)?;
    match file::inspect_file(plan.format, &plan.file)? {
        Found::Foreign => return Err(foreign(&plan.file)),
        Found::Edited if !args.force => return Err(edited(&plan, "uninstall")),
        Found::Nothing => {
            return tell_removed(&plan, Removed::Nothing, &[], &mut context.output);
        }
        Found::Edited | Found::Same(_) => {}
    }
    if args.now {
        manager::run(&plan.commands_to_stop())?;
    }
    let removed = file::remove(&plan.file)?;
    let after = plan.commands_after();
    if args.now {
        manager::run(&after)?;
    }
    let left = if args.now { vec![] } else { plan.left_to_do() };
    tell_removed(&plan, removed, &left, &mut context.output)
}

fn end(unit: &str, context: &mut Context) -> Result<(), CliError> {
    let keep_agents = match systemd::is_restarting(unit) {
        Ok(is_restarting) => is_restarting,
        Err(error) => {
            let words = "cannot tell whether this is a restart, so the agents are stopped too";
            context.output.note(format!("{words}: {error}"));
            false
        }
    };
    let how = stop::Stop {
        keep_agents,
        now: false,
    };
    stop::run(&how, context)
}

fn show(plan: &Plan, whole: &str, output: &mut Output) -> Result<(), CliError> {
    if output.json {
        return output.document(&json!({ "file": plan.file, "content": whole }));
    }
    output.note(format!("would write {}:", plan.file.display()));
    output.raw(whole)
}

/// The result of an installation.
struct Installed<'a> {
    plan: &'a Plan,
    is_new: bool,
    now: bool,
    commands: &'a [Vec<String>],
    warnings: &'a [String],
}

impl Installed<'_> {
    fn tell(&self, output: &mut Output) -> Result<(), CliError> {
        let plan = self.plan;
        let lines: Vec<String> = self
            .commands
            .iter()
            .map(|words| manager::line(words))
            .collect();
        let linger = (plan.format == Format::Systemd).then_some("loginctl enable-linger");
        if output.json {
            let to_type = if self.now { &[][..] } else { &lines };
            let next: Vec<&str> = to_type.iter().map(String::as_str).chain(linger).collect();
            return output.document(&json!({
                "file": plan.file,
                "written": self.is_new,
                "started": self.now,
                "next": next,
                "warnings": self.warnings,
            }));
        }
        let what = if self.is_new { "wrote" } else { "up to date:" };
        output.note(format!("{what} {}", plan.file.display()));
        if self.now {
            output.note("the service is enabled and started");
        } else {
            output.note("to enable and start it:");
            for line in &lines {
                output.note(format!("  {line}"));
            }
        }
        if let Some(linger) = linger {
            output.note("to keep it running while you are logged out:");
            output.note(format!("  {linger}"));
        }
        for warning in self.warnings {
            output.note(format!("warning: {warning}"));
            output.next_step(plan.to_give_it());
        }
        Ok(())
    }
}

fn tell_removed(
    plan: &Plan,
    removed: Removed,
    left: &[Vec<String>],
    output: &mut Output,
) -> Result<(), CliError> {
    let lines: Vec<String> = left.iter().map(|words| manager::line(words)).collect();
    if output.json {
        let removed = removed == Removed::File;
        return output.document(&json!({ "file": plan.file, "removed": removed, "next": lines }));
    }
    if removed == Removed::Nothing {
        output.note(format!(
            "nothing to remove: there is no {}",
            plan.file.display()
        ));
        return Ok(());
    }
    output.note(format!("removed {}", plan.file.display()));
    if !lines.is_empty() {
        output.note("if the service is still running, stop it gracefully:");
        for line in lines {
            output.note(format!("  {line}"));
        }
    }
    Ok(())
}

fn foreign(path: &Path) -> CliError {
    CliError::refused(format!("{} was not written by swarm", path.display()))
        .hint("if you do not need it, move it away, then run the same command again")
}

fn edited(plan: &Plan, verb: &str) -> CliError {
    let path = plan.file.display();
    let lost = format!("discard the changes: swarm service {verb} --force");
    let error = CliError::refused(format!("{path} was edited after swarm wrote it")).hint(lost);
    match plan.format {
        Format::Systemd => error.hint(format!(
            "or first move them into an override file: systemctl --user edit {}",
            plan.service()
        )),
        // launchd has no override files.
        Format::Launchd => error,
    }
}

impl Plan {
    /// Advice on how to give the service a variable.
    fn to_give_it(&self) -> String {
        match self.format {
            Format::Systemd => format!(
                "add it as Environment= under [Service]: systemctl --user edit {}",
                self.service()
            ),
            Format::Launchd => {
                "log in without a variable, or set it in the profile's env".to_owned()
            }
        }
    }

    fn new(format: Option<Format>, context: &Context) -> Result<Self, CliError> {
        let repo = context.repo()?;
        let format = format.unwrap_or(Format::of_this_system());
        let root = repo.root().to_owned();
        let mut hash = file::hex(root.as_os_str().as_encoded_bytes());
        hash.truncate(8);
        let name = file_name(&root);
        let file = match format {
            Format::Systemd => systemd::folder()?.join(format!("swarm-{name}-{hash}.service")),
            Format::Launchd => launchd::folder()?.join(format!("swarm.{name}.{hash}.plist")),
        };
        Ok(Self {
            format,
            name,
            hash,
            root,
            program: own_program()?,
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            file,
        })
    }

    /// The file's content, without the first line, which says who wrote it.
    fn body(&self) -> Result<String, CliError> {
        match self.format {
            Format::Systemd => systemd::unit(self),
            Format::Launchd => launchd::agent(self),
        }
    }

    /// The service manager's name for it.
    fn service(&self) -> String {
        match self.format {
            Format::Systemd => format!("swarm-{}-{}.service", self.name, self.hash),
            Format::Launchd => format!("swarm.{}.{}", self.name, self.hash),
        }
    }

    fn commands_to_start(&self) -> Vec<Vec<String>> {
        match self.format {
            Format::Systemd => systemd::commands_to_start(&self.service()),
            Format::Launchd => launchd::commands_to_start(&self.file),
        }
    }

    fn commands_to_stop(&self) -> Vec<Vec<String>> {
        match self.format {
            Format::Systemd => systemd::commands_to_stop(&self.service()),
            Format::Launchd => launchd::commands_to_stop(&self.service()),
        }
    }

    /// The commands to run after the file was removed.
    fn commands_after(&self) -> Vec<Vec<String>> {
        match self.format {
            Format::Systemd => systemd::commands_after(),
            Format::Launchd => vec![],
        }
    }

    /// The commands for the person when the file is gone and the service may still be running.
    fn left_to_do(&self) -> Vec<Vec<String>> {
        match self.format {
            Format::Systemd => systemd::left_to_do(&self.service()),
            Format::Launchd => launchd::commands_to_stop(&self.service()),
        }
    }
}

/// The folder's name, with only characters that are safe in file and service names.
fn file_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(plain).take(MAX_NAME).collect();
    let name = name.trim_matches('-');
    if name.is_empty() {
        return "repository".to_owned();
    }
    name.to_owned()
}

/// The path as UTF-8 text: service files cannot contain anything else.
fn utf8<'p>(path: &'p Path, what: &str) -> Result<&'p str, CliError> {
    path.to_str().ok_or_else(|| {
        CliError::refused(format!(
            "{what} is not UTF-8, so a service file cannot contain it: {}",
            path.display()
        ))
        .hint("use a UTF-8 path, or write the service file yourself")
    })
}

/// The folder that a variable names; `None` unless it is an absolute path.
fn folder_of(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable).map(PathBuf::from);
    value.filter(|path| path.is_absolute())
}

fn home() -> Result<PathBuf, CliError> {
    folder_of("HOME").ok_or_else(|| {
        CliError::refused("HOME is not set to an absolute path, so your service folder is unknown")
            .hint("set HOME, then run the same command again")
    })
}
