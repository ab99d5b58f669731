//! Builds the demo's repository. The user's git configuration is neither used nor needed.
//!
//! Invariant: everything is written below the given folder.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::agents::demo::scenario::{self, CHECK, DemoIdea, FILES};
use crate::cli::error::CliError;
use crate::config::init::detect::{Detected, FoundCommand};
use crate::config::init::plan::{Choices, PROFILE, plan_init};
use crate::config::init::write::write;
use crate::daemon::{Paths, offline};
use crate::domain::ids::IdeaId;
use crate::domain::operation::{Command, NewIdea};
use crate::git::run_as;

const BRANCH: &str = "main";

/// How fast the scripted agents work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// A person can follow: 15 to 20 s for the usual eight ideas and three agents.
    Readable,
    Fast,
}

impl Pace {
    /// The length of the agents' pauses.
    fn percent(self) -> u32 {
        match self {
            Self::Readable => 550,
            Self::Fast => 100,
        }
    }
}

/// Creates the repository and its `.swarm`.
pub(super) fn build(root: &Path, agents: u16, pace: Pace) -> Result<(), CliError> {
    write_files(root).map_err(|error| CliError::io("write the demo's files", &error))?;
    set_up(root, agents, pace)?;
    commit(root)
        .map_err(|error| CliError::refused(format!("cannot create the demo's repository: {error}")))
}

fn write_files(root: &Path) -> io::Result<()> {
    for file in FILES {
        let path = root.join(file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, file.content)?;
        if file.executable {
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// Writes what `swarm init` would, for the scripted agent.
fn set_up(root: &Path, agents: u16, pace: Pace) -> Result<(), CliError> {
    let choices = Choices {
        agent: Some("demo".into()),
        branch: Some(BRANCH.into()),
        ..Choices::default()
    };
    let detected = Detected {
        quality: vec![FoundCommand {
            command: CHECK.into(),
            because: "the demo".into(),
            runnable: true,
        }],
        ..Detected::default()
    };
    let refused = |error| CliError::refused(format!("cannot set the demo up: {error}"));
    let plan = plan_init(&choices, &detected).map_err(refused)?;
    write(root, &plan).map_err(refused)?;
    let args = json!(["--seed", "1", "--pace", pace.percent().to_string()]);
    let local = json!({
        "agents": { "maxParallel": agents, "profiles": { PROFILE: { "args": args } } },
        // The scripted agents do not touch the check.
        "checks": { "canary": "off" },
        // Nobody waits for a demo that was interrupted.
        "shutdown": { "graceSeconds": 1 },
        "worktree": { "root": ".." },
    });
    fs::write(root.join(".swarm/config.local.json"), local.to_string())
        .map_err(|error| CliError::io("write the demo's configuration", &error))
}

/// Makes the repository. A template could bring hooks.
fn commit(root: &Path) -> io::Result<()> {
    let git = |words: &[&str]| run_as("swarm demo", None, root, words);
    let branch = format!("--initial-branch={BRANCH}");
    git(&["init", "--quiet", "--template=", &branch])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message=The bakery's pages"]).map(drop)
}

/// Adds the backlog.
pub(super) fn add_ideas(paths: &Paths, count: usize) -> Result<Vec<IdeaId>, CliError> {
    let mut ids: Vec<IdeaId> = Vec::new();
    for idea in scenario::ideas(count) {
        let command = Command::AddIdea(new_idea(idea, &ids));
        let accepted = offline::execute(paths, &command.into())?;
        ids.extend(accepted.added_idea());
    }
    Ok(ids)
}

/// The scenario numbers ideas from 1.
fn new_idea(idea: DemoIdea, ids: &[IdeaId]) -> NewIdea {
    let before = idea
        .after
        .iter()
        .filter_map(|place| ids.get(place.checked_sub(1)?));
    NewIdea {
        after: before.cloned().collect(),
        tags: idea.tags.into_iter().map(str::to_owned).collect(),
        text: idea.text,
        ..NewIdea::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn the_repository_is_clean_and_its_configuration_valid() {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path(), 2, Pace::Fast).unwrap();
        let words = ["status", "--porcelain=v2", "--branch"];
        let status = run_as("nobody", None, dir.path(), &words).unwrap();
        let (of_branch, of_files): (Vec<&str>, Vec<&str>) =
            status.lines().partition(|line| line.starts_with("# "));
        assert!(of_branch.contains(&"# branch.head main"), "{status}");
        assert!(of_files.is_empty(), "{status}");
        let layered = config::load(
            &dir.path().join(".swarm"),
            std::collections::BTreeMap::new(),
            vec![],
        )
        .unwrap();
        assert!(layered.readiness().is_empty());
        assert_eq!(layered.config.agents.max_parallel, 2);
        assert_eq!(layered.config.quality_commands, [CHECK]);
        let check = fs::metadata(dir.path().join("check.sh")).unwrap();
        assert_eq!(check.permissions().mode() & 0o111, 0o111);
    }

    #[test]
    fn ideas_wait_for_the_scenarios_dependencies() {
        let ids = [IdeaId::numbered(1), IdeaId::numbered(2)];
        let idea = DemoIdea {
            text: "x".into(),
            after: vec![2, 9, 0],
            tags: vec!["critical"],
        };
        let new = new_idea(idea, &ids);
        assert_eq!(new.after, [IdeaId::numbered(2)]);
        assert_eq!(new.tags, ["critical"]);
    }
}
