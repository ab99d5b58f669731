//! `swarm init`: sets up a repository. What is written is decided in [`config::init`](crate::config::init).

use std::ffi::OsString;

use clap::Args;
use serde_json::json;

use super::agree;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::terminal::safe;
use crate::config::detect::detect;
use crate::config::init::{Choices, InitPlan, check_free, plan_init, write};
use crate::git::Repo as GitRepo;

/// `init`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm init
  $ swarm init --agent claude --target main --yes
  $ swarm init --agent command --yes -- python3 tools/agent.py")]
pub struct Init {
    /// The agent that works: claude, codex, opencode, gemini, aider, or `command` for a program of your own; left out: the first one installed.
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// The branch that finished work lands on; left out: the one checked out now.
    #[arg(long, value_name = "BRANCH")]
    pub target: Option<String>,
    /// Write without asking.
    #[arg(long, short)]
    pub yes: bool,
    /// With `--agent command`: the program and its arguments. It reads the prompt on standard input.
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// Shows what it will write, asks, writes.
pub fn run(args: &Init, context: &mut Context<'_>) -> Result<(), CliError> {
    let repo = GitRepo::open(&context.start_folder()?).map_err(refused)?;
    let root = repo.root().to_owned();
    check_free(&root).map_err(refused)?;
    if let Some(target) = &args.target
        && !repo.target_exists(target).map_err(refused)?
    {
        return Err(no_such_branch(target));
    }
    let choices = Choices {
        agent: args.agent.clone(),
        command: args.command.clone(),
        target: args.target.clone(),
        branch: repo.head_branch().map_err(refused)?,
    };
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    let plan = plan_init(&choices, &detect(&root, &path)).map_err(refused)?;
    show(&plan, &root.display().to_string(), context);
    agree(context, args.yes, "Write this?")?;
    write(&root, &plan).map_err(refused)?;
    done(&plan, context)
}

fn no_such_branch(target: &str) -> CliError {
    CliError::refused(format!(
        "there is no branch `{}` for work to land on",
        safe(target)
    ))
    .hint(format!("create it: git branch {}", safe(target)))
    .hint("or leave --target out: work lands on the branch that is checked out")
}

fn refused(error: impl std::error::Error) -> CliError {
    CliError::refused(error.to_string())
}

fn show(plan: &InitPlan, root: &str, context: &mut Context<'_>) {
    let output = &mut context.output;
    output.note(format!("Setting up {}:", safe(root)));
    if let Some(target) = &plan.config.target {
        output.note(format!("  work lands on   {}", safe(target)));
    }
    for (name, profile) in &plan.config.agents.profiles {
        // The scripted agent of the demo has no command line.
        let line = match profile.command.as_slice() {
            [] => "scripted, for trying things out".to_owned(),
            words => words.join(" "),
        };
        output.note(format!("  agent `{}`      {}", safe(name), safe(&line)));
    }
    for quality in &plan.quality {
        let (command, because) = (safe(&quality.command), safe(&quality.because));
        output.note(format!("  checked by      {command}  (from {because})"));
    }
    output.note(format!(
        "  files           {} below .swarm/",
        plan.files.len()
    ));
    for note in &plan.notes {
        output.note(format!("  note: {}", safe(note)));
    }
}

fn done(plan: &InitPlan, context: &mut Context<'_>) -> Result<(), CliError> {
    if context.output.json {
        let files: Vec<String> = plan
            .files
            .iter()
            .map(|(path, _)| format!(".swarm/{}", path.display()))
            .collect();
        let document =
            json!({ "files": files, "config": plan.config.redacted(), "notes": plan.notes });
        return context.output.document(&document);
    }
    context
        .output
        .note("Done. Commit .swarm/, add ideas, and start:");
    context
        .output
        .note("  git add .swarm && git commit -m \"Set up swarm\"");
    context
        .output
        .note("  swarm idea add \"add a --version flag\"");
    context.output.note("  swarm start");
    Ok(())
}
