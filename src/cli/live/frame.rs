//! Summarizes the state for the live view in a few lines, whatever the size of the backlog.
//!
//! Invariant: every line is safe for a terminal. Taking the picture is quick, because the daemon's
//! actor waits for its readers.

use crate::cli::clock;
use crate::cli::describe::{AWAITING_APPROVAL, attempt_phase, merge_phase};
use crate::cli::output::terminal::{safe, shorten, title};
use crate::domain::lifecycle::MergePhase;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::view;

/// At most this many lines of one kind.
const MAX_LINES: usize = 12;

/// What the live view shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    /// Ideas that are done.
    pub done: u64,
    /// Ideas that are not cancelled.
    pub total: u64,
    /// The number of ideas in each status except done.
    pub counts: String,
    /// A line for each agent.
    pub agents: Vec<String>,
    /// The merge queue; empty when nothing waits.
    pub queue: String,
    /// What needs the person.
    pub needs: Vec<String>,
}

impl Picture {
    /// The picture of `state` at `now`.
    pub fn of(state: &State, now: Timestamp) -> Self {
        let wanted = state
            .ideas
            .values()
            .filter(|idea| idea.status != IdeaStatus::Cancelled);
        let counts = view::count(state);
        Self {
            done: count(&counts, IdeaStatus::Done),
            total: wanted.count() as u64,
            counts: count_words(&counts),
            agents: agents(state, now),
            queue: queue(state),
            needs: needs(state),
        }
    }
}

type Counts = std::collections::BTreeMap<&'static str, usize>;

fn count(counts: &Counts, status: IdeaStatus) -> u64 {
    counts.get(status.as_str()).copied().unwrap_or_default() as u64
}

fn count_words(counts: &Counts) -> String {
    let shown = IdeaStatus::ALL
        .into_iter()
        .filter(|status| *status != IdeaStatus::Done);
    let words = shown.filter_map(|status| match count(counts, status) {
        0 => None,
        count => Some(format!("{count} {}", status.as_str())),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn agents(state: &State, now: Timestamp) -> Vec<String> {
    let at_work = state
        .agents
        .iter()
        .filter(|(_, attempt)| attempt.phase.is_live());
    let line = |(id, attempt): (&crate::domain::ids::AgentId, &crate::domain::state::Attempt)| {
        let idea = state.ideas.get(&attempt.idea);
        let title = idea.map_or_else(String::new, |idea| title(&idea.text, 48));
        let since = clock::span(now.since(attempt.iteration_at.unwrap_or(attempt.claimed_at)));
        let percent = attempt
            .progress
            .map_or_else(String::new, |percent| format!(", {percent} % done"));
        format!(
            "{id}  {}  {title}  {}, iteration {}{percent}, for {since}",
            attempt.idea,
            attempt_phase(attempt.phase),
            attempt.iteration
        )
    };
    at_work.take(MAX_LINES).map(line).collect()
}

fn queue(state: &State) -> String {
    let words = |entry: &crate::domain::state::MergeEntry| {
        let phase = match entry.phase {
            MergePhase::Queued if entry.held => AWAITING_APPROVAL,
            MergePhase::Queued if entry.waits.is_some() => "waiting",
            MergePhase::Queued
            | MergePhase::Building
            | MergePhase::Resolver
            | MergePhase::Person
            | MergePhase::Verifying
            | MergePhase::Landing => merge_phase(entry.phase),
        };
        format!("{} {phase}", entry.idea)
    };
    let shown: Vec<String> = state.queue.iter().take(MAX_LINES).map(words).collect();
    match state.queue.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn needs(state: &State) -> Vec<String> {
    let line = |need: view::NeedsYou| {
        let command = need.commands.first();
        let command = command.map_or_else(String::new, |command| format!("  -> {}", safe(command)));
        format!("{}{command}", shorten(&safe(&need.message), 160, false))
    };
    let all = view::needs_you(state);
    let more = all.len().saturating_sub(MAX_LINES);
    let mut lines: Vec<String> = all.into_iter().take(MAX_LINES).map(line).collect();
    if more > 0 {
        lines.push(format!("and {more} more: swarm status"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testkit;

    #[test]
    fn the_picture_says_who_works_on_what() {
        let now = Timestamp::from_millis(61_000);
        let picture = Picture::of(&testkit::state(), now);
        assert_eq!((picture.done, picture.total), (0, 2));
        assert_eq!(picture.counts, "1 active, 1 failed");
        let agent =
            "ed-001  idea-001  add a --version flag  working, iteration 1, 50 % done, for 1 min";
        assert_eq!(picture.agents, [agent]);
        assert_eq!(picture.needs.len(), 1);
        assert!(
            picture.needs[0].contains("idea-002 failed: ␛[2J"),
            "{:?}",
            picture.needs
        );
        assert!(picture.needs[0].ends_with("-> swarm idea retry idea-002"));
    }

    #[test]
    fn an_empty_state_gives_an_empty_picture() {
        let picture = Picture::of(&State::default(), Timestamp::default());
        assert_eq!(picture, Picture::default());
    }
}
