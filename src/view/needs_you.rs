//! What needs a person, and the commands to type.

use serde::Serialize;
use utoipa::ToSchema;

use super::agent::worktree_path;
use super::baseline;
use super::idea::status_verb;
use super::names;
use super::usage;
use crate::domain::hook::approval_wanted;
use crate::domain::ids::{AgentId, IdeaId, Oid};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::state::{Attempt, Idea, IdeaStatus, MergeEntry, Said, State};

/// Something that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Need)]
pub struct NeedsYou {
    /// `conflict`, `question`, `review`, `blocked`, `checkout`, `merge`, `target`, `account`,
    /// `paused`, `failed` or `rollback`.
    #[schema(value_type = String)]
    pub kind: &'static str,
    /// The idea that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub idea_id: Option<IdeaId>,
    /// The commit that waits for review.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub commit: Option<Oid>,
    /// What happened and why.
    pub message: String,
    /// The commands to type in the repository's root.
    pub commands: Vec<String>,
}

/// What needs a person, most urgent first.
pub fn needs_you(state: &State) -> Vec<NeedsYou> {
    let mut list = Vec::new();
    list.extend(rewritten_target(state));
    list.extend(paused(state));
    list.extend(baseline::red(state));
    list.extend(usage::accounts_need_you(state));
    list.extend(
        state
            .queue
            .iter()
            .filter_map(|entry| waiting_merge(state, entry)),
    );
    list.extend(
        state
            .agents
            .iter()
            .filter_map(|(id, attempt)| question(id, attempt)),
    );
    list.extend(
        state
            .ideas
            .open()
            .filter_map(|(id, idea)| bad_end(id, idea).or_else(|| waits_in_vain(state, id, idea))),
    );
    list
}

/// An interrupted rollback; only for a repository without a running daemon.
pub fn cut_off(state: &State) -> Option<NeedsYou> {
    let rollback = state.rollback.as_ref()?;
    Some(NeedsYou {
        kind: "rollback",
        idea_id: None,
        commit: None,
        message: format!(
            "the rollback to {} was interrupted; the next start finishes it. Until then, git may \
            show half-restored files as changes: commit nothing",
            rollback.to
        ),
        commands: vec!["swarm start".into()],
    })
}

fn rewritten_target(state: &State) -> Option<NeedsYou> {
    let rewritten = state.swarm.rewritten.as_ref()?;
    let branch = &state.swarm.target.as_ref()?.branch;
    let from = &rewritten.from;
    let lost = match rewritten.dropped.len() {
        0 => String::new(),
        _ => format!(" (with landed ideas: {})", names(&rewritten.dropped)),
    };
    Some(NeedsYou {
        kind: "target",
        idea_id: None,
        commit: None,
        message: format!(
            "{branch} was force-pushed from {from:.10} to {:.10}. The dropped commits{lost} are \
            kept as refs/swarm/rescue/dropped-{branch}-{from:.10}. Choose what happens to waiting \
            work: rebase it onto the new history, ignore the force-push and merge it as it is, or \
            cancel it",
            rewritten.to
        ),
        commands: ["rebase", "ignore", "cancel"]
            .map(|choice| format!("swarm merge target {choice}"))
            .to_vec(),
    })
}

fn paused(state: &State) -> Option<NeedsYou> {
    let reason = state.swarm.pause_reason.as_ref()?;
    Some(NeedsYou {
        kind: "paused",
        idea_id: None,
        commit: None,
        message: if reason.starts_with("paused") {
            reason.clone()
        } else {
            format!("paused: {reason}")
        },
        commands: vec!["swarm resume".into()],
    })
}

fn waiting_merge(state: &State, entry: &MergeEntry) -> Option<NeedsYou> {
    let id = &entry.idea;
    let ways = [
        format!("swarm merge retry {id}"),
        format!("swarm idea cancel {id}"),
    ];
    let waits = entry.waits.as_ref().filter(|waits| waits.person);
    let (kind, message, commands) = if entry.phase == MergePhase::Person {
        // While swarm sets up or checks the conflict, nobody else may work in that worktree.
        if state.is_under_way(&entry.agent, id) {
            return None;
        }
        let files = entry
            .conflict
            .as_ref()
            .map(|conflict| conflict.files.join(", "));
        let why = waits.map_or_else(String::new, |waits| format!(" ({})", waits.reason));
        let message = format!(
            "the merge of {id} has a conflict in {}{why}",
            files.unwrap_or_default()
        );
        ("conflict", message, conflict_commands(state, entry))
    } else if entry.held {
        return Some(review(entry));
    } else {
        let waits = waits?;
        let kind = if waits.files.is_empty() {
            "merge"
        } else {
            "checkout"
        };
        let files = match waits.files.as_slice() {
            [] => String::new(),
            files => format!(": {}", files.join(", ")),
        };
        (
            kind,
            format!("the merge of {id} is waiting: {}{files}", waits.reason),
            approval_wanted(&waits.reason)
                .into_iter()
                .chain(ways)
                .collect(),
        )
    };
    Some(NeedsYou {
        kind,
        idea_id: Some(id.clone()),
        commit: None,
        message,
        commands,
    })
}

/// The commands approve only the commit that they were shown with.
fn review(entry: &MergeEntry) -> NeedsYou {
    let MergeEntry {
        idea: id,
        source,
        branch,
        ..
    } = entry;
    NeedsYou {
        kind: "review",
        idea_id: Some(id.clone()),
        commit: Some(source.clone()),
        message: format!("{id} is finished and waits for your review: {source:.10} on {branch}"),
        commands: vec![
            format!("swarm merge diff {id}"),
            format!("swarm merge approve {id} --commit {source:.10}"),
            format!("swarm merge reject {id} \"...\""),
        ],
    }
}

/// The exact commands to resolve a conflict by hand.
fn conflict_commands(state: &State, entry: &MergeEntry) -> Vec<String> {
    let Some(attempt) = state.agents.get(&entry.agent) else {
        return vec![];
    };
    let path = worktree_path(&attempt.worktree);
    vec![
        format!("git -C {path} status"),
        format!("git -C {path} mergetool   # or edit the files by hand"),
        format!("git -C {path} add --all"),
        format!(
            "git -C {path} commit -m 'Resolve the conflict of {}'",
            entry.idea
        ),
        format!("swarm merge resolve {}", entry.idea),
    ]
}

fn question(id: &AgentId, attempt: &Attempt) -> Option<NeedsYou> {
    let (AttemptPhase::WaitingForHuman, Some(Said::NeedsHuman(why))) =
        (attempt.phase, &attempt.said)
    else {
        return None;
    };
    Some(NeedsYou {
        kind: "question",
        idea_id: Some(attempt.idea.clone()),
        commit: None,
        message: format!("{id} asks: {why}"),
        commands: vec![
            format!("swarm agent say {id} \"...\""),
            format!("swarm idea retry {}", attempt.idea),
        ],
    })
}

fn bad_end(id: &IdeaId, idea: &Idea) -> Option<NeedsYou> {
    if !idea.status.is_bad() {
        return None;
    }
    let kind = if idea.status == IdeaStatus::Blocked {
        "blocked"
    } else {
        "failed"
    };
    let why = idea
        .last_error
        .as_deref()
        .unwrap_or("the reason is unknown");
    Some(NeedsYou {
        kind,
        idea_id: Some(id.clone()),
        commit: None,
        message: format!("{id} {}: {why}", status_verb(idea.status)),
        commands: approval_wanted(why)
            .into_iter()
            .chain([
                format!("swarm idea retry {id}"),
                format!("swarm idea cancel {id}"),
            ])
            .collect(),
    })
}

/// An idea that can never start, because it waits for a cancelled one.
fn waits_in_vain(state: &State, id: &IdeaId, idea: &Idea) -> Option<NeedsYou> {
    let cancelled = |id: &&IdeaId| {
        let before = state.ideas.get(*id);
        before.is_some_and(|before| before.status == IdeaStatus::Cancelled)
    };
    if !matches!(idea.status, IdeaStatus::Pending | IdeaStatus::Merging) {
        return None;
    }
    let before = idea.after.iter().find(cancelled)?;
    let rest = idea.after.iter().filter(|id| *id != before);
    let rest: Vec<&str> = rest.map(IdeaId::as_str).collect();
    let without = match rest.as_slice() {
        [] => "--no-after".to_owned(),
        rest => format!("--after {}", rest.join(",")),
    };
    Some(NeedsYou {
        kind: "blocked",
        idea_id: Some(id.clone()),
        commit: None,
        message: format!("{id} waits for {before}, which is cancelled"),
        commands: vec![
            format!("swarm idea edit {id} {without}"),
            format!("swarm idea retry {before}"),
            format!("swarm idea cancel {id}"),
        ],
    })
}
