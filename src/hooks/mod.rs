//! Hooks: a person's programs that swarm runs at certain moments. This room finds them, decides
//! whether they are safe to run, and builds their input.
//!
//! Invariant: runs nothing and reads only the file system. The daemon runs a hook only if
//! [`inspect_program`] accepts it, and only if git shows that no agent changed its content.

mod discovery;
mod invocation;
mod trust;

pub use discovery::{Entry, FOLDER, From, catalogue, in_folder};
pub use invocation::{Invocation, invocation, sample};
pub use trust::{Refused, Way, inspect_program, names};
