//! The state as people and programs see it, for the command line, the API and the page. Names and
//! shapes are part of the contract.
//!
//! Invariant: the types derive their API description, so that the description matches what is sent.

mod agent;
pub mod agent_state;
pub mod answer;
mod checkpoints;
pub mod describe;
pub mod history;
mod idea;
mod learnings;
pub mod memory;
mod merge;
mod needs_you;
pub mod patch;
pub mod provenance;
mod report;
pub mod restore;
pub mod schema;
mod search;
pub mod snapshot;
mod status;
#[cfg(test)]
pub(crate) mod testkit;
mod train;
mod undo;
mod unread_messages;
mod usage;

pub use crate::domain::attention::names;
pub use crate::domain::attention::rest::{Rest, rest};
pub use agent::{
    AgentView, MessageView, agent, agents, last_ended_agents, live_agents, own_worktree,
};
pub use checkpoints::{CheckpointView, RollbackView, checkpoints, rollbacks, suggested_name};
pub use idea::graph::{GraphNode, GraphView, graph, graph_around};
pub use idea::list::{IdeaFilter, IdeaPage, idea_page, ideas_open_first};
pub use idea::story::{AttemptStory, RunPurpose, RunView, idea_story, run};
pub use idea::{IdeaDetail, IdeaView, edited, held, idea, idea_detail, ideas, status_verb};
pub use learnings::{LearningView, SourceView, learnings};
pub use merge::{ChangedFile, MergeDiff, MergeView, merges};
pub use needs_you::{NeedsYou, cut_off, needs_with_keys, needs_you};
pub use report::details::{
    Bump, BumpKind, bumps, on_the_way, used_by_landed, used_by_profile, worked,
};
pub use report::{
    OutageView, ReportView, ReportedIdea, SleptView, Stuck, all_spent, landed_at, report,
    spent_under_way, stuck, warned,
};
pub use search::{Found, search};
pub use status::no_daemon::after_a_start;
pub use status::warnings::{WarningView, standstills};
pub use status::{Outside, SlotsView, StatusView, TargetNow, TargetView, count, status};
pub use train::{MergeStep, StepState, TrainView, coming, train};
pub use undo::{UndoView, undo};
pub use usage::{AccountView, DayView, TokensView, UsedView, accounts, used};
