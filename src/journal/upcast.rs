//! Reading what older versions wrote: a chain of pure steps, each from format v to v + 1.
//!
//! Invariant: a step depends on nothing but the event it is given, and once released it never
//! changes; a golden log of each released format in `tests/golden/` holds it to that. To add format
//! 2: write `fn v1_to_v2`, append it to [`STEPS`], raise [`super::FORMAT`].

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::record::{FORMAT, Header, Record};
use crate::domain::time::Timestamp;

/// An event as data, whatever its format.
#[derive(Debug, Clone, PartialEq)]
pub struct OldEvent {
    /// Its kind.
    pub kind: String,
    /// Its data; `Null` where the line has none.
    pub data: Value,
}

/// From one format to the next.
pub type Step = fn(OldEvent) -> OldEvent;

/// The oldest format that can be read.
pub const OLDEST: u64 = 1;

/// The step at index `i` leads from format `OLDEST + i` to the one after it.
const STEPS: &[Step] = &[];

const _: () = assert!(OLDEST + STEPS.len() as u64 == FORMAT);

/// Applies the steps of `steps` (the first leads from format `oldest`) to an event of format `v`.
fn lift(oldest: u64, steps: &[Step], v: u64, event: OldEvent) -> OldEvent {
    let known = usize::try_from(v.saturating_sub(oldest)).unwrap_or(usize::MAX);
    steps
        .iter()
        .skip(known)
        .fold(event, |event, step| step(event))
}

#[derive(Deserialize)]
struct OldLine {
    ts: Timestamp,
    kind: String,
    #[serde(default)]
    data: Value,
}

/// An event of format `v` (at least [`OLDEST`]) as one of [`FORMAT`]; one of that or a newer format
/// as it is.
pub fn upcast(v: u64, event: OldEvent) -> OldEvent {
    lift(OLDEST, STEPS, v, event)
}

/// Parses a line of a format before [`FORMAT`] as today's event. The text says what is wrong.
pub(super) fn parse_old<E: DeserializeOwned>(
    header: Header,
    line: &[u8],
) -> Result<Record<E>, String> {
    parse_with(OLDEST, STEPS, header, line)
}

fn parse_with<E: DeserializeOwned>(
    oldest: u64,
    steps: &[Step],
    header: Header,
    line: &[u8],
) -> Result<Record<E>, String> {
    if header.v < oldest {
        return Err(format!("format {} was never released", header.v));
    }
    let OldLine { ts, kind, data } = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let OldEvent { kind, data } = lift(oldest, steps, header.v, OldEvent { kind, data });
    let tagged = if data.is_null() {
        serde_json::json!({ "kind": kind })
    } else {
        serde_json::json!({ "kind": kind, "data": data })
    };
    Ok(Record {
        seq: header.seq,
        dur: header.dur,
        ts,
        event: serde_json::from_value(tagged).map_err(|e| e.to_string())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::testing::Note;

    /// Format 0 never existed; it called the text of a `text` event `message`, and `mark` was
    /// called `tick`.
    fn v0_to_v1(mut event: OldEvent) -> OldEvent {
        if let Some(message) = event.data.get_mut("message").map(Value::take) {
            event.data = serde_json::json!({ "text": message });
        }
        if event.kind == "tick" {
            event.kind = "mark".into();
        }
        event
    }

    fn read(line: &str) -> Result<Record<Note>, String> {
        let header = super::super::record::header(line.as_bytes()).unwrap();
        parse_with(0, &[v0_to_v1], header, line.as_bytes())
    }

    #[test]
    fn an_older_format_is_lifted_step_by_step() {
        let line = r#"{"v":0,"seq":7,"dur":6,"ts":"2026-01-01T00:00:00.000Z","kind":"text","data":{"message":"hi"},"crc":"00000000"}"#;
        let record = read(line).unwrap();
        assert_eq!(
            (record.seq, record.dur, record.event),
            (7, 6, Note::text("hi"))
        );
        let line = r#"{"v":0,"seq":8,"dur":6,"ts":"2026-01-01T00:00:00.000Z","kind":"tick","data":{},"crc":"00000000"}"#;
        assert_eq!(read(line).unwrap().event, Note::Mark {});
    }

    #[test]
    fn todays_format_passes_no_step() {
        let line = r#"{"v":1,"seq":7,"dur":6,"ts":"2026-01-01T00:00:00.000Z","kind":"text","data":{"text":"hi"},"crc":"00000000"}"#;
        assert_eq!(read(line).unwrap().event, Note::text("hi"));
        let line = r#"{"v":1,"seq":7,"dur":6,"ts":"2026-01-01T00:00:00.000Z","kind":"bare","crc":"00000000"}"#;
        assert_eq!(read(line).unwrap().event, Note::Bare);
    }

    /// A format 2 that never was: a `text` has a list of lines.
    fn v1_to_v2(mut event: OldEvent) -> OldEvent {
        if event.kind == "text"
            && let Some(text) = event.data.get("text").and_then(Value::as_str)
        {
            event.data = serde_json::json!({ "lines": text.lines().collect::<Vec<_>>() });
        }
        event
    }

    /// A format 3: `text` is `lines`, and `bare` is `mark`.
    fn v2_to_v3(mut event: OldEvent) -> OldEvent {
        match event.kind.as_str() {
            "text" => event.kind = "lines".into(),
            "bare" => (event.kind, event.data) = ("mark".into(), serde_json::json!({})),
            _ => {}
        }
        event
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(tag = "kind", content = "data", rename_all = "camelCase")]
    enum Later {
        Lines { lines: Vec<String> },
        Many { items: Vec<(u64, String)> },
        Mark {},
    }

    const LATER: &[Step] = &[v1_to_v2, v2_to_v3];

    #[test]
    fn every_step_from_a_lines_own_format_on_is_taken_and_no_other() {
        let lines = |v: u64, kind: &str, data: &str| {
            let line = format!(
                r#"{{"v":{v},"seq":1,"dur":0,"ts":"2026-01-01T00:00:00.000Z","kind":"{kind}","data":{data},"crc":"00000000"}}"#
            );
            let header = super::super::record::header(line.as_bytes()).unwrap();
            parse_with::<Later>(1, LATER, header, line.as_bytes()).map(|record| record.event)
        };
        let expected = || {
            let lines = vec!["a".to_owned(), "b".to_owned()];
            Ok(Later::Lines { lines })
        };
        assert_eq!(lines(1, "text", r#"{"text":"a\nb"}"#), expected());
        assert_eq!(lines(2, "text", r#"{"lines":["a","b"]}"#), expected());
        assert_eq!(lines(3, "lines", r#"{"lines":["a","b"]}"#), expected());
        // A kind that only later formats have is not understood under an older number, and the
        // other way round.
        assert!(lines(2, "text", r#"{"text":"a"}"#).is_err());
        assert!(lines(3, "text", r#"{"lines":[]}"#).is_err());
    }

    #[test]
    fn the_golden_log_of_format_1_passes_through_two_steps() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
        let text = ["events.1.jsonl", "events.jsonl"]
            .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
            .concat();
        let events: Vec<Later> = text
            .lines()
            .map(|line| {
                let header = super::super::record::header(line.as_bytes()).unwrap();
                let record = parse_with(1, LATER, header, line.as_bytes());
                record.unwrap().event
            })
            .collect();
        assert!(matches!(&events[0], Later::Lines { lines } if lines == &["the first"]));
        assert_eq!(events[1], Later::Mark {});
        assert!(matches!(&events[2], Later::Lines { lines } if lines.len() == 2));
        assert!(matches!(&events[3], Later::Many { items } if items.len() == 2));
        assert_eq!(events[4], Later::Mark {});
    }

    fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let key = prop_oneof![
                Just("text".to_owned()),
                Just("data".to_owned()),
                Just("items".to_owned()),
                ".{0,6}",
            ];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map(key, inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        /// Whatever a line holds: each released step, and the chain, gives an event, the same each
        /// time, and a line of it is parsed or refused.
        #[test]
        fn steps_are_pure_and_total(
            kind in "[a-zA-Z]{0,12}|text|mark|bare",
            data in any_json(),
            v in 1_u64..5,
        ) {
            let event = OldEvent { kind, data };
            for steps in [STEPS, LATER] {
                for step in steps {
                    assert_eq!(step(event.clone()), step(event.clone()));
                }
                let lifted = lift(1, steps, v, event.clone());
                assert_eq!(lifted, lift(1, steps, v, event.clone()));
            }
            let line = serde_json::json!({
                "ts": "2026-01-01T00:00:00.000Z", "kind": event.kind, "data": event.data,
            });
            let header = Header { v, seq: 1, dur: 0 };
            let parsed = || parse_with::<Later>(1, LATER, header, line.to_string().as_bytes());
            assert_eq!(parsed(), parsed());
        }
    }

    #[test]
    fn a_format_before_the_oldest_is_refused() {
        let header = Header {
            v: 0,
            seq: 1,
            dur: 0,
        };
        assert!(
            parse_old::<Note>(header, b"{}")
                .unwrap_err()
                .contains("never released")
        );
    }
}
