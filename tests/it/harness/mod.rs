//! A sandbox: a temporary folder with a home, a repository and a scripted agent, and the programs
//! run in it.
//!
//! Invariants: nothing outside the folder is read or written; every wait has a deadline and shows
//! the daemon's output when it fails; on drop everything that carries the folder's path is ended,
//! and a test that passed must not have left anything to end.

mod agent;
pub mod archive;
mod ask;
mod daemon;
mod disk;
mod fingerprint;
mod git;
pub mod git_format;
mod journal;
pub mod processes;
pub mod required_tools;
mod screen;
mod terminal;
mod tracer;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use daemon::Daemon;
pub use fingerprint::Fingerprint;
pub use git::{files_in, is_spare};
pub use journal::Logged;
pub use screen::Screen;
pub use terminal::Terminal;
pub use tracer::{Harm, Traced};

/// The warnings of a `status` or `report`, but for the standing one about missing quality commands.
pub fn raised(view: &Value) -> Vec<Value> {
    let all = view["warnings"].as_array().unwrap().iter();
    let raised = all.filter(|warning| warning["kind"] != "no-checks");
    raised.cloned().collect()
}

/// How long anything may take that has no limit of its own.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How often a condition is looked at.
const TICK: Duration = Duration::from_millis(4);

/// The folder that one test lives in.
pub struct Sandbox {
    folder: tempfile::TempDir,
    /// Where the daemons' output went, oldest first.
    logs: Mutex<Vec<PathBuf>>,
}

/// What a finished command left.
#[derive(Debug, Clone)]
pub struct Ran {
    /// What was run, for messages.
    pub what: String,
    /// Its exit code; 128 + signal where a signal ended it.
    pub code: i32,
    /// Its data.
    pub stdout: String,
    /// Its messages.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl Sandbox {
    /// A home and a place for agents' traces; no repository.
    pub fn empty() -> Self {
        let folder = tempfile::Builder::new().prefix("swarm-it-").tempdir();
        let sandbox = Self {
            folder: folder.unwrap(),
            logs: Mutex::default(),
        };
        for name in ["home", "out", "tmp", "repo"] {
            fs::create_dir(sandbox.path(name)).unwrap();
        }
        // A commit or a fetch would leave a process of git's running for a moment.
        let config = "[maintenance]\n\tautoDetach = false\n";
        fs::write(sandbox.path("gitconfig"), config).unwrap();
        fs::write(sandbox.path("agent.sh"), agent::SCRIPT).unwrap();
        sandbox
    }

    /// With a repository: branch `main`, one commit.
    pub fn new() -> Self {
        let sandbox = Self::empty();
        sandbox.git(&["init", "-q", "-b", "main"]);
        // A test that takes `.swarm/.gitignore` away must not stumble over views that are being
        // written.
        let exclude = sandbox.repo().join(".git/info/exclude");
        fs::create_dir_all(exclude.parent().unwrap()).unwrap();
        fs::write(exclude, "/.swarm/.view-*.tmp\n").unwrap();
        sandbox.write("README.md", "a project\n");
        sandbox.commit("Begin");
        sandbox
    }

    /// With a repository that is set up: the scripted agent, no quality commands.
    pub fn ready() -> Self {
        let sandbox = Self::new();
        sandbox.set_up();
        sandbox
    }

    /// Sets the repository up with the scripted agent.
    pub fn set_up(&self) {
        self.swarm(&["init", "--yes", "--agent", "command"]).ok();
        self.configure(&json!({}));
    }

    /// A path in the sandbox.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The repository.
    pub fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    /// A path in `.swarm/`.
    pub fn dot_swarm(&self, name: &str) -> PathBuf {
        self.repo().join(".swarm").join(name)
    }

    /// A path in `<git directory>/swarm/`.
    pub fn private(&self, name: &str) -> PathBuf {
        self.repo().join(".git/swarm").join(name)
    }

    /// The folder of the worktrees.
    pub fn worktrees(&self) -> PathBuf {
        let path = fs::read_to_string(self.repo().join(".git/swarm/worktrees"));
        PathBuf::from(path.unwrap().trim_end())
    }

    /// What `swarm path` says.
    pub fn path_of(&self, id: &str) -> PathBuf {
        self.swarm(&["path", id]).ok().trim_end().into()
    }

    /// Removes the state and the second names of its log: nothing is left of it.
    pub fn lose_state(&self) {
        fs::remove_dir_all(self.dot_swarm("state")).unwrap();
        self.lose_second_names();
    }

    /// Removes the second names of the log: what is removed from `.swarm/state` then is lost.
    pub fn lose_second_names(&self) {
        fs::remove_dir_all(self.private("log")).unwrap();
    }

    /// Writes a file of the repository.
    pub fn write(&self, name: &str, content: &str) {
        let path = self.repo().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The content of a file of the repository.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.repo().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Writes `config.json`: quick tests' settings with these changes.
    pub fn configure(&self, changes: &Value) {
        let mut config = json!({
            "$schema": "./config.schema.json",
            "mode": "autopilot",
            "target": "main",
            "agents": {"maxParallel": 2, "profile": "ed",
                "profiles": {"ed": self.profile("agent.sh")}},
            "checkpoints": {"beforeAutopilot": false},
            // Most quality commands of these tests are about agents' trees; see `baseline`.
            "checks": {"baseline": "off", "canary": "off"},
            "shutdown": {"graceSeconds": 1},
        });
        merge(&mut config, changes);
        let text = serde_json::to_string_pretty(&config).unwrap();
        let new = self.dot_swarm(".config.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.dot_swarm("config.json")).unwrap();
    }

    /// The profile that runs a script of this sandbox.
    pub fn profile(&self, script: &str) -> Value {
        json!({"adapter": "command", "command": ["sh", self.path(script)],
            "env": {"OUT": self.path("out")}})
    }

    /// A command in this sandbox's environment and nothing else.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("LC_ALL", "C.UTF-8")
            .env("GIT_CONFIG_GLOBAL", self.path("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(git_format::variables())
            .current_dir(self.repo())
            .stdin(Stdio::null());
        command
    }

    /// A `swarm` command in the repository.
    pub fn swarm_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_swarm"));
        command.args(args);
        command
    }

    /// Runs `swarm` in the repository to its end.
    pub fn swarm(&self, args: &[&str]) -> Ran {
        self.run(&mut self.swarm_command(args), b"", PATIENCE)
    }

    /// Runs `swarm` with this on standard input.
    pub fn swarm_fed(&self, args: &[&str], input: &[u8]) -> Ran {
        self.run(&mut self.swarm_command(args), input, PATIENCE)
    }

    /// Runs `swarm` in another folder.
    pub fn swarm_in(&self, folder: &Path, args: &[&str]) -> Ran {
        let mut command = self.swarm_command(args);
        self.run(command.current_dir(folder), b"", PATIENCE)
    }

    /// Types a line into a shell in the repository, `swarm` on its PATH.
    pub fn shell(&self, line: &str) -> Ran {
        let own = Path::new(env!("CARGO_BIN_EXE_swarm")).parent().unwrap();
        let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
        let mut command = self.command("sh");
        command.args(["-c", line]).env("PATH", path);
        for name in [
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ] {
            command.env(name, "person@example.org");
        }
        self.run(&mut command, b"", PATIENCE)
    }

    /// Runs a command to its end, within the limit.
    pub fn run(&self, command: &mut Command, input: &[u8], limit: Duration) -> Ran {
        let mut stdin = tempfile::tempfile().unwrap();
        stdin.write_all(input).unwrap();
        stdin.rewind().unwrap();
        let mut stdout = tempfile::tempfile().unwrap();
        let mut stderr = tempfile::tempfile().unwrap();
        command
            .stdin(stdin)
            .stdout(stdout.try_clone().unwrap())
            .stderr(stderr.try_clone().unwrap());
        let what = format!("{command:?}");
        let what = what.split_once("TMPDIR=").map_or(&*what, |(_, rest)| rest);
        let begun = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{what}: {e}"));
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > limit {
                let _ = child.kill();
                let _ = child.wait();
                self.fail(&format!("{what} took longer than {limit:?}"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = begun.elapsed();
        let code = daemon::code(child.wait().unwrap());
        Ran {
            what: what.to_owned(),
            code,
            stdout: whole(&mut stdout),
            stderr: whole(&mut stderr),
            took,
        }
    }

    /// Adds an idea whose agent does this; gives its id.
    pub fn idea(&self, doing: &str) -> String {
        self.idea_with(doing, &[])
    }

    /// Adds an idea with further arguments of `idea add`.
    pub fn idea_with(&self, doing: &str, args: &[&str]) -> String {
        let text = format!("An idea of the test\n\nDO: {doing}");
        let mut all = vec!["idea", "add", text.as_str()];
        all.extend(args);
        self.swarm(&all).ok().trim().to_owned()
    }

    /// `status --json`.
    pub fn status(&self) -> Value {
        self.swarm(&["status", "--json"]).json()
    }

    /// The warnings of `status`, but for the standing one about missing quality commands.
    pub fn warnings(&self) -> Vec<Value> {
        raised(&self.status())
    }

    /// `idea list --json`.
    pub fn ideas(&self) -> Vec<Value> {
        let list = self.swarm(&["idea", "list", "--json"]).json();
        list.as_array().unwrap().clone()
    }

    /// `idea show ID --json`.
    pub fn show(&self, id: &str) -> Value {
        self.swarm(&["idea", "show", id, "--json"]).json()
    }

    /// How an idea stands.
    pub fn idea_status(&self, id: &str) -> String {
        self.show(id)["status"].as_str().unwrap().to_owned()
    }

    /// Waits until an idea stands so.
    pub fn wait_idea(&self, id: &str, status: &str) -> Value {
        self.wait_for(&format!("{id} to be {status}"), || {
            Some(self.show(id)).filter(|idea| idea["status"] == status)
        })
    }

    /// Waits until `status --json` satisfies a condition.
    pub fn wait_status(&self, what: &str, mut condition: impl FnMut(&Value) -> bool) -> Value {
        self.wait_for(what, || {
            Some(self.status()).filter(|status| condition(status))
        })
    }

    /// Waits until a person is asked for this kind of help.
    pub fn wait_needs_you(&self, kind: &str) -> Value {
        self.wait_for(&format!("needsYou of kind {kind}"), || {
            let status = self.status();
            let asked = status["needsYou"].as_array().unwrap().iter();
            asked.clone().find(|need| need["kind"] == kind).cloned()
        })
    }

    /// Waits for a condition, no longer than [`PATIENCE`].
    pub fn wait_for<T>(&self, what: &str, condition: impl FnMut() -> Option<T>) -> T {
        self.wait_within(PATIENCE, what, condition)
    }

    /// Waits for a condition, no longer than the limit.
    pub fn wait_within<T>(
        &self,
        limit: Duration,
        what: &str,
        mut condition: impl FnMut() -> Option<T>,
    ) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = condition() {
                return found;
            }
            if begun.elapsed() > limit {
                self.fail(&format!("waited {limit:?} for {what}"));
            }
            std::thread::sleep(TICK);
        }
    }

    /// Fails the test and shows what the daemons said, the last events and what runs.
    pub fn fail(&self, why: &str) -> ! {
        let mut shown = String::new();
        for log in self.logs.lock().unwrap().iter().rev().take(2) {
            let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
            writeln!(shown, "--- {}\n{}", log.display(), end(&text, 4000)).unwrap();
        }
        let events = fs::read_to_string(self.dot_swarm("state/events.jsonl")).unwrap_or_default();
        let diary = fs::read_to_string(self.dot_swarm("logs/daemon.jsonl")).unwrap_or_default();
        panic!(
            "{why}\n{shown}--- events\n{}\n--- daemon.jsonl\n{}\n--- running\n{}\n",
            end(&events, 6000),
            end(&diary, 3000),
            processes::of(self.folder.path()).join("\n"),
        );
    }

    /// What the scripted agents noted under this name: a line for each time.
    pub fn notes(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path("out").join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until an agent stands at `hold NAME`.
    pub fn wait_held(&self, name: &str) {
        let path = self.path("out").join(format!("{name}.here"));
        self.wait_for(&format!("an agent at `hold {name}`"), || {
            path.exists().then_some(())
        });
    }

    /// Lets the agents at `hold NAME` go on, now and later.
    pub fn release(&self, name: &str) {
        fs::write(self.path("out").join(format!("{name}.go")), "").unwrap();
    }

    /// Every process that belongs to this sandbox.
    pub fn processes(&self) -> Vec<String> {
        processes::of(self.folder.path())
    }

    /// Waits a moment until nothing of this sandbox runs.
    pub fn assert_nothing_runs(&self) {
        self.wait_within(Duration::from_secs(2), "every process to be gone", || {
            self.processes().is_empty().then_some(())
        });
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let left = processes::end_all(self.folder.path());
        if std::thread::panicking() && std::env::var_os("SWARM_IT_KEEP").is_some() {
            self.folder.disable_cleanup(true);
            eprintln!("kept: {}", self.folder.path().display());
        }
        if !std::thread::panicking() {
            assert!(left.is_empty(), "left running: {}", left.join("\n"));
        }
    }
}

impl Ran {
    /// It must have succeeded; its data.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "{self}");
        &self.stdout
    }

    /// It must have succeeded with one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(self.ok()).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// The command that a message gives, from its beginning to the end of the line.
    pub fn command(&self, begin: &str) -> &str {
        let from = self.stderr.find(begin);
        let from = from.unwrap_or_else(|| panic!("`{begin}` is missing: {self}"));
        self.stderr[from..].lines().next().unwrap_or_default()
    }

    /// It must have been refused with this code and a message that holds these words.
    #[track_caller]
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self}");
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is missing: {self}");
        }
        assert!(self.stdout.is_empty(), "data of a refused command: {self}");
        assert!(!self.stderr.contains("panicked"), "{self}");
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} ended with {} after {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.what,
            self.code,
            self.took,
            end(&self.stdout, 3000),
            end(&self.stderr, 3000)
        )
    }
}

/// The end of a text.
fn end(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(0)..]
}

fn whole(file: &mut fs::File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Objects key by key, everything else replaced.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
