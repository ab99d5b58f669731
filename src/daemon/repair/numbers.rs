//! The numbers that names on disk and in git show to be taken.
//!
//! Invariant: what is taken is never assigned again. A log that was restored from an older copy
//! does not know the runs, worktrees and branches that were made after it.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde::Deserialize as _;
use serde_json::Value;

use crate::daemon::checkpoints::file;
use crate::daemon::files::paths::Paths;
use crate::domain::state::Counters;
use crate::git::Repo;
use crate::plain_file;

/// Most digits of a number that swarm assigned.
const DIGITS: usize = 9;

/// The counters, raised to the numbers found on disk and in git; `None` if the counters are already
/// as high, as they are unless the log is older than what it left behind.
pub(in crate::daemon) fn raised(
    paths: &Paths,
    target: &str,
    counters: Counters,
) -> Option<Counters> {
    let mut numbers = Numbers(counters);
    numbers.collect_names(paths);
    if numbers.0 == counters {
        return None;
    }
    // Only now, because this reads the target's whole history.
    numbers.collect_landings(paths, target);
    Some(numbers.0)
}

/// The numbers that an earlier swarm in this repository gave out, for a log that is about to begin;
/// `None` if there are none.
pub(in crate::daemon) fn of_earlier(paths: &Paths, target: Option<&str>) -> Option<Counters> {
    let mut numbers = Numbers(Counters::default());
    numbers.collect(paths);
    numbers.collect_replaced_logs(paths);
    if let Some(target) = target {
        numbers.collect_landings(paths, target);
    }
    (numbers.0 != Counters::default()).then_some(numbers.0)
}

/// The highest numbers found in names.
pub(super) struct Numbers(pub(super) Counters);

impl Numbers {
    /// Collects the numbers of all that is left of this swarm.
    pub(super) fn collect(&mut self, paths: &Paths) {
        self.collect_names(paths);
        for (checkpoint, _) in file::all(paths) {
            self.0 = self.0.at_least(checkpoint.state_snapshot.counters);
            self.0.effects = self.0.effects.max(checkpoint.op.0);
        }
        let ideas = std::fs::read(paths.ideas()).unwrap_or_default();
        for line in String::from_utf8_lossy(&ideas).lines() {
            let id = serde_json::from_str::<serde_json::Value>(line).ok();
            if let Some(id) = id.as_ref().and_then(|idea| idea["id"].as_str()) {
                self.note(id);
            }
        }
    }

    /// Collects the numbers in the names of runs, worktrees and refs.
    fn collect_names(&mut self, paths: &Paths) {
        for folder in [&paths.runs, &paths.worktrees] {
            for name in names_in(folder) {
                self.note(&name);
            }
        }
        let refs = Repo::open(&paths.root).and_then(|repo| {
            let branches = repo.list_refs("refs/heads/agent/")?;
            Ok([branches, repo.list_refs("refs/swarm/")?].concat())
        });
        for (name, _) in refs.unwrap_or_default() {
            self.note(&name);
        }
    }

    /// Collects the numbers in the second names of logs that were replaced or are missing. Their
    /// events need not fit together.
    fn collect_replaced_logs(&mut self, paths: &Paths) {
        let folder = paths.private.join("log");
        for name in names_in(&folder) {
            let Ok(file) = plain_file::open(&folder.join(name)) else {
                continue;
            };
            let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
            for line in lines {
                if let Ok(record) = serde_json::from_slice::<Value>(&line) {
                    self.note_record(&record);
                }
            }
        }
    }

    /// Notes the numbers in a line of a log.
    fn note_record(&mut self, record: &Value) {
        let data = &record["data"];
        if record["kind"] == "effectRequested" {
            self.0.effects = self.0.effects.max(data["id"].as_u64().unwrap_or(0));
        }
        for taken in [&data["counters"], &data["floors"]] {
            let counters = Counters::deserialize(taken).unwrap_or_default();
            self.0 = self.0.at_least(counters);
        }
        let effects = data["effect"].as_object().into_iter().flatten();
        for found in std::iter::once(data).chain(effects.map(|(_, effect)| effect)) {
            for id in ["id", "idea", "run"].map(|key| found[key].as_str()) {
                self.note(id.unwrap_or_default());
            }
            let agent = found["agent"].as_str().and_then(number_before);
            self.0.agents = self.0.agents.max(agent.unwrap_or(0));
        }
    }

    /// Collects the numbers of what landed on the target.
    fn collect_landings(&mut self, paths: &Paths, target: &str) {
        let landed = Repo::open(&paths.root).and_then(|repo| match repo.branch_commit(target)? {
            Some(tip) => repo.landings(tip, None, |_| false),
            None => Ok(Vec::new()),
        });
        for landed in landed.unwrap_or_default() {
            self.note(&landed.idea);
            self.note(&landed.operation);
        }
    }

    /// Notes the numbers in a name: `idea-003`, `op-000017`, `r0042-ed-001-i2`,
    /// `agent/ed-001/idea-003`, `ed-001-idea-003`.
    pub(super) fn note(&mut self, name: &str) {
        let counters = &mut self.0;
        let raise = |counter: &mut u64, found: Option<u64>| {
            *counter = (*counter).max(found.unwrap_or(0));
        };
        for (at, word) in name.match_indices("idea-") {
            raise(&mut counters.ideas, number_at(&name[at + word.len()..]));
            let before = name[..at].trim_end_matches(['-', '/']);
            raise(&mut counters.agents, number_before(before));
        }
        raise(
            &mut counters.effects,
            name.strip_prefix("op-").and_then(number_at),
        );
        if let Some(rest) = name.strip_prefix('r') {
            raise(&mut counters.runs, number_at(rest));
            let agent = rest.rsplit_once("-i").map(|(agent, _)| agent);
            raise(&mut counters.agents, agent.and_then(number_before));
        }
    }
}

fn number_at(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().ok();
    number.filter(|_| digits <= DIGITS)
}

/// The number at the end of `ed-001`.
fn number_before(text: &str) -> Option<u64> {
    let (_, digits) = text.rsplit_once('-')?;
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    number_at(digits).filter(|_| all)
}

pub(super) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| OsStr::to_str(&entry.file_name()).map(str::to_owned);
    entries.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_names() {
        let mut numbers = Numbers(Counters::default());
        for name in [
            "r0042-ed-007-i2",
            "ed-011-idea-013",
            "refs/heads/agent/ed-012/idea-014",
            "idea-015",
            "op-000017",
            "refs/swarm/rescue/ed-016-idea-002",
            "idea-99999999999999999999",
            "readme",
            "r",
        ] {
            numbers.note(name);
        }
        let Counters {
            ideas,
            agents,
            runs,
            effects,
            learnings,
            checkpoints,
        } = numbers.0;
        assert_eq!((ideas, agents, runs), (15, 16, 42));
        assert_eq!((effects, learnings, checkpoints), (17, 0, 0));
    }

    #[test]
    fn numbers_are_found_in_the_lines_of_a_log_but_not_in_texts() {
        let mut numbers = Numbers(Counters::default());
        for line in [
            r#"{"kind":"ideaAdded","data":{"id":"idea-007","idea":{"text":"idea-900"}}}"#,
            r#"{"kind":"ideaClaimed","data":{"id":"idea-003","agent":"ed-008"}}"#,
            r#"{"kind":"effectRequested","data":{"id":9,"effect":{"run":{"run":"r0011-x"}}}}"#,
            r#"{"kind":"numbersRaised","data":{"counters":{"learnings":4,"ideas":2}}}"#,
            "{}",
        ] {
            numbers.note_record(&serde_json::from_str(line).unwrap());
        }
        let found = Counters {
            ideas: 7,
            agents: 8,
            runs: 11,
            effects: 9,
            learnings: 4,
            checkpoints: 0,
        };
        assert_eq!(numbers.0, found);
    }
}
