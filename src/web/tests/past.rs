//! A page of the past shows the state of then, and nothing on it can change anything.

use super::counts::beside;
use super::{World, addresses, between, life, numbers};
use crate::daemon::offline::Upto;
use crate::domain::state::State;
use crate::web::parts;

/// What could change something, or would not stay at the moment.
fn acts(page: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for part in page.split('<').skip(1) {
        let tag = part.split('>').next().unwrap_or_default();
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        let has = |text: &str| tag.contains(text);
        let is_wrong = match name {
            "form" => !has("method=\"get\"") && !has("method=\"dialog\""),
            "textarea" => true,
            // The way back goes over a dialog of now.
            "a" => has("data-dialog") && !has("/do/rollback/"),
            _ => has("formaction") || has("hx-post") || has("hx-sse:connect"),
        };
        if is_wrong {
            found.push(tag);
        }
    }
    found
}

fn shows(page: &str, state: &State, what: &str) {
    let header = between(page, "id=\"f-status\"", "</header>");
    let phase = format!("{} then", parts::phase(state.swarm.phase).0.to_lowercase());
    assert!(header.contains(&phase), "{what}: {phase}: {header}");
    for (name, count) in [
        ("Overview", crate::view::needs_you(state).len()),
        ("Ideas", state.ideas.len()),
        ("Agents", state.agents.len()),
        ("Merge train", state.queue.len()),
        ("Checkpoints", state.checkpoints.len()),
        ("Learnings", state.learnings.len()),
        ("Memory", crate::view::memory::fact_count(state)),
    ] {
        assert_eq!(beside(page, name), count, "{what}: {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_page_of_the_past_can_change_anything() {
    let mut pages = 0;
    for seed in 1..=8 {
        let log = life(seed, 500);
        let world = World::of(&log);
        let last = u64::try_from(log.len()).unwrap();
        world.go_to(last).await;
        for number in numbers(seed + 200).take(25) {
            let seq = number % last + 1;
            let state = world.site.api.log.state_at(Upto::Seq(seq)).unwrap();
            let first = world.past("", seq).await.unwrap();
            shows(&first, &state, &format!("seed {seed}, event {seq}"));
            let all = addresses(&state);
            let skip = usize::try_from(number >> 32).unwrap() % all.len();
            for address in all.iter().cycle().skip(skip).take(8) {
                let page = world.past(address, seq).await;
                let what = format!("seed {seed}, /{address} at {seq}");
                let page = page.unwrap_or_else(|| panic!("{what}: no page"));
                assert_eq!(acts(&page), Vec::<&str>::new(), "{what}");
                pages += 1;
            }
        }
    }
    assert_eq!(pages, 1_600);
}
