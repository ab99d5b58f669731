//! The whole program from outside: the real daemon, the real command line, real git, scripted
//! agents, crashes.
//!
//! Invariant: a test knows only what the contract promises. It lives in a sandbox of its own, waits
//! for conditions and never for time alone, and leaves no process behind.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod adding_ideas;
mod agent_git_misuse;
mod agent_imports;
mod agent_states;
mod archives;
mod baseline;
mod blame;
mod budget;
mod carried_conversations;
mod changed_files;
mod checkpoints;
mod clean;
mod cli_json_shapes;
mod completions;
mod config_values;
mod conflicts;
mod copied_repositories;
mod crash_points;
mod damaged_log;
mod demo;
mod doctor;
mod doctor_lost_end;
mod earlier_states;
mod external_changes;
mod full_screen;
mod harness;
mod holding_ideas;
mod hook_storm;
mod hooks;
mod idea_story;
mod inbox_config_and_exports;
mod interrupted_runs;
mod interventions;
mod kill_and_restart;
mod kill_storm;
mod listing_ideas;
mod live_lines;
mod log_and_events;
mod mcp;
mod memory;
mod memory_and_descriptors;
mod merging;
mod misbehaving_agents;
mod moves;
mod newer_versions;
mod notify;
mod offline;
mod page_checkpoints;
mod page_past;
mod person_tools;
mod preflight;
mod provenance;
mod reading_commands;
mod real_backlog;
mod refusals;
mod replays;
mod report;
mod repository_interference;
mod review;
mod rollback;
mod rollback_hostile;
mod rollback_killed;
mod rollback_model;
mod rollback_pause;
mod rollback_refused;
mod run_folder;
mod service;
mod setup;
mod short_ids;
mod shutdown;
mod speaking;
mod stable_paths;
mod steering;
mod stuck;
mod submodules;
mod synthesis;
mod syscalls;
mod told_memory;
mod undo;
mod unusual_names;
