//! Checkpoints and rollbacks from the web page: what a dialog says is what then happens, or nothing
//! happens.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::harness::{PATIENCE, Sandbox};

const WORK: &str = "write $SWARM_IDEA_ID.txt x; commit; say COMPLETE";

/// A browser that is signed in.
struct Browser {
    host: String,
    /// The path under which all pages lie.
    path: String,
    cookie: String,
}

struct Page {
    status: u16,
    head: String,
    body: String,
}

impl Browser {
    /// Opens a session with a link of `swarm open`.
    fn enter(sandbox: &Sandbox) -> Self {
        let link = sandbox.swarm(&["open"]).ok().trim().to_owned();
        let rest = link.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let mut browser = Self {
            host: host.to_owned(),
            path: String::new(),
            cookie: String::new(),
        };
        let entered = browser.ask("GET", &format!("/{path}"), "");
        assert_eq!(entered.status, 200, "{}", entered.head);
        let header = |name: &str| {
            let mut lines = entered.head.lines();
            let found = lines.find_map(|line| {
                let (its, value) = line.split_once(": ")?;
                its.eq_ignore_ascii_case(name).then(|| value.to_owned())
            });
            found.unwrap_or_else(|| panic!("no {name}: {}", entered.head))
        };
        let location = header("refresh");
        let (_, location) = location.split_once("url=").unwrap();
        location.trim_end_matches('/').clone_into(&mut browser.path);
        let cookie = header("set-cookie");
        cookie
            .split(';')
            .next()
            .unwrap()
            .clone_into(&mut browser.cookie);
        browser
    }

    fn get(&self, page: &str) -> Page {
        self.ask("GET", &format!("{}/{page}", self.path), "")
    }

    fn post(&self, page: &str, form: &str) -> Page {
        self.ask("POST", &format!("{}/{page}", self.path), form)
    }

    fn ask(&self, method: &str, path: &str, form: &str) -> Page {
        let host = &self.host;
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(2 * PATIENCE)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {}\r\nConnection: close\r\n\
             Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            self.cookie,
            form.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Page {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }
}

impl Page {
    #[track_caller]
    fn has(&self, words: &str) {
        assert!(self.body.contains(words), "{words}: {}", self.body);
    }

    /// The value of a hidden field of the dialog.
    #[track_caller]
    fn field(&self, name: &str) -> String {
        let begin = format!("name=\"{name}\" value=\"");
        let dialog = self.body.split_once("data-sheet").map(|(_, it)| it);
        let found = dialog.and_then(|dialog| dialog.split_once(&*begin));
        let (_, rest) = found.unwrap_or_else(|| panic!("no {name}: {}", self.body));
        rest.split('"').next().unwrap().to_owned()
    }

    /// The form with these of its hidden fields, and those that every dialog has.
    fn form(&self, names: &[&str]) -> String {
        let all = ["op", "seq"].iter().chain(names);
        let each = all.map(|name| format!("{name}={}", self.field(name)));
        each.collect::<Vec<_>>().join("&")
    }
}

/// Commits of `main` that are not in this one.
fn commits_since(sandbox: &Sandbox, commit: &str) -> usize {
    let range = format!("{commit}..main");
    let count = sandbox.git(&["rev-list", "--count", &range]);
    count.trim().parse().unwrap()
}

fn wait_over(sandbox: &Sandbox) {
    sandbox.wait_status("the end of the rollback", |status| {
        status["phase"] == "paused"
    });
}

#[test]
fn what_the_dialog_says_is_what_happens_and_undo_takes_it_back() {
    let sandbox = Sandbox::ready();
    sandbox.idea(WORK);
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    let browser = Browser::enter(&sandbox);
    let made = browser.post("do/checkpoint", "op=1-test&name=mid");
    assert_eq!(made.status, 303, "{}", made.body);
    let then = sandbox.head("main");
    sandbox.idea(WORK);
    sandbox.idea(WORK);
    sandbox.wait_idea("idea-002", "done");
    sandbox.wait_idea("idea-003", "done");
    let (now, lost) = (sandbox.head("main"), commits_since(&sandbox, &then));
    browser.get("checkpoints").has("2 landed ideas");

    let dialog = browser.get("do/rollback/mid");
    dialog.has(&format!("Roll back {lost} commits, 2 ideas"));
    dialog.has(&format!("{lost} commits leave it"));
    let answer = browser.post("do/rollback/mid", &dialog.form(&["from", "to", "shown"]));
    assert_eq!(answer.status, 303, "{}", answer.body);
    wait_over(&sandbox);
    assert_eq!(sandbox.head("main"), then);
    let status = |id: &str| sandbox.idea_status(id);
    assert_eq!(status("idea-001"), "done");
    assert_eq!(
        [status("idea-002"), status("idea-003")],
        ["pending", "pending"]
    );
    browser.get("checkpoints").has("1 rollback in effect");

    let undo = browser.get("do/undo");
    undo.has(&format!("Undo: Bring back {lost} commits, 2 ideas"));
    let form = undo.form(&["action", "from", "to", "shown"]);
    let answer = browser.post("do/undo", &form);
    assert_eq!(answer.status, 303, "{}", answer.body);
    let answer = browser.post("do/undo", &form);
    assert_eq!(answer.status, 303, "{}", answer.body);
    sandbox.wait_idea("idea-003", "done");
    wait_over(&sandbox);
    assert_eq!(sandbox.head("main"), now);
    assert_eq!([status("idea-002"), status("idea-003")], ["done", "done"]);
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn if_main_moves_between_the_dialog_and_the_yes_nothing_happens() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let browser = Browser::enter(&sandbox);
    let made = browser.post("do/checkpoint", "op=1-test&name=mid");
    assert_eq!(made.status, 303, "{}", made.body);
    sandbox.idea(WORK);
    sandbox.wait_idea("idea-001", "done");
    let old = browser.get("do/rollback/mid");
    sandbox.write("mine.txt", "mine\n");
    sandbox.git(&["add", "mine.txt"]);
    sandbox.git(&["commit", "-q", "-m", "A commit of a person"]);
    let now = sandbox.head("main");

    let answer = browser.post("do/rollback/mid", &old.form(&["from", "to", "shown"]));
    assert_eq!(answer.status, 409, "{}", answer.body);
    answer.has("role=\"alert\"");
    answer.has("A commit of a person");
    answer.has("not from swarm");
    assert_eq!(sandbox.head("main"), now);
    assert_eq!(sandbox.idea_status("idea-001"), "done");
    assert_eq!(answer.field("from"), now);
    assert_ne!(sandbox.status()["phase"], "paused");
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn the_report_page_and_the_command_line_count_the_same() {
    let sandbox = Sandbox::ready();
    sandbox.idea(WORK);
    sandbox.idea("say BLOCKED:no map");
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "done");
    sandbox.wait_idea("idea-002", "blocked");
    let report = sandbox.swarm(&["report", "--json"]).json();
    let count = |key: &str| report[key].as_array().unwrap().len();
    assert_eq!((count("landed"), count("failed")), (1, 1), "{report}");
    let page = Browser::enter(&sandbox).get("report");
    page.has("One idea landed");
    page.has("One did not land.");
    page.has("One thing needs you.");
    assert_eq!(count("needsYou"), 1, "{report}");
    assert_eq!(page.body.matches("id=\"report-idea-").count(), 2);
    daemon.stop();
}
