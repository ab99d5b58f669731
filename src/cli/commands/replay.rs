//! `swarm replay`: the state at a point of the log, and the proof that the snapshot tells the truth.

use clap::Args;
use jiff::tz::TimeZone;

use crate::cli::backend::{Point, VerifyReport};
use crate::cli::clock;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::terminal::safe;

/// `replay`. Reads the files, with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm replay
  $ swarm replay --at 120
  $ swarm replay --at 2026-01-31T23:59:00Z
  $ swarm replay --at \"2026-01-31 23:59\"
  $ swarm replay --verify")]
pub struct Replay {
    /// The point: a sequence number, an RFC 3339 time, or a local date and time; left out: the end.
    #[arg(long, value_name = "SEQ|TIME")]
    pub at: Option<String>,
    /// Compare the snapshot and the events after it with a full replay.
    #[arg(long, conflicts_with = "at")]
    pub verify: bool,
}

/// Shows the state, or compares.
pub fn run(args: &Replay, context: &mut Context<'_>) -> Result<(), CliError> {
    let repo = context.repo()?;
    let offline = context.offline(&repo)?;
    if args.verify {
        return report(&offline.verify()?, context);
    }
    let at = args.at.as_deref().map(|text| point(text, &context.zone));
    let state = offline.replay(at.transpose()?)?;
    context.output.document(&state)
}

/// A point as somebody types it.
fn point(text: &str, zone: &TimeZone) -> Result<Point, CliError> {
    if let Ok(seq) = text.parse() {
        return Ok(Point::Seq(seq));
    }
    clock::read(text, zone).map(Point::Time).ok_or_else(|| {
        CliError::new(
            crate::cli::error::Kind::Usage,
            format!("`{text}` is neither a sequence number nor a time"),
        )
        .hint("write a number (120), a time (2026-01-31T23:59:00Z) or a local date and time (\"2026-01-31 23:59\")")
    })
}

fn report(report: &VerifyReport, context: &mut Context<'_>) -> Result<(), CliError> {
    if context.output.json {
        context.output.document(report)?;
    } else {
        context.output.line(words(report))?;
    }
    match &report.difference {
        None => Ok(()),
        Some(difference) => Err(CliError::refused(
            "the state of snapshot and events is not that of a full replay",
        )
        .details(difference.clone())
        .hint("the events are the truth; have the snapshot written anew: swarm stop, remove .swarm/state/snapshot.json, swarm start")
        .code("REPLAY_DIFFERS")),
    }
}

fn words(report: &VerifyReport) -> String {
    let snapshot = match report.snapshot_seq {
        Some(seq) => format!(
            "snapshot at {seq} and {} events after it",
            report.tail_events
        ),
        None => "no usable snapshot".to_owned(),
    };
    let verdict = match &report.difference {
        None => "agree".to_owned(),
        Some(difference) => format!("differ: {}", safe(difference)),
    };
    format!(
        "{} events up to {}; {snapshot}: {verdict}",
        report.events, report.last_seq
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_numbers_or_times() {
        assert_eq!(point("120", &TimeZone::UTC).unwrap(), Point::Seq(120));
        let time = "2026-01-31T23:59:00.000Z";
        let expected = Point::Time(time.parse().unwrap());
        assert_eq!(point("2026-01-31 23:59", &TimeZone::UTC).unwrap(), expected);
        assert_eq!(
            point("yesterday", &TimeZone::UTC)
                .unwrap_err()
                .kind
                .exit_code(),
            2
        );
    }

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
            words(&report),
            "10 events up to 10; snapshot at 8 and 2 events after it: agree"
        );
        report.difference = Some("ideas.idea-001.status: done | pending".into());
        assert!(words(&report).ends_with("differ: ideas.idea-001.status: done | pending"));
    }
}
