//! Requests to the interface, without a socket: a line `METHOD PATH`, then the body. An actor in
//! memory decides by the real rules.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt as _, Limited};
use hyper::service::Service as _;
use hyper::{Method, Request, StatusCode};
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use swarm::api::{ApiContext, Control, EventLog, ReloadError, router};
use swarm::daemon::Accepted;
use swarm::daemon::actor::handle::Journaled;
use swarm::daemon::clean::Report;
use swarm::daemon::offline::Upto;
use swarm::daemon::testkit::Seat;
use swarm::domain::decide;
use swarm::domain::evolve::evolve;
use swarm::domain::state::State;
use swarm::domain::time::Timestamp;
use swarm::view::TargetNow;
use tokio::runtime::{Builder, Runtime};

/// Requests after which the world begins anew.
const LIFE: u32 = 200;
/// Longest answer that is looked at, in bytes.
const LONGEST: usize = 8 * 1024 * 1024;

struct World {
    runtime: Runtime,
    router: Router,
    requests: u32,
}

struct NoLog;

impl EventLog for NoLog {
    fn read(&self, _: u64, _: usize) -> io::Result<Vec<Journaled>> {
        Ok(vec![])
    }

    fn state_at(&self, _: Upto) -> io::Result<State> {
        Ok(State::default())
    }
}

struct NoControl;

impl Control for NoControl {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        Box::pin(async { Ok(1) })
    }

    fn target(&self, _: String) -> BoxFuture<'_, TargetNow> {
        Box::pin(async { TargetNow::Unknown })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<serde_json::Value>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<swarm::daemon::hooks::HookView>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn preview(
        &self,
        _: &swarm::domain::ids::CheckpointName,
    ) -> BoxFuture<'_, Result<swarm::daemon::checkpoints::list::Preview, String>> {
        Box::pin(async { Err("nobody knows".to_owned()) })
    }

    fn merge_diff(
        &self,
        _: swarm::daemon::review::Wanted,
    ) -> BoxFuture<'_, Result<swarm::view::MergeDiff, String>> {
        Box::pin(async { Err("none".to_owned()) })
    }

    fn clean(&self, _: bool) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async { Ok(Report::default()) })
    }
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Every request gets an answer; a refusal has the form of one, and nothing is the server's own
/// fault.
pub fn check(data: &[u8]) {
    let Some(request) = request(data) else {
        return;
    };
    WORLD.with_borrow_mut(|world| {
        if world.as_ref().is_none_or(|world| world.requests == LIFE) {
            *world = Some(new_world());
        }
        let world = world.as_mut().expect("it was made just now");
        world.requests += 1;
        world.runtime.block_on(ask(world.router.clone(), request));
    });
}

fn request(data: &[u8]) -> Option<Request<Body>> {
    let end = data.iter().position(|byte| *byte == b'\n');
    let (line, body) = data.split_at(end.unwrap_or(data.len()));
    let (method, path) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let method = Method::from_bytes(method.as_bytes()).ok()?;
    let body = Bytes::copy_from_slice(body.get(1..).unwrap_or_default());
    let request = Request::builder().method(method).uri(path);
    request.body(Body::from(body)).ok()
}

async fn ask(router: Router, request: Request<Body>) {
    let what = format!("{} {}", request.method(), request.uri());
    let Ok(answer) = TowerToHyperService::new(router).call(request).await;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), LONGEST).collect().await;
    let body = body.expect("an answer ends").to_bytes();
    assert_ne!(
        status,
        StatusCode::INTERNAL_SERVER_ERROR,
        "{what}: {body:?}"
    );
    if status.is_client_error() && !body.is_empty() {
        let refusal: Value = serde_json::from_slice(&body).unwrap_or_default();
        let error = &refusal["error"];
        let whole = error["code"].is_string() && error["message"].is_string();
        assert!(whole, "{what}: {status} {body:?}");
    }
}

fn new_world() -> World {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime can be made");
    let (handle, seat) = Seat::new(State::default(), 64);
    runtime.spawn(act(seat));
    // Streams give what there is and end.
    let (_, stop) = tokio::sync::watch::channel(true);
    let router = router(Arc::new(ApiContext {
        handle,
        repo_root: "/nowhere".into(),
        runs_dir: "/nowhere/runs".into(),
        pid: 1,
        web_url: None,
        log: Arc::new(NoLog),
        control: Arc::new(NoControl),
        entrance: None,
        finder: Arc::default(),
        measured: Arc::default(),
        stop,
    }));
    World {
        runtime,
        router,
        requests: 0,
    }
}

/// Decides, publishes, answers.
async fn act(mut seat: Seat) {
    let mut state = State::default();
    let now = Timestamp::from_millis(1_800_000_000_000);
    while let Some((command, answer)) = seat.next().await {
        let result = decide::command(&state, &command, now);
        let mut events = result.clone().unwrap_or_default();
        let mut seq = state.seq;
        drop(answer.send(match result {
            Ok(events) => Ok(Accepted::now(seq + events.len() as u64, events)),
            Err(rejection) => Err(rejection.into()),
        }));
        while !events.is_empty() {
            let mut records = Vec::new();
            for event in events {
                seq += 1;
                evolve(&mut state, seq, now, &event);
                records.push(Arc::new(Journaled {
                    seq,
                    ts: now,
                    event,
                }));
            }
            seat.publish(&records);
            events = decide::advance(&state, now);
        }
    }
}
