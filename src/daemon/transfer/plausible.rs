//! Rejects a log that swarm cannot have written, however right its checksums are.
//!
//! Invariant: numbers of an accepted log can be counted on, and directories of runs that come with
//! it are found by their numbers, so that no later run gets the name and the result of one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde::Deserialize;

use crate::domain::ids::IdeaId;
use crate::domain::state::{Idea, State};

/// Above the highest number of an idea, agent, run or effect.
const NUMBERS: u64 = 1_000_000_000;
/// Above the highest number of an attempt or iteration.
const TRIES: u32 = 1_000_000;

/// Whether the state has numbers that nobody has counted up to.
pub(super) fn has_absurd_numbers(state: &State) -> bool {
    let counters = &state.counters;
    let counted = [
        counters.ideas,
        counters.agents,
        counters.runs,
        counters.effects,
        counters.learnings,
        counters.checkpoints,
    ];
    let attempts = state.agents.values();
    let mut tries = attempts.flat_map(|attempt| [attempt.number, attempt.iteration]);
    let mut spent = state
        .ideas
        .values()
        .flat_map(|idea| [idea.attempts, idea.retry_count]);
    counted.iter().any(|count| *count >= NUMBERS)
        || tries.any(|count| count >= TRIES)
        || spent.any(|count| count >= TRIES)
}

/// What is read of a snapshot: its other parts would fill the memory.
#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    state: ShownState,
}

#[derive(Default, Deserialize)]
struct ShownState {
    #[serde(default)]
    ideas: BTreeMap<String, ShownIdea>,
}

#[derive(Deserialize)]
struct ShownIdea {
    text: String,
}

/// Whether the file, which `snapshot show` reads, has the ideas of this state.
///
/// # Errors
/// The file cannot be read.
pub(super) fn shows_ideas_of(state: &State, snapshot: &Path) -> io::Result<bool> {
    let file = BufReader::new(File::open(snapshot)?);
    let shown = match serde_json::from_reader(file) {
        Err(error) if error.is_io() => return Err(error.into()),
        Err(_) => return Ok(false),
        Ok(Shown { state }) => state.ideas,
    };
    let is_shown = |(id, idea): (&IdeaId, &Idea)| {
        let shown = shown.get(id.as_str());
        shown.is_some_and(|shown| *shown.text == *idea.text)
    };
    Ok(shown.len() == state.ideas.len() && state.ideas.iter().all(is_shown))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::domain::testkit::scenario::fold;
    use crate::domain::testkit::sim::Sim;

    fn some_state() -> State {
        let list = (0..300_u16).map(|at| at.wrapping_mul(7_919));
        let mut sim = Sim::new(list.collect());
        sim.live();
        fold(&sim.log)
    }

    #[test]
    fn numbers_that_nobody_has_counted_up_to_are_found() {
        let state = some_state();
        assert!(!has_absurd_numbers(&state));
        let lies: [fn(&mut State); 3] = [
            |state| state.counters.runs = NUMBERS,
            |state| state.counters.effects = u64::MAX,
            |state| {
                let first = state.ideas.keys().next().cloned().unwrap();
                state.ideas.change(&first, |idea| idea.attempts = u32::MAX);
            },
        ];
        for lie in lies {
            let mut changed = state.clone();
            lie(&mut changed);
            assert!(has_absurd_numbers(&changed));
        }
    }

    #[test]
    fn a_snapshot_that_hides_or_changes_an_idea_is_found() {
        let state = some_state();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("snapshot.json");
        let shows = |document: &Value| {
            std::fs::write(&path, document.to_string()).unwrap();
            shows_ideas_of(&state, &path).unwrap()
        };
        let whole = serde_json::json!({ "state": state });
        assert!(shows(&whole));
        let first = state.ideas.keys().next().unwrap().as_str();
        let mut hidden = whole.clone();
        hidden["state"]["ideas"]
            .as_object_mut()
            .unwrap()
            .remove(first);
        assert!(!shows(&hidden));
        let mut changed = whole.clone();
        changed["state"]["ideas"][first]["text"] = "another".into();
        assert!(!shows(&changed));
        assert!(!shows(&Value::Null));
    }
}
