//! What an iteration read by itself is recorded once, at its end.

use crate::domain::event::{Event, MemoryRead, ReadCounts, ShownItem};
use crate::domain::ids::RunId;
use crate::domain::memory::MAX_READ;
use crate::domain::observation::Observation;
use crate::domain::testkit::{Scenario, agent};

fn read(run: &RunId, count: usize, by_tool: ReadCounts) -> Observation {
    let item = |number| ShownItem {
        reference: format!("{:x<80}.n{number}", "key"),
        version: 1,
    };
    Observation::MemoryRead {
        run: run.clone(),
        items: (0..count).map(item).collect(),
        by_tool,
    }
}

/// The readings in the log.
fn readings(story: &Scenario) -> Vec<&MemoryRead> {
    let all = story.log.iter();
    all.filter_map(|(_, event)| {
        if let Event::MemoryRead(read) = event {
            Some(read)
        } else {
            None
        }
    })
    .collect()
}

fn working() -> (Scenario, RunId) {
    let mut story = Scenario::running();
    story.add("one").well_until("iteration");
    let run = story.state.agents[&agent(1)].run.clone().unwrap();
    (story, run)
}

#[test]
fn a_reading_is_recorded_once_for_each_iteration() {
    let (mut story, run) = working();
    let log = ReadCounts {
        log: 1,
        ..ReadCounts::default()
    };
    story.when(read(&run, 0, ReadCounts::default()));
    assert!(readings(&story).is_empty(), "nothing was read");
    story.when(read(&run, 2, log));
    story.when(read(&run, 1, log));
    let all = readings(&story);
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0].agent, &all[0].run), (&agent(1), &run));
    assert_eq!((all[0].items.len(), all[0].by_tool), (2, log));
}

#[test]
fn what_no_attempt_runs_is_not_recorded() {
    let (mut story, _) = working();
    let other: RunId = "r9-gone".parse().unwrap();
    story.when(read(&other, 1, ReadCounts::default()));
    assert!(readings(&story).is_empty());
}

#[test]
fn the_event_stays_small_whatever_was_read() {
    let (mut story, run) = working();
    story.when(read(&run, 10_000, ReadCounts::default()));
    let all = readings(&story);
    assert_eq!(all[0].items.len(), MAX_READ);
    let line = serde_json::to_string(all[0]).unwrap();
    assert!(line.len() < 64 * 1024, "{} bytes", line.len());
}
