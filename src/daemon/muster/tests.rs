//! The look at agents, with programs made up for it.
