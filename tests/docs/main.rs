//! The README and the pages in `docs/` say what the program does.
//!
//! `SWARM_BLESS=1 cargo test --test docs` writes the reference pages and the output below each
//! command; see `docs/internals/testing.md`.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)] // a test fails by panicking

mod commands;
mod links;
mod messages;
mod page;
mod reference;
mod same;
mod stage;
