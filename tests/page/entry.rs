//! Another server on this machine, such as one that an agent started, and what it can do to the
//! page of a person who visits both in one browser: nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::json;

use crate::browser::{self, Browser};
use crate::harness::{PATIENCE, Sandbox};

/// A server that keeps the head of every request, and answers with the same page.
struct Stranger {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stranger {
    fn start(page: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let is_over = Arc::<AtomicBool>::default();
        let (kept, over) = (Arc::clone(&heads), Arc::clone(&is_over));
        let serve = move || {
            thread::scope(|scope| {
                for stream in listener.incoming().map_while(Result::ok) {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    // A thread each: a browser opens connections before it needs them.
                    let (page, kept) = (&page, &kept);
                    scope.spawn(move || answer(&stream, page, kept));
                }
            });
        };
        Self {
            port,
            heads,
            is_over,
            thread: Some(thread::spawn(serve)),
        }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        self.thread.take().unwrap().join().unwrap();
    }
}

fn answer(mut stream: &TcpStream, page: &str, kept: &Mutex<Vec<String>>) {
    // Where the test fails, the browser ends after this server.
    stream.set_read_timeout(Some(PATIENCE / 6)).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    if head.is_empty() {
        return;
    }
    kept.lock().unwrap().push(head.join("\n").to_lowercase());
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
        Connection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(answer.as_bytes()).unwrap();
}

#[test]
fn a_server_on_another_port_is_never_sent_the_cookie_and_can_change_nothing() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let browser = Browser::open(&sandbox);
    let base = browser.address();
    let stranger = Stranger::start(format!(
        "<!doctype html><title>stranger</title><iframe src='{base}'></iframe>\
            <form method=post action='{base}do/pause'><input name=op value=1-x>\
            <input name=reason value=stolen></form>"
    ));
    let other = format!("http://127.0.0.1:{}/", stranger.port);

    // From our own page, and by its address: without the cookie, and without our secret path.
    browser.run(&format!("location.href = {}", json!(other)));
    browser.wait("the stranger's page", "document.title === 'stranger'");
    let path = base.split('/').nth(4).unwrap().to_owned();
    let heads = stranger.heads();
    assert!(!heads.is_empty());
    for head in &heads {
        assert!(!head.contains("cookie:"), "{head}");
        assert!(!head.contains(&path), "{head}");
    }

    // It cannot read the page, in a frame or by a request.
    let framed = browser.run(
        "try { return document.querySelector('iframe').contentDocument.body\
        .innerText } catch (error) { return '' }",
    );
    assert_eq!(framed.as_str().unwrap_or_default(), "");
    let read = browser.run_async(&format!(
        "const done = arguments[arguments.length - 1]; \
        fetch({}, {{credentials: 'include'}}).then((it) => it.text()).then(done, () => done(null))",
        json!(base)
    ));
    assert_eq!(read, json!(null));
    let told = browser.complaints().join("\n");
    assert!(told.contains("frame-ancestors"), "{told}");

    // Nor change anything: the browser sends the cookie, but says where the form is from.
    browser.run("document.forms[0].submit()");
    browser.wait_text("does not come from swarm's own page");
    let status = sandbox.status();
    assert_eq!(status["phase"], "running", "{status}");
    let complaint = browser.complaints().join("\n");
    assert!(complaint.contains("403"), "{complaint}");

    // The person is still signed in.
    browser.visit(&base);
    browser.wait_text("Overview");
    drop(browser);
    drop(stranger);
    daemon.stop();
}

#[test]
fn the_file_that_start_opens_leads_into_a_session() {
    if browser::is_missing() {
        return;
    }
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let browser = Browser::open(&sandbox);
    // The cookie that the browser has is of no use here.
    browser.devtools("Network.clearBrowserCookies", &json!({}));
    browser.visit(&browser.address());
    browser.wait_text("You are signed out");
    let opened = sandbox.swarm(&["open", "--json"]).json();
    let (link, state) = (opened["url"].as_str().unwrap(), sandbox.private(""));
    let file = swarm::web::entry::opener::write(&state, link).unwrap();
    browser.visit(&format!("file://{}", file.display()));
    browser.wait_text("Overview");
    assert!(
        !browser.address().contains("code="),
        "{}",
        browser.address()
    );
    drop(browser);
    daemon.stop();
    assert!(!file.exists(), "the daemon's end removes it");
}
