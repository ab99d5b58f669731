//! The adapter `claude`: Claude Code in print mode, with a stream of JSON lines.
//!
//! Invariant: each run is one turn, with the prompt on standard input and a conversation id that
//! swarm chose. A profile's `args` cannot change the output format.

mod reader;
mod usage;

use std::ffi::OsString;
use std::path::PathBuf;

use super::adapter::{
    Adapter, AdapterError, Conversation, Launch, LaunchContext, Login, ProgramInfo, StartedAs,
    UsageReporting,
};
use super::environment::{Environment, set};
use super::stream::{ByLine, OutputReader};

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
        args.extend(own);
        let mut launch = context.launch(program, args)?;
        if let Some(memory) = &context.memory {
            launch.add_memory_file(SERVERS, &memory.for_claude());
        }
        launch.started.session = Some(session.clone());
        launch.started.resumed = resumed;
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

fn login(environment: &Environment) -> Login {
    if let Some(by) = Login::by_variable(environment, LOGINS) {
        return by;
    }
    let own = set(environment, "CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let home = || set(environment, "HOME").map(|home| PathBuf::from(home).join(".claude"));
    let Some(folder) = own.or_else(home) else {
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
