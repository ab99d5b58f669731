//! The view as people see it.
