//! An agent's output over HTTP.

use serde_json::json;
use swarm::api::client::Stream;
use swarm::domain::effect::{self, Effect, Purpose};
use swarm::domain::observation::{RunEnd, RunEndKind};

use crate::kit::{World, current_run, oid, refused, working_agent, write_output};

fn ended(code: i32, stdout_bytes: u64) -> RunEnd {
    RunEnd {
        stdout_bytes,
        duration_ms: 5_000,
        head: Some(oid('a')),
        ..RunEnd::new(RunEndKind::Exited { code })
    }
}

fn is_iteration(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Run(effect::Run {
            purpose: Purpose::Iteration { .. },
            ..
        })
    )
}

async fn line(stream: &mut Stream) -> String {
    stream.next_line().await.unwrap().unwrap()
}

async fn whole(mut stream: Stream) -> String {
    let mut out = Vec::new();
    while let Some(bytes) = stream.next_chunk().await.unwrap() {
        out.extend_from_slice(&bytes);
    }
    String::from_utf8(out).unwrap()
}

#[tokio::test]
async fn following_goes_on_over_iterations_until_the_agent_has_ended() {
    let world = World::new().await;
    let (agent, first) = working_agent(&world).await;
    let client = world.client().await;
    write_output(&world.runs_dir, &first, "stdout.log", "one\n");
    let path = format!("agents/{agent}/logs?follow=true");
    let mut stream = client.stream(&path).await.unwrap();
    assert_eq!(line(&mut stream).await, format!("==> {first} <=="));
    assert_eq!(line(&mut stream).await, "one");
    write_output(&world.runs_dir, &first, "stdout.log", "two\n");
    assert_eq!(line(&mut stream).await, "two");
    // Written just before the end, and still read.
    write_output(&world.runs_dir, &first, "stderr.log", "careful");
    world.finish(is_iteration, ended(0, 8)).await;
    assert_eq!(line(&mut stream).await, format!("==> {first} stderr <=="));
    assert_eq!(line(&mut stream).await, "careful");
    let (_, second) = current_run(&world).await;
    assert_ne!(first, second);
    assert_eq!(line(&mut stream).await, format!("==> {second} <=="));
    write_output(&world.runs_dir, &second, "stdout.log", "three\nfo");
    assert_eq!(line(&mut stream).await, "three");
    write_output(&world.runs_dir, &second, "stdout.log", "ur\n");
    assert_eq!(line(&mut stream).await, "four");
    world.finish(is_iteration, ended(1, 10)).await;
    assert_eq!(stream.next_line().await.unwrap(), None);
    let all = format!(
        "==> {first} <==\none\ntwo\n==> {first} stderr <==\ncareful\n==> {second} \
        <==\nthree\nfour\n"
    );
    for query in ["", "?follow=true"] {
        let stream = client.stream(&format!("agents/{agent}/logs{query}")).await;
        assert_eq!(whole(stream.unwrap()).await, all);
    }
    world.end().await;
}

#[tokio::test]
async fn the_last_lines_or_one_run_can_be_asked_for() {
    let world = World::new().await;
    let (agent, first) = working_agent(&world).await;
    write_output(&world.runs_dir, &first, "stdout.log", "1\n2\n3\n");
    world.finish(is_iteration, ended(0, 6)).await;
    let (_, second) = current_run(&world).await;
    write_output(&world.runs_dir, &second, "stdout.log", "4\n5\n");
    let client = world.client().await;
    for (query, expected) in [
        ("lines=1", format!("==> {second} <==\n5\n")),
        (
            "lines=3",
            format!("==> {first} <==\n3\n==> {second} <==\n4\n5\n"),
        ),
        ("lines=0", format!("==> {second} <==\n")),
        (
            &*format!("run={first}"),
            format!("==> {first} <==\n1\n2\n3\n"),
        ),
        (
            &*format!("run={first}&lines=1&follow=true"),
            format!("==> {first} <==\n3\n"),
        ),
    ] {
        let stream = client.stream(&format!("agents/{agent}/logs?{query}")).await;
        assert_eq!(whole(stream.unwrap()).await, expected, "{query}");
    }
    let unknown = client.get(&format!("agents/{agent}/logs?run=r9999")).await;
    let (status, code, _) = refused(unknown);
    assert_eq!((status, code.as_str()), (404, "RUN_UNKNOWN"));
    let bad = client
        .get(&format!("agents/{agent}/logs?run=../../etc"))
        .await;
    assert_eq!(refused(bad).0, 400);
    world.end().await;
}

#[tokio::test]
async fn an_end_of_the_daemon_ends_the_stream_with_all_that_was_written() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let client = world.client().await;
    let path = format!("agents/{agent}/logs?follow=true");
    let mut stream = client.stream(&path).await.unwrap();
    assert_eq!(line(&mut stream).await, format!("==> {run} <=="));
    write_output(&world.runs_dir, &run, "stdout.log", "last words\n");
    world.stop.send_replace(true);
    assert_eq!(line(&mut stream).await, "last words");
    assert_eq!(stream.next_line().await.unwrap(), None);
    world.end().await;
}

#[tokio::test]
async fn output_that_is_not_kept_any_more_is_said_to_be_so() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    let client = world.client().await;
    client
        .post("commands", &json!({"do": "stopAgent", "id": agent}))
        .await
        .unwrap();
    world.finish(is_iteration, ended(1, 0)).await;
    let stream = client
        .stream(&format!("agents/{agent}/logs"))
        .await
        .unwrap();
    assert_eq!(
        whole(stream).await,
        format!("==> {run} <==\n(no output is kept)\n")
    );
    world.end().await;
}

/// A run of an agent whose output is a stream of events.
fn structured(world: &World, run: &str) {
    write_output(&world.runs_dir, run, "agent.json", r#"{"adapter":"acp"}"#);
}

const CALL: &str = r#"{"toolCall":{"id":"1","tool":"shell","input":"ls"}}
{"toolResult":{"id":"1","output":"a\nb\n","ok":true}}
"#;

#[tokio::test]
async fn a_stream_of_events_is_told_as_text() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    structured(&world, &run);
    let client = world.client().await;
    write_output(
        &world.runs_dir,
        &run,
        "stdout.log",
        "{\"text\":{\"text\":\"I look.\"}}\n",
    );
    let path = format!("agents/{agent}/logs?follow=true");
    let mut stream = client.stream(&path).await.unwrap();
    assert_eq!(line(&mut stream).await, format!("==> {run} <=="));
    // A line that is torn is read when it is whole.
    let (first, rest) = CALL.split_at(20);
    write_output(&world.runs_dir, &run, "stdout.log", first);
    write_output(&world.runs_dir, &run, "stdout.log", rest);
    for expected in ["I look.", "$ ls", "    a", "    b"] {
        assert_eq!(line(&mut stream).await, expected);
    }
    // The last line of one that is over may have no end.
    write_output(
        &world.runs_dir,
        &run,
        "stdout.log",
        "{\"text\":{\"text\":\"Done.\"}}",
    );
    world.finish(is_iteration, ended(1, 8)).await;
    assert_eq!(line(&mut stream).await, "Done.");
    assert_eq!(stream.next_line().await.unwrap(), None);
    write_output(&world.runs_dir, &run, "stderr.log", "careful\n");
    let raw = format!(
        "{{\"text\":{{\"text\":\"I look.\"}}}}\n{CALL}{{\"text\":{{\"text\":\"Done.\"}}}}\n"
    );
    for (query, expected) in [
        (
            "lines=2",
            format!("==> {run} <==\nDone.\n==> {run} stderr <==\ncareful\n"),
        ),
        (
            "lines=4",
            format!("==> {run} <==\n    a\n    b\nDone.\n==> {run} stderr <==\ncareful\n"),
        ),
        (
            "",
            format!(
                "==> {run} <==\nI look.\n$ ls\n    a\n    b\nDone.\n==> {run} stderr <==\ncareful\n"
            ),
        ),
        (
            "raw=true",
            format!("==> {run} <==\n{raw}==> {run} stderr <==\ncareful\n"),
        ),
    ] {
        let stream = client.stream(&format!("agents/{agent}/logs?{query}")).await;
        assert_eq!(whole(stream.unwrap()).await, expected, "{query}");
    }
    world.end().await;
}

#[tokio::test]
async fn what_lies_in_the_place_of_how_a_run_was_started_is_not_followed() {
    let world = World::new().await;
    let (agent, run) = working_agent(&world).await;
    write_output(&world.runs_dir, &run, "stdout.log", "out\n");
    let place = world.runs_dir.join(&run).join("agent.json");
    let client = world.client().await;
    let logs = format!("agents/{agent}/logs");
    nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(client.view(&logs).await.is_err());
    std::fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &place).unwrap();
    assert!(client.view(&logs).await.is_err());
    let stream = client.stream(&format!("{logs}?raw=true")).await.unwrap();
    assert_eq!(whole(stream).await, format!("==> {run} <==\nout\n"));
    world.end().await;
}
