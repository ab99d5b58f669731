//! `swarm path`: prints where a worktree lies.
//!
//! Invariant: what it prints exists, and holds the work of what was named.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::access::Access;
use crate::cli::access::ids::Typed;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::text;
use crate::domain::ids::{AgentId, BadId, IdeaId};

/// `path`.
#[derive(Debug, Args)]
#[command(after_help = "To go there: cd \"$(swarm path idea-003)\"

--json: {\"path\"}

Examples:
  $ swarm path idea-003
  $ swarm path ed-002 --json")]
pub struct PathOf {
    /// The idea or agent.
    pub id: String,
}

/// Prints the absolute path of the worktree of an idea or agent.
pub fn run(args: &PathOf, context: &mut Context) -> Result<(), CliError> {
    let path = context.with_access(|access| find(access, &args.id))?;
    if context.output.json {
        return context.output.document(&json!({ "path": path }));
    }
    context.output.line(path)
}

fn find(access: &mut Access, typed: &str) -> Result<String, CliError> {
    let unusable = |bad: BadId| CliError::new(Kind::Usage, bad.to_string());
    let is_idea = !typed.contains('-') || typed.starts_with("idea");
    let (id, place) = if is_idea {
        let typed: Typed<IdeaId> = typed.parse().map_err(unusable)?;
        let id = access.idea_id(&typed)?;
        let idea = access.idea(&id)?;
        (id.to_string(), of_idea(access, &idea)?)
    } else {
        let typed: Typed<AgentId> = typed.parse().map_err(unusable)?;
        let id = access.agent_id(&typed)?;
        let agent = access.agent(&id)?;
        // Another idea may have the worktree of an agent that has ended.
        let idea: IdeaId = text(&agent, "ideaId").parse().map_err(unusable)?;
        let idea = access.idea(&idea)?;
        let its = of_idea(access, &idea)?;
        let is_its = match &its {
            Place::Path(path) => *path == text(&agent, "worktree"),
            Place::Branch(branch) => *branch == text(&agent, "branch"),
            Place::Nowhere => true,
        };
        (id.to_string(), if is_its { its } else { Place::Nowhere })
    };
    match place {
        Place::Path(path) if Path::new(&path).is_dir() => Ok(path),
        Place::Branch(branch) => Err(is_lent(&id, &branch)),
        Place::Path(_) | Place::Nowhere => {
            Err(CliError::refused(format!("{id} has no worktree now"))
                .hint("see which worktrees there are: swarm agent list"))
        }
    }
}

/// Where the work on an idea is.
enum Place {
    /// In a worktree.
    Path(String),
    /// On a branch only: the worktree is lent.
    Branch(String),
    Nowhere,
}

/// The worktree of the agent that works on an idea, or the one that is kept for the next.
fn of_idea(access: &mut Access, idea: &Value) -> Result<Place, CliError> {
    let path = |value: &Value| value.as_str().map(|path| Place::Path(path.to_owned()));
    if let Ok(agent) = text(idea, "agentId").parse() {
        let agent = access.agent(&agent)?;
        let branch = || Place::Branch(text(&agent, "branch").to_owned());
        return Ok(path(&agent["worktree"]).unwrap_or_else(branch));
    }
    Ok(path(&idea["keptWorktree"]).unwrap_or(Place::Nowhere))
}

fn is_lent(id: &str, branch: &str) -> CliError {
    let message = format!(
        "{id} has no worktree now: its finished work is on the branch {branch}, and its worktree \
        is lent to another idea"
    );
    CliError::refused(message).hint(format!(
        "check it out elsewhere: git worktree add --detach ../{id} {branch}"
    ))
}
