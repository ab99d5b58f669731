//! A night in which everything happens that the pages show.

use serde_json::json;

use crate::harness::{Daemon, Sandbox};

/// A sandbox with a finished night: landed ideas, a check that failed and was mended, a question, a
/// blocked idea, work that waits for review, one agent at work, dependencies, a checkpoint.
pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "agents": {"maxParallel": 3},
        "checks": {"baseline": "off"},
        "qualityCommands": [],
    }));
    sandbox
}

/// Fills the memory: a pinned and contradicted fact with a history and a file, one that was taken
/// back, a long one, and notes.
fn remember(sandbox: &Sandbox) {
    let long = "A value that goes on, with_a_very_long_word_that_no_line_has_room_for ".repeat(8);
    let all: &[&[&str]] = &[
        &[
            "memory",
            "put",
            "api.port",
            "The API listens on 8080",
            "--path",
            "a.txt",
        ],
        &[
            "memory",
            "put",
            "api.port",
            "The API listens on 9090",
            "--why",
            "it moved",
        ],
        &["memory", "pin", "api.port"],
        &[
            "memory",
            "dispute",
            "api.port",
            "The API listens on 7070",
            "--why",
            "it failed",
        ],
        &["memory", "dispute", "api.port"],
        &["memory", "put", "db.url", "DB_URL is required"],
        &["memory", "retract", "db.url", "--why", "it has a default"],
        &[
            "memory",
            "put",
            "a-key.with-many-parts.that-is.as-long-as.keys-may-be",
            &long,
        ],
        &["memory", "learn", "The API has no tests"],
        &["scratch", "put", "tasks/auth.md", "1. tokens\n2. sessions"],
        &[
            "scratch",
            "put",
            "plan.md",
            "Tests first",
            "--keep",
            "--title",
            "The plan",
        ],
    ];
    for args in all {
        sandbox.swarm(args).ok();
    }
}

/// Starts the daemon and plays the night; at its end one agent is held at `work`.
pub fn play(sandbox: &Sandbox) -> Daemon<'_> {
    let daemon = sandbox.start();
    let first = sandbox.idea("write a.txt 'first line'; commit Add a; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    sandbox
        .swarm(&["checkpoint", "create", "after-the-first"])
        .ok();
    remember(sandbox);
    let second = sandbox.idea_with(
        "printf '\\033[32mgreen\\033[0m <b>bold</b>\\n'; write b.txt b; commit Add b; say COMPLETE",
        &["--after", &first],
    );
    sandbox.wait_idea(&second, "done");
    let review = sandbox.idea_with(
        "write a.txt 'another line'; write c/d.txt new; commit Change a; say COMPLETE",
        &["--review"],
    );
    sandbox.wait_needs_you("review");
    sandbox.idea("say BLOCKED:there is no database");
    sandbox.wait_needs_you("blocked");
    sandbox.idea("say 'NEEDS_HUMAN:Which port should it use?'");
    sandbox.wait_needs_you("question");
    let work = sandbox.idea("echo 'working on it'; hold work; say COMPLETE");
    sandbox.wait_held("work");
    sandbox.idea_with("say COMPLETE", &["--after", &work, "--after", &review]);
    daemon
}

/// Two ideas have landed, with a checkpoint between them; idea-003 and idea-004 wait for review,
/// ed-005 asks something, ed-006 is held at `work` in the only slot, idea-007 is ready.
pub fn evening(sandbox: &Sandbox) -> Daemon<'_> {
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    let daemon = sandbox.start();
    let first = sandbox.idea("write a.txt a; commit; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    sandbox.swarm(&["checkpoint", "create", "base"]).ok();
    let second = sandbox.idea("write b.txt b; commit; say COMPLETE");
    sandbox.wait_idea(&second, "done");
    for name in ["c", "d"] {
        let doing = format!("append {name}.txt x; commit; say COMPLETE");
        let id = sandbox.idea_with(&doing, &["--review"]);
        sandbox.wait_idea(&id, "merging");
    }
    sandbox.idea("if iteration 1; then say 'NEEDS_HUMAN:Red or blue?'; else say COMPLETE; fi");
    sandbox.wait_needs_you("question");
    sandbox.idea("hold work; say COMPLETE");
    sandbox.wait_held("work");
    sandbox.idea("say COMPLETE");
    daemon
}

/// The last event that changed anything: a mark, which only says that all before it is on disk,
/// reaches no page.
pub fn last_seq(sandbox: &Sandbox) -> u64 {
    let log = sandbox.log();
    let mut latest = log.iter().rev();
    latest.find(|event| event.kind != "mark").unwrap().seq
}
