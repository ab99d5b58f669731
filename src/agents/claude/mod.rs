//! The adapter `claude`: Claude Code in print mode, with a stream of JSON lines.
//!
//! Invariant: each run is one turn, with the prompt on standard input and a conversation id that
//! swarm chose. A profile's `args` cannot change the output format.

mod conversation;
mod reader;
mod usage;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::adapter::{
    Adapter, AdapterError, Conversation, Launch, LaunchContext, Login, ProgramInfo, StartedAs,
    UsageReporting, is_option,
};
use super::conversation::{PlaceError, Placement};
use super::environment::{Environment, set};
use super::stream::{ByLine, OutputReader};
use crate::domain::session::SessionId;

/// Starts `claude -p`.
#[derive(Debug)]
pub struct ClaudeAdapter;

static ABOUT: ProgramInfo = ProgramInfo {
    title: "Claude Code",
    program: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    oldest: (2, 1, 0),
    owned: &[
        "-p",
        "--print",
        "--output-format",
        "--input-format",
        "--verbose",
        "--include-partial-messages",
        "--replay-user-messages",
        "--json-schema",
        "--prompt-suggestions",
        // The conversation.
        "--session-id",
        "-r",
        "--resume",
        "-c",
        "--continue",
        "--fork-session",
        "--from-pr",
        "--no-session-persistence",
        // The model is the profile's `model`.
        "--model",
        // Ends that swarm could not tell from failures; it has limits of its own.
        "--max-turns",
        "--max-budget-usd",
        // Places other than the worktree, and forms other than one run.
        "-w",
        "--worktree",
        "--tmux",
        "--bg",
        "--background",
        "--cloud",
        "--teleport",
        "--desktop",
        "--remote-control",
        "-h",
        "--help",
        "-v",
        "--version",
        "--",
    ],
    permits: "It may run any command, change any file and reach any address that you can, without \
        asking (--dangerously-skip-permissions). `--permission-mode` in `args` overrides this.",
    log_in: "run `claude` and log in, or set ANTHROPIC_API_KEY",
    login,
    resumes: true,
};

/// Options in a profile's `args` that set the agent's permissions, and replace the default one.
const PERMISSIONS: &[&str] = &[
    "--dangerously-skip-permissions",
    "--permission-mode",
    "--restricted",
];

/// Options with which Claude Code would not read swarm's settings (of several `--settings` it reads
/// the last), or runs no hooks.
const WITHOUT_HOOKS: &[&str] = &["--settings", "--bare", "--safe-mode"];

/// File of the run's directory that names the server of the memory's tools.
const SERVERS: &str = "mcp.json";

/// Variables that contain a login, or that select another provider with its own logins.
const LOGINS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

impl Adapter for ClaudeAdapter {
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError> {
        let (program, mut args) = context.program(&ABOUT);
        let own = context.own_args(&ABOUT)?;
        let fixed = [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            // What a run that is killed has used is known from these alone.
            "--include-partial-messages",
        ];
        args.extend(fixed.map(OsString::from));
        if !context.says(PERMISSIONS) {
            args.push("--dangerously-skip-permissions".into());
        }
        if let Some(model) = &context.profile.model {
            args.extend(["--model".into(), model.into()]);
        }
        let (option, session, resumed) = match &context.talk {
            Conversation::New(session) => ("--session-id", session, false),
            Conversation::Resume(session) => ("--resume", session, true),
        };
        args.extend([option.into(), session.as_str().into()]);
        if let Some(memory) = &context.memory {
            // Each `--mcp-config` adds servers, so those of the user and the profile stay.
            args.extend(["--mcp-config".into(), memory.file(SERVERS)]);
        }
        let guard = context.guard.as_ref().filter(|_| !keeps_hooks_out(context));
        if let Some(guard) = guard {
            args.extend(["--settings".into(), guard.settings_file()]);
        }
        args.extend(own);
        let mut launch = context.launch(program, args)?;
        if let Some(memory) = &context.memory {
            launch.add_memory_file(SERVERS, &memory.for_claude());
        }
        if let Some(guard) = guard {
            launch.files.extend(guard.files());
            launch.has_read_guard = true;
        }
        launch.started.session = Some(session.clone());
        launch.started.resumed = resumed;
        launch.started.records = self.records(&launch.env);
        for (name, value) in settings() {
            launch.unless_set(name, value);
        }
        Ok(launch)
    }

    fn reader(&self, started: &StartedAs) -> Box<dyn OutputReader + Send> {
        Box::new(ByLine::new(reader::ClaudeReader::new(started.resumed)))
    }

    fn meanwhile(&self) -> UsageReporting {
        UsageReporting::Tokens
    }

    fn at_end(&self) -> UsageReporting {
        UsageReporting::Both
    }

    fn program_info(&self) -> Option<&'static ProgramInfo> {
        Some(&ABOUT)
    }

    fn passes(&self) -> &'static [&'static str] {
        &[
            "ANTHROPIC_*",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_*",
            "CLAUDE_CODE_SKIP_*",
            "CLAUDE_CODE_CLIENT_*",
            "CLAUDE_CODE_MAX_*",
            "CLAUDE_CODE_DISABLE_*",
            "CLAUDE_CODE_SUBAGENT_MODEL",
            "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
            "CLOUD_ML_REGION",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "API_TIMEOUT_MS",
            "BASH_DEFAULT_TIMEOUT_MS",
            "BASH_MAX_TIMEOUT_MS",
            "MAX_THINKING_TOKENS",
            "IS_SANDBOX",
        ]
    }

    fn records(&self, environment: &Environment) -> Option<PathBuf> {
        home(environment).map(|home| home.join("projects"))
    }

    fn conversation_file(
        &self,
        records: &Path,
        session: &SessionId,
        worktree: &Path,
    ) -> io::Result<Option<PathBuf>> {
        conversation::find(records, session, worktree)
    }

    fn names_conversation(&self, name: &str, session: &SessionId) -> bool {
        name == conversation::name_of(session)
    }

    fn place_conversation(
        &self,
        records: &Path,
        conversation: &mut Placement<'_>,
    ) -> Result<PathBuf, PlaceError> {
        conversation::place(records, conversation)
    }
}

/// Whether the profile keeps out a hook of swarm.
fn keeps_hooks_out(context: &LaunchContext<'_>) -> bool {
    let of_program = context.profile.command.iter().skip(1);
    let mut args = of_program.chain(&context.profile.args);
    args.any(|arg| WITHOUT_HOOKS.iter().any(|option| is_option(arg, option)))
}

/// What it is told where nobody said anything else: no updates and no other traffic in the middle
/// of a run; and as root it runs without asking only where it is told that it may.
fn settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let always = [
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ];
    let root = nix::unistd::geteuid().is_root();
    always
        .into_iter()
        .chain(root.then_some(("IS_SANDBOX", "1")))
}

/// Directory of Claude Code's settings and records.
fn home(environment: &Environment) -> Option<PathBuf> {
    let own = set(environment, "CLAUDE_CONFIG_DIR").map(PathBuf::from);
    own.or_else(|| Some(PathBuf::from(set(environment, "HOME")?).join(".claude")))
}

fn login(environment: &Environment) -> Login {
    if let Some(by) = Login::by_variable(environment, LOGINS) {
        return by;
    }
    let Some(folder) = home(environment) else {
        return Login::Unknown;
    };
    let file = folder.join(".credentials.json");
    if file.exists() {
        return Login::By(file.display().to_string());
    }
    // On a Mac it is in the keychain; a helper that gives keys is named in the settings.
    if cfg!(target_os = "macos") || folder.join("settings.json").exists() {
        return Login::Unknown;
    }
    Login::Missing(format!("{} and {}", LOGINS[..3].join(", "), file.display()))
}
