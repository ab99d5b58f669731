//! Runs of agents, quality commands and hooks, from the launch to the report.
//!
//! `run` prepares, launches or adopts; `launch` makes the process, `prompt_inputs` gathers its
//! prompt's parts, `launch_record` keeps how it was launched. `follow` waits for its end while
//! `output_reader` reads what it says; `end_diagnosis` looks at what it left.
//! Invariant: the same call ends in the same report, whatever an earlier daemon had done of it.

pub(super) mod end_diagnosis;
pub(super) mod follow;
pub(super) mod launch;
pub(super) mod launch_record;
pub(super) mod output_reader;
pub(super) mod prompt_inputs;
pub(super) mod run;
