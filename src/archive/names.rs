//! The names that files of an archive may have: a closed list of shapes.
//!
//! Invariant: an allowed name is relative, has no part that begins with a dot, and consists of
//! letters, digits and `. _ - + @ = %` between its slashes. So it names a place below the staging
//! folder on every system.

use crate::domain::ids::{AgentId, CheckpointName, RunId};

/// The first file of an archive; it is not in its own list.
pub const MANIFEST: &str = "manifest.json";
/// The state inside; the first file after the manifest.
pub const SNAPSHOT: &str = "snapshot.json";
/// The segments of the event log, under the names that they have in `.swarm/state/`.
pub const EVENTS: &str = "events/";
/// The states that repairs of the log put into it: `restored/<sha256>.json`.
pub const RESTORED: &str = "restored/";
/// The files of checkpoints, under the names that they have in `.swarm/checkpoints/`.
pub const CHECKPOINTS: &str = "checkpoints/";
/// What `.swarm/provenance/` has.
pub const PROVENANCE: &str = "provenance/";
/// The commits.
pub const BUNDLE: &str = "git/work.bundle";
/// The agents of unfinished attempts: `agents/<id>.json`.
pub const AGENTS: &str = "agents/";
/// Their native conversations: `conversations/<id>/...`.
pub const CONVERSATIONS: &str = "conversations/";
/// The folders of their runs: `runs/<id>/...`.
pub const RUNS: &str = "runs/";

/// Longest name, in bytes: what fits into a plain header of the format.
pub const LONGEST: usize = 240;
/// Most folders above a file.
const DEEPEST: usize = 12;

/// Whether a file of an archive may have this name.
pub fn is_allowed(name: &str) -> bool {
    if name.len() > LONGEST || !name.split('/').all(is_plain_part) {
        return false;
    }
    if name.split('/').count() > DEEPEST {
        return false;
    }
    let below = |folder: &str| name.strip_prefix(folder);
    let json = |rest: &str| rest.strip_suffix(".json").map(ToOwned::to_owned);
    if name == SNAPSHOT || name == BUNDLE {
        true
    } else if let Some(rest) = below(EVENTS) {
        is_segment(rest)
    } else if let Some(rest) = below(RESTORED) {
        json(rest).is_some_and(|digest| is_sha256(&digest))
    } else if let Some(rest) = below(CHECKPOINTS) {
        json(rest).is_some_and(|name| name.parse::<CheckpointName>().is_ok())
    } else if let Some(rest) = below(AGENTS) {
        json(rest).is_some_and(|id| id.parse::<AgentId>().is_ok())
    } else if let Some(rest) = below(CONVERSATIONS) {
        rest.split_once('/')
            .is_some_and(|(id, _)| id.parse::<AgentId>().is_ok())
    } else if let Some(rest) = below(RUNS) {
        rest.split_once('/')
            .is_some_and(|(id, _)| id.parse::<RunId>().is_ok())
    } else {
        below(PROVENANCE).is_some_and(|rest| rest.contains('/'))
    }
}

/// Whether this is a SHA-256 in hex, as swarm writes it.
pub fn is_sha256(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 64 && text.bytes().all(is_digit)
}

/// Whether a part of a name may stand between two slashes.
pub fn is_plain_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+@=%".contains(&byte);
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_plain)
}

/// `events.jsonl` or `events.<first seq>.jsonl`.
fn is_segment(name: &str) -> bool {
    if name == "events.jsonl" {
        return true;
    }
    let first = name
        .strip_prefix("events.")
        .and_then(|rest| rest.strip_suffix(".jsonl"));
    let first = first.and_then(|first| Some((first, first.parse::<u64>().ok()?)));
    first.is_some_and(|(text, number)| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_shapes_are_allowed() {
        let digest = "a".repeat(64);
        let allowed = [
            "snapshot.json".to_owned(),
            "events/events.jsonl".to_owned(),
            "events/events.1.jsonl".to_owned(),
            format!("restored/{digest}.json"),
            "checkpoints/before-release.json".to_owned(),
            "provenance/snapshots/r0042-ed-001-i2.json".to_owned(),
            "git/work.bundle".to_owned(),
            "agents/ed-001.json".to_owned(),
            "conversations/ed-001/projects/-home-a-b/x.jsonl".to_owned(),
            "runs/r0042-ed-001-i2/stdout.log".to_owned(),
        ];
        for name in allowed {
            assert!(is_allowed(&name), "{name}");
        }
        let long = format!("runs/r0001-ed-001-i1/{}", "a".repeat(LONGEST));
        let deep = format!("conversations/ed-001/{}x", "a/".repeat(DEEPEST));
        let refused = [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../snapshot.json",
            "runs/../../x",
            "runs/r1/../x",
            "runs/r1/..",
            "runs/r1/.hidden",
            "runs/r1/",
            "runs//x",
            "runs/r1",
            "runs/R1/x",
            "runs/r1/a b",
            "runs/r1/a\\b",
            "runs/r1/a\nb",
            "runs/r1/\u{202e}x",
            "./snapshot.json",
            "snapshot.json/",
            "manifest.json",
            "config.local.json",
            "state/token",
            "events/events.01.jsonl",
            "events/events.x.jsonl",
            "events/other.jsonl",
            "restored/x.json",
            "checkpoints/a/b.json",
            "checkpoints/.json",
            "agents/ed-001.txt",
            "conversations/ed-001",
            "conversations/../x",
            "provenance/x.json",
            "git/config",
            "C:/x",
            &long,
            &deep,
        ];
        for name in refused {
            assert!(!is_allowed(name), "{name}");
        }
    }
}
