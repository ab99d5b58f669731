//! Who may come in: the links of `swarm open`, the sessions, and what every request must carry.

pub mod access;
pub mod guard;
pub mod opener;
