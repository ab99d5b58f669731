//! The page's past: the time bar, the timeline, events and costs, now and at an earlier event.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::harness::Sandbox;
use crate::kill_and_restart::Dice;

/// Pages that this file is about, and some that have forms.
const PAGES: [&str; 9] = [
    "",
    "ideas",
    "train",
    "timeline",
    "timeline?by=agent&last=all&as=table",
    "events",
    "events?all=1",
    "cost",
    "cost?by=idea&unit=tokens",
];

/// A session of the page.
struct Browser {
    host: String,
    base: String,
    cookie: String,
}

impl Browser {
    fn open(sandbox: &Sandbox) -> Self {
        let link = sandbox.swarm(&["open", "--json"]).json();
        let url = link["url"].as_str().unwrap();
        let (host, path) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let mut browser = Self {
            host: host.to_owned(),
            base: format!("/{}", path.split_once("/enter").unwrap().0),
            cookie: String::new(),
        };
        let (_, head, _) = browser.ask(&format!("/{path}"));
        let cookie = head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.unwrap().split(';').next().unwrap();
        cookie.clone_into(&mut browser.cookie);
        browser
    }

    fn ask(&self, path: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
            self.host, self.cookie
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (
            head[9..12].parse().unwrap(),
            head.to_owned(),
            body.to_owned(),
        )
    }

    fn page(&self, page: &str) -> (u16, String) {
        let (status, _, body) = self.ask(&format!("{}/{page}", self.base));
        (status, body)
    }

    /// A page with its history: the log is read in the background.
    fn whole(&self, sandbox: &Sandbox, page: &str) -> String {
        sandbox.wait_for("the time bar's histogram", || {
            let body = self.page(page).1;
            body.contains("data-seqs").then_some(body)
        })
    }
}

fn at(page: &str, seq: u64) -> String {
    let sign = if page.contains('?') { '&' } else { '?' };
    format!("{page}{sign}at={seq}")
}

fn landed() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"qualityCommands": ["test ! -f bad.txt"]}));
    sandbox.idea_with(
        "if iteration 1; then write bad.txt x; else rm bad.txt; write good.txt x; fi; say COMPLETE",
        &[],
    );
    sandbox.idea("<script>alert(1)</script>\u{202e}x");
    sandbox.swarm(&["idea", "hold", "2"]).ok();
    sandbox
}

#[test]
fn every_page_shows_its_past_without_a_form_that_changes_anything() {
    let sandbox = landed();
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    let browser = Browser::open(&sandbox);
    let live = browser.whole(&sandbox, "timeline?last=all");
    for said in [
        "By agent",
        "failed check",
        "class=\"mk ok\" d=\"M",
        "type=\"range\"",
    ] {
        assert!(live.contains(said), "{said}: {live}");
    }
    let last = sandbox.swarm(&["replay"]).json()["seq"].as_u64().unwrap();
    for page in PAGES {
        let (status, body) = browser.page(page);
        assert_eq!(status, 200, "{page}: {body}");
        assert!(!body.contains("<script>alert"), "{page}");
        for seq in [1, last / 2, last - 1] {
            let (status, body) = browser.page(&at(page, seq));
            assert_eq!(status, 200, "{page} at {seq}: {body}");
            assert!(!body.contains("method=\"post\""), "{page} at {seq}");
            assert!(!body.contains("hx-sse:connect"), "{page} at {seq}");
            assert!(body.contains("You are looking at"), "{page} at {seq}");
            assert!(
                body.contains(&format!("value=\"{seq}\"")),
                "{page} at {seq}: the range"
            );
            assert!(
                body.contains(&format!("at={seq}")),
                "{page} at {seq}: links keep it"
            );
        }
    }
    assert_eq!(browser.page(&at("", last + 1_000)).0, 404);
    assert_eq!(browser.page("?at=yesterday").0, 400);
    assert_eq!(browser.page("?at=2h").0, 200);
    daemon.stop();
}

#[test]
fn events_are_paged_and_filtered_and_have_their_json() {
    let sandbox = landed();
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    let browser = Browser::open(&sandbox);
    let (_, usual) = browser.page("events");
    assert!(!usual.contains(", effectRequested<"), "plumbing is hidden");
    assert!(
        usual.contains("idea-001") && usual.contains("<pre"),
        "{usual}"
    );
    let (_, all) = browser.page("events?all=1");
    assert!(all.contains(", effectRequested<"), "plumbing is shown");
    let (_, one) = browser.page("events?kind=ideaLanded");
    assert!(
        one.contains(", ideaLanded<") && !one.contains(", ideaAdded<"),
        "{one}"
    );
    let (_, before) = browser.page("events?all=1&before=5");
    assert!(
        before.contains("Event 4,") && !before.contains("Event 5,"),
        "{before}"
    );
    let (_, other) = browser.page("events?idea=idea-002");
    assert!(
        other.contains("idea-002") && !other.contains(", ideaLanded<"),
        "{other}"
    );
    let (_, wrong) = browser.page("events?kind=%3Cscript%3E");
    assert!(
        wrong.contains("is not a kind of event") && !wrong.contains("<script>"),
        "{wrong}"
    );
    daemon.stop();
}

/// What the navigation says beside a page's name.
fn beside(page: &str, name: &str) -> usize {
    let list = page.split("id=\"f-nav\"").nth(1).unwrap();
    let entry = list.split(&format!(">{name}")).nth(1).unwrap();
    let entry = entry.split("</a>").next().unwrap();
    let count = entry
        .split('>')
        .nth(1)
        .and_then(|rest| rest.split('<').next());
    count.map_or(0, |count| count.parse().unwrap())
}

/// The pages at this event against `swarm replay --at`: how many there are of everything, and how
/// each idea stands.
fn compare(sandbox: &Sandbox, browser: &Browser, seq: u64) {
    let replayed = sandbox.swarm(&["replay", "--at", &seq.to_string()]).json();
    let (status, page) = browser.page(&format!("ideas?at={seq}"));
    assert_eq!(status, 200, "at {seq}: {page}");
    let count = |list: &str| {
        let list = &replayed[list];
        let array = list.as_array().map(Vec::len);
        array
            .or(list.as_object().map(serde_json::Map::len))
            .unwrap_or(0)
    };
    for (name, list) in [
        ("Ideas", "ideas"),
        ("Agents", "agents"),
        ("Merge train", "queue"),
        ("Checkpoints", "checkpoints"),
        ("Learnings", "learnings"),
    ] {
        assert_eq!(
            beside(&page, name),
            count(list),
            "{name} at {seq}: {replayed:#}"
        );
    }
    let phase = replayed["swarm"]["phase"].as_str().unwrap();
    let words = match phase {
        "rolling-back" => "rolling back then".to_owned(),
        "draining" => "stopping then".to_owned(),
        phase => format!("{phase} then"),
    };
    assert!(page.contains(&words), "{words} at {seq}");
    for (id, idea) in replayed["ideas"].as_object().into_iter().flatten() {
        let one = browser.page(&format!(
            "ideas?status={}&at={seq}",
            idea["status"].as_str().unwrap()
        ));
        assert!(
            one.1.contains(&format!("/ideas/{id}?at=")),
            "{id} at {seq}: {}",
            one.1
        );
    }
}

#[test]
fn the_past_is_that_of_replay_live_and_after_a_restart_with_the_same_session() {
    let sandbox = landed();
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    sandbox.idea("say 'LEARNING_GLOBAL:tests need a database'; say BLOCKED:no map");
    sandbox.wait_idea("idea-003", "blocked");
    let browser = Browser::open(&sandbox);
    let last = sandbox.swarm(&["replay"]).json()["seq"].as_u64().unwrap();
    let mut dice = Dice::thrown();
    let seqs: Vec<u64> = (0..10).map(|_| dice.below(last) + 1).collect();
    for seq in &seqs {
        compare(&sandbox, &browser, *seq);
    }
    // A time means the last event that is not later.
    let middle = sandbox
        .swarm(&["replay", "--at", &(last / 2).to_string()])
        .json();
    let time = middle["swarm"]["lastEventAt"].as_str().unwrap();
    let upto = &sandbox.swarm(&["replay", "--at", time]).json()["seq"];
    let (_, page) = browser.page(&format!("?at={time}"));
    assert!(
        page.contains(&format!("event </i>{upto}")),
        "{time}: {page}"
    );
    daemon.stop();
    let daemon = sandbox.start();
    // A session survives the daemon.
    for seq in seqs {
        compare(&sandbox, &browser, seq);
    }
    daemon.stop();
}

#[test]
fn a_text_that_is_no_moment_is_refused_with_what_is_one() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let browser = Browser::open(&sandbox);
    for text in ["yesterday", "25:00", "1e9", "%3Cscript%3E"] {
        let (status, body) = browser.page(&format!("?at={text}"));
        assert_eq!(status, 400, "{text}: {body}");
        assert!(
            body.contains("a local time of day (23:59)"),
            "{text}: {body}"
        );
        assert!(!body.contains("<script>"), "{body}");
    }
    for text in ["00:00", "0:00:01", "1"] {
        assert_eq!(browser.page(&format!("?at={text}")).0, 200, "{text}");
    }
    daemon.stop();
}

#[test]
fn page_api_and_command_line_of_a_real_daemon_tell_the_same_counts() {
    let sandbox = landed();
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    sandbox.idea("say BLOCKED:no map");
    sandbox.wait_idea("idea-003", "blocked");
    let browser = Browser::open(&sandbox);
    let (_, page) = browser.page("");
    let status = sandbox.status();
    let ideas = status["ideas"].as_object().unwrap();
    let all: u64 = ideas.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(beside(&page, "Ideas") as u64, all);
    let needs = status["needsYou"].as_array().unwrap().len();
    assert_eq!(beside(&page, "Overview"), needs);
    let printed = sandbox.swarm(&["status"]).ok().to_owned();
    for (status, count) in ideas {
        let told = printed.contains(&format!(" {count} {status}"));
        assert_eq!(told, count.as_u64() > Some(0), "{status}: {printed}");
    }
    assert_eq!(printed.matches("  ! ").count(), needs, "{printed}");
    daemon.stop();
}
