//! Finds out whether the quality commands see the tree that they check: runs them with the person's
//! checkout out of sight, and with the tree's source files replaced by garbage.
//!
//! Invariant: nothing outside the verification worktree changes. Every run but the first of each
//! command has a user and mount namespace of its own, in which all changes to the worktree are
//! thrown away. Called by `daemon`; `main` calls [`hidden_program`].
//!
//! | file | does |
//! | --- | --- |
//! | `classes` | which tracked files are source |
//! | `garbage` | what a source file is replaced by |
//! | `programs` | test runners and linters, by the words of a command |
//! | `verdict` | what the runs of a command say about it |
//! | `judge` | alarms and notes about all commands |
//! | `report` | the result, for people and programs |
//! | `evidence` | what in the environment leads to the checkout |
//! | `namespace` | the hidden program that hides and replaces files, then becomes the command |
//! | `timed` | runs a command with a time limit |
//! | `probe` | the runs, in order |
//! | `program` | the hidden program that the daemon runs as a check |

mod classes;
mod evidence;
mod garbage;
mod judge;
mod namespace;
#[allow(clippy::module_inception)] // the room's main file
mod probe;
mod program;
mod programs;
mod report;
mod timed;
mod verdict;

pub use classes::{Class, class_of};
pub use probe::{Site, Step, passes, run};
pub use program::{PROBE, TASK, Task, hidden_program, read_report};
pub use report::{CommandReport, Notice, Report};
pub use timed::ProbeError;
pub use verdict::{Dependence, Sight};
