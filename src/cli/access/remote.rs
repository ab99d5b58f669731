//! The daemon, asked over its socket, one request after the other.
//!
//! Invariant: one thread, one connection; the runtime exists only while a daemon is there to talk
//! to.

use std::fmt::Display;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::api::client::Stream;
use crate::api::{Client, ClientError, ConnectError};
use crate::cli::error::{CliError, Kind};
use crate::cli::repo::Repo;
use crate::daemon::Paths;
use crate::daemon::offline::{holder, is_locked};
use crate::domain::command::Command;
use crate::process;

/// A connection to the daemon.
pub struct Daemon {
    runtime: Runtime,
    client: Client,
}

impl Daemon {
    /// Connects to the repository's daemon; `None` when none is running. Where a file that cannot
    /// be read says where it is, the lock tells whether it is there at all.
    pub fn connect(repo: &Repo) -> Result<Option<Self>, CliError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CliError::io("begin to talk to the daemon", &error))?;
        match runtime.block_on(Client::connect(&repo.state())) {
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

    /// The daemon's process id.
    pub fn pid(&self) -> u32 {
        self.client.daemon().pid
    }

    /// Does asynchronous work on this connection's runtime.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Asks for a view. A path begins after `/api/v1/`.
    pub async fn ask(&self, path: &str) -> Result<Value, CliError> {
        self.client.get(path).await.map_err(from_client)
    }

    /// Begins to follow lines.
    pub async fn stream(&self, path: &str) -> Result<Stream, CliError> {
        self.client.stream(path).await.map_err(from_client)
    }

    /// The next line; `None` when the daemon has ended them. One that was killed could not: that is
    /// an error, as is none at all.
    pub async fn next_line(&self, lines: &mut Stream) -> Result<Option<String>, CliError> {
        match lines.next_line().await {
            Err(ClientError::Io(error)) => Err(cut_off(&error)),
            line => line.map_err(from_client),
        }
    }

    /// Asks for a view and waits for it.
    pub fn get(&self, path: &str) -> Result<Value, CliError> {
        self.block_on(self.ask(path))
    }

    /// Asks for a change.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        self.block_on(self.client.post(path, body))
            .map_err(from_client)
    }

    /// Asks for this change.
    pub fn execute(&self, command: &Command) -> Result<Value, CliError> {
        match request(command) {
            Some(Request::Post(path, body)) => self.post(&path, &body),
            Some(Request::Patch(path, body)) => {
                let answer = self.block_on(self.client.patch(&path, &body));
                answer.map_err(from_client)
            }
            Some(Request::Delete(path)) => {
                let answer = self.block_on(self.client.delete(&path));
                answer.map_err(from_client)
            }
            None => Err(CliError::refused(format!(
                "a daemon takes no such request: {command:?}"
            ))),
        }
    }

    /// Hands each line to `each` until the daemon ends them.
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

/// A daemon runs, and what says where cannot be read.
pub(in crate::cli) fn hidden(repo: &Repo, why: &dyn Display) -> CliError {
    let end = match holder(&Paths::new(repo.root())) {
        Some(pid) => format!("kill -TERM {pid}"),
        None => "TERM to its process".to_owned(),
    };
    CliError::refused(format!("a daemon runs, but cannot be found: {why}")).hint(format!(
        "end it where it was started (Ctrl+C, or {end}), and start it again: nothing is lost"
    ))
}

/// A change as a request.
#[derive(Debug, PartialEq)]
enum Request {
    Post(String, Value),
    Patch(String, Value),
    Delete(String),
}

/// How to ask a daemon for a change. Settings and mode are its own affair: it reads the
/// configuration.
fn request(command: &Command) -> Option<Request> {
    let post = |path: String, body: Value| Some(Request::Post(path, body));
    let nothing = || json!({});
    match command {
        Command::AddIdea(idea) => post(
            "ideas".into(),
            json!({
                "text": idea.text,
                "after": idea.after,
                "tags": idea.tags,
                "priority": idea.priority,
                "profile": idea.profile,
            }),
        ),
        Command::EditIdea { id, edit } => {
            let body = serde_json::to_value(edit).ok()?;
            Some(Request::Patch(format!("ideas/{id}"), body))
        }
        Command::RetryIdea { id } => post(format!("ideas/{id}/retry"), nothing()),
        Command::CancelIdea { id } => post(format!("ideas/{id}/cancel"), nothing()),
        Command::AssignIdea { id, profile } => {
            post(format!("ideas/{id}/assign"), json!({ "profile": profile }))
        }
        Command::StopAgent { id } => post(format!("agents/{id}/stop"), nothing()),
        Command::RedirectAgent {
            id,
            idea,
            new_worktree,
        } => post(
            format!("agents/{id}/redirect"),
            json!({ "idea": idea, "newWorktree": new_worktree }),
        ),
        Command::SayToAgent { id, text } => {
            post(format!("agents/{id}/say"), json!({ "text": text }))
        }
        Command::Pause { reason } => post("pause".into(), json!({ "reason": reason })),
        Command::Resume => post("resume".into(), nothing()),
        Command::RetryMerge { id } => post(format!("merges/{id}/retry"), nothing()),
        Command::ResolveMerge { id } => post(format!("merges/{id}/resolve"), nothing()),
        Command::SettleTarget { choice } => {
            post("merges/target".into(), json!({ "choice": choice }))
        }
        Command::Shutdown { keep_agents } => {
            post("shutdown".into(), json!({ "keepAgents": keep_agents }))
        }
        Command::ShutdownNow => post("shutdown".into(), json!({ "now": true })),
        Command::CreateCheckpoint { name } => post("checkpoints".into(), json!({ "name": name })),
        Command::DeleteCheckpoint { name } => Some(Request::Delete(format!("checkpoints/{name}"))),
        Command::RollBack { name, pause, from } => post(
            format!("checkpoints/{name}/rollback"),
            json!({ "pause": pause, "from": from }),
        ),
        Command::ApproveHook { hook, content } => post(
            format!("hooks/{hook}/approve"),
            json!({ "content": content }),
        ),
        Command::LoadSettings { .. } | Command::SetMode { .. } => None,
    }
}

fn cut_off(error: &std::io::Error) -> CliError {
    CliError::new(
        Kind::NoDaemon,
        format!("the daemon went away in the middle: {error}"),
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
            error
        }
        ClientError::Silent { pid, .. } => silent(pid, &error.to_string()),
        ClientError::Io(error) => CliError::refused(format!("the daemon did not answer: {error}"))
            .details("whether the request took effect is not known")
            .hint("look before you try again: swarm status, swarm events"),
    }
}

fn silent(pid: u32, message: &str) -> CliError {
    let error = CliError::refused(message).details("whether a change took effect is not known");
    if process::is_stopped(pid) {
        return error.hint(format!(
            "it is stopped by a signal; let it go on: kill -CONT {pid}"
        ));
    }
    error
        .hint("it may be busy: try again in a while")
        .hint(format!(
            "if it stays silent, end it and start anew, nothing is lost: kill -9 {pid} && swarm \
            start"
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::command::{IdeaEdit, NewIdea, TargetChoice};
    use crate::domain::ids::IdeaId;

    fn posted(command: &Command) -> (String, Value) {
        match request(command) {
            Some(Request::Post(path, body)) => (path, body),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn changes_become_the_requests_of_the_interface() {
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
            choice: TargetChoice::Rebase,
        });
        assert_eq!(
            (path.as_str(), body),
            ("merges/target", json!({"choice": "rebase"}))
        );
        let edit = IdeaEdit {
            tags: Some(vec![]),
            ..IdeaEdit::default()
        };
        let expected = Request::Patch("ideas/idea-001".into(), json!({"tags": []}));
        assert_eq!(request(&Command::EditIdea { id, edit }), Some(expected));
    }

    #[test]
    fn a_full_disk_at_the_daemon_is_not_a_refusal_like_others() {
        let error = from_client(ClientError::Api {
            status: 503,
            code: "DISK".into(),
            message: "no room".into(),
            details: String::new(),
            suggestions: vec!["make room".into()],
        });
        assert_eq!(error.kind.exit_code(), 74);
        assert_eq!(error.details, None);
    }
}
