//! The git room against real git: worktrees, merges, landings, and what a kill at any point leaves.

#![allow(clippy::unwrap_used)]

mod fixture;
mod hostile;
mod kill;
mod landing;
mod left_out;
mod merging;
mod moved;
mod opening;
mod resolving;
mod sealing;
mod thrown;
mod worktrees;
