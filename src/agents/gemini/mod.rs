//! The adapter `gemini`: Gemini CLI without its interface, with a stream of JSON lines.
//!
//! Invariant: each run is one turn, with the prompt on standard input and a conversation id that
//! swarm chose. A profile's `args` cannot change the output format. It takes a server of tools only
//! from files of the user, the repository or the machine, so its agents get no tools for the memory.

mod failure_cause;
mod reader;
mod records;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::adapter::{
    Adapter, AdapterError, Conversation, Launch, LaunchContext, Login, ProgramInfo, StartedAs,
    UsageReporting,
};
use super::environment::{Environment, set};
use super::stream::{ByLine, Conclusion, OutputReader};
use crate::domain::verdict::Verdict;

/// Starts `gemini --output-format stream-json`.
#[derive(Debug)]
pub struct GeminiAdapter;

static ABOUT: ProgramInfo = ProgramInfo {
    title: "Gemini CLI",
    program: "gemini",
    install: "npm install -g @google/gemini-cli",
    oldest: (0, 61, 0),
    owned: &[
        // Other forms of a run, and of what it writes.
        "-p",
        "--prompt",
        "-i",
        "--prompt-interactive",
        "-o",
        "--output-format",
        "--acp",
        "--experimental-acp",
        "--list-extensions",
        "-l",
        "--list-sessions",
        "--delete-session",
        "mcp",
        "extensions",
        "extension",
        "skills",
        "skill",
        "hooks",
        "hook",
        "gemma",
        // The model is the profile's `model`.
        "-m",
        "--model",
        // The conversation.
        "--session-id",
        "--session-file",
        "-r",
        "--resume",
        // A place other than the worktree.
        "-w",
        "--worktree",
        "-h",
        "--help",
        "-v",
        "--version",
        "--",
    ],
    permits: "It may run any command, change any file and reach any address that you can, without \
              asking (--yolo). It also trusts the settings, hooks and servers that the repository \
              configures for it (--skip-trust). `--approval-mode` in `args` overrides --yolo.",
    log_in: "run `gemini` and log in, or set GEMINI_API_KEY",
    login,
    resumes: true,
};

/// Options in a profile's `args` that set the agent's permissions, and replace the default one.
const PERMISSIONS: &[&str] = &["--yolo", "-y", "--approval-mode"];

/// Variables that contain a login, or that select another provider with its own logins.
const LOGINS: &[&str] = &[
    "GEMINI_API_KEY",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GEMINI_CLI_USE_COMPUTE_ADC",
    "CLOUD_SHELL",
];

impl Adapter for GeminiAdapter {
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError> {
        let (program, mut args) = context.program(&ABOUT);
        let own = context.own_args(&ABOUT)?;
        // Nobody is there to say that a worktree, which is a new folder each time, may be worked
        // in.
        args.extend(["-o", "stream-json", "--skip-trust"].map(OsString::from));
        if !context.says(PERMISSIONS) {
            args.push("--yolo".into());
        }
        if let Some(model) = &context.profile.model {
            args.extend(["-m".into(), model.into()]);
        }
        let (option, session) = match &context.talk {
            Conversation::New(session) => ("--session-id", session),
            Conversation::Resume(session) => ("--resume", session),
        };
        args.extend([option.into(), session.as_str().into()]);
        args.extend(own);
        let mut launch = context.launch(program, args)?;
        launch.started.session = Some(session.clone());
        launch.started.records = home(&launch.env).map(|home| home.join("tmp"));
        // Else it runs in a process below its own, and does not hear that it is to end.
        launch.unless_set("GEMINI_CLI_NO_RELAUNCH", "true");
        Ok(launch)
    }

    fn reader(&self, started: &StartedAs) -> Box<dyn OutputReader + Send> {
        Box::new(ByLine::new(reader::GeminiReader::new(started)))
    }

    fn at_end(&self) -> UsageReporting {
        UsageReporting::Tokens
    }

    fn program_info(&self) -> Option<&'static ProgramInfo> {
        Some(&ABOUT)
    }

    fn passes(&self) -> &'static [&'static str] {
        &[
            "GEMINI_API_KEY",
            "GEMINI_API_KEY_AUTH_MECHANISM",
            "GEMINI_MODEL",
            "GEMINI_SANDBOX",
            "GEMINI_CLI_HOME",
            "GEMINI_CLI_CUSTOM_HEADERS",
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
            "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
            "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
            "GEMINI_CLI_USE_COMPUTE_ADC",
            "GOOGLE_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_*",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_GENAI_*",
            "GOOGLE_VERTEX_BASE_URL",
            "CLOUD_SHELL",
        ]
    }

    /// What a run used that was cut off, and that an answer broke off after tools had run, which
    /// the program takes for a success.
    fn amend(&self, started: &StartedAs, concluded: &mut Conclusion) -> io::Result<()> {
        let session = concluded.session.as_ref().or(started.session.as_ref());
        // A run that the model had not answered yet has nothing in the records, and what is last
        // there is another's.
        let (Some(folder), Some(session), Some(usage)) =
            (&started.records, session, &mut concluded.usage)
        else {
            return Ok(());
        };
        let found = records::last_run(folder, session)?;
        if usage.partial
            && let Some(tokens) = found.tokens
        {
            usage.tokens = Some(tokens);
        }
        if found.broken_off && concluded.verdict == Some(Verdict::Complete) {
            usage.partial = true;
            concluded.verdict = Some(Verdict::Cut);
        }
        Ok(())
    }
}

/// Directory of Gemini CLI's settings and records.
fn home(environment: &Environment) -> Option<PathBuf> {
    let folder = set(environment, "GEMINI_CLI_HOME").or_else(|| set(environment, "HOME"))?;
    Some(PathBuf::from(folder).join(".gemini"))
}

fn login(environment: &Environment) -> Login {
    if let Some(by) = Login::by_variable(environment, LOGINS) {
        return by;
    }
    let Some(home) = home(environment) else {
        return Login::Unknown;
    };
    let file = home.join("oauth_creds.json");
    if file.exists() {
        return Login::By(file.display().to_string());
    }
    // The settings name the kind of login, whose key may be in the system's keyring; a file may set
    // variables.
    let repository = set(environment, "SWARM_REPO").map(Path::new);
    let above = repository.into_iter().flat_map(Path::ancestors);
    let mut variables = above
        .chain(home.parent())
        .flat_map(|folder| [folder.join(".env"), folder.join(".gemini/.env")]);
    if home.join("settings.json").exists() || variables.any(|file| file.exists()) {
        return Login::Unknown;
    }
    Login::Missing(format!(
        "{}, {} and {}",
        LOGINS[0],
        LOGINS[2],
        file.display()
    ))
}
