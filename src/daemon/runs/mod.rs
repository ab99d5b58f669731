//! Runs of agents, quality commands and hooks, from the launch to the report.
//!
//! `run` prepares, launches or adopts. `launch` chooses the process: `agent_process` makes an
//! agent's, with the parts that `prompt_inputs` gathers, `script` a command's or a hook's;
//! `prepared` is either. `launch_record` keeps how an agent was launched, `recalled_launch` finds
//! that after a restart. `follow` waits for the end while `output_reader` reads what is said;
//! `end_diagnosis` looks at what is left. Invariant: the same call ends in the same report.

pub(super) mod agent_process;
pub(super) mod end_diagnosis;
pub(super) mod follow;
pub(super) mod launch;
pub(super) mod launch_record;
pub(super) mod output_reader;
pub(super) mod prepared;
pub(super) mod prompt_inputs;
pub(super) mod recalled_launch;
pub(super) mod run;
pub(super) mod script;
