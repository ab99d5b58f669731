//! `reference/events.md`: every kind of event, with an example from the golden log.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::{sentence, whole};
use crate::page::root;

const HEAD: &str = "# Events

Everything that happens is an event in `.swarm/state/events.jsonl`. `swarm events` shows them, \
`swarm events --json` as one
JSON document a line, and `swarm events -f` follows them. `--kind` and `--since` choose.

```json
{\"v\":1,\"seq\":42,\"dur\":41,\"ts\":\"2026-11-23T03:45:34.400Z\",\
\"kind\":\"ideaClaimed\",\"data\":{},\"crc\":\"9f31c0aa\"}
```

| key | meaning |
| --- | --- |
| `v` | the format of the log |
| `seq` | the number of the event, from 1, without gaps |
| `dur` | the highest number that was known to be on disk when this line was written |
| `schema` | in the first line only: a digest of the forms that the events have |
| `ts` | when, in UTC |
| `kind` `data` | what happened; see below |
| `crc` | CRC-32C of the previous line's `crc` and of this line up to here |

A line is at most 64 KiB. A log that a newer version wrote is refused. Format 1 starts at the \
first tag: from then on, kinds and keys are
added, never removed or changed, and what a version wrote, later ones read. Until then the forms \
may change, and a log with another
digest is refused (exit 75).

The log consists of rotated segments, `events.FIRST-SEQ.jsonl`, and the live one, `events.jsonl`. \
Never edit them; read them with
`swarm events`.

";

#[test]
fn events() {
    let examples = examples();
    let mut page = HEAD.to_owned();
    let groups = kinds();
    let shown: usize = groups.iter().map(Vec::len).sum();
    assert_eq!(
        shown,
        examples.len(),
        "each kind has an example, and each example its kind"
    );
    for group in groups {
        for (kind, about) in group {
            let example = examples
                .get(&kind)
                .unwrap_or_else(|| panic!("{kind} has no example"));
            let compact = example.to_string();
            let example = if compact.len() > 100 {
                format!("{example:#}")
            } else {
                compact
            };
            write!(
                page,
                "## {kind}\n\n{}\n\n```json\n{example}\n```\n\n",
                sentence(&about)
            )
            .unwrap();
        }
    }
    whole("docs/reference/events.md", &page);
}

/// The fullest example of each kind.
fn examples() -> BTreeMap<String, Value> {
    let golden = fs::read_to_string(root().join("tests/golden/events-v1.jsonl")).unwrap();
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for line in golden.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let kind = event["kind"].as_str().unwrap().to_owned();
        let keys = |data: &Value| data.as_object().map_or(0, serde_json::Map::len);
        let fuller = found
            .get(&kind)
            .is_none_or(|known| keys(known) < keys(&event["data"]));
        if fuller {
            found.insert(kind, event["data"].clone());
        }
    }
    found
}

/// The kinds and what their comments say, in the order and the groups of the source.
fn kinds() -> Vec<Vec<(String, String)>> {
    let source = fs::read_to_string(root().join("src/domain/event/mod.rs")).unwrap();
    let (_, body) = source.split_once("pub enum Event {\n").unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let mut groups: Vec<Vec<(String, String)>> = vec![vec![]];
    let mut about = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            about.push(comment.trim().to_owned());
        } else if line.is_empty() {
            groups.push(vec![]);
        } else if !line.starts_with('#') {
            let name = line.split('(').next().unwrap();
            let mut letters = name.chars();
            let first = letters.next().unwrap().to_ascii_lowercase();
            let kind = format!("{first}{}", letters.as_str());
            groups.last_mut().unwrap().push((kind, about.join(" ")));
            about.clear();
        }
    }
    groups
}
