//! The git room against real git: worktrees, merges, landings, and what a kill at any point leaves.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

mod commit_leftovers;
mod crash_points;
mod dropped_changes;
mod fixture;
mod hostile_config;
mod landing;
mod lost_work;
mod merging;
mod open_repository;
mod own_work;
mod relocated_repository;
#[path = "../it/harness/required_tools.rs"]
mod required_tools;
mod resolution;
mod reuse;
mod submodules;
mod worktrees;
