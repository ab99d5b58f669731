//! The page of an agent over a state in memory and output in a temporary folder.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::io;
use std::sync::Arc;

use axum::extract::{OriginalUri, Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::chunks;
use crate::api::{ApiContext, Control, EventLog, ReloadError};
use crate::daemon::actor::handle::Journaled;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::clean::Report;
use crate::daemon::hooks::HookView;
use crate::daemon::offline::Upto;
use crate::daemon::review::Wanted;
use crate::daemon::testkit::Seat;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::view::{MergeDiff, TargetNow};
use crate::web::Site;
use crate::web::entry::access::Access;
use crate::web::moment::Moment;
use crate::web::pages::asked::Query;
use crate::web::pages::{Route, WebError, draw};

const RUN: &str = "r0001-ed-001-i1";

struct World {
    site: Arc<Site>,
    dir: tempfile::TempDir,
    _seat: Seat,
}

struct Past(State);

impl EventLog for Past {
    fn read(&self, _: u64, _: usize) -> io::Result<Vec<Journaled>> {
        Ok(Vec::new())
    }

    fn state_at(&self, _: Upto) -> io::Result<State> {
        Ok(self.0.clone())
    }
}

struct Nobody;

impl Control for Nobody {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        Box::pin(async { Ok(0) })
    }

    fn target(&self, _: String) -> BoxFuture<'_, TargetNow> {
        Box::pin(async { TargetNow::Unknown })
    }

    fn merge_diff(&self, _: Wanted) -> BoxFuture<'_, Result<MergeDiff, String>> {
        Box::pin(async { Err("nobody knows".into()) })
    }

    fn clean(&self, _: bool) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async { Err("nobody knows".into()) })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn preview(&self, _: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>> {
        Box::pin(async { Err("nobody knows".into()) })
    }
}

impl World {
    /// An agent at work whose run has this output; its last signal was at byte `signal`.
    fn new(output: &[u8], signal: Option<u64>) -> Self {
        let mut attempt = json!({
            "idea": "idea-001", "number": 1, "profile": "ed", "branch": "agent/ed-001/idea-001",
            "worktree": "w01", "phase": "working", "task": "work", "iteration": 1, "gateNext": 0,
            "run": RUN, "runs": [RUN],
            "claimedAt": "2026-01-01T00:00:00.000Z",
        });
        if let Some(signal) = signal {
            attempt["signalOffset"] = json!(signal);
        }
        let mut state = State {
            seq: 7,
            ..State::default()
        };
        let attempt = serde_json::from_value(attempt).unwrap();
        state.agents.insert("ed-001".parse().unwrap(), attempt);
        let dir = tempfile::tempdir().unwrap();
        let runs_dir = dir.path().join("runs");
        fs::create_dir_all(runs_dir.join(RUN)).unwrap();
        fs::write(runs_dir.join(RUN).join("stdout.log"), output).unwrap();
        let (handle, seat) = Seat::new(state.clone(), 16);
        let api = ApiContext {
            handle,
            repo_root: dir.path().to_owned(),
            runs_dir,
            pid: 1,
            web_url: None,
            log: Arc::new(Past(state)),
            control: Arc::new(Nobody),
            entrance: None,
            finder: Arc::default(),
            measured: Arc::default(),
            stop: watch::channel(false).1,
        };
        let access = Access::open(dir.path(), 4_000).unwrap();
        Self {
            site: Arc::new(Site::new(Arc::new(api), Arc::new(access))),
            dir,
            _seat: seat,
        }
    }

    async fn page(&self, query: &str) -> Result<String, WebError> {
        self.page_of("ed-001", query, &Moment::now()).await
    }

    async fn past(&self) -> String {
        let moment = Moment::of(&self.site, Some("7".into())).await.unwrap();
        self.page_of("ed-001", "", &moment).await.unwrap()
    }

    async fn page_of(&self, id: &str, query: &str, moment: &Moment) -> Result<String, WebError> {
        let path = format!("agents/{id}");
        let (route, query) = (Route::of(&path).unwrap(), Query::of(query));
        let drawn = draw(&self.site, moment, (&route, &path, &query), None).await;
        drawn.map(|drawn| drawn.document)
    }

    async fn part(&self, name: &str, query: &str) -> Response {
        let site = Shared(Arc::clone(&self.site));
        let id = Path("ed-001".to_owned());
        let uri = OriginalUri(format!("/agents/ed-001/{name}?{query}").parse().unwrap());
        let answer = match name {
            "output" => chunks::output(site, id, Moment::now(), uri).await,
            "search" => chunks::search(site, id, Moment::now(), uri).await,
            "raw" => chunks::raw(site, id, uri).await,
            other => panic!("{other}"),
        };
        answer.unwrap_or_else(WebError::into_response)
    }
}

async fn text(response: Response) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn what_an_agent_writes_is_text_on_its_page() {
    let hostile = "<script>alert(1)</script>\n\u{1b}[31m\"><img src=x onerror=alert(1)>\u{202e}\n";
    let page = World::new(hostile.as_bytes(), None).page("").await.unwrap();
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "{page}"
    );
    assert!(
        page.contains("<span class=\"f1\">&quot;&gt;&lt;img src=x"),
        "{page}"
    );
    assert!(page.contains("‹U+202E›"), "{page}");
    assert!(
        !page.contains("<script>") && !page.contains("<img"),
        "{page}"
    );
}

#[tokio::test]
async fn the_last_lines_come_first_and_lead_to_earlier_ones() {
    let lines: Vec<String> = (1..=1_206).map(|line| format!("line {line}\n")).collect();
    let output = lines.concat();
    let world = World::new(output.as_bytes(), None);
    let page = world.page("").await.unwrap();
    assert!(
        page.contains("<li id=\"L707\" data-n=\"707\">line 707</li>"),
        "{page}"
    );
    assert!(
        page.contains("<li id=\"L1206\" data-n=\"1,206\">line 1206</li></ol>"),
        "{page}"
    );
    assert!(!page.contains("id=\"L706\""), "{page}");
    assert!(
        page.contains(&format!("?run={RUN}&amp;from=207\">Earlier lines")),
        "{page}"
    );
    let linked = world.page(&format!("run={RUN}&line=300")).await.unwrap();
    assert!(
        linked.contains("id=\"L300\"") && linked.contains("Later lines"),
        "{linked}"
    );
}

#[tokio::test]
async fn a_search_without_script_shows_the_first_match_and_leads_to_the_next() {
    let output = "no\n".repeat(600) + "Hours here\n" + &"no\n".repeat(600) + "hours there\n";
    let world = World::new(output.as_bytes(), None);
    let page = world.page("q=hours").await.unwrap();
    assert!(page.contains("<mark>Hours</mark> here"), "{page}");
    assert!(page.contains("1 of 2</span>"), "{page}");
    assert!(
        page.contains("&amp;q=hours&amp;line=1202#L1202\""),
        "{page}"
    );
    let page = world.page("q=hours(&regex=1").await.unwrap();
    assert!(page.contains("This cannot be searched for"), "{page}");
}

#[tokio::test]
async fn the_past_shows_output_only_as_far_as_it_is_known() {
    let output = b"one\n<swarm>PROGRESS:40</swarm>\nlater\n";
    let page = World::new(output, Some(4)).past().await;
    assert!(
        page.contains("progress 40 %") && !page.contains(">later<"),
        "{page}"
    );
    assert!(page.contains("Shown up to the last signal"), "{page}");
    assert!(
        !page.contains("method=\"post\"") && !page.contains("do/say"),
        "{page}"
    );
    let page = World::new(output, None).past().await;
    assert!(
        page.contains("is not known") && !page.contains(">one<"),
        "{page}"
    );
    let page = World::new(output, None).page("").await.unwrap();
    assert!(
        page.contains(">later<") && page.contains("do/say/ed-001"),
        "{page}"
    );
}

#[tokio::test]
async fn output_that_is_gone_and_names_that_nobody_has_are_told() {
    let world = World::new(b"text", None);
    fs::remove_file(world.dir.path().join("runs").join(RUN).join("stdout.log")).unwrap();
    let page = world.page("").await.unwrap();
    assert!(page.contains("is no longer kept"), "{page}");
    let error = world
        .page_of("ed-01", "", &Moment::now())
        .await
        .unwrap_err();
    let response = error.into_response();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert!(text(response).await.contains("Did you mean ed-001?"));
    let other_run = world
        .page("run=r0009-ed-009-i1")
        .await
        .unwrap_err()
        .into_response();
    assert_eq!(other_run.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_output_that_grows_is_sent_once() {
    let world = World::new(b"one\ntw", None);
    let first = text(world.part("output", "").await).await;
    assert!(first.contains("data-last=\"2\" data-open"), "{first}");
    let same = world.part("output", "from=2&size=6").await;
    assert_eq!(same.status(), StatusCode::NO_CONTENT);
    let path = world.dir.path().join("runs").join(RUN).join("stdout.log");
    fs::write(path, b"one\ntwo\nthree\n").unwrap();
    let more = text(world.part("output", "from=2&size=6").await).await;
    assert!(
        more.contains("data-first=\"2\" data-last=\"3\" data-count=\"3\""),
        "{more}"
    );
    assert!(
        more.contains(">two</li>") && !more.contains(">one<"),
        "{more}"
    );
}

#[tokio::test]
async fn a_search_answers_in_pages_that_cover_everything() {
    let output = "needle\nhay\n".repeat(300_000);
    let world = World::new(output.as_bytes(), None);
    let (mut place, mut lines, mut pages) = (String::new(), Vec::new(), 0);
    loop {
        let answer = text(world.part("search", &format!("q=needle{place}")).await).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let found = answer["lines"].as_array().unwrap();
        lines.extend(found.iter().filter_map(Value::as_u64));
        pages += 1;
        let next = &answer["next"];
        if next.is_null() {
            break;
        }
        place = format!("&byte={}&line={}", next["byte"], next["line"]);
    }
    assert!(pages > 1);
    let expected: Vec<u64> = (0..300_000).map(|nth| 2 * nth + 1).collect();
    assert!(lines == expected, "{} lines in {pages} pages", lines.len());
    let refused = world.part("search", "q=(&regex=1").await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn raw_output_is_the_file_as_text() {
    let world = World::new(b"\x1b[31m<b>\n", None);
    let answer = world.part("raw", &format!("run={RUN}&download=1")).await;
    assert_eq!(
        answer.headers()["content-type"],
        "text/plain; charset=utf-8"
    );
    let name = &answer.headers()["content-disposition"];
    assert_eq!(name, &format!("attachment; filename=\"{RUN}.log\""));
    assert_eq!(text(answer).await, "\u{1b}[31m<b>\n");
}
