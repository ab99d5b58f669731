//! `swarm config get` and `swarm config set`: one value of the configuration.
//!
//! Invariant: `set` writes nothing that `swarm config check` would complain about.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};

use super::{listed, load, wrong};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::safe_block;
use crate::config::{self, ConfigError, Layered, Place, SetError, nearest, path_of};
use crate::daemon::{owned_arguments, preflight};

/// `config get`.
#[derive(Debug, Args)]
#[command(after_help = "With -v, standard error says where the value comes from.

Examples:
  $ swarm config get agents.maxParallel
  $ swarm config get qualityCommands --json")]
pub struct Get {
    /// The key, such as `agents.maxParallel`.
    pub key: String,
}

/// `config set`.
#[derive(Debug, Args)]
#[command(
    after_help = "The whole configuration is checked before anything is written. The rest of the \
file stays as it is.

Examples:
  $ swarm config set agents.maxParallel 4
  $ swarm config set qualityCommands '[\"make\"]'
  $ swarm config set --user agents.timeoutMinutes 45"
)]
pub struct Set {
    /// The key, such as `agents.maxParallel`.
    pub key: String,
    /// The value: JSON, or else text.
    #[arg(allow_hyphen_values = true)]
    pub value: String,
    /// Write `.swarm/config.local.json`, which is for this machine only.
    #[arg(long, conflicts_with = "user")]
    pub local: bool,
    /// Write your own file for all repositories, `~/.config/swarm/config.json`.
    #[arg(long)]
    pub user: bool,
}

/// Prints the effective value of a key.
pub(super) fn get(args: &Get, context: &mut Context) -> Result<(), CliError> {
    let layered = load(&context.repo()?)?;
    let all = layered.config.redacted();
    let path = path_of(&all, &args.key);
    let found = path.iter().try_fold(&all, |value, name| value.get(name));
    let Some(value) = found else {
        return Err(not_set(&args.key, &layered.show()));
    };
    let origin = source(&layered, value, &path.join("."));
    let output = &mut context.output;
    if output.json {
        return output.document(&json!({ "key": args.key, "value": value, "origin": origin }));
    }
    if output.verbose > 0 {
        output.note(format!("from {origin}"));
    }
    match value {
        Value::String(text) => output.line(safe_block(text)),
        Value::Object(_) | Value::Array(_) => output.line(format!("{value:#}")),
        Value::Null | Value::Bool(_) | Value::Number(_) => output.line(value),
    }
}

/// Where a value comes from; an object may have several sources.
fn source(layered: &Layered, value: &Value, key: &str) -> String {
    if !value.is_object() {
        return layered.origin(key).to_string();
    }
    let below = format!("{key}.");
    let all = layered.show();
    let within = all.iter().filter(|shown| shown.key.starts_with(&below));
    let sources: BTreeSet<String> = within.map(|shown| shown.origin.to_string()).collect();
    let sources: Vec<String> = sources.into_iter().collect();
    sources.join(", ")
}

fn not_set(key: &str, known: &[config::Shown]) -> CliError {
    let error = CliError::refused(format!("`{key}` is not set"));
    match nearest(key, known.iter().map(|shown| &*shown.key)) {
        Some(near) => error.hint(format!("a similar key is set: swarm config get {near}")),
        None => error,
    }
    .hint("see every key that is set: swarm config show")
}

/// Writes a value.
pub(super) fn set(args: &Set, context: &mut Context) -> Result<(), CliError> {
    let place = match (args.local, args.user) {
        (true, _) => Place::Local,
        (_, true) => Place::User,
        (false, false) => Place::Shared,
    };
    let value = serde_json::from_str(&args.value);
    let value = value.unwrap_or_else(|_| Value::from(args.value.as_str()));
    let repo = match context.repo() {
        // Your own file needs no repository.
        Err(_) if place == Place::User => None,
        repo => Some(repo?),
    };
    let folder = repo.as_ref().map(crate::cli::Repo::folder);
    let change = config::set(
        folder.as_deref(),
        config::environment(),
        place,
        &args.key,
        &value,
    );
    let change = change.map_err(|error| match error {
        SetError::Invalid(error) => not_valid(&args.key, &error),
        SetError::InvalidBefore(error) => wrong(&error).hint("nothing was changed"),
        SetError::NoPlace | SetError::NoRepository => CliError::refused(error.to_string()),
    })?;
    let problems = owned_arguments(&change.layered);
    if !problems.is_empty() {
        return Err(not_valid(&args.key, &ConfigError { problems }));
    }
    if let Some(repo) = repo.filter(|_| args.key == "target") {
        preflight::check_target(&change.layered.config, &repo.paths())?;
    }
    let written = change.write();
    written.map_err(|error| CliError::io(format!("write {}", change.file), &error))?;
    let key = path_of(&change.layered.config.redacted(), &args.key).join(".");
    if context.output.json {
        let origins = change.layered.sources_within(&key);
        let origin = Vec::from_iter(origins).join(", ");
        let document = json!({ "key": args.key, "file": change.file, "origin": origin });
        return context.output.document(&document);
    }
    context
        .output
        .note(format!("set {} in {}", args.key, change.file));
    for (key, others) in change.layered.overridden(&key, &value, &change.file) {
        let message = format!("`{key}` has no effect here: {others} sets it too");
        context.output.note(message);
    }
    Ok(())
}

/// Refuses a value; the file on disk is valid and needs no correction.
fn not_valid(key: &str, error: &ConfigError) -> CliError {
    CliError::refused(format!(
        "nothing was changed: with this `{key}` the configuration would be invalid"
    ))
    .details(listed(&error.problems))
    .hint("see every key and its value: swarm config show")
    .code("CONFIG_INVALID")
}
