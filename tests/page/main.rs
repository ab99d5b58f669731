//! The page in a real browser: Chromium, driven through `WebDriver`, on a real daemon with scripted
//! agents.
//!
//! Invariant: a test has a sandbox, a daemon and a browser of its own, and waits for conditions,
//! never for time alone.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod axe;
mod browser;
mod figures;
#[allow(dead_code, unused_imports)] // not every test binary needs all of it
#[path = "../it/harness/mod.rs"]
mod harness;
mod night;
mod views;
