//! States for the tests of views and pages.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use crate::domain::ids::IdeaId;
use crate::domain::state::{Idea, IdeaStatus, State};

/// An idea's id.
pub(crate) fn id(number: usize) -> IdeaId {
    format!("idea-{number:03}").parse().unwrap()
}

/// An idea with this text.
pub(crate) fn idea(text: &str, status: IdeaStatus) -> Idea {
    serde_json::from_value(serde_json::json!({
        "status": status, "text": text,
        "createdAt": "2026-09-24T22:00:00.000Z", "updatedAt": "2026-09-24T22:00:00.000Z",
    }))
    .unwrap()
}

/// A state with these ideas, numbered from 1.
pub(crate) fn state(ideas: impl IntoIterator<Item = Idea>) -> State {
    let mut state = State::default();
    for (number, idea) in (1..).zip(ideas) {
        state.ideas.insert(id(number), idea);
    }
    state
}
