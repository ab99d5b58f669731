//! A repository with the directory of an iteration that is over, for tests of records.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::daemon::Paths;
use crate::domain::ids::RunId;
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::state::records::{GateResult, OwedRecord};
use crate::domain::state::{Said, Task};
use crate::domain::time::Timestamp;
use crate::domain::usage::{Bill, MicroUsd, Tokens, Usage};
use crate::git::{Repo, run_as};
use crate::journal::{Disk, Journal, JournalEvent};

/// The model of the run.
const MODEL: &str = "claude-sonnet-4-5-20250929";

/// The repository.
pub(super) struct Site {
    _dir: tempfile::TempDir,
    pub(super) paths: Paths,
    pub(super) repo: Repo,
    pub(super) run: RunId,
    pub(super) before: String,
    pub(super) after: String,
}

impl Site {
    /// The iteration changed a file, deleted one and made one.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet", "--initial-branch=main"]);
        let before = commit(dir.path(), &[("a.txt", "one\n"), ("old.txt", "old\n")]);
        let after = commit(dir.path(), &[("a.txt", "two\n"), ("new/b.txt", "b\n")]);
        let paths = Paths::new(dir.path());
        fs::create_dir_all(&paths.state).unwrap();
        let site = Self {
            repo: Repo::open(dir.path()).unwrap(),
            run: "r0001-ed-001-i1".parse().unwrap(),
            before,
            after,
            paths,
            _dir: dir,
        };
        site.write_run();
        site
    }

    /// Adds events to the log.
    pub(super) fn log(&self, events: &[Written]) {
        let disk = Box::new(Disk);
        let (mut journal, _) = Journal::open_with(&self.paths.state, 64 << 20, disk).unwrap();
        for batch in events.chunks(1_000) {
            let expected = journal.position().seq;
            let at = owed(self).ended_at;
            journal.append(expected, at, batch).unwrap();
        }
    }

    /// Two more commits on the branch.
    pub(super) fn commit_between(&self) -> Middle {
        let inner = commit(&self.paths.root, &[("c.txt", "1\n")]);
        let tip = commit(&self.paths.root, &[("c.txt", "2\n")]);
        Middle { inner, tip }
    }

    /// The path of a file in the run's directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.paths.runs.join(self.run.as_str()).join(name)
    }

    fn write_run(&self) {
        fs::create_dir_all(self.file("")).unwrap();
        let gate = self.paths.runs.join("r0002-ed-001-g1");
        fs::create_dir_all(&gate).unwrap();
        let counts = "test result: FAILED. 11 passed; 1 failed; 0 ignored; 0 measured; 0 filtered \
            out; finished in 0.10s\n";
        fs::write(gate.join("stdout.log"), counts).unwrap();
        let prompt = format!("Add a flag. The key is AKIA{}.\n", "ABCDEFGHIJKLMNOP");
        fs::write(self.file("prompt.md"), prompt).unwrap();
        let write = |name: &str, value: Value| {
            fs::write(self.file(name), value.to_string()).unwrap();
        };
        write(
            "agent.json",
            json!({ "adapter": "claude", "model": "sonnet" }),
        );
        let items = json!([{ "ref": "api.port", "version": 3 }]);
        write(
            "memory.json",
            json!({ "items": items, "fresh": true, "held": false }),
        );
        let rule = json!({ "path": ".swarm/rules/style.md", "sha256": "5".repeat(64), "size": 20 });
        write(
            "inputs.json",
            json!({
                "profile": "ed",
                "contextFiles": [rule],
                "systemPromptHash": "6".repeat(64),
                "configHash": "7".repeat(64),
                "environment": { "names": ["HOME", "LANG"], "values": { "LANG": "C.UTF-8" } },
                "before": { "commit": self.before, "tree": self.before },
            }),
        );
        let lines: Vec<String> = output().iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.file("stdout.log"), lines.concat()).unwrap();
    }
}

/// An event as it is written; this room reads events whose types it does not know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Written {
    kind: String,
    data: Value,
}

impl Written {
    pub(super) fn new(kind: &str, data: Value) -> Self {
        let kind = kind.to_owned();
        Self { kind, data }
    }
}

impl JournalEvent for Written {
    fn mark() -> Self {
        Self::new("mark", json!({}))
    }

    fn kind(&self) -> &str {
        &self.kind
    }
}

/// Two commits of one iteration.
pub(super) struct Middle {
    /// The first.
    pub(super) inner: String,
    /// The second, where its branch ended.
    pub(super) tip: String,
}

/// What the program wrote.
fn output() -> [Value; 5] {
    let session = "0b6bd7a8-8b0e-4e6a-9d5e-1f3d6a2c4b10";
    let message = |content: Value| {
        let role = "assistant";
        json!({ "id": "m1", "role": role, "model": MODEL, "content": content })
    };
    [
        json!({ "type": "system", "subtype": "init", "session_id": session, "model": MODEL }),
        json!({ "type": "assistant", "session_id": session, "message": message(json!([
            { "type": "text", "text": "I look first." },
            { "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "ls" } },
        ])) }),
        json!({ "type": "user", "session_id": session, "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": "a.txt", "is_error": false },
        ] } }),
        json!({ "type": "assistant", "session_id": session, "message": message(json!([
            { "type": "text", "text": "Done.\n<swarm>COMPLETE</swarm>" },
            { "type": "tool_use", "id": "t2", "name": "Read", "input": { "file_path": "a.txt" } },
        ])) }),
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "Done." }),
    ]
}

fn git(root: &Path, words: &[&str]) -> String {
    run_as("t", Some(1_767_225_600), root, words).unwrap()
}

/// Commits exactly these files, without touching the checkout; returns the commit.
fn commit(root: &Path, files: &[(&str, &str)]) -> String {
    git(root, &["read-tree", "--empty"]);
    for (path, content) in files {
        let draft = root.join(".git/content");
        fs::write(&draft, content).unwrap();
        let blob = git(root, &["hash-object", "-w", ".git/content"]);
        let entry = format!("100644,{blob},{path}");
        git(root, &["update-index", "--add", "--cacheinfo", &entry]);
    }
    git(
        root,
        &["commit", "--quiet", "--no-verify", "--message=work"],
    );
    git(root, &["rev-parse", "HEAD"])
}

/// What the state knows of the iteration.
pub(super) fn owed(site: &Site) -> OwedRecord {
    let started_at = Timestamp::from_millis(1_767_225_600_000);
    let tokens = Tokens {
        input: 1_000,
        cached: 800,
        cache_written: 200,
        output: 150,
    };
    let gate = GateResult {
        run: "r0002-ed-001-g1".parse().unwrap(),
        command: "cargo test".to_owned(),
        passed: Some(false),
        how: Some("exit code 101".to_owned()),
    };
    OwedRecord {
        agent: "ed-001".parse().unwrap(),
        idea: "idea-003".parse().unwrap(),
        attempt: 1,
        iteration: 1,
        profile: "ed".parse().unwrap(),
        task: Task::Work,
        started_at,
        ended_at: started_at.plus_millis(90_000),
        adapter: Some("claude".to_owned()),
        said: Some(Said::Complete),
        session: None,
        end: RunEnd {
            stdout_bytes: fs::metadata(site.file("stdout.log")).map_or(0, |it| it.len()),
            duration_ms: 90_000,
            head: Some(site.after.parse().unwrap()),
            tree: Some(site.after.clone()),
            usage: Some(Usage {
                model: Some(MODEL.to_owned()),
                ..Usage::default()
            }),
            bill: Some(Bill {
                tokens: Some(tokens),
                cost: Some(MicroUsd(12_500)),
                ..Bill::default()
            }),
            ..RunEnd::new(RunEndKind::Exited { code: 0 })
        },
        gate: vec![gate],
    }
}
