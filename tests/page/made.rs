//! Logs that swarm's own rules write without agents, shared with the benchmarks.

#[allow(dead_code)] // the benchmarks need more of it
#[path = "../../benches/common/log.rs"]
pub mod log;

/// A result with any error.
pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;
