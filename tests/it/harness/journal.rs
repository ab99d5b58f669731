//! The event log as the contract describes it, read from its file.

use std::fs;

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

    /// The numbers run from 1 without gaps, the snapshot and the events after it give the same state as all events.
    pub fn assert_log_sound(&self) {
        let numbers: Vec<u64> = self.log().iter().map(|event| event.seq).collect();
        let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
        assert_eq!(numbers, expected);
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
