//! The page of changes shows what differs between two points, and follows only where it can.

use super::{World, between, life, numbers};
use crate::daemon::offline::Upto;
use crate::view::snapshot::{Comparison, Section};
use crate::web::moment::Moment;
use crate::web::pages::asked::Query;
use crate::web::pages::{Route, WebError, draw};

fn compared(world: &World, from: u64, to: u64) -> Comparison {
    let at = |seq| world.site.api.log.state_at(Upto::Seq(seq)).unwrap();
    Comparison::of(&at(from), &at(to), None)
}

/// The names of a section that differ.
fn names(found: &Comparison, section: Section) -> Vec<String> {
    let Some(differs) = found.sections.get(&section) else {
        return Vec::new();
    };
    let changed = differs.changed.keys();
    let names = changed
        .chain(differs.added.keys())
        .chain(differs.removed.keys());
    names.cloned().collect()
}

async fn refused(world: &World, address: &str) -> WebError {
    let (path, query) = address.split_once('?').unwrap();
    let (route, query) = (Route::of(path).unwrap(), Query::of(query));
    let drawn = draw(&world.site, &Moment::now(), (&route, path, &query), None).await;
    drawn.err().unwrap_or_else(|| panic!("{address} is shown"))
}

#[tokio::test(start_paused = true)]
async fn what_differs_has_a_row_each_and_nothing_else() {
    let mut rows = 0;
    for seed in 1..=4 {
        let log = life(seed, 500);
        let world = World::of(&log);
        let last = u64::try_from(log.len()).unwrap();
        world.go_to(last).await;
        for number in numbers(seed + 300).take(6) {
            let (from, to) = (number % last, (number >> 32) % last);
            let found = compared(&world, from, to);
            for section in [Section::Ideas, Section::Agents, Section::Facts] {
                let name = section.name();
                let address = format!("changes?from={from}&to={to}&section={name}");
                let page = world.page(&address).await;
                let names = names(&found, section);
                let count = page.matches("<tr id=\"changed-").count();
                assert_eq!(count, names.len().min(60), "{address}");
                for one in names.iter().take(60) {
                    assert!(
                        page.contains(&format!("id=\"changed-{name}-{one}\"")),
                        "{address}"
                    );
                }
                let is_empty = page.contains("Nothing differs between the two");
                assert_eq!(is_empty, names.is_empty(), "{address}");
                rows += count;
            }
            let all = world.page(&format!("changes?from={from}&to={to}")).await;
            let headings = all.matches("<section class=\"sec\"><header>").count();
            assert_eq!(headings, found.sections.len(), "from {from} to {to}");
        }
    }
    assert!(rows > 100, "{rows}");
}

#[tokio::test(start_paused = true)]
async fn it_follows_from_a_fixed_point_to_now_alone() {
    let log = life(3, 400);
    let world = World::of(&log);
    let last = u64::try_from(log.len()).unwrap();
    world.go_to(last / 2).await;
    let clock = log.last().unwrap().0;
    for (address, follows) in [
        ("changes", true),
        ("changes?from=3", true),
        ("changes?from=3&to=now&section=ideas", true),
        ("changes?from=3&to=7", false),
        ("changes?from=9000d", false),
        ("changes?from=2020-01-01T00:00:00Z&to=now", false),
    ] {
        let fragments = world.fragments(address, clock).await;
        let mut own = fragments.iter().filter(|one| one.id == "f-changes");
        assert_eq!(own.next().is_some(), follows, "{address}");
    }
    let age = world.page("changes?from=9000d").await;
    assert!(age.contains("Follow them from event 0"), "{age}");
    // What the browser has is replaced, so an update need not compare.
    let now = Moment::now();
    let update = world.draw("changes?from=9000d", &now, Some("1-a")).await;
    assert!(!update.unwrap().document.contains("class=\"seg"));
    let before = world.fragments("changes?from=3", clock).await;
    world.go_to(last).await;
    let after = world.fragments("changes?from=3", clock).await;
    let own = |all: &[crate::web::document::Fragment]| {
        let mut found = all.iter().filter(|one| one.id == "f-changes");
        found.next().unwrap().markup.clone()
    };
    assert_ne!(own(&before), own(&after));
}

#[tokio::test(start_paused = true)]
async fn a_past_page_compares_with_its_moment_and_leads_to_now() {
    let log = life(5, 400);
    let world = World::of(&log);
    let last = u64::try_from(log.len()).unwrap();
    world.go_to(last).await;
    let (then, from) = (last / 2, last / 4);
    let page = world
        .past(&format!("changes?from={from}"), then)
        .await
        .unwrap();
    let found = compared(&world, from, then);
    assert_eq!(
        page.matches("<section class=\"sec\"><header>").count(),
        found.sections.len()
    );
    assert!(page.contains("the moment that you look at"));
    assert!(page.contains(&format!("swarm snapshot diff {from} {then}")));
    let form = between(&page, "class=\"filters\"", "</form>");
    let kept = format!("type=\"hidden\" name=\"at\" value=\"{then}\"");
    assert!(form.contains(&kept), "{form}");
    let overview = world.past("", then).await.unwrap();
    let bar = between(&overview, "class=\"pastbar\"", "</main>");
    assert!(
        bar.contains(&format!("changes?from={then}&amp;to=now")),
        "{bar}"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_choice_it_begins_at_the_last_checkpoint() {
    let mut met = false;
    for seed in 1..=12 {
        let log = life(seed, 500);
        let world = World::of(&log);
        world.go_to(u64::try_from(log.len()).unwrap()).await;
        let newest = world.read(|state| state.checkpoints.values().map(|it| it.seq).max());
        let Some(seq) = newest else {
            continue;
        };
        met = true;
        let page = world.page("changes").await;
        assert!(
            page.contains(&format!("swarm snapshot diff {seq} now")),
            "seed {seed}"
        );
        let list = world.page("checkpoints").await;
        assert!(
            list.contains(&format!("changes?from={seq}&amp;to=now")),
            "seed {seed}"
        );
    }
    assert!(met, "no life has a checkpoint");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_point_is_refused_with_those_that_are_known() {
    let log = life(2, 200);
    let world = World::of(&log);
    world.go_to(u64::try_from(log.len()).unwrap()).await;
    for (address, status, says) in [
        ("changes?from=soon", 400, "`soon` is no state"),
        ("changes?from=1&to=%3Cb%3E", 400, "`<b>` is no state"),
        ("changes?from=99999999", 404, "the log ends at event"),
        ("changes?from=checkpoint:nowhere", 404, "nowhere"),
        (
            "changes?section=money",
            400,
            "the sections are swarm, ideas",
        ),
    ] {
        let refusal = refused(&world, address).await;
        let refusal = refusal.refusal();
        assert_eq!(refusal.status, status, "{address}");
        assert!(
            refusal.message.contains(says),
            "{address}: {}",
            refusal.message
        );
    }
    let soon = refused(&world, "changes?from=soon").await;
    let hints = soon.refusal().suggestions.join("\n");
    assert!(
        hints.contains("an age (2h)") && hints.contains("checkpoint:NAME"),
        "{hints}"
    );
}
