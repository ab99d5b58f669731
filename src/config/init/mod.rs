//! What `swarm init` writes: `detect` looks at the machine and the repository, `template` has the
//! files, `plan` decides what to write, to be shown first, and `write` puts it on disk. Called by
//! the command line's `init` and `demo`.

pub mod detect;
pub mod plan;
mod template;
pub mod write;
