//! Finds ideas, agents, facts and commits by a few words: the palette of the page.

use crate::domain::ids::{AgentId, IdeaId, Oid};
use crate::domain::memory::{Fact, FactKey};
use crate::domain::state::{Idea, State};

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// An idea, with the first line of its text.
    Idea(IdeaId, String),
    /// An agent, and its idea.
    Agent(AgentId, IdeaId),
    /// A fact, with its value.
    Fact(FactKey, String),
    /// The commit that landed an idea, with the first line of its text.
    Commit(Oid, IdeaId, String),
}

/// Ideas, agents, facts and commits that contain every word, at most `limit` of each kind. Of
/// ideas, the newest come first, after one whose id is the text.
pub fn search(state: &State, text: &str, limit: usize) -> Vec<Found> {
    let text = text.trim().to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return Vec::new();
    }
    let has_all = |place: &str| words.iter().all(|word| place.contains(word));
    let of_idea =
        |(id, idea): &(&IdeaId, &Idea)| has_all(&format!("{id} {}", idea.text).to_lowercase());
    let title = |idea: &Idea| {
        idea.text
            .trim()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let mut ideas: Vec<_> = state.ideas.iter().filter(of_idea).collect();
    ideas.reverse();
    ideas.sort_by_key(|(id, _)| id.as_str() != text);
    let ideas = ideas.into_iter().take(limit);
    let mut found: Vec<Found> = ideas
        .map(|(id, idea)| Found::Idea(id.clone(), title(idea)))
        .collect();
    let of_agent = |id: &AgentId, idea: &IdeaId| has_all(&format!("{id} {idea}"));
    let agents = state.agents.iter();
    let agents = agents.filter(|(id, attempt)| of_agent(id, &attempt.idea));
    let agents = agents.take(limit);
    found.extend(agents.map(|(id, attempt)| Found::Agent(id.clone(), attempt.idea.clone())));
    let of_fact = |(key, fact): &(&FactKey, &Fact)| {
        fact.retracted.is_none() && has_all(&format!("{key} {}", fact.value).to_lowercase())
    };
    let facts = state.facts.iter().filter(of_fact).take(limit);
    found.extend(facts.map(|(key, fact)| Found::Fact(key.clone(), fact.value.clone())));
    // Fewer digits fit too many commits.
    if text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let commits = state.ideas.iter().filter_map(|(id, idea)| {
            let commit = idea.commit.clone()?;
            let is_this = commit.as_str().starts_with(&text);
            is_this.then(|| Found::Commit(commit, id.clone(), title(idea)))
        });
        found.extend(commits.take(limit));
    }
    found
}
