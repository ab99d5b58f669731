//! Serves a TCP port, where any user of this machine can connect. Whom it admits is the router's
//! business.
//!
//! Invariant: no slow client keeps others out. When all places are taken, the connection that has
//! waited longest for its client ends; a stream, or one whose answer is being made, keeps its
//! place.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, Response};
use axum::{BoxError, Router};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Sleep, sleep};

use super::{ACCEPT_PAUSE, MAX_CONNECTIONS, STOP_GRACE, connection};
use crate::api::stopped;

/// How long a client may take to send a body, and to read something of an answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(30);

/// Serves connections until `stop` is true or its sender is gone.
pub async fn serve_port(listener: TcpListener, router: Router, mut stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut places = Vec::new();
    loop {
        let accepted = tokio::select! {
            () = stopped(&mut stop) => break,
            accepted = listener.accept() => accepted,
        };
        while connections.try_join_next().is_some() {}
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        tokio::select! {
            () = stopped(&mut stop) => break,
            () = make_room(&mut places) => {}
        }
        let place = Arc::new(Place::new());
        let served = serve_client(stream, router.clone(), Arc::clone(&place), stop.clone());
        places.push((place, connections.spawn(served)));
    }
    let rest = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_GRACE, rest).await.is_err() {
        connections.shutdown().await;
    }
}

/// Returns once there is a place; ends the connection that has waited longest for its client.
async fn make_room(places: &mut Vec<(Arc<Place>, AbortHandle)>) {
    loop {
        places.retain(|(_, task)| !task.is_finished());
        if places.len() < MAX_CONNECTIONS {
            return;
        }
        let waiting = places.iter().enumerate();
        let waiting = waiting.filter_map(|(index, (place, _))| Some((place.waits()?, index)));
        if let Some((_, index)) = waiting.min() {
            let (_, task) = places.swap_remove(index);
            task.abort();
            return;
        }
        sleep(ACCEPT_PAUSE).await;
    }
}

/// What a connection is at: since when it has waited for its client, or `None` while an answer is
/// made or streamed.
struct Place(Mutex<Option<Instant>>);

impl Place {
    fn new() -> Self {
        Self(Mutex::new(Some(Instant::now())))
    }

    fn waits(&self) -> Option<Instant> {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve_client(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    router: Router,
    place: Arc<Place>,
    stop: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let answer = move |request: Request<Incoming>| {
        let (router, place) = (router.clone(), Arc::clone(&place));
        async move { answer(request, router, place).await }
    };
    connection(Steady::new(stream), answer, stop).await;
}

async fn answer(
    request: Request<Incoming>,
    router: TowerToHyperService<Router>,
    place: Arc<Place>,
) -> Result<Response<Body>, Infallible> {
    *place.lock() = None;
    let body = |body| TimedBody {
        body,
        place: Arc::clone(&place),
        begun: Instant::now(),
        limit: Box::pin(sleep(CLIENT_PATIENCE)),
    };
    let response = router.call(request.map(body)).await?;
    // A stream's length is unknown.
    let is_stream = response.body().size_hint().exact().is_none();
    *place.lock() = (!is_stream).then(Instant::now);
    Ok(response)
}

/// A body that must arrive within [`CLIENT_PATIENCE`].
struct TimedBody {
    body: Incoming,
    place: Arc<Place>,
    begun: Instant,
    limit: Pin<Box<Sleep>>,
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            *self.place.lock() = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        *self.place.lock() = Some(self.begun);
        ready!(self.limit.as_mut().poll(context));
        Poll::Ready(Some(Err(too_slow().into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream whose writes fail when the client has read nothing for [`CLIENT_PATIENCE`].
struct Steady<S> {
    stream: S,
    /// Runs while a write waits.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<S> Steady<S> {
    fn new(stream: S) -> Self {
        let limit = None;
        Self { stream, limit }
    }

    fn within_limit<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.limit = None;
            return written;
        }
        let limit = self
            .limit
            .get_or_insert_with(|| Box::pin(sleep(CLIENT_PATIENCE)));
        ready!(limit.as_mut().poll(context));
        Poll::Ready(Err(too_slow()))
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client is too slow")
}

impl<S: AsyncRead + Unpin> AsyncRead for Steady<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Steady<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within_limit(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.within_limit(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::task::JoinHandle;

    use super::*;

    fn client() -> (DuplexStream, JoinHandle<()>, watch::Sender<bool>) {
        let router = Router::new()
            .route("/", get(|| async { "x".repeat(10_000) }))
            .route("/form", post(|_: Bytes| async { "taken" }));
        let (near, far) = tokio::io::duplex(1 << 10);
        let (sender, stop) = watch::channel(false);
        let served = serve_client(far, router, Arc::new(Place::new()), stop);
        (near, tokio::spawn(served), sender)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_reads_its_answer_is_disconnected() {
        let (mut client, served, _stop) = client();
        let begun = Instant::now();
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        served.await.unwrap();
        assert!(begun.elapsed() < CLIENT_PATIENCE * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_gets_its_whole_answer() {
        let (mut client, _served, _stop) = client();
        let request = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        client.write_all(request).await.unwrap();
        let (mut read, mut piece) = (0, [0; 1 << 10]);
        loop {
            sleep(CLIENT_PATIENCE / 2).await;
            match client.read(&mut piece).await.unwrap() {
                0 => break,
                more => read += more,
            }
        }
        assert!(read > 10_000, "{read}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_comes_in_drops_is_refused_in_the_end() {
        let (mut client, _served, _stop) = client();
        let head = b"POST /form HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
        client.write_all(head).await.unwrap();
        let begun = Instant::now();
        let mut answer = [0; 12];
        loop {
            tokio::select! {
                read = client.read_exact(&mut answer) => {
                    read.unwrap();
                    break;
                }
                () = sleep(Duration::from_secs(1)) => client.write_all(b"x").await.unwrap(),
            }
        }
        assert_eq!(&answer, b"HTTP/1.1 400");
        assert!(begun.elapsed() < CLIENT_PATIENCE * 2);
    }
}
