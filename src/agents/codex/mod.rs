//! The adapter `codex`: Codex without its interface, with a stream of JSON lines.
//!
//! Invariant: each run is one turn, with the prompt on standard input. The user's configuration of
//! Codex applies, except for what a run needs. A profile's `args` cannot change the output format.

mod conversation;
mod reader;
mod records;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::Profile;
use super::adapter::{
    Adapter, AdapterError, Conversation, Launch, LaunchContext, Login, ProgramInfo, StartedAs,
    UsageReporting, is_option,
};
use super::conversation::{PlaceError, Placement};
use super::environment::{Environment, set};
use super::memory_server::MemoryServer;
use super::stream::{ByLine, Conclusion, OutputReader};
use crate::domain::session::SessionId;
use crate::domain::usage::Usage;

/// Starts `codex exec --json`.
#[derive(Debug)]
pub struct CodexAdapter;

static ABOUT: ProgramInfo = ProgramInfo {
    title: "Codex",
    program: "codex",
    install: "npm install -g @openai/codex",
    oldest: (0, 169, 0),
    owned: &[
        "exec",
        "resume",
        "fork",
        "review",
        "help",
        "--json",
        "--experimental-json",
        "--output-schema",
        // The model is the profile's `model`.
        "-m",
        "--model",
        // The conversation.
        "--last",
        "--all",
        "--ephemeral",
        // Places other than the worktree.
        "-C",
        "--cd",
        "--worktree",
        "-h",
        "--help",
        "-V",
        "--version",
        "-",
        "--",
    ],
    permits: "It may run any command, change any file and reach any address that you can, without \
        asking (--dangerously-bypass-approvals-and-sandbox). `--sandbox` in `args` overrides \
        this.",
    log_in: "run `codex login`, or set CODEX_API_KEY",
    login,
    resumes: true,
};

/// Options in a profile's `args` that set the agent's permissions, and replace the default one.
const PERMISSIONS: &[&str] = &[
    "--dangerously-bypass-approvals-and-sandbox",
    "--approve-for-me",
    "--sandbox",
    "-s",
];

/// Variables that contain a login.
const LOGINS: &[&str] = &["CODEX_API_KEY", "CODEX_ACCESS_TOKEN"];

impl Adapter for CodexAdapter {
    fn launch(&self, context: &LaunchContext<'_>) -> Result<Launch, AdapterError> {
        let (program, mut args) = context.program(&ABOUT);
        let own = context.own_args(&ABOUT)?;
        args.extend(["exec", "--json"].map(OsString::from));
        if !context.says(PERMISSIONS) {
            args.push(PERMISSIONS[0].into());
        }
        if let Some(model) = &context.profile.model {
            args.extend(["-m".into(), model.into()]);
        }
        args.extend(["-c", "check_for_update_on_startup=false"].map(OsString::from));
        let memory = context.memory.as_ref().map(MemoryServer::for_codex);
        for setting in memory.iter().flatten() {
            args.extend(["-c".into(), setting.into()]);
        }
        args.extend(own);
        let session = match &context.talk {
            // Codex chooses the id of a new conversation.
            Conversation::New(_) => None,
            Conversation::Resume(session) => {
                args.extend(["resume", session.as_str()].map(OsString::from));
                Some(session.clone())
            }
        };
        args.push("-".into());
        let mut launch = context.launch(program, args)?;
        launch.has_memory_tools = memory.is_some();
        launch.started.resumed = session.is_some();
        launch.started.session = session;
        launch.started.records = self.records(&launch.env);
        Ok(launch)
    }

    fn reader(&self, started: &StartedAs) -> Box<dyn OutputReader + Send> {
        Box::new(ByLine::new(reader::CodexReader::new(started)))
    }

    fn at_end(&self) -> UsageReporting {
        UsageReporting::Tokens
    }

    fn program_info(&self) -> Option<&'static ProgramInfo> {
        Some(&ABOUT)
    }

    fn passes(&self) -> &'static [&'static str] {
        &[
            "CODEX_HOME",
            "CODEX_API_KEY",
            "CODEX_ACCESS_TOKEN",
            "CODEX_CA_CERTIFICATE",
            "CODEX_SQLITE_HOME",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_ORGANIZATION",
            "OPENAI_PROJECT",
        ]
    }

    fn login(&self, profile: &Profile, environment: &Environment) -> Option<Login> {
        let elsewhere = |arg: &String| {
            let value = arg.trim_start_matches("--config=").trim_start_matches("-c");
            value.starts_with("model_provider")
                || ["--oss", "--local-provider"]
                    .iter()
                    .any(|it| is_option(arg, it))
        };
        if profile.args.iter().any(elsewhere) {
            return Some(Login::Unknown);
        }
        Some(login(environment))
    }

    /// Where it was cut off its output does not tell what it used.
    fn amend(&self, started: &StartedAs, concluded: &mut Conclusion) -> io::Result<()> {
        let session = concluded.session.as_ref().or(started.session.as_ref());
        let (false, Some(folder), Some(session)) =
            (concluded.tells_usage(), &started.records, session)
        else {
            return Ok(());
        };
        if let Some(found) = records::usage(folder, session)? {
            concluded.usage = Some(found);
        }
        Ok(())
    }

    fn records(&self, environment: &Environment) -> Option<PathBuf> {
        home(environment).map(|home| home.join("sessions"))
    }

    fn conversation_file(
        &self,
        records: &Path,
        session: &SessionId,
        _worktree: &Path,
    ) -> io::Result<Option<PathBuf>> {
        conversation::find(records, session)
    }

    fn names_conversation(&self, name: &str, session: &SessionId) -> bool {
        conversation::time_in(name, session).is_some()
    }

    fn usage_in(&self, conversation: &Path) -> io::Result<Option<Usage>> {
        records::usage_in(conversation)
    }

    fn place_conversation(
        &self,
        records: &Path,
        conversation: &mut Placement<'_>,
    ) -> Result<PathBuf, PlaceError> {
        conversation::place(records, conversation)
    }
}

/// Directory of Codex's settings and records.
fn home(environment: &Environment) -> Option<PathBuf> {
    let own = set(environment, "CODEX_HOME").map(PathBuf::from);
    own.or_else(|| Some(PathBuf::from(set(environment, "HOME")?).join(".codex")))
}

fn login(environment: &Environment) -> Login {
    if let Some(by) = Login::by_variable(environment, LOGINS) {
        return by;
    }
    let Some(home) = home(environment) else {
        return Login::Unknown;
    };
    let file = home.join("auth.json");
    if file.exists() {
        return Login::By(file.display().to_string());
    }
    // Its configuration may name another service, or the system's keyring.
    if home.join("config.toml").exists() {
        return Login::Unknown;
    }
    Login::Missing(format!("{} and {}", LOGINS.join(", "), file.display()))
}
