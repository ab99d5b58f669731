//! The git room against real git: worktrees, merges, landings, and what a kill at any point leaves.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

mod commit_leftovers;
mod crash_points;
mod dropped_changes;
mod filters;
mod fixture;
mod formats;
#[path = "../it/harness/git_format.rs"]
mod git_format;
mod hostile_config;
mod landing;
mod layout;
mod lost_work;
mod merging;
mod open_repository;
mod own_work;
mod relocated_repository;
#[path = "../it/harness/required_tools.rs"]
mod required_tools;
mod resolution;
mod reuse;
mod rewritten;
mod signing;
mod submodules;
mod worktrees;
