//! The page's past: the time bar, the timeline, events and costs, now and at an earlier event.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::harness::Sandbox;

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
