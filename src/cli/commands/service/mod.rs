//! `swarm service`: has the system's service manager run the daemon.
//!
//! Invariant: only a file that this wrote is ever overwritten or removed, and one that was edited
//! since only with `--force`. Nothing is started or stopped without `--now`.

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
    /// Write the file by which the system's service manager runs the daemon: a systemd user unit,
    /// or a launchd agent on macOS.
    Install(Install),
    /// Remove that file.
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
    /// Only show the file.
    #[arg(long, conflicts_with_all = ["now", "force"])]
    pub dry_run: bool,
    /// Also have the service manager take it up and start it.
    #[arg(long)]
    pub now: bool,
    /// Overwrite the file although it was edited.
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
    /// Have the service manager stop it before; the daemon ends gracefully.
    #[arg(long)]
    pub now: bool,
    /// Remove the file although it was edited.
    #[arg(long)]
    pub force: bool,
    /// For which service manager.
    #[arg(long, hide = true, value_name = "MANAGER")]
    pub format: Option<Format>,
}

/// `service end`: at a restart only the daemon goes, and the one that follows adopts its agents.
#[derive(Debug, Args)]
pub struct End {
    /// What the service manager calls the service.
    #[arg(value_name = "UNIT")]
    pub unit: String,
}

/// A service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// systemd, the user's own instance.
    Systemd,
    /// launchd, as an agent of the user.
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
    /// The repository's folder, as far as it can stand in a file name.
    name: String,
    /// The same for each path, and different for different ones.
    hash: String,
    root: PathBuf,
    program: PathBuf,
    /// The user's `PATH`: without it neither the agents nor git are found.
    search_path: OsString,
    file: PathBuf,
}

/// Does it.
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
                .details(format!("{} is written all the same", plan.file.display()))
                .hint("or take that back: swarm service uninstall")
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
            let words = "whether this is a restart is not known, so the agents are ended, too";
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

/// What an installation has come to.
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
        let what = if self.is_new {
            "wrote"
        } else {
            "is there already:"
        };
        output.note(format!("{what} {}", plan.file.display()));
        if self.now {
            output.note("the service manager has taken it up and started it");
        } else {
            output.note("to have it run from now on:");
            for line in &lines {
                output.note(format!("  {line}"));
            }
        }
        if let Some(linger) = linger {
            output.note("to have it run also while you are not logged in:");
            output.note(format!("  {linger}"));
        }
        for warning in self.warnings {
            let advice = plan.to_give_it();
            output.note(format!("warning: {warning}; {advice}"));
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
        output.note(format!("there is no {}", plan.file.display()));
        return Ok(());
    }
    output.note(format!("removed {}", plan.file.display()));
    if !lines.is_empty() {
        output.note("if it runs, this ends it; what runs then ends gracefully:");
        for line in lines {
            output.note(format!("  {line}"));
        }
    }
    Ok(())
}

fn foreign(path: &Path) -> CliError {
    CliError::refused(format!("{} was not written by swarm", path.display()))
        .hint("look at it, and move it elsewhere if it is not needed")
}

fn edited(plan: &Plan, verb: &str) -> CliError {
    let path = plan.file.display();
    let lost = format!("to lose the changes: swarm service {verb} --force");
    let error = CliError::refused(format!("{path} was edited since swarm wrote it")).hint(lost);
    match plan.format {
        Format::Systemd => error.hint(format!(
            "to keep them apart from it: systemctl --user edit {}, then the same with --force",
            plan.service()
        )),
        // launchd knows no such thing.
        Format::Launchd => error,
    }
}

impl Plan {
    /// How the service gets a variable.
    fn to_give_it(&self) -> String {
        match self.format {
            Format::Systemd => format!(
                "give it that: systemctl --user edit {}, with Environment= in [Service]",
                self.service()
            ),
            Format::Launchd => {
                "log in once without a variable, or name it in the profile's env".to_owned()
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

    /// The file's content, without the line that says who wrote it.
    fn body(&self) -> Result<String, CliError> {
        match self.format {
            Format::Systemd => systemd::unit(self),
            Format::Launchd => launchd::agent(self),
        }
    }

    /// What the service manager calls it.
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

    /// When the file is gone.
    fn commands_after(&self) -> Vec<Vec<String>> {
        match self.format {
            Format::Systemd => systemd::commands_after(),
            Format::Launchd => vec![],
        }
    }

    /// What a person does when the file is gone and the service may still run.
    fn left_to_do(&self) -> Vec<Vec<String>> {
        match self.format {
            Format::Systemd => systemd::left_to_do(&self.service()),
            Format::Launchd => launchd::commands_to_stop(&self.service()),
        }
    }
}

/// What of a folder's name can stand in every file name and service name.
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

/// A text for a file that holds nothing but texts.
fn utf8<'p>(path: &'p Path, what: &str) -> Result<&'p str, CliError> {
    path.to_str().ok_or_else(|| {
        CliError::refused(format!(
            "{what} is not UTF-8, and the service manager's files cannot name it: {}",
            path.display()
        ))
        .hint("run swarm from a path that is, or write the service yourself")
    })
}

/// A variable that names a folder, absolute.
fn folder_of(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable).map(PathBuf::from);
    value.filter(|path| path.is_absolute())
}

fn home() -> Result<PathBuf, CliError> {
    folder_of("HOME").ok_or_else(|| {
        CliError::refused("HOME does not name a folder, so it is not known where your services lie")
    })
}
