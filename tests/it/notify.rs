//! What needs a person reaches that person once: through the hook `on-needs-you`, and through the
//! webhook, whatever the receiver does and whenever the daemon is killed.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use swarm::crash;

use crate::harness::{PATIENCE, Sandbox};
use crate::hooks::{RECORDER, hook};

const LANDS: &str = "write $SWARM_IDEA_ID.txt x; say COMPLETE";
const BLOCKED: &str = "say BLOCKED:no";

/// A request as it came.
#[derive(Debug, Clone)]
struct Request {
    /// Method and path, then the headers, in lower case.
    head: String,
    body: Value,
}

impl Request {
    fn id(&self) -> &str {
        self.body["id"].as_str().unwrap()
    }

    fn kind(&self) -> &str {
        self.body["kind"].as_str().unwrap()
    }
}

/// A web server on this machine; it answers the first requests so, and the others with 200.
struct Receiver {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

/// Never answered.
const HANGS: &str = "hangs";

impl Receiver {
    fn new(answers: &[&'static str]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answers)
    }

    fn on(listener: TcpListener, answers: &[&'static str]) -> Self {
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        let (requests, over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let server = {
            let (requests, over) = (Arc::clone(&requests), Arc::clone(&over));
            let answers = answers.to_vec();
            thread::spawn(move || serve(&listener, &answers, &requests, &over))
        };
        Self {
            port,
            requests,
            over,
            server: Some(server),
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/s3cret-path", self.port)
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn wait_for(&self, sandbox: &Sandbox, count: usize) -> Vec<Request> {
        sandbox.wait_for(&format!("{count} requests"), || {
            let requests = self.requests();
            (requests.len() >= count).then_some(requests)
        })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.server.take().unwrap().join().unwrap();
    }
}

fn serve(
    listener: &TcpListener,
    answers: &[&'static str],
    requests: &Mutex<Vec<Request>>,
    over: &AtomicBool,
) {
    let mut hanging = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        stream.set_nonblocking(false).unwrap();
        // A daemon that was killed may have sent a part.
        let Some(request) = read(&stream) else {
            continue;
        };
        let number = {
            let mut requests = requests.lock().unwrap();
            requests.push(request);
            requests.len() - 1
        };
        match answers.get(number).copied().unwrap_or("200 OK") {
            HANGS => hanging.push(stream),
            answer => drop(write!(
                &stream,
                "HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )),
        }
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1)?.split('\r').next()?;
    let mut body = vec![0; length.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap();
    Some(Request { head, body })
}

fn told(sandbox: &Sandbox, url: &str) {
    sandbox.configure(&json!({"notify": {"webhook": url}}));
}

/// Every file below a folder that holds one of these words.
fn files_with(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, words));
        } else if let Ok(content) = fs::read(&path) {
            let text = String::from_utf8_lossy(&content);
            if words.iter().any(|word| text.contains(word)) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn each_thing_is_posted_once_with_the_same_id_for_each_try() {
    let receiver = Receiver::new(&["500 Oops"]);
    let sandbox = Sandbox::ready();
    told(&sandbox, &receiver.url());
    let id = sandbox.idea(BLOCKED);
    let daemon = sandbox.start();
    let requests = receiver.wait_for(&sandbox, 3);
    let [first, again, end] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!((first.id(), &first.body), (again.id(), &again.body));
    assert_eq!([first.kind(), end.kind()], ["blocked", "ended"]);
    assert!(first.head.starts_with("post /s3cret-path "), "{first:?}");
    let key = format!("idempotency-key: {}\r\n", first.id());
    assert!(first.head.contains(&key), "{first:?}");
    assert_eq!(first.body["ideaId"], id.as_str());
    assert_eq!(first.body["commands"][0], format!("swarm idea retry {id}"));
    assert_eq!(first.body["repo"], "repo");
    assert_eq!(end.body["ideaId"], Value::Null);
    let message = end.body["message"].as_str().unwrap();
    assert!(message.contains("0 landed, 1 failed"), "{message}");
    let logged = sandbox.logged("needArose");
    assert_eq!(first.body["eventSeq"], logged[0].seq);
    daemon.stop();
    drop(daemon);
    let daemon = sandbox.start();
    sandbox.idea(LANDS);
    let requests = receiver.wait_for(&sandbox, 4);
    assert_eq!(requests[3].kind(), "ended", "a restart repeats nothing");
    daemon.stop();
    assert_eq!(receiver.requests().len(), 4);
}

#[test]
fn address_and_headers_are_written_nowhere() {
    let receiver = Receiver::new(&["404 Not Found"]);
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"notify": {"webhook": {
        "url": "http://127.0.0.1:${PORT}/s3cret-path",
        "headers": {"Authorization": "Bearer ${TOKEN}", "X-Own": "s3cret-header"},
    }}}));
    sandbox.idea(BLOCKED);
    let mut command = sandbox.swarm_command(&["start"]);
    command
        .env("PORT", receiver.port.to_string())
        .env("TOKEN", "s3cret-token")
        .env("SWARM_LOG", "trace");
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    let requests = receiver.wait_for(&sandbox, 2);
    let head = &requests[0].head;
    assert!(
        head.contains("authorization: bearer s3cret-token\r\n")
            && head.contains("x-own: s3cret-header\r\n"),
        "{head}"
    );
    let secrets = ["s3cret-path", "s3cret-token", "s3cret-header"];
    for args in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["events", "--all", "--json"],
        &["status"],
    ] {
        let ran = sandbox.swarm(args);
        let said = format!("{}{}", ran.ok(), ran.stderr);
        assert!(
            !secrets.iter().any(|it| said.contains(it)),
            "{args:?}: {said}"
        );
    }
    daemon.stop();
    for folder in [
        sandbox.dot_swarm("state"),
        sandbox.dot_swarm("logs"),
        sandbox.private("runs"),
    ] {
        let found = files_with(&folder, &secrets);
        assert_eq!(found, [""; 0], "a secret was written");
    }
    let output = daemon.output();
    assert!(!secrets.iter().any(|it| output.contains(it)), "{output}");
}

#[test]
fn an_unset_variable_is_said_before_work_begins_and_drops_nothing() {
    let receiver = Receiver::new(&[]);
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"notify": {"webhook": {
        "url": receiver.url(), "headers": {"Authorization": "Bearer ${SWARM_TEST_TOKEN}"},
    }}}));
    let words = "the environment variable SWARM_TEST_TOKEN is not set";
    let check = sandbox.swarm(&["config", "check"]);
    check.ok();
    assert!(check.stderr.contains(words), "{check}");
    let doctor = sandbox.swarm(&["doctor", "--json"]);
    assert!(doctor.stdout.contains(words), "{doctor}");
    sandbox.idea(BLOCKED);
    let daemon = sandbox.start();
    assert!(daemon.output().contains(words), "{}", daemon.output());
    let stands = || {
        let status = sandbox.status();
        let warnings = status["warnings"].as_array().unwrap().clone();
        warnings.into_iter().find(|it| it["kind"] == "webhook")
    };
    let warning = sandbox.wait_for("the warning", stands);
    assert!(warning["message"].as_str().unwrap().contains(words));
    let failed = sandbox.wait_for("the first try", || {
        sandbox.logged("noticeFailed").into_iter().next()
    });
    assert!(failed.data["againAt"].is_string(), "{:?}", failed.data);
    daemon.stop();
    drop(daemon);
    let mut command = sandbox.swarm_command(&["start"]);
    command.env("SWARM_TEST_TOKEN", "s3cret");
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    let kinds: Vec<String> = receiver
        .wait_for(&sandbox, 2)
        .iter()
        .map(|it| it.kind().into())
        .collect();
    assert_eq!(kinds, ["blocked", "ended"]);
    sandbox.wait_for("the warning's end", || stands().is_none().then_some(()));
    daemon.stop();
}

#[test]
fn a_refused_notice_is_a_warning_and_is_not_repeated() {
    let receiver = Receiver::new(&["400 Bad Request"]);
    let sandbox = Sandbox::ready();
    told(&sandbox, &receiver.url());
    sandbox.idea(BLOCKED);
    assert_eq!(sandbox.run_until_idle(), 5);
    let kinds: Vec<String> = receiver
        .requests()
        .iter()
        .map(|it| it.kind().into())
        .collect();
    assert_eq!(kinds, ["blocked", "ended"]);
    let failed = sandbox.logged("noticeFailed");
    assert_eq!(failed.len(), 1);
    let why = failed[0].data["why"].as_str().unwrap();
    assert!(
        why.contains("HTTP 400") && why.contains("127.0.0.1"),
        "{why}"
    );
    let raised = sandbox.logged("warningRaised");
    let of_webhook = |it: &crate::harness::Logged| it.data["key"] == "webhook";
    assert!(raised.iter().any(of_webhook), "nobody is told of it");
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Receiver::new(&[]);
    let target: &'static str =
        Box::leak(format!("307 Go\r\nlocation: http://127.0.0.1:{}/", other.port).into_boxed_str());
    let receiver = Receiver::new(&[target, target]);
    let sandbox = Sandbox::ready();
    told(&sandbox, &receiver.url());
    sandbox.idea(BLOCKED);
    assert_eq!(sandbox.run_until_idle(), 5);
    assert_eq!(receiver.requests().len(), 2);
    assert_eq!(other.requests().len(), 0);
    let why = sandbox.logged("noticeFailed")[0].data["why"].clone();
    assert!(why.as_str().unwrap().contains("redirect"), "{why}");
}

#[test]
fn a_receiver_that_hangs_delays_neither_work_nor_the_stop() {
    let receiver = Receiver::new(&[HANGS]);
    let sandbox = Sandbox::ready();
    told(&sandbox, &receiver.url());
    sandbox.idea(BLOCKED);
    let daemon = sandbox.start();
    let first = receiver.wait_for(&sandbox, 1).remove(0);
    let id = sandbox.idea(LANDS);
    sandbox.wait_idea(&id, "done");
    let stop = sandbox.swarm(&["stop"]);
    stop.ok();
    assert!(stop.took < Duration::from_secs(5), "{stop}");
    daemon.wait_exit(PATIENCE);
    drop(daemon);
    let daemon = sandbox.start();
    // Each idea was a night of its own.
    let requests = receiver.wait_for(&sandbox, 4);
    assert_eq!(
        requests[1].id(),
        first.id(),
        "the next start sends it again"
    );
    daemon.stop();
    let kinds: Vec<&str> = requests.iter().map(Request::kind).collect();
    assert_eq!(kinds, ["blocked", "blocked", "ended", "ended"]);
    assert_eq!(receiver.requests().len(), 4);
}

#[test]
fn a_receiver_that_is_down_gets_it_when_it_is_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let sandbox = Sandbox::ready();
    told(&sandbox, &format!("http://{address}/"));
    sandbox.idea(BLOCKED);
    let daemon = sandbox.start();
    let failed = sandbox.wait_for("the first failure", || {
        let failed = sandbox.logged("noticeFailed");
        failed.into_iter().next()
    });
    assert!(failed.data["againAt"].is_string(), "{:?}", failed.data);
    let receiver = Receiver::on(TcpListener::bind(address).unwrap(), &[]);
    let requests = receiver.wait_for(&sandbox, 2);
    assert_eq!(
        [requests[0].kind(), requests[1].kind()],
        ["blocked", "ended"]
    );
    daemon.stop();
}

/// Kills the first daemon there; gives what the receiver got from it and from the next one.
fn killed_at(point: &str) -> (Vec<Request>, Vec<Request>) {
    let receiver = Receiver::new(&[]);
    let sandbox = Sandbox::ready();
    told(&sandbox, &receiver.url());
    sandbox.idea(BLOCKED);
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(crash::VARIABLE, point);
    let daemon = sandbox.spawn(command);
    assert_eq!(daemon.wait_exit(PATIENCE), 137);
    drop(daemon);
    let before = receiver.requests();
    assert_eq!(sandbox.run_until_idle(), 5);
    let after = receiver.requests().split_off(before.len());
    let delivered = sandbox.logged("noticeDelivered");
    assert_eq!(delivered.len(), 2, "one for each thing");
    (before, after)
}

#[test]
fn killed_before_the_request_it_is_sent_once() {
    let (before, after) = killed_at("effect.notify.begin");
    assert!(before.is_empty(), "{before:?}");
    let kinds: Vec<&str> = after.iter().map(Request::kind).collect();
    assert_eq!(kinds, ["blocked", "ended"]);
}

#[test]
fn killed_between_the_request_and_its_outcome_the_same_id_comes_again() {
    let (before, after) = killed_at("effect.notify.done");
    assert_eq!(before.len(), 1);
    let kinds: Vec<&str> = after.iter().map(Request::kind).collect();
    assert_eq!(kinds, ["blocked", "ended"]);
    assert_eq!(after[0].id(), before[0].id());
    assert_eq!(after[0].body, before[0].body);
    assert_ne!(after[1].id(), before[0].id());
}

#[test]
fn the_hook_is_called_once_for_each_thing_over_restarts() {
    let sandbox = Sandbox::ready();
    hook(&sandbox, "on-needs-you", RECORDER);
    let id = sandbox.idea(
        "if iteration 1; then say 'NEEDS_HUMAN:red or blue?'; else write a.txt x; say COMPLETE; fi",
    );
    for _ in 0..3 {
        let daemon = sandbox.start();
        sandbox.wait_needs_you("question");
        sandbox.wait_for("the calls", || {
            (sandbox.notes("hooks").len() >= 2).then_some(())
        });
        daemon.kill();
    }
    let calls = sandbox.notes("hooks");
    assert_eq!(
        calls.len(),
        2,
        "the question and the end of the night: {calls:?}"
    );
    let file = sandbox
        .path("out")
        .join(format!("{}.env", calls[0].replace(' ', "-")));
    let variables = fs::read_to_string(file).unwrap();
    for expected in [
        "SWARM_KIND=question\n",
        &format!("SWARM_IDEA_ID={id}\n"),
        "SWARM_MESSAGE=ed-001 asks: red or blue?\n",
    ] {
        assert!(variables.contains(expected), "{variables}");
    }
    let daemon = sandbox.start();
    sandbox.swarm(&["agent", "say", "ed-001", "red"]).ok();
    sandbox.wait_idea(&id, "done");
    sandbox.wait_for("the end", || {
        (sandbox.notes("hooks").len() >= 3).then_some(())
    });
    daemon.stop();
    let calls = sandbox.logged("nightEnded");
    let messages: Vec<&str> = calls
        .iter()
        .map(|it| it.data["message"].as_str().unwrap())
        .collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(
        messages[1].contains("1 landed, 0 failed, 0 waiting"),
        "{messages:?}"
    );
}

#[test]
fn a_night_without_anything_to_do_is_no_night() {
    let receiver = Receiver::new(&[]);
    let sandbox = Sandbox::ready();
    told(&sandbox, &receiver.url());
    for _ in 0..2 {
        assert_eq!(sandbox.run_until_idle(), 0);
    }
    assert_eq!(receiver.requests().len(), 0);
}

#[test]
fn an_address_that_cannot_be_used_is_refused_without_being_shown() {
    let sandbox = Sandbox::ready();
    for url in ["http://s3cret.example.com/x", "s3cret", "ftp://s3cret/"] {
        told(&sandbox, url);
        let ran = sandbox.swarm(&["config", "check"]);
        ran.refused(1, &["notify.webhook.url"]);
        assert!(!ran.stderr.contains("s3cret"), "{ran}");
    }
    sandbox.configure(&json!({"notify": {"webhook": {"url": "https://x/", "kinds": ["nope"]}}}));
    sandbox.swarm(&["config", "check"]).refused(1, &["kinds"]);
}
