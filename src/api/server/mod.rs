//! Serves the routes on the unix socket, and the page on its TCP port.
//!
//! Invariant: [`peer::check`] approves a connection of the socket before any byte of it is read. No
//! slow or silent client can keep the daemon from stopping or from serving others.

pub mod daemon_file;
pub mod peer;
mod port;
pub mod socket;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::stopped;
use peer::Peer;
pub use port::serve_port;
use socket::Socket;

/// How long a client may take to send a request's head, and how long idle connections are kept.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the end waits for unfinished answers. A client without an answer can ask the next
/// daemon what was done.
pub const STOP_GRACE: Duration = Duration::from_millis(200);

/// At the end, how long it waits for connections that were not accepted yet.
const LAST_LOOK: Duration = Duration::from_millis(5);

/// At the end, how long it waits for a connection's first request.
const FIRST_REQUEST: Duration = Duration::from_millis(50);

/// The most simultaneous connections; more wait.
pub const MAX_CONNECTIONS: usize = 256;

/// The pause after a connection could not be accepted, for example for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is true or its sender is gone. Then finishes answers for up to
/// [`STOP_GRACE`] and removes the socket.
pub async fn serve(
    socket: Socket,
    router: Router,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = socket.listener()?;
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = stopped(&mut stop) => break,
            accepted = accept(&listener, &places) => accepted,
        };
        while connections.try_join_next().is_some() {}
        if let Some(accepted) = accepted {
            connections.spawn(attend(accepted, router.clone(), stop.clone()));
        }
    }
    // Clients that connected in time still get an answer, if only that the daemon is stopping.
    for _ in 0..MAX_CONNECTIONS {
        let accepted = tokio::time::timeout(LAST_LOOK, accept(&listener, &places)).await;
        let Ok(Some(accepted)) = accepted else {
            break;
        };
        connections.spawn(attend(accepted, router.clone(), stop.clone()));
    }
    drop(listener);
    let rest = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_GRACE, rest).await.is_err() {
        tracing::warn!("some clients did not read their answers in time and were disconnected");
        connections.shutdown().await;
    }
    // Removed last, so that a client finds either a daemon or nothing.
    drop(socket);
    Ok(())
}

/// The next admitted connection. Cancel-safe.
async fn accept(
    listener: &UnixListener,
    places: &Arc<Semaphore>,
) -> Option<(UnixStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => match peer::check(&stream) {
            Ok(()) => Some((stream, place)),
            Err(error) => {
                tracing::warn!(%error, "a connection was refused");
                None
            }
        },
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// Serves one connection and holds its place until the end.
async fn attend(
    (stream, place): (UnixStream, OwnedSemaphorePermit),
    router: Router,
    stop: watch::Receiver<bool>,
) {
    let (router, peer) = (TowerToHyperService::new(router), Peer::of(&stream));
    let answer = move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        router.call(request)
    };
    connection(stream, answer, stop).await;
    drop(place);
}

/// Waits for the first request, but not longer than [`FIRST_REQUEST`].
async fn first(asked: &Notify) {
    // A timeout is fine too.
    let _ = tokio::time::timeout(FIRST_REQUEST, asked.notified()).await;
}

async fn connection<A>(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    answer: impl Fn(Request<Incoming>) -> A + Send,
    mut stop: watch::Receiver<bool>,
) where
    A: Future<Output = Result<Response<Body>, Infallible>> + Send,
{
    let asked = Arc::new(Notify::new());
    let service = {
        let asked = Arc::clone(&asked);
        service_fn(move |request| {
            asked.notify_one();
            answer(request)
        })
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stopped(&mut stop) => {
            // The first request may be on its way; without an answer, the client could not know
            // whether it took effect.
            tokio::select! {
                ended = served.as_mut() => ended,
                () = first(&asked) => {
                    served.as_mut().graceful_shutdown();
                    served.await
                }
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a client disconnected");
    }
}
