//! What somebody may have meant who named a fact or a note that does not exist.

use crate::domain::memory::{FactKey, NoteKey};
use crate::domain::state::State;

/// Most keys that are named.
const NAMED: usize = 3;
/// Least likeness, from 0 to 1.
const LIKE: f64 = 0.75;

/// The next steps after an unknown fact: the keys that are most like it.
pub fn suggestions(state: &State, key: &FactKey) -> Vec<String> {
    let in_force = state.facts.iter().filter(|(_, it)| it.retracted.is_none());
    let keys = in_force.map(|(key, _)| key.as_str());
    let near = nearest(key.as_str(), keys).into_iter();
    near.map(|key| format!("did you mean this: swarm memory get {key}"))
        .collect()
}

/// The same for a note.
pub fn note_suggestions(state: &State, key: &NoteKey) -> Vec<String> {
    let keys = state.notes.iter().map(|(key, _)| key.as_str());
    let near = nearest(key.as_str(), keys).into_iter();
    near.map(|key| format!("did you mean this: swarm scratch get {key}"))
        .collect()
}

/// The most similar keys first; one that shares a whole part is similar too.
fn nearest<'a>(wanted: &str, keys: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let parts = |key: &'a str| key.split(['.', '/']);
    let shares =
        |key: &'a str| parts(key).any(|part| wanted.split(['.', '/']).any(|it| it == part));
    let likeness = |key: &'a str| {
        let alike = strsim::jaro_winkler(wanted, key);
        if shares(key) { alike.max(LIKE) } else { alike }
    };
    let mut near: Vec<(f64, &str)> = keys
        .map(|key| (likeness(key), key))
        .filter(|(alike, _)| *alike >= LIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(NAMED).map(|(_, key)| key).collect()
}
