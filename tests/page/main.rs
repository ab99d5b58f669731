//! The page in a real browser: Chromium, driven through `WebDriver`, on a real daemon with scripted
//! agents.
//!
//! Invariant: a test has a sandbox, a daemon and a browser of its own, and waits for conditions,
//! never for time alone.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod axe;
mod backlog;
mod browser;
mod demo;
mod entry;
mod figures;
#[allow(dead_code, unused_imports)] // not every test binary needs all of it
#[path = "../it/harness/mod.rs"]
mod harness;
mod hostile;
mod keyboard;
mod killed;
mod live;
mod looks;
mod made;
mod night;
mod pictures;
mod scriptless;
mod views;
