//! An attempt, from the claim of its idea to the end of its last run.
//!
//! `claim` picks the next idea, `iterations` starts runs, `signals` handles what agents say during
//! them, `run_end` describes how a run ended and `bill` what it used, `outcomes` and, for checks,
//! `gate` decide what follows from that, `commit_hooks` what of it may be committed, `stuck` when
//! more tries would only cost more, `lending` whose worktree another idea may have, `provider` what
//! follows when the model provider or the agent's program is at fault, `provider_wait` when a
//! program waits for its provider too long, and `conversation` when a conversation cannot go on.
//! Called by `advance` and `decide`.

pub(super) mod bill;
pub(super) mod claim;
pub(super) mod commit_hooks;
pub(super) mod conversation;
pub(super) mod gate;
pub(super) mod iterations;
pub(super) mod lending;
pub(super) mod outcomes;
pub(super) mod provider;
pub(super) mod provider_wait;
pub(super) mod run_end;
pub(super) mod signals;
pub(super) mod stuck;
