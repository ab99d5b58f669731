//! Durable events as JSON, `{"seq","ts","kind","data"}`: the same from the daemon and the files.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::clock;
use super::error::CliError;
use super::json;
use super::output::Output;
use super::output::terminal::{Tone, paint, safe, shorten};
use crate::daemon::actor::handle::Journaled;
use crate::domain::event::Event;
use crate::view::describe;

/// An event as JSON.
pub fn to_json(journaled: &Journaled) -> Result<Value, CliError> {
    let mut event = json::to_value(&journaled.event)?;
    let data = event.get_mut("data").map_or(Value::Null, Value::take);
    Ok(json!({
        "seq": journaled.seq,
        "ts": journaled.ts,
        "kind": journaled.event.kind(),
        "data": data,
    }))
}

/// Parses an event; `None` if this version does not know its kind.
pub fn event(document: &Value) -> Option<Event> {
    let parts = json!({ "kind": document.get("kind")?, "data": document.get("data")? });
    serde_json::from_value(parts).ok()
}

/// Writes an event: unchanged with `--json`, otherwise as a line for people.
pub fn show(output: &mut Output, document: &Value, zone: &TimeZone) -> Result<(), CliError> {
    if output.json {
        return output.json_line(document);
    }
    let text = line(document, zone, output.colors);
    output.line(text)
}

/// An event as a line for people: number, local time, kind, description.
pub fn line(document: &Value, zone: &TimeZone, colors: bool) -> String {
    let time = json::time(document, "ts").map_or_else(String::new, |time| clock::local(time, zone));
    let kind = safe(json::text(document, "kind"));
    let (tone, words) = match event(document) {
        Some(event) => (describe::tone(&event), describe::describe(&event)),
        // A newer daemon's event is shown unchanged.
        None => (
            Tone::Plain,
            shorten(&safe(&document["data"].to_string()), 300, false),
        ),
    };
    format!(
        "{:>6}  {}  {}  {}",
        json::number(document, "seq"),
        paint(colors, Tone::Dim, &time),
        paint(colors, Tone::Dim, &format!("{kind:<16}")),
        paint(colors, tone, &words)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testkit as samples;
    use crate::domain::time::Timestamp;

    #[test]
    fn every_event_survives_a_round_trip_through_json() {
        for (seq, sample) in (1..).zip(samples::events()) {
            let ts = Timestamp::from_millis(1_000);
            let journaled = Journaled {
                seq,
                ts,
                event: sample,
            };
            let document = to_json(&journaled).unwrap();
            assert_eq!(document["seq"], seq);
            assert_eq!(document["ts"], "1970-01-01T00:00:01.000Z");
            assert_eq!(event(&document), Some(journaled.event));
        }
    }

    #[test]
    fn an_unknown_kind_of_event_is_shown_unchanged() {
        let document = json!({"seq": 5, "ts": "1970-01-01T00:00:01.000Z", "kind": "moonRose",
            "data": {"a": "\u{1b}"}});
        let line = line(&document, &TimeZone::UTC, false);
        assert_eq!(
            line,
            "     5  1970-01-01 00:00:01  moonRose          {\"a\":\"\\u001b\"}"
        );
    }
}
