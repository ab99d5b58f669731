//! What `swarm init` writes: `detect` inspects the machine and the repository, `template` embeds
//! the files, `plan` decides what to write, and `write` puts the plan on disk. Called by the
//! commands `init` and `demo`.

pub mod detect;
mod node;
pub mod path_dependencies;
pub mod plan;
mod python;
pub mod setup;
mod template;
pub mod trust_by_path;
pub mod write;
