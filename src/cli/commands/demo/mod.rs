//! `swarm demo`: shows swarm at work, without any setup.
//!
//! A scripted agent works in a temporary repository, through the same code as real agents. One
//! agent is killed on purpose to show that nothing is lost. Every line is marked as a demo.

mod killer;
mod stage;

use clap::Args;

use super::start::{Before, Wish, conclude, run_daemon, style, warn_without_page};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::repo::Repo;
use crate::domain::settings::Mode;
use killer::Killer;

/// Put in brackets before each line.
const LABEL: &str = "demo";

/// `demo`. Needs no key, network or configuration, and ends by itself.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm demo
  $ swarm demo --ideas 4 --agents 2 --keep")]
pub struct Demo {
    /// Number of ideas.
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=200))]
    pub ideas: u16,
    /// Number of agents at work at the same time.
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u16).range(1..=16))]
    pub agents: u16,
    /// Accepted for scripts; this version has no web page.
    #[arg(long, hide = true)]
    pub no_open: bool,
    /// Keep the temporary repository so that you can look around in it.
    #[arg(long)]
    pub keep: bool,
}

/// Runs the demo.
pub fn run(args: &Demo, context: &mut Context) -> Result<(), CliError> {
    warn_without_page(&[("--no-open", args.no_open)], context);
    let folder = tempfile::Builder::new()
        .prefix("swarm-demo-")
        .tempdir()
        .map_err(|error| CliError::io("make a temporary folder", &error))?;
    stage::build(folder.path(), args.agents)?;
    let repo = Repo::find(folder.path())?;
    let ids = stage::add_ideas(&repo.paths(), usize::from(args.ideas))?;
    announce(args, &repo, ids.len(), context);
    let played = play(&repo, context);
    if args.keep {
        let kept = folder.keep();
        context.output.note(format!(
            "[{LABEL}] the repository was kept: {}",
            kept.display()
        ));
    }
    played?;
    context.output.note(format!(
        "[{LABEL}] that was a scripted agent; to use swarm in your own repository: swarm init"
    ));
    Ok(())
}

fn announce(args: &Demo, repo: &Repo, ideas: usize, context: &mut Context) {
    let lines = [
        format!(
            "a scripted agent works on {ideas} ideas in {}",
            repo.root().display()
        ),
        format!(
            "up to {} agents work at once, each in its own git worktree; what passes ./check.sh \
            lands on main",
            args.agents
        ),
        "one agent will be killed on purpose, to show that its work is not lost".to_owned(),
    ];
    for line in lines {
        context.output.note(format!("[{LABEL}] {line}"));
    }
}

fn play(repo: &Repo, context: &mut Context) -> Result<(), CliError> {
    let killer = Killer::new(repo.runs());
    let wish = Wish {
        mode: Some(Mode::Autopilot),
        until_idle: true,
        style: style(false, context),
        label: Some(LABEL),
        also: Some(killer.on_ready()),
        before: Before::default(),
    };
    let end = run_daemon(repo.clone(), wish, context);
    killer.finish();
    conclude(&end?, &Before::default(), false, context)
}
