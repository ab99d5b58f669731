//! Header, navigation and overview tell the counts that the API tells, and so the command line.

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;

use super::{World, between, life, numbers};
use crate::domain::state::IdeaStatus;
use crate::view;
use crate::web::parts;

/// What the navigation says beside a page's name.
pub(super) fn beside(document: &str, name: &str) -> usize {
    let list = between(document, "id=\"f-nav\"", "</nav>");
    let entry = between(list, &format!(">{name}"), "</a>");
    let count = entry
        .split('>')
        .nth(1)
        .and_then(|rest| rest.split('<').next());
    count.map_or(0, |count| count.parse().unwrap())
}

/// What the API answers at this address.
async fn told(world: &World, address: &str) -> Value {
    let service = TowerToHyperService::new(crate::api::router(world.site.api.clone()));
    let address = format!("/api/v1/views/{address}");
    let request = Request::get(address).body(Body::empty()).unwrap();
    let answer = service.call(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

fn length(status: &Value, list: &str) -> usize {
    status[list].as_array().unwrap().len()
}

fn page_and_api(page: &str, status: &Value, what: &str) {
    let slots = &status["slots"];
    let words = format!("{} of {} slots", slots["used"], slots["max"]);
    let header = between(page, "id=\"f-status\"", "</header>");
    assert!(header.contains(&words), "{what}: {words}: {header}");
    let phase = serde_json::from_value(status["phase"].clone()).unwrap();
    let phase = format!("<b>{}</b>", parts::phase(phase).0);
    assert!(header.contains(&phase), "{what}: {phase}: {header}");
    let mode = format!("{} · ", status["mode"].as_str().unwrap());
    assert!(header.contains(&mode), "{what}: {mode}: {header}");
    let needs = length(status, "needsYou");
    let told = format!("data-needs=\"{needs}\"");
    assert!(header.contains(&told), "{what}: {told}: {header}");
    let ideas = status["ideas"].as_object().unwrap();
    let all: u64 = ideas.values().filter_map(Value::as_u64).sum();
    for (name, count) in [
        ("Overview", needs),
        ("Ideas", usize::try_from(all).unwrap()),
        ("Agents", length(status, "agents")),
        ("Merge train", length(status, "mergeQueue")),
    ] {
        assert_eq!(beside(page, name), count, "{what}: {name}");
    }
    if all == 0 {
        return;
    }
    let (main, legend) = (
        between(page, "id=\"f-head\"", "</main>"),
        "<ul class=\"legend\">",
    );
    let legend = between(
        between(main, "id=\"f-ideas\"", "</section>"),
        legend,
        "</ul>",
    );
    for one in IdeaStatus::ALL {
        let count = ideas[one.as_str()].as_u64().unwrap();
        let entry = legend
            .split("<li>")
            .find(|entry| entry.contains(parts::label(one)));
        let told = entry.map(|entry| entry.contains(&format!("<span>{count}</span></li>")));
        assert_eq!(
            told,
            (count > 0).then_some(true),
            "{what}: {one:?}: {legend}"
        );
    }
    let rows = |begin: &str| main.matches(begin).count();
    assert_eq!(rows("id=\"row-"), length(status, "agents"), "{what}");
    assert_eq!(rows("id=\"train-"), length(status, "mergeQueue"), "{what}");
}

#[tokio::test(start_paused = true)]
async fn page_and_api_tell_the_same_counts() {
    let mut looked_at = 0;
    for seed in 1..=10 {
        let log = life(seed, 500);
        let world = World::of(&log);
        let last = u64::try_from(log.len()).unwrap();
        let mut seqs: Vec<u64> = numbers(seed + 100).take(10).map(|n| n % last + 1).collect();
        seqs.sort_unstable();
        for seq in seqs {
            let what = format!("seed {seed}, event {seq}");
            world.go_to(seq).await;
            let (page, status) = (world.page("").await, told(&world, "status").await);
            page_and_api(&page, &status, &what);
            let (checkpoints, learnings) =
                world.read(|state| (state.checkpoints.len(), view::learnings(state).len()));
            assert_eq!(beside(&page, "Checkpoints"), checkpoints, "{what}");
            assert_eq!(beside(&page, "Learnings"), learnings, "{what}");
            let facts = told(&world, "memory/facts").await;
            let facts = facts.as_array().unwrap().len();
            assert_eq!(beside(&page, "Memory"), facts, "{what}");
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, 100);
}
