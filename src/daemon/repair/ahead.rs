//! A list of ideas that is ahead of the log: the log has lost its end, at the end of a line or of a file, where nothing in it tells.
//!
//! Invariant: an event is on disk before `ideas.jsonl` has what came of it. So a list that is ahead proves a loss; one that is not proves
//! nothing, as it lags behind.

use serde::Deserialize;

use super::evidence::number_in;
use crate::daemon::paths::Paths;
use crate::domain::ids::IdeaId;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// What the list tells of last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::daemon) struct Latest {
    /// The idea with the highest number.
    newest: Option<(u64, IdeaId)>,
    /// The one that changed last, and when.
    changed: Option<(Timestamp, IdeaId)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    id: IdeaId,
    updated_at: Timestamp,
}

impl Latest {
    /// Reads the list, as far as it can be read. The log may grow meanwhile: it is to be read after this.
    pub(in crate::daemon) fn read(paths: &Paths) -> Self {
        let text = std::fs::read_to_string(paths.ideas()).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines.fold(Self::default(), |mut latest, line: Line| {
            let number = number_in(line.id.as_str()).unwrap_or(0);
            latest.changed = latest.changed.max(Some((line.updated_at, line.id.clone())));
            latest.newest = latest.newest.max(Some((number, line.id)));
            latest
        })
    }

    /// In words what this state, that of the log's last event, should know and does not.
    pub(in crate::daemon) fn beyond(&self, state: &State) -> Option<String> {
        let (end, last) = (state.seq, state.swarm.last_event_at);
        if let Some((_, id)) = self
            .newest
            .as_ref()
            .filter(|(number, _)| *number > state.counters.ideas)
        {
            return Some(format!(
                "the log ends with event {end}, and .swarm/ideas.jsonl tells of {id}, which no event added"
            ));
        }
        let (at, id) = self.changed.as_ref().filter(|(at, _)| *at > last)?;
        Some(format!(
            "the log ends with event {end} of {last}, and .swarm/ideas.jsonl tells of a change of {id} at {at}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(lines: &[(&str, u64)]) -> Latest {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir_all(&paths.swarm).unwrap();
        let line = |(id, at): &(&str, u64)| {
            let at = Timestamp::from_millis(i64::try_from(*at).unwrap());
            format!("{{\"id\":\"{id}\",\"updatedAt\":\"{at}\",\"more\":1}}\n")
        };
        let text: String = lines.iter().map(line).collect();
        std::fs::write(paths.ideas(), text + "{\"id\":\"idea-0").unwrap();
        Latest::read(&paths)
    }

    fn state(ideas: u64, at: i64) -> State {
        let mut state = State {
            seq: 7,
            ..State::default()
        };
        state.counters.ideas = ideas;
        state.swarm.last_event_at = Timestamp::from_millis(at);
        state
    }

    #[test]
    fn a_list_is_ahead_by_an_idea_or_by_a_time() {
        let none = listed(&[]);
        assert_eq!(none.beyond(&state(0, 0)), None);
        let latest = listed(&[("idea-002", 500), ("idea-010", 400), ("idea-009", 100)]);
        assert_eq!(latest.beyond(&state(10, 500)), None);
        assert_eq!(latest.beyond(&state(12, 900)), None);
        let words = |state| latest.beyond(&state).unwrap();
        assert!(words(state(9, 900)).contains("event 7, and .swarm/ideas.jsonl tells of idea-010"));
        assert!(words(state(10, 499)).contains("a change of idea-002 at 1970-01-01T00:00:00.500Z"));
    }
}
