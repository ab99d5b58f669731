//! What people said to agents that no prompt carried before the idea was done: no next attempt will
//! be told.
//!
//! Invariant: nothing is remembered for this. It is there as long as the attempt's end is news and
//! no later idea says the same.

use crate::domain::state::message::{self, Message};
use crate::domain::state::{AttemptEnd, EndedAttempt, State};

/// So long it is news, by the log's clock.
const NEWS_MS: i64 = 3 * 86_400_000;
/// So many characters of a message are shown.
const SHOWN: usize = 80;

/// Whether nobody comes after an attempt that ended so.
pub(super) fn is_last(end: AttemptEnd) -> bool {
    matches!(end, AttemptEnd::Merged | AttemptEnd::NothingToMerge)
}

/// A warning for each such message.
pub(super) fn warnings(state: &State) -> Vec<String> {
    let now = state.swarm.last_event_at;
    let news = |ended: &EndedAttempt| is_last(ended.end) && now.since(ended.ended_at) < NEWS_MS;
    let ended = state.ended.iter().filter(|(_, ended)| news(ended));
    let unread = ended.flat_map(|(agent, ended)| {
        let waiting = message::waiting(&ended.heard).into_iter();
        let left = waiting.filter(|message| !is_an_idea(state, message));
        left.map(move |message| {
            format!(
                "{agent} never read \"{}\": {} was done before its next prompt; if it still \
                matters, make it an idea: swarm idea add \"...\"",
                shown(&message.text),
                ended.idea
            )
        })
    });
    unread.collect()
}

/// Whether somebody has made an idea of it since.
fn is_an_idea(state: &State, message: &Message) -> bool {
    let text = message.text.strip_suffix("...").unwrap_or(&message.text);
    let later = |idea: &&crate::domain::state::Idea| idea.created_at >= message.accepted_at;
    let mut ideas = state.ideas.values().filter(later);
    ideas.any(|idea| idea.text.contains(text.trim()))
}

/// Its beginning, on one line.
fn shown(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let short: String = line.chars().take(SHOWN).collect();
    if short.len() < line.len() {
        return format!("{short}...");
    }
    short
}
