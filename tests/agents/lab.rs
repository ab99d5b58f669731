//! A sandbox, a scripted model, and profiles of the real programs that talk to it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use swarm::domain::usage::Tokens;

use crate::harness::Sandbox;
use crate::programs;
use crate::stub::{Dialect, Stub};

/// See the module.
pub struct Lab {
    pub sandbox: Sandbox,
    pub stub: Stub,
}

/// The programs of every test run, which are the names of their profiles too.
pub const BOTH: [&str; 2] = ["claude", "codex"];

/// How long work may take that real programs do: each takes seconds to start, and some of them
/// start at once.
pub const WORK: Duration = Duration::from_secs(120);

/// Stops where it stands until the test lets it go: `sh hold NAME` makes `NAME.here` and waits for
/// `NAME.go`. Standing still is in a session of its own, as the tools of most agents are.
const HOLD: &str = r#"
: >"$0.$1.here"
while [ ! -e "$0.$1.go" ]; do sleep 0.05; done
"#;

impl Lab {
    /// A repository with one commit, set up for both programs; claude is the one that is used.
    pub fn new() -> Self {
        Self::with(&json!({}))
    }

    /// The same with these changes to the configuration.
    pub fn with(changes: &Value) -> Self {
        let sandbox = Sandbox::new();
        sandbox.swarm(&["init", "--yes", "--agent", "command"]).ok();
        let lab = Self {
            sandbox,
            stub: Stub::start(),
        };
        fs::create_dir(lab.sandbox.path("codex")).unwrap();
        fs::write(lab.sandbox.path("hold"), HOLD).unwrap();
        lab.configure(changes);
        lab
    }

    /// Writes the configuration anew, with these changes.
    pub fn configure(&self, changes: &Value) {
        let mut config = json!({"agents": {
            "profile": "claude",
            "profiles": {"claude": self.claude(), "codex": self.codex()},
        }});
        merge(&mut config, changes);
        self.sandbox.configure(&config);
    }

    /// A program's profile.
    pub fn profile(&self, name: &str) -> Value {
        match name {
            "claude" => self.claude(),
            _ => self.codex(),
        }
    }

    /// Profiles of programs that give up at the first failure, instead of trying again for minutes.
    pub fn impatient(&self) -> Value {
        let mut claude = self.claude();
        claude["env"]["CLAUDE_CODE_MAX_RETRIES"] = "0".into();
        let mut codex = self.codex();
        let args = codex["args"].as_array_mut().unwrap();
        for setting in ["request_max_retries=0", "stream_max_retries=0"] {
            args.extend([
                "-c".into(),
                format!("model_providers.stub.{setting}").into(),
            ]);
        }
        json!({"agents": {"profiles": {"claude": claude, "codex": codex}}})
    }

    /// Claude as one uses it with a subscription: only then it tells when a limit is reset.
    pub fn subscribed(&self) -> Value {
        let mut changes = self.impatient();
        let env = &mut changes["agents"]["profiles"]["claude"]["env"];
        env["ANTHROPIC_API_KEY"] = "".into();
        env["CLAUDE_CODE_OAUTH_TOKEN"] = "made-up".into();
        changes
    }

    fn claude(&self) -> Value {
        json!({"adapter": "claude", "model": "claude-sonnet-4-5", "env": {
            "PATH": path(), "ANTHROPIC_BASE_URL": self.stub.url(), "ANTHROPIC_API_KEY": "made-up",
                "IS_SANDBOX": "1",
        }})
    }

    fn codex(&self) -> Value {
        let provider = "model_providers.stub";
        let settings = [
            "model_provider=stub".to_owned(),
            format!("{provider}.name=stub"),
            format!("{provider}.base_url={}/v1", self.stub.url()),
            format!("{provider}.wire_api=responses"),
            format!("{provider}.env_key=STUB_KEY"),
            "analytics.enabled=false".to_owned(),
        ];
        let mut args: Vec<&str> = settings
            .iter()
            .flat_map(|setting| ["-c", setting.as_str()])
            .collect();
        args.extend(["--disable", "plugins", "--disable", "apps"]);
        json!({"adapter": "codex", "model": "gpt-5", "args": args, "env": {
            "PATH": path(), "CODEX_HOME": self.sandbox.path("codex"), "STUB_KEY": "made-up",
        }})
    }

    /// A command with a profile's environment.
    pub fn command_of(&self, profile: &Value) -> Command {
        let program = programs::folder().join(profile["adapter"].as_str().unwrap());
        let mut command = self.sandbox.command(program);
        for (name, value) in profile["env"].as_object().unwrap() {
            command.env(name, value.as_str().unwrap());
        }
        for of in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{of}_NAME"), "An agent");
            command.env(format!("GIT_{of}_EMAIL"), "agent@example.org");
        }
        command
    }

    /// Adds an idea for this profile whose model does this; gives its id.
    pub fn idea(&self, profile: &str, script: &Value) -> String {
        let text = prompt(script);
        let args = ["idea", "add", text.as_str(), "--profile", profile];
        self.sandbox.swarm(&args).ok().trim().to_owned()
    }

    /// Adds an idea for each program; gives their ids.
    pub fn ideas(&self, script: impl Fn(&str) -> Value) -> [String; 2] {
        BOTH.map(|name| self.idea(name, &script(name)))
    }

    /// Starts a daemon that must get everything done.
    pub fn work_off(&self) {
        self.work_off_within(WORK);
    }

    /// The same in so much time.
    pub fn work_off_within(&self, time: Duration) {
        assert_eq!(self.sandbox.run_until_idle_within(time), 0);
        for idea in self.sandbox.ideas() {
            assert_eq!(idea["status"], "done", "{idea:#}");
        }
        self.sandbox.assert_nothing_runs();
    }

    /// Waits for a condition as long as work may take.
    pub fn wait<T>(&self, what: &str, condition: impl FnMut() -> Option<T>) -> T {
        self.sandbox.wait_within(WORK, what, condition)
    }

    /// Waits until an idea stands so.
    pub fn wait_idea(&self, id: &str, status: &str) -> Value {
        self.wait(&format!("{id} to be {status}"), || {
            Some(self.sandbox.show(id)).filter(|idea| idea["status"] == status)
        })
    }

    /// Waits until the account is held; how.
    pub fn wait_account(&self, name: &str, held: &str) -> Value {
        self.wait(&format!("{name} to be held: {held}"), || {
            let status = self.sandbox.status();
            let mut accounts = status["accounts"].as_array()?.iter();
            accounts
                .find(|account| account["account"] == name && account["held"] == held)
                .cloned()
        })
    }

    /// Iterations of all attempts at an idea, by the log.
    pub fn iterations(&self, idea: &str) -> Vec<Value> {
        let log = self.sandbox.log();
        let claims = log
            .iter()
            .filter(|event| event.kind == "ideaClaimed" && event.data["id"] == idea);
        let agents: Vec<&Value> = claims.map(|event| &event.data["agent"]).collect();
        let of_them = log
            .iter()
            .filter(|event| agents.contains(&&event.data["agent"]));
        let begun = of_them.filter(|event| event.kind == "iterationStarted");
        begun.map(|event| event.data.clone()).collect()
    }

    /// Shell code that stands still until [`Lab::release`].
    pub fn hold(&self, name: &str) -> String {
        format!("sh {} {name}", self.sandbox.path("hold").display())
    }

    /// Waits until a tool stands at [`Lab::hold`].
    pub fn wait_held(&self, name: &str) {
        let path = self.sandbox.path(&format!("hold.{name}.here"));
        self.wait(&format!("a tool at `hold {name}`"), || {
            path.exists().then_some(())
        });
    }

    /// Waits until the programs' own records hold the answer that they work on: they write them a
    /// little later.
    pub fn wait_recorded(&self) {
        for name in BOTH {
            let asked = self.stub.asked_for(&format!("{name}.txt"));
            let id = &asked.last().unwrap().id;
            let records = [
                self.sandbox.path("home/.claude/projects"),
                self.sandbox.path("codex/sessions"),
            ];
            self.wait(&format!("{id} in the records of {name}"), || {
                records.iter().any(|folder| holds(folder, id)).then_some(())
            });
        }
    }

    /// Waits until each program's tool stands at the place of its name.
    pub fn wait_both_held(&self) {
        for name in BOTH {
            self.wait_held(name);
        }
    }

    /// Lets both go on.
    pub fn release_both(&self) {
        for name in BOTH {
            self.release(name);
        }
    }

    /// Lets what stands there go on.
    pub fn release(&self, name: &str) {
        fs::write(self.sandbox.path(&format!("hold.{name}.go")), "").unwrap();
    }
}

/// A prompt with a script.
pub fn prompt(script: &Value) -> String {
    format!("An idea of the test\n\nSTUB:{script}\n")
}

/// Shell code that writes a file and commits it.
pub fn commit(file: &str, content: &str) -> String {
    format!("echo {content} > {file} && git add {file} && git commit -qm 'Write {file}'")
}

/// The agents' programs in front of the usual ones.
fn path() -> String {
    let usual = std::env::var("PATH").unwrap();
    format!("{}:{usual}", programs::folder().display())
}

/// Whether any file below the folder holds these words.
pub fn holds(folder: &Path, words: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| match fs::read(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).contains(words),
        Err(_) => holds(&path, words),
    })
}

/// What a program speaks.
pub fn dialect(name: &str) -> Dialect {
    match name {
        "claude" => Dialect::Anthropic,
        _ => Dialect::Responses,
    }
}

/// The tokens of what a command says was used.
pub fn tokens(used: &Value) -> Tokens {
    let number = |name: &str| used["tokens"][name].as_u64().unwrap_or(0);
    Tokens {
        input: number("input"),
        cached: number("cached"),
        cache_written: number("cacheWritten"),
        output: number("output"),
    }
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
