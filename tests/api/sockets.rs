//! Reaching a daemon, or finding that there is none.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use swarm::api::{Client, ClientError, ConnectError, DaemonFile};
use swarm::domain::settings::Mode;
use swarm::domain::time::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use crate::kit::World;

#[tokio::test]
async fn a_state_directory_whose_path_is_too_long_for_a_socket_works() {
    let world = World::with(Mode::SemiAuto, &"d".repeat(150), 16).await;
    assert!(!world.socket.starts_with(&world.state_dir));
    let elsewhere = world.socket.parent().unwrap().to_owned();
    let client = world.client().await;
    assert_eq!(client.view("status").await.unwrap()["pid"], 4242);
    world.end().await;
    assert!(!elsewhere.exists());
}

/// Who gets no answer cannot know whether it took effect.
#[tokio::test]
async fn who_comes_while_the_daemon_ends_is_answered() {
    let request = b"GET /api/v1/views/status HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for is_accepted in [false, true] {
        let world = World::new().await;
        // There is one thread: nothing is accepted until something is awaited.
        let stream = std::os::unix::net::UnixStream::connect(&world.socket).unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut stream = UnixStream::from_std(stream).unwrap();
        if is_accepted {
            world.client().await.view("status").await.unwrap();
        }
        world.stop.send_replace(true);
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 "), "{answer:?}");
        world.end().await;
    }
}

#[tokio::test]
async fn what_a_dead_daemon_left_is_no_daemon() {
    let world = World::new().await;
    let client = world.client().await;
    let state_dir = world.state_dir.clone();
    let dir = world.end().await;
    // The file still names the socket that is gone.
    let gone = Client::connect(&state_dir).await.unwrap_err();
    assert!(matches!(gone, ConnectError::NoDaemon), "{gone:?}");
    // A socket that nobody listens on.
    let socket = state_dir.join("swarm.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let deaf = Client::connect(&state_dir).await.unwrap_err();
    assert!(matches!(deaf, ConnectError::NoDaemon), "{deaf:?}");
    // A client from before.
    let asked = client
        .post("commands", &json!({"do": "resume"}))
        .await
        .unwrap_err();
    assert!(
        matches!(asked, ClientError::NoDaemon | ClientError::Io(_)),
        "{asked:?}"
    );
    let asked = client.view("status").await.unwrap_err();
    assert!(matches!(asked, ClientError::NoDaemon), "{asked:?}");
    DaemonFile::remove(&state_dir).unwrap();
    let none = Client::connect(&state_dir).await.unwrap_err();
    assert!(matches!(none, ConnectError::NoDaemon), "{none:?}");
    fs::write(state_dir.join("daemon.json"), "{").unwrap();
    let torn = Client::connect(&state_dir).await.unwrap_err();
    assert!(matches!(torn, ConnectError::DaemonFile { .. }), "{torn:?}");
    drop(dir);
}

#[tokio::test]
async fn one_client_asks_often_follows_and_asks_meanwhile() {
    let world = World::new().await;
    let client = world.client().await;
    let mut follow = client.stream("events?follow=true").await.unwrap();
    for _ in 0..20 {
        client.get("healthz").await.unwrap();
    }
    assert!(follow.next_line().await.unwrap().is_some());
    world.end().await;
}

#[tokio::test]
async fn a_client_that_says_half_a_request_keeps_nobody_waiting() {
    let world = World::new().await;
    let mut half = UnixStream::connect(&world.socket).await.unwrap();
    half.write_all(
        b"POST /api/v1/commands HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"te",
    )
    .await
    .unwrap();
    let mut silent = UnixStream::connect(&world.socket).await.unwrap();
    let client = world.client().await;
    client.view("status").await.unwrap();
    // Even so the end comes in bounded time.
    let ended = tokio::time::timeout(Duration::from_secs(20), world.end());
    ended.await.unwrap();
    let mut rest = Vec::new();
    drop(half.read_to_end(&mut rest).await);
    drop(silent.read_to_end(&mut rest).await);
}

#[tokio::test]
async fn what_is_not_http_is_answered_as_such() {
    let world = World::new().await;
    let mut stream = UnixStream::connect(&world.socket).await.unwrap();
    stream
        .write_all(b"\x16\x03\x01 not http\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    world.end().await;
}

#[tokio::test]
async fn a_client_refuses_a_path_that_is_none() {
    let world = World::new().await;
    let client = world.client().await;
    let error = client.view("ideas?status=a b").await.unwrap_err();
    assert!(matches!(error, ClientError::Io(_)), "{error:?}");
    let encoded = swarm::api::client::encode("a b&c=ü/");
    assert_eq!(encoded, "a%20b%26c%3D%C3%BC%2F");
    let error = client
        .get(&format!("events?kind={encoded}"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("a b&c="), "{error}");
    world.end().await;
}

#[test]
fn a_daemon_file_says_where_and_since_when() {
    let file = DaemonFile {
        pid: 7,
        socket: "/run/s".into(),
        started_at: Timestamp::from_millis(0),
        version: "0.1.0".into(),
        web_url: None,
        state: None,
    };
    let json = serde_json::to_string(&file).unwrap();
    let expected =
        r#"{"pid":7,"socket":"/run/s","startedAt":"1970-01-01T00:00:00.000Z","version":"0.1.0"}"#;
    assert_eq!(json, expected);
}

/// A daemon by hand: a listener that `daemon.json` names.
fn by_hand(dir: &Path) -> UnixListener {
    let socket = dir.join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let file = DaemonFile {
        pid: 1,
        socket,
        started_at: Timestamp::default(),
        version: "0".into(),
        web_url: None,
        state: None,
    };
    file.write(dir).unwrap();
    listener
}

/// Reads the head of a request without a body, or with `{}`.
async fn read_request(stream: &mut UnixStream) {
    let mut seen = Vec::new();
    while !seen.windows(4).any(|end| end == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut seen).await.unwrap() > 0);
    }
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

#[tokio::test]
async fn a_change_whose_answer_is_lost_is_not_sent_again() {
    let dir = tempfile::tempdir().unwrap();
    let listener = by_hand(dir.path());
    let client = Client::connect(dir.path()).await.unwrap();
    let daemon = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(ANSWER).await.unwrap();
        read_request(&mut stream).await;
        drop(stream);
    };
    let asked = async {
        client
            .post("commands", &json!({"do": "resume"}))
            .await
            .unwrap();
        client.post("commands", &json!({"do": "resume"})).await
    };
    let (lost, ()) = tokio::join!(asked, daemon);
    assert!(matches!(lost, Err(ClientError::Io(_))), "{lost:?}");
    let again = tokio::time::timeout(Duration::from_millis(50), listener.accept());
    assert!(again.await.is_err(), "it was sent again");
}

#[tokio::test]
async fn a_question_whose_answer_is_lost_is_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let listener = by_hand(dir.path());
    let client = Client::connect(dir.path()).await.unwrap();
    let daemon = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        drop(stream);
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(ANSWER).await.unwrap();
    };
    let (answer, ()) = tokio::join!(client.view("status"), daemon);
    assert_eq!(answer.unwrap(), json!({}));
}

#[tokio::test]
async fn a_stream_that_breaks_is_not_taken_for_one_that_ended() {
    let dir = tempfile::tempdir().unwrap();
    let listener = by_hand(dir.path());
    let client = Client::connect(dir.path()).await.unwrap();
    let daemon = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        let part = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\none\n\r\n";
        stream.write_all(part).await.unwrap();
    };
    let (stream, ()) = tokio::join!(client.stream("events"), daemon);
    let mut stream = stream.unwrap();
    assert_eq!(stream.next_line().await.unwrap().unwrap(), "one");
    let broken = stream.next_line().await;
    assert!(matches!(broken, Err(ClientError::Io(_))), "{broken:?}");
}
