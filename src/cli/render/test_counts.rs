//! The page of `swarm status` tells the counts of the view that the API and the web page show.

use serde_json::Value;

use super::status;
use crate::cli::output::Output;
use crate::domain::evolve::evolve;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::testkit::sim::Sim;
use crate::domain::time::Timestamp;
use crate::view::{self, Outside};

fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    })
}

fn length(status: &Value, list: &str) -> usize {
    status[list].as_array().unwrap().len()
}

/// Lines below a heading of the command line's page.
fn below<'p>(page: &'p [String], heading: &str) -> &'p [String] {
    let Some(begin) = page.iter().position(|line| line == heading) else {
        return &[];
    };
    let lines = &page[begin + 1..];
    let end = lines.iter().position(String::is_empty);
    &lines[..end.unwrap_or(lines.len())]
}

fn tells_the_counts(view: &Value, now: Timestamp, what: &str) {
    let page = status(&Output::for_pages(false), view, &[], now);
    let slots = &view["slots"];
    let words = format!("{} of {} slots used", slots["used"], slots["max"]);
    if slots["max"].as_u64() > Some(0) {
        assert!(page[0].contains(&words), "{what}: {words}: {page:#?}");
    }
    for one in IdeaStatus::ALL {
        let count = view["ideas"][one.as_str()].as_u64().unwrap();
        let told = page[1].contains(&format!(" {count} {}", one.as_str()));
        assert_eq!(told, count > 0, "{what}: {one:?}: {page:#?}");
    }
    let needs = below(&page, "Needs you").iter();
    let needs = needs.filter(|line| line.starts_with("  ! ")).count();
    assert_eq!(needs, length(view, "needsYou"), "{what}: {page:#?}");
    let agents = below(&page, "Agents").len().saturating_sub(1);
    assert_eq!(agents, length(view, "agents"), "{what}: {page:#?}");
}

#[test]
fn the_page_of_status_tells_the_counts_of_its_view_at_100_random_states() {
    for seed in 1..=10 {
        let choices = numbers(seed).take(500);
        let choices = choices.map(|number| u16::try_from(number >> 48).unwrap());
        let mut sim = Sim::new(choices.collect());
        sim.live();
        let last = sim.log.len();
        let chosen = numbers(seed + 100).take(10);
        let chosen = chosen.map(|number| usize::try_from(number).unwrap() % last);
        let mut chosen: Vec<usize> = chosen.collect();
        chosen.sort_unstable();
        let mut state = State::default();
        for (index, (at, event)) in sim.log.iter().enumerate() {
            evolve(&mut state, index as u64 + 1, *at, event);
            for _ in chosen.iter().filter(|one| **one == index) {
                let outside = Outside {
                    pid: Some(1),
                    ..Outside::default()
                };
                let view = view::status(&state, outside);
                let view = serde_json::to_value(view).unwrap();
                tells_the_counts(&view, *at, &format!("seed {seed}, event {}", index + 1));
            }
        }
    }
}
