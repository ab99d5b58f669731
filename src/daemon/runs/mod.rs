//! Runs of agents, quality commands and hooks. Called by `effects::dispatch`.
//!
//! `run` prepares, launches or adopts a run. `launch` specifies its process (`prepared`):
//! `agent_process` an agent's, with the prompt from `prompt_inputs`, `lone` that of an
//! agent without an idea, and `script` any other. `launch_record` keeps how an agent was launched;
//! `recalled_launch` finds that after a restart. `shown_memory` reports what a prompt shows of the
//! memory.
//! `follow` waits for the end while `output_reader` parses the output; `end_diagnosis` explains a
//! failure.
//! Invariant: a repeated call gives the same report.

pub(super) mod agent_process;
pub(super) mod end_diagnosis;
pub(super) mod follow;
pub(super) mod launch;
pub(super) mod launch_record;
mod lone;
pub(super) mod output_reader;
pub(super) mod prepared;
pub(super) mod prompt_inputs;
pub(super) mod recalled_launch;
pub(super) mod run;
pub(super) mod script;
pub(super) mod shown_memory;
pub(super) mod slot;
