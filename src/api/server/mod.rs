//! Serving the routes on the unix socket.
//!
//! Invariant: a connection is looked at by [`peer::check`] before a byte of it is read; no client,
//! slow or silent, keeps the daemon from ending, or from serving others.

pub mod daemon_file;
pub mod peer;
pub mod socket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::stopped;
use socket::Socket;

/// How long a client may take for the head of a request, and how long an idle connection is kept.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an end waits for answers that are under way. Whoever gets none finds what was done at
/// the next start.
pub const STOP_GRACE: Duration = Duration::from_millis(200);

/// How long it looks for connections that have come in and were not accepted yet.
const LAST_LOOK: Duration = Duration::from_millis(5);

/// How long it waits for the first request of a connection.
const FIRST_REQUEST: Duration = Duration::from_millis(50);

/// Connections at once; more wait until one is over.
pub const MAX_CONNECTIONS: usize = 256;

/// A pause where the system has no descriptor left for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is true, or its sender is gone; then finishes what is under way, for
/// [`STOP_GRACE`] at most, and removes the socket.
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
    // Who came in time is answered: that it came too late, where that is so.
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
        tracing::warn!("some clients did not take their answers in time and were cut off");
        connections.shutdown().await;
    }
    // Last, so that a client finds either the daemon or nothing.
    drop(socket);
    Ok(())
}

/// The next connection that may come in. Cancel-safe.
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

/// One connection to its end, and its place until then.
async fn attend(
    (stream, place): (UnixStream, OwnedSemaphorePermit),
    router: Router,
    stop: watch::Receiver<bool>,
) {
    connection(stream, router, stop).await;
    drop(place);
}

/// Until there was a request, or none is to be expected.
async fn first(asked: &Notify) {
    // Either will do.
    let _ = tokio::time::timeout(FIRST_REQUEST, asked.notified()).await;
}

async fn connection(stream: UnixStream, router: Router, mut stop: watch::Receiver<bool>) {
    let asked = Arc::new(Notify::new());
    let service = {
        let (asked, router) = (Arc::clone(&asked), TowerToHyperService::new(router));
        service_fn(move |request| {
            asked.notify_one();
            router.call(request)
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
            // Its first request may be on its way: who gets no answer cannot know whether it took
            // effect.
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
        tracing::debug!(%error, "a client went away");
    }
}
