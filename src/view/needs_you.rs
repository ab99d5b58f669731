//! What needs a person, as JSON. The rules and the words are those of
//! [`domain::attention`](crate::domain::attention).

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::attention::{self, Need, NeedKey, NoticeKind};
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::state::State;

/// Something that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Need)]
pub struct NeedsYou {
    /// `question`, `review`, `conflict`, `merge`, `checkout`, `blocked`, `failed`, `target`,
    /// `account`, `environment`, `paused` or `rollback`.
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
    attention::needs(state).iter().map(view).collect()
}

/// The same with what identifies each, for those who offer an answer.
pub fn needs_with_keys(state: &State) -> Vec<(NeedKey, NeedsYou)> {
    let needs = attention::needs(state);
    needs.iter().map(|need| (need.key(), view(need))).collect()
}

fn view(need: &Need<'_>) -> NeedsYou {
    NeedsYou {
        kind: need.kind().as_str(),
        idea_id: need.idea().cloned(),
        commit: need.commit().cloned(),
        message: need.message(),
        commands: need.commands(),
    }
}

/// An interrupted rollback; only for a repository without a running daemon.
pub fn cut_off(state: &State) -> Option<NeedsYou> {
    let rollback = state.rollback.as_ref()?;
    Some(NeedsYou {
        kind: NoticeKind::Rollback.as_str(),
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
