//! Reads `ideas.jsonl`, which may know more ideas than a damaged log. Called by `repair`.

use serde::Deserialize;

use crate::daemon::files::paths::Paths;
use crate::domain::ids::{IdeaId, Oid, ProfileName};
use crate::domain::state::{Audit, Idea, IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;

/// An idea in `ideas.jsonl`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    pub(super) id: IdeaId,
    pub(super) status: IdeaStatus,
    pub(super) content: String,
    pub(super) tags: Vec<String>,
    pub(super) priority: i64,
    pub(super) after: Vec<IdeaId>,
    pub(super) held: bool,
    pub(super) retry_count: u32,
    pub(super) attempts: u32,
    pub(super) commit: Option<Oid>,
    pub(super) last_error: Option<String>,
    #[serde(default)]
    pub(super) profile: Option<ProfileName>,
    #[serde(default)]
    pub(super) review: bool,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// Whether a start would replace the only list of ideas that is left. For a log without events
/// only.
pub(in crate::daemon) fn is_log_gone(paths: &Paths) -> bool {
    !in_list(paths).is_empty()
}

/// The valid lines of `ideas.jsonl`. A broken byte spoils only its own line.
pub(super) fn in_list(paths: &Paths) -> Vec<Listed> {
    let bytes = std::fs::read(paths.ideas()).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// Adds ideas and later changes from `ideas.jsonl` to `seen`, so that they are reported as lost.
pub(super) fn merge_list(paths: &Paths, seen: &mut State) {
    for listed in in_list(paths) {
        let known = seen.ideas.get(&listed.id);
        if known.is_none_or(|known| known.updated_at < listed.updated_at) {
            let mut idea = idea(&listed, listed.updated_at);
            idea.status = listed.status;
            seen.ideas.insert(listed.id, idea);
        }
    }
}

/// As an idea of a state; what was being worked on is pending again.
pub(super) fn idea(listed: &Listed, now: Timestamp) -> Idea {
    Idea {
        status: listed.status.without_attempt(),
        text: listed.content.as_str().into(),
        after: listed.after.clone(),
        tags: listed.tags.clone(),
        priority: listed.priority,
        profile: listed.profile.clone(),
        review: listed.review,
        assigned: false,
        held: listed.held,
        retry_count: listed.retry_count,
        failed_attempts: 0,
        attempts: listed.attempts,
        not_before: None,
        reserved: None,
        kept: None,
        imported: None,
        commit: listed.commit.clone(),
        landed_since: None,
        last_error: listed.last_error.as_deref().map(Into::into),
        used: Spent::default(),
        used_before: Spent::default(),
        audit: vec![Audit {
            at: now,
            what: "rebuilt".to_owned(),
            detail: format!("was {}", listed.status.as_str()),
        }],
        created_at: listed.created_at,
        updated_at: listed.updated_at,
    }
}
