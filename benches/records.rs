//! Provenance records: what it takes to record one iteration in a large repository, and to list
//! many records.
//!
//! `BENCH_FILES` (5000), `BENCH_CHANGED` (20), `BENCH_RECORDS` (10000), `BENCH_ROUNDS` (15);
//! `BENCH_ONLY=iteration` or `list` runs one half.

mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::daemon::{configure, swarm as call};
use common::log::Maker;
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, chosen, command, ensure, isolated, note, run, size, wanted};
use serde_json::{Value, json};
use swarm::daemon::Paths;
use swarm::daemon::provenance::{build, store};
use swarm::domain::ids::RunId;
use swarm::domain::observation::{RunEnd, RunEndKind};
use swarm::domain::state::records::OwedRecord;
use swarm::domain::state::{Said, Task};
use swarm::domain::time::Timestamp;
use swarm::git::{KeepIgnored, KeepTrees, Oid, Places, Prepare, Repo, TreeAt};
use swarm::view::provenance::Record;

/// To record an iteration must take at most this, in milliseconds.
const RECORD: f64 = 60.0;
/// To list 10,000 records must take at most this, in milliseconds.
const LIST: f64 = 1_000.0;
/// Name of the agent's worktree.
const WORKTREE: &str = "w01";
/// Calls of tools in the output of an iteration.
const CALLS: usize = 40;
/// 2026-01-01.
const EPOCH_MS: i64 = 1_767_225_600_000;

fn main() -> Result {
    // The library runs git in this process.
    if !wanted() || isolated()? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let rounds = size("BENCH_ROUNDS", 15, 2)?;
    if chosen("iteration") {
        iteration(folder.path(), rounds)?;
    }
    if chosen("list") {
        list(folder.path(), rounds)?;
    }
    Ok(())
}

/// An iteration that left uncommitted files: a commit would only make it cheaper.
fn iteration(folder: &Path, rounds: usize) -> Result {
    let (files, changed) = (
        size("BENCH_FILES", 5_000, 50)?,
        size("BENCH_CHANGED", 20, 4)?,
    );
    println!("records: an iteration that changed {changed} of {files} files, milliseconds");
    let template = Template::new(&folder.join("template"), files)?;
    let copy = template.copy(&folder.join("iteration"))?;
    let site = Site::new(&copy)?;
    let [mut ours, mut files_after, mut record, mut floor] = [(); 4].map(|()| Samples::new());
    for round in 0..rounds {
        site.change(round, changed)?;
        let mine = || site.record(round);
        let theirs = || timed(|| site.with_git_alone(round));
        let (times, git) = if round % 2 == 0 {
            let first = mine()?;
            (first, theirs()?.0)
        } else {
            let first = theirs()?.0;
            (mine()?, first)
        };
        site.expect(round, changed)?;
        ours.push(millis(times.files + times.record));
        files_after.push(millis(times.files));
        record.push(millis(times.record));
        floor.push(millis(git));
    }
    files_after.show("its files as a tree, for which agents wait", "ms");
    record.show("its record and its reference, beside them", "ms");
    floor.show("floor, the same tree by a shell script of git", "ms");
    Goal::AtMost(RECORD).judge("both", &ours, "ms");
    Goal::AtMost(1.5).judge("both / git", &ours.over(&floor), "x");
    Ok(())
}

/// A repository with an agent's worktree.
struct Site<'a> {
    copy: &'a Copy,
    paths: Paths,
    repo: Repo,
    base: Oid,
}

/// How long the parts of a record took.
struct Times {
    files: Duration,
    record: Duration,
}

impl<'a> Site<'a> {
    fn new(copy: &'a Copy) -> Result<Self> {
        configure(copy, "semi-auto", 1, &[])?;
        let root = copy.root();
        let repo = Repo::open(&root)?;
        repo.settle_folder(&Places {
            root: Some(copy.home()),
            ..Places::default()
        })?;
        let base: Oid = copy.git(&["rev-parse", "main"])?.trim().parse()?;
        repo.prepare_worktree(&Prepare {
            name: WORKTREE.to_owned(),
            branch: "agent/local-001/idea-001".to_owned(),
            base,
            from: None,
            saved: None,
            keep: KeepIgnored::All,
        })?;
        Ok(Self {
            copy,
            paths: Paths::new(&root),
            repo,
            base,
        })
    }

    fn worktree(&self) -> std::path::PathBuf {
        self.paths.worktree(WORKTREE)
    }

    /// Half of the changed files are old ones.
    fn change(&self, round: usize, changed: usize) -> Result {
        for at in 0..changed {
            let part = self.worktree().join(format!("src/part{at:02}"));
            let name = if at % 2 == 0 {
                format!("file{at:05}.txt")
            } else {
                format!("new{at:05}.txt")
            };
            fs::write(part.join(name), format!("round {round}, file {at}\n"))?;
        }
        Ok(())
    }

    /// All that swarm does for a record when the iteration has ended.
    fn record(&self, round: usize) -> Result<Times> {
        let run = run_of(round)?;
        let output = self.write_run(&run)?;
        let (files, after) = timed(|| self.repo.worktree_tree(WORKTREE))?;
        let owed = owed(after, output)?;
        let (record, ()) = timed(|| self.keep(&run, &owed, after))?;
        Ok(Times { files, record })
    }

    fn keep(&self, run: &RunId, owed: &OwedRecord, after: TreeAt) -> Result {
        let record = build(&self.paths, &self.repo, run, owed)?;
        self.repo.keep_trees(&KeepTrees {
            reference: "refs/swarm/provenance/2026-01".to_owned(),
            message: format!("{run}: idea-001 iteration 1\n"),
            identity: self.repo.identity()?,
            time: owed.ended_at,
            before: Some(TreeAt {
                commit: self.base,
                tree: self.base,
            }),
            after,
        })?;
        store::write(&self.paths, &record)?;
        Ok(())
    }

    /// What a launch and a program leave in the run's directory; the length of the output.
    fn write_run(&self, run: &RunId) -> Result<u64> {
        let folder = self.paths.runs.join(run.as_str());
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("prompt.md"), "Do it. ".repeat(1_000))?;
        let write = |name: &str, value: Value| fs::write(folder.join(name), value.to_string());
        write(
            "agent.json",
            json!({ "adapter": "claude", "model": "sonnet" }),
        )?;
        let base = self.base.to_string();
        write(
            "inputs.json",
            json!({
                "profile": "local",
                "contextFiles": [],
                "systemPromptHash": "6".repeat(64),
                "configHash": "7".repeat(64),
                "environment": {
                    "names": ["HOME", "SWARM_WORKTREE"],
                    "values": { "SWARM_WORKTREE": self.worktree() },
                },
                "before": { "commit": base, "tree": base },
            }),
        )?;
        let output = output();
        fs::write(folder.join("stdout.log"), &output)?;
        Ok(output.len() as u64)
    }

    /// The commands that keep the same files under a reference, with a separate index.
    fn with_git_alone(&self, round: usize) -> Result {
        let tree = self.worktree();
        let script = format!(
            "set -e\n\
             cd '{}'\n\
             git_dir=$(git rev-parse --git-dir)\n\
             cp \"$git_dir/index\" \"$git_dir/bench-index\"\n\
             GIT_INDEX_FILE=\"$git_dir/bench-index\" git add -A\n\
             tree=$(GIT_INDEX_FILE=\"$git_dir/bench-index\" git write-tree)\n\
             commit=$(git commit-tree -p HEAD -m kept \"$tree\")\n\
             git update-ref refs/bench/{round} \"$commit\"\n\
             rm \"$git_dir/bench-index\"",
            tree.display()
        );
        let mut shell = command("/bin/sh", &self.copy.home());
        run(shell.arg("-c").arg(script)).map(drop)
    }

    /// The record names the files, and both sides kept the same.
    fn expect(&self, round: usize, changed: usize) -> Result {
        let content = fs::read(self.paths.record(&run_of(round)?))?;
        let record: Record = serde_json::from_slice(&content)?;
        let tree = |name: &str| {
            let name = format!("{name}^{{tree}}");
            self.copy.git(&["rev-parse", "--verify", &name])
        };
        let kept = tree("refs/swarm/provenance/2026-01")?;
        let calls = record.outputs.tool_calls.len();
        let found = (record.outputs.artifacts.len(), calls);
        ensure(found == (changed, CALLS), || {
            format!("the record has (files, calls) {found:?}")
        })?;
        ensure(kept == tree(&format!("refs/bench/{round}"))?, || {
            "the two sides kept different files".to_owned()
        })
    }
}

fn run_of(round: usize) -> Result<RunId> {
    Ok(format!("r{:04}-local-001-i1", round + 1).parse()?)
}

/// What the state knows of the iteration.
fn owed(after: TreeAt, output: u64) -> Result<OwedRecord> {
    let started_at = Timestamp::from_millis(EPOCH_MS);
    Ok(OwedRecord {
        agent: "local-001".parse()?,
        idea: "idea-001".parse()?,
        attempt: 1,
        iteration: 1,
        profile: "local".parse()?,
        task: Task::Work,
        started_at,
        ended_at: started_at.plus_millis(90_000),
        adapter: Some("claude".to_owned()),
        said: Some(Said::Complete),
        session: None,
        end: RunEnd {
            stdout_bytes: output,
            duration_ms: 90_000,
            head: Some(after.commit.to_string().parse()?),
            tree: Some(after.tree.to_string()),
            ..RunEnd::new(RunEndKind::Exited { code: 0 })
        },
        gate: vec![],
    })
}

/// The stream of a program that reads a file in each call.
fn output() -> String {
    let assistant = |content: Value| {
        let model = "claude-sonnet-4-5-20250929";
        let message = json!({
            "id": "m1", "role": "assistant", "model": model, "content": content,
        });
        json!({ "type": "assistant", "session_id": "s", "message": message })
    };
    let mut lines = String::new();
    for call in 0..CALLS {
        let (id, file) = (
            format!("t{call}"),
            format!("src/part{call:02}/file{call:05}.txt"),
        );
        let asked = json!([
            { "type": "text", "text": "I look at the next file." },
            { "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": file } },
        ]);
        let given = json!([{
            "type": "tool_result", "tool_use_id": id, "content": "x".repeat(600),
            "is_error": false,
        }]);
        let given = json!({ "type": "user", "message": { "role": "user", "content": given } });
        for line in [assistant(asked), given] {
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
    }
    lines
}

/// The whole program lists all records, and the newest ones.
fn list(folder: &Path, rounds: usize) -> Result {
    let records = size("BENCH_RECORDS", 10_000, 20)?;
    note(format!("making a log of {records} records"));
    let template = Template::new(&folder.join("small"), 10)?;
    let copy = template.copy(&folder.join("list"))?;
    configure(&copy, "semi-auto", 1, &[])?;
    let state = copy.root().join(".swarm/state");
    let mut maker = Maker::recording(&state)?;
    maker.work_until_recorded(records as u64)?;
    maker.finish()?;
    println!(
        "records: a list of {records} in a log of {} events, milliseconds",
        maker.state.seq
    );
    drop(maker);
    let most = (2 * records).to_string();
    let [mut all, mut newest, mut floor] = [(); 3].map(|()| Samples::new());
    for _ in 0..rounds {
        let args = ["provenance", "list", "--json", "--limit", &most];
        let (time, text) = timed(|| call(&copy, &args))?;
        all.push(millis(time));
        let listed: Value = serde_json::from_str(&text)?;
        let listed = listed.as_array().map_or(0, Vec::len);
        let (time, _) = timed(|| call(&copy, &["provenance", "list"]))?;
        newest.push(millis(time));
        let (time, counted) = timed(|| count(&copy, &state))?;
        floor.push(millis(time));
        ensure(listed >= records && listed == counted, || {
            format!("{listed} are listed, {counted} are in the log, {records} were made")
        })?;
    }
    newest.show("swarm provenance list, the newest 50", "ms");
    floor.show("floor, grep counts them in the log", "ms");
    Goal::AtMost(LIST).judge("swarm provenance list of all, --json", &all, "ms");
    Ok(())
}

/// The records by the log's lines.
fn count(copy: &Copy, state: &Path) -> Result<usize> {
    let mut grep = command("/bin/sh", &copy.home());
    let line = "cat \"$1\"/events*.jsonl | grep -c '\"kind\":\"iterationRecorded\"'";
    let counted = run(grep.args(["-c", line, "sh"]).arg(state))?;
    Ok(counted.trim().parse()?)
}
