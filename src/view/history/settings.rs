//! Since when each setting has its value.
//!
//! Invariant: keys are those of the domain's settings, nested with dots; of each only the last
//! changes are kept, so nothing is said of a time before them.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::domain::event::Event;
use crate::domain::settings::Mode;
use crate::domain::time::Timestamp;

/// Changes of one setting that are kept.
const KEPT: usize = 32;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Since {
    values: BTreeMap<String, Value>,
    changes: BTreeMap<String, VecDeque<(u64, Timestamp)>>,
    configured: Option<Mode>,
    /// The mode that a person set instead.
    chosen: Option<Mode>,
}

impl Since {
    pub(super) fn fold(&mut self, seq: u64, at: Timestamp, event: &Event) {
        if let Event::SettingsLoaded(loaded) = event {
            let settings = serde_json::to_value(&loaded.settings).unwrap_or_default();
            let mut new: BTreeMap<String, Value> = leaves(&settings).into_iter().collect();
            self.configured = Some(loaded.settings.mode);
            // The mode in force may be another than the configured one.
            new.remove("mode");
            new.extend(self.values.remove_entry("mode"));
            for (key, value) in &new {
                if self.values.get(key) != Some(value) && key != "mode" {
                    self.note(key, seq, at);
                }
            }
            let old = std::mem::replace(&mut self.values, new);
            for key in old.keys() {
                if !self.values.contains_key(key) {
                    self.note(key, seq, at);
                }
            }
        } else if let Event::ModeSet(set) = event {
            self.chosen = set.mode;
        } else {
            return;
        }
        let mode = self.chosen.or(self.configured).unwrap_or_default();
        let mode = serde_json::to_value(mode).unwrap_or_default();
        if self.values.get("mode") != Some(&mode) {
            self.note("mode", seq, at);
            self.values.insert("mode".to_owned(), mode);
        }
    }

    fn note(&mut self, key: &str, seq: u64, at: Timestamp) {
        let changes = self.changes.entry(key.to_owned()).or_default();
        if changes.len() >= KEPT {
            changes.pop_front();
        }
        changes.push_back((seq, at));
    }

    /// The change that gave a setting the value which it had after event `seq`.
    pub fn of(&self, key: &str, seq: u64) -> Option<(u64, Timestamp)> {
        let changes = self.changes.get(key)?.iter().rev();
        changes.copied().find(|(changed, _)| *changed <= seq)
    }
}

/// The settings with a value: `budget.usdPerDay` and `5`.
pub fn leaves(settings: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    collect(settings, "", &mut all);
    all
}

fn collect(value: &Value, key: &str, all: &mut Vec<(String, Value)>) {
    match value.as_object().filter(|object| !object.is_empty()) {
        Some(object) => {
            for (name, value) in object {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                collect(value, &key, all);
            }
        }
        None if value.is_null() => {}
        None => all.push((key.to_owned(), value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::operation::Command;
    use crate::domain::testkit::Scenario;

    #[test]
    fn each_setting_has_its_value_since_its_own_last_change() {
        let mut story = Scenario::running();
        let first = story.state.seq;
        story.wait(1_000).load(|settings| settings.max_parallel = 7);
        let second = story.state.seq;
        story.wait(1_000).command(Command::SetMode {
            mode: Mode::SemiAuto,
        });
        story
            .wait(1_000)
            .load(|settings| settings.mode = Mode::SemiAuto);
        let mut since = Since::default();
        for (seq, (at, event)) in (1..).zip(&story.log) {
            since.fold(seq, *at, event);
        }
        let last = story.state.seq;
        let changed = |key, seq| since.of(key, seq).map(|(_, at)| at);
        let time = |event: &str| {
            let of_kind = |(_, it): &&(Timestamp, Event)| it.kind() == event;
            let times = story.log.iter().filter(of_kind).map(|(at, _)| *at);
            times.collect::<Vec<_>>()
        };
        let loaded = time("settingsLoaded");
        assert_eq!(loaded.len(), 3);
        assert_eq!(changed("target", last), Some(loaded[0]));
        assert_eq!(changed("maxParallel", first), Some(loaded[0]));
        assert_eq!(changed("maxParallel", second), Some(loaded[1]));
        assert_eq!(changed("maxParallel", last), Some(loaded[1]));
        assert_eq!(changed("mode", second), Some(loaded[0]));
        assert_eq!(changed("mode", last), Some(time("modeSet")[0]));
        assert_eq!(changed("nothing", last), None);
        assert_eq!(changed("target", 1), None);
    }
}
