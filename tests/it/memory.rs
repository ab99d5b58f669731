//! The memory that agents share, through the command line: every verb with a daemon and without.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Ran, Sandbox};

fn memory(sandbox: &Sandbox, args: &[&str]) -> Ran {
    sandbox.swarm(&[&["memory"], args].concat())
}

fn memory_json(sandbox: &Sandbox, args: &[&str]) -> Value {
    memory(sandbox, &[args, &["--json"]].concat()).json()
}

fn keys(value: &Value) -> BTreeSet<&str> {
    let object = value.as_object().unwrap_or_else(|| panic!("{value}"));
    object.keys().map(String::as_str).collect()
}

/// The error of a refused command with `--json`.
fn error(ran: &Ran) -> Value {
    assert_eq!(ran.code, 1, "{ran}");
    let document: Value = serde_json::from_str(&ran.stderr).unwrap();
    document["error"].clone()
}

const FACT: [&str; 12] = [
    "key",
    "version",
    "value",
    "status",
    "pinned",
    "aged",
    "confidence",
    "claims",
    "evidence",
    "evidenceCount",
    "at",
    "by",
];

#[test]
fn every_verb_works_with_a_daemon_and_without() {
    for with_daemon in [false, true] {
        let sandbox = Sandbox::ready();
        let daemon = with_daemon.then(|| sandbox.start());
        write_facts(&sandbox);
        contradict_and_settle(&sandbox);
        learn_and_retract(&sandbox);
        use_scratch(&sandbox);
        if let Some(daemon) = daemon {
            daemon.stop();
        }
        sandbox.assert_log_sound();
    }
}

fn write_facts(sandbox: &Sandbox) {
    memory(sandbox, &["board"]).ok();
    let put = memory_json(
        sandbox,
        &["put", "api.port", "8080", "--path", "src/api.rs"],
    );
    assert_eq!(
        keys(&put),
        BTreeSet::from(["key", "version", "seq", "similar"])
    );
    let first = put["seq"].to_string();
    let cas = [
        "cas",
        "api.port",
        "1",
        "9090",
        "--evidence",
        &first,
        "--why",
        "it moved",
    ];
    assert_eq!(memory_json(sandbox, &cas)["version"], 2);
    let fact = memory_json(sandbox, &["get", "api.port"]);
    let mut expected = BTreeSet::from(FACT);
    expected.extend(["why", "history", "historyCount"]);
    assert_eq!(keys(&fact), expected);
    assert_eq!(fact["evidence"][0]["refs"], json!([put["seq"]]));
    assert_eq!(fact["by"], json!({"kind": "person"}));
    let then = memory_json(sandbox, &["get", "api.port", "--at", &first]);
    assert_eq!(
        (&then["value"], &then["version"]),
        (&json!("8080"), &json!(1))
    );
    let written = fact["history"][0]["at"].as_str().unwrap();
    let then = memory_json(sandbox, &["get", "api.port", "--at", written]);
    assert_eq!(then["value"], "8080");
    let shown = memory(sandbox, &["get", "api.port"]);
    for words in [
        "api.port  version 2  active",
        "9090",
        "it moved",
        "Before",
        "v1  8080",
    ] {
        assert!(shown.ok().contains(words), "{words}: {shown}");
    }
    let history = memory(sandbox, &["history", "api.port"]);
    assert_eq!(history.ok().lines().count(), 3, "{history}");
    memory(sandbox, &["get", "api.prot"])
        .refused(1, &["did you mean this: swarm memory get api.port"]);
    memory(sandbox, &["get", "API"]).refused(2, &["not a valid key"]);
    let unknown = error(&memory(sandbox, &["get", "nothing.like.it", "--json"]));
    assert_eq!(unknown["code"], "FACT_UNKNOWN");
    memory(sandbox, &["get", "api.port", "--at", "99999"]).refused(1, &["there is no event 99999"]);
}

fn contradict_and_settle(sandbox: &Sandbox) {
    memory(sandbox, &["confirm", "api.port"]).ok();
    memory(sandbox, &["confirm", "api.port", "1"]).refused(1, &["is at version 2, not 1", "9090"]);
    let disputed = memory_json(sandbox, &["dispute", "api.port", "It is 7070"]);
    assert_eq!(disputed["status"], "contradicted");
    memory(sandbox, &["dispute", "api.port", "3"]).ok();
    memory(sandbox, &["dispute", "api.port", "x", "y"]).refused(2, &["must be a number"]);
    let board = memory_json(sandbox, &["board"]);
    assert_eq!(
        keys(&board[0]).intersection(&BTreeSet::from(FACT)).count(),
        FACT.len()
    );
    assert_eq!(board[0]["claims"][0]["value"], "It is 7070");
    assert_eq!(board[0]["claims"][1]["value"], Value::Null);
    let shown = memory(sandbox, &["board"]);
    assert!(
        shown
            .ok()
            .contains("! api.port: \"9090\" (a person) | \"It is 7070\""),
        "{shown}"
    );
    assert_eq!(
        memory_json(sandbox, &["resolve", "api.port", "It is 7070"])["version"],
        5
    );
    memory(sandbox, &["pin", "api.port"]).ok();
    assert_eq!(memory_json(sandbox, &["get", "api.port"])["pinned"], true);
    memory(sandbox, &["unpin", "api.port"]).ok();
    memory(sandbox, &["pin", "no.such"]).refused(1, &["there is no fact `no.such`"]);
}

fn learn_and_retract(sandbox: &Sandbox) {
    let learned = memory(sandbox, &["learn", "The tests need Redis on port 6379"]);
    assert_eq!(learned.ok(), "learning-001\n");
    let other = memory_json(
        sandbox,
        &["learn", "Redis must listen on 6379 for the tests"],
    );
    assert_eq!(other["similar"][0]["ref"], "learning-001");
    let same = [
        "learn",
        "Start Redis before the tests",
        "--same-as",
        "learning-001",
    ];
    assert_eq!(memory_json(sandbox, &same)["known"], true);
    let claim = memory_json(sandbox, &["learn", "[db.url] DB_URL is required"]);
    assert_eq!(claim["fact"]["effect"], "wrote");
    let found = memory_json(sandbox, &["search", "redis"]);
    assert_eq!(found["hits"][0]["status"], "active");
    assert_eq!(found["leftOut"], 0);
    let retract = ["retract", "learning-001", "--why", "there is no Redis"];
    assert_eq!(
        memory_json(sandbox, &retract)["retracted"],
        json!(["learning-001"])
    );
    memory(sandbox, &["retract", "db.url"]).ok();
    memory(sandbox, &["retract", "learning-099"]).refused(1, &["there is no learning"]);
    memory(sandbox, &["retract"]).refused(2, &["REF"]);
    let all = memory_json(sandbox, &["search", "redis", "--all"]);
    assert_eq!(all["hits"].as_array().unwrap().len(), 2, "{all}");
    let learnings = memory_json(sandbox, &["learnings"]);
    let retracted = learnings
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["retracted"] == true);
    assert_eq!(retracted.count(), 1);
    let log = memory(sandbox, &["log", "--kind", "memoryRetracted", "--json"]);
    assert_eq!(log.ok().lines().count(), 2, "{log}");
    let newest = memory(sandbox, &["log", "-n", "1"]);
    assert!(newest.ok().contains("db.url"), "{newest}");
    let whole = memory(sandbox, &["log", "--json"]);
    let events = sandbox.swarm(&["events", "--json"]);
    let events: BTreeSet<&str> = events.ok().lines().collect();
    assert!(whole.ok().lines().count() > 10, "{whole}");
    assert!(
        whole.ok().lines().all(|line| events.contains(line)),
        "{whole}"
    );
    memory(sandbox, &["log", "--agent", "ed-099"]).refused(1, &["there is no agent"]);
    memory(sandbox, &["shown", "ed-099"]).refused(1, &["there is no agent"]);
}

fn use_scratch(sandbox: &Sandbox) {
    let scratch = |args: &[&str]| sandbox.swarm(&[&["scratch"], args].concat());
    let put = sandbox.swarm_fed(
        &[
            "scratch",
            "put",
            "tasks/auth.md",
            "-",
            "--title",
            "Auth",
            "--json",
        ],
        b"one\ntwo\n",
    );
    let put = put.json();
    assert_eq!(keys(&put), BTreeSet::from(["key", "version", "expiresAt"]));
    assert_eq!(scratch(&["get", "tasks/auth.md"]).ok(), "one\ntwo\n");
    let stale = error(&scratch(&["cas", "tasks/auth.md", "1", "x", "--json"]));
    assert_eq!(
        (&stale["code"], &stale["current"]["version"]),
        (&json!("NOTE_CONFLICT"), &put["version"])
    );
    let version = put["version"].to_string();
    let kept = scratch(&[
        "cas",
        "tasks/auth.md",
        &version,
        "three",
        "--keep",
        "--json",
    ])
    .json();
    assert_eq!(kept["expiresAt"], Value::Null);
    let list = scratch(&["list", "tasks/", "--json"]).json();
    assert_eq!(
        (&list[0]["title"], &list[0]["version"]),
        (&json!("Auth"), &kept["version"])
    );
    assert!(scratch(&["list"]).ok().contains("kept"));
    scratch(&["drop", "tasks/auth.md"]).ok();
    scratch(&["drop", "tasks/auth.md"]).refused(1, &["there is no note"]);
    assert_eq!(scratch(&["list", "--json"]).json(), json!([]));
}

#[test]
fn following_the_log_needs_a_daemon() {
    let sandbox = Sandbox::ready();
    memory(&sandbox, &["log", "-f"]).refused(3, &["no daemon is running"]);
    memory(&sandbox, &["put", "a.b", "before"]).ok();
    let daemon = sandbox.start();
    let shown = sandbox.path("followed");
    let mut follower = sandbox.swarm_command(&["memory", "log", "-f", "--json"]);
    follower.stdout(std::fs::File::create(&shown).unwrap());
    let mut follower = follower.spawn().unwrap();
    let values = || -> Vec<String> {
        let text = std::fs::read_to_string(&shown).unwrap();
        let whole = text
            .lines()
            .filter_map(|it| serde_json::from_str::<Value>(it).ok());
        let value = |it: Value| it["data"]["value"].as_str().unwrap().to_owned();
        whole.map(value).collect()
    };
    sandbox.wait_for("what is there", || (values() == ["before"]).then_some(()));
    memory(&sandbox, &["put", "a.b", "after"]).ok();
    sandbox.wait_for("what is new", || {
        (values() == ["before", "after"]).then_some(())
    });
    sandbox.swarm(&["stop"]).ok();
    daemon.wait_exit(PATIENCE);
    assert!(follower.wait().unwrap().success());
}

#[test]
fn of_writers_who_saw_the_same_version_exactly_one_wins() {
    let sandbox = Sandbox::ready();
    for with_daemon in [false, true] {
        let daemon = with_daemon.then(|| sandbox.start());
        let key = if with_daemon {
            "with.daemon"
        } else {
            "without.daemon"
        };
        memory(&sandbox, &["cas", key, "0", "begin"]).ok();
        let ran: Vec<Ran> = std::thread::scope(|scope| {
            let write = |value: String| {
                let sandbox = &sandbox;
                scope.spawn(move || memory(sandbox, &["cas", key, "1", &value, "--json"]))
            };
            let writers: Vec<_> = (0..8).map(|it| write(format!("value {it}"))).collect();
            writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect()
        });
        let (won, lost): (Vec<&Ran>, Vec<&Ran>) = ran.iter().partition(|ran| ran.code == 0);
        assert_eq!(won.len(), 1, "{ran:?}");
        let fact = memory_json(&sandbox, &["get", key]);
        assert_eq!(fact["version"], 2);
        for ran in lost {
            let error = error(ran);
            assert_eq!(error["code"], "FACT_CONFLICT", "{ran}");
            assert_eq!(error["current"]["value"], fact["value"]);
            assert_eq!(error["current"]["version"], 2);
        }
        if let Some(daemon) = daemon {
            daemon.stop();
        }
    }
    sandbox.assert_log_sound();
}

#[test]
fn a_kill_after_the_answer_loses_nothing() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    memory(&sandbox, &["put", "a.b", "one"]).ok();
    memory(&sandbox, &["dispute", "a.b", "two"]).ok();
    memory(&sandbox, &["learn", "A sentence"]).ok();
    let put = sandbox
        .swarm(&["scratch", "put", "n", "text", "--json"])
        .json();
    let before = (
        memory_json(&sandbox, &["get", "a.b"]),
        memory_json(&sandbox, &["learnings"]),
    );
    daemon.kill();
    let after = || {
        (
            memory_json(&sandbox, &["get", "a.b"]),
            memory_json(&sandbox, &["learnings"]),
        )
    };
    assert_eq!(after(), before);
    let daemon = sandbox.start();
    assert_eq!(after(), before);
    let note = sandbox.swarm(&["scratch", "get", "n", "--json"]).json();
    assert_eq!(note["version"], put["version"]);
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn a_fact_is_aged_when_its_file_has_changed_on_the_target() {
    let sandbox = Sandbox::ready();
    let land = |content: &str| {
        sandbox.idea(&format!("write api.rs {content}; commit; say COMPLETE"));
        assert_eq!(sandbox.run_until_idle(), 0);
    };
    land("8080");
    memory(&sandbox, &["put", "api.port", "8080", "--path", "api.rs"]).ok();
    let seen = || {
        let fact = memory_json(&sandbox, &["get", "api.port"]);
        (fact["aged"].clone(), fact["confidence"].clone())
    };
    assert_eq!(seen(), (json!([]), json!(1.0)));
    land("9090");
    assert_eq!(seen(), (json!(["api.rs"]), json!(0.5)));
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    assert_eq!(seen(), (json!(["api.rs"]), json!(0.5)));
    daemon.stop();
}

#[test]
fn hostile_text_cannot_leave_its_line() {
    let sandbox = Sandbox::ready();
    let text = "evil \u{1b}[2J\nerror: forged \u{202e}txet";
    memory(&sandbox, &["put", "evil.fact", text]).ok();
    memory(&sandbox, &["dispute", "evil.fact", text]).refused(1, &["says the same"]);
    memory(&sandbox, &["dispute", "evil.fact", "another"]).ok();
    sandbox
        .swarm(&["scratch", "put", "n", text, "--title", text])
        .ok();
    for line in [
        "memory board",
        "memory get evil.fact",
        "memory history evil.fact",
        "memory search evil",
        "memory log",
        "scratch list",
        "scratch get n",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = sandbox.swarm(&words);
        let all = ran.ok();
        assert!(!all.contains(['\u{1b}', '\u{202e}']), "{ran}");
        let is_forged = |line: &str| line.starts_with("error:");
        assert!(
            line == "scratch get n" || !all.lines().any(is_forged),
            "{ran}"
        );
    }
}

/// A fact, and learnings of which the first ones are old.
fn learn_much(sandbox: &Sandbox, count: usize) {
    memory(sandbox, &["learn", "[api.port] The API listens on 8080"]).ok();
    for number in 2..=count {
        memory(sandbox, &["learn", &format!("sentence {number}")]).ok();
    }
}

#[test]
fn what_a_compaction_drops_is_still_found_with_a_daemon_and_without() {
    for with_daemon in [false, true] {
        let sandbox = Sandbox::ready();
        sandbox.configure(&json!({"memory": {"window": 16}}));
        let daemon = with_daemon.then(|| sandbox.start());
        learn_much(&sandbox, 20);
        compact(&sandbox);
        reach_what_went(&sandbox);
        if let Some(daemon) = daemon {
            daemon.stop();
        }
        sandbox.swarm(&["replay", "--verify"]).ok();
        sandbox.assert_log_sound();
    }
}

fn compact(sandbox: &Sandbox) {
    let compacted = memory_json(sandbox, &["compact"]);
    assert_eq!(
        keys(&compacted),
        BTreeSet::from(["learnings", "history", "events", "seq"])
    );
    assert_eq!(
        (&compacted["learnings"], &compacted["history"]),
        (&json!(3), &json!(0))
    );
    let seq = compacted["events"][0].as_u64().unwrap();
    let page = sandbox.dot_swarm(&format!("state/memory/summary-{seq}.md"));
    sandbox.wait_for("the summary", || page.exists().then_some(()));
    let page = std::fs::read_to_string(page).unwrap();
    for words in [
        "a person compacted the memory at ",
        "3 learnings left",
        "a person: 3\n",
        "learning-002: sentence 2 (a person, event ",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let again = memory(sandbox, &["compact"]);
    let words = "there is nothing old to drop";
    assert!(again.to_string().contains(words), "{again}");
    assert_eq!(memory_json(sandbox, &["compact"])["events"], json!([]));
    let log = memory(sandbox, &["log", "--kind", "memoryCompacted", "--json"]);
    assert_eq!(log.ok().lines().count(), 1, "{log}");
}

fn reach_what_went(sandbox: &Sandbox) {
    let references = |found: &Value| -> Vec<String> {
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["ref"].as_str().unwrap().to_owned())
            .collect()
    };
    let found = memory_json(sandbox, &["search", "sentence 3"]);
    assert!(
        !references(&found).contains(&"learning-003".to_owned()),
        "{found}"
    );
    let found = memory_json(sandbox, &["search", "--all", "sentence 3"]);
    assert_eq!(references(&found)[0], "learning-003");
    assert_eq!(found["hits"][0]["compacted"], true);
    let shown = memory(sandbox, &["search", "--all", "sentence 3"]);
    let line = "[learning-003] sentence 3  (only in the event log)";
    assert!(shown.ok().contains(line), "{shown}");
    for args in [
        &["get", "learning-003"][..],
        &["retract", "learning-003"],
        &["learn", "another", "--same-as", "learning-003"],
        &["learn", "another", "--evidence", "learning-003"],
    ] {
        let ran = memory(sandbox, &[args, &["--json"]].concat());
        assert_eq!(error(&ran)["code"], "LEARNING_COMPACTED", "{ran}");
        memory(sandbox, args).refused(1, &["was compacted", "swarm memory search --all"]);
    }
    // The learning that supports a fact is still there, and no id comes again.
    let left = memory_json(sandbox, &["learnings"]);
    assert_eq!(left[0]["key"], "api.port");
    let again = memory(sandbox, &["learn", "sentence 3"]);
    assert_eq!(again.ok(), "learning-021\n");
}

#[test]
fn a_daemon_compacts_at_twice_the_window_and_prompts_do_not_show_what_went() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"memory": {"window": 16}}));
    memory(&sandbox, &["learn", "the door is green"]).ok();
    let daemon = sandbox.start();
    for number in 2..=32 {
        memory(&sandbox, &["learn", &format!("the door has lock {number}")]).ok();
    }
    let idea = sandbox.idea("write a.txt x; say COMPLETE # the door is green");
    sandbox.wait_idea(&idea, "done");
    daemon.stop();
    let compacted = sandbox.logged("memoryCompacted");
    assert_eq!(compacted.len(), 1, "{compacted:?}");
    let data = &compacted[0].data;
    assert_eq!(data["learnings"], json!([{"first": 1, "last": 16}]));
    assert_eq!(data["by"], Value::Null);
    let shown = sandbox.logged("memoryShown");
    let items = shown[0].data["items"].as_array().unwrap();
    assert!(!items.is_empty());
    let old = |item: &Value| item["ref"].as_str().unwrap() <= "learning-016";
    assert!(!items.iter().any(old), "{items:?}");
}
