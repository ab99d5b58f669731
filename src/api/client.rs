//! The client of a daemon's socket, used by the command line. It ignores proxies; of the
//! environment it only tells the daemon the run that it names.
//!
//! Invariant: a request is sent once. It is sent again only if the first copy provably did not
//! leave, or if it only reads.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;

use super::command_json;
use super::error::ErrorBody;
use super::sender::{MCP_CLIENT, OPERATION, Origin, RUN, named_run};
use super::server::daemon_file::DaemonFile;
use super::server::peer;
use super::types::JUDGEMENT_TIMEOUT;
use crate::domain::ids::RunId;
use crate::domain::operation::Command;
use crate::domain::operation::Ends;

/// Connections idle for longer than this are not used again.
const KEEP_IDLE: Duration = Duration::from_secs(10);

/// How long a view may take; the daemon reads it from memory.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// How long a checkpoint or rollback may take; it stops agents first, and the repository may be
/// large.
const WORK_LIMIT: Duration = Duration::from_secs(1_800);
/// How long a change may take; it waits for the disk.
const CHANGE_LIMIT: Duration = Duration::from_secs(20);

/// Longer lines are split into pieces of this size, in bytes.
pub(super) const MAX_LINE: usize = 8 * 1024 * 1024;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens: no daemon was started, or it died.
    #[error("no daemon is running in this repository; start one: swarm start")]
    NoDaemon,
    /// The file that names the socket cannot be read.
    #[error("`{}` cannot be read: {error}; see swarm doctor", path.display())]
    DaemonFile {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The socket exists but cannot be used, or belongs to another user.
    #[error("the daemon's socket `{}` cannot be used: {error}; see swarm doctor", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The daemon is gone, and the request never reached it.
    #[error("the daemon has stopped; start it again: swarm start")]
    NoDaemon,
    /// The daemon refused or failed.
    #[error("{message}")]
    Api {
        /// The HTTP status.
        status: u16,
        /// A stable code for programs: `IDEA_UNKNOWN`.
        code: String,
        /// What happened and why, in one sentence.
        message: String,
        /// Further details; may be empty.
        details: String,
        /// What to do next.
        suggestions: Vec<String>,
        /// What is there instead of what the request expected.
        current: Option<Box<Value>>,
    },
    /// The daemon is running but does not answer. A change may have taken effect or not.
    #[error("the daemon (pid {pid}) has not answered within {} s", limit.as_secs())]
    Silent {
        /// The daemon's process id.
        pid: u32,
        /// How long the client waited.
        limit: Duration,
    },
    /// The connection broke. A change may have taken effect or not.
    #[error("the connection to the daemon broke: {0}; check: swarm status")]
    Io(#[from] io::Error),
}

/// A client of one daemon. Its connections need the runtime on which it was created.
#[derive(Debug)]
pub struct Client {
    daemon: DaemonFile,
    idle: Mutex<Vec<(Sender, Instant)>>,
    /// The run that the environment names.
    run: Option<RunId>,
    origin: Origin,
}

type Sender = SendRequest<Full<Bytes>>;

impl Client {
    /// Connects to the daemon that `daemon.json` names.
    pub async fn connect(private: &Path) -> Result<Self, ConnectError> {
        let daemon = match DaemonFile::read(private) {
            Ok(Some(daemon)) => daemon,
            Ok(None) => return Err(ConnectError::NoDaemon),
            Err(error) => {
                let path = private.join("daemon.json");
                return Err(ConnectError::DaemonFile { path, error });
            }
        };
        let sender = open(&daemon.socket).await?;
        let idle = Mutex::new(vec![(sender, Instant::now())]);
        let run = named_run(private);
        Ok(Self {
            daemon,
            idle,
            run,
            origin: Origin::default(),
        })
    }

    /// Where the changes that follow come from.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// The daemon's file.
    pub fn daemon(&self) -> &DaemonFile {
        &self.daemon
    }

    /// Fetches a view. `path` starts after `/api/v1/views/`; values in it are [`encode`]d.
    pub async fn view(&self, path: &str) -> Result<Value, ClientError> {
        self.get(&format!("views/{path}")).await
    }

    /// Sends a GET. `path` starts after `/api/v1/`; values in it are [`encode`]d.
    pub async fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.ask(Method::GET, path, None, READ_LIMIT).await
    }

    /// Sends a POST.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.ask(Method::POST, path, Some(body), CHANGE_LIMIT).await
    }

    /// Sends a command.
    pub async fn execute(&self, command: &Command) -> Result<Value, ClientError> {
        let body = command_json::write(command).map_err(|error| ClientError::Io(error.into()))?;
        self.ask(Method::POST, "commands", Some(&body), limit(command))
            .await
    }

    /// Sends a POST whose body is a file.
    pub async fn post_file(&self, path: &str, file: Bytes) -> Result<Value, ClientError> {
        let answer = async {
            let request = self.request(&Method::POST, path, file, "application/json")?;
            self.answer(request).await
        };
        self.within(CHANGE_LIMIT, answer).await
    }

    /// Reads a stream line by line: events as JSON lines, or an agent's output.
    pub async fn stream(&self, path: &str) -> Result<Stream, ClientError> {
        let accept = "application/x-ndjson, text/plain";
        let request = self.request(&Method::GET, path, Bytes::new(), accept)?;
        let (sender, response) = self.within(READ_LIMIT, self.send(request)).await?;
        if !response.status().is_success() {
            return Err(self.refusal(sender, response).await?);
        }
        Ok(Stream {
            body: response.into_body(),
            buffer: BytesMut::new(),
            seen: 0,
        })
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, ClientError> {
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = self.request(&method, path, body, "application/json")?;
        self.within(limit, self.answer(request)).await
    }

    /// Limits the wait for an answer, because a daemon may be stopped or stuck.
    async fn within<T>(
        &self,
        limit: Duration,
        answer: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        let silent = ClientError::Silent {
            pid: self.daemon.pid,
            limit,
        };
        tokio::time::timeout(limit, answer)
            .await
            .unwrap_or(Err(silent))
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Value, ClientError> {
        let (sender, response) = self.send(request).await?;
        if !response.status().is_success() {
            return Err(self.refusal(sender, response).await?);
        }
        let bytes = collect(response.into_body()).await?;
        self.keep(sender);
        serde_json::from_slice(&bytes).map_err(|error| ClientError::Io(error.into()))
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        body: Bytes,
        accept: &str,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/v1/{path}"))
            .header(HOST, "localhost")
            .header(ACCEPT, accept)
            .header(CONTENT_TYPE, "application/json");
        if let Some(run) = &self.run {
            request = request.header(RUN, run.as_str());
        }
        if let Some(client) = &self.origin.client {
            request = request.header(MCP_CLIENT, encode(client));
        }
        if let Some(operation) = &self.origin.operation {
            request = request.header(OPERATION, operation.as_str());
        }
        request
            .body(Full::new(body))
            .map_err(|error| ClientError::Io(io::Error::new(io::ErrorKind::InvalidInput, error)))
    }

    async fn refusal(
        &self,
        sender: Sender,
        response: Response<Incoming>,
    ) -> Result<ClientError, ClientError> {
        let status = response.status();
        let bytes = collect(response.into_body()).await?;
        self.keep(sender);
        let refusal = match serde_json::from_slice::<ErrorBody>(&bytes) {
            Ok(body) => ClientError::Api {
                status: status.as_u16(),
                code: body.error.code,
                message: body.error.message,
                details: body.error.details,
                suggestions: body.error.suggestions,
                current: body.error.current.map(Box::new),
            },
            Err(_) => broken(format!("the daemon answered {status} without saying why")),
        };
        Ok(refusal)
    }

    async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Sender, Response<Incoming>), ClientError> {
        let reads = request.method() == Method::GET;
        while let Some(mut sender) = self.idle() {
            if sender.ready().await.is_err() {
                continue;
            }
            let copy = reads.then(|| request.clone());
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((sender, response)),
                Err(mut error) => match error.take_message().or(copy) {
                    Some(again) => request = again,
                    None => return Err(broken(error.into_error())),
                },
            }
        }
        let mut sender = open(&self.daemon.socket).await?;
        match sender.try_send_request(request).await {
            Ok(response) => Ok((sender, response)),
            Err(mut error) => Err(match error.take_message() {
                Some(_) => ClientError::NoDaemon,
                None => broken(error.into_error()),
            }),
        }
    }

    fn idle(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(sender, since)| !sender.is_closed() && since.elapsed() < KEEP_IDLE);
        Some(idle.pop()?.0)
    }

    fn keep(&self, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push((sender, Instant::now()));
    }
}

impl From<ConnectError> for ClientError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::NoDaemon => Self::NoDaemon,
            ConnectError::DaemonFile { error, .. } | ConnectError::Io { error, .. } => {
                Self::Io(error)
            }
        }
    }
}

/// How long the answer to a command may take.
const fn limit(command: &Command) -> Duration {
    match command.operation().ends {
        Ends::Durable => CHANGE_LIMIT,
        Ends::Checkpoint => WORK_LIMIT,
        Ends::Resolution => CHANGE_LIMIT.saturating_add(JUDGEMENT_TIMEOUT),
    }
}

async fn open(socket: &Path) -> Result<Sender, ConnectError> {
    let failed = |error: io::Error| {
        let nobody = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
        if nobody.contains(&error.kind()) {
            return ConnectError::NoDaemon;
        }
        ConnectError::Io {
            path: socket.to_owned(),
            error,
        }
    };
    let stream = UnixStream::connect(socket).await.map_err(failed)?;
    peer::check(&stream).map_err(failed)?;
    let shaken = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shaken.map_err(|error| failed(io::Error::other(error)))?;
    // It ends with the sender; the request reports its errors.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

async fn collect(body: Incoming) -> Result<Bytes, ClientError> {
    Ok(body.collect().await.map_err(broken)?.to_bytes())
}

fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ClientError {
    ClientError::Io(io::Error::other(error))
}

/// Escapes a value for a path or query: everything except letters, digits, `-`, `_` and `.`.
pub fn encode(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let escaped = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    value.bytes().map(escaped).collect()
}

/// A streamed answer.
#[derive(Debug)]
pub struct Stream {
    body: Incoming,
    buffer: BytesMut,
    /// The first `seen` bytes of the buffer contain no line end.
    seen: usize,
}

impl Stream {
    /// The next line without its end; `None` at the end of the stream. Invalid UTF-8 is replaced.
    pub async fn next_line(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            match self.next_frame().await? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Ok(Some(self.take(self.buffer.len()))),
            }
        }
    }

    /// The next bytes, starting with those that [`Stream::next_line`] has not returned; `None` at
    /// the end of the stream.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        if self.buffer.is_empty() {
            return self.next_frame().await;
        }
        self.seen = 0;
        Ok(Some(self.buffer.split().freeze()))
    }

    fn take_line(&mut self) -> Option<String> {
        let rest = &self.buffer[self.seen..];
        if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let line = self.take(self.seen + at);
            self.buffer.advance(1);
            return Some(line);
        }
        self.seen = self.buffer.len();
        (self.seen >= MAX_LINE).then(|| self.take(MAX_LINE))
    }

    fn take(&mut self, count: usize) -> String {
        self.seen = 0;
        String::from_utf8_lossy(&self.buffer.split_to(count)).into_owned()
    }

    async fn next_frame(&mut self) -> Result<Option<Bytes>, ClientError> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(bytes) = frame.map_err(broken)?.into_data()
                && !bytes.is_empty()
            {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}
