//! A list of ideas that is ahead of the log: the log has lost its end, at the end of a line or of a file, where nothing in it tells.
//!
//! Invariant: an event is on disk before `ideas.jsonl` has what came of it, with the event's time. So a list with a later time than the log's
//! last event proves a loss, and so does one with an idea's number that the log never gave, whatever the clock said; one without proves
//! nothing, as it lags behind. Nothing but that is believed of it.

use super::evidence::number_of;
use super::rebuild::{Listed, in_list};
use crate::daemon::clock::Clock;
use crate::daemon::paths::Paths;
use crate::domain::ids::IdeaId;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// What the list has last; nothing: there is no list, or none that we wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::daemon) struct Latest {
    /// The idea that changed last, and when.
    changed: Option<(Timestamp, IdeaId)>,
    /// The highest number, and the idea that has it.
    numbered: Option<(u64, IdeaId)>,
}

impl Latest {
    /// Reads the list. The log may grow meanwhile: it is to be read after this.
    pub(in crate::daemon) fn read(paths: &Paths) -> Self {
        Self::until(Clock::after(Timestamp::default()).peek(), paths)
    }

    fn until(now: Timestamp, paths: &Paths) -> Self {
        let mut latest = Self::default();
        for Listed { updated_at, id, .. } in in_list(paths) {
            let numbered = number_of(&id).map(|number| (number, id.clone()));
            latest.numbered = latest.numbered.max(numbered);
            let changed = (updated_at <= now).then_some((updated_at, id));
            latest.changed = latest.changed.max(changed);
        }
        latest
    }

    /// In words what this state, that of the log's last event, should know and does not.
    pub(in crate::daemon) fn beyond(&self, state: &State) -> Option<String> {
        let (end, last) = (state.seq, state.swarm.last_event_at);
        if let Some((at, id)) = self.changed.as_ref().filter(|(at, _)| *at > last) {
            return Some(format!(
                "the log ends with event {end} of {last}, and .swarm/ideas.jsonl tells of a change of {id} at {at}"
            ));
        }
        // Ideas that are known stay, so a higher number was given by an event that is gone.
        let known = state.ideas.keys().filter_map(number_of).max();
        let given = known.unwrap_or(0).max(state.counters.ideas);
        let (_, id) = self.numbered.as_ref().filter(|(it, _)| *it > given)?;
        Some(format!(
            "the log ends with event {end} of {last} and gave no number above {given}, and .swarm/ideas.jsonl has {id}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::clock::wall;
    use crate::daemon::repair::{is_log_gone, take};
    use crate::daemon::{store, views};
    use crate::domain::event::RepairWay;
    use crate::domain::testkit::Scenario;
    use crate::domain::view;

    /// The list of two ideas that waited, and the state that it is of.
    fn listed() -> (tempfile::TempDir, Paths, State) {
        let mut s = Scenario::running();
        s.add("one").wait(1_000).add("two");
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir_all(&paths.swarm).unwrap();
        views::write(&paths, &s.state).unwrap();
        (dir, paths, s.state)
    }

    fn latest(paths: &Paths) -> Latest {
        Latest::until(Timestamp::from_millis(i64::MAX / 2), paths)
    }

    #[test]
    fn a_time_that_has_not_come_proves_nothing() {
        let (_dir, paths, mut state) = listed();
        let changed = state.ideas[&IdeaId::numbered(2)].updated_at;
        state.swarm.last_event_at = Timestamp::from_millis(0);
        let before = Timestamp::from_millis(changed.millis() - 1);
        let why = Latest::until(before, &paths).beyond(&state).unwrap();
        assert!(why.contains("a change of idea-001"), "{why}");
        assert_eq!(
            Latest::until(Timestamp::from_millis(0), &paths).beyond(&state),
            None
        );
    }

    #[test]
    fn a_list_is_ahead_of_what_was_before_its_last_change() {
        let (_dir, paths, mut state) = listed();
        assert_eq!(latest(&paths).beyond(&state), None);
        let changed = state.ideas[&IdeaId::numbered(2)].updated_at;
        state.swarm.last_event_at = changed;
        assert_eq!(latest(&paths).beyond(&state), None);
        state.swarm.last_event_at = Timestamp::from_millis(changed.millis() - 1);
        let why = latest(&paths).beyond(&state).unwrap();
        assert!(
            why.contains(&format!("tells of a change of idea-002 at {changed}")),
            "{why}"
        );
    }

    #[test]
    fn a_number_that_the_log_never_gave_proves_a_loss_whatever_the_time() {
        let (_dir, paths, whole) = listed();
        let changed = whole.ideas[&IdeaId::numbered(2)].updated_at;
        let mut state = Scenario::running().add("one").state.clone();
        state.swarm.last_event_at = changed;
        let same_time = latest(&paths).beyond(&state).unwrap();
        let before = Timestamp::from_millis(0);
        let not_come = Latest::until(before, &paths).beyond(&state).unwrap();
        for why in [same_time, not_come] {
            assert!(why.contains("ideas.jsonl has idea-002"), "{why}");
        }
        state.counters.ideas = 2;
        assert_eq!(latest(&paths).beyond(&state), None, "a repair knew of it");
    }

    #[test]
    fn a_byte_that_is_no_text_hides_its_own_line_only() {
        let (_dir, paths, mut state) = listed();
        let mut list = std::fs::read(paths.ideas()).unwrap();
        let text = list.windows(3).position(|part| part == b"one").unwrap();
        list[text] = 0xff;
        std::fs::write(paths.ideas(), &list).unwrap();
        state.swarm.last_event_at = Timestamp::from_millis(0);
        let why = latest(&paths).beyond(&state).unwrap();
        assert!(why.contains("a change of idea-002"), "{why}");
        assert!(is_log_gone(&paths).unwrap());
        let id = list.windows(8).position(|part| part == b"idea-001");
        let id = id.unwrap();
        list[id..id + 8].copy_from_slice(b"idea-007");
        std::fs::write(paths.ideas(), &list).unwrap();
        take(&paths, RepairWay::Rebuild).unwrap().unwrap();
        let (rebuilt, _) = store::read(&paths).unwrap();
        assert!(rebuilt.counters.ideas >= 7, "{:?}", rebuilt.counters);
        assert!(rebuilt.ideas.contains_key(&IdeaId::numbered(2)));
    }

    #[test]
    fn what_is_put_together_from_a_list_of_the_future_is_not_ahead_of_its_own_log() {
        let (_dir, paths, state) = listed();
        let tomorrow = wall().plus_millis(86_400_000);
        let mut list = String::new();
        for mut idea in view::ideas(&state, None) {
            idea.created_at = tomorrow;
            idea.updated_at = tomorrow.plus_millis(1);
            list += &serde_json::to_string(&idea).unwrap();
            list.push('\n');
        }
        std::fs::write(paths.ideas(), list).unwrap();
        take(&paths, RepairWay::Rebuild).unwrap().unwrap();
        let (rebuilt, _) = store::read(&paths).unwrap();
        assert_eq!(rebuilt.ideas.len(), 2);
        for idea in rebuilt.ideas.values() {
            let end = rebuilt.swarm.last_event_at;
            assert!(idea.updated_at <= end && idea.created_at <= end);
        }
        let after = tomorrow.plus_millis(86_400_000);
        assert_eq!(Latest::until(after, &paths).beyond(&rebuilt), None);
    }

    #[test]
    fn what_is_no_list_of_ours_proves_nothing() {
        let (_dir, paths, mut state) = listed();
        let list = std::fs::read_to_string(paths.ideas()).unwrap();
        state.swarm.last_event_at = Timestamp::from_millis(0);
        let half = &list[..list.find('\n').unwrap() - 1];
        let mine = "{\"id\":\"idea-999\",\"updatedAt\":\"2999-01-01T00:00:00.000Z\"}\n";
        for other in ["", half, mine, "[]\n", "\u{0}\u{0}"] {
            std::fs::write(paths.ideas(), other).unwrap();
            assert_eq!(latest(&paths).beyond(&state), None, "{other}");
        }
        std::fs::remove_file(paths.ideas()).unwrap();
        assert_eq!(latest(&paths).beyond(&state), None);
    }
}
