//! Reads the memory's part of the event log.
//!
//! Invariant: the log has no index, so nothing can disagree with it. Segments whose time is not
//! asked for are not read, and lines are parsed only if their bytes allow what is asked for.

use std::ops::ControlFlow;

use crate::daemon::Paths;
use crate::daemon::actor::handle::Journaled;
use crate::domain::event::Event;
use crate::domain::time::Timestamp;
use crate::journal::{self, JournalError, Record, Segments};
use crate::view::describe::Point;
use crate::view::memory::LogFilter;

/// Passes the events that the filter wants, up to event `last`, to `each`, oldest first, until that
/// has had enough. It blocks.
///
/// # Errors
/// The log is damaged there.
pub fn select(
    paths: &Paths,
    filter: &LogFilter,
    last: u64,
    each: &mut dyn FnMut(Journaled) -> ControlFlow<()>,
) -> Result<(), JournalError> {
    let segments = Segments::open(&paths.state)?;
    let (first, upto) = segments.between(time(filter.since), time(filter.until))?;
    let from = first.max(filter.read_after().saturating_add(1));
    let upto = match filter.until {
        Some(Point::Seq(seq)) => upto.min(seq),
        Some(Point::Time(_)) | None => upto,
    };
    let lines = filter.lines();
    journal::select(
        &segments,
        (from, upto.min(last)),
        &|line| lines.may_want(line.ts, line.kind, line.line),
        &mut |Record { seq, ts, event, .. }: Record<Event>| {
            if filter.wants(seq, ts, &event) {
                each(Journaled { seq, ts, event })
            } else {
                ControlFlow::Continue(())
            }
        },
    )
}

fn time(point: Option<Point>) -> Option<Timestamp> {
    match point {
        Some(Point::Time(time)) => Some(time),
        Some(Point::Seq(_)) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{FactConfirmed, Mark};
    use crate::domain::ids::AgentId;
    use crate::domain::memory::Evidence;
    use crate::domain::request::Author;
    use crate::journal::{Disk, Journal};

    /// Events of the log; small, because a test reads it often.
    const EVENTS: i64 = 240;
    /// Bytes after which a new segment begins, for about six of them.
    const SEGMENT: u64 = 8 * 1024;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000 + minute * 60_000)
    }

    fn agent(number: i64) -> AgentId {
        format!("ed-{number:03}").parse().unwrap()
    }

    /// Every fourth event is about the memory, by three agents in turn; one event each minute.
    fn event(number: i64) -> Event {
        if number % 4 != 0 {
            return Event::Mark(Mark {});
        }
        let author = Author::Agent {
            id: agent(number / 4 % 3),
            idea_id: None,
            run: "r1".parse().unwrap(),
        };
        Event::FactConfirmed(FactConfirmed {
            key: "api.port".parse().unwrap(),
            version: 1,
            evidence: Box::new(Evidence {
                author,
                ..Evidence::default()
            }),
        })
    }

    fn log() -> (tempfile::TempDir, Paths) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir_all(&paths.state).unwrap();
        let (mut journal, _) = Journal::open_with(&paths.state, SEGMENT, Box::new(Disk)).unwrap();
        for number in 0..EVENTS {
            let expected = journal.position().seq;
            journal
                .append(expected, at(number), &[event(number)])
                .unwrap();
        }
        (dir, paths)
    }

    fn selected(paths: &Paths, filter: &LogFilter, most: usize) -> Vec<u64> {
        let mut found = Vec::new();
        select(paths, filter, u64::MAX, &mut |one| {
            found.push(one.seq);
            if found.len() < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();
        found
    }

    fn filters() -> Vec<LogFilter> {
        let mut points = vec![None];
        for number in [0, 1, 37, 120, 121, 200, EVENTS, EVENTS + 9] {
            points.push(Some(Point::Time(at(number))));
            points.push(Some(Point::Seq(number.unsigned_abs())));
        }
        let mut filters = Vec::new();
        for since in &points {
            for until in &points {
                for (agent, kind) in [
                    (None, None),
                    (Some(agent(1)), None),
                    (Some(agent(2)), Some("factConfirmed".to_owned())),
                    (None, Some("learned".to_owned())),
                ] {
                    filters.push(LogFilter {
                        since: *since,
                        until: *until,
                        agent,
                        kind,
                    });
                }
            }
        }
        filters
    }

    #[test]
    fn what_is_skipped_was_not_asked_for() {
        let (_dir, paths) = log();
        assert!(Segments::open(&paths.state).unwrap().iter().count() > 3);
        for filter in filters() {
            let expected: Vec<u64> = (0..EVENTS)
                .filter(|number| {
                    filter.wants(number.unsigned_abs() + 1, at(*number), &event(*number))
                })
                .map(|number| number.unsigned_abs() + 1)
                .collect();
            assert_eq!(
                selected(&paths, &filter, usize::MAX),
                expected,
                "{filter:?}"
            );
            let first: Vec<u64> = expected.into_iter().take(2).collect();
            assert_eq!(selected(&paths, &filter, 2), first, "{filter:?}");
        }
    }

    #[test]
    fn segments_of_other_times_are_not_read() {
        let (_dir, paths) = log();
        let segments = Segments::open(&paths.state).unwrap();
        let begins: Vec<u64> = segments.iter().map(|segment| segment.first).collect();
        let (since, until) = (at(150), at(160));
        let (first, last) = segments.between(Some(since), Some(until)).unwrap();
        assert!(begins.contains(&first) && first > 1, "{first}: {begins:?}");
        assert!(begins.contains(&(last + 1)), "{last}: {begins:?}");
        // The event of minute 150 has seq 151.
        assert!(first <= 151 && last >= 161, "{first} to {last}");
        assert_eq!(segments.between(None, None).unwrap(), (1, u64::MAX));
    }
}
