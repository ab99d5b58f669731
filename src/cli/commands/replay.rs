//! `swarm replay`: the state at a point in the event log, and the comparison of snapshot and log.

use std::collections::BTreeSet;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::access::Past;
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::event_log::read_point;
use crate::cli::output::terminal::safe;
use crate::daemon::Paths;
use crate::daemon::offline::{self, TwoWays, Upto};
use crate::domain::state::State;

/// `replay`. Reads the files, with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm replay
  $ swarm replay --at 120
  $ swarm replay --at 2026-01-31T23:59:00Z
  $ swarm replay --at \"2026-01-31 23:59\"
  $ swarm replay --verify")]
pub struct Replay {
    /// The point to show: a sequence number, an age (2h), an RFC 3339 time, or a local time with or
    /// without its date. Default: the end of the log.
    #[arg(long, value_name = "SEQ|TIME")]
    pub at: Option<String>,
    /// Compare the snapshot and the events after it with a full replay.
    #[arg(long, conflicts_with = "at")]
    pub verify: bool,
}

/// Shows the state, or compares snapshot and log.
pub fn run(args: &Replay, context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    if args.verify {
        return report(&verify(&paths)?, context);
    }
    let Some(text) = &args.at else {
        return context
            .output
            .document(&offline::state_at(&paths, Upto::End)?);
    };
    let at = read_point(text, &context.zone, clock::now())?;
    let past = Past::read(&paths, at)?;
    context.output.document(past.state())
}

/// The result of comparing snapshot and log.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VerifyReport {
    /// Events in the log.
    pub(super) events: u64,
    /// The last event's sequence number.
    last_seq: u64,
    /// The event at which the snapshot was taken; `None` without a usable snapshot.
    pub(super) snapshot_seq: Option<u64>,
    /// Events after the snapshot.
    tail_events: u64,
    /// The first difference, as `path: snapshot | replay`; `None` if both agree.
    pub(super) difference: Option<String>,
}

/// Compares the newest snapshot and the events after it with a full replay.
pub(super) fn verify(paths: &Paths) -> Result<VerifyReport, CliError> {
    Ok(compare(&offline::both_ways(paths)?))
}

fn compare(ways: &TwoWays) -> VerifyReport {
    let as_json = |state: &State| serde_json::to_value(state).unwrap_or(Value::Null);
    let difference = (ways.by_snapshot != ways.by_replay).then(|| {
        first_difference("", &as_json(&ways.by_snapshot), &as_json(&ways.by_replay))
            .unwrap_or_else(|| "a difference that JSON does not show".to_owned())
    });
    let last_seq = ways.by_replay.seq;
    VerifyReport {
        events: last_seq,
        last_seq,
        snapshot_seq: ways.snapshot_seq,
        tail_events: last_seq - ways.snapshot_seq.unwrap_or(0),
        difference,
    }
}

/// The first difference between two documents, as `path: one | other`.
fn first_difference(path: &str, one: &Value, other: &Value) -> Option<String> {
    if one == other {
        return None;
    }
    if let (Value::Object(left), Value::Object(right)) = (one, other) {
        let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        return keys.into_iter().find_map(|key| {
            let value =
                |object: &Map<String, Value>| object.get(key).cloned().unwrap_or(Value::Null);
            first_difference(&format!("{path}/{key}"), &value(left), &value(right))
        });
    }
    let short = |value: &Value| value.to_string().chars().take(200).collect::<String>();
    Some(format!("{path}: {} | {}", short(one), short(other)))
}

fn report(report: &VerifyReport, context: &mut Context) -> Result<(), CliError> {
    if context.output.json {
        context.output.document(report)?;
    } else {
        context.output.line(describe_report(report))?;
    }
    match &report.difference {
        None => Ok(()),
        Some(difference) => Err(CliError::refused(
            "the snapshot does not match the event log, which is the truth",
        )
        .details(difference.clone())
        .hint("write the snapshot anew: swarm stop; swarm snapshot rebuild")
        .code("REPLAY_DIFFERS")),
    }
}

fn describe_report(report: &VerifyReport) -> String {
    let snapshot = match report.snapshot_seq {
        Some(seq) => format!(
            "the snapshot at event {seq} and the {} events after it",
            report.tail_events
        ),
        None if report.difference.is_none() => {
            return format!(
                "{} events; there is no usable snapshot to compare",
                report.events
            );
        }
        None => "the log alone".to_owned(),
    };
    let verdict = match &report.difference {
        None => "agree with a full replay".to_owned(),
        Some(difference) => format!("differ from a full replay: {}", safe(difference)),
    };
    format!("{} events; {snapshot} {verdict}", report.events)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_verdict_is_one_line() {
        let mut report = VerifyReport {
            events: 10,
            last_seq: 10,
            snapshot_seq: Some(8),
            tail_events: 2,
            difference: None,
        };
        assert_eq!(
            describe_report(&report),
            "10 events; the snapshot at event 8 and the 2 events after it agree with a full replay"
        );
        report.difference = Some("ideas.idea-001.status: done | pending".into());
        let ends = "differ from a full replay: ideas.idea-001.status: done | pending";
        assert!(describe_report(&report).ends_with(ends));
        report.difference = None;
        report.snapshot_seq = None;
        let expected = "10 events; there is no usable snapshot to compare";
        assert_eq!(describe_report(&report), expected);
    }

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let one = json!({"a": {"b": 1}, "c": [1, 2]});
        assert_eq!(first_difference("", &one, &one), None);
        let other = json!({"a": {"b": 2}, "c": [1, 2]});
        assert_eq!(
            first_difference("", &one, &other).as_deref(),
            Some("/a/b: 1 | 2")
        );
        let longer = json!({"a": {"b": 1}, "c": [1, 2], "d": 0});
        assert_eq!(
            first_difference("", &one, &longer).as_deref(),
            Some("/d: null | 0")
        );
    }
}
