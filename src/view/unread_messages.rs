//! Warns about messages that no agent read before its idea was done; no later attempt will get
//! them.
//!
//! Invariant: nothing is stored for this. A warning lasts for [`NEWS_MS`] after the attempt ended,
//! or until a later idea contains the message.

use super::WarningView;
use crate::domain::state::message::{self, Message};
use crate::domain::state::{AttemptEnd, EndedAttempt, State};

/// How long a warning lasts, in milliseconds of the log's clock.
const NEWS_MS: i64 = 3 * 86_400_000;
/// At most this many characters of a message are shown.
const SHOWN: usize = 80;

/// Whether no further attempt follows an attempt that ended like this.
pub(super) fn is_last(end: AttemptEnd) -> bool {
    matches!(end, AttemptEnd::Merged | AttemptEnd::NothingToMerge)
}

/// A warning for each such message.
pub(super) fn warnings(state: &State) -> Vec<WarningView> {
    let now = state.swarm.last_event_at;
    let news = |ended: &EndedAttempt| is_last(ended.end) && now.since(ended.ended_at) < NEWS_MS;
    let ended = state.ended.iter().filter(|(_, ended)| news(ended));
    let unread = ended.flat_map(|(agent, ended)| {
        let waiting = message::waiting(&ended.heard).into_iter();
        let left = waiting.filter(|message| !is_an_idea(state, message));
        left.map(move |message| {
            let what = format!(
                "{agent} never read your message \"{}\": {} was done before its next prompt. If it \
                still matters, add it as an idea",
                shown(&message.text),
                ended.idea
            );
            WarningView::new("message", what).command("swarm idea add \"...\"")
        })
    });
    unread.collect()
}

/// Whether a later idea contains the message.
fn is_an_idea(state: &State, message: &Message) -> bool {
    let text = message.text.strip_suffix("...").unwrap_or(&message.text);
    let later = |idea: &&crate::domain::state::Idea| idea.created_at >= message.accepted_at;
    let mut ideas = state.ideas.values().filter(later);
    ideas.any(|idea| idea.text.contains(text.trim()))
}

/// The start of a message, on one line.
fn shown(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let short: String = line.chars().take(SHOWN).collect();
    if short.len() < line.len() {
        return format!("{short}...");
    }
    short
}
