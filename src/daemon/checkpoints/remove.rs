//! Removing a checkpoint.
//!
//! Invariant: its file goes first, so that nobody rolls back to what is half gone; then its tag, then its references but for those of agents
//! whose work an idea is to go on from.

use super::{file, references, tag_of};
use crate::crash;
use crate::daemon::tools::Tools;
use crate::domain::ids::{AgentId, CheckpointName};
use crate::domain::observation::Outcome;
use crate::git::GitError;

/// Removes it. Blocks.
pub(in crate::daemon) fn remove(
    tools: &Tools,
    name: &CheckpointName,
    in_use: &[AgentId],
) -> Result<Outcome, GitError> {
    let path = file::path_of(&tools.paths, name);
    file::remove(&tools.paths, name).map_err(|source| GitError::io("delete", &path, source))?;
    crash::point("checkpoint.file-removed");
    tools.repo.delete_tag(&tag_of(name))?;
    crash::point("checkpoint.tag-removed");
    let prefix = references(name);
    for (reference, commit) in tools.repo.list_refs(&prefix)? {
        // `ed-001`, `ed-001-branch`, `ed-001-2`
        let rest = &reference[prefix.len()..];
        let used = |agent: &AgentId| {
            let more = rest.strip_prefix(agent.as_str());
            more.is_some_and(|more| more.is_empty() || more.starts_with('-'))
        };
        if !in_use.iter().any(used) {
            tools.repo.delete_ref(&reference, commit)?;
        }
    }
    Ok(Outcome::Done)
}
