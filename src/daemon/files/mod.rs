//! What the daemon reads and writes below `.swarm/`, apart from the log itself.
//!
//! `paths` names every file; `store` opens the state on disk; `exports` writes `ideas.jsonl` and
//! `learnings.md`. `config_loader` reads the configuration, `settings` turns it into what decisions
//! and drivers need, and `trusted_config` keeps which programs git's configuration could run when a
//! person last approved it.

pub(super) mod config_loader;
pub mod exports;
pub(super) mod hash;
pub mod paths;
pub(super) mod settings;
pub(super) mod store;
pub mod trusted_config;
