//! Blocking requests to the daemon over its socket.
//!
//! Invariant: one thread, one connection, one request at a time; the runtime exists only while a
//! daemon is running.

use std::fmt::Display;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::memory_requests;
use crate::api::client::Stream;
use crate::api::{Client, ClientError, ConnectError, Origin};
use crate::cli::error::{CliError, Kind};
use crate::cli::repo::Repo;
use crate::daemon::Paths;
use crate::daemon::offline::{holder, is_locked};
use crate::domain::command::{Command, IdeaEdit, NewIdea};
use crate::domain::ids::{IdeaId, ProfileName, RunId};
use crate::process;

/// A connection to the daemon.
pub struct Daemon {
    runtime: Runtime,
    client: Client,
}

impl Daemon {
    /// Connects to the repository's daemon; `None` when none is running. If `daemon.json` cannot be
    /// read, the state lock shows whether there is a daemon.
    pub fn connect(repo: &Repo) -> Result<Option<Self>, CliError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CliError::io("connect to the daemon", &error))?;
        match runtime.block_on(Client::connect(&repo.private())) {
            Ok(client) => Ok(Some(Self { runtime, client })),
            Err(ConnectError::NoDaemon) => Ok(None),
            Err(ConnectError::DaemonFile { .. }) if !is_locked(&Paths::new(repo.root()))? => {
                Ok(None)
            }
            Err(error @ ConnectError::DaemonFile { .. }) => Err(hidden(repo, &error)),
            Err(error) => Err(
                CliError::refused(format!("cannot talk to the daemon: {error}"))
                    .hint("see what is wrong: swarm doctor"),
            ),
        }
    }

    /// Where the changes that follow come from.
    pub fn set_origin(&mut self, origin: Origin) {
        self.client.set_origin(origin);
    }

    /// The daemon's process id.
    pub fn pid(&self) -> u32 {
        self.client.daemon().pid
    }

    /// Runs asynchronous work on this connection's runtime.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Fetches a view. `path` starts after `/api/v1/`.
    pub async fn ask(&self, path: &str) -> Result<Value, CliError> {
        self.client.get(path).await.map_err(from_client)
    }

    /// Starts to follow lines.
    pub async fn stream(&self, path: &str) -> Result<Stream, CliError> {
        self.client.stream(path).await.map_err(from_client)
    }

    /// The next line; `None` when the daemon has ended the stream. A broken connection is an error:
    /// the daemon was killed.
    pub async fn next_line(&self, lines: &mut Stream) -> Result<Option<String>, CliError> {
        match lines.next_line().await {
            Err(ClientError::Io(error)) => Err(cut_off(&error)),
            line => line.map_err(from_client),
        }
    }

    /// Fetches a view, blocking.
    pub fn get(&self, path: &str) -> Result<Value, CliError> {
        self.block_on(self.ask(path))
    }

    /// Sends a change.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        self.block_on(self.client.post(path, body))
            .map_err(from_client)
    }

    /// Sends a file.
    pub fn post_file(&self, path: &str, file: Vec<u8>) -> Result<Value, CliError> {
        self.block_on(self.client.post_file(path, file.into()))
            .map_err(from_client)
    }

    /// Executes a command.
    pub fn execute(&self, command: &Command) -> Result<Value, CliError> {
        match request(command) {
            Some(Request::Post(path, body)) => self.post(&path, &body),
            Some(Request::Patch(path, body)) => {
                let answer = self.block_on(self.client.patch(&path, &body));
                answer.map_err(from_client)
            }
            Some(Request::Put(path, body)) => {
                let answer = self.block_on(self.client.put(&path, &body));
                answer.map_err(from_client)
            }
            Some(Request::Delete(path)) => {
                let answer = self.block_on(self.client.delete(&path));
                answer.map_err(from_client)
            }
            None => Err(CliError::refused(format!(
                "the daemon has no request for this command: {command:?}"
            ))),
        }
    }

    /// Passes each line to `each` until the daemon ends the stream.
    pub fn follow(
        &self,
        path: &str,
        mut each: impl FnMut(&str) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        self.block_on(async {
            let mut lines = self.stream(path).await?;
            while let Some(line) = self.next_line(&mut lines).await? {
                each(&line)?;
            }
            Ok(())
        })
    }
}

/// A daemon is running, but nothing says how to reach it.
pub(in crate::cli) fn hidden(repo: &Repo, why: &dyn Display) -> CliError {
    let stop = match holder(&Paths::new(repo.root())) {
        Some(pid) => format!("stop it (nothing is lost): kill -TERM {pid}"),
        None => "stop it with Ctrl+C where it was started; nothing is lost".to_owned(),
    };
    CliError::refused(format!("a daemon is running, but cannot be reached: {why}"))
        .hint(stop)
        .hint("then start it again: swarm start")
}

/// An HTTP request that changes something.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Post(String, Value),
    Patch(String, Value),
    Put(String, Value),
    Delete(String),
}

/// A new idea as the API takes it.
fn new_idea(idea: &NewIdea) -> Value {
    json!({
        "content": idea.text,
        "after": idea.after,
        "tags": idea.tags,
        "priority": idea.priority,
        "profile": idea.profile,
        "review": idea.review,
    })
}

fn nothing() -> Value {
    json!({})
}

fn edit_idea(id: &IdeaId, edit: &IdeaEdit) -> Option<Request> {
    let body = serde_json::to_value(edit).ok()?;
    Some(Request::Patch(format!("ideas/{id}"), body))
}

fn replay(of: &RunId, profile: &ProfileName) -> Request {
    let body = json!({ "profile": profile });
    Request::Post(format!("provenance/{of}/replay"), body)
}

/// The request for a command; `None` for settings and mode, which the daemon reads itself, and for
/// an agent's state, which is sent as its file.
fn request(command: &Command) -> Option<Request> {
    let post = |path: String, body: Value| Some(Request::Post(path, body));
    match command {
        Command::AddIdea(idea) => post("ideas".into(), new_idea(idea)),
        Command::EditIdea { id, edit } => edit_idea(id, edit),
        Command::RetryIdea { id } => post(format!("ideas/{id}/retry"), nothing()),
        Command::CancelIdea { id } => post(format!("ideas/{id}/cancel"), nothing()),
        Command::AssignIdea { id, profile } => {
            post(format!("ideas/{id}/assign"), json!({ "profile": profile }))
        }
        Command::HoldIdea { id } => post(format!("ideas/{id}/hold"), nothing()),
        Command::UnholdIdea { id } => post(format!("ideas/{id}/unhold"), nothing()),
        Command::StopAgent { id } => post(format!("agents/{id}/stop"), nothing()),
        Command::RedirectAgent {
            id,
            idea,
            new_worktree,
        } => post(
            format!("agents/{id}/redirect"),
            json!({ "ideaId": idea, "newWorktree": new_worktree }),
        ),
        Command::SayToAgent { id, text } => {
            post(format!("agents/{id}/say"), json!({ "text": text }))
        }
        Command::Pause { reason } => post("pause".into(), json!({ "reason": reason })),
        Command::Resume => post("resume".into(), nothing()),
        Command::RetryMerge { id } => post(format!("merges/{id}/retry"), nothing()),
        Command::ApproveMerge { id, commit } => {
            post(format!("merges/{id}/approve"), json!({ "commit": commit }))
        }
        Command::RejectMerge { id, why } => {
            post(format!("merges/{id}/reject"), json!({ "why": why }))
        }
        Command::ResolveMerge { id } => post(format!("merges/{id}/resolve"), nothing()),
        Command::SettleTarget { choice } => {
            post("merges/target".into(), json!({ "choice": choice }))
        }
        Command::Shutdown { keep_agents } => {
            post("shutdown".into(), json!({ "keepAgents": keep_agents }))
        }
        Command::ShutdownNow => post("shutdown".into(), json!({ "now": true })),
        Command::CreateCheckpoint { name, tag } => {
            post("checkpoints".into(), json!({ "name": name, "tag": tag }))
        }
        Command::DeleteCheckpoint { name } => Some(Request::Delete(format!("checkpoints/{name}"))),
        Command::RollBack { name, pause, from } => post(
            format!("checkpoints/{name}/rollback"),
            json!({ "pause": pause, "from": from }),
        ),
        Command::Undo { seq, from } => post("undo".into(), json!({ "seq": seq, "from": from })),
        Command::ApproveHook { hook, content } => post(
            format!("hooks/{hook}/approve"),
            json!({ "content": content }),
        ),
        Command::ReplayRecord { of, profile, .. } => Some(replay(of, profile)),
        Command::Memory(command) => Some(memory_requests::request(command)),
        Command::LoadSettings { .. } | Command::SetMode { .. } | Command::ImportAgent(_) => None,
    }
}

/// Code of a change whose connection broke before the answer.
pub const NO_ANSWER: &str = "NO_ANSWER";

fn cut_off(error: &std::io::Error) -> CliError {
    CliError::new(
        Kind::NoDaemon,
        format!("lost the connection to the daemon: {error}"),
    )
    .hint("if it was killed, nothing is lost; start it again: swarm start")
}

fn from_client(error: ClientError) -> CliError {
    match error {
        ClientError::NoDaemon => CliError::no_daemon(),
        ClientError::Api {
            code,
            message,
            details,
            suggestions,
            current,
            ..
        } => {
            let kind = if code == "DISK" {
                Kind::Disk
            } else {
                Kind::Refused
            };
            let mut error = CliError::new(kind, message).code(code);
            error.details = Some(details).filter(|details| !details.is_empty());
            error.hints = suggestions;
            error.current = current;
            error
        }
        ClientError::Silent { pid, .. } => silent(pid, &error.to_string()),
        ClientError::Io(error) => CliError::refused(format!("the daemon did not answer: {error}"))
            .code(NO_ANSWER)
            .details("the request may have taken effect or not")
            .hint("check before you try again: swarm status"),
    }
}

fn silent(pid: u32, message: &str) -> CliError {
    let error = CliError::refused(message).details("the request may have taken effect or not");
    if process::is_stopped(pid) {
        return error.hint(format!(
            "it was stopped by a signal; let it continue: kill -CONT {pid}"
        ));
    }
    error
        .hint("it may be busy: try again in a while")
        .hint(format!(
            "if it stays silent, kill it and start it again (nothing is lost): kill -9 {pid} && \
            swarm start"
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::command::TargetChoice;

    fn posted(command: &Command) -> (String, Value) {
        match request(command) {
            Some(Request::Post(path, body)) => (path, body),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_become_api_requests() {
        let id = IdeaId::numbered(1);
        let new = NewIdea {
            text: "x".into(),
            after: vec![id.clone()],
            ..NewIdea::default()
        };
        let (path, body) = posted(&Command::AddIdea(new));
        assert_eq!(path, "ideas");
        assert_eq!(body["after"], json!(["idea-001"]));
        assert!(body.get("inbox").is_none());
        let (path, body) = posted(&Command::SettleTarget {
            choice: TargetChoice::Redo,
        });
        assert_eq!(
            (path.as_str(), body),
            ("merges/target", json!({"choice": "redo"}))
        );
        let edit = IdeaEdit {
            tags: Some(vec![]),
            ..IdeaEdit::default()
        };
        let expected = Request::Patch("ideas/idea-001".into(), json!({"tags": []}));
        assert_eq!(request(&Command::EditIdea { id, edit }), Some(expected));
    }

    #[test]
    fn a_full_disk_at_the_daemon_has_its_own_exit_code() {
        let error = from_client(ClientError::Api {
            status: 503,
            code: "DISK".into(),
            message: "no room".into(),
            details: String::new(),
            suggestions: vec!["make room".into()],
            current: None,
        });
        assert_eq!(error.kind.exit_code(), 74);
        assert_eq!(error.details, None);
    }
}
