//! Who sent a request: found out from the process at the other end, and asked before any handler
//! changes something.
//!
//! Invariant: a request that changes something reaches its handler only if a person sent it, or if
//! it is a command: who may send which one is the domain's business.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::ApiContext;
use super::error::ApiError;
use super::openapi::PREFIX;
use super::server::peer::Peer;
use crate::daemon::Paths;
use crate::daemon::memory::tally::ReadOf;
use crate::domain::event::ShownItem;
use crate::domain::ids::RunId;
use crate::domain::operation::Command;
use crate::domain::rejection::Rejection;
use crate::domain::request::{self, Author, OperationId};

/// The header with which a client names the run that it belongs to. It only takes rights away.
pub(super) const RUN: &str = "swarm-run";
/// The header that identifies an operation, so that a request sent again is done once.
pub(super) const OPERATION: &str = "idempotency-key";

/// The header with which the MCP server names the program that uses it, percent-encoded. It only
/// says through what a person speaks.
pub(super) const MCP_CLIENT: &str = "swarm-mcp-client";

/// Where a change comes from, beside the process that sends it.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The program that uses the MCP server, by its own name.
    pub client: Option<String>,
    /// Identifies the change, so that it may be sent again.
    pub operation: Option<OperationId>,
}

/// Who sent a request that changes something, and as which operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// Who asks.
    pub(super) by: Author,
    /// Identifies the request; `None` if it is not repeated.
    pub(super) operation: Option<OperationId>,
}

impl Asked {
    /// The request for this command.
    pub(super) fn to(self, command: Command) -> request::Request {
        request::Request {
            by: self.by,
            operation: self.operation,
            command,
        }
    }
}

/// The author that [`refuse_agents`] found.
#[derive(Clone)]
struct Sender(Author);

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(Sender(by)) = parts.extensions.get().cloned() else {
            return Err(unknown("nobody has looked who sent it"));
        };
        let operation = operation(&parts.headers)?;
        Ok(Self { by, operation })
    }
}

/// The iteration that reads the memory; nobody else's reading is counted.
pub(super) struct Reader(Option<RunId>);

impl FromRequestParts<Arc<ApiContext>> for Reader {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        context: &Arc<ApiContext>,
    ) -> Result<Self, Infallible> {
        // Reading is allowed to everybody. If swarm cannot find out who asks, it only does not
        // count the reading.
        let by = author(context, &parts.extensions, &parts.headers).ok();
        let agent = by.filter(|by| by.agent().is_some());
        Ok(Self(agent.and_then(|by| by.run().cloned())))
    }
}

impl Reader {
    /// Counts what it reads.
    pub(super) fn reads(&self, context: &ApiContext, what: ReadOf, items: Vec<ShownItem>) {
        let Some(run) = &self.0 else {
            return;
        };
        let count = |state: &_| context.handle.tally().read(state, run, what, items);
        context.handle.read(count);
    }
}

fn operation(headers: &HeaderMap) -> Result<Option<OperationId>, ApiError> {
    let Some(value) = headers.get(OPERATION) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let invalid = |error| ApiError::bad_request(format!("`Idempotency-Key` is invalid: {error}"));
    text.parse().map(Some).map_err(invalid)
}

/// Finds out who sends a change, and refuses it if it needs a person and none sent it.
pub(super) async fn refuse_agents(
    State(context): State<Arc<ApiContext>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Infallible> {
    if request.method().is_safe() {
        return Ok(next.run(request).await);
    }
    let by = author(&context, request.extensions(), request.headers());
    let admitted = by.and_then(|by| admit(by, &request));
    Ok(match admitted {
        Ok(by) => {
            request.extensions_mut().insert(Sender(by));
            next.run(request).await
        }
        Err(error) => error.into_response(),
    })
}

/// The run that the sender's process belongs to, else the live run that it names, else a person.
fn author(
    context: &ApiContext,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> Result<Author, ApiError> {
    let peer = extensions.get::<Peer>();
    let run = match peer {
        Some(peer) => peer
            .run_in(&context.runs_dir)
            .map_err(|why| unknown(&why))?,
        None => None,
    };
    let named = headers.get(RUN);
    let named = named.and_then(|run| run.to_str().ok()?.parse::<RunId>().ok());
    if run.is_none() && named.is_none() {
        return Ok(Author::Person.through(mcp_client(headers).as_deref()));
    }
    let author = context.handle.read(|state| match run {
        Some(run) => Author::of_run(state, run),
        None => Author::who_names(state, named),
    });
    Ok(author.through(mcp_client(headers).as_deref()))
}

fn mcp_client(headers: &HeaderMap) -> Option<String> {
    let client = headers.get(MCP_CLIENT)?.to_str().ok()?;
    // One name without a value: the decoder of forms undoes the escapes.
    let (name, _) = form_urlencoded::parse(client.as_bytes()).next()?;
    Some(name.into_owned())
}

fn admit(by: Author, request: &Request) -> Result<Author, ApiError> {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or_else(|| request.uri().path(), MatchedPath::as_str);
    if by.is_person() || is_command(path) {
        return Ok(by);
    }
    let may_be_allowed = false;
    Err(Rejection::NotForAgents { by, may_be_allowed }.into())
}

/// Whether what a request changes is a command, so that the rights of the domain decide. All else
/// is for people.
fn is_command(path: &str) -> bool {
    path.strip_prefix(PREFIX) == Some("/commands")
}

fn unknown(why: &str) -> ApiError {
    let message = format!("swarm cannot find out who sent this request: {why}");
    ApiError::new(StatusCode::FORBIDDEN, "SENDER_UNKNOWN", message)
        .details("nothing was changed")
        .suggest("send it again, and wait for the answer")
}

/// The run that the environment names (`SWARM_RUN_ID`), unless it belongs to another repository
/// (`SWARM_REPO`). A path that does not exist here is that of a container.
pub(crate) fn named_run(private: &Path) -> Option<RunId> {
    let run = std::env::var("SWARM_RUN_ID").ok()?;
    let repository = std::env::var_os("SWARM_REPO").map(PathBuf::from);
    named_run_of(&run, repository.as_deref(), private)
}

fn named_run_of(run: &str, repository: Option<&Path>, private: &Path) -> Option<RunId> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let other = repository.is_some_and(|repository| {
        let its = Paths::new(repository).private;
        repository.exists() && real(&its) != real(private)
    });
    if other { None } else { run.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_repository_is_not_named() {
        let dir = tempfile::tempdir().unwrap();
        let state = |name: &str| {
            let state = dir.path().join(name).join(".swarm/state");
            std::fs::create_dir_all(&state).unwrap();
            state
        };
        let (own, other) = (state("own"), state("other"));
        let named = |repository: Option<&str>, state: &Path| {
            let repository = repository.map(|name| dir.path().join(name));
            named_run_of("r0001-x", repository.as_deref(), state).is_some()
        };
        assert!(named(Some("own"), &own));
        assert!(named(None, &own));
        assert!(named(Some("elsewhere"), &own), "a container");
        assert!(!named(Some("own"), &other));
        assert_eq!(named_run_of("no/run", None, &own), None);
    }
}
