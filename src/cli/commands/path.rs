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
    let (id, path) = if is_idea {
        let typed: Typed<IdeaId> = typed.parse().map_err(unusable)?;
        let id = access.idea_id(&typed)?;
        let idea = access.idea(&id)?;
        (id.to_string(), of_idea(access, &idea)?)
    } else {
        let typed: Typed<AgentId> = typed.parse().map_err(unusable)?;
        let id = access.agent_id(&typed)?;
        let agent = access.agent(&id)?;
        let worktree = text(&agent, "worktree").to_owned();
        // Another idea may have the worktree of an agent that has ended.
        let idea: IdeaId = text(&agent, "ideaId").parse().map_err(unusable)?;
        let idea = access.idea(&idea)?;
        let is_its = of_idea(access, &idea)?.filter(|path| *path == worktree);
        (id.to_string(), is_its)
    };
    path.filter(|path| Path::new(path).is_dir()).ok_or_else(|| {
        CliError::refused(format!("{id} has no worktree now"))
            .hint("see which worktrees there are: swarm agent list")
    })
}

/// The worktree of the agent that works on an idea, or the one that is kept for the next.
fn of_idea(access: &mut Access, idea: &Value) -> Result<Option<String>, CliError> {
    if let Ok(agent) = text(idea, "agentId").parse() {
        let agent = access.agent(&agent)?;
        return Ok(Some(text(&agent, "worktree").to_owned()));
    }
    let kept = idea["keptWorktree"].as_str();
    Ok(kept.map(str::to_owned))
}
