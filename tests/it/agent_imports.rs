//! `swarm agent import`: an idea goes on from the exported state of an agent, in another clone or
//! in the same one, with and without a daemon. Whatever the file is, a refusal changes nothing.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Fingerprint, Sandbox};
use crate::moves::clone_of;

const HEADING: &str = "## What an agent before you did";
const OID: &str = "0123456789012345678901234567890123456789";
/// It leaves a commit and gives up; whoever begins with that commit finishes.
const HALF: &str = "if [ -e half.txt ]; then write rest.txt x; commit Rest; say COMPLETE; else \
    echo I know the way; write half.txt x; commit Half; say BLOCKED:enough; fi";

/// A whole and right file of an agent that worked on this.
pub fn document(idea_text: &str) -> Value {
    let message =
        |role: &str, text: &str| json!({"role": role, "run": "r0001-cl-001-i1", "text": text});
    let mut says = message(
        "assistant",
        "I know the way.\n<swarm>COMPLETE</swarm>\n## A heading",
    );
    says["toolCalls"] = json!([{"id": "a", "tool": "Bash", "input": "make all"}]);
    let mut result = message("tool", "it failed");
    result["toolCallId"] = json!("a");
    result["ok"] = json!(false);
    json!({
        "format": "swarm-agent", "version": "1.0.0", "exportedAt": "2026-01-31T23:59:59.123Z",
        "source": {"swarmId": "ab".repeat(32), "seq": 7, "logCrc": "0011aabb"},
        "identity": {"id": "cl-001", "uuid": null, "name": "cl", "ideaId": "idea-009",
            "ideaText": idea_text, "attempt": 1, "iterations": 1, "importedFrom": null},
        "model": {"adapter": "claude", "program": null, "asked": null, "used": []},
        "tokenBudget": {"tokens": null, "usd": 5.0},
        "tokenUsage": {"prompt": 1, "completion": 2, "total": 3, "usd": 0.1, "partial": false},
        "messageLog": [message("user", "Do it."), says, result],
        "repairs": [{"at": "r0001-cl-001-i1", "what": "a torn line was left out"}],
        "conversation": null,
        "contexts": {
            "rules": {"id": "rules", "files": []}, "profile": null,
            "learnings": {"id": "cl-001", "items": []},
            "reads": {"id": "cl-001", "files": [{"path": "README.md", "via": "tool"}]},
            "notes": {"id": "notes", "items": [
                {"key": "plan", "version": 1, "title": "", "content": "First the parser."}]},
            "recovery": null,
            "worktree": {"id": "w01", "branch": "agent/cl-001/idea-009", "base": null, "tip": null,
                "wip": null},
        },
    })
}

fn put(sandbox: &Sandbox, document: &Value) -> String {
    let file = sandbox.path("agent.json");
    fs::write(&file, document.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The prompts of an agent's iterations, oldest first.
fn prompts(sandbox: &Sandbox, agent: &str) -> Vec<String> {
    let runs = fs::read_dir(sandbox.private("runs")).unwrap();
    let is_iteration = |name: &str| name.contains(&format!("-{agent}-i"));
    let mut found: Vec<PathBuf> = runs
        .map(|run| run.unwrap().path())
        .filter(|run| is_iteration(run.file_name().unwrap().to_str().unwrap()))
        .collect();
    found.sort();
    let prompt = |run: PathBuf| fs::read_to_string(run.join("prompt.md")).unwrap();
    found.into_iter().map(prompt).collect()
}

fn kept_files(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.dot_swarm("state/imports")).map_or(0, Iterator::count)
}

fn assert_unchanged(sandbox: &Sandbox, before: &Fingerprint, what: &str) {
    before.assert_same(&Fingerprint::of(&sandbox.repo()), what);
}

#[test]
fn an_agent_goes_on_in_another_clone_with_its_commits() {
    let source = Sandbox::ready();
    source.idea(HALF);
    assert_eq!(source.run_until_idle(), 5);
    let file = source.path("ed.json");
    let name = file.to_str().unwrap();
    let agent = source.swarm(&["agent", "list", "--json"]).json()[0]["id"].clone();
    let agent = agent.as_str().unwrap();
    source.swarm(&["agent", "export", agent, "-o", name]).ok();

    let clone = clone_of(&source);
    let import = ["agent", "import", name, "--json"];
    let without = clone
        .swarm(&["agent", "import", name, "--check", "--json"])
        .json();
    assert_eq!(without["commits"]["fate"], "notHere", "{without}");
    let all = "refs/heads/agent/*:refs/imported/*";
    clone.git(&["fetch", "-q", source.repo().to_str().unwrap(), all]);
    let before = Fingerprint::of(&clone.repo());
    let check = clone
        .swarm(&["agent", "import", name, "--check", "--json"])
        .json();
    assert_unchanged(&clone, &before, "a check");
    assert_eq!(
        (&check["check"], &check["ideaId"]),
        (&json!(true), &json!("idea-001"))
    );

    let imported = clone.swarm(&import).json();
    assert_eq!(imported["ideaId"], "idea-001");
    assert_eq!(
        (&imported["added"], &imported["agentId"]),
        (&json!(true), &json!(agent))
    );
    assert_eq!(imported["commits"]["fate"], "taken");
    assert_eq!(imported["conversation"]["why"], "notPortable");
    let event = &clone.logged("agentImported")[0].data;
    assert_eq!(event["imported"]["sha256"], imported["sha256"]);
    let kept = clone.dot_swarm(event["imported"]["file"].as_str().unwrap());
    assert_eq!(fs::read(kept).unwrap(), fs::read(&file).unwrap());
    // Nothing but the import keeps the commit now.
    for (reference, _) in clone
        .git(&["for-each-ref", "--format=%(refname) x", "refs/imported/"])
        .lines()
        .filter_map(|line| line.split_once(' '))
    {
        clone.git(&["update-ref", "-d", reference]);
    }
    clone.git(&["gc", "-q", "--prune=now"]);

    assert_eq!(clone.run_until_idle(), 0);
    assert_eq!(clone.idea_status("idea-001"), "done");
    assert_eq!(clone.file_at("main", "half.txt"), "x");
    assert_eq!(clone.file_at("main", "rest.txt"), "x");
    let own = clone.swarm(&["agent", "list", "--json"]).json()[0]["id"].clone();
    let own = own.as_str().unwrap();
    let prompts = prompts(&clone, own);
    assert_eq!(prompts[0].matches(HEADING).count(), 1, "{}", prompts[0]);
    assert!(
        prompts[0].contains("Your branch begins with its commits"),
        "{}",
        prompts[0]
    );
    assert!(
        prompts[0].contains("\n> I know the way\n"),
        "{}",
        prompts[0]
    );
    let state = clone.swarm(&["agent", "export", own]).json();
    let from = state["identity"]["importedFrom"].as_str().unwrap();
    assert!(from.ends_with(&format!("/{agent}")), "{from}");

    // The idea is over, so the file may go.
    assert_eq!(kept_files(&clone), 1);
    let report = clone.swarm(&["clean", "--json"]).json();
    let kinds: Vec<&Value> = report["removed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert!(kinds.contains(&&json!("import")), "{report}");
    assert_eq!(kept_files(&clone), 0);
    clone.assert_log_sound();
    clone.assert_sound();
}

#[test]
fn a_failed_idea_gets_the_brief_once_an_attempt_and_signals_in_it_do_not_count() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea(
        "if attempt 1; then say BLOCKED:enough; else cat $SWARM_PROMPT_FILE; \
        hold work; iteration 1 || { write done.txt x; say COMPLETE; }; fi",
    );
    assert_eq!(sandbox.run_until_idle(), 5);
    let daemon = sandbox.start();
    let file = put(&sandbox, &document("Something else."));
    let imported = sandbox.swarm(&["agent", "import", &file, "--idea", &id]);
    let told = imported.ok();
    for words in [
        "idea-001 goes on from cl-001 (3 messages)",
        "profile ed, the default: the agent's is not configured here",
        "the file names no commit",
        "the conversation itself is not carried over",
        "a torn line was left out",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(
        imported.stderr.contains("swarm idea retry idea-001"),
        "{imported}"
    );
    sandbox.swarm(&["idea", "retry", &id]).ok();
    sandbox.wait_held("work");
    daemon.kill_everything();
    drop(daemon);
    fs::remove_file(sandbox.path("out/work.here")).unwrap();
    // The attempt that was killed had begun its first prompt; the next one gets its own.
    sandbox.release("work");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(sandbox.file_at("main", "done.txt"), "x");
    let agents = sandbox.swarm(&["agent", "list", "--json"]).json();
    let agents: Vec<&str> = agents
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert!(agents.len() >= 3, "{agents:?}");
    for (at, agent) in agents.iter().enumerate() {
        let prompts = prompts(&sandbox, agent);
        for (iteration, prompt) in prompts.iter().enumerate() {
            let expected = usize::from(at > 0 && iteration == 0);
            assert_eq!(
                prompt.matches(HEADING).count(),
                expected,
                "{agent}: {prompt}"
            );
            if expected == 1 {
                assert!(
                    prompt.contains("\n> - Bash: make all (failed)\n"),
                    "{prompt}"
                );
                assert!(prompt.contains("\n> plan: First the parser.\n"), "{prompt}");
                assert!(prompt.contains("\n> ## A heading\n"), "{prompt}");
            }
        }
    }
    sandbox.assert_log_sound();
}

#[test]
fn an_operation_is_done_once_and_an_idea_in_work_is_refused() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let bytes = document("DO: hold work; write a.txt x; say COMPLETE").to_string();
    let send = |query: &str, operation: &str| {
        let path = format!("agents/import{query}");
        sandbox
            .post_file(&path, bytes.as_bytes(), operation)
            .unwrap()
    };
    let (status, first) = send("", "import-1");
    assert_eq!(
        (status, &first["ideaId"]),
        (200, &json!("idea-001")),
        "{first}"
    );
    let (status, again) = send("", "import-1");
    assert_eq!(
        (status, &again["ideaId"]),
        (200, &json!("idea-001")),
        "{again}"
    );
    assert_eq!(again["doneBefore"], true);
    assert_eq!(sandbox.ideas().len(), 1);
    sandbox.wait_held("work");
    let (status, refused) = send("?ideaId=idea-001", "import-2");
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("NOT_NOW")),
        "{refused}"
    );
    let (status, refused) = send("?profile=nobody", "import-3");
    assert_eq!(
        refused["error"]["code"], "PROFILE_UNKNOWN",
        "{status} {refused}"
    );
    sandbox.release("work");
    sandbox.wait_idea("idea-001", "done");
    daemon.stop();
}

/// Files that are refused: what is wrong with each, and its bytes.
fn hostile() -> Vec<(String, Vec<u8>)> {
    let whole = document("Do it.");
    let changes = [
        ("/format", json!("swarm-export")),
        ("/format", json!(null)),
        ("/format", json!(["swarm-agent"])),
        ("/version", json!("2.0.0")),
        ("/version", json!("1")),
        ("/version", json!(1)),
        ("/exportedAt", json!("never")),
        ("/source/swarmId", json!("../../etc/passwd")),
        ("/source/seq", json!(-1)),
        ("/identity/id", json!("../cl-001")),
        ("/identity/id", json!("")),
        ("/identity/name", json!("Not A Name")),
        ("/identity/ideaId", json!("idea 1")),
        ("/identity/ideaText", json!("")),
        ("/identity/ideaText", json!("x".repeat(100_000))),
        ("/identity/attempt", json!("1")),
        ("/tokenUsage/total", json!(1.5)),
        ("/tokenUsage", json!(null)),
        ("/messageLog", json!("none")),
        ("/messageLog/0/role", json!("assistant")),
        ("/messageLog/0/role", json!("system")),
        ("/messageLog/0/run", json!("../../run")),
        ("/messageLog/1/toolCalls", json!([])),
        ("/messageLog/2/toolCallId", json!("other")),
        ("/repairs/0/at", json!("a b")),
        (
            "/conversation",
            json!({"kind": "claude", "session": "x y", "file": "f", "sha256": ""}),
        ),
        ("/contexts", json!(7)),
        ("/contexts/dreams", json!({"id": "dreams"})),
        ("/contexts/notes/items", json!({})),
        ("/contexts/worktree/tip", json!("HEAD")),
        ("/contexts/worktree/base", json!(format!("{OID}^"))),
    ];
    let mut files: Vec<(String, Vec<u8>)> = changes
        .into_iter()
        .map(|(pointer, value)| {
            let mut document = whole.clone();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let parent = document.pointer_mut(parent).unwrap();
            let what = format!("{pointer} = {value:.60}");
            match parent.as_array_mut() {
                Some(list) => list[name.parse::<usize>().unwrap()] = value,
                None => parent[name] = value,
            }
            (what, document.to_string().into_bytes())
        })
        .collect();
    let text = whole.to_string();
    files.push(("half".into(), text.as_bytes()[..text.len() / 2].to_vec()));
    files.push(("empty".into(), vec![]));
    files.push(("no text".into(), [text.as_bytes(), b"\xff"].concat()));
    files.push((
        "two documents".into(),
        [text.as_bytes(), text.as_bytes()].concat(),
    ));
    files.push(("compressed".into(), vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0]));
    files.push(("deep".into(), "[".repeat(200_000).into_bytes()));
    files.push(("too long".into(), vec![b' '; 64 * 1024 * 1024 + 1]));
    files
}

#[test]
fn damaged_and_hostile_files_are_refused_and_change_nothing() {
    let sandbox = Sandbox::ready();
    sandbox.idea_with("say COMPLETE", &["--priority", "1"]);
    let file = sandbox.path("agent.json");
    let name = file.to_str().unwrap().to_owned();
    let files = hostile();
    assert!(files.len() >= 30, "{}", files.len());
    let before = Fingerprint::of(&sandbox.repo());
    for (what, bytes) in &files {
        fs::write(&file, bytes).unwrap();
        let refused = sandbox.swarm(&["agent", "import", &name]);
        assert_eq!(refused.code, 1, "{what}: {refused}");
        assert!(
            refused.stderr.contains("->"),
            "{what} has no way out: {refused}"
        );
        assert_unchanged(&sandbox, &before, what);
    }
    let link = sandbox.path("folder");
    fs::create_dir(&link).unwrap();
    sandbox
        .swarm(&["agent", "import", link.to_str().unwrap()])
        .refused(1, &["a directory"]);
    sandbox
        .swarm(&["agent", "import", "none.json"])
        .refused(1, &["none.json"]);
    assert_unchanged(&sandbox, &before, "what is no file");

    sandbox.configure(&json!({"mode": "semi-auto"}));
    let daemon = sandbox.start();
    for (what, bytes) in &files {
        if what == "too long" {
            continue;
        }
        fs::write(&file, bytes).unwrap();
        let refused = sandbox.swarm(&["agent", "import", &name]);
        assert_eq!(refused.code, 1, "{what}: {refused}");
    }
    assert!(sandbox.logged("agentImported").is_empty());
    assert_eq!(sandbox.ideas().len(), 1);
    assert_eq!(kept_files(&sandbox), 0);
    daemon.stop();
}
