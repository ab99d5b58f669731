//! The log over HTTP: no gap and no repeat, whoever comes back from where, whatever happens
//! meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use serde_json::{Value, json};
use swarm::domain::event::{Event, Mark};
use swarm::domain::settings::Mode;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;

use crate::kit::World;

/// Server-sent events, by hand.
struct Sse {
    lines: Lines<BufReader<UnixStream>>,
    last: u64,
}

impl Sse {
    async fn open(world: &World, since: Option<u64>, query: &str) -> Self {
        let mut stream = UnixStream::connect(&world.socket).await.unwrap();
        let resume = since.map_or(String::new(), |seq| format!("last-event-id: {seq}\r\n"));
        let head = format!(
            "GET /api/v1/events{query} HTTP/1.1\r\nhost: x\r\naccept: \
            text/event-stream\r\n{resume}\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "HTTP/1.1 200 OK");
        let last = since.unwrap_or(0);
        Self { lines, last }
    }

    /// The next event; its id must be its sequence number. None: the stream is over.
    async fn next(&mut self) -> Option<Value> {
        let mut id = None;
        while let Ok(Some(line)) = self.lines.next_line().await {
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.parse::<u64>().unwrap());
            }
            if let Some(text) = line.strip_prefix("data: ") {
                let event: Value = serde_json::from_str(text).unwrap();
                assert_eq!(event["seq"].as_u64(), id);
                return Some(event);
            }
        }
        None
    }

    async fn in_order(&mut self) -> u64 {
        let event = self.next().await.unwrap();
        let seq = event["seq"].as_u64().unwrap();
        assert_eq!(seq, self.last + 1, "gap or repeat");
        self.last = seq;
        seq
    }
}

#[tokio::test]
async fn an_array_holds_what_was_asked_for() {
    let world = World::new().await;
    let client = world.client().await;
    for text in ["a", "b", "c"] {
        client
            .post("commands", &json!({"do": "addIdea", "content": text}))
            .await
            .unwrap();
    }
    let all = client.get("events").await.unwrap();
    let all = all.as_array().unwrap();
    let seqs: Vec<u64> = all
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (1..=all.len() as u64).collect::<Vec<_>>());
    let ideas = client.get("events?kind=ideaAdded&limit=2").await.unwrap();
    assert_eq!(ideas.as_array().unwrap().len(), 2);
    assert_eq!(ideas[1]["data"]["idea"]["content"], "b");
    let since = ideas[1]["seq"].as_u64().unwrap();
    let rest = client
        .get(&format!("events?kind=ideaAdded&since={since}"))
        .await
        .unwrap();
    assert_eq!(rest.as_array().unwrap().len(), 1);
    let last = all.len();
    let none = client.get(&format!("events?since={last}")).await.unwrap();
    assert_eq!(none, json!([]));
    assert_eq!(client.get("events?limit=0").await.unwrap(), json!([]));
    world.end().await;
}

#[tokio::test]
async fn lines_end_with_what_is_there_or_go_on() {
    let world = World::new().await;
    let client = world.client().await;
    client
        .post("commands", &json!({"do": "addIdea", "content": "a"}))
        .await
        .unwrap();
    let last = world.handle.read(|state| state.seq);
    let mut there = client.stream("events").await.unwrap();
    let mut count = 0;
    while let Some(line) = there.next_line().await.unwrap() {
        let event: Value = serde_json::from_str(&line).unwrap();
        count += 1;
        assert_eq!(event["seq"], count);
    }
    assert_eq!(count, last);
    let path = format!("events?follow=true&since={last}&limit=1");
    let mut follow = client.stream(&path).await.unwrap();
    client
        .post("commands", &json!({"do": "addIdea", "content": "later"}))
        .await
        .unwrap();
    let line = follow.next_line().await.unwrap().unwrap();
    assert!(line.contains("later"), "{line}");
    assert_eq!(follow.next_line().await.unwrap(), None);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_come_and_go_miss_nothing_while_writers_write() {
    const WRITERS: u64 = 4;
    const IDEAS: u64 = 150;
    // Few in memory, so that readers fall back to the log and return.
    let world = Arc::new(World::with(Mode::SemiAuto, "state", 8).await);
    let begin = world.handle.read(|state| state.seq);
    let last = begin + WRITERS * IDEAS;
    let write = |_| {
        let world = world.clone();
        async move {
            let client = world.client().await;
            for _ in 0..IDEAS {
                client
                    .post("commands", &json!({"do": "addIdea", "content": "x"}))
                    .await
                    .unwrap();
            }
        }
    };
    let read = |patience: u64| {
        let world = world.clone();
        async move {
            let mut seen = 0;
            while seen < last {
                let mut events = Sse::open(&world, Some(seen), "").await;
                for _ in 0..patience.min(last - seen) {
                    seen = events.in_order().await;
                }
            }
        }
    };
    let writers = join_all((0..WRITERS).map(write));
    let readers = join_all([1_u64, 7, 64, 1_000].map(read));
    tokio::join!(writers, readers);
    assert!(world.log.reads.load(Ordering::Relaxed) > 0);
    Arc::into_inner(world).unwrap().end().await;
}

#[tokio::test]
async fn a_filtered_stream_resumes_from_the_last_event_that_it_gave() {
    let world = World::new().await;
    let client = world.client().await;
    for text in ["a", "b"] {
        client
            .post("commands", &json!({"do": "addIdea", "content": text}))
            .await
            .unwrap();
        world.facts(vec![Event::Mark(Mark {}); 40]).await;
    }
    let mut first = Sse::open(&world, None, "?kind=ideaAdded").await;
    let a = first.next().await.unwrap();
    assert_eq!(a["data"]["idea"]["content"], "a");
    drop(first);
    let mut second = Sse::open(&world, a["seq"].as_u64(), "?kind=ideaAdded").await;
    assert_eq!(second.next().await.unwrap()["data"]["idea"]["content"], "b");
    world.end().await;
}

#[tokio::test]
async fn an_end_gives_what_there_is_and_closes() {
    let world = World::new().await;
    let mut events = Sse::open(&world, None, "").await;
    let last = world.handle.read(|state| state.seq);
    world.facts(vec![Event::Mark(Mark {}); 100]).await;
    world.stop.send_replace(true);
    for _ in 0..last + 100 {
        events.in_order().await;
    }
    assert!(events.next().await.is_none());
    world.end().await;
}

#[tokio::test]
async fn a_client_that_goes_away_is_forgotten() {
    let world = World::new().await;
    let idle = Arc::strong_count(&world.log);
    let followers: Vec<Sse> = join_all((0..5).map(|_| Sse::open(&world, None, ""))).await;
    assert!(Arc::strong_count(&world.log) >= idle + 5);
    drop(followers);
    // Nothing happens in the log, and still the server notices.
    while Arc::strong_count(&world.log) > idle {
        tokio::task::yield_now().await;
    }
    world.end().await;
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_an_error_and_never_a_gap() {
    let world = World::new().await;
    world.facts(vec![Event::Mark(Mark {}); 100]).await;
    world.log.broken.store(true, Ordering::Relaxed);
    for accept in [
        "application/json",
        "application/x-ndjson",
        "text/event-stream",
    ] {
        let mut stream = UnixStream::connect(&world.socket).await.unwrap();
        let head = format!(
            "GET /api/v1/events HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: \
            {accept}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(
            answer.contains("bad sector") && answer.contains("DISK"),
            "{answer}"
        );
    }
    world.end().await;
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_up_nobody() {
    let world = World::new().await;
    let mut slow = Sse::open(&world, None, "").await;
    let client = world.client().await;
    let text = "x".repeat(40_000);
    for _ in 0..200 {
        client
            .post("commands", &json!({"do": "addIdea", "content": text}))
            .await
            .unwrap();
    }
    for _ in 0..world.handle.read(|state| state.seq) {
        slow.in_order().await;
    }
    world.end().await;
}
