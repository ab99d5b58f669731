//! A state as things with fields, and what differs between two states.
//!
//! Invariant: pure, and complete for what a person asks about: each section names all its things,
//! and a difference says each field that differs.

mod difference;
mod named;
mod outline;
#[cfg(test)]
mod tests;

pub use difference::{
    Changed, Comparison, Difference, FieldChange, Head, SectionDifference, difference,
};
pub use named::{Named, STATES};
pub use outline::{Fields, Outline, Section, outline};
