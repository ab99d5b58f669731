//! A model makes facts of learnings: a run of its own, held to the evidence that it names.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Sandbox;

/// The profile that makes facts.
const PROFILE: &str = "sage";

/// Writes the program of that profile; a line in `syntheses` for each run.
pub fn script(sandbox: &Sandbox, doing: &str) {
    let script = format!("echo \"$SWARM_RUN_ID\" >>\"$OUT/syntheses\"\n{doing}\n");
    fs::write(sandbox.path("sage.sh"), script).unwrap();
}

/// It runs after so many new learnings.
pub fn configure(sandbox: &Sandbox, every: u32) {
    sandbox.configure(&json!({
        "agents": {"profiles": {PROFILE: sandbox.profile("sage.sh")}},
        "memory": {"synthesis": {"profile": PROFILE, "every": every}},
    }));
}

fn learn(sandbox: &Sandbox, sentences: &[&str]) {
    for sentence in sentences {
        sandbox.swarm(&["memory", "learn", sentence]).ok();
    }
}

/// Waits until so many syntheses are over.
fn wait_over(sandbox: &Sandbox, count: usize) {
    sandbox.wait_for(&format!("{count} syntheses to be over"), || {
        (sandbox.logged("synthesised").len() >= count).then_some(())
    });
}

/// The prompt and the folder of a run.
fn run_folder(sandbox: &Sandbox, at: usize) -> std::path::PathBuf {
    let run = &sandbox.notes("syntheses")[at];
    sandbox.private("runs").join(run)
}

fn fact(sandbox: &Sandbox, key: &str) -> Value {
    sandbox.swarm(&["memory", "get", key, "--json"]).json()
}

/// Words of a shell.
fn quoted(words: &[&str]) -> String {
    let quote = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[test]
fn it_makes_a_fact_of_what_several_agents_said() {
    let sandbox = Sandbox::ready();
    script(
        &sandbox,
        "git rev-parse --show-toplevel >>\"$OUT/git\" 2>&1; ls -a >\"$OUT/there\"; \"$SWARM_BIN\" \
        memory cas api.port 0 'The API listens on 8080' --evidence learning-001 --evidence \
        learning-002",
    );
    configure(&sandbox, 2);
    let daemon = sandbox.start();
    for sentence in ["the port is 8080", "8080 is the port of the API"] {
        let id = sandbox.idea(&format!(
            "say 'LEARNING_GLOBAL:{sentence}'; write $SWARM_IDEA_ID.txt x; say COMPLETE"
        ));
        sandbox.wait_idea(&id, "done");
    }
    wait_over(&sandbox, 1);
    daemon.stop();
    let fact = fact(&sandbox, "api.port");
    assert_eq!(fact["value"], "The API listens on 8080");
    assert_eq!(fact["by"]["kind"], "synthesis");
    // Two ideas that landed say so: 1 - 0.5 * 0.5.
    assert_eq!(fact["confidence"], 0.75);
    let folder = run_folder(&sandbox, 0);
    let prompt = fs::read_to_string(folder.join("prompt.md")).unwrap();
    for line in [
        "- learning-001: the port is 8080",
        "- learning-002: 8080 is the port of the API",
        "There are none yet.",
    ] {
        assert!(prompt.lines().any(|it| it == line), "{line}: {prompt}");
    }
    let there = fs::read_to_string(sandbox.path("out/there")).unwrap();
    assert_eq!(there.split_whitespace().collect::<Vec<_>>(), [".", ".."]);
    let git = sandbox.notes("git").join("\n");
    assert!(git.contains("not a git repository"), "{git}");
    sandbox.assert_log_sound();
}

#[test]
fn it_waits_for_the_next_learnings_after_a_failure_and_while_the_swarm_is_paused() {
    let sandbox = Sandbox::ready();
    script(&sandbox, "echo 'no such model' >&2; [ -e \"$OUT/well\" ]");
    configure(&sandbox, 2);
    learn(&sandbox, &["one", "two"]);
    let daemon = sandbox.start();
    wait_over(&sandbox, 1);
    let warnings = sandbox.warnings();
    let warning = warnings[0]["message"].as_str().unwrap();
    assert!(warning.contains("exit code 1: no such model"), "{warning}");
    fs::write(sandbox.path("out/well"), "").unwrap();
    sandbox.swarm(&["pause"]).ok();
    learn(&sandbox, &["three", "four"]);
    sandbox
        .swarm(&["memory", "synthesize"])
        .refused(1, &["the swarm is paused", "swarm resume"]);
    assert_eq!(sandbox.notes("syntheses").len(), 1);
    sandbox.swarm(&["resume"]).ok();
    wait_over(&sandbox, 2);
    assert!(sandbox.warnings().is_empty());
    daemon.stop();
    let prompt = fs::read_to_string(run_folder(&sandbox, 1).join("prompt.md")).unwrap();
    assert!(prompt.contains("learning-003: three"), "{prompt}");
    // Nothing that the failed run was to read is lost.
    assert!(prompt.contains("learning-002: two"), "{prompt}");
}

#[test]
fn a_person_starts_it_and_sees_what_it_would_read() {
    let sandbox = Sandbox::ready();
    script(&sandbox, "while [ ! -e \"$OUT/go\" ]; do sleep 0.05; done");
    sandbox.configure(&json!({
        "agents": {"profiles": {PROFILE: sandbox.profile("sage.sh")}},
    }));
    let dry = |sandbox: &Sandbox| sandbox.swarm(&["memory", "synthesize", "--dry-run", "--json"]);
    assert_eq!(dry(&sandbox).json(), json!({"groups": [], "left": 0}));
    learn(
        &sandbox,
        &["the port is 8080", "tests need redis", "is 8080 the port?"],
    );
    let groups = dry(&sandbox).json();
    let names = |group: &Value| -> Vec<String> {
        let learnings = group["learnings"].as_array().unwrap().iter();
        let name = |it: &Value| it["ref"].as_str().unwrap().to_owned();
        learnings.map(name).collect()
    };
    assert_eq!(
        names(&groups["groups"][0]),
        ["learning-001", "learning-003"]
    );
    assert_eq!(names(&groups["groups"][1]), ["learning-002"]);
    let shown = sandbox.swarm(&["memory", "synthesize", "--dry-run"]);
    let lines: Vec<&str> = shown.ok().lines().collect();
    assert_eq!(lines[0], "[learning-001] the port is 8080");
    sandbox
        .swarm(&["memory", "synthesize", "--profile", PROFILE])
        .refused(3, &["no daemon is running"]);
    let daemon = sandbox.start();
    assert_eq!(dry(&sandbox).json(), groups);
    sandbox
        .swarm(&["memory", "synthesize"])
        .refused(1, &["memory.synthesis.profile is not set", "--profile"]);
    sandbox
        .swarm(&["memory", "synthesize", "--profile", "nobody"])
        .refused(1, &["there is no agent profile `nobody`"]);
    let begun = sandbox.swarm(&["memory", "synthesize", "--profile", PROFILE, "--json"]);
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.status()["synthesis"], json!(run));
    let status = sandbox.swarm(&["status"]);
    assert!(
        status
            .ok()
            .contains(&format!("making facts of new learnings: run {run}"))
    );
    sandbox
        .swarm(&["memory", "synthesize", "--profile", PROFILE])
        .refused(1, &["is under way"]);
    fs::write(sandbox.path("out/go"), "").unwrap();
    wait_over(&sandbox, 1);
    assert_eq!(dry(&sandbox).json(), json!({"groups": [], "left": 0}));
    daemon.stop();
    assert_eq!(sandbox.notes("syntheses"), [run]);
}

/// What the stub is told by agents and people.
const HEARD: [&str; 5] = [
    "the API listens on port 8080, see src/api.rs",
    "set DB_URL before `cargo test --locked`",
    "builds take 1.5 minutes",
    "the call memoryShown comes first",
    "a tempting guess about port 9090",
];

/// Writes that say what their evidence says.
const GOOD: [&[&str]; 10] = [
    &[
        "cas",
        "api.port",
        "0",
        "The API listens on 8080",
        "--evidence",
        "learning-001",
    ],
    &[
        "cas",
        "api.code",
        "0",
        "It is in `src/api.rs`",
        "--evidence",
        "learning-001",
        "--path",
        "src/api.rs",
    ],
    &[
        "cas",
        "tests.db",
        "0",
        "Tests need DB_URL",
        "--evidence",
        "learning-002",
    ],
    &[
        "cas",
        "tests.run",
        "0",
        "Run `cargo test --locked` after DB_URL",
        "--evidence",
        "learning-002",
    ],
    &[
        "cas",
        "build.time",
        "0",
        "A build takes 1.5 min",
        "--evidence",
        "learning-003",
    ],
    &[
        "cas",
        "calls",
        "0",
        "First comes memoryShown",
        "--evidence",
        "learning-004",
        "--why",
        "learning-004 says so",
    ],
    &[
        "cas",
        "all",
        "0",
        "8080 and DB_URL",
        "--evidence",
        "learning-001",
        "--evidence",
        "learning-002",
    ],
    &["confirm", "api.port", "1", "--evidence", "learning-001"],
    &[
        "dispute",
        "api.port",
        "1",
        "It is not always on 8080",
        "--evidence",
        "learning-001",
    ],
    &[
        "learn",
        "[api.src] look at src/api.rs",
        "--evidence",
        "learning-001",
    ],
];

/// Writes that say more, or that the synthesis may not make.
const HOSTILE: [&[&str]; 20] = [
    &[
        "cas",
        "h-a",
        "0",
        "The API listens on 9090",
        "--evidence",
        "learning-001",
    ],
    &[
        "cas",
        "h-b",
        "0",
        "The API listens on 80",
        "--evidence",
        "learning-001",
    ],
    &["cas", "h-c", "0", "Tests are slow"],
    &[
        "cas",
        "h-d",
        "0",
        "See src/evil.rs",
        "--evidence",
        "learning-001",
    ],
    &[
        "cas",
        "h-e",
        "0",
        "Set API_TOKEN",
        "--evidence",
        "learning-002",
    ],
    &[
        "cas",
        "h-f",
        "0",
        "Run `rm -rf build` first",
        "--evidence",
        "learning-002",
    ],
    &[
        "cas",
        "h-g",
        "0",
        "Port 80\u{200b}81",
        "--evidence",
        "learning-001",
    ],
    &[
        "cas",
        "h-h",
        "0",
        "Port \u{ff19}\u{ff10}\u{ff19}\u{ff10}",
        "--evidence",
        "learning-001",
    ],
    &[
        "cas",
        "h-i",
        "0",
        "Builds take 5 minutes",
        "--evidence",
        "learning-003",
    ],
    &[
        "cas",
        "h-j",
        "0",
        "memoryHidden comes first",
        "--evidence",
        "learning-004",
    ],
    &[
        "cas",
        "h-k",
        "0",
        "Port 9090 is used",
        "--evidence",
        "learning-005",
    ],
    &[
        "cas",
        "h-l",
        "0",
        "Port 8080 is used",
        "--evidence",
        "learning-099",
    ],
    &["cas", "h-m", "0", "Port 8080 is used", "--evidence", "1"],
    &[
        "cas",
        "h-n.9090",
        "0",
        "Port 8080 is used",
        "--evidence",
        "learning-001",
    ],
    &[
        "cas",
        "h-o",
        "0",
        "Port 8080 is used",
        "--evidence",
        "learning-001",
        "--path",
        "src/evil.rs",
    ],
    &[
        "cas",
        "h-p",
        "0",
        "Port 8080 is used",
        "--evidence",
        "learning-001",
        "--why",
        "9090 is too",
    ],
    &[
        "put",
        "h-q",
        "Port 8080 is used",
        "--evidence",
        "learning-001",
    ],
    &["pin", "old"],
    &["retract", "old"],
    &["confirm", "old", "1", "--evidence", "learning-001"],
];

#[test]
fn of_twenty_hostile_writes_none_is_accepted_and_of_ten_good_ones_all() {
    let sandbox = Sandbox::ready();
    let line = |words: &&[&str]| format!("try {}", quoted(words));
    let all: Vec<String> = HOSTILE.iter().chain(&GOOD).map(line).collect();
    let doing = format!(
        "try() {{ if \"$SWARM_BIN\" memory \"$@\" >>\"$OUT/said\" 2>&1; then how=yes; else \
        how=no; fi; echo \"$how $*\" >>\"$OUT/tried\"; }}\n{}\n\"$SWARM_BIN\" scratch put plan.md \
        9090 && echo yes scratch >>\"$OUT/tried\"\ntrue",
        all.join("\n")
    );
    script(&sandbox, &doing);
    configure(&sandbox, 1_000);
    learn(&sandbox, &HEARD);
    sandbox.swarm(&["memory", "retract", "learning-005"]).ok();
    sandbox.swarm(&["memory", "put", "old", "It is 7070"]).ok();
    let daemon = sandbox.start();
    sandbox.swarm(&["memory", "synthesize"]).ok();
    wait_over(&sandbox, 1);
    daemon.stop();
    let tried = sandbox.notes("tried");
    let said = fs::read_to_string(sandbox.path("out/said")).unwrap();
    let (hostile, good) = tried.split_at(HOSTILE.len());
    assert!(
        hostile.iter().all(|it| it.starts_with("no ")),
        "{hostile:#?}\n{said}"
    );
    assert_eq!(good.len(), GOOD.len(), "{good:#?}");
    assert!(
        good.iter().all(|it| it.starts_with("yes ")),
        "{good:#?}\n{said}"
    );
    assert_eq!(fact(&sandbox, "old")["version"], 1);
    let board = sandbox
        .swarm(&["memory", "board", "--all", "--json"])
        .json();
    let keys: Vec<&str> = board
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["key"].as_str().unwrap())
        .collect();
    assert!(keys.iter().all(|key| !key.starts_with('h')), "{keys:?}");
    sandbox.assert_log_sound();
}

#[test]
fn a_synthesis_outlives_its_daemon_and_is_not_repeated() {
    let sandbox = Sandbox::ready();
    script(
        &sandbox,
        ": >\"$OUT/here\"; while [ ! -e \"$OUT/go\" ]; do sleep 0.05; done; \"$SWARM_BIN\" memory \
        cas api.port 0 'It is 8080' --evidence learning-001",
    );
    configure(&sandbox, 1);
    let daemon = sandbox.start();
    learn(&sandbox, &["the port is 8080"]);
    let here = sandbox.path("out/here");
    sandbox.wait_for("the synthesis to run", || here.exists().then_some(()));
    daemon.kill();
    let daemon = sandbox.start();
    fs::write(sandbox.path("out/go"), "").unwrap();
    wait_over(&sandbox, 1);
    daemon.stop();
    assert_eq!(sandbox.notes("syntheses").len(), 1);
    assert_eq!(fact(&sandbox, "api.port")["by"]["kind"], "synthesis");
}

#[test]
fn a_profile_that_does_not_exist_is_an_error_of_the_configuration() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"memory": {"synthesis": {"profile": "nobody"}}}));
    sandbox
        .swarm(&["config", "check"])
        .refused(1, &["memory.synthesis.profile", "nobody"]);
}
