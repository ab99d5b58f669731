//! The whole program from outside: the real daemon, the real command line, real git, scripted agents, crashes.
//!
//! Invariant: a test knows only what the contract promises. It lives in a sandbox of its own, waits for conditions and never for time
//! alone, and leaves no process behind.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod answers;
mod attacks;
mod backlog;
mod budget;
mod checkpoints;
mod clean;
mod conflicts;
mod copies;
mod crashes;
mod damage;
mod demo;
mod doctor;
mod doctor_lost_end;
mod ending;
mod endurance;
mod harness;
mod hook_storm;
mod hooks;
mod hostile;
mod inputs;
mod interrupts;
mod interventions;
mod merging;
mod misuse;
mod muster;
mod names;
mod offline;
mod points;
mod refusals;
mod report;
mod rollback;
mod rollback_hostile;
mod rollback_killed;
mod rollback_model;
mod rollback_refused;
mod run_folder;
mod service;
mod shapes;
mod steering;
mod storm;
mod syscalls;
mod versions;
