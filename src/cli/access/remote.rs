//! Blocking requests to the daemon over its socket.
//!
//! Invariant: one thread, one connection, one request at a time; the runtime exists only while a
//! daemon is running.

use std::fmt::Display;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::api::client::Stream;
use crate::api::{Client, ClientError, ConnectError, Origin};
use crate::cli::error::{CliError, Kind};
use crate::cli::repo::Repo;
use crate::daemon::Paths;
use crate::daemon::offline::{holder, is_locked};
use crate::domain::operation::Command;
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

    /// Fetches a view. `path` starts after `/api/v1/views/`.
    pub async fn ask(&self, path: &str) -> Result<Value, CliError> {
        self.client.view(path).await.map_err(from_client)
    }

    /// Fetches what is no view, blocking. `path` starts after `/api/v1/`.
    pub fn fetch(&self, path: &str) -> Result<Value, CliError> {
        self.block_on(self.client.get(path)).map_err(from_client)
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
        self.block_on(self.client.execute(command))
            .map_err(from_client)
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
