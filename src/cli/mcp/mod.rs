//! `swarm mcp`: tools of the Model Context Protocol, on standard input and output.
//!
//! Invariant: standard output carries the protocol alone, and the server ends with its input. Each
//! call opens its own access to the state, so the daemon may end and start between two calls.
//!
//! `server` answers the protocol, `offer` says who gets which tools. `tools`, `arguments` and
//! `calls` are the memory, `person` has the tools of a person's own agent, and `news` says what
//! changed since an agent's prompt.

mod arguments;
mod calls;
mod news;
mod offer;
mod person;
mod server;
mod tools;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use jiff::tz::TimeZone;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, ReadBuf, Stdin};
use tokio::sync::Notify;

use super::error::CliError;
use super::repo::Repo;
use crate::domain::ids::{AgentId, ProfileName};
use server::Server;

/// How long calls under way may take once the input has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// How to serve one client.
#[derive(Debug)]
pub struct Options {
    /// Profile that local learnings are for.
    pub profile: Option<ProfileName>,
    /// The agent whose prompts are known.
    pub agent: Option<AgentId>,
    /// Whether the client gets the reading tools only.
    pub only_reading: bool,
    /// The zone of the times that it types.
    pub zone: TimeZone,
}

/// Serves the tools until the input ends.
pub fn serve(repo: Repo, options: Options) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::io("serve the tools", &error))?;
    let served = runtime.block_on(serve_input(Server::new(repo, options)));
    // A call that is not done by now has nobody to answer to.
    runtime.shutdown_background();
    served
}

async fn serve_input(server: Server) -> Result<(), CliError> {
    let ended = Arc::new(Notify::new());
    let input = Input {
        stdin: tokio::io::stdin(),
        ended: Arc::clone(&ended),
    };
    let serving = async {
        let running = match server.serve((input, tokio::io::stdout())).await {
            Ok(running) => running,
            // The client left before it asked for anything.
            Err(
                ServerInitializeError::ConnectionClosed(_)
                | ServerInitializeError::TransportError { .. },
            ) => return Ok(()),
            Err(error) => return Err(not_the_protocol(&error)),
        };
        let stopped = |error| CliError::refused(format!("the server stopped: {error}"));
        running.waiting().await.map_err(stopped).map(drop)
    };
    let out_of_time = async {
        ended.notified().await;
        tokio::time::sleep(LAST_ANSWERS).await;
        Ok(())
    };
    tokio::select! {
        done = serving => done,
        late = out_of_time => late,
    }
}

fn not_the_protocol(error: &ServerInitializeError) -> CliError {
    CliError::refused(format!(
        "the client does not speak the Model Context Protocol: {error}"
    ))
    .hint("let an agent's program start it, for example: claude mcp add swarm -- swarm mcp")
}

/// Standard input that reports when it has ended.
struct Input {
    stdin: Stdin,
    ended: Arc<Notify>,
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stdin).poll_read(context, buffer);
        if let Poll::Ready(done) = &read
            && (done.is_err() || buffer.filled().len() == before)
        {
            self.ended.notify_one();
        }
        read
    }
}
