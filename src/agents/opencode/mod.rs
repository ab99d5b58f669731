//! The adapter `opencode`: opencode without its interface, with a stream of JSON lines.
//!
//! Invariant: each run is one turn, with the prompt on standard input. The user's configuration of
//! opencode applies. A profile's `args` cannot change the output format.

mod log;
mod reader;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::adapter::{
    Adapter, AdapterError, Conversation, Launch, LaunchContext, Login, ProgramInfo, StartedAs,
    UsageReporting,
};
use super::environment::{Environment, set};
use super::stream::{ByLine, OutputReader};

/// Starts `opencode run --format json`.
#[derive(Debug)]
pub struct OpencodeAdapter;

static ABOUT: ProgramInfo = ProgramInfo {
    title: "opencode",
    program: "opencode",
    install: "npm install -g opencode-ai",
    oldest: (1, 18, 0),
    owned: &[
        // Other forms of a run, and of what it writes.
        "run",
        "acp",
        "attach",
        "serve",
        "web",
        "--format",
        "--print-logs",
        "--log-level",
        "--command",
        "--interactive",
        "-i",
        "--mini",
        // The model is the profile's `model`.
        "-m",
        "--model",
        // The conversation.
        "-s",
        "--session",
        "-c",
        "--continue",
        "--fork",
        "--title",
        // Places other than the worktree.
        "--attach",
        "--dir",
        "-h",
        "--help",
        "-v",
        "--version",
        "--",
    ],
    permits: "It may run any command, change any file and reach any address that you can, without \
        asking (--auto). What `permission` in opencode's own configuration denies stays denied.",
    log_in: "run `opencode auth login`, or set the API key of a provider",
    login,
    resumes: true,
};

/// Options in a profile's `args` that set the agent's permissions, and replace the default one.
const PERMISSIONS: &[&str] = &["--auto", "--yolo", "--dangerously-skip-permissions"];

/// Variable with a configuration that is added to those in files.
const CONFIGURATION: &str = "OPENCODE_CONFIG_CONTENT";

/// Variables that are its own: settings, and behind those the keys of the services that it knows.
const PASSED: &[&str] = &[
    "OPENCODE_*",
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "OPENCODE_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
];

/// Those of them that log it in: the keys.
const LOGINS: &[&str] = PASSED.split_at(3).1;

impl Adapter for OpencodeAdapter {
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError> {
        let (program, mut args) = context.program(&ABOUT);
        let own = context.own_args(&ABOUT)?;
        // That it waits for its service it tells in its log alone.
        let fixed = [
            "run",
            "--format",
            "json",
            "--thinking",
            "--print-logs",
            "--log-level",
            "ERROR",
        ];
        args.extend(fixed.map(OsString::from));
        if !context.says(PERMISSIONS) {
            args.push(PERMISSIONS[0].into());
        }
        if let Some(model) = &context.profile.model {
            args.extend(["-m".into(), model.into()]);
        }
        match &context.talk {
            // It names its conversations itself. Without a title it asks the model for one, and
            // does not tell what that used.
            Conversation::New(_) => {
                let title = format!("swarm {}", context.work.idea_id);
                args.extend(["--title".into(), title.into()]);
            }
            Conversation::Resume(session) => {
                args.extend(["--session".into(), session.as_str().into()]);
            }
        }
        args.extend(own);
        let mut launch = context.launch(program, args)?;
        launch.unless_set("OPENCODE_DISABLE_AUTOUPDATE", "1");
        let configured = set(&launch.env, CONFIGURATION).map(OsStr::to_string_lossy);
        let memory = context.memory.as_ref();
        if let Some(config) = memory.and_then(|it| it.for_opencode(configured.as_deref())) {
            launch.env.insert(CONFIGURATION.into(), config.into());
            launch.has_memory_tools = true;
        }
        Ok(launch)
    }

    fn reader(&self, started: &StartedAs) -> Box<dyn OutputReader + Send> {
        Box::new(ByLine::new(reader::OpencodeReader::new(started)))
    }

    fn meanwhile(&self) -> UsageReporting {
        UsageReporting::Both
    }

    fn at_end(&self) -> UsageReporting {
        UsageReporting::Both
    }

    fn program_info(&self) -> Option<&'static ProgramInfo> {
        Some(&ABOUT)
    }

    fn passes(&self) -> &'static [&'static str] {
        PASSED
    }
}

/// Some of its models need no login: of none it can be said that it is missing.
fn login(environment: &Environment) -> Login {
    if let Some(by) = Login::by_variable(environment, LOGINS) {
        return by;
    }
    let own = set(environment, "XDG_DATA_HOME").map(PathBuf::from);
    let home = || Some(Path::new(set(environment, "HOME")?).join(".local/share"));
    let file = own
        .or_else(home)
        .map(|data| data.join("opencode/auth.json"));
    match file.filter(|file| file.exists()) {
        Some(file) => Login::By(file.display().to_string()),
        None => Login::Unknown,
    }
}
