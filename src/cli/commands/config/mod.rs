//! `swarm config`: shows, checks and changes the configuration.

mod values;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::confirm::agree;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::output::table::Rows;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::output::write_page;
use crate::cli::repo::Repo;
use crate::config::{self, ConfigError, Layered, Origin, Problem, schema};
use crate::daemon::files::trusted_config;
use crate::daemon::{Paths, owned_arguments, preflight};

/// The commands about the configuration.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show each value and where it comes from.
    Show(Show),
    /// Print one value.
    Get(values::Get),
    /// Set one value in a configuration file.
    Set(values::Set),
    /// Check the configuration and list every problem.
    Check(Check),
    /// Print the JSON Schema of `config.json`.
    Schema(Schema),
    /// Accept the programs that git's own configuration can run in this repository.
    TrustGit(TrustGit),
}

/// `config trust-git`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm config trust-git
  $ swarm config trust-git --yes")]
pub struct TrustGit {
    /// Accept without asking.
    #[arg(long, short)]
    pub yes: bool,
}

/// `config show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm config show")]
pub struct Show {}

/// `config check`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm config check")]
pub struct Check {}

/// `config schema`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm config schema > config.schema.json")]
pub struct Schema {}

/// Runs the command.
pub fn run(verb: &Config, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Config::Show(Show {}) => show(context),
        Config::Get(args) => values::get(args, context),
        Config::Set(args) => values::set(args, context),
        Config::Check(Check {}) => check(context),
        Config::Schema(Schema {}) => {
            let text = schema::schema_text();
            context.output.raw(&text)
        }
        Config::TrustGit(args) => trust_git(args, context),
    }
}

/// Shows what is new, asks, and accepts it.
fn trust_git(args: &TrustGit, context: &mut Context) -> Result<(), CliError> {
    let paths = Paths::new(context.repo()?.root());
    let new = trusted_config::unaccepted(&paths)?;
    for (key, value) in &new {
        context
            .output
            .note(format!("  {} = {}", safe(key), safe(value)));
    }
    if !new.is_empty() {
        agree(context, args.yes, "Let git run these for swarm?")?;
    }
    trusted_config::accept(&paths, &new)?;
    if context.output.json {
        let each = new.iter();
        let each = each.map(|(key, value)| json!({ "key": key, "value": value }));
        let accepted: Vec<_> = each.collect();
        return context.output.document(&json!({ "accepted": accepted }));
    }
    context.output.note(match new.len() {
        0 => "nothing to accept: git's configuration runs no new programs",
        _ => "accepted; a running daemon uses it after its next start",
    });
    Ok(())
}

/// The effective configuration.
pub(super) fn load(repo: &Repo) -> Result<Layered, CliError> {
    let loaded = config::load(&repo.folder(), config::environment(), vec![]);
    loaded.map_err(|error| wrong(&error))
}

fn wrong(error: &ConfigError) -> CliError {
    let message = match error.problems.len() {
        1 => "the configuration has 1 problem".to_owned(),
        count => format!("the configuration has {count} problems"),
    };
    CliError::refused(message)
        .details(listed(&error.problems))
        .hint(format!(
            "fix {}, then check again: swarm config check",
            file_of(error)
        ))
        .code("CONFIG_INVALID")
}

/// The file to correct first.
fn file_of(error: &ConfigError) -> &str {
    let own = error
        .problems
        .iter()
        .find_map(|problem| match &problem.origin {
            Origin::User(file) => Some(file.as_str()),
            Origin::Default
            | Origin::Shared
            | Origin::Local
            | Origin::Environment(_)
            | Origin::Flag(_) => None,
        });
    own.unwrap_or(".swarm/config.json")
}

/// Refuses arguments of profiles that only their adapter may set.
fn owned(layered: &Layered) -> Result<(), CliError> {
    let problems = owned_arguments(layered);
    if problems.is_empty() {
        return Ok(());
    }
    Err(wrong(&ConfigError { problems }))
}

fn listed(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    lines.join("\n")
}

/// The configuration is valid, but agents cannot run with it.
pub(super) fn not_ready(problems: &[Problem]) -> CliError {
    CliError::new(
        Kind::AgentUnusable,
        "no agent can run with this configuration",
    )
    .details(listed(problems))
    .hint("fix .swarm/config.json, then check again: swarm config check")
}

fn show(context: &mut Context) -> Result<(), CliError> {
    let layered = load(&context.repo()?)?;
    if context.output.json {
        return context.output.document(&layered.document());
    }
    let mut rows = Rows::new(&context.output, &["KEY", "VALUE", "FROM"], &[1]);
    for shown in layered.show() {
        let origin = shown.origin.to_string();
        let tone = if origin == "default" {
            Tone::Dim
        } else {
            Tone::Plain
        };
        rows.row(&[
            (Tone::Plain, &shown.key),
            (Tone::Plain, &shown.value.to_string()),
            (tone, &origin),
        ]);
    }
    let page = rows.lines();
    write_page(&mut context.output, &page)
}

fn check(context: &mut Context) -> Result<(), CliError> {
    let repo = context.repo()?;
    let layered = load(&repo)?;
    owned(&layered)?;
    let problems = layered.readiness();
    if !problems.is_empty() {
        return Err(not_ready(&problems));
    }
    preflight::check_target(&layered.config, &repo.paths())?;
    let environment = std::env::vars_os().collect();
    if let Some(problem) = preflight::webhook_problem(&layered.config, &environment) {
        // A daemon may have another environment than this command, so it is no error.
        context.output.note(format!("warning: {problem}"));
        context.output.next_step(preflight::WEBHOOK_ADVICE);
    }
    if context.output.json {
        return context
            .output
            .document(&json!({ "ok": true, "hash": layered.config.hash() }));
    }
    context.output.note("configuration OK");
    Ok(())
}
