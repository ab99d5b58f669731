//! Who may see the page, and what every answer of its port carries.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use swarm::api;
use swarm::web::entry::access::Access;
use swarm::web::server::Port;
use swarm::web::{self, Site};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::kit::World;

/// The page of a world, on a port of its own.
struct Desk {
    world: World,
    access: Arc<Access>,
    port: u16,
    cookie: String,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
}

struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Desk {
    async fn new() -> Self {
        let world = World::new().await;
        let port = Port::bind(None, None).await.unwrap();
        let number = port.number();
        let access = Arc::new(Access::open(&world.state_dir, number).unwrap());
        let site = Arc::new(Site::new(world.context.clone(), Arc::clone(&access)));
        let router = web::router(&site, api::router(world.context.clone()));
        let (stop, stopped) = watch::channel(false);
        let server = tokio::spawn(port.serve(router, stopped));
        let code = access.link().rsplit_once('=').unwrap().1.to_owned();
        let session = access.enter(&code).unwrap().unwrap();
        let cookie = format!("cookie: {}={session}", access.cookie());
        Self {
            world,
            access,
            port: number,
            cookie,
            stop,
            server,
        }
    }

    fn host(&self) -> String {
        format!("host: 127.0.0.1:{}", self.port)
    }

    fn origin(&self) -> String {
        format!("origin: http://127.0.0.1:{}", self.port)
    }

    fn token(&self) -> String {
        let token = std::fs::read_to_string(self.world.state_dir.join("token")).unwrap();
        format!("authorization: Bearer {}", token.trim())
    }

    /// A request with exactly these headers.
    async fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))
            .await
            .unwrap();
        let headers = headers.iter().flat_map(|line| [*line, "\r\n"]);
        let headers: String = headers.collect();
        let text = format!(
            "{method} {path} HTTP/1.1\r\n{headers}connection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        Answer {
            status,
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.into()))
                .collect(),
            body: body.to_owned(),
        }
    }

    /// A page of the session.
    async fn page(&self, path: &str) -> Answer {
        let path = format!("{}/{path}", self.access.path());
        self.ask("GET", &path, &[&self.host(), &self.cookie], "")
            .await
    }

    /// A form of the session, with these headers besides host and cookie.
    async fn post(&self, path: &str, headers: &[&str]) -> Answer {
        let path = format!("{}/{path}", self.access.path());
        let (host, cookie) = (self.host(), self.cookie.clone());
        let mut all = vec![host.as_str(), cookie.as_str()];
        all.extend(headers);
        self.ask("POST", &path, &all, "theme=dark&back=settings")
            .await
    }

    async fn end(self) {
        self.stop.send_replace(true);
        self.server.await.unwrap();
        self.world.end().await;
    }
}

#[tokio::test]
async fn another_host_is_misdirected_even_with_the_session() {
    let desk = Desk::new().await;
    let path = format!("{}/", desk.access.path());
    let port = desk.port;
    for host in [
        "host: localhost".to_owned(),
        format!("host: localhost:{port}"),
        format!("host: swarm.example:{port}"),
        "host: 127.0.0.1".to_owned(),
        format!("host: 127.0.0.1:{}", port ^ 1),
        format!("host: 127.0.0.1:{port}.example"),
    ] {
        for path in [path.as_str(), "/api/v1/views/status", "/metrics"] {
            let headers = [host.as_str(), &desk.cookie, &desk.token()];
            let answer = desk.ask("GET", path, &headers, "").await;
            assert_eq!(answer.status, 421, "{host} {path}");
        }
    }
    assert_eq!(desk.page("").await.status, 200);
    desk.end().await;
}

#[tokio::test]
async fn a_change_comes_from_our_own_page_or_is_forbidden() {
    let desk = Desk::new().await;
    let (ours, same) = (desk.origin(), "sec-fetch-site: same-origin");
    let foreign = format!("origin: http://127.0.0.1:{}", desk.port ^ 1);
    let refused: [&[&str]; 8] = [
        &[],
        &[ours.as_str()],
        &[same],
        &["origin: null", same],
        &["origin: https://evil.example", same],
        &[foreign.as_str(), same],
        &[ours.as_str(), "sec-fetch-site: same-site"],
        &[ours.as_str(), "sec-fetch-site: cross-site"],
    ];
    let before = desk.world.handle.read(|state| state.seq);
    for headers in refused {
        for path in ["do/theme", "do/pause", "do/add"] {
            assert_eq!(
                desk.post(path, headers).await.status,
                403,
                "{path} {headers:?}"
            );
        }
    }
    assert_eq!(
        desk.world.handle.read(|state| state.seq),
        before,
        "nothing happened"
    );
    let done = desk.post("do/theme", &[ours.as_str(), same]).await;
    assert_eq!(done.status, 303);
    let cookie = &done.headers["set-cookie"];
    let is_strict = cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict");
    assert!(
        is_strict && cookie.contains(&format!("Path={}/", desk.access.path())),
        "{cookie}"
    );
    desk.end().await;
}

#[tokio::test]
async fn without_its_cookie_nothing_of_a_page_is_shown() {
    let desk = Desk::new().await;
    let forged = format!("cookie: {}={}", desk.access.cookie(), "0".repeat(64));
    for path in [
        "",
        "ideas",
        "settings",
        "palette?q=a",
        "live?page=",
        "do/pause",
        "nowhere",
    ] {
        let address = format!("{}/{path}", desk.access.path());
        for cookie in ["accept: */*", forged.as_str()] {
            let answer = desk.ask("GET", &address, &[&desk.host(), cookie], "").await;
            assert_eq!(answer.status, 401, "{path} {cookie}");
            assert!(answer.body.contains("swarm open"), "{}", answer.body);
        }
    }
    // The path is a secret: beside it there is nothing.
    let beside = desk
        .ask("GET", "/s/guess/", &[&desk.host(), &desk.cookie], "")
        .await;
    assert_eq!(beside.status, 404);
    desk.end().await;
}

#[tokio::test]
async fn the_api_takes_its_token_and_never_the_cookie() {
    let desk = Desk::new().await;
    let wrong = format!("authorization: Bearer {}", "0".repeat(64));
    for path in [
        "/api/v1/views/status",
        "/api/v1/healthz",
        "/api/v1/views/state",
        "/api/v1/views/snapshot/diff?from=1",
        "/metrics",
    ] {
        for credentials in [
            desk.cookie.as_str(),
            wrong.as_str(),
            "authorization: Basic eDp5",
        ] {
            let answer = desk
                .ask("GET", path, &[&desk.host(), credentials], "")
                .await;
            assert_eq!(answer.status, 401, "{path} {credentials}");
        }
        let answer = desk
            .ask("GET", path, &[&desk.host(), &desk.token()], "")
            .await;
        assert_eq!(answer.status, 200, "{path}");
    }
    let evil = "origin: https://evil.example";
    let headers = [&desk.host(), &desk.token(), evil];
    let answer = desk
        .ask("POST", "/api/v1/commands", &headers, r#"{"do":"pause"}"#)
        .await;
    assert_eq!(answer.status, 403);
    let metrics = desk
        .ask("GET", "/metrics", &[&desk.host(), &desk.token()], "")
        .await;
    let seq = desk.world.handle.read(|state| state.seq);
    assert!(
        metrics
            .body
            .contains(&format!("swarm_events_total {seq}\n")),
        "{}",
        metrics.body
    );
    desk.end().await;
}

#[tokio::test]
async fn a_link_works_once() {
    let desk = Desk::new().await;
    let link = desk.access.link();
    let path = link
        .strip_prefix(&format!("http://127.0.0.1:{}", desk.port))
        .unwrap();
    let first = desk.ask("GET", path, &[&desk.host()], "").await;
    assert_eq!(first.status, 303);
    assert!(first.headers.contains_key("set-cookie"));
    assert!(!first.headers["location"].contains("code"));
    let second = desk.ask("GET", path, &[&desk.host()], "").await;
    assert_eq!(second.status, 401);
    assert!(!second.headers.contains_key("set-cookie"));
    desk.end().await;
}

#[tokio::test]
async fn every_answer_forbids_frames_foreign_code_and_caches() {
    let desk = Desk::new().await;
    let page = desk.page("").await;
    let asset = page
        .body
        .split("src=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let base = desk.access.path();
    let (host, evil) = (desk.host(), "host: evil.example".to_owned());
    let answers = [
        (200, desk.page("").await),
        (200, desk.ask("GET", &asset, &[&host], "").await),
        (404, desk.page("ideas/idea-999").await),
        (404, desk.page("nowhere").await),
        (404, desk.page("assets/nothing.js").await),
        (
            401,
            desk.ask("GET", &format!("{base}/"), &[&host], "").await,
        ),
        (403, desk.post("do/pause", &[]).await),
        (421, desk.ask("GET", "/", &[&evil], "").await),
        (404, desk.ask("GET", "/", &[&host], "").await),
        (
            401,
            desk.ask("GET", "/api/v1/views/status", &[&host], "").await,
        ),
    ];
    for (index, (status, answer)) in answers.iter().enumerate() {
        assert_eq!(answer.status, *status, "{index}");
        let headers = &answer.headers;
        let policy = &headers["content-security-policy"];
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{index}: {part}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{index}");
        assert_eq!(
            headers["cross-origin-opener-policy"], "same-origin",
            "{index}"
        );
        assert_eq!(
            headers["cross-origin-resource-policy"], "same-origin",
            "{index}"
        );
        let cors = headers
            .keys()
            .find(|name| name.starts_with("access-control-"));
        assert_eq!(cors, None, "{index}");
        let is_asset = index == 1;
        assert_eq!(
            headers["cache-control"].contains("immutable"),
            is_asset,
            "{index}"
        );
        assert_eq!(headers["cache-control"] == "no-store", !is_asset, "{index}");
    }
    desk.end().await;
}

#[tokio::test]
async fn the_port_is_open_on_loopback_alone() {
    let desk = Desk::new().await;
    let others = [
        Ipv4Addr::new(127, 0, 0, 2),
        own_address().unwrap_or(Ipv4Addr::new(127, 1, 2, 3)),
    ];
    for address in others {
        let reached = TcpStream::connect(SocketAddr::from((address, desk.port))).await;
        assert!(reached.is_err(), "{address}");
    }
    desk.end().await;
}

/// An address of this machine that others can reach. Nothing is sent.
fn own_address() -> Option<Ipv4Addr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(address) if !address.ip().is_loopback() => Some(*address.ip()),
        SocketAddr::V4(_) | SocketAddr::V6(_) => None,
    }
}

#[tokio::test]
async fn a_stream_says_what_it_is_and_another_log_means_a_new_page() {
    let desk = Desk::new().await;
    let path = format!(
        "{}/live?page=&document=d&log=another&seq=1",
        desk.access.path()
    );
    let answer = desk
        .ask("GET", &path, &[&desk.host(), &desk.cookie], "")
        .await;
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    assert!(
        answer.body.contains("event: swarm:reload"),
        "{}",
        answer.body
    );
    // A page that shows events which this log does not have is of another log too.
    let ahead = format!("{}/live?page=&document=d&seq=999999", desk.access.path());
    let answer = desk
        .ask("GET", &ahead, &[&desk.host(), &desk.cookie], "")
        .await;
    assert!(
        answer.body.contains("event: swarm:reload"),
        "{}",
        answer.body
    );
    desk.end().await;
}

#[tokio::test]
async fn an_address_with_two_moments_is_refused_and_never_shows_now() {
    let desk = Desk::new().await;
    for path in ["?at=1&at=2", "ideas?at=1&at=999999", "palette?at=1&at=2"] {
        let answer = desk.page(path).await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.body);
    }
    assert_eq!(desk.page("?at=1&q=2").await.status, 200);
    desk.end().await;
}

#[tokio::test]
async fn a_link_followed_from_elsewhere_leads_on_from_a_page_of_ours() {
    let desk = Desk::new().await;
    let path = desk.access.link().split_off(desk.access.origin().len());
    let from = "sec-fetch-site: cross-site";
    let answer = desk.ask("GET", &path, &[&desk.host(), from], "").await;
    assert_eq!(
        answer.status, 200,
        "a redirect would be sent no strict cookie"
    );
    let leads = format!("0; url={}/", desk.access.path());
    assert_eq!(answer.headers["refresh"], leads);
    assert!(answer.headers.contains_key("set-cookie"));
    desk.end().await;
}

#[tokio::test]
async fn three_hundred_stalled_clients_keep_nobody_out_and_end_no_stream() {
    let desk = Desk::new().await;
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, desk.port));
    let (host, cookie, origin) = (desk.host(), &desk.cookie, desk.origin());
    let base = desk.access.path();
    let mut stream = connect().await.unwrap();
    let live = format!("GET {base}/live?page=&document=d HTTP/1.1\r\n{host}\r\n{cookie}\r\n\r\n");
    stream.write_all(live.as_bytes()).await.unwrap();
    let mut said = vec![0; 1 << 16];
    let mut length = 0;
    while !String::from_utf8_lossy(&said[..length]).contains("swarm:live") {
        let more = stream.read(&mut said[length..]).await.unwrap();
        assert_ne!(more, 0, "the stream ended");
        length += more;
    }
    let form = format!(
        "POST {base}/do/pause HTTP/1.1\r\n{host}\r\n{cookie}\r\n{origin}\r\n\
         sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: 1000\r\n\r\nop="
    );
    let mut stalled = Vec::new();
    for _ in 0..300 {
        let mut client = connect().await.unwrap();
        client.write_all(form.as_bytes()).await.unwrap();
        stalled.push(client);
    }
    let answer = tokio::time::timeout(Duration::from_secs(4), desk.page("")).await;
    assert_eq!(answer.expect("an answer in time").status, 200);
    let mut rest = Vec::new();
    while stream.try_read_buf(&mut rest).is_ok_and(|more| more > 0) {}
    let end = stream.try_read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(end, Err(std::io::ErrorKind::WouldBlock), "the stream lives");
    drop(stalled);
    drop(stream);
    desk.end().await;
}
