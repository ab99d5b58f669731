//! Words for swarms that move between machines.

use crate::domain::event::{AgentImported, SwarmImported, SwarmMoved, WorkImported};
use crate::domain::state::transfer::{ImportIssue, ImportPurpose};

pub(super) fn imported(imported: &SwarmImported) -> String {
    let SwarmImported {
        manifest_sha256,
        seq,
        purpose,
        issues,
        ..
    } = imported;
    let what = match purpose {
        ImportPurpose::Copy => "a copy",
        ImportPurpose::Move => "a move",
    };
    let told = |(issue, count): (&ImportIssue, &u64)| format!("{} {count}", issue.as_str());
    let told: Vec<String> = issues.iter().map(told).collect();
    let told = match told.as_slice() {
        [] => String::new(),
        some => format!(" ({})", some.join(", ")),
    };
    format!("imported from archive {manifest_sha256:.12}, {what} as of event {seq}{told}")
}

pub(super) fn work_imported(work: &WorkImported) -> String {
    format!(
        "{} continues from imported work of {}",
        work.id, work.kept.worktree.agent
    )
}

pub(super) fn agent_imported(event: &AgentImported) -> String {
    let AgentImported { id, imported, .. } = event;
    let swarm = imported.swarm_id.as_deref();
    let from = swarm.map_or_else(String::new, |swarm| format!(" of swarm {swarm:.12}"));
    format!(
        "{id} goes on from the imported state of {}{from}",
        imported.agent
    )
}

pub(super) fn moved(moved: &SwarmMoved) -> String {
    let sha256 = &moved.manifest_sha256;
    format!("moved away in archive {sha256:.12}; to work here again: swarm snapshot reclaim")
}
