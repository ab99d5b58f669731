//! The way back in time: the bar at the bottom of every page, and the axis of times that it shares
//! with the timeline.

pub mod axis;
pub mod bar;
