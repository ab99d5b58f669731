//! Reading what older versions wrote: a chain of pure steps, each from format v to v + 1.
//!
//! Invariant: a step depends on nothing but the event it is given, and once released it never changes; a golden log of
//! each released format in `tests/golden/` holds it to that. To add format 2: write `fn v1_to_v2`, append it to
//! [`STEPS`], raise [`super::FORMAT`].

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
    let known = usize::try_from(v - oldest).unwrap_or(usize::MAX);
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
    let tagged = match data {
        Value::Null => serde_json::json!({ "kind": kind }),
        data => serde_json::json!({ "kind": kind, "data": data }),
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

    /// Format 0 never existed; it called the text of a `text` event `message`, and `mark` was called `tick`.
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
