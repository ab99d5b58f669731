//! The interface over real sockets, with an actor in memory behind it.

#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

mod errors;
mod events;
mod kit;
mod logs;
mod many_clients;
mod memory;
mod merges;
mod page;
mod provenance;
mod report;
mod routes;
mod snapshots;
mod sockets;
mod speaking;
