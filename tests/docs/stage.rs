//! The stage that a page's commands run on: a home with a repository, a stand-in for Claude Code,
//! and nothing else of this machine.
//!
//! Invariant: what is shown has no path of this machine; on drop everything that was started here
//! is ended.

use std::fs;
use std::io::{Read as _, Seek as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const PRELUDE: &str = include_str!("stage/prelude.sh");
const REPOSITORY: &str = include_str!("stage/repository.sh");
const CLAUDE: &str = include_str!("stage/claude");

/// The program under test.
const SWARM: &str = env!("CARGO_BIN_EXE_swarm");

/// Agents that may be installed here.
const AGENTS: &[&str] = &["claude", "codex", "opencode", "gemini", "aider"];

/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A stage.
pub struct Stage {
    folder: TempDir,
    /// The rest of `PATH`.
    path: String,
    /// Where the next command starts, as after `cd`.
    at: PathBuf,
}

/// What a command did.
pub struct Ran {
    /// Output and messages, as a terminal mixes them, with the paths of the story.
    pub shown: Vec<String>,
    /// Its exit code.
    pub code: i32,
}

impl Stage {
    /// With a repository of one commit, in which swarm is not set up.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("swarm-docs-").tempdir();
        let folder = folder.unwrap();
        let mut stage = Self {
            at: folder.path().join("home/hello"),
            path: path_without_agents(folder.path()),
            folder,
        };
        let settings = "home/.config/swarm";
        for name in [
            "home/hello",
            "home/.local/bin",
            "home/.claude",
            settings,
            "tmp",
        ] {
            fs::create_dir_all(stage.inside(name)).unwrap();
        }
        // A probe of the checks ends earlier or later beside the agents.
        let settings = stage.inside(settings).join("config.json");
        fs::write(settings, r#"{"checks": {"canary": "off"}}"#).unwrap();
        symlink(SWARM, stage.inside("home/.local/bin/swarm")).unwrap();
        let claude = stage.inside("home/.local/bin/claude");
        fs::write(&claude, CLAUDE).unwrap();
        fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(stage.inside("home/.claude/.credentials.json"), "{}").unwrap();
        let identity =
            "[user]\nname = You\nemail = you@example.com\n[advice]\ndetachedHead = false\n";
        fs::write(stage.inside("home/.gitconfig"), identity).unwrap();
        stage.set_up(REPOSITORY);
        stage
    }

    /// A path on it.
    pub fn inside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a script that nobody sees; it must succeed.
    pub fn set_up(&mut self, script: &str) {
        let ran = self.script(&format!("set -eu\n{PRELUDE}\n{script}"));
        assert!(
            ran.code == 0,
            "the setup failed:\n{script}\n{}",
            ran.shown.join("\n")
        );
    }

    /// Runs a command as it is typed.
    pub fn run(&mut self, command: &str) -> Ran {
        self.script(command)
    }

    /// Writes a file, executable if it is a script.
    pub fn write(&self, path: &str, content: &str) {
        let path = self.at.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        if content.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Merges these keys into the configuration.
    pub fn configure(&self, fragment: &str) -> Result<(), String> {
        let whole = if fragment.trim_start().starts_with('{') {
            fragment.to_owned()
        } else {
            format!("{{{fragment}}}")
        };
        let changes: Value = serde_json::from_str(&whole).map_err(|error| error.to_string())?;
        let path = self.inside("home/hello/.swarm/config.json");
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let mut config: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        merge(&mut config, &changes);
        fs::write(&path, format!("{config:#}\n")).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn script(&mut self, script: &str) -> Ran {
        let mut output = tempfile::tempfile().unwrap();
        let left_in = self.inside("tmp/left-in");
        let script = format!("{script}\ncode=$?; pwd >{}; exit $code", left_in.display());
        let path = &self.path;
        let mut command = Command::new("bash");
        command
            .args(["-c", &script])
            .env_clear()
            .env("HOME", self.inside("home"))
            .env(
                "PATH",
                format!("{}:{path}", self.inside("home/.local/bin").display()),
            )
            .env("TMPDIR", self.inside("tmp"))
            .env("USER", "you")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(&self.at)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output.try_clone().unwrap())
            .process_group(0);
        let mut child = command.spawn().unwrap();
        let pid = child.id();
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || ended.send(child.wait()));
        let code = if let Ok(status) = end.recv_timeout(PATIENCE) {
            status.unwrap().code().unwrap_or(-1)
        } else {
            kill(&pid.to_string());
            end.recv().unwrap().unwrap();
            -2
        };
        if let Ok(left) = fs::read_to_string(&left_in) {
            self.at = PathBuf::from(left.trim_end());
        }
        let mut text = Vec::new();
        output.rewind().unwrap();
        output.read_to_end(&mut text).unwrap();
        let text = self.as_told(&String::from_utf8_lossy(&text));
        let mut shown: Vec<String> = text
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect();
        while shown.last().is_some_and(String::is_empty) {
            shown.pop();
        }
        if code == -2 {
            shown.push(format!("(not over after {PATIENCE:?})"));
        }
        Ran { shown, code }
    }

    /// With the paths of the story instead of those of this machine.
    fn as_told(&self, text: &str) -> String {
        let here = self.folder.path().to_string_lossy().into_owned();
        text.replace(SWARM, "/home/you/.local/bin/swarm")
            .replace(&self.path, "/usr/local/bin:/usr/bin:/bin")
            .replace(&format!("{here}/home"), "/home/you")
            .replace(&here, "")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mark = self.folder.path().to_string_lossy().into_owned();
        // A process may start another just before it ends, so until none is left.
        let begun = Instant::now();
        loop {
            let left = carrying(&mark);
            if left.is_empty() || begun.elapsed() > PATIENCE {
                break;
            }
            for pid in &left {
                kill(pid);
            }
        }
    }
}

/// Kills a process of the stage. One that has just ended by itself is as good.
fn kill(pid: &str) {
    let mut kill = Command::new("kill");
    drop(kill.args(["-9", pid]).stderr(Stdio::null()).status());
}

/// Processes whose environment names this folder.
fn carrying(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let numbers = pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let names_it = |pid: &String| {
        let environment = fs::read(Path::new("/proc").join(pid).join("environ"));
        environment.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(mark))
    };
    numbers.filter(names_it).collect()
}

/// This machine's `PATH`, where no agent of this machine is found: a folder that has one is
/// replaced by links to what else it has.
fn path_without_agents(here: &Path) -> String {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&inherited)
        .enumerate()
        .map(|(index, folder)| {
            if !AGENTS.iter().any(|agent| folder.join(agent).exists()) {
                return folder;
            }
            let links = here.join(format!("path-{index}"));
            fs::create_dir(&links).unwrap();
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if !AGENTS.iter().any(|agent| name == *agent) {
                    symlink(entry.path(), links.join(name)).unwrap();
                }
            }
            links
        });
    let joined = std::env::join_paths(folders).unwrap();
    joined.into_string().unwrap()
}

fn merge(into: &mut Value, changes: &Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, change) in changes {
                merge(into.entry(key.clone()).or_insert(Value::Null), change);
            }
        }
        (into, change) => *into = change.clone(),
    }
}
