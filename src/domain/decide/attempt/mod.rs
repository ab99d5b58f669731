//! An attempt, from the claim of its idea to the end of its last run.
//!
//! `claim` picks the next idea, `iterations` begins runs, `signals` takes what agents say
//! meanwhile, `run_end` tells how a run ended, `outcomes` decides what follows from that, and
//! `provider` what follows when the model provider is to blame: a limit, an overload, a login.

pub(super) mod claim;
pub(super) mod iterations;
pub(super) mod outcomes;
pub(super) mod provider;
pub(super) mod run_end;
pub(super) mod signals;
