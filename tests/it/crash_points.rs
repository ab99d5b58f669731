//! kill -9 at every labelled point of the program: restarted, it has every acknowledged event,
//! lands every idea once, runs no agent twice and loses none.
//!
//! First each scenario runs undisturbed and notes which points it visits, and how often in one
//! process; then, for each point, as often as `SWARM_POINTS_ROUNDS` says (3, or 2 where
//! `SWARM_TURN` counts commits; the long run takes 200), a scenario that visits it runs again in a
//! new repository and is killed there, and in every third round the start that follows is killed
//! at a point too. `SWARM_POINTS_ONLY` limits it to labels that have a part of its list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use swarm::crash;

use crate::agent_imports;
use crate::carried_conversations;
use crate::doctor::{assert_repaired, damaged};
use crate::harness::{PATIENCE, Sandbox};
use crate::hooks::{RECORDER, hook};
use crate::kill_and_restart::Dice;
use crate::merging::{force_pushed, rewrite};
use crate::moves::{ARCHIVE, goes_on, importable};
use crate::submodules;
use crate::synthesis::{configure, script};

/// At a time; they wait for disks and children most of the time.
const THREADS: usize = 4;

/// A story with one process in it that can be killed.
struct Scenario {
    name: &'static str,
    /// What lies there before.
    prepare: fn() -> Sandbox,
    /// The process to kill.
    act: fn(&Sandbox) -> Command,
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "landing",
        prepare: landing,
        act: start,
    },
    Scenario {
        name: "cold worktrees",
        prepare: cold,
        act: start,
    },
    Scenario {
        name: "adding without a daemon",
        prepare: Sandbox::ready,
        act: add,
    },
    Scenario {
        name: "checking the target",
        prepare: checked_first,
        act: start,
    },
    Scenario {
        name: "probing the checks",
        prepare: probed_first,
        act: start,
    },
    Scenario {
        name: "judging a failed check",
        prepare: in_doubt,
        act: start,
    },
    Scenario {
        name: "setting up",
        prepare: set_up_first,
        act: start,
    },
    Scenario {
        name: "conflict",
        prepare: conflict,
        act: start,
    },
    Scenario {
        name: "lending",
        prepare: lending,
        act: start,
    },
    Scenario {
        name: "taking over",
        prepare: taking_over,
        act: start,
    },
    Scenario {
        name: "rotation and inbox",
        prepare: inbox,
        act: start_with_small_segments,
    },
    Scenario {
        name: "torn tail",
        prepare: torn,
        act: start,
    },
    Scenario {
        name: "stopped agent",
        prepare: stopped,
        act: start,
    },
    Scenario {
        name: "rewritten target",
        prepare: rewritten,
        act: start,
    },
    Scenario {
        name: HOOKED,
        prepare: hooked,
        act: start,
    },
    Scenario {
        name: "detached head",
        prepare: detached,
        act: start,
    },
    Scenario {
        name: "work in submodules",
        prepare: in_submodules,
        act: start,
    },
    Scenario {
        name: "cleaning",
        prepare: given_up,
        act: clean,
    },
    Scenario {
        name: ROLLING_BACK,
        prepare: rolling_back,
        act: start,
    },
    Scenario {
        name: REDIRECTING,
        prepare: redirecting,
        act: start,
    },
    Scenario {
        name: SYNTHESISING,
        prepare: synthesising,
        act: start,
    },
    Scenario {
        name: REPLAYING,
        prepare: replaying,
        act: start,
    },
    Scenario {
        name: "checkpoint without a daemon",
        prepare: some_work_lies_there,
        act: checkpoint,
    },
    Scenario {
        name: COMPACTING,
        prepare: much_was_learned,
        act: start,
    },
    Scenario {
        name: COMPACTING_OFFLINE,
        prepare: something_was_learned,
        act: compact,
    },
    Scenario {
        name: "importing an agent without a daemon",
        prepare: an_agent_was_exported,
        act: import_agent,
    },
    Scenario {
        name: "importing an agent with its conversation",
        prepare: a_packed_agent_was_exported,
        act: import_packed_agent,
    },
    Scenario {
        name: "going on with an imported conversation",
        prepare: a_conversation_was_imported,
        act: start,
    },
    Scenario {
        name: "exporting",
        prepare: something_was_learned,
        act: export,
    },
    Scenario {
        name: REPAIRING,
        prepare: damaged,
        act: repair,
    },
    Scenario {
        name: IMPORTING,
        prepare: importable,
        act: import,
    },
];

/// A person's change is in its way, an agent works, and an older checkpoint is one too many.
const ROLLING_BACK: &str = "rolling back";

/// An agent has given its place away, and nothing has come of that yet.
const REDIRECTING: &str = "redirecting";

/// The state has twice as many learnings as the window.
const COMPACTING: &str = "compacting the memory";

/// A person asks for it.
const COMPACTING_OFFLINE: &str = "compacting without a daemon";

/// Two learnings are new, and a model makes a fact of them beside an idea.
const SYNTHESISING: &str = "synthesising";

/// A replay waits for its turn, and an idea after it.
const REPLAYING: &str = "replaying";

/// A hook that is killed has failed, and holds its step: that is no crash to be survived.
const HOOKED: &str = "hooks";

/// Until it is done nothing starts: it is done again before the start.
const REPAIRING: &str = "repairing";

/// The same command finishes it, and only then is there something to start.
const IMPORTING: &str = "importing";

fn start(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["start", "--until-idle"])
}

fn start_with_small_segments(sandbox: &Sandbox) -> Command {
    let mut command = start(sandbox);
    command.env("SWARM_SEGMENT_BYTES", "4096");
    command
}

const SIMPLE: &str = "DO: write $SWARM_IDEA_ID.txt x; say COMPLETE";

fn add(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["idea", "add", SIMPLE])
}

fn repair(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["doctor", "--fix", "--way", "cut", "--yes"])
}

fn import(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["snapshot", "import", ARCHIVE, "--yes"])
}

fn clean(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["clean"])
}

fn checkpoint(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["checkpoint", "create", "one", "--tag"])
}

fn compact(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["memory", "compact"])
}

fn export(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.swarm_command(&["snapshot", "export", "--at", "1"]);
    command.arg(sandbox.path("out/night.swarm.tar.zst"));
    command
}

fn roll_back(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["rollback", "mid", "--yes", "--resume"])
}

fn landing() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"qualityCommands": ["test ! -e bad.txt"]}));
    sandbox.idea(
        "write a.txt x; if iteration 1; then write bad.txt x; else rm -f bad.txt; fi; say COMPLETE",
    );
    sandbox.idea_with(
        "write b.txt x; commit; say COMPLETE",
        &["--after", "idea-001"],
    );
    sandbox
}

/// No worktree outlives the idea that it was made for.
fn cold() -> Sandbox {
    let sandbox = landing();
    sandbox.configure(&json!({
        "worktree": {"keepIgnored": false},
        "qualityCommands": ["test ! -e bad.txt"],
    }));
    // As in a clone: the start chooses the folder of the worktrees.
    fs::remove_file(sandbox.repo().join(".git/swarm/worktrees")).unwrap();
    sandbox
}

/// The target must pass before anything begins.
fn checked_first() -> Sandbox {
    let sandbox = landing();
    sandbox.configure(&json!({
        "checks": {"baseline": "require"},
        "qualityCommands": ["true", "test ! -e bad.txt"],
    }));
    sandbox
}

/// Nothing lands before the checks are known to see their tree.
fn probed_first() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lib/ok.sh", "exit 0\n");
    sandbox.commit("Source");
    sandbox.set_up();
    sandbox.configure(&json!({
        "checks": {"baseline": "require", "canary": "require"},
        "qualityCommands": ["sh lib/ok.sh"],
    }));
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox
}

/// A control, in a worktree with a setup of its own, has to say who is to blame.
fn in_doubt() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "checks": {"baseline": "require"},
        "worktree": {"setup": ["true"]},
        "qualityCommands": ["true", "test ! -e bad.txt"],
    }));
    sandbox.idea(
        "write a.txt x; if iteration 1; then write bad.txt x; else rm -f bad.txt; fi; say COMPLETE",
    );
    sandbox
}

/// Each tree needs a setup and a local file.
fn set_up_first() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/.env\n/ready.txt\n");
    sandbox.commit("Ignore");
    sandbox.set_up();
    sandbox.write(".env", "x\n");
    sandbox.configure(&json!({
        "worktree": {"setup": ["cp .env ready.txt"], "copy": [".env"]},
        "qualityCommands": ["cmp .env ready.txt"],
    }));
    sandbox.idea("cmp .env ready.txt || exit 1; write a.txt x; say COMPLETE");
    sandbox
}

/// The first resolver throws the work away.
fn conflict() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lines.txt", "one\ntwo\nthree\n");
    sandbox.commit("Lines");
    sandbox.set_up();
    sandbox.configure(&json!({"agents": {"failuresToPause": 100}}));
    for _ in 0..2 {
        sandbox.idea(
            "sed \"s/^two/two $SWARM_IDEA_ID/\" lines.txt >new; mv new lines.txt; commit; say \
            COMPLETE\nRESOLVE: [ -e $OUT/thrown ] || { : >$OUT/thrown; git reset --hard -q \
            MERGE_HEAD; say RESOLVED; exit 0; }; sed '/^[<=>|]/d' lines.txt >new; mv new \
            lines.txt; say RESOLVED",
        );
    }
    sandbox
}

/// Approved work waits for another idea, which needs its worktree.
fn lending() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}, "worktree": {"keepIdle": 0}}));
    let doing = "write $SWARM_IDEA_ID.txt x; say COMPLETE";
    let waits = sandbox.idea_with(doing, &["--review"]);
    assert_eq!(sandbox.run_until_idle(), 6, "it waits for a review");
    let first = sandbox.idea(doing);
    let after = ["idea", "edit", &waits, "--after", &first];
    sandbox.swarm(&after).ok();
    sandbox.swarm(&["merge", "approve", &waits]).ok();
    sandbox
}

/// The model writes again until its fact is there: it is told that a killed daemon did not answer.
fn synthesising() -> Sandbox {
    let sandbox = Sandbox::ready();
    script(
        &sandbox,
        "until \"$SWARM_BIN\" memory cas api.port 0 'The API listens on 8080' --evidence \
        learning-001 --evidence learning-002 || \"$SWARM_BIN\" memory get api.port; do sleep 0.05; \
        done",
    );
    configure(&sandbox, 2);
    for sentence in ["the port is 8080", "8080 is the API's port"] {
        sandbox.swarm(&["memory", "learn", sentence]).ok();
    }
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox
}

/// One turn, one fact; where only daemons were killed, one run. A run that was killed itself is not
/// repeated: what it was to read waits for more learnings.
fn assert_synthesised(sandbox: &Sandbox, daemon_only: bool) {
    let over = sandbox.logged("synthesised");
    assert_eq!(over.len(), 1, "{over:?}");
    assert_eq!(over[0].data["upTo"], 2);
    let runs = sandbox.notes("syntheses");
    let names: BTreeSet<&String> = runs.iter().collect();
    assert_eq!(names.len(), runs.len(), "executed twice: {runs:?}");
    let failed = over[0].data["failed"] == true;
    if daemon_only {
        assert_eq!(runs.len(), 1, "{runs:?}");
        assert!(!failed, "{over:?}");
    }
    let facts = sandbox.logged("factWritten").len();
    assert!(
        facts == 1 || failed && facts == 0,
        "{facts} facts, {over:?}"
    );
}

/// A person asked for a replay while the only slot was in use; then the daemon was stopped.
fn replaying() -> Sandbox {
    let sandbox = Sandbox::ready();
    script(&sandbox, "echo x >a.txt; echo '<swarm>BLOCKED:no</swarm>'");
    sandbox.configure(&json!({
        "agents": {"maxParallel": 1, "profiles": {"sage": sandbox.profile("sage.sh")}},
    }));
    let daemon = sandbox.start();
    sandbox.idea("write a.txt x; say BLOCKED:no");
    sandbox.wait_idea("idea-001", "blocked");
    sandbox.wait_for("the record", || {
        (!sandbox.logged("iterationRecorded").is_empty()).then_some(())
    });
    sandbox.swarm(&["idea", "cancel", "idea-001"]).ok();
    sandbox.idea("[ -e $OUT/there.go ] || hold there; write b.txt x; say COMPLETE");
    let here = sandbox.path("out/there.here");
    sandbox.wait_for("an agent", || here.exists().then_some(()));
    let asked = json!({"profile": "sage"});
    let (status, answer) = sandbox.post("provenance/idea-001/replay", &asked).unwrap();
    assert_eq!(status, 200, "{answer}");
    daemon.stop();
    drop(daemon);
    assert!(sandbox.notes("syntheses").is_empty(), "it did not wait");
    fs::write(sandbox.path("out/there.go"), "").unwrap();
    sandbox
}

/// It ran at most once and was judged once; where only daemons were killed, it ran and matched.
fn assert_replayed(sandbox: &Sandbox, daemon_only: bool) {
    let judged = sandbox.logged("replayJudged");
    assert_eq!(judged.len(), 1, "{judged:?}");
    let runs = sandbox.notes("syntheses");
    assert!(runs.len() <= 1, "executed twice: {runs:?}");
    if daemon_only {
        assert_eq!(runs.len(), 1);
        let status = &judged[0].data["verdict"]["matchStatus"];
        assert_eq!(status, "exact_match", "{judged:?}");
    }
    assert!(!sandbox.worktrees().join("replay").exists());
}

fn taking_over() -> Sandbox {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea(
        "if attempt 1; then write a.txt x; commit; write left.txt y; say BLOCKED:no; else say \
        COMPLETE; fi",
    );
    assert_eq!(sandbox.run_until_idle(), 5);
    sandbox.swarm(&["idea", "retry", &id]).ok();
    sandbox
}

fn inbox() -> Sandbox {
    let sandbox = Sandbox::ready();
    fs::write(sandbox.dot_swarm("inbox/one.md"), SIMPLE).unwrap();
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox
}

fn torn() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    let path = sandbox.dot_swarm("state/events.jsonl");
    let mut log = fs::read(&path).unwrap();
    log.extend(b"{\"v\":1,\"seq\":99,\"dur\":1,\"ts\":\"20");
    fs::write(&path, log).unwrap();
    sandbox
}

/// An agent was asked to end, and its daemon was killed before anything came of it.
fn stopped() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea("if attempt 1; then hold it; fi; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    daemon.kill();
    drop(daemon);
    sandbox.swarm(&["idea", "cancel", "idea-001"]).ok();
    sandbox.idea("write b.txt x; say COMPLETE");
    sandbox
}

/// The history was rewritten while a merge was verified and no daemon ran.
fn rewritten() -> Sandbox {
    let (sandbox, doing) = force_pushed();
    let daemon = sandbox.start();
    sandbox.idea(&doing);
    sandbox.wait_held("verify");
    daemon.kill();
    drop(daemon);
    rewrite(&sandbox);
    // The history that is gone had it.
    sandbox.configure(&json!({}));
    sandbox
}

/// Each moment of an idea's way is told to a hook.
fn hooked() -> Sandbox {
    let sandbox = Sandbox::ready();
    for name in [
        "pre-start",
        "post-complete",
        "pre-merge",
        "post-merge",
        "on-needs-you",
    ] {
        hook(&sandbox, name, RECORDER);
    }
    // Nobody listens there.
    sandbox.configure(&json!({"notify": {"webhook": "http://127.0.0.1:1/"}}));
    sandbox.idea("write $SWARM_IDEA_ID.txt x; say COMPLETE");
    sandbox
}

/// Each call ended well once; where only daemons were killed, it was made once.
fn assert_hooks_told(sandbox: &Sandbox, daemon_only: bool) {
    let well = sandbox.logged("hookFinished");
    let well = well.iter().filter(|event| event.data["well"] == true);
    let well: Vec<String> = well
        .map(|event| {
            format!(
                "{} {}",
                event.data["hook"].as_str().unwrap(),
                event.data["about"]
            )
        })
        .collect();
    let calls = sandbox.notes("hooks");
    let made: BTreeSet<&String> = calls.iter().collect();
    let once: BTreeSet<&String> = well.iter().collect();
    assert_eq!(once.len(), well.len(), "told twice: {well:?}");
    assert!(
        once.is_superset(&made),
        "{calls:?}, and in the log {well:?}"
    );
    if daemon_only {
        // What tells and what holds a step wait for each other's end no more than for anybody's.
        assert_eq!(calls.len(), made.len(), "a call was made twice: {calls:?}");
        assert_eq!(made, once, "a call was not made");
        assert_eq!(calls.len(), 5, "{calls:?}");
    }
}

fn detached() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox
        .idea("git checkout -q --detach; write a.txt x; commit; git init -q nested; say COMPLETE");
    sandbox
}

/// An agent commits in two submodules, and one of them loses its checkout.
fn in_submodules() -> Sandbox {
    let sandbox = submodules::project(&["lib", "other"]);
    sandbox.idea(
        "git -c protocol.file.allow=always submodule update -q --init; for one in lib other; do \
        git -C $one commit -q --allow-empty -m x; done; git submodule deinit -q -f other; write \
        a.txt x; say COMPLETE",
    );
    sandbox
}

/// The state of an agent lies beside the repository; its idea can be done here.
fn an_agent_was_exported() -> Sandbox {
    let sandbox = Sandbox::ready();
    let document = agent_imports::document("DO: write imported.txt x; say COMPLETE");
    fs::write(sandbox.path("agent.json"), document.to_string()).unwrap();
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox
}

fn import_agent(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["agent", "import", "../agent.json"])
}

/// The same with its conversation and its commits.
fn a_packed_agent_was_exported() -> Sandbox {
    let sandbox = carried_conversations::importable();
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox
}

fn import_packed_agent(sandbox: &Sandbox) -> Command {
    sandbox.swarm_command(&["agent", "import", "../agent.tar.zst"])
}

/// The next start gives the program its copy.
fn a_conversation_was_imported() -> Sandbox {
    let sandbox = carried_conversations::importable();
    let mut import = import_packed_agent(&sandbox);
    sandbox.run(&mut import, b"", PATIENCE).ok();
    sandbox
}

/// Two ideas whose output may go, and one that is still to be worked on.
fn given_up() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"retention": {"runsDays": 0}}));
    let ideas = [0, 1].map(|_| sandbox.idea("say BLOCKED:no"));
    assert_eq!(sandbox.run_until_idle(), 5);
    for id in ideas {
        sandbox.swarm(&["idea", "cancel", &id]).ok();
    }
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox
}

/// Of one idea a commit and an uncommitted file; it goes on from them.
const HALF: &str = "if attempt 1; then write a.txt x; commit; write left.txt y; hold it; fi; [ -e \
    left.txt ] || note lost; say COMPLETE";

/// An agent was at work when its daemon was killed.
fn some_work_lies_there() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea(HALF);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    daemon.kill();
    drop(daemon);
    sandbox.release("it");
    sandbox
}

/// After the checkpoint an idea landed; a person has changed another file since.
fn something_to_go_back_from() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("gone.txt", "at first\n");
    sandbox.write("mine.txt", "at first\n");
    sandbox.commit("Files");
    sandbox.set_up();
    sandbox.configure(&json!({"checkpoints": {"beforeAutopilot": true, "keep": 1}}));
    sandbox.idea(HALF);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let later = sandbox.idea("write README.md changed; rm gone.txt; commit; say COMPLETE");
    sandbox.wait_idea(&later, "done");
    sandbox.write("mine.txt", "by hand\n");
    daemon.kill();
    drop(daemon);
    sandbox
}

/// It was asked for, and the daemon was killed before anything came of it.
fn rolling_back() -> Sandbox {
    let sandbox = something_to_go_back_from();
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(crash::VARIABLE, "effect.check.begin");
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    let ran = sandbox.run(&mut roll_back(&sandbox), b"", PATIENCE);
    assert_ne!(ran.code, 0, "{ran}");
    assert_eq!(daemon.wait_exit(PATIENCE), 137);
    drop(daemon);
    sandbox
}

/// It was asked for, and the daemon was killed before anything came of it.
fn redirecting() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    // What it had so far lands with the other one.
    sandbox.idea(&HALF.replace("say COMPLETE", "write more.txt z; say COMPLETE"));
    let other = sandbox.idea_with(
        "[ -e left.txt ] || note lost; write b.txt x; say COMPLETE",
        &["--priority", "-50"],
    );
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(crash::VARIABLE, "effect.stop.begin");
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    sandbox.wait_held("it");
    // Whether the answer comes before the end is all the same.
    sandbox.swarm(&["agent", "redirect", "ed-001", &other]);
    assert_eq!(daemon.wait_exit(PATIENCE), 137);
    drop(daemon);
    sandbox
}

/// Once, and the work is with both ideas.
fn assert_redirected(sandbox: &Sandbox) {
    let whole = lines(sandbox);
    let count = |words: &str| whole.iter().filter(|line| line.contains(words)).count();
    assert_eq!(count("\"kind\":\"agentRedirected\""), 1);
    assert_eq!(count("\"end\":\"redirected\""), 1);
    assert_eq!(count("\"kind\":\"workSaved\""), 1);
    assert_eq!(sandbox.notes("lost"), [""; 0], "an agent's work is gone");
    let kept = "refs/swarm/rescue/redirected-ed-001-idea-001";
    assert_eq!(sandbox.file_at(kept, "left.txt"), "y");
    let wip = sandbox.git(&["log", "--all", "--format=%h", "--grep=^WIP: "]);
    assert_eq!(wip.lines().count(), 1, "committed twice: {wip}");
}

/// The least window that can be configured.
const WINDOW: usize = 16;

/// Learnings without a daemon, so many that the next one compacts them.
fn much_was_learned() -> Sandbox {
    learned(2 * WINDOW)
}

/// Learnings, some more than the window.
fn something_was_learned() -> Sandbox {
    learned(WINDOW + 4)
}

fn learned(count: usize) -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"memory": {"window": WINDOW}}));
    for number in 1..=count {
        let text = format!("sentence {number}");
        sandbox.swarm(&["memory", "learn", &text]).ok();
    }
    sandbox.idea("write a.txt x; say COMPLETE");
    sandbox
}

/// Once, with a summary; what went is in the log. The one that a person asked for may have been
/// killed before it was written down.
fn assert_compacted(sandbox: &Sandbox, times: &std::ops::RangeInclusive<usize>) {
    let compacted = sandbox.logged("memoryCompacted");
    assert!(times.contains(&compacted.len()), "{compacted:?}");
    let Some(event) = compacted.first() else {
        return;
    };
    let learnings = sandbox.swarm(&["memory", "learnings", "--json"]).json();
    assert_eq!(learnings.as_array().unwrap().len(), WINDOW);
    let page = sandbox.dot_swarm(&format!("state/memory/summary-{}.md", event.seq));
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("learning-001: sentence 1 (a person, event "),
        "{page}"
    );
    let found = sandbox.swarm(&["memory", "search", "--all", "sentence 1", "--json"]);
    assert_eq!(found.json()["hits"][0]["ref"], "learning-001");
    let left = fs::read_dir(sandbox.dot_swarm("state/memory")).unwrap();
    assert_eq!(left.count(), 1);
}

/// It happened once, and nobody has lost anything.
fn assert_rolled_back(sandbox: &Sandbox) {
    let whole = lines(sandbox);
    let count = |kind: &str| {
        let kind = format!("\"kind\":\"{kind}\"");
        whole.iter().filter(|line| line.contains(&kind)).count()
    };
    assert_eq!((count("rolledBack"), count("rollbackAbandoned")), (1, 0));
    assert_eq!(sandbox.notes("lost"), [""; 0], "an agent's work is gone");
    // The target went back: what had landed since is done again and lands by another commit.
    let landed = whole
        .iter()
        .find(|line| line.contains("\"kind\":\"ideaLanded\""));
    let landed: serde_json::Value = serde_json::from_str(landed.unwrap()).unwrap();
    let dropped = landed["data"]["commit"].as_str().unwrap();
    let history = sandbox.git(&["rev-list", "main"]);
    assert!(!history.contains(dropped), "{dropped} is still on main");
    // A person's change is kept, and is out of the way of what follows.
    assert_eq!(sandbox.read("mine.txt"), "by hand\n");
    sandbox.git(&["checkout", "-q", "--", "mine.txt"]);
    let list = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    let names: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        names[0] == "mid" && names[1].starts_with("before-rollback-"),
        "{names:?}"
    );
    let tags = sandbox.git(&["for-each-ref", "refs/swarm/checkpoints"]);
    assert_eq!(tags.lines().count(), 2, "{tags}");
    assert_eq!(
        fs::read_dir(sandbox.dot_swarm("checkpoints"))
            .unwrap()
            .count(),
        2
    );
}

/// Labels and how often one process visited them, at most.
type Visits = BTreeMap<String, u32>;

fn visits_file(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.path("out/visits")
}

fn visits(sandbox: &Sandbox) -> Visits {
    let text = fs::read_to_string(visits_file(sandbox)).unwrap_or_default();
    let mut each: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for line in text.lines() {
        let (pid, label) = line.split_once(' ').unwrap();
        *each.entry((label, pid)).or_default() += 1;
    }
    let mut most = Visits::new();
    for ((label, _), count) in each {
        let entry = most.entry(label.to_owned()).or_default();
        *entry = count.max(*entry);
    }
    most
}

/// Runs the process that can be killed, with these variables; its exit code.
fn act(sandbox: &Sandbox, command: Command, variables: &[(&str, &str)]) -> i32 {
    let mut command = command;
    command.env(crash::VISITS, visits_file(sandbox));
    command.envs(variables.iter().copied());
    let process = sandbox.spawn(command);
    let code = process.wait_exit(2 * PATIENCE);
    if ![0, 137].contains(&code) {
        println!("exit code {code}: {}", process.output());
    }
    code
}

/// What was acknowledged before the kill.
struct Before {
    /// Whole lines of the log.
    log: Vec<String>,
    ideas: BTreeSet<String>,
    base: String,
}

/// The whole lines of all segments, oldest first.
fn lines(sandbox: &Sandbox) -> Vec<String> {
    let state = sandbox.dot_swarm("state");
    let mut segments: Vec<_> = fs::read_dir(&state)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("events") && name.strip_suffix(".jsonl").is_some()
        })
        .collect();
    // `events.jsonl`, the live one, comes last: a letter sorts behind digits.
    segments.sort();
    let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let text: String = segments.into_iter().map(read).collect();
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole.map(str::to_owned).collect()
}

/// Everything that must hold when the story is over. `daemon_only`: no agent had a reason to be run
/// again.
/// Each iteration that ran has one provenance record, with the digest that the log says.
fn assert_recorded(sandbox: &Sandbox, log: &[String]) {
    let events = log
        .iter()
        .map(|line| -> Value { serde_json::from_str(line).unwrap() });
    let of_kind = |kind: &str| -> Vec<Value> {
        let of_kind = events.clone().filter(|event| event["kind"] == kind);
        of_kind.map(|event| event["data"].clone()).collect()
    };
    let mut recorded = BTreeSet::new();
    for record in of_kind("iterationRecorded") {
        let run = record["run"].as_str().unwrap().to_owned();
        let path = sandbox.dot_swarm(&format!("provenance/snapshots/{run}.json"));
        let digest = Sha256::digest(fs::read(path).unwrap());
        let digest = digest
            .iter()
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        assert_eq!(record["sha256"].as_str(), Some(digest.as_str()), "{record}");
        assert!(recorded.insert(run), "recorded twice: {record}");
    }
    let ended = of_kind("runEnded").into_iter().filter(|ended| {
        let run = ended["run"].as_str().unwrap();
        let last = run.rsplit('-').next().unwrap();
        last.starts_with('i') && ended["end"]["how"].get("notStarted").is_none()
    });
    let ended: BTreeSet<String> = ended
        .map(|ended| ended["run"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(recorded, ended);
}

fn check(sandbox: &Sandbox, before: &Before, daemon_only: bool) {
    let log = lines(sandbox);
    let kept = before
        .log
        .iter()
        .zip(&log)
        .take_while(|(one, other)| one == other);
    assert_eq!(
        kept.count(),
        before.log.len(),
        "acknowledged events are gone"
    );
    let ideas = sandbox.ideas();
    let ids: BTreeSet<String> = ideas
        .iter()
        .map(|idea| idea["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        ids.is_superset(&before.ideas),
        "acknowledged ideas are gone: {ids:?}"
    );
    let mut done = BTreeSet::new();
    for idea in &ideas {
        let status = idea["status"].as_str().unwrap();
        assert!(["done", "cancelled"].contains(&status), "{idea}");
        if daemon_only {
            assert_eq!(idea["retryCount"], 0, "an agent was lost: {idea}");
        }
        if status == "done" {
            done.insert(idea["id"].as_str().unwrap().to_owned());
        }
    }
    let landed: Vec<String> = sandbox
        .landings(&before.base, "main")
        .into_iter()
        .filter_map(|(_, idea)| ids.contains(&idea).then_some(idea))
        .collect();
    let once: BTreeSet<String> = landed.iter().cloned().collect();
    assert_eq!(once.len(), landed.len(), "landed twice: {landed:?}");
    assert_eq!(once, done);
    let runs = sandbox.notes("runs");
    let names: BTreeSet<&str> = runs
        .iter()
        .map(|run| run.split(' ').nth(4).unwrap())
        .collect();
    assert_eq!(
        names.len(),
        runs.len(),
        "a run was executed twice: {runs:#?}"
    );
    assert_recorded(sandbox, &log);
    let asked = log
        .iter()
        .filter(|line| line.contains("\"kind\":\"iterationStarted\""))
        .count();
    assert!(
        runs.len() <= asked,
        "runs that the log does not know: {runs:#?}"
    );
    if daemon_only {
        assert_eq!(
            runs.len(),
            asked,
            "runs that were asked for and never began"
        );
    }
    sandbox.swarm(&["replay", "--verify"]).ok();
    sandbox.assert_repository_clean();
    sandbox.assert_nothing_runs();
}

/// Where to kill.
#[derive(Debug, Clone)]
struct Blow {
    scenario: usize,
    /// `label#n`
    point: String,
    /// A point at which the start that follows is killed.
    again: Option<String>,
}

#[derive(Default)]
struct Counts {
    kills: AtomicUsize,
    second_kills: AtomicUsize,
    missed: AtomicUsize,
    events: AtomicU64,
}

/// Runs a process that is to die at the point, or a child of it; whether one did.
fn struck(sandbox: &Sandbox, command: Command, point: &str, name: &str) -> bool {
    let died = sandbox.path("out").join(name);
    let once = died.to_str().unwrap();
    let code = act(
        sandbox,
        command,
        &[(crash::VARIABLE, point), (crash::ONCE, once)],
    );
    // A check of the target whose process dies is red, so that start ends and asks for a person.
    let is_red =
        code == 6 && point.starts_with("child.") && !sandbox.logged("baselineFailed").is_empty();
    assert!(
        is_red || [0, 137].contains(&code),
        "{point}: exit code {code}"
    );
    died.exists()
}

/// Kills a repair, does it again, and starts; whether the point was reached.
fn strike_repair(blow: &Blow) -> bool {
    let sandbox = damaged();
    let hit = struck(&sandbox, repair(&sandbox), &blow.point, "first");
    assert_eq!(act(&sandbox, repair(&sandbox), &[]), 0, "the second repair");
    assert_repaired(&sandbox);
    hit
}

/// Kills an import, does it again, and starts; whether the point was reached.
fn strike_import(blow: &Blow) -> bool {
    let sandbox = importable();
    let first = sandbox.git(&["rev-list", "--max-parents=0", "main"]);
    let hit = struck(&sandbox, import(&sandbox), &blow.point, "first");
    assert_eq!(act(&sandbox, import(&sandbox), &[]), 0, "the second import");
    assert_eq!(sandbox.logged("swarmImported").len(), 1);
    goes_on(&sandbox, first.trim());
    hit
}

/// Kills once, or twice, restarts and compares; whether the point was reached.
fn strike(blow: &Blow, counts: &Counts) -> bool {
    let scenario = &SCENARIOS[blow.scenario];
    if scenario.name == REPAIRING {
        return strike_repair(blow);
    }
    if scenario.name == IMPORTING {
        return strike_import(blow);
    }
    let sandbox = (scenario.prepare)();
    let base = sandbox.head("main");
    let known: BTreeSet<String> = sandbox
        .ideas()
        .iter()
        .map(|idea| idea["id"].as_str().unwrap().to_owned())
        .collect();
    let hit = struck(&sandbox, (scenario.act)(&sandbox), &blow.point, "first");
    let before = Before {
        log: lines(&sandbox),
        ideas: known,
        base,
    };
    counts
        .events
        .fetch_add(before.log.len() as u64, Ordering::Relaxed);
    if let Some(again) = &blow.again {
        let hit = struck(&sandbox, start(&sandbox), again, "second");
        counts
            .second_kills
            .fetch_add(usize::from(hit), Ordering::Relaxed);
    }
    let code = act(&sandbox, start(&sandbox), &[]);
    assert_eq!(code, 0, "the start after the kill ended with {code}");
    let children = blow.again.iter().chain([&blow.point]);
    let daemon_only = !children
        .into_iter()
        .any(|point| point.starts_with("runner.") || point.starts_with("child."));
    if scenario.name == ROLLING_BACK {
        assert_rolled_back(&sandbox);
    }
    check(&sandbox, &before, daemon_only);
    if scenario.name == HOOKED {
        assert_hooks_told(&sandbox, daemon_only);
    }
    if scenario.name == REDIRECTING {
        assert_redirected(&sandbox);
    }
    if scenario.name == COMPACTING {
        assert_compacted(&sandbox, &(1..=1));
    }
    if scenario.name == COMPACTING_OFFLINE {
        assert_compacted(&sandbox, &(0..=1));
    }
    if scenario.name == SYNTHESISING {
        assert_synthesised(&sandbox, daemon_only);
    }
    if scenario.name == REPLAYING {
        assert_replayed(&sandbox, daemon_only);
    }
    hit
}

#[test]
fn every_point_is_reached_and_survived() {
    let mut dice = Dice::thrown();
    let rounds = rounds();
    let reached = explore();
    let all: BTreeSet<&str> = crash::LABELS.iter().copied().collect();
    let seen: BTreeSet<&str> = reached.keys().map(String::as_str).collect();
    let never: Vec<_> = all.difference(&seen).collect();
    assert!(never.is_empty(), "no scenario reaches {never:?}");
    let mut blows = Vec::new();
    for (label, places) in reached.iter().filter(|(label, _)| is_wanted(label)) {
        for round in &rounds {
            blows.push(draw(&mut dice, label, places, *round, &reached));
        }
    }
    let counts = Counts::default();
    let killed = Mutex::new(BTreeSet::<String>::new());
    each_at_once(&blows, |blow| {
        let hit = strike(blow, &counts);
        if hit {
            let (label, _) = blow.point.split_once('#').unwrap();
            killed.lock().unwrap().insert(label.to_owned());
        }
        counts.kills.fetch_add(usize::from(hit), Ordering::Relaxed);
        counts
            .missed
            .fetch_add(usize::from(!hit), Ordering::Relaxed);
    });
    let Counts {
        kills,
        second_kills,
        missed,
        events,
    } = counts;
    println!(
        "{} points, {kills:?} kills, {second_kills:?} in the start that followed, {missed:?} not \
        reached this time, {events:?} events compared; lost 0, twice 0",
        all.len()
    );
    let killed = killed.into_inner().unwrap();
    let spared: Vec<_> = all
        .iter()
        .filter(|label| is_wanted(label) && !killed.contains(**label))
        .collect();
    assert!(spared.is_empty(), "nothing died at {spared:?}");
    assert!(
        missed.into_inner() * 10 <= blows.len(),
        "too many points were not reached"
    );
}

/// The rounds of each point: where `SWARM_TURN` counts commits, the first one and by turns one of
/// the next two.
fn rounds() -> Vec<u32> {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u32>().unwrap())
    };
    match (number("SWARM_POINTS_ROUNDS"), number("SWARM_TURN")) {
        (Some(rounds), _) => (0..rounds).collect(),
        (None, Some(turn)) => vec![0, 1 + turn % 2],
        (None, None) => (0..3).collect(),
    }
}

/// `SWARM_POINTS_ONLY` names parts of labels, with commas between them; without it all are.
fn is_wanted(label: &str) -> bool {
    let only = std::env::var("SWARM_POINTS_ONLY").unwrap_or_default();
    only.split(',').any(|part| label.contains(part))
}

/// Which scenarios visit a label, and how often.
type Places = BTreeMap<usize, u32>;

fn explore() -> BTreeMap<String, Places> {
    let reached = Mutex::new(BTreeMap::<String, Places>::new());
    let all: Vec<usize> = (0..SCENARIOS.len()).collect();
    each_at_once(&all, |index| {
        let scenario = &SCENARIOS[*index];
        let sandbox = (scenario.prepare)();
        let code = act(&sandbox, (scenario.act)(&sandbox), &[]);
        assert_eq!(code, 0, "`{}` undisturbed ended with {code}", scenario.name);
        let visits = visits(&sandbox)
            .into_iter()
            .filter(|(label, _)| scenario.name != HOOKED || !label.starts_with("child."));
        for (label, count) in visits {
            let mut reached = reached.lock().unwrap();
            reached.entry(label).or_default().insert(*index, count);
        }
        if scenario.name.ends_with("without a daemon") {
            assert_eq!(sandbox.run_until_idle(), 0);
        }
        if scenario.name == ROLLING_BACK {
            assert_rolled_back(&sandbox);
        }
        if scenario.name == REDIRECTING {
            assert_redirected(&sandbox);
        }
        if [COMPACTING, COMPACTING_OFFLINE].contains(&scenario.name) {
            assert_compacted(&sandbox, &(1..=1));
        }
        if scenario.name == SYNTHESISING {
            assert_synthesised(&sandbox, true);
        }
        if scenario.name == REPLAYING {
            assert_replayed(&sandbox, true);
        }
    });
    reached.into_inner().unwrap()
}

/// The first visit of the first scenario first, then any.
fn draw(
    dice: &mut Dice,
    label: &str,
    places: &Places,
    round: u32,
    reached: &BTreeMap<String, Places>,
) -> Blow {
    let at = if round == 0 {
        0
    } else {
        dice.below(places.len() as u64)
    };
    let (scenario, count) = places.iter().nth(usize::try_from(at).unwrap()).unwrap();
    let visit = if round == 0 {
        1
    } else {
        1 + dice.below(u64::from(*count))
    };
    let again = (round % 3 == 2).then(|| {
        let other = dice.below(reached.len() as u64);
        let label = reached.keys().nth(usize::try_from(other).unwrap()).unwrap();
        format!("{label}#1")
    });
    Blow {
        scenario: *scenario,
        point: format!("{label}#{visit}"),
        again,
    }
}

/// Does it for each, some at a time; names the one that failed.
fn each_at_once<T: Sync + std::fmt::Debug>(list: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(one) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(one)));
                    if done.is_err() {
                        failed.lock().unwrap().push(format!("{one:?}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
