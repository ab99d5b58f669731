//! The event log as the contract describes it, read from its file.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::Sandbox;

/// One event.
#[derive(Debug, Clone)]
pub struct Logged {
    /// Its number.
    pub seq: u64,
    /// Its kind.
    pub kind: String,
    /// Its data.
    pub data: Value,
}

impl Sandbox {
    /// All complete lines of the log.
    pub fn log(&self) -> Vec<Logged> {
        let bytes = fs::read(self.dot_swarm("state/events.jsonl")).unwrap_or_default();
        let complete = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| line.ends_with(b"\n"));
        complete.filter_map(logged).collect()
    }

    /// The events of one kind.
    pub fn logged(&self, kind: &str) -> Vec<Logged> {
        self.log()
            .into_iter()
            .filter(|event| event.kind == kind)
            .collect()
    }

    /// The files of the log, oldest first.
    fn segments(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.dot_swarm("state")).into_iter().flatten();
        let rotated = |name: &str| {
            let first = name.strip_prefix("events.")?.strip_suffix(".jsonl")?;
            first.parse::<u64>().ok()
        };
        let mut found: Vec<(u64, PathBuf)> = names
            .map(|entry| entry.unwrap().path())
            .filter_map(|path| Some((rotated(path.file_name()?.to_str()?)?, path)))
            .collect();
        found.sort();
        let rotated = found.into_iter().map(|(_, path)| path);
        let live = self.dot_swarm("state/events.jsonl");
        rotated.chain([live]).collect()
    }

    /// The numbers run from 1 without gaps, the snapshot and the events after it give the same
    /// state as all events.
    pub fn assert_log_sound(&self) {
        let mut last = 0;
        for segment in self.segments() {
            let bytes = fs::read(segment).unwrap_or_default();
            for event in bytes.split(|byte| *byte == b'\n').filter_map(logged) {
                assert_eq!(event.seq, last + 1);
                last = event.seq;
            }
        }
        self.swarm(&["replay", "--verify"]).ok();
    }
}

fn logged(line: &[u8]) -> Option<Logged> {
    let value: Value = serde_json::from_slice(line).ok()?;
    Some(Logged {
        seq: value["seq"].as_u64()?,
        kind: value["kind"].as_str()?.to_owned(),
        data: value["data"].clone(),
    })
}
