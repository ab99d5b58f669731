//! The files below `.swarm/` that the daemon reads and writes, apart from the log itself.
//!
//! `paths` names every file, `store` opens the state, and `exports` writes `ideas.jsonl` and
//! `learnings.md`; `summaries` says what compactions of the memory dropped, which `archive` reads
//! from the log. `config_loader` loads the configuration, `settings` converts it for decisions
//! and drivers, and `trusted_config` keeps the accepted git settings; `hash` computes SHA-256.

pub mod archive;
pub(super) mod config_loader;
pub mod exports;
pub(crate) mod hash;
mod markdown;
pub mod paths;
pub(super) mod settings;
pub(super) mod store;
mod summaries;
pub mod trusted_config;
