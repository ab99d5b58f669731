//! The domain's tests that tell whole stories; those of a single rule are beside it.

mod attempts;
mod baseline;
mod budget;
mod checkpoints;
mod ending;
mod golden;
mod hook_rules;
mod hooks;
mod ideas;
mod interventions;
mod merging;
mod messages;
mod properties;
mod provider;
mod redirect;
mod resolver;
mod retention;
mod rollback;
mod scale;
mod sessions;
mod stuck;
mod table;
mod torn_batches;
mod usage;
mod worktrees;
