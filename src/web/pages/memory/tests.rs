//! The pages of the memory over a state in memory.

use super::*;
use crate::domain::ids::AgentId;
use crate::domain::memory::{FactKey, MemoryCommand};
use crate::domain::operation::Command;
use crate::domain::signal::Signal;
use crate::domain::testkit::memories::{
    confirm, dispute, learn, note, pin, remember, retract, write,
};
use crate::domain::testkit::{Scenario, agent};
use crate::web::pages::checkpoints::testkit::{World, body};
use crate::web::touches::touches;

/// `ed-001` is in its first iteration; people and agents have used the memory.
fn story() -> Scenario {
    let mut story = Scenario::running();
    story.add("one").well_until("iteration");
    let events = remember(&story.state).into_iter().map(|(_, event)| event);
    story.given(events);
    story
}

fn asked(story: &mut Scenario, command: MemoryCommand) {
    story.command(Command::Memory(command));
}

/// The words of a page, without tags.
fn words(page: &str) -> String {
    let main = page.split_once("<main").unwrap().1;
    let texts = main.split('<').filter_map(|part| part.split_once('>'));
    let words: Vec<&str> = texts
        .flat_map(|(_, text)| text.split_whitespace())
        .collect();
    words.join(" ")
}

/// The keys of the board's rows, in order.
fn rows(page: &str) -> Vec<&str> {
    let parts = page.split("<tr id=\"fact-").skip(1);
    parts.map(|row| row.split('"').next().unwrap()).collect()
}

#[tokio::test]
async fn the_board_shows_facts_with_what_speaks_for_them_pinned_first() {
    let mut story = story();
    asked(&mut story, write("zeta", None, "Last by key"));
    asked(&mut story, pin("zeta"));
    let page = World::of(&story.state).page("memory").await;
    assert_eq!(rows(&page), ["zeta", "api.port", "tests.db"]);
    let says = words(&page);
    for part in [
        "3 facts",
        "The API listens on 9090",
        "v4",
        "Contradicted",
        "1 claim against it",
        "Pinned",
        "1.00",
        "0.30",
        "a person",
    ] {
        assert!(says.contains(part), "{part}: {says}");
    }
}

#[tokio::test]
async fn the_filter_is_in_the_address_and_counts_each_status() {
    let world = World::of(&story().state);
    for (address, expected) in [
        ("memory", vec!["api.port", "tests.db"]),
        ("memory?status=active", vec!["tests.db"]),
        ("memory?status=contradicted", vec!["api.port"]),
        ("memory?status=retracted", vec!["db.url"]),
        ("memory?status=nonsense", vec!["api.port", "tests.db"]),
        ("memory?q=database", vec!["tests.db"]),
        ("memory?q=listens+on", vec!["api.port"]),
        ("memory?q=DB_URL&status=retracted", vec!["db.url"]),
        ("memory?q=nowhere", vec![]),
        ("memory?page=9", vec![]),
    ] {
        let page = world.page(address).await;
        assert_eq!(rows(&page), expected, "{address}");
    }
    let says = words(&world.page("memory?status=active").await);
    for part in ["In force 2", "Active 1", "Contradicted 1", "Retracted 1"] {
        assert!(says.contains(part), "{part}: {says}");
    }
    assert!(words(&world.page("memory?q=nowhere").await).contains("No fact fits"));
}

#[tokio::test]
async fn a_search_names_learnings_too_and_the_past_is_searched_as_it_was() {
    let mut story = story();
    story.says(&agent(1), Signal::LearningGlobal("the moon is far".into()));
    let world = World::of(&story.state);
    let page = words(&world.page("memory?q=moon").await);
    assert!(page.contains("Learnings with these words"), "{page}");
    assert!(page.contains("the moon is far"), "{page}");
    let past = world.past("memory?q=database").await;
    assert_eq!(rows(&past), ["tests.db"]);
}

#[tokio::test]
async fn a_page_of_the_board_has_a_hundred_facts() {
    let mut story = Scenario::running();
    for number in 0..205 {
        asked(
            &mut story,
            write(&format!("many.f{number:03}"), None, "some value"),
        );
    }
    let world = World::of(&story.state);
    let first = world.page("memory").await;
    assert_eq!(rows(&first).len(), 100);
    assert!(words(&first).contains("Page 1 of 3"));
    let last = world.page("memory?page=2").await;
    assert_eq!(rows(&last).len(), 5);
    assert!(last.contains("memory?page=1"), "{last}");
    // Another status begins at the first page.
    assert!(!last.contains("page=2&amp;status"), "{last}");
}

#[tokio::test]
async fn notes_are_listed_and_one_text_is_opened() {
    let mut story = story();
    asked(&mut story, note("plan.md", Some("# <b>first</b>\nsecond")));
    let world = World::of(&story.state);
    let page = world.page("memory").await;
    assert!(page.contains("id=\"note-plan.md\""), "{page}");
    assert!(!page.contains("second"), "only an opened note has its text");
    let says = words(&page);
    assert!(says.contains("2 notes"), "{says}");
    assert!(says.contains("expires in"), "{says}");
    let page = world.page("memory?note=plan.md&q=api").await;
    let (_, opened) = page.split_once("id=\"note\"").unwrap();
    assert!(
        opened.contains("# &lt;b&gt;first&lt;/b&gt;\nsecond</pre>"),
        "{opened}"
    );
    let gone = words(&world.page("memory?note=../etc/passwd").await);
    assert!(
        gone.contains("There is no note ../etc/passwd now"),
        "{gone}"
    );
}

#[tokio::test]
async fn an_empty_memory_says_what_it_is_and_what_to_type() {
    let world = World::of(&Scenario::running().state);
    let page = words(&world.page("memory").await);
    for part in [
        "No fact yet",
        "swarm memory put",
        "No note",
        "swarm scratch put",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let past = words(&world.past("memory").await);
    assert!(!past.contains("swarm memory put"), "{past}");
}

#[tokio::test]
async fn a_fact_shows_its_sides_its_evidence_and_its_history() {
    let mut story = Scenario::running();
    story.add("one").well_until("iteration");
    asked(&mut story, write("api.port", None, "It is 8080"));
    asked(&mut story, write("api.port", Some(1), "It is 9090"));
    let id: AgentId = agent(1);
    story.says(&id, Signal::LearningGlobal("[api.port] It is 7070".into()));
    let world = World::of(&story.state);
    let page = world.page("memory/api.port").await;
    let says = words(&page);
    for part in [
        "Contradicted",
        "1 claim against the value",
        "weight 1.00",
        "weight 0.25",
        "It is 7070",
        "about src/api.rs",
        "Why: it is in the code",
        "You write on version 3",
        "v1 It is 8080",
        "swarm memory get api.port",
    ] {
        assert!(says.contains(part), "{part}: {says}");
    }
    for link in [
        "/agents/ed-001\"",
        "/ideas/idea-001\"",
        "#event-",
        "/events?all=1",
    ] {
        assert!(page.contains(link), "{link}: {page}");
    }
    // The heavier side comes first.
    let (value, claim) = (page.find("id=\"side-value\""), page.find("id=\"side-c1\""));
    assert!(value.unwrap() < claim.unwrap());
}

#[tokio::test]
async fn a_retracted_fact_says_so_and_can_be_brought_back() {
    let world = World::of(&story().state);
    let page = world.page("memory/db.url").await;
    let says = words(&page);
    for part in [
        "Retracted",
        "Taken back by a person",
        "it moved",
        "Bring it back",
    ] {
        assert!(says.contains(part), "{part}: {says}");
    }
    for gone in ["fact-confirm", "fact-dispute", "fact-retract"] {
        assert!(!page.contains(gone), "{gone}: {page}");
    }
}

#[tokio::test]
async fn the_past_of_the_memory_has_no_form() {
    let world = World::of(&story().state);
    for address in ["memory", "memory/api.port", "memory/db.url"] {
        let now = world.page(address).await;
        let past = world.past(address).await;
        assert!(now.contains("hx-sse:connect"), "{address}");
        for gone in ["method=\"post\"", "<textarea", "do/fact-", "hx-sse:connect"] {
            assert!(!past.contains(gone), "{address} has {gone}: {past}");
        }
        assert!(words(&past).contains("9090") || address == "memory/db.url");
    }
}

#[tokio::test]
async fn the_measures_are_those_of_the_moment() {
    let mut story = story();
    asked(&mut story, dispute("tests.db", 1, None));
    let world = World::of(&story.state);
    let parts = |page: &str| {
        let (_, section) = page.split_once("id=\"measures\"").unwrap();
        words(&format!("<main{section}"))
    };
    let now = parts(&world.page("memory").await);
    for part in [
        "Duplication",
        "Latency",
        "too few: 20 needed on each side",
        "Use",
        "Synthesis",
        "contradicted 2",
        "conflicts since start 0 of 0 writes",
    ] {
        assert!(now.contains(part), "{part}: {now}");
    }
    // Refused writes are not in the log, so a moment of the past has none.
    let past = parts(&world.past("memory").await);
    assert!(past.contains("contradicted 2"), "{past}");
    assert!(!past.contains("conflicts"), "{past}");
}

#[tokio::test]
async fn an_unknown_fact_is_answered_with_keys_like_it() {
    let world = World::of(&story().state);
    let error = world
        .site
        .api
        .handle
        .read(|state| fact::unknown(state, "api.prt"));
    let answer = axum::response::IntoResponse::into_response(error);
    assert_eq!(answer.status(), 404);
    let page = body(answer).await;
    assert!(page.contains("swarm memory get api.port"), "{page}");
}

#[tokio::test]
async fn what_agents_write_is_never_markup() {
    const HOSTILE: &str = "<script>alert(1)</script> \"><img src=x>";
    let mut story = Scenario::running();
    story.add("one").well_until("iteration");
    asked(&mut story, write("a.b", None, HOSTILE));
    asked(
        &mut story,
        dispute("a.b", 1, Some("<script>alert(2)</script>")),
    );
    story.says(
        &agent(1),
        Signal::LearningGlobal(format!("[a.b] {HOSTILE} 3")),
    );
    asked(&mut story, note("n.md", Some(HOSTILE)));
    let world = World::of(&story.state);
    for address in [
        "memory",
        "memory/a.b",
        "memory?note=n.md",
        "memory?q=%3Cscript%3Ealert",
    ] {
        let page = world.page(address).await;
        assert!(!page.contains("<script>alert"), "{address}: {page}");
        assert!(!page.contains("<img"), "{address}: {page}");
        assert!(page.contains("&lt;script&gt;alert(1)"), "{address}: {page}");
    }
}

#[test]
fn events_about_the_memory_touch_its_page_and_nothing_else_of_the_backlog() {
    let mut story = Scenario::running();
    for command in [
        write("a.b", None, "one"),
        dispute("a.b", 1, None),
        pin("a.b"),
        retract("a.b"),
        note("n.md", Some("text")),
        note("n.md", None),
        learn("[c.d] two"),
        confirm("c.d", 1),
    ] {
        let from = story.log.len();
        asked(&mut story, command);
        for (_, event) in &story.log[from..] {
            let touched = touches(event);
            assert!(touched.meets(Touched::MEMORY), "{}", event.kind());
            assert!(!touched.meets(Touched::IDEAS), "{}", event.kind());
        }
    }
    let key: FactKey = "a.b".parse().unwrap();
    assert!(story.state.facts.get(&key).is_some());
}
