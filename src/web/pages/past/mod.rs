//! The pages of what happened.

pub mod cost;
pub mod events;
pub mod report;
pub mod timeline;
