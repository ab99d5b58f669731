//! The TCP port on loopback.
//!
//! Invariant: it listens on 127.0.0.1 alone, and serves connections as the unix socket does.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::api::server::serve_port;

/// The port that is tried first.
pub const USUAL_PORT: u16 = 7420;

/// A bound port.
pub struct Port {
    listener: TcpListener,
    number: u16,
}

impl Port {
    /// Binds this port, or else one that is free: the last one of this repository, the usual one,
    /// any.
    ///
    /// # Errors
    /// The wanted port is taken, or none can be bound.
    pub async fn bind(wanted: Option<u16>, last: Option<u16>) -> io::Result<Self> {
        if let Some(port) = wanted {
            return Self::at(port).await;
        }
        for port in last.into_iter().chain([USUAL_PORT]) {
            if let Ok(bound) = Self::at(port).await {
                return Ok(bound);
            }
        }
        Self::at(0).await
    }

    async fn at(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).await?;
        let number = listener.local_addr()?.port();
        Ok(Self { listener, number })
    }

    /// The port's number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Serves until `stop` is true or its sender is gone.
    pub async fn serve(self, router: Router, stop: watch::Receiver<bool>) {
        serve_port(self.listener, router, stop).await;
    }
}
